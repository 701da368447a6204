// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package work_test

import (
	"testing"

	"github.com/kopiur/kopiur/apis/work"
)

var webData = work.Identity{Username: "web", Hostname: "apps", Path: "/pvc/data"}

func TestPinGolden(t *testing.T) {
	t.Parallel()
	specGolden(t, "pin", work.Spec{RequestID: "u-7", Repository: repository(), Operation: work.Operation{Pin: &work.Pin{
		Snapshot: work.SnapshotKey{SnapshotID: "aabb", Identity: webData, StartTime: at("2026-03-05T02:00:00Z")}, Pinned: true,
	}}})
	resultGolden(t, "pin", work.Result{Operation: "pin", Code: work.CodeOK, Pin: &work.PinResult{
		SnapshotID: "ccdd", StartTime: at("2026-03-05T02:00:00Z"), Pinned: true, Changed: true, OtherPins: 1,
	}})
}

func TestVerifyGolden(t *testing.T) {
	t.Parallel()
	specGolden(t, "verify-quick", work.Spec{RequestID: "u-8", Repository: repository(), Operation: work.Operation{Verify: &work.Verify{
		Identities: []work.Identity{webData},
		Quick:      &work.QuickVerify{FilesPercent: 5, Parallel: 8, FileParallelism: 4, FileQueueLength: 1000, MaxErrors: 3},
	}}})
	specGolden(t, "verify-deep", work.Spec{RequestID: "u-9", Repository: repository(), Operation: work.Operation{Verify: &work.Verify{
		Snapshot: &work.SnapshotKey{SnapshotID: "aabb", Identity: webData, StartTime: at("2026-03-05T02:00:00Z")},
		Deep:     &work.DeepVerify{ScratchPath: work.ScratchDir, Parallel: 4, Keep: true},
	}}})
	specGolden(t, "verify-replica", work.Spec{RequestID: "u-12", Repository: repository(), Operation: work.Operation{Verify: &work.Verify{
		All: true, MinBlobs: 27000, Quick: &work.QuickVerify{FilesPercent: 10}, Deep: &work.DeepVerify{ScratchPath: work.ScratchDir, FitPercent: 50},
	}}})
	snapshot := &work.VerifiedSnapshot{SnapshotID: "aabb", Identity: webData, StartTime: at("2026-03-05T02:00:00Z"), EndTime: at("2026-03-05T02:00:09Z")}
	resultGolden(t, "verify-quick", work.Result{Operation: "verify", Code: work.CodeVerificationFailed, Message: "1 of 20 files is damaged", Verify: &work.VerifyResult{
		Tier: work.TierQuick, Snapshot: snapshot, Snapshots: 3, Files: 20, Bytes: 200, Errors: 1, FilesRead: 2, BytesRead: 20,
		Faults: []work.EntryFault{{Path: "web@apps:/pvc/data@2026-03-05T02:00:00Z/a", Reason: "a blob is missing"}},
	}})
	resultGolden(t, "verify-deep", work.Result{Operation: "verify", Code: work.CodeOK, Verify: &work.VerifyResult{
		Tier: work.TierDeep, Snapshot: snapshot, Snapshots: 1, Files: 20, Bytes: 200,
		Restored: &work.VerifiedRestore{Files: 20, Bytes: 200, ChecksumMatches: true},
	}})
}

func TestMaintainGolden(t *testing.T) {
	t.Parallel()
	specGolden(t, "maintain", work.Spec{RequestID: "u-10", Repository: repository(), Operation: work.Operation{Maintain: &work.Maintain{
		Mode: work.MaintenanceFull, Owner: &work.OwnerRule{Aliases: []string{"kopiur@old"}}, FullIntervalSeconds: 86400,
	}}})
	resultGolden(t, "maintain", work.Result{Operation: "maintain", Code: work.CodeOK, Maintain: &work.MaintainResult{
		Mode: work.MaintenanceFull, Owner: "kopiur@kopiur-apps-nas", PreviousOwner: "kopiur@old",
		Waiting: &work.Reclaim{
			Reason: work.ReclaimSecondCycle, Bytes: 400, At: at("2026-03-08T02:00:00Z"), Message: "400 bytes wait for a second cycle",
		},
		NextQuick: at("2026-03-05T03:00:00Z"), NextFull: at("2026-03-06T02:00:00Z"), IndexBlobCount: 12, IndexBlobBytes: 3400, Epoch: new(int64(7)),
	}})
	resultGolden(t, "maintain-yield", work.Result{Operation: "maintain", Code: work.CodeLeaseHeldByOther, Message: "maintenance belongs to root@laptop", Maintain: &work.MaintainResult{
		Mode: work.MaintenanceFull, Owner: "root@laptop",
	}})
}
