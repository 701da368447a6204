// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

// written reads the answer of a restore mover.
func (d *decision) written() bool {
	d.plan.Carry = gateConditions
	d.st.LogTail = d.Tail.Text
	o := d.Outcome
	if done, now, other := d.otherwise(); other && o.State == moverjob.Finished && o.Result.Code == work.CodeOK {
		d.reopen()
		if d.claim != nil {
			// A volume that holds what is not asked for any more is no claim's.
			d.plan.Reap = d.Job
			if d.claim.ours() {
				d.leftover.Drop = d.claim.Prime
			}
		}
		return d.wait(soon, kopiurv1.ReasonReopened, "%s, and the spec names %s by now: doing that", done, now)
	}
	if o.State == moverjob.Finished && o.Result.Code == work.CodeOK && o.Result.Restore != nil {
		return d.complete(*o.Result)
	}
	if o.State == moverjob.Finished && o.Result.Code == work.CodeOK && o.Result.StreamRestore != nil && o.Result.StreamRestore.Delivered {
		return d.delivered(*o.Result)
	}
	if o.State == moverjob.ResultLost && streams(d.Job, d.Restore) {
		return d.undelivered("the mover's pod is gone and its result with it")
	}
	if o.State == moverjob.ResultLost {
		d.st.Job.Fruitless++
		if d.st.Job.Fruitless < maxLost {
			return d.wait(soon, kopiurv1.ReasonResultLost, "the mover's pod is gone and its result with it; restoring again, which changes nothing that was restored")
		}
	}
	if d.edited() {
		// The failure is one of a spec that is no more.
		d.reopen()
		return d.wait(soon, kopiurv1.ReasonReopened, "the mover failed, and the spec was edited meanwhile: trying again with the new one")
	}
	switch r := o.Result; {
	case r != nil && r.Restore != nil:
		d.count(*r)
	case r != nil && r.StreamRestore != nil:
		d.countStream(*r)
	}
	f := d.failure()
	reason := kopiurv1.ReasonRestoreFailed
	if rest, full := strings.CutPrefix(f.Message, work.TargetFull); full && f.KopiaErrorClass == string(work.CodeNoSpace) {
		f.Message = d.tooSmall(rest)
	}
	switch o.State {
	case moverjob.Wedged:
		reason = kopiurv1.ReasonMoverPodWedged
	case moverjob.DeadlineKilled:
		reason = kopiurv1.ReasonDeadlineKilled
	case moverjob.ResultLost:
		reason = kopiurv1.ReasonResultLost
		f.Message = fmt.Sprintf("%d movers in a row disappeared before their result was read; look for what deletes pods in this namespace", maxLost)
	default:
	}
	if f.KopiaErrorClass == classMissingCredentials {
		d.set(kopiurv1.ConditionCredentialsAvailable, metav1.ConditionFalse, kopiurv1.ReasonMissingCredentialsSecret, "%s", f.Message)
	}
	return d.fail(reason, f)
}

// tooSmall names the claim that has no room for the snapshot, and what helps. Nothing is deleted to make room (K-7).
func (d *decision) tooSmall(detail string) string {
	what, id := d.claimName(), d.st.Resolved.KopiaSnapshotID
	left := strings.TrimPrefix(detail, ": ")
	if left == "" {
		left = "what was written so far is left in it"
	}
	switch {
	case d.claim != nil:
		return fmt.Sprintf("%s is too small for snapshot %s, and its volume is not handed over half full: delete the claim and make it again with a larger request, and it is filled", what, id)
	case d.Restore.Spec.Target.PVC != nil:
		return fmt.Sprintf("%s is too small for snapshot %s; %s: make the claim larger and raise target.pvc.capacity, or name another claim there, and the restore goes on", what, id, left)
	default:
		return fmt.Sprintf("%s has no room for snapshot %s; %s, and nothing was deleted to make room: make the claim larger or free space in it, and then edit the Restore, or make it again", what, id, left)
	}
}

// wroteInto is the claim that a Job was told to write into, "" where it does not say. The spec may name another one by
// now, of which nothing may be told that is true of this one only.
func wroteInto(job *batchv1.Job) string {
	if job == nil {
		return ""
	}
	for _, v := range job.Spec.Template.Spec.Volumes {
		if v.Name == moverjob.TargetVolume && v.PersistentVolumeClaim != nil {
			return v.PersistentVolumeClaim.ClaimName
		}
	}
	return ""
}

// otherwise reports whether a Job was told to restore something else than the spec names by now, or to somewhere else: what
// was done, and what is to be.
func (d *decision) otherwise() (done, now string, other bool) {
	spec := moverjob.Told(d.Job)
	if spec == nil {
		return "", "", false
	}
	part := func(sub string) string { return cmp.Or(sub, "all of the snapshot") }
	t, into := d.Restore.Spec.Target, wroteInto(d.Job)
	switch r, s := spec.Operation.Restore, spec.Operation.StreamRestore; {
	case r != nil && into != "" && into != TargetClaim(d.Restore):
		return "claim " + into + " was restored into", targetName(d.Restore), true
	case r != nil && r.SubPath != d.Restore.Spec.SubPath:
		return part(r.SubPath) + " was restored", part(d.Restore.Spec.SubPath), true
	case s != nil && t.StreamExec == nil:
		return "a command took " + s.FileName, targetName(d.Restore), true
	case s != nil && s.FileName != t.StreamExec.FileName:
		return "the command took " + s.FileName, t.StreamExec.FileName, true
	default:
		return "", "", false
	}
}

