// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/plan"
	"github.com/kopiur/kopiur/controller/internal/hooks"
	"github.com/kopiur/kopiur/controller/internal/loop"
)

// afterHooks is what the rest of a turn may take whose hooks have used up its time.
const afterHooks = time.Minute

// guard keeps a Snapshot whose hooks are about to run until those after it have, and lets it go then.
func (r *Reconciler) guard(ctx context.Context, obj *kopiurv1.Snapshot, p plan.Plan) error {
	has := slices.Contains(obj.Finalizers, kopiurv1.FinalizerHooks)
	switch {
	case p.Action == plan.Hook && !has:
		return r.finalizers(ctx, obj, append(slices.Clone(obj.Finalizers), kopiurv1.FinalizerHooks))
	case has && p.Action != plan.Hook && !plan.Owes(obj) && obj.Status.Hooks != nil:
		return r.finalizers(ctx, obj, slices.DeleteFunc(slices.Clone(obj.Finalizers), func(f string) bool { return f == kopiurv1.FinalizerHooks }))
	default:
		return nil
	}
}

func (r *Reconciler) finalizers(ctx context.Context, obj *kopiurv1.Snapshot, list []string) error {
	base := obj.DeepCopy()
	obj.Finalizers = list
	if err := r.Client.Patch(ctx, obj, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("guard the hooks of snapshot %s/%s: %w", obj.Namespace, obj.Name, err)
	}
	r.Writes.Did(obj.UID, base.ResourceVersion, obj.ResourceVersion)
	return nil
}

func (r *Reconciler) stamp() string { return r.Clock.Now().UTC().Format(time.RFC3339) }

// hook runs the hooks before the snapshot. What it is about to do is stored first: a successor that finds it begun and not
// ended thaws, and does not freeze again.
func (r *Reconciler) hook(ctx context.Context, s *scope) error {
	st := &s.obj.Status
	st.Hooks = &kopiurv1.HooksStatus{PreStartedAt: r.stamp()}
	if err := s.patcher.Write(ctx); err != nil {
		return fmt.Errorf("hooks: %w", err)
	}
	tolerated, err := r.before(ctx, s)
	if own := (*hooks.Error)(nil); errors.As(err, &own) {
		s.plan = plan.FailHook(s.plan, own.Message)
		s.tell(kopiurv1.ReasonPreHookFailed, own)
		if err := r.thaw(ctx, s); err != nil {
			return err
		}
		st.Phase = s.plan.Phase
		s.patcher.Conditions.False(kopiurv1.ConditionHooksSucceeded, kopiurv1.ReasonPreHookFailed, "%s", own.Message)
		return s.fail()
	} else if err != nil {
		return err
	}
	st.Hooks.PreCompletedAt = r.stamp()
	message := "the hooks before the snapshot have run"
	if len(tolerated) > 0 {
		message += ", though some failed, as continueOnFailure allows: " + strings.Join(tolerated, "; ")
	}
	s.patcher.Conditions.True(kopiurv1.ConditionHooksSucceeded, kopiurv1.ReasonHooksSucceeded, "%s", message)
	return loop.Wait{After: settleAfter, Reason: kopiurv1.ReasonHooksSucceeded, Message: "the hooks before the snapshot have run"}
}

// before runs the list up to the first hook that fails and may not.
func (r *Reconciler) before(ctx context.Context, s *scope) (tolerated []string, err error) {
	if h := s.w.Policy.Spec.Hooks; h != nil {
		for i := range h.BeforeSnapshot {
			one := hooks.One{Hook: h.BeforeSnapshot[i], List: hooks.Before, Index: i}
			err := r.hooks.Run(ctx, s.obj, one)
			if own := (*hooks.Error)(nil); errors.As(err, &own) && one.Tolerated() {
				tolerated = append(tolerated, own.Message)
				s.tell(kopiurv1.ReasonPreHookFailed, own)
				continue
			}
			if err != nil {
				return tolerated, fmt.Errorf("before the snapshot: %w", err)
			}
		}
	}
	return tolerated, nil
}

func (s *scope) tell(reason string, e *hooks.Error) {
	note := e.Message
	if e.Detail != "" {
		note += ": " + e.Detail
	}
	s.patcher.Emit(loop.Warning(reason, actionSnapshot, "%s", note))
}

