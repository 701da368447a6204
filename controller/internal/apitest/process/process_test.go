// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package process_test looks at the controller from outside: the program as it is shipped, how much memory it takes and how
// many connections it opens. It has an API server of its own, because the program looks after all it finds there.
package process_test

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/setup"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		fmt.Fprintln(os.Stderr, "left out: these tests need an API server, and -short asks for no set-up")
		os.Exit(0)
	}
	logf.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

const (
	namespace = "kopiur-system"
	// snapshots is how many of them the bounds are for (acceptance E-6).
	snapshots = 2000
	// wait is for a busy machine.
	wait = 3 * time.Minute
	tick = 50 * time.Millisecond

	mib = 1 << 20
	// The bounds of acceptance E-6: the working set, which is what a limit of memory is held against.
	steadyBytes, burstBytes = 64 * mib, 128 * mib
	// mostSockets is that of E-8.
	mostSockets = 64
	// flaps is how often the API server goes away and comes back.
	flaps = 15
)

// TestBoundsOfTheProcess (acceptance E-6, E-7, E-8): a controller with 2,000 Snapshots keeps within its memory, when it starts
// and when it rests, and an API server that comes and goes costs it neither file descriptors nor its life.
func TestBoundsOfTheProcess(t *testing.T) { //nolint:paralleltest // it is measured
	cfg := apiServer(t)
	populate(t, cfg)
	front := listen(t, cfg.Host)
	p := start(t, cfg, front.address)

	require.EventuallyWithT(t, func(c *assert.CollectT) {
		assert.Equal(c, snapshots, strings.Count(p.metrics(c), `kopiur_resource_phase{kind="Snapshot"`), "the caches are full")
	}, wait, 10*tick)
	require.Eventually(t, func() bool { return p.memory(t, "RssAnon") < steadyBytes }, wait, 10*tick, "at rest: %d MiB", p.memory(t, "RssAnon")/mib)
	peak := p.memory(t, "VmHWM")
	t.Logf("%d MiB at rest, %d MiB with the program itself, %d MiB at most", p.memory(t, "RssAnon")/mib, p.memory(t, "VmRSS")/mib, peak/mib)
	assert.Less(t, peak, burstBytes, "while it started")

	before := p.sockets(t)
	most := before
	for range flaps {
		front.cut()
		require.Eventually(t, func() bool { most = max(most, p.sockets(t)); return front.refused() > 0 }, wait, tick, "it tries again")
		front.restore(t)
		require.Eventually(t, func() bool { most = max(most, p.sockets(t)); return front.open() > 0 }, wait, tick, "and finds it")
	}
	t.Logf("%d sockets before, %d at most", before, most)
	assert.LessOrEqual(t, most, mostSockets)
	assert.True(t, p.alive(), "it lives through all of them, and keeps its Lease: %s", p.log())
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		assert.LessOrEqual(c, p.sockets(t), before+2, "nothing is left open")
	}, wait, 10*tick)
	// It works: what is made now is looked at.
	late := finished("late", snapshots)
	late.Status = kopiurv1.SnapshotStatus{}
	late.Spec.PolicyRef.Name = "nobody"
	c := clientOf(t, cfg)
	require.NoError(t, c.Create(t.Context(), late))
	require.EventuallyWithT(t, func(ct *assert.CollectT) {
		require.NoError(ct, c.Get(t.Context(), client.ObjectKeyFromObject(late), late))
		assert.NotEmpty(ct, late.Status.Conditions)
	}, wait, tick)
}

// apiServer starts one with nothing in it but our kinds.
func apiServer(t *testing.T) *rest.Config {
	t.Helper()
	require.NotEmpty(t, os.Getenv("KUBEBUILDER_ASSETS"), "make test sets KUBEBUILDER_ASSETS to a folder with etcd and kube-apiserver")
	env := &envtest.Environment{CRDInstallOptions: envtest.CRDInstallOptions{
		Paths: []string{filepath.Join("..", "..", "..", "..", "charts", "kopiur", "crds")}, ErrorIfPathMissing: true, MaxTime: wait,
	}, ControlPlaneStartTimeout: wait, ControlPlaneStopTimeout: wait}
	cfg, err := env.Start()
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, env.Stop()) })
	cfg.QPS = -1
	return cfg
}

func clientOf(t *testing.T, cfg *rest.Config) client.Client {
	t.Helper()
	c, err := client.New(cfg, client.Options{Scheme: setup.Scheme()})
	require.NoError(t, err)
	return c
}

