// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion

import (
	"cmp"
	"fmt"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// Presence is what is known of an object that a Snapshot depends on.
type Presence int

// Presences. The zero value keeps data.
const (
	// Unknown: not looked at, or the look failed.
	Unknown Presence = iota
	// None: the Snapshot names no such object.
	None
	// Present: it is there.
	Present
	// Gone: it is not there, is another one of the same name, or is being deleted.
	Gone
)

// Facts are what one Snapshot depends on.
type Facts struct {
	Snapshot *kopiurv1.Snapshot
	// Policy it names, and the default of that policy.
	Policy        Presence
	PolicyDefault kopiurv1.DeletionPolicy
	// Schedule that made it.
	Schedule Presence
	// Namespace it is in.
	Namespace Presence
	// Kind is the definition of Snapshots itself.
	Kind Presence
	// Repository that has the data. RepositoryName is how messages call it.
	Repository        Presence
	RepositoryName    string
	OnNamespaceDelete kopiurv1.NamespaceDeletePolicy
	// AtHome is true where the repository's own Jobs would run in the Snapshot's namespace.
	AtHome bool
	// Live is true where all of this was read past the caches.
	Live bool
}

// Verdict is what should happen to the stored data.
type Verdict struct {
	// Policy is empty while it cannot be said.
	Policy kopiurv1.DeletionPolicy
	// Reason and Message say why data is kept, or what is not known.
	Reason, Message string
	// Prove is true where the verdict hangs on something that may only seem to be so: read the facts live and ask again.
	Prove bool
}

// Kopiur's own prunes, which are neither counted nor held. A cascade from a policy is not among them: a person, or
// whatever else deleted the policy, stands behind it.
var prunes = map[string]bool{
	kopiurv1.PrunedByRetention: true, kopiurv1.PrunedByFailedHistory: true,
	kopiurv1.PrunedByReplicationRetention: true, kopiurv1.PrunedByReplacedRun: true,
}

// Prune reports whether Kopiur itself deleted a Snapshot to keep order. A missing or an unknown value is somebody else.
func Prune(s *kopiurv1.Snapshot) bool { return prunes[s.Annotations[kopiurv1.AnnotationPrunedBy]] }

// Discovered reports whether a Snapshot is only a view of what was found in a repository.
func Discovered(s *kopiurv1.Snapshot) bool {
	return s.Status.Phase == kopiurv1.SnapshotDiscovered || originOf(s) == kopiurv1.OriginDiscovered
}

// Adopted reports whether a Snapshot was found in a repository and belongs to a policy since.
func Adopted(s *kopiurv1.Snapshot) bool { return originOf(s) == kopiurv1.OriginAdopted }

// originOf is what the status says, else the label: a row's status is written after the row.
func originOf(s *kopiurv1.Snapshot) string {
	return cmp.Or(s.Status.Origin, s.Labels[kopiurv1.LabelOrigin])
}

// Skipped reports whether a person wants the object gone and nothing else touched.
func Skipped(s *kopiurv1.Snapshot) bool {
	_, ok := s.Annotations[kopiurv1.AnnotationSkipSnapshotCleanup]
	return ok
}

// Decide is total: what it does not know keeps the data.
func Decide(f Facts) Verdict {
	s := f.Snapshot
	if s == nil {
		return undecided("there is no Snapshot")
	}
	switch {
	case Skipped(s):
		return Verdict{Policy: kopiurv1.DeletionOrphan, Reason: kopiurv1.ReasonSnapshotOrphaned, Message: "it is annotated with " + kopiurv1.AnnotationSkipSnapshotCleanup}
	case Discovered(s):
		return Verdict{Policy: kopiurv1.DeletionRetain, Reason: kopiurv1.ReasonSnapshotRetained, Message: "the object only showed what was found in the repository"}
	}
	if v, done := own(s); done {
		return v
	}
	if v, done := ends(f); done {
		return v
	}
	v := base(f)
	if v.Policy == kopiurv1.DeletionDelete && f.Namespace != Gone {
		v = afterSchedule(f, v)
	}
	if v.Policy == kopiurv1.DeletionDelete {
		v = reachable(f, v)
	}
	return v
}

// own is what the Snapshot itself says, where that keeps data.
func own(s *kopiurv1.Snapshot) (Verdict, bool) {
	switch s.Spec.DeletionPolicy {
	case kopiurv1.DeletionRetain:
		return Verdict{Policy: kopiurv1.DeletionRetain, Reason: kopiurv1.ReasonSnapshotRetained, Message: "its deletionPolicy is Retain"}, true
	case kopiurv1.DeletionOrphan:
		return Verdict{Policy: kopiurv1.DeletionOrphan, Reason: kopiurv1.ReasonSnapshotOrphaned, Message: "its deletionPolicy is Orphan"}, true
	case kopiurv1.DeletionDelete, "":
		return Verdict{}, false
	}
	return unknown(s.Spec.DeletionPolicy), true
}

// unknown is a value of another version: whatever it stands for, data that was kept can still be deleted later.
func unknown(d kopiurv1.DeletionPolicy) Verdict {
	return Verdict{Policy: kopiurv1.DeletionRetain, Reason: kopiurv1.ReasonSnapshotRetained, Message: fmt.Sprintf("deletionPolicy %q is not known", d)}
}

// ends is about what takes Snapshots with it that nobody meant one by one.
func ends(f Facts) (Verdict, bool) {
	switch f.Kind {
	case Unknown:
		return undecided("it cannot be found out whether the definition of Snapshots is being deleted"), true
	case Gone:
		return Verdict{Policy: kopiurv1.DeletionOrphan, Reason: kopiurv1.ReasonSnapshotOrphaned, Message: "the definition of Snapshots is being deleted, which is nobody's wish to lose backups", Prove: !f.Live}, true
	case None, Present:
	}
	switch f.Namespace {
	case Unknown:
		return undecided("it cannot be found out whether the namespace is being deleted"), true
	case None, Present:
		return Verdict{}, false
	case Gone:
	}
	orphan := Verdict{Policy: kopiurv1.DeletionOrphan, Reason: kopiurv1.ReasonSnapshotOrphaned, Prove: !f.Live}
	switch {
	case f.Repository == Unknown:
		return undecided("the namespace is being deleted, and it cannot be found out what the repository says about that"), true
	case f.Repository != Present || f.OnNamespaceDelete != kopiurv1.NamespaceDelete:
		orphan.Message = "its namespace is being deleted"
		return orphan, true
	case f.AtHome:
		orphan.Message = "its namespace is being deleted, and nothing can be started there any more to delete the data"
		return orphan, true
	}
	return Verdict{}, false
}

// base is the precedence of deletionPolicy: the Snapshot's, the policy's default, its origin (acceptance D-8).
func base(f Facts) Verdict {
	s := f.Snapshot
	remove := Verdict{Policy: kopiurv1.DeletionDelete}
	if s.Spec.DeletionPolicy == kopiurv1.DeletionDelete {
		return remove
	}
	switch f.Policy {
	case Present:
		return byDefault(f.PolicyDefault)
	case None:
		if Adopted(s) {
			return Verdict{Policy: kopiurv1.DeletionRetain, Reason: kopiurv1.ReasonSnapshotRetained, Message: "it was found in the repository, and no policy says otherwise"}
		}
		return remove
	case Gone:
		return afterPolicy(f)
	case Unknown:
	}
	return undecided("it cannot be found out whether the policy exists")
}

func byDefault(d kopiurv1.DeletionPolicy) Verdict {
	switch d {
	case kopiurv1.DeletionRetain:
		return Verdict{Policy: d, Reason: kopiurv1.ReasonSnapshotRetained, Message: "the policy's defaultDeletionPolicy is Retain"}
	case kopiurv1.DeletionOrphan:
		return Verdict{Policy: d, Reason: kopiurv1.ReasonSnapshotOrphaned, Message: "the policy's defaultDeletionPolicy is Orphan"}
	case kopiurv1.DeletionDelete, "":
		return Verdict{Policy: kopiurv1.DeletionDelete}
	}
	return unknown(d)
}

// afterPolicy is about a Snapshot whose policy is gone. What the policy wanted is known only where it was written down
// before: on the Snapshots that it took along, and in what a run resolved for the end of a whole namespace.
func afterPolicy(f Facts) Verdict {
	s := f.Snapshot
	keep := Verdict{Policy: kopiurv1.DeletionRetain, Reason: kopiurv1.ReasonSnapshotRetainedOnPolicyDelete, Prove: !f.Live, Message: "its policy is gone"}
	switch {
	case Adopted(s):
	case f.Namespace == Gone:
		if r := s.Status.Resolved; r != nil && r.DeletionPolicy == kopiurv1.DeletionDelete {
			return Verdict{Policy: kopiurv1.DeletionDelete}
		}
	case s.Annotations[kopiurv1.AnnotationPrunedBy] == kopiurv1.PrunedByPolicyCascade:
		return Verdict{Policy: kopiurv1.DeletionDelete}
	}
	return keep
}

// afterSchedule is the guard against a schedule that takes its Snapshots along. What Kopiur prunes itself is chosen one
// by one, and would be found again if it stayed.
func afterSchedule(f Facts, v Verdict) Verdict {
	if Prune(f.Snapshot) || f.Snapshot.Spec.OnScheduleDelete == kopiurv1.CascadeDelete {
		return v
	}
	switch f.Schedule {
	case Gone:
		return Verdict{Policy: kopiurv1.DeletionRetain, Reason: kopiurv1.ReasonSnapshotRetainedOnScheduleDelete, Prove: !f.Live, Message: "its schedule is gone, and onScheduleDelete is Retain"}
	case Unknown:
		return undecided("it cannot be found out whether the schedule exists")
	case None, Present:
	}
	return v
}

// reachable is about where the data lies.
func reachable(f Facts, v Verdict) Verdict {
	if f.Snapshot.Status.Snapshot != nil && !Addressed(KeyOf(f.Snapshot)) {
		return Verdict{Policy: kopiurv1.DeletionOrphan, Reason: kopiurv1.ReasonSnapshotOrphaned, Message: "its status does not say which stored snapshot it stands for"}
	}
	switch f.Repository {
	case Present:
		return v
	case None:
		return Verdict{Policy: kopiurv1.DeletionOrphan, Reason: kopiurv1.ReasonSnapshotOrphaned, Prove: !f.Live, Message: "nothing says any more which repository it is in"}
	case Gone:
		return Verdict{Policy: kopiurv1.DeletionOrphan, Reason: kopiurv1.ReasonSnapshotOrphaned, Prove: !f.Live, Message: fmt.Sprintf("%s is gone, and with it the way to the data", f.RepositoryName)}
	case Unknown:
	}
	return undecided("it cannot be found out whether the repository exists")
}

func undecided(message string) Verdict {
	return Verdict{Reason: kopiurv1.ReasonDeletionUndecided, Message: message + ": nothing is deleted"}
}
