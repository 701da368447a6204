// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/mapper"
)

// Core wakes objects of one kind when a core object changes. kind is one of mapper's, because metadata from a cache does
// not carry its own.
func Core(c client.Reader, woken mapper.Kind, kind string) handler.MapFunc {
	return func(ctx context.Context, obj client.Object) []reconcile.Request {
		return ask(ctx, c, mapper.OfCore(woken, kind, obj.GetNamespace(), obj.GetName()))
	}
}

// Populator wakes the Restore that fills a claim, or that made it to fill another one.
func Populator(_ context.Context, obj client.Object) []reconcile.Request {
	c, ok := obj.(*corev1.PersistentVolumeClaim)
	if !ok {
		return nil
	}
	if name := mapper.OfClaim(c); name != "" {
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: c.Namespace, Name: name}}}
	}
	return nil
}

// Repositories wakes objects of one kind when a Repository or ClusterRepository changes.
func Repositories(c client.Reader, woken mapper.Kind) handler.MapFunc {
	return func(ctx context.Context, obj client.Object) []reconcile.Request {
		ref := kopiurv1.RepositoryRef{Name: obj.GetName(), Kind: kopiurv1.KindRepository, Namespace: obj.GetNamespace()}
		if _, cluster := obj.(*kopiurv1.ClusterRepository); cluster {
			ref.Kind = kopiurv1.KindClusterRepository
		}
		return ask(ctx, c, mapper.OfRepository(woken, ref))
	}
}

// Policies wakes objects of one kind when a SnapshotPolicy changes.
func Policies(c client.Reader, woken mapper.Kind) handler.MapFunc {
	return func(ctx context.Context, obj client.Object) []reconcile.Request {
		return ask(ctx, c, mapper.OfPolicy(woken, obj.GetNamespace(), obj.GetName()))
	}
}

// Destinations wakes the RepositoryReplications to the place of one that came, went or was edited.
func Destinations(c client.Reader) handler.MapFunc {
	return func(ctx context.Context, obj client.Object) []reconcile.Request {
		r, ok := obj.(*kopiurv1.RepositoryReplication)
		if !ok {
			return nil
		}
		return ask(ctx, c, mapper.OfDestination(r))
	}
}

// Schedules wakes the Snapshots of a schedule that are being deleted.
func Schedules(c client.Reader) handler.MapFunc {
	return func(ctx context.Context, obj client.Object) []reconcile.Request {
		return ask(ctx, c, []mapper.Lookup{mapper.Deleting(mapper.DeletingOfSchedule(obj.GetNamespace(), obj.GetName()))})
	}
}

// Snapshots wakes objects of one kind when a Snapshot changes.
func Snapshots(c client.Reader, woken mapper.Kind) handler.MapFunc {
	return func(ctx context.Context, obj client.Object) []reconcile.Request {
		s, ok := obj.(*kopiurv1.Snapshot)
		if !ok {
			return nil
		}
		return ask(ctx, c, mapper.OfSnapshot(woken, s))
	}
}

// PoliciesOfFound wakes the policies that file their snapshots under the identity of one that was found.
func PoliciesOfFound(c client.Reader) handler.MapFunc {
	return func(ctx context.Context, obj client.Object) []reconcile.Request {
		s, ok := obj.(*kopiurv1.Snapshot)
		if !ok {
			return nil
		}
		return ask(ctx, c, mapper.OfFound(s))
	}
}

// PolicyOfSnapshot wakes the policy of a Snapshot that changed.
func PolicyOfSnapshot(_ context.Context, obj client.Object) []reconcile.Request {
	s, ok := obj.(*kopiurv1.Snapshot)
	if !ok || s.Spec.PolicyRef == nil {
		return nil
	}
	ref := s.Spec.PolicyRef.In(s.Namespace)
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}}}
}

// ScheduleOfSnapshot wakes the schedule that made a Snapshot.
func ScheduleOfSnapshot(_ context.Context, obj client.Object) []reconcile.Request {
	s, ok := obj.(*kopiurv1.Snapshot)
	if !ok {
		return nil
	}
	name, _ := mapper.ScheduleOf(s)
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: s.Namespace, Name: name}}}
}

