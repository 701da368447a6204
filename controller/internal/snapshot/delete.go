// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"context"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/decide/deletion"
	"github.com/kopiur/kopiur/controller/internal/decide/plan"
	carry "github.com/kopiur/kopiur/controller/internal/deletion"
	"github.com/kopiur/kopiur/controller/internal/loop"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

// removal is one turn of one Snapshot that is being deleted.
type removal struct {
	obj     *kopiurv1.Snapshot
	w       deletion.World
	plan    deletion.Plan
	patcher *loop.Patcher
	// movers of its own backup.
	job  *batchv1.Job
	pods []corev1.Pod
}

// dispose does the next thing for a Snapshot that is being deleted.
func (r *Reconciler) dispose(ctx context.Context, obj *kopiurv1.Snapshot) (ctrl.Result, error) {
	if !deletion.Pending(obj) {
		return ctrl.Result{}, nil // somebody else's finalizer, if any
	}
	rm := &removal{obj: obj, patcher: loop.NewPatcher(r.Env, obj, &obj.Status.Conditions, &obj.Status.ObservedGeneration)}
	err := r.weigh(ctx, rm)
	if err == nil && rm.plan.Action == deletion.Release {
		if err = r.release(ctx, rm); err == nil {
			return ctrl.Result{}, nil // there is no status left to write
		}
	}
	if err == nil {
		err = r.disposeAct(ctx, rm)
	}
	return rm.patcher.Finish(ctx, ctrl.Result{}, err) //nolint:wrapcheck // the only status write
}

// weigh reads what bears on the data and decides: from the caches first, and live where they would only seem to prove it.
func (r *Reconciler) weigh(ctx context.Context, rm *removal) error {
	if err := r.ownMovers(ctx, rm); err != nil {
		return err
	}
	o := carry.Observer{Deps: r.Deps}
	for _, look := range []*carry.Look{o.Cached(), o.Live()} {
		if err := r.facts(ctx, o, look, rm); err != nil {
			return err
		}
		if rm.plan = deletion.Next(rm.w, r.ServerClock.Now(), r.Clock.Now()); rm.plan.Action != deletion.Prove {
			return nil
		}
	}
	return fmt.Errorf("decide about the data of %s/%s: live facts are not enough", rm.obj.Namespace, rm.obj.Name)
}

func (r *Reconciler) facts(ctx context.Context, o carry.Observer, look *carry.Look, rm *removal) error {
	f, repo, err := look.Facts(ctx, rm.obj)
	if err != nil {
		return err //nolint:wrapcheck // says what it read
	}
	rm.w.Facts = f
	if repo == nil {
		return nil
	}
	if rm.w.Batch, err = o.Batch(ctx, *repo, rm.obj); err != nil {
		return err //nolint:wrapcheck // says what it read
	}
	if deletion.Followed(rm.obj, rm.w.Batch) {
		return nil // by what the Job does alone
	}
	pending, err := carry.Pending(ctx, r.Client, repo.Ref)
	if err != nil {
		return err //nolint:wrapcheck // says what it read
	}
	rm.w.Breaker = carry.Breaker(*repo, pending)
	if rm.w.Gate, err = o.Gate(ctx, *repo); err != nil {
		return err //nolint:wrapcheck // says what it read
	}
	return nil
}

// ownMovers reads what is left of the Snapshot's own backup.
func (r *Reconciler) ownMovers(ctx context.Context, rm *removal) error {
	s := rm.obj
	if s.Status.Snapshot != nil {
		return nil
	}
	attempt, _ := plan.Current(s)
	job, err := moverjob.Fetch(ctx, r.Client, s.Namespace, plan.JobName(s, attempt), s.UID)
	if err != nil {
		return fmt.Errorf("observe: %w", err)
	}
	var pods corev1.PodList
	if err := r.Client.List(ctx, &pods, client.InNamespace(s.Namespace), client.MatchingLabels{
		kopiurv1.LabelManagedBy: kopiurv1.ManagedByValue, kopiurv1.LabelOwnerUID: string(s.UID),
	}); err != nil {
		return fmt.Errorf("list movers of snapshot %s/%s: %w", s.Namespace, s.Name, err)
	}
	pods.Items = slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool { return !plan.Stores(p.Labels[kopiurv1.LabelOperation]) })
	now := r.ServerClock.Now()
	rm.job, rm.pods = job, pods.Items
	if moverjob.ResultOf(rm.pods) == nil {
		// It may be there and late. Without it the object would go, and the data stay for nobody.
		own, err := moverjob.Evidence(ctx, r.Client, r.Live, job)
		if err != nil {
			return fmt.Errorf("observe: %w", err)
		}
		rm.pods = append(rm.pods, own...)
	}
	if job != nil && job.DeletionTimestamp == nil {
		rm.w.Run.Job = !moverjob.Decide(job, nil, moverjob.DefaultStartupDeadline, now).Terminal
	}
	for i := range pods.Items {
		p := &pods.Items[i]
		ended := p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
		if !ended && !moverjob.Hangs(p, now) {
			rm.w.Run.Pods = append(rm.w.Run.Pods, "pod "+p.Name)
		}
	}
	if res := moverjob.ResultOf(rm.pods); res != nil && res.Snapshot != nil {
		rm.w.Run.Stored = res.Snapshot
	}
	return nil
}

