// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package apitest

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/kopiurctl/internal/cli"
)

// waiting starts a backup of policy data and waits until it is there.
func waiting(t *testing.T, w *world, args ...string) (*call, *kopiurv1.Snapshot) {
	t.Helper()
	c := w.start(t.Context(), append([]string{"snapshot", "now", "--policy", "data", "--name", "one", "--wait"}, args...)...)
	c.says(t, "one  Pending")
	s := snapshot("one", "data")
	s.Namespace = w.namespace
	w.get(s)
	return c, s
}

// play moves the status on as the controller does, and waits each time until that was shown.
func play(t *testing.T, w *world, c *call, s *kopiurv1.Snapshot) {
	t.Helper()
	w.status(s, func() {
		s.Status.Phase = kopiurv1.SnapshotPending
		s.Status.Conditions = []metav1.Condition{condition(kopiurv1.ConditionReady, metav1.ConditionFalse, kopiurv1.ReasonRepositoryNotReady, "waits for Repository nas to be Ready")}
	})
	c.says(t, "waits for Repository nas")
	w.status(s, func() { s.Status.Phase = kopiurv1.SnapshotRunning })
	c.says(t, "Running")
	w.status(s, func() {
		s.Status.Progress = &kopiurv1.Progress{BytesProcessed: 300 << 20, FilesProcessed: 120}
	})
	c.says(t, "120 files")
	w.status(s, func() {
		s.Status.Progress = &kopiurv1.Progress{
			BytesProcessed: 1 << 30, FilesProcessed: 900, BytesTotal: 2 << 30, FilesTotal: 1204, BytesPerSecond: 84 << 20, ETASeconds: 12,
		}
	})
	c.says(t, "50 %")
	w.status(s, func() { succeeded(s, "2026-03-05T08:58:37Z"); s.Status.Progress = nil })
}

func TestWait(t *testing.T) {
	t.Parallel()
	t.Run("in lines, where nobody looks on", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.create(policy("data", "nas"))
		c, s := waiting(t, w)
		play(t, w, c, s)
		r := c.wait()
		r.t = t
		r.golden("wait-lines")
	})
	t.Run("with a bar on a terminal", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.width = 100
		w.create(policy("data", "nas"))
		c, s := waiting(t, w)
		play(t, w, c, s)
		r := c.wait()
		r.t = t
		r.golden("wait-bar", "\r\x1b[K", "<redraw>")
	})
}

func TestWaitEndsAsTheSnapshotDoes(t *testing.T) {
	t.Parallel()
	stalled := func(s *kopiurv1.Snapshot) {
		s.Status.Phase = kopiurv1.SnapshotPending
		s.Status.Conditions = []metav1.Condition{
			condition(kopiurv1.ConditionReady, metav1.ConditionFalse, kopiurv1.ReasonInvalidSpec, "spec.tags: write fewer"),
			condition(kopiurv1.ConditionStalled, metav1.ConditionTrue, kopiurv1.ReasonInvalidSpec, "spec.tags: write fewer"),
		}
	}
	unchanged := func(s *kopiurv1.Snapshot) {
		succeeded(s, "2026-03-05T08:58:37Z")
		s.Status.Phase, s.Status.Snapshot, s.Status.Stats = kopiurv1.SnapshotUnchanged, nil, nil
	}
	logged := func(s *kopiurv1.Snapshot) {
		failed(s)
		s.Status.LogTail = "09:00:01 error the repository refuses the password\n"
	}
	for name, tc := range map[string]struct {
		status func(*kopiurv1.Snapshot)
		args   []string
		code   cli.Code
	}{
		"failed":         {func(s *kopiurv1.Snapshot) { failed(s) }, nil, cli.Failed},
		"failed-logs":    {logged, []string{"--logs"}, cli.Failed},
		"unchanged":      {unchanged, nil, cli.OK},
		"stalled":        {stalled, nil, cli.Failed},
		"succeeded-name": {func(s *kopiurv1.Snapshot) { succeeded(s, "2026-03-05T08:58:37Z") }, []string{"-o", "name"}, cli.OK},
		"succeeded-wide": {func(s *kopiurv1.Snapshot) { succeeded(s, "2026-03-05T08:58:37Z") }, []string{"-o", "wide"}, cli.OK},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.create(policy("data", "nas"))
			c := w.start(t.Context(), append([]string{"snapshot", "now", "--policy", "data", "--name", "one", "--wait"}, tc.args...)...)
			s := snapshot("one", "data")
			s.Namespace = w.namespace
			c.says(t, "one  Pending")
			w.status(s, func() { tc.status(s) })
			r := c.wait()
			r.t = t
			assert.Equal(t, tc.code, r.code)
			r.golden("wait-" + name)
		})
	}
}

