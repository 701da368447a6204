// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// pins are the movers that pinned or unpinned.
func (l *lab) pins() []work.Pin {
	var out []work.Pin
	for _, c := range l.Calls() {
		if p := c.Spec.Operation.Pin; p != nil {
			out = append(out, *p)
		}
	}
	return out
}

// isPinned waits until the pin is as wanted, its id recorded, and its Job consumed.
func (l *lab) isPinned(want bool, id string) {
	l.t.Helper()
	l.until(func(c *assert.CollectT, s *kopiurv1.Snapshot) {
		if !assert.NotNil(c, s.Status.Pinned, "%+v", s.Status.Conditions) {
			return
		}
		assert.Equal(c, want, *s.Status.Pinned)
		assert.Equal(c, id, s.Status.Snapshot.KopiaSnapshotID)
		assert.Equal(c, id, s.Labels[kopiurv1.LabelSnapshotID])
		assert.Equal(c, want, condition(s, kopiurv1.ConditionPinned).Status == metav1.ConditionTrue)
		assert.Equal(c, kopiurv1.SnapshotSucceeded, s.Status.Phase)
		assert.Equal(c, metav1.ConditionTrue, condition(s, kopiurv1.ConditionReady).Status, "a pin leaves a finished Snapshot Ready")
		for _, j := range l.jobs() {
			assert.NotEqual(c, "pin", j.Labels[kopiurv1.LabelOperation], "the Job is consumed")
		}
	})
}

// K-3, J-4, J-5: pin, unpin and pin again: each is a mover of its own, each answer's id is recorded.
func TestPinTogglesK3J4J5(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.snapshot.Spec.Pin = true
	l.create()
	l.StartController()
	l.until(func(c *assert.CollectT, s *kopiurv1.Snapshot) { assert.NotEmpty(c, s.UID) })
	id := "k" + string(l.snapshot.UID)
	l.isPinned(true, id+"p")
	l.atRest()
	// The policy is not needed any more.
	require.NoError(t, l.Client.Delete(t.Context(), l.policy))
	l.Change(l.snapshot, func() { l.snapshot.Spec.Pin = false })
	l.isPinned(false, id+"pp")
	l.Change(l.snapshot, func() { l.snapshot.Spec.Pin = true })
	l.isPinned(true, id+"ppp")
	pins := l.pins()
	require.Len(t, pins, 3)
	assert.Equal(t, work.Identity{Username: "web", Hostname: l.Namespace, Path: "/pvc/data"}, pins[1].Snapshot.Identity)
	assert.Equal(t, id+"p", pins[1].Snapshot.SnapshotID)
	assert.False(t, pins[1].Snapshot.StartTime.IsZero(), "an id that is gone is found by the start time")
	assert.False(t, pins[1].Pinned)
}

// J-5: the controller dies after each write of a toggle; the pin is right afterwards, and no Job is left.
func TestPinKilledAfterEveryWriteJ5(t *testing.T) {
	t.Parallel()
	for _, n := range pinPoints {
		t.Run(fmt.Sprintf("after %d writes", n), func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.create()
			first := l.StartController()
			l.succeeds()
			l.atRest()
			first.Stop()
			id := "k" + string(l.snapshot.UID)
			kill := l.KillAfter(n)
			l.Change(l.snapshot, func() { l.snapshot.Spec.Pin = true })
			second := l.StartController()
			dead := func() bool {
				select {
				case <-kill.Dead():
					return true
				default:
					return false
				}
			}
			if n > 0 {
				l.until(func(c *assert.CollectT, s *kopiurv1.Snapshot) { assert.True(c, dead() || s.Status.Pinned != nil) })
			}
			second.Stop()
			l.Spare()
			l.StartController()
			l.isPinned(true, id+"p")
			assert.Len(t, l.pins(), 1, "after %d writes: %v", n, kill.Writes())
		})
	}
}

// A pin that fails is told, its Job goes, and the Snapshot stays the success that it is.
func TestPinFails(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.snapshot.Spec.Pin = true
	var fail atomic.Bool
	fail.Store(true)
	l.Mover(func(c testenv.Call) testenv.Play {
		if c.Spec.Operation.Pin != nil && fail.Load() {
			return testenv.Fail(c, work.CodeNotFound, "the repository has no such snapshot")
		}
		return testenv.Succeed(c)
	})
	l.create()
	l.StartController()
	c := l.waits(kopiurv1.ConditionPinned, metav1.ConditionFalse, kopiurv1.ReasonPinJobFailed)
	assert.Equal(t, "NotFound: the repository has no such snapshot", c.Message)
	l.until(func(c *assert.CollectT, s *kopiurv1.Snapshot) {
		assert.Equal(c, metav1.ConditionTrue, condition(s, kopiurv1.ConditionReady).Status)
		assert.Nil(c, s.Status.Pinned)
		assert.Len(c, l.jobs(), 1, "the pin Job is gone, that of the backup stays for its time")
	})
	l.atRest()
	// Not wanted any more: nothing is tried.
	l.Change(l.snapshot, func() { l.snapshot.Spec.Pin = false })
	l.until(func(c *assert.CollectT, s *kopiurv1.Snapshot) {
		assert.Equal(c, s.Generation, s.Status.ObservedGeneration)
	})
	assert.Len(t, l.pins(), 1)
}
