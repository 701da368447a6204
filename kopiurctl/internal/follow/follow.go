// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package follow waits until what was asked for has ended, shows the way there, and says what came of it.
package follow

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/kopiurctl/internal/cli"
	"github.com/kopiur/kopiur/kopiurctl/internal/progress"
	"github.com/kopiur/kopiur/kopiurctl/internal/wait"
)

// errTimeout is why a wait ended.
var errTimeout = errors.New("timed out")

// Kind is what has to be known about a kind of objects to follow them.
type Kind[T client.Object] struct {
	wait.Kind[T]
	// Name of the kind.
	Name string
	// Again is the command that looks at them later.
	Again string
	// State is where one is.
	State func(T) progress.State
	// Ended says in which phases nothing more comes, and Succeeded in which of these all is well.
	Ended, Succeeded func(T) bool
	Conditions       func(T) []metav1.Condition
	// Message is why one failed.
	Message func(T) string
	// LogTail is the end of its mover's log.
	LogTail func(T) string
	// Job is the mover Job that runs for it, "" where there is none yet.
	Job func(T) string
}

// Over reports whether nothing more comes of an object unless somebody acts.
func (k Kind[T]) Over(obj T) bool {
	if obj.GetDeletionTimestamp() != nil || k.Ended(obj) {
		return true
	}
	stalled := meta.FindStatusCondition(k.Conditions(obj), kopiurv1.ConditionStalled)
	return stalled != nil && stalled.Status == metav1.ConditionTrue && stalled.ObservedGeneration == obj.GetGeneration()
}

// One is an object that is followed.
type One[T client.Object] struct {
	// Object as it was seen last.
	Object T
	Name   string
	// Existed before the command.
	Existed bool
	// Gone is set when it is not there any more.
	Gone bool
}

// Left are the objects that are still there.
func Left[T client.Object](all []*One[T]) []T {
	var out []T
	for _, o := range all {
		if !o.Gone {
			out = append(out, o.Object)
		}
	}
	return out
}

// Options of a wait.
type Options struct {
	// Timeout of zero waits for ever.
	Timeout time.Duration
	// Logs shows what the movers log.
	Logs bool
	// Quiet does not say what was created: the answer does.
	Quiet bool
}

// Until waits for the end of all and answers what came of it, nil if all succeeded. The objects are up to date then.
func Until[T client.Object](ctx context.Context, env *cli.Env, c *cli.Cluster, kind Kind[T], opts Options, all []*One[T], answer func() error) error {
	waiting := ctx
	if opts.Timeout > 0 {
		var cancel context.CancelFunc
		waiting, cancel = context.WithTimeoutCause(ctx, opts.Timeout, errTimeout)
		defer cancel()
	}
	width := env.Width
	if len(all) > 1 {
		width = nil
	}
	display := progress.New(env.ErrOut, width)
	latest := map[string]*One[T]{}
	var names []string
	for _, o := range all {
		names = append(names, o.Name)
		latest[o.Name] = o
		if opts.Quiet {
			continue
		}
		what := "created"
		if o.Existed {
			what = "exists already"
		}
		display.Say("%s %s %s", kind.Name, o.Name, what)
	}
	l := newLogs(env, c, display, len(all) > 1)
	err := wait.Objects(waiting, c, env.Clock, kind.Kind, c.Namespace, names, func(name string, obj T, gone bool) bool {
		o := latest[name]
		if gone {
			o.Gone = true
			return true
		}
		o.Object = obj
		display.Show(kind.State(obj))
		if job := kind.Job(obj); opts.Logs && job != "" {
			l.follow(waiting, name, job)
		}
		return kind.Over(obj)
	})
	l.end()
	display.Close()
	for _, o := range all {
		if opts.Logs && !o.Gone && l.unread(o.Name) {
			l.tail(o.Name, kind.LogTail(o.Object))
		}
	}
	if err := answer(); err != nil {
		return err
	}
	return verdict(err, kind, opts, all)
}

// verdict is the error of the whole, nil if all succeeded. The worst comes first: a failure is final, a wait that was
// given up is not.
func verdict[T client.Object](waited error, kind Kind[T], opts Options, all []*One[T]) error {
	var failures, open []string
	for _, o := range all {
		switch {
		case o.Gone:
			failures = append(failures, fmt.Sprintf("%s %s was deleted before its end", kind.Name, o.Name))
		case o.Object.GetDeletionTimestamp() != nil:
			failures = append(failures, fmt.Sprintf("%s %s is being deleted", kind.Name, o.Name))
		case kind.Succeeded(o.Object):
		case kind.Ended(o.Object):
			failures = append(failures, fmt.Sprintf("%s %s failed: %s", kind.Name, o.Name, kind.Message(o.Object)))
		case kind.Over(o.Object):
			failures = append(failures, fmt.Sprintf("%s %s does not go on until you act: %s", kind.Name, o.Name, kind.Message(o.Object)))
		default:
			open = append(open, fmt.Sprintf("%s %s is %s", kind.Name, o.Name, progress.Text(kind.State(o.Object))))
		}
	}
	goesOn := "it goes on; look again with " + kind.Again
	switch {
	case len(failures) > 0:
		return cli.Failedf("%s", strings.Join(append(failures, open...), "\n"))
	case errors.Is(waited, errTimeout):
		return cli.Timeoutf("not over after %s: %s; %s", opts.Timeout, strings.Join(open, "; "), goesOn)
	case errors.Is(waited, context.Canceled):
		return cli.Failedf("interrupted: %s; %s", strings.Join(open, "; "), goesOn)
	case waited != nil:
		return fmt.Errorf("wait: %w", waited)
	default:
		return nil
	}
}
