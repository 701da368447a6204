// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/kopia/kopia/repo/blob"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Proof under fire: every call that an operation makes on its store, its source or its target fails once, the first, the
// second, and so on until an operation makes fewer calls. Whatever happens, an operation either succeeds and its snapshot
// can be restored, or says in a typed way that it failed; no snapshot that was there is harmed; and the same operation,
// asked again, succeeds.

// fault is how a call fails.
type fault struct {
	name string
	err  error
	manner
}

// storeFaults are those of a store. A copy of blobs does not look into them, so that a bit that changed on the way is
// found by whoever verifies the copy.
var (
	blobFaults = []fault{
		{"not done", syscall.EIO, manner{}},
		{"done, and not told", syscall.ECONNRESET, manner{after: true}},
		{"not done, nor any other from then on", syscall.EHOSTUNREACH, manner{forever: true}},
	}
	// The error is that of calls that read nothing.
	storeFaults = append([]fault{{"read with a bit changed", syscall.EIO, manner{corrupt: true}}}, blobFaults...)
)

// fileFaults are those of a file system.
var fileFaults = []fault{
	{"not done", syscall.EIO, manner{}},
	{"not allowed", syscall.EACCES, manner{}},
	{"out of space", syscall.ENOSPC, manner{}},
}

// scene is what an operation works on: a repository with the snapshot of a first tree, and the tree as it is today.
type scene struct {
	t                    *testing.T
	root                 string
	repo, source, target string
	trees                map[string]map[string]fact // by the description of the snapshot
	first                Key
	// ages is the clock of a scene in which days pass.
	ages *ages
}

// operation is one of those under fire.
type operation struct {
	// run does it with a connection that may fail, and with a trigger for the two file systems.
	run func(ctx context.Context, s *scene, r *Repository, t *trigger) error
	// done checks that it was done.
	done func(s *scene, r *Repository)
	// prepared: the second tree is stored already.
	prepared bool
	// faults are those of its store.
	faults []fault
	// elsewhere: it is its source, its target or its second store that fails.
	elsewhere bool
	// aged: it works on a repository in which days have passed.
	aged bool
	// stride is how many calls the everyday run passes over, for operations with many.
	stride int64
	// known are its own errors beside those of everyone.
	known []error
}

// newScene makes the first one; the others are copies.
func newScene(t *testing.T) *scene {
	t.Helper()
	s := emptyScene(t)
	c := s.connection(nil)
	c.Clock = func() time.Time { return time.Now().Add(-time.Hour) } // not in the same second as the next
	s.begin(c)
	return s
}

func emptyScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{t: t, root: t.TempDir(), trees: map[string]map[string]fact{}}
	s.paths()
	for _, d := range []string{s.repo, s.source, s.target} {
		require.NoError(t, os.Mkdir(d, 0o750))
	}
	newDisk(t, s.disk())
	return s
}

// begin creates the repository, stores the first tree and changes it into the second.
func (s *scene) begin(c Connection) {
	t, ctx := s.t, testContext(s.t)
	t.Helper()
	writeFile(t, filepath.Join(s.source, "a"), "first", 0o640)
	writeFile(t, filepath.Join(s.source, "dir/b"), "first", 0o600)
	require.NoError(t, os.Symlink("dir/b", filepath.Join(s.source, "link")))
	require.NoError(t, Create(ctx, c, CreateOptions{}))
	r, err := Open(ctx, c)
	require.NoError(t, err)
	require.NoError(t, r.Furnish(ctx))
	s.trees["first"] = facts(t, s.source)
	u := uploadOf(s.source)
	u.Description = "first"
	up, err := r.Upload(ctx, u)
	require.NoError(t, err)
	require.NoError(t, r.Close(ctx))
	s.first = Key{ID: up.Snapshot.ID, Identity: webData, Start: up.Snapshot.Start}
	writeFile(t, filepath.Join(s.source, "a"), "second, and longer", 0o640)
	writeFile(t, filepath.Join(s.source, "new/c"), "second", 0o600)
	s.trees["second"] = facts(t, s.source)
}

func (s *scene) paths() {
	s.repo, s.source, s.target = filepath.Join(s.root, "repo"), filepath.Join(s.root, "source"), filepath.Join(s.root, "target")
}

// again is the same scene with a repository and a target of its own. The source is only read, and kopia never writes into
// a blob that is there.
func (s *scene) again(t *testing.T) *scene {
	t.Helper()
	c := &scene{t: t, root: t.TempDir(), trees: s.trees, first: s.first}
	c.paths()
	linkTree(t, s.repo, c.repo)
	require.NoError(t, os.Mkdir(c.target, 0o750))
	c.source = s.source
	if s.ages != nil {
		c.ages = s.ages.again(t)
	}
	return c
}

func linkTree(t *testing.T, from, to string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if at := filepath.Join(to, rel); !d.IsDir() {
			return os.Link(path, at) //nolint:gosec // nobody else is in a test's own folder
		}
		return os.MkdirAll(filepath.Join(to, rel), 0o750)
	}))
}

// connection is one to the repository, behind a trigger where there is one.
func (s *scene) connection(tr *trigger) Connection {
	s.t.Helper()
	st, ages := Storage{Filesystem: &Filesystem{Path: s.repo}}, ""
	if s.ages != nil {
		ages = s.ages.key()
		st.instead = &blob.ConnectionInfo{Type: timeType, Config: &timeOptions{Path: s.repo, Key: ages}}
	}
	if tr != nil {
		st = tr.storeInTime(s.t, s.repo, ages)
	}
	c := connection(s.t, st)
	if s.ages != nil {
		c.Clock = s.ages.clock
	}
	return c
}

