// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/kopia/kopia/repo"
	"github.com/kopia/kopia/repo/content"
	"github.com/kopia/kopia/repo/manifest"
	"github.com/kopia/kopia/repo/object"
)

// errUploadOver is what a checkpoint gets that comes too late.
var errUploadOver = errors.New("the upload is over")

// uploadWriter is what the uploader gets instead of the session's own writer, for three reasons.
//
// It deletes no manifest, whatever a policy says that somebody stored since: that an upload deletes snapshots is an
// accident in every case. It returns nil because an error would end the upload.
//
// And it can be shut. Kopia does not wait for its checkpoint when the upload ends: a checkpoint that is under way goes
// on in its own goroutine while the session is flushed and the repository closed, and then reads index files that are
// no longer mapped, which no one can recover from. So everything an upload does to the repository passes here, and
// shut waits for what is under way and refuses the rest.
//
// And it remembers the store's first failure. Kopia takes it for a fault of the file that it was storing just then, goes
// on, and ends with a snapshot that lacks an entry which could be read very well.
type uploadWriter struct {
	repo.RepositoryWriter

	// onFault is called at the first failure.
	onFault func()
	// holes are those of the source, and splitter is how the repository splits where no policy says otherwise.
	holes    *holes
	splitter string

	mu    sync.RWMutex
	over  bool
	fault atomic.Pointer[error]
}

// failed is the store's first failure.
func (w *uploadWriter) failed() error {
	if p := w.fault.Load(); p != nil {
		return *p
	}
	return nil
}

func (w *uploadWriter) note(err error) {
	if err != nil && !errors.Is(err, errUploadOver) && w.fault.CompareAndSwap(nil, &err) && w.onFault != nil {
		w.onFault()
	}
}

// shut returns once nothing of the upload touches the repository any more.
func (w *uploadWriter) shut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
}

// enter is held during one call. It reports false when the upload is over.
func (w *uploadWriter) enter() (leave func(), ok bool) {
	w.mu.RLock()
	if w.over {
		w.mu.RUnlock()
		return nil, false
	}
	return w.mu.RUnlock, true
}

// during makes one call, if the upload is not over.
func during[T any](w *uploadWriter, call func() (T, error)) (T, error) {
	leave, ok := w.enter()
	if !ok {
		var none T
		return none, errUploadOver
	}
	defer leave()
	return call()
}

// writing makes one call that writes.
func writing[T any](w *uploadWriter, call func() (T, error)) (T, error) {
	out, err := during(w, call)
	w.note(err)
	return out, err
}

func (*uploadWriter) DeleteManifest(context.Context, manifest.ID) error { return nil }

func (w *uploadWriter) OpenObject(ctx context.Context, id object.ID) (object.Reader, error) {
	return during(w, func() (object.Reader, error) { return w.RepositoryWriter.OpenObject(ctx, id) })
}

func (w *uploadWriter) VerifyObject(ctx context.Context, id object.ID) ([]content.ID, error) {
	return during(w, func() ([]content.ID, error) { return w.RepositoryWriter.VerifyObject(ctx, id) })
}

func (w *uploadWriter) GetManifest(ctx context.Context, id manifest.ID, data any) (*manifest.EntryMetadata, error) {
	return during(w, func() (*manifest.EntryMetadata, error) { return w.RepositoryWriter.GetManifest(ctx, id, data) })
}

func (w *uploadWriter) FindManifests(ctx context.Context, labels map[string]string) ([]*manifest.EntryMetadata, error) {
	return during(w, func() ([]*manifest.EntryMetadata, error) { return w.RepositoryWriter.FindManifests(ctx, labels) })
}

func (w *uploadWriter) PutManifest(ctx context.Context, labels map[string]string, payload any) (manifest.ID, error) {
	return writing(w, func() (manifest.ID, error) { return w.RepositoryWriter.PutManifest(ctx, labels, payload) })
}

func (w *uploadWriter) ReplaceManifests(context.Context, map[string]string, any) (manifest.ID, error) {
	return "", errors.New("an upload replaces no manifest")
}

func (w *uploadWriter) ConcatenateObjects(ctx context.Context, ids []object.ID, o repo.ConcatenateOptions) (object.ID, error) {
	return writing(w, func() (object.ID, error) { return w.RepositoryWriter.ConcatenateObjects(ctx, ids, o) })
}

func (w *uploadWriter) Flush(ctx context.Context) error {
	_, err := writing(w, func() (struct{}, error) { return struct{}{}, w.RepositoryWriter.Flush(ctx) })
	return err
}

func (w *uploadWriter) NewObjectWriter(ctx context.Context, o object.WriterOptions) object.Writer {
	leave, ok := w.enter()
	if !ok {
		return lateWriter{}
	}
	defer leave()
	var ow object.Writer
	if strings.HasPrefix(o.Description, "FILE:") && w.holes != nil && w.holes.any() {
		ow = &fileWriter{w: w, ctx: ctx, o: o}
	} else {
		ow = w.RepositoryWriter.NewObjectWriter(ctx, o)
	}
	return &guardedWriter{Writer: ow, w: w}
}

// guardedWriter passes each write through the uploadWriter.
type guardedWriter struct {
	object.Writer

	w *uploadWriter
}

func (g *guardedWriter) Write(p []byte) (int, error) {
	return writing(g.w, func() (int, error) { return g.Writer.Write(p) })
}

func (g *guardedWriter) Checkpoint() (object.ID, error) { return writing(g.w, g.Writer.Checkpoint) }

func (g *guardedWriter) Result() (object.ID, error) { return writing(g.w, g.Writer.Result) }

// lateWriter is the object writer of an upload that is over.
type lateWriter struct{}

func (lateWriter) Write([]byte) (int, error)      { return 0, errUploadOver }
func (lateWriter) Checkpoint() (object.ID, error) { return object.EmptyID, errUploadOver }
func (lateWriter) Result() (object.ID, error)     { return object.EmptyID, errUploadOver }
func (lateWriter) Close() error                   { return nil }
