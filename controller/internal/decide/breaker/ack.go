// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package breaker

import (
	"fmt"
	"time"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/validation"
)

// AckVerdict is what the annotation of a repository amounts to.
type AckVerdict struct {
	// Record is what the status has to say. It comes first: an acknowledgement that is not stored is not in effect.
	Record *kopiurv1.DeletionAck
	// Fault is set where the annotation is not in effect although it is there.
	Fault string
	// Invalid is true where it was refused for lying in the future.
	Invalid bool
}

// Acknowledge judges the annotation when a repository is reconciled. A value counts as of the instant it was first seen
// if it lies a little ahead, because clocks differ; that instant never moves (acceptance I-10). One further ahead is
// refused for good: by the time it is past, it would let go what nobody has seen.
func Acknowledge(value string, stored *kopiurv1.DeletionAck, now time.Time) AckVerdict {
	if value == "" {
		return AckVerdict{Record: stored}
	}
	if stored != nil && stored.Value == value {
		out := AckVerdict{Record: stored}
		if stored.EffectiveAt == "" {
			out.Fault, out.Invalid = refused(value), true
		}
		return out
	}
	at, err := time.Parse(time.RFC3339, value)
	switch {
	case err != nil:
		return AckVerdict{Record: stored, Fault: fmt.Sprintf("%q is not a time: write the present time like 2026-03-05T09:00:00Z", value)}
	case at.After(now.Add(validation.FutureSkew)):
		return AckVerdict{Record: &kopiurv1.DeletionAck{Value: value}, Fault: refused(value), Invalid: true}
	case at.After(now):
		at = now
	}
	return AckVerdict{Record: &kopiurv1.DeletionAck{Value: value, EffectiveAt: at.UTC().Format(time.RFC3339)}}
}

func refused(value string) string {
	return fmt.Sprintf("%s lay in the future when it was written, and would let go deletions that nobody has seen: write the present time", value)
}

// InEffect is the time up to which deletions are acknowledged, by what annotation and status say together. It is zero
// without an acknowledgement: one that was taken back, one that the status does not know yet, one that was refused.
func InEffect(value string, stored *kopiurv1.DeletionAck) time.Time {
	if value == "" || stored == nil || stored.Value != value {
		return time.Time{}
	}
	at, err := time.Parse(time.RFC3339, stored.EffectiveAt)
	if err != nil {
		return time.Time{}
	}
	return at
}
