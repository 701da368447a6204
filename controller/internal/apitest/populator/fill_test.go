// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package populator_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// B-1, J-1: two claims of one Restore are filled from their own source paths, each by one question and one mover into a
// helper claim of its own, whose volume it then gets.
func TestEachClaimGetsItsOwnB1J1(t *testing.T) {
	t.Parallel()
	w := newWorld(t, storagev1.VolumeBindingImmediate)
	w.Mover(func(c testenv.Call) testenv.Play {
		p := testenv.Succeed(c)
		if q := c.Spec.Operation.Resolve; q != nil {
			p.Result.Resolve.SnapshotID = "k" + q.Identity.Path
		}
		return p
	})
	w.begin()
	r := w.populator()
	w.until(r, kopiurv1.ConditionAwaitingClaim, metav1.ConditionTrue, kopiurv1.ReasonAwaitingClaim)
	assert.Equal(t, kopiurv1.RestorePending, r.Status.Phase)
	data, logs := w.wanting("data"), w.wanting("logs")
	primes := map[string]string{"prime-" + string(data.UID): "k/pvc/data", "prime-" + string(logs.UID): "k/pvc/logs"}
	for _, c := range []*corev1.PersistentVolumeClaim{data, logs} {
		pv := w.untilFilled(r, c, kopiurv1.ReasonRestoreSucceeded)
		assert.Equal(t, c.UID, pv.Spec.ClaimRef.UID)
		assert.Equal(t, "/pvc/"+c.Name, r.Status.Claims[c.Name].SourcePath)
		assert.Equal(t, "k/pvc/"+c.Name, r.Status.Claims[c.Name].Resolved.KopiaSnapshotID)
	}
	w.until(r, kopiurv1.ConditionReady, metav1.ConditionTrue, kopiurv1.ReasonRestoreSucceeded)
	assert.Equal(t, kopiurv1.RestoreCompleted, r.Status.Phase)
	assert.Equal(t, kopiurv1.ReasonClaimsObserved, conditionOf(r, kopiurv1.ConditionAwaitingClaim).Reason)
	assert.Len(t, w.CallsOf("resolve"), 2)
	require.Len(t, w.CallsOf("restore"), 2)
	for _, j := range w.jobsOf(r) {
		for _, v := range j.Spec.Template.Spec.Volumes {
			if v.Name == moverjob.TargetVolume {
				claim := v.PersistentVolumeClaim.ClaimName
				i := slices.IndexFunc(w.CallsOf("restore"), func(c testenv.Call) bool { return c.Job == j.Name })
				assert.Equal(t, primes[claim], w.CallsOf("restore")[i].Spec.Operation.Restore.SnapshotID, claim)
				delete(primes, claim)
			}
		}
	}
	assert.Empty(t, primes, "every helper claim was written by its own mover")
	w.untilEvent(data, corev1.EventTypeNormal, kopiurv1.ReasonRestoreSucceeded)
	w.rests(r)

	// It is there for the next claim as well: that asks by itself, and gets a volume of its own.
	again := w.wanting("data-2", func(c *corev1.PersistentVolumeClaim) { c.Spec.DataSourceRef.Name = "fill" })
	w.untilClaim(r, again.Name, kopiurv1.ClaimFailed, kopiurv1.ReasonSourcePathAmbiguous)
	w.untilEvent(again, corev1.EventTypeWarning, kopiurv1.ReasonSourcePathAmbiguous)
	assert.Len(t, w.CallsOf("resolve"), 2, "no question without a path")
	w.update(r, func() { r.Spec.Source.FromPolicy.SourcePath = "/pvc/logs" })
	w.untilFilled(r, again, kopiurv1.ReasonRestoreSucceeded)
	assert.Equal(t, "k/pvc/logs", r.Status.Claims[again.Name].Resolved.KopiaSnapshotID)
}

