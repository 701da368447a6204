// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"testing"
	"time"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

func TestMassDeletionAck(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 5, 9, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		value              string
		wantShape, wantNow string
	}{
		"none":                            {"", "", ""},
		"the present":                     {"2026-03-05T09:00:00Z", "", ""},
		"the past":                        {"2020-01-01T00:00:00Z", "", ""},
		"another zone":                    {"2026-03-05T10:00:00+01:00", "", ""},
		"a clock that is 5 minutes ahead": {"2026-03-05T09:05:00Z", "", ""},
		"a clock that is more ahead":      {"2026-03-05T09:05:01Z", "", "it lies in the future, and would let go deletions that nobody has seen: write the present time, 2026-03-05T09:00:00Z"},
		"the future of another zone":      {"2026-03-05T10:00:00-01:00", "", "it lies in the future"},
		"a word":                          {"true", "metadata.annotations[kopiur.home-operations.com/allow-mass-deletion]: Invalid value: \"true\": write an RFC 3339 time", ""},
		"a day":                           {"2026-03-05", "write an RFC 3339 time", ""},
		"seconds since 1970":              {"1772701200", "write an RFC 3339 time", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			annotations := map[string]string{kopiurv1.AnnotationAllowMassDeletion: tc.value}
			r, c := nas(), offsite()
			r.Annotations, c.Annotations = annotations, annotations
			matches(t, Repository(r), tc.wantShape, "")
			matches(t, ClusterRepository(c), tc.wantShape, "")
			matches(t, MassDeletionAck(annotations, now), tc.wantNow, "")
		})
	}
}

func TestRunRequest(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		requested, mode    string
		modes              []string
		wantErr, wantWarns string
	}{
		"no request":                  {"", "", []string{"quick", "full"}, "", ""},
		"a request":                   {"2026-03-05T09:00:00Z", "", []string{"quick", "full"}, "", ""},
		"a request in a mode":         {"2026-03-05T09:00:00Z", "full", []string{"quick", "full"}, "", ""},
		"a request that is no time":   {"now", "", []string{"quick", "full"}, "metadata.annotations[kopiur.home-operations.com/run-requested]: Invalid value: \"now\"", ""},
		"a mode that is none":         {"2026-03-05T09:00:00Z", "Full", []string{"quick", "full"}, "metadata.annotations[kopiur.home-operations.com/run-mode]: Invalid value: \"Full\": write quick or full", ""},
		"a mode where there are none": {"2026-03-05T09:00:00Z", "full", nil, "", "only a Maintenance has modes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			matches(t, RunRequest(map[string]string{kopiurv1.AnnotationRunRequested: tc.requested, kopiurv1.AnnotationRunMode: tc.mode}, tc.modes...), tc.wantErr, tc.wantWarns)
		})
	}
}
