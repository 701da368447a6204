// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package setup adds Kopiur's reconcilers to a manager. It is the one package of this module that others import: the
// controller binary does, and so can an operator that wants to embed Kopiur.
//
//	mgr, err := ctrl.NewManager(cfg, setup.ManagerOptions(o))
//	…
//	err = setup.AddToManager(mgr, o)
package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	vsv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"
	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	eventsclient "k8s.io/client-go/kubernetes/typed/events/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/deletion"
	"github.com/kopiur/kopiur/controller/internal/deps"
	"github.com/kopiur/kopiur/controller/internal/index"
	"github.com/kopiur/kopiur/controller/internal/leftover"
	"github.com/kopiur/kopiur/controller/internal/loop"
	"github.com/kopiur/kopiur/controller/internal/maintenance"
	"github.com/kopiur/kopiur/controller/internal/metrics"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
	"github.com/kopiur/kopiur/controller/internal/projection"
	"github.com/kopiur/kopiur/controller/internal/replication"
	"github.com/kopiur/kopiur/controller/internal/repository"
	"github.com/kopiur/kopiur/controller/internal/restore"
	"github.com/kopiur/kopiur/controller/internal/session"
	"github.com/kopiur/kopiur/controller/internal/snapshot"
	"github.com/kopiur/kopiur/controller/internal/snapshotgroup"
	"github.com/kopiur/kopiur/controller/internal/snapshotpolicy"
	"github.com/kopiur/kopiur/controller/internal/snapshotreplication"
	"github.com/kopiur/kopiur/controller/internal/snapshotschedule"
	"github.com/kopiur/kopiur/controller/internal/streamaccess"
	"github.com/kopiur/kopiur/controller/internal/volumegroup"
)

// Options of Kopiur in a process.
type Options struct {
	// MoverImage is the image of mover pods. It is required.
	MoverImage string
	// RcloneMoverImage is the image of movers for repositories behind rclone; MoverImage with -rclone behind its tag where
	// it is left out.
	RcloneMoverImage string
	// StreamImage holds the helper that runs commands for streams, StreamRole is the ClusterRole that it is bound to. Without
	// an image there are no streams; the role is kopiur-stream-mover where it is left out.
	StreamImage, StreamRole string
	// MoverPullPolicy of mover pods; the cluster's default where it is left out.
	MoverPullPolicy corev1.PullPolicy
	// Namespace is where the operator runs: the home of ClusterRepositories that name no other. It is required.
	Namespace string
	// WatchNamespaces limits Kopiur to these; all where it is empty.
	WatchNamespaces []string
	// Instance names this process in events, usually the pod's name.
	Instance string
	// CredentialProjection lets the credentials of ClusterRepositories be copied to where their movers run, if both sides
	// ask for it. It takes the right to write Secrets.
	CredentialProjection bool
	// ServerImage serves kopia's web UI for the repositories that ask for it; without one nothing is served. It takes the
	// right to write Deployments, Services and Secrets.
	ServerImage string
	// MaxConcurrentJobs is how many backups may run at a time over all repositories; 0 is no limit. Restores start at once
	// and count.
	MaxConcurrentJobs int
	// MaxConcurrentDeleteJobs is how many Jobs may delete stored data at a time over all repositories; 0 is no limit.
	MaxConcurrentDeleteJobs int
	// ReconcileConcurrency of each controller; 0 is unbounded, absent is 8.
	ReconcileConcurrency *int
	// Clock for decisions; the machine's where it is left out.
	Clock clock.PassiveClock
	// ServerClock is what timestamps of the API server are compared with; the machine's where it is left out.
	ServerClock clock.PassiveClock
	// NewQueue, where it is set, makes the controllers' work queues. Tests use it to move time.
	NewQueue deps.Queue
	// Registry takes the gauges that are computed from objects; controller-runtime's where it is left out.
	Registry prometheus.Registerer
	// Embedded turns off what assumes that the process belongs to Kopiur alone: unique controller names.
	Embedded bool
}

// reconcilers of the kinds, in no particular order.
var reconcilers = []func(ctrl.Manager, deps.Deps) error{
	deletion.Setup,
	maintenance.Setup,
	replication.Setup,
	repository.Setup,
	restore.Setup,
	session.Setup,
	snapshot.Setup,
	snapshotgroup.Setup,
	snapshotpolicy.Setup,
	snapshotreplication.Setup,
	snapshotschedule.Setup,
}

// gauges of the kinds that have some.
func gauges() []metrics.Source {
	return []metrics.Source{
		metrics.Phases(),
		repository.Gauges(),
		deletion.Gauges(),
		maintenance.Gauges(),
		replication.Gauges(),
		snapshotpolicy.Gauges(),
	}
}

// Scheme holds the kinds that Kopiur reads and writes.
func Scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	// These cannot fail but by a fault of the build.
	utilruntime.Must(corev1.AddToScheme(s))
	utilruntime.Must(appsv1.AddToScheme(s))
	utilruntime.Must(batchv1.AddToScheme(s))
	utilruntime.Must(rbacv1.AddToScheme(s))
	utilruntime.Must(coordinationv1.AddToScheme(s))
	utilruntime.Must(storagev1.AddToScheme(s))
	utilruntime.Must(vsv1.AddToScheme(s))
	utilruntime.Must(kopiurv1.AddToScheme(s))
	return s
}

