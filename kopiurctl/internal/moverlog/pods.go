// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package moverlog

import (
	"context"
	"fmt"
	"io"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/kopiurctl/internal/cli"
)

// Pods lists the movers' pods of an object that have a log, oldest first.
func Pods(ctx context.Context, c *cli.Cluster, namespace string, uid types.UID) ([]corev1.Pod, error) {
	var pods corev1.PodList
	if err := c.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabels{kopiurv1.LabelOwnerUID: string(uid)}); err != nil {
		return nil, fmt.Errorf("find the mover's pods: %w", err)
	}
	pin := work.Operation{Pin: &work.Pin{}}.Name()
	out := slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool {
		return p.Status.Phase == corev1.PodPending || p.Labels[kopiurv1.LabelOperation] == pin
	})
	slices.SortStableFunc(out, func(a, b corev1.Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	return out, nil
}

// Read gives what a pod has logged so far; false where it is not to be had any more.
func Read(ctx context.Context, c *cli.Cluster, pod *corev1.Pod) ([]string, bool, error) {
	body, err := open(ctx, c, pod, false)
	if gone(err) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	defer body.Close()
	return Lines(body), true, nil
}

// gone reports whether the pod, its container or its node is not there any more, and the log with it.
func gone(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.IsBadRequest(err) || apierrors.IsInternalError(err)
}

// Stream goes on with a pod's log behind the lines that were read already, until the pod ends or ctx does.
func Stream(ctx context.Context, c *cli.Cluster, pod *corev1.Pod, behind int, say func(string, ...any)) error {
	body, err := open(ctx, c, pod, true)
	if gone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer body.Close()
	n := 0
	Copy(body, func(format string, args ...any) {
		n++
		if n > behind {
			say(format, args...)
		}
	})
	return nil
}

// Lines are the log lines of a mover's output.
func Lines(output io.Reader) []string {
	var out []string
	Copy(output, func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) })
	return out
}

func open(ctx context.Context, c *cli.Cluster, pod *corev1.Pod, follow bool) (io.ReadCloser, error) {
	r := c.Pods.Get().Namespace(pod.Namespace).Resource("pods").Name(pod.Name).SubResource("log").Param("container", container)
	if follow {
		r = r.Param("follow", "true")
	}
	body, err := r.Stream(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the log of pod %s: %w", pod.Name, err)
	}
	return body, nil
}
