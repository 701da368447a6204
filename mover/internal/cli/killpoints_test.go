// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kopiur/kopiur/apis/work"
)

// killSeed makes the moments of the kills the same in every run, as far as a clock can.
const killSeed = 20260305

// bench is a repository with two snapshots and a source that has changed since.
type bench struct {
	*pod

	one, two         work.SnapshotKey
	wantOne, wantTwo string
}

// killed is an operation that is killed at random moments.
type killed struct {
	spec func(b *bench) work.Spec
	// done checks the outcome of the run after the kill.
	done func(b *bench, r work.Result)
}

var killable = map[string]killed{
	"snapshot": {
		spec: func(b *bench) work.Spec {
			s := b.snapshot()
			s.RequestID = "request-3"
			return s
		},
		done: func(b *bench, r work.Result) {
			b.holds(r.Snapshot.SnapshotID, b.source)
			b.holds(b.one.SnapshotID, b.wantOne)
			assert.Equal(b.t, int64(3), b.count(), "no snapshot twice")
		},
	},
	"restore": {
		spec: func(b *bench) work.Spec {
			return b.spec(work.Operation{Restore: &work.Restore{SnapshotID: b.two.SnapshotID, TargetPath: b.target}})
		},
		done: func(b *bench, _ work.Result) { same(b.t, b.wantTwo, b.target) },
	},
	"delete": {
		spec: func(b *bench) work.Spec {
			return b.spec(work.Operation{Delete: work.NewDelete([]work.SnapshotKey{b.one})})
		},
		done: func(b *bench, r work.Result) {
			assert.Equal(b.t, int64(1), r.Delete.Deleted+r.Delete.Gone)
			assert.Equal(b.t, int64(1), b.count())
		},
	},
	"maintain": {
		spec: func(b *bench) work.Spec {
			return b.spec(work.Operation{Maintain: &work.Maintain{Mode: work.MaintenanceFull}})
		},
		done: func(b *bench, _ work.Result) {
			b.holds(b.one.SnapshotID, b.wantOne)
			assert.Equal(b.t, int64(2), b.count())
		},
	},
	"replicate": {
		spec: func(b *bench) work.Spec { return b.replicate(onFolder(b.target)) },
		done: func(b *bench, _ work.Result) {
			copied := *b
			copied.pod = new(*b.pod)
			copied.repo = b.target
			copied.holds(b.two.SnapshotID, b.wantTwo)
			copied.holds(b.one.SnapshotID, b.wantOne)
		},
	},
}

// C-14: whatever a mover was doing when it was killed, nothing that was stored is harmed, and the next one does it
// without a hand.
func TestKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var hits, late atomic.Int64
	t.Cleanup(func() {
		t.Logf("figures: %d operations, %d kills that hit, %d that came too late, %d snapshots restored and compared",
			len(killable), hits.Load(), late.Load(), compared.Load())
	})
	for name, k := range killable {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			long := b.again(t).unharmed(k)
			random := rand.New(rand.NewPCG(killSeed, uint64(len(name))))
			missed := 0
			for hit := 0; hit < killPoints; {
				// The first quarter is mostly the start of a process.
				after := time.Duration(float64(long) * (0.25 + 0.8*random.Float64()))
				if b.again(t).kill(k, hit, after) {
					missed++
					late.Add(1)
					require.Less(t, missed, 4*killPoints+10, "it is never hit")
					long = min(long, after) // the machine is quicker now
					continue
				}
				hit++
				hits.Add(1)
				long += long / 20 // and may become slower again
			}
			t.Logf("%d kills, %d more came too late", killPoints, missed)
		})
	}
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{pod: newPod(t), wantOne: t.TempDir(), wantTwo: t.TempDir()}
	b.secrets(b.from, password, nil)
	b.create()
	for i := range 24 {
		randomFile(t, filepath.Join(b.source, fmt.Sprint("file", i)), 32<<10)
	}
	randomFile(t, filepath.Join(b.source, "large"), 2<<20)
	for i, keep := range []string{b.wantOne, b.wantTwo} {
		s := b.snapshot()
		s.RequestID = fmt.Sprint("request-", i+1)
		r := b.ok(s).Snapshot
		require.NoError(t, os.CopyFS(keep, os.DirFS(b.source)))
		key := work.SnapshotKey{SnapshotID: r.SnapshotID, Identity: identity, StartTime: r.StartTime}
		if i == 0 {
			b.one = key
			<-time.After(time.Until(r.StartTime.Add(time.Second))) // two starts in two seconds
		} else {
			b.two = key
		}
		for n := range 8 {
			randomFile(t, filepath.Join(b.source, fmt.Sprint("file", 8*i+n)), 32<<10)
		}
		randomFile(t, filepath.Join(b.source, fmt.Sprint("larger", i)), 2<<20)
	}
	return b
}

// again is the same bench with a repository and a target of its own. Kopia never writes into a file that is there, so
// links are as good as copies.
func (b *bench) again(t *testing.T) *bench {
	t.Helper()
	c := *b
	c.pod = newPod(t)
	c.secrets(c.from, password, nil)
	c.source = b.source
	require.NoError(t, filepath.WalkDir(b.repo, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(b.repo, path)
		if err != nil {
			return err
		}
		to := filepath.Join(c.repo, rel)
		if d.IsDir() {
			return os.MkdirAll(to, 0o750)
		}
		return os.Link(path, to) //nolint:gosec // nobody else is in a test's own folder
	}))
	return &c
}

// unharmed does the work and returns how long it takes.
func (b *bench) unharmed(k killed) time.Duration {
	b.t.Helper()
	start := time.Now()
	require.NoError(b.t, b.start(k.spec(b)).Wait(), "%s", b.out.String())
	long := time.Since(start)
	k.done(b, b.result())
	return long
}

// kill does the work until a moment, looks, and does it again. It reports that the work had ended before.
func (b *bench) kill(k killed, i int, after time.Duration) (ended bool) {
	b.t.Helper()
	s := k.spec(b)
	cmd := b.start(s)
	time.Sleep(after) // the moment of the kill is the test's input
	require.NoError(b.t, cmd.Process.Kill())
	ended = cmd.Wait() == nil
	why := fmt.Sprintf("kill %d, after %s", i, after)
	require.True(b.t, b.holds(b.two.SnapshotID, b.wantTwo), why)
	r := b.ok(s)
	k.done(b, r)
	v := b.ok(b.spec(work.Operation{Verify: &work.Verify{Identities: []work.Identity{identity}, Quick: &work.QuickVerify{FilesPercent: 100}}})).Verify
	require.Zero(b.t, v.Errors, why)
	require.False(b.t, b.t.Failed(), why)
	require.NoError(b.t, os.RemoveAll(filepath.Dir(b.repo)), "two hundred of them fill a disk")
	return ended
}

// compared counts the snapshots that were restored and compared.
var compared atomic.Int64

// holds reports that a snapshot can be restored and is what it should be.
func (b *bench) holds(id, want string) bool {
	b.t.Helper()
	to := b.t.TempDir()
	b.ok(b.spec(work.Operation{Restore: &work.Restore{SnapshotID: id, TargetPath: to}}))
	ok := same(b.t, want, to)
	compared.Add(1)
	require.NoError(b.t, os.RemoveAll(to))
	return ok
}

func same(t *testing.T, want, got string) bool {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "diff", "-r", want, got).CombinedOutput()
	return assert.NoError(t, err, "%s", out)
}
