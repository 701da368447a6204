// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kopia/kopia/fs"
	"github.com/kopia/kopia/repo"
	"github.com/kopia/kopia/repo/blob"
	"github.com/kopia/kopia/snapshot"
	"github.com/kopia/kopia/snapshot/policy"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// otherRepository differs from the tests' usual one in everything it can: password, hash, splitter, place.
func otherRepository(t *testing.T) *Repository {
	t.Helper()
	ctx := testContext(t)
	c := connection(t, folder(t))
	c.Password, c.Hostname = "another password", "kopiur-offsite"
	require.NoError(t, Create(ctx, c, CreateOptions{Hash: "BLAKE2B-256-128", Splitter: "FIXED-1M"}))
	r, err := Open(ctx, c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close(context.Background())) })
	require.NoError(t, r.Furnish(ctx))
	return r
}

func migration() Migration {
	return Migration{Select: func(Identity) bool { return true }, Parallel: 2, Files: 3, Progress: &Counters{}, Log: func(string, string) {}}
}

// sameTree compares content, mode, owner, time and link target of two folders.
func sameTree(t *testing.T, want, got string) {
	t.Helper()
	describe := func(root string) map[string]string {
		out := map[string]string{}
		require.NoError(t, filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
			require.NoError(t, err)
			rel, err := filepath.Rel(root, path)
			require.NoError(t, err)
			st, err := os.Lstat(path)
			require.NoError(t, err)
			text := fmt.Sprintf("%s %d", st.Mode(), st.ModTime().UnixNano())
			switch {
			case st.Mode()&os.ModeSymlink != 0:
				target, err := os.Readlink(path)
				require.NoError(t, err)
				text += " " + target
			case st.Mode().IsRegular():
				b, err := os.ReadFile(path) //nolint:gosec // nobody else is in a test's own folder
				require.NoError(t, err)
				text += fmt.Sprintf(" %d %x", len(b), b)
			}
			out[rel] = text
			return nil
		}))
		return out
	}
	assert.Equal(t, describe(want), describe(got))
}

func broughtBack(t *testing.T, r *Repository, s Snapshot) string {
	t.Helper()
	dst := t.TempDir()
	_, err := r.Restore(testContext(t), s, Restore{Target: dst, Parallel: 2, Progress: &Counters{}})
	require.NoError(t, err)
	return dst
}

// history is a source with a few snapshots of what changes and what does not.
func history(t *testing.T, r *Repository) (src string, all []Snapshot) {
	t.Helper()
	ctx := testContext(t)
	src = t.TempDir()
	writeFile(t, filepath.Join(src, "static/deep/one"), strings.Repeat("one", 1000), 0o640)
	writeFile(t, filepath.Join(src, "static/two"), "two", os.ModeSetuid|0o750)
	writeFile(t, filepath.Join(src, "empty"), "", 0o600)
	require.NoError(t, os.Mkdir(filepath.Join(src, "nothing-in-it"), 0o770))
	require.NoError(t, os.Symlink("static/two", filepath.Join(src, "link")))
	old := time.Date(2019, 5, 4, 3, 2, 1, 123456789, time.UTC)
	require.NoError(t, os.Chtimes(filepath.Join(src, "static"), old, old))
	for i := range 3 {
		writeFile(t, filepath.Join(src, "changing"), strings.Repeat(fmt.Sprint(i), 100+i), 0o600)
		u := uploadOf(src)
		u.Description, u.Tags = fmt.Sprint("run ", i), map[string]string{"kopiur": "config:web", "n": fmt.Sprint(i)}
		up, err := r.Upload(ctx, u)
		require.NoError(t, err)
		all = append(all, up.Snapshot)
	}
	return src, all
}

