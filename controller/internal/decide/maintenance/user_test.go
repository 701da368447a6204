// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package maintenance_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/maintenance"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

func TestTakeOver(t *testing.T) {
	t.Parallel()
	inherits := func(m *kopiurv1.MoverSpec) {
		m.InheritSecurityContextFrom = &kopiurv1.InheritSecurityContextFrom{
			WorkloadSelector: &kopiurv1.WorkloadSelector{PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": "nas"}}},
		}
	}
	names := func(m *kopiurv1.MoverSpec) { m.SecurityContext = &corev1.SecurityContext{RunAsUser: new(int64(1000))} }
	pod := func(uid *int64) []corev1.Pod {
		p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "nas-0", Labels: map[string]string{"app": "nas"}}}
		p.Spec.Containers = []corev1.Container{{Name: "nas", SecurityContext: &corev1.SecurityContext{RunAsUser: uid}}}
		p.Status.Phase = corev1.PodRunning
		return []corev1.Pod{p}
	}
	for name, tc := range map[string]struct {
		mover  []func(*kopiurv1.MoverSpec)
		pods   []corev1.Pod
		uid    *int64
		open   bool
		reason string
	}{
		"nobody is asked for":                        {nil, pod(new(int64(999))), nil, true, ""},
		"the pod's user is taken over":               {[]func(*kopiurv1.MoverSpec){inherits}, pod(new(int64(999))), new(int64(999)), true, ""},
		"without a pod it waits":                     {[]func(*kopiurv1.MoverSpec){inherits}, nil, nil, false, kopiurv1.ReasonInheritSourceMissing},
		"unless somebody else is named":              {[]func(*kopiurv1.MoverSpec){inherits, names}, nil, nil, true, kopiurv1.ReasonInheritFallback},
		"who wins over the pod, and that is said":    {[]func(*kopiurv1.MoverSpec){inherits, names}, pod(new(int64(999))), new(int64(999)), true, kopiurv1.ReasonInheritOverridden},
		"a pod that does not say who it is, is said": {[]func(*kopiurv1.MoverSpec){inherits}, pod(nil), nil, true, kopiurv1.ReasonInheritPinnedNoUID},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &kopiurv1.Maintenance{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "nas"}}
			if tc.mover != nil {
				m.Spec.Mover = &kopiurv1.MoverSpec{}
			}
			for _, f := range tc.mover {
				f(m.Spec.Mover)
			}
			layer, v := maintenance.TakeOver(maintenance.World{Maintenance: m, Repository: &moverjob.Repository{}}, tc.pods)
			assert.Equal(t, tc.open, v.Open)
			assert.Equal(t, tc.reason, v.Reason)
			assert.Equal(t, tc.reason != "", v.Message != "")
			if tc.uid != nil {
				require.NotNil(t, layer)
				assert.Equal(t, tc.uid, layer.UID())
			}
		})
	}
}
