// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

// Name of the row of a stored snapshot. It does not change when the snapshot is pinned, as its id does, and is the same
// in a cluster that is built anew: a Restore in Git may name it.
func Name(ref kopiurv1.RepositoryRef, id kopiurv1.Identity, start time.Time) string {
	scope := ""
	if ref.KindOrDefault() == kopiurv1.KindClusterRepository {
		scope = "cluster" // a Repository of the same name may be beside it, and hold copies
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{scope, id.Username, id.Hostname, id.SourcePath, start.UTC().Format(time.RFC3339Nano)}, "\x00")))
	return ref.Name + "-disc-" + hex.EncodeToString(sum[:8])
}

// Row shows one stored snapshot. Its status is written by whoever creates it.
func Row(repo moverjob.Repository, e Entry, namespace string, now time.Time) *kopiurv1.Snapshot {
	s := &kopiurv1.Snapshot{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: Name(repo.Ref, *e.Identity, e.Start), OwnerReferences: owners(repo, namespace),
		Labels: map[string]string{
			kopiurv1.LabelManagedBy:     kopiurv1.ManagedByValue,
			kopiurv1.LabelOrigin:        kopiurv1.OriginDiscovered,
			kopiurv1.LabelSnapshotID:    kopiurv1.LabelValue(e.ID),
			kopiurv1.LabelRepositoryUID: string(repo.UID),
		},
	}}
	if e.Request != "" {
		s.Annotations = map[string]string{kopiurv1.AnnotationFoundRequest: e.Request}
	}
	ref := repo.Ref
	s.Status = kopiurv1.SnapshotStatus{
		Phase: kopiurv1.SnapshotDiscovered, Origin: kopiurv1.OriginDiscovered, ObservedGeneration: 1,
		Snapshot: &kopiurv1.StoredSnapshot{KopiaSnapshotID: e.ID, Identity: *e.Identity, Description: e.Description},
		Stats:    &kopiurv1.SnapshotStats{SizeBytes: e.Size, Files: e.Files, FilesFailed: e.Failed},
		Timing: &kopiurv1.Timing{
			StartTime: stamp(e.Start), EndTime: stamp(e.End), DurationSeconds: max(int64(e.End.Sub(e.Start.Truncate(time.Second))/time.Second), 0),
		},
		Resolved:   &kopiurv1.SnapshotResolved{Repository: &ref},
		Pinned:     new(e.Pinned),
		Recorded:   e.Recorded.DeepCopy(),
		Conditions: conditions(now),
	}
	return s
}

// owners let a row go with its repository. An owner has to be in the same namespace, or in none.
func owners(repo moverjob.Repository, namespace string) []metav1.OwnerReference {
	if repo.Ref.Namespace != "" && repo.Ref.Namespace != namespace {
		return nil
	}
	return []metav1.OwnerReference{{
		APIVersion: kopiurv1.GroupVersion.String(), Kind: string(repo.Ref.KindOrDefault()), Name: repo.Ref.Name, UID: repo.UID,
	}}
}

func conditions(now time.Time) []metav1.Condition {
	var out []metav1.Condition
	for _, kind := range []string{kopiurv1.ConditionReady, kopiurv1.ConditionReconciling, kopiurv1.ConditionStalled} {
		c := metav1.Condition{
			Type: kind, Status: metav1.ConditionFalse, Reason: kopiurv1.ReasonSnapshotDiscovered, ObservedGeneration: 1,
			Message: "found in the repository; it can be restored from, and deleting it deletes nothing", LastTransitionTime: metav1.NewTime(now).Rfc3339Copy(),
		}
		if kind == kopiurv1.ConditionReady {
			c.Status = metav1.ConditionTrue
		}
		out = append(out, c)
	}
	return out
}

// IsRow reports whether a Snapshot only shows what was found, and no policy is about to take it over.
func IsRow(s *kopiurv1.Snapshot) bool {
	return s.Labels[kopiurv1.LabelOrigin] == kopiurv1.OriginDiscovered && (s.Status.Phase == kopiurv1.SnapshotDiscovered || s.Status.Phase == "")
}

// Stale reports whether a row does not say what it should.
func Stale(have, want *kopiurv1.Snapshot) bool {
	a, b := have.Status.Snapshot, want.Status.Snapshot
	switch {
	case have.Status.Phase != want.Status.Phase || a == nil || have.Status.Pinned == nil:
		return true
	case a.KopiaSnapshotID != b.KopiaSnapshotID || *have.Status.Pinned != *want.Status.Pinned:
		return true
	case have.Status.Recorded == nil && want.Status.Recorded != nil: // it was listed before rows had it
		return true
	default:
		return have.Labels[kopiurv1.LabelSnapshotID] != want.Labels[kopiurv1.LabelSnapshotID]
	}
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
