// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"
)

// jobSpec checks the Job of a hook. The schema takes any object, because the structure of a pod would make the
// definition too large for a client-side apply.
func jobSpec(at *field.Path, raw []byte) Findings {
	var f Findings
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		f.required(at, "write the spec of a Job, with template.spec.containers")
		return f
	}
	var tree any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &tree); err != nil {
		f.Errors = append(f.Errors, field.Invalid(at, field.OmitValueType{}, err.Error()))
		return f
	}
	for _, m := range misfits(at, tree, asJobSpec) {
		// Not the value itself: it may be a password that somebody forgot to quote.
		f.Errors = append(f.Errors, field.Invalid(m.at, field.OmitValueType{}, m.explain()))
	}
	spec, err := DecodeJobSpec(raw)
	if err != nil || len(f.Errors) > 0 {
		return f
	}
	template := at.Child("template", "spec")
	if len(spec.Template.Spec.Containers) == 0 {
		f.required(template.Child("containers"), "write at least one container, with name and image")
	}
	for i, c := range spec.Template.Spec.Containers {
		at := template.Child("containers").Index(i)
		f.Merge(present(at.Child("name"), c.Name, "write the name of the container"))
		f.Merge(containerName(at.Child("name"), c.Name))
		f.Merge(present(at.Child("image"), c.Image, "write the image of the container"))
	}
	if p := spec.Template.Spec.RestartPolicy; p == corev1.RestartPolicyAlways {
		f.invalid(template.Child("restartPolicy"), p, "a Job ends: write Never or OnFailure, or leave it out for Never")
	}
	if spec.Suspend != nil && *spec.Suspend {
		f.forbidden(at.Child("suspend"), "a suspended Job never ends: remove it")
	}
	return f
}

// DecodeJobSpec reads the Job of a hook. Its pods are not restarted unless it says so.
func DecodeJobSpec(raw []byte) (batchv1.JobSpec, error) {
	var spec batchv1.JobSpec
	if err := json.Unmarshal(raw, &spec); err != nil {
		return spec, fmt.Errorf("decode jobSpec: %w", err)
	}
	if spec.Template.Spec.RestartPolicy == "" {
		spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	}
	return spec, nil
}

// asJobSpec reports why a value cannot be the spec of a Job.
func asJobSpec(v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err //nolint:wrapcheck // it came from JSON
	}
	unknown, err := kjson.UnmarshalStrict(raw, &batchv1.JobSpec{})
	return errors.Join(err, errors.Join(unknown...))
}

// misfit is a part of a document that cannot be read.
type misfit struct {
	at  *field.Path
	err error
}

// misfits finds the smallest parts of a value that cannot be read on their own. The decoder itself names no list items
// and stops at the first error; types with a decoder of their own name no field at all.
func misfits(at *field.Path, v any, decode func(any) error) []misfit {
	err := decode(v)
	if err == nil {
		return nil
	}
	var out []misfit
	switch v := v.(type) {
	case map[string]any:
		if empty := decode(map[string]any{}); empty != nil {
			return []misfit{{at, empty}}
		}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			out = append(out, misfits(at.Child(k), v[k], func(part any) error { return decode(map[string]any{k: part}) })...)
		}
	case []any:
		if empty := decode([]any{}); empty != nil {
			return []misfit{{at, empty}}
		}
		for i := range v {
			out = append(out, misfits(at.Index(i), v[i], func(part any) error { return decode([]any{part}) })...)
		}
	}
	if len(out) == 0 {
		out = append(out, misfit{at, err})
	}
	return out
}

// explain says what to write, in the words of YAML.
func (m misfit) explain() string {
	if t := (*json.UnmarshalTypeError)(nil); errors.As(m.err, &t) {
		is, _, _ := strings.Cut(t.Value, " ")
		return fmt.Sprintf("it is %s: write %s", is, shapeOf(t.Type))
	}
	if f := kjson.FieldError(nil); errors.As(m.err, &f) {
		return "there is no such field in the spec of a Job: correct its name, or remove it"
	}
	return m.err.Error()
}

// shapeOf names what a type is written as.
func shapeOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int32, reflect.Int64:
		return "a whole number"
	case reflect.String:
		return "a text, in quotes where it looks like a number"
	case reflect.Slice:
		return "a list"
	case reflect.Pointer:
		return shapeOf(t.Elem())
	default:
		return "fields and values"
	}
}
