// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kopiur/kopiur/apis/session"
	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	decide "github.com/kopiur/kopiur/controller/internal/decide/session"
	"github.com/kopiur/kopiur/controller/internal/loop"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
	"github.com/kopiur/kopiur/controller/internal/projection"
)

// action is what all events about sessions are about.
const action = "Browse"

// lookAgain is how soon a session is looked at whose Job the cache has not seen yet.
const lookAgain = time.Second

// act carries the plan out. Every step finds its own work done when it is repeated.
func (r *Reconciler) act(ctx context.Context, w decide.World, plan decide.Plan) (ctrl.Result, error) {
	after := plan.After
	if plan.Job != nil {
		again, err := r.start(ctx, w, &plan)
		switch {
		case err != nil:
			return ctrl.Result{}, err
		case again > 0:
			return ctrl.Result{RequeueAfter: again}, nil
		}
		after = plan.After
	}
	if err := r.answer(ctx, w.ConfigMap, plan.Answer); err != nil {
		return ctrl.Result{}, err
	}
	if err := moverjob.Reap(ctx, r.Client, plan.Reap); err != nil {
		return ctrl.Result{}, err //nolint:wrapcheck // says what and where
	}
	if plan.Over {
		return ctrl.Result{}, r.end(ctx, w.ConfigMap, plan.Words)
	}
	return ctrl.Result{RequeueAfter: after}, nil
}

// start makes the Job and before it the copy of the credentials that it mounts. again is when to look again where nobody can
// say yet whether there is one.
func (r *Reconciler) start(ctx context.Context, w decide.World, plan *decide.Plan) (again time.Duration, err error) {
	refuse := func(reason, message string) {
		plan.Answer.State, plan.Answer.Reason, plan.Answer.Message, plan.After = session.Refused, reason, message, session.Kept
	}
	v, err := projection.Before(ctx, r.Live, r.Client, w.Repository, w.ConfigMap.Namespace, r.Clock.Now())
	if err != nil {
		return 0, err //nolint:wrapcheck // says what and where
	}
	if !v.Open {
		refuse(v.Reason, v.Message)
		return 0, nil
	}
	err = moverjob.Ensure(ctx, r.Client, plan.Job)
	taken := errors.Is(err, moverjob.ErrNameTaken)
	if apierrors.IsNotFound(err) {
		if taken, err = moverjob.Taken(ctx, r.Live, plan.Job); err == nil && !taken {
			return lookAgain, nil
		}
	}
	if taken {
		refuse(kopiurv1.ReasonJobNameTaken, fmt.Sprintf("Job %s belongs to another object: delete it and ask again", plan.Job.Name))
		return 0, nil
	}
	return 0, err //nolint:wrapcheck // says what and where
}

// answer writes what is new on the ConfigMap that was read, and tells of it.
func (r *Reconciler) answer(ctx context.Context, cm *corev1.ConfigMap, a session.Answer) error {
	was := session.Read(cm)
	if was == a {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": cm.UID, "resourceVersion": cm.ResourceVersion, "annotations": a.Annotations(),
	}})
	if err != nil {
		return fmt.Errorf("answer the session: %w", err)
	}
	if err := r.Client.Patch(ctx, cm.DeepCopy(), client.RawPatch(types.MergePatchType, patch)); err != nil {
		if apierrors.IsNotFound(err) {
			return nil // it was ended meanwhile, and its Job goes with it
		}
		return fmt.Errorf("answer the session: %w", err)
	}
	switch {
	case a.State.Final():
		r.tell(cm, loop.Warning(a.Reason, action, "%s", a.Message))
	case a.State != was.State:
		r.tell(cm, loop.Normal(a.Reason, action, "%s", a.Message))
	}
	return nil
}

// end deletes the ConfigMap, and no other of its name.
func (r *Reconciler) end(ctx context.Context, cm *corev1.ConfigMap, words string) error {
	err := r.Client.Delete(ctx, cm, client.Preconditions{UID: &cm.UID}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("end the session: %w", err)
	}
	r.tell(cm, loop.Normal(kopiurv1.ReasonSessionEnded, action, "%s", words))
	return nil
}

// tell publishes an event. Objects from a typed client do not carry their kind.
func (r *Reconciler) tell(cm *corev1.ConfigMap, e loop.Event) {
	if r.Events == nil || cm.UID == "" {
		return
	}
	about := cm.DeepCopy()
	about.SetGroupVersionKind(decide.GVK)
	r.Events.Publish(about, e)
}
