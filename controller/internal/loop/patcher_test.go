// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	testclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

var (
	earlier = time.Date(2026, 3, 5, 9, 0, 0, 0, time.UTC)
	later   = earlier.Add(time.Hour)
	gr      = schema.GroupResource{Group: kopiurv1.GroupName, Resource: "repositories"}
)

// written is one status write, as it would go over the wire.
type written struct {
	Metadata struct{ ResourceVersion string }
	Status   map[string]any
}

type recorded struct {
	writes []written
	events []Event
	fail   error
}

func (r *recorded) Publish(_ client.Object, e Event) { r.events = append(r.events, e) }

// begin starts a reconcile of obj whose writes are recorded, and acknowledged with a new resourceVersion.
func begin(t *testing.T, obj *kopiurv1.Repository) (*Patcher, *recorded) {
	t.Helper()
	rec := &recorded{}
	env := Env{Clock: testclock.NewFakePassiveClock(later), Events: rec}
	p := NewPatcher(env, obj, &obj.Status.Conditions, &obj.Status.ObservedGeneration)
	p.write = func(_ context.Context, answer client.Object, patch client.Patch) error {
		data, err := patch.Data(answer)
		require.NoError(t, err)
		var w written
		require.NoError(t, json.Unmarshal(data, &w))
		rec.writes = append(rec.writes, w)
		answer.SetResourceVersion("8")
		return rec.fail
	}
	return p, rec
}

// settled is a repository that was Ready an hour ago.
func settled() *kopiurv1.Repository {
	var c Conditions
	c.summary(stateReady, kopiurv1.ReasonReachable, "connected")
	return &kopiurv1.Repository{
		ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "nas", Generation: 3, ResourceVersion: "7", UID: "u"},
		Status: kopiurv1.RepositoryStatus{
			Phase: kopiurv1.RepositoryReady, ObservedGeneration: 3,
			Conditions: c.render(nil, 3, metav1.NewTime(earlier)),
		},
	}
}

func fresh() *kopiurv1.Repository {
	r := settled()
	r.Status = kopiurv1.RepositoryStatus{}
	return r
}

// E-5.
func TestFinishWritesNothingWhenNothingChanged(t *testing.T) {
	t.Parallel()
	p, rec := begin(t, settled())
	p.Ready(kopiurv1.ReasonReachable, "connected")
	res, err := p.Finish(t.Context(), ctrl.Result{RequeueAfter: time.Hour}, nil)
	require.NoError(t, err)
	assert.Equal(t, time.Hour, res.RequeueAfter)
	assert.Empty(t, rec.writes, "a write would wake the reconciler again")
}

func TestFinishWritesPhaseAndConditionsAtOnce(t *testing.T) {
	t.Parallel()
	obj := settled()
	p, rec := begin(t, obj)
	obj.Status.Phase = kopiurv1.RepositoryDegraded
	p.Conditions.False(kopiurv1.ConditionBackendReachable, kopiurv1.ReasonBackendUnreachable, "no answer")
	p.EmitChange(kopiurv1.ConditionBackendReachable, Warning(kopiurv1.ReasonBackendUnreachable, "Bootstrap", "no answer"))
	res, err := p.Finish(t.Context(), ctrl.Result{}, fmt.Errorf("act: %w", Waitf(2*time.Minute, kopiurv1.ReasonBackendUnreachable, "no answer")))
	require.NoError(t, err)
	assert.Equal(t, 2*time.Minute, res.RequeueAfter)

	require.Len(t, rec.writes, 1)
	assert.Equal(t, "7", rec.writes[0].Metadata.ResourceVersion, "the write carries the lock")
	assert.Equal(t, "Degraded", rec.writes[0].Status["phase"])
	assert.True(t, IsTrue(obj.Status.Conditions, kopiurv1.ConditionReconciling))
	assert.True(t, IsFalse(obj.Status.Conditions, kopiurv1.ConditionReady))
	assert.True(t, IsFalse(obj.Status.Conditions, kopiurv1.ConditionStalled))
	require.Len(t, rec.events, 1)
	assert.Equal(t, kopiurv1.ReasonBackendUnreachable, rec.events[0].Reason)
	assert.Equal(t, "8", obj.ResourceVersion, "a later write of the same reconcile has the new lock")
}

