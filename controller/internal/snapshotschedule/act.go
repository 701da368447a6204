// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshotschedule

import (
	"context"
	"errors"
	"fmt"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/schedule"
	"github.com/kopiur/kopiur/controller/internal/loop"
	"github.com/kopiur/kopiur/controller/internal/prune"
)

const (
	// action is what Kopiur does in every event about a schedule.
	action = "Schedule"
	// perTurn is how many Snapshots one turn tidies up: a reconcile has its time, and others wait.
	perTurn = 100
	// soon is when a schedule that has more to do goes on.
	soon = time.Second
)

var errNameTaken = errors.New("its name is taken")

// act makes the run that is due and writes what was decided. Tidying up has turns of its own: a Snapshot that cannot be
// deleted must not keep the next one from being made.
func (r *Reconciler) act(ctx context.Context, obj *kopiurv1.SnapshotSchedule, p *loop.Patcher, plan schedule.Plan) (ctrl.Result, error) {
	st := &obj.Status
	before := st.DeepCopy()
	if err := r.fire(ctx, p, &plan); err != nil {
		if errors.Is(err, errNameTaken) {
			return ctrl.Result{}, loop.Stall{Reason: kopiurv1.ReasonSnapshotNameTaken, Message: err.Error()}
		}
		return ctrl.Result{}, err
	}
	st.LastSchedule, st.NextSchedule = plan.Last, plan.Next
	st.LastSuccessfulSchedule, st.LastFailedSchedule, st.ConsecutiveFailures = plan.Succeeded, plan.Failed, plan.Failures
	tell(p, plan)
	after := plan.After
	if untidy := len(plan.Prune) + len(plan.Unstamp) + len(plan.Propagate); untidy > 0 {
		changed := !apiequality.Semantic.DeepEqual(before, st)
		if !changed {
			if err := r.tidy(ctx, plan); err != nil {
				return ctrl.Result{}, err
			}
		}
		if changed || untidy > perTurn {
			after = soon
		}
	}
	return conclude(p, plan, after)
}

// conclude puts the summary into the conditions.
func conclude(p *loop.Patcher, plan schedule.Plan, after time.Duration) (ctrl.Result, error) {
	if plan.Ambiguous != "" {
		p.Conditions.True(kopiurv1.ConditionTimezoneDefaultAmbiguous, kopiurv1.ReasonTimezoneDefaultAmbiguous, "%s", plan.Ambiguous)
		p.EmitChange(kopiurv1.ConditionTimezoneDefaultAmbiguous, loop.Warning(kopiurv1.ReasonTimezoneDefaultAmbiguous, action, "%s", plan.Ambiguous))
	}
	if plan.Capped != "" {
		p.Conditions.True(kopiurv1.ConditionFanoutCapped, kopiurv1.ReasonFanoutCapped, "%s", plan.Capped)
	}
	res := ctrl.Result{RequeueAfter: after}
	switch plan.State {
	case schedule.Suspended:
		p.Suspend()
		if plan.PolicySuspended != "" {
			p.Conditions.True(kopiurv1.ConditionSuspended, kopiurv1.ReasonSuspended,
				"SnapshotPolicy %s is suspended: no run is made until its spec.suspend is false", plan.PolicySuspended)
		} else {
			p.Conditions.True(kopiurv1.ConditionSuspended, kopiurv1.ReasonSuspended, "no run is made until spec.schedule.suspend is false")
		}
	case schedule.Stalled:
		if was := p.Was(kopiurv1.ConditionStalled); was == nil || was.Status != "True" || was.Reason != plan.Reason {
			p.Emit(loop.Warning(plan.Reason, action, "%s", plan.Message))
		}
		return res, loop.Stall{After: after, Reason: plan.Reason, Message: plan.Message}
	case schedule.Waiting:
		if was := p.Was(kopiurv1.ConditionReady); was == nil || was.Reason != plan.Reason {
			p.Emit(loop.Warning(plan.Reason, action, "%s", plan.Message))
		}
		return res, loop.Wait{After: after, Reason: plan.Reason, Message: plan.Message}
	case schedule.Ready:
		p.Ready(plan.Reason, "%s", plan.Message)
	}
	return res, nil
}

