// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

// Records is everything that one final result puts into a Snapshot's status, in one write.
type Records struct {
	Phase    kopiurv1.SnapshotPhase
	Snapshot *kopiurv1.StoredSnapshot
	Stats    *kopiurv1.SnapshotStats
	Timing   *kopiurv1.Timing
	Unstored *kopiurv1.UnstoredStatus
	Failure  *kopiurv1.Failure
	// Pinned is nil where the mover that stored it did not pin it as well.
	Pinned     *bool
	Conditions []metav1.Condition
	// Reason and Message of the summary.
	Reason, Message string
}

// Result turns a mover's final result into what is recorded. A snapshot that was saved although it is incomplete is a
// failure that can be restored from: it has an id and is never Ready (acceptance K-4).
func Result(id kopiurv1.Identity, description string, o moverjob.Outcome) Records {
	r := o.Result
	if r == nil {
		r = &work.Result{Code: work.CodeLost, Message: "the mover ended without a result"}
		o.Result = r
	}
	out := Records{Failure: moverjob.Failure(o)}
	if out.Failure != nil && out.Failure.Op == "" {
		out.Failure.Op = OpSnapshot
	}
	s := r.Snapshot
	if s != nil && s.SnapshotID != "" {
		out.Snapshot = &kopiurv1.StoredSnapshot{KopiaSnapshotID: s.SnapshotID, Identity: id, Description: description}
	}
	if s != nil {
		out.Stats, out.Unstored = statsOf(s), unstoredOf(s.Unstored)
	}
	out.Timing = timingOf(r)
	switch {
	case r.Code == work.CodeOK && s != nil && s.Unchanged:
		// Nothing was stored, so there is no id and nothing to count.
		out.Snapshot, out.Phase, out.Reason = nil, kopiurv1.SnapshotUnchanged, kopiurv1.ReasonSnapshotUnchanged
		out.Message = "the source equals the previous snapshot; nothing was stored, as files.ignoreIdenticalSnapshots asks"
	case r.Code == work.CodeOK && out.Snapshot != nil:
		out.Phase, out.Reason, out.Message = kopiurv1.SnapshotSucceeded, kopiurv1.ReasonSnapshotSucceeded, "stored as "+s.SnapshotID
	case r.Code == work.CodeOK:
		// A success that names nothing must not count as a backup.
		out.Phase, out.Reason = kopiurv1.SnapshotFailed, kopiurv1.ReasonSnapshotFailed
		out.Message = "the mover reported success without the id of what it stored: mover and controller may be of different versions"
		out.Failure = &kopiurv1.Failure{KopiaErrorClass: string(work.CodeUnknown), Message: out.Message, Op: OpSnapshot, ExitCode: o.ExitCode}
	case out.Snapshot != nil:
		out.Phase, out.Reason = kopiurv1.SnapshotFailed, kopiurv1.ReasonSnapshotIncompleteUnreadableEntries
		out.Message = r.Message + "; what could be read is stored as " + s.SnapshotID
	default:
		out.Phase, out.Reason, out.Message = kopiurv1.SnapshotFailed, kopiurv1.ReasonSnapshotFailed, r.Message
		if out.Message == "" {
			out.Message = "the mover failed: " + string(r.Code)
		}
	}
	out.Conditions = outcomeConditions(out, r)
	if out.Phase == kopiurv1.SnapshotSucceeded && s.Pinned {
		out.Pinned = new(true)
		out.Conditions = append(out.Conditions, condition(kopiurv1.ConditionPinned, true, kopiurv1.ReasonPinned, "pinned when it was stored"))
	}
	return out
}

