// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package restore_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

func TestIntoAnExistingClaim(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	pvc := w.claim("data")
	before := pvc.ResourceVersion
	w.begin()
	r := w.restore(into("data"), func(s *kopiurv1.RestoreSpec) { s.SubPath = "etc/app.conf" })
	w.untilReady(r)
	assert.Equal(t, "etc/app.conf", w.CallsOf("restore")[0].Spec.Operation.Restore.SubPath)
	assert.Equal(t, kopiurv1.ReasonTargetFound, conditionOf(r, kopiurv1.ConditionTargetAvailable).Reason)
	w.Get(pvc)
	assert.Equal(t, before, pvc.ResourceVersion, "the user's claim is not touched")
}

// A claim without a file system is written as a device, and its writer must be able to.
func TestOntoABlockClaim(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	pvc := testenv.Claim("data")
	pvc.Spec.VolumeMode = new(corev1.PersistentVolumeBlock)
	w.Create(pvc)
	w.begin()
	r := w.restore(into("data"))
	w.untilReady(r)
	op := w.CallsOf("restore")[0].Spec.Operation.Restore
	assert.Empty(t, op.TargetPath)
	assert.Equal(t, work.TargetDevice, op.DevicePath)
	for _, j := range w.jobsOf(r) {
		c := j.Spec.Template.Spec.Containers[0]
		assert.Equal(t, []corev1.VolumeDevice{{Name: "target", DevicePath: work.TargetDevice}}, c.VolumeDevices)
	}
}

// Into a command: with the namespace's consent, into the one pod that runs, with a right that ends with the run.
func TestIntoACommand(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.begin()
	r := w.restore(func(s *kopiurv1.RestoreSpec) {
		s.Target = kopiurv1.RestoreTarget{StreamExec: &kopiurv1.StreamTarget{FileName: "shop.dump", WorkloadExec: kopiurv1.WorkloadExec{
			PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}, Command: []string{"pg_restore"},
		}}}
	})
	w.until(r, kopiurv1.ConditionMoverPermitted, metav1.ConditionFalse, kopiurv1.ReasonStreamExecNotPermitted)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "db-0", Labels: map[string]string{"app": "db"}}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "db", Image: "db"}}}}
	w.Create(pod)
	pod.Status.Phase = corev1.PodRunning
	require.NoError(t, w.Client.Status().Update(t.Context(), pod))
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace}}
	require.NoError(t, w.Client.Get(t.Context(), client.ObjectKeyFromObject(ns), ns))
	w.Annotate(ns, kopiurv1.AnnotationStreamExecMovers, "true")
	w.untilReady(r)
	assert.Contains(t, conditionOf(r, kopiurv1.ConditionReady).Message, "the command took all 4096 bytes of shop.dump")
	require.Len(t, w.CallsOf("streamRestore"), 1)
	roles, err := client.New(w.Config, client.Options{})
	require.NoError(t, err)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		var list rbacv1.RoleBindingList
		require.NoError(c, roles.List(t.Context(), &list, client.InNamespace(w.Namespace)))
		assert.Empty(c, list.Items)
	}, testenv.Wait, testenv.Tick)
	w.rests(r)
}

// TestForeignClaimIsRefused is K-7: a claim that exists and is not ours is neither written nor deleted.
func TestForeignClaimIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	pvc := w.claim("data-new")
	before := pvc.ResourceVersion
	w.begin()
	r := w.restore()
	w.until(r, kopiurv1.ConditionStalled, metav1.ConditionTrue, kopiurv1.ReasonTargetPVCExists)
	assert.Equal(t, kopiurv1.RestoreFailed, r.Status.Phase)
	assert.Empty(t, w.CallsOf("restore"))
	w.untilEvent(r, corev1.EventTypeWarning, kopiurv1.ReasonTargetPVCExists)
	w.rests(r)
	w.Get(pvc)
	assert.Equal(t, before, pvc.ResourceVersion)

	// Its owner removes it: the watch heals the Restore.
	require.NoError(t, w.Client.Delete(t.Context(), pvc))
	w.update(pvc, func() { pvc.Finalizers = nil })
	w.untilReady(r)
	w.Get(pvc)
	assert.Equal(t, string(r.UID), pvc.Labels[kopiurv1.LabelOwnerUID])
}

func TestMissingTargetHealsByTheWatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.begin()
	r := w.restore(into("data"))
	w.until(r, kopiurv1.ConditionTargetAvailable, metav1.ConditionFalse, kopiurv1.ReasonTargetPVCMissing)
	assert.Equal(t, "k1", r.Status.Resolved.KopiaSnapshotID, "the decision is pinned already")
	w.rests(r)
	w.claim("data")
	w.untilReady(r)
}

func (w *world) user(claim string) *corev1.Pod {
	w.T.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "db-0"}, Spec: corev1.PodSpec{
		NodeName:   "somewhere",
		Containers: []corev1.Container{{Name: "db", Image: "db"}},
		Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
		}}},
	}}
	w.Create(pod)
	return pod
}

