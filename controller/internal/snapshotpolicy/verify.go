// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshotpolicy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/policy"
	"github.com/kopiur/kopiur/controller/internal/decide/verify"
	"github.com/kopiur/kopiur/controller/internal/gates"
	"github.com/kopiur/kopiur/controller/internal/loop"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
	"github.com/kopiur/kopiur/controller/internal/nudge"
	"github.com/kopiur/kopiur/controller/internal/projection"
	"github.com/kopiur/kopiur/controller/internal/verification"
)

// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=pods/log,verbs=get

const (
	// settle is when to look again after something was recorded, to let its Job go.
	settle = time.Second
	// tailBytes and tailLines are how much of a program's log is kept where it failed.
	tailBytes = 2 << 10
	tailLines = 20
)

// verify does the next thing for each tier and repository. It returns when to look again.
func (r *Reconciler) verify(ctx context.Context, obj *kopiurv1.SnapshotPolicy, p *loop.Patcher, seen []policy.Seen, v policy.Verdict) (time.Duration, error) {
	if obj.Spec.Verification == nil && len(obj.Status.VerificationRuns) == 0 {
		return 0, nil
	}
	jobs, err := r.verifications(ctx, obj)
	if err != nil {
		return 0, err
	}
	var plans []verify.Plan
	var repositories []*moverjob.Repository
	expected := map[string]bool{}
	for i, s := range seen {
		repositories = append(repositories, s.Repository)
		for _, tier := range verify.Tiers() {
			if verify.Spec(obj, tier) == nil {
				continue
			}
			w := verify.World{
				Policy: obj, Tier: tier, Ref: s.Ref, Repository: s.Repository, Allowed: s.Allowed,
				Identities: identities(v, i), History: s.History.Latest != nil || found(obj),
			}
			plan, err := r.line(ctx, p, w, jobs)
			if err != nil {
				return 0, err
			}
			expected[verify.JobName(obj, verify.Of(obj, tier, s.Ref))] = true
			expected[plan.Run.Job] = true
			plans = append(plans, plan)
		}
	}
	if err := r.let(ctx, obj, seen, jobs, expected); err != nil {
		return 0, err
	}
	refs := obj.RepositoryRefs()
	verify.Record(&obj.Status, refs, plans)
	if verify.ClassIgnored(obj, repositories) {
		p.Conditions.True(kopiurv1.ConditionScratchStorageClassIgnored, kopiurv1.ReasonScratchStorageClassIgnored,
			"verification.deep.storageClassName has no effect without verification.deep.capacity: the scratch volume is a folder of the node")
	}
	var after time.Duration
	for _, plan := range plans {
		if plan.After > 0 && (after == 0 || plan.After < after) {
			after = plan.After
		}
		if plan.Recorded {
			after = settle
		}
	}
	if len(plans) > 0 {
		verification.Announce(p, verify.Summary(plans))
	}
	return after, nil
}

// identities are those of one of the policy's repositories, with each of its paths.
func identities(v policy.Verdict, i int) []kopiurv1.Identity {
	id := v.Resolved.Identity
	if len(v.Resolved.Repositories) > i {
		id = v.Resolved.Repositories[i].Identity
	}
	if id == nil {
		return nil
	}
	var out []kopiurv1.Identity
	for _, s := range v.Resolved.Sources {
		full := *id
		full.SourcePath = s.SourcePath
		out = append(out, full)
	}
	return out
}

// found reports whether snapshots of the policy's identity were found that it did not make.
func found(p *kopiurv1.SnapshotPolicy) bool {
	return p.Status.Adoption != nil && p.Status.Adoption.LastScanMatched > 0
}

// verifications are the Jobs that verify for a policy, wherever they run.
func (r *Reconciler) verifications(ctx context.Context, obj *kopiurv1.SnapshotPolicy) ([]batchv1.Job, error) {
	var list batchv1.JobList
	if err := r.Client.List(ctx, &list, client.MatchingLabels{
		kopiurv1.LabelManagedBy: kopiurv1.ManagedByValue, kopiurv1.LabelOperation: verify.Operation, kopiurv1.LabelOwnerUID: string(obj.UID),
	}); err != nil {
		return nil, fmt.Errorf("list the verifications of policy %s/%s: %w", obj.Namespace, obj.Name, err)
	}
	return list.Items, nil
}

