// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package replication

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/validation"
	decide "github.com/kopiur/kopiur/controller/internal/decide/replication"
	"github.com/kopiur/kopiur/controller/internal/decide/verify"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

// beside tells what is at work at the destination but the Job of this name: "" where nothing is. It asks the API server,
// once per start: a Job may be newer than the cache, and a pod goes on for a while when somebody deletes its Job. Callers
// hold the lock until their own Job is made, so that of two replications to one place the second sees the first.
func (r *Reconciler) beside(ctx context.Context, w decide.World, name string) (string, error) {
	who := []*kopiurv1.RepositoryReplication{w.Replication}
	for i := range w.Others {
		if o := &w.Others[i]; o.UID != w.Replication.UID && validation.SamePlace(w.Replication, o) {
			who = append(who, o)
		}
	}
	for _, o := range who {
		for _, operation := range []string{decide.Operation, verify.Operation} {
			other, err := r.atWork(ctx, w, o, operation, name)
			if other != "" || err != nil {
				return other, err
			}
		}
	}
	return "", nil
}

func (r *Reconciler) atWork(ctx context.Context, w decide.World, o *kopiurv1.RepositoryReplication, operation, name string) (string, error) {
	ours := client.MatchingLabels{
		kopiurv1.LabelManagedBy: kopiurv1.ManagedByValue, kopiurv1.LabelOperation: operation, kopiurv1.LabelOwnerUID: string(o.UID),
	}
	var jobs batchv1.JobList
	if err := r.Live.List(ctx, &jobs, client.InNamespace(o.Namespace), ours); err != nil {
		return "", fmt.Errorf("list the runs of replication %s/%s: %w", o.Namespace, o.Name, err)
	}
	var mine *batchv1.Job
	for i := range jobs.Items {
		j := &jobs.Items[i]
		switch {
		case o.UID == w.Replication.UID && j.Name == name:
			mine = j // made before, and not recorded
		case !moverjob.Over(j):
			return "Job " + j.Namespace + "/" + j.Name + " is at work at the destination", nil
		}
	}
	pod, err := moverjob.Outliving(ctx, r.Live, o.Namespace, o.UID, operation, mine)
	if err != nil || pod == nil {
		return "", err //nolint:wrapcheck // says what it did
	}
	if operation == verify.Operation && moverjob.Hangs(pod, r.ServerClock.Now()) {
		// It only reads, and nobody asks for its answer any more: no copy waits for a node that may never come back.
		return "", nil
	}
	return "pod " + pod.Namespace + "/" + pod.Name + " of an earlier run has not ended yet", nil
}