func TestMigrateCopiesEverythingThatASnapshotIs(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	_, from := created(t, folder(t))
	to := otherRepository(t)
	src, all := history(t, from)
	pinned, err := from.SetPin(ctx, Key{ID: all[1].ID, Identity: webData, Start: all[1].Start}, true)
	require.NoError(t, err)
	all[1] = pinned.Snapshot

	m := migration()
	out, err := from.MigrateTo(ctx, to, m)
	require.NoError(t, err)
	assert.Equal(t, int64(1), out.Identities)
	assert.Equal(t, int64(3), out.Copied)
	assert.Zero(t, out.Present+out.Failed+out.Incomplete)
	require.Len(t, out.Pairs, 3)
	for i, p := range out.Pairs {
		want, got := all[i], p.Copy
		assert.Equal(t, want.ID, p.Source.ID)
		assert.NotEqual(t, want.RootID, got.RootID, "another hash")
		assert.True(t, want.Start.Equal(got.Start), "to the nanosecond")
		assert.True(t, want.End.Equal(got.End))
		assert.Equal(t, want.Identity, got.Identity)
		assert.Equal(t, want.Description, got.Description)
		assert.Equal(t, want.Pins, got.Pins)
		assert.Equal(t, want.Size, got.Size)
		assert.Equal(t, want.Files, got.Files)
		assert.Equal(t, want.Dirs, got.Dirs)
		for k, v := range want.Tags {
			assert.Equal(t, v, got.Tags[k])
		}
		sameTree(t, broughtBack(t, from, p.Source), broughtBack(t, to, got))
	}
	sameTree(t, src, broughtBack(t, to, out.Pairs[2].Copy))
	assert.Equal(t, m.Progress.TotalBytes.Load(), m.Progress.Bytes.Load())
	assert.Equal(t, m.Progress.TotalFiles.Load(), m.Progress.Files.Load())

	// What did not change is not read again.
	first := int64(3000 + 3 + 100)
	assert.Equal(t, first+101+102, out.Bytes)
}

func TestMigrateAgainDoesNothing(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	_, from := created(t, folder(t))
	to := otherRepository(t)
	src, _ := history(t, from)
	_, err := from.MigrateTo(ctx, to, migration())
	require.NoError(t, err)
	before := tree(t, to.storage.Filesystem.Path)
	out, err := from.MigrateTo(ctx, to, migration())
	require.NoError(t, err)
	assert.Zero(t, out.Copied)
	assert.Equal(t, int64(3), out.Present)
	assert.Len(t, out.Pairs, 3)
	assert.True(t, out.Pairs[0].Present)
	assert.Equal(t, before, tree(t, to.storage.Filesystem.Path), "nothing is written")

	writeFile(t, filepath.Join(src, "changing"), "x", 0o600)
	_, err = from.Upload(ctx, uploadOf(src))
	require.NoError(t, err)
	out, err = from.MigrateTo(ctx, to, migration())
	require.NoError(t, err)
	assert.Equal(t, int64(1), out.Copied)
	assert.Equal(t, int64(1), out.Bytes, "built on what an earlier run copied")
	sameTree(t, src, broughtBack(t, to, out.Pairs[3].Copy))
}

func TestMigrateSelects(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	_, from := created(t, folder(t))
	_, all := history(t, from)
	other := Identity{Username: "db", Hostname: "apps", Path: "/pvc/data"}
	u := uploadOf(t.TempDir())
	u.Identity = other
	_, err := from.Upload(ctx, u)
	require.NoError(t, err)
	for name, tc := range map[string]struct {
		change         func(*Migration)
		ids, snapshots int64
	}{
		"everything":                     {func(*Migration) {}, 2, 4},
		"one identity":                   {func(m *Migration) { m.Select = func(id Identity) bool { return id == webData } }, 1, 3},
		"the newest of each":             {func(m *Migration) { m.LatestOnly = true }, 2, 2},
		"nothing that there is":          {func(m *Migration) { m.Select = func(Identity) bool { return false } }, 0, 0},
		"everything, one after another ": {func(m *Migration) { m.Parallel, m.Files = 0, 0 }, 2, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to := otherRepository(t)
			m := migration()
			tc.change(&m)
			out, err := from.MigrateTo(testContext(t), to, m)
			require.NoError(t, err)
			assert.Equal(t, tc.ids, out.Identities)
			assert.Equal(t, tc.snapshots, out.Copied)
			if m.LatestOnly {
				for _, p := range out.Pairs {
					assert.NotEqual(t, all[0].ID, p.Source.ID)
				}
			}
			st, err := to.Stats(testContext(t))
			require.NoError(t, err)
			assert.Len(t, st.Complete, int(tc.snapshots))
		})
	}
}

// D-3: a checkpoint is copied nowhere, and is in nobody's way.
func TestMigrateLeavesCheckpointsBehind(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	_, from := created(t, folder(t))
	to := otherRepository(t)
	_, all := history(t, from)
	save := func(r *Repository, start time.Time) {
		require.NoError(t, r.write(ctx, "test", nil, func(ctx context.Context, w repo.RepositoryWriter) error {
			m := all[0].manifest.Clone()
			m.StartTime, m.IncompleteReason = fs.UTCTimestampFromTime(start), "checkpoint"
			_, err := snapshot.SaveSnapshot(ctx, w, m)
			return err
		}))
	}
	save(from, time.Now())
	save(to, all[2].Start) // an upload of the same moment that never ended there
	out, err := from.MigrateTo(ctx, to, migration())
	require.NoError(t, err)
	assert.Equal(t, int64(3), out.Copied)
	assert.Equal(t, int64(1), out.Incomplete)
	st, err := to.Stats(ctx)
	require.NoError(t, err)
	assert.Len(t, st.Complete, 3)
}