func TestConditionsAreReplacedAndKeepTheirTransitionTime(t *testing.T) {
	t.Parallel()
	obj := settled()
	obj.Status.Conditions = append(obj.Status.Conditions, metav1.Condition{
		Type: "Left", Status: metav1.ConditionTrue, Reason: "Over", LastTransitionTime: metav1.NewTime(earlier),
	})
	p, _ := begin(t, obj)
	p.Stalled(kopiurv1.ReasonInvalidSpec, "write it differently")
	_, err := p.Finish(t.Context(), ctrl.Result{}, nil)
	require.NoError(t, err)
	assert.Nil(t, find(obj.Status.Conditions, "Left"), "a condition that nobody set is gone")
	assert.Equal(t, metav1.NewTime(earlier), find(obj.Status.Conditions, kopiurv1.ConditionReconciling).LastTransitionTime,
		"its status is the same, its reason is not")
	assert.Equal(t, metav1.NewTime(later), find(obj.Status.Conditions, kopiurv1.ConditionStalled).LastTransitionTime)
	assert.Equal(t, kopiurv1.ConditionReady, obj.Status.Conditions[0].Type, "what people look for comes first")
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		end                         func(p *Patcher) error
		ready, reconciling, stalled bool
		reason                      string
		requeue                     time.Duration
		suspended                   bool
	}{
		"ready": {
			end:   func(p *Patcher) error { p.Ready("R", "m"); return nil },
			ready: true, reason: "R",
		},
		"a wait without a time rests until a watch wakes it": {
			end:         func(*Patcher) error { return Wait{Reason: "W"} },
			reconciling: true, reason: "W", requeue: time.Hour,
		},
		"a stall has a heartbeat": {
			end:     func(*Patcher) error { return Stallf("S", "do %s", "this") },
			stalled: true, reason: "S", requeue: 30 * time.Minute,
		},
		"a verdict is overruled by the error after it": {
			end:     func(p *Patcher) error { p.Ready("R", "m"); return Stall{Reason: "S"} },
			stalled: true, reason: "S", requeue: 30 * time.Minute,
		},
		"without a verdict the object is under way, never ready": {
			end:         func(*Patcher) error { return nil },
			reconciling: true, reason: kopiurv1.ReasonReconciling,
		},
		"suspended leaves it as ready as it was": {
			end:   func(p *Patcher) error { p.Suspend(); return nil },
			ready: true, reason: kopiurv1.ReasonReachable, suspended: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			obj := settled()
			obj.Generation = 4
			p, _ := begin(t, obj)
			res, err := p.Finish(t.Context(), ctrl.Result{}, tc.end(p))
			require.NoError(t, err)
			assert.Equal(t, tc.requeue, res.RequeueAfter)
			got := obj.Status.Conditions
			assert.Equal(t, tc.ready, IsTrue(got, kopiurv1.ConditionReady))
			assert.Equal(t, tc.reconciling, IsTrue(got, kopiurv1.ConditionReconciling))
			assert.Equal(t, tc.stalled, IsTrue(got, kopiurv1.ConditionStalled))
			assert.Equal(t, tc.suspended, IsTrue(got, kopiurv1.ConditionSuspended))
			assert.Equal(t, tc.reason, find(got, kopiurv1.ConditionReady).Reason)
			assert.Equal(t, int64(4), find(got, kopiurv1.ConditionReady).ObservedGeneration)
			assert.Equal(t, int64(4), obj.Status.ObservedGeneration)
		})
	}
}

