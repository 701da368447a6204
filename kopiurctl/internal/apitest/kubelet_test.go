// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package apitest

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// kubelet is a Node that serves the logs of pods which run nowhere.
type kubelet struct {
	node string

	mu       sync.Mutex
	logs     map[string]*podLog
	programs map[string]program
}

// podLog is what a pod has printed; changed is closed and made anew with each change.
type podLog struct {
	text    strings.Builder
	ended   bool
	changed chan struct{}
}

// kubelet starts one on the loopback, which ends with the test.
func (w *world) kubelet() *kubelet {
	w.t.Helper()
	k := &kubelet{logs: map[string]*podLog{}, programs: map[string]program{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/mover", k.serve)
	mux.HandleFunc("/exec/{namespace}/{pod}/mover", k.exec)
	s := httptest.NewUnstartedServer(mux)
	// The API server trusts what the control plane's CA has signed; where there is none, that of envtest trusts anybody.
	if dir := os.Getenv("KOPIUR_TEST_PKI"); dir != "" {
		cert, err := tls.LoadX509KeyPair(filepath.Join(dir, "kubelet-serving.crt"), filepath.Join(dir, "kubelet-serving.key"))
		require.NoError(w.t, err)
		s.TLS = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	}
	s.StartTLS()
	w.t.Cleanup(s.Close)

	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{GenerateName: "stub-"}}
	require.NoError(w.t, w.client.Create(w.t.Context(), node))
	w.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = w.client.Delete(ctx, node)
	})
	at, ok := s.Listener.Addr().(*net.TCPAddr)
	require.True(w.t, ok)
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "127.0.0.1"}}
	node.Status.DaemonEndpoints.KubeletEndpoint.Port = int32(at.Port)
	require.NoError(w.t, w.client.Status().Update(w.t.Context(), node))
	k.node = node.Name
	// Nothing here makes the account that every namespace has.
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "default"}}
	require.NoError(w.t, w.client.Create(w.t.Context(), account))
	return k
}

// of gives a pod's log; the caller holds the lock.
func (k *kubelet) of(pod string) *podLog {
	l := k.logs[pod]
	if l == nil {
		l = &podLog{changed: make(chan struct{})}
		k.logs[pod] = l
	}
	return l
}

// prints adds to what a pod has printed.
func (k *kubelet) prints(pod, text string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	l := k.of(pod)
	l.text.WriteString(text)
	close(l.changed)
	l.changed = make(chan struct{})
}

// ends lets a log end.
func (k *kubelet) ends(pod string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	l := k.of(pod)
	l.ended = true
	close(l.changed)
	l.changed = make(chan struct{})
}

// forgets what a pod has printed.
func (k *kubelet) forgets(pod string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.logs, pod)
}

func (k *kubelet) serve(w http.ResponseWriter, r *http.Request) {
	sent := 0
	for {
		k.mu.Lock()
		l, ok := k.logs[r.PathValue("pod")]
		if !ok {
			k.mu.Unlock()
			http.Error(w, "the container has printed nothing", http.StatusNotFound)
			return
		}
		text, ended, changed := l.text.String()[sent:], l.ended, l.changed
		k.mu.Unlock()
		_, _ = w.Write([]byte(text))
		sent += len(text)
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
		if ended || r.URL.Query().Get("follow") != "true" {
			return
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}

// pod makes a mover's pod of an object, which runs on the node.
func (w *world) pod(k *kubelet, name, job, operation string, owner types.UID) *corev1.Pod {
	w.t.Helper()
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name, Labels: map[string]string{
			"batch.kubernetes.io/job-name": job, kopiurv1.LabelOwnerUID: string(owner), kopiurv1.LabelOperation: operation,
		}},
		Spec: corev1.PodSpec{
			NodeName: k.node, AutomountServiceAccountToken: new(false), TerminationGracePeriodSeconds: new(int64(0)),
			Containers: []corev1.Container{{Name: "mover", Image: "mover"}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
	w.create(p)
	return p
}

// line is one log line as movers print it.
func line(at, level, text string) string {
	return `{"type":"log","time":"2026-03-05T` + at + `Z","level":"` + level + `","message":"` + text + `"}` + "\n"
}
