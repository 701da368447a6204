// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"context"
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	decide "github.com/kopiur/kopiur/controller/internal/decide/maintenance"
	"github.com/kopiur/kopiur/controller/internal/loop"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

// leaseSeconds is what the Lease says about how long it is good. Nobody here goes by it: a holder is a Job, and it is
// over when its pods are.
const leaseSeconds = int32(3 * decide.Look / time.Second)

func (r *Reconciler) leaseKey(repo moverjob.Repository) client.ObjectKey {
	return client.ObjectKey{Namespace: r.OperatorNamespace, Name: decide.LeaseName(repo.Status.UniqueID)}
}

// acquire takes the Lease of a store for a Job, which has not been made yet. It names who holds it, "" where that is us.
// A holder whose Job and pods are gone holds nothing: its controller did not live to let go.
func (r *Reconciler) acquire(ctx context.Context, repo moverjob.Repository, holder string) (*coordinationv1.Lease, string, error) {
	key := r.leaseKey(repo)
	next := r.lease(key, repo, holder)
	var have coordinationv1.Lease
	err := r.Live.Get(ctx, key, &have)
	if apierrors.IsNotFound(err) {
		err = r.Client.Create(ctx, next)
		if apierrors.IsAlreadyExists(err) {
			return nil, "another run", nil
		}
		if err != nil {
			return nil, "", fmt.Errorf("take lease %s: %w", key, err)
		}
		return next, "", nil
	}
	if err != nil {
		return nil, "", fmt.Errorf("get lease %s: %w", key, err)
	}
	was := holderOf(&have)
	if was == holder {
		left, err := r.outlived(ctx, holder)
		if err != nil {
			return nil, "", err
		}
		if left {
			return nil, "a pod of Job " + was + ", which was deleted", nil
		}
		return &have, "", nil
	}
	if was != "" {
		held, err := holds(ctx, r.Live, &have, r.Clock.Now())
		if err != nil {
			return nil, "", err
		}
		if held {
			return nil, "Job " + was, nil
		}
	}
	next.ResourceVersion, next.UID = have.ResourceVersion, have.UID
	if err := r.Client.Update(ctx, next); err != nil {
		if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
			return nil, "another run", nil
		}
		return nil, "", fmt.Errorf("take lease %s: %w", key, err)
	}
	return next, "", nil
}

// confirm writes the Lease once more now that its Job exists, which nobody can pass over any more. Where somebody else has
// written it since it was taken, the Job must not run: they saw no Job. It reports whether the Lease is still ours.
func (r *Reconciler) confirm(ctx context.Context, l *coordinationv1.Lease) (bool, error) {
	l.Spec.RenewTime = new(metav1.NewMicroTime(r.Clock.Now()))
	err := r.Client.Update(ctx, l)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("confirm lease %s/%s: %w", l.Namespace, l.Name, err)
	}
	return true, nil
}

func (r *Reconciler) lease(key client.ObjectKey, repo moverjob.Repository, holder string) *coordinationv1.Lease {
	now := metav1.NewMicroTime(r.Clock.Now())
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: key.Namespace, Name: key.Name,
			Labels: map[string]string{
				kopiurv1.LabelManagedBy: kopiurv1.ManagedByValue, kopiurv1.LabelComponent: kopiurv1.ComponentMaintenance,
				kopiurv1.LabelRepositoryUID: string(repo.UID),
			},
		},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: new(leaseSeconds), AcquireTime: &now, RenewTime: &now},
	}
}

func holderOf(l *coordinationv1.Lease) string {
	if l.Spec.HolderIdentity == nil {
		return ""
	}
	return *l.Spec.HolderIdentity
}

// outlived reports whether pods of a Job go on that somebody deleted: another one under its name would run beside them.
func (r *Reconciler) outlived(ctx context.Context, holder string) (bool, error) {
	namespace, name, _ := strings.Cut(holder, "/")
	var job batchv1.Job
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &job)
	if err == nil {
		return job.DeletionTimestamp != nil, nil
	}
	if !apierrors.IsNotFound(err) {
		return false, fmt.Errorf("get job %s: %w", holder, err)
	}
	pods, err := podsOf(ctx, r.Live, namespace, name)
	return alive(pods), err
}

// holds reports whether the Job that a Lease names as its holder, or a pod of it, is still there, or may be about to come.
// It asks past the cache.
func holds(ctx context.Context, live client.Reader, l *coordinationv1.Lease, now time.Time) (bool, error) {
	if decide.Taking(l, now) {
		return true, nil
	}
	holder := holderOf(l)
	namespace, name, ok := strings.Cut(holder, "/")
	if !ok {
		return true, nil // nobody of us: it stays until somebody deletes it
	}
	var job batchv1.Job
	err := live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &job)
	if err == nil {
		return true, nil
	}
	if !apierrors.IsNotFound(err) {
		return false, fmt.Errorf("get job %s: %w", holder, err)
	}
	pods, err := podsOf(ctx, live, namespace, name)
	return alive(pods), err
}

// renew shows that a run goes on. Its first write by this process also makes sure of the Lease: it reports false where
// somebody else holds it, who saw no Job of ours.
func (r *Reconciler) renew(ctx context.Context, repo moverjob.Repository, uid types.UID, holder string) (bool, error) {
	now := r.Clock.Now()
	r.mu.Lock()
	last, known := r.renewed[uid]
	r.mu.Unlock()
	if known && now.Sub(last) < decide.Look-time.Minute {
		return true, nil
	}
	key := r.leaseKey(repo)
	var l coordinationv1.Lease
	err := r.Live.Get(ctx, key, &l)
	switch {
	case apierrors.IsNotFound(err):
		// Somebody deleted it under a run: it is made again.
		err = r.Client.Create(ctx, r.lease(key, repo, holder))
	case err == nil && holderOf(&l) != holder:
		return false, nil
	case err == nil:
		l.Spec.RenewTime = new(metav1.NewMicroTime(now))
		err = r.Client.Update(ctx, &l)
	}
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return true, loop.Waitf(lookAgain, kopiurv1.ReasonReconciling, "Lease %s has just been written by somebody else", key.Name)
	}
	if err != nil {
		return true, fmt.Errorf("renew lease %s: %w", key, err)
	}
	r.did(uid, now)
	return true, nil
}

// did notes when this process wrote the Lease of a Maintenance's run.
func (r *Reconciler) did(uid types.UID, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.renewed[uid] = at
}

// release lets go of the Lease if this Job holds it.
func (r *Reconciler) release(ctx context.Context, repo moverjob.Repository, uid types.UID, holder string) error {
	key := r.leaseKey(repo)
	var l coordinationv1.Lease
	if err := r.Live.Get(ctx, key, &l); err != nil {
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("get lease %s: %w", key, err)
	}
	r.mu.Lock()
	delete(r.renewed, uid)
	r.mu.Unlock()
	if holderOf(&l) != holder {
		return nil
	}
	err := r.Client.Delete(ctx, &l, client.Preconditions{UID: &l.UID, ResourceVersion: &l.ResourceVersion})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("release lease %s: %w", key, err)
	}
	return nil
}
