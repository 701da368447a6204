// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package classify turns errors into outcomes of the protocol: a code, and one sentence that says what is wrong and
// what to do. It decides by types, never by text, where a type exists. Three answers must never be confused (K-9): the
// password is wrong, there is no repository, the store does not answer.
package classify

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"syscall"

	"github.com/minio/minio-go/v7"

	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/mover/internal/backend"
	"github.com/kopiur/kopiur/mover/internal/engine"
)

// Coded is an error whose outcome is decided already.
type Coded struct {
	Code    work.Code
	Message string
	Err     error
}

func (e *Coded) Error() string {
	if e.Err == nil {
		return e.Message
	}
	return e.Message + ": " + e.Err.Error()
}

func (e *Coded) Unwrap() error { return e.Err }

// Causes of the end of a context, set by whoever ends it.
var (
	// ErrSignal: the mover was told to end.
	ErrSignal = errors.New("the mover was told to end")
	// ErrSoftDeadline and ErrHardDeadline: the time of the operation is over.
	ErrSoftDeadline = errors.New("the operation's deadline passed")
	ErrHardDeadline = errors.New("the operation's hard deadline passed")
)

// Outcome classifies an error. A nil error is CodeOK without a message.
func Outcome(err error) (work.Code, string) {
	if err == nil {
		return work.CodeOK, ""
	}
	code, message := outcome(err)
	if side, ok := errors.AsType[*engine.SideError](err); ok && !strings.HasPrefix(message, "at the ") {
		message = "at the " + side.Side + ": " + message
	}
	return code, message
}

func outcome(err error) (work.Code, string) {
	if coded, ok := errors.AsType[*Coded](err); ok {
		return coded.Code, coded.Message
	}
	for _, rule := range rules {
		if code, message := rule(err); code != "" {
			return code, message
		}
	}
	return work.CodeUnknown, err.Error()
}

// rules are asked in order; the first that knows the error decides. What the user can correct comes before what the
// network did, because one chain may hold both.
var rules = []func(error) (work.Code, string){spec, repository, interrupted, damage, space, side, store, contexts}

func spec(err error) (work.Code, string) {
	var key *backend.KeyError
	switch {
	case errors.As(err, &key):
		return work.CodeMissingCredentials, key.Error()
	case errors.Is(err, engine.ErrBadCA):
		return work.CodeMissingCredentials, "the CA bundle of the repository holds no PEM certificate"
	case errors.Is(err, engine.ErrHostKey):
		return work.CodeMissingCredentials, "key " + work.KeySFTPKnownHosts + " of the repository's credential Secret: " + after(err, engine.ErrHostKey)
	case errors.Is(err, engine.ErrNoCredentials):
		return work.CodeMissingCredentials, "there are no credentials for the store: the backend names no Secret, and the cloud gave the pod none"
	case errors.Is(err, engine.ErrNoRclone):
		return work.CodeInvalidSpec, engine.ErrNoRclone.Error()
	case errors.Is(err, backend.ErrInvalidSpec), errors.Is(err, engine.ErrInvalidOption):
		return work.CodeInvalidSpec, err.Error()
	}
	return "", ""
}

func repository(err error) (work.Code, string) {
	switch {
	case errors.Is(err, engine.ErrWrongPassword):
		return work.CodeAuthFailure, "the repository password is wrong"
	case errors.Is(err, engine.ErrSourceEmpty):
		return work.CodeSourceEmpty, err.Error() + "; the destination was left as it is"
	case errors.Is(err, engine.ErrOtherRepository):
		return work.CodeLocationOccupied, err.Error() + "; nothing was written"
	case errors.Is(err, engine.ErrVanished):
		return work.CodeRepositoryVanished, err.Error()
	case errors.Is(err, engine.ErrOccupied):
		return work.CodeLocationOccupied, err.Error() + "; nothing was written; choose an empty location or correct the path"
	case errors.Is(err, engine.ErrNotInitialized):
		return work.CodeRepositoryNotInitialized, err.Error() + "; set create.enabled or correct the location"
	case errors.Is(err, engine.ErrLocationMissing):
		return work.CodeNotFound, err.Error() + "; create it or correct the name, Kopiur makes neither buckets nor folders"
	case errors.Is(err, engine.ErrSnapshotNotFound), errors.Is(err, engine.ErrNotInSnapshot):
		return work.CodeNotFound, err.Error()
	case errors.Is(err, engine.ErrClockSkew):
		return work.CodeClockSkew, err.Error()
	case errors.Is(err, engine.ErrForeignOwner):
		return work.CodeLeaseHeldByOther, err.Error()
	case errors.Is(err, engine.ErrNothingRan):
		return work.CodeLocked, "another maintenance of the repository is under way"
	case errors.Is(err, engine.ErrUndecodable), errors.Is(err, engine.ErrBadName):
		return work.CodeVerificationFailed, err.Error()
	case errors.Is(err, engine.ErrMismatch):
		return work.CodeSnapshotMismatch, err.Error()
	case errors.Is(err, engine.ErrUpgrading):
		return work.CodeLocked, "another client is upgrading the repository"
	}
	return "", ""
}

