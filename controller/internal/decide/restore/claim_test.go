// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package restore_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/decide/restore"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

// claims changes what is known of the claims of a populator.
type claims func(*restore.ClaimWorld)

// populator is one that a claim called data names, of the UID u-data, with all gates open and nothing done yet.
func populator(changes ...claims) restore.World {
	w := fromPolicy(spec(func(s *kopiurv1.RestoreSpec) {
		s.Target = kopiurv1.RestoreTarget{Populator: &kopiurv1.PopulatorTarget{}}
	}))
	w.Claims = []restore.ClaimWorld{wanting(w, "data", changes...)}
	return w
}

func wanting(w restore.World, name string, changes ...claims) restore.ClaimWorld {
	mode := storagev1.VolumeBindingImmediate
	uid := types.UID("u-" + name)
	c := restore.ClaimWorld{
		Name: name, UID: uid,
		Claim: &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "apps", UID: uid},
			Spec:       corev1.PersistentVolumeClaimSpec{StorageClassName: new("fast"), DataSourceRef: &corev1.TypedObjectReference{Kind: "Restore", Name: "back"}},
			Status:     corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending},
		},
		Class:      &storagev1.StorageClass{VolumeBindingMode: &mode},
		Repository: w.Repository, Credentials: w.Credentials, Mounts: w.Volume, Outcome: w.Outcome,
	}
	for _, f := range changes {
		f(&c)
	}
	return c
}

func decided(c *restore.ClaimWorld) {
	c.Record = &kopiurv1.RestoreClaim{UID: string(c.UID), Phase: kopiurv1.ClaimPending, Resolved: &kopiurv1.RestoreResolved{
		Resolution: kopiurv1.ResolutionSnapshot, KopiaSnapshotID: "k9", Repository: &kopiurv1.RepositoryRef{Name: "nas"},
	}}
}

func decidedEmpty(c *restore.ClaimWorld) {
	decided(c)
	c.Record.Resolved.Resolution, c.Record.Resolved.KopiaSnapshotID = kopiurv1.ResolutionNoSnapshot, ""
}

// helper gives the claim its helper claim, bound to volume pv-1.
func helper(c *restore.ClaimWorld) {
	c.Prime = &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: restore.PrimeName(c.UID), Namespace: "apps", UID: "u-prime", Labels: map[string]string{
			kopiurv1.LabelManagedBy: kopiurv1.ManagedByValue, kopiurv1.LabelOperation: kopiurv1.OperationRestorePopulate,
			kopiurv1.LabelOwnerUID: "uid-1", kopiurv1.LabelClaimUID: string(c.UID),
		}},
		Spec:   corev1.PersistentVolumeClaimSpec{VolumeName: "pv-1"},
		Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound},
	}
	c.Volume = &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "pv-1"},
		Spec:       corev1.PersistentVolumeSpec{ClaimRef: &corev1.ObjectReference{UID: "u-prime"}, PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete},
	}
}

func unprovisioned(c *restore.ClaimWorld) {
	helper(c)
	c.Volume, c.Prime.Spec.VolumeName, c.Prime.Status.Phase = nil, "", corev1.ClaimPending
}

func written(c *restore.ClaimWorld) {
	decided(c)
	helper(c)
	c.Record.Phase = kopiurv1.ClaimBinding
	c.Record.Progress = &kopiurv1.RestoreProgress{FilesRestored: 3, BytesRestored: 4096}
}

func handedOver(c *restore.ClaimWorld) {
	written(c)
	c.Record.Volume = "pv-1"
	c.Volume.Spec.ClaimRef.UID = c.UID
	c.Volume.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRetain
	c.Volume.Annotations = map[string]string{kopiurv1.AnnotationReclaimPolicy: "Delete"}
}

func boundTo(volume string) claims {
	return func(c *restore.ClaimWorld) {
		c.Claim.Spec.VolumeName, c.Claim.Status.Phase = volume, corev1.ClaimBound
	}
}

// nodes are those that the helper claim and the claim are wanted on.
func nodes(prime, claim string) claims {
	return func(c *restore.ClaimWorld) {
		const node = "volume.kubernetes.io/selected-node"
		c.Claim.Annotations, c.Prime.Annotations = map[string]string{node: claim}, map[string]string{node: prime}
	}
}

