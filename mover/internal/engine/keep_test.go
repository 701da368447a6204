// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/kopia/kopia/fs"
	"github.com/kopia/kopia/repo"
	"github.com/kopia/kopia/repo/object"
	"github.com/kopia/kopia/snapshot"
	"github.com/kopia/kopia/snapshot/policy"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// gate holds back the content of one file, so that an upload stays under way until a test has seen what it wants.
type gate struct {
	fs.Directory

	held string
	open <-chan struct{}
}

func (g gate) Iterate(ctx context.Context) (fs.DirectoryIterator, error) {
	it, err := g.Directory.Iterate(ctx)
	return gateIterator{it, g}, err
}

type gateIterator struct {
	fs.DirectoryIterator

	g gate
}

func (i gateIterator) Next(ctx context.Context) (fs.Entry, error) {
	e, err := i.DirectoryIterator.Next(ctx)
	if f, ok := e.(fs.File); ok && f.Name() == i.g.held {
		return gateFile{f, i.g}, err
	}
	return e, err
}

type gateFile struct {
	fs.File

	g gate
}

func (f gateFile) Open(ctx context.Context) (fs.Reader, error) {
	select {
	case <-f.g.open:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return f.File.Open(ctx)
}

// heldUpload starts an upload that waits at one file. The function it returns lets it go and returns its outcome.
func heldUpload(t *testing.T, r *Repository, u Upload, held string) (release func() (Uploaded, error)) {
	t.Helper()
	open := make(chan struct{})
	u.wrap = func(d fs.Directory) fs.Directory { return gate{d, held, open} }
	u.Checkpoint = time.Second
	type outcome struct {
		up  Uploaded
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		up, err := r.Upload(testContext(t), u)
		done <- outcome{up, err}
	}()
	var once sync.Once
	free := func() { once.Do(func() { close(open) }) }
	t.Cleanup(free)
	return func() (Uploaded, error) {
		free()
		o := <-done
		return o.up, o.err
	}
}

// listFresh lists through a connection of its own: another one sees only what was flushed.
func listFresh(t *testing.T, c Connection) []Snapshot {
	t.Helper()
	ctx := testContext(t)
	c.WorkDir = t.TempDir()
	r, err := Open(ctx, c)
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close(ctx)) }()
	all, err := r.List(ctx, webData)
	require.NoError(t, err)
	return all
}

func incomplete(all []Snapshot) []Snapshot {
	return slices.DeleteFunc(slices.Clone(all), func(s Snapshot) bool { return s.Complete() })
}

// K-11: kopia's checkpoints apply the stored retention. 60 finished snapshots outlive an upload with several of them.
func TestCheckpointsDeleteNothing(t *testing.T) {
	t.Parallel()
	const before = 60
	src := t.TempDir()
	writeFile(t, filepath.Join(src, "a"), "stored before the gate", 0o644)
	writeFile(t, filepath.Join(src, "held"), "stored behind the gate", 0o644)
	c, r := created(t, folder(t))
	ctx := testContext(t)
	require.NoError(t, r.write(ctx, "prepare", nil, func(ctx context.Context, w repo.RepositoryWriter) error {
		// As kopia would have stored it without us: the default policy, which keeps far less than 60 of one hour.
		if err := policy.SetPolicy(ctx, w, policy.GlobalPolicySourceInfo, policy.DefaultPolicy); err != nil {
			return err
		}
		for i := range before {
			start := fs.UTCTimestampFromTime(time.Now().Add(-time.Duration(i+1) * time.Second))
			if _, err := snapshot.SaveSnapshot(ctx, w, &snapshot.Manifest{
				Source: webData.source(), StartTime: start, EndTime: start,
				Description: fmt.Sprint("snapshot ", i),
			}); err != nil {
				return err
			}
		}
		return nil
	}))

	release := heldUpload(t, r, uploadOf(src), "held")
	require.EventuallyWithT(t, func(ct *assert.CollectT) {
		assert.GreaterOrEqual(ct, len(incomplete(listFresh(t, c))), 2, "two checkpoints")
	}, time.Minute, 100*time.Millisecond)
	// Somebody stores a greedy policy on the exact source in the middle of it.
	one := policy.OptionalInt(1)
	other := c
	other.WorkDir = t.TempDir()
	r2, err := Open(ctx, other)
	require.NoError(t, err)
	require.NoError(t, r2.write(ctx, "greedy", nil, func(ctx context.Context, w repo.RepositoryWriter) error {
		return policy.SetPolicy(ctx, w, webData.source(), &policy.Policy{RetentionPolicy: policy.RetentionPolicy{KeepLatest: &one}})
	}))
	require.NoError(t, r2.Close(ctx))
	seen := len(incomplete(listFresh(t, c)))
	require.EventuallyWithT(t, func(ct *assert.CollectT) {
		assert.Greater(ct, len(incomplete(listFresh(t, c))), seen, "one more checkpoint")
	}, time.Minute, 100*time.Millisecond)

	up, err := release()
	require.NoError(t, err)
	require.True(t, up.Snapshot.Complete())
	all := listFresh(t, c)
	assert.Empty(t, incomplete(all), "its own checkpoints are gone")
	assert.Len(t, all, before+1)
}

