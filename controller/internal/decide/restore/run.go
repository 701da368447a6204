// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/gates"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

// What is said of a mover while nothing is unusual about it.
const (
	starting  = "starting the mover"
	asksWhich = "asking the repository which snapshot is meant"
)

// resolveDeadlineSeconds bounds a question. A connect with a cold cache may take minutes (C-3), so it is generous.
const resolveDeadlineSeconds = 1800

// attempt is one mover to start.
type attempt struct {
	letter          string
	operation       work.Operation
	target          *moverjob.Mount
	stream          *kopiurv1.WorkloadExec
	layer           *kopiurv1.MoverSpec
	inherited       *moverjob.Layer
	failurePolicy   *kopiurv1.FailurePolicy
	deadlineSeconds int64
	phase           kopiurv1.RestorePhase
	reason, message string
}

// launch plans a mover, if its privileges are permitted and no other mover of this Restore is left.
func (d *decision) launch(a attempt) bool {
	if d.tidy() {
		d.makeNothing()
		return d.wait(recheck, a.reason, "an earlier Job has not ended yet")
	}
	if len(d.Strays) > 0 {
		d.makeNothing()
		return d.wait(recheck, a.reason, "pod %s of an earlier attempt has not ended yet", quoted(d.Strays))
	}
	var j kopiurv1.RestoreJob
	if d.st.Job != nil {
		j = *d.st.Job
	}
	if !InFlight(d.Restore) {
		j.Attempts++
	}
	generation := d.Restore.Generation
	labels := map[string]string{kopiurv1.LabelGeneration: strconv.FormatInt(generation, 10)}
	if d.claim != nil {
		labels[kopiurv1.LabelClaimUID] = string(d.claim.UID)
	}
	job, err := moverjob.Build(moverjob.Request{
		Owner: d.Restore, GVK: kopiurv1.GroupVersion.WithKind("Restore"),
		Letter: a.letter, Attempt: d.attemptOf(j.Attempts), Namespace: d.Restore.Namespace,
		Image: d.Image, PullPolicy: d.PullPolicy,
		Repository: d.repository(), Operation: a.operation, Layers: []*kopiurv1.MoverSpec{a.layer}, Inherited: a.inherited,
		FailurePolicy: a.failurePolicy, DefaultDeadlineSeconds: a.deadlineSeconds, Target: a.target, Stream: a.stream,
		Labels: labels,
	})
	if err != nil {
		d.makeNothing()
		return d.refuse(kopiurv1.ReasonInvalidSpec, "%s", err)
	}
	if a.target != nil {
		d.colocate(job)
	}
	v := gates.Privileges(job.Spec.Template.Spec, d.Restore.Namespace, d.NamespaceAnnotations)
	if d.gate(kopiurv1.ConditionMoverPermitted, v) {
		d.makeNothing()
		return d.wait(0, v.Reason, "%s", v.Message)
	}
	j.Name, j.Generation, j.EndedAt = job.Name, generation, ""
	d.st.Job, d.st.Phase, d.st.ResolvedCredentialVersion = &j, a.phase, d.Credentials.Version
	if a.phase == kopiurv1.RestoreResolving && d.st.WaitStartedAt == "" {
		d.st.WaitStartedAt = d.stamp()
	}
	d.plan.Intent, d.plan.Job = true, job
	return d.wait(moverjob.StartupDeadline(a.failurePolicy), a.reason, "%s", a.message)
}

// makeNothing takes back the claim that was planned: one that waits for its mover looks like one that was restored.
func (d *decision) makeNothing() {
	if d.plan.Claim != nil {
		d.plan.Claim = nil
		d.plan.Conditions = slices.DeleteFunc(d.plan.Conditions, func(c Condition) bool { return c.Type == kopiurv1.ConditionTargetAvailable })
	}
}

// running follows the attempt that status.job names.
func (d *decision) running() bool {
	if !InFlight(d.Restore) {
		return false
	}
	switch d.Outcome.State {
	case moverjob.Absent, "":
		if d.interrupted() {
			d.plan.Carry = gateConditions
			d.st.Job.EndedAt, d.ended = d.stamp(), true
			return d.undelivered("the mover's Job was deleted while it was at work")
		}
		// Not made yet, or deleted by hand: the same attempt is made again, if the gates are still open.
		return false
	case moverjob.Waiting, moverjob.Running:
		return d.working()
	case moverjob.NodeLost:
		d.plan.Carry = gateConditions
		return d.wait(recheck, kopiurv1.ReasonNodeLost, "%s", d.Outcome.Message)
	default:
	}
	d.st.Job.EndedAt, d.ended = d.stamp(), true
	if d.st.Resolved == nil {
		return d.asked()
	}
	return d.written()
}

func (d *decision) operation() string {
	if d.Restore.Status.Resolved == nil {
		return "resolve"
	}
	return "restore"
}