// B-1: a claim whose class waits for its first consumer costs nothing before, and gets its volume on that pod's node.
func TestFirstConsumerB1(t *testing.T) {
	t.Parallel()
	w := newWorld(t, storagev1.VolumeBindingWaitForFirstConsumer)
	w.begin()
	r := w.populator()
	c := w.wanting("data")
	w.untilClaim(r, "data", kopiurv1.ClaimPending, kopiurv1.ReasonWaitingForFirstConsumer)
	assert.Empty(t, w.jobsOf(r))
	_, made := w.prime(c)
	assert.False(t, made)
	w.rests(r)

	hold := make(chan struct{})
	w.Mover(func(c testenv.Call) testenv.Play {
		p := testenv.Succeed(c)
		if c.Spec.Operation.Restore != nil {
			p.Hold = hold
		}
		return p
	})
	w.update(c, func() { c.Annotations = map[string]string{selectedNode: "node-7"} })
	w.untilClaim(r, "data", kopiurv1.ClaimRestoring, kopiurv1.ReasonMoverRunning)
	prime, _ := w.prime(c)
	assert.Equal(t, "node-7", prime.Annotations[selectedNode])
	assert.Nil(t, prime.Spec.DataSourceRef)
	assert.Equal(t, c.Spec.Resources, prime.Spec.Resources)
	w.Get(c)
	assert.Equal(t, corev1.ClaimPending, c.Status.Phase, "not before every byte is there (B-2)")
	close(hold)
	w.untilFilled(r, c, kopiurv1.ReasonRestoreSucceeded)
}

// B-2: the Restore is Completed when the claim is bound, and no earlier.
func TestCompletedIsBoundB2(t *testing.T) {
	t.Parallel()
	w := newWorld(t, storagev1.VolumeBindingImmediate)
	w.unbinding.Store(true)
	w.begin()
	r := w.populator()
	c := w.wanting("data")
	rec := w.untilClaim(r, "data", kopiurv1.ClaimBinding, kopiurv1.ReasonClaimBinding)
	assert.NotEmpty(t, rec.Volume)
	var pv corev1.PersistentVolume
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		require.NoError(t, w.Client.Get(w.T.Context(), client.ObjectKey{Name: rec.Volume}, &pv))
		assert.Equal(t, c.UID, pv.Spec.ClaimRef.UID)
		w.GetC(t, r)
		assert.Contains(t, r.Status.Claims["data"].Message, "was handed over")
	}, testenv.Wait, testenv.Tick)
	assert.Equal(t, corev1.PersistentVolumeReclaimRetain, pv.Spec.PersistentVolumeReclaimPolicy, "nobody's mistake deletes it now")
	_, left := w.prime(c)
	assert.True(t, left, "the helper claim stays until then: it leads back to the volume")
	w.rests(r)
	assert.Equal(t, kopiurv1.RestoreRestoring, r.Status.Phase)
	assert.Equal(t, metav1.ConditionFalse, conditionOf(r, kopiurv1.ConditionReady).Status)
	w.unbinding.Store(false)
	w.untilFilled(r, c, kopiurv1.ReasonRestoreSucceeded)
	assert.Len(t, w.CallsOf("restore"), 1)
}

// B-3: GitOps makes the Restore of a bound claim again: nothing is asked, written or left behind.
func TestABoundClaimIsLeftAloneB3(t *testing.T) {
	t.Parallel()
	w := newWorld(t, storagev1.VolumeBindingImmediate)
	w.begin()
	first := w.populator()
	c := w.wanting("data")
	w.untilFilled(first, c, kopiurv1.ReasonRestoreSucceeded)
	require.NoError(t, w.Client.Delete(t.Context(), first))
	calls := len(w.Calls())
	again := w.populator()
	w.untilFilled(again, c, kopiurv1.ReasonTargetAlreadyBound)
	w.until(again, kopiurv1.ConditionReady, metav1.ConditionTrue, kopiurv1.ReasonTargetAlreadyBound)
	assert.Equal(t, kopiurv1.RestoreCompleted, again.Status.Phase)
	w.rests(again)
	assert.Len(t, w.Calls(), calls)
}

