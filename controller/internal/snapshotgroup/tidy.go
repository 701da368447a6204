// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshotgroup

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/contents"
	"github.com/kopiur/kopiur/controller/internal/decide/group"
	"github.com/kopiur/kopiur/controller/internal/decide/mapper"
)

// tidy does what is due, and says when to look again.
func (r *Reconciler) tidy(ctx context.Context, key types.NamespacedName) (time.Duration, error) {
	remains, claims, err := r.observe(ctx, key)
	if err != nil {
		return 0, err
	}
	c := group.Tidy(remains, r.ServerClock.Now())
	if c.Release {
		if err := r.Groups.Release(ctx, *remains.Group); err != nil {
			return 0, err //nolint:wrapcheck // says what it did
		}
	}
	if c.Unlabel {
		for i := range claims {
			if err := r.unlabel(ctx, &claims[i]); err != nil {
				return 0, err
			}
		}
	}
	if c.Delete {
		if err := r.remove(ctx, key.Namespace, *remains.Group); err != nil {
			return 0, err
		}
	}
	return c.Again, nil
}

func (r *Reconciler) observe(ctx context.Context, key types.NamespacedName) (group.Remains, []corev1.PersistentVolumeClaim, error) {
	var out group.Remains
	version, err := r.Groups.Version()
	if err == nil && version != "" {
		out.Group, err = r.Groups.Get(ctx, key)
	}
	if err != nil {
		return out, nil, err //nolint:wrapcheck // says what it read
	}
	var snapshots kopiurv1.SnapshotList
	of := mapper.Named(key.Namespace, key.Name)
	if err := r.Client.List(ctx, &snapshots, client.MatchingFields{mapper.FieldGroup: of}, client.UnsafeDisableDeepCopy); err != nil {
		return out, nil, fmt.Errorf("list the snapshots of group %s: %w", of, err)
	}
	for i := range snapshots.Items {
		out.Members = append(out.Members, group.MemberOf(&snapshots.Items[i]))
	}
	var claims corev1.PersistentVolumeClaimList
	if err := r.Client.List(ctx, &claims, client.InNamespace(key.Namespace), client.MatchingLabels{kopiurv1.LabelGroup: key.Name}); err != nil {
		return out, nil, fmt.Errorf("list the claims that are cut with %s: %w", of, err)
	}
	for i := range claims.Items {
		out.Labelled = append(out.Labelled, claims.Items[i].Name)
	}
	return out, claims.Items, nil
}

func (r *Reconciler) unlabel(ctx context.Context, c *corev1.PersistentVolumeClaim) error {
	base := c.DeepCopy()
	delete(c.Labels, kopiurv1.LabelGroup)
	err := r.Client.Patch(ctx, c, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{}))
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("remove the label of claim %s/%s: %w", c.Namespace, c.Name, err)
	}
	return nil
}

// remove deletes a group, and sees to it that the storage of its snapshots goes too.
func (r *Reconciler) remove(ctx context.Context, namespace string, g group.Group) error {
	members, err := r.Groups.Members(ctx, namespace, g)
	if err != nil {
		return err //nolint:wrapcheck // says what it listed
	}
	for i := range members {
		// The snapshot controller has made the content for the group, whatever its source looks like.
		if err := contents.Release(ctx, r.Live, r.Client, contents.SnapshotOf(&members[i]), true); err != nil {
			return err //nolint:wrapcheck // says what it did
		}
	}
	logf.FromContext(ctx).Info("Deleting a group that no Snapshot needs", "volumeGroupSnapshot", namespace+"/"+g.Name)
	return r.Groups.Delete(ctx, namespace, g) //nolint:wrapcheck // says what it did
}
