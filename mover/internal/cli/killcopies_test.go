// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"os"
	"path/filepath"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kopiur/kopiur/apis/work"
)

// Copies are killed like everything else: what they copy from stays as it was, and the next attempt goes on.
func init() {
	killable["migrate"] = killed{
		spec: func(b *bench) work.Spec {
			b.secrets(b.to, password, nil)
			to := b.at(onFolder(b.target))
			if _, err := os.Stat(filepath.Join(b.target, "kopia.repository.f")); err != nil {
				create := b.spec(work.Operation{Bootstrap: &work.Bootstrap{Create: &work.Create{}}})
				create.Repository = to
				b.ok(create)
			}
			return b.migrate(to)
		},
		done: func(b *bench, r work.Result) {
			assert.Equal(b.t, int64(2), r.Migrate.SnapshotsCopied+r.Migrate.AlreadyPresent)
			b.copied()
		},
	}
	for _, how := range []string{"blobs", "snapshots"} {
		killable["seed with "+how] = killed{
			spec: func(b *bench) work.Spec {
				b.secrets(b.to, password, nil)
				return b.seeds(b.target)[how]
			},
			done: func(b *bench, r work.Result) {
				assert.Equal(b.t, int64(2), r.Seed.SnapshotCount)
				assert.NoFileExists(b.t, filepath.Join(b.target, "kopiur.copy.f"))
				b.copied()
			},
		}
	}
}

// copied checks that the target holds both snapshots, whatever their ids are there.
func (b *bench) copied() {
	b.t.Helper()
	at := *b
	at.pod = new(*b.pod)
	at.repo = b.target
	for offset, want := range []string{b.wantTwo, b.wantOne} {
		found := at.ok(at.spec(work.Operation{Resolve: &work.Resolve{Identity: identity, Offset: int64(offset)}})).Resolve
		require.Equal(b.t, work.ResolutionFound, found.Resolution)
		require.Equal(b.t, int64(2), found.Candidates)
		at.holds(found.SnapshotID, want)
	}
}