func interrupted(err error) (work.Code, string) {
	switch {
	case errors.Is(err, ErrSignal):
		return work.CodeCanceled, "the mover was told to end; what was stored is kept for the next attempt"
	case errors.Is(err, engine.ErrUnreachable):
		return work.CodeRepositoryUnavailable, "the store did not answer in time"
	case errors.Is(err, engine.ErrSlow):
		// Which deadline it was does not matter: the store is up, and maintenance must go on (C-3).
		return work.CodeSlow, "the store answers, but the repository did not open within the deadline"
	case errors.Is(err, ErrSoftDeadline), errors.Is(err, ErrHardDeadline):
		return work.CodeDeadlineExceeded, "the deadline passed; what was stored is kept for the next attempt"
	case errors.Is(err, engine.ErrUploadLimit):
		return work.CodeDeadlineExceeded, "the upload limit of this run is reached; what was stored is kept for the next attempt"
	case errors.Is(err, engine.ErrInterrupted):
		return work.CodeCanceled, "the upload was interrupted; what was stored is kept for the next attempt"
	}
	return "", ""
}

// damage is a store that answers, and has lost what the repository needs.
func damage(err error) (work.Code, string) {
	if errors.Is(err, engine.ErrDamaged) || errors.Is(err, engine.ErrStorage) && errors.Is(err, engine.ErrBlobNotFound) {
		return work.CodeVerificationFailed, err.Error()
	}
	return "", ""
}

func space(err error) (work.Code, string) {
	if !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EDQUOT) {
		return "", ""
	}
	switch {
	case errors.Is(err, engine.ErrScratch):
		return work.CodeNoSpace, "the scratch volume is too small for what is restored into it"
	case errors.Is(err, engine.ErrTarget):
		return work.CodeNoSpace, work.TargetFull
	case errors.Is(err, engine.ErrStorage):
		return work.CodeNoSpace, "the repository's storage or the cache is full"
	default:
		return work.CodeNoSpace, "a volume of the mover is full"
	}
}

// side is about the data: the source of a backup, the target of a restore.
func side(err error) (work.Code, string) {
	if errors.Is(err, engine.ErrScratch) {
		return work.CodeScratchNotWritable, "the scratch volume cannot be written: " + reason(err)
	}
	source := errors.Is(err, engine.ErrSource)
	if !source && !errors.Is(err, engine.ErrTarget) {
		return "", ""
	}
	switch {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return work.CodePermissionDenied, err.Error()
	case errors.Is(err, fs.ErrNotExist):
		return work.CodeNotFound, err.Error()
	case source:
		return work.CodeSourceError, err.Error()
	case errors.Is(err, engine.ErrInUse):
		return work.CodeLocked, err.Error() + "; end what uses it: nothing was written"
	case errors.Is(err, engine.ErrTooSmall):
		return work.CodeNoSpace, work.TargetFull + ": " + after(err, engine.ErrTarget)
	case errors.Is(err, fs.ErrExist):
		return work.CodeTargetOccupied, err.Error()
	default:
		return work.CodeTargetError, err.Error()
	}
}

// store is about what the storage answered, or did not.
func store(err error) (work.Code, string) {
	if code, message := certificate(err); code != "" {
		return code, message
	}
	var (
		answer minio.ErrorResponse
		gone   *engine.RcloneError
		dns    *net.DNSError
		netErr net.Error
	)
	other, isAnswer := engine.AnswerOf(err)
	switch {
	case errors.Is(err, engine.ErrStoreCredentials):
		return work.CodeAccessDenied, "the store says that the session token has expired"
	case errors.Is(err, engine.ErrRefused):
		return work.CodeAccessDenied, "the store refuses the credentials"
	case errors.As(err, &answer) && answer.StatusCode != 0:
		return s3(answer)
	case isAnswer:
		return answered(other)
	case errors.As(err, &gone):
		return rclone(gone)
	case errors.As(err, &dns):
		return work.CodeRepositoryUnavailable, "the name " + dns.Name + " of the store cannot be resolved"
	case errors.Is(err, syscall.ECONNREFUSED):
		return work.CodeRepositoryUnavailable, "the store refuses connections"
	case errors.Is(err, engine.ErrStorage) && (errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)):
		return work.CodeAccessDenied, "the mover's uid and groups may not use the repository's folder: " + reason(err)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return "", ""
	case errors.As(err, &netErr):
		return work.CodeRepositoryUnavailable, "the connection to the store failed"
	case errors.Is(err, engine.ErrStorage):
		if errno, ok := errors.AsType[syscall.Errno](err); ok {
			// Without the path: it is often that of a temporary file, and the text of a condition must not change.
			return work.CodeRepositoryUnavailable, "the repository's storage failed: " + errno.Error()
		}
		return work.CodeRepositoryUnavailable, plain(err.Error())
	}
	return "", ""
}