// B-3: what was made for a claim that is deleted goes, and so it does when the Restore is deleted. The data of others stays.
func TestNothingIsLeftBehindB3(t *testing.T) {
	t.Parallel()
	w := newWorld(t, storagev1.VolumeBindingImmediate)
	w.begin()
	hold := make(chan struct{})
	defer close(hold)
	w.Mover(func(c testenv.Call) testenv.Play {
		p := testenv.Succeed(c)
		if o := c.Spec.Operation.Restore; o != nil {
			p.Hold = hold
		}
		return p
	})
	r := w.populator()
	data, logs := w.wanting("data"), w.wanting("logs")
	w.untilClaim(r, "data", kopiurv1.ClaimRestoring, kopiurv1.ReasonMoverRunning)
	w.untilClaim(r, "logs", kopiurv1.ClaimRestoring, kopiurv1.ReasonMoverRunning)

	require.NoError(t, w.Client.Delete(t.Context(), data))
	w.untilNoPrime(data)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		w.GetC(c, r)
		assert.NotContains(c, r.Status.Claims, "data")
	}, testenv.Wait, testenv.Tick)
	rec := r.Status.Claims["logs"]
	assert.Equal(t, kopiurv1.ClaimRestoring, rec.Phase, "the other one goes on")

	require.NoError(t, w.Client.Delete(t.Context(), r))
	w.untilNoPrime(logs)
	w.Get(logs)
	assert.Nil(t, logs.DeletionTimestamp, "a claim of the user is never deleted (K-7)")
	w.untilEvent(logs, corev1.EventTypeWarning, kopiurv1.ReasonRestoreReferentMissing)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		assert.Empty(c, w.volumes(t.Context()), "half-filled volumes are given back")
	}, testenv.Wait, testenv.Tick)
}

func (w *world) untilNoPrime(c *corev1.PersistentVolumeClaim) {
	w.T.Helper()
	require.EventuallyWithT(w.T, func(t *assert.CollectT) {
		_, left := w.prime(c)
		assert.False(t, left)
	}, testenv.Wait, testenv.Tick)
}

// B-3: the Restore goes while the volume is on its way: the claim gets it all the same, with the class's reclaim policy.
func TestARestoreThatGoesDuringTheHandover(t *testing.T) {
	t.Parallel()
	w := newWorld(t, storagev1.VolumeBindingImmediate)
	w.unbinding.Store(true)
	w.begin()
	r := w.populator()
	c := w.wanting("data")
	rec := w.untilClaim(r, "data", kopiurv1.ClaimBinding, kopiurv1.ReasonClaimBinding)
	var pv corev1.PersistentVolume
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		require.NoError(t, w.Client.Get(w.T.Context(), client.ObjectKey{Name: rec.Volume}, &pv))
		assert.Equal(t, c.UID, pv.Spec.ClaimRef.UID)
	}, testenv.Wait, testenv.Tick)
	require.NoError(t, w.Client.Delete(t.Context(), r))
	w.unbinding.Store(false)
	w.untilNoPrime(c)
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		w.GetC(t, c)
		assert.Equal(t, rec.Volume, c.Spec.VolumeName)
		require.NoError(t, w.Client.Get(w.T.Context(), client.ObjectKey{Name: rec.Volume}, &pv))
		assert.Equal(t, corev1.PersistentVolumeReclaimDelete, pv.Spec.PersistentVolumeReclaimPolicy)
	}, testenv.Wait, testenv.Tick)
}

// B-4: with nothing to restore the claim gets an empty volume, and that stays the decision.
func TestContinueBindsAnEmptyVolumeB4(t *testing.T) {
	t.Parallel()
	w := newWorld(t, storagev1.VolumeBindingImmediate)
	w.answer(func(testenv.Call) work.Resolution { return work.ResolutionAbsent })
	w.begin()
	r := w.populator()
	c := w.wanting("data")
	w.untilFilled(r, c, kopiurv1.ReasonNoSnapshotContinue)
	assert.Equal(t, kopiurv1.ResolutionNoSnapshot, r.Status.Claims["data"].Resolved.Resolution)
	assert.Empty(t, w.CallsOf("restore"))
	w.answer(func(testenv.Call) work.Resolution { return work.ResolutionFound })
	w.rests(r)
	assert.Len(t, w.CallsOf("resolve"), 1, "never asked again")
}

