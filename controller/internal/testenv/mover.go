// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
)

// actor plays Job controller and kubelet for one Job.
type actor struct {
	env *Env
	ctx context.Context //nolint:containedctx // it lives as long as its Job
	job *batchv1.Job
}

// startMover plays every Job of ours in a namespace until the test ends. Other Jobs stay as the test made them.
func (e *Env) startMover(namespace string) {
	e.T.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	begin := func() (watch.Interface, error) {
		return e.Client.Watch(ctx, &batchv1.JobList{}, client.InNamespace(namespace),
			client.MatchingLabels{kopiurv1.LabelManagedBy: kopiurv1.ManagedByValue})
	}
	w, err := begin()
	require.NoError(e.T, err)
	var running sync.WaitGroup
	done := make(chan struct{})
	go func() {
		defer close(done)
		known := map[types.UID]context.CancelFunc{}
		for err == nil {
			e.follow(ctx, w, known, &running)
			// The API server ends watches that do not keep up: a hundred Jobs at once are enough on a busy machine. The next one
			// begins with all Jobs there are.
			w, err = begin()
		}
		if ctx.Err() == nil {
			e.T.Errorf("watch the Jobs of %s: %v", namespace, err)
		}
		running.Wait()
	}()
	e.T.Cleanup(func() {
		cancel()
		<-done
	})
}

// follow plays the Jobs of one watch until it ends. known are those that are played, or were.
func (e *Env) follow(ctx context.Context, w watch.Interface, known map[types.UID]context.CancelFunc, running *sync.WaitGroup) {
	defer w.Stop()
	for event := range w.ResultChan() {
		job, ok := event.Object.(*batchv1.Job)
		if !ok {
			continue
		}
		switch event.Type {
		case watch.Added, watch.Modified:
			if known[job.UID] != nil {
				continue
			}
			if job.Spec.Suspend != nil && *job.Spec.Suspend {
				running.Go(func() { e.suspend(ctx, job) })
				continue
			}
			jctx, jcancel := context.WithCancel(ctx)
			known[job.UID] = jcancel
			running.Go(func() { e.perform(jctx, job) })
		case watch.Deleted:
			if end := known[job.UID]; end != nil {
				end()
			}
			running.Go(func() { e.sweep(ctx, job) })
		case watch.Bookmark, watch.Error:
		}
	}
}

// suspend plays the Job controller for a Job that is suspended: it says so, and gives it no pods.
func (e *Env) suspend(ctx context.Context, job *batchv1.Job) {
	a := &actor{env: e, ctx: ctx, job: job.DeepCopy()}
	if slices.ContainsFunc(job.Status.Conditions, suspended) {
		return
	}
	if err := a.status(func(s *batchv1.JobStatus) {
		s.Conditions = append(s.Conditions, condition(batchv1.JobSuspended, "JobSuspended", "Job suspended"))
	}); client.IgnoreNotFound(err) != nil && ctx.Err() == nil {
		e.T.Errorf("job %s: %v", job.Name, err)
	}
}

func suspended(c batchv1.JobCondition) bool { return c.Type == batchv1.JobSuspended }

// perform runs the pods of a Job as its policy says.
func (e *Env) perform(ctx context.Context, job *batchv1.Job) {
	a := &actor{env: e, ctx: ctx, job: job}
	if job.Status.CompletionTime != nil || finished(job) {
		return
	}
	if job.Labels[kopiurv1.LabelOperation] == "hook" {
		if err := a.hook(); client.IgnoreNotFound(err) != nil && ctx.Err() == nil {
			e.T.Errorf("play hook %s: %v", job.Name, err)
		}
		return
	}
	spec, err := specOf(job)
	if err != nil {
		e.T.Errorf("job %s: %v", job.Name, err)
		return
	}
	// A Job that was deleted meanwhile is over; its own event may come later than this.
	if err := a.run(spec); client.IgnoreNotFound(err) != nil && ctx.Err() == nil {
		e.T.Errorf("play job %s: %v", job.Name, err)
	}
}

// hook plays the Job of a hook, which runs no mover. It succeeds unless the test says otherwise.
func (a *actor) hook() error {
	a.env.mu.Lock()
	play := a.env.hookJob
	a.env.mu.Unlock()
	if err := a.status(func(s *batchv1.JobStatus) { s.StartTime, s.Active, s.Ready = new(metav1.Now()), 1, new(int32(0)) }); err != nil {
		return err
	}
	if play != nil && !play(a.job) {
		return a.fail(batchv1.JobReasonBackoffLimitExceeded, "Job has reached the specified backoff limit")
	}
	return a.succeed()
}

