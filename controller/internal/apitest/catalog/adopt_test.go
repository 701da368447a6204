// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/loop"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// adopted waits until a policy has taken over so many in all.
func (l *lab) adopted(p *kopiurv1.SnapshotPolicy, total int64) {
	l.t.Helper()
	require.EventuallyWithT(l.t, func(c *assert.CollectT) {
		l.GetC(c, p)
		require.NotNil(c, p.Status.Adoption)
		require.Equal(c, total, p.Status.Adoption.TotalAdopted)
		require.True(c, loop.IsTrue(p.Status.Conditions, kopiurv1.ConditionHistoryAdopted))
	}, testenv.Wait, testenv.Tick)
}

// settled waits until a policy has counted all that it has.
func (l *lab) settled(p *kopiurv1.SnapshotPolicy, n int64) {
	l.t.Helper()
	require.EventuallyWithT(l.t, func(c *assert.CollectT) {
		l.GetC(c, p)
		require.NotNil(c, p.Status.Retention)
		require.Equal(c, n, p.Status.Retention.ActiveSnapshotCount)
	}, testenv.Wait, testenv.Tick)
}

// D-5, E-4: history of a policy's identity becomes the policy's, whichever of the two was there first, and costs nothing
// afterwards.
func TestAPolicyTakesItsHistoryOver(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]bool{"a policy that was there before the repository": true, "one that came later": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStore()
			l := newLab(t, s)
			ids := s.add(l.identity("web"), 3)
			s.add(laptop, 2)
			var p *kopiurv1.SnapshotPolicy
			if before {
				p = l.policy("web")
			}
			l.StartController()
			l.listed("")
			if !before {
				p = l.policy("web")
			}
			l.adopted(p, 3)
			rows := l.eventually(kopiurv1.OriginAdopted, 3)
			assert.Equal(t, ids, idsOf(rows))
			for i := range rows {
				r := &rows[i]
				assert.Equal(t, kopiurv1.SnapshotSucceeded, r.Status.Phase)
				assert.Equal(t, "web", r.Spec.PolicyRef.Name)
				assert.Equal(t, "web", r.Labels[kopiurv1.LabelConfig])
				assert.Equal(t, []string{kopiurv1.FinalizerSnapshot}, r.Finalizers)
				assert.Empty(t, r.OwnerReferences)
				assert.Equal(t, kopiurv1.ReasonSnapshotAdopted, testenv.Condition(r.Status.Conditions, kopiurv1.ConditionReady).Reason)
			}
			assert.Len(t, l.snapshots(kopiurv1.OriginDiscovered), 2, "what belongs to nobody stays a row")
			l.settled(p, 3)
			assert.Equal(t, dawn.Add(2*time.Hour+time.Minute).Format(time.RFC3339), p.Status.LastSuccessfulSnapshot)
			st := l.again("one")
			assert.Equal(t, int64(2), st.DiscoveredBackupCount)
			l.Quiet(p, time.Second)
			l.Quiet(rows[0].DeepCopy(), 100*time.Millisecond)
			assert.Equal(t, len(l.Calls()), l.started("bootstrap"), "nothing is copied, pinned or backed up for it")
		})
	}
}

// D-6: what was taken over and went, while its data stayed, is found again, and is not taken over again.
func TestWhatWasKeptIsNotTakenOverAgain(t *testing.T) {
	t.Parallel()
	s := newStore()
	l := newLab(t, s)
	ids := s.add(l.identity("web"), 3)
	p := l.policy("web")
	l.StartController()
	l.adopted(p, 3)
	rows := l.eventually(kopiurv1.OriginAdopted, 3)
	kept := rows[0].DeepCopy()
	l.Change(kept, func() { kept.Spec.DeletionPolicy = kopiurv1.DeletionRetain })
	require.NoError(t, l.Client.Delete(t.Context(), kept))
	l.eventually(kopiurv1.OriginAdopted, 2)
	for _, token := range []string{"one", "two"} {
		l.again(token)
		found := l.eventually(kopiurv1.OriginDiscovered, 1)
		assert.Equal(t, kept.Status.Snapshot.KopiaSnapshotID, found[0].Status.Snapshot.KopiaSnapshotID, "it can still be restored from")
		l.Quiet(&found[0], time.Second)
	}
	assert.Len(t, l.snapshots(kopiurv1.OriginAdopted), 2)
	l.Get(p)
	assert.Equal(t, int64(3), p.Status.Adoption.TotalAdopted)
	assert.Equal(t, ids, s.ids(), "nothing was deleted")
	assert.Zero(t, l.started("delete"))

	// Switched off and on again, the policy takes over what there is.
	l.Change(p, func() { p.Spec.Adoption = kopiurv1.AdoptionIgnore })
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		l.GetC(c, p)
		require.Equal(c, p.Generation, p.Status.ObservedGeneration)
		require.Empty(c, p.Status.Adoption.Through)
	}, testenv.Wait, testenv.Tick)
	l.Change(p, func() { p.Spec.Adoption = kopiurv1.AdoptionAdopt })
	l.adopted(p, 4)
	l.eventually(kopiurv1.OriginAdopted, 3)
}

