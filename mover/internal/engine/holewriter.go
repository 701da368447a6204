// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/kopia/kopia/repo"
	"github.com/kopia/kopia/repo/content"
	"github.com/kopia/kopia/repo/object"
	"github.com/kopia/kopia/repo/splitter"
)

const (
	// splitterWindow is how many bytes back a splitter of kopia looks. After so many zeros, where it cuts next depends on
	// nothing but how much it has seen since its last cut.
	splitterWindow = 64
	// wholeSplitter keeps a chunk in one piece, up to its size.
	wholeSplitter     = "FIXED-8M"
	wholeSplitterSize = 8 << 20
	// indirectPrefix and indirectStream are kopia's marks of a list of chunks.
	indirectPrefix = content.IDPrefix("x")
	indirectStream = "kopia:indirect"
)

// holeWriter is an object writer of its own that is told about holes. It makes the same object as kopia's writer makes
// of the same bytes, chunk by chunk, so that nobody can tell from a backup whether the file was sparse. But of a hole it
// only looks at the ends: in between, the splitter cuts chunks of zeros that are all equal, and one of them is stored.
type holeWriter struct {
	ctx    context.Context //nolint:containedctx // an object writer is given one for its life
	w      repo.RepositoryWriter
	o      object.WriterOptions
	split  splitter.Splitter
	period int // what the splitter cuts from zeros

	mu    sync.Mutex
	chunk []byte // since the last cut
	size  int64  // up to the last cut
	holes int64  // zeros that have come since, and are not in the chunk yet

	zeros object.ID // of period zeros, once they are needed

	slot   chan struct{}
	writes sync.WaitGroup

	done    sync.Mutex // guards what follows
	entries []object.IndirectObjectEntry
	err     error
}

func newHoleWriter(ctx context.Context, w repo.RepositoryWriter, o object.WriterOptions, splitterName string) *holeWriter {
	f := splitter.GetFactory(o.Splitter)
	if f == nil {
		f = splitter.GetFactory(splitterName)
	}
	if f == nil {
		f = splitter.GetFactory("FIXED") // as kopia does for a repository that names none
	}
	s := f()
	return &holeWriter{
		ctx: ctx, w: w, o: o, split: s, period: cutOfZeros(s),
		chunk: chunkBuffers.get(s.MaxSegmentSize()), slot: make(chan struct{}, max(o.AsyncWrites, 1)),
	}
}

// cutOfZeros asks a splitter where it cuts zeros, and leaves it as it was.
func cutOfZeros(s splitter.Splitter) int {
	defer s.Reset()
	for seen := 0; ; seen += len(zeroBlock) {
		if n := s.NextSplitPoint(zeroBlock[:]); n >= 0 {
			return seen + n
		}
	}
}

