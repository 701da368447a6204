// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/setup"
)

// Wait is how long a test waits for the controller, and Tick how often it looks. Wait is longer than every requeue that
// stands behind a watch: a controller that was killed between a look and its watch converges only by that. It is long enough
// for a hundred rows on a machine that has ten times as much to do as it can.
const (
	Wait = 2 * time.Minute
	Tick = 50 * time.Millisecond
)

// LabelTest is on cluster-scoped objects of a test: its controller sees only those, so that tests in parallel do not
// reconcile each other's.
const LabelTest = "kopiur-test"

// Env is one test's namespace on the API server.
type Env struct {
	T *testing.T
	// Namespace of the test. It is the operator's, too.
	Namespace string
	// Client reads and writes without a cache.
	Client client.WithWatch
	Config *rest.Config

	namespaces []string
	clock      clock.PassiveClock
	newClient  client.NewClientFunc

	mu    sync.Mutex
	play  func(Call) Play
	calls []Call
	// hookJob plays the Jobs of hooks; nil lets them succeed.
	hookJob func(*batchv1.Job) bool
	gauges  *prometheus.Registry
}

// New makes a namespace and starts the fake mover in it. Until Mover is called, movers do all they are asked for.
func New(t *testing.T) *Env {
	t.Helper()
	require.NotNil(t, server.cfg, "call testenv.Main from TestMain")
	cfg := rest.CopyConfig(server.cfg)
	c, err := client.NewWithWatch(cfg, client.Options{Scheme: setup.Scheme()})
	require.NoError(t, err)
	e := &Env{T: t, Client: c, Config: cfg, clock: clock.RealClock{}, play: Succeed}
	e.Namespace = e.AddNamespace()
	return e
}

// AddNamespace makes one more namespace that the controller watches and the fake mover plays in. Call it before
// StartController.
func (e *Env) AddNamespace() string {
	e.T.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "t-" + random()}}
	require.NoError(e.T, e.Client.Create(e.T.Context(), ns))
	// Admission asks for the account of every pod, and the controller that makes it does not run here.
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: "default"}}
	if err := e.Client.Create(e.T.Context(), account); !apierrors.IsAlreadyExists(err) {
		require.NoError(e.T, err)
	}
	e.T.Cleanup(func() {
		// There is no namespace controller here: the name goes, what was in it stays out of the way.
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = e.Client.Delete(ctx, ns)
	})
	e.namespaces = append(e.namespaces, ns.Name)
	e.startMover(ns.Name)
	return ns.Name
}

// SetClock sets the controller's clock. Call it before StartController.
func (e *Env) SetClock(c clock.PassiveClock) { e.clock = c }

// Gauges are what a scrape of the controller that was started last finds about objects.
func (e *Env) Gauges() prometheus.Gatherer { return e.gauges }

// HookJobs sets what the Jobs of hooks do: true is success.
func (e *Env) HookJobs(play func(*batchv1.Job) bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.hookJob = play
}

// WrapClient puts something between the controllers that are started from now on and the API server, such as a client
// that stops the process after some writes.
func (e *Env) WrapClient(wrap func(client.Client) client.Client) {
	e.newClient = func(cfg *rest.Config, o client.Options) (client.Client, error) {
		c, err := client.New(cfg, o)
		if err != nil {
			return nil, err
		}
		return wrap(c), nil
	}
}

// Controller is one running controller.
type Controller struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// Stop ends the controller and waits for its end. It may be called twice.
func (c *Controller) Stop() {
	c.cancel()
	<-c.done
}

// Done is closed when the controller has ended.
func (c *Controller) Done() <-chan struct{} { return c.done }

// Cancel tells the controller to end and does not wait.
func (c *Controller) Cancel() { c.cancel() }

