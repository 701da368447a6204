// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"slices"
	"strings"
	"time"

	"github.com/kopiur/kopiur/apis/work"
)

// Call is one mover that was started.
type Call struct {
	// Job, Pod and Namespace it runs as.
	Job, Pod, Namespace string
	// Attempt counts the pods of its Job from 1.
	Attempt int
	Spec    work.Spec
}

// Play is what one mover does.
type Play struct {
	// Result is what it reports; its code decides the exit code.
	Result work.Result
	// Message, where it is set, replaces the result: a mover that crashed.
	Message *string
	// ExitCode, where it is set, replaces that of the result.
	ExitCode *int32
	// Log is what it prints before it ends.
	Log []work.Event
	// Hold keeps it running until the channel is closed.
	Hold <-chan struct{}
	// Stuck leaves its pod waiting with this reason, for ever.
	Stuck string
	// PodGone deletes its pod before anybody can read the result.
	PodGone bool
	// Check is the exit code of the user's program behind a mover that succeeds, 0 where it is left out; CheckHold keeps
	// that running until the channel is closed.
	Check     int32
	CheckHold <-chan struct{}
	// DeadlineKilled ends it by the Job's own deadline, which deletes the pod.
	DeadlineKilled bool
}

// Succeed is a mover that does what it was asked for.
func Succeed(c Call) Play {
	now := time.Now().UTC().Truncate(time.Second) //nolint:forbidigo // the mover has a clock of its own
	r := work.Result{Operation: c.Spec.Operation.Name(), Code: work.CodeOK, StartTime: now.Add(-2 * time.Second), EndTime: now}
	switch op := c.Spec.Operation; {
	case op.Bootstrap != nil:
		id := c.Spec.Repository.ExpectedUniqueID
		if id == "" {
			id = "00112233445566778899aabbccddeeff"
		}
		r.Bootstrap = &work.BootstrapResult{UniqueID: id, Created: c.Spec.Repository.ExpectedUniqueID == "", ConnectSeconds: 1.5, IndexBlobCount: 2}
		if op.Bootstrap.Catalog != nil {
			r.Bootstrap.Catalog = &work.CatalogResult{}
		}
	case op.Snapshot != nil:
		r.Snapshot = &work.SnapshotResult{
			SnapshotID: "k" + c.Spec.RequestID, RootID: "kroot", StartTime: r.StartTime, EndTime: r.EndTime,
			SizeBytes: 4096, FileCount: 3, DirCount: 1, BytesNew: 4096, FilesNew: 3, BytesUploaded: 2048,
		}
	case op.StreamSnapshot != nil:
		r.Snapshot = &work.SnapshotResult{
			SnapshotID: "k" + c.Spec.RequestID, RootID: "kroot", StartTime: r.StartTime, EndTime: r.EndTime,
			SizeBytes: 4096, FileCount: 1, BytesNew: 4096, FilesNew: 1, BytesUploaded: 2048,
		}
	case op.StreamRestore != nil:
		r.StreamRestore = &work.StreamRestoreResult{SnapshotID: op.StreamRestore.SnapshotID, SizeBytes: 4096, BytesDelivered: 4096, Delivered: true}
	case op.Pin != nil:
		// Pinning rewrites the manifest, and with it the id.
		r.Pin = &work.PinResult{SnapshotID: op.Pin.Snapshot.SnapshotID + "p", StartTime: op.Pin.Snapshot.StartTime, Pinned: op.Pin.Pinned, Changed: true}
	case op.Resolve != nil:
		r.Resolve = &work.ResolveResult{Resolution: work.ResolutionFound, SnapshotID: "kfound", StartTime: r.StartTime, Identity: &op.Resolve.Identity, Candidates: 1}
	case op.Delete != nil:
		n := len(op.Delete.Members)
		r.Delete = &work.DeleteResult{Deleted: int64(n), Outcomes: work.DeleteOutcomes(strings.Repeat(string(work.DeleteDone), n))}
	case op.Verify != nil:
		r.Verify = verified(*op.Verify, r.StartTime)
	case op.Maintain != nil:
		r.Maintain = &work.MaintainResult{
			Mode: op.Maintain.Mode, Owner: c.Spec.Repository.Username + "@" + c.Spec.Repository.Hostname,
			ReclaimedBytes: 1 << 20, ReclaimedBlobs: 3, IndexBlobCount: 2,
		}
	case op.Replicate != nil:
		r.Replicate = &work.ReplicateResult{
			UniqueID: c.Spec.Repository.ExpectedUniqueID, BlobsTotal: 7, BytesTotal: 7 << 20, BlobsCopied: 5, BytesCopied: 5 << 20,
		}
	case op.Browse != nil:
		r.Browse = &work.BrowseResult{Requests: 1}
	case op.Restore != nil:
		r.Restore = &work.RestoreResult{SnapshotID: op.Restore.SnapshotID, FilesRestored: 3, DirsRestored: 1, BytesRestored: 4096, Ownership: work.Ownership{Applied: 4}}
	}
	return Play{Result: r}
}

// verified is a verification that finds everything as it should be.
func verified(v work.Verify, at time.Time) *work.VerifyResult {
	out := &work.VerifyResult{Tier: work.TierQuick, Snapshots: 2, Files: 6, Bytes: 8192}
	if len(v.Identities) > 0 {
		out.Snapshot = &work.VerifiedSnapshot{SnapshotID: "knewest", Identity: v.Identities[0], StartTime: at, EndTime: at}
	}
	if v.Deep != nil {
		out.Tier, out.Snapshots, out.Files, out.Bytes = work.TierDeep, 1, 3, 4096
		out.Restored = &work.VerifiedRestore{Files: 3, Bytes: 4096, ChecksumMatches: true}
	}
	return out
}

// Fail is a mover that reports a failure.
func Fail(c Call, code work.Code, message string) Play {
	p := Succeed(c)
	p.Result.Code, p.Result.Message = code, message
	p.Result.Bootstrap, p.Result.Snapshot, p.Result.Resolve, p.Result.Restore = nil, nil, nil, nil
	p.Result.Pin, p.Result.Delete, p.Result.Verify, p.Result.Maintain = nil, nil, nil, nil
	p.Result.StreamRestore, p.Result.Replicate = nil, nil
	return p
}

// Mover sets what movers do from now on.
func (e *Env) Mover(play func(Call) Play) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.play = play
}

// Calls are the movers that were started so far, in order.
func (e *Env) Calls() []Call {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]Call(nil), e.calls...)
}

// CallsOf are the movers of one operation that were started so far, in order.
func (e *Env) CallsOf(operation string) []Call {
	return slices.DeleteFunc(e.Calls(), func(c Call) bool { return c.Spec.Operation.Name() != operation })
}
