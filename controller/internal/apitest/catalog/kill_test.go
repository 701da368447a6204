// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// ofAnotherOperator is a snapshot that a mover has made for an object that is not here.
func ofAnotherOperator(at time.Time) func(*work.CatalogEntry) {
	return func(e *work.CatalogEntry) {
		e.StartTime, e.EndTime = at, at.Add(time.Second)
		e.Tags = map[string]string{work.TagRequest: "an-uid-of-another-cluster"}
	}
}

// TestKilledAfterAnyWrite kills the controller after its n-th write, wherever that is: while it makes a row, before the
// row has its status, between the row and its adoption. The next one comes to the same end, with nothing twice.
func TestKilledAfterAnyWrite(t *testing.T) {
	t.Parallel()
	const most = 26
	for _, n := range testenv.KillPoints(most, 1, 2, 3, 4, 5, 6, 8, 9, 10, 13, 16, 18) {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			t.Parallel()
			s := newStore()
			l := newLab(t, s)
			ids := s.add(l.identity("web"), 2)
			s.add(laptop, 1)
			p := l.policy("web")
			kill := l.KillAfter(n)
			first := l.StartController()
			select {
			case <-kill.Dead():
			case <-time.After(10 * time.Second): // it had fewer writes to do
			}
			first.Stop()
			kill.Survives(t, n, most)
			l.Spare()
			l.StartController()
			l.adopted(p, 2)
			adopted := l.eventually(kopiurv1.OriginAdopted, 2)
			assert.Equal(t, ids, idsOf(adopted), "killed after %v", kill.Writes())
			require.EventuallyWithT(t, func(c *assert.CollectT) {
				l.GetC(c, l.repository)
				require.NotNil(c, l.repository.Status.Catalog)
				require.NotEmpty(c, l.repository.Status.Catalog.LastRefreshAt)
				for _, x := range l.snapshots(kopiurv1.OriginAdopted) {
					require.Equal(c, kopiurv1.SnapshotSucceeded, x.Status.Phase)
				}
			}, testenv.Wait, testenv.Tick)
			l.eventually(kopiurv1.OriginDiscovered, 1)
			l.settled(p, 2)
			l.Get(l.repository)
			l.Quiet(l.repository, time.Second)
			l.Quiet(p, 100*time.Millisecond)
			assert.Zero(t, l.started("delete"))
		})
	}
}
