// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"reflect"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestCompactReadsBackAsItWas(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long enough for lines of its own ", 20)
	for name, doc := range map[string]any{
		"nothing":                map[string]any{},
		"words YAML reads as no": map[string]any{"no": "no", "y": "Yes", "null": "null", "true": true, "on": nil},
		"numbers":                map[string]any{"a": 1.0, "b": -0.5, "c": "1", "d": "0x10", "e": "1e3"},
		"times and versions":     map[string]any{"a": "2026-03-05", "b": "1.30", "c": "v1"},
		"signs":                  map[string]any{"a": "x: y", "b": "# no comment", "c": "{a}, [b]", "d": "- e", "f": "it's \"quoted\"", "g": "<a&b>", "h": "", "i": " x ", "j": "*x", "k": "a #b", "l": "ends in:"},
		"lines":                  map[string]any{"a": "one\ntwo\n", "b": "tab\tö\u2028"},
		"keys":                   map[string]any{"x-kubernetes-list-type": "set", "a/b": 1.0, "a b": 2.0, "": 3.0, "$ref": 4.0, "a: b": 5.0},
		"empty things inside":    map[string]any{"a": map[string]any{}, "b": []any{}, "c": []any{map[string]any{}, []any{}}},
		"what needs lines": map[string]any{"a": map[string]any{
			"b": long, "c": []any{long, map[string]any{"d": long, "e": []any{[]any{long, []any{long + long}}}}},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			raw, err := compact(doc)
			if err != nil {
				t.Fatal(err)
			}
			var got map[string]any
			if err := yaml.Unmarshal(raw, &got); err != nil {
				t.Fatalf("%v in\n%s", err, raw)
			}
			if want := doc; len(got)+len(want.(map[string]any)) > 0 && !reflect.DeepEqual(got, want) {
				t.Errorf("got  %#v\nwant %#v\nfrom\n%s", got, want, raw)
			}
		})
	}
}
