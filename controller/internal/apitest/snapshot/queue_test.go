// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// queued stands for the webhook of a queueing controller, which suspends every Job of a backup when it is created.
type queued struct{ client.Client }

func (q *queued) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	if job, ok := obj.(*batchv1.Job); ok && job.Labels[kopiurv1.LabelOperation] == "snapshot" {
		job.Spec.Suspend = new(true)
	}
	return q.Client.Create(ctx, obj, opts...)
}

// TestASuspendedJobIsWaitedFor: a queueing controller holds the Job back, for hours. That is no failure, and the backup runs
// when the Job is let go.
func TestASuspendedJobIsWaitedFor(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	clk := l.NewTime()
	l.WrapClient(func(c client.Client) client.Client { return &queued{c} })
	l.create()
	l.StartController(clk.Everything)
	l.until(func(c *assert.CollectT, s *kopiurv1.Snapshot) {
		assert.Contains(c, condition(s, kopiurv1.ConditionReady).Message, "suspended")
	})
	for range 5 {
		clk.Step(time.Hour)
		l.atWait(t)
	}
	jobs := l.jobs()
	require.Len(t, jobs, 1)
	clk.Step(-5 * time.Hour) // what starts now has the API server's time
	l.Change(&jobs[0], func() { jobs[0].Spec.Suspend = new(false) })
	l.succeeds()
	assert.Len(t, l.runs(), 1)
}

// atWait proves that the Snapshot still waits for its mover.
func (l *lab) atWait(t *testing.T) {
	t.Helper()
	l.Get(l.snapshot)
	l.Quiet(l.snapshot, 300*time.Millisecond)
	assert.Equal(t, kopiurv1.SnapshotPending, l.snapshot.Status.Phase)
	assert.Equal(t, kopiurv1.ReasonMoverStarting, condition(l.snapshot, kopiurv1.ConditionReady).Reason)
	assert.Equal(t, metav1.ConditionFalse, condition(l.snapshot, kopiurv1.ConditionStalled).Status)
}
