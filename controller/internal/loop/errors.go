// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"errors"
	"fmt"
	"time"
)

// Heartbeats: how long an object rests when nothing wakes it.
const (
	// WaitHeartbeat is the rest of a Wait without After: a watch is expected to end it.
	WaitHeartbeat = time.Hour
	// StallHeartbeat is the rest of a Stall without After.
	StallHeartbeat = 30 * time.Minute
)

// Wait ends a reconcile whose object goes on by itself: Reconciling=True with the reason and message.
type Wait struct {
	// After is when to look again; zero means WaitHeartbeat.
	After time.Duration
	// Reason and Message go to the conditions. The message must be stable while the situation is (acceptance J-6).
	Reason, Message string
}

// Error makes Wait an error, so that it passes through steps.
func (w Wait) Error() string { return "waiting: " + w.Reason + ": " + w.Message }

// Waitf is a Wait whose message is formatted.
func Waitf(after time.Duration, reason, format string, args ...any) Wait {
	return Wait{After: after, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// Stall ends a reconcile whose object stays as it is until somebody acts: Stalled=True with the reason and message.
type Stall struct {
	// After is when to look again; zero means StallHeartbeat.
	After time.Duration
	// Reason and Message go to the conditions. The message says what to do.
	Reason, Message string
}

// Error makes Stall an error, so that it passes through steps.
func (s Stall) Error() string { return "stalled: " + s.Reason + ": " + s.Message }

// Stallf is a Stall whose message is formatted.
func Stallf(reason, format string, args ...any) Stall {
	return Stall{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// asWait reports whether err is, or wraps, a Wait.
func asWait(err error) (Wait, bool) {
	var w Wait
	ok := errors.As(err, &w)
	return w, ok
}

func asStall(err error) (Stall, bool) {
	var s Stall
	ok := errors.As(err, &s)
	return s, ok
}
