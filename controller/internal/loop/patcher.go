// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

const (
	// patchTimeout bounds a status write; it also runs when the process is told to end, so that the truth is recorded.
	patchTimeout = 10 * time.Second
	// conflictRetry is how soon an object is looked at again when its status was computed from an old copy. The watch
	// normally wakes it before.
	conflictRetry = 250 * time.Millisecond
)

// Env is what patchers share; a reconciler holds one.
type Env struct {
	Client client.Client
	Clock  clock.PassiveClock
	Events Publisher
	// Writes, where it is set, is told of every status write.
	Writes *Writes
}

// Patcher records one reconcile of one object.
type Patcher struct {
	// Conditions collects what this reconcile finds out; see the package comment.
	Conditions Conditions

	env        Env
	kind       string
	obj        client.Object
	base       client.Object
	conditions *[]metav1.Condition
	before     []metav1.Condition
	generation *int64
	keep       bool
	events     []Event
	counts     []func()
	write      func(ctx context.Context, obj client.Object, patch client.Patch) error
}

// NewPatcher starts a reconcile of obj as it was read. conditions and observedGeneration point into obj.
func NewPatcher(env Env, obj client.Object, conditions *[]metav1.Condition, observedGeneration *int64) *Patcher {
	base := obj.DeepCopyObject().(client.Object) //nolint:forcetypeassert // a copy has the type of its original
	p := &Patcher{
		env: env, kind: KindOf(obj), obj: obj, base: base,
		conditions: conditions, generation: observedGeneration,
	}
	for _, c := range *conditions {
		p.before = append(p.before, *c.DeepCopy())
	}
	p.write = func(ctx context.Context, o client.Object, patch client.Patch) error {
		return env.Client.Status().Patch(ctx, o, patch)
	}
	return p
}

// Ready says that the object is what it asks to be.
func (p *Patcher) Ready(reason, format string, args ...any) {
	p.summarize(stateReady, reason, fmt.Sprintf(format, args...))
}

// Progressing says that the object goes on by itself. Returning a Wait does the same.
func (p *Patcher) Progressing(reason, format string, args ...any) {
	p.summarize(stateProgressing, reason, fmt.Sprintf(format, args...))
}

// Stalled says that the object stays as it is until somebody acts. Returning a Stall does the same.
func (p *Patcher) Stalled(reason, format string, args ...any) {
	p.summarize(stateStalled, reason, fmt.Sprintf(format, args...))
}

func (p *Patcher) summarize(s summaryState, reason, message string) {
	p.Conditions.summary(s, reason, message)
}

// Suspend adds Suspended=True and keeps all else as it was before, the summary included: a suspended object is as ready
// as it was. One that had no summary yet is reported as progressing.
func (p *Patcher) Suspend() {
	p.Keep()
	p.Conditions.True(kopiurv1.ConditionSuspended, kopiurv1.ReasonSuspended,
		"suspended: no new work is started until spec.suspend is false")
}

// Keep carries over all conditions that were stored and are not set in this reconcile, except Suspended. It is for a
// reconcile that has nothing new to say, such as that of a finished object.
func (p *Patcher) Keep() { p.keep = true }

// Was returns the condition as it was stored before this reconcile, or nil.
func (p *Patcher) Was(kind string) *metav1.Condition { return find(p.before, kind) }

// Carry sets a condition to what was stored before, if it was.
func (p *Patcher) Carry(kinds ...string) {
	for _, kind := range kinds {
		if c := find(p.before, kind); c != nil {
			p.Conditions.restore(*c)
		}
	}
}

// Emit publishes an event once the status is written. Call it on transitions only.
func (p *Patcher) Emit(e Event) { p.events = append(p.events, e) }

// Count calls a function once the status is written: a counter must not count what is decided again after a conflict.
func (p *Patcher) Count(f func()) { p.counts = append(p.counts, f) }

// EmitChange publishes e unless the condition had the same status and reason before. Call it after setting the
// condition.
func (p *Patcher) EmitChange(kind string, e Event) {
	old, cur := find(p.before, kind), p.Conditions.Get(kind)
	if old != nil && old.Status == cur.Status && old.Reason == cur.Reason {
		return
	}
	p.Emit(e)
}

