// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/kopiur/kopiur/apis/work"
)

// A volume without a file system, from the protocol to the disk and back. Files stand for devices here; what only real
// ones show is in the engine's tests.
func TestBackUpAndRestoreADevice(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	disk := filepath.Join(p.source, "disk")
	randomFile(t, disk, 5<<20)
	p.create()
	snapshot := p.spec(work.Operation{Snapshot: &work.Snapshot{Identity: identity, DevicePath: disk}})
	s := p.ok(snapshot).Snapshot
	assert.Equal(t, int64(5<<20), s.SizeBytes)
	assert.Equal(t, int64(1), s.FileCount)
	assert.True(t, p.ok(snapshot).Snapshot.Found, "a lost result costs no second backup")

	to := filepath.Join(p.target, "disk")
	randomFile(t, to, 6<<20)
	restore := &work.Restore{SnapshotID: s.SnapshotID, DevicePath: to}
	r := p.ok(p.spec(work.Operation{Restore: restore})).Restore
	assert.Equal(t, int64(5<<20), r.BytesRestored)
	assert.Equal(t, int64(1), r.FilesRestored)
	require.NoError(t, os.Truncate(to, 5<<20))
	same(t, disk, to)

	for name, tc := range map[string]struct {
		change func(*work.Restore)
		code   work.Code
		exit   int
	}{
		"a device that is too small":       {func(*work.Restore) { require.NoError(t, os.Truncate(to, 4096)) }, work.CodeNoSpace, 10},
		"a device that is not empty":       {func(r *work.Restore) { r.Options.OverwriteFiles = new(false); randomFile(t, to, 6<<20) }, work.CodeTargetOccupied, 20},
		"a device that is not there":       {func(r *work.Restore) { r.DevicePath = filepath.Join(p.target, "none") }, work.CodeNotFound, 20},
		"a folder and a device at once":    {func(r *work.Restore) { r.TargetPath = p.target }, work.CodeInvalidSpec, 20},
		"neither a folder nor a device":    {func(r *work.Restore) { r.DevicePath = "" }, work.CodeInvalidSpec, 20},
		"a part of what is a single image": {func(r *work.Restore) { r.SubPath = "etc" }, work.CodeNotFound, 20},
	} {
		o := *restore
		tc.change(&o)
		f, exit := p.run(p.spec(work.Operation{Restore: &o}))
		assert.Equal(t, tc.code, f.Code, "%s: %s", name, f.Message)
		assert.Equal(t, tc.exit, exit, name)
	}
	for name, o := range map[string]work.Snapshot{
		"a folder and a device at once": {Identity: identity, Path: p.source, DevicePath: disk},
		"neither a folder nor a device": {Identity: identity},
	} {
		f, exit := p.run(p.spec(work.Operation{Snapshot: &o}))
		assert.Equal(t, work.CodeInvalidSpec, f.Code, name)
		assert.Equal(t, work.ExitPermanent, exit, name)
	}
}

// where only the container's mount protects a source, the mover looks at it before it does anything.
func TestASourceThatMustBeReadOnly(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	p.write(p.source, "a", "content")
	p.create()
	s := p.snapshot()
	s.Operation.Snapshot.MustBeReadOnly = true
	f, exit := p.run(s)
	assert.Equal(t, work.CodeInvalidSpec, f.Code)
	assert.Equal(t, work.ExitPermanent, exit)
	assert.Contains(t, f.Message, "mounted writable")
	assert.Zero(t, p.count(), "nothing was stored")

	if os.Geteuid() != 0 {
		t.Skip("needs root for the rest: a mount that is read-only")
	}
	if err := unix.Mount(p.source, p.source, "", unix.MS_BIND, ""); err != nil {
		t.Skipf("this machine lets nobody mount: %v", err)
	}
	t.Cleanup(func() { assert.NoError(t, unix.Unmount(p.source, 0)) })
	require.NoError(t, unix.Mount("", p.source, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, ""))
	assert.Equal(t, int64(1), p.ok(s).Snapshot.FilesNew)
}
