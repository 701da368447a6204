// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// K-1: a Restore was told that there is no snapshot and left the volume empty. The first backup of it asks again: where
// older ones have appeared it stores nothing until somebody says that this is meant; where there are none it goes on.
func TestFirstBackupAfterAnEmptyStartK1(t *testing.T) {
	t.Parallel()
	for name, appears := range map[string]bool{"a history appears": true, "there is none": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			var found atomic.Bool
			l.Mover(func(c testenv.Call) testenv.Play {
				p := testenv.Succeed(c)
				if c.Spec.Operation.Resolve != nil && !found.Load() {
					p.Result.Resolve = &work.ResolveResult{Resolution: work.ResolutionAbsent}
				}
				return p
			})
			l.base()
			r := &kopiurv1.Restore{ObjectMeta: metav1.ObjectMeta{Name: "data"}}
			r.Spec.Source.FromPolicy = &kopiurv1.FromPolicy{Name: "web"}
			r.Spec.Target.PVC = &kopiurv1.TargetPVC{Name: "data", Capacity: "1Gi"}
			l.Create(r)
			l.StartController()
			require.EventuallyWithT(t, func(c *assert.CollectT) {
				l.GetC(c, r)
				require.NotNil(c, r.Status.Resolved)
				assert.Equal(c, kopiurv1.ResolutionNoSnapshot, r.Status.Resolved.Resolution)
			}, testenv.Wait, testenv.Tick)

			found.Store(appears)
			l.Create(l.snapshot)
			if appears {
				l.waits(kopiurv1.ConditionHistoryConflict, metav1.ConditionTrue, kopiurv1.ReasonOlderHistoryFound)
				assert.Equal(t, kopiurv1.SnapshotPending, l.snapshot.Status.Phase)
				assert.Equal(t, kopiurv1.ReasonOlderHistoryFound, condition(l.snapshot, kopiurv1.ConditionReady).Reason)
				l.atRest()
				assert.Empty(t, l.runs(), "nothing is stored beside the older snapshots")
				l.Annotate(l.policy, kopiurv1.AnnotationAcknowledgeEmptyStart, time.Now().UTC().Format(time.RFC3339))
			}
			l.waits(kopiurv1.ConditionReady, metav1.ConditionTrue, kopiurv1.ReasonSnapshotSucceeded)
			assert.Empty(t, condition(l.snapshot, kopiurv1.ConditionHistoryConflict).Type)
			assert.Len(t, l.runs(), 1)

			// The second one is none of it.
			asked := l.questions()
			l.snapshot = &kopiurv1.Snapshot{ObjectMeta: metav1.ObjectMeta{Name: "two"}, Spec: l.snapshot.Spec}
			l.Create(l.snapshot)
			l.waits(kopiurv1.ConditionReady, metav1.ConditionTrue, kopiurv1.ReasonSnapshotSucceeded)
			assert.Equal(t, asked, l.questions(), "nobody was asked")
		})
	}
}

// questions counts the movers that were asked which snapshot there is.
func (l *lab) questions() int {
	n := 0
	for _, c := range l.Calls() {
		if c.Spec.Operation.Resolve != nil {
			n++
		}
	}
	return n
}
