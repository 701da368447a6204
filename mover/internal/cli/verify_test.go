// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kopiur/kopiur/apis/work"
)

func (p *pod) verify(v work.Verify) work.Spec {
	if v.Snapshot == nil && v.Identities == nil && !v.All {
		v.Identities = []work.Identity{identity}
	}
	return p.spec(work.Operation{Verify: &v})
}

func TestVerifyQuick(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	p.create()
	r, exit := p.run(p.verify(work.Verify{Quick: &work.QuickVerify{}}))
	assert.Equal(t, work.CodeNotFound, r.Code, "before the first backup there is nothing to prove: %s", r.Message)
	assert.Equal(t, work.ExitPermanent, exit)

	keys := p.snapshots(2)
	v := p.ok(p.verify(work.Verify{Quick: &work.QuickVerify{FilesPercent: 100, Parallel: 2, FileParallelism: 2, FileQueueLength: 10, MaxErrors: 3}})).Verify
	assert.Equal(t, work.TierQuick, v.Tier)
	assert.Equal(t, int64(2), v.Snapshots)
	assert.Equal(t, keys[1].SnapshotID, v.Snapshot.SnapshotID, "the newest")
	assert.Equal(t, keys[1].StartTime, v.Snapshot.StartTime)
	assert.False(t, v.Snapshot.EndTime.IsZero())
	assert.Equal(t, int64(2), v.Files)
	assert.Equal(t, v.Files, v.FilesRead)
	assert.Equal(t, v.Bytes, v.BytesRead)
	assert.Zero(t, v.Errors)
	assert.Nil(t, v.Restored)

	v = p.ok(p.verify(work.Verify{Snapshot: &keys[0], Quick: &work.QuickVerify{}})).Verify
	assert.Equal(t, int64(1), v.Snapshots)
	assert.Equal(t, keys[0].SnapshotID, v.Snapshot.SnapshotID)

	require.NoError(t, os.RemoveAll(filepath.Join(p.cache, "contents")))
	require.NoError(t, filepath.WalkDir(p.repo, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasPrefix(strings.ReplaceAll(strings.TrimPrefix(path, p.repo), "/", ""), "p") {
			err = os.Remove(path) //nolint:gosec // nobody else is in a test's own folder
		}
		return err
	}))
	r, exit = p.run(p.verify(work.Verify{Quick: &work.QuickVerify{}}))
	assert.Equal(t, work.CodeVerificationFailed, r.Code, r.Message)
	assert.Equal(t, work.ExitPermanent, exit)
	assert.Equal(t, int64(2), r.Verify.Errors)
	require.NotEmpty(t, r.Verify.Faults)
	assert.Contains(t, r.Verify.Faults[0].Path, "web@apps:/pvc/data@")
	assert.Contains(t, p.out.String(), "Damage at "+r.Verify.Faults[0].Path)

	r, _ = p.run(p.verify(work.Verify{Deep: &work.DeepVerify{ScratchPath: p.target}}))
	assert.Equal(t, work.CodeVerificationFailed, r.Code, r.Message)
	assert.Equal(t, int64(1), r.Verify.Errors)
	assert.False(t, r.Verify.Restored.ChecksumMatches)

	r, exit = p.run(p.spec(work.Operation{Restore: &work.Restore{SnapshotID: keys[1].SnapshotID, TargetPath: p.target}}))
	assert.Equal(t, work.CodeVerificationFailed, r.Code, "the store answers: %s", r.Message)
	assert.Equal(t, work.ExitPermanent, exit)
}

func TestVerifyDeep(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	p.create()
	p.write(p.source, "d/b", "more")
	keys := p.snapshots(2)
	v := p.ok(p.verify(work.Verify{Deep: &work.DeepVerify{ScratchPath: p.target, Parallel: 2}})).Verify
	assert.Equal(t, work.TierDeep, v.Tier)
	assert.Equal(t, keys[1].SnapshotID, v.Snapshot.SnapshotID, "the newest")
	assert.Equal(t, int64(2), v.Files)
	assert.Equal(t, work.VerifiedRestore{Files: 2, Bytes: v.Bytes, ChecksumMatches: true}, *v.Restored)
	left, err := os.ReadDir(p.target)
	require.NoError(t, err)
	assert.Empty(t, left)

	v = p.ok(p.verify(work.Verify{Snapshot: &keys[0], Deep: &work.DeepVerify{ScratchPath: p.target, Keep: true}})).Verify
	assert.Equal(t, keys[0].SnapshotID, v.Snapshot.SnapshotID)
	b, err := os.ReadFile(filepath.Join(p.target, work.ScratchData, "a"))
	require.NoError(t, err)
	assert.Equal(t, "content 0", string(b))

	r, exit := p.run(p.verify(work.Verify{Deep: &work.DeepVerify{ScratchPath: filepath.Join(p.target, "missing")}}))
	assert.Equal(t, work.CodeScratchNotWritable, r.Code, r.Message)
	assert.Equal(t, work.ExitPermanent, exit)
}

func TestVerifyRefuses(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	p.create()
	one := &work.SnapshotKey{SnapshotID: "aabb", Identity: identity}
	for name, v := range map[string]work.Verify{ //nolint:paralleltest // one pod for all
		"neither quick nor deep":       {},
		"a snapshot and identities":    {Snapshot: one, Identities: []work.Identity{identity}, Quick: &work.QuickVerify{}},
		"all and identities":           {All: true, Identities: []work.Identity{identity}, Quick: &work.QuickVerify{}},
		"fewer blobs than none":        {MinBlobs: -1, Quick: &work.QuickVerify{}},
		"an identity without a path":   {Identities: []work.Identity{{Username: "web", Hostname: "apps"}}, Quick: &work.QuickVerify{}},
		"a deep one without a scratch": {Deep: &work.DeepVerify{}},
		"a negative number":            {Quick: &work.QuickVerify{MaxErrors: -1}},
	} {
		t.Run(name, func(t *testing.T) {
			r, exit := p.run(p.verify(v))
			assert.Equal(t, work.CodeInvalidSpec, r.Code, r.Message)
			assert.Equal(t, work.ExitPermanent, exit)
		})
	}
}

// What an earlier mover has kept in its cache proves nothing about the store.
func TestVerifyDoesNotAskTheCache(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	missing := false
	s := p.spec(work.Operation{Bootstrap: &work.Bootstrap{Create: &work.Create{}}})
	s.Repository.Backend = work.Backend{S3: p.bucket(dropping(&missing))}
	p.ok(s)
	p.write(p.source, "a", strings.Repeat("content", 100))
	s.Operation = p.snapshot().Operation
	id := p.ok(s).Snapshot.SnapshotID
	s.Operation = work.Operation{Restore: &work.Restore{SnapshotID: id, TargetPath: p.target}}
	p.ok(s)
	missing = true
	s.Operation = p.verify(work.Verify{Quick: &work.QuickVerify{FilesPercent: 100}}).Operation
	r, _ := p.run(s)
	assert.Equal(t, work.CodeVerificationFailed, r.Code, r.Message)
}
