// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/podexec/wire"
)

// server answers as an API server does, over the real protocol.
type server struct {
	t    *testing.T
	pods []corev1.Pod
	// refusals is how often a command is not permitted before it is.
	refusals atomic.Int32
	command  wire.Command
	asked    atomic.Pointer[http.Request]
}

func pod(name string, phase corev1.PodPhase) corev1.Pod {
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "apps"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "db"}, {Name: "sidecar"}}},
		Status:     corev1.PodStatus{Phase: phase},
	}
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !strings.HasSuffix(r.URL.Path, "/exec") {
		s.answer(w, http.StatusOK, corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}, Items: s.pods})
		return
	}
	if s.refusals.Add(-1) >= 0 {
		s.answer(w, http.StatusForbidden, metav1.Status{
			TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
			Reason: metav1.StatusReasonForbidden, Code: http.StatusForbidden, Message: "not yet",
		})
		return
	}
	s.asked.Store(r)
	assert.NoError(s.t, wire.Serve(w, r, s.command))
}

func (s *server) answer(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	assert.NoError(s.t, json.NewEncoder(w).Encode(body))
}

func (s *server) exec(container string) *Exec {
	s.t.Helper()
	h := httptest.NewServer(s)
	s.t.Cleanup(h.Close)
	e, err := NewExec(&rest.Config{Host: h.URL}, work.StreamCommand{Namespace: "apps", PodSelector: "app=db", Container: container, Command: []string{"pg_dump", "shop"}})
	require.NoError(s.t, err)
	return e
}

// TestExecOverTheWire: the exit status is what counts, and where none arrived nothing ended well: client-go takes a
// connection that ends without one for a success.
func TestExecOverTheWire(t *testing.T) {
	t.Parallel()
	ends := func(end *metav1.Status) wire.Command { return wire.Command{End: end} }
	one := []corev1.Pod{pod("db-0", corev1.PodRunning), pod("db-old", corev1.PodSucceeded)}
	for name, tc := range map[string]struct {
		server *server
		code   int
		fault  string
	}{
		"a command that succeeds":       {&server{pods: one, command: ends(wire.Exit(0))}, 0, ""},
		"a command that fails":          {&server{pods: one, command: ends(wire.Exit(3))}, 3, ""},
		"a connection without an end":   {&server{pods: one}, 0, "the connection ended without the exit status of the command; it said: a word"},
		"a node that is no more":        {&server{pods: one, command: wire.Command{Cut: true}}, 0, "run the command in container db of pod db-0"},
		"a kubelet that cannot run it":  {&server{pods: one, command: ends(&metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonInternalError, Message: "no such container"})}, 0, "no such container"},
		"no pod that runs":              {&server{pods: one[1:]}, 0, "no running pod matches app=db"},
		"more than one pod that runs":   {&server{pods: append(one, pod("db-1", corev1.PodRunning))}, 0, "2 running pods match app=db, and it must be one"},
		"a permission that comes later": {&server{pods: one, command: ends(wire.Exit(0))}, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.server.t, tc.server.command.Stdout, tc.server.command.Stderr = t, payload(1<<20), []byte("a word")
			if name == "a permission that comes later" {
				tc.server.refusals.Store(1)
			}
			var out bytes.Buffer
			exit, err := tc.server.exec("").Output(t.Context(), &out)
			if tc.fault != "" {
				require.ErrorContains(t, err, tc.fault)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, Exit{Code: tc.code, Stderr: "a word"}, exit)
			assert.Equal(t, sum(tc.server.command.Stdout), sum(out.Bytes()))
			q := tc.server.asked.Load().URL.Query()
			assert.Equal(t, []string{"pg_dump", "shop"}, q["command"])
			assert.Equal(t, "db", q.Get("container"), "the pod's first")
			assert.Empty(t, q.Get("stdin"))
		})
	}
}

func TestExecInANamedContainer(t *testing.T) {
	t.Parallel()
	s := &server{t: t, pods: []corev1.Pod{pod("db-0", corev1.PodRunning)}, command: wire.Command{End: wire.Exit(0)}}
	_, err := s.exec("sidecar").Output(t.Context(), &bytes.Buffer{})
	require.NoError(t, err)
	assert.Equal(t, "sidecar", s.asked.Load().URL.Query().Get("container"))
}
