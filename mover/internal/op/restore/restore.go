// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package restore writes one snapshot into a folder. Which one was decided before, by resolve or by the user; here it is
// only found again when its id has changed.
package restore

import (
	"context"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/mover/internal/backend"
	"github.com/kopiur/kopiur/mover/internal/classify"
	"github.com/kopiur/kopiur/mover/internal/engine"
	"github.com/kopiur/kopiur/mover/internal/op"
)

// remoteFactor is how many times more small files are under way where each has to wait for a store: eight workers, as
// kopia has, spend 20 ms of latency on every eighth file.
const remoteFactor = 4

// Run is the operation.
func Run(_ context.Context, env op.Env, spec work.Spec) (_ *work.RestoreResult, err error) {
	ctx := env.Soft // a restore has nothing to save: it goes on where it was with skipExisting
	defer func() { err = op.Cause(ctx, err) }()
	s := spec.Operation.Restore
	switch {
	case s.SnapshotID == "":
		return nil, fmt.Errorf("%w: no snapshot is named", backend.ErrInvalidSpec)
	case s.TargetPath == "" && s.DevicePath == "":
		return nil, fmt.Errorf("%w: no target is named", backend.ErrInvalidSpec)
	case s.TargetPath != "" && s.DevicePath != "":
		return nil, fmt.Errorf("%w: a target is a folder or a device, not both", backend.ErrInvalidSpec)
	}
	env.ReadsOnce = true
	r, err := env.Open(ctx, spec.Repository, op.ReadOnly)
	if err != nil {
		return nil, err
	}
	defer func() { err = env.Close(ctx, r, err) }()
	snap, err := find(ctx, r, *s)
	if err != nil {
		return nil, err
	}
	if s.SubPath != "" {
		if snap, err = r.Part(ctx, snap, s.SubPath); err != nil {
			return nil, err //nolint:wrapcheck // says what and where
		}
	}
	o := options(env, *s)
	o.Request = spec.RequestID
	if s.Options.Parallel == 0 && r.IsRemote() {
		o.Small = remoteFactor * o.Parallel
	}
	if lacks := snap.Failed + snap.Tolerated; o.DeleteExtra && lacks > 0 {
		// What could not be read when the snapshot was taken is not in it, and may well be whole in the target.
		return nil, &classify.Coded{Code: work.CodeInvalidSpec, Message: fmt.Sprintf(
			"the snapshot lacks %d entries that could not be read, and enableFileDeletion would delete them from the target; "+
				"nothing was written; restore without enableFileDeletion, or another snapshot", lacks)}
	}
	if s.DevicePath != "" {
		return device(ctx, r, snap, o)
	}
	strict := !op.Or(s.Options.IgnorePermissionErrors, true)
	if uid := os.Geteuid(); strict && !o.SkipOwners && !mayChown() && snap.RootOwner() != uid {
		// Said before the first byte is written, not after the last one (F-2).
		return nil, &classify.Coded{Code: work.CodePermissionDenied, Message: fmt.Sprintf(
			"the snapshot belongs to uid %d, and uid %d may not give files to it; nothing was written; "+
				"run the mover as that uid, use privilegedMode, or set skipOwners", snap.RootOwner(), uid)}
	}
	out, err := r.Restore(ctx, snap, o)
	res := &work.RestoreResult{
		SnapshotID: snap.ID, FilesRestored: out.Files, DirsRestored: out.Dirs, LinksRestored: out.Links, BytesRestored: out.Bytes,
		FilesSkipped: out.Skipped, EntriesDeleted: out.Deleted, EntriesFailed: out.Failed,
		Ownership: work.Ownership{Applied: out.Ownership.Applied, Failed: out.Ownership.Failed, Paths: op.Faults(out.Ownership.Paths)},
	}
	for _, f := range out.Faults {
		env.Log("error", fmt.Sprintf("Ignoring that %s could not be written: %s", f.Path, f.Reason))
	}
	if err != nil {
		return res, err //nolint:wrapcheck // says what and where
	}
	if strict && out.Ownership.Failed > 0 {
		return res, &classify.Coded{Code: work.CodePermissionDenied, Message: fmt.Sprintf(
			"all data was written, but uid %d could not set owner, mode or time of %d entries", os.Geteuid(), out.Ownership.Failed)}
	}
	return res, nil
}

// device writes an image onto a block device. It has no owner, mode or time.
func device(ctx context.Context, r *engine.Repository, snap engine.Snapshot, o engine.Restore) (*work.RestoreResult, error) {
	out, err := r.RestoreDevice(ctx, snap, o)
	return &work.RestoreResult{SnapshotID: snap.ID, FilesRestored: out.Files, BytesRestored: out.Bytes}, err //nolint:wrapcheck // says what and where
}

// mayChown reports whether this process may give files away. Root alone says nothing: a container drops capabilities.
func mayChown() bool {
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&head, &data[0]); err != nil {
		return os.Geteuid() == 0
	}
	return data[0].Effective&(1<<unix.CAP_CHOWN) != 0
}

// find loads a snapshot by its id, or by what does not change when somebody pins it (K-3).
func find(ctx context.Context, r *engine.Repository, s work.Restore) (engine.Snapshot, error) {
	snap, err := r.Load(ctx, s.SnapshotID)
	if err == nil || !errors.Is(err, engine.ErrSnapshotNotFound) || s.StartTime == nil || s.Identity.Path == "" {
		return snap, err //nolint:wrapcheck // says what and where
	}
	return r.Find(ctx, op.Identity(s.Identity), *s.StartTime) //nolint:wrapcheck // says what and where
}

func options(env op.Env, s work.Restore) engine.Restore {
	o := s.Options
	parallel := env.Parallel
	if o.Parallel > 0 {
		parallel = o.Parallel
	}
	return engine.Restore{
		Target: s.TargetPath + s.DevicePath, Parallel: parallel, Progress: env.Progress,
		DeleteExtra: op.Or(o.EnableFileDeletion, false), InPlace: !op.Or(o.WriteFilesAtomically, true), Sparse: op.Or(o.WriteSparseFiles, false),
		SkipOwners: op.Or(o.SkipOwners, false), SkipPermissions: op.Or(o.SkipPermissions, false), SkipTimes: op.Or(o.SkipTimes, false),
		KeepFiles: !op.Or(o.OverwriteFiles, true), KeepDirectories: !op.Or(o.OverwriteDirectories, true), KeepLinks: !op.Or(o.OverwriteSymlinks, true),
		SkipExisting: op.Or(o.SkipExisting, false), IgnoreErrors: op.Or(o.IgnoreErrors, false),
	}
}
