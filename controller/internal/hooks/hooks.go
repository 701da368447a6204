// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package hooks runs one hook at a time: a command in a container of the application, a Job, or a request. Whoever calls
// it keeps the books: which hooks have run, and which have to run in any case.
//
// A hook blocks its caller until it ends. Its own timeout bounds it, and nothing else does: giving up half way would
// leave the application frozen.
package hooks

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// DefaultTimeout of a hook.
const DefaultTimeout = 5 * time.Minute

// Lists of a policy.
const (
	Before = "beforeSnapshot"
	After  = "afterSnapshot"
)

// Runner runs hooks.
type Runner struct {
	// Client reads Jobs from the cache and makes them, Live reads pods of the application.
	Client client.Client
	Live   client.Reader
	// Config is how commands are run in pods.
	Config *rest.Config
}

// Error is a hook that failed. Its text is stable and fit for conditions; Detail is what the hook itself said.
type Error struct {
	Message, Detail string
}

// Error is the message.
func (e *Error) Error() string { return e.Message }

func failed(detail, format string, args ...any) error {
	return &Error{Message: fmt.Sprintf(format, args...), Detail: detail}
}

// One is a hook and its place.
type One struct {
	Hook kopiurv1.Hook
	// List and Index name it for people: beforeSnapshot[0].
	List  string
	Index int
}

// String names the hook.
func (o One) String() string { return fmt.Sprintf("%s[%d]", o.List, o.Index) }

// Tolerated reports whether the run goes on where the hook fails.
func (o One) Tolerated() bool {
	switch h := o.Hook; {
	case h.WorkloadExec != nil:
		return h.WorkloadExec.ContinueOnFailure
	case h.RunJob != nil:
		return h.RunJob.ContinueOnFailure
	case h.HTTPRequest != nil:
		return h.HTTPRequest.ContinueOnFailure
	default:
		return false
	}
}

func (o One) timeout() time.Duration {
	var d kopiurv1.Duration
	switch h := o.Hook; {
	case h.WorkloadExec != nil:
		d = h.WorkloadExec.Timeout
	case h.RunJob != nil:
		d = h.RunJob.Timeout
	case h.HTTPRequest != nil:
		d = h.HTTPRequest.Timeout
	}
	t, err := d.Parse(DefaultTimeout)
	if err != nil || t <= 0 {
		return DefaultTimeout
	}
	return t
}

// Run runs one hook of a Snapshot and waits for its end. An *Error is the hook's own failure; any other error says that
// this process ends, and nothing about the hook.
func (r *Runner) Run(ctx context.Context, owner *kopiurv1.Snapshot, one One) error {
	hctx, cancel := detached(ctx, one.timeout())
	defer cancel()
	var err error
	switch h := one.Hook; {
	case h.WorkloadExec != nil:
		err = r.exec(hctx, owner.Namespace, *h.WorkloadExec)
	case h.RunJob != nil:
		err = r.job(hctx, owner, one)
	case h.HTTPRequest != nil:
		err = request(hctx, *h.HTTPRequest)
	default:
		err = failed("", "it says nothing to do")
	}
	switch own := (*Error)(nil); {
	case err == nil:
		return nil
	case ended(ctx):
		return fmt.Errorf("run hook %s: %w", one, context.Canceled)
	case errors.Is(hctx.Err(), context.DeadlineExceeded):
		return failed(err.Error(), "hook %s did not end within %s", one, one.timeout())
	case errors.As(err, &own):
		return failed(own.Detail, "hook %s: %s", one, own.Message)
	default:
		return failed(err.Error(), "hook %s could not be run", one)
	}
}

// detached is a context of the hook's own time. The reconcile's deadline does not end it, the end of the process does.
func detached(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	out, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	stop := context.AfterFunc(ctx, func() {
		if ended(ctx) {
			cancel()
		}
	})
	return out, func() { stop(); cancel() }
}

// ended reports whether the process ends, in contrast to a reconcile that took its time.
func ended(ctx context.Context) bool { return errors.Is(ctx.Err(), context.Canceled) }

// client of requests: where they lead is what the user wrote, and nothing else.
var httpClient = &http.Client{
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}
