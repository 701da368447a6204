// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
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
	if err := utiljson.Unmarshal(raw, &tree); err != nil {
		f.Errors = append(f.Errors, field.Invalid(at, field.OmitValueType{}, err.Error()))
		return f
	}
	for _, p := range misfits(tree, reflect.TypeFor[batchv1.JobSpec]()) {
		// Not the value itself: it may be a password that somebody forgot to quote.
		e := field.Invalid(at, field.OmitValueType{}, p.Message)
		e.Field = under(e.Field, p.Field)
		f.Errors = append(f.Errors, e)
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
