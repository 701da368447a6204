// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// place is the path to a field; an element is a name or an index in brackets.
type place []string

func (p place) child(name string) place { return append(slices.Clip(p), name) }
func (p place) index(i int) place       { return append(slices.Clip(p), "["+strconv.Itoa(i)+"]") }

func (p place) String() string {
	return strings.ReplaceAll(strings.Join(p, "."), ".[", "[")
}

const anyIndex = "[]"

// hints are for names that come from other programs or from habit, where no likeness helps.
var hints = map[reflect.Type]map[string]string{
	reflect.TypeFor[kopiurv1.S3Backend](): {
		"insecure": "write tls.disableTls: true for a store without TLS, or tls.insecureSkipVerify: true for a certificate that nobody signed",
		"url":      "write endpoint: host[:port]",
		"secure":   "write tls.disableTls: true for a store without TLS",
	},
	reflect.TypeFor[kopiurv1.SnapshotScheduleSpec](): {
		"successfulJobsHistoryLimit": "how many snapshots are kept is said by the policy's retention",
	},
	reflect.TypeFor[kopiurv1.RepositoryReplicationSpec](): {
		"destinationEncryption": "a mirror has the source's password",
		"encryption":            "a mirror has the source's password",
	},
	reflect.TypeFor[kopiurv1.SnapshotPolicySpec](): {
		"schedule": "create a SnapshotSchedule whose policyRef names this policy",
		"pvc":      "write sources: [{pvc: {name: …}}]",
	},
}

// suggest says what to write in the place of a field that does not exist.
func (w *walk) suggest(at place, name string, t reflect.Type, siblings []jsonField) string {
	const none = "there is no such field"
	if hint := hints[t][name]; hint != "" {
		return none + ": " + hint
	}
	var names []string
	for _, f := range siblings {
		names = append(names, f.name)
	}
	near := nearest(name, names)
	if near != "" && distance(strings.ToLower(name), strings.ToLower(near)) <= 1 {
		return none + ": write " + near
	}
	if places := w.places(at, name); len(places) > 0 {
		return none + " here: it belongs to " + strings.Join(places, " or ")
	}
	if near != "" {
		return none + ": write " + near
	}
	for _, kind := range kinds {
		if w.kind != "" && kind != w.kind && len(at) > 0 && at[0] == "spec" && slices.Contains(specFields(kind), name) {
			return fmt.Sprintf("%s here: it belongs to spec.%s of a %s", none, name, kind)
		}
	}
	if len(names) > 0 && len(names) <= 20 {
		return none + ": there are " + strings.Join(names, ", ")
	}
	return none
}

func specFields(kind string) []string {
	fresh, problem := ours(kopiurv1.GroupVersion.String(), kind)
	if problem != nil || fresh == nil {
		return nil
	}
	spec, ok := reflect.TypeOf(fresh).Elem().FieldByName("Spec")
	if !ok {
		return nil
	}
	var names []string
	for _, f := range fieldsOf(spec.Type) {
		names = append(names, f.name)
	}
	return names
}

// places finds where in this kind a field of the name does exist, the nearest ones to at only. More than three of the
// same nearness tell nobody anything.
func (w *walk) places(at place, name string) []string {
	var all []place
	for _, f := range fieldsOf(w.root) {
		if w.kind == "" || f.name == "spec" || f.name == "metadata" && len(at) == 0 {
			if f.name == name {
				all = append(all, place{f.name})
			}
			find(place{f.name}, f.t, name, 0, &all)
		}
	}
	if w.kind != "" && len(at) > 0 && at[0] == "metadata" {
		return nil
	}
	best := 1 << 30
	var out []string
	for _, p := range all {
		shared := 0
		for shared < len(at) && shared < len(p)-1 && (p[shared] == at[shared] || p[shared] == anyIndex && strings.HasPrefix(at[shared], "[")) {
			shared++
		}
		concrete := append(slices.Clone(at[:shared]), p[shared:]...)
		// Steps up and down again; a place whose parent is there already is what was meant.
		steps := 4*(len(at)-shared) + 4*(len(p)-shared)
		if !w.exists(concrete[:len(concrete)-1]) {
			steps++
		}
		switch {
		case steps < best:
			best, out = steps, []string{concrete.String()}
		case steps == best:
			out = append(out, concrete.String())
		}
	}
	if len(out) > 3 {
		return nil
	}
	return out
}

// maxDepth of a search: what lies deeper is part of a Pod, not of ours.
const maxDepth = 9

// find collects the paths below a type that end in name.
func find(at place, t reflect.Type, name string, depth int, out *[]place) {
	t = deref(t)
	if depth > maxDepth || reflect.PointerTo(t).Implements(unmarshaler) {
		return
	}
	switch t.Kind() {
	case reflect.Struct:
		for _, f := range fieldsOf(t) {
			child := at.child(f.name)
			if f.name == name {
				*out = append(*out, child)
			}
			find(child, f.t, name, depth+1, out)
		}
	case reflect.Slice:
		find(at.child(anyIndex), t.Elem(), name, depth, out)
	default:
	}
}

// exists reports whether the object has something at a path.
func (w *walk) exists(at place) bool {
	var value any = w.tree
	for _, element := range at {
		switch v := value.(type) {
		case map[string]any:
			value = v[element]
		case []any:
			i, err := strconv.Atoi(strings.Trim(element, "[]"))
			if element == anyIndex {
				i, err = 0, nil
			}
			if err != nil || i >= len(v) {
				return false
			}
			value = v[i]
		default:
			return false
		}
	}
	return value != nil
}

// Nearest finds the name that was most likely meant, "" if none is near.
func Nearest(name string, names []string) string { return nearest(name, names) }

// nearest finds the name that was most likely meant, "" if none is near.
func nearest(name string, names []string) string {
	best, out := 4, ""
	for _, candidate := range names {
		a, b := strings.ToLower(name), strings.ToLower(candidate)
		d := distance(a, b)
		// One letter in four may be wrong; an abbreviation is near, too.
		if d > max(1, min(len(a), len(b))/4) {
			if len(a) < 4 || !strings.HasPrefix(b, a) && !strings.HasPrefix(a, b) {
				continue
			}
			d = 3
		}
		if d < best {
			best, out = d, candidate
		}
	}
	return out
}

// distance counts the letters to insert, delete, replace or swap.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	rows := make([][]int, len(x)+1)
	for i := range rows {
		rows[i] = make([]int, len(y)+1)
		rows[i][0] = i
	}
	for j := range y {
		rows[0][j+1] = j + 1
	}
	for i := range x {
		for j := range y {
			cost := 1
			if x[i] == y[j] {
				cost = 0
			}
			d := min(rows[i][j+1]+1, rows[i+1][j]+1, rows[i][j]+cost)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				d = min(d, rows[i-1][j-1]+1)
			}
			rows[i+1][j+1] = d
		}
	}
	return rows[len(x)][len(y)]
}
