// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package apitest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/kopiurctl/internal/cli"
	"github.com/kopiur/kopiur/kopiurctl/internal/cmd"
)

// patience is how long a test waits for what another goroutine does.
const patience = 30 * time.Second

// world is a namespace of one test, and whoever types there.
type world struct {
	t         *testing.T
	namespace string
	client    client.WithWatch
	// kubeconfig of whoever types.
	kubeconfig string
	// in is what is typed into stdin; attended is whether stdin is a terminal, width that of the one behind stderr.
	in       string
	attended bool
	width    int
}

// standing is a clock that tells one time, and whose timers run all the same.
type standing struct{ clock.RealClock }

func (standing) Now() time.Time { return time.Date(2026, 3, 5, 9, 0, 0, 0, time.UTC) }

func newWorld(t *testing.T) *world {
	t.Helper()
	scheme := cli.Scheme()
	require.NoError(t, rbacv1.AddToScheme(scheme))
	require.NoError(t, authorizationv1.AddToScheme(scheme))
	c, err := client.NewWithWatch(server, client.Options{Scheme: scheme})
	require.NoError(t, err)
	w := &world{t: t, client: c, kubeconfig: kubeconfig}
	w.namespace = w.addNamespace()
	return w
}

// addNamespace makes one more namespace. All names have one length, so that tables have one width.
func (w *world) addNamespace() string {
	w.t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "ctl-"}}
	require.NoError(w.t, w.client.Create(w.t.Context(), ns))
	w.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = w.client.Delete(ctx, ns)
	})
	return ns.Name
}

// create creates objects with the statuses that the controller would have written.
func (w *world) create(objects ...client.Object) {
	w.t.Helper()
	for _, o := range objects {
		if o.GetNamespace() == "" {
			o.SetNamespace(w.namespace)
		}
		status, ok := o.DeepCopyObject().(client.Object)
		require.True(w.t, ok)
		require.NoError(w.t, w.client.Create(w.t.Context(), o))
		status.SetUID(o.GetUID())
		status.SetResourceVersion(o.GetResourceVersion())
		require.NoError(w.t, w.client.Status().Update(w.t.Context(), status))
	}
}

// get reads an object again.
func (w *world) get(o client.Object) {
	w.t.Helper()
	require.NoError(w.t, w.client.Get(w.t.Context(), client.ObjectKeyFromObject(o), o))
}

// status changes an object's status, as the controller does.
func (w *world) status(o client.Object, edit func()) {
	w.t.Helper()
	w.get(o)
	edit()
	require.NoError(w.t, w.client.Status().Update(w.t.Context(), o))
}

// as makes a copy of the world in which a user without any right types, plus those rules.
func (w *world) as(user string) *world {
	w.t.Helper()
	raw, err := clientcmd.LoadFromFile(w.kubeconfig)
	require.NoError(w.t, err)
	for _, u := range raw.AuthInfos {
		u.Impersonate = user
	}
	out := *w
	out.kubeconfig = filepath.Join(w.t.TempDir(), "kubeconfig")
	require.NoError(w.t, clientcmd.WriteToFile(*raw, out.kubeconfig))
	return &out
}

// result of one command line.
type result struct {
	t              *testing.T
	line           string
	code           cli.Code
	stdout, stderr string
	namespace      string
}

// call is a command line that runs.
type call struct {
	done chan struct{}
	out  *lockedBuffer
	err  *lockedBuffer
	res  result
}

func (w *world) run(args ...string) result {
	w.t.Helper()
	return w.start(w.t.Context(), args...).wait()
}

