// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/kopia/kopia/repo/blob"
	"github.com/kopia/kopia/repo/blob/filesystem"
	"github.com/stretchr/testify/require"
)

// ages is a clock that a test moves, and the times of the blobs that a store was given meanwhile: kopia compares the two
// and waits for hours and days between them.
type ages struct {
	mu    sync.Mutex
	now   time.Time
	times map[blob.ID]time.Time
}

func (a *ages) clock() time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.now = a.now.Add(time.Millisecond) // two moments are never the same
	return a.now
}

func (a *ages) pass(d time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.now = a.now.Add(d)
}

func (a *ages) stamp(id blob.ID) time.Time {
	now := a.clock()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.times[id] = now
	return now
}

func (a *ages) of(m blob.Metadata) blob.Metadata {
	a.mu.Lock()
	defer a.mu.Unlock()
	if t, ok := a.times[m.BlobID]; ok {
		m.Timestamp = t
	}
	return m
}

// timeStore is a real folder whose clock is that of a test.
type timeStore struct {
	blob.Storage

	a       *ages
	options *timeOptions
}

type timeOptions struct {
	Path string `json:"path"`
	Key  string `json:"key"`
}

const timeType = "kopiur-ages"

var allAges sync.Map

func init() {
	blob.AddSupportedStorage(timeType, timeOptions{}, func(ctx context.Context, o *timeOptions, isCreate bool) (blob.Storage, error) {
		st, err := filesystem.New(ctx, &filesystem.Options{Path: o.Path}, isCreate)
		if err != nil {
			return nil, err
		}
		a, _ := allAges.Load(o.Key)
		return timeStore{st, a.(*ages), o}, nil //nolint:forcetypeassert // a test's own
	})
}

func (s timeStore) ConnectionInfo() blob.ConnectionInfo {
	return blob.ConnectionInfo{Type: timeType, Config: s.options}
}

func (s timeStore) PutBlob(ctx context.Context, id blob.ID, data blob.Bytes, o blob.PutOptions) error {
	to := o.GetModTime
	o.GetModTime = nil
	if err := s.Storage.PutBlob(ctx, id, data, o); err != nil {
		return err
	}
	t := s.a.stamp(id)
	if to != nil {
		*to = t
	}
	return nil
}

func (s timeStore) GetMetadata(ctx context.Context, id blob.ID) (blob.Metadata, error) {
	m, err := s.Storage.GetMetadata(ctx, id)
	return s.a.of(m), err
}

func (s timeStore) ListBlobs(ctx context.Context, prefix blob.ID, cb func(blob.Metadata) error) error {
	return s.Storage.ListBlobs(ctx, prefix, func(m blob.Metadata) error { return cb(s.a.of(m)) })
}

// inTime returns a connection to a fresh repository in which time passes only when the test says so.
func inTime(t *testing.T) (Connection, *ages) {
	t.Helper()
	a := &ages{now: time.Date(2026, 3, 5, 0, 0, 0, 0, time.UTC), times: map[blob.ID]time.Time{}}
	key := fmt.Sprintf("%p", a)
	allAges.Store(key, a)
	t.Cleanup(func() { allAges.Delete(key) })
	path := t.TempDir()
	c := connection(t, Storage{
		Filesystem: &Filesystem{Path: path}, instead: &blob.ConnectionInfo{Type: timeType, Config: &timeOptions{Path: path, Key: key}},
	})
	c.Clock = a.clock
	require.NoError(t, Create(testContext(t), c, CreateOptions{}))
	with(t, c, func(r *Repository) { require.NoError(t, r.Furnish(testContext(t))) })
	return c, a
}

// with opens a repository for as long as one mover would.
func with(t *testing.T, c Connection, do func(*Repository)) {
	t.Helper()
	ctx := testContext(t)
	c.WorkDir = t.TempDir()
	r, err := Open(ctx, c)
	require.NoError(t, err)
	do(r)
	require.NoError(t, r.Close(ctx))
}