// populate makes the namespace and its Snapshots.
func populate(t *testing.T, cfg *rest.Config) {
	t.Helper()
	c := clientOf(t, cfg)
	require.NoError(t, c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))
	next := make(chan int)
	var running sync.WaitGroup
	for range 16 {
		running.Go(func() {
			for i := range next {
				s := finished(fmt.Sprintf("web-%d", i), i)
				status := s.Status
				err := c.Create(t.Context(), s)
				if err == nil {
					base := s.DeepCopy() // the controller may write it in between
					s.Status = status
					err = c.Status().Patch(t.Context(), s, client.MergeFrom(base))
				}
				assert.NoError(t, err)
			}
		})
	}
	for i := range snapshots {
		next <- i
	}
	close(next)
	running.Wait()
}

// finished is a Snapshot that succeeded, of one of twenty policies that are gone.
func finished(name string, i int) *kopiurv1.Snapshot {
	at := time.Date(2026, 3, 5, 2, 0, 0, 0, time.UTC).Add(time.Duration(i) * time.Hour)
	policy := fmt.Sprintf("policy-%d", i%20)
	s := &kopiurv1.Snapshot{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, Finalizers: []string{kopiurv1.FinalizerSnapshot},
			Labels: map[string]string{kopiurv1.LabelConfig: policy, kopiurv1.LabelPolicy: policy, kopiurv1.LabelOrigin: kopiurv1.OriginManual, kopiurv1.LabelSnapshotID: fmt.Sprintf("k%05d", i)},
		},
		Spec: kopiurv1.SnapshotSpec{PolicyRef: &kopiurv1.PolicyRef{Name: policy}},
		Status: kopiurv1.SnapshotStatus{
			Phase: kopiurv1.SnapshotSucceeded, Origin: kopiurv1.OriginManual, ObservedGeneration: 1,
			Snapshot: &kopiurv1.StoredSnapshot{
				KopiaSnapshotID: fmt.Sprintf("k%05d", i),
				Identity:        kopiurv1.Identity{Username: policy, Hostname: namespace, SourcePath: "/pvc/data"},
			},
			Stats:   &kopiurv1.SnapshotStats{SizeBytes: 4096, Files: 3},
			Timing:  &kopiurv1.Timing{StartTime: at.Format(time.RFC3339), EndTime: at.Add(time.Minute).Format(time.RFC3339), DurationSeconds: 60},
			LogTail: strings.Repeat("a line of the mover's log\n", 20),
			Resolved: &kopiurv1.SnapshotResolved{
				Repository: &kopiurv1.RepositoryRef{Name: "nas", Namespace: namespace, Kind: kopiurv1.KindRepository}, DeletionPolicy: kopiurv1.DeletionDelete,
				Sources: []kopiurv1.ResolvedSource{{PVC: namespace + "/data", SourcePath: "/pvc/data"}},
			},
		},
	}
	for kind, status := range map[string]metav1.ConditionStatus{
		kopiurv1.ConditionReady: metav1.ConditionTrue, kopiurv1.ConditionReconciling: metav1.ConditionFalse, kopiurv1.ConditionStalled: metav1.ConditionFalse,
		kopiurv1.ConditionSnapshotCreated: metav1.ConditionTrue, kopiurv1.ConditionRepositoryReady: metav1.ConditionTrue, kopiurv1.ConditionCredentialsAvailable: metav1.ConditionTrue,
	} {
		s.Status.Conditions = append(s.Status.Conditions, metav1.Condition{
			Type: kind, Status: status, Reason: kopiurv1.ReasonSnapshotSucceeded, Message: "the snapshot is in the repository", ObservedGeneration: 1, LastTransitionTime: metav1.NewTime(at),
		})
	}
	return s
}

// front stands before the API server and can be taken away.
type front struct {
	address, behind string

	mu       sync.Mutex
	listener net.Listener
	down     bool
	turned   int
	conns    map[net.Conn]bool
}

// listen starts a front of an API server.
func listen(t *testing.T, host string) *front {
	t.Helper()
	if !strings.Contains(host, "://") {
		host = "https://" + host
	}
	behind, err := url.Parse(host)
	require.NoError(t, err)
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	f := &front{address: l.Addr().String(), behind: behind.Host, listener: l, conns: map[net.Conn]bool{}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.serve()
	}()
	t.Cleanup(func() {
		f.cut()
		_ = l.Close()
		<-done
	})
	return f
}

func (f *front) serve() {
	for {
		in, err := f.listener.Accept()
		if err != nil {
			return
		}
		go f.pass(in)
	}
}

