// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package snapshot stores one source. It first looks for what an earlier attempt of the same request has stored, so that
// a result that was lost on its way to the controller costs no second backup.
package snapshot

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/mover/internal/backend"
	"github.com/kopiur/kopiur/mover/internal/classify"
	"github.com/kopiur/kopiur/mover/internal/engine"
	"github.com/kopiur/kopiur/mover/internal/op"
)

// Run is the operation.
func Run(ctx context.Context, env op.Env, spec work.Spec) (_ *work.SnapshotResult, err error) {
	s := spec.Operation.Snapshot
	if c := s.Policy.Compression; c != "" && !engine.IsCompression(c) {
		return nil, fmt.Errorf("%w: kopia knows no compression %q", backend.ErrInvalidSpec, c)
	}
	if err := op.Writable(spec); err != nil {
		return nil, err
	}
	// Before the repository is opened: a source that cannot be read needs no connection to say so.
	if err := readable(*s); err != nil {
		return nil, err
	}
	r, err := env.Open(env.Soft, spec.Repository, op.ReadWrite)
	if err != nil {
		return nil, op.Cause(env.Soft, err)
	}
	defer func() { err = env.Close(ctx, r, err) }()
	if spec.RequestID != "" {
		found, err := r.FindByTag(env.Soft, work.TagRequest, spec.RequestID)
		if err != nil {
			return nil, op.Cause(env.Soft, err)
		}
		for _, f := range found {
			// The policy may have been edited since: what was filed elsewhere holds another source.
			if f.Identity == op.Identity(s.Identity) {
				return earlier(f, s.Path)
			}
		}
	}
	store := r.Upload
	if s.DevicePath != "" {
		store = r.UploadDevice
	}
	out, err := store(ctx, upload(env, spec))
	if out.Vanished > 0 {
		env.Log("info", fmt.Sprintf("%d entries were deleted after they had been listed; they are not in the snapshot", out.Vanished))
	}
	res := result(out)
	if err != nil {
		return res, op.Cause(ctx, op.Cause(env.Soft, err))
	}
	return res, missing(res, out.Snapshot.Failed, out.Unstored)
}

func upload(env op.Env, spec work.Spec) engine.Upload {
	s := spec.Operation.Snapshot
	tags := maps.Clone(s.Tags)
	if spec.RequestID != "" {
		if tags == nil {
			tags = map[string]string{}
		}
		tags[work.TagRequest] = spec.RequestID
	}
	parallel := env.Parallel
	if n := s.Policy.MaxParallelFileReads; n > 0 {
		parallel = n
	}
	p := s.Policy
	return engine.Upload{
		Identity: op.Identity(s.Identity), Path: s.Path + s.DevicePath, Description: s.Description, Tags: tags, Pinned: s.Pinned,
		Policy: engine.UploadPolicy{
			Compression: p.Compression, NeverCompress: p.NeverCompress,
			IgnoreRules: p.IgnoreRules, IgnoreCacheDirs: p.IgnoreCacheDirs, IgnoreIdentical: p.IgnoreIdentical,
			IgnoreFileErrors: p.IgnoreFileErrors, IgnoreDirErrors: p.IgnoreDirErrors, IgnoreUnknownTypes: p.IgnoreUnknownTypes,
		},
		FailFast: s.FailFast, MaxBytes: s.UploadLimitMB << 20, Checkpoint: time.Duration(s.CheckpointSeconds) * time.Second,
		Parallel: parallel, Progress: env.Progress, Soft: env.Soft,
	}
}

func result(u engine.Uploaded) *work.SnapshotResult {
	s := u.Snapshot
	r := &work.SnapshotResult{
		Unchanged: u.Unchanged,
		SizeBytes: s.Size, FileCount: s.Files, DirCount: s.Dirs,
		BytesNew: u.BytesHashed, BytesUploaded: u.BytesUploaded,
		FilesNew: u.FilesNew, FilesModified: u.FilesModified, FilesUnchanged: u.FilesUnchanged,
	}
	if s.Complete() && s.ID != "" {
		// The id of a checkpoint is of no use to anyone: the next snapshot replaces it.
		r.SnapshotID, r.RootID, r.StartTime, r.EndTime = s.ID, s.RootID, op.Whole(s.Start), op.Whole(s.End)
		r.Pinned = s.Pinned()
	}
	r.FilesFailed, r.Unstored = unstored(u.Unstored, s)
	return r
}

