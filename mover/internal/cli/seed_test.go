// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kopiur/kopiur/apis/work"
)

// seeds are the two ways to fill a new repository at a place from that of the pod.
func (p *pod) seeds(place string) map[string]work.Spec {
	to := p.at(onFolder(place))
	to.Hostname = "kopiur-apps-new"
	spec := func(s work.Seed) work.Spec {
		return work.Spec{RequestID: "seed-1", Repository: to, Operation: work.Operation{Seed: &s}}
	}
	return map[string]work.Spec{
		"blobs":     spec(work.Seed{Blob: &work.SeedBlob{Source: onFolder(p.repo)}}),
		"snapshots": spec(work.Seed{Migrate: &work.SeedMigrate{Source: p.repository(), Create: work.Create{Hash: "BLAKE2B-256-128"}}}),
	}
}

// seedSecrets writes the Secrets of both sides; a copy of blobs keeps the source's password.
func (p *pod) seedSecrets(how string) (newPassword string) {
	newPassword = otherPassword
	if how == "blobs" {
		newPassword = password
		require.NoError(p.t, os.RemoveAll(filepath.Join(p.from, work.SecretsPassword)))
	}
	p.secrets(p.to, newPassword, nil)
	return newPassword
}

func both(t *testing.T, f func(t *testing.T, how string)) {
	t.Helper()
	for _, how := range []string{"blobs", "snapshots"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			f(t, how)
		})
	}
}

func TestSeedANewRepository(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, how string) {
		t.Helper()
		p, place := replicaPod(t)
		secret := p.seedSecrets(how)
		s := p.seeds(place)[how]
		r := p.ok(s).Seed
		assert.False(t, r.AlreadyInitialized)
		assert.False(t, r.Resumed)
		assert.Equal(t, int64(3), r.SnapshotCount)
		assert.Len(t, r.UniqueID, 64)
		assert.Positive(t, r.BytesCopied)
		assert.NoFileExists(t, filepath.Join(place, "kopiur.copy.f"))

		p.write(p.password, work.DefaultPasswordKey, secret)
		b := work.Spec{RequestID: "r", Repository: s.Repository, Operation: work.Operation{Bootstrap: &work.Bootstrap{}}}
		b.Repository.ExpectedUniqueID = r.UniqueID
		assert.Equal(t, int64(3), p.ok(b).Bootstrap.SnapshotCount)
		p.restores(s.Repository, 3)

		// The manifest with the seed stays in Git: from now on there is nothing to do, whatever the source holds.
		before := contents(t, place)
		require.NoError(t, os.RemoveAll(p.repo))
		again := p.ok(s).Seed
		assert.Equal(t, &work.SeedResult{UniqueID: r.UniqueID, AlreadyInitialized: true, SnapshotCount: 3}, again)
		assert.Equal(t, before, contents(t, place))
	})
}

// contents are all files below a folder.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path) //nolint:gosec // nobody else is in a test's own folder
		out[path] = string(b)
		return err
	}))
	return out
}

// K-8: A repository that is there is left as it is, also where it is not the one to be seeded from.
func TestSeedNeverTouchesARepository(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, how string) {
		t.Helper()
		p, place := replicaPod(t)
		secret := p.seedSecrets(how)
		s := p.seeds(place)[how]
		p.cache += "-none"
		p.write(p.password, work.DefaultPasswordKey, secret)
		b := work.Spec{Repository: s.Repository, Operation: work.Operation{Bootstrap: &work.Bootstrap{Create: &work.Create{}}}}
		id := p.ok(b).Bootstrap.UniqueID
		before := contents(t, place)
		r := p.ok(s).Seed
		assert.Equal(t, &work.SeedResult{UniqueID: id, AlreadyInitialized: true}, r)
		assert.Equal(t, before, contents(t, place))

		p.secrets(p.to, "hunter22", nil)
		f, exit := p.run(s)
		assert.Equal(t, work.CodeAuthFailure, f.Code, "nobody calls a repository his that he cannot open")
		assert.Equal(t, work.ExitPermanent, exit)
		assert.Equal(t, before, contents(t, place))
	})
}

