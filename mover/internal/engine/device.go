// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	// deviceBlock is the unit in which a device is stored: the splitter's, so that equal blocks are equal contents.
	deviceBlock = 4 << 20
	// deviceSegment is what one worker reads or writes at a time.
	deviceSegment = 16 * deviceBlock
	// deviceSplitter cuts at fixed places: what a file system changes, it changes in place.
	deviceSplitter = "FIXED-4M"
)

// sourceDevice is a block device to read, or the image of one.
type sourceDevice interface {
	io.ReaderAt
	// NextData is where the next byte at or behind off is that may not be zero, or the size where there is none.
	NextData(off int64) int64
	// Forget lets the system forget what was read: a backup must not push out everything else that the node has cached.
	Forget(off, n int64)
	Size() int64
	Close() error
}

// targetDevice is a block device to write.
type targetDevice interface {
	io.ReaderAt
	io.WriterAt
	// Zero makes a range read as zeros, without writing them where that is possible.
	Zero(off, n int64) error
	Size() int64
	Sync() error
	Close() error
}

type device struct {
	*os.File

	size int64
	// sparse: the file tells its holes.
	sparse bool
}

// openDevice opens a block device, or a file that holds the image of one, in which tests keep them.
func openDevice(path string, flags int) (*device, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err //nolint:wrapcheck // the callers say which side it is
	}
	regular := st.Mode().IsRegular()
	if !regular && st.Mode().Type() != os.ModeDevice {
		return nil, &fs.PathError{Op: "open", Path: path, Err: syscall.ENOTBLK}
	}
	if regular {
		flags &^= os.O_EXCL
	}
	f, err := os.OpenFile(path, flags, 0)
	if err != nil {
		return nil, err //nolint:wrapcheck // the callers say which side it is
	}
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		_ = f.Close()
		return nil, err //nolint:wrapcheck // the callers say which side it is
	}
	return &device{File: f, size: size, sparse: regular}, nil
}

func openSourceDevice(path string) (sourceDevice, error) {
	d, err := openDevice(path, os.O_RDONLY)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSource, err)
	}
	if d.size == 0 {
		_ = d.Close()
		return nil, fmt.Errorf("%w: %s has no size", ErrSource, path)
	}
	return d, nil
}

// ReadableDevice asks whether a device can be opened by this uid at all.
func ReadableDevice(path string) error {
	d, err := openSourceDevice(path)
	if err == nil {
		_ = d.Close()
	}
	return err
}

// openTargetDevice opens exclusively: the kernel then refuses a device that is mounted, or that another one is made of.
func openTargetDevice(path string) (targetDevice, error) {
	d, err := openDevice(path, os.O_RDWR|os.O_EXCL)
	switch {
	case errors.Is(err, syscall.EBUSY):
		return nil, fmt.Errorf("%w: %w: %s", ErrTarget, ErrInUse, path)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrTarget, err)
	}
	return d, nil
}

func (d *device) Size() int64 { return d.size }

func (d *device) NextData(off int64) int64 {
	if !d.sparse {
		return off // no device tells
	}
	next, err := unix.Seek(int(d.Fd()), off, unix.SEEK_DATA)
	switch {
	case errors.Is(err, unix.ENXIO):
		return d.size
	case err != nil:
		return off
	}
	return next
}

func (d *device) Forget(off, n int64) {
	_ = unix.Fadvise(int(d.Fd()), off, n, unix.FADV_DONTNEED)
}

// Zero first asks for a hole, which a thin volume gives back to its pool, then for zeros that the device makes by
// itself. The kernel promises zeros in both cases, or refuses.
func (d *device) Zero(off, n int64) error {
	for _, how := range []uint32{unix.FALLOC_FL_PUNCH_HOLE | unix.FALLOC_FL_KEEP_SIZE, unix.FALLOC_FL_ZERO_RANGE | unix.FALLOC_FL_KEEP_SIZE} {
		err := unix.Fallocate(int(d.Fd()), how, off, n)
		if err == nil {
			return nil
		}
		if !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENODEV) && !errors.Is(err, unix.ENOSYS) {
			return &fs.PathError{Op: "zero", Path: d.Name(), Err: err}
		}
	}
	for n > 0 {
		size := min(n, int64(len(zeroBlock)))
		if _, err := d.WriteAt(zeroBlock[:size], off); err != nil {
			return err //nolint:wrapcheck // the caller says that it is the target
		}
		off, n = off+size, n-size
	}
	return nil
}

var zeroBlock [deviceBlock]byte

// isZero reports whether all bytes are zero.
func isZero(b []byte) bool { return run(b, true) == len(b) }