// Write takes data.
func (h *holeWriter) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.settle(); err != nil {
		return 0, err
	}
	if err := h.feed(p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// writeHole takes zeros.
func (h *holeWriter) writeHole(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.holes += int64(n)
}

// settle puts the zeros of a hole where they belong.
func (h *holeWriter) settle() error {
	n, seen := h.holes, 0
	h.holes = 0
	period := int64(h.period)
	for n > 0 {
		rest := period - int64(len(h.chunk))
		if seen < splitterWindow || rest <= 0 || n < rest {
			step := min(n, int64(len(zeroBlock)))
			if seen < splitterWindow {
				step = min(n, splitterWindow)
			}
			if err := h.feed(zeroBlock[:step]); err != nil {
				return err
			}
			n, seen = n-step, seen+int(step)
			continue
		}
		if len(h.chunk) > 0 {
			h.chunk = append(h.chunk, make([]byte, rest)...)
			if err := h.cut(); err != nil {
				return err
			}
			n -= rest
		}
		for ; n >= period; n -= period {
			if err := h.cutZeros(); err != nil {
				return err
			}
		}
		// Where it is now, a splitter is that has seen zeros only.
		h.split.Reset()
	}
	return nil
}

// feed passes bytes through the splitter.
func (h *holeWriter) feed(p []byte) error {
	for len(p) > 0 {
		n := h.split.NextSplitPoint(p)
		if n < 0 {
			h.chunk = append(h.chunk, p...)
			return nil
		}
		h.chunk = append(h.chunk, p[:n]...)
		if err := h.cut(); err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
}

// add appends an entry to the list of chunks.
func (h *holeWriter) add(length int, id object.ID) int {
	h.done.Lock()
	defer h.done.Unlock()
	h.entries = append(h.entries, object.IndirectObjectEntry{Start: h.size, Length: int64(length), Object: id})
	h.size += int64(length)
	return len(h.entries) - 1
}

// cut stores the chunk, while the next one is made.
func (h *holeWriter) cut() error {
	chunk := h.chunk
	at := h.add(len(chunk), object.EmptyID)
	h.slot <- struct{}{}
	h.chunk = chunkBuffers.get(h.split.MaxSegmentSize())
	h.writes.Go(func() {
		id, err := h.put(chunk)
		chunkBuffers.put(chunk)
		<-h.slot
		h.done.Lock()
		defer h.done.Unlock()
		h.entries[at].Object = id
		if err != nil && h.err == nil {
			h.err = err
		}
	})
	return h.failed()
}

// cutZeros adds one more chunk of zeros.
func (h *holeWriter) cutZeros() error {
	if h.zeros == object.EmptyID {
		id, err := h.put(make([]byte, h.period))
		if err != nil {
			return err
		}
		h.zeros = id
	}
	h.add(h.period, h.zeros)
	return nil
}

// put stores one chunk as it is.
func (h *holeWriter) put(chunk []byte) (object.ID, error) {
	o := h.o
	o.AsyncWrites = 0
	// A larger chunk goes through the splitter that has made it: it cuts it at its end, and nowhere else.
	if h.split.MaxSegmentSize() <= wholeSplitterSize {
		o.Splitter = wholeSplitter
	}
	ow := h.w.NewObjectWriter(h.ctx, o)
	defer ow.Close()
	if _, err := ow.Write(chunk); err != nil {
		return object.EmptyID, err //nolint:wrapcheck // the uploader passes it on
	}
	return ow.Result() //nolint:wrapcheck // the uploader passes it on
}

func (h *holeWriter) failed() error {
	h.done.Lock()
	defer h.done.Unlock()
	return h.err
}

func (h *holeWriter) Checkpoint() (object.ID, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.list()
}

func (h *holeWriter) Result() (object.ID, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.settle(); err != nil {
		return object.EmptyID, err
	}
	if len(h.chunk) > 0 || h.size == 0 {
		if err := h.cut(); err != nil {
			return object.EmptyID, err
		}
	}
	return h.list()
}

// list stores the list of chunks, where it takes one.
func (h *holeWriter) list() (object.ID, error) {
	h.writes.Wait()
	if h.err != nil || len(h.entries) == 0 {
		return object.EmptyID, h.err
	}
	if len(h.entries) == 1 {
		return h.entries[0].Object, nil
	}
	ow := h.w.NewObjectWriter(h.ctx, object.WriterOptions{
		Description: "LIST(" + h.o.Description + ")", Prefix: indirectPrefix,
		Compressor: h.o.MetadataCompressor, MetadataCompressor: h.o.MetadataCompressor,
	})
	defer ow.Close()
	err := json.NewEncoder(ow).Encode(struct {
		StreamID string                       `json:"stream"`
		Entries  []object.IndirectObjectEntry `json:"entries"`
	}{indirectStream, h.entries})
	if err != nil {
		return object.EmptyID, fmt.Errorf("store the list of chunks: %w", err)
	}
	id, err := ow.Result()
	if err != nil {
		return object.EmptyID, fmt.Errorf("store the list of chunks: %w", err)
	}
	return object.ParseID("I" + id.String()) //nolint:wrapcheck // it was made a line above
}

func (h *holeWriter) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.writes.Wait()
	chunkBuffers.put(h.chunk)
	h.chunk = nil
	h.split.Close()
	return nil
}

// chunkPool keeps buffers of chunks.
type chunkPool struct{ sync.Pool }

var chunkBuffers chunkPool

func (p *chunkPool) get(size int) []byte {
	if b, _ := p.Get().(*[]byte); b != nil && cap(*b) >= size {
		return (*b)[:0]
	}
	return make([]byte, 0, size)
}

func (p *chunkPool) put(b []byte) {
	if cap(b) > 0 {
		p.Put(&b)
	}
}

// fileWriter is the writer of one file. By the first bytes that come it knows whether their reader knows holes.
type fileWriter struct {
	w   *uploadWriter
	ctx context.Context //nolint:containedctx // an object writer is given one for its life
	o   object.WriterOptions

	mu     sync.Mutex // kopia asks for a checkpoint from elsewhere
	inner  object.Writer
	sparse *holeWriter
}

func (f *fileWriter) open(p []byte) object.Writer {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.inner != nil:
	case f.w.holes.reader(p) != nil:
		f.sparse = newHoleWriter(f.ctx, f.w.RepositoryWriter, f.o, f.w.splitter)
		f.inner = f.sparse
	default:
		f.inner = f.w.RepositoryWriter.NewObjectWriter(f.ctx, f.o)
	}
	return f.inner
}

func (f *fileWriter) Write(p []byte) (int, error) {
	in := f.open(p)
	if f.sparse != nil {
		if r := f.w.holes.reader(p); r != nil && r.take(p) {
			f.sparse.writeHole(len(p))
			return len(p), nil
		}
	}
	return in.Write(p) //nolint:wrapcheck // the uploader passes it on
}

func (f *fileWriter) Checkpoint() (object.ID, error) {
	f.mu.Lock()
	in := f.inner
	f.mu.Unlock()
	if in == nil {
		return object.EmptyID, nil
	}
	return in.Checkpoint() //nolint:wrapcheck // the uploader passes it on
}

func (f *fileWriter) Result() (object.ID, error) { return f.open(nil).Result() } //nolint:wrapcheck // the uploader passes it on

func (f *fileWriter) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.inner == nil {
		return nil
	}
	return f.inner.Close() //nolint:wrapcheck // nobody looks at it
}