func aged(d time.Duration) claims {
	return func(c *restore.ClaimWorld) { c.PrimeAge = d }
}

func late(c *restore.ClaimWorld) {
	mode := storagev1.VolumeBindingWaitForFirstConsumer
	c.Class = &storagev1.StorageClass{VolumeBindingMode: &mode}
}

func all(list ...claims) claims {
	return func(c *restore.ClaimWorld) {
		for _, f := range list {
			f(c)
		}
	}
}

// TestClaimB1B2B3B4 follows one claim from its first look to its volume. Every row is also what the next process finds after
// a kill.
func TestClaimB1B2B3B4(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		is     claims
		phase  kopiurv1.ClaimPhase
		reason string
		// does names what is made, given or taken: job q or v, prime, handover, release, drop.
		does string
	}{
		"a new claim: which snapshot?":                  {func(*restore.ClaimWorld) {}, kopiurv1.ClaimResolving, kopiurv1.ReasonResolving, "q"},
		"nobody uses it, and its class waits for that":  {late, kopiurv1.ClaimPending, kopiurv1.ReasonWaitingForFirstConsumer, ""},
		"its class does not exist":                      {func(c *restore.ClaimWorld) { c.Class = nil }, kopiurv1.ClaimPending, kopiurv1.ReasonWaitingForVolume, ""},
		"it names no class, and there is no default":    {func(c *restore.ClaimWorld) { c.Claim.Spec.StorageClassName = nil }, kopiurv1.ClaimPending, kopiurv1.ReasonWaitingForVolume, ""},
		"the snapshot is known: a helper claim is made": {decided, kopiurv1.ClaimPending, kopiurv1.ReasonWaitingForVolume, "prime"},
		"the helper claim has no volume":                {all(decided, unprovisioned), kopiurv1.ClaimPending, kopiurv1.ReasonWaitingForVolume, ""},
		"it was asked for on another node":              {all(decided, unprovisioned, nodes("n1", "n2")), kopiurv1.ClaimPending, kopiurv1.ReasonWaitingForVolume, "drop"},
		"the driver has just found no room on the node": {all(decided, unprovisioned, nodes("", "n2"), aged(50*time.Second)), kopiurv1.ClaimPending, kopiurv1.ReasonWaitingForVolume, ""},
		"and is asked again a minute after that":        {all(decided, unprovisioned, nodes("", "n2"), aged(time.Minute)), kopiurv1.ClaimPending, kopiurv1.ReasonWaitingForVolume, "drop"},
		"it is that of a Restore that is gone":          {all(decided, helper, func(c *restore.ClaimWorld) { c.Prime.Labels[kopiurv1.LabelOwnerUID] = "uid-0" }), kopiurv1.ClaimPending, kopiurv1.ReasonWaitingForVolume, "drop"},
		"a claim of its name is somebody else's":        {all(decided, helper, func(c *restore.ClaimWorld) { c.Prime.Labels = nil }), kopiurv1.ClaimFailed, kopiurv1.ReasonTargetPVCExists, ""},
		"the helper claim has a volume: it is filled":   {all(decided, helper), kopiurv1.ClaimRestoring, kopiurv1.ReasonMoverStarting, "v"},
		"there is nothing to fill it with":              {all(decidedEmpty, helper), kopiurv1.ClaimBinding, kopiurv1.ReasonNoSnapshotContinue, ""},
		"it is filled: handed over":                     {written, kopiurv1.ClaimBinding, kopiurv1.ReasonClaimBinding, "handover"},
		"a mover's pod may still write: not yet":        {all(written, func(c *restore.ClaimWorld) { c.Strays = []string{"v-back-1"} }), kopiurv1.ClaimBinding, kopiurv1.ReasonClaimBinding, ""},
		"the volume is somebody else's by now: never":   {all(written, func(c *restore.ClaimWorld) { c.Volume.Spec.ClaimRef.UID = "u-else" }), kopiurv1.ClaimBinding, kopiurv1.ReasonVolumeNotOurs, ""},
		"the helper claim was deleted by hand: again":   {all(written, func(c *restore.ClaimWorld) { c.Prime, c.Volume = nil, nil }), kopiurv1.ClaimPending, kopiurv1.ReasonReopened, ""},
		"handed over and not bound: nothing is done":    {handedOver, kopiurv1.ClaimBinding, kopiurv1.ReasonClaimBinding, ""},
		"bound, and the cluster has not said so":        {all(handedOver, func(c *restore.ClaimWorld) { c.Claim.Spec.VolumeName = "pv-1" }), kopiurv1.ClaimBinding, kopiurv1.ReasonClaimBinding, ""},
		"bound: the rest is tidied up, in this order":   {all(handedOver, boundTo("pv-1")), kopiurv1.ClaimPopulated, kopiurv1.ReasonRestoreSucceeded, "release drop"},
		"bound and released, killed before the drop":    {all(handedOver, boundTo("pv-1"), func(c *restore.ClaimWorld) { c.Volume.Annotations = nil }), kopiurv1.ClaimPopulated, kopiurv1.ReasonRestoreSucceeded, "drop"},
		"bound and tidied up, killed before the record": {all(handedOver, boundTo("pv-1"), func(c *restore.ClaimWorld) { c.Prime, c.Volume.Annotations = nil, nil }), kopiurv1.ClaimPopulated, kopiurv1.ReasonRestoreSucceeded, ""},
		"bound to an empty volume, as was decided":      {all(handedOver, decidedEmpty, boundTo("pv-1"), func(c *restore.ClaimWorld) { c.Record.Volume = "pv-1" }), kopiurv1.ClaimPopulated, kopiurv1.ReasonNoSnapshotContinue, "release drop"},
		"bound before this Restore was made":            {boundTo("pv-old"), kopiurv1.ClaimPopulated, kopiurv1.ReasonTargetAlreadyBound, ""},
		"bound by hand while it was filled":             {all(decided, helper, boundTo("pv-old")), kopiurv1.ClaimPopulated, kopiurv1.ReasonTargetAlreadyBound, "drop"},
		"a Restore that is gone has handed it over":     {all(handedOver, func(c *restore.ClaimWorld) { c.Record = nil }), kopiurv1.ClaimBinding, kopiurv1.ReasonClaimBinding, ""},
		"its record is final, whatever happens to it later": {func(c *restore.ClaimWorld) {
			boundTo("pv-1")(c)
			decided(c)
			c.Record.Phase, c.Record.Reason, c.Record.Message = kopiurv1.ClaimPopulated, kopiurv1.ReasonRestoreSucceeded, "bound"
		}, kopiurv1.ClaimPopulated, kopiurv1.ReasonRestoreSucceeded, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := restore.Decide(populator(tc.is), now)
			require.Len(t, p.Claims, 1)
			c := p.Claims[0]
			require.NotNil(t, c.Record)
			assert.Equal(t, string(tc.phase)+"/"+tc.reason, string(c.Record.Phase)+"/"+c.Record.Reason, c.Record.Message)
			assert.Equal(t, tc.does, does(c))
			assert.NotEmpty(t, c.Record.Message)
			assert.Equal(t, *c.Record, p.Status.Claims["data"])
		})
	}
}

