// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// Document is one object of a manifest.
type Document struct {
	// Number of the document in its stream, from 1, and the line that it begins on.
	Number, Line int
	// APIVersion, Kind, Namespace and Name, as far as they can be read.
	APIVersion, Kind, Namespace, Name string
	// Text of the document; an item of a list is written anew.
	Text []byte
	// Object is nil where the kind is none of ours, and where there are problems.
	Object runtime.Object
	// Problems are what keeps the document from being read.
	Problems []Problem
}

// Problem is one mistake.
type Problem struct {
	// Field is the path, "" where the mistake is not in a field.
	Field string
	// Message says what is wrong and what to write.
	Message string
}

func (p Problem) String() string {
	if p.Field == "" {
		return p.Message
	}
	return p.Field + ": " + p.Message
}

// Decode reads a stream of YAML or JSON documents as people write them. What the API server would drop or refuse
// (a field that does not exist, one in the wrong place, a key that is there twice, a value of another type) is a
// problem that says where the right place is. Objects of other groups are passed over.
func Decode(stream []byte) []Document {
	var out []Document
	for _, chunk := range split(string(stream)) {
		for _, d := range decodeChunk(chunk) {
			d.Number, d.Line = len(out)+1, chunk.line
			out = append(out, d)
		}
	}
	return out
}

// Problems joins the problems of documents to one error, nil where there are none. Where there are several documents,
// each line names its own.
func Problems(documents []Document) error {
	var errs []error
	for _, d := range documents {
		for _, p := range d.Problems {
			if len(documents) > 1 {
				errs = append(errs, fmt.Errorf("document %d (%s, line %d): %s", d.Number, d.title(), d.Line, p))
				continue
			}
			errs = append(errs, errors.New(p.String()))
		}
	}
	return errors.Join(errs...)
}

func (d *Document) title() string {
	name := strings.TrimPrefix(d.Namespace+"/"+d.Name, "/")
	if d.Kind == "" {
		return "no kind"
	}
	return strings.TrimSpace(d.Kind + " " + name)
}

type chunk struct {
	text string
	line int
}

var separator = regexp.MustCompile(`^(---|\.{3})(\s|$)`)

// split takes a stream apart at its separators. What stands behind one on its line belongs to the next document.
func split(stream string) []chunk {
	var out []chunk
	var lines []string
	first := 1
	end := func(next int) {
		text := strings.Join(lines, "\n")
		// Comments alone are no document.
		if slices.ContainsFunc(lines, func(l string) bool {
			l = strings.TrimSpace(l)
			return l != "" && l[0] != '#' && l[0] != '%'
		}) {
			out = append(out, chunk{text: text, line: first})
		}
		lines, first = nil, next
	}
	for i, line := range strings.Split(strings.TrimPrefix(stream, "\ufeff"), "\n") {
		if separator.MatchString(line) {
			end(i + 1)
			line = "   " + line[3:]
		}
		if len(lines) == 0 && strings.TrimSpace(line) == "" {
			first = i + 2
			continue
		}
		lines = append(lines, line)
	}
	end(0)
	return out
}

// decodeChunk reads one document; a list is as many as it has items.
func decodeChunk(c chunk) []Document {
	raw, err := yaml.YAMLToJSONStrict([]byte(c.text))
	if err != nil {
		return []Document{{Problems: []Problem{{Message: yamlProblem(err, c.line)}}}}
	}
	var tree any
	if err := utiljson.Unmarshal(raw, &tree); err != nil {
		return []Document{{Problems: []Problem{{Message: err.Error()}}}}
	}
	object, ok := tree.(map[string]any)
	if !ok {
		return []Document{{Problems: []Problem{{Message: "this is no object: begin with apiVersion, kind and metadata"}}}}
	}
	if items, ok := object["items"].([]any); ok && strings.HasSuffix(textOf(object, "kind"), "List") {
		var out []Document
		for _, item := range items {
			o, _ := item.(map[string]any)
			d := decodeObject(o)
			d.Text, _ = yaml.Marshal(item)
			out = append(out, d)
		}
		return out
	}
	d := decodeObject(object)
	d.Text = []byte(c.text)
	return []Document{d}
}

