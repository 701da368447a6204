// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/plan"
)

// TestGroupsOfAnExportF8: the kubelet changes no groups on NFS, so an fsGroup alone gives a mover no right to read there.
func TestGroupsOfAnExportF8(t *testing.T) {
	t.Parallel()
	group := func(w *plan.World) {
		w.Policy.Spec.Mover = &kopiurv1.MoverSpec{PodSecurityContext: &corev1.PodSecurityContext{FSGroup: new(int64(1000))}}
	}
	for name, tc := range map[string]struct {
		w    plan.World
		want string
	}{
		"an fsGroup and no user": {world(exported, group), "fsGroup 1000 changes nothing on an NFS export"},
		"the repository's defaults say no more": {world(exported, func(w *plan.World) {
			w.Repository.Spec.MoverDefaults.PodSecurityContext = &corev1.PodSecurityContext{FSGroup: new(int64(2000))}
		}), "fsGroup 2000"},
		"a user is named as well": {world(exported, group, func(w *plan.World) { w.Policy.Spec.Mover.PodSecurityContext.RunAsUser = new(int64(1000)) }), ""},
		"a layer below names one": {world(exported, group, func(w *plan.World) {
			w.Repository.Spec.MoverDefaults.SecurityContext = &corev1.SecurityContext{RunAsUser: new(int64(1000))}
		}), ""},
		"root needs no group": {world(exported, group, func(w *plan.World) {
			w.Policy.Spec.Mover.PrivilegedMode = new(true)
			w.Asked |= plan.AskNamespace
			w.Namespace = &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{kopiurv1.AnnotationPrivilegedMovers: "true"}}}
		}), ""},
		"nobody has said anything":          {world(exported), ""},
		"on a claim the kubelet changes it": {world(group), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := plan.Decide(tc.w, now)
			require.Equal(t, plan.Start, p.Action, "it is a warning and no more: %s", p.Message)
			c := conditionOf(p, kopiurv1.ConditionSecurityContextCompatible)
			if tc.want == "" {
				assert.Empty(t, c.Type, c.Message)
				return
			}
			assert.Equal(t, metav1.ConditionUnknown, c.Status, "nobody knows what the server lets the mover read")
			assert.Equal(t, kopiurv1.ReasonFSGroupIgnoredOnNFS, c.Reason)
			assert.Contains(t, c.Message, tc.want)
			assert.Contains(t, c.Message, "runAsUser", "what to do")
		})
	}
}
