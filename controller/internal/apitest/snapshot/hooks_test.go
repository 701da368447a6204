// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// application is what hooks freeze and thaw, over HTTP.
type application struct {
	*httptest.Server
	mu    sync.Mutex
	calls []string
	// dead, once it is closed, marks calls as those of a process that is none any more; they are passed over.
	dead <-chan struct{}
	// status to answer with, by path.
	status map[string]int
}

func newApplication(t *testing.T) *application {
	t.Helper()
	a := &application{status: map[string]int{}}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		a.mu.Lock()
		defer a.mu.Unlock()
		select {
		case <-a.dead:
			return
		default:
		}
		a.calls = append(a.calls, strings.TrimSpace(r.Method+" "+r.URL.Path+" "+r.Header.Get("X-Team")+string(body)))
		if s := a.status[r.URL.Path]; s != 0 {
			w.WriteHeader(s)
		}
	}))
	t.Cleanup(a.Close)
	return a
}

func (a *application) did() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.calls)
}

// outlives marks what comes after a process's death.
func (a *application) outlives(dead <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.dead = dead
}

// answer sets what a path is answered with from now on.
func (a *application) answer(path string, status int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.status[path] = status
}

func (a *application) hook(path string) kopiurv1.Hook {
	return kopiurv1.Hook{HTTPRequest: &kopiurv1.HTTPHook{URL: a.URL + path}}
}

// freezes gives the policy a freeze and a thaw.
func (l *lab) freezes() *application {
	a := newApplication(l.t)
	l.policy.Spec.Hooks = &kopiurv1.Hooks{
		BeforeSnapshot: []kopiurv1.Hook{a.hook("/freeze")}, AfterSnapshot: []kopiurv1.Hook{a.hook("/thaw")},
	}
	return a
}

// TestHooksRunAroundTheSnapshot once, in order, with their headers and bodies (I-9).
func TestHooksRunAroundTheSnapshotI9(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	a := l.freezes()
	l.policy.Spec.Hooks.BeforeSnapshot[0].HTTPRequest.Method = "PUT"
	l.policy.Spec.Hooks.BeforeSnapshot[0].HTTPRequest.Body = "/now"
	l.policy.Spec.Hooks.BeforeSnapshot[0].HTTPRequest.Headers = []kopiurv1.HTTPHeader{{Name: "X-Team", Value: "blue"}}
	l.policy.Spec.Hooks.AfterSnapshot = append(l.policy.Spec.Hooks.AfterSnapshot, a.hook("/tell"))
	var frozen []string
	l.onSnapshot(func(c testenv.Call, _ int32) testenv.Play {
		frozen = a.did()
		return testenv.Succeed(c)
	})
	l.create()
	l.StartController()
	l.succeeds()
	assert.Equal(t, []string{"PUT /freeze blue/now"}, frozen, "the mover comes between the two lists")
	assert.Equal(t, []string{"PUT /freeze blue/now", "POST /thaw", "POST /tell"}, a.did())
	h := l.snapshot.Status.Hooks
	require.NotNil(t, h)
	assert.NotEmpty(t, h.PreStartedAt)
	assert.NotEmpty(t, h.PreCompletedAt)
	assert.NotEmpty(t, h.PostCompletedAt)
	assert.Equal(t, metav1.ConditionTrue, condition(l.snapshot, kopiurv1.ConditionHooksSucceeded).Status)
	l.until(func(c *assert.CollectT, s *kopiurv1.Snapshot) {
		assert.NotContains(c, s.Finalizers, kopiurv1.FinalizerHooks)
	})
	l.atRest()
	assert.Len(t, a.did(), 3)
}

