// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"errors"
	"net"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Classes of the errors that end a reconcile, as the metric names them.
const (
	// classTransient: the same request may succeed later.
	classTransient = "transient"
	// classStructural: the API server refuses the request itself, so that it fails until permissions or code change.
	classStructural = "structural"
	// classTerminal: the object stalled.
	classTerminal = "terminal"
)

// Classify names the class of an error that is neither a Wait nor a Stall.
func Classify(err error) string {
	if apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) ||
		apierrors.IsMethodNotSupported(err) || apierrors.IsRequestEntityTooLargeError(err) {
		return classStructural
	}
	return classTransient
}

// IsTransport reports whether a request failed before the API server answered. An event about it would fail the same
// way, and during an outage thousands of them would each hold a connection (acceptance E-8).
func IsTransport(err error) bool {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return false
	}
	var urlErr *url.Error
	var netErr net.Error
	return errors.As(err, &urlErr) || errors.As(err, &netErr)
}
