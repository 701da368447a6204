// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

func TestSnapshotSchedule(t *testing.T) {
	t.Parallel()
	nightly := func(change func(*kopiurv1.SnapshotSchedule)) *kopiurv1.SnapshotSchedule {
		s := &kopiurv1.SnapshotSchedule{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "nightly"}}
		s.Spec.PolicyRef = &kopiurv1.PolicyRef{Name: "web"}
		s.Spec.Schedule.Cron = "H 2 * * *"
		change(s)
		return s
	}
	for name, tc := range map[string]struct {
		change            func(*kopiurv1.SnapshotSchedule)
		wantErr, wantWarn string
	}{
		"every night": {change: func(*kopiurv1.SnapshotSchedule) {}},
		"all policies": {change: func(s *kopiurv1.SnapshotSchedule) {
			s.Spec.PolicyRef, s.Spec.PolicySelector = nil, &metav1.LabelSelector{}
		}},
		"no policy":             {change: func(s *kopiurv1.SnapshotSchedule) { s.Spec.PolicyRef = nil }, wantErr: "spec: Required value: write exactly one of policyRef, policySelector"},
		"one policy and others": {change: func(s *kopiurv1.SnapshotSchedule) { s.Spec.PolicySelector = &metav1.LabelSelector{} }, wantErr: "keep exactly one of policyRef, policySelector"},
		"policies by an odd label": {change: func(s *kopiurv1.SnapshotSchedule) {
			s.Spec.PolicyRef, s.Spec.PolicySelector = nil, &metav1.LabelSelector{MatchLabels: map[string]string{"a b": "c"}}
		}, wantErr: "spec.policySelector"},
		"policy of another namespace": {change: func(s *kopiurv1.SnapshotSchedule) { s.Spec.PolicyRef.Namespace = "db" }, wantErr: "spec.policyRef.namespace: Invalid value: \"db\""},
		"too long a name":             {change: func(s *kopiurv1.SnapshotSchedule) { s.Name = strings.Repeat("a", 64) }, wantErr: "metadata.name: Invalid value"},
		"no time of day":              {change: func(s *kopiurv1.SnapshotSchedule) { s.Spec.Schedule.Cron = "nightly" }, wantErr: "spec.schedule.cron: Invalid value: \"nightly\""},
		"four fields":                 {change: func(s *kopiurv1.SnapshotSchedule) { s.Spec.Schedule.Cron = "0 2 * *" }, wantErr: "five"},
		"a time zone that is none":    {change: func(s *kopiurv1.SnapshotSchedule) { s.Spec.Schedule.Timezone = "Berlin" }, wantErr: "spec.schedule.timezone: Invalid value: \"Berlin\""},
		"two days of jitter":          {change: func(s *kopiurv1.SnapshotSchedule) { s.Spec.Schedule.Jitter = "48h" }, wantErr: "spec.schedule.jitter: Invalid value"},
		"every five minutes":          {change: func(s *kopiurv1.SnapshotSchedule) { s.Spec.Schedule.Cron = "*/5 * * * *" }, wantWarn: "spec.schedule.cron: it runs more than once an hour"},
		"a deadline in the past":      {change: func(s *kopiurv1.SnapshotSchedule) { s.Spec.Schedule.StartingDeadlineSeconds = new(int64(-1)) }, wantErr: "spec.schedule.startingDeadlineSeconds: Invalid value"},
		"less than no failed ones":    {change: func(s *kopiurv1.SnapshotSchedule) { s.Spec.FailedJobsHistoryLimit = new(int32(-1)) }, wantErr: "spec.failedJobsHistoryLimit: Invalid value"},
		"a run at some time": {change: func(s *kopiurv1.SnapshotSchedule) {
			s.Annotations = map[string]string{kopiurv1.AnnotationRunRequested: "now"}
		}, wantErr: "metadata.annotations[kopiur.home-operations.com/run-requested]: Invalid value"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			matches(t, SnapshotSchedule(nightly(tc.change)), tc.wantErr, tc.wantWarn)
		})
	}
}
