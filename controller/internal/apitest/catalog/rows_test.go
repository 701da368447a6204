// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/loop"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

var laptop = kopiurv1.Identity{Username: "root", Hostname: "laptop", SourcePath: "/home"}

// TestWhatIsFoundHasRows: the first connect lists the repository, each snapshot of somebody else has a row that says
// what it is, and at rest nothing is written and no mover is started (C-9, E-3, E-4).
func TestWhatIsFoundHasRows(t *testing.T) {
	t.Parallel()
	s := newStore()
	s.add(laptop, 3, func(e *work.CatalogEntry) { e.Description = "by hand" })
	l := newLab(t, s)
	l.StartController()
	st := l.listed("")
	assert.Equal(t, int64(3), st.DiscoveredBackupCount)
	assert.Equal(t, kopiurv1.CatalogComplete, st.Coverage)
	assert.Equal(t, 1, l.started("bootstrap"), "the connect has listed, no other Job has")
	rows := l.snapshots(kopiurv1.OriginDiscovered)
	require.Len(t, rows, 3)
	assert.ElementsMatch(t, s.ids(), idsOf(rows))
	for i := range rows {
		r := &rows[i]
		assert.Equal(t, kopiurv1.SnapshotDiscovered, r.Status.Phase)
		assert.Equal(t, laptop, r.Status.Snapshot.Identity)
		assert.Equal(t, "by hand", r.Status.Snapshot.Description)
		assert.Equal(t, int64(60), r.Status.Timing.DurationSeconds)
		assert.Equal(t, l.Namespace, r.Status.Resolved.Repository.Namespace)
		assert.True(t, loop.IsTrue(r.Status.Conditions, kopiurv1.ConditionReady))
		assert.True(t, loop.IsFalse(r.Status.Conditions, kopiurv1.ConditionStalled))
		assert.Empty(t, r.Finalizers)
		require.Len(t, r.OwnerReferences, 1)
		assert.Equal(t, l.repository.UID, r.OwnerReferences[0].UID)
		assert.Equal(t, r.Status.Snapshot.KopiaSnapshotID, r.Labels[kopiurv1.LabelSnapshotID])
	}
	n, err := testutil.GatherAndCount(l.Gauges(), "kopiur_repo_discovered_snapshots")
	require.NoError(t, err)
	assert.Equal(t, 1, n)

	l.Get(l.repository)
	row := rows[0].DeepCopy()
	l.Quiet(l.repository, time.Second)
	l.Quiet(row, 100*time.Millisecond)
	assert.Len(t, l.Calls(), 1)
}

// TestARowIsAView: deleting one deletes nothing in the repository, and the next listing makes it again, under its name.
func TestARowIsAView(t *testing.T) {
	t.Parallel()
	s := newStore()
	s.add(laptop, 2)
	l := newLab(t, s)
	l.StartController()
	l.listed("")
	rows := l.snapshots(kopiurv1.OriginDiscovered)
	require.NoError(t, l.Client.Delete(t.Context(), rows[0].DeepCopy()))
	l.eventually(kopiurv1.OriginDiscovered, 1)
	l.again("one")
	back := l.eventually(kopiurv1.OriginDiscovered, 2)
	assert.True(t, slices.ContainsFunc(back, func(x kopiurv1.Snapshot) bool { return x.Name == rows[0].Name && x.UID != rows[0].UID }))
	assert.Len(t, s.ids(), 2)
	assert.Zero(t, l.started("delete"))

	// It says Delete, and is a row all the same: admission would have refused it, and the data is not its to delete.
	forced := back[0].DeepCopy()
	l.Change(forced, func() { forced.Spec.DeletionPolicy = kopiurv1.DeletionDelete })
	require.NoError(t, l.Client.Delete(t.Context(), forced))
	l.again("two")
	l.eventually(kopiurv1.OriginDiscovered, 2)
	assert.Len(t, s.ids(), 2)
	assert.Zero(t, l.started("delete"))
}

