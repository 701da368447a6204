// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package restore_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// outage is a store that is out of reach in one phase of a restore.
type outage struct {
	target func(*kopiurv1.RestoreSpec)
	// down are the movers that find no store. Early: before the repository was connected to for the first time.
	down  []string
	early bool
	// befall waits until it has happened to a Restore, and checks what is said of it.
	befall func(*world, *kopiurv1.Restore)
	// over is what brings it back, besides the store.
	over func(*world, *kopiurv1.Restore)
	// asked is how often the repository was asked which snapshot is meant, when all is over; 0 where that may vary.
	asked int
}

// unreachable plays a store that some movers do not reach; all others succeed.
func (w *world) unreachable(ops ...string) {
	w.Mover(func(c testenv.Call) testenv.Play {
		if slices.Contains(ops, c.Spec.Operation.Name()) {
			return testenv.Fail(c, work.CodeRepositoryUnavailable, "the store did not answer")
		}
		return testenv.Succeed(c)
	})
}

// probed has the repository looked at by a change of its Secret.
func probed(w *world, _ *kopiurv1.Restore) { w.Touch(w.Secret) }

// edited changes something in the spec that changes nothing here.
func edited(w *world, r *kopiurv1.Restore) {
	w.update(r, func() { r.Spec.FailurePolicy.ActiveDeadlineSeconds = new(int64(7200)) })
}

var outages = map[string]outage{
	"before it was ever reached": {
		down: []string{"bootstrap"}, early: true,
		befall: func(w *world, r *kopiurv1.Restore) {
			w.until(r, kopiurv1.ConditionRepositoryReady, metav1.ConditionFalse, kopiurv1.ReasonRepositoryNotReady)
			assert.Equal(w.T, kopiurv1.RestorePending, r.Status.Phase)
			assert.Empty(w.T, w.jobsOf(r))
		},
		over: probed, asked: 1,
	},
	"while it is asked": {
		down: []string{"resolve"},
		befall: func(w *world, r *kopiurv1.Restore) {
			w.until(r, kopiurv1.ConditionResolved, metav1.ConditionUnknown, kopiurv1.ReasonResolutionUnknown)
			assert.Equal(w.T, kopiurv1.RestoreResolving, r.Status.Phase)
			began, err := time.Parse(time.RFC3339, r.Status.WaitStartedAt)
			require.NoError(w.T, err)
			// policy.waitTimeout is over, which is for snapshots that are not there yet; then it is asked once more.
			require.Eventually(w.T, func() bool { return time.Since(began) > 2*time.Second }, testenv.Wait, testenv.Tick)
			asked := len(w.CallsOf("resolve"))
			w.update(r, func() { r.Spec.FailurePolicy.BackoffLimit = new(int32(2)) })
			require.EventuallyWithT(w.T, func(c *assert.CollectT) {
				w.GetC(c, r)
				require.Greater(c, len(w.CallsOf("resolve")), asked)
				require.Equal(c, r.Generation, r.Status.Job.Generation)
				require.NotEmpty(c, r.Status.Job.EndedAt)
			}, testenv.Wait, testenv.Tick)
			w.until(r, kopiurv1.ConditionResolved, metav1.ConditionUnknown, kopiurv1.ReasonResolutionUnknown)
			assert.Equal(w.T, metav1.ConditionTrue, conditionOf(r, kopiurv1.ConditionReconciling).Status)
		},
		over: edited,
	},
	"between the answer and the writing": {
		target: into("late"),
		befall: func(w *world, r *kopiurv1.Restore) {
			w.until(r, kopiurv1.ConditionTargetAvailable, metav1.ConditionFalse, kopiurv1.ReasonTargetPVCMissing)
			w.unreachable("bootstrap", "resolve", "restore")
			probed(w, r)
			w.until(r, kopiurv1.ConditionRepositoryReady, metav1.ConditionFalse, kopiurv1.ReasonRepositoryNotReady)
			w.claim("late")
			w.rests(r)
			assert.Empty(w.T, w.CallsOf("restore"), "no mover is sent to a store that is known to be out of reach")
			assert.Equal(w.T, "kfound", r.Status.Resolved.KopiaSnapshotID)
		},
		over: probed, asked: 1,
	},
	"while it is written": {
		down: []string{"restore"},
		befall: func(w *world, r *kopiurv1.Restore) {
			w.until(r, kopiurv1.ConditionStalled, metav1.ConditionTrue, kopiurv1.ReasonRestoreFailed)
			assert.Len(w.T, w.CallsOf("restore"), 2, "as often as failurePolicy.backoffLimit says")
			assert.Equal(w.T, kopiurv1.RestoreFailed, r.Status.Phase)
			assert.Equal(w.T, string(work.CodeRepositoryUnavailable), r.Status.Failure.KopiaErrorClass)
			assert.True(w.T, r.Status.Failure.RetryRecommended)
			w.rests(r)
		},
		over: edited, asked: 1,
	},
}

// K-1: a repository is out of reach in each phase of a restore, with each answer to a missing snapshot. It waits, or fails
// as failurePolicy says; it is never taken for one without snapshots, and the same snapshot comes back afterwards.
func TestOutOfReachInEveryPhaseK1(t *testing.T) {
	t.Parallel()
	for phase, tc := range outages {
		for _, missing := range []kopiurv1.OnMissingSnapshot{kopiurv1.OnMissingContinue, kopiurv1.OnMissingFail} {
			t.Run(phase+"/"+string(missing), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.update(w.Repository, func() {
					w.Repository.Spec.Health = &kopiurv1.HealthSpec{Probe: &kopiurv1.HealthProbe{FailureThreshold: new(int32(1))}}
				})
				if tc.early {
					w.unreachable(tc.down...)
					w.StartController()
				} else {
					w.begin()
					w.unreachable(tc.down...)
				}
				r := w.restore(fromPolicy, func(s *kopiurv1.RestoreSpec) {
					s.Policy = &kopiurv1.RestorePolicy{OnMissingSnapshot: missing, WaitTimeout: "1s"}
					s.FailurePolicy = &kopiurv1.FailurePolicy{BackoffLimit: new(int32(1))}
					if tc.target != nil {
						tc.target(s)
					}
				})
				tc.befall(w, r)
				assert.NotEqual(t, kopiurv1.RestoreCompleted, r.Status.Phase)
				if p := r.Status.Resolved; p != nil {
					assert.Equal(t, kopiurv1.ResolutionSnapshot, p.Resolution, "never: there is none")
				} else {
					w.noClaim("data-new")
				}

				w.Mover(testenv.Succeed)
				tc.over(w, r)
				w.untilReady(r)
				assert.Equal(t, "kfound", r.Status.Resolved.KopiaSnapshotID)
				assert.Nil(t, r.Status.Failure)
				if tc.asked > 0 {
					assert.Len(t, w.CallsOf("resolve"), tc.asked)
				}
				w.rests(r)
			})
		}
	}
}
