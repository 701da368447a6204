// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package maintenance_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// TestACacheThatIsKept has the indexes of the run before. It belongs to the Maintenance and goes with it, also where the
// repository asks for it by its maintenance.mover.
func TestACacheThatIsKept(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	r := repository("nas")
	r.Spec.Maintenance = &kopiurv1.RepositoryMaintenance{Mover: &kopiurv1.MoverSpec{Cache: &kopiurv1.CacheSpec{Mode: kopiurv1.CachePersistent, Capacity: "8Gi"}}}
	l.Create(r)
	l.StartController(l.clock.Decisions)
	l.until(l.child, kopiurv1.ConditionReady, metav1.ConditionTrue, kopiurv1.ReasonMaintenanceScheduled)
	assert.Empty(t, l.KeptCaches(l.child), "before the first run nobody needs it")
	l.ask(l.child, kopiurv1.MaintenanceQuick)
	l.until(l.child, kopiurv1.ConditionReady, metav1.ConditionTrue, kopiurv1.ReasonMaintained)
	l.settled()
	claims := l.KeptCaches(l.child)
	require.Len(t, claims, 1)
	assert.Regexp(t, "^kopiur-cache-nas-[0-9a-f]{8}$", claims[0].Name)
	assert.Equal(t, "8Gi", claims[0].Spec.Resources.Requests.Storage().String())
	require.Len(t, l.runs(), 1)
	assert.Equal(t, claims[0].Name, l.CacheOf(l.runs()[0]))

	l.clock.Step(2 * time.Minute)
	l.ask(l.child, kopiurv1.MaintenanceFull)
	require.EventuallyWithT(t, func(c *assert.CollectT) { require.Len(c, l.runs(), 2) }, testenv.Wait, testenv.Tick)
	l.settled()
	assert.Len(t, l.KeptCaches(l.child), 1, "the next run has the same")
}

// TestAUserThatIsTakenOver: the mover runs as the pod that is selected, and waits for one where nobody else is named.
func TestAUserThatIsTakenOver(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	r := repository("nas")
	r.Spec.Maintenance = &kopiurv1.RepositoryMaintenance{Mover: &kopiurv1.MoverSpec{InheritSecurityContextFrom: &kopiurv1.InheritSecurityContextFrom{
		WorkloadSelector: &kopiurv1.WorkloadSelector{PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": "nas"}}},
	}}}
	l.Create(r)
	l.StartController(l.clock.Decisions)
	l.until(l.child, kopiurv1.ConditionReady, metav1.ConditionTrue, kopiurv1.ReasonMaintenanceScheduled)
	l.ask(l.child, kopiurv1.MaintenanceQuick)
	got := l.until(l.child, kopiurv1.ConditionReady, metav1.ConditionFalse, kopiurv1.ReasonInheritSourceMissing)
	assert.Contains(t, got.Message, "no running pod matches app=nas")
	assert.Empty(t, l.runs())

	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "nas-0", Labels: map[string]string{"app": "nas"}}}
	p.Spec.NodeName = "node"
	p.Spec.Containers = []corev1.Container{{Name: "nas", Image: "nas", SecurityContext: &corev1.SecurityContext{RunAsUser: new(int64(999))}}}
	l.Create(p)
	p.Status.Phase = corev1.PodRunning
	require.NoError(t, l.Client.Status().Update(t.Context(), p))
	l.clock.Step(6 * time.Minute)
	l.until(l.child, kopiurv1.ConditionReady, metav1.ConditionTrue, kopiurv1.ReasonMaintained)
	require.Len(t, l.runs(), 1)
	assert.Equal(t, int64(999), *l.PodOf(l.runs()[0]).Containers[0].SecurityContext.RunAsUser)
}
