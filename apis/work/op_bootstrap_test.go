// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package work_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kopiur/kopiur/apis/work"
)

func TestBootstrapGolden(t *testing.T) {
	t.Parallel()
	specGolden(t, "bootstrap-complete", work.Spec{RequestID: "u-5", Repository: repository(), Operation: work.Operation{Bootstrap: &work.Bootstrap{
		Parameters: &work.Parameters{
			Epoch: &work.Epoch{
				MinDurationSeconds: 3600, RefreshFrequencySeconds: 600, AdvanceOnCount: 20, AdvanceOnSizeMiB: 10,
				CheckpointFrequency: 7, DeleteParallelism: 4,
			},
			BlobRetention: &work.BlobRetention{Mode: work.RetentionGovernance, PeriodSeconds: 172800},
		},
		Owner:   &work.OwnerRule{Aliases: []string{"kopiur@old"}, Anyone: true},
		Keep:    []work.Identity{{Username: "web", Hostname: "apps", Path: "/pvc/data"}},
		Catalog: &work.Catalog{After: "2026-03-05T02:00:00.5Z"},
	}}})
	resultGolden(t, "bootstrap-complete", work.Result{Operation: "bootstrap", Code: work.CodeOK, Bootstrap: &work.BootstrapResult{
		UniqueID: "0011aabb", ConnectSeconds: 0.25, SnapshotCount: 4711, Unreadable: 1, TotalBytes: 99, IndexBlobCount: 2, IndexBlobBytes: 77,
		Owner: "kopiur@kopiur-apps-nas", PreviousOwner: "kopiur@old",
		Parameters: &work.ParametersState{
			Epoch: work.EpochState{
				Enabled: true, MinDurationSeconds: 3600, RefreshFrequencySeconds: 600, AdvanceOnCount: 20, AdvanceOnSizeMiB: 10,
				CheckpointFrequency: 7, DeleteParallelism: 4, CleanupSafetyMarginSeconds: 14400,
			},
			BlobRetention: &work.BlobRetentionState{Mode: work.RetentionGovernance, PeriodSeconds: 172800},
		},
		Catalog: &work.CatalogResult{Pages: 3, Entries: 120, Next: "2026-03-05T02:00:00.5Z"},
		Clock:   &work.Clock{Mover: at("2026-03-05T02:00:00Z"), Store: at("2026-03-05T02:07:00Z")},
	}})
}

func TestPageGolden(t *testing.T) {
	t.Parallel()
	e := work.Event{Type: work.EventPage, Time: at("2026-03-05T02:00:00Z"), Page: &work.Page{
		Number: 2, Cursor: "2026-03-05T02:00:00.5Z",
		Snapshots: []work.CatalogEntry{{
			SnapshotID: "aabb", Identity: work.Identity{Username: "web", Hostname: "apps", Path: "/pvc/data"},
			StartTime: at("2026-03-05T02:00:00Z"), EndTime: at("2026-03-05T02:00:09Z"), SizeBytes: 10, FileCount: 2,
			Description: "before the upgrade", Tags: map[string]string{"kopiur": "web"}, Pinned: true, FilesFailed: 1,
		}},
	}}
	b, err := work.EncodeEvent(e)
	require.NoError(t, err)
	golden(t, "event-page", []byte(strings.TrimSpace(string(b))))
	back, ok := work.DecodeEvent(b)
	require.True(t, ok)
	assert.Equal(t, e, back)
}
