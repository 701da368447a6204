// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package connect

import (
	"time"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
)

// Operation is what the mover of the next attempt is asked for.
func Operation(s kopiurv1.RepositorySpec, st kopiurv1.RepositoryStatus) work.Bootstrap {
	return work.Bootstrap{Create: creation(s, st), Parameters: parameters(s), Owner: ownership(s, st)}
}

// creation is what a repository is created with; nil forbids it. A repository whose id is pinned is never created
// again: the store that lost it would look like a new one, and the loss would go unnoticed (acceptance K-8).
func creation(s kopiurv1.RepositorySpec, st kopiurv1.RepositoryStatus) *work.Create {
	if st.UniqueID != "" || !s.CreateEnabled() || s.Mode == kopiurv1.ModeReadOnly {
		return nil
	}
	return new(Creation(s))
}

// Creation is what spec.create says of a new repository.
func Creation(s kopiurv1.RepositorySpec) work.Create {
	c := s.Create
	if c == nil {
		return work.Create{}
	}
	out := work.Create{Splitter: c.Splitter, Hash: c.Hash, Encryption: c.Encryption}
	if c.ECC != nil {
		out.ECCAlgorithm, out.ECCOverheadPercent = c.ECC.Algorithm, int(c.ECC.OverheadPercent)
	}
	return out
}

// parameters are those that the repository is to have; nil leaves all alone. The mover compares them with what the store
// has at every look, so that one that somebody changed is set again.
func parameters(s kopiurv1.RepositorySpec) *work.Parameters {
	p := s.Parameters
	if p == nil || (p.Epoch == nil && p.BlobRetention == nil) || s.Mode == kopiurv1.ModeReadOnly {
		return nil
	}
	out := &work.Parameters{}
	if e := p.Epoch; e != nil {
		out.Epoch = &work.Epoch{
			MinDurationSeconds: seconds(e.MinDuration), RefreshFrequencySeconds: seconds(e.RefreshFrequency),
			AdvanceOnCount: number(e.AdvanceOnCount), AdvanceOnSizeMiB: number(e.AdvanceOnSizeMiB),
			CheckpointFrequency: number(e.CheckpointFrequency), DeleteParallelism: number(e.DeleteParallelism),
		}
	}
	if b := p.BlobRetention; b != nil {
		switch {
		case b.Governance != nil:
			out.BlobRetention = &work.BlobRetention{Mode: work.RetentionGovernance, PeriodSeconds: seconds(b.Governance.Period)}
		case b.Compliance != nil:
			out.BlobRetention = &work.BlobRetention{Mode: work.RetentionCompliance, PeriodSeconds: seconds(b.Compliance.Period)}
		case b.Disabled != nil && *b.Disabled:
			out.BlobRetention = &work.BlobRetention{Mode: work.RetentionDisabled}
		}
	}
	return out
}

// ownership takes the maintenance over from whoever has it when this repository is connected to for the first time: an
// owner from before is most often a pod that is long gone, to which the maintenance would be left for ever (acceptance
// C-6, C-7). Later on it is never taken by a look. Where other clusters have names of their own in this repository, only
// one that has no owner, or this very client, is registered: another owner may be another cluster.
func ownership(s kopiurv1.RepositorySpec, st kopiurv1.RepositoryStatus) *work.OwnerRule {
	if st.MaintenanceOwner != nil || s.Mode == kopiurv1.ModeReadOnly {
		return nil
	}
	alone := s.IdentityDefaults == nil || s.IdentityDefaults.Cluster == ""
	return &work.OwnerRule{Anyone: alone}
}

// seconds of a duration; one that admission would have refused is left alone.
func seconds(d kopiurv1.Duration) int64 {
	v, err := d.Parse(0)
	if err != nil {
		return 0
	}
	return int64(v / time.Second)
}

func number(n *int32) int64 {
	if n == nil {
		return 0
	}
	return int64(*n)
}

// parametersOf is what the mover has read back from the store.
func parametersOf(s *work.ParametersState) *kopiurv1.ParametersStatus {
	if s == nil {
		return nil
	}
	e := s.Epoch
	out := &kopiurv1.ParametersStatus{Epoch: &kopiurv1.EpochStatus{
		Enabled: e.Enabled, MinDuration: length(e.MinDurationSeconds), RefreshFrequency: length(e.RefreshFrequencySeconds),
		AdvanceOnCount: e.AdvanceOnCount, AdvanceOnSizeMiB: e.AdvanceOnSizeMiB, CheckpointFrequency: e.CheckpointFrequency,
		DeleteParallelism: e.DeleteParallelism, CleanupSafetyMargin: length(e.CleanupSafetyMarginSeconds),
	}, BlobRetention: &kopiurv1.BlobRetentionStatus{}}
	if b := s.BlobRetention; b != nil {
		*out.BlobRetention = kopiurv1.BlobRetentionStatus{
			Enabled: b.Mode != work.RetentionDisabled, Mode: string(b.Mode), Period: length(b.PeriodSeconds),
		}
	}
	return out
}

func length(seconds int64) string { return (time.Duration(seconds) * time.Second).String() }

// ownerOf is whom the maintenance belongs to, and since when that is known.
func ownerOf(was *kopiurv1.RegisteredOwner, b work.BootstrapResult, now time.Time) *kopiurv1.RegisteredOwner {
	switch {
	case b.Owner == "":
		return was
	case was != nil && was.Owner == b.Owner:
		return was
	default:
		return &kopiurv1.RegisteredOwner{Owner: b.Owner, Since: stamp(now), Previous: b.PreviousOwner}
	}
}
