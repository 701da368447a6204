// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/mover/internal/backend"
	"github.com/kopiur/kopiur/mover/internal/classify"
	"github.com/kopiur/kopiur/mover/internal/engine"
	"github.com/kopiur/kopiur/mover/internal/op"
)

const (
	notDelivered = "what the consumer has taken of it is not known to be whole"
	// lastWord is how long a helper that takes no more data has to say why.
	lastWord = 10 * time.Second
)

// Restore brings one stored file to the helper's command. It is delivered when the helper reports that the command took
// every byte and ended with 0: the end of a stream says only that it was sent, and an exec of Kubernetes may drop its
// tail without an error.
func Restore(_ context.Context, env op.Env, spec work.Spec) (_ *work.StreamRestoreResult, err error) {
	ctx := env.Soft
	s := spec.Operation.StreamRestore
	h, err := listen(ctx, env)
	if err != nil {
		return nil, err
	}
	defer func() { h.end(ctx, err) }()
	defer func() { err = op.Cause(ctx, err) }()
	if s.SnapshotID == "" || s.FileName == "" {
		return nil, fmt.Errorf("%w: no snapshot or no file is named", backend.ErrInvalidSpec)
	}
	env.ReadsOnce = true
	r, err := env.Open(ctx, spec.Repository, op.ReadOnly)
	if err != nil {
		return nil, err
	}
	defer func() { err = env.Close(ctx, r, err) }()
	snap, err := op.Find(ctx, r, s.SnapshotID, s.Identity, s.StartTime)
	if err != nil {
		return nil, err
	}
	file, err := r.File(ctx, snap, s.FileName)
	if err != nil {
		return nil, err //nolint:wrapcheck // says what and where
	}
	content, err := r.OpenFile(ctx, file)
	if err != nil {
		return nil, err //nolint:wrapcheck // says what and where
	}
	defer content.Close()
	res := &work.StreamRestoreResult{SnapshotID: snap.ID, SizeBytes: content.Size}
	if err := h.await(ctx, helperTimeout); err != nil {
		return res, failed(ctx, err, "nothing was sent")
	}
	defer context.AfterFunc(ctx, func() { _ = h.conn.Close() })()
	if err := work.WriteHello(h.conn, work.Hello{Operation: spec.Operation.Name(), RequestID: spec.RequestID, SizeBytes: content.Size}); err != nil {
		return res, failed(ctx, fmt.Errorf("%w: %w", work.ErrNoStatus, err), "nothing was sent")
	}
	env.Progress.TotalBytes.Store(content.Size)
	env.Progress.TotalFiles.Store(1)
	st, err := send(ctx, env, h, content)
	if st != nil {
		res.BytesDelivered = st.Bytes
		if st.Message != "" {
			env.Log("info", "The command said: "+st.Message)
		}
	}
	if err != nil {
		return res, err
	}
	return res, verdict(res, *st)
}

// verdict decides from the helper's last word.
func verdict(res *work.StreamRestoreResult, st work.Status) error {
	switch {
	case st.Code != "":
		return &classify.Coded{Code: work.CodeUnknown, Message: st.Message + "; " + notDelivered}
	case st.ExitCode != 0:
		// Not tried again by itself: half of it may be applied, and nobody here knows whether twice is harmless.
		return &classify.Coded{Code: work.CodeUnknown, Message: fmt.Sprintf(
			"the consumer ended with exit code %d after it took %d of %d bytes", st.ExitCode, st.Bytes, res.SizeBytes)}
	case st.Bytes != res.SizeBytes:
		return &classify.Coded{Code: work.CodeUnknown, Message: fmt.Sprintf(
			"the consumer took %d of %d bytes and ended well all the same; it has not got the whole file", st.Bytes, res.SizeBytes)}
	}
	res.Delivered = true
	return nil
}

// send writes the content and waits for the helper's status, which may come before the end: a consumer that fails takes
// no more.
func send(ctx context.Context, env op.Env, h *helper, content engine.Content) (*work.Status, error) {
	type answer struct {
		st  work.Status
		err error
	}
	answers := make(chan answer, 1)
	go func() {
		st, err := work.ReadStatus(h.conn)
		answers <- answer{st, err}
	}()
	wait := func(patience <-chan time.Time) (*work.Status, error) {
		select {
		case a := <-answers:
			if a.err != nil {
				return nil, lost(ctx, a.err)
			}
			return &a.st, nil
		case <-patience:
			return nil, lost(ctx, work.ErrNoStatus)
		case <-ctx.Done():
			return nil, lost(ctx, context.Cause(ctx))
		}
	}
	d := work.NewDataWriter(h.conn)
	buf := make([]byte, 256<<10)
	for {
		n, rerr := io.ReadFull(content, buf)
		if n > 0 {
			if _, err := d.Write(buf[:n]); err != nil {
				return wait(time.After(lastWord)) // a helper that takes no more says why
			}
			env.Progress.Bytes.Add(int64(n))
		}
		if errors.Is(rerr, io.EOF) || errors.Is(rerr, io.ErrUnexpectedEOF) {
			break
		}
		if rerr != nil {
			return nil, fmt.Errorf("%w: read content: %w", engine.ErrStorage, rerr)
		}
	}
	if d.Bytes() != content.Size {
		return nil, fmt.Errorf("%w: the file has %d bytes, and %d were read", engine.ErrStorage, content.Size, d.Bytes())
	}
	// A helper that is gone by now has said why.
	_ = d.Finish(work.Status{})
	env.Progress.Files.Add(1)
	return wait(nil)
}

// lost is the outcome where the helper's last word is missing. Not tried again by itself: see verdict.
func lost(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return failed(ctx, err, notDelivered)
	}
	return &classify.Coded{Code: work.CodeUnknown, Err: err, Message: "the connection to the consumer broke; " + notDelivered}
}