// thawIfDue runs the hooks after the snapshot before a turn that ends the run, or finds that it cannot go on. It gives the
// rest of the turn time of its own, because the hooks may have used up what there was.
func (r *Reconciler) thawIfDue(ctx context.Context, s *scope) (context.Context, context.CancelFunc, error) {
	ends := s.plan.Action == plan.Record || s.plan.Action == plan.Fail || s.plan.Reason == kopiurv1.ReasonNodeLost
	if !ends || !plan.Owes(s.obj) || s.plan.Reopened {
		return ctx, nil, nil
	}
	if err := r.thaw(ctx, s); err != nil {
		return ctx, nil, err
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx, nil, ctx.Err() //nolint:wrapcheck // the process ends
	}
	fresh, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterHooks)
	return fresh, cancel, nil
}

// thaw runs the hooks after the snapshot that have not run yet. Each is recorded when it has ended, so that only the one
// that was under way when a process died is run again. All are run, whatever the others come to.
func (r *Reconciler) thaw(ctx context.Context, s *scope) error {
	if err := r.current(ctx, s.obj); err != nil {
		return err
	}
	h := s.obj.Status.Hooks
	var failed []string
	if s.w.Policy == nil {
		failed = append(failed, "the SnapshotPolicy is gone, and with it the hooks after the snapshot: look whether the application is still frozen")
	} else if p := s.w.Policy.Spec.Hooks; p != nil {
		if h.PreCompletedAt == "" {
			// A list that was interrupted may have left a Job that goes on.
			if err := r.hooks.Interrupt(ctx, s.obj, hooks.Before, len(p.BeforeSnapshot)); err != nil {
				return err
			}
		}
		for i := int(h.PostDone); i < len(p.AfterSnapshot); i++ {
			err := r.hooks.Run(ctx, s.obj, hooks.One{Hook: p.AfterSnapshot[i], List: hooks.After, Index: i})
			if own := (*hooks.Error)(nil); errors.As(err, &own) {
				failed = append(failed, own.Message)
				s.tell(kopiurv1.ReasonPostHookFailed, own)
			} else if err != nil {
				return fmt.Errorf("after the snapshot: %w", err)
			}
			h.PostDone = int32(i + 1) //nolint:gosec // at most 50
			if err := s.patcher.Write(ctx); err != nil {
				return fmt.Errorf("after the snapshot: %w", err)
			}
		}
	}
	h.PostCompletedAt = r.stamp()
	if len(failed) > 0 {
		s.thawed = &metav1.Condition{
			Type: kopiurv1.ConditionHooksSucceeded, Status: metav1.ConditionFalse, Reason: kopiurv1.ReasonPostHookFailed, Message: strings.Join(failed, "; "),
		}
	}
	return nil
}

// current fails as a conflict where the cache is behind our own writes: a hook that was recorded a moment ago would be run
// again.
func (r *Reconciler) current(ctx context.Context, obj *kopiurv1.Snapshot) error {
	var live kopiurv1.Snapshot
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(obj), &live); err != nil {
		return fmt.Errorf("read snapshot %s/%s before its hooks: %w", obj.Namespace, obj.Name, err)
	}
	if live.ResourceVersion != obj.ResourceVersion {
		return fmt.Errorf("run hooks: %w", apierrors.NewConflict(kopiurv1.GroupVersion.WithResource("snapshots").GroupResource(), obj.Name, errors.New("the copy is old")))
	}
	return nil
}

// thawDeleted runs the hooks after the snapshot for one that is being deleted in the middle of its run, and lets it go.
func (r *Reconciler) thawDeleted(ctx context.Context, obj *kopiurv1.Snapshot) (res ctrl.Result, err error) {
	w := plan.World{Snapshot: obj}
	if plan.Owes(obj) {
		if err := r.referents(ctx, &w); err != nil {
			return ctrl.Result{}, err
		}
	}
	patcher := loop.NewPatcher(r.Env, obj, &obj.Status.Conditions, &obj.Status.ObservedGeneration)
	s := &scope{obj: obj, w: w, patcher: patcher, now: r.Clock.Now()}
	if plan.Owes(obj) {
		err := r.thaw(ctx, s)
		if err == nil {
			err = patcher.Write(ctx)
		}
		if err != nil {
			patcher.Keep()
			return patcher.Finish(ctx, ctrl.Result{}, err) //nolint:wrapcheck // it never returns one
		}
	}
	if err := r.guard(context.WithoutCancel(ctx), obj, plan.Plan{}); err != nil {
		return patcher.Finish(ctx, ctrl.Result{}, err) //nolint:wrapcheck // it never returns one
	}
	return ctrl.Result{}, nil
}
