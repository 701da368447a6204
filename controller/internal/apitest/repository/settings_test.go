// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package repository_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/loop"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// TestParametersAndIndexBlobs: what the spec asks for reaches the mover, what the mover reads back reaches the status
// (C-10), and many index blobs are said without holding anybody back (C-6, C-8). The threshold follows the spec, the
// number the next look.
func TestParametersAndIndexBlobs(t *testing.T) {
	t.Parallel()
	bothKinds(t, func(t *testing.T, env *testenv.Env, r *repository) {
		t.Helper()
		env.Mover(func(c testenv.Call) testenv.Play {
			p := testenv.Succeed(c)
			if b := p.Result.Bootstrap; b != nil {
				b.Owner, b.IndexBlobCount, b.IndexBlobBytes = "kopiur@kopiur-here", 1448, 9<<20
				b.SnapshotCount, b.TotalBytes = 12, 5<<30
				b.Parameters = &work.ParametersState{Epoch: work.EpochState{Enabled: true, MinDurationSeconds: c.Spec.Operation.Bootstrap.Parameters.Epoch.MinDurationSeconds, AdvanceOnCount: 15}}
			}
			return p
		})
		r.spec.Parameters = &kopiurv1.ParametersSpec{Epoch: &kopiurv1.EpochParameters{MinDuration: "6h", AdvanceOnCount: new(int32(15)), AdvanceOnSizeMiB: new(int32(8))}}
		env.Create(r.Object)
		r.backup(env)
		env.StartController()
		r.expect(t, env, kopiurv1.RepositoryReady, kopiurv1.ReasonReachable)
		asked := env.Calls()[0].Spec.Operation.Bootstrap
		assert.Equal(t, work.Epoch{MinDurationSeconds: 21600, AdvanceOnCount: 15, AdvanceOnSizeMiB: 8}, *asked.Parameters.Epoch)
		assert.True(t, asked.Owner.Anyone)
		assert.Equal(t, "6h0m0s", r.status.Parameters.Epoch.MinDuration)
		assert.Equal(t, int64(15), r.status.Parameters.Epoch.AdvanceOnCount)
		assert.Equal(t, "kopiur@kopiur-here", r.status.MaintenanceOwner.Owner)
		assert.Equal(t, "5Gi", r.status.StorageStats.TotalSize)
		assert.Equal(t, int64(12), r.status.StorageStats.SnapshotCount)
		assert.Equal(t, kopiurv1.ReasonTooManyIndexBlobs, condition(r.status.Conditions, kopiurv1.ConditionIndexBlobHealth).Reason)
		hasGauge(t, env, r, "kopiur_repository_index_blobs", "Index blobs of a repository: each makes a connect slower.", "1448")
		s := snapshot("meanwhile")
		env.Create(s)
		expectSnapshot(t, env, s, kopiurv1.SnapshotSucceeded, kopiurv1.ReasonSnapshotSucceeded)

		env.Change(r.Object, func() { r.spec.Health = &kopiurv1.HealthSpec{IndexBlobWarnThreshold: new(int32(2000))} })
		require.EventuallyWithT(t, func(c *assert.CollectT) {
			env.GetC(c, r.Object)
			assert.True(c, loop.IsTrue(r.status.Conditions, kopiurv1.ConditionIndexBlobHealth))
			assert.Equal(c, int32(2), r.status.Job.Attempts)
			assert.NotEmpty(c, r.status.Job.FinishedAt)
		}, testenv.Wait, testenv.Tick)
		r.looked(t, env, 2)
		assert.Nil(t, env.Calls()[len(env.Calls())-1].Spec.Operation.Bootstrap.Owner, "the maintenance is taken over once, and never by a later look")
		env.Quiet(r.Object, time.Second)
	})
}
