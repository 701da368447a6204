// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package leftover_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/leftover"
)

// E-2: what was abandoned, and everything that was not.
func TestAbandonedE2(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 5, 9, 0, 0, 0, time.UTC)
	given := func(change ...func(*metav1.PartialObjectMetadata)) *metav1.PartialObjectMetadata {
		m := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Name: "run-1", Labels: map[string]string{kopiurv1.LabelManagedBy: kopiurv1.ManagedByValue}, CreationTimestamp: metav1.NewTime(now.Add(-72 * time.Hour)),
		}}
		for _, f := range change {
			f(m)
		}
		return m
	}
	for name, tc := range map[string]struct {
		given *metav1.PartialObjectMetadata
		want  bool
	}{
		"old and nobody's":       {given(), true},
		"somebody else's":        {given(func(m *metav1.PartialObjectMetadata) { m.Labels[kopiurv1.LabelManagedBy] = "Helm" }), false},
		"without a label":        {given(func(m *metav1.PartialObjectMetadata) { m.Labels = nil }), false},
		"a part of Kopiur":       {given(func(m *metav1.PartialObjectMetadata) { m.Labels[kopiurv1.LabelComponent] = "ui" }), false},
		"with an owner":          {given(func(m *metav1.PartialObjectMetadata) { m.OwnerReferences = []metav1.OwnerReference{{Name: "x"}} }), false},
		"somebody waits for it":  {given(func(m *metav1.PartialObjectMetadata) { m.Finalizers = []string{"x"} }), false},
		"it goes already":        {given(func(m *metav1.PartialObjectMetadata) { m.DeletionTimestamp = new(metav1.NewTime(now)) }), false},
		"a run may still use it": {given(func(m *metav1.PartialObjectMetadata) { m.CreationTimestamp = metav1.NewTime(now.Add(-71 * time.Hour)) }), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tc.want, leftover.Abandoned(tc.given, now))
		})
	}
}
