// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kopiur/kopiur/apis/expand"
	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// bound makes a claim that has a volume, which nothing binds here.
func (l *lab) bound(name string, labels map[string]string) *corev1.PersistentVolumeClaim {
	l.t.Helper()
	c := claim(name)
	c.Labels = labels
	l.Create(c)
	c.Status.Phase = corev1.ClaimBound
	require.NoError(l.t, l.Client.Status().Update(l.t.Context(), c))
	return c
}

// covers waits for the policy to say that it covers these claims.
func (l *lab) covers(want ...string) {
	l.t.Helper()
	var sources []kopiurv1.ResolvedSource
	for _, name := range want {
		sources = append(sources, kopiurv1.ResolvedSource{PVC: l.Namespace + "/" + name, SourcePath: "/pvc/" + name})
	}
	require.EventuallyWithT(l.t, func(c *assert.CollectT) {
		l.GetC(c, l.policy)
		if assert.NotNil(c, l.policy.Status.Resolved) {
			assert.Equal(c, sources, l.policy.Status.Resolved.Sources)
		}
	}, testenv.Wait, testenv.Tick)
}

// run makes the Snapshots of one run, as schedules and kopiurctl do.
func (l *lab) run(name string) []*kopiurv1.Snapshot {
	l.t.Helper()
	var claims corev1.PersistentVolumeClaimList
	require.NoError(l.t, l.Client.List(l.t.Context(), &claims, client.InNamespace(l.Namespace)))
	model := &kopiurv1.Snapshot{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: l.Namespace}, Spec: *l.snapshot.Spec.DeepCopy()}
	out, refusal := expand.Run(l.policy, model, claims.Items)
	require.Nil(l.t, refusal)
	for _, s := range out {
		l.Create(s)
	}
	return out
}

// policyReady waits for the policy's Ready condition.
func (l *lab) policyReady(status metav1.ConditionStatus, reason, says string) {
	l.t.Helper()
	require.EventuallyWithT(l.t, func(c *assert.CollectT) {
		l.GetC(c, l.policy)
		got := policyCondition(l.policy, kopiurv1.ConditionReady)
		assert.Equal(c, status, got.Status)
		assert.Equal(c, reason, got.Reason)
		assert.Contains(c, got.Message, says)
	}, testenv.Wait, testenv.Tick)
}

// a selector means one Snapshot of each claim it finds, also of one that came later and of none that went.
func TestSelectedClaims(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	yes := map[string]string{"backup": "yes"}
	l.policy.Spec.Sources = []kopiurv1.Source{{PVCSelector: &kopiurv1.PVCSelector{LabelSelector: &metav1.LabelSelector{MatchLabels: yes}}}}
	l.policy.Spec.GroupBy = kopiurv1.GroupByNone
	l.base()
	l.StartController()
	l.policyReady(metav1.ConditionFalse, kopiurv1.ReasonNoClaimsSelected, "selects no claim of namespace")

	web := l.bound("web", yes)
	l.bound("cache", nil)
	db := l.bound("db", yes)
	l.covers("db", "web")
	assert.Empty(t, policyCondition(l.policy, kopiurv1.ConditionGroupSnapshotSupported).Status, "nobody wants one instant")
	l.policyReady(metav1.ConditionTrue, kopiurv1.ReasonPolicyReady, "can be made")

	// At one instant it cannot be without copies, and is not done at several instead.
	l.Change(l.policy, func() { l.policy.Spec.GroupBy = kopiurv1.GroupByVolumeGroupSnapshot })
	l.policyReady(metav1.ConditionFalse, kopiurv1.ReasonGroupSnapshotUnsupported, "groupBy: None")
	assert.Equal(t, metav1.ConditionFalse, policyCondition(l.policy, kopiurv1.ConditionGroupSnapshotSupported).Status)
	l.covers("db", "web")
	l.Change(l.policy, func() { l.policy.Spec.GroupBy = kopiurv1.GroupByNone })
	l.policyReady(metav1.ConditionTrue, kopiurv1.ReasonPolicyReady, "can be made")

	for _, s := range l.run("first") {
		l.snapshot = s
		l.succeeds()
		name := s.Spec.Source.Target.PVC.Name
		assert.Equal(t, kopiurv1.Identity{Username: "web", Hostname: l.Namespace, SourcePath: "/pvc/" + name}, s.Status.Snapshot.Identity)
		assert.Equal(t, []kopiurv1.ResolvedSource{{PVC: l.Namespace + "/" + name, SourcePath: "/pvc/" + name}}, s.Status.Resolved.Sources)
		claims := map[string]bool{}
		for _, v := range l.jobs()[0].Spec.Template.Spec.Volumes {
			if v.PersistentVolumeClaim != nil {
				claims[v.PersistentVolumeClaim.ClaimName] = true
			}
		}
		assert.Equal(t, map[string]bool{name: true}, claims, "no other claim is mounted (J-1)")
	}
	assert.Len(t, l.runs(), 2)

	// One goes, one loses its label, one comes.
	l.bound("media", yes)
	require.NoError(t, l.Client.Delete(t.Context(), db))
	l.Label(web, "backup", "no")
	l.covers("media")
	second := l.run("second")
	require.Len(t, second, 1)
	l.snapshot = second[0]
	l.succeeds()
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		l.GetC(c, l.policy)
		assert.Equal(c, int64(3), l.policy.Status.Retention.ActiveSnapshotCount, "the stored data of claims that are gone stays")
	}, testenv.Wait, testenv.Tick)

	l.snapshot = &kopiurv1.Snapshot{ObjectMeta: metav1.ObjectMeta{Name: "by-hand"}, Spec: *second[0].Spec.DeepCopy()}
	l.snapshot.Spec.Source.Target.PVC.Name = "web"
	l.Create(l.snapshot)
	c := l.waits(kopiurv1.ConditionStalled, metav1.ConditionTrue, kopiurv1.ReasonSourceNotSelected)
	assert.Contains(t, c.Message, "claim web is not among those that SnapshotPolicy web selects")
	l.atRest()
}