// edited reports whether the Job was made from another spec than that of now. The Job itself knows best.
func (d *decision) edited() bool {
	generation := d.st.Job.Generation
	if d.Job != nil {
		if n, err := strconv.ParseInt(d.Job.Labels[kopiurv1.LabelGeneration], 10, 64); err == nil {
			generation = n
		}
	}
	d.st.Job.Generation = generation
	return generation != d.Restore.Generation
}

// complete records a success, and what it is worth: files whose owner could not be set are a failure to some.
func (d *decision) complete(res work.Result) bool {
	r := res.Restore
	d.count(res)
	opts := d.Restore.Spec.Options
	if opts == nil {
		opts = &kopiurv1.RestoreOptions{}
	}
	if id := r.SnapshotID; id != "" && id != d.st.Resolved.KopiaSnapshotID {
		d.note(false, kopiurv1.ReasonSnapshotIDHealed, "snapshot %s is called %s by now: its manifest was rewritten", d.st.Resolved.KopiaSnapshotID, id)
		d.st.Resolved.KopiaSnapshotID = id
		d.sayResolved()
	}
	switch {
	case r.Ownership.Failed > 0 && opts.IgnorePermissionErrors != nil && !*opts.IgnorePermissionErrors:
		return d.fail(kopiurv1.ReasonOwnershipIncomplete, kopiurv1.Failure{
			KopiaErrorClass: string(work.CodePermissionDenied), Op: "restore",
			Message: "all data was written, and options.ignorePermissionErrors is false: " + ownershipMessage(r.Ownership),
		})
	case r.EntriesFailed > 0 && (opts.IgnoreErrors == nil || !*opts.IgnoreErrors):
		return d.fail(kopiurv1.ReasonRestoreFailed, kopiurv1.Failure{
			KopiaErrorClass: string(work.CodePermissionDenied), Op: "restore",
			Message: fmt.Sprintf("%d entries could not be written; status.logTail names them", r.EntriesFailed),
		})
	}
	d.st.Phase, d.st.Failure = kopiurv1.RestoreCompleted, nil
	message := fmt.Sprintf("%d files with %d bytes were restored into %s", r.FilesRestored, r.BytesRestored, d.claimName())
	if r.FilesSkipped > 0 {
		message += fmt.Sprintf("; %d more were there already", r.FilesSkipped)
	}
	if r.EntriesFailed > 0 {
		message += fmt.Sprintf("; %d entries could not be written, which options.ignoreErrors tolerates", r.EntriesFailed)
	}
	if r.Ownership.Failed > 0 {
		message += "; " + ownershipMessage(r.Ownership)
	}
	return d.sum(Ready, soon, kopiurv1.ReasonRestoreSucceeded, "%s", message)
}

// count records what was written, whatever became of it.
func (d *decision) count(res work.Result) {
	r := res.Restore
	d.st.Progress = &kopiurv1.RestoreProgress{
		Progress:      kopiurv1.Progress{BytesProcessed: r.BytesRestored, FilesProcessed: r.FilesRestored, UpdatedAt: stampOf(res.EndTime)},
		BytesRestored: r.BytesRestored, FilesRestored: r.FilesRestored,
	}
	if !res.StartTime.IsZero() {
		d.st.Timing = &kopiurv1.Timing{StartTime: stampOf(res.StartTime), EndTime: stampOf(res.EndTime)}
		if !res.EndTime.IsZero() {
			d.st.Timing.DurationSeconds = int64(res.EndTime.Sub(res.StartTime) / time.Second)
		}
	}
	o := r.Ownership
	d.st.Ownership = &kopiurv1.OwnershipStatus{Applied: o.Applied, Failed: o.Failed}
	for i, p := range o.Paths {
		if i == work.MaxPaths {
			break
		}
		d.st.Ownership.Paths = append(d.st.Ownership.Paths, kopiurv1.EntryFault(p))
	}
	switch {
	case o.Failed > 0:
		d.set(kopiurv1.ConditionOwnershipApplied, metav1.ConditionFalse, kopiurv1.ReasonOwnershipIncomplete, "%s", ownershipMessage(o))
	case o.Applied > 0:
		d.set(kopiurv1.ConditionOwnershipApplied, metav1.ConditionTrue, kopiurv1.ReasonOwnershipApplied,
			"owner, mode and times of %d entries were set", o.Applied)
	}
}

func stampOf(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// ownershipMessage counts, shows one path and says who could have done it (K-5, F-1).
func ownershipMessage(o work.Ownership) string {
	m := fmt.Sprintf("owner, mode or times of %d entries could not be set", o.Failed)
	if len(o.Paths) == 0 {
		return m + "; run the mover with mover.privilegedMode"
	}
	first := o.Paths[0]
	m += fmt.Sprintf(", the first is %s of uid %d", first.Path, first.UID)
	for _, p := range o.Paths {
		if p.UID != first.UID {
			return m + "; they belong to several uids: run the mover with mover.privilegedMode"
		}
	}
	return m + fmt.Sprintf("; run the mover with mover.securityContext.runAsUser %d, or with mover.privilegedMode", first.UID)
}