var lineNumber = regexp.MustCompile(`line (\d+)`)

// yamlProblem puts a parser's message into words; its lines count from the first of the document.
func yamlProblem(err error, first int) string {
	text := strings.ReplaceAll(err.Error(), "yaml: unmarshal errors:\n  ", "")
	text = strings.Join(strings.Fields(strings.TrimPrefix(text, "yaml: ")), " ")
	text = lineNumber.ReplaceAllStringFunc(text, func(s string) string {
		n, err := strconv.Atoi(strings.TrimPrefix(s, "line "))
		if err != nil {
			return s
		}
		return fmt.Sprintf("line %d", first+n-1)
	})
	if strings.Contains(text, "already set in map") {
		return strings.ReplaceAll(text, "already set in map", "is there twice: remove one of them")
	}
	return "this is not YAML: " + text
}

func textOf(object map[string]any, key string) string {
	s, _ := object[key].(string)
	return s
}

func decodeObject(object map[string]any) Document {
	d := Document{APIVersion: textOf(object, "apiVersion"), Kind: textOf(object, "kind")}
	if meta, ok := object["metadata"].(map[string]any); ok {
		d.Namespace, d.Name = textOf(meta, "namespace"), textOf(meta, "name")
	}
	fresh, problem := ours(d.APIVersion, d.Kind)
	if problem != nil {
		d.Problems = []Problem{*problem}
	}
	if fresh == nil {
		return d
	}
	w := &walk{root: reflect.TypeOf(fresh).Elem(), tree: object, kind: d.Kind}
	w.structure(nil, object, w.root, false)
	d.Problems = w.problems
	if len(d.Problems) > 0 {
		return d
	}
	raw, err := utiljson.Marshal(object)
	if err == nil {
		err = utiljson.Unmarshal(raw, fresh)
	}
	if err != nil {
		d.Problems = []Problem{{Message: err.Error()}}
		return d
	}
	d.Object = fresh
	return d
}

// kinds of ours, in the order people meet them.
var kinds = []string{
	"Repository", "ClusterRepository", "SnapshotPolicy", "SnapshotSchedule", "Snapshot", "Restore", "Maintenance",
	"RepositoryReplication", "SnapshotReplication",
}

// Kinds lists the names of our kinds.
func Kinds() []string { return slices.Clone(kinds) }

var scheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	if err := kopiurv1.AddToScheme(s); err != nil {
		panic(err) // two Go types for one kind: no build with that fault gets past a test
	}
	return s
}()

// ours makes an empty object of the kind, nil for the kinds of others.
func ours(apiVersion, kind string) (runtime.Object, *Problem) {
	want := kopiurv1.GroupVersion.String()
	group, _, _ := strings.Cut(apiVersion, "/")
	known := slices.Contains(kinds, kind)
	switch {
	case apiVersion == "" && (known || kind == ""):
		return nil, &Problem{"apiVersion", "missing: write " + want}
	case kind == "" && group == kopiurv1.GroupName:
		return nil, &Problem{"kind", "missing: the kinds are " + strings.Join(kinds, ", ")}
	case apiVersion == want && !known:
		return nil, &Problem{"kind", fmt.Sprintf("there is no kind %s: %s", kind, orList(nearest(kind, kinds), "the kinds are "+strings.Join(kinds, ", ")))}
	case apiVersion == want:
		fresh, err := scheme.New(schema.GroupVersionKind{Group: kopiurv1.GroupName, Version: kopiurv1.GroupVersion.Version, Kind: kind})
		if err != nil {
			return nil, &Problem{"kind", err.Error()}
		}
		return fresh, nil
	case group == kopiurv1.GroupName, known && (strings.Contains(group, "kopiur") || distance(group, kopiurv1.GroupName) <= 4):
		return nil, &Problem{"apiVersion", fmt.Sprintf("there is no %s: write %s", apiVersion, want)}
	default:
		return nil, nil
	}
}

func orList(one, all string) string {
	if one == "" {
		return all
	}
	return "write " + one
}
