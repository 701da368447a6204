// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"fmt"
	"math"
	"time"

	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/mover/internal/backend"
	"github.com/kopiur/kopiur/mover/internal/engine"
)

// change maps what is asked for. What no repository could hold is refused here, before anything is written.
func change(p work.Parameters) (engine.Change, error) {
	var out engine.Change
	if e := p.Epoch; e != nil {
		for name, n := range map[string]int64{
			"minDuration": e.MinDurationSeconds, "refreshFrequency": e.RefreshFrequencySeconds, "advanceOnCount": e.AdvanceOnCount,
			"advanceOnSizeMiB": e.AdvanceOnSizeMiB, "checkpointFrequency": e.CheckpointFrequency, "deleteParallelism": e.DeleteParallelism,
		} {
			if n < 0 || n > math.MaxInt32 {
				return out, fmt.Errorf("%w: parameters.epoch.%s is %d", backend.ErrInvalidSpec, name, n)
			}
		}
		out.Epoch = engine.Epoch{
			MinDuration: duration(e.MinDurationSeconds), RefreshFrequency: duration(e.RefreshFrequencySeconds),
			AdvanceOnCount: int(e.AdvanceOnCount), AdvanceOnBytes: e.AdvanceOnSizeMiB << 20,
			CheckpointFrequency: int(e.CheckpointFrequency), DeleteParallelism: int(e.DeleteParallelism),
		}
	}
	if b := p.BlobRetention; b != nil {
		r := engine.BlobRetention{Period: duration(b.PeriodSeconds), Compliance: b.Mode == work.RetentionCompliance}
		switch b.Mode {
		case work.RetentionGovernance, work.RetentionCompliance:
			if b.PeriodSeconds <= 0 {
				return out, fmt.Errorf("%w: parameters.blobRetention has no period", backend.ErrInvalidSpec)
			}
		case work.RetentionDisabled:
			r = engine.BlobRetention{}
		default:
			return out, fmt.Errorf("%w: parameters.blobRetention knows no mode %q", backend.ErrInvalidSpec, b.Mode)
		}
		out.Retention = &r
	}
	return out, nil
}

func state(p engine.Parameters) *work.ParametersState {
	e := p.Epoch
	out := &work.ParametersState{Epoch: work.EpochState{
		Enabled: e.Enabled, MinDurationSeconds: whole(e.MinDuration), RefreshFrequencySeconds: whole(e.RefreshFrequency),
		AdvanceOnCount: int64(e.AdvanceOnCount), AdvanceOnSizeMiB: e.AdvanceOnBytes >> 20,
		CheckpointFrequency: int64(e.CheckpointFrequency), DeleteParallelism: int64(e.DeleteParallelism),
		CleanupSafetyMarginSeconds: whole(e.CleanupSafetyMargin),
	}}
	if r := p.Retention; r.Period > 0 {
		out.BlobRetention = &work.BlobRetentionState{Mode: work.RetentionGovernance, PeriodSeconds: whole(r.Period)}
		if r.Compliance {
			out.BlobRetention.Mode = work.RetentionCompliance
		}
	}
	return out
}

func duration(seconds int64) time.Duration {
	return time.Duration(min(seconds, work.MaxSeconds)) * time.Second
}

func whole(d time.Duration) int64 { return int64(d / time.Second) }
