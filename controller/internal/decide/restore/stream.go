// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/gates"
)

const opStream = "streamRestore"

// consumer passes once the one pod runs whose command takes the file, and its Namespace allows that.
func (d *decision) consumer(t kopiurv1.StreamTarget) bool {
	d.st.Target = nil
	if d.writesNothing() {
		return false
	}
	if v := gates.Commands(d.Restore.Namespace, d.NamespaceAnnotations); !v.Open {
		d.gate(kopiurv1.ConditionMoverPermitted, v)
		return d.wait(0, v.Reason, "%s", v.Message)
	}
	if v := gates.Workload(t.WorkloadExec, d.Neighbours); !v.Open {
		d.gate(kopiurv1.ConditionTargetAvailable, v)
		return d.wait(recheck, v.Reason, "%s", v.Message)
	}
	d.set(kopiurv1.ConditionTargetAvailable, metav1.ConditionTrue, kopiurv1.ReasonTargetFound, "the pod in which the command runs is there")
	return false
}

// startStream brings one file of the pinned snapshot to the command.
func (d *decision) startStream(t kopiurv1.StreamTarget) bool {
	pin := d.st.Resolved
	op := &work.StreamRestore{SnapshotID: pin.KopiaSnapshotID, FileName: t.FileName}
	if i := pin.Identity; i != nil {
		op.Identity = work.Identity{Username: i.Username, Hostname: i.Hostname, Path: i.SourcePath}
	}
	if at, err := time.Parse(time.RFC3339, pin.StartTime); err == nil {
		op.StartTime = &at
	}
	return d.launch(attempt{
		letter: "v", operation: work.Operation{StreamRestore: op}, layer: d.Restore.Spec.Mover, inherited: d.inherited, stream: &t.WorkloadExec,
		failurePolicy: d.Restore.Spec.FailurePolicy, phase: kopiurv1.RestoreRestoring,
		reason: kopiurv1.ReasonMoverStarting, message: starting,
	})
}

// delivered records a file that the command has taken to its last byte.
func (d *decision) delivered(res work.Result) bool {
	d.countStream(res)
	if id := res.StreamRestore.SnapshotID; id != "" && id != d.st.Resolved.KopiaSnapshotID {
		d.note(false, kopiurv1.ReasonSnapshotIDHealed, "snapshot %s is called %s by now: its manifest was rewritten", d.st.Resolved.KopiaSnapshotID, id)
		d.st.Resolved.KopiaSnapshotID = id
		d.sayResolved()
	}
	d.st.Phase, d.st.Failure = kopiurv1.RestoreCompleted, nil
	return d.sum(Ready, soon, kopiurv1.ReasonRestoreSucceeded, "the command took all %d bytes of %s and ended with 0",
		res.StreamRestore.BytesDelivered, d.fileName())
}

// undelivered ends a stream whose mover is gone without a word. Half of it may be applied, and nobody here knows whether
// twice is harmless.
func (d *decision) undelivered(why string) bool {
	return d.fail(kopiurv1.ReasonResultLost, kopiurv1.Failure{
		KopiaErrorClass: string(work.CodeLost), Op: opStream,
		Message: why + ": nobody knows how much of the file the command took; look there, and make another Restore if it is needed",
	})
}

// interrupted reports whether somebody has deleted the Job of a stream while its mover was at work.
func (d *decision) interrupted() bool {
	c := d.stored(kopiurv1.ConditionReconciling)
	return d.st.Resolved != nil && d.Restore.Spec.Target.StreamExec != nil && c != nil && c.Reason == kopiurv1.ReasonMoverRunning
}

// countStream records what was taken. A command that was given something has to be taken for one that did something with
// it.
func (d *decision) countStream(res work.Result) {
	n := res.StreamRestore.BytesDelivered
	d.st.Progress = &kopiurv1.RestoreProgress{
		Progress: kopiurv1.Progress{BytesProcessed: n, UpdatedAt: stampOf(res.EndTime)}, BytesRestored: n,
	}
	if res.StreamRestore.Delivered {
		d.st.Progress.FilesProcessed, d.st.Progress.FilesRestored = 1, 1
	}
	if !res.StartTime.IsZero() {
		d.st.Timing = &kopiurv1.Timing{StartTime: stampOf(res.StartTime), EndTime: stampOf(res.EndTime)}
		if !res.EndTime.IsZero() {
			d.st.Timing.DurationSeconds = int64(res.EndTime.Sub(res.StartTime) / time.Second)
		}
	}
}

func (d *decision) fileName() string {
	if t := d.Restore.Spec.Target.StreamExec; t != nil {
		return t.FileName
	}
	return "the file"
}

// streams reports whether an attempt brought its file to a command.
func streams(job *batchv1.Job, r *kopiurv1.Restore) bool {
	if job != nil {
		return job.Labels[kopiurv1.LabelOperation] == opStream
	}
	return r.Spec.Target.StreamExec != nil
}

// targetName is how messages call the target.
func targetName(r *kopiurv1.Restore) string {
	if r.Spec.Target.StreamExec != nil {
		return "the command"
	}
	return "claim " + TargetClaim(r)
}