// line observes one tier and repository, decides about it, and starts its Job where that is due.
func (r *Reconciler) line(ctx context.Context, p *loop.Patcher, w verify.World, jobs []batchv1.Job) (verify.Plan, error) {
	now := r.Clock.Now()
	run := verify.Of(w.Policy, w.Tier, w.Ref)
	if verify.Due(run, now) {
		if err := r.observeRun(ctx, &w, verify.JobName(w.Policy, run), jobs); err != nil {
			return verify.Plan{}, err
		}
		if w.Job == nil && w.Repository != nil && w.Allowed && !w.Policy.Spec.Suspend && len(w.Identities) > 0 {
			if err := r.observeStart(ctx, &w, run); err != nil {
				return verify.Plan{}, err
			}
		}
	}
	plan := verify.Decide(w, now)
	if plan.Recorded {
		nudge.After(ctx, r.Env, w.Repository, w.Outcome)
		count(p, plan)
	}
	if !plan.Start {
		return plan, nil
	}
	return r.startRun(ctx, w, plan)
}

// observeRun reads the Job of the turn, and what its pods say.
func (r *Reconciler) observeRun(ctx context.Context, w *verify.World, name string, jobs []batchv1.Job) error {
	for i := range jobs {
		if jobs[i].Name == name && jobs[i].DeletionTimestamp == nil {
			w.Job = &jobs[i]
		}
	}
	if w.Job == nil {
		return nil
	}
	pods, err := moverjob.Evidence(ctx, r.Client, r.Live, w.Job)
	if err != nil {
		return fmt.Errorf("observe: %w", err)
	}
	judge := func() {
		w.Outcome = moverjob.Decide(w.Job, pods, moverjob.DefaultStartupDeadline, r.ServerClock.Now())
		if verify.HasCheck(w.Policy, w.Tier) {
			w.Check = verify.CheckOf(pods, w.Outcome.Terminal, verify.CheckTimeout(w.Policy), r.ServerClock.Now())
		}
	}
	judge()
	if w.Check.State == verify.CheckLost {
		// The caches of Jobs and pods do not move in step: a verdict that is late must not pass for one that is lost.
		if pods, err = moverjob.Pods(ctx, r.Live, w.Job); err != nil {
			return fmt.Errorf("observe: %w", err)
		}
		judge()
	}
	if w.Check.State == verify.CheckFailed {
		b, err := r.Logs.Tail(ctx, w.Job.Namespace, w.Check.Pod, verify.CheckContainer, tailLines, tailBytes)
		if err != nil {
			logf.FromContext(ctx).V(1).Info("Passing over the log of a check", "pod", w.Check.Pod, "reason", err.Error())
		}
		w.LogTail = string(b)
	}
	return nil
}

// observeStart reads what a mover needs where it would run.
func (r *Reconciler) observeStart(ctx context.Context, w *verify.World, run kopiurv1.VerificationRun) error {
	ns := verify.Namespace(*w)
	repo := *w.Repository
	creds, err := projection.Check(ctx, r.Client, &repo, ns, w.Policy.Spec.CredentialProjection, r.Projection)
	if err != nil {
		return fmt.Errorf("observe: %w", err)
	}
	w.Repository = &repo
	volume, err := gates.CheckVolume(ctx, r.Client, repo, ns)
	if err != nil {
		return fmt.Errorf("observe: %w", err)
	}
	w.Gates = []gates.Verdict{creds.Verdict, volume}
	job, err := verify.Build(*w, run, r.MoverImage, r.PullPolicy)
	if err != nil {
		w.Gates = append(w.Gates, gates.Verdict{Reason: kopiurv1.ReasonInvalidSpec, Message: err.Error()})
		return nil //nolint:nilerr // it is a fact about the spec
	}
	permitted := gates.Privileges(job.Spec.Template.Spec, ns, nil)
	if !permitted.Open {
		namespace, err := gates.Namespace(ctx, r.Live, ns)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("observe: %w", err)
		}
		if err == nil {
			permitted = gates.Privileges(job.Spec.Template.Spec, ns, namespace.Annotations)
		}
	}
	w.Gates = append(w.Gates, permitted)
	w.Busy, err = r.turnstile.busy(ctx, r.Client, repo.UID, job.Name, r.Clock.Now())
	return err
}

