// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package loop is what every reconciler shares: how a status is written, how an error ends a reconcile, how events leave
// the process.
//
// A reconciler looks like this:
//
//	func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (res ctrl.Result, err error) {
//		obj := &kopiurv1.Repository{}
//		if err := r.Client.Get(ctx, req.NamespacedName, obj); err != nil {
//			return ctrl.Result{}, client.IgnoreNotFound(err)
//		}
//		p := loop.NewPatcher(r.Loop, obj, &obj.Status.Conditions, &obj.Status.ObservedGeneration)
//		defer func() { res, err = p.Finish(ctx, res, err) }() // the only status write
//		…observe, decide, act…
//	}
//
// What the function returns decides the rest, in one place:
//
//	nil           the conditions that were set are written; Ready, Progressing, Suspend or Stalled was called on the way
//	Wait          Ready=False, Reconciling=True; comes back after Wait.After or when a watch wakes it
//	Stall         Ready=False, Stalled=True; comes back when the object or what it names changes, and every 30 minutes
//	other errors  the status keeps what it said; a Warning event; comes back after 30 to 60 s
//
// Conditions are computed from scratch by every reconcile and replaced as a whole: one that is not set is gone. They are
// written together with phase and outputs in one merge patch that carries the resourceVersion it was computed from, and
// only if something changed: a status that is written for nothing wakes its own reconciler for ever (acceptance E-5).
package loop
