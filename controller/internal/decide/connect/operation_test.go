// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package connect_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/decide/connect"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

type (
	spec   = kopiurv1.RepositorySpec
	status = kopiurv1.RepositoryStatus
)

// K-8: when a mover may create a repository.
func TestCreation(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		spec   spec
		status status
		want   *work.Create
	}{
		"a new one":                       {spec{}, status{}, &work.Create{}},
		"with the algorithms of the spec": {spec{Create: &kopiurv1.CreateSpec{Hash: "BLAKE3-256", ECC: &kopiurv1.ECCSpec{Algorithm: "REED-SOLOMON-CRC32", OverheadPercent: 2}}}, status{}, &work.Create{Hash: "BLAKE3-256", ECCAlgorithm: "REED-SOLOMON-CRC32", ECCOverheadPercent: 2}},
		"not where it is forbidden":       {spec{Create: &kopiurv1.CreateSpec{Enabled: new(false)}}, status{}, nil},
		"not where nothing is written":    {spec{Mode: kopiurv1.ModeReadOnly}, status{}, nil},
		"never once it was known":         {spec{}, status{UniqueID: "aa"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tc.want, connect.Operation(tc.spec, tc.status).Create)
		})
	}
}

// C-10: which parameters the mover is asked for.
func TestParameters(t *testing.T) {
	t.Parallel()
	epoch := &kopiurv1.EpochParameters{
		MinDuration: "6h", RefreshFrequency: "10m", AdvanceOnCount: new(int32(15)), AdvanceOnSizeMiB: new(int32(8)),
		CheckpointFrequency: new(int32(5)), DeleteParallelism: new(int32(2)),
	}
	for name, tc := range map[string]struct {
		in   *kopiurv1.ParametersSpec
		mode kopiurv1.RepositoryMode
		want *work.Parameters
	}{
		"none":                                   {nil, "", nil},
		"nothing of them":                        {&kopiurv1.ParametersSpec{}, "", nil},
		"every one of an epoch":                  {&kopiurv1.ParametersSpec{Epoch: epoch}, "", &work.Parameters{Epoch: &work.Epoch{MinDurationSeconds: 21600, RefreshFrequencySeconds: 600, AdvanceOnCount: 15, AdvanceOnSizeMiB: 8, CheckpointFrequency: 5, DeleteParallelism: 2}}},
		"what is left out is left alone":         {&kopiurv1.ParametersSpec{Epoch: &kopiurv1.EpochParameters{AdvanceOnCount: new(int32(15))}}, "", &work.Parameters{Epoch: &work.Epoch{AdvanceOnCount: 15}}},
		"a duration nobody can read is too":      {&kopiurv1.ParametersSpec{Epoch: &kopiurv1.EpochParameters{MinDuration: "soon"}}, "", &work.Parameters{Epoch: &work.Epoch{}}},
		"a lock that can be lifted":              {&kopiurv1.ParametersSpec{BlobRetention: &kopiurv1.BlobRetention{Governance: &kopiurv1.RetentionPeriod{Period: "720h"}}}, "", &work.Parameters{BlobRetention: &work.BlobRetention{Mode: work.RetentionGovernance, PeriodSeconds: 2592000}}},
		"one that cannot":                        {&kopiurv1.ParametersSpec{BlobRetention: &kopiurv1.BlobRetention{Compliance: &kopiurv1.RetentionPeriod{Period: "24h"}}}, "", &work.Parameters{BlobRetention: &work.BlobRetention{Mode: work.RetentionCompliance, PeriodSeconds: 86400}}},
		"no lock any more":                       {&kopiurv1.ParametersSpec{BlobRetention: &kopiurv1.BlobRetention{Disabled: new(true)}}, "", &work.Parameters{BlobRetention: &work.BlobRetention{Mode: work.RetentionDisabled}}},
		"none where nothing is written":          {&kopiurv1.ParametersSpec{Epoch: epoch}, kopiurv1.ModeReadOnly, nil},
		"a lock that says nothing asks for none": {&kopiurv1.ParametersSpec{BlobRetention: &kopiurv1.BlobRetention{}}, "", &work.Parameters{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tc.want, connect.Operation(spec{Parameters: tc.in, Mode: tc.mode}, status{}).Parameters)
		})
	}
}

// C-6, C-7: from whom the maintenance is taken over.
func TestOwnership(t *testing.T) {
	t.Parallel()
	shared := spec{IdentityDefaults: &kopiurv1.IdentityDefaults{Cluster: "east"}}
	for name, tc := range map[string]struct {
		spec   spec
		status status
		want   *work.OwnerRule
	}{
		"from anyone at the first connect":                {spec{}, status{}, &work.OwnerRule{Anyone: true}},
		"of a repository that another release knows":      {spec{}, status{UniqueID: "aa"}, &work.OwnerRule{Anyone: true}},
		"from nobody at a later look":                     {spec{}, status{MaintenanceOwner: &kopiurv1.RegisteredOwner{Owner: "somebody@else"}}, nil},
		"from nobody but oneself where clusters share it": {shared, status{}, &work.OwnerRule{}},
		"from nobody where nothing is written":            {spec{Mode: kopiurv1.ModeReadOnly}, status{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tc.want, connect.Operation(tc.spec, tc.status).Owner)
		})
	}
}

