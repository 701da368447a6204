// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// FieldManager names us in the managed fields of what we write.
const FieldManager = "kopiurctl"

// patience bounds every request but watches and logs that are followed.
const patience = 30 * time.Second

// Cluster is the connection to one cluster.
type Cluster struct {
	client.Client
	// Watcher has no deadline of its own; its user gives one.
	Watcher client.WithWatch
	// Pods reads the logs of pods and runs programs in them, without a deadline likewise.
	Pods rest.Interface
	// Config makes connections of other kinds to it.
	Config *rest.Config
	// Namespace to work in.
	Namespace string
	// Now is the API server's clock as of its last answer; false before the first.
	Now func() (time.Time, bool)
	// Warn says something once, whether validation found it here or the cluster's own admission did.
	Warn func(text string)
}

// Scheme has our kinds and the few built-in ones that verbs read.
func Scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{kopiurv1.AddToScheme, corev1.AddToScheme} {
		if err := add(s); err != nil {
			panic(err) // two Go types for one kind: no build with that fault gets past a test
		}
	}
	return s
}

// mapper knows where our kinds are served. Discovery would cost requests and a permission, to learn what is fixed.
func mapper() meta.RESTMapper {
	m := meta.NewDefaultRESTMapper([]schema.GroupVersion{kopiurv1.GroupVersion, corev1.SchemeGroupVersion})
	for kind, plural := range map[string]string{
		"Repository": "repositories", "SnapshotPolicy": "snapshotpolicies", "SnapshotSchedule": "snapshotschedules",
		"Snapshot": "snapshots", "Restore": "restores", "Maintenance": "maintenances",
		"RepositoryReplication": "repositoryreplications", "SnapshotReplication": "snapshotreplications",
		"ClusterRepository": "clusterrepositories",
	} {
		scope := meta.RESTScopeNamespace
		if kind == "ClusterRepository" {
			scope = meta.RESTScopeRoot
		}
		add(m, kopiurv1.GroupVersion, kind, plural, scope)
	}
	add(m, corev1.SchemeGroupVersion, "Namespace", "namespaces", meta.RESTScopeRoot)
	add(m, corev1.SchemeGroupVersion, "Pod", "pods", meta.RESTScopeNamespace)
	add(m, corev1.SchemeGroupVersion, "ConfigMap", "configmaps", meta.RESTScopeNamespace)
	add(m, corev1.SchemeGroupVersion, "PersistentVolumeClaim", "persistentvolumeclaims", meta.RESTScopeNamespace)
	return m
}

func add(m *meta.DefaultRESTMapper, gv schema.GroupVersion, kind, plural string, scope meta.RESTScope) {
	m.AddSpecific(gv.WithKind(kind), gv.WithResource(plural), gv.WithResource(strings.ToLower(kind)), scope)
}

// kubeconfig is what the flags, the environment and the files say.
func (e *Env) kubeconfig() clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = e.Kubeconfig
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{
		CurrentContext: e.Context,
		Context:        api.Context{Namespace: e.Namespace},
	})
}

// Contexts lists the names of the kubeconfig's contexts; none where it cannot be read.
func (e *Env) Contexts() []string {
	raw, err := e.kubeconfig().RawConfig()
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(raw.Contexts))
}

// Connect reads the kubeconfig and makes the clients. It sends nothing.
func (e *Env) Connect() (*Cluster, error) {
	config := e.kubeconfig()
	cfg, err := config.ClientConfig()
	switch {
	case clientcmd.IsEmptyConfig(err) || errors.Is(err, rest.ErrNotInCluster):
		return nil, Usagef("no cluster is configured: set --kubeconfig or KUBECONFIG")
	case err != nil:
		return nil, Usagef("read the kubeconfig: %w", err)
	}
	namespace, _, err := config.Namespace()
	if err != nil {
		return nil, Usagef("read the kubeconfig: %w", err)
	}
	cfg.UserAgent = FieldManager + "/" + e.Version
	// The API server protects itself; a person at a terminal need not be slowed down as well.
	cfg.QPS = -1
	warnings := &warnings{say: e.Say, said: map[string]bool{}}
	cfg.WarningHandler = warnings
	server := &serverClock{}
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			res, err := next.RoundTrip(r)
			if err == nil {
				server.see(res.Header.Get("Date"))
			}
			return res, err
		})
	})
	opts := client.Options{Scheme: Scheme(), Mapper: mapper()}
	out := &Cluster{Namespace: namespace, Config: cfg, Now: server.now, Warn: warnings.warn}
	if out.Watcher, err = client.NewWithWatch(cfg, opts); err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	logs := rest.CopyConfig(cfg)
	logs.APIPath, logs.GroupVersion = "/api", &corev1.SchemeGroupVersion
	logs.NegotiatedSerializer = serializer.NewCodecFactory(opts.Scheme).WithoutConversion()
	if out.Pods, err = rest.RESTClientFor(logs); err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	bounded := rest.CopyConfig(cfg)
	bounded.Timeout = patience
	c, err := client.New(bounded, opts)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	out.Client = client.WithFieldOwner(c, FieldManager)
	return out, nil
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// serverClock is what the API server says the time is. A laptop's clock may be wrong by hours.
type serverClock struct {
	mu   sync.Mutex
	last time.Time
}

func (c *serverClock) see(date string) {
	t, err := http.ParseTime(date)
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.After(c.last) {
		c.last = t
	}
}

func (c *serverClock) now() (time.Time, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last, !c.last.IsZero()
}

// warnings are said once each.
type warnings struct {
	say  func(string, ...any)
	mu   sync.Mutex
	said map[string]bool
}

func (w *warnings) warn(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if text != "" && !w.said[text] {
		w.said[text] = true
		w.say("warning: %s", text)
	}
}

// HandleWarningHeader takes a warning that came with an answer.
func (w *warnings) HandleWarningHeader(code int, _, text string) {
	if code == 299 {
		w.warn(text)
	}
}
