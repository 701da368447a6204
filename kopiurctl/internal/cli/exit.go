// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// Code is the exit code of the process. Scripts depend on the numbers: they never change.
type Code int

// Exit codes.
const (
	// OK: it was done, or there was nothing to do.
	OK Code = 0
	// Failed: the operation failed, or the cluster refused it. The message says why.
	Failed Code = 1
	// Usage: the command line is wrong. Nothing was sent.
	Usage Code = 2
	// NotFound: what the command line names does not exist, or Kopiur is not installed in the cluster.
	NotFound Code = 3
	// Timeout: it had not ended in time, or the cluster did not answer. What was begun goes on.
	Timeout Code = 4
	// Forbidden: your user may not do that.
	Forbidden Code = 5
)

// Codes describes the exit codes, for the manual.
func Codes() [][2]string {
	return [][2]string{
		{"0", "done, or nothing to do; a backup that found nothing new is done"},
		{"1", "the operation failed, or the cluster refused it; the message says why"},
		{"2", "the command line is wrong; nothing was sent"},
		{"3", "what the command line names does not exist, or Kopiur is not installed in the cluster"},
		{"4", "it had not ended in time, or the cluster did not answer; what was begun goes on"},
		{"5", "your user may not do that"},
	}
}

// Error is an error with its exit code.
type Error struct {
	Code Code
	Err  error
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

func coded(c Code, format string, args ...any) error {
	return &Error{Code: c, Err: fmt.Errorf(format, args...)}
}

// Failedf makes an error of an operation that failed.
func Failedf(format string, args ...any) error { return coded(Failed, format, args...) }

// Usagef makes an error of the command line.
func Usagef(format string, args ...any) error { return coded(Usage, format, args...) }

// NotFoundf makes an error about something that does not exist.
func NotFoundf(format string, args ...any) error { return coded(NotFound, format, args...) }

// Timeoutf makes an error of something that took too long.
func Timeoutf(format string, args ...any) error { return coded(Timeout, format, args...) }

// CodeOf is the exit code that an error ends the process with.
func CodeOf(err error) Code {
	var own *Error
	var network net.Error
	var nobody *net.OpError
	switch {
	case err == nil:
		return OK
	case errors.As(err, &own):
		return own.Code
	case apierrors.IsUnauthorized(err), apierrors.IsForbidden(err) && !admission(err):
		return Forbidden
	case apierrors.IsNotFound(err):
		return NotFound
	case errors.Is(err, context.DeadlineExceeded), apierrors.IsTimeout(err), apierrors.IsServerTimeout(err),
		errors.As(err, &network) && network.Timeout(), errors.As(err, &nobody) && !errors.Is(err, context.Canceled):
		return Timeout
	default:
		return Failed
	}
}

// Sentence is an error as people read it.
func Sentence(err error) string {
	var status apierrors.APIStatus
	var address *url.Error
	switch {
	case NotInstalled(err):
		return "this cluster has no Kopiur: it does not know " + kopiurv1.GroupVersion.String() + "; install the chart, or choose another --context"
	case errors.As(err, &status) && apierrors.IsUnauthorized(err):
		return err.Error() + ": the cluster does not accept your credentials; log in again, or choose another --context"
	case apierrors.IsForbidden(err) && !admission(err):
		return err.Error() + ": ask whoever runs the cluster for this permission"
	case errors.Is(err, context.Canceled):
		return "interrupted"
	case errors.As(err, &address):
		return fmt.Sprintf("the cluster does not answer: %v; check --kubeconfig and --context", err)
	default:
		return err.Error()
	}
}

// admission reports whether a webhook refused the object. It answers Forbidden too, and no permission would help.
func admission(err error) bool { return strings.Contains(err.Error(), "denied the request") }

// NotInstalled reports whether the API server does not know our kinds at all, as opposed to one object of them.
func NotInstalled(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || !apierrors.IsNotFound(err) {
		return false
	}
	d := status.Status().Details
	if d == nil {
		return true
	}
	for _, c := range d.Causes {
		if c.Type == metav1.CauseTypeUnexpectedServerResponse {
			return true
		}
	}
	return false
}

// Invalid turns what validation found into an error of the command line. names maps the paths of fields to what the
// user wrote them with; a field that no flag stands for keeps its path.
func Invalid(errs field.ErrorList, names map[string]string) error {
	if len(errs) == 0 {
		return nil
	}
	var lines []string
	for _, e := range errs {
		line := e.ErrorBody()
		at := e.Field
		if i := strings.IndexByte(at, '['); i > 0 && names[at[:i]] != "" {
			key := strings.Trim(at[i:], "[]")
			at = names[at[:i]] + " " + key
		} else if names[at] != "" {
			at = names[at]
		}
		lines = append(lines, at+": "+line)
	}
	return Usagef("%s", strings.Join(lines, "\n"))
}
