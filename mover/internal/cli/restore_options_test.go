// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kopiur/kopiur/apis/work"
)

// Every option of a restore reaches the disk, and unset means the default that is written beside it (B-9).
func TestEveryRestoreOptionReachesTheDisk(t *testing.T) {
	t.Parallel()
	long := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	base := newPod(t)
	base.write(base.source, "dir/file", "stored")
	base.write(base.source, "holes", strings.Repeat("\x00", 1<<20))
	require.NoError(t, os.Chmod(filepath.Join(base.source, "dir/file"), 0o640))
	require.NoError(t, os.Symlink("dir/file", filepath.Join(base.source, "link")))
	require.NoError(t, os.Chtimes(filepath.Join(base.source, "dir/file"), long, long))
	root := os.Geteuid() == 0
	if root {
		require.NoError(t, os.Chown(filepath.Join(base.source, "dir/file"), 4242, 4242))
	}
	base.create()
	id := base.ok(base.snapshot()).Snapshot.SnapshotID

	type target struct {
		*testing.T

		dir    string
		before uint64 // the inode of the file that was there
		result work.Result
	}
	stat := func(c target, name string) (os.FileInfo, *syscall.Stat_t) {
		st, err := os.Lstat(filepath.Join(c.dir, name))
		require.NoError(c, err)
		own, ok := st.Sys().(*syscall.Stat_t)
		require.True(c, ok)
		return st, own
	}
	content := func(c target, want string) {
		b, err := os.ReadFile(filepath.Join(c.dir, "dir/file"))
		require.NoError(c, err)
		assert.Equal(c, want, string(b))
	}
	existing := func(p *pod) { p.write(p.target, "dir/file", "is there") }
	inode := func(c target) uint64 { _, own := stat(c, "dir/file"); return own.Ino }
	done, refused := work.CodeOK, work.CodeTargetOccupied

	rows := map[string]map[string]struct {
		set     func(*work.RestoreOptions)
		arrange func(*pod)
		code    work.Code
		check   func(target)
	}{
		"EnableFileDeletion": {
			"unset keeps what is not in the snapshot": {nil, func(p *pod) { p.write(p.target, "extra", "x") }, done, func(c target) { stat(c, "extra") }},
			"true deletes it": {func(o *work.RestoreOptions) { o.EnableFileDeletion = new(true) }, func(p *pod) { p.write(p.target, "extra", "x") }, done, func(c target) {
				assert.NoFileExists(c, filepath.Join(c.dir, "extra"))
				assert.Equal(c, int64(1), c.result.Restore.EntriesDeleted)
			}},
		},
		"WriteFilesAtomically": {
			"unset puts a whole file in the place of the old one": {nil, existing, done, func(c target) { content(c, "stored"); assert.NotEqual(c, c.before, inode(c)) }},
			"false writes into the old one":                       {func(o *work.RestoreOptions) { o.WriteFilesAtomically = new(false) }, existing, done, func(c target) { content(c, "stored"); assert.Equal(c, c.before, inode(c)) }},
		},
		"WriteSparseFiles": {
			"unset writes zeros": {nil, nil, done, func(c target) { _, own := stat(c, "holes"); assert.GreaterOrEqual(c, own.Blocks*512, int64(1<<20)) }},
			"true leaves holes":  {func(o *work.RestoreOptions) { o.WriteSparseFiles = new(true) }, nil, done, func(c target) { _, own := stat(c, "holes"); assert.Zero(c, own.Blocks) }},
		},
		"SkipOwners": {
			"unset sets owners": {nil, nil, done, func(c target) {
				if _, own := stat(c, "dir/file"); root {
					assert.Equal(c, uint32(4242), own.Uid)
				}
			}},
			"true does not": {func(o *work.RestoreOptions) { o.SkipOwners = new(true) }, nil, done, func(c target) {
				_, own := stat(c, "dir/file")
				assert.Equal(c, os.Geteuid(), int(own.Uid))
			}},
		},
		"SkipPermissions": {
			"unset sets modes": {nil, nil, done, func(c target) { st, _ := stat(c, "dir/file"); assert.Equal(c, os.FileMode(0o640), st.Mode()) }},
			"true does not":    {func(o *work.RestoreOptions) { o.SkipPermissions = new(true) }, nil, done, func(c target) { st, _ := stat(c, "dir/file"); assert.Equal(c, os.FileMode(0o600), st.Mode()) }},
		},
		"SkipTimes": {
			"unset sets times": {nil, nil, done, func(c target) { st, _ := stat(c, "dir/file"); assert.True(c, st.ModTime().Equal(long)) }},
			"true does not":    {func(o *work.RestoreOptions) { o.SkipTimes = new(true) }, nil, done, func(c target) { st, _ := stat(c, "dir/file"); assert.False(c, st.ModTime().Equal(long)) }},
		},
		"OverwriteFiles": {
			"unset overwrites":  {nil, existing, done, func(c target) { content(c, "stored") }},
			"false refuses to":  {func(o *work.RestoreOptions) { o.OverwriteFiles = new(false) }, existing, refused, func(c target) { content(c, "is there") }},
			"false fills a gap": {func(o *work.RestoreOptions) { o.OverwriteFiles = new(false) }, nil, done, func(c target) { content(c, "stored") }},
		},
		"OverwriteDirectories": {
			"unset restores into folders": {nil, existing, done, func(c target) { content(c, "stored") }},
			"false refuses to":            {func(o *work.RestoreOptions) { o.OverwriteDirectories = new(false) }, existing, refused, func(c target) { content(c, "is there") }},
		},
		"OverwriteSymlinks": {
			"unset replaces links": {nil, func(p *pod) { require.NoError(t, os.Symlink("old", filepath.Join(p.target, "link"))) }, done, func(c target) {
				to, err := os.Readlink(filepath.Join(c.dir, "link"))
				require.NoError(c, err)
				assert.Equal(c, "dir/file", to)
			}},
			"false refuses to": {func(o *work.RestoreOptions) { o.OverwriteSymlinks = new(false) }, func(p *pod) { require.NoError(t, os.Symlink("old", filepath.Join(p.target, "link"))) }, refused, func(c target) {
				to, err := os.Readlink(filepath.Join(c.dir, "link"))
				require.NoError(c, err)
				assert.Equal(c, "old", to)
			}},
		},
		"IgnoreErrors": {
			"unset ends at the first": {nil, func(p *pod) { p.write(p.target, "holes/in", "x") }, refused, func(c target) { stat(c, "holes/in") }},
			"true counts and goes on": {func(o *work.RestoreOptions) { o.IgnoreErrors = new(true) }, func(p *pod) { p.write(p.target, "holes/in", "x") }, done, func(c target) {
				content(c, "stored")
				assert.Equal(c, int64(1), c.result.Restore.EntriesFailed)
			}},
		},
		"SkipExisting": {
			"unset writes what looks the same": {nil, func(p *pod) { p.write(p.target, "dir/file", "STORED"); dated(t, p, long) }, done, func(c target) { content(c, "stored") }},
			"true leaves it": {func(o *work.RestoreOptions) { o.SkipExisting = new(true) }, func(p *pod) { p.write(p.target, "dir/file", "STORED"); dated(t, p, long) }, done, func(c target) {
				content(c, "STORED")
				assert.Equal(c, int64(1), c.result.Restore.FilesSkipped)
			}},
		},
		"IgnorePermissionErrors": {
			"false is no obstacle where nothing fails": {func(o *work.RestoreOptions) { o.IgnorePermissionErrors = new(false) }, nil, done, func(c target) { assert.Zero(c, c.result.Restore.Ownership.Failed) }},
		},
		"Parallel": {
			"one at a time":  {func(o *work.RestoreOptions) { o.Parallel = 1 }, nil, done, func(c target) { content(c, "stored") }},
			"many at a time": {func(o *work.RestoreOptions) { o.Parallel = 64 }, nil, done, func(c target) { content(c, "stored") }},
		},
	}
	options := reflect.TypeFor[work.RestoreOptions]()
	for f := range options.Fields() {
		assert.Contains(t, rows, f.Name, "every option has a row")
	}
	for option, group := range rows {
		for name, tc := range group {
			t.Run(option+" "+name, func(t *testing.T) {
				t.Parallel()
				p := newPod(t)
				p.repo = base.repo
				if tc.arrange != nil {
					tc.arrange(p)
				}
				c := target{T: t, dir: p.target}
				if st, err := os.Stat(filepath.Join(p.target, "dir/file")); err == nil {
					own, ok := st.Sys().(*syscall.Stat_t)
					require.True(t, ok)
					c.before = own.Ino
				}
				restore := &work.Restore{SnapshotID: id, TargetPath: p.target}
				if tc.set != nil {
					tc.set(&restore.Options)
				}
				c.result, _ = p.run(p.spec(work.Operation{Restore: restore}))
				assert.Equal(t, tc.code, c.result.Code, c.result.Message)
				tc.check(c)
			})
		}
	}
}

