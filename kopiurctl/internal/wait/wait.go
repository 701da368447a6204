// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package wait looks at Snapshots until they have ended.
package wait

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/kopiurctl/internal/cli"
)

// again is the time between two looks where watching does not work.
const again = 2 * time.Second

// Seen is told of each new version of a Snapshot, nil where it is gone. It answers whether that one need not be looked at
// any more.
type Seen func(name string, s *kopiurv1.Snapshot) (done bool)

// Snapshots looks at the named Snapshots of a namespace until each is done or ctx ends. An API server that goes away for
// a while does not end the wait: what is waited for goes on without it.
func Snapshots(ctx context.Context, c *cli.Cluster, clk clock.WithTicker, namespace string, names []string, seen Seen) error {
	w := &waiter{cluster: c, namespace: namespace, open: map[string]string{}, seen: seen}
	for _, n := range names {
		w.open[n] = ""
	}
	for {
		if err := w.round(ctx); err != nil || len(w.open) == 0 {
			return err
		}
		timer := clk.NewTimer(again)
		select {
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		case <-timer.C():
		}
	}
}

type waiter struct {
	cluster   *cli.Cluster
	namespace string
	// open maps the names that are not done to the version that was seen last.
	open map[string]string
	seen Seen
}

// round watches until all are done, or the watch ends, as it does every few minutes. The watch is opened first, and
// everything read once then: what changes in between is not missed, and what is gone already is found.
func (w *waiter) round(ctx context.Context) error {
	opts := []client.ListOption{client.InNamespace(w.namespace)}
	if len(w.open) == 1 {
		for name := range w.open {
			opts = append(opts, client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("metadata.name", name)})
		}
	}
	stream, err := w.cluster.Watcher.Watch(ctx, &kopiurv1.SnapshotList{}, opts...)
	if err == nil {
		defer stream.Stop()
	}
	if err := w.look(ctx); err != nil || len(w.open) == 0 {
		return err
	}
	if stream == nil {
		return nil // whoever may not watch looks again and again
	}
	for len(w.open) > 0 {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case e, ok := <-stream.ResultChan():
			s, is := e.Object.(*kopiurv1.Snapshot)
			if !ok || !is {
				return nil
			}
			w.show(s.Name, s, e.Type == watch.Deleted)
		}
	}
	return nil
}

func (w *waiter) look(ctx context.Context) error {
	for name := range w.open {
		var s kopiurv1.Snapshot
		err := w.cluster.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, &s)
		switch code := cli.CodeOf(err); {
		case err == nil:
			w.show(name, &s, false)
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case apierrors.IsNotFound(err):
			w.show(name, nil, true)
		case code == cli.Forbidden:
			return err
		}
	}
	return nil
}

func (w *waiter) show(name string, s *kopiurv1.Snapshot, gone bool) {
	last, open := w.open[name]
	if !open || !gone && last == s.ResourceVersion {
		return
	}
	if gone {
		s = nil
	} else {
		w.open[name] = s.ResourceVersion
	}
	if w.seen(name, s) {
		delete(w.open, name)
	}
}
