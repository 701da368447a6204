// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package gates

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

// pooled are the operations that use a repository's bandwidth. Maintenance, deletion and verification are outside: what
// cures an overloaded repository must not queue behind what overloads it.
var pooled = map[string]bool{
	"snapshot": true, "streamSnapshot": true, "restore": true, "streamRestore": true, "replicate": true, "migrate": true,
}

// Occupies reports whether a Job uses its repository's bandwidth now.
func Occupies(j *batchv1.Job) bool {
	return pooled[j.Labels[kopiurv1.LabelOperation]] && (j.Spec.Suspend == nil || !*j.Spec.Suspend) && !moverjob.Over(j)
}

// Slot reports whether one more mover may copy from a repository: a copy reads from it for hours, and waits for its turn
// there as a backup does. limit is that of the whole cluster, 0 where there is none.
func Slot(ctx context.Context, c client.Reader, source moverjob.Repository, limit int) (Verdict, error) {
	own := 0
	if s := source.Spec.Concurrency; s != nil {
		own = int(s.MaxConcurrentJobs)
	}
	if own == 0 && limit == 0 {
		return open(kopiurv1.ReasonSucceeded, "no limit is set"), nil
	}
	var jobs batchv1.JobList
	if err := c.List(ctx, &jobs, client.UnsafeDisableDeepCopy); err != nil {
		return Verdict{}, fmt.Errorf("list the movers: %w", err)
	}
	here, all := 0, 0
	for i := range jobs.Items {
		j := &jobs.Items[i]
		if !Occupies(j) {
			continue
		}
		all++
		if j.Labels[kopiurv1.LabelRepositoryUID] == string(source.UID) {
			here++
		}
	}
	switch {
	case own > 0 && here >= own:
		return closed(kopiurv1.ReasonWaitingForSlot, "%s allows %d at a time (concurrency.maxConcurrentJobs)", source.Ref, own), nil
	case limit > 0 && all >= limit:
		return closed(kopiurv1.ReasonWaitingForSlot, "the controller allows %d at a time in the whole cluster (maxConcurrentJobs)", limit), nil
	default:
		return open(kopiurv1.ReasonSucceeded, "fewer movers are at work than may be"), nil
	}
}
