// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package moverjob

import (
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
)

// State is where a mover's Job stands.
type State string

// States, from "nothing there" to "over".
const (
	// Absent: there is no Job of this name.
	Absent State = "Absent"
	// Waiting: the Job exists and no mover runs yet, or a failed one waits for its retry.
	Waiting State = "Waiting"
	// Running: a mover works.
	Running State = "Running"
	// Finished: Result is final. The Job itself may still be closing.
	Finished State = "Finished"
	// ResultLost: the mover ended and its result is gone with its pod. The work may have been done: only another run,
	// which finds it by its request tag, can tell.
	ResultLost State = "ResultLost"
	// Wedged: no pod came to run within the startup deadline.
	Wedged State = "Wedged"
	// DeadlineKilled: the Job's last deadline ended the mover before it could report.
	DeadlineKilled State = "DeadlineKilled"
	// NodeLost: the pod's node does not answer. Nothing may be started in its place (two movers of one snapshot).
	NodeLost State = "NodeLost"
)

// nodeLostAfter is how long a pod may hang in its deletion before its node counts as lost.
const nodeLostAfter = 10 * time.Minute

// startPatience is how long a pod may take to start before it is told why it does not.
const startPatience = 30 * time.Second

// Outcome is what a Job and its pods amount to.
type Outcome struct {
	State State
	// Result is set when Finished.
	Result *work.Result
	// ExitCode of the mover that gave the result, or ended without one.
	ExitCode *int32
	// Attempts is how many pods were started.
	Attempts int32
	// PodName of the pod that runs, or that gave the result: its log has the rest.
	PodName string
	// Message explains a state that is not Running or Finished, from the pod's own words.
	Message string
	// Terminal is true once the Job itself is over: no pod of it uses its volumes any more.
	Terminal bool
	// Starting is true while a pod starts as it should: there is nothing to tell about yet.
	Starting bool
	// Recheck is when a deadline of this state passes; zero means that only an event can change it.
	Recheck time.Duration
}

// withoutResult reports a Job that has ended without a mover having said how, as far as these pods tell.
func withoutResult(job *batchv1.Job, pods []corev1.Pod) bool {
	o := Decide(job, pods, DefaultStartupDeadline, time.Time{}) // only a Job that goes on is a matter of time
	return o.State == ResultLost || o.State == Finished && o.Result.Code == work.CodeLost
}

// Decide reads a Job (nil: absent) and its pods. The pods are evidence, the Job decides about retries: a success or a
// permanent failure in a pod's termination message is final at once, a retryable one only when the Job gave up.
func Decide(job *batchv1.Job, pods []corev1.Pod, startup time.Duration, now time.Time) Outcome {
	if job == nil {
		return Outcome{State: Absent, Terminal: true}
	}
	pods = slices.Clone(pods)
	slices.SortFunc(pods, func(a, b corev1.Pod) int {
		return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
	})
	o := Outcome{Attempts: max(int32(len(pods)), job.Status.Failed+job.Status.Succeeded)} //nolint:gosec // a handful of pods
	failed, reason := condition(job, batchv1.JobFailed), ""
	if failed == nil {
		failed = condition(job, batchv1.JobFailureTarget)
	}
	if failed != nil {
		reason = failed.Reason
	}
	complete := condition(job, batchv1.JobComplete) != nil || condition(job, batchv1.JobSuccessCriteriaMet) != nil
	o.Terminal = Over(job)

	last := lastResult(pods)
	if last != nil {
		r := last.result
		if !r.Code.Retryable() || failed != nil || complete {
			o.State, o.Result, o.ExitCode, o.PodName = Finished, &r, &last.exit, last.pod
			return o
		}
	}
	switch {
	case reason == batchv1.JobReasonDeadlineExceeded:
		o.State, o.Message = DeadlineKilled, "the Job's last deadline passed before the mover reported"
		return o
	case complete:
		o.State, o.Message = ResultLost, "the mover's pod is gone and its result with it"
		return o
	case failed != nil:
		return lost(o, pods, failed.Message)
	}
	return live(o, job, pods, startup, now)
}

// live judges a Job that goes on.
func live(o Outcome, job *batchv1.Job, pods []corev1.Pod, startup time.Duration, now time.Time) Outcome {
	since := job.CreationTimestamp.Time
	if job.Status.StartTime != nil {
		since = job.Status.StartTime.Time
	}
	if job.Spec.Suspend != nil && *job.Spec.Suspend {
		o.State, o.Message = Waiting, "the Job is suspended, by a queueing controller or by hand"
		return o
	}
	if job.Status.StartTime == nil && condition(job, batchv1.JobSuspended) != nil {
		// It was let go a moment ago, perhaps after days. Its time begins when the Job controller has seen that.
		o.State, o.Message, o.Recheck = Waiting, "the Job was suspended and is about to start", startup
		return o
	}
	for i := range slices.Backward(pods) {
		p := &pods[i]
		if p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
			continue
		}
		o.PodName = p.Name
		if d := p.DeletionTimestamp; d != nil {
			gone := now.Sub(d.Time)
			if gone >= nodeLostAfter {
				o.State = NodeLost
				// The time and not how long ago it is: a text that changes by itself would be a write with every look.
				o.Message = fmt.Sprintf("pod %s on node %s was deleted, should have ended at %s and has not: bring the node back, or delete the pod with --force once you know that it no longer runs", p.Name, p.Spec.NodeName, d.UTC().Format(time.RFC3339))
				return o
			}
			o.State, o.Message, o.Recheck = Waiting, "pod "+p.Name+" is being deleted", nodeLostAfter-gone
			return o
		}
		if started(p) {
			o.State = Running
			return o
		}
		o.Message, o.Starting = waitingFor(p)
		return overdue(o, p.CreationTimestamp.Time, startup, now)
	}
	if len(pods) > 0 {
		// All pods ended: the Job controller starts the next one after its own backoff.
		o.State, o.Message = Waiting, "the mover failed and will be tried again: "+lastWords(pods)
		return o
	}
	o.Message, o.Starting = "no pod was created yet; see the events of Job "+job.Name, true
	return overdue(o, since, startup, now)
}