// Write stores the status as it is now, without conditions, before the reconcile ends. It is for intents that must be
// durable before they are carried out. A conflict is returned: nothing may be carried out then.
func (p *Patcher) Write(ctx context.Context) error {
	_, err := p.patch(ctx)
	if err != nil {
		return fmt.Errorf("record intent: %w", err)
	}
	return nil
}

// Finish writes the status if it changed, publishes events and turns the reconcile's error into its next turn. It never
// returns an error: the work queue's backoff has no part in this.
func (p *Patcher) Finish(ctx context.Context, res ctrl.Result, err error) (ctrl.Result, error) {
	log := logf.FromContext(ctx)
	reconciliations.WithLabelValues(p.kind).Inc()

	wait, waiting := asWait(err)
	stall, stalled := asStall(err)
	failed := err != nil && !waiting && !stalled
	switch {
	case waiting:
		p.summarize(stateProgressing, wait.Reason, wait.Message)
		res = ctrl.Result{RequeueAfter: orDefault(wait.After, WaitHeartbeat)}
	case stalled:
		p.summarize(stateStalled, stall.Reason, stall.Message)
		res = ctrl.Result{RequeueAfter: orDefault(stall.After, StallHeartbeat)}
		if old := find(p.before, kopiurv1.ConditionStalled); old == nil || old.Status != metav1.ConditionTrue {
			reconcileErrors.WithLabelValues(p.kind, classTerminal).Inc()
		}
	case failed && errors.Is(err, context.Canceled) && ctx.Err() != nil:
		// The process ends: what it was about to do is not a failure of the object.
		return ctrl.Result{}, nil //nolint:nilerr // and there is nobody left to come back
	case failed && apierrors.IsConflict(err):
		log.V(1).Info("Reconciling again, a copy was old", "reason", err.Error())
		return ctrl.Result{RequeueAfter: conflictRetry}, nil
	case failed:
		p.fail(ctx, err)
		return p.spread(), p.recordFailure(ctx, err)
	}
	p.conclude()

	wrote, perr := p.patch(ctx)
	switch {
	case perr == nil:
	case apierrors.IsNotFound(perr):
		// Deleted meanwhile: there is nothing left to tell.
		return ctrl.Result{}, nil
	case apierrors.IsConflict(perr):
		log.V(1).Info("Reconciling again, the status was computed from an old copy")
		return ctrl.Result{RequeueAfter: conflictRetry}, nil
	default:
		p.fail(ctx, perr)
		return p.spread(), nil
	}
	if wrote {
		log.V(1).Info("Wrote status", "object", klog.KObj(p.obj))
	}
	for _, f := range p.counts {
		f()
	}
	for _, e := range p.events {
		p.publish(e)
	}
	return res, nil
}

// conclude puts the conditions into the object.
func (p *Patcher) conclude() {
	if p.keep {
		for _, c := range p.before {
			if c.Type != kopiurv1.ConditionSuspended && !p.Conditions.Has(c.Type) {
				p.Conditions.restore(c)
			}
		}
	}
	if !p.Conditions.Has(kopiurv1.ConditionReady) {
		// Nobody gave a verdict. Ready would be a lie, so the object is under way.
		p.summarize(stateProgressing, kopiurv1.ReasonReconciling, "under way")
	}
	*p.generation = p.obj.GetGeneration()
	*p.conditions = p.Conditions.render(p.before, *p.generation, p.now())
}

