// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/validation"
	"github.com/kopiur/kopiur/apis/work"
)

// validate refuses what could never be carried out, before anything is asked or written. Once pinned, the source is of
// no more interest.
func (d *decision) validate() bool {
	spec := d.Restore.Spec
	switch {
	case spec.Source.FromPolicy != nil:
		d.st.SourceKind = "fromPolicy"
	case spec.Source.Identity != nil:
		d.st.SourceKind = "identity"
	default:
		d.st.SourceKind = "snapshotRef"
	}
	guarded := d.Restore
	if d.original != nil {
		guarded = d.original
	}
	if refusal := validation.Guard(guarded); refusal.Refused() {
		return d.refuse(refusal.Reason, "%s", refusal.Message)
	}
	return false
}

// asOf parses the latest acceptable start time; nil where there is none.
func asOf(text string) (*time.Time, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // no time is an answer
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return nil, fmt.Errorf("parse asOf: %w", err)
	}
	return new(t.UTC()), nil
}

func (d *decision) waitTimeout() (time.Duration, error) {
	if p := d.Restore.Spec.Policy; p != nil {
		return p.WaitTimeout.Parse(0) //nolint:wrapcheck // says what and how
	}
	return 0, nil
}

// onMissing is the answer to a proven absence; what is left out depends on the source.
func (d *decision) onMissing() kopiurv1.OnMissingSnapshot {
	switch p := d.Restore.Spec.Policy; {
	case p != nil && p.OnMissingSnapshot != "":
		return p.OnMissingSnapshot
	case d.Restore.Spec.Source.FromPolicy != nil:
		return kopiurv1.OnMissingContinue
	default:
		return kopiurv1.OnMissingFail
	}
}

// referent passes once what the source names exists. A pin needs it no more.
func (d *decision) referent() bool {
	if d.st.Resolved != nil {
		d.plan.Carry = append(d.plan.Carry, kopiurv1.ConditionReferentAvailable)
		return false
	}
	if d.Restore.Spec.Source.Identity != nil {
		return false // it names nothing but the repository
	}
	var what string
	found := false
	if ref := d.Restore.Spec.Source.SnapshotRef; ref != nil {
		in := ref.In(d.Restore.Namespace)
		what, found = "Snapshot "+in.Namespace+"/"+in.Name, d.Snapshot != nil
	} else {
		f := d.Restore.Spec.Source.FromPolicy
		in := kopiurv1.ObjectRef{Name: f.Name, Namespace: f.Namespace}.In(d.Restore.Namespace)
		what, found = "SnapshotPolicy "+in.Namespace+"/"+in.Name, d.Policy != nil
	}
	if !found {
		d.set(kopiurv1.ConditionReferentAvailable, metav1.ConditionFalse, kopiurv1.ReasonRestoreReferentMissing, "%s does not exist", what)
		return d.wait(0, kopiurv1.ReasonRestoreReferentMissing, "%s does not exist; the restore starts when it appears", what)
	}
	d.set(kopiurv1.ConditionReferentAvailable, metav1.ConditionTrue, kopiurv1.ReasonReferentFound, "%s exists", what)
	if d.Restore.Spec.Source.FromPolicy == nil {
		return false
	}
	if _, err := d.sourcePath(); err != nil {
		return d.refuse(kopiurv1.ReasonSourcePathAmbiguous, "%s", err)
	}
	return false
}