// K-1: nothing to restore, and nobody said that the claim may be empty: it stays as it is, and both objects say why.
func TestNoSourceIsSaidOnBoth(t *testing.T) {
	t.Parallel()
	w := newWorld(t, storagev1.VolumeBindingImmediate)
	w.answer(func(testenv.Call) work.Resolution { return work.ResolutionAbsent })
	w.begin()
	r := w.populator(failing)
	c := w.wanting("data")
	w.until(r, kopiurv1.ConditionResolved, metav1.ConditionFalse, kopiurv1.ReasonNoSnapshot)
	assert.Contains(t, conditionOf(r, kopiurv1.ConditionResolved).Message, "claim data")
	assert.Equal(t, metav1.ConditionTrue, conditionOf(r, kopiurv1.ConditionStalled).Status)
	assert.Equal(t, kopiurv1.RestoreFailed, r.Status.Phase)
	w.untilEvent(c, corev1.EventTypeWarning, kopiurv1.ReasonNoSnapshot)
	w.Get(c)
	assert.Equal(t, corev1.ClaimPending, c.Status.Phase)
	_, made := w.prime(c)
	assert.False(t, made, "nothing is made before it is known what for")
	w.rests(r)
}

// K-1: an unreachable repository is no empty one, before the question, behind it and at the restore itself.
func TestUnreachableIsNeverEmptyK1(t *testing.T) {
	t.Parallel()
	w := newWorld(t, storagev1.VolumeBindingImmediate)
	down := func(op string) func(testenv.Call) testenv.Play {
		return func(c testenv.Call) testenv.Play {
			if c.Spec.Operation.Name() == op {
				return testenv.Fail(c, work.CodeRepositoryUnavailable, "the store did not answer")
			}
			return testenv.Succeed(c)
		}
	}
	w.Mover(down("resolve"))
	r := w.populator()
	c := w.wanting("data")
	w.begin()
	rec := w.untilClaim(r, "data", kopiurv1.ClaimResolving, kopiurv1.ReasonResolutionUnknown)
	assert.Nil(t, rec.Resolved)
	w.untilEvent(c, corev1.EventTypeWarning, kopiurv1.ReasonResolutionUnknown)
	_, made := w.prime(c)
	assert.False(t, made)

	w.Mover(down("restore"))
	w.update(r, func() { r.Spec.FailurePolicy = &kopiurv1.FailurePolicy{BackoffLimit: new(int32(0))} }) // asked again at once
	w.untilClaim(r, "data", kopiurv1.ClaimFailed, kopiurv1.ReasonRestoreFailed)
	w.Get(c)
	assert.Equal(t, corev1.ClaimPending, c.Status.Phase, "a volume without its data is not handed over")
	w.Mover(testenv.Succeed)
	w.update(r, func() { r.Spec.FailurePolicy.BackoffLimit = new(int32(1)) })
	w.untilFilled(r, c, kopiurv1.ReasonRestoreSucceeded)
	assert.Equal(t, "kfound", r.Status.Claims["data"].Resolved.KopiaSnapshotID)
}

