// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"context"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	decide "github.com/kopiur/kopiur/controller/internal/decide/restore"
	"github.com/kopiur/kopiur/controller/internal/gates"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
	"github.com/kopiur/kopiur/controller/internal/projection"
	"github.com/kopiur/kopiur/controller/internal/workload"
)

// operation labels the Jobs and pods that write into a claim.
const operation = "restore"

// observe reads what the decision needs, and no more: a finished Restore costs nothing but a look at its Job in the
// cache, and one with a mover at work no request to the API server but the end of its log.
func (r *Reconciler) observe(ctx context.Context, obj *kopiurv1.Restore) (decide.World, error) {
	w := decide.World{
		Restore: obj, Image: r.MoverImage, PullPolicy: r.PullPolicy,
		Outcome: moverjob.Outcome{State: moverjob.Absent, Terminal: true},
		Volume:  gates.Verdict{Open: true},
	}
	if decide.Populates(obj) {
		err := r.observeClaims(ctx, &w)
		return w, err
	}
	if err := r.observeJob(ctx, &w); err != nil {
		return w, err
	}
	if err := r.observeRepository(ctx, &w); err != nil {
		return w, err
	}
	if decide.InFlight(obj) && w.Job != nil {
		r.observeLog(ctx, &w)
		err := r.observeStored(ctx, &w, w.Outcome)
		return w, err
	}
	if decide.Holds(w) {
		return w, nil
	}
	err := r.observeTarget(ctx, &w)
	return w, err
}

func (r *Reconciler) observeJob(ctx context.Context, w *decide.World) error {
	j := w.Restore.Status.Job
	if j == nil || j.Name == "" {
		return nil
	}
	job, err := moverjob.Fetch(ctx, r.Client, w.Restore.Namespace, j.Name, w.Restore.UID)
	if err != nil {
		return err //nolint:wrapcheck // says what and where
	}
	if job == nil && w.Restore.Spec.Target.StreamExec != nil && decide.InFlight(w.Restore) {
		// A Job that is gone ends a stream, and one that the cache does not have yet must not.
		if job, err = moverjob.Fetch(ctx, r.Live, w.Restore.Namespace, j.Name, w.Restore.UID); err != nil {
			return err //nolint:wrapcheck // says what and where
		}
	}
	var pods []corev1.Pod
	if decide.InFlight(w.Restore) {
		pods, err = moverjob.Evidence(ctx, r.Client, r.Live, job)
	} else { // its result is recorded, and nothing more is asked of the API server
		pods, err = moverjob.Pods(ctx, r.Client, job)
	}
	if err != nil {
		return err //nolint:wrapcheck // says what and where
	}
	w.Job = job
	w.Outcome = moverjob.Decide(job, pods, moverjob.StartupDeadline(w.Restore.Spec.FailurePolicy), r.Clock.Now())
	return nil
}

// observeRepository reads the source, the repository it leads to, and what that needs in this namespace.
func (r *Reconciler) observeRepository(ctx context.Context, w *decide.World) error {
	obj := w.Restore
	if obj.Status.Resolved == nil || obj.Status.Resolved.Repository == nil {
		if err := r.observeSource(ctx, w); err != nil {
			return err
		}
	}
	ref := decide.RepositoryRef(obj, w.Snapshot, w.Policy)
	if ref == nil {
		return nil
	}
	repo, err := moverjob.Load(ctx, r.Client, *ref, r.OperatorNamespace)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err //nolint:wrapcheck // says what and where
	}
	w.Repository = &repo
	if w.Credentials, err = projection.Check(ctx, r.Client, w.Repository, obj.Namespace, obj.Spec.CredentialProjection, r.Projection); err != nil {
		return err //nolint:wrapcheck // says what and where
	}
	w.Volume, err = gates.CheckVolume(ctx, r.Client, repo, obj.Namespace)
	return err //nolint:wrapcheck // says what and where
}

func (r *Reconciler) observeSource(ctx context.Context, w *decide.World) error {
	obj := w.Restore
	var policy *kopiurv1.ObjectRef
	if ref := obj.Spec.Source.SnapshotRef; ref != nil {
		in := ref.In(obj.Namespace)
		var s kopiurv1.Snapshot
		found, err := r.get(ctx, in, &s)
		if err != nil || !found {
			return err
		}
		w.Snapshot = &s
		if s.Status.Resolved == nil && s.Spec.PolicyRef != nil {
			policy = new(s.Spec.PolicyRef.In(s.Namespace))
		}
	} else if f := obj.Spec.Source.FromPolicy; f != nil {
		policy = new(kopiurv1.ObjectRef{Name: f.Name, Namespace: f.Namespace}.In(obj.Namespace))
	}
	if policy == nil {
		return nil
	}
	var p kopiurv1.SnapshotPolicy
	found, err := r.get(ctx, *policy, &p)
	if found {
		w.Policy = &p
	}
	return err
}

