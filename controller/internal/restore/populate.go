// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	decide "github.com/kopiur/kopiur/controller/internal/decide/restore"
	"github.com/kopiur/kopiur/controller/internal/loop"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
	"github.com/kopiur/kopiur/controller/internal/nudge"
)

// actOnClaims carries out the plans of all claims. What keeps one of them waiting is its own matter; a request that failed
// ends the turn once the others had theirs.
func (r *Reconciler) actOnClaims(ctx context.Context, s *scope, w decide.World) (ctrl.Result, error) {
	if s.plan.Intent {
		if err := s.patcher.Write(ctx); err != nil {
			return ctrl.Result{}, err //nolint:wrapcheck // says what
		}
	}
	var failed []error
	for i := range s.plan.Claims {
		c := &s.plan.Claims[i]
		sub := &scope{patcher: s.patcher, obj: s.obj, plan: c.Plan, repository: c.Repository}
		err := r.actOnClaim(ctx, sub, c)
		c.Plan = sub.plan
		if c.Record != nil && c.Plan.Reason != c.Record.Reason {
			c.Interrupt(c.Plan.State, c.Plan.After, c.Plan.Reason, c.Plan.Message) // the credentials were withheld
		}
		var wait loop.Wait
		var stall loop.Stall
		switch {
		case errors.As(err, &wait):
			c.Interrupt(decide.Progressing, wait.After, wait.Reason, wait.Message)
		case errors.As(err, &stall):
			c.Interrupt(decide.Stalled, stall.After, stall.Reason, stall.Message)
		case err != nil:
			failed = append(failed, fmt.Errorf("claim %s: %w", c.Name, err))
		}
	}
	if err := errors.Join(failed...); err != nil {
		return ctrl.Result{}, err
	}
	s.plan.Conclude(w)
	stored := s.obj.Status.Conditions
	s.obj.Status = *s.plan.Status.DeepCopy()
	s.obj.Status.Conditions = stored
	r.tellClaims(s)
	return report(s)
}

func (r *Reconciler) actOnClaim(ctx context.Context, s *scope, c *decide.ClaimPlan) error {
	return loop.Run(ctx, s, //nolint:wrapcheck // the step says so
		loop.Step("let the recorded job go", r.retire),
		loop.Step("delete the job that was given up", r.reap),
		loop.Step("copy the credentials", r.project),
		loop.Step("make the helper claim", r.ensureClaim),
		loop.Step("start the mover", r.ensureJob),
		loop.Step("hand the volume over", func(ctx context.Context, _ *scope) error { return r.handOver(ctx, c.Handover) }),
		loop.Step("give the volume its reclaim policy back", func(ctx context.Context, _ *scope) error { return r.release(ctx, c.Release) }),
		loop.Step("delete the helper claim", func(ctx context.Context, _ *scope) error { return r.drop(ctx, c.Drop) }),
	)
}

// handOver makes a volume the claim's, in one patch with what keeps it until it is bound: between the two nobody owns it.
func (r *Reconciler) handOver(ctx context.Context, h *decide.Handover) error {
	if h == nil {
		return nil
	}
	pv, claim := h.Volume, h.Claim
	return r.patchVolume(ctx, pv, map[string]any{
		"metadata": map[string]any{
			"resourceVersion": pv.ResourceVersion, // it may have been bound elsewhere since it was read
			"annotations":     map[string]any{kopiurv1.AnnotationReclaimPolicy: string(pv.Spec.PersistentVolumeReclaimPolicy)},
		},
		"spec": map[string]any{
			"persistentVolumeReclaimPolicy": corev1.PersistentVolumeReclaimRetain,
			"claimRef": map[string]any{
				"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": claim.Namespace, "name": claim.Name, "uid": claim.UID,
				"resourceVersion": nil,
			},
		},
	})
}

func (r *Reconciler) release(ctx context.Context, pv *corev1.PersistentVolume) error {
	if pv == nil {
		return nil
	}
	err := r.patchVolume(ctx, pv, map[string]any{
		"metadata": map[string]any{"resourceVersion": pv.ResourceVersion, "annotations": map[string]any{kopiurv1.AnnotationReclaimPolicy: nil}},
		"spec":     map[string]any{"persistentVolumeReclaimPolicy": pv.Annotations[kopiurv1.AnnotationReclaimPolicy]},
	})
	return client.IgnoreNotFound(err)
}

func (r *Reconciler) patchVolume(ctx context.Context, pv *corev1.PersistentVolume, change map[string]any) error {
	body, err := json.Marshal(change)
	if err != nil {
		return fmt.Errorf("encode the patch of volume %s: %w", pv.Name, err)
	}
	if err := r.Client.Patch(ctx, pv.DeepCopy(), client.RawPatch(types.MergePatchType, body)); err != nil {
		return fmt.Errorf("patch volume %s: %w", pv.Name, err)
	}
	return nil
}

// drop deletes a helper claim of ours. The preconditions name the very object that was looked at: the user's claims have
// other names, and nothing else is ever deleted (acceptance K-7).
func (r *Reconciler) drop(ctx context.Context, prime *corev1.PersistentVolumeClaim) error {
	if prime == nil {
		return nil
	}
	err := r.Client.Delete(ctx, prime.DeepCopy(), client.Preconditions{UID: &prime.UID})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete helper claim %s/%s: %w", prime.Namespace, prime.Name, err)
	}
	return nil
}

// nudgeClaims asks the repositories whose movers could not reach them for a look at their stores.
func (r *Reconciler) nudgeClaims(ctx context.Context, w decide.World) {
	asked := map[*moverjob.Repository]bool{}
	for i := range w.Claims {
		c := &w.Claims[i]
		if decide.InFlight(c.As(w.Restore)) && !asked[c.Repository] {
			asked[c.Repository] = true
			nudge.After(ctx, r.Env, c.Repository, c.Outcome)
		}
	}
}
