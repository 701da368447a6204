// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package staging_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/staging"
)

var now = time.Date(2026, 3, 5, 2, 0, 0, 0, time.UTC)

func quantity(s string) resource.Quantity { return resource.MustParse(s) }

func staged(change ...func(*staging.State)) staging.State {
	src := source()
	src.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: quantity("1Gi")}
	s := staging.State{
		Owner:  "uid",
		Source: src,
		Staged: kopiurv1.Staged{CopyMethod: kopiurv1.CopySnapshot, VolumeSnapshotName: "one-snap", PVCName: "one-src", StagingTimeoutSeconds: 600},
	}
	for _, f := range change {
		f(&s)
	}
	return s
}

func snapshot(age time.Duration, change ...func(*staging.Snapshot)) func(*staging.State) {
	return func(s *staging.State) {
		s.Snapshot = &staging.Snapshot{Name: "one-snap", UID: "vs", Owner: "uid", Created: now.Add(-age)}
		for _, f := range change {
			f(s.Snapshot)
		}
	}
}

func ready(s *staging.Snapshot) { s.Ready = true }

func grouped(s *staging.State) { s.Staged.VolumeGroupSnapshotName = "nightly" }

func copied(age time.Duration, phase corev1.PersistentVolumeClaimPhase) func(*staging.State) {
	return func(s *staging.State) {
		s.Claim = &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
			Name: "one-src", CreationTimestamp: metav1.NewTime(now.Add(-age)),
			OwnerReferences: []metav1.OwnerReference{{UID: "uid", Controller: new(true)}},
		}}
		s.Claim.Status.Phase = phase
	}
}

func TestNext(t *testing.T) {
	t.Parallel()
	lazy := func(s *staging.State) { s.Staged.WaitForFirstConsumer = true }
	forEver := func(s *staging.State) { s.Staged.StagingTimeoutSeconds = 0 }
	clone := func(s *staging.State) { s.Staged.CopyMethod, s.Staged.VolumeSnapshotName = kopiurv1.CopyClone, "" }
	for name, tc := range map[string]struct {
		state   staging.State
		step    staging.Step
		reason  string
		says    string
		recheck time.Duration
	}{
		"nothing there: the snapshot first": {staged(), staging.CreateSnapshot, kopiurv1.ReasonWaitingForVolumeSnapshot, "one-snap", 0},
		"a snapshot that is not ready is waited for": {
			staged(snapshot(time.Minute)), staging.AwaitSnapshot, kopiurv1.ReasonWaitingForVolumeSnapshot, "not ready to use yet", 9 * time.Minute,
		},
		"an error before the deadline is only told": {
			staged(snapshot(9*time.Minute, func(s *staging.Snapshot) { s.Error = "409\n conflict" })), staging.AwaitSnapshot,
			kopiurv1.ReasonWaitingForVolumeSnapshot, "its driver says: 409 conflict", time.Minute,
		},
		"at the deadline it fails with the driver's words": {
			staged(snapshot(10*time.Minute, func(s *staging.Snapshot) { s.Error = "quota" })), staging.Failed, kopiurv1.ReasonStagingTimedOut, "its driver says: quota", 0,
		},
		"a timeout of 0 waits for ever": {
			staged(snapshot(1000*time.Hour), forEver), staging.AwaitSnapshot, kopiurv1.ReasonWaitingForVolumeSnapshot, "", 0,
		},
		"a ready snapshot becomes a claim": {staged(snapshot(time.Hour, ready)), staging.CreateClaim, kopiurv1.ReasonWaitingForStagedPVCBind, "", 0},
		"a snapshot of somebody else is not touched": {
			staged(snapshot(time.Minute, ready, func(s *staging.Snapshot) { s.Owner = "other" })), staging.Blocked, kopiurv1.ReasonStagingNameTaken, "VolumeSnapshot one-snap belongs to somebody else", time.Minute,
		},
		"a group's snapshot is used whoever owns it": {
			staged(grouped, snapshot(time.Minute, ready, func(s *staging.Snapshot) { s.Owner = "" })), staging.CreateClaim, kopiurv1.ReasonWaitingForStagedPVCBind, "", 0,
		},
		"a group's snapshot that went is not made again": {
			staged(grouped), staging.Failed, kopiurv1.ReasonGroupSnapshotLost, "of another instant", 0,
		},
		"nor is one on its way out": {
			staged(grouped, snapshot(time.Minute, ready, func(s *staging.Snapshot) { s.Deleting = true })), staging.Failed, kopiurv1.ReasonGroupSnapshotLost, "VolumeGroupSnapshot nightly", 0,
		},
		"a copy that was made of it before is used": {staged(grouped, copied(time.Hour, corev1.ClaimBound)), staging.Usable, kopiurv1.ReasonSourceStaged, "", 0},
		"a snapshot on its way out is waited for": {
			staged(snapshot(time.Minute, ready, func(s *staging.Snapshot) { s.Deleting = true })), staging.Blocked, kopiurv1.ReasonWaitingForVolumeSnapshot, "being deleted", 0,
		},
		"a clone needs no snapshot": {staged(clone), staging.CreateClaim, kopiurv1.ReasonWaitingForStagedPVCBind, "", 0},
		"a claim that is not bound is waited for, with its event": {
			staged(copied(time.Minute, corev1.ClaimPending), func(s *staging.State) { s.ClaimEvent = "ProvisioningFailed: pool is full" }),
			staging.AwaitClaim, kopiurv1.ReasonWaitingForStagedPVCBind, "its newest event says: ProvisioningFailed: pool is full", 30 * time.Second,
		},
		"its deadline is its own, however long the snapshot took": {
			staged(snapshot(time.Hour, ready), copied(9*time.Minute+50*time.Second, corev1.ClaimPending)), staging.AwaitClaim, kopiurv1.ReasonWaitingForStagedPVCBind, "", 10 * time.Second,
		},
		"a claim that is never bound fails": {
			staged(copied(10*time.Minute, corev1.ClaimPending)), staging.Failed, kopiurv1.ReasonStagedPVCBindTimeout, "Raise staging.timeout", 0,
		},
		"a bound claim may be read":              {staged(copied(time.Hour, corev1.ClaimBound)), staging.Usable, kopiurv1.ReasonSourceStaged, "a copy of claim data", 0},
		"one that waits for the mover's pod too": {staged(lazy, copied(time.Hour, corev1.ClaimPending)), staging.Usable, kopiurv1.ReasonSourceStaged, "", 0},
		"a claim whose volume is gone fails":     {staged(copied(time.Minute, corev1.ClaimLost)), staging.Failed, kopiurv1.ReasonStagedPVCLost, "disappeared", 0},
		"a claim of somebody else is never read": {
			staged(copied(time.Minute, corev1.ClaimBound), func(s *staging.State) { s.Claim.OwnerReferences = nil }), staging.Blocked, kopiurv1.ReasonStagingNameTaken, "claim one-src belongs to somebody else", time.Minute,
		},
		"a claim on its way out is waited for": {
			staged(copied(time.Minute, corev1.ClaimBound), func(s *staging.State) { s.Claim.DeletionTimestamp = new(metav1.NewTime(now)) }),
			staging.Blocked, kopiurv1.ReasonWaitingForStagedPVCBind, "being deleted", 0,
		},
		"a clock before the object's time waits the full time and no more": {
			staged(snapshot(-time.Hour)), staging.AwaitSnapshot, kopiurv1.ReasonWaitingForVolumeSnapshot, "", 70 * time.Minute,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := staging.Next(tc.state, now)
			assert.Equal(t, tc.step, v.Step, v.Message)
			assert.Equal(t, tc.reason, v.Reason)
			assert.Contains(t, v.Message, tc.says)
			assert.Equal(t, tc.recheck, v.Recheck)
		})
	}
}

