// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// H-1: two operators on one repository, each with a name for its cluster. Each counts what is the other's, shows and
// adopts none of it, and what one deletes is its own.
func TestTwoClustersOnOneRepository(t *testing.T) {
	t.Parallel()
	s := newStore()
	cluster := func(name string, foreign kopiurv1.ForeignSnapshots) func(*kopiurv1.Repository) {
		return func(r *kopiurv1.Repository) {
			r.Spec.IdentityDefaults = &kopiurv1.IdentityDefaults{Cluster: name}
			r.Spec.Catalog = &kopiurv1.CatalogSpec{ForeignSnapshots: foreign}
		}
	}
	east, west := newLab(t, s, cluster("east", "")), newLab(t, s, cluster("west", ""))
	east.Create(testenv.Claim("data"))
	west.Create(testenv.Claim("data"))
	policies := map[*lab]*kopiurv1.SnapshotPolicy{east: east.policy("web"), west: west.policy("web")}
	east.StartController()
	west.StartController()
	made := map[*lab]*kopiurv1.Snapshot{}
	for _, l := range []*lab{east, west} {
		l.listed("")
		one := &kopiurv1.Snapshot{}
		one.Name, one.Spec.PolicyRef = "one", &kopiurv1.PolicyRef{Name: "web"}
		l.Create(one)
		require.EventuallyWithT(t, func(c *assert.CollectT) {
			l.GetC(c, one)
			require.Equal(c, kopiurv1.SnapshotSucceeded, one.Status.Phase)
		}, testenv.Wait, testenv.Tick)
		made[l] = one
	}
	for _, l := range []*lab{east, west} {
		st := l.again("one")
		assert.Equal(t, int64(1), st.ForeignSnapshotCount)
		assert.Zero(t, st.DiscoveredBackupCount)
		assert.Empty(t, l.snapshots(kopiurv1.OriginDiscovered))
	}

	// Where they are wanted, they are rows: to restore from, and nothing else.
	west.Change(west.repository, func() { west.repository.Spec.Catalog.ForeignSnapshots = kopiurv1.ForeignFallback })
	west.listed("one")
	rows := west.eventually(kopiurv1.OriginDiscovered, 1)
	assert.Equal(t, "web", rows[0].Status.Snapshot.Identity.Username)
	assert.Equal(t, east.Namespace+".east", rows[0].Status.Snapshot.Identity.Hostname)
	require.NoError(t, west.Client.Delete(t.Context(), rows[0].DeepCopy()))
	west.eventually(kopiurv1.OriginDiscovered, 0)
	assert.Len(t, s.ids(), 2)

	require.NoError(t, east.Client.Delete(t.Context(), made[east]))
	east.eventually(kopiurv1.OriginManual, 0) // its Job waits some seconds for others to go with it
	west.Get(made[west])
	assert.Equal(t, []string{made[west].Status.Snapshot.KopiaSnapshotID}, s.ids(), "the other's is there")
	assert.Zero(t, west.started("delete"))
	for l, p := range policies {
		l.Get(p)
		if a := p.Status.Adoption; a != nil {
			assert.Zero(t, a.TotalAdopted)
		}
	}
}

// H-1: two operators that both forgot to name their clusters, and call everything alike. What the other has stored since
// the policy exists was made for an object of its own: it is shown, and not taken over, so retention deletes none of it.
func TestTwoClustersWithoutNames(t *testing.T) {
	t.Parallel()
	s := newStore()
	l := newLab(t, s)
	l.Create(testenv.Claim("data"))
	p := l.policy("web")
	l.StartController()
	l.listed("")
	s.add(l.identity("web"), 1, ofAnotherOperator(time.Now().Add(time.Minute))) // after the policy was made, by the API server's clock
	l.again("one")
	found := l.eventually(kopiurv1.OriginDiscovered, 1)
	l.Quiet(&found[0], time.Second)
	l.Get(p)
	if a := p.Status.Adoption; a != nil {
		assert.Zero(t, a.TotalAdopted)
	}
}
