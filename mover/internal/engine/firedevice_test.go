// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var webDisk = Identity{Username: "web", Hostname: "apps", Path: "/pvc/disk"}

// faultySourceDevice and faultyTargetDevice pass every call through a trigger.
type faultySourceDevice struct {
	sourceDevice

	t *trigger
}

func (d faultySourceDevice) ReadAt(b []byte, off int64) (int, error) {
	return calling(d.t, "read", "device", func() (int, error) { return d.sourceDevice.ReadAt(b, off) })
}

type faultyTargetDevice struct {
	targetDevice

	t *trigger
}

func (d faultyTargetDevice) ReadAt(b []byte, off int64) (int, error) {
	return calling(d.t, "read", "device", func() (int, error) { return d.targetDevice.ReadAt(b, off) })
}

func (d faultyTargetDevice) WriteAt(b []byte, off int64) (int, error) {
	return calling(d.t, "write", "device", func() (int, error) { return d.targetDevice.WriteAt(b, off) })
}

func (d faultyTargetDevice) Zero(off, n int64) error {
	return d.t.call("zero", "device", func() error { return d.targetDevice.Zero(off, n) })
}

// Sync does not really: a disk that others use would make each of many restores wait.
func (d faultyTargetDevice) Sync() error {
	return d.t.call("sync", "device", func() error { return nil })
}

func (d faultyTargetDevice) Close() error { return d.t.call("close", "device", d.targetDevice.Close) }

const smallImage = 3*deviceBlock + 512

// disk is the image of the scene, made once; blank a target for it.
func (s *scene) disk() string { return filepath.Join(filepath.Dir(s.source), "disk") }

func newDisk(t *testing.T, at string) {
	t.Helper()
	f, err := os.Create(at)
	require.NoError(t, err)
	require.NoError(t, f.Truncate(smallImage))
	for _, off := range []int64{0, 2*deviceBlock - 5, smallImage - 9} {
		_, err := f.WriteAt([]byte("disk!"), off)
		require.NoError(t, err)
	}
	require.NoError(t, f.Close())
}

func (s *scene) blank() string {
	s.t.Helper()
	at := filepath.Join(s.root, "blank")
	f, err := os.OpenFile(at, os.O_CREATE|os.O_WRONLY, 0o600)
	require.NoError(s.t, err)
	require.NoError(s.t, f.Truncate(smallImage))
	require.NoError(s.t, f.Close())
	return at
}

func uploadDisk(ctx context.Context, s *scene, r *Repository, t *trigger) error {
	u := uploadOf(s.disk())
	u.Identity, u.Description = webDisk, "disk"
	if t.n > 0 {
		u.wrapDevice = func(d sourceDevice) sourceDevice { return faultySourceDevice{d, t} }
	}
	_, err := r.UploadDevice(ctx, u)
	return err
}

func restoreDisk(ctx context.Context, s *scene, r *Repository, t *trigger) error {
	all, err := r.List(ctx, webDisk)
	if err != nil {
		return err
	}
	o := Restore{Target: s.blank(), Parallel: 2, Progress: &Counters{}}
	o.wrapDevice = func(d targetDevice) targetDevice { return faultyTargetDevice{d, t} }
	_, err = r.RestoreDevice(ctx, all[0], o)
	return err
}

func diskIsThere(s *scene, r *Repository) {
	s.t.Helper()
	require.NoError(s.t, restoreDisk(testContext(s.t), s, r, &trigger{n: -1}))
	sameBytes(s.t, s.disk(), filepath.Join(s.root, "blank"), smallImage)
	all, err := r.List(testContext(s.t), webDisk)
	require.NoError(s.t, err)
	for _, snap := range all {
		assert.True(s.t, snap.Complete())
		assert.Equal(s.t, int64(smallImage), snap.Size)
	}
}

// deviceFaults are those of a device.
var deviceFaults = []fault{
	{"not done", syscall.EIO, manner{}},
	{"done, and not told", syscall.EIO, manner{after: true}},
	{"gone", syscall.ENODEV, manner{forever: true}},
}