func TestTransientErrors(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		obj        *kopiurv1.Repository
		err        error
		wantEvents int
		wantReason string
		wantWrites int
	}{
		"a ready object stays ready": {
			obj: settled(), err: errors.New("read secret: boom"), wantEvents: 1, wantReason: kopiurv1.ReasonReachable,
		},
		"a new object says that a request failed": {
			obj: fresh(), err: errors.New("read secret: boom"), wantEvents: 1, wantWrites: 1,
			wantReason: kopiurv1.ReasonKubeAPIError,
		},
		"nothing is sent while the transport is down": {
			obj: fresh(), err: &url.Error{Op: "Get", URL: "https://api", Err: &net.OpError{Op: "dial", Err: errors.New("refused")}},
		},
		"a missing permission is named as such": {
			obj: fresh(), err: apierrors.NewForbidden(gr, "nas", errors.New("no")), wantEvents: 1, wantWrites: 1,
			wantReason: kopiurv1.ReasonKubeAPIError,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, rec := begin(t, tc.obj)
			tc.obj.Status.Phase = kopiurv1.RepositoryFailed // half an outcome, set before the error
			res, err := p.Finish(t.Context(), ctrl.Result{}, fmt.Errorf("observe: %w", tc.err))
			require.NoError(t, err, "the work queue's backoff has no part in this")
			assert.Equal(t, Spread("Repository", "apps", "nas"), res.RequeueAfter)
			assert.Len(t, rec.events, tc.wantEvents)
			require.Len(t, rec.writes, tc.wantWrites)
			for _, w := range rec.writes {
				assert.NotContains(t, w.Status, "phase", "half an outcome is not stored")
				assert.Contains(t, fmt.Sprint(w.Status["conditions"]), tc.wantReason)
			}
		})
	}
}

func TestConflictsAndShutdown(t *testing.T) {
	t.Parallel()
	t.Run("a conflict on the status observes again, without events", func(t *testing.T) {
		t.Parallel()
		p, rec := begin(t, settled())
		rec.fail = apierrors.NewConflict(gr, "nas", errors.New("old"))
		p.Emit(Warning("R", "A", "n"))
		res, err := p.Finish(t.Context(), ctrl.Result{}, Stall{Reason: "S"})
		require.NoError(t, err)
		assert.Equal(t, conflictRetry, res.RequeueAfter)
		assert.Empty(t, rec.events, "what was not stored is not announced")
	})
	t.Run("an object that went away is forgotten", func(t *testing.T) {
		t.Parallel()
		p, rec := begin(t, settled())
		rec.fail = apierrors.NewNotFound(gr, "nas")
		res, err := p.Finish(t.Context(), ctrl.Result{}, Stall{Reason: "S"})
		require.NoError(t, err)
		assert.Zero(t, res)
	})
	t.Run("a shutdown is no failure, and what is known is still written", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		p, rec := begin(t, settled())
		_, err := p.Finish(ctx, ctrl.Result{}, fmt.Errorf("get: %w", context.Canceled))
		require.NoError(t, err)
		assert.Empty(t, rec.events)

		p, rec = begin(t, settled())
		_, err = p.Finish(ctx, ctrl.Result{}, Stall{Reason: "S"})
		require.NoError(t, err)
		assert.Len(t, rec.writes, 1)
	})
}

func TestWriteRecordsAnIntentFirst(t *testing.T) {
	t.Parallel()
	obj := settled()
	p, rec := begin(t, obj)
	obj.Status.Job = &kopiurv1.ConnectJob{Name: "b-nas-1", Attempts: 1}
	require.NoError(t, p.Write(t.Context()))
	p.Progressing(kopiurv1.ReasonConnecting, "connecting")
	_, err := p.Finish(t.Context(), ctrl.Result{}, nil)
	require.NoError(t, err)
	require.Len(t, rec.writes, 2)
	assert.NotContains(t, rec.writes[0].Status, "conditions")
	assert.Equal(t, "8", rec.writes[1].Metadata.ResourceVersion)
}

func TestSpread(t *testing.T) {
	t.Parallel()
	seen := map[time.Duration]bool{}
	for i := range 1000 {
		d := Spread("Repository", "apps", fmt.Sprintf("r%d", i))
		assert.GreaterOrEqual(t, d, 30*time.Second)
		assert.Less(t, d, time.Minute)
		seen[d.Truncate(time.Second)] = true
	}
	assert.Len(t, seen, 30, "every second of the interval is used")
	again := Spread("Repository", "apps", "r0")
	assert.Equal(t, Spread("Repository", "apps", "r0"), again, "and the same every time")
}

func TestRunStopsAtTheFirstError(t *testing.T) {
	t.Parallel()
	var did []string
	step := func(name string, err error) NamedStep[*int] {
		return Step(name, func(context.Context, *int) error { did = append(did, name); return err })
	}
	err := Run(t.Context(), new(int), step("one", nil), step("two", Wait{Reason: "W"}), step("three", nil))
	w, ok := asWait(err)
	assert.True(t, ok)
	assert.Equal(t, "W", w.Reason)
	assert.Equal(t, []string{"one", "two"}, did)
	assert.ErrorContains(t, err, "two: ")
}
