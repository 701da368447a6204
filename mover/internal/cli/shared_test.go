// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/mover/internal/unprivileged"
)

// repositoryGroup is the fsGroup of every pod that mounts a filesystem repository (product.md D19).
const repositoryGroup = 65532

// D19: movers of different uids, with nothing in common but the repository's group, write one repository in turn.
func TestMoversOfDifferentUidsShareARepository(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root: the movers run as different users")
	}
	root, err := os.MkdirTemp("/tmp", "kopiur-shared-") //nolint:usetesting // t.TempDir is closed to others
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	require.NoError(t, os.Chmod(root, 0o711))
	repo := filepath.Join(root, "repo")
	require.NoError(t, os.Mkdir(repo, 0o700))
	// As the kubelet leaves a volume for fsGroup.
	require.NoError(t, os.Chown(repo, 0, repositoryGroup))
	require.NoError(t, os.Chmod(repo, 0o770|os.ModeSetgid))

	podOf := func(uid uint32) (*pod, *syscall.Credential) {
		p := &pod{t: t, repo: repo}
		home := filepath.Join(root, string(rune('a'+uid%26)))
		for name, dir := range map[string]*string{
			"source": &p.source, "target": &p.target, "password": &p.password, "auth": &p.auth, "ca": &p.ca, "cache": &p.cache, "work": &p.work,
		} {
			*dir = filepath.Join(home, name)
			require.NoError(t, os.MkdirAll(*dir, 0o700))
		}
		p.terminated = filepath.Join(home, "termination-log")
		p.write(p.password, work.DefaultPasswordKey, password)
		p.write(p.source, "file", "of one uid")
		require.NoError(t, filepath.WalkDir(home, func(path string, _ os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			return os.Lchown(path, int(uid), int(uid)) //nolint:gosec // nobody else is in a test's own folder
		}))
		return p, &syscall.Credential{Uid: uid, Gid: uid, Groups: []uint32{repositoryGroup}}
	}
	run := func(p *pod, who *syscall.Credential, s work.Spec) work.Result {
		t.Helper()
		require.NoError(t, p.start(s, who).Wait(), "%s", p.out.String())
		return p.result()
	}
	first, one := podOf(4001)
	second, two := podOf(4002)
	require.True(t, run(first, one, first.spec(work.Operation{Bootstrap: &work.Bootstrap{Create: &work.Create{}}})).Bootstrap.Created)
	for i, id := range []string{"r1", "r2", "r3", "r4"} {
		p, who := first, one
		if i%2 == 1 {
			p, who = second, two
		}
		s := p.snapshot()
		s.RequestID = id
		require.NotEmpty(t, run(p, who, s).Snapshot.SnapshotID)
	}
	found := run(first, one, first.spec(work.Operation{Resolve: &work.Resolve{Identity: identity}})).Resolve
	require.Equal(t, int64(4), found.Candidates)
	run(first, one, first.spec(work.Operation{Restore: &work.Restore{SnapshotID: found.SnapshotID, TargetPath: first.target}}))
	assert.FileExists(t, filepath.Join(first.target, "file"))
}

// A restore needs no more than to read: the repository's volume may be mounted read-only.
func TestRestoreFromARepositoryItMayOnlyRead(t *testing.T) { //nolint:paralleltest // runs itself in a child
	if !unprivileged.Again(t) {
		return
	}
	p := newPod(t)
	p.write(p.source, "a", "content")
	p.create()
	id := p.ok(p.snapshot()).Snapshot.SnapshotID
	chmod := func(dir, file os.FileMode) {
		require.NoError(t, filepath.WalkDir(p.repo, func(path string, d os.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir():
				return os.Chmod(path, dir) //nolint:gosec // nobody else is in a test's own folder
			default:
				return os.Chmod(path, file) //nolint:gosec // nobody else is in a test's own folder
			}
		}))
	}
	chmod(0o500, 0o400)
	t.Cleanup(func() { chmod(0o700, 0o600) })
	assert.Equal(t, id, p.ok(p.spec(work.Operation{Resolve: &work.Resolve{Identity: identity}})).Resolve.SnapshotID)
	p.ok(p.spec(work.Operation{Restore: &work.Restore{SnapshotID: id, TargetPath: p.target}}))
	assert.FileExists(t, filepath.Join(p.target, "a"))

	s := p.snapshot()
	s.RequestID = "another"
	r, exit := p.run(s)
	assert.Equal(t, work.CodeAccessDenied, r.Code, r.Message)
	assert.Equal(t, work.ExitPermanent, exit)
	b := p.spec(work.Operation{Bootstrap: &work.Bootstrap{}})
	b.Repository.ReadOnly = true
	p.ok(b)
}
