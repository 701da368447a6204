// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// limitParameter of a StorageClass makes its volumes no larger than they were asked for.
const limitParameter = "limit"

// limit gives a folder a size: what is written beyond it fails, as on a real disk. Its files are kept in memory.
func limit(data string, bytes int64) error {
	if err := unix.Mount("tmpfs", data, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0755", bytes)); err != nil {
		return fmt.Errorf("limit %s: %w", data, err)
	}
	return nil
}

// wipe deletes the folder of a volume or snapshot, with the file system that its data may be.
func wipe(folder string) error {
	err := unix.Unmount(filepath.Join(folder, "data"), unix.MNT_DETACH)
	// EINVAL: not limited. ENOENT: not there. EPERM: who may not unmount has mounted nothing.
	if err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.EPERM) {
		return fmt.Errorf("unmount the data of %s: %w", folder, err)
	}
	return os.RemoveAll(folder)
}
