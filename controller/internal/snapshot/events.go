// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/deletion"
	"github.com/kopiur/kopiur/controller/internal/decide/plan"
	"github.com/kopiur/kopiur/controller/internal/loop"
)

// What Kopiur does in events about a Snapshot.
const (
	actionSnapshot = "Snapshot"
	actionDelete   = "Delete"
)

// quiet are waits that are part of every run: no event.
var quiet = map[string]bool{
	kopiurv1.ReasonMoverStarting: true, kopiurv1.ReasonMoverRunning: true, kopiurv1.ReasonReconciling: true,
	kopiurv1.ReasonWaitingForVolumeSnapshot: true, kopiurv1.ReasonWaitingForStagedPVCBind: true,
	kopiurv1.ReasonWaitingForSlot: true, kopiurv1.ReasonSuspended: true, kopiurv1.ReasonSourceStaged: true,
	kopiurv1.ReasonResolving: true, kopiurv1.ReasonWaitingForGroupSnapshot: true,
}

func waitingEvent(reason, message string) loop.Event {
	return loop.Warning(reason, actionSnapshot, "Waiting: %s", message)
}

func startedEvent(p plan.Plan) loop.Event {
	e := loop.Normal(kopiurv1.ReasonMoverStarting, actionSnapshot, "Started Job %s, attempt %d", p.Job.Name, p.Attempt)
	return e
}

func stagedEvent(claim string) loop.Event {
	return loop.Normal(kopiurv1.ReasonSourceStaged, actionSnapshot, "The mover reads claim %s, a copy of the source", claim)
}

func reopenedEvent() loop.Event {
	return loop.Normal(kopiurv1.ReasonReopened, actionSnapshot, "The Snapshot was changed and is tried again")
}

func failedEvent(reason, message string) loop.Event {
	return loop.Warning(reason, actionSnapshot, "%s", message)
}

func recordedEvent(rec plan.Records) loop.Event {
	if rec.Phase == kopiurv1.SnapshotFailed {
		return failedEvent(rec.Reason, rec.Message)
	}
	return loop.Normal(rec.Reason, actionSnapshot, "%s", rec.Message)
}

func deletingEvent(p deletion.Plan) loop.Event {
	if p.Reason == kopiurv1.ReasonStoppingMover {
		return loop.Normal(p.Reason, actionDelete, "%s", p.Message)
	}
	return loop.Warning(p.Reason, actionDelete, "Waiting: %s", p.Message)
}

func heldEvent(p deletion.Plan) loop.Event {
	return loop.Warning(kopiurv1.ReasonSnapshotDeletionHeld, actionDelete, "%s", p.Message)
}

func deletionFailedEvent(f kopiurv1.Failure) loop.Event {
	return loop.Warning(kopiurv1.ReasonDeletionFailed, actionDelete, "The stored data could not be deleted: %s: %s", f.KopiaErrorClass, f.Message)
}

func releasedEvent(p deletion.Plan) loop.Event {
	switch p.Outcome {
	case deletion.OutcomeRetained, deletion.OutcomeOrphaned:
		return loop.Normal(p.Reason, actionDelete, "The stored data stays in the repository: %s", p.Message)
	default:
		return loop.Normal(p.Reason, actionDelete, "The object goes: %s", p.Message)
	}
}