// paths are the source paths of the policy.
func (d *decision) paths() []string {
	var out []string
	for _, s := range d.Policy.Spec.Sources {
		if p := s.Path(d.Policy.Namespace); p != "" && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

// sourcePath picks one path. It is never empty: the newest snapshot of all paths may be that of another volume (J-1).
func (d *decision) sourcePath() (string, error) {
	if p := d.Restore.Spec.Source.FromPolicy.SourcePath; p != "" {
		return p, nil
	}
	if d.claim != nil {
		return d.memberPath(d.claim.Name)
	}
	if slices.ContainsFunc(d.Policy.Spec.Sources, func(s kopiurv1.Source) bool { return s.Path(d.Policy.Namespace) == "" }) {
		return "", fmt.Errorf("SnapshotPolicy %s selects claims, each with a source path of its own: set source.fromPolicy.sourcePath", d.Policy.Name)
	}
	switch paths := d.paths(); len(paths) {
	case 1:
		return paths[0], nil
	case 0:
		return "", fmt.Errorf("SnapshotPolicy %s has no source with a path: set source.fromPolicy.sourcePath", d.Policy.Name)
	default:
		return "", fmt.Errorf("SnapshotPolicy %s has the source paths %s: set source.fromPolicy.sourcePath to one of them",
			d.Policy.Name, quoted(paths))
	}
}

// resolve passes once the decision is pinned.
func (d *decision) resolve() bool {
	switch {
	case d.st.Resolved != nil:
		d.sayResolved()
		return false
	case d.Restore.Spec.Source.SnapshotRef != nil:
		return d.resolveSnapshot()
	default:
		return d.ask()
	}
}

func (d *decision) sayResolved() {
	r := d.st.Resolved
	if r.Resolution == kopiurv1.ResolutionNoSnapshot {
		d.set(kopiurv1.ConditionResolved, metav1.ConditionTrue, kopiurv1.ReasonNoSnapshotContinue,
			"the repository proved that there is no snapshot; the target is left without data, as onMissingSnapshot says")
		return
	}
	at := ""
	if r.StartTime != "" {
		at = " of " + r.StartTime
	}
	d.set(kopiurv1.ConditionResolved, metav1.ConditionTrue, kopiurv1.ReasonResolved, "snapshot %s%s", r.KopiaSnapshotID, at)
}

// resolveSnapshot reads the Snapshot object: no mover is needed to know its id.
func (d *decision) resolveSnapshot() bool {
	s := d.Snapshot
	name := "Snapshot " + s.Namespace + "/" + s.Name
	switch {
	case s.Status.Snapshot != nil && s.Status.Snapshot.KopiaSnapshotID != "":
		// An incomplete snapshot too: who names it means it.
		pin := kopiurv1.RestoreResolved{
			Resolution: kopiurv1.ResolutionSnapshot, KopiaSnapshotID: s.Status.Snapshot.KopiaSnapshotID,
			Identity:    s.Status.Snapshot.Identity.DeepCopy(),
			SnapshotRef: &kopiurv1.ObjectRef{Name: s.Name, Namespace: s.Namespace},
		}
		if t := s.Status.Timing; t != nil {
			pin.StartTime = t.StartTime
		}
		d.pin(pin)
		return false
	case s.Status.Phase == kopiurv1.SnapshotUnchanged:
		return d.noSnapshot("%s stored nothing, because its source equalled the snapshot before it: restore that one, with source.fromPolicy", name)
	case s.Status.Phase != kopiurv1.SnapshotFailed:
		return d.waitForSnapshot(name)
	case d.onMissing() != kopiurv1.OnMissingContinue:
		return d.noSnapshot("%s failed and stored nothing", name)
	case doubtful(s):
		return d.noSnapshot("%s failed after a mover was started, which may have stored something: restore with source.fromPolicy, which asks the repository", name)
	}
	d.pin(kopiurv1.RestoreResolved{
		Resolution: kopiurv1.ResolutionNoSnapshot, SnapshotRef: &kopiurv1.ObjectRef{Name: s.Name, Namespace: s.Namespace},
	})
	d.tidy()
	return d.wait(soon, kopiurv1.ReasonNoSnapshotContinue, "%s stored nothing; the target is left without data", name)
}

// doubtful reports whether a failed Snapshot had a mover. Its last word proves no absence (K-1): a wrong password or a
// store that does not answer may be what the second mover met, after the first one had stored the data and was killed
// before it could say so.
func doubtful(s *kopiurv1.Snapshot) bool { return s.Status.Job != nil && s.Status.Job.Name != "" }

// waitForSnapshot waits for a Snapshot that is under way, at most for the timeout. Its end is not an absence: onMissing
// has no say in it.
func (d *decision) waitForSnapshot(name string) bool {
	timeout, _ := d.waitTimeout()
	if d.st.WaitStartedAt == "" {
		d.st.WaitStartedAt = d.stamp()
	}
	d.st.Phase = kopiurv1.RestoreResolving
	d.set(kopiurv1.ConditionResolved, metav1.ConditionFalse, kopiurv1.ReasonWaitingForSnapshot, "%s is not finished", name)
	left := d.windowLeft(timeout)
	if timeout > 0 && left <= 0 {
		return d.noSnapshot("%s was not finished within policy.waitTimeout (%s)", name, timeout)
	}
	return d.wait(left, kopiurv1.ReasonWaitingForSnapshot, "waiting for %s to finish", name)
}

// windowLeft is what is left of the wait window, zero or less once it is over.
func (d *decision) windowLeft(timeout time.Duration) time.Duration {
	start, err := time.Parse(time.RFC3339, d.st.WaitStartedAt)
	if err != nil || timeout <= 0 {
		return 0
	}
	return timeout - d.now.Sub(start)
}

// pin takes the decision. It is stored before any Job is made from it and never changes.
func (d *decision) pin(r kopiurv1.RestoreResolved) {
	r.Repository = RepositoryRef(d.Restore, d.Snapshot, d.Policy)
	r.PinnedAt = d.stamp()
	d.st.Resolved, d.st.Failure = &r, nil
	if d.st.Job != nil {
		d.st.Job.Fruitless = 0
	}
	d.sayResolved()
}

// noSnapshot fails a Restore that has nothing to restore.
func (d *decision) noSnapshot(format string, args ...any) bool {
	message := fmt.Sprintf(format, args...)
	d.set(kopiurv1.ConditionResolved, metav1.ConditionFalse, kopiurv1.ReasonNoSnapshot, "%s", message)
	return d.fail(kopiurv1.ReasonNoSnapshot, kopiurv1.Failure{
		KopiaErrorClass: string(work.CodeNotFound), Message: message, Op: "resolve",
	})
}