func dated(t *testing.T, p *pod, at time.Time) {
	t.Helper()
	require.NoError(t, os.Chtimes(filepath.Join(p.target, "dir/file"), at, at))
}

// A part of a snapshot by its path, through the protocol.
func TestRestoreOfASubPath(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	p.write(p.source, "conf/app.yaml", "key: value")
	p.write(p.source, "data", "much")
	p.create()
	id := p.ok(p.snapshot()).Snapshot.SnapshotID
	r := p.ok(p.spec(work.Operation{Restore: &work.Restore{SnapshotID: id, SubPath: "conf/app.yaml", TargetPath: p.target}})).Restore
	assert.Equal(t, int64(1), r.FilesRestored)
	assert.FileExists(t, filepath.Join(p.target, "app.yaml"))
	assert.NoFileExists(t, filepath.Join(p.target, "data"))

	f, exit := p.run(p.spec(work.Operation{Restore: &work.Restore{SnapshotID: id, SubPath: "conf/none", TargetPath: p.target}}))
	assert.Equal(t, work.CodeNotFound, f.Code)
	assert.Equal(t, work.ExitPermanent, exit)
	assert.Contains(t, f.Message, "conf/none")
	f, _ = p.run(p.spec(work.Operation{Restore: &work.Restore{SnapshotID: id, SubPath: "../up", TargetPath: p.target}}))
	assert.Equal(t, work.CodeInvalidSpec, f.Code)
}
