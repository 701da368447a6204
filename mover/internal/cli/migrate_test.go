// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kopiur/kopiur/apis/work"
)

const otherPassword = "quite another password"

// createdAt makes a repository in another place, with another password.
func (p *pod) createdAt(b work.Backend) work.Repository {
	p.t.Helper()
	r := p.at(b)
	r.Hostname = "kopiur-apps-offsite"
	s := p.spec(work.Operation{Bootstrap: &work.Bootstrap{Create: &work.Create{Hash: "BLAKE2B-256-128"}}})
	s.Repository = r
	p.write(p.password, work.DefaultPasswordKey, otherPassword)
	r.ExpectedUniqueID = p.ok(s).Bootstrap.UniqueID
	p.write(p.password, work.DefaultPasswordKey, password)
	return r
}

func (p *pod) migrate(to work.Repository) work.Spec {
	return p.spec(work.Operation{Migrate: &work.Migrate{Destination: to}})
}

func TestMigrateToAnotherRepository(t *testing.T) {
	t.Parallel()
	p, place := replicaPod(t)
	p.secrets(p.to, otherPassword, nil)
	to := p.createdAt(onFolder(place))
	r := p.ok(p.migrate(to)).Migrate
	assert.Equal(t, &work.MigrateResult{
		UniqueID: to.ExpectedUniqueID, IdentitiesSelected: 1, SnapshotsCopied: 3, BytesCopied: 3000, Pages: 1,
	}, r)
	pages := p.pages(0)
	require.Len(t, pages, 1)
	require.Len(t, pages[0].Copies, 3)
	last := pages[0].Copies[2]
	assert.Equal(t, identity, last.Identity)
	assert.NotEqual(t, last.SourceID, last.SnapshotID)
	assert.False(t, last.Present)

	p.write(p.password, work.DefaultPasswordKey, otherPassword)
	found := p.spec(work.Operation{Resolve: &work.Resolve{Identity: identity}})
	found.Repository = to
	assert.Equal(t, last.SnapshotID, p.ok(found).Resolve.SnapshotID, "the record names what is there")
	p.restores(to, 3)

	again := p.ok(p.migrate(to)).Migrate
	assert.Equal(t, int64(3), again.AlreadyPresent)
	assert.Zero(t, again.Pages, "nothing new to record")
	s := p.migrate(to)
	s.Operation.Migrate.ReportPresent = true
	assert.Equal(t, 1, p.ok(s).Migrate.Pages)
	pages = p.pages(0)
	assert.Equal(t, last.SnapshotID, pages[1].Copies[2].SnapshotID, "what was lost with a pod can be asked for again")
	assert.True(t, pages[1].Copies[2].Present)
}

// C-13 and E-10 for two stores that have nothing in common.
func TestMigrateBetweenTwoStores(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	from, to := newStore(t, "from"), newStore(t, "to")
	p.secrets(p.from, password, from)
	p.secrets(p.to, otherPassword, to)
	p.one(to)
	other := p.createdAt(to.backend)
	p.one(from)
	create := p.spec(work.Operation{Bootstrap: &work.Bootstrap{Create: &work.Create{}}})
	create.Repository = p.at(from.backend)
	p.ok(create)
	p.write(p.source, "a", "content")
	snap := p.snapshot()
	snap.Repository = create.Repository
	p.ok(snap)

	s := p.migrate(other)
	s.Repository = p.at(from.backend)
	s.Operation.Migrate.Destination.Throttle = &work.Throttle{WriteOpsPerSecond: 50, UploadBytesPerSecond: 1 << 20}
	s.Repository.Throttle = &work.Throttle{DownloadBytesPerSecond: 1 << 20}
	assert.Equal(t, int64(1), p.ok(s).Migrate.SnapshotsCopied)
	assert.Zero(t, from.strange.Load(), "no key went to the wrong store")
	assert.Zero(t, to.strange.Load(), "no key went to the wrong store")
	left, err := filepath.Glob(filepath.Join(p.work, "*", "*"))
	require.NoError(t, err)
	assert.Empty(t, left, "the connection files are gone")
	p.one(to)
	p.write(p.password, work.DefaultPasswordKey, otherPassword)
	p.restores(other, 1)
}

func TestMigrateSaysAtWhichSide(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		arrange func(p *pod, s *work.Spec)
		code    work.Code
		says    []string
	}{
		"a wrong password of the destination": {func(p *pod, _ *work.Spec) {
			p.secrets(p.to, "hunter22", nil)
		}, work.CodeAuthFailure, []string{"at the destination", "password is wrong"}},
		"a wrong password of the destination that ends in a newline": {func(p *pod, _ *work.Spec) {
			p.secrets(p.to, otherPassword+"\n", nil)
		}, work.CodeAuthFailure, []string{"at the destination", "ends in a newline"}},
		"a wrong password of the source": {func(p *pod, _ *work.Spec) {
			p.secrets(p.from, "hunter22", nil)
		}, work.CodeAuthFailure, []string{"at the source"}},
		"no password of the destination": {func(p *pod, _ *work.Spec) {
			require.NoError(p.t, os.RemoveAll(filepath.Join(p.to, work.SecretsPassword)))
		}, work.CodeMissingCredentials, []string{"at the destination", "is missing"}},
		"no repository at the destination": {func(p *pod, s *work.Spec) {
			s.Operation.Migrate.Destination = p.at(onFolder(p.target))
		}, work.CodeRepositoryNotInitialized, []string{"at the destination"}},
		"another repository at the destination": {func(_ *pod, s *work.Spec) {
			s.Operation.Migrate.Destination.ExpectedUniqueID = "00ff"
		}, work.CodeRepositoryVanished, []string{"at the destination"}},
		"a destination that is read-only": {func(_ *pod, s *work.Spec) {
			s.Operation.Migrate.Destination.ReadOnly = true
		}, work.CodeInvalidSpec, []string{"at the destination", "read-only"}},
		"the source itself": {func(p *pod, s *work.Spec) {
			p.secrets(p.to, password, nil)
			s.Operation.Migrate.Destination = s.Repository
		}, work.CodeInvalidSpec, []string{"not apart"}},
		"a word for policies that does not exist": {func(_ *pod, s *work.Spec) {
			s.Operation.Migrate.Policies = "some"
		}, work.CodeInvalidSpec, []string{`"some"`}},
		"a cursor that is none": {func(_ *pod, s *work.Spec) {
			s.Operation.Migrate.Cursor = "yesterday"
		}, work.CodeInvalidSpec, []string{"yesterday"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, place := replicaPod(t)
			p.secrets(p.to, otherPassword, nil)
			s := p.migrate(p.createdAt(onFolder(place)))
			tc.arrange(p, &s)
			r, exit := p.run(s)
			assert.Equal(t, tc.code, r.Code, r.Message)
			assert.Equal(t, work.ExitPermanent, exit)
			for _, w := range tc.says {
				assert.Contains(t, r.Message, w)
			}
			assert.Empty(t, p.pages(0))
		})
	}
}
