// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package hooks_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/hooks"
)

func one(h kopiurv1.Hook) hooks.One { return hooks.One{Hook: h, List: hooks.Before} }

// pods answers every list with the same pods.
type pods struct {
	client.Reader
	items []corev1.Pod
}

func (p pods) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	if l, ok := list.(*corev1.PodList); ok {
		l.Items = p.items
	}
	return nil
}

func pod(name string, phase corev1.PodPhase) corev1.Pod {
	p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}}
	p.Status.Phase = phase
	return p
}

// A command runs in exactly one pod, or not at all.
func TestExecNeedsOnePod(t *testing.T) {
	t.Parallel()
	by := metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}
	for name, tc := range map[string]struct {
		by    metav1.LabelSelector
		items []corev1.Pod
		want  string
	}{
		"none":                  {by, nil, "hook beforeSnapshot[0]: workloadExec: no running pod matches app=db"},
		"one that does not run": {by, []corev1.Pod{pod("a", corev1.PodPending)}, "no running pod"},
		"one that goes away":    {by, []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: new(metav1.Now())}, Status: corev1.PodStatus{Phase: corev1.PodRunning}}}, "no running pod"},
		"two":                   {by, []corev1.Pod{pod("a", corev1.PodRunning), pod("b", corev1.PodRunning)}, "2 running pods match app=db, and it must be one"},
		"a selector of nothing": {metav1.LabelSelector{}, nil, "selects nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &hooks.Runner{Live: pods{items: tc.items}}
			err := r.Run(t.Context(), &kopiurv1.Snapshot{}, one(kopiurv1.Hook{WorkloadExec: &kopiurv1.ExecHook{PodSelector: tc.by, Command: []string{"sync"}}}))
			var own *hooks.Error
			require.ErrorAs(t, err, &own)
			assert.Contains(t, own.Message, tc.want)
		})
	}
}

// An answer outside 2xx fails; what a message says has no address, which may hold a password.
func TestRequests(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/busy":
			w.WriteHeader(http.StatusConflict)
			_, _ = w.Write([]byte("try later"))
		case "/slow":
			<-r.Context().Done()
		default:
			w.WriteHeader(http.StatusNoContent)
		}
	}))
	t.Cleanup(s.Close)
	r := &hooks.Runner{}
	at := func(url string, timeout kopiurv1.Duration) error {
		return r.Run(t.Context(), &kopiurv1.Snapshot{}, one(kopiurv1.Hook{HTTPRequest: &kopiurv1.HTTPHook{URL: url, Timeout: timeout}}))
	}
	require.NoError(t, at(s.URL, ""))
	var own *hooks.Error
	require.ErrorAs(t, at(s.URL+"/busy", ""), &own)
	assert.Contains(t, own.Message, "answered with status 409")
	assert.Equal(t, "try later", own.Detail)
	require.ErrorAs(t, at(s.URL+"/slow", "1s"), &own)
	assert.Equal(t, "hook beforeSnapshot[0] did not end within 1s", own.Message)
	require.ErrorAs(t, at("http://user:secret@127.0.0.1:1/x", ""), &own)
	assert.Contains(t, own.Message, "did not answer")
	assert.NotContains(t, own.Message+own.Detail, "secret")
}

// The end of a reconcile's time does not end a hook; the end of the process does, and says nothing about the hook.
func TestWhatEndsAHook(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	t.Cleanup(s.Close)
	h := one(kopiurv1.Hook{HTTPRequest: &kopiurv1.HTTPHook{URL: s.URL}})
	late, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- (&hooks.Runner{}).Run(late, &kopiurv1.Snapshot{}, h) }()
	close(release)
	require.NoError(t, <-done, "it was late from the beginning, and ended in its own time")

	gone, stop := context.WithCancel(t.Context())
	stop()
	err := (&hooks.Runner{}).Run(gone, &kopiurv1.Snapshot{}, h)
	require.ErrorIs(t, err, context.Canceled)
	var own *hooks.Error
	assert.NotErrorAs(t, err, &own)
}
