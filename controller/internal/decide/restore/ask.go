// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"reflect"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/decide/policy"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

// classMissingCredentials is what a mover says about a Secret without a key.
const classMissingCredentials = string(work.CodeMissingCredentials)

// question is what the repository is asked now; nil where the policy has no identity in it. The policy must exist, where
// the source is one.
func (d *decision) question() *work.Resolve {
	if i := d.Restore.Spec.Source.Identity; i != nil {
		at, err := asOf(i.AsOf)
		if err != nil {
			return nil
		}
		path := i.SourcePath
		if path == "" && d.claim != nil && i.SnapshotID == "" {
			path = kopiurv1.Source{}.ClaimPath("", d.claim.Name)
		}
		return &work.Resolve{
			Identity:   work.Identity{Username: i.Username, Hostname: i.Hostname, Path: path},
			SnapshotID: i.SnapshotID, AsOf: at, Offset: i.Offset,
		}
	}
	f := d.Restore.Spec.Source.FromPolicy
	path, err := d.sourcePath()
	if err != nil {
		return nil
	}
	at, err := asOf(f.AsOf)
	if err != nil {
		return nil
	}
	id, fault := d.identity(path)
	if fault.Found() {
		return nil
	}
	return &work.Resolve{
		Identity: work.Identity{Username: id.Username, Hostname: id.Hostname, Path: id.SourcePath},
		AsOf:     at, Offset: f.Offset,
	}
}

// identity is what the policy's snapshots are filed under in the repository that is asked.
func (d *decision) identity(path string) (kopiurv1.Identity, policy.Fault) {
	repo := d.repository()
	rule, fault := policy.Rule(repo.Ref, repo.Spec.IdentityDefaults)
	if fault.Found() {
		return kopiurv1.Identity{}, fault
	}
	return policy.Identity(d.Policy, repo.Ref, rule, path)
}

// asks reports whether a Job asks the question of now, of the repository of now. Spec and policy may have been edited
// since it was made, and its answer is then one to another question.
func (d *decision) asks(job *batchv1.Job) bool {
	if job == nil || d.Restore.Spec.Source.SnapshotRef != nil || d.Restore.Spec.Source.FromPolicy != nil && d.Policy == nil {
		return false
	}
	q, ref := d.question(), RepositoryRef(d.Restore, nil, d.Policy)
	if q == nil || ref == nil {
		return false
	}
	spec := moverjob.Told(job)
	return spec != nil && spec.Repository.Name == ref.String() && reflect.DeepEqual(spec.Operation.Resolve, q)
}

// ask starts a mover that looks into the repository, unless the last answer still has to rest.
func (d *decision) ask() bool {
	if after, rest := d.resting(); rest {
		reason, message := kopiurv1.ReasonResolving, "the repository is asked again"
		if c := d.stored(kopiurv1.ConditionResolved); c != nil {
			reason, message = c.Reason, c.Message
			d.set(c.Type, c.Status, c.Reason, "%s", c.Message)
		}
		d.plan.Carry = append(d.plan.Carry, kopiurv1.ConditionMoverPermitted)
		d.tidy()
		return d.wait(after, reason, "%s", message)
	}
	q := d.question()
	if q == nil {
		_, fault := d.identity("")
		return d.wait(0, fault.Reason, "%s", fault.Message)
	}
	// Nothing of the settings for the restore itself: asking takes no privileges.
	var layer *kopiurv1.MoverSpec
	if m := d.Restore.Spec.Mover; m != nil {
		layer = &kopiurv1.MoverSpec{Resources: m.Resources, Cache: m.Cache}
	}
	fp := &kopiurv1.FailurePolicy{BackoffLimit: new(int32(0))} // our own rests are longer, and they are seen
	if p := d.Restore.Spec.FailurePolicy; p != nil {
		fp.PodStartupDeadlineSeconds = p.PodStartupDeadlineSeconds
	}
	if c := d.stored(kopiurv1.ConditionResolved); c != nil && c.Status != metav1.ConditionTrue {
		d.set(c.Type, c.Status, c.Reason, "%s", c.Message)
	} else {
		d.set(kopiurv1.ConditionResolved, metav1.ConditionUnknown, kopiurv1.ReasonResolving,
			"the repository is asked for snapshots of %s", asked(*q))
	}
	return d.launch(attempt{
		letter: "q", operation: work.Operation{Resolve: q}, layer: layer, failurePolicy: fp,
		deadlineSeconds: resolveDeadlineSeconds, phase: kopiurv1.RestoreResolving,
		reason: kopiurv1.ReasonResolving, message: asksWhich,
	})
}