// overdue compares with the startup deadline. A pod that takes its first steps takes a few, and each of them told would be
// a write.
func overdue(o Outcome, since time.Time, startup time.Duration, now time.Time) Outcome {
	o.State = Waiting
	waited := now.Sub(since)
	o.Starting = o.Starting && waited < min(startPatience, startup)
	switch {
	case waited >= startup:
		o.State = Wedged
	case o.Starting:
		o.Recheck = min(startPatience, startup) - waited
	default:
		o.Recheck = startup - waited
	}
	return o
}

// lost is a Job that failed without a readable result in any pod.
func lost(o Outcome, pods []corev1.Pod, message string) Outcome {
	o.State = Finished
	words := lastWords(pods)
	if words == "" {
		words = message
	}
	o.Result = &work.Result{Code: work.CodeLost, Message: "the mover ended without a result: " + words}
	for i := range slices.Backward(pods) {
		if t := terminated(&pods[i]); t != nil {
			o.ExitCode, o.PodName = &t.ExitCode, pods[i].Name
			break
		}
	}
	return o
}

type podResult struct {
	result work.Result
	exit   int32
	pod    string
}

// lastResult prefers a final result over a retryable one, and a newer pod over an older one.
func lastResult(pods []corev1.Pod) *podResult {
	var best *podResult
	for i := range slices.Backward(pods) {
		t := terminated(&pods[i])
		if t == nil {
			continue
		}
		r, err := work.DecodeResult(t.Message)
		if err != nil {
			continue
		}
		if best == nil || (best.result.Code.Retryable() && !r.Code.Retryable()) {
			best = &podResult{r, t.ExitCode, pods[i].Name}
		}
	}
	return best
}

// ResultOf is the final result among pods, whatever became of their Job; nil where there is none.
func ResultOf(pods []corev1.Pod) *work.Result {
	pods = slices.Clone(pods)
	slices.SortFunc(pods, func(a, b corev1.Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	if last := lastResult(pods); last != nil {
		return &last.result
	}
	return nil
}

// Hangs reports whether a pod was deleted long enough ago to say that its node is lost: it will report nothing more.
func Hangs(p *corev1.Pod, now time.Time) bool {
	return p.DeletionTimestamp != nil && now.Sub(p.DeletionTimestamp.Time) >= nodeLostAfter
}

// mover is the state of the mover's container. Before a program of the user's own it is an init container.
func mover(p *corev1.Pod) corev1.ContainerState {
	for _, c := range slices.Concat(p.Status.ContainerStatuses, p.Status.InitContainerStatuses) {
		if c.Name == Container {
			return c.State
		}
	}
	return corev1.ContainerState{}
}

func terminated(p *corev1.Pod) *corev1.ContainerStateTerminated { return mover(p).Terminated }

func started(p *corev1.Pod) bool {
	s := mover(p)
	return s.Running != nil || s.Terminated != nil
}

// waitingFor is the pod's own reason for not running. starting is true where it has none.
func waitingFor(p *corev1.Pod) (reason string, starting bool) {
	for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if w := c.State.Waiting; w != nil && w.Reason != "" && w.Reason != "ContainerCreating" && w.Reason != "PodInitializing" {
			return "pod " + p.Name + ": " + w.Reason + ": " + w.Message, false
		}
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return "pod " + p.Name + " cannot be scheduled: " + c.Message, false
		}
	}
	return "pod " + p.Name + " is starting", true
}

// lastWords is how the newest ended pod explains itself.
func lastWords(pods []corev1.Pod) string {
	for i := range slices.Backward(pods) {
		t := terminated(&pods[i])
		if t == nil {
			if s := pods[i].Status; s.Phase == corev1.PodFailed {
				return strings.TrimSpace(s.Reason + " " + s.Message)
			}
			continue
		}
		if r, err := work.DecodeResult(t.Message); err == nil {
			return string(r.Code) + ": " + r.Message
		}
		switch {
		case t.Reason == "OOMKilled":
			return "the kernel killed it for its memory (OOMKilled): raise mover.resources.limits.memory"
		case t.Reason != "" && t.Reason != "Error":
			return fmt.Sprintf("%s, exit code %d", t.Reason, t.ExitCode)
		default:
			return fmt.Sprintf("exit code %d", t.ExitCode)
		}
	}
	return ""
}

// Over reports whether a Job has ended, in one way or the other.
func Over(job *batchv1.Job) bool {
	return condition(job, batchv1.JobComplete) != nil || condition(job, batchv1.JobFailed) != nil
}

func condition(job *batchv1.Job, t batchv1.JobConditionType) *batchv1.JobCondition {
	for i := range job.Status.Conditions {
		if c := &job.Status.Conditions[i]; c.Type == t && c.Status == corev1.ConditionTrue {
			return c
		}
	}
	return nil
}

// Failure is the status block for a result that is not OK, nil for one that is.
func Failure(o Outcome) *kopiurv1.Failure {
	if o.Result == nil || o.Result.Code == work.CodeOK {
		return nil
	}
	return &kopiurv1.Failure{
		KopiaErrorClass:  string(o.Result.Code),
		Message:          work.Clip(o.Result.Message, 1024),
		RetryRecommended: o.Result.Code.Retryable(),
		Op:               o.Result.Operation,
		ExitCode:         o.ExitCode,
	}
}
