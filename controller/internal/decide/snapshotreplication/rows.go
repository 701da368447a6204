// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshotreplication

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/decide/catalog"
	"github.com/kopiur/kopiur/controller/internal/decide/mapper"
)

// maxNamePart is how much of the replication's name the names of its Snapshots show.
const maxNamePart = 200

// Key is what a copy is found again by: its id changes when it is pinned.
type Key struct {
	Identity kopiurv1.Identity
	// Start is exact, as RFC 3339 with nanoseconds.
	Start string
}

// KeyOf a record.
func KeyOf(r work.CopyRecord) Key {
	return Key{kopiurv1.Identity{Username: r.Identity.Username, Hostname: r.Identity.Hostname, SourcePath: r.Identity.Path}, exact(r.StartTime)}
}

func exact(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// keyOf a Snapshot; false where it does not say.
func keyOf(s *kopiurv1.Snapshot) (Key, bool) {
	c, st := s.Status.CopiedFrom, s.Status.Snapshot
	if c == nil || st == nil {
		return Key{}, false
	}
	t, err := time.Parse(time.RFC3339Nano, c.StartTime)
	if err != nil {
		return Key{}, false
	}
	return Key{st.Identity, exact(t)}, true
}

// Name of the Snapshot of a copy: the same whoever makes it.
func Name(o *kopiurv1.SnapshotReplication, destination kopiurv1.RepositoryRef, k Key) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{mapper.Repository(destination), k.Identity.Username, k.Identity.Hostname, k.Identity.SourcePath, k.Start}, "\x00")))
	name := o.Name
	if len(name) > maxNamePart {
		name = name[:maxNamePart]
	}
	return name + "-copy-" + hex.EncodeToString(sum[:8])
}

// IsUntold reports whether a Snapshot stands for a copy and has no status yet: its maker is about to write it, and nobody
// may take it for one that is to be made.
func IsUntold(s *kopiurv1.Snapshot) bool {
	return s.Labels[kopiurv1.LabelOrigin] == kopiurv1.OriginReplicated && s.Status.Phase == ""
}

// Mine reports whether a Snapshot stands for a copy that this replication made, from and to the present repositories.
func Mine(w World, s *kopiurv1.Snapshot) bool {
	o := w.Replication
	if s.Namespace != o.Namespace || s.Labels[kopiurv1.LabelSnapshotReplication] != kopiurv1.LabelValue(o.Name) || s.Status.Origin != kopiurv1.OriginReplicated {
		return false
	}
	at, c := mapper.PinnedRepository(s), s.Status.CopiedFrom
	return at != nil && c != nil && *at == o.Spec.DestinationRef.In(o.Namespace) && c.Repository.In(o.Namespace) == o.Spec.SourceRef.In(o.Namespace)
}

