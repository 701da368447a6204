// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package apitest

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/testr"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	sigsyaml "sigs.k8s.io/yaml"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/webhook/internal/admission"
	"github.com/kopiur/kopiur/webhook/internal/process"
	"github.com/kopiur/kopiur/webhook/internal/service"
)

const (
	wait = 30 * time.Second
	tick = 50 * time.Millisecond
	// labelTest is what the configurations of one test ask for, so that tests see their own objects only.
	labelTest = "kopiur-webhook-test"
)

// env is one test's namespace and configurations. The namespace's name is also that of Service and configurations.
type env struct {
	t      *testing.T
	name   string
	config *rest.Config
	client client.Client
	clock  clock.WithTicker
	// warnings are those that the client was given.
	warnings *warnings
}

type warnings struct {
	mu   sync.Mutex
	text []string
}

func (w *warnings) HandleWarningHeader(_ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = append(w.text, text)
}

// take gives what came since the last call.
func (w *warnings) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.text
	w.text = nil
	return out
}

// newEnv makes a namespace with a Service and the webhook's permissions. Configurations are made by the first replica.
func newEnv(t *testing.T) *env {
	t.Helper()
	b := make([]byte, 4)
	_, err := rand.Read(b)
	require.NoError(t, err)
	e := &env{t: t, name: "hook-" + hex.EncodeToString(b), config: rest.CopyConfig(server), clock: clock.RealClock{}, warnings: &warnings{}}
	e.config.WarningHandler = e.warnings
	s := runtime.NewScheme()
	require.NoError(t, clientgoscheme.AddToScheme(s))
	require.NoError(t, kopiurv1.AddToScheme(s))
	e.client, err = client.New(e.config, client.Options{Scheme: s})
	require.NoError(t, err)
	e.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: e.name}})
	e.grant()
	return e
}

// create makes objects that go with the test.
func (e *env) create(objects ...client.Object) {
	e.t.Helper()
	for _, o := range objects {
		require.NoError(e.t, e.client.Create(e.t.Context(), o))
		e.t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			_ = e.client.Delete(ctx, o)
		})
	}
}

// names puts a test's own names in place of the release's.
func (e *env) names(text []byte) []byte {
	return bytes.ReplaceAll(text, []byte("kopiur-webhook"), []byte(e.name))
}

// grant gives the user that replicas work as what the chart grants, and nothing else: a verb that is missing from the
// markers fails here.
func (e *env) grant() {
	e.t.Helper()
	for _, file := range []string{"webhook-rbac.yaml", "webhook-tls-rbac.yaml"} {
		raw, err := os.ReadFile(filepath.Join(root, "charts", "kopiur", "files", file))
		require.NoError(e.t, err)
		var rules struct{ ClusterRole, Role []rbacv1.PolicyRule }
		require.NoError(e.t, sigsyaml.Unmarshal(e.names(raw), &rules))
		name := metav1.ObjectMeta{Namespace: e.name, Name: e.name + "-" + strings.TrimSuffix(file, ".yaml")}
		user := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: e.name}}
		global := *name.DeepCopy()
		global.Namespace = ""
		e.create(
			&rbacv1.ClusterRole{ObjectMeta: *global.DeepCopy(), Rules: rules.ClusterRole},
			&rbacv1.ClusterRoleBinding{ObjectMeta: *global.DeepCopy(), Subjects: user, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name.Name}},
			&rbacv1.Role{ObjectMeta: *name.DeepCopy(), Rules: rules.Role},
			&rbacv1.RoleBinding{ObjectMeta: *name.DeepCopy(), Subjects: user, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name.Name}},
		)
	}
}

// replica is one running webhook.
type replica struct {
	// admission and health are the addresses it serves.
	admission, health net.Addr
	cancel            context.CancelFunc
	done              chan struct{}
}

// stop ends the replica and waits for its end.
func (r *replica) stop() {
	r.cancel()
	<-r.done
}