// D-6: what retention would delete at once stays a row where the policy keeps the data of what it deletes, which is said
// and counted once.
func TestWhatRetentionWouldDeleteStaysARow(t *testing.T) {
	t.Parallel()
	s := newStore()
	l := newLab(t, s)
	ids := s.add(l.identity("web"), 4)
	first := l.StartController()
	l.listed("")
	l.eventually(kopiurv1.OriginDiscovered, 4)
	first.Stop()
	p := l.policy("web", func(p *kopiurv1.SnapshotPolicy) {
		p.Spec.DefaultDeletionPolicy = kopiurv1.DeletionRetain
		p.Spec.Retention = &kopiurv1.Retention{KeepLatest: new(int32(2))}
	})
	l.StartController()
	l.adopted(p, 2)
	assert.Equal(t, ids[2:], idsOf(l.eventually(kopiurv1.OriginAdopted, 2)))
	assert.Equal(t, int64(2), p.Status.Adoption.SkippedByRetention)
	assert.Contains(t, testenv.Condition(p.Status.Conditions, kopiurv1.ConditionHistoryAdopted).Message, "2 snapshots that were in the repository stay as they were found")
	l.settled(p, 2)
	for _, token := range []string{"one", "two"} {
		l.again(token)
		l.Quiet(&l.eventually(kopiurv1.OriginDiscovered, 2)[0], time.Second)
	}
	l.Get(p)
	assert.Equal(t, int64(2), p.Status.Adoption.SkippedByRetention, "they are counted once")
	assert.Equal(t, ids, s.ids())
	assert.Len(t, l.snapshots(kopiurv1.OriginAdopted), 2, "none was deleted, to be found again")
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		var events corev1.EventList
		require.NoError(c, l.Client.List(t.Context(), &events, client.InNamespace(l.Namespace)))
		assert.True(c, slices.ContainsFunc(events.Items, func(e corev1.Event) bool {
			return e.Reason == kopiurv1.ReasonAdoptionSkippedByRetention && e.InvolvedObject.Name == "web"
		}))
	}, testenv.Wait, testenv.Tick)
}

// D-6: TestOwnSnapshotsAreNotAdopted: one that a run made has an object, and when that goes and its data stays, it is a
// row.
func TestOwnSnapshotsAreNotAdopted(t *testing.T) {
	t.Parallel()
	s := newStore()
	l := newLab(t, s)
	l.Create(testenv.Claim("data"))
	p := l.policy("web")
	l.StartController()
	l.listed("")
	one := &kopiurv1.Snapshot{}
	one.Name, one.Spec.PolicyRef, one.Spec.DeletionPolicy = "one", &kopiurv1.PolicyRef{Name: "web"}, kopiurv1.DeletionRetain
	l.Create(one)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		l.GetC(c, one)
		require.Equal(c, kopiurv1.SnapshotSucceeded, one.Status.Phase)
	}, testenv.Wait, testenv.Tick)
	st := l.again("one")
	assert.Zero(t, st.DiscoveredBackupCount)
	assert.Empty(t, l.snapshots(kopiurv1.OriginDiscovered))
	require.NoError(t, l.Client.Delete(t.Context(), one))
	l.eventually(kopiurv1.OriginManual, 0)
	l.again("two")
	found := l.eventually(kopiurv1.OriginDiscovered, 1)
	l.Quiet(&found[0], time.Second)
	l.Get(p)
	assert.Nil(t, p.Status.Adoption.Through)
	assert.Len(t, s.ids(), 1)
}