// StartController starts the whole controller, limited to this test's namespaces. It ends with the test.
func (e *Env) StartController(change ...func(*setup.Options)) *Controller {
	e.T.Helper()
	e.gauges = prometheus.NewRegistry()
	o := setup.Options{
		MoverImage: "localhost/kopiur/mover:test", StreamImage: "localhost/kopiur/controller:test", StreamRole: server.role.streamRole(), Namespace: e.Namespace, WatchNamespaces: e.namespaces,
		Instance: e.T.Name(), Clock: e.clock, Embedded: true, Registry: e.gauges,
	}
	for _, f := range change {
		f(&o)
	}
	opts := setup.ManagerOptions(o)
	opts.NewClient = e.newClient
	opts.GracefulShutdownTimeout = new(5 * time.Second)
	opts.Cache.ByObject[&kopiurv1.ClusterRepository{}] = cache.ByObject{
		Label: labels.SelectorFromSet(labels.Set{LabelTest: e.Namespace}),
	}
	// A transport of its own: the connections of a controller that was stopped go with it.
	cfg := server.role.limit(e.Config)
	cfg.UserAgent = e.agent() // the audit log tells tests apart by it
	mgr, err := ctrl.NewManager(cfg, opts)
	require.NoError(e.T, err)
	require.NoError(e.T, setup.AddToManager(mgr, o))
	ctx, cancel := context.WithCancel(context.Background())
	c := &Controller{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(c.done)
		if err := mgr.Start(ctx); err != nil && ctx.Err() == nil {
			e.T.Errorf("the controller ended: %v", err)
		}
		closeIdle(mgr.GetHTTPClient())
	}()
	e.T.Cleanup(c.Stop)
	return c
}

func closeIdle(c *http.Client) { c.CloseIdleConnections() }

// Create creates objects in the test's namespace, unless they name another or are cluster-scoped.
func (e *Env) Create(objs ...client.Object) {
	e.T.Helper()
	for _, obj := range objs {
		e.place(obj)
		require.NoError(e.T, e.Client.Create(e.T.Context(), obj))
	}
}

func (e *Env) place(obj client.Object) {
	rarely(obj)
	if cr, ok := obj.(*kopiurv1.ClusterRepository); ok {
		if cr.Labels == nil {
			cr.Labels = map[string]string{}
		}
		cr.Labels[LabelTest] = e.Namespace
		e.T.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			_ = e.Client.Delete(ctx, cr)
		})
		return
	}
	if obj.GetNamespace() == "" {
		obj.SetNamespace(e.Namespace)
	}
}

// rarely has a repository that does not say when maintained half a year from now. With Kopiur's own schedule a test would
// meet a run that it does not expect, at some times of the day.
func rarely(obj client.Object) {
	var spec *kopiurv1.RepositorySpec
	switch r := obj.(type) {
	case *kopiurv1.Repository:
		spec = &r.Spec
	case *kopiurv1.ClusterRepository:
		spec = &r.Spec.RepositorySpec
	default:
		return
	}
	if spec.Maintenance != nil {
		return
	}
	month := time.Now().AddDate(0, 6, 0).Month() //nolint:forbidigo // far from whatever time it is
	at := kopiurv1.CronSpec{Cron: fmt.Sprintf("0 0 1 %d *", int(month))}
	spec.Maintenance = &kopiurv1.RepositoryMaintenance{Schedule: &kopiurv1.MaintenanceSchedule{Quick: at, Full: at}}
}

// Get reads obj again by its name.
func (e *Env) Get(obj client.Object) {
	e.T.Helper()
	require.NoError(e.T, e.Client.Get(e.T.Context(), client.ObjectKeyFromObject(obj), obj))
}

// Secret makes a Secret of the test's namespace.
func Secret(name string, data map[string]string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, StringData: data}
}

// Claim makes a claim that nobody will bind.
func Claim(name string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
}

// Condition of a kind, an empty one where there is none.
func Condition(list []metav1.Condition, kind string) metav1.Condition {
	if c := meta.FindStatusCondition(list, kind); c != nil {
		return *c
	}
	return metav1.Condition{}
}
