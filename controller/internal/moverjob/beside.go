// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package moverjob

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// Outliving finds a pod of an owner's movers that has not ended and is not of the Job mine, nil where there is none. When
// somebody deletes a Job, its pod goes on for a while, and on a node that is lost nobody knows for how long: a second mover
// must not start beside it. It asks the API server, because a pod may be newer than the cache.
func Outliving(ctx context.Context, live client.Reader, namespace string, owner types.UID, operation string, mine *batchv1.Job) (*corev1.Pod, error) {
	var pods corev1.PodList
	if err := live.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabels{
		kopiurv1.LabelManagedBy: kopiurv1.ManagedByValue, kopiurv1.LabelOperation: operation, kopiurv1.LabelOwnerUID: string(owner),
	}); err != nil {
		return nil, fmt.Errorf("list the movers of operation %s in namespace %s: %w", operation, namespace, err)
	}
	for i := range pods.Items {
		p := &pods.Items[i]
		ended := p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
		if !ended && (mine == nil || !metav1.IsControlledBy(p, mine)) {
			return p, nil
		}
	}
	return nil, nil //nolint:nilnil // there is none
}
