// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package held

import (
	"time"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// Ack is what to write.
type Ack struct {
	// Value of the annotation; empty where there is nothing to write.
	Value string
	// Covered is set where an acknowledgement that is there already covers all, and only has to take effect.
	Covered bool
}

// Acknowledge finds the time that covers what was shown. It is that of the last deletion, not the present: whatever is
// deleted between the look and the acknowledgement is not covered, and neither clock here matters. current is the
// annotation that is there, seen what the controller made of it, listed the API server's time of the look.
func Acknowledge(current string, seen *kopiurv1.DeletionAck, newest, listed time.Time) Ack {
	value := newest.UTC().Format(time.RFC3339)
	judged := seen != nil && seen.Value == current
	at, err := time.Parse(time.RFC3339, current)
	if err == nil && !at.Before(newest) && current != "" {
		effective := time.Time{}
		if judged {
			effective, _ = time.Parse(time.RFC3339, seen.EffectiveAt)
		}
		if current == value && !judged || judged && !effective.Before(newest) {
			return Ack{Covered: true}
		}
	}
	// The controller judges each value once. One that counted less than it says, because a clock was behind, counts no
	// more when it is written again: the time of the look is another one.
	if current == value && judged && listed.After(newest) {
		value = listed.UTC().Format(time.RFC3339)
	}
	return Ack{Value: value}
}
