// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// course is one way that a deletion goes, from the first request to the last.
type course struct {
	// writes is more than the controller takes for it.
	writes int
	// threshold of the repository.
	threshold int32
	cascade   bool
	// fails is how many movers fail before one succeeds.
	fails int
	// ack is true where somebody acknowledges.
	ack bool
}

var courses = map[string]course{
	"three Snapshots":          {writes: 24, threshold: 10},
	"held and acknowledged":    {writes: 36, threshold: 3, ack: true},
	"a policy takes them":      {writes: 36, threshold: 10, cascade: true},
	"a Job that fails at once": {writes: 36, threshold: 10, fails: 1},
}

// TestKilledBetweenAnyTwoWrites kills the controller after every number of its writes. The next one converges: every
// Snapshot is gone, its data was deleted by a mover before, no Job is left, and none was made twice.
func TestKilledBetweenAnyTwoWrites(t *testing.T) {
	t.Parallel()
	for name, tc := range courses {
		for _, n := range killPoints(tc.writes) {
			t.Run(fmt.Sprintf("%s/after %d writes", name, n), func(t *testing.T) {
				t.Parallel()
				l := newLab(t)
				l.repository.Spec.DeletionProtection = &kopiurv1.DeletionProtection{Threshold: &tc.threshold}
				if tc.cascade {
					l.policy.Spec.Deletion = &kopiurv1.PolicyDeletion{OnPolicyDelete: kopiurv1.CascadeDelete}
				}
				l.base()
				list := l.stored(3)
				jobs := map[string]bool{}
				l.onDelete(func(c testenv.Call, k int) testenv.Play {
					jobs[c.Job] = true
					if k <= tc.fails {
						return testenv.Fail(c, work.CodeAccessDenied, "no")
					}
					return testenv.Succeed(c)
				})
				l.run().Stop() // the repository is ready, and the policy guarded

				kill := l.KillAfter(n)
				first := l.StartController(l.clocks)
				if tc.cascade {
					require.NoError(t, l.Client.Delete(t.Context(), l.policy))
				} else {
					l.remove(list...)
				}
				l.drive(tc, list, func() bool {
					select {
					case <-kill.Dead():
						return true
					default:
						return false
					}
				})
				first.Stop()
				l.Spare()
				l.StartController(l.clocks)
				l.drive(tc, list, func() bool { return false })
				l.gone(list...)
				t.Logf("the first controller did: %v", kill.Writes())
				assert.Len(t, jobs, 1, "one set of members, one name")
				assert.Len(t, l.deletions(), 1+tc.fails, "no mover runs for nothing")
				assert.Len(t, l.deleted(), 3*(1+tc.fails))
				if tc.cascade {
					assert.True(t, apierrors.IsNotFound(l.Client.Get(t.Context(), client.ObjectKeyFromObject(l.policy), l.policy)))
				}
			})
		}
	}
}

// drive plays what people and time do, until all is over or the controller is dead.
func (l *lab) drive(tc course, list []*kopiurv1.Snapshot, dead func() bool) {
	l.t.Helper()
	acked := false
	require.EventuallyWithT(l.t, func(c *assert.CollectT) {
		if dead() {
			return
		}
		left, held, failed := 0, 0, 0
		for _, s := range list {
			if err := l.Client.Get(l.t.Context(), client.ObjectKeyFromObject(s), s); err != nil {
				continue
			}
			left++
			if condition(s, kopiurv1.ConditionDeletionHeld).Status == "True" {
				held++
			}
			if s.Status.Deletion != nil {
				failed++
			}
		}
		switch {
		case left == 0:
			return
		case tc.ack && held == left && !acked:
			l.acknowledge()
			acked = true
		case failed > 0 && len(l.jobs()) == 0:
			l.time.Step(30 * time.Second)
		case len(l.jobs()) == 0 && l.pending(list):
			l.server.Step(time.Second)
			l.time.Step(time.Second)
		}
		assert.Zero(c, left)
	}, testenv.Wait, testenv.Tick)
}

// pending reports whether all of them are being deleted: time passes for a wave as a whole.
func (l *lab) pending(list []*kopiurv1.Snapshot) bool {
	for _, s := range list {
		if s.DeletionTimestamp == nil {
			return false
		}
	}
	return true
}
