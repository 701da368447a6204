// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// SnapshotUpdate checks what may change about a Snapshot. Once its data is stored, what it was stored as is history:
// a spec that says otherwise would be believed by whoever restores. What becomes of the data may change at any time.
func SnapshotUpdate(updated, old *kopiurv1.Snapshot) Findings {
	var f Findings
	at := field.NewPath("spec")
	final := finished(old)
	underway := old.Status.Phase != kopiurv1.SnapshotFailed && old.Status.Job != nil && old.Status.Job.Name != ""
	if !final && !underway {
		return f
	}
	a, b := &updated.Spec, &old.Spec
	for _, c := range []struct {
		field string
		same  bool
		// lasting: it may change no more as soon as a mover was started.
		lasting bool
	}{
		{"policyRef", equality.Semantic.DeepEqual(a.PolicyRef, b.PolicyRef) || takenOver(updated, old), true},
		{"repository", equality.Semantic.DeepEqual(a.Repository, b.Repository), true},
		{"source", equality.Semantic.DeepEqual(a.Source, b.Source), true},
		{"tags", len(a.Tags)+len(b.Tags) == 0 || equality.Semantic.DeepEqual(a.Tags, b.Tags), true},
		{"description", a.Description == b.Description, true},
		{"failurePolicy", equality.Semantic.DeepEqual(a.FailurePolicy, b.FailurePolicy), false},
		// A client that is older than the field leaves it out of whatever it writes, a pin or the end of a finalizer.
		{"mover", a.Mover == nil || equality.Semantic.DeepEqual(a.Mover, b.Mover), false},
	} {
		switch {
		case c.same:
		case final:
			f.forbidden(at.Child(c.field), "the Snapshot is %s: create another one; only deletionPolicy, onScheduleDelete and pin may change", old.Status.Phase)
		case c.lasting:
			f.forbidden(at.Child(c.field), "its mover was started: create another Snapshot")
		}
	}
	return f
}

// takenOver reports whether a policy takes over a snapshot that was found and belonged to none. From then on it is bound
// to that policy like one that the policy made.
func takenOver(updated, old *kopiurv1.Snapshot) bool {
	return old.Labels[kopiurv1.LabelOrigin] == kopiurv1.OriginDiscovered && old.Spec.PolicyRef == nil && adopted(updated)
}

// adopted reports whether a Snapshot was found and belongs to a policy.
func adopted(s *kopiurv1.Snapshot) bool {
	return s.Labels[kopiurv1.LabelOrigin] == kopiurv1.OriginAdopted || s.Status.Origin == kopiurv1.OriginAdopted
}

// finished reports whether a mover has given its final result. A Snapshot that failed before any did is tried again when
// it is changed.
func finished(s *kopiurv1.Snapshot) bool {
	switch s.Status.Phase {
	case kopiurv1.SnapshotFailed:
		return s.Status.Timing != nil
	case kopiurv1.SnapshotDeleting:
		return true
	default:
		return s.Status.Phase.Terminal()
	}
}
