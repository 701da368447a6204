// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import "errors"

// SideError says at which of two repositories something happened.
type SideError struct {
	Side string
	Err  error
}

func (e *SideError) Error() string { return "at the " + e.Side + ": " + e.Err.Error() }

func (e *SideError) Unwrap() error { return e.Err }

// AtSource and AtDestination name the side of an error, once.
func AtSource(err error) error { return atSide("source", err) }

// AtDestination names the other side.
func AtDestination(err error) error { return atSide("destination", err) }

func atSide(side string, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*SideError](err); ok {
		return err
	}
	return &SideError{Side: side, Err: err}
}
