// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"context"

	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	eventsclient "k8s.io/client-go/kubernetes/typed/events/v1"
)

// ClientsetWriter writes events through client-go.
type ClientsetWriter struct{ Client eventsclient.EventsGetter }

// Create implements EventWriter.
func (w ClientsetWriter) Create(ctx context.Context, namespace string, e *eventsv1.Event) error {
	_, err := w.Client.Events(namespace).Create(ctx, e, metav1.CreateOptions{})
	return err //nolint:wrapcheck // a plain adapter
}

// Patch implements EventWriter.
func (w ClientsetWriter) Patch(ctx context.Context, namespace, name string, mergePatch []byte) error {
	_, err := w.Client.Events(namespace).Patch(ctx, name, types.MergePatchType, mergePatch, metav1.PatchOptions{})
	return err //nolint:wrapcheck // a plain adapter
}