// K-7: a claim that is too small for its snapshot gets no volume that is half full. Both objects say what to do; the other
// claim of the Restore is filled, and so is this one once it was made again larger.
func TestAClaimThatIsTooSmallK7(t *testing.T) {
	t.Parallel()
	w := newWorld(t, storagev1.VolumeBindingImmediate)
	w.Mover(func(c testenv.Call) testenv.Play {
		p := testenv.Succeed(c)
		switch o := c.Spec.Operation; {
		case o.Resolve != nil:
			p.Result.Resolve.SnapshotID = "k" + o.Resolve.Identity.Path
		case o.Restore != nil && o.Restore.SnapshotID == "k/pvc/data":
			p.Result.Code, p.Result.Message = work.CodeNoSpace, work.TargetFull
			p.Result.Restore = &work.RestoreResult{SnapshotID: o.Restore.SnapshotID, FilesRestored: 2, BytesRestored: 1 << 20}
		}
		return p
	})
	w.begin()
	r := w.populator(func(s *kopiurv1.RestoreSpec) { s.FailurePolicy = &kopiurv1.FailurePolicy{BackoffLimit: new(int32(0))} })
	small, other := w.wanting("data"), w.wanting("logs")
	w.untilFilled(r, other, kopiurv1.ReasonRestoreSucceeded)
	rec := w.untilClaim(r, "data", kopiurv1.ClaimFailed, kopiurv1.ReasonRestoreFailed)
	const says = "claim data is too small for snapshot k/pvc/data, and its volume is not handed over half full: delete the claim and make it again with a larger request, and it is filled"
	assert.Equal(t, says, rec.Message)
	w.until(r, kopiurv1.ConditionStalled, metav1.ConditionTrue, kopiurv1.ReasonRestoreFailed)
	assert.Contains(t, conditionOf(r, kopiurv1.ConditionReady).Message, says)
	w.untilEvent(small, corev1.EventTypeWarning, kopiurv1.ReasonRestoreFailed)
	w.rests(r)
	w.Get(small)
	assert.Equal(t, corev1.ClaimPending, small.Status.Phase)
	assert.Empty(t, small.Spec.VolumeName)
	prime, made := w.prime(small)
	require.True(t, made)
	for _, pv := range w.volumes(t.Context()) {
		assert.NotEqual(t, small.UID, pv.Spec.ClaimRef.UID, "no volume is the claim's")
	}

	w.Mover(testenv.Succeed)
	require.NoError(t, w.Client.Delete(t.Context(), small))
	w.untilNoPrime(small)
	large := w.wanting("data", func(c *corev1.PersistentVolumeClaim) {
		c.Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("20Gi")
	})
	pv := w.untilFilled(r, large, kopiurv1.ReasonRestoreSucceeded)
	assert.NotEqual(t, prime.Spec.VolumeName, pv.Name, "another volume")
	assert.Equal(t, resource.MustParse("20Gi"), pv.Spec.Capacity[corev1.ResourceStorage])
	w.until(r, kopiurv1.ConditionReady, metav1.ConditionTrue, kopiurv1.ReasonRestoreSucceeded)
}

// A claim that names a Restore which fills none is told so.
func TestNotAPopulator(t *testing.T) {
	t.Parallel()
	w := newWorld(t, storagev1.VolumeBindingImmediate)
	w.begin()
	r := w.populator(func(s *kopiurv1.RestoreSpec) {
		s.Source.FromPolicy.SourcePath = "/pvc/data"
		s.Target = kopiurv1.RestoreTarget{PVC: &kopiurv1.TargetPVC{Name: "other", Capacity: "1Gi"}}
	})
	c := w.wanting("data")
	w.untilEvent(c, corev1.EventTypeWarning, kopiurv1.ReasonNotAPopulator)
	w.until(r, kopiurv1.ConditionReady, metav1.ConditionTrue, kopiurv1.ReasonRestoreSucceeded)
	_, made := w.prime(c)
	assert.False(t, made)
}

// A claim of the helper's name that somebody else made is neither written nor deleted (K-7).
func TestAForeignHelperIsLeftAloneK7(t *testing.T) {
	t.Parallel()
	w := newWorld(t, storagev1.VolumeBindingImmediate)
	w.paused.Store(true)
	c := w.wanting("data")
	foreign := testenv.Claim("prime-" + string(c.UID))
	w.Create(foreign)
	w.begin()
	r := w.populator()
	w.untilClaim(r, "data", kopiurv1.ClaimFailed, kopiurv1.ReasonTargetPVCExists)
	assert.Empty(t, w.CallsOf("restore"))
	require.NoError(t, w.Client.Delete(t.Context(), r))
	w.untilEvent(c, corev1.EventTypeWarning, kopiurv1.ReasonRestoreReferentMissing)
	err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(foreign), foreign)
	assert.False(t, apierrors.IsNotFound(err), "it is still there")
}
