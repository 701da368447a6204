// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	kubelet "github.com/kopiur/kopiur/controller/internal/podexec/wire"
	"github.com/kopiur/kopiur/controller/internal/stream"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// TestAQuiesceIsKnownToHaveSucceeded: a command in the application counts as having succeeded where its exit status says
// so, and in no other case: the real API server passes the end of a node's connection off as a success.
func TestAQuiesceIsKnownToHaveSucceeded(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		command kubelet.Command
		fault   string
	}{
		"it succeeds":                        {kubelet.Command{Stdout: []byte("frozen"), Stderr: []byte("a word"), End: kubelet.Exit(0)}, ""},
		"it fails":                           {kubelet.Command{Stderr: []byte("no such table"), End: kubelet.Exit(3)}, "exit code 3"},
		"its streams end and say nothing":    {kubelet.Command{Stdout: []byte("freezing")}, "nobody knows how it ended"},
		"its node is gone in the middle":     {kubelet.Command{Stdout: []byte("freezing"), Cut: true}, "workloadExec in pod db: "},
		"its node says that it cannot":       {kubelet.Command{End: &metav1.Status{Status: metav1.StatusFailure, Message: "no such container"}}, "the command could not be run"},
		"its node says what nobody can read": {kubelet.Command{End: &metav1.Status{Status: "Perhaps"}}, "the command could not be run"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.App("db", tc.command)
			l.policy.Spec.Hooks = &kopiurv1.Hooks{BeforeSnapshot: []kopiurv1.Hook{{WorkloadExec: &kopiurv1.ExecHook{
				PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}, Command: []string{"freeze"},
			}}}}
			l.create()
			l.StartController()
			if tc.fault == "" {
				l.succeeds()
				return
			}
			c := l.waits(kopiurv1.ConditionStalled, metav1.ConditionTrue, kopiurv1.ReasonPreHookFailed)
			assert.Contains(t, c.Message, tc.fault)
			assert.Empty(t, l.jobs(), "nothing is backed up that may not be at rest")
		})
	}
}

// slow is a reader that takes longer for the first bytes than what it is sent takes to be sent, and longer than the pause
// between two pings of client-go.
type slow struct {
	served <-chan struct{}
	once   sync.Once
	bytes  int
}

func (s *slow) Write(p []byte) (int, error) {
	s.once.Do(func() {
		select {
		case <-s.served:
		case <-time.After(10 * time.Second): // a machine with small buffers: it waits to be read
		}
		<-time.After(6 * time.Second)
	})
	s.bytes += len(p)
	return len(p), nil
}

// TestASlowReaderGetsEverything: a command has long ended, and its node hung up, when the first of what it wrote is read.
// All of it is there, and its exit status is.
func TestASlowReaderGetsEverything(t *testing.T) {
	t.Parallel()
	e := testenv.New(t)
	const size = 4 << 20
	c := kubelet.Command{Stdout: make([]byte, size), End: kubelet.Exit(0), Served: make(chan struct{})}
	e.App("db", c)
	exec, err := stream.NewExec(e.Config, work.StreamCommand{Namespace: e.Namespace, PodSelector: "app=db", Command: []string{"dump"}})
	require.NoError(t, err)
	out := &slow{served: c.Served}
	exit, err := exec.Output(t.Context(), out)
	require.NoError(t, err)
	assert.Zero(t, exit.Code)
	assert.Equal(t, size, out.bytes)
}
