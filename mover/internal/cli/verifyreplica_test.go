// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kopiur/kopiur/apis/work"
)

// replica is a copy of a repository with snapshots of two identities, and the proof of it.
func replica(t *testing.T) (p *pod, to string, proof work.Spec) {
	t.Helper()
	p, to = replicaPod(t)
	other := p.snapshot()
	other.RequestID = "request of another"
	other.Operation.Snapshot.Identity = work.Identity{Username: "db", Hostname: "apps", Path: "/pvc/db"}
	p.write(p.source, "b", strings.Repeat("of another", 100))
	p.ok(other)
	r := p.ok(p.replicate(onFolder(to))).Replicate
	proof = p.spec(work.Operation{Verify: &work.Verify{
		All: true, MinBlobs: r.BlobsTotal, Quick: &work.QuickVerify{FilesPercent: 100}, Deep: &work.DeepVerify{ScratchPath: p.target, FitPercent: 50},
	}})
	proof.Repository = p.at(onFolder(to))
	proof.Repository.ExpectedUniqueID = r.UniqueID
	return p, to, proof
}

// TestVerifyAReplica walks all snapshots of a copy, whoever made them, and restores the newest of them.
func TestVerifyAReplica(t *testing.T) {
	t.Parallel()
	p, _, proof := replica(t)
	v := p.ok(proof).Verify
	assert.Equal(t, work.TierDeep, v.Tier)
	assert.Equal(t, int64(4), v.Snapshots)
	assert.Equal(t, int64(4), v.Files, "a file of several counts once")
	assert.Equal(t, v.Files, v.FilesRead)
	assert.Equal(t, "db", v.Snapshot.Identity.Username)
	require.NotNil(t, v.Restored)
	assert.Equal(t, int64(4), v.Restored.Files)
	assert.True(t, v.Restored.ChecksumMatches)
	left, err := os.ReadDir(p.target)
	require.NoError(t, err)
	assert.Empty(t, left)
}

// TestVerifyADamagedReplica: whatever a copy has lost disproves it, also what nothing that is left would miss.
func TestVerifyADamagedReplica(t *testing.T) {
	t.Parallel()
	remove := func(t *testing.T, path string) {
		t.Helper()
		require.NoError(t, os.Remove(path))
	}
	cut := func(t *testing.T, path string) {
		t.Helper()
		require.NoError(t, os.Truncate(path, 20))
	}
	for name, tc := range map[string]struct {
		prefix string
		damage func(t *testing.T, path string)
		code   work.Code
		says   string
	}{
		"packs of files are gone":      {"p", remove, work.CodeVerificationFailed, "the last copy left at least"},
		"packs of files are cut off":   {"p", cut, work.CodeVerificationFailed, "are damaged"},
		"packs of folders are cut off": {"q", cut, work.CodeVerificationFailed, ""},
		"all indexes are gone":         {"x", remove, work.CodeVerificationFailed, "the last copy left at least"},
		"the indexes are cut off":      {"x", cut, work.CodeVerificationFailed, ""},
		"it is no repository any more": {"kopia.repository", remove, work.CodeRepositoryVanished, "holds no repository any more"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, to, proof := replica(t)
			n := 0
			require.NoError(t, filepath.WalkDir(to, func(path string, d fs.DirEntry, err error) error {
				if err == nil && !d.IsDir() && strings.HasPrefix(strings.ReplaceAll(strings.TrimPrefix(path, to), "/", ""), tc.prefix) {
					n++
					tc.damage(t, path)
				}
				return err
			}))
			require.Positive(t, n)
			r, exit := p.run(proof)
			assert.Equal(t, tc.code, r.Code, r.Message)
			assert.Contains(t, r.Message, tc.says)
			assert.Equal(t, work.ExitPermanent, exit)
		})
	}
}