func TestSeedRefuses(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, how string) {
		t.Helper()
		for name, tc := range map[string]struct {
			arrange func(p *pod, place string, s *work.Spec)
			code    work.Code
			says    string
		}{
			"things that are not kopia's": {func(p *pod, place string, _ *work.Spec) {
				p.write(place, "cat.jpg", "meow")
			}, work.CodeLocationOccupied, "cat.jpg"},
			"somebody else's copy": {func(p *pod, place string, _ *work.Spec) {
				p.write(place, "kopiur.copy.f", `{"source":"00ff","mode":"blobs"}`)
				p.write(place, ".shards", `{"default":[1,3],"maxNonShardedLength":20}`)
			}, work.CodeLocationOccupied, "00ff"},
			"a place that does not exist": {func(_ *pod, place string, s *work.Spec) {
				s.Repository.Backend = onFolder(place + "/missing")
			}, work.CodeNotFound, "at the destination"},
			"a repository that was known": {func(_ *pod, _ string, s *work.Spec) {
				s.Repository.ExpectedUniqueID = "00ff"
			}, work.CodeInvalidSpec, "known already"},
			"a repository that is read-only": {func(_ *pod, _ string, s *work.Spec) {
				s.Repository.ReadOnly = true
			}, work.CodeInvalidSpec, "read-only"},
			"the source itself": {func(p *pod, _ string, s *work.Spec) {
				if s.Operation.Seed.Blob != nil {
					s.Operation.Seed.Blob.Source = s.Repository.Backend
				} else {
					s.Operation.Seed.Migrate.Source.Backend = s.Repository.Backend
				}
			}, work.CodeSourceEmpty, "nothing to seed from"},
			"a source that does not exist": {func(p *pod, _ string, s *work.Spec) {
				if s.Operation.Seed.Blob != nil {
					s.Operation.Seed.Blob.Source = onFolder(p.repo + "-missing")
				} else {
					s.Operation.Seed.Migrate.Source.Backend = onFolder(p.repo + "-missing")
				}
			}, work.CodeNotFound, "at the source"},
			"a wrong password of the source": {func(p *pod, _ string, _ *work.Spec) {
				p.secrets(p.from, "hunter22", nil)
				if how == "blobs" {
					p.secrets(p.to, "hunter22", nil)
				}
			}, work.CodeAuthFailure, "at the source"},
			"no password of the repository": {func(p *pod, _ string, _ *work.Spec) {
				require.NoError(p.t, os.RemoveAll(filepath.Join(p.to, work.SecretsPassword)))
			}, work.CodeMissingCredentials, "at the destination"},
			"neither way": {func(_ *pod, _ string, s *work.Spec) {
				s.Operation.Seed.Blob, s.Operation.Seed.Migrate = nil, nil
			}, work.CodeInvalidSpec, "either"},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p, place := replicaPod(t)
				p.seedSecrets(how)
				s := p.seeds(place)[how]
				tc.arrange(p, place, &s)
				before := contents(t, place)
				r, exit := p.run(s)
				assert.Equal(t, tc.code, r.Code, r.Message)
				assert.Equal(t, work.ExitPermanent, exit)
				assert.Contains(t, r.Message, tc.says)
				assert.Equal(t, before, contents(t, place), "nothing was written")
			})
		}
	})
}

func TestSeedFromNothing(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, how string) {
		t.Helper()
		for name, prepare := range map[string]func(p *pod){
			"no repository": func(p *pod) { require.NoError(p.t, os.Mkdir(p.repo, 0o750)) },
			"a repository without a snapshot": func(p *pod) {
				require.NoError(p.t, os.Mkdir(p.repo, 0o750))
				p.create()
			},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p := newPod(t)
				place := p.repo
				p.secrets(p.from, password, nil)
				p.seedSecrets(how)
				p.repo += "-source"
				prepare(p)
				s := p.seeds(place)[how]
				r, exit := p.run(s)
				assert.Equal(t, work.CodeSourceEmpty, r.Code, r.Message)
				assert.Equal(t, work.ExitPermanent, exit)
				assert.Contains(t, r.Message, "at the source")
				assert.Empty(t, contents(t, place))

				s.Operation.Seed.AllowEmptySource = true
				assert.Equal(t, &work.SeedResult{LeftEmpty: true}, p.ok(s).Seed)
				assert.Empty(t, contents(t, place), "a bootstrap creates what belongs there")
			})
		}
	})
}

