// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package seed

import (
	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/decide/connect"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

// Fill puts the seed into the request of a Job: what the mover is to do, and where it reads from.
func Fill(r *moverjob.Request, source *moverjob.Repository) {
	s := r.Repository.Spec.Seed
	seed := &work.Seed{AllowEmptySource: s.AllowEmptySource}
	peer := &moverjob.Peer{Side: moverjob.Source}
	if b := s.From.Backend; b != nil {
		seed.Blob = &work.SeedBlob{}
		peer.Store, peer.Repository = true, moverjob.Repository{Spec: kopiurv1.RepositorySpec{Backend: *b}}
		if y := s.Sync; y != nil {
			if y.Parallel != nil {
				seed.Blob.Parallel = int(*y.Parallel)
			}
			if n := y.MaxDownloadSpeedBytesPerSecond; n > 0 {
				peer.Throttle = &kopiurv1.Throttle{DownloadBytesPerSecond: n}
			}
			if n := y.MaxUploadSpeedBytesPerSecond; n > 0 {
				own := kopiurv1.Throttle{}
				if d := r.Repository.Spec.MoverDefaults; d != nil && d.Throttle != nil {
					own = *d.Throttle
				}
				own.UploadBytesPerSecond = n
				peer.OwnThrottle = &own
			}
		}
	} else {
		seed.Migrate = &work.SeedMigrate{Create: connect.Creation(r.Repository.Spec)}
		if source != nil {
			peer.Repository = *source
		}
		if m := s.Migrate; m != nil {
			seed.Migrate.LatestOnly, seed.Migrate.Policies = m.LatestOnly, work.MigratePolicies(m.Policies)
			if m.Parallel != nil {
				seed.Migrate.Parallel = int(*m.Parallel)
			}
			if t := m.Throttle; t != nil {
				peer.Throttle, peer.OwnThrottle = t.Source, t.Destination
			}
		}
	}
	r.Operation, r.Peer = work.Operation{Seed: seed}, peer
	r.FailurePolicy, r.DefaultDeadlineSeconds = s.FailurePolicy, DeadlineSeconds
}