// Row is the Snapshot of a copy, without an owner: it stays when the replication goes, as the copy does.
func Row(w World, r work.CopyRecord, now time.Time) *kopiurv1.Snapshot {
	o, k := w.Replication, KeyOf(r)
	source, destination := o.Spec.SourceRef.In(o.Namespace), o.Spec.DestinationRef.In(o.Namespace)
	s := &kopiurv1.Snapshot{ObjectMeta: metav1.ObjectMeta{
		Namespace: o.Namespace, Name: Name(o, destination, k),
		Labels: map[string]string{
			kopiurv1.LabelManagedBy: kopiurv1.ManagedByValue, kopiurv1.LabelOrigin: kopiurv1.OriginReplicated,
			kopiurv1.LabelSnapshotReplication: kopiurv1.LabelValue(o.Name), kopiurv1.LabelSnapshotID: kopiurv1.LabelValue(r.SnapshotID),
			kopiurv1.LabelRepositoryUID: string(w.Destination.UID),
		},
		Annotations: map[string]string{kopiurv1.AnnotationCopiedFromID: w.Source.Status.UniqueID},
	}}
	s.Spec = kopiurv1.SnapshotSpec{Repository: &destination, DeletionPolicy: kopiurv1.DeletionDelete, Pin: r.Pinned}
	start := r.StartTime.UTC().Truncate(time.Second)
	s.Status = kopiurv1.SnapshotStatus{
		Phase: kopiurv1.SnapshotSucceeded, Origin: kopiurv1.OriginReplicated, ObservedGeneration: 1,
		Snapshot: &kopiurv1.StoredSnapshot{KopiaSnapshotID: r.SnapshotID, Identity: k.Identity},
		Stats:    &kopiurv1.SnapshotStats{SizeBytes: r.SizeBytes, Files: r.FileCount},
		Timing: &kopiurv1.Timing{
			StartTime: start.Format(time.RFC3339), EndTime: r.EndTime.UTC().Format(time.RFC3339), DurationSeconds: max(int64(r.EndTime.Sub(start)/time.Second), 0),
		},
		Resolved:   &kopiurv1.SnapshotResolved{Repository: &destination},
		CopiedFrom: &kopiurv1.CopiedFrom{Repository: source, SourceManifestID: r.SourceID, StartTime: k.Start},
		Pinned:     new(r.Pinned),
	}
	for _, kind := range []string{kopiurv1.ConditionReady, kopiurv1.ConditionReconciling, kopiurv1.ConditionStalled, kopiurv1.ConditionSnapshotCreated} {
		c := metav1.Condition{
			Type: kind, Status: metav1.ConditionFalse, Reason: kopiurv1.ReasonReplicated, ObservedGeneration: 1,
			Message: "copied from " + source.String() + " by SnapshotReplication " + o.Name, LastTransitionTime: metav1.NewTime(now).Rfc3339Copy(),
		}
		if kind == kopiurv1.ConditionReady || kind == kopiurv1.ConditionSnapshotCreated {
			c.Status = metav1.ConditionTrue
		}
		s.Status.Conditions = append(s.Status.Conditions, c)
	}
	return s
}

// Missing are the records that need a Snapshot and have none, and who else has Snapshots of what was recorded, "" where
// nobody has. A copy that was there before and was not made for this replication is somebody else's, as is one that has a
// Snapshot of another kind.
func Missing(w World, records []work.CopyRecord, snapshots []*kopiurv1.Snapshot) (missing []work.CopyRecord, overlap string) {
	type second struct {
		id    kopiurv1.Identity
		start string
	}
	mine := map[Key]bool{}
	ids, seconds := map[string]*kopiurv1.Snapshot{}, map[second]*kopiurv1.Snapshot{}
	for _, s := range snapshots {
		if catalog.IsRow(s) {
			continue // a view of what was found
		}
		if k, ok := keyOf(s); ok && Mine(w, s) {
			mine[k] = true
			continue
		}
		if st, at := s.Status.Snapshot, mapper.PinnedRepository(s); st != nil && at != nil && *at == w.Replication.Spec.DestinationRef.In(w.Replication.Namespace) {
			ids[st.KopiaSnapshotID] = s
			if t := s.Status.Timing; t != nil {
				seconds[second{st.Identity, t.StartTime}] = s
			}
		}
	}
	for _, r := range records {
		k := KeyOf(r)
		if mine[k] {
			continue
		}
		other := ids[r.SnapshotID]
		if other == nil {
			other = seconds[second{k.Identity, r.StartTime.UTC().Truncate(time.Second).Format(time.RFC3339)}]
		}
		switch {
		case other != nil:
			overlap = "the Snapshot " + other.Namespace + "/" + other.Name
			if p := other.Spec.PolicyRef; p != nil {
				overlap = "SnapshotPolicy " + other.Namespace + "/" + p.Name
			} else if name := other.Labels[kopiurv1.LabelSnapshotReplication]; name != "" {
				overlap = "SnapshotReplication " + other.Namespace + "/" + name
			}
		case !r.Present || r.By == string(w.Replication.UID):
			missing = append(missing, r)
		}
	}
	return missing, overlap
}
