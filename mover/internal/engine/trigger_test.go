// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strings"
	"sync/atomic"
)

// trigger counts calls and does something at the nth.
type trigger struct {
	n     int64
	calls atomic.Int64
	// only names the calls that count; empty means all.
	only string
	// do runs at the nth call, before it; its error is that call's.
	do func(op, name string) error
	manner
}

// manner is how a call fails. The zero value fails once, and before the call has done anything.
type manner struct {
	// after lets the call take effect and then reports the error all the same.
	after bool
	// forever means at every later call, too.
	forever bool
	// corrupt does not fail a call that reads a blob, and changes one bit of what it reads.
	corrupt bool
}

func (t *trigger) fired() bool { return t.calls.Load() >= t.n }

func (t *trigger) hits(op string) bool {
	if t.only != "" && !strings.Contains(t.only, op) {
		return false
	}
	n := t.calls.Add(1)
	return n == t.n || t.forever && n > t.n
}

// call is put around every call.
func (t *trigger) call(op, name string, f func() error) error {
	if !t.hits(op) {
		return f()
	}
	if t.after {
		if err := f(); err != nil {
			return err
		}
		return t.do(op, name)
	}
	if err := t.do(op, name); err != nil {
		return err
	}
	return f()
}

// calling is the same for a call that returns something.
func calling[T any](t *trigger, op, name string, f func() (T, error)) (T, error) {
	var out T
	err := t.call(op, name, func() (err error) { out, err = f(); return err })
	return out, err
}
