// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package prune deletes Snapshots that Kopiur itself has no use for any more. Each is marked as such right before, so
// that its deletion is not taken for somebody else's and held, and deleted only as it was looked at: one that has changed
// since, such as from running to succeeded, is not the one that was decided about.
package prune

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// Delete marks a Snapshot with the reason and deletes it. s may belong to a cache. A conflict means that it has changed.
func Delete(ctx context.Context, c client.Client, s *kopiurv1.Snapshot, reason string) error {
	s = s.DeepCopy()
	if s.Annotations[kopiurv1.AnnotationPrunedBy] != reason {
		if err := stamp(ctx, c, s, reason); err != nil {
			return client.IgnoreNotFound(err) //nolint:wrapcheck // says what it did
		}
	}
	err := c.Delete(ctx, s, client.Preconditions{UID: &s.UID, ResourceVersion: &s.ResourceVersion}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("prune snapshot %s/%s: %w", s.Namespace, s.Name, err)
	}
	return nil
}

// Unstamp takes the mark off a Snapshot that stays: whoever deletes it later is not Kopiur.
func Unstamp(ctx context.Context, c client.Client, s *kopiurv1.Snapshot) error {
	return client.IgnoreNotFound(stamp(ctx, c, s.DeepCopy(), "")) //nolint:wrapcheck // says what it did
}

func stamp(ctx context.Context, c client.Client, s *kopiurv1.Snapshot, reason string) error {
	base := s.DeepCopy()
	if s.Annotations == nil {
		s.Annotations = map[string]string{}
	}
	s.Annotations[kopiurv1.AnnotationPrunedBy] = reason
	if reason == "" {
		delete(s.Annotations, kopiurv1.AnnotationPrunedBy)
	}
	if err := c.Patch(ctx, s, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("mark snapshot %s/%s: %w", s.Namespace, s.Name, err)
	}
	return nil
}
