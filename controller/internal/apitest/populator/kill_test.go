// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package populator_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	storagev1 "k8s.io/api/storage/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// mostWrites bounds the kill points: a claim takes some twenty-three writes to its volume.
const mostWrites = 28

// TestKilledAfterEveryWrite kills the controller after each of its writes in turn. The next one comes to the same end: one
// question, one mover, the claim bound to the volume that was written, and nothing left beside it (B-2, B-3, K-7).
func TestKilledAfterEveryWrite(t *testing.T) {
	t.Parallel()
	for _, n := range testenv.KillPoints(mostWrites, 2, 5, 9, 13, 17, 18, 20, 21) {
		t.Run(fmt.Sprintf("after write %d", n), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, storagev1.VolumeBindingImmediate)
			w.begin().Stop() // only the Restore is left to do
			r, c := w.populator(), w.wanting("data")
			kill := w.KillAfter(n)
			first := w.StartController()
			require.Eventually(t, func() bool {
				select {
				case <-kill.Dead():
					return true
				default:
					return w.ended(r) // the last kill points may lie behind the end
				}
			}, testenv.Wait, testenv.Tick)
			first.Stop()
			kill.Survives(t, n, mostWrites)
			w.Spare()
			w.StartController()
			pv := w.untilFilled(r, c, kopiurv1.ReasonRestoreSucceeded)
			assert.Equal(t, "pv-", pv.Name[:3], "the volume of the helper claim: %v", kill.Writes())
			assert.Len(t, w.CallsOf("resolve"), 1, "one question: %v", kill.Writes())
			assert.Len(t, w.CallsOf("restore"), 1, "one mover: %v", kill.Writes())
			assert.Len(t, w.volumes(t.Context()), 1, "one volume: %v", kill.Writes())
			w.rests(r)
		})
	}
}

func (w *world) ended(r *kopiurv1.Restore) bool {
	w.Get(r)
	if r.Status.Phase != kopiurv1.RestoreCompleted {
		return false
	}
	for _, j := range w.jobsOf(r) {
		if j.Spec.TTLSecondsAfterFinished == nil {
			return false
		}
	}
	return true
}