func does(c restore.ClaimPlan) string {
	out := ""
	add := func(did bool, what string) {
		switch {
		case !did:
		case out == "":
			out = what
		default:
			out += " " + what
		}
	}
	if j := c.Plan.Job; j != nil {
		add(true, j.Name[:1])
	}
	add(c.Plan.Claim != nil, "prime")
	add(c.Plan.Reap != nil, "reap")
	add(c.Handover != nil, "handover")
	add(c.Release != nil, "release")
	add(c.Drop != nil, "drop")
	return out
}

// TestTheMoverOfAFilledClaimGoesAtOnce: its pod would keep the helper claim for as long. One that failed is kept to be looked at.
func TestTheMoverOfAFilledClaimGoesAtOnce(t *testing.T) {
	t.Parallel()
	ended := func(c *restore.ClaimWorld) {
		c.Record.Job = &kopiurv1.RestoreJob{EndedAt: now.Format(time.RFC3339)}
		c.Job = &batchv1.Job{}
		c.Outcome = moverjob.Outcome{State: moverjob.Finished, Terminal: true}
	}
	failed := func(c *restore.ClaimWorld) { c.Record.Phase = kopiurv1.ClaimFailed }
	for name, tc := range map[string]struct {
		is   claims
		want int32
	}{
		"filled":                 {all(written, ended), 0},
		"handed over":            {all(handedOver, ended), 0},
		"bound":                  {all(handedOver, boundTo("pv-1"), ended), 0},
		"it could not be filled": {all(decided, helper, ended, failed), moverjob.DefaultTTL},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := restore.Decide(populator(tc.is), now)
			require.NotNil(t, p.Claims[0].Plan.Retire)
			assert.Equal(t, tc.want, p.Claims[0].Plan.TTL)
		})
	}
}

