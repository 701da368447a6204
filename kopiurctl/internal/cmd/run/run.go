// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package run asks for runs of what otherwise runs on a schedule.
package run

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/kopiurctl/internal/cli"
	"github.com/kopiur/kopiur/kopiurctl/internal/printer"
)

// subject is an object that runs, and what of it matters here.
type subject struct {
	client.Object

	// kind and what it does, in the words of a sentence.
	kind, work string
	status     func() state
	suspended  func() bool
}

// options of all verbs here.
type options struct {
	env     *cli.Env
	wait    bool
	timeout time.Duration
}

func (o *options) addTo(f *pflag.FlagSet) {
	f.BoolVar(&o.wait, "wait", false, "wait for the end")
	f.DurationVar(&o.timeout, "timeout", 30*time.Minute, "how long to wait; 0 is for ever")
}

func (o *options) check(f *pflag.FlagSet) error {
	switch {
	case o.timeout < 0:
		return cli.Usagef("--timeout: write a positive time, or 0 to wait for ever")
	case f.Changed("timeout") && !o.wait:
		return cli.Usagef("--timeout is for --wait")
	}
	return o.env.OneNamespace()
}

// ask asks for a run, and waits for its end if that is wanted. A run of the same mode that was asked for and is not over
// is as good as another: two who ask at once get one.
func (o *options) ask(ctx context.Context, c *cli.Cluster, s subject, mode kopiurv1.MaintenanceMode) error {
	format, err := o.env.Format()
	if err != nil {
		return err
	}
	if s.suspended() {
		return cli.Failedf("%s %s is suspended: resume it first", s.kind, s.GetName())
	}
	at, open := request(s, mode, o.env.Clock.Now())
	what := "run asked for"
	if open {
		what = "run asked for already"
	} else if err := annotate(ctx, c, s, at, mode); err != nil {
		return err
	}
	if o.wait {
		return o.follow(ctx, c, format, s, at, what)
	}
	if format.Machine() {
		return printer.Objects(o.env.Out, format, c.Scheme(), false, s.Object)
	}
	return printer.Done(o.env.Out, c.Scheme(), s.Object, what)
}

// request is the value of the annotation, and whether it stands there already. Each value asks for one run: two within a
// second need two.
func request(s subject, mode kopiurv1.MaintenanceMode, now time.Time) (at string, open bool) {
	a := s.GetAnnotations()
	last, err := time.Parse(time.RFC3339, a[kopiurv1.AnnotationRunRequested])
	if err != nil {
		return now.UTC().Format(time.RFC3339), false
	}
	same := mode == "" || mode == kopiurv1.MaintenanceQuick || a[kopiurv1.AnnotationRunMode] == string(mode)
	if at := a[kopiurv1.AnnotationRunRequested]; same && !s.status().over(at) {
		return at, true
	}
	if now = now.Truncate(time.Second); !now.After(last) {
		now = last.Add(time.Second)
	}
	return now.UTC().Format(time.RFC3339), false
}

func annotate(ctx context.Context, c *cli.Cluster, s subject, at string, mode kopiurv1.MaintenanceMode) error {
	values := map[string]any{kopiurv1.AnnotationRunRequested: at}
	if mode != "" {
		values[kopiurv1.AnnotationRunMode] = string(mode)
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": values}})
	if err != nil {
		return fmt.Errorf("ask for a run: %w", err)
	}
	if err := c.Patch(ctx, s.Object, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return fmt.Errorf("change %s %s: %w", s.kind, s.GetName(), err)
	}
	return nil
}