// sshConfig is what kopia puts into the error of an SSH connection: addresses in memory, others at every attempt.
var sshConfig = regexp.MustCompile(`: &ssh\.ClientConfig\{.*?\}: `)

// plain takes out of a text what would change without the cause changing.
func plain(text string) string { return sshConfig.ReplaceAllString(text, ": ") }

// after is what an error says behind one that it wraps.
func after(err, sentinel error) string {
	if _, rest, ok := strings.Cut(err.Error(), sentinel.Error()+": "); ok {
		return rest
	}
	return sentinel.Error()
}

// answered is about the answer of a store that speaks HTTP.
func answered(a engine.Answer) (work.Code, string) {
	word := a.Code
	if word == "" {
		word = strconv.Itoa(a.Status)
	}
	switch {
	case a.Code == "RequestTimeTooSkewed":
		return work.CodeClockSkew, "the store refuses requests because the mover's clock is too far from its own"
	case a.Status == http.StatusUnauthorized, a.Status == http.StatusForbidden:
		return work.CodeAccessDenied, "the store refuses the credentials (" + word + ")"
	case a.Status == http.StatusNotFound:
		return work.CodeNotFound, "the store does not know the location (" + word + "); create it or correct its name"
	case a.Status == http.StatusInsufficientStorage:
		return work.CodeNoSpace, "the repository's storage is full"
	case a.Status >= http.StatusInternalServerError, a.Status == http.StatusTooManyRequests, a.Status == http.StatusLocked:
		return work.CodeRepositoryUnavailable, "the store answers with an error of its own (" + word + ")"
	default:
		return work.CodeUnknown, "the store refuses a request (" + word + ")"
	}
}

// rclone has no codes for refused keys, so they are reported as a store that cannot be used, in rclone's words.
func rclone(e *engine.RcloneError) (work.Code, string) {
	return work.CodeRepositoryUnavailable, "rclone cannot use the remote: " + e.Said
}

func certificate(err error) (work.Code, string) {
	var (
		authority x509.UnknownAuthorityError
		host      x509.HostnameError
		invalid   x509.CertificateInvalidError
		verify    *tls.CertificateVerificationError
		record    tls.RecordHeaderError
	)
	switch {
	case errors.As(err, &authority):
		return work.CodeRepositoryUnavailable, "the store's certificate is signed by an authority that is not known; name its CA bundle in tls.caBundleRef"
	case errors.As(err, &host):
		return work.CodeRepositoryUnavailable, "the store's certificate is for another name than " + host.Host
	case errors.As(err, &invalid), errors.As(err, &verify):
		return work.CodeRepositoryUnavailable, "the store's certificate is not valid"
	case errors.As(err, &record):
		return work.CodeRepositoryUnavailable, "the store does not speak TLS on this port; correct the endpoint or set tls.disableTls"
	}
	return "", ""
}

func s3(a minio.ErrorResponse) (work.Code, string) {
	switch {
	case a.Code == minio.NoSuchBucket:
		return work.CodeNotFound, "bucket " + a.BucketName + " does not exist; create it or correct its name"
	case a.Code == "RequestTimeTooSkewed":
		return work.CodeClockSkew, "the store refuses requests because the mover's clock is too far from its own"
	case a.StatusCode == http.StatusUnauthorized, a.StatusCode == http.StatusForbidden, a.Code == minio.AccessDenied:
		return work.CodeAccessDenied, "the store refuses the credentials (" + a.Code + ")"
	case a.StatusCode == http.StatusBadRequest && (a.Code == "InvalidAccessKeyId" || a.Code == "AuthorizationHeaderMalformed" || a.Code == "ExpiredToken" || a.Code == "InvalidToken"):
		return work.CodeAccessDenied, "the store refuses the credentials (" + a.Code + ")"
	case a.StatusCode >= http.StatusInternalServerError, a.StatusCode == http.StatusTooManyRequests:
		return work.CodeRepositoryUnavailable, "the store answers with an error of its own (" + a.Code + ")"
	default:
		return work.CodeUnknown, "the store refuses a request (" + a.Code + ")"
	}
}

func contexts(err error) (work.Code, string) {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return work.CodeDeadlineExceeded, "the deadline passed"
	case errors.Is(err, context.Canceled):
		return work.CodeCanceled, "the mover was told to end"
	}
	return "", ""
}

func reason(err error) string {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno.Error()
	}
	return "access denied"
}