// JobOwner wakes the owner of a mover Job if it is of the kind. It is not controller-runtime's handler for owners, which
// compares API versions as well and so would lose Jobs of an older one.
func JobOwner(owner schema.GroupVersionKind) handler.MapFunc {
	return func(_ context.Context, obj client.Object) []reconcile.Request {
		return ownerRequest(obj, owner)
	}
}

// JobRepository wakes the repository that a mover's Job uses, where it waits for news.
func JobRepository(c client.Reader, woken mapper.Kind) handler.MapFunc {
	return func(ctx context.Context, obj client.Object) []reconcile.Request {
		return ask(ctx, c, mapper.OfRepositoryUID(woken, obj.GetLabels()[kopiurv1.LabelRepositoryUID]))
	}
}

// PodOwner wakes the owner of the mover Job that a pod belongs to. The pod's end is known before the Job's, and waiting
// for the Job would cost the user a second on every backup.
func PodOwner(c client.Reader, owner schema.GroupVersionKind) handler.MapFunc {
	return func(ctx context.Context, obj client.Object) []reconcile.Request {
		ref := metav1.GetControllerOf(obj)
		if ref == nil || ref.Kind != "Job" {
			return nil
		}
		var job batchv1.Job
		if err := c.Get(ctx, client.ObjectKey{Namespace: obj.GetNamespace(), Name: ref.Name}, &job); err != nil {
			// The Job went away, or the cache has not seen it: its own event wakes the owner.
			return nil
		}
		return ownerRequest(&job, owner)
	}
}

// PodOwnerByUID is PodOwner that also knows the owner of a pod whose Job is gone: an owner may wait for just that pod.
func PodOwnerByUID(c client.Reader, owner schema.GroupVersionKind) handler.MapFunc {
	byJob := PodOwner(c, owner)
	return func(ctx context.Context, obj client.Object) []reconcile.Request {
		if found := byJob(ctx, obj); len(found) > 0 {
			return found
		}
		return ask(ctx, c, mapper.OfOwnerUID(mapper.Kind(owner.Kind), obj.GetLabels()[kopiurv1.LabelOwnerUID]))
	}
}

func ownerRequest(obj client.Object, owner schema.GroupVersionKind) []reconcile.Request {
	ref := metav1.GetControllerOf(obj)
	if ref == nil || ref.Kind != owner.Kind {
		return nil
	}
	if gv, err := schema.ParseGroupVersion(ref.APIVersion); err != nil || gv.Group != owner.Group {
		return nil
	}
	key := types.NamespacedName{Namespace: obj.GetNamespace(), Name: ref.Name}
	if owner.Kind == string(kopiurv1.KindClusterRepository) {
		key.Namespace = ""
	}
	return []reconcile.Request{{NamespacedName: key}}
}

// Metadata is what to watch for a core object of which only the metadata may be read.
func Metadata(kind string) *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kind))
	return m
}

// ask turns lookups into requests. An index that cannot be read is a fault of ours, reported and passed over: the
// objects come back by their own heartbeats.
func ask(ctx context.Context, c client.Reader, lookups []mapper.Lookup) []reconcile.Request {
	seen := map[types.NamespacedName]bool{}
	var out []reconcile.Request
	add := func(obj client.Object) {
		key := client.ObjectKeyFromObject(obj)
		if !seen[key] {
			seen[key] = true
			out = append(out, reconcile.Request{NamespacedName: key})
		}
	}
	for _, l := range lookups {
		found, err := find(ctx, c, l.Kind, l.Field, l.Value)
		if err != nil {
			logf.FromContext(ctx).Error(err, "Passing over a change that cannot be mapped", "index", l.Field, "value", l.Value)
			continue
		}
		for _, obj := range found {
			if l.Via == "" {
				add(obj)
				continue
			}
			for _, r := range ask(ctx, c, mapper.OfPolicy(l.Via, obj.GetNamespace(), obj.GetName())) {
				if !seen[r.NamespacedName] {
					seen[r.NamespacedName] = true
					out = append(out, r)
				}
			}
		}
	}
	return out
}
