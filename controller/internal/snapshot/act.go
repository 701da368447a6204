// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/mapper"
	"github.com/kopiur/kopiur/controller/internal/decide/plan"
	"github.com/kopiur/kopiur/controller/internal/keptcache"
	"github.com/kopiur/kopiur/controller/internal/loop"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
	"github.com/kopiur/kopiur/controller/internal/nudge"
	"github.com/kopiur/kopiur/controller/internal/projection"
)

const (
	// restHeartbeat of a finished Snapshot; it costs no request.
	restHeartbeat = 45 * time.Minute
	// settleAfter is when to look again for a Job or a copy on its way out; a watch normally comes before.
	settleAfter = 15 * time.Second
	// cacheLag is when to look again for a Job that exists and is not in the cache yet.
	cacheLag = time.Second
	// nameRecheck is when to look again for a Job whose name is taken: foreign Jobs are not watched.
	nameRecheck = time.Minute
)

// scope is one turn of one Snapshot.
type scope struct {
	obj     *kopiurv1.Snapshot
	w       plan.World
	plan    plan.Plan
	patcher *loop.Patcher
	now     time.Time
	// thawed is what the hooks after the snapshot came to in this turn, nil where none failed.
	thawed *metav1.Condition
}

// carried are the conditions about what was passed before the mover started.
var carried = []string{
	kopiurv1.ConditionRepositoryReady, kopiurv1.ConditionCredentialsAvailable, kopiurv1.ConditionMoverPermitted,
	kopiurv1.ConditionSourcePVCAvailable, kopiurv1.ConditionSourceStaged, kopiurv1.ConditionMetadataAltered,
	kopiurv1.ConditionRepositorySlotAvailable, kopiurv1.ConditionHooksSucceeded, kopiurv1.ConditionSecurityContextResolved,
	kopiurv1.ConditionSecurityContextInherited, kopiurv1.ConditionSecurityContextCompatible,
}

// act does the one thing that was decided. Status is changed in memory only; the patcher writes it.
func (r *Reconciler) act(ctx context.Context, s *scope) (ctrl.Result, error) {
	st := &s.obj.Status
	if due, cancel, err := r.thawIfDue(ctx, s); err != nil {
		return ctrl.Result{}, err
	} else if cancel != nil {
		ctx = due
		defer cancel()
	}
	switch s.plan.Action {
	case plan.Rest, plan.Retire, plan.Reap, plan.PinStart, plan.PinWait, plan.PinRecord, plan.PinFail:
	default:
		s.begin()
	}
	if s.plan.Phase != "" {
		st.Phase = s.plan.Phase
	}
	switch s.plan.Action {
	case plan.Wait:
		return ctrl.Result{}, s.wait()
	case plan.Stage:
		return ctrl.Result{}, r.stage(ctx, s)
	case plan.Cut:
		return ctrl.Result{}, r.cut(ctx, s)
	case plan.Unstage:
		return r.unstage(ctx, s)
	case plan.Hook:
		return ctrl.Result{}, r.hook(ctx, s)
	case plan.Inquire:
		return ctrl.Result{}, r.inquire(ctx, s)
	case plan.Start:
		return ctrl.Result{}, r.start(ctx, s)
	case plan.Follow:
		return ctrl.Result{}, r.follow(ctx, s)
	case plan.Record:
		return r.record(ctx, s)
	case plan.Fail:
		return ctrl.Result{}, s.fail()
	case plan.Retire:
		s.rest()
		return ctrl.Result{RequeueAfter: settleAfter}, r.retire(ctx, s.plan.Job, r.ttl(ctx, s))
	case plan.Reap:
		s.rest()
		if err := r.streams.Withdraw(ctx, s.plan.Job); err != nil {
			return ctrl.Result{}, fmt.Errorf("reap: %w", err)
		}
		return ctrl.Result{RequeueAfter: settleAfter}, moverjob.Reap(ctx, r.Client, s.plan.Job)
	case plan.PinStart, plan.PinWait, plan.PinRecord, plan.PinFail:
		return r.pin(ctx, s)
	case plan.Rest:
		s.rest()
	}
	return ctrl.Result{RequeueAfter: restHeartbeat}, nil
}