func TestMigrateTellsTwoStartsOfOneSecondApart(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	_, from := created(t, folder(t))
	to := otherRepository(t)
	_, all := history(t, from)
	require.NoError(t, from.write(ctx, "test", nil, func(ctx context.Context, w repo.RepositoryWriter) error {
		m := all[0].manifest.Clone()
		m.StartTime = fs.UTCTimestampFromTime(all[0].Start.Add(1))
		_, err := snapshot.SaveSnapshot(ctx, w, m)
		return err
	}))
	out, err := from.MigrateTo(ctx, to, migration())
	require.NoError(t, err)
	assert.Equal(t, int64(4), out.Copied)
}

// One snapshot that cannot be read keeps nobody from the others.
func TestMigrateGoesOnBehindADamagedSnapshot(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	place := folder(t)
	c, r := created(t, place)
	_, all := history(t, r)
	// The pack with the data of the second snapshot goes: each upload has written one.
	st, err := place.open(ctx)
	require.NoError(t, err)
	packs, err := blob.ListAllBlobs(ctx, st, "p")
	require.NoError(t, err)
	require.Len(t, packs, 3)
	oldest := func(i int) blob.Metadata {
		for _, p := range packs {
			older := 0
			for _, q := range packs {
				if q.Timestamp.Before(p.Timestamp) {
					older++
				}
			}
			if older == i {
				return p
			}
		}
		return blob.Metadata{}
	}
	require.NoError(t, st.DeleteBlob(ctx, oldest(1).BlobID))
	c.WorkDir = t.TempDir()
	from, err := Open(ctx, c)
	require.NoError(t, err)
	defer from.Close(ctx)
	to := otherRepository(t)
	var said []string
	m := migration()
	m.Log = func(_, message string) { said = append(said, message) }
	out, err := from.MigrateTo(ctx, to, m)
	require.NoError(t, err)
	assert.Equal(t, int64(2), out.Copied)
	assert.Equal(t, int64(1), out.Failed)
	require.Len(t, said, 1)
	assert.Contains(t, said[0], all[1].Start.Format(time.RFC3339Nano))
	for _, p := range out.Pairs {
		assert.NotEqual(t, all[1].ID, p.Source.ID)
		broughtBack(t, to, p.Copy)
	}
}

// A copy that somebody else made, or has changed, is not built on: what is missing from it would be missing from the next.
func TestMigrateBuildsOnNothingItHasNotMade(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	_, from := created(t, folder(t))
	to := otherRepository(t)
	src, all := history(t, from)
	_, err := from.MigrateTo(ctx, to, migration())
	require.NoError(t, err)
	mine, err := to.List(ctx, webData)
	require.NoError(t, err)
	// Its content is thinned out, and the mark is that of another root, as kopia's own migration leaves none at all.
	empty, err := to.Upload(ctx, Upload{Identity: Identity{Username: "x", Hostname: "y", Path: "/z"}, Path: t.TempDir(), Parallel: 1, Progress: &Counters{}})
	require.NoError(t, err)
	require.NoError(t, to.write(ctx, "test", nil, func(ctx context.Context, w repo.RepositoryWriter) error {
		m := mine[0].manifest.Clone()
		m.RootEntry = empty.Snapshot.manifest.RootEntry
		m.Tags[tagPrefix+TagCopy] = all[0].RootID
		return snapshot.UpdateSnapshot(ctx, w, m)
	}))
	writeFile(t, filepath.Join(src, "changing"), "x", 0o600)
	_, err = from.Upload(ctx, uploadOf(src))
	require.NoError(t, err)
	out, err := from.MigrateTo(ctx, to, migration())
	require.NoError(t, err)
	assert.Equal(t, int64(1), out.Copied)
	sameTree(t, src, broughtBack(t, to, out.Pairs[3].Copy))
}

