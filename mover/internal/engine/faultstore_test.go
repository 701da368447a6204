// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/kopia/kopia/repo/blob"
	"github.com/kopia/kopia/repo/blob/filesystem"
)

// faultyStore is a real folder whose calls pass through a trigger. It stands outside kopia's own retries.
type faultyStore struct {
	blob.Storage

	t       *trigger
	options *faultyOptions
}

type faultyOptions struct {
	Path string `json:"path"`
	Key  string `json:"key"`  // of its trigger
	Ages string `json:"ages"` // of its clock, where that is a test's
}

const faultyType = "kopiur-faulty"

var triggers sync.Map

func init() {
	blob.AddSupportedStorage(faultyType, faultyOptions{}, func(ctx context.Context, o *faultyOptions, isCreate bool) (blob.Storage, error) {
		st, err := filesystem.New(ctx, &filesystem.Options{Path: o.Path, FileMode: repositoryFileMode, DirectoryMode: repositoryDirMode}, isCreate)
		if err != nil {
			return nil, err
		}
		if a, ok := allAges.Load(o.Ages); ok {
			st = timeStore{st, a.(*ages), &timeOptions{Path: o.Path, Key: o.Ages}} //nolint:forcetypeassert // a test's own
		}
		t, _ := triggers.Load(o.Key)
		return faultyStore{st, t.(*trigger), o}, nil
	})
}

// store is a storage in a folder that this trigger lets fail.
func (t *trigger) store(tb testing.TB, path string) Storage {
	tb.Helper()
	return t.storeInTime(tb, path, "")
}

func (t *trigger) storeInTime(tb testing.TB, path, ages string) Storage {
	tb.Helper()
	key := fmt.Sprintf("%p", t)
	triggers.Store(key, t)
	tb.Cleanup(func() { triggers.Delete(key) })
	return Storage{
		Filesystem: &Filesystem{Path: path},
		instead:    &blob.ConnectionInfo{Type: faultyType, Config: &faultyOptions{Path: path, Key: key, Ages: ages}},
	}
}

func (s faultyStore) ConnectionInfo() blob.ConnectionInfo {
	return blob.ConnectionInfo{Type: faultyType, Config: s.options}
}

func (s faultyStore) PutBlob(ctx context.Context, id blob.ID, data blob.Bytes, o blob.PutOptions) error {
	return s.t.call("put", string(id), func() error { return s.Storage.PutBlob(ctx, id, data, o) })
}

func (s faultyStore) DeleteBlob(ctx context.Context, id blob.ID) error {
	return s.t.call("delete", string(id), func() error { return s.Storage.DeleteBlob(ctx, id) })
}

func (s faultyStore) GetMetadata(ctx context.Context, id blob.ID) (blob.Metadata, error) {
	return calling(s.t, "stat", string(id), func() (blob.Metadata, error) { return s.Storage.GetMetadata(ctx, id) })
}

func (s faultyStore) GetBlob(ctx context.Context, id blob.ID, off, n int64, out blob.OutputBuffer) error {
	if !s.t.corrupt {
		return s.t.call("get", string(id), func() error { return s.Storage.GetBlob(ctx, id, off, n, out) })
	}
	// The blobs of the format have no checksum of their own.
	if strings.HasPrefix(string(id), "kopia.") || !s.t.hits("get") {
		return s.Storage.GetBlob(ctx, id, off, n, out)
	}
	var b buffer
	if err := s.Storage.GetBlob(ctx, id, off, n, &b); err != nil {
		return err
	}
	b.Bytes()[b.Len()/2] ^= 1
	out.Reset()
	_, err := b.WriteTo(out)
	return err
}

// buffer is what kopia reads a blob into.
type buffer struct{ bytes.Buffer }

func (b *buffer) Length() int { return b.Len() }

// ListBlobs fails before the first blob, or with some of them told already.
func (s faultyStore) ListBlobs(ctx context.Context, prefix blob.ID, cb func(blob.Metadata) error) error {
	return s.t.call("list", string(prefix), func() error { return s.Storage.ListBlobs(ctx, prefix, cb) })
}
