// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	decide "github.com/kopiur/kopiur/controller/internal/decide/restore"
	"github.com/kopiur/kopiur/controller/internal/loop"
)

// forsakenAgain is how soon a volume is looked at again that was handed over and is not bound yet.
const forsakenAgain = loop.BehindRetry * 20

// forsaken tidies up after a Restore that is gone: its helper claims belong to the users' claims, which go on waiting, and
// would keep the space of a half-filled volume for ever (acceptance B-3). Claims that name it are told.
func (r *Reconciler) forsaken(ctx context.Context, key types.NamespacedName) (ctrl.Result, error) {
	claims, err := r.claimsNaming(ctx, key)
	if err != nil {
		return r.again(ctx, key, err)
	}
	primes, err := r.primesOf(ctx, key)
	if err != nil {
		return r.again(ctx, key, err)
	}
	by := map[types.UID]*corev1.PersistentVolumeClaim{}
	for i := range claims {
		c := &claims[i]
		by[c.UID] = c
		if c.Spec.VolumeName == "" && c.DeletionTimestamp == nil && r.Events != nil {
			r.Events.Publish(about(c), loop.Warning(kopiurv1.ReasonRestoreReferentMissing, action, "Restore %s does not exist; the claim is filled when it does", key.Name))
		}
	}
	var res ctrl.Result
	for i := range primes {
		uid := types.UID(primes[i].Labels[kopiurv1.LabelClaimUID])
		c := decide.ClaimWorld{UID: uid, Claim: by[uid], Prime: &primes[i]}
		if err := r.observeVolume(ctx, &c); err != nil {
			return r.again(ctx, key, err)
		}
		l := decide.LeftoverOf(c)
		if l.Wait {
			res.RequeueAfter = forsakenAgain
		}
		if err := r.release(ctx, l.Release); err != nil {
			return r.again(ctx, key, err)
		}
		if err := r.drop(ctx, l.Drop); err != nil {
			return r.again(ctx, key, err)
		}
	}
	return res, nil
}

// again comes back after a request that failed: there is no object whose status could say so.
func (r *Reconciler) again(ctx context.Context, key types.NamespacedName, err error) (ctrl.Result, error) {
	logf.FromContext(ctx).Error(err, "Retrying after an error", "kind", "Restore", "object", key.String())
	return ctrl.Result{RequeueAfter: loop.Spread("Restore", key.Namespace, key.Name)}, nil
}

// refuseClaims tells the claims that name a Restore which fills none.
func (r *Reconciler) refuseClaims(ctx context.Context, obj *kopiurv1.Restore) error {
	if decide.Populates(obj) || r.Events == nil {
		return nil
	}
	claims, err := r.claimsNaming(ctx, client.ObjectKeyFromObject(obj))
	for i := range claims {
		if c := &claims[i]; c.Spec.VolumeName == "" && c.DeletionTimestamp == nil {
			r.Events.Publish(about(c), loop.Warning(kopiurv1.ReasonNotAPopulator, action, "Restore %s has another target than populator, and fills no claims: set its target to populator: {}", obj.Name))
		}
	}
	return err
}

// about is a claim as events name it: objects from a typed client do not carry their kind.
func about(c *corev1.PersistentVolumeClaim) *corev1.PersistentVolumeClaim {
	out := c.DeepCopy()
	out.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"))
	return out
}

// tellClaims publishes on each claim what changed about it: who describes a claim that waits must not have to know of the
// Restore. It is done once the status is stored.
func (r *Reconciler) tellClaims(s *scope) {
	if r.Events == nil {
		return
	}
	for i := range s.plan.Claims {
		c := &s.plan.Claims[i]
		for _, n := range c.Plan.Notes {
			s.patcher.Emit(loop.Normal(n.Reason, action, "claim %s: %s", c.Name, n.Message))
		}
		e, tell := decide.Told(s.claims[c.Name], *c)
		if c.Claim == nil || !tell {
			continue
		}
		kind := corev1.EventTypeNormal
		if e.Warning {
			kind = corev1.EventTypeWarning
		}
		event := loop.Event{Type: kind, Reason: e.Reason, Action: action, Note: fmt.Sprintf("Restore %s: %s", s.obj.Name, e.Message)}
		claim := about(c.Claim)
		s.patcher.Count(func() { r.Events.Publish(claim, event) })
	}
}