// TestHooksThatFail: what happens to the run, and that the thaw runs in any case.
func TestHooksThatFail(t *testing.T) {
	t.Parallel()
	t.Run("a freeze that fails ends the run without a Job, and thaws", func(t *testing.T) {
		t.Parallel()
		l := newLab(t)
		a := l.freezes()
		a.answer("/freeze", http.StatusServiceUnavailable)
		l.create()
		l.StartController()
		c := l.waits(kopiurv1.ConditionStalled, metav1.ConditionTrue, kopiurv1.ReasonPreHookFailed)
		assert.Contains(t, c.Message, "hook beforeSnapshot[0]: httpRequest: ")
		assert.Contains(t, c.Message, "answered with status 503")
		assert.Equal(t, kopiurv1.ReasonPreHookFailed, condition(l.snapshot, kopiurv1.ConditionHooksSucceeded).Reason)
		assert.Equal(t, []string{"POST /freeze", "POST /thaw"}, a.did())
		assert.Empty(t, l.jobs())
		// It failed before any mover ran, so a change tries it again, hooks included.
		a.answer("/freeze", 0)
		l.Change(l.snapshot, func() { l.snapshot.Spec.Description = "again" })
		l.succeeds()
		assert.Equal(t, []string{"POST /freeze", "POST /thaw", "POST /freeze", "POST /thaw"}, a.did())
	})
	t.Run("one that may fail lets the run go on, and is named", func(t *testing.T) {
		t.Parallel()
		l := newLab(t)
		a := l.freezes()
		l.policy.Spec.Hooks.BeforeSnapshot[0].HTTPRequest.ContinueOnFailure = true
		a.answer("/freeze", http.StatusFound)
		l.create()
		l.StartController()
		l.succeeds()
		c := condition(l.snapshot, kopiurv1.ConditionHooksSucceeded)
		assert.Equal(t, metav1.ConditionTrue, c.Status)
		assert.Contains(t, c.Message, "answered with status 302")
	})
	t.Run("a thaw that fails leaves the backup a success, and is told", func(t *testing.T) {
		t.Parallel()
		l := newLab(t)
		a := l.freezes()
		l.policy.Spec.Hooks.AfterSnapshot = append(l.policy.Spec.Hooks.AfterSnapshot, a.hook("/tell"))
		a.answer("/thaw", http.StatusInternalServerError)
		l.create()
		l.StartController()
		l.succeeds()
		c := condition(l.snapshot, kopiurv1.ConditionHooksSucceeded)
		assert.Equal(t, kopiurv1.ReasonPostHookFailed, c.Reason)
		assert.Equal(t, metav1.ConditionFalse, c.Status)
		assert.Equal(t, []string{"POST /freeze", "POST /thaw", "POST /tell"}, a.did(), "one that fails does not keep the next from running")
	})
	t.Run("a mover that fails is followed by the thaw", func(t *testing.T) {
		t.Parallel()
		l := newLab(t)
		a := l.freezes()
		l.onSnapshot(func(c testenv.Call, _ int32) testenv.Play {
			return testenv.Fail(c, work.CodeAuthFailure, "wrong password")
		})
		l.create()
		l.StartController()
		l.waits(kopiurv1.ConditionStalled, metav1.ConditionTrue, kopiurv1.ReasonSnapshotFailed)
		assert.Equal(t, []string{"POST /freeze", "POST /thaw"}, a.did())
		assert.NotEmpty(t, l.snapshot.Status.Hooks.PostCompletedAt)
	})
	t.Run("a gate that closes behind the freeze ends the run instead of leaving the application frozen", func(t *testing.T) {
		t.Parallel()
		l := newLab(t)
		a := l.freezes()
		l.policy.Spec.CopyMethod = kopiurv1.CopySnapshot
		l.base()
		st := l.withStorage(storagev1.VolumeBindingImmediate)
		st.snapshotClass()
		st.set(func() { st.ready = false })
		l.Create(l.snapshot)
		l.StartController()
		l.waits(kopiurv1.ConditionSourceStaged, metav1.ConditionFalse, kopiurv1.ReasonWaitingForVolumeSnapshot)
		assert.Equal(t, []string{"POST /freeze"}, a.did())
		l.Change(l.repository, func() { l.repository.Spec.Suspend = true })
		c := l.waits(kopiurv1.ConditionStalled, metav1.ConditionTrue, kopiurv1.ReasonRepositoryNotReady)
		assert.Contains(t, c.Message, "so the run ends instead of waiting")
		assert.Equal(t, []string{"POST /freeze", "POST /thaw"}, a.did())
	})
}

// TestDeletedBetweenFreezeAndThaw: the object stays until the application was thawed.
func TestDeletedBetweenFreezeAndThaw(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	a := l.freezes()
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	l.onSnapshot(func(c testenv.Call, _ int32) testenv.Play {
		p := testenv.Succeed(c)
		p.Hold = release
		return p
	})
	l.create()
	l.StartController()
	l.waits(kopiurv1.ConditionReady, metav1.ConditionFalse, kopiurv1.ReasonMoverRunning)
	require.NoError(t, l.Client.Delete(t.Context(), l.snapshot))
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		err := l.Client.Get(t.Context(), client.ObjectKeyFromObject(l.snapshot), l.snapshot)
		if err == nil {
			assert.NotContains(c, l.snapshot.Finalizers, kopiurv1.FinalizerHooks)
			return
		}
		assert.True(c, apierrors.IsNotFound(err), "%v", err)
	}, testenv.Wait, testenv.Tick)
	assert.Equal(t, []string{"POST /freeze", "POST /thaw"}, a.did())
}

