// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/kopia/kopia/repo/blob"
)

// Reading ahead. A backup puts small files into packs in the order in which it walks, and a restore asks for them in the
// same order, one request each: from a store that is 20 ms away, forty thousand files are forty thousand times 20 ms. Where
// reads of one pack lie close to each other, the store is asked for what follows as well, twice as much each time. What
// comes is kept in files that nobody syncs: it is gone with the process, and kopia authenticates every piece it decrypts.
const (
	// largeRead is a read that is worth a request of its own.
	largeRead = 1 << 20
	// firstWindow is what the first read ahead asks for, and how close two reads are to call for it.
	firstWindow = 256 << 10
	// lastWindow bounds how much may be read in vain, and how long others wait for it on a slow line.
	lastWindow = 4 << 20
	// recentReads is how many places of a pack are remembered: more than there are workers that read it at a time.
	recentReads = 64
	// maxPacks bounds the open files.
	maxPacks = 128
	packType = "kopiur-readahead"
)

// readAhead is a store whose packs are read ahead. Everything but the content of files goes straight through.
type readAhead struct {
	blob.Storage

	dir   string
	limit int64

	mu    sync.Mutex
	packs []*packFile // the least recently used first
	kept  int64
}

type readAheadOptions struct {
	Storage blob.ConnectionInfo `json:"storage"`
	Dir     string              `json:"dir"`
	Limit   int64               `json:"limit"`
}

func init() {
	blob.AddSupportedStorage(packType, readAheadOptions{}, func(ctx context.Context, o *readAheadOptions, isCreate bool) (blob.Storage, error) {
		st, err := blob.NewStorage(ctx, o.Storage, isCreate)
		if err != nil {
			return nil, err //nolint:wrapcheck // the caller says of what
		}
		return readingAhead(st, o.Dir, o.Limit), nil
	})
}

// readingAhead keeps up to limit bytes in files below dir.
func readingAhead(st blob.Storage, dir string, limit int64) *readAhead {
	return &readAhead{Storage: st, dir: dir, limit: limit}
}

// GetBlob implements blob.Storage.
func (s *readAhead) GetBlob(ctx context.Context, id blob.ID, offset, length int64, output blob.OutputBuffer) error {
	if length <= 0 || length >= largeRead || !strings.HasPrefix(string(id), packPrefix) {
		return s.Storage.GetBlob(ctx, id, offset, length, output) //nolint:wrapcheck // kopia looks at it
	}
	p := s.pack(id)
	defer s.release(p)
	want := span{offset, offset + length}
	switch step := p.next(want); {
	case step.wait != nil:
		select {
		case <-step.wait:
		case <-ctx.Done():
		}
	case step.fetch != span{}:
		s.fetch(ctx, p, step.fetch)
	}
	if p.read(want, output) {
		return nil
	}
	// The store's own answer to the very question, whatever went wrong beside it.
	return s.Storage.GetBlob(ctx, id, offset, length, output) //nolint:wrapcheck // kopia looks at it
}

// Close implements blob.Storage.
func (s *readAhead) Close(ctx context.Context) error {
	s.mu.Lock()
	for _, p := range s.packs {
		p.drop()
	}
	s.packs, s.kept = nil, 0
	s.mu.Unlock()
	return s.Storage.Close(ctx) //nolint:wrapcheck // kopia looks at it
}

// pack is what is known of a pack, held until it is released.
func (s *readAhead) pack(id blob.ID) *packFile {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, p := range slices.Backward(s.packs) {
		if p.id == id {
			s.packs = append(append(s.packs[:i], s.packs[i+1:]...), p)
			p.users++
			return p
		}
	}
	p := &packFile{id: id, window: firstWindow, users: 1}
	s.packs = append(s.packs, p)
	return p
}

// release lets go of a pack, and of the least recently used ones where too much is kept.
func (s *readAhead) release(p *packFile) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.users--
	left := s.packs[:0]
	for i, p := range s.packs {
		if p.users == 0 && (s.kept > s.limit || len(left)+len(s.packs)-i > maxPacks) {
			s.kept -= p.drop()
			continue
		}
		left = append(left, p)
	}
	clear(s.packs[len(left):])
	s.packs = left
}

// fetch reads a part of a pack from the store into its file, if that is possible.
func (s *readAhead) fetch(ctx context.Context, p *packFile, want span) {
	var got span
	defer func() {
		added := p.fetched(want, got)
		s.mu.Lock()
		s.kept += added
		s.mu.Unlock()
	}()
	f, size, err := p.open(s.dir, func() (int64, error) {
		m, err := s.GetMetadata(ctx, p.id)
		return m.Length, err //nolint:wrapcheck // nobody looks at it
	})
	part := span{want.from, min(want.to, size)}
	if err != nil || part.len() <= 0 {
		return
	}
	buf := &fileBuffer{f: f, from: part.from}
	if err := s.Storage.GetBlob(ctx, p.id, part.from, part.len(), buf); err == nil && buf.err == nil {
		got = part
	}
}

// fileBuffer writes what comes from a store to its place in a file. It takes everything and keeps its error to itself: a
// full disk is nothing that kopia should ask the store for ten times.
type fileBuffer struct {
	f    *os.File
	from int64
	n    int64
	err  error
}

func (b *fileBuffer) Write(p []byte) (int, error) {
	if b.err == nil {
		_, b.err = b.f.WriteAt(p, b.from+b.n)
	}
	b.n += int64(len(p))
	return len(p), nil
}

func (b *fileBuffer) Reset()      { b.n = 0 }
func (b *fileBuffer) Length() int { return int(b.n) }
