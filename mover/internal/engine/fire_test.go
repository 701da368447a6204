// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

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

// storeFaults are those of a store, the first two also those of a file system.
var storeFaults = []fault{
	{"not done", syscall.EIO, manner{}},
	{"done, and not told", syscall.ECONNRESET, manner{after: true}},
	{"read with a bit changed", nil, manner{corrupt: true}},
	{"not done, nor any other from then on", syscall.EHOSTUNREACH, manner{forever: true}},
}

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
}

// operation is one of those under fire.
type operation struct {
	// run does it with a connection that may fail, and with a trigger for the two file systems.
	run func(ctx context.Context, s *scene, r *Repository, t *trigger) error
	// done checks that it was done.
	done func(s *scene, r *Repository)
	// prepared: the second tree is stored already.
	prepared bool
	// faults are those of its source or target, where these are what fails and not the store.
	faults []fault
	// known are its own errors beside those of everyone.
	known []error
}

// newScene makes the first one; the others are copies.
func newScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{t: t, root: t.TempDir(), trees: map[string]map[string]fact{}}
	s.paths()
	for _, d := range []string{s.repo, s.source, s.target} {
		require.NoError(t, os.Mkdir(d, 0o750))
	}
	writeFile(t, filepath.Join(s.source, "a"), "first", 0o640)
	writeFile(t, filepath.Join(s.source, "dir/b"), "first", 0o600)
	require.NoError(t, os.Symlink("dir/b", filepath.Join(s.source, "link")))
	ctx := testContext(t)
	c := connection(t, Storage{Filesystem: &Filesystem{Path: s.repo}})
	c.Clock = func() time.Time { return time.Now().Add(-time.Hour) } // not in the same second as the next
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
	newDisk(t, s.disk())
	return s
}

func (s *scene) paths() {
	s.repo, s.source, s.target = filepath.Join(s.root, "repo"), filepath.Join(s.root, "source"), filepath.Join(s.root, "target")
}

// again is the same scene with a repository and a target of its own. The source is only read.
func (s *scene) again(t *testing.T) *scene {
	t.Helper()
	c := &scene{t: t, root: t.TempDir(), trees: s.trees, first: s.first}
	c.paths()
	require.NoError(t, os.CopyFS(c.repo, os.DirFS(s.repo)))
	require.NoError(t, os.Mkdir(c.target, 0o750))
	c.source = s.source
	return c
}

func (s *scene) open(st Storage) *Repository {
	s.t.Helper()
	r, err := Open(testContext(s.t), connection(s.t, st))
	require.NoError(s.t, err)
	return r
}

// clean opens the repository without any fault.
func (s *scene) clean() *Repository { return s.open(Storage{Filesystem: &Filesystem{Path: s.repo}}) }

// whole checks that every complete snapshot can be restored and holds what it should, and returns their descriptions.
func (s *scene) whole(why string) []string {
	s.t.Helper()
	ctx := testContext(s.t)
	r := s.clean()
	defer func() { require.NoError(s.t, r.Close(ctx)) }()
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
		require.NoError(s.t, os.RemoveAll(dst))
	}
	return names
}

// typed are the facts that callers branch on: an error that is none of them has no class.
var typed = []error{ErrStorage, ErrSource, ErrTarget, ErrInterrupted, ErrUnreachable, ErrSlow, ErrVanished}

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

func TestUnderFire(t *testing.T) {
	t.Parallel()
	first := newScene(t)
	prepared := first.again(t)
	require.NoError(t, prepared.attempt(operation{run: uploadSecond}, nil))
	require.NoError(t, prepared.attempt(operation{run: uploadDisk}, nil))
	for name, o := range operations {
		faults := storeFaults
		if o.faults != nil {
			faults = o.faults
		}
		from := first
		if o.prepared {
			from = prepared
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !soak {
				// Each call fails in one of the ways.
				n := int64(1)
				for underFire(t, from, o, faults[int(n)%3], n) {
					n++
				}
				t.Logf("%d calls", n-1)
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
	st := Storage{Filesystem: &Filesystem{Path: s.repo}}
	files := &trigger{n: -1}
	switch {
	case tr == nil:
	case o.faults != nil:
		files = tr
	default:
		st = tr.store(s.t, s.repo)
	}
	r, err := Open(ctx, connection(s.t, st))
	if err != nil {
		return err
	}
	err = o.run(ctx, s, r, files)
	if cerr := r.Close(ctx); err == nil && cerr != nil {
		err = fmt.Errorf("%w: %w", ErrStorage, cerr)
	}
	return err
}
