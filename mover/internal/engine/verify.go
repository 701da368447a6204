// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"math/rand/v2"
	"net"
	"path"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/kopia/kopia/repo/blob"
	"github.com/kopia/kopia/repo/content"
	"github.com/kopia/kopia/repo/object"
	"github.com/kopia/kopia/snapshot"
	"github.com/minio/minio-go/v7"
)

// Verify says how thoroughly snapshots are looked through.
type Verify struct {
	// ReadPercent is how many of a hundred files are read to their end.
	ReadPercent int64
	// Parallel folders and FileParallel files are looked at side by side, and Queue files may wait for their turn.
	Parallel, FileParallel, Queue int
	// MaxErrors ends the verification early; 0 means never.
	MaxErrors int64
	Progress  *Counters
}

// Verified is what was found. Each file and folder counts once, in however many snapshots it is.
type Verified struct {
	Files, Bytes         int64
	FilesRead, BytesRead int64
	// Errors counts damage, Faults are the first of it.
	Errors int64
	Faults []Fault
}

// Verify walks snapshots and looks up every piece of them: that the index knows it, and that the blob it names is there
// and long enough. It goes on past damage, and ends where the store does not answer: that proves nothing.
func (r *Repository) Verify(ctx context.Context, all []Snapshot, o Verify) (Verified, error) {
	// After the snapshots, so that whatever they consist of has been stored by now.
	blobs := map[uint64]int64{}
	for _, prefix := range content.PackBlobIDPrefixes {
		err := r.rep.BlobReader().ListBlobs(ctx, prefix, func(m blob.Metadata) error {
			blobs[hashOf(m.BlobID)] = m.Length
			return nil
		})
		if err != nil {
			return Verified{}, fmt.Errorf("%w: list blobs: %w", ErrStorage, err)
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	v := &verifier{
		Verify: o, repo: r, blobs: blobs, cancel: cancel, seen: map[uint64]struct{}{},
		slot: make(chan struct{}, max(o.Parallel-1, 0)), files: make(chan verifyFile, max(o.Queue, 1)),
	}
	var workers sync.WaitGroup
	for range max(o.FileParallel, 1) {
		workers.Go(func() {
			for f := range v.files {
				if ctx.Err() == nil {
					v.file(ctx, f)
				}
			}
		})
	}
	for _, s := range all {
		root := s.Identity.String() + "@" + s.Start.Truncate(time.Second).Format(time.RFC3339)
		if s.manifest == nil || s.manifest.RootEntry == nil {
			v.fault(root, errNoRoot)
			continue
		}
		v.entry(ctx, root, s.manifest.RootEntry)
	}
	close(v.files)
	workers.Wait()
	if err := context.Cause(ctx); err != nil && !errors.Is(err, errEnough) {
		return v.out, fmt.Errorf("verify snapshots: %w", err)
	}
	return v.out, nil
}

// errEnough ends a verification that has found as much as it was asked for.
var errEnough = errors.New("enough damage was found")

type verifyFile struct {
	path string
	e    *snapshot.DirEntry
}

type verifier struct {
	Verify

	repo   *Repository
	blobs  map[uint64]int64 // their lengths
	cancel context.CancelCauseFunc
	slot   chan struct{}
	files  chan verifyFile

	mu   sync.Mutex
	seen map[uint64]struct{}
	out  Verified
}

var hashSeed = maphash.MakeSeed()

// hashOf stands for an id in a map: the ids themselves would be the largest thing in memory. Two of ten million are the
// same once in a hundred thousand runs.
func hashOf[T ~string](id T) uint64 { return maphash.String(hashSeed, string(id)) }

// first reports that an object is met for the first time.
func (v *verifier) first(id object.ID) bool {
	h := hashOf(id.String())
	v.mu.Lock()
	defer v.mu.Unlock()
	_, known := v.seen[h]
	v.seen[h] = struct{}{}
	return !known
}

func (v *verifier) entry(ctx context.Context, at string, e *snapshot.DirEntry) {
	switch {
	case ctx.Err() != nil || !v.first(e.ObjectID):
	case e.Type == snapshot.EntryTypeDirectory:
		v.dir(ctx, at, e)
	default:
		select {
		case v.files <- verifyFile{at, e}:
		case <-ctx.Done():
		}
	}
}

func (v *verifier) dir(ctx context.Context, at string, e *snapshot.DirEntry) {
	if err := v.pieces(ctx, e.ObjectID); err != nil {
		v.found(ctx, at, err)
		return
	}
	entries, err := v.repo.readDir(ctx, e)
	if err != nil {
		v.found(ctx, at, err)
		return
	}
	var wg sync.WaitGroup
	for _, c := range entries {
		below := path.Join(at, c.Name)
		if c.Type != snapshot.EntryTypeDirectory {
			v.entry(ctx, below, c)
			continue
		}
		select {
		case v.slot <- struct{}{}:
			wg.Go(func() {
				defer func() { <-v.slot }()
				v.entry(ctx, below, c)
			})
		default:
			v.entry(ctx, below, c)
		}
	}
	wg.Wait()
}

func (v *verifier) file(ctx context.Context, f verifyFile) {
	err := v.pieces(ctx, f.e.ObjectID)
	read := int64(-1)
	if err == nil && rand.Int64N(100) < v.ReadPercent { //nolint:gosec // a sample
		read, err = v.read(ctx, f.e)
	}
	v.mu.Lock()
	v.out.Files++
	v.out.Bytes += f.e.FileSize
	if read >= 0 {
		v.out.FilesRead++
		v.out.BytesRead += read
	}
	v.mu.Unlock()
	v.Progress.Files.Add(1)
	v.Progress.Bytes.Add(f.e.FileSize)
	if err != nil {
		v.found(ctx, f.path, err)
	}
}

// pieces looks up everything one object consists of.
func (v *verifier) pieces(ctx context.Context, id object.ID) error {
	ids, err := v.repo.rep.VerifyObject(ctx, id)
	if err != nil {
		return err //nolint:wrapcheck // kopia's words are the fault's
	}
	for _, c := range ids {
		if err := v.piece(ctx, c, true); err != nil {
			return err
		}
	}
	return nil
}

func (v *verifier) piece(ctx context.Context, id content.ID, again bool) error {
	info, err := v.repo.rep.ContentInfo(ctx, id)
	if err != nil {
		return err //nolint:wrapcheck // kopia's words are the fault's
	}
	length, ok := v.blobs[hashOf(info.PackBlobID)]
	if !ok && again {
		// It may have come, and the index may have moved on, since the list was made.
		md, err := v.repo.rep.BlobReader().GetMetadata(ctx, info.PackBlobID)
		switch {
		case err == nil:
			length, ok = md.Length, true
		case !errors.Is(err, blob.ErrBlobNotFound):
			return err //nolint:wrapcheck // kopia's words are the fault's
		default:
			if err := v.repo.rep.Refresh(ctx); err != nil {
				return err //nolint:wrapcheck // kopia's words are the fault's
			}
			return v.piece(ctx, id, false)
		}
	}
	switch {
	case !ok:
		return fmt.Errorf("%w: blob %s is missing", ErrDamaged, info.PackBlobID)
	case int64(info.PackOffset)+int64(info.PackedLength) > length:
		return fmt.Errorf("%w: blob %s is shorter than its index says", ErrDamaged, info.PackBlobID)
	}
	return nil
}

func (v *verifier) read(ctx context.Context, e *snapshot.DirEntry) (int64, error) {
	rd, err := v.repo.rep.OpenObject(ctx, e.ObjectID)
	if err != nil {
		return 0, err //nolint:wrapcheck // kopia's words are the fault's
	}
	defer rd.Close()
	buf, _ := buffers.Get().(*[copyBuffer]byte)
	defer buffers.Put(buf)
	n, err := io.CopyBuffer(io.Discard, struct{ io.Reader }{rd}, buf[:])
	if err == nil && e.Type == snapshot.EntryTypeFile && n != e.FileSize {
		err = fmt.Errorf("%w: %d bytes are stored of %d", ErrDamaged, n, e.FileSize)
	}
	return n, err //nolint:wrapcheck // kopia's words are the fault's
}

// found sorts an error: damage is counted, everything else ends the verification.
func (v *verifier) found(ctx context.Context, at string, err error) {
	switch {
	case ctx.Err() != nil:
	case storeFailed(err):
		v.cancel(fmt.Errorf("%w: %s: %w", ErrStorage, at, err))
	default:
		v.fault(at, err)
	}
}

func (v *verifier) fault(at string, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.out.Errors++
	if len(v.out.Faults) < MaxPaths {
		v.out.Faults = append(v.out.Faults, Fault{Path: at, Reason: err.Error(), Cause: err})
	}
	if v.MaxErrors > 0 && v.out.Errors >= v.MaxErrors {
		v.cancel(errEnough)
	}
}

// storeFailed tells a store that does not give what it has from one that has not got it, or something else in its place.
// Kopia has no types for what it cannot decode, so it is what is left: ask only about what was read from the repository.
func storeFailed(err error) bool {
	var (
		answer minio.ErrorResponse
		netErr net.Error
		errno  syscall.Errno
	)
	switch {
	case isLost(err), errors.Is(err, ErrBadName):
		return false
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, io.ErrUnexpectedEOF):
		return true
	default:
		_, answered := AnswerOf(err)
		return answered || errors.As(err, &answer) || errors.As(err, &netErr) || errors.As(err, &errno) || errors.Is(err, blob.ErrInvalidCredentials) ||
			strings.Contains(err.Error(), " retries: ") // what kopia asked for again and again never came to be decoded
	}
}

// IndexDamaged reports whether a repository could not be opened because what it knows its contents by cannot be decoded.
// Kopia has no type for it, only these words (committed_content_index.go).
func IndexDamaged(err error) bool {
	return errors.Is(err, ErrStorage) && strings.Contains(err.Error(), "error loading index blob") && !storeFailed(err)
}

// isLost is damage that kopia has a type for.
func isLost(err error) bool {
	for _, e := range []error{ErrDamaged, blob.ErrBlobNotFound, blob.ErrInvalidRange, object.ErrObjectNotFound, content.ErrContentNotFound} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// isUndecodable is a content that has other bytes than were written. Kopia has no type for it, only these words
// (committed_read_manager.go), and a session that does more than read has errors of other kinds too.
func isUndecodable(err error) bool { return strings.Contains(err.Error(), "invalid checksum at ") }

// storageError marks what reading from the repository returned.
func storageError(what string, err error) error {
	if !storeFailed(err) {
		return fmt.Errorf("%w: %w: %s: %w", ErrStorage, ErrDamaged, what, err)
	}
	return fmt.Errorf("%w: %s: %w", ErrStorage, what, err)
}
