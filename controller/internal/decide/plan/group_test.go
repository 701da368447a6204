// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/group"
	"github.com/kopiur/kopiur/controller/internal/decide/plan"
	"github.com/kopiur/kopiur/controller/internal/decide/staging"
)

// waiting is a Snapshot whose claim another one of its run cuts, with everything looked up.
func waiting(w *plan.World) {
	copying(w)
	w.Snapshot.Spec.Source = &kopiurv1.SnapshotSource{Group: &kopiurv1.SnapshotGroup{Namespace: "apps", VolumeGroupSnapshotName: "nightly"}}
	w.Asked |= plan.AskGroup
	w.Group = group.State{Name: "nightly", Claim: "data", Served: true, Maker: &group.Maker{Name: "nightly-wal", UID: "maker"}, Began: now.Add(-time.Hour)}
}

// making is the one that cuts.
func making(w *plan.World) {
	waiting(w)
	w.Snapshot.Annotations = map[string]string{kopiurv1.AnnotationGroupClaims: "data,wal"}
	w.Group.Self, w.Group.Maker = true, &group.Maker{Name: "one", UID: "uid"}
	w.Group.Plan = group.Cut{
		Claims:  []group.Claim{{Name: "data", Bound: true, Driver: driver}, {Name: "wal", Bound: true, Driver: driver}},
		Classes: []staging.SnapshotClass{{Name: "groups", Driver: driver}},
	}
}

// together is the group of the run, with the claim's snapshot in it.
func together(isReady bool) func(*plan.World) {
	return func(w *plan.World) {
		w.Group.Group = &group.Group{Name: "nightly", UID: "g", Ours: true, Maker: w.Group.Maker.UID, Created: now.Add(-time.Minute), Content: "c", Ready: isReady}
		w.Group.Member = &staging.Snapshot{Name: "snapshot-1", UID: "vs", Ready: true}
	}
}

// TestGroups: a run is cut once, and its Snapshots take their copies from that.
func TestGroups(t *testing.T) {
	t.Parallel()
	const pendingPhase = kopiurv1.SnapshotPending
	unserved := func(w *plan.World) { w.Group.Served = false }
	labelled := func(w *plan.World) {
		for i := range w.Group.Plan.Claims {
			w.Group.Plan.Claims[i].Label = "nightly"
		}
	}
	queue := func(w *plan.World) {
		w.Policy.Spec.Upload = &kopiurv1.Upload{MaxParallelSnapshots: 1}
		w.Asked |= plan.AskSlot
		w.Slot.Message = "one runs already"
	}
	staged := func(s *kopiurv1.Staged) { s.VolumeGroupSnapshotName, s.VolumeSnapshotName = "nightly", "snapshot-1" }
	for name, tc := range map[string]row{
		"the maker labels the claims":                 {world(making), plan.Cut, pendingPhase, kopiurv1.ReasonWaitingForGroupSnapshot, "making VolumeGroupSnapshot nightly", 0, ""},
		"and makes the group":                         {world(making, labelled), plan.Cut, pendingPhase, kopiurv1.ReasonWaitingForGroupSnapshot, "making VolumeGroupSnapshot nightly", 0, ""},
		"with a slot":                                 {world(making, queue), plan.Wait, pendingPhase, kopiurv1.ReasonWaitingForSlot, "one runs already", 0, ""},
		"after the hooks before the snapshot":         {world(making, hooked), plan.Hook, pendingPhase, "", "", 0, ""},
		"and waits for the group":                     {world(making, together(false)), plan.Wait, pendingPhase, kopiurv1.ReasonWaitingForGroupSnapshot, "not ready to use yet", 9 * time.Minute, ""},
		"then it takes its copy from it":              {world(making, together(true)), plan.Stage, pendingPhase, kopiurv1.ReasonWaitingForStagedPVCBind, "making the staged claim", 0, ""},
		"the others wait, without a slot":             {world(waiting, queue), plan.Wait, pendingPhase, kopiurv1.ReasonWaitingForGroupSnapshot, "Snapshot nightly-wal cuts", 0, ""},
		"for a slot they wait once the cut is made":   {world(waiting, together(true), queue), plan.Wait, pendingPhase, kopiurv1.ReasonWaitingForSlot, "", 0, ""},
		"they run no hooks: the cut is another one's": {world(waiting, together(true), hooked), plan.Stage, pendingPhase, kopiurv1.ReasonWaitingForStagedPVCBind, "", 0, ""},
		"a cluster that cannot, at first":             {world(waiting, unserved), plan.Wait, pendingPhase, kopiurv1.ReasonGroupSnapshotUnsupported, "groupBy: None", time.Minute, ""},
		"a cluster that cannot, at the deadline":      {world(waiting, unserved, was(kopiurv1.ConditionSourceStaged, 10*time.Minute)), plan.Fail, kopiurv1.SnapshotFailed, kopiurv1.ReasonGroupSnapshotUnsupported, "groupBy: None", 0, plan.OpStage},
		"the maker failed":                            {world(waiting, func(w *plan.World) { w.Group.Maker.Over, w.Group.Maker.Failed = true, true }), plan.Fail, kopiurv1.SnapshotFailed, kopiurv1.ReasonGroupSnapshotFailed, "nothing was cut", 0, plan.OpStage},
		"a copy that is made needs the group no more": {world(waiting, begun(staged), copied(corev1.ClaimBound, 0)), plan.Start, pendingPhase, "", "", 0, ""},
		"a group that went before the copy was made":  {world(waiting, begun(staged)), plan.Fail, kopiurv1.SnapshotFailed, kopiurv1.ReasonGroupSnapshotLost, "of another instant", 0, plan.OpStage},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, tc)
		})
	}
	assert.Equal(t, plan.AskGroup, plan.Decide(world(waiting, func(w *plan.World) { w.Asked = 0 }), now).Ask)
	assert.Equal(t, plan.AskVolume, plan.Decide(world(making, together(true), func(w *plan.World) { w.Asked = plan.AskGroup }), now).Ask)
}

func TestPinKeepsTheGroup(t *testing.T) {
	t.Parallel()
	w := world(waiting, together(true))
	p := plan.Decide(w, now)
	require.NotNil(t, p.Choice)
	assert.Equal(t, kopiurv1.Staged{
		CopyMethod: kopiurv1.CopySnapshot, VolumeGroupSnapshotName: "nightly", VolumeSnapshotName: "snapshot-1", PVCName: "one-src", StorageClassName: "fast", StagingTimeoutSeconds: 600,
	}, plan.Pin(w.Snapshot, w.Policy, *p.Choice))
}
