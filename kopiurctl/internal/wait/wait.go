// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package wait looks at objects until nothing more is expected of them.
package wait

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kopiur/kopiur/kopiurctl/internal/cli"
)

// again is the time between two looks where watching does not work.
const again = 2 * time.Second

// Kind is a kind of objects that can be waited for: pointers to a type, and lists of them.
type Kind[T client.Object] struct {
	New  func() T
	List func() client.ObjectList
}

// Seen is told of each new version of an object, or that it is gone. It answers whether that one need not be looked at any
// more.
type Seen[T client.Object] func(name string, obj T, gone bool) (done bool)

// Objects looks at the named objects of a namespace until each is done or ctx ends. An API server that goes away for a
// while does not end the wait: what is waited for goes on without it.
func Objects[T client.Object](ctx context.Context, c *cli.Cluster, clk clock.WithTicker, kind Kind[T], namespace string, names []string, seen Seen[T]) error {
	w := &waiter[T]{cluster: c, kind: kind, namespace: namespace, open: map[string]string{}, seen: seen}
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

type waiter[T client.Object] struct {
	cluster   *cli.Cluster
	kind      Kind[T]
	namespace string
	// open maps the names that are not done to the version that was seen last.
	open map[string]string
	seen Seen[T]
}

// round watches until all are done, or the watch ends, as it does every few minutes. The watch is opened first, and
// everything read once then: what changes in between is not missed, and what is gone already is found.
func (w *waiter[T]) round(ctx context.Context) error {
	opts := []client.ListOption{client.InNamespace(w.namespace)}
	if len(w.open) == 1 {
		for name := range w.open {
			opts = append(opts, client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("metadata.name", name)})
		}
	}
	stream, err := w.cluster.Watcher.Watch(ctx, w.kind.List(), opts...)
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
			obj, is := e.Object.(T)
			if !ok || !is {
				return nil
			}
			w.show(obj.GetName(), obj, e.Type == watch.Deleted)
		}
	}
	return nil
}

func (w *waiter[T]) look(ctx context.Context) error {
	for name := range w.open {
		obj := w.kind.New()
		err := w.cluster.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, obj)
		switch code := cli.CodeOf(err); {
		case err == nil:
			w.show(name, obj, false)
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case apierrors.IsNotFound(err):
			w.show(name, obj, true)
		case code == cli.Forbidden:
			return err
		}
	}
	return nil
}

func (w *waiter[T]) show(name string, obj T, gone bool) {
	last, open := w.open[name]
	if !open || !gone && last == obj.GetResourceVersion() {
		return
	}
	if !gone {
		w.open[name] = obj.GetResourceVersion()
	}
	if w.seen(name, obj, gone) {
		delete(w.open, name)
	}
}