// D-5: TestAnAdoptedSnapshotIsDeletedLikeOthers: with its data, by the rules of its policy.
func TestAnAdoptedSnapshotIsDeletedLikeOthers(t *testing.T) {
	t.Parallel()
	s := newStore()
	l := newLab(t, s)
	s.add(l.identity("web"), 2)
	p := l.policy("web")
	l.StartController()
	l.adopted(p, 2)
	rows := l.eventually(kopiurv1.OriginAdopted, 2)
	require.NoError(t, l.Client.Delete(t.Context(), rows[0].DeepCopy()))
	l.eventually(kopiurv1.OriginAdopted, 1) // its Job waits some seconds for others to go with it
	assert.Len(t, s.ids(), 1)
	l.again("one")
	assert.Empty(t, l.snapshots(kopiurv1.OriginDiscovered))
	assert.Equal(t, 1, l.started("delete"))
}

// TestNobodyIsAdoptedAgainstAWill of policy or repository.
func TestNobodyIsAdoptedAgainstAWill(t *testing.T) {
	t.Parallel()
	s := newStore()
	l := newLab(t, s, func(r *kopiurv1.Repository) {
		r.Spec.Catalog = &kopiurv1.CatalogSpec{Adoption: kopiurv1.AdoptionIgnore}
	})
	s.add(l.identity("web"), 2)
	s.add(l.identity("db"), 2)
	web := l.policy("web")
	db := l.policy("db", func(p *kopiurv1.SnapshotPolicy) { p.Spec.Adoption = kopiurv1.AdoptionAdopt })
	l.StartController()
	l.adopted(db, 2)
	l.listed("")
	rows := l.eventually(kopiurv1.OriginDiscovered, 2)
	for i := range rows {
		assert.Equal(t, "web", rows[i].Status.Snapshot.Identity.Username)
	}
	l.Get(web)
	l.Quiet(web, time.Second)
	assert.Empty(t, testenv.Condition(web.Status.Conditions, kopiurv1.ConditionHistoryAdopted))
}

// D-7, I-4: where nothing matches, what comes nearest is named once, with what to write; where nothing comes near, nothing
// is said.
func TestTheNearestMissIsNamed(t *testing.T) {
	t.Parallel()
	s := newStore()
	l := newLab(t, s)
	old := l.identity("web")
	old.SourcePath = "/data"
	ids := s.add(old, 4)
	s.add(laptop, 2)
	p, other := l.policy("web"), l.policy("other", func(p *kopiurv1.SnapshotPolicy) {
		p.Spec.Sources = []kopiurv1.Source{{PVC: &kopiurv1.LocalRef{Name: "unheard-of"}}}
	})
	l.StartController()
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		l.GetC(c, p)
		cond := testenv.Condition(p.Status.Conditions, kopiurv1.ConditionHistoryAdopted)
		require.Equal(c, kopiurv1.ReasonNoMatchingIdentity, cond.Reason)
		require.Contains(c, cond.Message, "4 snapshots are filed as "+old.String())
		require.True(c, strings.HasSuffix(cond.Message, "write sourcePathOverride: /data for the source"), cond.Message)
		require.True(c, loop.IsTrue(p.Status.Conditions, kopiurv1.ConditionReady), "it is advice, and holds nothing up")
	}, testenv.Wait, testenv.Tick)
	l.Get(other)
	assert.Empty(t, testenv.Condition(other.Status.Conditions, kopiurv1.ConditionHistoryAdopted))

	l.Change(p, func() { p.Spec.Sources[0].SourcePathOverride = "/data" })
	l.adopted(p, 4)
	assert.Equal(t, ids, idsOf(l.eventually(kopiurv1.OriginAdopted, 4)))
}

// TestAPolicyInAnotherNamespaceAsks: its history was shown beside the repository, where it cannot be taken over.
func TestAPolicyInAnotherNamespaceAsks(t *testing.T) {
	t.Parallel()
	s := newStore()
	l := newLab(t, s)
	elsewhere := l.AddNamespace()
	s.add(kopiurv1.Identity{Username: "web", Hostname: elsewhere, SourcePath: "/pvc/data"}, 2)
	clock := l.NewTime()
	l.StartController(clock.Decisions)
	l.listed("")
	l.eventually(kopiurv1.OriginDiscovered, 2)
	p := l.policy("web", func(p *kopiurv1.SnapshotPolicy) { p.Namespace = elsewhere })
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		l.GetC(c, p)
		require.NotNil(c, p.Status.Adoption)
		require.NotEmpty(c, p.Status.Adoption.ScanRequestedAt)
	}, testenv.Wait, testenv.Tick)
	clock.Step(2 * time.Minute) // many policies are served by one listing
	l.adopted(p, 2)
	l.eventually(kopiurv1.OriginAdopted, 2, elsewhere)
	l.eventually(kopiurv1.OriginDiscovered, 0)
	assert.Equal(t, 2, l.started("bootstrap"))
}
