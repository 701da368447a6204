// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package work

// Code is the class of an outcome. Those a user meets in failure.kopiaErrorClass keep their names from the wire API.
type Code string

// Outcomes.
const (
	// CodeOK: the operation did all it was asked for.
	CodeOK Code = "OK"
	// CodeRepositoryUnavailable: the store did not answer, or answered with a fault of its own. Retried.
	CodeRepositoryUnavailable Code = "RepositoryUnavailable"
	// CodeSlow: the store answers, but the operation did not fit into its deadline. Retried; it is not an outage (C-3).
	CodeSlow Code = "Slow"
	// CodeLocked: kopia's maintenance or upgrade lock is held, or somebody else has the target's block device. Retried.
	CodeLocked Code = "Locked"
	// CodeSourceError: the source could not be read for a reason that may pass. Retried.
	CodeSourceError Code = "SourceError"
	// CodeTargetError: the target of a restore could not be written for a reason that may pass. Retried.
	CodeTargetError Code = "TargetError"
	// CodeCanceled: the mover was told to end (SIGTERM, eviction). Retried.
	CodeCanceled Code = "Canceled"
	// CodeDeadlineExceeded: the soft or hard deadline passed; what was stored is kept as a checkpoint. Retried.
	CodeDeadlineExceeded Code = "DeadlineExceeded"
	// CodeNoSpace: cache, target or store is full, or a target device too small. Retried once the cache was emptied.
	CodeNoSpace Code = "NoSpace"
	// CodeAuthFailure: the repository password is wrong.
	CodeAuthFailure Code = "AuthFailure"
	// CodeAccessDenied: the store refuses the credentials.
	CodeAccessDenied Code = "AccessDenied"
	// CodePermissionDenied: entries of the source or target may not be read or written by the mover's uid.
	CodePermissionDenied Code = "PermissionDenied"
	// CodeTargetOccupied: the target of a restore holds something that the restore's options do not let it write over.
	CodeTargetOccupied Code = "TargetOccupied"
	// CodeNotFound: bucket, snapshot, file or source does not exist.
	CodeNotFound Code = "NotFound"
	// CodeMissingCredentials: a key is missing from a Secret, or its value is malformed.
	CodeMissingCredentials Code = "MissingCredentials"
	// CodeRepositoryNotInitialized: the store is reachable and holds no repository, and creating one is not allowed.
	CodeRepositoryNotInitialized Code = "RepositoryNotInitialized"
	// CodeRepositoryVanished: a repository was known here and is gone, or another one is in its place (K-8).
	CodeRepositoryVanished Code = "RepositoryVanished"
	// CodeLocationOccupied: the store holds something that is not a kopia repository; nothing was written.
	CodeLocationOccupied Code = "LocationOccupied"
	// CodeSourceEmpty: the source of a copy holds nothing that could be copied; the destination was left as it is.
	CodeSourceEmpty Code = "SourceEmpty"
	// CodeSnapshotMismatch: the id exists and names another snapshot than the one that was asked for; nothing was done to
	// it.
	CodeSnapshotMismatch Code = "SnapshotMismatch"
	// CodeVerificationFailed: the repository answers, and lacks or cannot decode data that snapshots consist of.
	CodeVerificationFailed Code = "VerificationFailed"
	// CodeScratchNotWritable: the scratch volume of a deep verification cannot be written.
	CodeScratchNotWritable Code = "ScratchNotWritable"
	// CodeLeaseHeldByOther: maintenance belongs to another client, and the policy is to yield.
	CodeLeaseHeldByOther Code = "LeaseHeldByOther"
	// CodeClockSkew: the clocks of the mover and of the store differ by more than kopia allows. Retried: another node's
	// clock may be right.
	CodeClockSkew Code = "ClockSkew"
	// CodeInvalidSpec: the work spec is not understood.
	CodeInvalidSpec Code = "InvalidSpec"
	// CodeUnknown: none of the above. Not retried.
	CodeUnknown Code = "Unknown"
	// CodeLost is the controller's own: the mover ended and left no readable result.
	CodeLost Code = "Lost"
)

// Exit codes of a mover. The Job's podFailurePolicy keys on them. 2 is a Go panic, 137 a kill.
const (
	ExitOK        = 0
	ExitRetryable = 10
	ExitPermanent = 20
)

// Retryable reports whether the same work may succeed later without a change by the user.
func (c Code) Retryable() bool {
	switch c {
	case CodeRepositoryUnavailable, CodeSlow, CodeLocked, CodeSourceError, CodeTargetError, CodeCanceled, CodeDeadlineExceeded,
		CodeNoSpace, CodeClockSkew, CodeLost:
		return true
	default:
		return false
	}
}

// ExitCode is the mover's exit status for an outcome.
func (c Code) ExitCode() int {
	switch {
	case c == CodeOK:
		return ExitOK
	case c.Retryable():
		return ExitRetryable
	default:
		return ExitPermanent
	}
}

// Valid reports whether c is an outcome a mover may report.
func (c Code) Valid() bool {
	switch c {
	case CodeOK, CodeAuthFailure, CodeAccessDenied, CodePermissionDenied, CodeTargetOccupied, CodeNotFound, CodeMissingCredentials,
		CodeRepositoryNotInitialized, CodeRepositoryVanished, CodeLocationOccupied, CodeSourceEmpty, CodeInvalidSpec, CodeUnknown,
		CodeSnapshotMismatch, CodeVerificationFailed, CodeScratchNotWritable, CodeLeaseHeldByOther:
		return true
	default:
		return c.Retryable() && c != CodeLost
	}
}
