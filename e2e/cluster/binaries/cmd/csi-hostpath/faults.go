// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// faults are files that a test puts into <root>/faults to make storage misbehave, and removes to make it well again:
//
//	snapshot-not-ready  snapshots are taken but report that they cannot be used yet
//	snapshot-error      CreateSnapshot and CreateVolumeGroupSnapshot fail with the file's text
//	slow-clone          a volume made from a source takes the duration in the file (15s)
//	mount-error         NodePublishVolume fails with the file's text
type faults struct{ dir string }

func (f faults) on(name string) bool {
	_, err := os.Lstat(filepath.Join(f.dir, name))
	return err == nil
}

// message is what a fault file says, as an error, or nil when the fault is off.
func (f faults) message(name string) error {
	raw, err := os.ReadFile(filepath.Join(f.dir, name))
	if err != nil {
		return nil //nolint:nilerr // no file, no fault
	}
	if text := strings.TrimSpace(string(raw)); text != "" {
		return errors.New(text)
	}
	return fmt.Errorf("fault %s is on", name)
}

// delay waits as long as the fault file says. A file without a duration is an error: a test that mistypes it must
// not pass.
func (f faults) delay(ctx context.Context, name string) error {
	raw, err := os.ReadFile(filepath.Join(f.dir, name))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	wait, err := time.ParseDuration(strings.TrimSpace(string(raw)))
	if err != nil {
		return fmt.Errorf("fault %s: %w", name, err)
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