// unstored maps what a snapshot lacks. What kopia stored knows which of the unreadable entries the policy tolerates.
func unstored(u engine.Unstored, s engine.Snapshot) (failed int64, _ *work.Unstored) {
	if u.Unreadable+u.UnsupportedNames == 0 && len(u.Unsupported) == 0 {
		return 0, nil
	}
	out := &work.Unstored{Unreadable: u.Unreadable, UnsupportedNames: u.UnsupportedNames, Paths: op.Faults(u.Paths)}
	if s.ID != "" {
		out.Unreadable = max(0, min(u.Unreadable, s.Failed-u.UnsupportedNames-u.Refused))
		out.Ignored = u.Unreadable - out.Unreadable
	}
	if len(u.Unsupported) > 0 {
		out.Unsupported = u.Unsupported
	}
	return u.Unreadable + u.UnsupportedNames + u.Refused, out
}

// earlier reports what an earlier attempt stored. What it lacked is part of the manifest, so the verdict is the same.
func earlier(s engine.Snapshot, root string) (*work.SnapshotResult, error) {
	r := &work.SnapshotResult{
		SnapshotID: s.ID, RootID: s.RootID, StartTime: op.Whole(s.Start), EndTime: op.Whole(s.End), Found: true, Pinned: s.Pinned(),
		SizeBytes: s.Size, FileCount: s.Files, DirCount: s.Dirs,
	}
	u := s.Unstored(root)
	r.FilesFailed, r.Unstored = unstored(u, s)
	return r, missing(r, s.Failed, u)
}

// missing is the error for a snapshot that was saved and lacks entries the policy does not tolerate (K-4). It is not
// retried: the same files would be missing again.
func missing(r *work.SnapshotResult, failed int64, u engine.Unstored) error {
	if failed == 0 {
		return nil
	}
	message := fmt.Sprintf("%d of %d entries could not be read by uid %d; the snapshot was saved without them",
		failed, r.FileCount+r.DirCount+failed, os.Geteuid())
	if u.UnsupportedNames > 0 {
		message += fmt.Sprintf("; %d of them have a name that is not UTF-8, which kopia cannot store", u.UnsupportedNames)
	}
	if u.Refused > 0 {
		message += fmt.Sprintf("; %d of them are pipes, sockets or devices, which kopia does not store and ignoreUnknownTypes does not allow", u.Refused)
	}
	return &classify.Coded{Code: work.CodePermissionDenied, Message: message + owners(u.Paths)}
}

// owners says whom those belong to that this uid may not read (F-3, F-4, F-5): that is who the mover has to be.
func owners(faults []engine.Fault) string {
	var uids []string
	for _, f := range faults {
		if uid := strconv.FormatInt(f.UID, 10); f.Denied() && !slices.Contains(uids, uid) {
			uids = append(uids, uid)
		}
	}
	switch len(uids) {
	case 0:
		return ""
	case 1:
		return "; those it may not read belong to uid " + uids[0]
	default:
		slices.Sort(uids)
		return "; those it may not read belong to uids " + strings.Join(uids, ", ")
	}
}

func readable(s work.Snapshot) error {
	switch {
	case s.Path == "" && s.DevicePath == "":
		return fmt.Errorf("%w: no source is named", backend.ErrInvalidSpec)
	case s.Path != "" && s.DevicePath != "":
		return fmt.Errorf("%w: a source is a folder or a device, not both", backend.ErrInvalidSpec)
	case s.DevicePath != "":
		return explain("device", s.DevicePath, engine.ReadableDevice(s.DevicePath), "as root, whose devices are on most nodes")
	}
	if err := engine.Readable(s.Path); err != nil {
		return explain("root folder", s.Path, err, "as its owner")
	}
	if !s.MustBeReadOnly {
		return nil
	}
	readOnly, err := engine.IsReadOnly(s.Path)
	switch {
	case err != nil:
		return err //nolint:wrapcheck // says what and where
	case !readOnly:
		return &classify.Coded{Code: work.CodeInvalidSpec, Message: "the source " + s.Path +
			" is mounted writable, and must not be; nothing was read; use copyMethod Snapshot or Clone"}
	}
	return nil
}

func explain(what, path string, err error, who string) error {
	code, _ := classify.Outcome(err)
	if code == work.CodePermissionDenied {
		return &classify.Coded{Code: code, Err: err, Message: fmt.Sprintf(
			"uid %d may not read the source's %s %s; run the mover %s", os.Geteuid(), what, path, who)}
	}
	return err
}
