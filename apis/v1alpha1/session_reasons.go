// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Reasons of sessions in which somebody looks into backups. They are on the session's ConfigMap and in events about it; one
// that is refused has the reason of what stood in the way.
const (
	// ReasonSessionOpen is set while the repository is open and may be asked. Nothing to do; kopiurctl session end ends it
	// before its time.
	ReasonSessionOpen = "SessionOpen"
	// ReasonSessionFailed is set when the session's mover could not open the repository or ended in an error. The message has
	// its words; put that right and ask again.
	ReasonSessionFailed = "SessionFailed"
	// ReasonSessionEnded is told when a session is over: nobody asked for the time that it was to last, it reached the age at
	// which all end, or its Job was deleted. Nothing to do; the next question opens another.
	ReasonSessionEnded = "SessionEnded"
)
