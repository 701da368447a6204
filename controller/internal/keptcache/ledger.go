// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package keptcache

import (
	"context"
	"fmt"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/loop"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

// lag is how long a claim that was given out counts as used although no mover is seen to use it: several ask at the same
// time, and a Job is in the cache a moment after it was made.
const lag = time.Minute

// Ledger gives claims out, each to one at a time. What it goes by is in the cache, but for whom it has given a claim to a
// moment ago. A process that is killed in between loses nothing: its movers are Jobs.
type Ledger struct {
	mu    sync.Mutex
	given map[types.NamespacedName]holder
}

type holder struct {
	uid   types.UID
	until time.Time
}

// Take asks for a claim for one mover. Whoever asks again before the mover is there has the same answer.
func (l *Ledger) Take(ctx context.Context, c client.Reader, w Wish, who types.UID, now time.Time) (Verdict, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := types.NamespacedName{Namespace: w.Namespace, Name: w.Name}
	var have *corev1.PersistentVolumeClaim
	var claim corev1.PersistentVolumeClaim
	switch err := c.Get(ctx, key, &claim); {
	case err == nil:
		have = &claim
	case !apierrors.IsNotFound(err):
		return Verdict{}, fmt.Errorf("get claim %s: %w", key, err)
	}
	busy, had, err := users(ctx, c, key)
	if err != nil {
		return Verdict{}, err
	}
	switch h, ok := l.given[key]; {
	case !ok:
	case had[h.uid] || !now.Before(h.until):
		delete(l.given, key) // the cache knows its mover by now, or it has come to nothing
	case busy == "" && h.uid != who:
		busy = string(h.uid)
	}
	v := Decide(w, have, busy)
	if v.Claim != "" {
		if l.given == nil {
			l.given = map[types.NamespacedName]holder{}
		}
		l.given[key] = holder{uid: who, until: now.Add(lag)}
	}
	return v, nil
}

// KeepFor is Keep for the mover of an object that has no policy: the zero Verdict where no cache is to be kept.
func (l *Ledger) KeepFor(ctx context.Context, c client.Client, o client.Object, repo moverjob.Repository, mover *kopiurv1.MoverSpec, now time.Time) (Verdict, error) {
	cache := moverjob.KeepsCache(repo, mover)
	if cache == nil {
		return Verdict{}, nil
	}
	return l.Keep(ctx, c, OfObject(o, loop.GVKOf(o), repo, *cache), o.GetUID(), now)
}

// Keep asks for a claim for one mover and makes it where there is none. A claim that exists and is not in the cache yet is
// none this time.
func (l *Ledger) Keep(ctx context.Context, c client.Client, w Wish, who types.UID, now time.Time) (Verdict, error) {
	v, err := l.Take(ctx, c, w, who, now)
	if err == nil {
		err = Apply(ctx, c, v)
	}
	if apierrors.IsAlreadyExists(err) {
		return Verdict{}, nil
	}
	if err != nil {
		return Verdict{}, fmt.Errorf("keep the cache: %w", err)
	}
	return v, nil
}

// users names a mover that uses a claim, "" where none does, and for whom there are movers that do or did.
func users(ctx context.Context, c client.Reader, key types.NamespacedName) (busy string, had map[types.UID]bool, err error) {
	ours := client.MatchingLabels{kopiurv1.LabelManagedBy: kopiurv1.ManagedByValue}
	var jobs batchv1.JobList
	if err := c.List(ctx, &jobs, client.InNamespace(key.Namespace), ours, client.UnsafeDisableDeepCopy); err != nil {
		return "", nil, fmt.Errorf("list the movers of namespace %s: %w", key.Namespace, err)
	}
	over := map[types.UID]bool{}
	had = map[types.UID]bool{}
	for i := range jobs.Items {
		j := &jobs.Items[i]
		if !mounts(j.Spec.Template.Spec, key.Name) {
			continue
		}
		had[types.UID(j.Labels[kopiurv1.LabelOwnerUID])] = true
		// Ended, or its result was recorded; and so are its pods, whatever their cache shows yet.
		if over[j.UID] = ended(j) || j.Spec.TTLSecondsAfterFinished != nil; !over[j.UID] {
			busy = j.Name
		}
	}
	var pods corev1.PodList
	if err := c.List(ctx, &pods, client.InNamespace(key.Namespace), ours, client.UnsafeDisableDeepCopy); err != nil {
		return "", nil, fmt.Errorf("list the movers of namespace %s: %w", key.Namespace, err)
	}
	for i := range pods.Items {
		p := &pods.Items[i]
		if job := metav1.GetControllerOf(p); job != nil && over[job.UID] || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
			continue
		}
		if mounts(p.Spec, key.Name) {
			busy = p.Name
		}
	}
	return busy, had, nil
}

func ended(j *batchv1.Job) bool {
	for _, c := range j.Status.Conditions {
		if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue {
			return true
		}
	}
	return false
}

func mounts(s corev1.PodSpec, claim string) bool {
	for _, v := range s.Volumes {
		if v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == claim {
			return true
		}
	}
	return false
}

// Apply makes or removes the claim. It is safe to repeat, and to be ended after any of it. A claim that exists and is not in
// the cache yet is an AlreadyExists error: whose it is, the next turn knows.
func Apply(ctx context.Context, c client.Client, v Verdict) error {
	if d := v.Delete; d != nil {
		if err := c.Delete(ctx, d.DeepCopy(), client.Preconditions{UID: &d.UID}); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return fmt.Errorf("delete claim %s/%s: %w", d.Namespace, d.Name, err)
		}
	}
	if n := v.Create; n != nil {
		if err := c.Create(ctx, n.DeepCopy()); err != nil {
			return fmt.Errorf("create claim %s/%s: %w", n.Namespace, n.Name, err)
		}
	}
	return nil
}
