// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package breaker

import (
	"fmt"
	"time"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// DefaultThreshold of repositories that name none.
const DefaultThreshold int32 = 10

// Threshold of a repository; 0 switches the protection off.
func Threshold(p *kopiurv1.DeletionProtection) int32 {
	if p == nil || p.Threshold == nil {
		return DefaultThreshold
	}
	return *p.Threshold
}

// Member is one Snapshot whose deletion is pending.
type Member struct {
	// DeletedAt is its deletionTimestamp. The zero time is covered by no acknowledgement.
	DeletedAt time.Time
	// Prune is a deletion of Kopiur's own.
	Prune bool
	// Held is what its status says: it was held before.
	Held bool
}

// Input is everything about one repository.
type Input struct {
	// Repository is how messages call it.
	Repository string
	Threshold  int32
	// Ack is the acknowledgement in effect; the zero time is none.
	Ack time.Time
	// AckFault says why the annotation is not in effect; empty where nothing is wrong with it.
	AckFault string
	Pending  []Member
}

// Verdict says what is held, and why.
type Verdict struct {
	// Open is true while deletions are held.
	Open bool
	// Pending counts those that are not Kopiur's own and not acknowledged.
	Pending int
	// Reason and Message explain the verdict, and do not change while it stands.
	Reason, Message string

	ack time.Time
}

// Decide is total: deciding twice about the same facts changes nothing.
func Decide(in Input) Verdict {
	v := Verdict{ack: in.Ack}
	latched := false
	for _, m := range in.Pending {
		if m.Prune || v.covers(m) {
			continue
		}
		v.Pending++
		latched = latched || m.Held
	}
	switch {
	case in.Threshold <= 0:
		v.Reason, v.Message = kopiurv1.ReasonSucceeded, in.Repository+" holds no deletions: deletionProtection.threshold is 0"
	case latched || v.Pending >= int(in.Threshold):
		v.Open, v.Reason = true, kopiurv1.ReasonMassDeletionBreaker
		v.Message = fmt.Sprintf("%d or more deletions of snapshots in %s were pending at once (deletionProtection.threshold), so nothing is deleted. "+
			"If they are meant, annotate the repository with %s=<the present time>, such as 2026-03-05T09:00:00Z; "+
			"to keep the data of one Snapshot, annotate that with %s", in.Threshold, in.Repository,
			kopiurv1.AnnotationAllowMassDeletion, kopiurv1.AnnotationSkipSnapshotCleanup)
		if in.AckFault != "" {
			v.Message += ". The acknowledgement has no effect: " + in.AckFault
		}
	default:
		v.Reason, v.Message = kopiurv1.ReasonSucceeded, fmt.Sprintf("fewer than %d deletions are pending in %s", in.Threshold, in.Repository)
	}
	return v
}

func (v Verdict) covers(m Member) bool {
	return !v.ack.IsZero() && !m.DeletedAt.IsZero() && !m.DeletedAt.After(v.ack)
}

// Holds reports whether one of the members may not be deleted.
func (v Verdict) Holds(m Member) bool { return v.Open && !m.Prune && !v.covers(m) }
