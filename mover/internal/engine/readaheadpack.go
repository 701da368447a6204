// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"sync"

	"github.com/kopia/kopia/repo/blob"
)

// packPrefix begins the ids of packs with the content of files; those with folders have another one, and kopia reads
// them whole.
const packPrefix = "p"

// span is a part of a pack: [from, to).
type span struct{ from, to int64 }

func (s span) len() int64            { return s.to - s.from }
func (s span) holds(other span) bool { return s.from <= other.from && other.to <= s.to }

// packFile is what is known of one pack.
type packFile struct {
	id    blob.ID
	users int // guarded by the store's lock, as its place in the list is

	mu     sync.RWMutex
	f      *os.File // has no name any more
	size   int64
	have   []span // sorted, and apart from each other
	coming []coming
	recent []int64 // where the last reads ended
	window int64
	off    bool // nothing more is read ahead
}

// coming is a part that somebody is reading.
type coming struct {
	span

	done chan struct{}
}

// step is what to do before a read: wait for what somebody else fetches, fetch, or nothing at all.
type step struct {
	wait  <-chan struct{}
	fetch span
}

// next decides how a read is served, and announces what it says is to be fetched.
func (p *packFile) next(want span) step {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.holds(want) {
		return step{}
	}
	ahead := span{want.from, want.from + max(p.window, want.len())}
	for _, c := range p.coming {
		if c.holds(want) {
			return step{wait: c.done}
		}
		if c.from >= want.to {
			ahead.to = min(ahead.to, c.from)
		}
	}
	for _, h := range p.have {
		if h.from >= want.to {
			ahead.to = min(ahead.to, h.from)
		}
	}
	near := slices.ContainsFunc(p.recent, func(end int64) bool { return max(end-want.from, want.from-end) <= p.window })
	p.remember(want.to)
	if !near || p.off {
		return step{}
	}
	p.window = min(2*p.window, lastWindow)
	p.coming = append(p.coming, coming{ahead, make(chan struct{})})
	return step{fetch: ahead}
}

func (p *packFile) holds(want span) bool {
	return slices.ContainsFunc(p.have, func(h span) bool { return h.holds(want) })
}

func (p *packFile) remember(end int64) {
	if len(p.recent) == recentReads {
		p.recent = p.recent[1:]
	}
	p.recent = append(p.recent, end)
}

// fetched ends what next has announced, and says how much more is here now. Where nothing was got there is no second try
// with this pack: each would cost as much time.
func (p *packFile) fetched(want, got span) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.coming = slices.DeleteFunc(p.coming, func(c coming) bool {
		if c.span == want {
			close(c.done)
		}
		return c.span == want
	})
	if got.len() <= 0 {
		p.off = true
		return 0
	}
	p.remember(got.to)
	before := p.bytes()
	i, _ := slices.BinarySearchFunc(p.have, got.from, func(h span, from int64) int { return cmp.Compare(h.from, from) })
	p.have = slices.Insert(p.have, i, got)
	merged := p.have[:1]
	for _, h := range p.have[1:] {
		if last := &merged[len(merged)-1]; h.from <= last.to {
			last.to = max(last.to, h.to)
		} else {
			merged = append(merged, h)
		}
	}
	p.have = merged
	return p.bytes() - before
}

func (p *packFile) bytes() (n int64) {
	for _, h := range p.have {
		n += h.len()
	}
	return n
}

// open makes the file of a pack, and asks once how long the pack is.
func (p *packFile) open(dir string, length func() (int64, error)) (*os.File, int64, error) {
	p.mu.RLock()
	f, size := p.f, p.size
	p.mu.RUnlock()
	if f != nil {
		return f, size, nil
	}
	size, err := length()
	if err != nil {
		return nil, 0, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.f == nil {
		f, err := os.CreateTemp(dir, ".kopiur-ahead-")
		if err != nil {
			return nil, 0, fmt.Errorf("read ahead: %w", err)
		}
		_ = os.Remove(f.Name()) // the kernel keeps it until it is closed, however this process ends
		p.f, p.size = f, size
	}
	return p.f, p.size, nil
}

// read copies what is here; false where it is not.
func (p *packFile) read(want span, out blob.OutputBuffer) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if !p.holds(want) {
		return false
	}
	out.Reset()
	b, _ := chunks.Get().(*[chunkBytes]byte)
	defer chunks.Put(b)
	for at := want.from; at < want.to; {
		n, err := p.f.ReadAt(b[:min(chunkBytes, want.to-at)], at)
		if err != nil {
			return false
		}
		if _, err := out.Write(b[:n]); err != nil {
			return false
		}
		at += int64(n)
	}
	return true
}

// drop forgets what is here, and says how much it was.
func (p *packFile) drop() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.bytes()
	if p.f != nil {
		_ = p.f.Close()
	}
	p.f, p.have = nil, nil
	return n
}