// K-11.
func TestKeepPolicyIsStoredOnTheExactSource(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	src := t.TempDir()
	writeFile(t, filepath.Join(src, "a"), "x", 0o644)
	_, r := created(t, folder(t))
	ten := policy.OptionalInt(10)
	require.NoError(t, r.write(ctx, "prepare", nil, func(ctx context.Context, w repo.RepositoryWriter) error {
		return policy.SetPolicy(ctx, w, webData.source(), &policy.Policy{
			RetentionPolicy: policy.RetentionPolicy{KeepLatest: &ten}, FilesPolicy: policy.FilesPolicy{IgnoreRules: []string{"*.mine"}},
		})
	}))
	_, err := r.Upload(ctx, uploadOf(src))
	require.NoError(t, err)
	p, err := policy.GetDefinedPolicy(ctx, r.rep, webData.source())
	require.NoError(t, err)
	assert.True(t, keepsAll(p.RetentionPolicy))
	assert.Equal(t, []string{"*.mine"}, p.FilesPolicy.IgnoreRules, "what else was stored stays")
}

// D-3.
func TestSoftDeadlineSavesACheckpointWithoutTheRequestTag(t *testing.T) {
	t.Parallel()
	src := t.TempDir()
	writeFile(t, filepath.Join(src, "a"), "stored before the gate", 0o644)
	writeFile(t, filepath.Join(src, "held"), "stored behind the gate", 0o644)
	c, r := created(t, folder(t))
	u := uploadOf(src)
	soft, end := context.WithCancel(t.Context())
	u.Soft, u.Tags = soft, map[string]string{"kopiur-request": "r1"}
	release := heldUpload(t, r, u, "held")
	end()
	_, err := release()
	require.ErrorIs(t, err, ErrInterrupted)
	all := listFresh(t, c)
	require.NotEmpty(t, all)
	assert.Len(t, incomplete(all), len(all))
	for _, s := range all {
		assert.Empty(t, s.Tags, "a checkpoint is never taken for the result of the request")
	}
	found, err := r.FindByTag(testContext(t), "kopiur-request", "r1")
	require.NoError(t, err)
	assert.Empty(t, found)

	u.Soft = nil
	up, err := r.Upload(testContext(t), u)
	require.NoError(t, err)
	assert.True(t, up.Snapshot.Complete())
	assert.Empty(t, incomplete(listFresh(t, c)), "the next success takes the checkpoint with it")
	found, err = r.FindByTag(testContext(t), "kopiur-request", "r1")
	require.NoError(t, err)
	assert.Len(t, found, 1)
}

func TestHardDeadlineLeavesTheRepositoryWhole(t *testing.T) {
	t.Parallel()
	src := t.TempDir()
	writeFile(t, filepath.Join(src, "held"), "stored behind the gate", 0o644)
	c, r := created(t, folder(t))
	ctx, cancel := context.WithCancel(t.Context())
	u := uploadOf(src)
	u.wrap = func(d fs.Directory) fs.Directory { cancel(); return gate{d, "held", nil} }
	up, err := r.Upload(ctx, u)
	require.Error(t, err)
	assert.Empty(t, up.Snapshot.ID)
	assert.Empty(t, listFresh(t, c))
}

// Kopia leaves a checkpoint running when an upload ends. It must find the repository shut.
func TestNothingTouchesTheRepositoryAfterAnUpload(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	_, r := created(t, folder(t))
	require.NoError(t, r.write(ctx, "upload", nil, func(ctx context.Context, w repo.RepositoryWriter) error {
		g := &uploadWriter{RepositoryWriter: w}
		id, err := snapshot.SaveSnapshot(ctx, g, &snapshot.Manifest{Source: webData.source(), StartTime: fs.UTCTimestampFromTime(time.Now())})
		require.NoError(t, err)
		require.NoError(t, g.DeleteManifest(ctx, id))
		ow := g.NewObjectWriter(ctx, object.WriterOptions{})
		_, err = ow.Write([]byte("in time"))
		require.NoError(t, err)
		g.shut()
		_, err = ow.Write([]byte("too late"))
		require.ErrorIs(t, err, errUploadOver)
		_, err = ow.Checkpoint()
		require.ErrorIs(t, err, errUploadOver)
		require.NoError(t, ow.Close())
		late := g.NewObjectWriter(ctx, object.WriterOptions{})
		_, err = late.Write([]byte("too late"))
		require.ErrorIs(t, err, errUploadOver)
		_, err = late.Result()
		require.ErrorIs(t, err, errUploadOver)
		_, err = snapshot.SaveSnapshot(ctx, g, &snapshot.Manifest{Source: webData.source()})
		require.ErrorIs(t, err, errUploadOver)
		_, err = snapshot.ListSnapshots(ctx, g, webData.source())
		require.ErrorIs(t, err, errUploadOver)
		require.ErrorIs(t, g.Flush(ctx), errUploadOver)
		return nil
	}))
	all, err := r.List(ctx, webData)
	require.NoError(t, err)
	assert.Len(t, all, 1, "what was saved in time is there, and the upload's own deletion was ignored")
}
