// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// MembersOf wakes the Snapshots whose data a Job deletes.
func MembersOf(_ context.Context, obj client.Object) []ctrl.Request {
	job, ok := obj.(*batchv1.Job)
	if !ok || job.Labels[kopiurv1.LabelOperation] != kopiurv1.OperationSnapshotDelete {
		return nil
	}
	members := Members(job)
	out := make([]ctrl.Request, len(members))
	for i, m := range members {
		out[i].Namespace, out[i].Name = m.Namespace, m.Name
	}
	return out
}

// MembersOfPod wakes them for a pod of such a Job: its end is known before that of the Job.
func MembersOfPod(c client.Reader) handler.MapFunc {
	return func(ctx context.Context, obj client.Object) []ctrl.Request {
		ref := metav1.GetControllerOf(obj)
		if ref == nil || ref.Kind != "Job" || obj.GetLabels()[kopiurv1.LabelOperation] != kopiurv1.OperationSnapshotDelete {
			return nil
		}
		var job batchv1.Job
		if err := c.Get(ctx, client.ObjectKey{Namespace: obj.GetNamespace(), Name: ref.Name}, &job); err != nil {
			return nil // its own event wakes them
		}
		return MembersOf(ctx, &job)
	}
}

// PodEnded passes pods that ended. What happens to them before says nothing to two hundred Snapshots.
func PodEnded() predicate.Predicate {
	ended := func(o client.Object) bool {
		p, ok := o.(*corev1.Pod)
		return ok && (p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed)
	}
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return ended(e.Object) },
		UpdateFunc: func(e event.UpdateEvent) bool { return ended(e.ObjectNew) && !ended(e.ObjectOld) },
		DeleteFunc: func(event.DeleteEvent) bool { return true },
	}
}