func (a *actor) run(spec work.Spec) error {
	if err := a.status(func(s *batchv1.JobStatus) {
		s.StartTime, s.Active, s.Ready = new(metav1.Now()), 1, new(int32(0))
		s.Conditions = slices.DeleteFunc(s.Conditions, suspended)
	}); err != nil {
		return err
	}
	limit := int(ptr.Deref(a.job.Spec.BackoffLimit, 6))
	for attempt := 1; ; attempt++ {
		exit, gone, err := a.pod(attempt, spec)
		switch {
		case err != nil:
			return err
		case gone:
			return nil
		case exit == 0:
			return a.succeed()
		case exit == work.ExitPermanent:
			return a.fail(batchv1.JobReasonPodFailurePolicy, "Container mover failed with exit code 20 matching FailJob rule at index 0")
		case attempt > limit:
			return a.fail(batchv1.JobReasonBackoffLimitExceeded, "Job has reached the specified backoff limit")
		}
	}
}

// pod plays one pod. gone means that nothing more happens to this Job.
func (a *actor) pod(attempt int, spec work.Spec) (exit int32, gone bool, err error) {
	pod, err := a.createPod(attempt)
	if err != nil {
		return 0, false, err
	}
	call := Call{Job: a.job.Name, Pod: pod.Name, Namespace: pod.Namespace, Attempt: attempt, Spec: spec}
	a.env.mu.Lock()
	a.env.calls = append(a.env.calls, call)
	play := a.env.play(call)
	a.env.mu.Unlock()

	if play.Stuck != "" {
		return 0, true, a.podStatus(pod, corev1.PodPending, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: play.Stuck, Message: "as the test asks"}})
	}
	started := metav1.Now()
	if err := a.podStatus(pod, corev1.PodRunning, corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: started}}); err != nil {
		return 0, false, err
	}
	var log []byte
	for _, e := range play.Log {
		line, err := work.EncodeEvent(e)
		if err != nil {
			return 0, false, err
		}
		log = append(log, line...)
	}
	server.node.setLog(pod.Namespace, pod.Name, log)
	if play.Hold != nil {
		select {
		case <-play.Hold:
		case <-a.ctx.Done():
			return 0, true, nil
		}
	}
	if play.DeadlineKilled {
		if err := a.removePod(pod); err != nil {
			return 0, false, err
		}
		return 0, true, a.fail(batchv1.JobReasonDeadlineExceeded, "Job was active longer than specified deadline")
	}
	message, exit, err := ending(play)
	if err != nil {
		return 0, false, err
	}
	if play.PodGone {
		return exit, false, a.removePod(pod)
	}
	phase := corev1.PodSucceeded
	if exit != 0 {
		phase = corev1.PodFailed
	}
	end := ended(exit, message, started)
	if exit == 0 && len(pod.Spec.InitContainers) > 0 {
		return a.check(pod, play, end)
	}
	return exit, false, a.podStatus(pod, phase, end)
}

func ended(exit int32, message string, started metav1.Time) corev1.ContainerState {
	reason := "Completed"
	if exit != 0 {
		reason = "Error"
	}
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: exit, Reason: reason, Message: message, StartedAt: started, FinishedAt: metav1.Now(),
	}}
}

// check plays the user's program behind a mover that has ended so. Its failure is the Job's, by the rule about it.
func (a *actor) check(pod *corev1.Pod, play Play, mover corev1.ContainerState) (exit int32, gone bool, err error) {
	started := metav1.Now()
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: started}}
	if err := a.podStatus(pod, corev1.PodRunning, mover, running); err != nil {
		return 0, false, err
	}
	if play.CheckHold != nil {
		select {
		case <-play.CheckHold:
		case <-a.ctx.Done():
			return 0, true, nil
		}
	}
	phase := corev1.PodSucceeded
	if play.Check != 0 {
		phase, exit = corev1.PodFailed, work.ExitPermanent
	}
	return exit, false, a.podStatus(pod, phase, mover, ended(play.Check, "", started))
}

func ending(p Play) (string, int32, error) {
	exit := int32(p.Result.Code.ExitCode()) //nolint:gosec // 0, 10 or 20
	if p.ExitCode != nil {
		exit = *p.ExitCode
	}
	if p.Message != nil {
		return *p.Message, exit, nil
	}
	b, err := work.EncodeResult(p.Result)
	return string(b), exit, err
}

