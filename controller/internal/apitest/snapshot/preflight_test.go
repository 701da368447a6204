// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// TestPreflightHeals: a run waits for the policy's checks, says which one, and starts when they hold.
func TestPreflightHeals(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.policy.Spec.Preflight = &kopiurv1.Preflight{Checks: []kopiurv1.PreflightCheck{
		{Name: "gold", Expr: `"tier" in namespaceLabels && namespaceLabels["tier"] == "gold"`, Message: "only gold namespaces are backed up"},
		{Name: "up", Expr: `pods.exists(p, p.labels["app"] == "db")`, Message: "the database must be there"},
	}}
	clock := l.NewTime()
	l.SetClock(clock)
	l.create()
	l.StartController(clock.Decisions)
	c := l.waits(kopiurv1.ConditionReady, metav1.ConditionFalse, kopiurv1.ReasonPreflightFailed)
	assert.Equal(t, "check gold: only gold namespaces are backed up", c.Message)
	since := l.snapshot.Status.PreflightSince
	assert.NotEmpty(t, since)
	l.atRest()

	l.Label(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: l.Namespace}}, "tier", "gold")
	clock.Step(31e9)
	l.until(func(c *assert.CollectT, s *kopiurv1.Snapshot) {
		assert.Equal(c, "check up: the database must be there", condition(s, kopiurv1.ConditionReady).Message)
		assert.Equal(c, since, s.Status.PreflightSince, "the wait began with the first check")
	})
	l.Create(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "db-0", Labels: map[string]string{"app": "db"}},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "db", Image: "db"}},
			Volumes:    []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}},
		},
	})
	clock.Step(31e9)
	l.succeeds()
	assert.Empty(t, l.snapshot.Status.PreflightSince)
}

// TestPreflightGivesUp: after the policy's timeout the run fails, and a changed Snapshot is tried again.
func TestPreflightGivesUp(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.policy.Spec.Preflight = &kopiurv1.Preflight{Timeout: "5m", Checks: []kopiurv1.PreflightCheck{{Name: "never", Expr: `pvc.bytes > 1e15`}}}
	l.snapshot.Spec.FailurePolicy = &kopiurv1.FailurePolicy{PodStartupDeadlineSeconds: new(int64(3600))} // pods are as old as the API server says
	clock := l.NewTime()
	l.SetClock(clock)
	l.create()
	l.StartController(clock.Decisions)
	l.waits(kopiurv1.ConditionReady, metav1.ConditionFalse, kopiurv1.ReasonPreflightFailed)
	clock.Step(301e9)
	l.waits(kopiurv1.ConditionStalled, metav1.ConditionTrue, kopiurv1.ReasonPreflightFailed)
	assert.Equal(t, kopiurv1.SnapshotFailed, l.snapshot.Status.Phase)
	assert.Empty(t, l.jobs())
	l.Change(l.policy, func() { l.policy.Spec.Preflight.Checks[0].Expr = `pvc.bytes > 0` })
	l.Change(l.snapshot, func() { l.snapshot.Spec.Description = "again" })
	l.succeeds()
}

// K-2: a source that lost its files is a success that nobody overlooks.
func TestShrunkSourceK2(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.onSnapshot(func(c testenv.Call, n int32) testenv.Play {
		p := testenv.Succeed(c)
		p.Result.Snapshot.FileCount = map[int32]int64{1: 1000, 2: 900, 3: 0, 4: 0}[n]
		// An hour between the runs: on a fast machine they end in one and the same second.
		later := time.Duration(n) * time.Hour
		p.Result.StartTime, p.Result.EndTime = p.Result.StartTime.Add(later), p.Result.EndTime.Add(later)
		return p
	})
	l.create()
	l.StartController()
	for i, want := range []metav1.ConditionStatus{"", "", metav1.ConditionTrue, ""} {
		if i > 0 {
			l.snapshot = &kopiurv1.Snapshot{ObjectMeta: metav1.ObjectMeta{Name: "run-" + string(rune('0'+i))}, Spec: *l.snapshot.Spec.DeepCopy()}
			l.Create(l.snapshot)
		}
		l.succeeds()
		c := condition(l.snapshot, kopiurv1.ConditionSourceShrunk)
		require.Equal(t, want, c.Status, "run %d: %+v", i, l.snapshot.Status.Stats)
		if want != "" {
			assert.Contains(t, c.Message, "has 0 files and had 900")
		}
	}
}
