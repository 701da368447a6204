// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot_test

import (
	"fmt"
	"strings"
	"testing"

	vgsv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	vsv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

var oneCut = []cut{{name: "nightly-web", claims: []string{"data", "wal"}}}

// TestClaimsAreCutTogether follows a run through its cut, slowly: one group, a copy of each claim from it, and nothing left,
// also under a class that retains.
func TestClaimsAreCutTogether(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	st := l.together()
	st.groupClass()
	st.set(func() { st.retain, st.groups.hold = true, true })
	l.StartController()
	l.ready()
	assert.Equal(t, metav1.ConditionTrue, policyCondition(l.policy, kopiurv1.ConditionGroupSnapshotSupported).Status)
	run := l.run("nightly")
	require.Len(t, run, 2)

	l.snapshot = run[0]
	l.waits(kopiurv1.ConditionSourceStaged, metav1.ConditionFalse, kopiurv1.ReasonWaitingForGroupSnapshot)
	var g vgsv1.VolumeGroupSnapshot
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		assert.NoError(c, l.Client.Get(t.Context(), client.ObjectKey{Namespace: l.Namespace, Name: "nightly-web"}, &g))
	}, testenv.Wait, testenv.Tick)
	assert.Equal(t, map[string]string{kopiurv1.LabelGroup: "nightly-web"}, g.Spec.Source.Selector.MatchLabels)
	assert.Equal(t, l.Namespace, *g.Spec.VolumeGroupSnapshotClassName)
	assert.Empty(t, g.OwnerReferences, "it serves more than one Snapshot")
	assert.Equal(t, string(run[0].UID), g.Labels[kopiurv1.LabelOwnerUID])
	for _, name := range []string{"data", "wal"} {
		var c corev1.PersistentVolumeClaim
		require.NoError(t, l.Client.Get(t.Context(), client.ObjectKey{Namespace: l.Namespace, Name: name}, &c))
		assert.Equal(t, "nightly-web", c.Labels[kopiurv1.LabelGroup], "for as long as the cut takes")
	}
	l.snapshot = run[1]
	l.until(func(c *assert.CollectT, s *kopiurv1.Snapshot) {
		got := condition(s, kopiurv1.ConditionSourceStaged)
		assert.Equal(c, kopiurv1.ReasonWaitingForGroupSnapshot, got.Reason)
		assert.Contains(c, got.Message, "VolumeGroupSnapshot nightly-web is not ready to use yet")
	})

	st.set(func() { st.groups.hold, st.groups.failure = false, "pool is full" })
	l.until(func(c *assert.CollectT, s *kopiurv1.Snapshot) {
		assert.Contains(c, condition(s, kopiurv1.ConditionSourceStaged).Message, "its driver says: pool is full")
	})
	st.set(func() { st.groups.failure, st.bind = "", false })
	for _, s := range run {
		l.snapshot = s
		l.waits(kopiurv1.ConditionSourceStaged, metav1.ConditionFalse, kopiurv1.ReasonWaitingForStagedPVCBind)
		require.NotNil(t, s.Status.Staged)
		assert.Equal(t, "nightly-web", s.Status.Staged.VolumeGroupSnapshotName)
		var from vsv1.VolumeSnapshot
		require.NoError(t, l.Client.Get(t.Context(), client.ObjectKey{Namespace: l.Namespace, Name: s.Status.Staged.VolumeSnapshotName}, &from))
		assert.Equal(t, strings.TrimPrefix(s.Name, "nightly-"), *from.Spec.Source.PersistentVolumeClaimName)
		var claim corev1.PersistentVolumeClaim
		require.NoError(t, l.Client.Get(t.Context(), client.ObjectKey{Namespace: l.Namespace, Name: s.Status.Staged.PVCName}, &claim))
		assert.Equal(t, from.Name, claim.Spec.DataSource.Name)
	}
	var claims corev1.PersistentVolumeClaimList
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		require.NoError(c, l.Client.List(t.Context(), &claims, client.InNamespace(l.Namespace), client.HasLabels{kopiurv1.LabelGroup}))
		assert.Empty(c, claims.Items, "the labels go when they say nothing any more")
	}, testenv.Wait, testenv.Tick)
	require.NoError(t, l.Client.Get(t.Context(), client.ObjectKeyFromObject(&g), &g))
	assert.Nil(t, g.DeletionTimestamp, "the group stays while a Snapshot needs it")

	st.set(func() { st.bind = true })
	for _, s := range run {
		l.snapshot = s
		l.succeeds()
	}
	l.groupless()
	assert.Equal(t, oneCut, st.made())
	order := st.order()
	assert.Equal(t, "PersistentVolumeClaim", order[0], "the claims go before the group")
	assert.NotContains(t, order[1:], "PersistentVolumeClaim")
	var content vgsv1.VolumeGroupSnapshotContent
	require.NoError(t, l.Client.Get(t.Context(), client.ObjectKey{Name: "groupsnapcontent-" + string(g.UID)}, &content))
	assert.Equal(t, vsv1.VolumeSnapshotContentDelete, content.Spec.DeletionPolicy, "a class with Retain leaks nothing")
	for uid := range st.seen() {
		var one vsv1.VolumeSnapshotContent
		require.NoError(t, l.Client.Get(t.Context(), client.ObjectKey{Name: "snapcontent-" + string(uid)}, &one))
		assert.Equal(t, vsv1.VolumeSnapshotContentDelete, one.Spec.DeletionPolicy)
	}
	l.atRest()
}

