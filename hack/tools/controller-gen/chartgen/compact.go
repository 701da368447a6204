// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// lineWidth is what a node may have to stand on one line. Schemas are mostly small leaves far to the right; written one
// key to a line, half of a CRD is indentation, and a release with its CRDs has to fit into one Secret.
const lineWidth = 400

// compact writes a document as YAML: what is small in flow style, the rest in blocks.
func compact(doc any) ([]byte, error) {
	var b bytes.Buffer
	if err := block(&b, doc, 0); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func block(b *bytes.Buffer, v any, indent int) error {
	pad := strings.Repeat(" ", indent)
	switch t := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(t)) {
			if err := node(b, pad+text(k)+":", t[k], indent+1); err != nil {
				return err
			}
		}
	case []any:
		for _, item := range t {
			if err := node(b, pad+"-", item, indent+2); err != nil {
				return err
			}
		}
	default:
		return fmt.Errorf("%T is no document", v)
	}
	return nil
}

// node writes what stands behind a key or a dash: on its line where it is small, else in lines of its own.
func node(b *bytes.Buffer, lead string, v any, indent int) error {
	flow, err := inline(v)
	if err != nil {
		return err
	}
	if !hasBlock(v) || len(flow) <= lineWidth {
		fmt.Fprintf(b, "%s %s\n", lead, flow)
		return nil
	}
	b.WriteString(lead + "\n")
	return block(b, v, indent)
}

func hasBlock(v any) bool {
	switch t := v.(type) {
	case map[string]any:
		return len(t) > 0
	case []any:
		return len(t) > 0
	default:
		return false
	}
}

// inline writes a node in flow style.
func inline(v any) (string, error) {
	var parts []string
	switch t := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(t)) {
			s, err := inline(t[k])
			if err != nil {
				return "", err
			}
			parts = append(parts, text(k)+": "+s)
		}
		return "{" + strings.Join(parts, ", ") + "}", nil
	case []any:
		for _, item := range t {
			s, err := inline(item)
			if err != nil {
				return "", err
			}
			parts = append(parts, s)
		}
		return "[" + strings.Join(parts, ", ") + "]", nil
	case string:
		return text(t), nil
	default:
		raw, err := json.Marshal(v)
		return string(raw), err
	}
}

var (
	plain    = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_./=-]*( [A-Za-z0-9_./=-]+)*$`)
	reserved = regexp.MustCompile(`(?i)^(y|n|yes|no|on|off|true|false|null)$`)
)

// text writes a string, in quotes where YAML would read it as something else. JSON's quotes are YAML's.
func text(s string) string {
	if plain.MatchString(s) && !reserved.MatchString(s) {
		return s
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		// A string always encodes.
		panic(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