// resting is how long the last answer, or the lack of one, is left alone. It ends early when something suggests another
// answer: new credentials, an edited spec, a backup, a repository that was reached since.
func (d *decision) resting() (time.Duration, bool) {
	j := d.st.Job
	if j == nil || j.EndedAt == "" || j.Fruitless == 0 {
		return 0, false
	}
	ended, err := time.Parse(time.RFC3339, j.EndedAt)
	if err != nil {
		return 0, false
	}
	if j.Generation != d.Restore.Generation || d.st.ResolvedCredentialVersion != d.Credentials.Version {
		return 0, false
	}
	if d.Policy != nil && later(d.Policy.Status.LastSuccessfulSnapshot, ended) {
		return 0, false
	}
	if h := d.repository().Status.Health; h != nil && later(h.LastHealthyAt, ended) {
		return 0, false
	}
	left := rest(j.Fruitless) - d.now.Sub(ended)
	if timeout, _ := d.waitTimeout(); timeout > 0 && d.waitsForSnapshot() {
		left = min(left, d.windowLeft(timeout))
	}
	return left, left > 0
}

// waitsForSnapshot reports whether the last answer was a proven absence inside the wait window.
func (d *decision) waitsForSnapshot() bool {
	c := d.stored(kopiurv1.ConditionResolved)
	return c != nil && c.Reason == kopiurv1.ReasonWaitingForSnapshot
}

func later(stamp string, than time.Time) bool {
	t, err := time.Parse(time.RFC3339, stamp)
	return err == nil && t.After(than)
}

// rest is the time between two questions: 30 s, doubled up to 30 minutes.
func rest(fruitless int32) time.Duration {
	out := firstRest
	for range max(0, min(fruitless, 16)-1) {
		out = min(2*out, longestRest)
	}
	return out
}

// asked reads the answer of a resolve mover.
func (d *decision) asked() bool {
	d.plan.Carry = append(d.plan.Carry, gateConditions...)
	if !d.asks(d.Job) {
		d.st.Job.Fruitless = 0
		return d.wait(soon, kopiurv1.ReasonResolving, "what is asked for changed while the repository was asked; it is asked again")
	}
	if o := d.Outcome; o.State == moverjob.Finished && o.Result.Resolve != nil {
		switch a := *o.Result.Resolve; {
		case a.SourcePaths > 1:
			// Asking again brings nothing: somebody has to choose.
			return d.unclear(kopiurv1.ReasonSourcePathAmbiguous, o.Result.Message+": set source.identity.sourcePath to one of them")
		case o.Result.Code == work.CodeSnapshotMismatch:
			return d.unclear(kopiurv1.ReasonNoSnapshot, o.Result.Message+": correct source.identity")
		case o.Result.Code != work.CodeOK:
		case a.Resolution == work.ResolutionFound && a.SnapshotID != "":
			return d.found(a)
		case a.Resolution == work.ResolutionAbsent:
			return d.absent(a)
		}
	}
	return d.unknown()
}

// Doubts reports whether an answer is to be compared with what a policy's Snapshots say: it is that there is nothing.
func Doubts(o moverjob.Outcome) bool {
	return o.State == moverjob.Finished && o.Result != nil && o.Result.Resolve != nil && o.Result.Resolve.Resolution == work.ResolutionAbsent
}

// StoredBy are the source paths that a policy's Snapshots say they have stored.
func StoredBy(snapshots []kopiurv1.Snapshot) map[string]string {
	out := map[string]string{}
	for i := range snapshots {
		s := &snapshots[i]
		if s.DeletionTimestamp != nil || s.Status.Phase != kopiurv1.SnapshotSucceeded || s.Status.Snapshot == nil {
			continue
		}
		if name, path := s.Namespace+"/"+s.Name, s.Status.Snapshot.Identity.SourcePath; out[path] < name {
			out[path] = name
		}
	}
	return out
}

func (d *decision) found(a work.ResolveResult) bool {
	id := d.question().Identity
	if a.Identity != nil {
		id = *a.Identity // the question may have left the path open
	}
	pin := kopiurv1.RestoreResolved{
		Resolution: kopiurv1.ResolutionSnapshot, KopiaSnapshotID: a.SnapshotID,
		Identity: &kopiurv1.Identity{Username: id.Username, Hostname: id.Hostname, SourcePath: id.Path},
	}
	if !a.StartTime.IsZero() {
		pin.StartTime = a.StartTime.UTC().Format(time.RFC3339Nano)
	}
	d.pin(pin)
	return d.wait(soon, kopiurv1.ReasonResolved, "snapshot %s of %s is meant", a.SnapshotID, pin.StartTime)
}