// TestGoneClaim: what was made for a claim that is deleted goes, but a volume that is another's by now does not.
func TestGoneClaim(t *testing.T) {
	t.Parallel()
	deleted := func(c *restore.ClaimWorld) { c.Claim = nil }
	for name, tc := range map[string]struct {
		is     claims
		does   string
		forget bool
	}{
		"before anything was made":    {all(decided, deleted), "", true},
		"with a helper claim":         {all(decided, helper, deleted), "drop", false},
		"while it was handed over":    {all(handedOver, deleted), "release drop", false},
		"with a foreign helper claim": {all(decided, helper, deleted, func(c *restore.ClaimWorld) { c.Prime.Labels = nil }), "", true},
		"in the middle of its mover": {all(decided, helper, deleted, func(c *restore.ClaimWorld) {
			c.Record.Job = &kopiurv1.RestoreJob{}
			c.Job = &batchv1.Job{}
			c.Outcome = moverjob.Outcome{State: moverjob.Running}
		}), "reap drop", false},
		"when its mover has ended": {all(decided, helper, deleted, func(c *restore.ClaimWorld) {
			c.Record.Job = &kopiurv1.RestoreJob{}
			c.Job = &batchv1.Job{}
			c.Outcome = moverjob.Outcome{State: moverjob.Finished, Terminal: true}
		}), "reap drop", false},
		"of which no record is left":     {all(helper, deleted), "drop", true},
		"whose deletion waits for a pod": {all(decided, helper, func(c *restore.ClaimWorld) { c.Claim.DeletionTimestamp = &metav1.Time{Time: now} }), "drop", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := restore.Decide(populator(tc.is), now)
			require.Len(t, p.Claims, 1)
			assert.Equal(t, tc.does, does(p.Claims[0]))
			assert.Equal(t, tc.forget, p.Claims[0].Record == nil)
		})
	}
}

