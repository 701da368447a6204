// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package mapper_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/mapper"
)

func TestClaimDataSource(t *testing.T) {
	t.Parallel()
	claim := func(ref *corev1.TypedObjectReference, labels map[string]string) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "data", Labels: labels, Annotations: map[string]string{kopiurv1.AnnotationRestore: "fill"}},
			Spec:       corev1.PersistentVolumeClaimSpec{DataSourceRef: ref},
		}
	}
	ref := func(group, kind, namespace string) *corev1.TypedObjectReference {
		out := &corev1.TypedObjectReference{Kind: kind, Name: "back"}
		if group != "" {
			out.APIGroup = &group
		}
		if namespace != "" {
			out.Namespace = &namespace
		}
		return out
	}
	for name, tc := range map[string]struct {
		claim *corev1.PersistentVolumeClaim
		names []string
		wakes string
	}{
		"a claim of a Restore":                  {claim(ref(kopiurv1.GroupName, "Restore", ""), nil), []string{"apps/back"}, "back"},
		"one that says its own namespace":       {claim(ref(kopiurv1.GroupName, "Restore", "apps"), nil), []string{"apps/back"}, "back"},
		"a Restore of others is not read":       {claim(ref(kopiurv1.GroupName, "Restore", "theirs"), nil), nil, ""},
		"another kind of ours":                  {claim(ref(kopiurv1.GroupName, "Snapshot", ""), nil), nil, ""},
		"the Restore of another group":          {claim(ref("example.com", "Restore", ""), nil), nil, ""},
		"a core kind":                           {claim(ref("", "PersistentVolumeClaim", ""), nil), nil, ""},
		"a claim without a source":              {claim(nil, nil), nil, ""},
		"a helper claim, which has none itself": {claim(nil, map[string]string{kopiurv1.LabelManagedBy: kopiurv1.ManagedByValue, kopiurv1.LabelOperation: kopiurv1.OperationRestorePopulate}), nil, "fill"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tc.names, mapper.ClaimDataSource(tc.claim))
			assert.Equal(t, tc.wakes, mapper.OfClaim(tc.claim))
		})
	}
}
