// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// Pending is something an object asks for that this release does not carry out. The schema has it, so that manifests
// apply; it is never dropped in silence.
type Pending struct {
	// Path of the field.
	Path string
	// Instead says what happens, or does not, in its place.
	Instead string
	// Blocks is set where going on without it would store, restore or create something other than what was asked for.
	// The object is Stalled with reason NotYetSupported then.
	Blocks bool
}

// Message is one sentence for conditions, events and warnings.
func (p Pending) Message() string {
	return fmt.Sprintf("%s is not carried out by this version: %s", p.Path, p.Instead)
}

// NotYetSupported lists what this release does not carry out of an object, what blocks first. A field that holds its
// default asks for nothing.
func NotYetSupported(obj runtime.Object) []Pending {
	rules := pendingFields[kindOf(obj)]
	if len(rules) == 0 {
		return nil
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		// Our own types convert; what does not is not ours.
		return nil
	}
	var out []Pending
	for _, r := range rules {
		for _, path := range r.find(content) {
			out = append(out, Pending{Path: path, Instead: r.instead, Blocks: r.blocks})
		}
	}
	slices.SortStableFunc(out, func(a, b Pending) int {
		switch {
		case a.Blocks == b.Blocks:
			return 0
		case a.Blocks:
			return -1
		default:
			return 1
		}
	})
	return out
}

// Blocking is the first thing that keeps the object from being carried out, nil where nothing does.
func Blocking(obj runtime.Object) *Pending {
	if all := NotYetSupported(obj); len(all) > 0 && all[0].Blocks {
		return &all[0]
	}
	return nil
}

func kindOf(obj runtime.Object) string {
	switch obj.(type) {
	case *kopiurv1.Repository:
		return "Repository"
	case *kopiurv1.ClusterRepository:
		return "ClusterRepository"
	case *kopiurv1.SnapshotPolicy:
		return "SnapshotPolicy"
	case *kopiurv1.Snapshot:
		return "Snapshot"
	case *kopiurv1.SnapshotSchedule:
		return "SnapshotSchedule"
	case *kopiurv1.Restore:
		return "Restore"
	case *kopiurv1.Maintenance:
		return "Maintenance"
	case *kopiurv1.RepositoryReplication:
		return "RepositoryReplication"
	case *kopiurv1.SnapshotReplication:
		return "SnapshotReplication"
	default:
		return ""
	}
}

// pendingField is one row of the list: a path, and the values that ask for nothing.
type pendingField struct {
	path    string
	instead string
	blocks  bool
	// only, where given, are the values that are meant; except are those that are not.
	only, except []any
}

// find returns the paths at which an object asks for the field: one for each item of a list on the way.
func (f pendingField) find(content map[string]any) []string {
	var out []string
	var walk func(at string, v any, rest []string)
	walk = func(at string, v any, rest []string) {
		if list, ok := v.([]any); ok && len(rest) > 0 {
			for i, item := range list {
				walk(fmt.Sprintf("%s[%d]", at, i), item, rest)
			}
			return
		}
		if len(rest) == 0 {
			if f.asked(v) {
				out = append(out, at)
			}
			return
		}
		m, ok := v.(map[string]any)
		if !ok {
			return
		}
		if next, ok := m[rest[0]]; ok {
			walk(strings.TrimPrefix(at+"."+rest[0], "."), next, rest[1:])
		}
	}
	walk("", content, strings.Split(f.path, "."))
	return out
}

func (f pendingField) asked(v any) bool {
	switch t := v.(type) {
	case nil:
		return false
	case map[string]any:
		// An empty object chooses an empty variant of a union, such as populator: {}.
		return f.only == nil
	case []any:
		return len(t) > 0
	case string:
		if t == "" {
			return false
		}
	}
	if f.only != nil {
		return slices.Contains(f.only, v)
	}
	return !slices.Contains(f.except, v)
}
