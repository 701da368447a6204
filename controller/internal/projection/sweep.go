// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/loop"
)

const (
	// every is the time between two sweeps, minAge what a copy lives at least since it was last used.
	every, minAge = 6 * time.Hour, time.Hour
	// page of a list.
	page = 500
)

// Sweeper deletes the copies that no run needs.
type Sweeper struct {
	// Client reads Jobs from the cache, Live lists the copies.
	Client client.Client
	Live   client.Reader
	Clock  clock.WithTicker
	// Namespaces limits it; all where it is empty.
	Namespaces []string
}

// Start sweeps until the context ends. It is a manager's runnable.
func (s *Sweeper) Start(ctx context.Context) error {
	return loop.Every(ctx, s.Clock, every, "copied credentials that no run needs", s.Sweep) //nolint:wrapcheck // it ends with the context
}

// NeedLeaderElection keeps standbys from sweeping.
func (s *Sweeper) NeedLeaderElection() bool { return true }

// Sweep deletes what no Job mounts and nobody has used for an hour, and says how many.
func (s *Sweeper) Sweep(ctx context.Context) (int, error) {
	used, err := s.used(ctx)
	if err != nil {
		return 0, err
	}
	namespaces := s.Namespaces
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	deleted := 0
	for _, ns := range namespaces {
		next := ""
		for {
			list := &metav1.PartialObjectMetadataList{}
			list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
			if err := s.Live.List(ctx, list, client.InNamespace(ns), client.Limit(page), client.Continue(next), client.MatchingLabels{
				kopiurv1.LabelManagedBy: kopiurv1.ManagedByValue, kopiurv1.LabelComponent: kopiurv1.ComponentCredentials,
			}); err != nil {
				return deleted, fmt.Errorf("list copied credentials: %w", err)
			}
			for i := range list.Items {
				m := &list.Items[i]
				if used[m.Namespace+"/"+m.Name] || !Idle(m, s.Clock.Now()) {
					continue
				}
				// By its version: one that was refreshed meanwhile is in use again.
				gone := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: m.Namespace, Name: m.Name}}
				if err := s.Client.Delete(ctx, gone, client.Preconditions{UID: &m.UID, ResourceVersion: &m.ResourceVersion}); err != nil {
					logf.FromContext(ctx).V(1).Info("Leaving copied credentials to the next sweep", "secret", m.Namespace+"/"+m.Name, "reason", err.Error())
					continue
				}
				deleted++
			}
			if next = list.Continue; next == "" {
				break
			}
		}
	}
	return deleted, nil
}

// Idle reports whether a copy is ours and was last used long enough ago. One that does not say when is as old as it is.
func Idle(m *metav1.PartialObjectMetadata, now time.Time) bool {
	if m.Annotations[kopiurv1.AnnotationProjectedFrom] == "" || m.DeletionTimestamp != nil {
		return false
	}
	last := m.CreationTimestamp.Time
	if at, err := time.Parse(time.RFC3339, m.Annotations[kopiurv1.AnnotationProjectedAt]); err == nil && at.After(last) {
		last = at
	}
	return now.Sub(last) >= minAge
}

// used are the Secrets that a Job mounts which is not over.
func (s *Sweeper) used(ctx context.Context) (map[string]bool, error) {
	var jobs batchv1.JobList
	if err := s.Client.List(ctx, &jobs, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the movers: %w", err)
	}
	out := map[string]bool{}
	for i := range jobs.Items {
		j := &jobs.Items[i]
		if over(j) {
			continue
		}
		for _, v := range j.Spec.Template.Spec.Volumes {
			if v.Secret != nil {
				out[j.Namespace+"/"+v.Secret.SecretName] = true
			}
		}
	}
	return out, nil
}

func over(j *batchv1.Job) bool {
	for _, c := range j.Status.Conditions {
		if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue {
			return true
		}
	}
	return false
}
