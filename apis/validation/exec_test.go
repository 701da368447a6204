// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

func TestWorkloadExec(t *testing.T) {
	t.Parallel()
	dump := func(change func(*kopiurv1.WorkloadExec)) kopiurv1.WorkloadExec {
		w := kopiurv1.WorkloadExec{PodSelector: app, Command: []string{"pg_dump", "app"}}
		change(&w)
		return w
	}
	for name, tc := range map[string]struct {
		exec    kopiurv1.WorkloadExec
		wantErr string
	}{
		"a dump":                       {dump(func(*kopiurv1.WorkloadExec) {}), ""},
		"a dump in a shell":            {dump(func(w *kopiurv1.WorkloadExec) { w.Command = []string{"sh", "-c", "pg_dump app | gzip"} }), ""},
		"any pod":                      {dump(func(w *kopiurv1.WorkloadExec) { w.PodSelector = metav1.LabelSelector{} }), "at.podSelector: Required value"},
		"a selector with an odd value": {dump(func(w *kopiurv1.WorkloadExec) { w.PodSelector.MatchLabels = map[string]string{"app": "d b"} }), "at.podSelector"},
		"a container that cannot be":   {dump(func(w *kopiurv1.WorkloadExec) { w.Container = "Main" }), "at.container: Invalid value"},
		"no command":                   {dump(func(w *kopiurv1.WorkloadExec) { w.Command = nil }), "at.command: Required value"},
		"a command line":               {dump(func(w *kopiurv1.WorkloadExec) { w.Command = []string{"pg_dump app | gzip"} }), `write a list such as ["sh", "-c", "pg_dump app | gzip"]`},
		"a NUL in an argument":         {dump(func(w *kopiurv1.WorkloadExec) { w.Command = []string{"echo", "a\x00b"} }), "at.command[1]: Forbidden"},
		"no time at all":               {dump(func(w *kopiurv1.WorkloadExec) { w.Timeout = "0" }), "at.timeout: Invalid value: \"0\": write at least 1s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			matches(t, workloadExec(field.NewPath("at"), tc.exec), tc.wantErr, "")
		})
	}
}

func TestFileName(t *testing.T) {
	t.Parallel()
	for name, wantErr := range map[string]string{
		"db.sql": "", ".hidden": "", "a b": "",
		"": "Required value", ".": "single name", "..": "single name", "a/b": "single name",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			matches(t, fileName(field.NewPath("at"), name), wantErr, "")
		})
	}
}