// recordFailure tells an object that is under way that a request failed. Everything else this reconcile had put into the
// status is dropped: half of an outcome must not be stored, and a request that failed says nothing about an object that
// was ready or stalled before. The write is a courtesy; where it fails as well, the event has said it.
func (p *Patcher) recordFailure(ctx context.Context, err error) error {
	if len(p.before) > 0 && !IsTrue(p.before, kopiurv1.ConditionReconciling) || IsTransport(err) {
		return nil
	}
	p.Conditions = Conditions{}
	for _, c := range p.before {
		p.Conditions.restore(c)
	}
	message := "a request to the API server failed and is tried again; the events say which"
	if Classify(err) == classStructural {
		message = "the API server refuses a request of the operator, for example for lack of permission; the events say which"
	}
	p.summarize(stateProgressing, kopiurv1.ReasonKubeAPIError, message)
	list := p.Conditions.render(p.before, *p.generation, p.now())
	if apiequality.Semantic.DeepEqual(list, p.before) {
		return nil
	}
	status, merr := json.Marshal(map[string]any{"conditions": list})
	if merr != nil {
		return fmt.Errorf("encode conditions: %w", merr)
	}
	if err := p.send(ctx, status); err != nil {
		logf.FromContext(ctx).V(1).Info("Leaving a failure to its event", "reason", err.Error())
	}
	return nil
}

func (p *Patcher) now() metav1.Time { return metav1.NewTime(p.env.Clock.Now()).Rfc3339Copy() }

func (p *Patcher) spread() ctrl.Result {
	return ctrl.Result{RequeueAfter: Spread(p.kind, p.obj.GetNamespace(), p.obj.GetName())}
}

// fail logs, counts and publishes an error that is handled by trying again.
func (p *Patcher) fail(ctx context.Context, err error) {
	class := Classify(err)
	reconcileErrors.WithLabelValues(p.kind, class).Inc()
	logf.FromContext(ctx).Error(err, "Retrying after an error", "kind", p.kind, "object", klog.KObj(p.obj), "class", class)
	if IsTransport(err) {
		// The event would go the way of the request that just failed.
		failureEventsDropped.WithLabelValues(dropTransport).Inc()
		return
	}
	p.publish(Event{Type: corev1.EventTypeWarning, Reason: kopiurv1.ReasonKubeAPIError, Action: "Reconcile", Note: err.Error()})
}

func (p *Patcher) publish(e Event) {
	if p.env.Events != nil {
		p.env.Events.Publish(p.obj, e)
	}
}

// patch stores the difference of the status, if there is one.
func (p *Patcher) patch(ctx context.Context) (bool, error) {
	status, err := statusDiff(p.base, p.obj)
	if err != nil || status == nil {
		return false, err
	}
	return true, p.send(ctx, status)
}

func (p *Patcher) send(ctx context.Context, status json.RawMessage) error {
	body, err := json.Marshal(map[string]any{
		// The lock: without it a status computed from an old copy would overwrite a newer one.
		"metadata": map[string]any{"resourceVersion": p.base.GetResourceVersion()},
		"status":   status,
	})
	if err != nil {
		return fmt.Errorf("encode status: %w", err)
	}
	// A shutdown must not lose what was found out.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patchTimeout)
	defer cancel()
	// The answer goes into a copy: the caller goes on with its own object.
	answer := p.obj.DeepCopyObject().(client.Object) //nolint:forcetypeassert // a copy has the type of its original
	if err := p.write(ctx, answer, client.RawPatch(types.MergePatchType, body)); err != nil {
		return fmt.Errorf("patch status of %s %s: %w", p.kind, client.ObjectKeyFromObject(p.obj), err)
	}
	p.env.Writes.Did(p.obj.GetUID(), p.base.GetResourceVersion(), answer.GetResourceVersion())
	p.obj.SetResourceVersion(answer.GetResourceVersion())
	p.base = answer
	return nil
}

// statusDiff is the merge patch from one status to another, nil where they are equal.
func statusDiff(from, to client.Object) (json.RawMessage, error) {
	data, err := client.MergeFrom(from).Data(to)
	if err != nil {
		return nil, fmt.Errorf("compare status: %w", err)
	}
	var parts struct {
		Status json.RawMessage `json:"status"`
	}
	if err := json.Unmarshal(data, &parts); err != nil {
		return nil, fmt.Errorf("compare status: %w", err)
	}
	if len(parts.Status) == 0 || string(parts.Status) == "{}" {
		return nil, nil
	}
	return parts.Status, nil
}

func orDefault(d, def time.Duration) time.Duration {
	if d <= 0 {
		return def
	}
	return d
}