// absent is a proven absence. It is an empty target only if nothing speaks against it.
func (d *decision) absent(a work.ResolveResult) bool {
	q := d.question()
	id := asked(*q)
	timeout, _ := d.waitTimeout()
	if left := d.windowLeft(timeout); left > 0 {
		d.st.Job.Fruitless++
		d.st.Failure = nil
		d.set(kopiurv1.ConditionResolved, metav1.ConditionFalse, kopiurv1.ReasonWaitingForSnapshot,
			"the repository has no snapshot of %s that was asked for; waiting for one until policy.waitTimeout (%s) is over", id, timeout)
		c := d.plan.Conditions[len(d.plan.Conditions)-1]
		return d.wait(min(left, rest(d.st.Job.Fruitless)), c.Reason, "%s", c.Message)
	}
	switch {
	case a.Candidates > 0 && q.SnapshotID != "":
		return d.noSnapshot("the repository has no snapshot of %s, and %d others of that identity: a pin gives a snapshot another id, so choose it by asOf, or by a Snapshot object", id, a.Candidates)
	case a.Candidates > 0:
		return d.noSnapshot("%s has %d snapshots, and none of them fits asOf %q and offset %d; the oldest ones may be gone", id, a.Candidates, stampOfAsOf(q.AsOf), q.Offset)
	case d.onMissing() != kopiurv1.OnMissingContinue:
		return d.noSnapshot("the repository has no snapshot of %s", id)
	}
	if d.Restore.Spec.Source.FromPolicy != nil {
		paths, last := d.paths(), d.Policy.Status.LastSuccessfulSnapshot
		switch {
		case !d.knows(q.Identity.Path):
			return d.noSnapshot("the repository has no snapshot of %s, and the path is none of the policy's (%s): an empty volume is refused, the path may be mistyped", id, quoted(paths))
		case d.Stored[q.Identity.Path] != "":
			return d.noSnapshot("the repository has no snapshot of %s, and Snapshot %s says that it is stored: an empty volume is refused, this may not be the repository it was", id, d.Stored[q.Identity.Path])
		case last != "" && len(paths) == 1:
			return d.noSnapshot("the repository has no snapshot of %s, and the policy made one that ended at %s: an empty volume is refused, this may not be the repository it was", id, last)
		}
	}
	d.pin(kopiurv1.RestoreResolved{
		Resolution: kopiurv1.ResolutionNoSnapshot,
		Identity:   &kopiurv1.Identity{Username: q.Identity.Username, Hostname: q.Identity.Hostname, SourcePath: q.Identity.Path},
	})
	return d.wait(soon, kopiurv1.ReasonNoSnapshotContinue, "the repository has no snapshot of %s; the target is left without data", id)
}

// asked is how messages call what the repository was asked for.
func asked(q work.Resolve) string {
	id := q.Identity.Username + "@" + q.Identity.Hostname
	if q.Identity.Path != "" {
		id += ":" + q.Identity.Path
	}
	if q.SnapshotID != "" {
		return id + " with the id " + q.SnapshotID
	}
	return id
}

func stampOfAsOf(at *time.Time) string {
	if at == nil {
		return ""
	}
	return stampOf(*at)
}

// unclear ends a Restore whose source means nothing, or several things. An edit opens it again.
func (d *decision) unclear(reason, message string) bool {
	d.set(kopiurv1.ConditionResolved, metav1.ConditionFalse, reason, "%s", message)
	return d.fail(reason, kopiurv1.Failure{KopiaErrorClass: string(work.CodeInvalidSpec), Message: message, Op: "resolve"})
}

// unknown is every outcome but the other two. It is asked again, however long that takes, and nothing is written.
func (d *decision) unknown() bool {
	d.st.Job.Fruitless++
	f := d.failure()
	d.st.Failure = &f
	if f.KopiaErrorClass == classMissingCredentials {
		d.set(kopiurv1.ConditionCredentialsAvailable, metav1.ConditionFalse, kopiurv1.ReasonMissingCredentialsSecret, "%s", f.Message)
	}
	message := f.KopiaErrorClass + ": " + strings.TrimSuffix(f.Message, ".") + ". The repository is asked again; until it has answered nothing is written"
	d.set(kopiurv1.ConditionResolved, metav1.ConditionUnknown, kopiurv1.ReasonResolutionUnknown, "%s", message)
	return d.wait(rest(d.st.Job.Fruitless), kopiurv1.ReasonResolutionUnknown, "%s", message)
}

// failure explains an outcome that is no success.
func (d *decision) failure() kopiurv1.Failure {
	if f := moverjob.Failure(d.Outcome); f != nil {
		return *f
	}
	f := kopiurv1.Failure{KopiaErrorClass: string(work.CodeLost), Message: d.Outcome.Message, RetryRecommended: true, Op: d.operation()}
	switch d.Outcome.State {
	case moverjob.Wedged:
		f.KopiaErrorClass = kopiurv1.ReasonMoverPodWedged
	case moverjob.DeadlineKilled:
		f.KopiaErrorClass = kopiurv1.ReasonDeadlineKilled
	case moverjob.Finished:
		f.KopiaErrorClass, f.Message = string(work.CodeUnknown), "the mover's answer is not understood: do its image and the controller belong together?"
	default:
	}
	return f
}
