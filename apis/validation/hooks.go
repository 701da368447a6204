// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// hooks checks what runs around a snapshot; nil is what was left out.
func hooks(at *field.Path, h *kopiurv1.Hooks) Findings {
	var f Findings
	if h == nil {
		return f
	}
	for i, one := range h.BeforeSnapshot {
		f.Merge(hook(at.Child("beforeSnapshot").Index(i), one))
	}
	for i, one := range h.AfterSnapshot {
		f.Merge(hook(at.Child("afterSnapshot").Index(i), one))
	}
	return f
}

func hook(at *field.Path, h kopiurv1.Hook) Findings {
	f := oneOf(at, variant{"workloadExec", h.WorkloadExec != nil}, variant{"runJob", h.RunJob != nil}, variant{"httpRequest", h.HTTPRequest != nil})
	if e := h.WorkloadExec; e != nil {
		f.Merge(workloadExec(at.Child("workloadExec"), kopiurv1.WorkloadExec{
			PodSelector: e.PodSelector, Container: e.Container, Command: e.Command, Timeout: e.Timeout,
		}))
	}
	if j := h.RunJob; j != nil {
		f.Merge(jobSpec(at.Child("runJob", "jobSpec"), j.JobSpec.Raw))
		f.Merge(duration(at.Child("runJob", "timeout"), j.Timeout, time.Second))
	}
	if r := h.HTTPRequest; r != nil {
		f.Merge(httpRequest(at.Child("httpRequest"), *r))
	}
	return f
}