// TestAGroupStaysForTheLast: a Snapshot that waits for its turn reads the instant that the first one has cut.
func TestAGroupStaysForTheLast(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.policy.Spec.Upload = &kopiurv1.Upload{MaxParallelSnapshots: 1}
	st := l.together()
	st.groupClass()
	l.StartController()
	l.ready()
	for _, s := range l.run("nightly") {
		l.snapshot = s
		l.succeeds()
	}
	assert.Equal(t, oneCut, st.made())
	assert.Len(t, st.seen(), 2)
	l.groupless()
}

// TestAGroupThatIsLost: whoever has not read it yet fails. Another cut would be of another instant.
func TestAGroupThatIsLost(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.policy.Spec.Upload = &kopiurv1.Upload{MaxParallelSnapshots: 1}
	st := l.together()
	st.groupClass()
	release := make(chan struct{})
	l.Mover(func(c testenv.Call) testenv.Play {
		p := testenv.Succeed(c)
		if c.Spec.Operation.Snapshot != nil {
			p.Hold = release
		}
		return p
	})
	l.StartController()
	l.ready()
	run := l.run("nightly")
	l.snapshot = run[0]
	l.until(func(c *assert.CollectT, s *kopiurv1.Snapshot) {
		assert.Equal(c, kopiurv1.SnapshotRunning, s.Status.Phase)
	})
	require.NoError(t, l.Client.Delete(t.Context(), &vgsv1.VolumeGroupSnapshot{ObjectMeta: metav1.ObjectMeta{Namespace: l.Namespace, Name: "nightly-web"}}))
	l.snapshot = run[1]
	c := l.waits(kopiurv1.ConditionStalled, metav1.ConditionTrue, kopiurv1.ReasonGroupSnapshotLost)
	assert.Contains(t, c.Message, "claim wal")
	close(release)
	l.snapshot = run[0]
	l.succeeds()
	assert.Equal(t, oneCut, st.made(), "no second one")
	l.groupless()
}

// TestARunIsCutOrFails: where the group cannot be made, the whole run says why, and none of it is backed up.
func TestARunIsCutOrFails(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.policy.Spec.Staging = &kopiurv1.Staging{Timeout: "2s"}
	st := l.together()
	l.StartController()
	l.ready()
	run := l.run("nightly")
	l.snapshot = run[0]
	c := l.waits(kopiurv1.ConditionStalled, metav1.ConditionTrue, kopiurv1.ReasonNoVolumeGroupSnapshotClass)
	assert.Contains(t, c.Message, "groupBy: None")
	l.snapshot = run[1]
	c = l.waits(kopiurv1.ConditionStalled, metav1.ConditionTrue, kopiurv1.ReasonGroupSnapshotFailed)
	assert.Contains(t, c.Message, "Snapshot nightly-data, which was to make VolumeGroupSnapshot nightly-web, failed, and nothing was cut: no VolumeGroupSnapshotClass")
	assert.Empty(t, st.seen())
	assert.Empty(t, l.runs())
	l.groupless()
}

// TestARunThatIsDeleted leaves neither a group nor a label, at whatever point of its cut.
func TestARunThatIsDeleted(t *testing.T) {
	t.Parallel()
	for name, hold := range map[string]func(*groups){
		"before the group is bound": func(g *groups) { g.hold = true },
		"before it is ready":        func(g *groups) { g.unready = true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			st := l.together()
			st.groupClass()
			st.set(func() { st.retain = true; hold(&st.groups) })
			l.StartController()
			l.ready()
			run := l.run("nightly")
			l.snapshot = run[1]
			l.until(func(c *assert.CollectT, s *kopiurv1.Snapshot) {
				assert.Contains(c, condition(s, kopiurv1.ConditionSourceStaged).Message, "VolumeGroupSnapshot nightly-web is not ready")
			})
			for _, s := range run {
				require.NoError(t, l.Client.Delete(t.Context(), s))
			}
			l.groupless()
		})
	}
}

// TestAGroupIsKilled kills the controller after every number of its writes for a run of two claims. A fresh one converges to
// one cut, one mover and one success of each, and no leak.
func TestAGroupIsKilled(t *testing.T) {
	t.Parallel()
	for _, n := range groupKillPoints {
		t.Run(fmt.Sprintf("after %d writes", n), func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			st := l.together()
			st.groupClass()
			st.set(func() { st.retain = true })
			m := &mortal{left: n, die: make(chan struct{})}
			l.WrapClient(m.wrap)
			first := l.StartController()
			l.ready()
			run := l.run("nightly")
			l.lives(m, run)
			first.Stop()
			l.WrapClient(func(c client.Client) client.Client { return c })
			l.StartController()
			for _, s := range run {
				l.snapshot = s
				l.succeeds()
			}
			l.groupless()
			m.mu.Lock()
			t.Logf("the first controller did: %s", strings.Join(m.did, ", "))
			m.mu.Unlock()
			assert.Equal(t, oneCut, st.made(), "one cut")
			assert.Len(t, st.seen(), 2, "one VolumeSnapshot of each claim")
			assert.Len(t, l.runs(), 2, "one mover of each")
			l.atRest()
		})
	}
}

// lives waits for the controller's death, or for the end of a run if it lives through all its writes.
func (l *lab) lives(m *mortal, run []*kopiurv1.Snapshot) {
	l.t.Helper()
	require.EventuallyWithT(l.t, func(c *assert.CollectT) {
		select {
		case <-m.die:
			return
		default:
		}
		for _, s := range run {
			l.GetC(c, s)
			assert.Equal(c, kopiurv1.SnapshotSucceeded, s.Status.Phase)
			assert.Nil(c, s.Status.Staged)
		}
	}, testenv.Wait, testenv.Tick)
}