func (a *actor) createPod(attempt int) (*corev1.Pod, error) {
	labels := map[string]string{batchv1.JobNameLabel: a.job.Name, batchv1.ControllerUidLabel: string(a.job.UID)}
	maps.Copy(labels, a.job.Spec.Template.Labels)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("%s-%d", a.job.Name, attempt), Namespace: a.job.Namespace, Labels: labels,
			Annotations: a.job.Spec.Template.Annotations,
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "batch/v1", Kind: "Job", Name: a.job.Name, UID: a.job.UID, Controller: new(true), BlockOwnerDeletion: new(true),
			}},
		},
		Spec: *a.job.Spec.Template.Spec.DeepCopy(),
	}
	pod.Spec.NodeName = server.node.name
	if err := a.env.Client.Create(a.ctx, pod); err != nil {
		return nil, fmt.Errorf("create pod: %w", err)
	}
	return pod, nil
}

// podStatus sets the state of the mover, and behind it that of the user's program where there is one.
func (a *actor) podStatus(pod *corev1.Pod, phase corev1.PodPhase, mover corev1.ContainerState, check ...corev1.ContainerState) error {
	pod.Status.Phase = phase
	pod.Status.StartTime = new(metav1.Now())
	of := func(c corev1.Container, state corev1.ContainerState) []corev1.ContainerStatus {
		return []corev1.ContainerStatus{{
			Name: c.Name, Image: c.Image, State: state, Ready: state.Running != nil, Started: new(state.Running != nil),
		}}
	}
	if len(pod.Spec.InitContainers) == 0 {
		pod.Status.ContainerStatuses = of(pod.Spec.Containers[0], mover)
	} else {
		pod.Status.InitContainerStatuses = of(pod.Spec.InitContainers[0], mover)
		state := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}}
		if len(check) > 0 {
			state = check[0]
		}
		pod.Status.ContainerStatuses = of(pod.Spec.Containers[0], state)
	}
	return a.env.Client.Status().Update(a.ctx, pod)
}

func (a *actor) removePod(pod *corev1.Pod) error {
	return client.IgnoreNotFound(a.env.Client.Delete(a.ctx, pod, client.GracePeriodSeconds(0)))
}

// succeed ends the Job in the two steps that the API asks for: no condition before no pod is active.
func (a *actor) succeed() error {
	if err := a.status(func(s *batchv1.JobStatus) {
		s.Active, s.Ready, s.Succeeded = 0, new(int32(0)), 1
		s.Conditions = append(s.Conditions, condition(batchv1.JobSuccessCriteriaMet, batchv1.JobReasonCompletionsReached, ""))
	}); err != nil {
		return err
	}
	return a.status(func(s *batchv1.JobStatus) {
		s.CompletionTime = new(metav1.Now())
		s.Conditions = append(s.Conditions, condition(batchv1.JobComplete, batchv1.JobReasonCompletionsReached, ""))
	})
}

func (a *actor) fail(reason, message string) error {
	if err := a.status(func(s *batchv1.JobStatus) {
		s.Active, s.Ready, s.Failed = 0, new(int32(0)), s.Failed+1
		s.Conditions = append(s.Conditions, condition(batchv1.JobFailureTarget, reason, message))
	}); err != nil {
		return err
	}
	return a.status(func(s *batchv1.JobStatus) {
		s.Conditions = append(s.Conditions, condition(batchv1.JobFailed, reason, message))
	})
}

// status changes the Job's status by a patch, so that a change of its spec meanwhile (its time to live) is no conflict.
func (a *actor) status(change func(*batchv1.JobStatus)) error {
	base := a.job.DeepCopy()
	change(&a.job.Status)
	return a.env.Client.Status().Patch(a.ctx, a.job, client.MergeFrom(base))
}

// sweep plays the garbage collector.
func (e *Env) sweep(ctx context.Context, job *batchv1.Job) {
	var pods corev1.PodList
	if err := e.Client.List(ctx, &pods, client.InNamespace(job.Namespace), client.MatchingLabels{batchv1.ControllerUidLabel: string(job.UID)}); err != nil {
		return
	}
	for i := range pods.Items {
		_ = e.Client.Delete(ctx, &pods.Items[i], client.GracePeriodSeconds(0))
	}
}

func condition(t batchv1.JobConditionType, reason, message string) batchv1.JobCondition {
	now := metav1.NewTime(time.Now()) //nolint:forbidigo // the Job controller has a clock of its own
	return batchv1.JobCondition{Type: t, Status: corev1.ConditionTrue, Reason: reason, Message: message, LastProbeTime: now, LastTransitionTime: now}
}

func finished(job *batchv1.Job) bool {
	for _, c := range job.Status.Conditions {
		if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue {
			return true
		}
	}
	return false
}

func specOf(job *batchv1.Job) (work.Spec, error) {
	pod := job.Spec.Template.Spec
	for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
		for _, e := range c.Env {
			if e.Name == work.EnvSpec {
				return work.DecodeSpec(e.Value)
			}
		}
	}
	return work.Spec{}, fmt.Errorf("no %s in the pod template", work.EnvSpec)
}