// clean opens the repository without any fault.
func (s *scene) clean() *Repository {
	s.t.Helper()
	r, err := Open(testContext(s.t), s.connection(nil))
	require.NoError(s.t, err)
	return r
}

// whole checks that every complete snapshot can be restored and holds what it should, and returns their descriptions.
func (s *scene) whole(why string) []string {
	s.t.Helper()
	r := s.clean()
	defer func() { require.NoError(s.t, r.Close(testContext(s.t))) }()
	return s.wholeIn(r, why)
}

func (s *scene) wholeIn(r *Repository, why string) []string {
	s.t.Helper()
	ctx := testContext(s.t)
	all, err := r.List(ctx, webData)
	require.NoError(s.t, err, why)
	var names []string
	for _, snap := range all {
		if !snap.Complete() || snap.Failed > 0 {
			continue
		}
		names = append(names, snap.Description)
		dst := s.t.TempDir()
		_, err := r.Restore(ctx, snap, Restore{Target: dst, Progress: &Counters{}})
		require.NoError(s.t, err, "%s: %s", why, snap.Description)
		assert.Equal(s.t, s.trees[snap.Description], facts(s.t, dst), "%s: %s", why, snap.Description)
		wholeAgain.Add(1)
		require.NoError(s.t, os.RemoveAll(dst))
	}
	return names
}

// typed are the facts that callers branch on: an error that is none of them has no class.
var typed = []error{ErrStorage, ErrDamaged, ErrSource, ErrTarget, ErrInterrupted, ErrUnreachable, ErrSlow, ErrVanished}

func isTyped(err error, more []error) bool {
	for _, known := range append(more, typed...) {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}

// underFire lets the nth call fail in one way and returns whether there was an nth call.
func underFire(t *testing.T, first *scene, o operation, f fault, n int64) (fired bool) {
	t.Helper()
	s := first.again(t)
	hit := ""
	tr := &trigger{n: n, manner: f.manner, do: func(op, name string) error {
		hit = op + " " + name
		return fmt.Errorf("injected: %w", f.err)
	}}
	why := func() string { return fmt.Sprintf("call %d (%s) %s", n, hit, f.name) }
	err := s.attempt(o, tr)
	if err != nil {
		require.True(t, isTyped(err, o.known), "%s: %v", why(), err)
	}
	s.whole(why())
	if tr.fired() {
		firedAt.Add(1)
		if err == nil {
			survived.Add(1)
		}
		require.NoError(t, s.attempt(o, nil), "asked again after %s, which gave %v", why(), err)
	} else {
		require.NoError(t, err)
	}
	s.whole("asked again after " + why())
	r := s.clean()
	o.done(s, r)
	require.NoError(t, r.Close(testContext(t)))
	require.NoError(t, os.RemoveAll(s.root))
	return tr.fired()
}

// C-14: no call that fails costs a snapshot or needs a hand afterwards.
// firedAt counts the calls that failed, survived those after which the operation succeeded all the same, and wholeAgain the
// snapshots that were restored and compared.
var firedAt, survived, wholeAgain atomic.Int64

func TestUnderFire(t *testing.T) {
	t.Parallel()
	t.Cleanup(func() {
		t.Logf("figures: %d operations, %d calls that failed, after %d of them the operation succeeded all the same, after %d it said "+
			"in a typed way that it had not; %d snapshots restored and compared",
			len(operations), firedAt.Load(), survived.Load(), firedAt.Load()-survived.Load(), wholeAgain.Load())
	})
	first := newScene(t)
	prepared := first.again(t)
	require.NoError(t, prepared.attempt(operation{run: uploadSecond}, nil))
	require.NoError(t, prepared.attempt(operation{run: uploadDisk}, nil))
	aged := newAgedScene(t)
	for name, o := range operations {
		faults, from := o.faults, first
		if faults == nil {
			faults = storeFaults
		}
		switch {
		case o.prepared:
			from = prepared
		case o.aged:
			from = aged
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !soak {
				// Each call, or one in some, fails in one of the ways.
				stride := max(o.stride, 1)
				once := slices.DeleteFunc(slices.Clone(faults), func(f fault) bool { return f.forever })
				n, i := stride, 0
				for underFire(t, from, o, once[i%len(once)], n) {
					n, i = n+stride, i+1
				}
				t.Logf("about %d calls", n)
				return
			}
			for _, f := range faults {
				t.Run(f.name, func(t *testing.T) {
					t.Parallel()
					n := int64(1)
					for underFire(t, from, o, f, n) {
						n++
					}
					t.Logf("%d calls", n-1)
				})
			}
		})
	}
}

// attempt opens, does it and closes. A nil trigger fails nothing.
func (s *scene) attempt(o operation, tr *trigger) error {
	s.t.Helper()
	wait := 30 * time.Second
	if tr != nil && tr.forever {
		wait = 3 * time.Second // parts of kopia try again until their time is over
	}
	ctx, cancel := context.WithTimeout(testContext(s.t), wait)
	defer cancel()
	files := &trigger{n: -1}
	if o.elsewhere && tr != nil {
		files, tr = tr, nil
	}
	r, err := Open(ctx, s.connection(tr))
	if err != nil {
		return err
	}
	err = o.run(ctx, s, r, files)
	if cerr := r.Close(ctx); err == nil && cerr != nil {
		err = fmt.Errorf("%w: %w", ErrStorage, cerr)
	}
	return err
}
