// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kopiur/kopiur/apis/work"
)

// replicaPod is a pod with a repository of a few snapshots and an empty place beside it.
func replicaPod(t *testing.T) (p *pod, to string) {
	t.Helper()
	p = newPod(t)
	p.secrets(p.from, password, nil)
	p.create()
	for i := range 3 {
		p.write(p.source, fmt.Sprintf("f%d", i), strings.Repeat(fmt.Sprint(i), 1000))
		s := p.snapshot()
		s.RequestID = fmt.Sprint("r", i)
		p.ok(s)
	}
	to = filepath.Join(filepath.Dir(p.repo), "to-repo")
	require.NoError(t, os.Mkdir(to, 0o750))
	return p, to
}

func (p *pod) replicate(to work.Backend) work.Spec {
	return p.spec(work.Operation{Replicate: &work.Replicate{Destination: to}})
}

// restores proves that a place holds a repository with everything of the source in it.
func (p *pod) restores(r work.Repository, snapshots int64) {
	p.t.Helper()
	s := p.spec(work.Operation{Resolve: &work.Resolve{Identity: identity}})
	s.Repository = r
	found := p.ok(s).Resolve
	require.Equal(p.t, work.ResolutionFound, found.Resolution)
	require.Equal(p.t, snapshots, found.Candidates)
	s.Operation = work.Operation{Restore: &work.Restore{SnapshotID: found.SnapshotID, TargetPath: p.target, Options: work.RestoreOptions{EnableFileDeletion: new(true)}}}
	p.ok(s)
	compareFolders(p.t, p.source, p.target)
}

func compareFolders(t *testing.T, want, got string) {
	t.Helper()
	for _, dir := range []string{want, got} {
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		for _, e := range entries {
			a, err := os.ReadFile(filepath.Join(want, e.Name()))
			require.NoError(t, err)
			b, err := os.ReadFile(filepath.Join(got, e.Name()))
			require.NoError(t, err)
			assert.Equal(t, a, b, e.Name())
		}
	}
}

// J-11: two folders at mount paths of their own.
func TestReplicateToAFolder(t *testing.T) {
	t.Parallel()
	p, to := replicaPod(t)
	r := p.ok(p.replicate(onFolder(to))).Replicate
	assert.True(t, r.Fresh)
	assert.Equal(t, r.BlobsTotal, r.BlobsCopied)
	assert.Equal(t, r.BytesTotal, r.BytesCopied)
	assert.Len(t, r.UniqueID, 64)
	p.restores(p.at(onFolder(to)), 3)

	again := p.ok(p.replicate(onFolder(to))).Replicate
	assert.Zero(t, again.BlobsCopied)
	assert.Equal(t, r.BlobsTotal, again.BlobsTotal)
	left, err := os.ReadDir(filepath.Join(p.work, "source"))
	require.NoError(t, err)
	assert.Empty(t, left, "the connection file is gone")
}

// C-13, F-10 and E-10: each store gets its own keys, is trusted by its own CA bundle, and is throttled by its own limits.
func TestReplicateBetweenTwoStores(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	from, to := newStore(t, "from"), newStore(t, "to")
	p.one(from)
	p.secrets(p.from, password, from)
	p.secrets(p.to, "", to)
	create := p.spec(work.Operation{Bootstrap: &work.Bootstrap{Create: &work.Create{}}})
	create.Repository = p.at(from.backend)
	p.ok(create)
	p.write(p.source, "a", "content")
	snap := p.snapshot()
	snap.Repository = create.Repository
	p.ok(snap)

	s := p.replicate(to.backend)
	s.Repository = p.at(from.backend)
	r := p.ok(s).Replicate
	assert.Equal(t, r.BlobsTotal, r.BlobsCopied)
	assert.Positive(t, to.requests.Load())
	assert.Zero(t, from.strange.Load(), "no key went to the wrong store")
	assert.Zero(t, to.strange.Load(), "no key went to the wrong store")

	p.one(to)
	p.restores(p.at(to.backend), 1)

	// Four writes a second: a copy that is made anew has a few more than that.
	other := to.backend
	other.S3 = new(*to.backend.S3)
	other.S3.Prefix = "throttled/"
	s = p.replicate(other)
	s.Repository = p.at(from.backend)
	s.Operation.Replicate.Throttle = &work.Throttle{WriteOpsPerSecond: 1}
	start := time.Now()
	p.ok(s)
	assert.Greater(t, time.Since(start), time.Second)
}

