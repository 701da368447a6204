// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package verification_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// TestKilledAfterAnyWrite kills the controller after its first, second, … write of a verification. Whatever it did not live
// to learn, the next one finds: one mover, one outcome, and nothing that was restored stays.
func TestKilledAfterAnyWrite(t *testing.T) {
	t.Parallel()
	const most = 12
	for _, n := range testenv.KillPoints(most, 1, 2, 3, 5, 7, 8) {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			t.Parallel()
			v := deep()
			v.Deep.Check = &kopiurv1.DeepCheck{Image: "check"}
			l := newLab(t, v)
			first := l.StartController(l.clock.Decisions)
			l.backup("web")
			l.pinned()
			require.EventuallyWithT(t, func(c *assert.CollectT) {
				l.GetC(c, l.policy)
				require.NotEmpty(c, l.policy.Status.LastSuccessfulSnapshot)
			}, testenv.Wait, testenv.Tick)
			first.Stop()

			l.night()
			kill := l.KillAfter(n)
			second := l.StartController(l.clock.Decisions)
			select {
			case <-kill.Dead():
			case <-time.After(8 * time.Second): // it had fewer writes to do
			}
			second.Stop()
			kill.Survives(t, n, most)
			l.Spare()
			l.StartController(l.clock.Decisions)
			l.verified(metav1.ConditionTrue, kopiurv1.ReasonVerified)
			l.settled()
			assert.Len(t, l.runs(), 1, "killed after %v", kill.Writes())
			assert.Zero(t, l.policy.Status.VerificationRuns[0].ConsecutiveFailures)
			assert.Empty(t, l.jobs(l.Namespace))
			l.Quiet(l.policy, 500*time.Millisecond)
		})
	}
}
