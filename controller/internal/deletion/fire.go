// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/breaker"
	"github.com/kopiur/kopiur/controller/internal/decide/deletion"
	"github.com/kopiur/kopiur/controller/internal/loop"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

// fire makes the next Job, if there is one to make. The duration is when to look again; zero is when something changes.
func (r *Reconciler) fire(ctx context.Context, repo moverjob.Repository) (time.Duration, error) {
	pending, err := Pending(ctx, r.Client, repo.Ref)
	if err != nil || len(pending) == 0 {
		return 0, err
	}
	set, after := deletion.Compose(eligible(repo, pending), r.ServerClock.Now(), r.Clock.Now())
	if len(set) == 0 {
		return after, nil
	}
	gate, err := r.Gate(ctx, repo)
	if err != nil {
		return 0, err
	}
	if !gate.Open {
		return settle, nil
	}
	if room, err := r.room(ctx); err != nil || !room {
		return settle, err
	}
	return r.launch(ctx, repo.Ref, pending, set)
}

// eligible are the Snapshots that may be members, as far as the cache says. Everything counts, and only this is fired:
// one that is missing here comes to it later, one too many would be deleted.
func eligible(repo moverjob.Repository, pending []kopiurv1.Snapshot) []deletion.Candidate {
	verdict := Breaker(repo, pending)
	var out []deletion.Candidate
	for i := range pending {
		if s := &pending[i]; fires(s, repo, verdict) {
			out = append(out, deletion.CandidateOf(s))
		}
	}
	return out
}

// fires is what a Snapshot itself has to fulfil.
func fires(s *kopiurv1.Snapshot, repo moverjob.Repository, verdict breaker.Verdict) bool {
	ref := deletion.RepositoryOf(s)
	return deletion.Counts(s) && s.Status.Snapshot != nil && ref != nil && *ref == repo.Ref && !verdict.Holds(deletion.MemberOf(s))
}

// room reports whether the cap over all repositories allows one more Job.
func (r *Reconciler) room(ctx context.Context) (bool, error) {
	if r.MaxDeleteJobs <= 0 {
		return true, nil
	}
	var list batchv1.JobList
	if err := r.Client.List(ctx, &list, client.MatchingLabels{
		kopiurv1.LabelManagedBy: kopiurv1.ManagedByValue, kopiurv1.LabelOperation: kopiurv1.OperationSnapshotDelete,
	}, client.UnsafeDisableDeepCopy); err != nil {
		return false, fmt.Errorf("count the jobs that delete: %w", err)
	}
	return len(list.Items) < r.MaxDeleteJobs, nil
}

// launch makes the Job from what the API server itself says. The caches have only said whom to ask about.
func (r *Reconciler) launch(ctx context.Context, ref kopiurv1.RepositoryRef, pending []kopiurv1.Snapshot, set []deletion.Candidate) (time.Duration, error) {
	look := r.Live()
	repo, presence, err := look.Repository(ctx, ref)
	if err != nil || presence != deletion.Present {
		return cacheLag, err
	}
	verdict := Breaker(*repo, pending)
	now, err := r.again(ctx, set)
	if err != nil {
		return 0, err
	}
	var members []kopiurv1.Snapshot
	for i, c := range set {
		ok, err := r.confirm(ctx, look, *repo, verdict, c, now[i])
		if err != nil {
			return 0, err
		}
		if ok {
			members = append(members, *now[i])
		}
	}
	if len(members) == 0 {
		return settle, nil
	}
	// One Job at a time: the cache may not have the one that was just made.
	running, err := jobs(ctx, r.Deps.Live, *repo)
	if err != nil {
		return 0, err
	}
	if len(running) > 0 {
		return cacheLag, nil
	}
	return r.create(ctx, *repo, members)
}

// again reads the members past the cache. What is not there is nil.
func (r *Reconciler) again(ctx context.Context, set []deletion.Candidate) ([]*kopiurv1.Snapshot, error) {
	out := make([]*kopiurv1.Snapshot, len(set))
	err := loop.Each(ctx, len(set), func(ctx context.Context, i int) error {
		var s kopiurv1.Snapshot
		err := r.Deps.Live.Get(ctx, client.ObjectKey{Namespace: set[i].Namespace, Name: set[i].Name}, &s)
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case err != nil:
			return fmt.Errorf("get snapshot %s/%s: %w", set[i].Namespace, set[i].Name, err)
		}
		out[i] = &s
		return nil
	})
	return out, err //nolint:wrapcheck // says what it did
}

// confirm judges one member as it is now, by all that its data depends on. It is false where it may not go now.
func (r *Reconciler) confirm(ctx context.Context, look *Look, repo moverjob.Repository, verdict breaker.Verdict, c deletion.Candidate, s *kopiurv1.Snapshot) (bool, error) {
	if s == nil || s.UID != c.UID || !fires(s, repo, verdict) {
		return false, nil
	}
	facts, _, err := look.Facts(ctx, s)
	if err != nil {
		return false, err
	}
	v := deletion.Decide(facts)
	return v.Policy == kopiurv1.DeletionDelete && !v.Prove, nil
}

// create makes the Job. The name of the set is a lock: the same members never go twice.
func (r *Reconciler) create(ctx context.Context, repo moverjob.Repository, members []kopiurv1.Snapshot) (time.Duration, error) {
	job, err := buildFitting(r.Deps, repo, members)
	if err != nil {
		return 0, err
	}
	err = r.Client.Create(ctx, job)
	switch {
	case apierrors.IsAlreadyExists(err):
		return cacheLag, nil // the last one of this name is on its way out
	case err != nil:
		return 0, fmt.Errorf("create job %s/%s: %w", job.Namespace, job.Name, err)
	}
	n := len(Members(job))
	batchJobs.Inc()
	batchMembers.Add(float64(n))
	logf.FromContext(ctx).Info("Deleting snapshots", "job", job.Name, "members", n)
	if r.Events != nil {
		r.Events.Publish(object(repo), startedEvent(job.Name, n))
	}
	return settle, nil
}
