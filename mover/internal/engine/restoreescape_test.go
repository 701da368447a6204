// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kopia/kopia/snapshot"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// outside is a folder beside a target, with all that a restore could hit.
func outside(t *testing.T) (dir string, unharmed func(why ...any)) {
	t.Helper()
	dir = t.TempDir()
	writeFile(t, filepath.Join(dir, "file"), "precious", 0o640)
	writeFile(t, filepath.Join(dir, "dir/file"), "precious", 0o640)
	writeFile(t, filepath.Join(dir, "link"), "precious", 0o640)
	before := facts(t, dir)
	return dir, func(why ...any) {
		t.Helper()
		assert.Equal(t, before, facts(t, dir), why...)
	}
}

// What a snapshot says may come from somebody else: whoever can write to the store, or another version of kopia.
func TestASnapshotCannotLeadOutOfTheTarget(t *testing.T) {
	t.Parallel()
	file := func(name string) *snapshot.DirEntry {
		return &snapshot.DirEntry{Name: name, Type: snapshot.EntryTypeFile, Permissions: 0o600}
	}
	link := func(name string) *snapshot.DirEntry {
		return &snapshot.DirEntry{Name: name, Type: snapshot.EntryTypeSymlink, Permissions: 0o777}
	}
	of := func(name string, kind snapshot.EntryType, mode fs.FileMode) *snapshot.DirEntry {
		return &snapshot.DirEntry{Name: name, Type: kind, Permissions: snapshot.Permissions(mode)}
	}
	for name, tc := range map[string]struct {
		entries []*snapshot.DirEntry
		bad     bool // refused as an impossible name
	}{
		"a name that goes up":                   {[]*snapshot.DirEntry{file("../escape")}, true},
		"the folder itself":                     {[]*snapshot.DirEntry{file(".")}, true},
		"the folder above":                      {[]*snapshot.DirEntry{file("..")}, true},
		"an absolute path":                      {[]*snapshot.DirEntry{file("/etc/cron.d/x")}, true},
		"a path":                                {[]*snapshot.DirEntry{file("a/b")}, true},
		"no name":                               {[]*snapshot.DirEntry{file("")}, true},
		"a zero byte":                           {[]*snapshot.DirEntry{file("a\x00b")}, true},
		"a name twice":                          {[]*snapshot.DirEntry{file("a"), file("a")}, true},
		"a link, and a folder of the same name": {[]*snapshot.DirEntry{link("dir"), of("dir", snapshot.EntryTypeDirectory, 0o700)}, true},
		"a link, and a file by a path through it":     {[]*snapshot.DirEntry{link("dir"), file("dir/file")}, true},
		"an absolute link out":                        {[]*snapshot.DirEntry{link("link")}, false},
		"a device node":                               {[]*snapshot.DirEntry{of("null", "c", 0o666)}, false},
		"a block device":                              {[]*snapshot.DirEntry{of("sda", "b", 0o660)}, false},
		"a pipe":                                      {[]*snapshot.DirEntry{of("pipe", "p", 0o600)}, false},
		"a file whose mode is that of a device":       {[]*snapshot.DirEntry{of("null", snapshot.EntryTypeFile, os.ModeDevice|os.ModeCharDevice|0o666)}, false},
		"a folder whose mode is that of a named pipe": {[]*snapshot.DirEntry{of("d", snapshot.EntryTypeDirectory, os.ModeNamedPipe|0o700)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := testContext(t)
			away, unharmed := outside(t)
			_, r := created(t, folder(t))
			s := forged(t, r, away, tc.entries)
			parent := t.TempDir()
			dst := filepath.Join(parent, "target")
			require.NoError(t, os.Mkdir(dst, 0o700))
			for range 2 { // the second time through what the first one made
				_, err := r.Restore(ctx, s, Restore{Target: dst, Progress: &Counters{}})
				if tc.bad {
					require.ErrorIs(t, err, ErrBadName)
					assert.Len(t, tree(t, parent), 2, "nothing was written")
				}
				for p, f := range facts(t, parent) {
					assert.Zero(t, f.mode&(os.ModeDevice|os.ModeCharDevice|os.ModeNamedPipe|os.ModeSocket), p)
					assert.True(t, p == "." || strings.HasPrefix(p, "target"), p)
				}
				unharmed()
			}
		})
	}
}

// Whoever owns the volume may change it while it is restored, at any moment: here before each call in turn.
func TestSomebodySwapsFoldersForLinksWhileARestoreRuns(t *testing.T) {
	t.Parallel()
	src := t.TempDir()
	writeFile(t, filepath.Join(src, "dir/file"), "new", 0o600)
	writeFile(t, filepath.Join(src, "file"), "new", 0o600)
	require.NoError(t, os.Symlink("file", filepath.Join(src, "link")))
	ctx := testContext(t)
	_, r := created(t, folder(t))
	up, err := r.Upload(ctx, uploadOf(src))
	require.NoError(t, err)
	for name, o := range map[string]Restore{
		"whole files": {}, "in place": {InPlace: true}, "going on": {SkipExisting: true, Request: "r"}, "deleting": {DeleteExtra: true},
		"with two workers": {Parallel: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			last := false
			for n := int64(1); !last; n++ {
				require.Less(t, n, int64(200))
				away, unharmed := outside(t)
				dst := t.TempDir()
				if n%2 == 0 { // over what is there
					writeFile(t, filepath.Join(dst, "dir/file"), "old", 0o640)
					writeFile(t, filepath.Join(dst, "dir/extra"), "old", 0o640)
					writeFile(t, filepath.Join(dst, "file"), "old", 0o640)
				}
				hit := ""
				tr := &trigger{n: n, do: func(op, name string) error {
					hit = op + " " + name
					swap(t, dst, away)
					return nil
				}}
				o.Target, o.Progress, o.wrap = dst, &Counters{}, tr.target
				_, err := r.Restore(ctx, up.Snapshot, o)
				last = !tr.fired()
				unharmed("call %d, %s: %v", n, hit, err)
				if err != nil {
					require.ErrorIs(t, err, ErrTarget, hit)
				}
			}
		})
	}
}

// swap puts links that lead away in the place of all that is in a folder, parts of files included. Where another worker
// is quicker, it is quicker.
func swap(t *testing.T, dst, away string) {
	t.Helper()
	trash := t.TempDir()
	for i, dir := range []string{filepath.Join(dst, "dir"), dst} {
		have, err := os.ReadDir(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		require.NoError(t, err)
		for _, e := range have {
			to := filepath.Join(away, e.Name())
			if strings.HasPrefix(e.Name(), partPrefix) {
				to = filepath.Join(away, "file")
			}
			if os.Rename(filepath.Join(dir, e.Name()), filepath.Join(trash, fmt.Sprint(i)+e.Name())) == nil {
				_ = os.Symlink(to, filepath.Join(dir, e.Name()))
			}
		}
	}
}
