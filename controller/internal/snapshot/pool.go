// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"context"
	"fmt"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/mapper"
	"github.com/kopiur/kopiur/controller/internal/decide/plan"
	"github.com/kopiur/kopiur/controller/internal/decide/slots"
	"github.com/kopiur/kopiur/controller/internal/gates"
	"github.com/kopiur/kopiur/controller/internal/loop"
)

// pool counts the runs. What it counts is in the cache; it remembers only whom it has let in until the cache shows that,
// because several Snapshots ask at the same time. A process that is killed in between loses nothing: none of those has
// started anything.
type pool struct {
	mu       sync.Mutex
	reserved map[types.UID]slots.Run
}

// admit decides about one Snapshot.
func (p *pool) admit(ctx context.Context, c client.Reader, w plan.World) (slots.Verdict, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	runs, known, err := observeRuns(ctx, c)
	if err != nil {
		return slots.Verdict{}, err
	}
	for uid, r := range p.reserved {
		switch seen, open := known[uid]; {
		case !open, seen == slots.Active:
			delete(p.reserved, uid) // finished, or the cache knows by now
		default:
			r.State = slots.Active
			runs = append(runs, r)
		}
	}
	s := w.Snapshot
	me := slots.Run{UID: s.UID, Created: s.CreationTimestamp.Time, Repository: mapper.Repository(w.Repository.Ref), Policy: mapper.Named(w.Policy.Namespace, w.Policy.Name), State: slots.Queued}
	if _, mine := p.reserved[s.UID]; mine || active(s) {
		return slots.Verdict{Admitted: true}, nil
	}
	// Jobs carry the UID of their repository.
	for i := range runs {
		if runs[i].Repository == byUID(w.Repository.UID) {
			runs[i].Repository = me.Repository
		}
	}
	v := slots.Decide(me, runs, plan.Limits(w), w.Repository.Ref.String(), "SnapshotPolicy "+w.Policy.Name)
	if v.Admitted {
		if p.reserved == nil {
			p.reserved = map[types.UID]slots.Run{}
		}
		p.reserved[s.UID] = me
	}
	return v, nil
}

// release gives back what a Snapshot was let in for and does not use: another gate closed before it.
func (p *pool) release(uid types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.reserved, uid)
}

func byUID(uid types.UID) string { return "uid/" + string(uid) }

// active reports whether a Snapshot without a Job holds a slot.
func active(s *kopiurv1.Snapshot) bool {
	return s.Status.Staged != nil || s.Status.Hooks != nil && s.Status.Hooks.PreStartedAt != "" ||
		loop.IsTrue(s.Status.Conditions, kopiurv1.ConditionRepositorySlotAvailable)
}

// observeRuns reads all runs from the cache; known are the unfinished Snapshots.
func observeRuns(ctx context.Context, c client.Reader) ([]slots.Run, map[types.UID]slots.State, error) {
	var out []slots.Run
	seen, there := map[types.UID]bool{}, map[string]bool{}
	var jobs batchv1.JobList
	if err := c.List(ctx, &jobs, client.UnsafeDisableDeepCopy); err != nil {
		return nil, nil, fmt.Errorf("list the movers: %w", err)
	}
	for i := range jobs.Items {
		j := &jobs.Items[i]
		owner := types.UID(j.Labels[kopiurv1.LabelOwnerUID])
		there[j.Namespace+"/"+j.Name] = true
		if !gates.Occupies(j) || seen[owner] {
			continue
		}
		seen[owner] = true
		out = append(out, slots.Run{
			UID: owner, Created: j.CreationTimestamp.Time, State: slots.Active,
			Repository: byUID(types.UID(j.Labels[kopiurv1.LabelRepositoryUID])), Policy: j.Namespace + "/" + j.Labels[kopiurv1.LabelPolicy],
		})
	}
	known := map[types.UID]slots.State{}
	var open kopiurv1.SnapshotList
	if err := c.List(ctx, &open, client.MatchingFields{mapper.FieldUnfinished: mapper.Unfinished}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, nil, fmt.Errorf("list the unfinished snapshots: %w", err)
	}
	for i := range open.Items {
		s := &open.Items[i]
		r, ok := runOf(s)
		if job := s.Status.Job; ok && r.State == slots.Active && job != nil && there[s.Namespace+"/"+job.Name] {
			ok = false // it counts by its Job, which may be suspended
		}
		state := r.State
		if !ok {
			state = slots.Queued
		}
		if active(s) {
			state = slots.Active
		}
		known[s.UID] = state
		if ok && !seen[r.UID] {
			out = append(out, r)
		}
	}
	return out, known, nil
}

// runOf is a Snapshot that holds a slot or waits for one.
func runOf(s *kopiurv1.Snapshot) (slots.Run, bool) {
	r := slots.Run{UID: s.UID, Created: s.CreationTimestamp.Time}
	if s.Spec.PolicyRef != nil {
		r.Policy = mapper.Named(s.Namespace, s.Spec.PolicyRef.Name)
	}
	if res := s.Status.Resolved; res != nil && res.Repository != nil {
		r.Repository = mapper.Repository(res.Repository.In(s.Namespace))
	}
	switch {
	case active(s):
	case loop.IsFalse(s.Status.Conditions, kopiurv1.ConditionRepositorySlotAvailable):
		r.State = slots.Queued
	case waitsForPolicy(s):
		r.State = slots.Parked
	default:
		return r, false
	}
	return r, true
}

func waitsForPolicy(s *kopiurv1.Snapshot) bool {
	for _, c := range s.Status.Conditions {
		if c.Type == kopiurv1.ConditionReady {
			return c.Reason == kopiurv1.ReasonWaitingForSlot
		}
	}
	return false
}

// freed wakes the first of those that wait, when a Job or a Snapshot gives back its slot.
func (r *Reconciler) freed() handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	holds := func(o client.Object) bool {
		switch o := o.(type) {
		case *batchv1.Job:
			return gates.Occupies(o)
		case *kopiurv1.Snapshot:
			return !o.Status.Phase.Terminal() && active(o)
		}
		return false
	}
	wake := func(ctx context.Context, q queue) {
		var open kopiurv1.SnapshotList
		if err := r.Client.List(ctx, &open, client.MatchingFields{mapper.FieldUnfinished: mapper.Unfinished}, client.UnsafeDisableDeepCopy); err != nil {
			logf.FromContext(ctx).Error(err, "Passing over a slot that was freed")
			return
		}
		names := map[types.UID]types.NamespacedName{}
		var runs []slots.Run
		for i := range open.Items {
			if run, ok := runOf(&open.Items[i]); ok {
				runs = append(runs, run)
				names[run.UID] = client.ObjectKeyFromObject(&open.Items[i])
			}
		}
		for _, uid := range slots.Wake(runs) {
			q.Add(reconcile.Request{NamespacedName: names[uid]})
		}
	}
	return handler.Funcs{
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			if holds(e.ObjectOld) && !holds(e.ObjectNew) {
				wake(ctx, q)
			}
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) {
			if holds(e.Object) {
				wake(ctx, q)
			}
		},
	}
}