// begin puts what every turn of an unfinished Snapshot says into its status.
func (s *scope) begin() {
	st := &s.obj.Status
	if st.Phase.Terminal() && !s.plan.Reopened {
		s.patcher.Keep() // its copy is being removed
		return
	}
	st.Origin = plan.Origin(s.obj)
	if s.plan.Reopened {
		st.Hooks = nil
		st.Failure, st.LogTail = nil, ""
		if st.Job != nil {
			st.Job.Name = ""
		}
		s.patcher.Emit(reopenedEvent())
	}
	if s.plan.Carry {
		s.patcher.Carry(carried...)
	}
	switch {
	case !s.plan.Preflight:
		st.PreflightSince = ""
	case st.PreflightSince == "":
		st.PreflightSince = s.now.UTC().Format(time.RFC3339)
	}
	if s.plan.Reason == kopiurv1.ReasonWaitingForSlot {
		// Those who count the waiting go by it.
		st.Resolved = new(plan.ResolvedOf(s.obj, s.w.Policy))
	}
	for _, c := range s.plan.Conditions {
		s.set(c)
	}
	if s.thawed != nil {
		s.set(*s.thawed)
	}
}

func (s *scope) set(c metav1.Condition) {
	switch c.Status {
	case metav1.ConditionTrue:
		s.patcher.Conditions.True(c.Type, c.Reason, "%s", c.Message)
	case metav1.ConditionFalse:
		s.patcher.Conditions.False(c.Type, c.Reason, "%s", c.Message)
	default:
		s.patcher.Conditions.Unknown(c.Type, c.Reason, "%s", c.Message)
	}
}

// wait says what is waited for, and tells of it once.
func (s *scope) wait() error {
	if was := s.patcher.Was(kopiurv1.ConditionReady); !quiet[s.plan.Reason] && (was == nil || was.Reason != s.plan.Reason) {
		s.patcher.Emit(waitingEvent(s.plan.Reason, s.plan.Message))
	}
	return loop.Wait{After: s.plan.After, Reason: s.plan.Reason, Message: s.plan.Message}
}

// rest keeps a finished Snapshot as it is. One that another version left without its summary gets it.
func (s *scope) rest() {
	s.patcher.Keep()
	if s.patcher.Was(kopiurv1.ConditionReady) != nil {
		return
	}
	switch st := s.obj.Status; st.Phase {
	case kopiurv1.SnapshotFailed:
		message := "failed"
		if st.Failure != nil {
			message = st.Failure.Message
		}
		s.patcher.Stalled(kopiurv1.ReasonSnapshotFailed, "%s", message)
	case kopiurv1.SnapshotUnchanged:
		s.patcher.Ready(kopiurv1.ReasonSnapshotUnchanged, "the source equals the previous snapshot; nothing was stored")
	case kopiurv1.SnapshotSucceeded, kopiurv1.SnapshotDiscovered:
		s.patcher.Ready(kopiurv1.ReasonSnapshotSucceeded, "the snapshot is in the repository")
	case kopiurv1.SnapshotPending, kopiurv1.SnapshotRunning, kopiurv1.SnapshotDeleting:
	}
}

// fail ends the Snapshot without a mover's result.
func (s *scope) fail() error {
	s.obj.Status.Failure, s.obj.Status.Progress = s.plan.Failure, nil
	s.patcher.Conditions.Drop(kopiurv1.ConditionRepositorySlotAvailable) // given back
	s.patcher.Conditions.False(kopiurv1.ConditionSnapshotCreated, s.plan.Reason, "%s", s.plan.Message)
	s.patcher.Emit(failedEvent(s.plan.Reason, s.plan.Message))
	return loop.Stall{Reason: s.plan.Reason, Message: s.plan.Message}
}

