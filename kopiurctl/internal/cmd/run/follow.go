// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/kopiurctl/internal/cli"
	"github.com/kopiur/kopiur/kopiurctl/internal/printer"
)

// errTimeout is why a wait ended.
var errTimeout = errors.New("timed out")

// again is the time between two looks. A run takes minutes, and looking costs one read.
const again = 2 * time.Second

// state is where an object's runs are.
type state struct {
	run        *kopiurv1.ManualRun
	conditions []metav1.Condition
	failure    *kopiurv1.Failure
	// outcome of a run that succeeded, in a sentence.
	outcome string
}

// over reports whether the run of a request has ended.
func (s state) over(at string) bool {
	return s.run != nil && s.run.RequestedAt == at && (s.run.Phase == kopiurv1.RunSucceeded || s.run.Phase == kopiurv1.RunFailed)
}

// stalled is why nothing comes of a request unless somebody acts, "" where something may.
func (s state) stalled(generation int64) string {
	if c := meta.FindStatusCondition(s.conditions, kopiurv1.ConditionStalled); c != nil && c.Status == metav1.ConditionTrue && c.ObservedGeneration == generation {
		return message(c)
	}
	return ""
}

// text says in one line where a request is.
func (s state) text(at string) string {
	phase := kopiurv1.RunPending
	if s.run != nil && s.run.RequestedAt == at {
		phase = s.run.Phase
	}
	if c := meta.FindStatusCondition(s.conditions, kopiurv1.ConditionReady); c != nil && phase == kopiurv1.RunPending && c.Status != metav1.ConditionTrue && c.Message != "" {
		return string(phase) + ": " + message(c)
	}
	return string(phase)
}

func (s state) why() string {
	if f := s.failure; f != nil {
		return f.KopiaErrorClass + ": " + strings.Join(strings.Fields(f.Message), " ")
	}
	if c := meta.FindStatusCondition(s.conditions, kopiurv1.ConditionReady); c != nil {
		return message(c)
	}
	return "its conditions say why"
}

func message(c *metav1.Condition) string { return strings.Join(strings.Fields(c.Message), " ") }

// follow waits for the end of a request's run. What was asked for goes on when the wait ends.
func (o *options) follow(ctx context.Context, c *cli.Cluster, format cli.Output, s subject, at, what string) error {
	if o.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, o.timeout, errTimeout)
		defer cancel()
	}
	say := func(text string) {
		if format != cli.Name {
			o.env.Say("%s", text)
		}
	}
	say(fmt.Sprintf("%s %s: %s", s.kind, s.GetName(), what))
	last := ""
	for {
		st := s.status()
		if text := st.text(at); text != last {
			last = text
			say(s.GetName() + "  " + text)
		}
		if done, err := o.end(s, at); done {
			if err != nil {
				return err
			}
			if format.Machine() {
				return printer.Objects(o.env.Out, format, c.Scheme(), false, s.Object)
			}
			return printer.Done(o.env.Out, c.Scheme(), s.Object, s.work+": "+st.outcome)
		}
		timer := o.env.Clock.NewTimer(again)
		select {
		case <-ctx.Done():
			timer.Stop()
			return o.gaveUp(ctx, s, last)
		case <-timer.C():
		}
		err := c.Get(ctx, client.ObjectKeyFromObject(s.Object), s.Object)
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return o.gaveUp(ctx, s, last)
		case apierrors.IsNotFound(err):
			return cli.Failedf("%s %s was deleted before the end of the run", s.kind, s.GetName())
		case cli.CodeOf(err) == cli.Forbidden:
			return fmt.Errorf("read %s %s: %w", s.kind, s.GetName(), err)
		}
	}
}

// end reports whether there is nothing more to wait for, and with which error.
func (o *options) end(s subject, at string) (bool, error) {
	st := s.status()
	switch {
	case st.over(at) && st.run.Phase == kopiurv1.RunSucceeded:
		return true, nil
	case st.over(at):
		return true, cli.Failedf("the run of %s %s failed: %s", s.kind, s.GetName(), st.why())
	case s.GetAnnotations()[kopiurv1.AnnotationRunRequested] != at:
		return true, cli.Failedf("somebody has asked %s %s for another run, which takes the place of this one", s.kind, s.GetName())
	case st.stalled(s.GetGeneration()) != "" && (st.run == nil || st.run.Phase != kopiurv1.RunRunning):
		if c := meta.FindStatusCondition(st.conditions, kopiurv1.ConditionStalled); !ends(c.Reason) {
			return false, nil
		}
		return true, cli.Failedf("%s %s does not go on until you act: %s", s.kind, s.GetName(), st.stalled(s.GetGeneration()))
	default:
		return false, nil
	}
}

// ends reports whether a Stalled condition holds a run back. One about the last run's outcome does not: the next one may
// end better.
func ends(reason string) bool {
	switch reason {
	case kopiurv1.ReasonInvalidSpec, kopiurv1.ReasonInvalidSchedule, kopiurv1.ReasonJobNameTaken, kopiurv1.ReasonNotYetSupported:
		return true
	default:
		return false
	}
}

func (o *options) gaveUp(ctx context.Context, s subject, last string) error {
	if errors.Is(context.Cause(ctx), errTimeout) {
		return cli.Timeoutf("not over after %s: the run of %s %s is %s; it goes on", o.timeout, s.kind, s.GetName(), last)
	}
	return cli.Failedf("interrupted: the run of %s %s is %s; it goes on", s.kind, s.GetName(), last)
}