// pass connects both sides. One that comes while the API server is away is turned away, as by a load balancer without it.
func (f *front) pass(in net.Conn) {
	defer func() { _ = in.Close() }()
	out, err := (&net.Dialer{Timeout: wait}).Dial("tcp", f.behind)
	if err != nil {
		return
	}
	defer func() { _ = out.Close() }()
	if !f.take(in, out) {
		return
	}
	defer f.drop(in, out)
	var both sync.WaitGroup
	copyTo := func(to, from net.Conn) {
		_, _ = io.Copy(to, from)
		_ = to.Close()
		_ = from.Close()
	}
	both.Go(func() { copyTo(out, in) })
	both.Go(func() { copyTo(in, out) })
	both.Wait()
}

func (f *front) take(in, out net.Conn) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down {
		f.turned++
		return false
	}
	f.conns[in], f.conns[out] = true, true
	return true
}

func (f *front) drop(in, out net.Conn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.conns, in)
	delete(f.conns, out)
}

// cut ends all connections and lets none in.
func (f *front) cut() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down, f.turned = true, 0
	for c := range f.conns {
		_ = c.Close()
	}
}

// restore lets connections in again.
func (f *front) restore(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return len(f.conns) == 0
	}, wait, time.Millisecond)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down = false
}

func (f *front) refused() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.turned
}

func (f *front) open() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.conns)
}

// program is a controller that runs.
type program struct {
	pid  int
	http string
	out  string
	done chan struct{}
}

// start builds the controller, without the race detector that these tests run with, and starts it.
func start(t *testing.T, cfg *rest.Config, address string) *program {
	t.Helper()
	dir := t.TempDir()
	binary := filepath.Join(dir, "controller")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "../../../cmd/controller")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as it is shipped, so that it is built once
	text, err := build.CombinedOutput()
	require.NoError(t, err, "%s", text)

	kubeconfig := filepath.Join(dir, "kubeconfig")
	require.NoError(t, clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"c": {Server: "https://" + address, CertificateAuthorityData: cfg.CAData}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"a": {ClientCertificateData: cfg.CertData, ClientKeyData: cfg.KeyData}},
		Contexts:       map[string]*clientcmdapi.Context{"x": {Cluster: "c", AuthInfo: "a"}},
		CurrentContext: "x",
	}, kubeconfig))
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &program{http: l.Addr().String(), out: filepath.Join(dir, "log"), done: make(chan struct{})}
	require.NoError(t, l.Close())
	out, err := os.Create(p.out)
	require.NoError(t, err)
	cmd := exec.Command(binary, "--http-addr", p.http) //nolint:noctx // it is told to end below, as Kubernetes does
	cmd.Env = []string{"KUBECONFIG=" + kubeconfig, "KOPIUR_NAMESPACE=" + namespace, "KOPIUR_MOVER_IMAGE=localhost/kopiur/mover:test", "HOME=" + dir}
	cmd.Stdout, cmd.Stderr = out, out
	require.NoError(t, cmd.Start())
	p.pid = cmd.Process.Pid
	go func() {
		defer close(p.done)
		_ = cmd.Wait()
		_ = out.Close()
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-p.done
		if t.Failed() {
			t.Log(p.log())
		}
	})
	return p
}

// log is the end of what it printed.
func (p *program) log() string {
	b, _ := os.ReadFile(p.out)
	return string(b[max(0, len(b)-4000):])
}

func (p *program) alive() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// metrics of the program; none while it starts.
func (p *program) metrics(c *assert.CollectT) string {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.http+"/metrics", http.NoBody)
	require.NoError(c, err)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(c, err)
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	require.NoError(c, err)
	return string(b)
}

// memory is a line of the kernel's about the program, in bytes.
func (p *program) memory(t *testing.T, line string) int {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.pid))
	require.NoError(t, err, "%s", p.log())
	for l := range strings.Lines(string(b)) {
		if amount, ok := strings.CutPrefix(l, line+":"); ok {
			kib, err := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(amount), "kB")))
			require.NoError(t, err)
			return kib << 10
		}
	}
	require.Fail(t, "the kernel does not say "+line)
	return 0
}

// sockets are the connections and listeners that the program has open.
func (p *program) sockets(t *testing.T) (n int) {
	t.Helper()
	dir := fmt.Sprintf("/proc/%d/fd", p.pid)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err, "%s", p.log())
	for _, e := range entries {
		if to, err := os.Readlink(filepath.Join(dir, e.Name())); err == nil && strings.HasPrefix(to, "socket:") {
			n++
		}
	}
	return n
}