func TestClaimInUseIsNamedAndRestored(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.claim("data")
	w.user("data")
	w.begin()
	r := w.restore(into("data"))
	w.untilReady(r)
	c := conditionOf(r, kopiurv1.ConditionTargetAvailable)
	assert.Equal(t, kopiurv1.ReasonTargetInUse, c.Reason)
	assert.Contains(t, c.Message, "pod db-0")
	w.untilEvent(r, corev1.EventTypeWarning, kopiurv1.ReasonTargetInUse)
}

// TestAClaimInUseIsWaitedFor: where its mode or the Restore says that only one pod may have it.
func TestAClaimInUseIsWaitedFor(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		mode corev1.PersistentVolumeAccessMode
		spec func(*kopiurv1.RestoreSpec)
	}{
		"ReadWriteOncePod": {corev1.ReadWriteOncePod, func(*kopiurv1.RestoreSpec) {}},
		"ifInUse: Refuse":  {corev1.ReadWriteOnce, func(s *kopiurv1.RestoreSpec) { s.Target.PVCRef.IfInUse = kopiurv1.InUseRefuse }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.claim("data", tc.mode)
			pod := w.user("data")
			w.begin()
			r := w.restore(into("data"), tc.spec)
			w.until(r, kopiurv1.ConditionTargetAvailable, metav1.ConditionFalse, kopiurv1.ReasonPVCInUse)
			assert.Contains(t, conditionOf(r, kopiurv1.ConditionReady).Message, "in use by pod db-0")
			w.untilEvent(r, corev1.EventTypeWarning, kopiurv1.ReasonPVCInUse)
			assert.Empty(t, w.CallsOf("restore"))
			require.NoError(t, w.Client.Delete(t.Context(), pod, client.GracePeriodSeconds(0)))
			w.touch(r)
			w.untilReady(r)
		})
	}
}

// TestRestoresThatBeginTogetherTakeTurns: all of them are woken by one event, before any cache shows the Job of another.
func TestRestoresThatBeginTogetherTakeTurns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hold := make(chan struct{})
	w.on("restore", func(p *testenv.Play) { p.Hold = hold })
	w.claim("data")
	var all []*kopiurv1.Restore
	first := w.restore(into("data"))
	all = append(all, first)
	for i := range 7 {
		next := first.DeepCopy()
		next.ObjectMeta = metav1.ObjectMeta{Name: fmt.Sprintf("together-%d", i), Namespace: w.Namespace}
		next.Status = kopiurv1.RestoreStatus{}
		w.Create(next)
		all = append(all, next)
	}
	w.begin()
	// One writes, all others wait and say so.
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		waiting := 0
		for _, r := range all {
			w.GetC(c, r)
			if conditionOf(r, kopiurv1.ConditionTargetAvailable).Reason == kopiurv1.ReasonPVCInUse {
				waiting++
			}
		}
		assert.Equal(c, len(all)-1, waiting)
	}, testenv.Wait, testenv.Tick)
	movers := 0
	for _, r := range all {
		movers += len(w.jobsOf(r))
	}
	assert.Equal(t, 1, movers, "one mover in the claim")
	close(hold)
}

// TestOneRestoreWritesAtATime: two movers in one volume would take the parts of each other for their own.
func TestOneRestoreWritesAtATime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hold := make(chan struct{})
	w.on("restore", func(p *testenv.Play) { p.Hold = hold })
	w.claim("data")
	w.begin()
	first := w.restore(into("data"))
	w.until(first, kopiurv1.ConditionReconciling, metav1.ConditionTrue, kopiurv1.ReasonMoverRunning)
	second := first.DeepCopy()
	second.ObjectMeta = metav1.ObjectMeta{Name: "second", Namespace: w.Namespace}
	second.Status = kopiurv1.RestoreStatus{}
	w.Create(second)
	w.until(second, kopiurv1.ConditionTargetAvailable, metav1.ConditionFalse, kopiurv1.ReasonPVCInUse)
	assert.Empty(t, w.jobsOf(second))
	close(hold)
	w.untilReady(first)
	w.touch(second) // stands for the recheck after a minute
	w.untilReady(second)
}

// TestDeletingARestoreLeavesTheData: there is no garbage collector here, so that ownership is what can be looked at.
func TestDeletingARestoreLeavesTheData(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hold := make(chan struct{})
	defer close(hold)
	w.Mover(func(c testenv.Call) testenv.Play {
		p := testenv.Succeed(c)
		if c.Spec.Operation.Restore != nil {
			p.Hold = hold
		}
		return p
	})
	w.begin()
	r := w.restore()
	w.until(r, kopiurv1.ConditionReconciling, metav1.ConditionTrue, kopiurv1.ReasonMoverRunning)
	jobs := w.jobsOf(r)
	require.Len(t, jobs, 1)
	owner := metav1.GetControllerOf(&jobs[0])
	require.NotNil(t, owner)
	assert.Equal(t, r.UID, owner.UID, "its Jobs go with it")
	assert.Empty(t, r.Finalizers, "and nothing holds it back")
	require.NoError(t, w.Client.Delete(t.Context(), r))
	var pvc corev1.PersistentVolumeClaim
	require.NoError(t, w.Client.Get(t.Context(), client.ObjectKey{Namespace: w.Namespace, Name: "data-new"}, &pvc))
	assert.Empty(t, pvc.OwnerReferences)
	assert.Nil(t, pvc.DeletionTimestamp)
}
