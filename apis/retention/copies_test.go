// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package retention_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/kopiur/kopiur/apis/retention"
	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// TestNoCopyIsMadeToBeDeleted plays years of a source whose snapshots come and go, a mover that copies what Keep keeps of
// both sides, and a replication that deletes what OfCopies dooms. What was deleted is never copied again, what was just
// copied is never deleted at once, and the newest copy stays.
func TestNoCopyIsMadeToBeDeleted(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		n := func(most int) int32 { return int32(rnd.IntN(most)) }
		r := keep(n(4), n(5), n(6), n(4), n(4), n(3))
		at := time.Date(2024, 12, 20, 0, 0, 0, 1, time.UTC)
		source, copies, deleted := map[int]time.Time{}, map[int]*kopiurv1.Snapshot{}, map[int]bool{}
		for step := range 80 {
			at = at.Add([]time.Duration{0, time.Nanosecond, 20 * time.Minute, 7 * time.Hour, 30 * time.Hour, 200 * time.Hour}[rnd.IntN(6)])
			source[step] = at
			for i := range source {
				if i < step-5 && rnd.IntN(20) == 0 {
					delete(source, i)
				}
			}
			var ids []int
			for i := step; i >= 0; i-- { // the latest start first
				if _, ok := source[i]; ok || copies[i] != nil {
					ids = append(ids, i)
				}
			}
			ends := make([]time.Time, len(ids))
			for k, i := range ids {
				if ends[k] = source[i]; ends[k].IsZero() {
					ends[k], _ = time.Parse(time.RFC3339Nano, copies[i].Status.CopiedFrom.StartTime)
				}
			}
			fresh := map[int]bool{}
			worth := make([]bool, len(ids))
			if k := retention.Keep(r); k != nil {
				worth = k.Of(ends)
			} else {
				for k := range worth {
					worth[k] = true
				}
			}
			for k, i := range ids {
				if !worth[k] || copies[i] != nil {
					continue
				}
				assert.False(t, deleted[i], "seed %d: %d was deleted and copied again", seed, i)
				s := stored(fmt.Sprintf("s%03d", 999-i), ends[k])
				s.Status.Origin = kopiurv1.OriginReplicated
				s.Status.CopiedFrom = &kopiurv1.CopiedFrom{StartTime: ends[k].Add(time.Duration(i)).Format(time.RFC3339Nano)}
				copies[i], fresh[i] = &s, true
			}
			var list []*kopiurv1.Snapshot
			number := map[string]int{}
			for i, s := range copies {
				list, number[s.Name] = append(list, s), i
			}
			for _, s := range retention.Doomed(retention.OfCopies(r, list)) {
				i := number[s.Name]
				assert.False(t, fresh[i], "seed %d: %d was copied to be deleted", seed, i)
				delete(copies, i)
				deleted[i] = true
			}
			if _, ok := source[step]; ok {
				assert.NotNil(t, copies[step], "seed %d: the newest has a copy", seed)
			}
		}
	}
}

func TestCopiesOfNobodyAreLeftAlone(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 5, 2, 0, 0, 0, time.UTC)
	one := stored("pinned", at, func(s *kopiurv1.Snapshot) { s.Spec.Pin = true })
	two := stored("running", at.Add(-time.Hour), func(s *kopiurv1.Snapshot) { s.Status.Phase = kopiurv1.SnapshotRunning })
	three := stored("nobody knows when", at, func(s *kopiurv1.Snapshot) { s.Status.Timing.EndTime = "yesterday" })
	four := stored("newest", at.Add(time.Hour))
	five := stored("old", at.Add(-2*time.Hour))
	all := []*kopiurv1.Snapshot{&one, &two, &three, &four, &five}
	doomed := retention.Doomed(retention.OfCopies(keep(1, 0, 0, 0, 0, 0), all))
	assert.Equal(t, []*kopiurv1.Snapshot{&five}, doomed)
	assert.Empty(t, retention.Doomed(retention.OfCopies(keep(0, 0, 0, 0, 0, 0), all)), "no rules are no wish to lose everything")
	assert.Nil(t, retention.Keep(keep(0, 0, 0, 0, 0, 0)))
}
