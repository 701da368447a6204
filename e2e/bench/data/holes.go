// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package data

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// readData reads a file from its first to its last byte and leaves out its holes.
func readData(path string, buf []byte) error {
	f, err := os.Open(path)
	if err != nil {
		return err //nolint:wrapcheck // names the path
	}
	defer f.Close()
	for at := int64(0); ; {
		start, err := unix.Seek(int(f.Fd()), at, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			return nil // nothing but a hole is left
		}
		if err != nil {
			return &os.PathError{Op: "seek", Path: path, Err: err}
		}
		end, err := unix.Seek(int(f.Fd()), start, unix.SEEK_HOLE)
		if err != nil {
			return &os.PathError{Op: "seek", Path: path, Err: err}
		}
		r := io.NewSectionReader(f, start, end-start)
		if _, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, r, buf); err != nil {
			return err //nolint:wrapcheck // names the path
		}
		at = end
	}
}

// Allocated is how many bytes a folder's files take up on the disk.
func Allocated(dir string) (int64, error) {
	total := int64(0)
	err := walkFiles(dir, func(_ string, info os.FileInfo) { total += status(info).Blocks * 512 })
	return total, err
}

func walkFiles(dir string, visit func(path string, info os.FileInfo)) error {
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			visit(path, info)
		}
		return err //nolint:wrapcheck // wrapped below
	})
	if err != nil {
		return fmt.Errorf("look at %s: %w", dir, err)
	}
	return nil
}
