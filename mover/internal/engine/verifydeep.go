// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Deep is a restore for no other reason than to see it work.
type Deep struct {
	// Scratch is a folder for it, and Name the folder in there that belongs to verifications alone: what an earlier one
	// left in it is removed, and nothing else.
	Scratch, Name string
	Parallel      int
	// Keep leaves what was restored.
	Keep     bool
	Progress *Counters

	// meddle stands between the restore and the comparison in tests.
	meddle func(dir string)
}

// ledgerName is the list of what every restored file should be.
const ledgerName = ".kopiur-ledger"

// Proven is the outcome.
type Proven struct {
	Files, Bytes int64
	// Matches: every file was read again and is what the repository gave.
	Matches bool
	// Errors counts what is wrong, Faults are the first of it.
	Errors int64
	Faults []Fault
}

// VerifyDeep restores a snapshot, reads every file again from the disk and compares, and removes it all. Owners and modes
// are not restored: the verification has to be able to read what it wrote.
func (r *Repository) VerifyDeep(ctx context.Context, s Snapshot, d Deep) (out Proven, err error) {
	dir, ledger := filepath.Join(d.Scratch, d.Name), filepath.Join(d.Scratch, ledgerName)
	for _, p := range []string{dir, ledger} {
		if err := os.RemoveAll(p); err != nil {
			return out, scratchError(err)
		}
	}
	defer func() {
		if !d.Keep || err != nil {
			err = errors.Join(err, scratchError(os.RemoveAll(dir)))
		}
		_ = os.Remove(ledger)
	}()
	if err := os.Mkdir(dir, workDirMode); err != nil {
		return out, scratchError(err)
	}
	book, err := os.OpenFile(ledger, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return out, scratchError(err)
	}
	defer book.Close()
	w := &ledgerWriter{w: bufio.NewWriter(book)}
	res, err := r.Restore(ctx, s, Restore{
		Target: dir, Parallel: d.Parallel, Sparse: true, SkipOwners: true, SkipPermissions: true, Progress: d.Progress, sum: w.add,
	})
	out.Files, out.Bytes = res.Files, res.Bytes
	switch {
	case err == nil:
	case errors.Is(err, ErrTarget) || errors.Is(err, errLedger):
		return out, scratchError(err)
	case errors.Is(err, ErrDamaged) && ctx.Err() == nil, errors.Is(err, ErrBadName):
		out.Errors, out.Faults = 1, []Fault{{Path: s.Identity.String(), Reason: err.Error(), Cause: err}}
		return out, nil
	default:
		return out, err
	}
	if err := w.w.Flush(); err != nil {
		return out, scratchError(err)
	}
	if d.meddle != nil {
		d.meddle(dir)
	}
	err = out.compare(ctx, dir, book, max(d.Parallel, 1))
	out.Matches = err == nil && out.Errors == 0 && out.Files == w.n
	return out, err
}

// errLedger is a failure to write the ledger, in the midst of a restore.
var errLedger = errors.New("the list of restored files cannot be written")

// ledgerWriter notes every file: its checksum, the length of its name, its name.
type ledgerWriter struct {
	mu sync.Mutex
	w  *bufio.Writer
	n  int64
}

func (l *ledgerWriter) add(rel string, sum []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n++
	head := binary.AppendUvarint(sum, uint64(len(rel)))
	if _, err := l.w.Write(head); err != nil {
		return fmt.Errorf("%w: %w", errLedger, err)
	}
	if _, err := l.w.WriteString(rel); err != nil {
		return fmt.Errorf("%w: %w", errLedger, err)
	}
	return nil
}

type noted struct {
	rel string
	sum []byte
}

// compare reads every noted file from the disk, not from the page cache.
func (p *Proven) compare(ctx context.Context, dir string, book *os.File, parallel int) error {
	if _, err := book.Seek(0, io.SeekStart); err != nil {
		return scratchError(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return scratchError(err)
	}
	defer root.Close()
	files := make(chan noted)
	var (
		workers sync.WaitGroup
		mu      sync.Mutex
	)
	for range parallel {
		workers.Go(func() {
			for f := range files {
				if err := sameOnDisk(root, f); err != nil {
					mu.Lock()
					p.Errors++
					if len(p.Faults) < MaxPaths {
						p.Faults = append(p.Faults, Fault{Path: f.rel, Reason: reasonOf(err), Cause: err})
					}
					mu.Unlock()
				}
			}
		})
	}
	err = eachNoted(ctx, book, files)
	close(files)
	workers.Wait()
	return err
}

func eachNoted(ctx context.Context, book io.Reader, to chan<- noted) error {
	rd := bufio.NewReader(book)
	for {
		f := noted{sum: make([]byte, sha256.Size)}
		if _, err := io.ReadFull(rd, f.sum); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return scratchError(err)
		}
		n, err := binary.ReadUvarint(rd)
		if err != nil {
			return scratchError(err)
		}
		name := make([]byte, n)
		if _, err := io.ReadFull(rd, name); err != nil {
			return scratchError(err)
		}
		f.rel = string(name)
		select {
		case to <- f:
		case <-ctx.Done():
			return fmt.Errorf("compare what was restored: %w", context.Cause(ctx))
		}
	}
}

// errDiffers is a file that does not hold what was written into it.
var errDiffers = errors.New("the file on the scratch volume is not what was restored")

func sameOnDisk(root *os.Root, f noted) error {
	file, err := root.OpenFile(f.rel, os.O_RDONLY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return err //nolint:wrapcheck // the path stands beside it
	}
	defer file.Close()
	_ = unix.Fadvise(int(file.Fd()), 0, 0, unix.FADV_DONTNEED)
	h := sha256.New()
	buf, _ := buffers.Get().(*[copyBuffer]byte)
	defer buffers.Put(buf)
	if _, err := io.CopyBuffer(h, struct{ io.Reader }{file}, buf[:]); err != nil {
		return err //nolint:wrapcheck // the path stands beside it
	}
	if !bytes.Equal(h.Sum(nil), f.sum) {
		return errDiffers
	}
	return nil
}

// scratchError marks a fault of the scratch volume; nil stays nil.
func scratchError(err error) error {
	if err == nil || errors.Is(err, fs.ErrClosed) {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrScratch, err)
}

// NewestWhole is the newest complete snapshot that lacks nothing, and how many others there are that do.
func NewestWhole(all []Snapshot) (newest Snapshot, found bool, partial int64) {
	for _, s := range all {
		switch {
		case !s.Complete() || s.manifest == nil || s.manifest.RootEntry == nil:
		case s.Failed > 0:
			partial++
		case !found || s.Start.After(newest.Start):
			newest, found = s, true
		}
	}
	return newest, found, partial
}