// start runs a command line in the test's namespace, unless it names another.
func (w *world) start(ctx context.Context, args ...string) *call {
	c := &call{done: make(chan struct{}), out: &lockedBuffer{}, err: &lockedBuffer{}}
	env := &cli.Env{
		IOStreams: genericiooptions.IOStreams{In: strings.NewReader(w.in), Out: c.out, ErrOut: c.err},
		Clock:     standing{}, Version: "test", Attended: w.attended,
	}
	if w.width > 0 {
		env.Width = func() int { return w.width }
	}
	all := append([]string{"--kubeconfig", w.kubeconfig}, args...)
	line := strings.Join(args, " ")
	if !strings.Contains(" "+line+" ", " -n ") {
		all = append([]string{"--namespace", w.namespace}, all...)
	}
	if len(args) > 0 && args[0] == cobraComplete {
		all = append([]string{cobraComplete, "--namespace", w.namespace, "--kubeconfig", w.kubeconfig}, args[1:]...)
	}
	go func() {
		defer close(c.done)
		code := cmd.Run(ctx, env, "kopiurctl", all)
		c.res = result{t: w.t, line: line, code: code, stdout: c.out.String(), stderr: c.err.String(), namespace: w.namespace}
	}()
	return c
}

// cobraComplete is the hidden verb that shells call.
const cobraComplete = "__complete"

func (c *call) wait() result {
	<-c.done
	return c.res
}

// says waits until stderr has a text.
func (c *call) says(t *testing.T, text string) {
	t.Helper()
	if !assert.Eventually(t, func() bool { return strings.Contains(c.err.String(), text) }, patience, 10*time.Millisecond) {
		require.FailNow(t, "stderr never said "+text, c.err.String())
	}
}

// golden compares the whole result with a file. Names of namespaces differ from run to run; the clock stands still, long
// before the API server's own, so that what was made just now has no age.
func (r result) golden(name string, replace ...string) {
	r.t.Helper()
	replace = append(replace, r.namespace, "ctl-00000")
	text := fmt.Sprintf("$ kopiurctl %s\n%s", r.line, r.stdout)
	if r.stderr != "" {
		text += "--- stderr\n" + r.stderr
	}
	text += fmt.Sprintf("--- exit code %d\n", r.code)
	text = strings.NewReplacer(replace...).Replace(text)
	path := filepath.Join("testdata", name+".golden")
	if *update {
		require.NoError(r.t, os.MkdirAll("testdata", 0o750))
		require.NoError(r.t, os.WriteFile(path, []byte(text), 0o600))
		return
	}
	want, err := os.ReadFile(path)
	require.NoError(r.t, err)
	assert.Equal(r.t, string(want), text, "go test -update writes %s anew", path)
}

// lockedBuffer is written by the command and read by the test.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func lines(s string) []string { return strings.Split(strings.TrimSuffix(s, "\n"), "\n") }

// allow lets a user do something with our kinds in the namespace, and waits until the API server knows.
func (w *world) allow(user string, verbs []string, resources ...string) {
	w.t.Helper()
	name := metav1.ObjectMeta{Namespace: w.namespace, GenerateName: "allow-"}
	role := &rbacv1.Role{ObjectMeta: name, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{kopiurv1.GroupName}, Resources: resources, Verbs: verbs,
	}}}
	require.NoError(w.t, w.client.Create(w.t.Context(), role))
	require.NoError(w.t, w.client.Create(w.t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: name, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}))
	require.Eventually(w.t, func() bool {
		ask := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user, ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: w.namespace, Verb: verbs[0], Group: kopiurv1.GroupName, Resource: resources[0],
			},
		}}
		return w.client.Create(w.t.Context(), ask) == nil && ask.Status.Allowed
	}, patience, 10*time.Millisecond)
}

// clusterRepository creates one that goes with the test.
func (w *world) clusterRepository(name string) *kopiurv1.ClusterRepository {
	w.t.Helper()
	r := &kopiurv1.ClusterRepository{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       kopiurv1.ClusterRepositorySpec{RepositorySpec: repositorySpec(), AllowedNamespaces: kopiurv1.AllowedNamespaces{All: new(true)}},
	}
	r.Status = repository("x").Status
	status := r.Status
	require.NoError(w.t, w.client.Create(w.t.Context(), r))
	w.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = w.client.Delete(ctx, r)
	})
	r.Status = status
	require.NoError(w.t, w.client.Status().Update(w.t.Context(), r))
	return r
}