func TestMigratePolicies(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	_, from := created(t, folder(t))
	_, _ = history(t, from)
	set := func(t *testing.T, r *Repository, comp string) {
		t.Helper()
		require.NoError(t, r.write(ctx, "test", nil, func(ctx context.Context, w repo.RepositoryWriter) error {
			return policy.SetPolicy(ctx, w, webData.source(), &policy.Policy{CompressionPolicy: policy.CompressionPolicy{CompressorName: compressorNamed(comp)}})
		}))
	}
	set(t, from, "pgzip")
	for name, tc := range map[string]struct {
		how    CopyPolicies
		there  string
		want   string
		copied int64
	}{
		"none are copied":                    {CopyNoPolicies, "", "", 0},
		"one that is missing is copied":      {CopyMissingPolicies, "", "pgzip", 1},
		"one that is there stays":            {CopyMissingPolicies, "s2-default", "s2-default", 0},
		"unless it is to be overwritten":     {CopyAllPolicies, "s2-default", "pgzip", 1},
		"or there is none to be overwritten": {CopyAllPolicies, "", "pgzip", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to := otherRepository(t)
			if tc.there != "" {
				set(t, to, tc.there)
			}
			m := migration()
			m.Policies = tc.how
			out, err := from.MigrateTo(testContext(t), to, m)
			require.NoError(t, err)
			assert.Equal(t, tc.copied, out.Policies)
			p, err := policy.GetDefinedPolicy(testContext(t), to.rep, webData.source())
			if tc.want == "" {
				require.ErrorIs(t, err, policy.ErrPolicyNotFound)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tc.want, string(p.CompressionPolicy.CompressorName))
		})
	}
}

// What is whole when the time is over is published, and the next run goes on behind it.
func TestMigrateKeepsWhatIsWholeWhenItIsEnded(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	_, from := created(t, folder(t))
	to := otherRepository(t)
	src, all := history(t, from)
	soft, cancel := context.WithCancelCause(ctx)
	told := errors.New("told to end")
	m := migration()
	m.Soft, m.Parallel, m.Files = soft, 1, 1
	clock := to.clock
	calls := 0
	to.clock = func() time.Time { // asked after each snapshot
		calls++
		if calls == 3 {
			cancel(told)
		}
		return clock()
	}
	out, err := from.MigrateTo(ctx, to, m)
	require.ErrorIs(t, err, told)
	assert.Equal(t, int64(2), out.Copied)
	require.Len(t, out.Pairs, 2)
	assert.Equal(t, all[1].ID, out.Pairs[1].Source.ID)

	out, err = from.MigrateTo(ctx, to, migration())
	require.NoError(t, err)
	assert.Equal(t, int64(2), out.Present)
	assert.Equal(t, int64(1), out.Copied)
	sameTree(t, src, broughtBack(t, to, out.Pairs[2].Copy))
}

func TestMigrateRefusesItself(t *testing.T) {
	t.Parallel()
	_, from := created(t, folder(t))
	_, err := from.MigrateTo(testContext(t), from, migration())
	require.ErrorIs(t, err, ErrInvalidOption)
}

// Who thins out the copies by the same rules finds nothing to undo, run after run.
func TestMigrateKeeps(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	_, from := created(t, folder(t))
	to := otherRepository(t)
	_, all := history(t, from)
	m := migration()
	m.By = "u-6"
	m.Keep = func(ends []time.Time) []bool {
		out := make([]bool, len(ends))
		for i := range ends {
			out[i] = ends[i].Equal(all[2].End)
		}
		return out
	}
	out, err := from.MigrateTo(ctx, to, m)
	require.NoError(t, err)
	assert.Equal(t, int64(1), out.Copied)
	assert.Equal(t, int64(2), out.NotKept)
	require.Len(t, out.Pairs, 1)
	assert.Equal(t, "u-6", out.Pairs[0].Copy.Tags[TagCopiedBy])
	again, err := from.MigrateTo(ctx, to, m)
	require.NoError(t, err)
	assert.Zero(t, again.Copied)
	assert.Equal(t, int64(2), again.NotKept)

	// What was copied before is told of, although only the newest is asked for.
	m = migration()
	_, err = from.MigrateTo(ctx, to, m)
	require.NoError(t, err)
	m.LatestOnly = true
	out, err = from.MigrateTo(ctx, to, m)
	require.NoError(t, err)
	assert.Equal(t, int64(1), out.Present)
	assert.Len(t, out.Pairs, 3)

	third := otherRepository(t)
	out, err = to.MigrateTo(ctx, third, migration())
	require.NoError(t, err)
	for _, p := range out.Pairs {
		assert.NotContains(t, p.Copy.Tags, TagCopiedBy, "a copy of a copy is somebody else's")
	}
}