// found is a look that ended well with this result.
func found(b work.BootstrapResult) option {
	b.UniqueID = "aa"
	return ended(moverjob.Outcome{State: moverjob.Finished, Terminal: true, Result: &work.Result{Code: work.CodeOK, Bootstrap: &b}})
}

func TestWhatALookFindsIsShown(t *testing.T) {
	t.Parallel()
	in := given(was(kopiurv1.RepositoryReady, time.Hour, 0), found(work.BootstrapResult{
		ConnectSeconds: 1.2, SnapshotCount: 12, TotalBytes: 5 << 30, IndexBlobCount: 31, IndexBlobBytes: 9 << 20,
		Owner: "kopiur@kopiur-apps-nas", PreviousOwner: "root@pod-7f3a",
		Parameters: &work.ParametersState{
			Epoch:         work.EpochState{Enabled: true, MinDurationSeconds: 21600, RefreshFrequencySeconds: 1200, AdvanceOnCount: 15, AdvanceOnSizeMiB: 8, CheckpointFrequency: 7, DeleteParallelism: 4, CleanupSafetyMarginSeconds: 14400},
			BlobRetention: &work.BlobRetentionState{Mode: work.RetentionGovernance, PeriodSeconds: 2592000},
		},
	}))
	p := connect.Decide(in, now)
	at := now.Format(time.RFC3339)
	assert.Equal(t, kopiurv1.StorageStats{SnapshotCount: 12, TotalSize: "5Gi", TotalSizeBytes: 5 << 30, IndexBlobCount: 31, LastObservedAt: at}, *p.Status.StorageStats)
	assert.Equal(t, kopiurv1.RepositoryHealth{ConnectSeconds: 2, IndexBytes: 9 << 20, LastHealthyAt: at, LastProbeAt: at}, *p.Status.Health)
	assert.Equal(t, kopiurv1.ParametersStatus{
		Epoch:         &kopiurv1.EpochStatus{Enabled: true, MinDuration: "6h0m0s", RefreshFrequency: "20m0s", AdvanceOnCount: 15, AdvanceOnSizeMiB: 8, CheckpointFrequency: 7, DeleteParallelism: 4, CleanupSafetyMargin: "4h0m0s"},
		BlobRetention: &kopiurv1.BlobRetentionStatus{Enabled: true, Mode: "governance", Period: "720h0m0s"},
	}, *p.Status.Parameters)
	assert.Equal(t, kopiurv1.RegisteredOwner{Owner: "kopiur@kopiur-apps-nas", Since: at, Previous: "root@pod-7f3a"}, *p.Status.MaintenanceOwner)

	later := given(found(work.BootstrapResult{Owner: "kopiur@kopiur-apps-nas"}))
	later.Status = p.Status
	again := connect.Decide(later, now.Add(time.Hour))
	assert.Equal(t, p.Status.MaintenanceOwner, again.Status.MaintenanceOwner, "the owner is as old as it is")
	assert.Equal(t, p.Status.Parameters, again.Status.Parameters, "a mover that reads none back proves nothing")
}

// C-8: many index blobs are said, and hold back nobody.
func TestIndexBlobHealth(t *testing.T) {
	t.Parallel()
	limit := func(n int32) option {
		return func(in *connect.Input) { in.Spec.Health = &kopiurv1.HealthSpec{IndexBlobWarnThreshold: &n} }
	}
	counted := func(n int64) option {
		return func(in *connect.Input) {
			in.Status.StorageStats = &kopiurv1.StorageStats{IndexBlobCount: n, LastObservedAt: ago(time.Minute)}
		}
	}
	ready := was(kopiurv1.RepositoryReady, time.Minute, 0)
	for name, tc := range map[string]struct {
		in   connect.Input
		want metav1.ConditionStatus
	}{
		"as many as are allowed":               {given(ready, counted(1000)), metav1.ConditionTrue},
		"one more":                             {given(ready, counted(1001)), metav1.ConditionFalse},
		"more than the spec says":              {given(ready, counted(51), limit(50)), metav1.ConditionFalse},
		"a threshold that was raised":          {given(ready, counted(1448), limit(2000)), metav1.ConditionTrue},
		"0 switches it off":                    {given(ready, counted(90_000), limit(0)), ""},
		"never counted, nothing known":         {given(ready), ""},
		"a degraded one, as counted last":      {given(was(kopiurv1.RepositoryDegraded, time.Minute, 3), counted(1448)), metav1.ConditionFalse},
		"what the look that just ended counts": {given(ready, found(work.BootstrapResult{IndexBlobCount: 4053})), metav1.ConditionFalse},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := connect.Decide(tc.in, now)
			got := connect.Condition{}
			for _, c := range p.Conditions {
				if c.Type == kopiurv1.ConditionIndexBlobHealth {
					got = c
				}
			}
			assert.Equal(t, tc.want, got.Status)
			assert.Equal(t, tc.in.Status.Phase, p.Status.Phase, "nobody is held back")
			if tc.want == metav1.ConditionFalse {
				require.Equal(t, kopiurv1.ReasonTooManyIndexBlobs, got.Reason)
				assert.Contains(t, got.Message, "maintenance")
			}
		})
	}
}
