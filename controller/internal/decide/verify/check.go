// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

// CheckState is where the user's program stands.
type CheckState string

// States of the user's program.
const (
	// CheckWaiting: it does not run yet.
	CheckWaiting CheckState = "Waiting"
	CheckRunning CheckState = "Running"
	CheckPassed  CheckState = "Passed"
	CheckFailed  CheckState = "Failed"
	// CheckLost: it did not run, or nobody knows how it ended.
	CheckLost CheckState = "Lost"
)

// Check is what the user's program amounts to.
type Check struct {
	State   CheckState
	Message string
	// Pod has its log.
	Pod string
	// Recheck is when a deadline of it passes.
	Recheck time.Duration
}

// defaultCheck is how long it may take where nobody says otherwise.
const defaultCheck = 10 * time.Minute

// CheckTimeout of a policy.
func CheckTimeout(p *kopiurv1.SnapshotPolicy) time.Duration {
	d, err := p.Spec.Verification.Deep.Check.Timeout.Parse(defaultCheck)
	if err != nil {
		return defaultCheck
	}
	return d
}

// CheckOf reads it from the pods of a Job. over is set once the Job itself has ended.
func CheckOf(pods []corev1.Pod, over bool, timeout time.Duration, now time.Time) Check {
	pods = slices.Clone(pods)
	slices.SortFunc(pods, func(a, b corev1.Pod) int { return b.CreationTimestamp.Compare(a.CreationTimestamp.Time) })
	for i := range pods {
		p := &pods[i]
		s, found := stateOf(p)
		switch {
		case !found && alive(*p):
			return Check{State: CheckWaiting, Pod: p.Name, Recheck: time.Minute}
		case !found:
			continue
		case s.Terminated != nil && s.Terminated.ExitCode == 0:
			return Check{State: CheckPassed, Pod: p.Name}
		case s.Terminated != nil:
			return Check{State: CheckFailed, Pod: p.Name, Message: died(*s.Terminated)}
		case s.Running != nil:
			if left := timeout - now.Sub(s.Running.StartedAt.Time); left > 0 {
				return Check{State: CheckRunning, Pod: p.Name, Recheck: left}
			}
			return Check{State: CheckFailed, Pod: p.Name, Message: fmt.Sprintf("it did not end within %s (verification.deep.check.timeout)", timeout)}
		case !alive(*p):
			return Check{State: CheckLost, Pod: p.Name, Message: "pod " + p.Name + " ended before it ran"}
		default:
			return waiting(p, s, now)
		}
	}
	if over {
		return Check{State: CheckLost, Message: "its pod is gone"}
	}
	return Check{State: CheckWaiting, Recheck: time.Minute}
}

func stateOf(p *corev1.Pod) (corev1.ContainerState, bool) {
	for _, c := range p.Status.ContainerStatuses {
		if c.Name == CheckContainer {
			return c.State, true
		}
	}
	return corev1.ContainerState{}, false
}

func died(t corev1.ContainerStateTerminated) string {
	if t.Reason != "" && t.Reason != "Error" {
		return fmt.Sprintf("%s, exit code %d", t.Reason, t.ExitCode)
	}
	return fmt.Sprintf("exit code %d", t.ExitCode)
}

// waiting is a program that could run by now: its time to start begins with the end of the mover.
func waiting(p *corev1.Pod, s corev1.ContainerState, now time.Time) Check {
	out := Check{State: CheckWaiting, Pod: p.Name, Recheck: moverjob.DefaultStartupDeadline}
	for _, c := range p.Status.InitContainerStatuses {
		if c.Name != moverjob.Container || c.State.Terminated == nil {
			continue
		}
		out.Recheck = moverjob.DefaultStartupDeadline - now.Sub(c.State.Terminated.FinishedAt.Time)
		if out.Recheck <= 0 {
			return Check{State: CheckLost, Pod: p.Name, Message: "it did not start" + why(s)}
		}
	}
	return out
}

func why(s corev1.ContainerState) string {
	if w := s.Waiting; w != nil && w.Reason != "" {
		return ": " + w.Reason + ": " + w.Message
	}
	return ""
}
