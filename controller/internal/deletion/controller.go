// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion

import (
	"context"
	"errors"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/deletion"
	"github.com/kopiur/kopiur/controller/internal/decide/mapper"
	"github.com/kopiur/kopiur/controller/internal/deps"
	"github.com/kopiur/kopiur/controller/internal/index"
	"github.com/kopiur/kopiur/controller/internal/loop"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

const (
	// actionDelete is what Kopiur does in every event of this package.
	actionDelete = "Delete"
	// cacheLag is when to look again for what the cache does not show yet.
	cacheLag = time.Second
	// settle is when to look again for what a watch normally tells before.
	settle = 30 * time.Second
)

// Reconciler owns the Jobs that delete from repositories. Its requests name a Repository, or without a namespace a
// ClusterRepository; the work queue sees to it that no two look at the same one.
type Reconciler struct{ Observer }

// Setup adds the reconciler to a manager.
func Setup(mgr ctrl.Manager, d deps.Deps) error {
	r := &Reconciler{Observer{d}}
	c := mgr.GetClient()
	wake := handler.EnqueueRequestsFromMapFunc
	b := ctrl.NewControllerManagedBy(mgr).Named("deletion").
		Watches(&kopiurv1.Snapshot{}, index.Coalesced(repositoryOf)).
		Watches(&kopiurv1.Repository{}, wake(itself)).
		Watches(&kopiurv1.ClusterRepository{}, wake(itself)).
		WithOptions(r.ControllerOptions())
	for _, kind := range []kopiurv1.RepositoryKind{kopiurv1.KindRepository, kopiurv1.KindClusterRepository} {
		gvk := kopiurv1.GroupVersion.WithKind(string(kind))
		b = b.Watches(&batchv1.Job{}, index.Coalesced(index.JobOwner(gvk))).
			Watches(&corev1.Pod{}, index.Coalesced(index.PodOwner(c, gvk)))
	}
	if err := b.Complete(r); err != nil {
		return fmt.Errorf("add the reconciler of deletions: %w", err)
	}
	return nil
}

// repositoryOf wakes the repository of a Snapshot that is being deleted.
func repositoryOf(_ context.Context, obj client.Object) []ctrl.Request {
	s, ok := obj.(*kopiurv1.Snapshot)
	if !ok || s.DeletionTimestamp == nil {
		return nil
	}
	ref := mapper.PinnedRepository(s)
	if ref == nil {
		return nil
	}
	return []ctrl.Request{{NamespacedName: client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}}}
}

func itself(_ context.Context, obj client.Object) []ctrl.Request {
	return []ctrl.Request{{NamespacedName: client.ObjectKeyFromObject(obj)}}
}

// refOf is the repository that a request names.
func refOf(req ctrl.Request) kopiurv1.RepositoryRef {
	ref := kopiurv1.RepositoryRef{Kind: kopiurv1.KindRepository, Namespace: req.Namespace, Name: req.Name}
	if req.Namespace == "" {
		ref.Kind = kopiurv1.KindClusterRepository
	}
	return ref
}

// Reconcile does the next thing for the deletions from one repository.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	ref := refOf(req)
	repo, presence, err := r.Cached().Repository(ctx, ref)
	if err != nil {
		return r.failed(ctx, ref, nil, err)
	}
	if presence != deletion.Present {
		return ctrl.Result{}, nil // its Jobs go with it, and its Snapshots let go of data that nobody can reach
	}
	after, err := r.settle(ctx, *repo)
	if err == nil && after == 0 {
		after, err = r.fire(ctx, *repo)
	}
	if err != nil {
		return r.failed(ctx, ref, repo, err)
	}
	return ctrl.Result{RequeueAfter: after}, nil
}

// failed ends a turn that could not be finished. There is no status of its own to say so in: the repository has an event.
func (r *Reconciler) failed(ctx context.Context, ref kopiurv1.RepositoryRef, repo *moverjob.Repository, err error) (ctrl.Result, error) {
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return ctrl.Result{}, nil //nolint:nilerr // and there is nobody left to come back
	}
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: cacheLag}, nil
	}
	logf.FromContext(ctx).Error(err, "Retrying a deletion after an error", "repository", ref.String())
	if repo != nil && r.Events != nil && !loop.IsTransport(err) {
		r.Events.Publish(object(*repo), loop.Warning(kopiurv1.ReasonKubeAPIError, actionDelete, "Deleting snapshots: %s", err))
	}
	return ctrl.Result{RequeueAfter: loop.Spread("deletion", ref.Namespace, ref.Name)}, nil
}

// object stands for a repository in an event.
func object(repo moverjob.Repository) client.Object {
	if repo.Ref.KindOrDefault() == kopiurv1.KindClusterRepository {
		o := &kopiurv1.ClusterRepository{}
		o.Name, o.UID = repo.Ref.Name, repo.UID
		return o
	}
	o := &kopiurv1.Repository{}
	o.Namespace, o.Name, o.UID = repo.Ref.Namespace, repo.Ref.Name, repo.UID
	return o
}

// settle looks after the Jobs that are there. It returns 0 when there are none.
func (r *Reconciler) settle(ctx context.Context, repo moverjob.Repository) (time.Duration, error) {
	list, err := jobs(ctx, r.Client, repo)
	if err != nil || len(list) == 0 {
		return 0, err
	}
	after := settle
	for i := range list {
		job := &list[i]
		if job.DeletionTimestamp != nil {
			continue
		}
		pods, err := moverjob.Pods(ctx, r.Client, job)
		if err != nil {
			return 0, err //nolint:wrapcheck // says what it read
		}
		out := r.outcome(job, pods)
		if !ended(out) {
			if out.Recheck > 0 {
				after = min(after, out.Recheck)
			}
			continue
		}
		learnt, err := r.learnt(ctx, job)
		if err != nil {
			return 0, err
		}
		if !learnt {
			continue
		}
		if err := moverjob.Reap(ctx, r.Client, job); err != nil {
			return 0, err //nolint:wrapcheck // says what it did
		}
		after = cacheLag
	}
	return after, nil
}

// ended reports whether nothing more comes of a Job.
func ended(o moverjob.Outcome) bool {
	switch o.State {
	case moverjob.Finished, moverjob.Wedged, moverjob.DeadlineKilled:
		return true
	case moverjob.ResultLost:
		return o.Terminal
	case moverjob.Absent, moverjob.Waiting, moverjob.Running, moverjob.NodeLost:
	}
	return false
}

// learnt reports whether every member has taken from the Job what it had to say: it has let go, or recorded the failure.
// Removed before that, the Job would take the result along, and the member would wait for ever (or run once more).
func (r *Reconciler) learnt(ctx context.Context, job *batchv1.Job) (bool, error) {
	for _, m := range Members(job) {
		var s kopiurv1.Snapshot
		err := r.Client.Get(ctx, client.ObjectKey{Namespace: m.Namespace, Name: m.Name}, &s)
		switch {
		case apierrors.IsNotFound(err):
			continue
		case err != nil:
			return false, fmt.Errorf("get snapshot %s/%s: %w", m.Namespace, m.Name, err)
		case s.UID != m.UID || !deletion.Pending(&s):
			continue
		case s.Status.Deletion == nil || s.Status.Deletion.JobUID != string(job.UID):
			return false, nil
		}
	}
	return true, nil
}