func TestSeedCreatesWithNoPasswordThatHasATail(t *testing.T) {
	t.Parallel()
	p, place := replicaPod(t)
	p.secrets(p.to, otherPassword+"\n", nil)
	r, exit := p.run(p.seeds(place)["snapshots"])
	assert.Equal(t, work.CodeMissingCredentials, r.Code, r.Message)
	assert.Equal(t, work.ExitPermanent, exit)
	assert.Contains(t, r.Message, "ends in a newline")
	assert.Empty(t, contents(t, place))
}

// C-14: A seed that is killed is gone on with; until it has ended nobody takes the place for anything else.
func TestKilledInMidSeed(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, how string) {
		t.Helper()
		p, place := replicaPod(t)
		secret := p.seedSecrets(how)
		randomFile(t, filepath.Join(p.source, "large"), 60<<20)
		snap := p.snapshot()
		snap.RequestID = "large"
		p.ok(snap)
		s := p.seeds(place)[how]
		s.Repository.Throttle = &work.Throttle{UploadBytesPerSecond: 4 << 20}
		cmd := p.start(s)
		home := p.repo
		p.repo = place
		p.underway()
		p.repo = home
		require.NoError(t, cmd.Process.Kill())
		require.Error(t, cmd.Wait())
		require.FileExists(t, filepath.Join(place, "kopiur.copy.f"))

		wrong := p.seeds(place)[map[string]string{"blobs": "snapshots", "snapshots": "blobs"}[how]]
		p.secrets(p.from, password, nil)
		r, _ := p.run(wrong)
		assert.NotEqual(t, work.CodeOK, r.Code, "the other kind of seed is another copy")

		s.Repository.Throttle = nil
		start := time.Now()
		out := p.ok(s).Seed
		assert.True(t, out.Resumed, time.Since(start))
		assert.Equal(t, int64(4), out.SnapshotCount)
		assert.NoFileExists(t, filepath.Join(place, "kopiur.copy.f"))
		p.write(p.password, work.DefaultPasswordKey, secret)
		p.restores(s.Repository, 4)
		assert.True(t, p.ok(s).Seed.AlreadyInitialized)
	})
}

// C-13: a store of its own at each side.
func TestSeedBetweenTwoStores(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, how string) {
		t.Helper()
		p := newPod(t)
		from, to := newStore(t, "from"), newStore(t, "to")
		p.one(from)
		create := p.spec(work.Operation{Bootstrap: &work.Bootstrap{Create: &work.Create{}}})
		create.Repository = p.at(from.backend)
		p.ok(create)
		p.write(p.source, "a", "content")
		snap := p.snapshot()
		snap.Repository = create.Repository
		p.ok(snap)

		secret := p.seedSecrets(how)
		p.secrets(p.from, password, from)
		p.secrets(p.to, secret, to)
		s := p.seeds("")[how]
		s.Repository.Backend = to.backend
		if b := s.Operation.Seed.Blob; b != nil {
			b.Source = from.backend
		} else {
			s.Operation.Seed.Migrate.Source.Backend = from.backend
		}
		assert.Equal(t, int64(1), p.ok(s).Seed.SnapshotCount)
		assert.Zero(t, from.strange.Load(), "no key went to the wrong store")
		assert.Zero(t, to.strange.Load(), "no key went to the wrong store")
		p.one(to)
		p.write(p.password, work.DefaultPasswordKey, secret)
		p.restores(s.Repository, 1)
	})
}
