// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// +kubebuilder:rbac:groups="",resources=pods,verbs=list
// +kubebuilder:rbac:groups=storage.k8s.io,resources=volumeattachments,verbs=list

// foreign selects what is not ours, at the API server: a hundred backups at once would otherwise read the pods of all the
// others a hundred times.
var foreign = labels.NewSelector().Add(notOurs())

func notOurs() labels.Requirement {
	r, err := labels.NewRequirement(kopiurv1.LabelManagedBy, selection.NotEquals, []string{kopiurv1.ManagedByValue})
	utilruntime.Must(err) // constants
	return *r
}

// Mover reports whether a pod is one of ours.
func Mover(p *corev1.Pod) bool { return p.Labels[kopiurv1.LabelManagedBy] == kopiurv1.ManagedByValue }

// Neighbours are the pods of a namespace that are no movers, read live: there is no watch on the pods of others.
func Neighbours(ctx context.Context, live client.Reader, namespace string) ([]corev1.Pod, error) {
	var pods corev1.PodList
	if err := live.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: foreign}); err != nil {
		return nil, fmt.Errorf("list the pods of namespace %s: %w", namespace, err)
	}
	return pods.Items, nil
}

// Attached is the node that a PersistentVolume is attached to, "" where it is to none.
func Attached(ctx context.Context, live client.Reader, volume string) (string, error) {
	if volume == "" {
		return "", nil
	}
	var list storagev1.VolumeAttachmentList
	if err := live.List(ctx, &list); err != nil {
		return "", fmt.Errorf("list VolumeAttachments: %w", err)
	}
	for i := range list.Items {
		a := &list.Items[i]
		if pv := a.Spec.Source.PersistentVolumeName; pv != nil && *pv == volume && a.DeletionTimestamp == nil {
			return a.Spec.NodeName, nil
		}
	}
	return "", nil
}