func (d *decision) working() bool {
	d.plan.Carry = gateConditions
	if c := d.stored(kopiurv1.ConditionMoverPermitted); c == nil || c.Status != metav1.ConditionTrue {
		// Killed before the conditions of the start were stored.
		d.set(kopiurv1.ConditionMoverPermitted, metav1.ConditionTrue, kopiurv1.ReasonPermitted, "the mover was started")
	}
	asking := d.operation() == "resolve"
	if !asking {
		if p := d.Tail.StatusProgress(); p != nil {
			d.st.Progress = &kopiurv1.RestoreProgress{Progress: *p, BytesRestored: p.BytesProcessed, FilesRestored: p.FilesProcessed}
		}
	}
	switch {
	case d.Outcome.State == moverjob.Waiting:
		reason := kopiurv1.ReasonMoverStarting
		if asking {
			reason = kopiurv1.ReasonResolving
		}
		message := d.Outcome.Message
		if d.Outcome.Starting { // as the start itself said
			message = starting
			if asking {
				message = asksWhich
			}
		}
		return d.wait(d.Outcome.Recheck, reason, "%s", message)
	case asking:
		return d.wait(0, kopiurv1.ReasonResolving, asksWhich)
	default:
		return d.wait(work.ProgressInterval(d.ranFor()), kopiurv1.ReasonMoverRunning, "restoring snapshot %s into %s",
			d.st.Resolved.KopiaSnapshotID, d.claimName())
	}
}

func (d *decision) ranFor() time.Duration { return RanFor(d.World, d.now) }

// RanFor is how long the mover has been at work.
func RanFor(w World, now time.Time) time.Duration {
	if w.Job == nil || w.Job.Status.StartTime == nil {
		return 0
	}
	return now.Sub(w.Job.Status.StartTime.Time)
}

// ProgressDue reports whether the mover's log is to be read for its progress: no more often than it says something.
func ProgressDue(w World, now time.Time) bool {
	if w.Outcome.State != moverjob.Running || w.Restore.Status.Resolved == nil {
		return false
	}
	p := w.Restore.Status.Progress
	if p == nil {
		return true
	}
	at, err := time.Parse(time.RFC3339, p.UpdatedAt)
	since := now.Sub(at)
	// A mover whose clock is ahead must not silence itself.
	return err != nil || since < 0 || since >= work.ProgressInterval(RanFor(w, now))
}

// startRestore writes the pinned snapshot into the target; without one the target is done.
func (d *decision) startRestore() bool {
	pin := d.st.Resolved
	if pin.Resolution == kopiurv1.ResolutionNoSnapshot {
		if d.plan.Claim != nil {
			return d.wait(soon, kopiurv1.ReasonNoSnapshotContinue, "making claim %s, empty", d.plan.Claim.Name)
		}
		d.tidy()
		d.st.Phase, d.st.Failure = kopiurv1.RestoreCompleted, nil
		return d.sum(Ready, 0, kopiurv1.ReasonNoSnapshotContinue,
			"there was no snapshot to restore; %s was left as it is", d.claimName())
	}
	if t := d.Restore.Spec.Target.StreamExec; t != nil {
		return d.startStream(*t)
	}
	op := &work.Restore{SnapshotID: pin.KopiaSnapshotID, SubPath: d.Restore.Spec.SubPath, TargetPath: work.TargetDir, Options: Options(d.Restore.Spec.Options)}
	if i := pin.Identity; i != nil {
		op.Identity = work.Identity{Username: i.Username, Hostname: i.Hostname, Path: i.SourcePath}
	}
	if t, err := time.Parse(time.RFC3339, pin.StartTime); err == nil {
		op.StartTime = &t
	}
	target := moverjob.Mount{Claim: TargetClaim(d.Restore), Path: work.TargetDir}
	if d.isBlock() {
		target.Block, target.Path = true, work.TargetDevice
		op.TargetPath, op.DevicePath = "", work.TargetDevice
	}
	return d.launch(attempt{
		letter: "v", operation: work.Operation{Restore: op}, layer: d.Restore.Spec.Mover, inherited: d.inherited,
		target:        &target,
		failurePolicy: d.Restore.Spec.FailurePolicy, phase: kopiurv1.RestoreRestoring,
		reason: kopiurv1.ReasonMoverStarting, message: starting,
	})
}

// Options maps the spec's options to the mover's, one to one: what is unset stays unset.
func Options(o *kopiurv1.RestoreOptions) work.RestoreOptions {
	if o == nil {
		return work.RestoreOptions{}
	}
	out := work.RestoreOptions{
		EnableFileDeletion: o.EnableFileDeletion, IgnorePermissionErrors: o.IgnorePermissionErrors,
		WriteFilesAtomically: o.WriteFilesAtomically, WriteSparseFiles: o.WriteSparseFiles,
		SkipOwners: o.SkipOwners, SkipPermissions: o.SkipPermissions, SkipTimes: o.SkipTimes,
		OverwriteFiles: o.OverwriteFiles, OverwriteDirectories: o.OverwriteDirectories, OverwriteSymlinks: o.OverwriteSymlinks,
		IgnoreErrors: o.IgnoreErrors, SkipExisting: o.SkipExisting,
	}
	if o.Parallel != nil {
		out.Parallel = int(*o.Parallel)
	}
	return out
}