// ManagerOptions are those a manager needs for Kopiur: its scheme and the caches' bounds. Leader election and the HTTP
// endpoints are the caller's business and off.
func ManagerOptions(o Options) ctrl.Options {
	opts := index.CacheOptions()
	if o.ServerImage != "" {
		index.Serving(&opts)
	}
	if len(o.WatchNamespaces) > 0 {
		opts.DefaultNamespaces = map[string]cache.Config{}
		for _, ns := range o.WatchNamespaces {
			opts.DefaultNamespaces[ns] = cache.Config{}
		}
	}
	return ctrl.Options{
		Scheme:                 Scheme(),
		Cache:                  opts,
		Metrics:                metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress: "0",
	}
}

// AddToManager adds Kopiur's reconcilers to a manager that was made with ManagerOptions. Call it once per manager, before
// the manager starts.
func AddToManager(mgr ctrl.Manager, o Options) error {
	if o.MoverImage == "" {
		return errors.New("set up kopiur: the mover image is not set")
	}
	if o.Namespace == "" {
		return errors.New("set up kopiur: the operator's namespace is not set")
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.ServerClock == nil {
		o.ServerClock = clock.RealClock{}
	}
	logs, err := moverjob.NewPodLogs(mgr.GetConfig())
	if err != nil {
		return fmt.Errorf("set up kopiur: %w", err)
	}
	events, err := eventsclient.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("set up kopiur: make the event client: %w", err)
	}
	sink := loop.NewSink(loop.ClientsetWriter{Client: events}, o.Clock, o.Instance)
	if err := mgr.Add(sink); err != nil {
		return fmt.Errorf("set up kopiur: %w", err)
	}
	// Nothing is waited for before the manager starts, so there is nothing to cancel.
	ctx := context.Background()
	if err := index.Register(ctx, mgr.GetFieldIndexer(), o.Namespace); err != nil {
		return fmt.Errorf("set up kopiur: %w", err)
	}
	for _, obj := range index.Informed() {
		if _, err := mgr.GetCache().GetInformer(ctx, obj, cache.BlockUntilSynced(false)); err != nil {
			return fmt.Errorf("set up kopiur: watch %T: %w", obj, err)
		}
	}
	if o.Registry == nil {
		o.Registry = ctrlmetrics.Registry
	}
	if err := mgr.Add(metrics.NewCollector(mgr.GetClient(), o.Registry, gauges()...)); err != nil {
		return fmt.Errorf("set up kopiur: %w", err)
	}
	concurrency := -1
	if o.ReconcileConcurrency != nil {
		concurrency = *o.ReconcileConcurrency
	}
	d := deps.Deps{
		Env:                loop.Env{Client: mgr.GetClient(), Clock: o.Clock, Events: sink, Writes: loop.NewWrites()},
		ServerClock:        o.ServerClock,
		Live:               mgr.GetAPIReader(),
		Groups:             volumegroup.New(mgr, o.WatchNamespaces),
		Logs:               logs,
		MoverImage:         moverjob.Images{Mover: o.MoverImage, Rclone: o.RcloneMoverImage, Stream: o.StreamImage},
		PullPolicy:         o.MoverPullPolicy,
		OperatorNamespace:  o.Namespace,
		WatchNamespaces:    o.WatchNamespaces,
		Projection:         o.CredentialProjection,
		ServerImage:        o.ServerImage,
		StreamRole:         cmp.Or(o.StreamRole, streamaccess.DefaultRole),
		MaxConcurrentJobs:  o.MaxConcurrentJobs,
		MaxDeleteJobs:      o.MaxConcurrentDeleteJobs,
		Concurrency:        concurrency,
		NewQueue:           o.NewQueue,
		SkipNameValidation: o.Embedded,
	}
	if o.CredentialProjection {
		if err := mgr.Add(&projection.Sweeper{Client: d.Client, Live: d.Live, Clock: clock.RealClock{}, Namespaces: o.WatchNamespaces}); err != nil {
			return fmt.Errorf("set up kopiur: %w", err)
		}
	}
	if err := mgr.Add(&leftover.Sweeper{Client: d.Client, Live: d.Live, Clock: clock.RealClock{}, Namespaces: o.WatchNamespaces}); err != nil {
		return fmt.Errorf("set up kopiur: %w", err)
	}
	if err := mgr.Add(&maintenance.Sweeper{Client: d.Client, Live: d.Live, Clock: clock.RealClock{}, Namespace: o.Namespace}); err != nil {
		return fmt.Errorf("set up kopiur: %w", err)
	}
	if err := mgr.Add(d.Groups); err != nil {
		return fmt.Errorf("set up kopiur: %w", err)
	}
	for _, add := range reconcilers {
		if err := add(mgr, d); err != nil {
			return fmt.Errorf("set up kopiur: %w", err)
		}
	}
	return nil
}