// Programs get the finished object, and nothing but it.
func TestWaitAnswersWithTheObject(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(policy("data", "nas"))
	c, s := waiting(t, w, "-o", "json")
	w.status(s, func() { succeeded(s, "2026-03-05T08:58:37Z") })
	r := c.wait()
	require.Equal(t, cli.OK, r.code, r.stderr)
	var got kopiurv1.Snapshot
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &got))
	w.get(s)
	s.TypeMeta, s.ManagedFields = got.TypeMeta, nil
	assert.Equal(t, s, &got)
}

func TestWaitTimesOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(policy("data", "nas"))
	w.run("snapshot", "now", "--policy", "data", "--name", "one", "--wait", "--timeout", "3s").golden("wait-timeout")
	assert.Len(t, w.snapshotsOf(), 1, "what was begun goes on")
}

func TestWaitIsInterrupted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(policy("data", "nas"))
	ctx, cancel := context.WithCancel(t.Context())
	c := w.start(ctx, "snapshot", "now", "--policy", "data", "--name", "one", "--wait")
	c.says(t, "one  Pending")
	cancel()
	c.wait().golden("wait-interrupted")
	assert.Len(t, w.snapshotsOf(), 1, "what was begun goes on")
}

func TestWaitForSomethingThatIsDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(policy("data", "nas"))
	c, s := waiting(t, w)
	require.NoError(t, w.client.Delete(t.Context(), s))
	c.wait().golden("wait-deleted")
}

// Of several, each is waited for, and one failure makes a failure of all.
func TestWaitForSeveral(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.width = 100
	w.create(policy("data", "nas", claimSource("db"), claimSource("web")))
	c := w.start(t.Context(), "snapshot", "now", "--policy", "data", "--name", "all", "--wait")
	c.says(t, "Snapshot all-web created")
	db, web := snapshot("all-db", "data"), snapshot("all-web", "data")
	db.Namespace, web.Namespace = w.namespace, w.namespace
	w.status(db, func() { succeeded(db, "2026-03-05T08:58:37Z") })
	c.says(t, "all-db  Succeeded")
	w.status(web, func() { failed(web) })
	r := c.wait()
	assert.Equal(t, cli.Failed, r.code)
	assert.Contains(t, r.stderr, "error: Snapshot all-web failed: the repository refuses the password")
	assert.NotContains(t, r.stderr, "\x1b", "one bar cannot stand for two")
	assert.Len(t, lines(r.stdout), 3, r.stdout)
}

// Whoever may not watch looks again and again.
func TestWaitWithoutTheRightToWatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(policy("data", "nas"))
	user := "carol-" + w.namespace
	w.allow(user, []string{"get", "create"}, "snapshotpolicies", "snapshots")
	c := w.as(user).start(t.Context(), "snapshot", "now", "--policy", "data", "--name", "one", "--wait")
	c.says(t, "one  Pending")
	s := snapshot("one", "data")
	s.Namespace = w.namespace
	w.status(s, func() { succeeded(s, "2026-03-05T08:58:37Z") })
	r := c.wait()
	assert.Equal(t, cli.OK, r.code, r.stderr)
	assert.True(t, strings.HasPrefix(r.stdout, "NAME"), r.stdout)
}