func TestTheCopyIsLargeEnough(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(*staging.State)
		want   string
	}{
		"the source's request":   {func(*staging.State) {}, "1Gi"},
		"a larger restore size":  {func(s *staging.State) { s.Snapshot.RestoreSize = new(quantity("3Gi")) }, "3Gi"},
		"a smaller restore size": {func(s *staging.State) { s.Snapshot.RestoreSize = new(quantity("1Mi")) }, "1Gi"},
		"a volume that was rounded up": {func(s *staging.State) {
			s.Source.Status.Capacity = corev1.ResourceList{corev1.ResourceStorage: quantity("2Gi")}
		}, "2Gi"},
		"the restore size of a source again": {func(s *staging.State) { s.Source = nil; s.Snapshot.RestoreSize = new(quantity("5Gi")) }, "5Gi"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := staged(snapshot(time.Minute, ready))
			tc.change(&s)
			v := staging.Next(s, now)
			assert.Equal(t, staging.CreateClaim, v.Step)
			assert.Equal(t, tc.want, v.Size.String())
		})
	}
}

func TestCleanup(t *testing.T) {
	t.Parallel()
	gone := func(s *staging.State) { s.Claim.DeletionTimestamp = new(metav1.NewTime(now)) }
	foreign := func(s *staging.State) { s.Claim.OwnerReferences = nil }
	for name, tc := range map[string]struct {
		state staging.State
		want  staging.Removal
	}{
		"the claim goes first":                   {staged(snapshot(time.Hour, ready), copied(time.Hour, corev1.ClaimBound)), staging.RemoveClaim},
		"its snapshot waits until it is gone":    {staged(snapshot(time.Hour, ready), copied(time.Hour, corev1.ClaimBound), gone), staging.AwaitRemoval},
		"then the snapshot goes":                 {staged(snapshot(time.Hour, ready)), staging.RemoveSnapshot},
		"and is waited for":                      {staged(snapshot(time.Hour, func(s *staging.Snapshot) { s.Deleting = true })), staging.AwaitRemoval},
		"nothing left":                           {staged(), staging.Clean},
		"a group's snapshot goes with the group": {staged(grouped, snapshot(time.Hour, ready, func(s *staging.Snapshot) { s.Owner = "" })), staging.Clean},
		"a claim of somebody else is left alone": {staged(copied(time.Hour, corev1.ClaimBound), foreign), staging.Clean},
		"a snapshot of somebody else, too":       {staged(snapshot(time.Hour, func(s *staging.Snapshot) { s.Owner = "other" })), staging.Clean},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tc.want, staging.Cleanup(tc.state))
		})
	}
}

func TestRelease(t *testing.T) {
	t.Parallel()
	vs := &staging.Snapshot{UID: "vs"}
	for name, tc := range map[string]struct {
		content *staging.Content
		want    bool
	}{
		"retained, ours":                           {&staging.Content{SnapshotUID: "vs", Dynamic: true, Retain: true}, true},
		"deleted anyway":                           {&staging.Content{SnapshotUID: "vs", Dynamic: true}, false},
		"of another snapshot":                      {&staging.Content{SnapshotUID: "other", Dynamic: true, Retain: true}, false},
		"brought along by an administrator":        {&staging.Content{SnapshotUID: "vs", Retain: true}, false},
		"no content":                               {nil, false},
		"a content that nobody is bound to at all": {&staging.Content{Dynamic: true, Retain: true}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tc.want, staging.Release(tc.content, vs))
		})
	}
}