// TestSeveralClaimsJ1: each has a Job of its own name, a path of its own, and what befalls one is nothing to the others.
func TestSeveralClaimsJ1(t *testing.T) {
	t.Parallel()
	two := func(w *restore.World) {
		w.Policy.Spec.Sources = []kopiurv1.Source{{PVC: &kopiurv1.LocalRef{Name: "data"}}, {PVC: &kopiurv1.LocalRef{Name: "logs"}}}
	}
	w := populator()
	two(&w)
	w.Claims = append(w.Claims, wanting(w, "logs"), wanting(w, "other"), wanting(w, "unused", late))
	p := restore.Decide(w, now)
	require.Len(t, p.Claims, 4)
	data, logs, other := p.Claims[0], p.Claims[1], p.Claims[2]
	assert.Equal(t, "/pvc/data", workOf(data.Plan.Job).Operation.Resolve.Identity.Path)
	assert.Equal(t, "/pvc/logs", workOf(logs.Plan.Job).Operation.Resolve.Identity.Path)
	assert.NotEqual(t, data.Plan.Job.Name, logs.Plan.Job.Name)
	assert.Equal(t, "u-logs", logs.Plan.Job.Spec.Template.Labels[kopiurv1.LabelClaimUID])
	assert.Nil(t, other.Plan.Job, "an empty path would match every volume")
	assert.Equal(t, kopiurv1.ReasonSourcePathAmbiguous, other.Record.Reason)
	assert.Equal(t, restore.Progressing, p.State)
	assert.Contains(t, p.Message, "1 claims have failed")
	assert.Equal(t, kopiurv1.RestoreResolving, p.Status.Phase)
	assert.Equal(t, metav1.ConditionFalse, find(p, kopiurv1.ConditionAwaitingClaim).Status)
	assert.True(t, p.Intent)

	selecting := populator()
	selecting.Policy.Spec.Sources = []kopiurv1.Source{{PVCSelector: &kopiurv1.PVCSelector{}, SourcePathStrategy: kopiurv1.SourcePathPVCNamespacedName}}
	q := workOf(restore.Decide(selecting, now).Claims[0].Plan.Job).Operation.Resolve
	assert.Equal(t, "/pvc/apps/data", q.Identity.Path, "the member that the claim is named after")

	foreign := populator()
	foreign.Restore.Spec.Source = kopiurv1.RestoreSource{Identity: &kopiurv1.FromIdentity{Username: "a", Hostname: "b"}}
	foreign.Restore.Spec.Repository = &kopiurv1.RepositoryRef{Name: "nas"}
	q = workOf(restore.Decide(foreign, now).Claims[0].Plan.Job).Operation.Resolve
	assert.Equal(t, work.Identity{Username: "a", Hostname: "b", Path: "/pvc/data"}, q.Identity)
}

// TestPopulatorSummary: what the Restore says of all its claims.
func TestPopulatorSummary(t *testing.T) {
	t.Parallel()
	w := populator()
	w.Claims = nil
	p := restore.Decide(w, now)
	assert.Equal(t, kopiurv1.ReasonAwaitingClaim, p.Reason)
	assert.Equal(t, metav1.ConditionTrue, find(p, kopiurv1.ConditionAwaitingClaim).Status)
	assert.Equal(t, kopiurv1.RestorePending, p.Status.Phase)

	full := all(handedOver, boundTo("pv-1"))
	w = populator(full)
	w.Claims = append(w.Claims, wanting(w, "logs", boundTo("pv-2")))
	p = restore.Decide(w, now)
	assert.Equal(t, restore.Ready, p.State)
	assert.Equal(t, kopiurv1.RestoreCompleted, p.Status.Phase)
	assert.Equal(t, kopiurv1.ReasonRestoreSucceeded, p.Reason)

	w.Claims = append(w.Claims, wanting(w, "third", all(decided, func(c *restore.ClaimWorld) {
		c.Record.Phase, c.Record.Reason, c.Record.Message = kopiurv1.ClaimFailed, kopiurv1.ReasonRestoreFailed, "no space"
		c.Record.Failure, c.Record.Job = &kopiurv1.Failure{KopiaErrorClass: "NoSpace"}, &kopiurv1.RestoreJob{Generation: 1}
		c.Record.ResolvedCredentialVersion = "1"
	})))
	p = restore.Decide(w, now)
	assert.Equal(t, restore.Stalled, p.State)
	assert.Equal(t, kopiurv1.RestoreFailed, p.Status.Phase)
	assert.Equal(t, "no space", p.Message)

	w = populator()
	for i := range 400 {
		w.Claims = append(w.Claims, wanting(w, fmt.Sprint("more-", i)))
	}
	p = restore.Decide(w, now)
	assert.Equal(t, kopiurv1.ReasonFanoutCapped, p.Reason)
	assert.Empty(t, p.Claims, "nothing partial is started")
}

// TestClaimRests: deciding twice on the same world writes nothing new.
func TestClaimRests(t *testing.T) {
	t.Parallel()
	for name, is := range map[string]claims{"unprovisioned": all(decided, unprovisioned), "handed over": handedOver, "late": late, "full": all(handedOver, boundTo("pv-1"))} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := populator(is)
			p := restore.Decide(w, now)
			again := then(w, p)
			again.Claims[0].Record = p.Claims[0].Record
			q := restore.Decide(again, now.Add(time.Minute))
			assertSameStatus(t, again.Restore.Status, then(again, q).Restore.Status, name)
		})
	}
}
