// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshotpolicy

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/verify"
)

// lag is how long the cache may need to show a Job that was just made.
const lag = 30 * time.Second

// turnstile lets one verification at a time read from a repository: a hundred policies that are verified every night at
// three would otherwise be a hundred movers. It counts what the cache has, and remembers whom it let in until the cache
// shows that. A process that is killed loses nothing: the next one starts with a cache that is complete.
type turnstile struct {
	mu      sync.Mutex
	entered map[types.UID]entry
}

type entry struct {
	job string
	at  time.Time
	// seen: the cache has shown it, and will show its end.
	seen bool
}

// busy names another verification of the repository that has not ended, "" where there is none.
func (t *turnstile) busy(ctx context.Context, c client.Reader, repository types.UID, job string, now time.Time) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.look(ctx, c, repository, job, now)
}

// enter is busy that lets the caller in where nobody is.
func (t *turnstile) enter(ctx context.Context, c client.Reader, repository types.UID, job string, now time.Time) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	other, err := t.look(ctx, c, repository, job, now)
	if err != nil || other != "" {
		return other, err
	}
	if t.entered == nil {
		t.entered = map[types.UID]entry{}
	}
	t.entered[repository] = entry{job: job, at: now}
	return "", nil
}

func (t *turnstile) look(ctx context.Context, c client.Reader, repository types.UID, job string, now time.Time) (string, error) {
	var list batchv1.JobList
	if err := c.List(ctx, &list, client.MatchingLabels{
		kopiurv1.LabelManagedBy: kopiurv1.ManagedByValue, kopiurv1.LabelOperation: verify.Operation, kopiurv1.LabelRepositoryUID: string(repository),
	}, client.UnsafeDisableDeepCopy); err != nil {
		return "", fmt.Errorf("list the verifications of a repository: %w", err)
	}
	last, remembered := t.entered[repository]
	for i := range list.Items {
		if remembered && list.Items[i].Name == last.job {
			last.seen = true
			t.entered[repository] = last
		}
	}
	for i := range list.Items {
		j := &list.Items[i]
		if j.Name != job && j.DeletionTimestamp == nil && !over(j) {
			return "Job " + j.Namespace + "/" + j.Name, nil
		}
	}
	if remembered && !last.seen && last.job != job && now.Sub(last.at) < lag {
		return "Job " + last.job, nil
	}
	return "", nil
}

// policyOfJob wakes the policy that a verification Job runs for.
func policyOfJob(_ context.Context, obj client.Object) []ctrl.Request {
	namespace, name, ok := strings.Cut(obj.GetAnnotations()[kopiurv1.AnnotationVerifyPolicy], "/")
	if !ok || obj.GetLabels()[kopiurv1.LabelOperation] != verify.Operation {
		return nil
	}
	return []ctrl.Request{{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}}
}

// few is how many of those that wait are woken at an end: one of them goes on, and its end wakes the next.
const few = 3

// waiting wakes the first of the policies that wait for the end of a verification of the same repository.
func (r *Reconciler) waiting(ctx context.Context, obj client.Object) []ctrl.Request {
	job, ok := obj.(*batchv1.Job)
	own := policyOfJob(ctx, obj)
	if !ok || len(own) == 0 || job.DeletionTimestamp == nil && !over(job) {
		return nil
	}
	var p kopiurv1.SnapshotPolicy
	if err := r.Client.Get(ctx, own[0].NamespacedName, &p); err != nil {
		return nil // they look by themselves
	}
	now := r.Clock.Now()
	type waiter struct {
		due string
		key types.NamespacedName
	}
	var found []waiter
	for _, ref := range p.RepositoryRefs() {
		others, err := r.others(ctx, ref)
		if err != nil {
			return nil
		}
		for i := range others {
			for _, run := range others[i].Status.VerificationRuns {
				if run.Job == "" && run.Repository.In(others[i].Namespace) == ref && verify.Due(run, now) {
					found = append(found, waiter{run.NextScheduledAt, client.ObjectKeyFromObject(&others[i])})
				}
			}
		}
	}
	slices.SortFunc(found, func(a, b waiter) int {
		return cmp.Or(strings.Compare(a.due, b.due), strings.Compare(a.key.String(), b.key.String()))
	})
	var out []ctrl.Request
	for _, w := range found[:min(len(found), few)] {
		out = append(out, ctrl.Request{NamespacedName: w.key})
	}
	return out
}

// policyOfPod wakes it for a pod of such a Job, whose end is known before that of the Job.
func policyOfPod(c client.Reader) handler.MapFunc {
	return func(ctx context.Context, obj client.Object) []ctrl.Request {
		ref := metav1.GetControllerOf(obj)
		if ref == nil || ref.Kind != "Job" || obj.GetLabels()[kopiurv1.LabelOperation] != verify.Operation {
			return nil
		}
		var job batchv1.Job
		if err := c.Get(ctx, client.ObjectKey{Namespace: obj.GetNamespace(), Name: ref.Name}, &job); err != nil {
			return nil // its own event wakes it
		}
		return policyOfJob(ctx, &job)
	}
}
