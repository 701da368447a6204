// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/gates"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

// World is all that a decision looks at. Nil means that the object does not exist.
type World struct {
	// Restore as it was read. It is not changed.
	Restore *kopiurv1.Restore
	// Snapshot of source.snapshotRef.
	Snapshot *kopiurv1.Snapshot
	// Policy of source.fromPolicy, or of a Snapshot that does not say which repository it lies in.
	Policy *kopiurv1.SnapshotPolicy
	// Stored are the source paths that Snapshots of the policy say they have stored, with one that does; it is read only where
	// a repository says that it has none.
	Stored map[string]string
	// Repository that RepositoryRef names.
	Repository *moverjob.Repository
	// Credentials and Volume are what its movers mount in the Restore's namespace.
	Credentials gates.Credentials
	Volume      gates.Verdict
	// NamespaceLabels and NamespaceAnnotations, read live.
	NamespaceLabels, NamespaceAnnotations map[string]string
	// Claim of the target.
	Claim *corev1.PersistentVolumeClaim
	// Users are the running pods of others that use the claim, Writers the Jobs and pods of other Restores into it.
	Users, Writers []string
	// Neighbours are the pods of the namespace that are no movers.
	Neighbours []corev1.Pod
	// Attached is the node that the claim's volume is attached to, where no pod uses it; "" where it is to none.
	Attached string
	// Recorded is whom the backup ran as, read only where the mover is to run as the same.
	Recorded *kopiurv1.Recorded
	// Job that status.job names, and what it amounts to.
	Job     *batchv1.Job
	Outcome moverjob.Outcome
	// Tail is the end of the mover's log, zero where it was not read.
	Tail moverjob.Tail
	// Strays are pods of this Restore's earlier Jobs that have not ended.
	Strays []string
	// Claims are those that name a populator, and what is left of some that did. Of several of one name, that of now is the
	// last.
	Claims []ClaimWorld

	// Image of the movers.
	Image      moverjob.Images
	PullPolicy corev1.PullPolicy
}

// State is what kstatus makes of the Restore.
type State int

// States of a plan.
const (
	Progressing State = iota
	Ready
	Stalled
)

// Condition is one finding. Carried ones keep what was stored.
type Condition struct {
	Type            string
	Status          metav1.ConditionStatus
	Reason, Message string
}

// Note is an event besides those that follow from conditions.
type Note struct {
	Warning         bool
	Reason, Message string
}

// Plan is what to do, in the order of its fields, and what to say.
type Plan struct {
	// Retire is an ended Job whose result is recorded: TTL is set on it. Reap is one to delete.
	Retire, Reap *batchv1.Job
	TTL          int32
	// Status replaces the stored one, except for the conditions.
	Status kopiurv1.RestoreStatus
	// Intent means that Status must be stored before Claim and Job are made.
	Intent bool
	// Claim and Job to make.
	Claim *corev1.PersistentVolumeClaim
	Job   *batchv1.Job

	// Keep leaves all stored conditions as they are; Carry those of these types that are not in Conditions.
	Keep       bool
	Carry      []string
	Conditions []Condition
	// Claims of a populator: Conclude sums them up once they are carried out.
	Claims []ClaimPlan
	// State, Reason and Message sum up; with Keep they are not used.
	State           State
	Reason, Message string
	// After is when to look again at the latest; zero leaves it to the watches.
	After time.Duration
	Notes []Note
}

// Withhold takes back what was to be made, where the credentials that it mounts could not be copied. The attempt that was
// recorded is gone on with once they can.
func (p *Plan) Withhold(v gates.Verdict) {
	if p.Claim != nil {
		p.Conditions = slices.DeleteFunc(p.Conditions, func(c Condition) bool { return c.Type == kopiurv1.ConditionTargetAvailable })
	}
	p.Claim, p.Job = nil, nil
	p.Conditions = slices.DeleteFunc(p.Conditions, func(c Condition) bool { return c.Type == kopiurv1.ConditionCredentialsAvailable })
	p.Conditions = append(p.Conditions, Condition{Type: kopiurv1.ConditionCredentialsAvailable, Status: metav1.ConditionFalse, Reason: v.Reason, Message: v.Message})
	p.State, p.Reason, p.Message, p.After = Progressing, v.Reason, v.Message, recheck
}

// RepositoryRef is the repository a Restore reads from, nil while nothing says which. A pin wins over the spec, the spec
// over the source.
func RepositoryRef(r *kopiurv1.Restore, s *kopiurv1.Snapshot, p *kopiurv1.SnapshotPolicy) *kopiurv1.RepositoryRef {
	var ref kopiurv1.RepositoryRef
	switch pin := r.Status.Resolved; {
	case pin != nil && pin.Repository != nil:
		ref = pin.Repository.In(r.Namespace)
	case r.Spec.Repository != nil:
		ref = r.Spec.Repository.In(r.Namespace)
	case s != nil && s.Status.Resolved != nil && s.Status.Resolved.Repository != nil:
		ref = s.Status.Resolved.Repository.In(s.Namespace)
	case s != nil && s.Spec.Repository != nil:
		ref = s.Spec.Repository.In(s.Namespace)
	case p != nil:
		// Of several only the user can say which.
		if refs := p.RepositoryRefs(); len(refs) == 1 {
			return &refs[0]
		}
		return nil
	default:
		return nil
	}
	return &ref
}

// TargetClaim is the name of the claim that is restored into.
func TargetClaim(r *kopiurv1.Restore) string {
	switch t := r.Spec.Target; {
	case t.PVC != nil:
		return t.PVC.Name
	case t.PVCRef != nil:
		return t.PVCRef.Name
	default:
		return ""
	}
}

// InFlight reports whether status.job names an attempt whose end was not recorded yet.
func InFlight(r *kopiurv1.Restore) bool {
	j := r.Status.Job
	return j != nil && j.Name != "" && j.EndedAt == ""
}

// Holds reports whether a Restore is over: completed, or failed with the spec and the credentials that it has now, or
// with that spec after it had written. A failure without a run (a refused spec, a foreign claim) never holds: what it names may have changed.
func Holds(w World) bool {
	r := w.Restore
	switch {
	case r.Status.Phase == kopiurv1.RestoreCompleted:
		return true
	case r.Status.Phase != kopiurv1.RestoreFailed || r.Status.Failure == nil:
		return false
	}
	generation := r.Status.ObservedGeneration
	if j := r.Status.Job; j != nil && j.Generation != 0 {
		generation = j.Generation
	}
	version := w.Credentials.Version
	return generation == r.Generation && (version == "" || version == r.Status.ResolvedCredentialVersion || wroteBefore(r))
}

// wroteBefore reports whether a failed Restore has written files, and did not fail for its credentials. Other ones would
// not mend it, and Secrets are rotated at any time: by then an application may have worked with the volume for months,
// and what it wrote would be overwritten. Only an edit of the spec is somebody's wish to restore again.
func wroteBefore(r *kopiurv1.Restore) bool {
	switch work.Code(r.Status.Failure.KopiaErrorClass) {
	case work.CodeAuthFailure, work.CodeAccessDenied, work.CodeMissingCredentials:
		return false
	default:
		p := r.Status.Progress
		return p != nil && (p.FilesRestored > 0 || p.BytesRestored > 0)
	}
}
