// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/mapper"
	decide "github.com/kopiur/kopiur/controller/internal/decide/restore"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
	"github.com/kopiur/kopiur/controller/internal/workload"
)

// observePods sorts the pods of the namespace, read live: those that use the claim, those that write into it for another
// Restore, and all that are no movers.
func (r *Reconciler) observePods(ctx context.Context, w *decide.World, claim string) error {
	obj := w.Restore
	var pods corev1.PodList
	if err := r.Live.List(ctx, &pods, client.InNamespace(obj.Namespace)); err != nil {
		return fmt.Errorf("list the pods of namespace %s: %w", obj.Namespace, err)
	}
	for i := range pods.Items {
		p := &pods.Items[i]
		if !workload.Mover(p) {
			w.Neighbours = append(w.Neighbours, *p)
		}
		if w.Claim == nil || p.Labels[kopiurv1.LabelOwnerUID] == string(obj.UID) || workload.Ended(p) || !workload.Mounts(p.Spec, claim) {
			continue
		}
		switch {
		case workload.Mover(p) && p.Labels[kopiurv1.LabelOperation] == operation:
			w.Writers = append(w.Writers, "pod "+p.Name)
		case p.Spec.NodeName != "":
			w.Users = append(w.Users, "pod "+p.Name)
		}
	}
	return nil
}

// observeNode finds the node that the claim's volume is attached to, where that matters and no pod tells.
func (r *Reconciler) observeNode(ctx context.Context, w *decide.World) error {
	if w.Repository == nil || workload.Colocation(*w.Repository) == kopiurv1.ColocationDisabled || !workload.OneNode(w.Claim) ||
		workload.Holder(w.Neighbours, w.Claim.Name) != nil {
		return nil
	}
	var err error
	w.Attached, err = workload.Attached(ctx, r.Live, w.Claim.Spec.VolumeName)
	return err //nolint:wrapcheck // says what and where
}

// observeRecorded finds whom the backup ran as, where the mover is to run as the same.
func (r *Reconciler) observeRecorded(ctx context.Context, w *decide.World) error {
	obj := w.Restore
	if from := decide.Inherits(obj); from == nil || from.Snapshot == nil {
		return nil
	}
	pin := obj.Status.Resolved
	switch {
	case w.Snapshot != nil:
		w.Recorded = w.Snapshot.Status.Recorded
	case pin != nil && pin.SnapshotRef != nil:
		var s kopiurv1.Snapshot
		found, err := r.get(ctx, *pin.SnapshotRef, &s)
		if found {
			w.Recorded = s.Status.Recorded
		}
		return err
	case pin != nil && obj.Spec.Source.FromPolicy != nil:
		list, err := r.snapshotsOf(ctx, obj)
		if err != nil {
			return err
		}
		w.Recorded = decide.RecordedOf(pin, list)
	case pin != nil && obj.Spec.Source.Identity != nil:
		var list kopiurv1.SnapshotList
		if err := r.Client.List(ctx, &list, client.InNamespace(obj.Namespace), client.UnsafeDisableDeepCopy); err != nil {
			return fmt.Errorf("list the snapshots of namespace %s: %w", obj.Namespace, err)
		}
		w.Recorded = decide.RecordedOf(pin, list.Items)
	}
	return nil
}

// observeStored reads what the policy's Snapshots say they have stored, where a repository says that there is nothing.
func (r *Reconciler) observeStored(ctx context.Context, w *decide.World, o moverjob.Outcome) error {
	if w.Restore.Spec.Source.FromPolicy == nil || w.Stored != nil || !decide.Doubts(o) {
		return nil
	}
	list, err := r.snapshotsOf(ctx, w.Restore)
	w.Stored = decide.StoredBy(list)
	return err
}

// snapshotsOf are those of the policy that a Restore names. They belong to the cache.
func (r *Reconciler) snapshotsOf(ctx context.Context, obj *kopiurv1.Restore) ([]kopiurv1.Snapshot, error) {
	f := obj.Spec.Source.FromPolicy
	policy := kopiurv1.ObjectRef{Name: f.Name, Namespace: f.Namespace}.In(obj.Namespace)
	var list kopiurv1.SnapshotList
	key := mapper.Named(policy.Namespace, policy.Name)
	if err := r.Client.List(ctx, &list, client.MatchingFields{mapper.FieldPolicy: key}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the snapshots of policy %s: %w", key, err)
	}
	return list.Items, nil
}