// TestRowsFollowTheRepository: what another client prunes loses its row with the next listing, what it pins is the same
// row with another id (J-3, J-4).
func TestRowsFollowTheRepository(t *testing.T) {
	t.Parallel()
	s := newStore()
	ids := s.add(laptop, 4)
	l := newLab(t, s)
	l.StartController()
	l.listed("")
	before := l.snapshots(kopiurv1.OriginDiscovered)
	require.Len(t, before, 4)
	s.drop(ids[0], ids[2])
	s.mu.Lock()
	s.entries[1].SnapshotID, s.entries[1].Pinned = "afterthepin", true
	s.mu.Unlock()
	s.add(laptop, 1, func(e *work.CatalogEntry) { e.SnapshotID, e.StartTime = "new", dawn.AddDate(0, 1, 0) })
	st := l.again("one")
	assert.Equal(t, int64(3), st.DiscoveredBackupCount)
	after := l.eventually(kopiurv1.OriginDiscovered, 3)
	assert.Equal(t, []string{ids[1], "afterthepin", "new"}, idsOf(after))
	for i := range after {
		if after[i].Status.Snapshot.KopiaSnapshotID == "afterthepin" {
			assert.True(t, *after[i].Status.Pinned)
			assert.Equal(t, "afterthepin", after[i].Labels[kopiurv1.LabelSnapshotID])
			assert.True(t, slices.ContainsFunc(before, func(x kopiurv1.Snapshot) bool { return x.UID == after[i].UID }), "the row is the same")
		}
	}
	assert.Equal(t, 2, l.started("bootstrap"), "a value of the annotation is honoured once")
}

// TestNothingIsLostBeyondAPage: more snapshots than one mover can say, and a page that the log has lost (J-3).
func TestNothingIsLostBeyondAPage(t *testing.T) {
	t.Parallel()
	s := newStore()
	s.perPage, s.perMover, s.lose = 9, 30, 2
	for n := range 3 {
		s.add(kopiurv1.Identity{Username: fmt.Sprint("u", n), Hostname: "laptop", SourcePath: "/home"}, 35)
	}
	l := newLab(t, s)
	l.StartController()
	st := l.listed("")
	assert.Equal(t, int64(105), st.DiscoveredBackupCount)
	rows := l.snapshots(kopiurv1.OriginDiscovered)
	assert.Equal(t, slices.Sorted(slices.Values(s.ids())), idsOf(rows))
	assert.Equal(t, 5, l.started("bootstrap"), "four movers would do, and one was not heard to its end")
	l.Get(l.repository)
	assert.Equal(t, kopiurv1.RepositoryReady, l.repository.Status.Phase)
}

// TestAMoverThatListsNothingIsNotAskedAtOnceAgain: one of another release, or whose log cannot be read.
func TestAMoverThatListsNothingIsNotAskedAtOnceAgain(t *testing.T) {
	t.Parallel()
	s := newStore()
	s.add(laptop, 2)
	l := newLab(t, s)
	l.Mover(func(c testenv.Call) testenv.Play {
		p := testenv.Succeed(c)
		p.Result.Bootstrap.Catalog = nil
		return p
	})
	clock := l.NewTime()
	l.StartController(clock.Decisions)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		l.GetC(c, l.repository)
		assert.Equal(c, kopiurv1.RepositoryReady, l.repository.Status.Phase)
	}, testenv.Wait, testenv.Tick)
	l.Quiet(l.repository, time.Second)
	assert.Equal(t, 1, l.started("bootstrap"))
	assert.Nil(t, l.repository.Status.Catalog, "nothing is said of what is not known")
	l.Mover(s.play)
	clock.Step(3 * time.Minute)
	l.listed("")
	assert.Len(t, l.snapshots(kopiurv1.OriginDiscovered), 2)
}