func TestReplicateSaysAtWhichSide(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		arrange func(t *testing.T, p *pod, to string, s *work.Spec)
		code    work.Code
		exit    int
		says    []string
	}{
		"a wrong password of the source": {func(_ *testing.T, p *pod, _ string, _ *work.Spec) {
			p.write(filepath.Join(p.from, work.SecretsPassword), work.DefaultPasswordKey, "hunter22")
		}, work.CodeAuthFailure, 20, []string{"at the source", "password is wrong"}},
		"no repository at the source": {func(_ *testing.T, p *pod, _ string, s *work.Spec) {
			s.Repository = p.at(onFolder(p.target))
		}, work.CodeRepositoryNotInitialized, 20, []string{"at the source"}},
		"another repository at the source": {func(_ *testing.T, _ *pod, _ string, s *work.Spec) {
			s.Repository.ExpectedUniqueID = "00ff"
		}, work.CodeRepositoryVanished, 20, []string{"at the source", "00ff"}},
		"another repository at the destination": {func(_ *testing.T, p *pod, to string, _ *work.Spec) {
			b := p.spec(work.Operation{Bootstrap: &work.Bootstrap{Create: &work.Create{}}})
			b.Repository = p.at(onFolder(to))
			p.ok(b)
		}, work.CodeLocationOccupied, 20, []string{"at the destination", "another repository", "nothing was written"}},
		"something else at the destination": {func(_ *testing.T, p *pod, to string, _ *work.Spec) {
			p.write(to, "cat.jpg", "meow")
		}, work.CodeLocationOccupied, 20, []string{"at the destination", "cat.jpg"}},
		"no destination": {func(_ *testing.T, _ *pod, to string, s *work.Spec) {
			s.Operation.Replicate.Destination = onFolder(to + "/missing")
		}, work.CodeNotFound, 20, []string{"at the destination"}},
		"no credentials of the destination": {func(t *testing.T, _ *pod, _ string, s *work.Spec) {
			t.Helper()
			s.Operation.Replicate.Destination = newStore(t, "to").backend
		}, work.CodeMissingCredentials, 20, []string{"at the destination", work.DefaultCAKey, "is missing"}},
		"the credentials of the source at the destination": {func(t *testing.T, p *pod, _ string, s *work.Spec) {
			t.Helper()
			to := newStore(t, "to")
			s.Operation.Replicate.Destination = to.backend
			p.secrets(p.to, "", &store{key: "AKIAFROM", ca: to.ca})
		}, work.CodeAccessDenied, 20, []string{"at the destination", "refuses the credentials"}},
		"a destination that is down": {func(_ *testing.T, p *pod, _ string, s *work.Spec) {
			p.secrets(p.to, "", &store{key: "AKIA", ca: "x"})
			s.Operation.Replicate.Destination = work.Backend{S3: &work.S3{Bucket: "bbb", Endpoint: "127.0.0.1:1", Region: "r", DisableTLS: true}}
		}, work.CodeRepositoryUnavailable, 10, []string{"at the destination", "refuses connections"}},
		"the source itself": {func(_ *testing.T, p *pod, _ string, s *work.Spec) {
			s.Operation.Replicate.Destination = onFolder(p.repo)
		}, work.CodeInvalidSpec, 20, []string{"not apart"}},
		"no backend": {func(_ *testing.T, _ *pod, _ string, s *work.Spec) {
			s.Operation.Replicate.Destination = work.Backend{}
		}, work.CodeInvalidSpec, 20, []string{"at the destination", "no backend"}},
		"a negative number of workers": {func(_ *testing.T, _ *pod, _ string, s *work.Spec) {
			s.Operation.Replicate.Parallel = -1
		}, work.CodeInvalidSpec, 20, []string{"negative"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, to := replicaPod(t)
			s := p.replicate(onFolder(to))
			tc.arrange(t, p, to, &s)
			r, exit := p.run(s)
			assert.Equal(t, tc.code, r.Code, r.Message)
			assert.Equal(t, tc.exit, exit)
			assert.Equal(t, "replicate", r.Operation)
			for _, w := range tc.says {
				assert.Contains(t, r.Message, w)
			}
		})
	}
}

// C-14: a replication that is killed is gone on with by the next one.
func TestKilledInMidReplication(t *testing.T) {
	t.Parallel()
	p, to := replicaPod(t)
	randomFile(t, filepath.Join(p.source, "large"), 40<<20)
	s := p.snapshot()
	s.RequestID = "large"
	p.ok(s)
	s = p.replicate(onFolder(to))
	s.Operation.Replicate.Throttle = &work.Throttle{UploadBytesPerSecond: 4 << 20}
	cmd := p.start(s)
	home := p.repo
	p.repo = to
	p.underway()
	p.repo = home
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	assert.NoFileExists(t, filepath.Join(to, "kopia.repository.f"))

	open := p.spec(work.Operation{Bootstrap: &work.Bootstrap{Create: &work.Create{}}})
	open.Repository = p.at(onFolder(to))
	r, exit := p.run(open)
	assert.Equal(t, work.CodeLocationOccupied, r.Code, "half a copy is no repository, and no place for a new one")
	assert.Equal(t, work.ExitPermanent, exit)
	assert.Contains(t, r.Message, "has begun")

	s.Operation.Replicate.Throttle = nil
	out := p.ok(s).Replicate
	assert.False(t, out.Fresh)
	assert.Less(t, out.BlobsCopied, out.BlobsTotal)
	p.restores(p.at(onFolder(to)), 4)
}