// fire deletes what a run replaces and makes its Snapshots. Both can be repeated.
func (r *Reconciler) fire(ctx context.Context, p *loop.Patcher, plan *schedule.Plan) error {
	for _, s := range plan.Replace {
		if err := prune.Delete(ctx, r.Client, s, kopiurv1.PrunedByReplacedRun); err != nil {
			return fmt.Errorf("replace: %w", err)
		}
		p.Emit(loop.Normal(kopiurv1.ReasonRunReplaced, action, "Deleted Snapshot %s, which had not ended", s.Name))
	}
	made := 0
	for _, s := range plan.Create {
		fresh, err := r.create(ctx, s)
		if err != nil {
			return err
		}
		if fresh {
			made++
		}
	}
	switch len(plan.Create) {
	case 0:
		return nil
	case 1:
		plan.Last.SnapshotRef = &kopiurv1.LocalRef{Name: plan.Create[0].Name}
		p.Emit(loop.Normal(kopiurv1.ReasonScheduled, action, "Created Snapshot %s for %s", plan.Create[0].Name, schedule.Stamp(plan.Slot)))
	default:
		p.Emit(loop.Normal(kopiurv1.ReasonScheduled, action, "Created %d Snapshots for %s", len(plan.Create), schedule.Stamp(plan.Slot)))
	}
	snapshotsCreated.Add(float64(made))
	return nil
}

// create makes one Snapshot, unless an earlier turn has. Where somebody else's has its name, it gets another.
func (r *Reconciler) create(ctx context.Context, s *kopiurv1.Snapshot) (bool, error) {
	for _, name := range []string{s.Name, schedule.OtherName(s)} {
		s.Name = name
		err := r.Client.Create(ctx, s)
		if err == nil {
			return true, nil
		}
		if !apierrors.IsAlreadyExists(err) {
			return false, fmt.Errorf("create snapshot %s/%s: %w", s.Namespace, name, err)
		}
		var there kopiurv1.Snapshot
		err = r.Live.Get(ctx, client.ObjectKeyFromObject(s), &there)
		if err != nil {
			return false, fmt.Errorf("get snapshot %s/%s: %w", s.Namespace, name, err)
		}
		for _, ref := range there.OwnerReferences {
			if ref.UID == s.OwnerReferences[0].UID {
				return false, nil
			}
		}
	}
	return false, fmt.Errorf("create snapshot %s/%s: %w: delete or rename it", s.Namespace, s.Name, errNameTaken)
}

// tidy removes old records, takes back what was begun and is not meant any more, and passes on what becomes of Snapshots
// without their schedule.
func (r *Reconciler) tidy(ctx context.Context, plan schedule.Plan) error {
	for _, s := range first(plan.Prune) {
		if err := prune.Delete(ctx, r.Client, s, kopiurv1.PrunedByFailedHistory); err != nil {
			return fmt.Errorf("tidy up: %w", err)
		}
	}
	for _, s := range first(plan.Unstamp) {
		if err := prune.Unstamp(ctx, r.Client, s); err != nil {
			return fmt.Errorf("tidy up: %w", err)
		}
	}
	for _, s := range first(plan.Propagate) {
		base := s.DeepCopy()
		s = s.DeepCopy()
		s.Spec.OnScheduleDelete = plan.OnScheduleDelete
		err := r.Client.Patch(ctx, s, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{}))
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("pass onScheduleDelete on to snapshot %s/%s: %w", s.Namespace, s.Name, err)
		}
	}
	return nil
}

func first(list []*kopiurv1.Snapshot) []*kopiurv1.Snapshot { return list[:min(len(list), perTurn)] }

// tell publishes what was left out or put off.
func tell(p *loop.Patcher, plan schedule.Plan) {
	if plan.Missed != "" {
		p.Emit(loop.Warning(kopiurv1.ReasonRunMissed, action, "%s", plan.Missed))
	}
	if plan.Expired != "" {
		p.Emit(loop.Warning(kopiurv1.ReasonRunSkipped, action, "%s", plan.Expired))
	}
	for i, s := range plan.Skips {
		const most = 5
		if i == most {
			p.Emit(loop.Warning(kopiurv1.ReasonRunSkipped, action, "The run of %d more policies was left out for the like", len(plan.Skips)-most))
			return
		}
		p.Emit(loop.Warning(kopiurv1.ReasonRunSkipped, action, "The run of SnapshotPolicy %s was left out: %s", s.Policy, s.Why))
	}
}
