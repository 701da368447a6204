// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"testing"
	"time"

	"github.com/kopia/kopia/repo"
	"github.com/kopia/kopia/repo/maintenance"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// C-6, C-7: an owner that is gone is replaced where the rule says so, and only there.
func TestOwn(t *testing.T) {
	t.Parallel()
	const me = "kopiur@kopiur-test"
	for name, tc := range map[string]struct {
		owner string
		rule  OwnerRule
		want  MaintenanceOwner
	}{
		"our own":                          {me, OwnerRule{}, MaintenanceOwner{Owner: me}},
		"our own, whatever the rule":       {me, OwnerRule{Anyone: true}, MaintenanceOwner{Owner: me}},
		"nobody's":                         {"", OwnerRule{}, MaintenanceOwner{Owner: me}},
		"an earlier name of ours":          {"kopiur@old", OwnerRule{Aliases: []string{"kopiur@old"}}, MaintenanceOwner{Owner: me, Previous: "kopiur@old"}},
		"a foreign one":                    {"root@laptop", OwnerRule{Aliases: []string{"kopiur@old"}}, MaintenanceOwner{Owner: "root@laptop"}},
		"a foreign one, taken over":        {"root@laptop", OwnerRule{Anyone: true}, MaintenanceOwner{Owner: me, Previous: "root@laptop"}},
		"one that only looks like our own": {"kopiur@kopiur-test-2", OwnerRule{}, MaintenanceOwner{Owner: "kopiur@kopiur-test-2"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := testContext(t)
			c, r := created(t, folder(t))
			require.NoError(t, r.write(ctx, "prepare", nil, func(ctx context.Context, w repo.RepositoryWriter) error {
				p := maintenance.DefaultParams()
				p.Owner, p.FullCycle.Interval = tc.owner, 77*time.Hour
				return maintenance.SetParams(ctx, w, &p)
			}))
			got, err := r.Own(ctx, tc.rule)
			require.NoError(t, err)
			assert.Equal(t, tc.want, got)

			c.WorkDir = t.TempDir()
			fresh, err := Open(ctx, c)
			require.NoError(t, err)
			defer func() { require.NoError(t, fresh.Close(ctx)) }()
			p, err := maintenance.GetParams(ctx, fresh.rep)
			require.NoError(t, err)
			assert.Equal(t, tc.want.Owner, p.Owner)
			assert.Equal(t, 77*time.Hour, p.FullCycle.Interval, "the rest stays as it is")
			got, err = fresh.Own(ctx, tc.rule)
			require.NoError(t, err)
			assert.Equal(t, MaintenanceOwner{Owner: tc.want.Owner}, got, "the second time there is nothing to do")
		})
	}
}

func TestAReadOnlyConnectionOwnsNothing(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	c, _ := created(t, folder(t))
	c.WorkDir, c.ReadOnly, c.Hostname = t.TempDir(), true, "somebody-else"
	r, err := Open(ctx, c)
	require.NoError(t, err)
	got, err := r.Own(ctx, OwnerRule{Anyone: true})
	require.NoError(t, err)
	assert.Equal(t, MaintenanceOwner{Owner: "kopiur@kopiur-test"}, got)
	require.NoError(t, r.Close(ctx))
}

// K-11.
func TestKeepAllIsIdempotent(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	c, r := created(t, folder(t))
	all := []Identity{webData, {Username: "db", Hostname: "apps", Path: "/pvc/data"}}
	require.NoError(t, r.KeepAll(ctx, all[:1]))
	require.NoError(t, r.KeepAll(ctx, all))
	before := tree(t, c.Storage.Filesystem.Path)
	require.NoError(t, r.KeepAll(ctx, all))
	assert.Equal(t, before, tree(t, c.Storage.Filesystem.Path))
}