func (r *Reconciler) get(ctx context.Context, ref kopiurv1.ObjectRef, obj client.Object) (bool, error) {
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, obj)
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("get %T %s/%s: %w", obj, ref.Namespace, ref.Name, err)
	default:
		return true, nil
	}
}

// observeLog reads the end of the mover's log where it has something to say: progress while it works, its last lines
// when it has ended. A log that cannot be read is passed over.
func (r *Reconciler) observeLog(ctx context.Context, w *decide.World) {
	ended := w.Outcome.State == moverjob.Finished && w.Restore.Status.Resolved != nil
	if w.Outcome.PodName == "" || (!ended && !decide.ProgressDue(*w, r.Clock.Now())) {
		return
	}
	tail, err := moverjob.ReadTail(ctx, r.Logs, w.Restore.Namespace, w.Outcome.PodName)
	if err != nil {
		logf.FromContext(ctx).V(1).Info("Passing over a mover's log", "pod", w.Outcome.PodName, "reason", err.Error())
		return
	}
	w.Tail = tail
}

// observeTarget reads what a start depends on: consent and foreign pods live, because an old copy of either would let
// something happen that was forbidden.
func (r *Reconciler) observeTarget(ctx context.Context, w *decide.World) error {
	obj := w.Restore
	ns, err := gates.Namespace(ctx, r.Live, obj.Namespace)
	if err != nil {
		return err //nolint:wrapcheck // says what and where
	}
	w.NamespaceLabels, w.NamespaceAnnotations = ns.Labels, ns.Annotations
	if err := r.observeStrays(ctx, w); err != nil {
		return err
	}
	if obj.Spec.Target.StreamExec != nil {
		if err := r.observeRecorded(ctx, w); err != nil {
			return err
		}
		return r.observePods(ctx, w, "")
	}
	name := decide.TargetClaim(obj)
	if name == "" || (obj.Status.Resolved == nil && obj.Spec.Source.SnapshotRef == nil) {
		return nil
	}
	var pvc corev1.PersistentVolumeClaim
	found, err := r.get(ctx, kopiurv1.ObjectRef{Name: name, Namespace: obj.Namespace}, &pvc)
	if err != nil {
		return err
	}
	if found {
		w.Claim = &pvc
	}
	if err := r.observeRecorded(ctx, w); err != nil {
		return err
	}
	if from := decide.Inherits(obj); found || from != nil && from.WorkloadSelector != nil {
		if err := r.observePods(ctx, w, name); err != nil {
			return err
		}
	}
	if !found {
		return nil
	}
	writers, err := writersOf(ctx, r.Client, obj, name)
	if err != nil {
		return err
	}
	w.Writers = append(w.Writers, writers...)
	slices.Sort(w.Users)
	slices.Sort(w.Writers)
	return r.observeNode(ctx, w)
}

// writersOf finds the Jobs of other Restores that write into a claim: a Job is there before its first pod is, and
// between two of them.
func writersOf(ctx context.Context, c client.Reader, obj *kopiurv1.Restore, claim string) ([]string, error) {
	var jobs batchv1.JobList
	if err := c.List(ctx, &jobs, client.InNamespace(obj.Namespace), client.MatchingLabels{
		kopiurv1.LabelManagedBy: kopiurv1.ManagedByValue,
		kopiurv1.LabelOperation: operation,
	}); err != nil {
		return nil, fmt.Errorf("list the restores of namespace %s: %w", obj.Namespace, err)
	}
	var out []string
	for i := range jobs.Items {
		j := &jobs.Items[i]
		over := slices.ContainsFunc(j.Status.Conditions, func(c batchv1.JobCondition) bool {
			return c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed)
		})
		if !over && j.Labels[kopiurv1.LabelOwnerUID] != string(obj.UID) && workload.Mounts(j.Spec.Template.Spec, claim) {
			out = append(out, "job "+j.Name)
		}
	}
	slices.Sort(out)
	return out, nil
}

// observeStrays finds pods of earlier Jobs that a deletion in the background has not reached yet.
func (r *Reconciler) observeStrays(ctx context.Context, w *decide.World) error {
	var pods corev1.PodList
	if err := r.Client.List(ctx, &pods, client.InNamespace(w.Restore.Namespace), client.MatchingLabels{
		kopiurv1.LabelManagedBy: kopiurv1.ManagedByValue,
		kopiurv1.LabelOwnerUID:  string(w.Restore.UID),
	}); err != nil {
		return fmt.Errorf("list the movers of restore %s/%s: %w", w.Restore.Namespace, w.Restore.Name, err)
	}
	for i := range pods.Items {
		p := &pods.Items[i]
		if !workload.Ended(p) && (w.Job == nil || p.Labels[batchv1.JobNameLabel] != w.Job.Name) {
			w.Strays = append(w.Strays, p.Name)
		}
	}
	slices.Sort(w.Strays)
	return nil
}
