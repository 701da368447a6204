// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package repository_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// maxWrites is more than one repository takes, from nothing to a recorded outcome and a retired Job.
const maxWrites = 8

// TestKilledAfterAnyWrite kills the controller after its first, second, … write. Whatever it did not live to learn, the
// next one finds: one Job, one mover, one outcome, counted once.
func TestKilledAfterAnyWrite(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		play     func(testenv.Call) testenv.Play
		phase    kopiurv1.RepositoryPhase
		reason   string
		failures int32
	}{
		"of a success":           {testenv.Succeed, kopiurv1.RepositoryReady, kopiurv1.ReasonReachable, 0},
		"of a permanent failure": {failing(work.CodeAuthFailure, "no"), kopiurv1.RepositoryFailed, "AuthFailure", 1},
	} {
		for n := 1; n <= maxWrites; n++ {
			t.Run(fmt.Sprintf("%s/%d", name, n), func(t *testing.T) {
				t.Parallel()
				env := testenv.New(t)
				env.Mover(tc.play)
				env.Create(secrets()...)
				r := nas()
				env.Create(r)

				kill := env.KillAfter(n)
				first := env.StartController()
				retired := func() bool {
					list := jobs(t, env, env.Namespace)
					return len(list) == 1 && list[0].Spec.TTLSecondsAfterFinished != nil
				}
				deadline := time.After(testenv.Wait)
				tick := time.NewTicker(testenv.Tick)
				defer tick.Stop()
			alive:
				for {
					select {
					case <-kill.Dead():
						break alive
					case <-tick.C:
						if retired() {
							break alive // it had fewer writes to do
						}
					case <-deadline:
						t.Fatalf("neither killed nor done after %v", kill.Writes())
					}
				}
				first.Stop()
				env.Spare()
				env.StartController()
				expect(t, env, r, tc.phase, tc.reason)
				require.EventuallyWithT(t, func(c *assert.CollectT) { assert.True(c, retired()) }, testenv.Wait, testenv.Tick)
				env.Get(r)
				assert.Len(t, env.Calls(), 1, "killed after %v", kill.Writes())
				if h := r.Status.Health; h != nil {
					assert.Equal(t, tc.failures, h.ConsecutiveProbeFailures, "an outcome is counted once")
				}
				env.Quiet(r, 500*time.Millisecond)
			})
		}
	}
}

// TestAProbeKilledAfterAnyWrite: a look that was asked for and found the store gone is made once and counted once,
// whatever the controller that made it did not live to learn. Its Job is the only one left.
func TestAProbeKilledAfterAnyWrite(t *testing.T) {
	t.Parallel()
	const most = 8
	for _, n := range testenv.KillPoints(most, 1, 2, 3, 4, 5) {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			t.Parallel()
			env := testenv.New(t)
			env.Create(secrets()...)
			obj := nas()
			r := &repository{Object: obj, spec: &obj.Spec, status: &obj.Status, home: env.Namespace}
			env.Create(obj)
			first := env.StartController()
			r.looked(t, env, 1)
			first.Stop()

			env.Mover(down)
			env.Annotate(obj, kopiurv1.AnnotationReverifyRequestedAt, time.Now().UTC().Format(time.RFC3339))
			kill := env.KillAfter(n)
			second := env.StartController()
			select {
			case <-kill.Dead():
			case <-time.After(8 * time.Second): // it had fewer writes to do
			}
			second.Stop()
			kill.Survives(t, n, most)
			env.Spare()
			env.StartController()
			r.looked(t, env, 2)
			env.Quiet(obj, 500*time.Millisecond)
			assert.Len(t, env.Calls(), 2, "killed after %v", kill.Writes())
			assert.Equal(t, int32(1), obj.Status.Health.ConsecutiveProbeFailures)
			assert.Equal(t, kopiurv1.RepositoryReady, obj.Status.Phase)
			assert.Empty(t, obj.Status.Health.ProbeAttemptAt)
		})
	}
}