// TestAListingFromTimeToTime: only where it is asked for.
func TestAListingFromTimeToTime(t *testing.T) {
	t.Parallel()
	s := newStore()
	l := newLab(t, s, func(r *kopiurv1.Repository) {
		r.Spec.Catalog = &kopiurv1.CatalogSpec{PeriodicRefresh: true, RefreshInterval: "10m"}
	})
	clock := l.NewTime()
	l.StartController(clock.Decisions)
	l.listed("")
	s.add(laptop, 1)
	clock.Step(11 * time.Minute)
	l.eventually(kopiurv1.OriginDiscovered, 1)
}

// TestRowsAreBounded: catalog.retain bounds what is shown, and says that it does.
func TestRowsAreBounded(t *testing.T) {
	t.Parallel()
	s := newStore()
	ids := s.add(laptop, 5)
	l := newLab(t, s, func(r *kopiurv1.Repository) {
		r.Spec.Catalog = &kopiurv1.CatalogSpec{Retain: &kopiurv1.CatalogRetain{PerIdentity: new(int32(2))}}
	})
	l.StartController()
	st := l.listed("")
	assert.Equal(t, kopiurv1.CatalogCapped, st.Coverage)
	assert.Equal(t, int64(5), st.DiscoveredBackupCount)
	assert.Equal(t, ids[3:], idsOf(l.snapshots(kopiurv1.OriginDiscovered)))
	l.Change(l.repository, func() { l.repository.Spec.Catalog.Retain.PerIdentity = new(int32(0)) })
	l.listed("")
	assert.Empty(t, l.snapshots(kopiurv1.OriginDiscovered), "a change of the spec lists anew")
	assert.Len(t, s.ids(), 5, "bounds are for rows")
}

// TestAClusterRepositoryPlacesRows: in the namespace that the host is called after, where that may use the repository,
// else in the fallback, else nowhere, which is said.
func TestAClusterRepositoryPlacesRows(t *testing.T) {
	t.Parallel()
	s := newStore()
	env := testenv.New(t)
	env.Mover(s.play)
	closed := env.AddNamespace()
	at := func(host string) kopiurv1.Identity {
		return kopiurv1.Identity{Username: "web", Hostname: host, SourcePath: "/pvc/data"}
	}
	s.add(at(env.Namespace), 1)
	s.add(at(closed), 1)
	s.add(at("nowhere"), 1)
	r := &kopiurv1.ClusterRepository{ObjectMeta: metav1.ObjectMeta{Name: "offsite-" + env.Namespace}}
	r.Spec.AllowedNamespaces.List = []string{env.Namespace}
	r.Spec.Backend.S3 = &kopiurv1.S3Backend{Bucket: "backups"}
	r.Spec.Encryption.PasswordSecretRef = kopiurv1.SecretKeyRef{Name: "password", Namespace: env.Namespace}
	env.Create(testenv.Secret("password", map[string]string{"KOPIA_PASSWORD": "x"}), r)
	env.StartController()
	refreshed := func(unplaced, generation int64) {
		t.Helper()
		require.EventuallyWithT(t, func(c *assert.CollectT) {
			env.GetC(c, r)
			require.NotNil(c, r.Status.Catalog)
			require.Equal(c, generation, r.Status.Catalog.Generation)
			require.Equal(c, unplaced, r.Status.Catalog.UnplacedSnapshotCount)
		}, testenv.Wait, testenv.Tick)
	}
	count := func(namespace string) int {
		t.Helper()
		var list kopiurv1.SnapshotList
		require.NoError(t, env.Client.List(t.Context(), &list, client.InNamespace(namespace)))
		return len(list.Items)
	}
	refreshed(2, 1)
	assert.Equal(t, 1, count(env.Namespace))
	assert.Zero(t, count(closed))
	env.Change(r, func() { r.Spec.Catalog = &kopiurv1.CatalogSpec{FallbackNamespace: closed} })
	refreshed(0, 2)
	assert.Equal(t, 1, count(env.Namespace))
	assert.Equal(t, 2, count(closed))
}