// release lets the object go. It is the last thing that happens to it; what it was is told in an event.
func (r *Reconciler) release(ctx context.Context, rm *removal) error {
	obj := rm.obj
	base := obj.DeepCopy()
	obj.Finalizers = slices.DeleteFunc(obj.Finalizers, func(f string) bool { return f == kopiurv1.FinalizerSnapshot })
	if err := r.Client.Patch(ctx, obj, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})); err != nil {
		obj.Finalizers = base.Finalizers
		if client.IgnoreNotFound(err) == nil {
			return nil
		}
		return fmt.Errorf("release snapshot %s/%s: %w", obj.Namespace, obj.Name, err)
	}
	r.Writes.Did(obj.UID, base.ResourceVersion, "") // or it is released again before the cache has seen it go
	carry.CountRelease(rm.plan)
	logf.FromContext(ctx).Info("Releasing a deleted snapshot", "data", rm.plan.Outcome, "reason", rm.plan.Message)
	if r.Events != nil {
		r.Events.Publish(obj, releasedEvent(rm.plan))
	}
	return nil
}

// disposeAct does what was decided, short of the release. Everything that was known of the Snapshot stays known.
func (r *Reconciler) disposeAct(ctx context.Context, rm *removal) error {
	st, p := &rm.obj.Status, rm.plan
	rm.patcher.Keep()
	st.Phase = kopiurv1.SnapshotDeleting
	if was := rm.patcher.Was(kopiurv1.ConditionDeletionHeld); p.Action != deletion.Hold && was != nil && was.Status == metav1.ConditionTrue {
		rm.patcher.Conditions.False(kopiurv1.ConditionDeletionHeld, kopiurv1.ReasonDeletionReleased, "an acknowledgement covers it, or the protection was switched off")
	}
	switch p.Action {
	case deletion.Hold:
		rm.patcher.Conditions.True(kopiurv1.ConditionDeletionHeld, p.Reason, "%s", p.Message)
		rm.patcher.EmitChange(kopiurv1.ConditionDeletionHeld, heldEvent(p))
	case deletion.Stop:
		if err := moverjob.Reap(ctx, r.Client, rm.job); err != nil {
			return err //nolint:wrapcheck // says what it did
		}
	case deletion.Learn:
		learn(rm)
	case deletion.Fail:
		st.Deletion = deletion.Record(st.Deletion, *rm.w.Batch, p.Failure, r.Clock.Now())
		carry.CountFailure()
		rm.patcher.Emit(deletionFailedEvent(p.Failure))
		p.Message, p.Stuck = deletion.FailedMessage(st.Deletion), !p.Failure.RetryRecommended
		p.After = deletion.CandidateOf(rm.obj).Rests(r.Clock.Now())
	case deletion.Rest, deletion.Prove, deletion.Release, deletion.Wait:
	}
	rm.tell(p)
	if p.Stuck {
		return loop.Stall{After: p.After, Reason: p.Reason, Message: p.Message}
	}
	return loop.Wait{After: p.After, Reason: p.Reason, Message: p.Message}
}

// tell publishes what is waited for, once. A hold and a failure have told already; the ordinary course of a deletion is
// told by the condition and at its end, or a thousand deletions would be as many events more at every step.
func (rm *removal) tell(p deletion.Plan) {
	if p.Action != deletion.Wait || p.Reason == kopiurv1.ReasonDeletionFailed || p.Reason == kopiurv1.ReasonDeletionQueued || p.Reason == kopiurv1.ReasonDeletionRunning {
		return
	}
	if was := rm.patcher.Was(kopiurv1.ConditionReady); was == nil || was.Reason != p.Reason {
		rm.patcher.Emit(deletingEvent(p))
	}
}

// learn records what a mover stored before it ended, so that it can be deleted. Identity and start are those of its own
// work spec: the policy may say something else by now.
func learn(rm *removal) {
	st, res := &rm.obj.Status, rm.w.Run.Stored
	st.Snapshot = &kopiurv1.StoredSnapshot{KopiaSnapshotID: res.SnapshotID, Description: rm.obj.Spec.Description}
	for i := range rm.pods {
		if id, ok := filedUnder(moverjob.ToldPod(rm.pods[i].Spec)); ok {
			st.Snapshot.Identity = id
		}
	}
	if id, ok := filedUnder(moverjob.Told(rm.job)); ok {
		st.Snapshot.Identity = id
	}
	st.Timing = &kopiurv1.Timing{StartTime: plan.Stamp(res.StartTime), EndTime: plan.Stamp(res.EndTime)}
}

// filedUnder is what a mover was told to file its snapshot under.
func filedUnder(spec *work.Spec) (kopiurv1.Identity, bool) {
	if spec == nil {
		return kopiurv1.Identity{}, false
	}
	var id work.Identity
	switch op := spec.Operation; {
	case op.Snapshot != nil:
		id = op.Snapshot.Identity
	case op.StreamSnapshot != nil:
		id = op.StreamSnapshot.Identity
	default:
		return kopiurv1.Identity{}, false
	}
	return kopiurv1.Identity{Username: id.Username, Hostname: id.Hostname, SourcePath: id.Path}, true
}