func outcomeConditions(out Records, r *work.Result) []metav1.Condition {
	created := condition(kopiurv1.ConditionSnapshotCreated, out.Snapshot != nil, out.Reason, out.Message)
	conds := []metav1.Condition{created}
	if r.Code == work.CodeMissingCredentials {
		conds = append(conds, condition(kopiurv1.ConditionCredentialsAvailable, false, kopiurv1.ReasonMissingCredentialsSecret, r.Message))
	}
	// Without a count the mover's rights were enough for what it met, and nobody knows what it did not meet: absent, never
	// a guessed True (acceptance F-6).
	var n int64
	if u := out.Unstored; u != nil {
		n = u.Unreadable + u.Ignored
	}
	if out.Stats != nil {
		n = max(n, out.Stats.FilesFailed)
	}
	if n > 0 {
		conds = append(conds, condition(kopiurv1.ConditionSecurityContextCompatible, false, kopiurv1.ReasonSnapshotIncompleteUnreadableEntries,
			fmt.Sprintf("%d entries could not be read and are not in the snapshot; status.unstored names the first: run the mover with the uid that owns them (mover.securityContext.runAsUser), or with mover.privilegedMode", n)))
	} else if r.Code == work.CodePermissionDenied {
		conds = append(conds, condition(kopiurv1.ConditionSecurityContextCompatible, false, kopiurv1.ReasonSnapshotFailed, r.Message))
	}
	return conds
}

func statsOf(s *work.SnapshotResult) *kopiurv1.SnapshotStats {
	return &kopiurv1.SnapshotStats{
		SizeBytes: s.SizeBytes, Files: s.FileCount, BytesNew: s.BytesNew, BytesUploaded: s.BytesUploaded,
		FilesNew: s.FilesNew, FilesModified: s.FilesModified, FilesUnchanged: s.FilesUnchanged, FilesFailed: s.FilesFailed,
	}
}

func unstoredOf(u *work.Unstored) *kopiurv1.UnstoredStatus {
	if u == nil {
		return nil
	}
	out := &kopiurv1.UnstoredStatus{Unreadable: u.Unreadable, Ignored: u.Ignored, UnsupportedNames: u.UnsupportedNames, Unsupported: u.Unsupported}
	for i, p := range u.Paths {
		if i == work.MaxPaths {
			break
		}
		out.Paths = append(out.Paths, kopiurv1.EntryFault{Path: p.Path, UID: p.UID, Mode: p.Mode, Reason: p.Reason})
	}
	return out
}

// timingOf is the snapshot's own times, which restores go by, else those of the mover.
func timingOf(r *work.Result) *kopiurv1.Timing {
	start, end := r.StartTime, r.EndTime
	if s := r.Snapshot; s != nil && !s.StartTime.IsZero() {
		start, end = s.StartTime, s.EndTime
	}
	if start.IsZero() && end.IsZero() {
		return nil
	}
	out := &kopiurv1.Timing{StartTime: Stamp(start), EndTime: Stamp(end)}
	if !start.IsZero() && end.After(start) {
		out.DurationSeconds = int64(end.Sub(start).Round(time.Second) / time.Second)
	}
	return out
}

// Stamp writes a time as the status does; the zero time is empty.
func Stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// Altered is the condition that a writable source calls for, nil where the source was read-only or no group was applied.
func Altered(s *kopiurv1.Snapshot, p *kopiurv1.SnapshotPolicy, rec kopiurv1.Recorded) *metav1.Condition {
	if SourceOf(s, p).ReadOnlyOrDefault() || rec.FSGroup == nil {
		return nil
	}
	c := condition(kopiurv1.ConditionMetadataAltered, true, kopiurv1.ReasonFSGroupApplied,
		fmt.Sprintf("source.readOnly is false, so the kubelet set group %d and group permissions on the files before they were read: owners and modes in the snapshot are not those of the application", *rec.FSGroup))
	return &c
}

// Shrunk is the condition of a source that has lost nearly all its files since the previous snapshot, nil where it has
// not. The snapshot is what was asked for, and so a success; but retention may be about to delete the last one that has the
// files, and nobody must hear of that only then (acceptance K-2).
func Shrunk(before, after *kopiurv1.SnapshotStats) *metav1.Condition {
	if before == nil || after == nil {
		return nil
	}
	was, is := before.Files, after.Files
	if emptied, tenth := was > 0 && is == 0, was >= 100 && is*10 <= was; !emptied && !tenth {
		return nil
	}
	c := condition(kopiurv1.ConditionSourceShrunk, true, kopiurv1.ReasonSourceShrunk,
		fmt.Sprintf("the source has %d files and had %d in the previous snapshot: look at the volume before retention deletes the snapshots that have them", is, was))
	return &c
}