// TestHookJobs: a Job before the snapshot, one that fails, and one that asks for what its namespace does not allow.
func TestHookJobs(t *testing.T) {
	t.Parallel()
	job := func(spec string) kopiurv1.Hook {
		return kopiurv1.Hook{RunJob: &kopiurv1.JobHook{JobSpec: runtime.RawExtension{Raw: []byte(spec)}}}
	}
	const plain = `{"template":{"spec":{"containers":[{"name":"dump","image":"dump"}]}}}`
	for name, tc := range map[string]struct {
		spec string
		ok   bool
		want string
	}{
		"one that succeeds":                      {plain, true, ""},
		"one that fails":                         {plain, false, "failed"},
		"one that asks for more than is allowed": {`{"template":{"spec":{"containers":[{"name":"dump","image":"dump","securityContext":{"privileged":true}}]}}}`, true, "annotate it with kopiur.home-operations.com/privileged-movers=true"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.policy.Spec.Hooks = &kopiurv1.Hooks{BeforeSnapshot: []kopiurv1.Hook{job(tc.spec)}}
			l.HookJobs(func(*batchv1.Job) bool { return tc.ok })
			l.create()
			l.StartController()
			if tc.want == "" {
				l.waits(kopiurv1.ConditionReady, metav1.ConditionTrue, kopiurv1.ReasonSnapshotSucceeded)
				hooks := slices.DeleteFunc(l.jobs(), func(j batchv1.Job) bool { return j.Labels[kopiurv1.LabelOperation] != "hook" })
				require.Len(t, hooks, 1)
				assert.True(t, metav1.IsControlledBy(&hooks[0], l.snapshot))
				assert.NotNil(t, hooks[0].Spec.TTLSecondsAfterFinished)
				return
			}
			c := l.waits(kopiurv1.ConditionStalled, metav1.ConditionTrue, kopiurv1.ReasonPreHookFailed)
			assert.Contains(t, c.Message, tc.want)
			assert.Empty(t, l.runs())
		})
	}
}

// TestThawAfterEveryKill: the controller dies after each of its writes. Whatever it had begun, the freeze happens at most
// once, the last word is a thaw, and what is a success was frozen while its mover ran.
func TestThawAfterEveryKill(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 10; n++ {
		l := newLab(t)
		a := l.freezes()
		l.base()
		l.Create(l.source)
		zero := l.StartController()
		l.ready()
		zero.Stop()

		kill := l.KillAfter(n)
		a.outlives(kill.Dead())
		l.Create(l.snapshot)
		first := l.StartController()
		l.until(func(c *assert.CollectT, s *kopiurv1.Snapshot) {
			select {
			case <-kill.Dead():
			default:
				assert.True(c, s.Status.Phase.Terminal() && len(s.Finalizers) == 0)
			}
		})
		first.Stop()
		a.outlives(nil)
		l.Spare()
		l.StartController()
		l.until(func(c *assert.CollectT, s *kopiurv1.Snapshot) {
			assert.True(c, s.Status.Phase.Terminal(), "after %d writes: %v", n, kill.Writes())
			assert.NotContains(c, s.Finalizers, kopiurv1.FinalizerHooks)
		})
		did := a.did()
		count := func(call string) (m int) {
			for _, d := range did {
				if d == call {
					m++
				}
			}
			return m
		}
		assert.LessOrEqual(t, count("POST /freeze"), 1, "after %d writes %v: %v", n, kill.Writes(), did)
		assert.LessOrEqual(t, count("POST /thaw"), 2, "only the one in flight is repeated: after %d writes %v: %v", n, kill.Writes(), did)
		require.NotEmpty(t, did)
		assert.Equal(t, "POST /thaw", did[len(did)-1], "after %d writes %v", n, kill.Writes())
		switch l.snapshot.Status.Phase {
		case kopiurv1.SnapshotSucceeded:
			assert.Equal(t, 1, count("POST /freeze"))
			assert.Len(t, l.runs(), 1)
		default:
			assert.Contains(t, []string{kopiurv1.ReasonPreHookInterrupted, kopiurv1.ReasonPreHookFailed}, condition(l.snapshot, kopiurv1.ConditionHooksSucceeded).Reason, "after %d writes %v: %+v", n, kill.Writes(), l.snapshot.Status)
			assert.Empty(t, l.runs(), "nothing was stored that was not frozen")
		}
	}
}