// startRun makes the Job. Its name derives from the turn, so that one that was made and not recorded is found again.
func (r *Reconciler) startRun(ctx context.Context, w verify.World, plan verify.Plan) (verify.Plan, error) {
	job, err := verify.Build(w, plan.Run, r.MoverImage, r.PullPolicy)
	if err != nil {
		return plan, fmt.Errorf("start: %w", err)
	}
	name := job.Name
	wait := func(after time.Duration, v gates.Verdict) (verify.Plan, error) {
		plan.Run.Job, plan.Waiting, plan.After = "", v, after
		return plan, nil
	}
	if v, err := projection.Before(ctx, r.Live, r.Client, w.Repository, job.Namespace, r.Clock.Now()); err != nil {
		return plan, fmt.Errorf("start: %w", err)
	} else if !v.Open {
		return wait(plan.After, v)
	}
	other, err := r.turnstile.enter(ctx, r.Client, w.Repository.UID, name, r.Clock.Now())
	if err != nil {
		return plan, err
	}
	if other != "" {
		return wait(plan.After, gates.Verdict{Reason: kopiurv1.ReasonVerificationWaiting, Message: "another verification reads from " + w.Ref.String() + ": " + other})
	}
	err = moverjob.Ensure(ctx, r.Client, job)
	switch {
	case errors.Is(err, moverjob.ErrNameTaken):
		return wait(plan.After, gates.Verdict{Reason: kopiurv1.ReasonJobNameTaken, Message: "Job " + job.Namespace + "/" + name + " belongs to another object: delete or rename it"})
	case apierrors.IsNotFound(err):
		return wait(settle, gates.Verdict{Reason: kopiurv1.ReasonReconciling, Message: "Job " + name + " has just appeared"})
	case err != nil:
		return plan, fmt.Errorf("start: %w", err)
	}
	logf.FromContext(ctx).Info("Verifying", "tier", w.Tier, "repository", w.Ref.String(), "job", name)
	plan.Waiting = gates.Verdict{Reason: kopiurv1.ReasonReconciling, Message: "Job " + name + " verifies"}
	return plan, nil
}

// let removes the Jobs that no line expects any more: their results are in the stored status, or nobody asks for them
// since the policy was edited. What has restored something goes at once, and its scratch volume with it.
func (r *Reconciler) let(ctx context.Context, obj *kopiurv1.SnapshotPolicy, seen []policy.Seen, jobs []batchv1.Job, expected map[string]bool) error {
	for i := range jobs {
		job := &jobs[i]
		if expected[job.Name] || job.DeletionTimestamp != nil || !over(job) && !hasScratch(job) && handled(obj, job) {
			continue
		}
		if over(job) && !hasScratch(job) {
			ttl := moverjob.DefaultTTL
			for _, s := range seen {
				if s.Repository != nil && string(s.Repository.UID) == job.Labels[kopiurv1.LabelRepositoryUID] {
					ttl = moverjob.TTL(*s.Repository)
				}
			}
			if err := moverjob.Retire(ctx, r.Client, r.Writes, job, ttl); err != nil {
				return err //nolint:wrapcheck // says what it did
			}
			continue
		}
		if err := moverjob.Reap(ctx, r.Client, job); err != nil {
			return err //nolint:wrapcheck // says what it did
		}
	}
	return nil
}

// handled reports whether the result of a Job that only looks at the repository is stored: it is about to end by itself,
// a moment after its pod.
func handled(obj *kopiurv1.SnapshotPolicy, job *batchv1.Job) bool {
	slot := job.Annotations[kopiurv1.AnnotationVerifySlot]
	return slices.ContainsFunc(obj.Status.VerificationRuns, func(r kopiurv1.VerificationRun) bool {
		return r.Tier == kopiurv1.VerificationQuick && r.LastHandledAt == slot
	})
}

func over(job *batchv1.Job) bool {
	for _, c := range job.Status.Conditions {
		if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue {
			return true
		}
	}
	return false
}

func hasScratch(job *batchv1.Job) bool {
	for _, v := range job.Spec.Template.Spec.Volumes {
		if v.Name == moverjob.ScratchVolume {
			return true
		}
	}
	return false
}
