// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package framework holds what cluster tests share: a client, a namespace per test, an application with a volume, and
// waits that say what they waited for. It works on any cluster that KUBECONFIG names and that holds the images.
package framework

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// Timeout bounds every wait. It is generous, because machines that run these tests are shared; no test measures time.
const Timeout = 3 * time.Minute

// poll is the time between two looks.
const poll = 250 * time.Millisecond

// Storage classes of the project's own cluster.
const (
	ClassImmediate = "kopiur-immediate"
	ClassWFFC      = "kopiur-wffc"
	ClassNoSnap    = "kopiur-nosnap"
	// ClassLimited has volumes that get full.
	ClassLimited = "kopiur-limited"
)

// Env is one cluster.
type Env struct {
	Client client.Client
	Config *rest.Config
	// Version is the tag of the images under test.
	Version string
	logs    rest.Interface
}

// New connects to the cluster of KUBECONFIG.
func New(t *testing.T) *Env {
	t.Helper()
	path := os.Getenv("KUBECONFIG")
	require.NotEmpty(t, path, "cluster tests need KUBECONFIG: make test starts a cluster and sets it")
	cfg, err := clientcmd.BuildConfigFromFlags("", path)
	require.NoError(t, err)
	// The client would print a stack trace about a logger that it misses.
	log.SetLogger(logr.Discard())
	cfg.QPS, cfg.Burst, cfg.Timeout = -1, 0, 30*time.Second
	scheme := runtime.NewScheme()
	require.NoError(t, clientgoscheme.AddToScheme(scheme))
	require.NoError(t, kopiurv1.AddToScheme(scheme))
	c, err := client.New(cfg, client.Options{Scheme: scheme})
	require.NoError(t, err)
	logs := rest.CopyConfig(cfg)
	logs.APIPath, logs.GroupVersion, logs.NegotiatedSerializer = "/api", &corev1.SchemeGroupVersion, clientgoscheme.Codecs.WithoutConversion()
	rc, err := rest.RESTClientFor(logs)
	require.NoError(t, err)
	version := os.Getenv("VERSION")
	if version == "" {
		version = "dev"
	}
	return &Env{Client: c, Config: cfg, Version: version, logs: rc}
}

// Image is an image of the project's by its short name.
func (e *Env) Image(name string) string {
	registry := os.Getenv("REGISTRY")
	if registry == "" {
		registry = "localhost"
	}
	return registry + "/kopiur/" + name + ":" + e.Version
}

// Namespace makes a namespace for one test and removes it afterwards. After a failure its objects are dumped first.
func (e *Env) Namespace(t *testing.T, annotations map[string]string) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "spec-", Annotations: annotations}}
	require.NoError(t, e.Client.Create(t.Context(), ns))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		if t.Failed() {
			e.dump(ctx, t, ns.Name)
		}
		if err := e.Client.Delete(ctx, ns); err != nil && !apierrors.IsNotFound(err) {
			t.Errorf("delete namespace %s: %v", ns.Name, err)
		}
	})
	return ns.Name
}

// Privileged are the annotations of a namespace that consents to privileged movers.
func Privileged() map[string]string {
	return map[string]string{kopiurv1.AnnotationPrivilegedMovers: "true"}
}

// Create creates objects. One with a field that does not exist is refused.
func (e *Env) Create(t *testing.T, objects ...client.Object) {
	t.Helper()
	for _, o := range objects {
		require.NoError(t, e.Client.Create(t.Context(), o, client.FieldValidation(metav1.FieldValidationStrict)), "create %T %s", o, o.GetName())
	}
}

// Eventually waits until check returns "" and fails with its last answer.
func (e *Env) Eventually(t *testing.T, what string, check func(ctx context.Context) string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Timeout)
	defer cancel()
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for {
		last := check(ctx)
		if last == "" {
			return
		}
		select {
		case <-ctx.Done():
			require.FailNow(t, "waited in vain for "+what, last)
		case <-tick.C:
		}
	}
}

// conditioned is an object of a kind with conditions.
type conditioned interface {
	client.Object
	runtime.Object
}

func conditionsOf(o client.Object) []metav1.Condition {
	switch v := o.(type) {
	case *kopiurv1.Repository:
		return v.Status.Conditions
	case *kopiurv1.ClusterRepository:
		return v.Status.Conditions
	case *kopiurv1.SnapshotPolicy:
		return v.Status.Conditions
	case *kopiurv1.Snapshot:
		return v.Status.Conditions
	case *kopiurv1.Restore:
		return v.Status.Conditions
	case *kopiurv1.Maintenance:
		return v.Status.Conditions
	case *kopiurv1.RepositoryReplication:
		return v.Status.Conditions
	case *kopiurv1.SnapshotReplication:
		return v.Status.Conditions
	default:
		return nil
	}
}

// WaitCondition waits until a condition has this status and, unless it is empty, this reason. It fails at once when the
// object stalls although something else is waited for: nothing would change any more.
func (e *Env) WaitCondition(t *testing.T, o conditioned, condition string, status metav1.ConditionStatus, reason string) {
	t.Helper()
	what := fmt.Sprintf("%T %s to have %s=%s/%s", o, o.GetName(), condition, status, reason)
	e.Eventually(t, what, func(ctx context.Context) string {
		if err := e.Client.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return err.Error()
		}
		conditions := conditionsOf(o)
		for _, c := range conditions {
			if c.Type == condition && c.Status == status && (reason == "" || c.Reason == reason) {
				return ""
			}
		}
		return describe(conditions)
	})
}

// WaitReady waits for Ready=True.
func (e *Env) WaitReady(t *testing.T, o conditioned) {
	t.Helper()
	e.WaitCondition(t, o, kopiurv1.ConditionReady, metav1.ConditionTrue, "")
}

// Condition is the object's condition of this type as last read.
func Condition(o client.Object, condition string) metav1.Condition {
	for _, c := range conditionsOf(o) {
		if c.Type == condition {
			return c
		}
	}
	return metav1.Condition{}
}

func describe(conditions []metav1.Condition) string {
	var b strings.Builder
	for _, c := range conditions {
		fmt.Fprintf(&b, "\n  %s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message)
	}
	if b.Len() == 0 {
		return "no conditions yet"
	}
	return b.String()
}

// WaitStagedGone waits until nothing of a Snapshot's staging is left.
func (e *Env) WaitStagedGone(t *testing.T, s *kopiurv1.Snapshot) {
	t.Helper()
	e.Eventually(t, "the staged objects of "+s.Name+" to go", func(ctx context.Context) string {
		var claims corev1.PersistentVolumeClaimList
		if err := e.Client.List(ctx, &claims, client.InNamespace(s.Namespace)); err != nil {
			return err.Error()
		}
		for _, c := range claims.Items {
			if c.Labels[kopiurv1.LabelManagedBy] == kopiurv1.ManagedByValue && metav1.IsControlledBy(&c, s) {
				return "claim " + c.Name + " is still there"
			}
		}
		snapshots := &unstructured.UnstructuredList{}
		snapshots.SetGroupVersionKind(schema.GroupVersionKind{Group: "snapshot.storage.k8s.io", Version: "v1", Kind: "VolumeSnapshotList"})
		if err := e.Client.List(ctx, snapshots, client.InNamespace(s.Namespace)); err != nil {
			return err.Error()
		}
		if n := len(snapshots.Items); n > 0 {
			return fmt.Sprintf("%d VolumeSnapshots are still there", n)
		}
		return ""
	})
}

// Pause waits for a few seconds, so that what is being killed gets some work done; false when ctx ended.
func Pause(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(3 * time.Second):
		return true
	}
}
