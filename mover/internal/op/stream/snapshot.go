// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"fmt"
	"maps"

	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/mover/internal/backend"
	"github.com/kopiur/kopiur/mover/internal/engine"
	"github.com/kopiur/kopiur/mover/internal/op"
)

const nothingStored = "nothing was stored"

// Snapshot stores what the helper's command writes as one file. It is committed on a final status of 0 and on nothing
// else.
func Snapshot(_ context.Context, env op.Env, spec work.Spec) (_ *work.SnapshotResult, err error) {
	ctx := env.Soft // half a stream is not worth saving
	s := spec.Operation.StreamSnapshot
	h, err := listen(ctx, env)
	if err != nil {
		return nil, err
	}
	defer func() { h.end(ctx, err) }()
	defer func() { err = op.Cause(ctx, err) }()
	if c := s.Compression; c != "" && !engine.IsCompression(c) {
		return nil, fmt.Errorf("%w: kopia knows no compression %q", backend.ErrInvalidSpec, c)
	}
	if err := op.Writable(spec); err != nil {
		return nil, err
	}
	r, err := env.Open(ctx, spec.Repository, op.ReadWrite)
	if err != nil {
		return nil, err
	}
	defer func() { err = env.Close(ctx, r, err) }()
	if res, err := earlier(ctx, r, spec); res != nil || err != nil {
		return res, err
	}
	if err := h.await(ctx, helperTimeout); err != nil {
		return nil, failed(ctx, err, nothingStored)
	}
	defer context.AfterFunc(ctx, func() { _ = h.conn.Close() })()
	// Only now the command may run: it quiesces, or locks, what it dumps.
	if err := work.WriteHello(h.conn, work.Hello{Operation: spec.Operation.Name(), RequestID: spec.RequestID}); err != nil {
		return nil, failed(ctx, fmt.Errorf("%w: %w", work.ErrNoStatus, err), nothingStored)
	}
	tags := map[string]string{}
	maps.Copy(tags, s.Tags)
	if spec.RequestID != "" {
		tags[work.TagRequest] = spec.RequestID
	}
	body := work.NewDataReader(h.conn)
	out, err := r.UploadStream(ctx, engine.StreamUpload{
		Identity: op.Identity(s.Identity), FileName: s.FileName, Description: s.Description, Tags: tags, Pinned: s.Pinned, Compression: s.Compression,
		Parallel: env.Parallel, Progress: env.Progress, Body: body,
	})
	if st := body.Status(); st != nil && st.Message != "" {
		env.Log("info", "The command said: "+st.Message)
	}
	if err != nil {
		return nil, failed(ctx, err, nothingStored)
	}
	return result(out.Snapshot, out), nil
}

// earlier finds what a lost attempt of the same request stored: the command is not run a second time.
func earlier(ctx context.Context, r *engine.Repository, spec work.Spec) (*work.SnapshotResult, error) {
	if spec.RequestID == "" {
		return nil, nil //nolint:nilnil // there is nothing, and that is no fault
	}
	found, err := r.FindByTag(ctx, work.TagRequest, spec.RequestID)
	if err != nil {
		return nil, err //nolint:wrapcheck // says what and where
	}
	for _, f := range found {
		if f.Identity == op.Identity(spec.Operation.StreamSnapshot.Identity) {
			res := result(f, engine.Uploaded{})
			res.Found = true
			return res, nil
		}
	}
	return nil, nil //nolint:nilnil // there is nothing, and that is no fault
}

func result(s engine.Snapshot, u engine.Uploaded) *work.SnapshotResult {
	return &work.SnapshotResult{
		SnapshotID: s.ID, RootID: s.RootID, StartTime: op.Whole(s.Start), EndTime: op.Whole(s.End), Pinned: s.Pinned(),
		SizeBytes: s.Size, FileCount: s.Files, DirCount: s.Dirs,
		BytesNew: u.BytesHashed, BytesUploaded: u.BytesUploaded, FilesNew: u.FilesNew,
	}
}