// start creates the Job. Its name is derived, so that doing it twice is doing it once.
func (r *Reconciler) start(ctx context.Context, s *scope) error {
	job, st := s.plan.Job, &s.obj.Status
	if st.Staged != nil {
		if err := r.releaseVolume(ctx, s.w.StagedClaim); err != nil {
			return err
		}
		if !st.Staged.Ready {
			s.patcher.Emit(stagedEvent(st.Staged.PVCName))
		}
		st.Staged.Ready = true
	}
	if v, err := projection.Before(ctx, r.Live, r.Client, s.w.Repository, s.obj.Namespace, r.Clock.Now()); err != nil {
		return fmt.Errorf("start: %w", err)
	} else if !v.Open {
		s.patcher.Conditions.False(kopiurv1.ConditionCredentialsAvailable, v.Reason, "%s", v.Message)
		s.plan.Reason, s.plan.Message, s.plan.After = v.Reason, v.Message, nameRecheck
		return s.wait()
	}
	if v, err := r.streams.Grant(ctx, job); err != nil {
		return fmt.Errorf("start: %w", err)
	} else if !v.Open {
		s.plan.Reason, s.plan.Message, s.plan.After = v.Reason, v.Message, nameRecheck
		return s.wait()
	}
	if err := keptcache.Apply(ctx, r.Client, s.w.Cache); apierrors.IsAlreadyExists(err) {
		return loop.Wait{After: cacheLag, Reason: kopiurv1.ReasonMoverStarting, Message: plan.Starting}
	} else if err != nil {
		return fmt.Errorf("start: %w", err)
	}
	switch err := moverjob.Ensure(ctx, r.Client, job.DeepCopy()); {
	case err == nil:
	case errors.Is(err, moverjob.ErrNameTaken):
		return s.nameTaken(job)
	case apierrors.IsNotFound(err):
		return r.hidden(ctx, s, job)
	default:
		return fmt.Errorf("start: %w", err)
	}
	if err := r.retire(ctx, s.plan.Lost, moverjob.DefaultTTL); err != nil {
		return err
	}
	rec := s.plan.Recorded
	st.Job = &kopiurv1.JobStatus{Name: job.Name, Attempts: s.plan.Attempt}
	st.Recorded = &rec
	st.Resolved = new(plan.ResolvedOf(s.obj, s.w.Policy))
	st.Progress = nil
	if c := plan.Altered(s.obj, s.w.Policy, rec); c != nil && !moverjob.IsBlock(s.w.Source, s.w.StagedClaim) {
		s.set(*c)
	}
	s.patcher.Emit(startedEvent(s.plan))
	if v := s.w.Cache; v.Reason != "" {
		s.patcher.Emit(loop.Warning(v.Reason, actionSnapshot, "%s", v.Message))
	}
	return loop.Wait{After: moverjob.StartupDeadline(s.obj.Spec.FailurePolicy), Reason: kopiurv1.ReasonMoverStarting, Message: plan.Starting}
}

// retire takes back what a Job's pod was allowed and gives the Job its time to live, in this order: the time to live is
// what tells the next turn that both was done.
func (r *Reconciler) retire(ctx context.Context, job *batchv1.Job, ttl int32) error {
	if err := r.streams.Withdraw(ctx, job); err != nil {
		return fmt.Errorf("retire: %w", err)
	}
	if err := moverjob.Retire(ctx, r.Client, r.Writes, job, ttl); err != nil {
		return fmt.Errorf("retire: %w", err)
	}
	return nil
}

// hidden looks at a Job that the cache does not show although its name exists.
func (r *Reconciler) hidden(ctx context.Context, s *scope, job *batchv1.Job) error {
	taken, err := moverjob.Taken(ctx, r.Live, job)
	switch {
	case err != nil:
		return fmt.Errorf("start: %w", err)
	case taken:
		return s.nameTaken(job)
	}
	return loop.Wait{After: cacheLag, Reason: kopiurv1.ReasonMoverStarting, Message: plan.Starting}
}

