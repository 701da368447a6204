// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// WaitGone waits until objects do not exist any more.
func (e *Env) WaitGone(t *testing.T, objects ...client.Object) {
	t.Helper()
	for _, o := range objects {
		e.Eventually(t, fmt.Sprintf("%T %s to go", o, o.GetName()), func(ctx context.Context) string {
			err := e.Client.Get(ctx, client.ObjectKeyFromObject(o), o)
			switch {
			case apierrors.IsNotFound(err):
				return ""
			case err != nil:
				return err.Error()
			default:
				return describe(conditionsOf(o))
			}
		})
	}
}

// Jobs lists Jobs of a namespace by their labels.
func (e *Env) Jobs(t *testing.T, namespace string, labels map[string]string) []batchv1.Job {
	t.Helper()
	var list batchv1.JobList
	require.NoError(t, e.Client.List(t.Context(), &list, client.InNamespace(namespace), client.MatchingLabels(labels)))
	return list.Items
}

// RecordJobs keeps every Job that exists in the namespace from now on, however short its life is.
func (e *Env) RecordJobs(t *testing.T, namespace string, labels map[string]string) (seen func() []batchv1.Job) {
	t.Helper()
	cfg := rest.CopyConfig(e.Config)
	cfg.Timeout = 0 // a watch is one long answer
	c, err := client.NewWithWatch(cfg, client.Options{Scheme: e.Client.Scheme()})
	require.NoError(t, err)
	w, err := c.Watch(t.Context(), &batchv1.JobList{}, client.InNamespace(namespace), client.MatchingLabels(labels))
	require.NoError(t, err)
	var mu sync.Mutex
	jobs, done := map[types.UID]batchv1.Job{}, make(chan struct{})
	go func() {
		defer close(done)
		for event := range w.ResultChan() {
			if job, ok := event.Object.(*batchv1.Job); ok {
				mu.Lock()
				jobs[job.UID] = *job
				mu.Unlock()
			}
		}
	}()
	t.Cleanup(func() {
		w.Stop()
		<-done
	})
	return func() []batchv1.Job {
		mu.Lock()
		defer mu.Unlock()
		return slices.Collect(maps.Values(jobs))
	}
}

// Cordon keeps new pods from every node, or lets them in again; so does the end of the test.
func (e *Env) Cordon(t *testing.T, on bool) {
	t.Helper()
	cordon := func(ctx context.Context, on bool) error {
		var nodes corev1.NodeList
		if err := e.Client.List(ctx, &nodes); err != nil {
			return fmt.Errorf("list nodes: %w", err)
		}
		for i := range nodes.Items {
			patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"unschedulable":%t}}`, on))
			if err := e.Client.Patch(ctx, &nodes.Items[i], patch); err != nil {
				return fmt.Errorf("cordon node %s: %w", nodes.Items[i].Name, err)
			}
		}
		return nil
	}
	require.NoError(t, cordon(t.Context(), on))
	if on {
		t.Cleanup(func() { _ = cordon(context.WithoutCancel(t.Context()), false) })
	}
}

// WaitEvent waits until there is an event about an object.
func (e *Env) WaitEvent(t *testing.T, o client.Object, kind, reason string) {
	t.Helper()
	e.Eventually(t, "an event "+reason+" about "+o.GetName(), func(ctx context.Context) string {
		var list corev1.EventList
		if err := e.Client.List(ctx, &list, client.InNamespace(o.GetNamespace())); err != nil {
			return err.Error()
		}
		var seen []string
		for i := range list.Items {
			if ev := &list.Items[i]; ev.InvolvedObject.UID == o.GetUID() {
				if ev.Reason == reason && ev.Type == kind {
					return ""
				}
				seen = append(seen, ev.Type+" "+ev.Reason)
			}
		}
		return fmt.Sprint(seen)
	})
}

// WaitMetric waits until the controller exports this line.
func (e *Env) WaitMetric(t *testing.T, line string) {
	t.Helper()
	e.Eventually(t, "the metric "+line, func(ctx context.Context) string {
		b, err := e.logs.Get().Namespace("kopiur-system").Resource("services").Name("kopiur-controller-metrics:http").SubResource("proxy").Suffix("metrics").DoRaw(ctx)
		if err != nil {
			return err.Error()
		}
		name, _, _ := strings.Cut(line, "{")
		var seen []string
		for l := range strings.Lines(string(b)) {
			if l = strings.TrimSpace(l); l == line {
				return ""
			}
			if strings.HasPrefix(l, name+"{") {
				seen = append(seen, l)
			}
		}
		return strings.Join(seen, "\n")
	})
}
