// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package op

import (
	"errors"
	"fmt"
	"time"

	"github.com/kopiur/kopiur/mover/internal/engine"
)

// lockMargin is what should lie between a full maintenance and the end of the locks that the last one made.
const lockMargin = 24 * time.Hour

// CopyLockAdvice says that a copy of what is under object lock is not; empty means that it is, or that nothing is.
func CopyLockAdvice(m engine.Mirrored) string {
	switch {
	case m.Unlocked:
		return "the source is under object lock and the copy is not: the destination does not lock objects; " +
			"to protect the copy, use an S3 bucket that was created with object lock"
	case m.Unprolonged > 0:
		return engine.AtDestination(errors.New(Unprolonged(m.Unprolonged))).Error()
	default:
		return ""
	}
}

// Unprolonged says why a store may refuse to lock blobs anew.
func Unprolonged(blobs int64) string {
	return fmt.Sprintf("the store refused to prolong the object lock of %d blobs: "+
		"their locks of an earlier, longer period have not ended, or s3:PutObjectRetention is not allowed", blobs)
}

// LockAdvice says where object lock ends on what backups still need; empty means that it does not. Every is the time
// between two full maintenances, 0 where nobody said.
func LockAdvice(p engine.Parameters, every time.Duration) string {
	period := p.Retention.Period
	switch {
	case period == 0:
		return ""
	case !p.Extends && period < p.LeastExtended:
		return fmt.Sprintf("object lock ends %s after a blob was written, also on what backups still need: "+
			"full maintenance prolongs locks of %s or longer only", hours(period), hours(p.LeastExtended))
	case !p.Extends:
		return fmt.Sprintf("object lock ends %s after a blob was written, also on what backups still need: full maintenance "+
			"does not prolong locks of this repository; state its blobRetention to let it", hours(period))
	case every > 0 && every+lockMargin > period:
		return fmt.Sprintf("object lock of %s may end before it is prolonged: full maintenance runs every %s, "+
			"and should at least every %s", hours(period), hours(every), hours(max(period-lockMargin, lockMargin)))
	default:
		return ""
	}
}

func hours(d time.Duration) string {
	if d%time.Hour == 0 {
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return d.String()
}