func (s *scope) nameTaken(job *batchv1.Job) error {
	s.plan.Reason, s.plan.After = kopiurv1.ReasonJobNameTaken, nameRecheck
	s.plan.Message = "Job " + job.Name + " belongs to somebody else and is not touched: delete or rename it"
	return s.wait()
}

// follow writes how far the mover is, at most once per interval of its own reports.
func (r *Reconciler) follow(ctx context.Context, s *scope) error {
	st, now := &s.obj.Status, r.Clock.Now()
	if st.Staged != nil && s.patcher.Was(kopiurv1.ConditionReady) != nil && s.patcher.Was(kopiurv1.ConditionReady).Reason != kopiurv1.ReasonMoverRunning {
		// The claim is bound now at the latest, also one that waited for the mover's pod.
		if err := r.releaseVolume(ctx, s.w.StagedClaim); err != nil {
			return err
		}
	}
	if due(st.Progress, now, s.plan.After) {
		tail, err := moverjob.ReadTail(ctx, r.Logs, s.obj.Namespace, s.plan.Outcome.PodName)
		if err != nil {
			logf.FromContext(ctx).V(1).Info("Passing over an unreadable log", "reason", err.Error())
		} else if p := tail.StatusProgress(); p != nil {
			st.Progress = p
		}
	}
	return loop.Wait{After: s.plan.After, Reason: s.plan.Reason, Message: s.plan.Message}
}

// due reports whether a new report may be there. A mover whose clock is far off is read at every turn.
func due(p *kopiurv1.Progress, now time.Time, interval time.Duration) bool {
	if p == nil {
		return true
	}
	at, err := time.Parse(time.RFC3339, p.UpdatedAt)
	return err != nil || now.Before(at.Add(-interval)) || !now.Before(at.Add(interval))
}

// record writes the mover's final result, all of it at once.
func (r *Reconciler) record(ctx context.Context, s *scope) (ctrl.Result, error) {
	st := &s.obj.Status
	if st.Job == nil || st.Job.Name == "" || st.Job.Attempts != s.plan.Attempt {
		// The controller ended between the Job and its record.
		st.Job = &kopiurv1.JobStatus{Name: s.plan.Job.Name, Attempts: s.plan.Attempt}
	}
	id := identityOf(s)
	rec := plan.Result(id, s.obj.Spec.Description, s.plan.Outcome)
	st.Phase, st.Snapshot, st.Stats, st.Timing, st.Unstored, st.Failure = rec.Phase, rec.Snapshot, rec.Stats, rec.Timing, rec.Unstored, rec.Failure
	st.Progress, st.Pinned = nil, rec.Pinned
	if s.plan.Outcome.PodName != "" {
		if tail, err := moverjob.ReadTail(ctx, r.Logs, s.obj.Namespace, s.plan.Outcome.PodName); err == nil {
			st.LogTail = tail.Text
		} else {
			logf.FromContext(ctx).V(1).Info("Recording without a log", "reason", err.Error())
		}
	}
	s.patcher.Conditions.Drop(kopiurv1.ConditionRepositorySlotAvailable) // given back
	if rec.Phase == kopiurv1.SnapshotSucceeded {
		before, err := r.previous(ctx, s.obj, id)
		if err != nil {
			return ctrl.Result{}, err
		}
		if c := plan.Shrunk(before, rec.Stats); c != nil {
			rec.Conditions = append(rec.Conditions, *c)
			s.patcher.Emit(loop.Warning(c.Reason, actionSnapshot, "%s", c.Message))
		}
	}
	for _, c := range rec.Conditions {
		s.set(c)
	}
	s.patcher.Emit(recordedEvent(rec))
	nudge.After(ctx, r.Env, s.w.Repository, s.plan.Outcome)
	if rec.Phase == kopiurv1.SnapshotFailed {
		return ctrl.Result{}, loop.Stall{After: settleAfter, Reason: rec.Reason, Message: rec.Message}
	}
	s.patcher.Ready(rec.Reason, "%s", rec.Message)
	return ctrl.Result{RequeueAfter: settleAfter}, nil
}