// start runs a replica. It ends with the test.
func (e *env) start(change ...func(*service.Options)) *replica {
	e.t.Helper()
	cfg := rest.CopyConfig(server)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: e.name, Groups: []string{"system:authenticated"}}
	started := make(chan [2]net.Addr, 1)
	o := service.Options{
		Options: process.Options{
			Addr: "127.0.0.1:0", HTTPAddr: "127.0.0.1:0", Namespace: e.name, TLSManaged: true, SecretName: e.name + "-tls",
			ServiceName: e.name, ValidatingConfig: e.name, MutatingConfig: e.name,
		},
		Config: cfg, Clock: e.clock, Rules: admission.Standard(), Drain: time.Millisecond,
		Started: func(a, h net.Addr) { started <- [2]net.Addr{a, h} },
	}
	for _, f := range change {
		f(&o)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &replica{cancel: cancel, done: make(chan struct{})}
	failed := make(chan error, 1)
	log := logr.Discard()
	if testing.Verbose() {
		log = testr.New(e.t)
	}
	go func() {
		defer close(r.done)
		if err := service.Run(ctx, o, log); err != nil {
			failed <- err
		}
	}()
	e.t.Cleanup(r.stop)
	select {
	case addrs := <-started:
		r.admission, r.health = addrs[0], addrs[1]
	case err := <-failed:
		require.NoError(e.t, err)
	}
	return r
}

// call makes API servers call a replica: a Service whose name is the loopback's, and the configurations as the chart
// renders them, for this test's objects.
func (e *env) call(r *replica) {
	e.t.Helper()
	e.create(&corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: e.name, Name: e.name},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "127.0.0.1"},
	})
	validating, mutating := e.configurations(r)
	e.create(validating, mutating)
}

// configurations are the chart's, by this test's names.
func (e *env) configurations(r *replica) (*admissionv1.ValidatingWebhookConfiguration, *admissionv1.MutatingWebhookConfiguration) {
	e.t.Helper()
	raw, err := os.ReadFile(filepath.Join(root, "charts", "kopiur", "tests", "golden", "default.yaml"))
	require.NoError(e.t, err)
	text := bytes.ReplaceAll(e.names(raw), []byte("namespace: kopiur-system"), []byte("namespace: "+e.name))
	validating, mutating := &admissionv1.ValidatingWebhookConfiguration{}, &admissionv1.MutatingWebhookConfiguration{}
	_, port, err := net.SplitHostPort(r.admission.String())
	require.NoError(e.t, err)
	text = bytes.ReplaceAll(text, []byte("port: 443\n"), []byte("port: "+port+"\n"))
	reader := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for validating.Name == "" || mutating.Name == "" {
		doc, err := reader.Read()
		require.NoError(e.t, err, "both configurations are in the golden")
		switch {
		case bytes.Contains(doc, []byte("kind: ValidatingWebhookConfiguration\n")):
			require.NoError(e.t, sigsyaml.UnmarshalStrict(doc, validating))
		case bytes.Contains(doc, []byte("kind: MutatingWebhookConfiguration\n")):
			require.NoError(e.t, sigsyaml.UnmarshalStrict(doc, mutating))
		}
	}
	mine := &metav1.LabelSelector{MatchLabels: map[string]string{labelTest: e.name}}
	validating.Webhooks[0].ObjectSelector, mutating.Webhooks[0].ObjectSelector = mine, mine
	return validating, mutating
}

// object marks an object as one of this test.
func object[T client.Object](e *env, name string, o T) T {
	o.SetName(name)
	o.SetNamespace(e.name)
	o.SetLabels(map[string]string{labelTest: e.name})
	return o
}

// repository is one that nothing is wrong with.
func (e *env) repository(name string) *kopiurv1.Repository {
	r := object(e, name, &kopiurv1.Repository{})
	r.Spec.Backend.Filesystem = &kopiurv1.FilesystemBackend{Path: "/repository", Volume: &kopiurv1.RepositoryVolume{PVC: &kopiurv1.LocalRef{Name: "repo"}}}
	r.Spec.Encryption.PasswordSecretRef = kopiurv1.SecretKeyRef{Name: "password"}
	return r
}

// try creates an object without keeping it.
func (e *env) try(o client.Object) error {
	return e.client.Create(e.t.Context(), o, client.DryRunAll)
}

func join(lines []string) string { return strings.Join(lines, "\n") }
