// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package volumegroup

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/source"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// again is when to look for the API again after a request failed at the start.
const again = time.Minute

// informers is a cache that has been started.
type informers = cache.Cache

// watcher is a controller and what a group wakes there.
type watcher struct {
	ctl controller.Controller
	by  handler.EventHandler
}

// New makes the API of a manager's cluster.
func New(mgr ctrl.Manager, namespaces []string) *API {
	a := &API{mapper: mgr.GetRESTMapper(), live: mgr.GetAPIReader(), client: mgr.GetClient(), namespaces: namespaces}
	a.late = func() (informers, error) {
		opts := cache.Options{
			HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(),
			DefaultLabelSelector: labels.SelectorFromSet(labels.Set{kopiurv1.LabelManagedBy: kopiurv1.ManagedByValue}),
			DefaultTransform:     cache.TransformStripManagedFields(),
		}
		if len(namespaces) > 0 {
			opts.DefaultNamespaces = map[string]cache.Config{}
			for _, ns := range namespaces {
				opts.DefaultNamespaces[ns] = cache.Config{}
			}
		}
		c, err := cache.New(mgr.GetConfig(), opts)
		if err != nil {
			return nil, fmt.Errorf("make the cache of VolumeGroupSnapshots: %w", err)
		}
		if err := mgr.Add(c); err != nil {
			return nil, fmt.Errorf("start the cache of VolumeGroupSnapshots: %w", err)
		}
		return c, nil
	}
	return a
}

// Wakes lets our groups wake objects of a controller. It is called before the manager starts.
func (a *API) Wakes(ctl controller.Controller, by handler.MapFunc, coalesced func(handler.MapFunc) handler.EventHandler) {
	a.wake = append(a.wake, watcher{ctl, coalesced(by)})
}

// Watch starts the watch of our groups, where the cluster serves them. Whoever makes one calls it before.
func (a *API) Watch() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	v, err := a.served()
	if err != nil || v == "" || a.watched {
		return err
	}
	c, err := a.late()
	if err != nil {
		return err
	}
	a.watched = true // what fails from here on fails for ever: the next start tries again
	for _, w := range a.wake {
		if err := w.ctl.Watch(late{source.Kind[client.Object](c, object(v, Kind), w.by)}); err != nil {
			return fmt.Errorf("watch VolumeGroupSnapshots: %w", err)
		}
	}
	return nil
}

// Start watches the groups that an earlier process has left, if it has left any. It is a manager's runnable.
func (a *API) Start(ctx context.Context) error {
	for {
		left, err := a.left(ctx)
		if err == nil && left {
			err = a.Watch()
		}
		if err == nil {
			return nil // whoever makes a group watches it
		}
		logf.FromContext(ctx).Error(err, "Looking for VolumeGroupSnapshots again later")
		timer := time.NewTimer(again)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
	}
}

// left reports whether there is a group of ours.
func (a *API) left(ctx context.Context) (bool, error) {
	v, err := a.Version()
	if err != nil || v == "" {
		return false, err
	}
	namespaces := a.namespaces
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	for _, ns := range namespaces {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(object(v, Kind+"List").GroupVersionKind())
		if err := a.live.List(ctx, list, client.InNamespace(ns), client.Limit(1), client.MatchingLabels{kopiurv1.LabelManagedBy: kopiurv1.ManagedByValue}); err != nil {
			return false, fmt.Errorf("list VolumeGroupSnapshots: %w", err)
		}
		if len(list.Items) > 0 {
			return true, nil
		}
	}
	return false, nil
}

// NeedLeaderElection keeps standbys from watching.
func (a *API) NeedLeaderElection() bool { return true }

// late is a source that can be logged: controller-runtime puts one that is added late into its log as it is.
type late struct{ source.Source }

// MarshalText names it in the log.
func (late) MarshalText() ([]byte, error) { return []byte("kind source: VolumeGroupSnapshot"), nil }