// previous are the numbers of the newest success of the same identity in the same repository, nil where there is none.
func (r *Reconciler) previous(ctx context.Context, obj *kopiurv1.Snapshot, id kopiurv1.Identity) (*kopiurv1.SnapshotStats, error) {
	if obj.Spec.PolicyRef == nil {
		return nil, nil //nolint:nilnil // nothing to compare with is an answer
	}
	var list kopiurv1.SnapshotList
	key := mapper.Named(obj.Namespace, obj.Spec.PolicyRef.Name)
	if err := r.Client.List(ctx, &list, client.MatchingFields{mapper.FieldPolicy: key}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the snapshots of policy %s: %w", key, err)
	}
	var newest *kopiurv1.Snapshot
	for i := range list.Items {
		s := &list.Items[i]
		if s.UID == obj.UID || s.Status.Phase != kopiurv1.SnapshotSucceeded || s.Status.Snapshot == nil || s.Status.Timing == nil ||
			s.Status.Snapshot.Identity != id || s.Labels[kopiurv1.LabelRepositoryUID] != obj.Labels[kopiurv1.LabelRepositoryUID] {
			continue
		}
		// Names end a draw: the status counts whole seconds, and which one is compared with must not be left to chance.
		if newest == nil || cmp.Or(cmp.Compare(s.Status.Timing.EndTime, newest.Status.Timing.EndTime), cmp.Compare(s.Name, newest.Name)) > 0 {
			newest = s
		}
	}
	if newest == nil {
		return nil, nil //nolint:nilnil // the first one has nothing to compare with
	}
	return newest.Status.Stats, nil
}

// identityOf is what the Job was told, not what the policy says by now: that is where the data lies.
func identityOf(s *scope) kopiurv1.Identity {
	if id, ok := filedUnder(moverjob.Told(s.plan.Job)); ok {
		return id
	}
	if s.w.Policy != nil && s.w.Repository != nil {
		id, _ := plan.IdentityOf(s.w)
		return id
	}
	return kopiurv1.Identity{}
}

// ttl is how long the Job stays. A policy or repository that is gone by now leaves the default.
func (r *Reconciler) ttl(ctx context.Context, s *scope) int32 {
	w := s.w
	if err := r.referents(ctx, &w); err != nil || w.Policy == nil || w.Repository == nil {
		return moverjob.DefaultTTL
	}
	return moverjob.TTL(*w.Repository, plan.Layers(s.obj, w.Policy)...)
}

// label writes the labels by which a Snapshot is found: those of its origin before its Job exists, that of the stored
// snapshot once it is recorded. With them goes the finalizer: from the moment a mover may store something, the object
// stays until that was dealt with.
func (r *Reconciler) label(ctx context.Context, obj *kopiurv1.Snapshot, w plan.World, p plan.Plan) error {
	want := map[string]string{}
	switch {
	case p.Action == plan.Start:
		want = plan.Labels(obj, w.Policy, w.Repository)
	case obj.DeletionTimestamp == nil && obj.Status.Phase.Terminal() && obj.Status.Phase != kopiurv1.SnapshotDiscovered && obj.Status.Snapshot != nil:
		want[kopiurv1.LabelSnapshotID] = obj.Status.Snapshot.KopiaSnapshotID
	}
	changed := false
	for k, v := range want {
		changed = changed || obj.Labels[k] != v
	}
	guarded := len(want) == 0 || slices.Contains(obj.Finalizers, kopiurv1.FinalizerSnapshot)
	if !changed && guarded {
		return nil
	}
	base := obj.DeepCopy()
	if obj.Labels == nil {
		obj.Labels = map[string]string{}
	}
	maps.Copy(obj.Labels, want)
	if !guarded {
		obj.Finalizers = append(obj.Finalizers, kopiurv1.FinalizerSnapshot)
	}
	if err := r.Client.Patch(ctx, obj, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("label snapshot %s/%s: %w", obj.Namespace, obj.Name, err)
	}
	r.Writes.Did(obj.UID, base.ResourceVersion, obj.ResourceVersion)
	return nil
}
