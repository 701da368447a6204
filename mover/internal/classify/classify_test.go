// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package classify_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/minio/minio-go/v7"
	"github.com/stretchr/testify/assert"
	"github.com/studio-b12/gowebdav"
	"golang.org/x/oauth2"
	"google.golang.org/api/googleapi"
	"gopkg.in/kothar/go-backblaze.v0"

	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/mover/internal/backend"
	"github.com/kopiur/kopiur/mover/internal/classify"
	"github.com/kopiur/kopiur/mover/internal/engine"
)

func storage(err error) error { return fmt.Errorf("%w: %w", engine.ErrStorage, err) }

func target(err error) error { return fmt.Errorf("%w: %w", engine.ErrTarget, err) }

// get is how net/http wraps what a connection ran into.
func get(err error) error { return storage(&url.Error{Op: "Get", URL: "https://s3", Err: err}) }

func path(base error, errno syscall.Errno) error {
	return fmt.Errorf("%w: %w", base, &fs.PathError{Op: "open", Path: "/x", Err: errno})
}

func TestOutcome(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err  error
		code work.Code
		says string
	}{
		"nothing":                      {nil, work.CodeOK, ""},
		"a wrong password":             {storage(engine.ErrWrongPassword), work.CodeAuthFailure, "password"},
		"no repository":                {engine.ErrNotInitialized, work.CodeRepositoryNotInitialized, "create.enabled"},
		"something else":               {engine.ErrOccupied, work.CodeLocationOccupied, "nothing was written"},
		"a vanished repository":        {fmt.Errorf("%w: %w", engine.ErrVanished, engine.ErrLocationMissing), work.CodeRepositoryVanished, "gone"},
		"no bucket, by the probe":      {fmt.Errorf("%w: %w", engine.ErrLocationMissing, minio.ErrorResponse{Code: minio.NoSuchBucket, StatusCode: 404}), work.CodeNotFound, "create it"},
		"no bucket, by kopia":          {storage(minio.ErrorResponse{Code: minio.NoSuchBucket, StatusCode: 404, BucketName: "b"}), work.CodeNotFound, "bucket b"},
		"no snapshot":                  {engine.ErrSnapshotNotFound, work.CodeNotFound, ""},
		"a missing key":                {&backend.KeyError{Object: "Secret", Key: "K", Problem: "is missing"}, work.CodeMissingCredentials, "key K of the Secret is missing"},
		"a bad CA bundle":              {engine.ErrBadCA, work.CodeMissingCredentials, "CA bundle"},
		"a bad spec":                   {backend.ErrInvalidSpec, work.CodeInvalidSpec, ""},
		"a bad creation option":        {engine.ErrInvalidOption, work.CodeInvalidSpec, ""},
		"a full scratch volume":        {fmt.Errorf("%w: %w", engine.ErrScratch, target(syscall.ENOSPC)), work.CodeNoSpace, "scratch volume is too small"},
		"a scratch volume of others":   {fmt.Errorf("%w: %w", engine.ErrScratch, target(syscall.EACCES)), work.CodeScratchNotWritable, "permission denied"},
		"another snapshot":             {engine.ErrMismatch, work.CodeSnapshotMismatch, "not the snapshot"},
		"maintenance of somebody else": {fmt.Errorf("%w: root@laptop", engine.ErrForeignOwner), work.CodeLeaseHeldByOther, "root@laptop"},
		"a second maintenance":         {engine.ErrNothingRan, work.CodeLocked, "under way"},
		"a blob that is lost":          {storage(engine.ErrBlobNotFound), work.CodeVerificationFailed, "not found"},
		"a blob in ruins":              {storage(engine.ErrDamaged), work.CodeVerificationFailed, "damaged"},
		"a signal, and a lost blob":    {fmt.Errorf("%w: %w", classify.ErrSignal, storage(engine.ErrBlobNotFound)), work.CodeCanceled, "end"},
		"a snapshot in ruins":          {engine.ErrUndecodable, work.CodeVerificationFailed, "cannot be decoded"},
		"clocks that disagree":         {engine.ErrClockSkew, work.CodeClockSkew, "clocks"},
		"requests out of time":         {storage(minio.ErrorResponse{Code: "RequestTimeTooSkewed", StatusCode: 403}), work.CodeClockSkew, "clock"},
		"an upgrade lock":              {storage(engine.ErrUpgrading), work.CodeLocked, "upgrading"},
		"refused by signature":         {storage(minio.ErrorResponse{Code: "SignatureDoesNotMatch", StatusCode: 403}), work.CodeAccessDenied, "SignatureDoesNotMatch"},
		"an unknown access key":        {storage(minio.ErrorResponse{Code: "InvalidAccessKeyId", StatusCode: 403}), work.CodeAccessDenied, "credentials"},
		"an expired token":             {storage(engine.ErrStoreCredentials), work.CodeAccessDenied, "expired"},
		"slow down":                    {storage(minio.ErrorResponse{Code: "SlowDown", StatusCode: 503}), work.CodeRepositoryUnavailable, "SlowDown"},
		"a store in trouble":           {storage(minio.ErrorResponse{Code: "InternalError", StatusCode: 500}), work.CodeRepositoryUnavailable, ""},
		"connection refused":           {get(&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}), work.CodeRepositoryUnavailable, "refuses connections"},
		"a name that is unknown":       {get(&net.DNSError{Name: "s3.example.org", IsNotFound: true}), work.CodeRepositoryUnavailable, "s3.example.org"},
		"a network timeout":            {fmt.Errorf("%w: %w", engine.ErrUnreachable, context.DeadlineExceeded), work.CodeRepositoryUnavailable, "in time"},
		"a reset":                      {get(&net.OpError{Op: "read", Err: syscall.ECONNRESET}), work.CodeRepositoryUnavailable, "failed"},
		"an unknown authority":         {get(&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}), work.CodeRepositoryUnavailable, "caBundleRef"},
		"a certificate of another":     {get(x509.HostnameError{Host: "s3", Certificate: &x509.Certificate{}}), work.CodeRepositoryUnavailable, "another name than s3"},
		"an expired certificate":       {get(x509.CertificateInvalidError{}), work.CodeRepositoryUnavailable, "not valid"},
		"no TLS on the port":           {get(tls.RecordHeaderError{}), work.CodeRepositoryUnavailable, "disableTls"},
		"a slow open":                  {fmt.Errorf("%w: %w", engine.ErrSlow, context.DeadlineExceeded), work.CodeSlow, "within the deadline"},
		"a slow open, by our clock":    {fmt.Errorf("%w: %w", classify.ErrSoftDeadline, engine.ErrSlow), work.CodeSlow, ""},
		"the soft deadline":            {fmt.Errorf("%w: %w", classify.ErrSoftDeadline, engine.ErrInterrupted), work.CodeDeadlineExceeded, "kept"},
		"the hard deadline":            {fmt.Errorf("%w: %w", classify.ErrHardDeadline, context.Canceled), work.CodeDeadlineExceeded, ""},
		"SIGTERM":                      {fmt.Errorf("%w: %w", classify.ErrSignal, engine.ErrInterrupted), work.CodeCanceled, "told to end"},
		"the upload limit":             {fmt.Errorf("%w: %w", engine.ErrInterrupted, engine.ErrUploadLimit), work.CodeDeadlineExceeded, "limit"},
		"a full cache":                 {path(engine.ErrStorage, syscall.ENOSPC), work.CodeNoSpace, "cache"},
		"a full target":                {path(engine.ErrTarget, syscall.ENOSPC), work.CodeNoSpace, work.TargetFull},
		"a target over quota":          {path(engine.ErrTarget, syscall.EDQUOT), work.CodeNoSpace, work.TargetFull},
		"an unreadable source":         {path(engine.ErrSource, syscall.EACCES), work.CodePermissionDenied, "permission denied"},
		"no source":                    {path(engine.ErrSource, syscall.ENOENT), work.CodeNotFound, ""},
		"a source that fails":          {path(engine.ErrSource, syscall.EIO), work.CodeSourceError, ""},
		"a target it may not write":    {path(engine.ErrTarget, syscall.EPERM), work.CodePermissionDenied, ""},
		"a target that fails":          {path(engine.ErrTarget, syscall.EIO), work.CodeTargetError, ""},
		"something in the way":         {path(engine.ErrTarget, syscall.EEXIST), work.CodeTargetOccupied, ""},
		"a folder in the way":          {path(engine.ErrTarget, syscall.ENOTEMPTY), work.CodeTargetOccupied, ""},
		"a device in use":              {fmt.Errorf("%w: %w", engine.ErrTarget, engine.ErrInUse), work.CodeLocked, "nothing was written"},
		"a device too small":           {fmt.Errorf("%w: %w", engine.ErrTarget, engine.ErrTooSmall), work.CodeNoSpace, work.TargetFull + ": the device is too small"},
		"an impossible name":           {engine.ErrBadName, work.CodeVerificationFailed, "impossible"},
		"a part that is not there":     {engine.ErrNotInSnapshot, work.CodeNotFound, ""},
		"a read-only target":           {path(engine.ErrTarget, syscall.EROFS), work.CodePermissionDenied, ""},
		"a repository it may not use":  {path(engine.ErrStorage, syscall.EACCES), work.CodeAccessDenied, "uid and groups"},
		"a read-only repository":       {path(engine.ErrStorage, syscall.EROFS), work.CodeAccessDenied, ""},
		"a repository disk that fails": {path(engine.ErrStorage, syscall.EIO), work.CodeRepositoryUnavailable, ""},
		"azure refuses the key":        {storage(&azcore.ResponseError{StatusCode: 403, ErrorCode: "AuthenticationFailed"}), work.CodeAccessDenied, "AuthenticationFailed"},
		"azure is busy":                {storage(&azcore.ResponseError{StatusCode: 503, ErrorCode: "ServerBusy"}), work.CodeRepositoryUnavailable, "ServerBusy"},
		"google refuses the account":   {storage(&googleapi.Error{Code: 403, Errors: []googleapi.ErrorItem{{Reason: "forbidden"}}}), work.CodeAccessDenied, "forbidden"},
		"google wants fewer requests":  {storage(&googleapi.Error{Code: 429}), work.CodeRepositoryUnavailable, "429"},
		"google gives no token":        {storage(&oauth2.RetrieveError{ErrorCode: "invalid_grant", Response: &http.Response{StatusCode: 400}}), work.CodeAccessDenied, "invalid_grant"},
		"no token, for now":            {storage(&oauth2.RetrieveError{Response: &http.Response{StatusCode: 503}}), work.CodeRepositoryUnavailable, "503"},
		"no credentials anywhere":      {fmt.Errorf("%w: x", engine.ErrNoCredentials), work.CodeMissingCredentials, "no Secret"},
		"backblaze refuses the key":    {storage(&backblaze.B2Error{Status: 401, Code: "bad_auth_token"}), work.CodeAccessDenied, "bad_auth_token"},
		"webdav refuses the password":  {storage(gowebdav.NewPathError("PROPFIND", "/", 401)), work.CodeAccessDenied, "401"},
		"webdav is full":               {storage(gowebdav.NewPathError("PUT", "/", 507)), work.CodeNoSpace, "full"},
		"webdav lost its folder":       {storage(gowebdav.NewPathError("PUT", "/", 404)), work.CodeNotFound, "404"},
		"an odd answer":                {storage(gowebdav.NewPathError("PUT", "/", 418)), work.CodeUnknown, "418"},
		"an SSH key that is refused":   {storage(engine.ErrRefused), work.CodeAccessDenied, "credentials"},
		"a server nobody vouches for":  {fmt.Errorf("look: %w: there is no line for nas", engine.ErrHostKey), work.CodeMissingCredentials, "KOPIA_SFTP_KNOWN_HOSTS of the repository's credential Secret: there is no line for nas"},
		"an SSH connection that fails": {storage(errors.New("unable to dial [nas:22]: &ssh.ClientConfig{User:\"u\", Auth:[]ssh.AuthMethod{(ssh.publicKeyCallback)(0xc000)}}: EOF")), work.CodeRepositoryUnavailable, "unable to dial [nas:22]: EOF"},
		"an image without rclone":      {engine.ErrNoRclone, work.CodeInvalidSpec, "-rclone"},
		"rclone gives up":              {storage(&engine.RcloneError{Said: "no such host"}), work.CodeRepositoryUnavailable, "rclone cannot use the remote: no such host"},
		"a decided outcome":            {fmt.Errorf("op: %w", &classify.Coded{Code: work.CodePermissionDenied, Message: "m", Err: engine.ErrStorage}), work.CodePermissionDenied, "m"},
		"a bare end of the context":    {context.Canceled, work.CodeCanceled, ""},
		"something new":                {errors.New("boom"), work.CodeUnknown, "boom"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, message := classify.Outcome(tc.err)
			assert.Equal(t, tc.code, code)
			assert.Contains(t, message, tc.says)
			if tc.err != nil {
				assert.NotEmpty(t, message, "every failure explains itself")
			}
		})
	}
}

// J-6: a message that changes with every attempt would wake the controller with every attempt. Kopia writes its blobs into
// files with random names, and those are in the errors.
func TestTheSameFailureIsToldInTheSameWords(t *testing.T) {
	t.Parallel()
	for _, errno := range []syscall.Errno{
		syscall.EACCES, syscall.EPERM, syscall.EROFS, syscall.EIO, syscall.ENOSPC, syscall.EDQUOT, syscall.ESTALE, syscall.ENAMETOOLONG, syscall.ETIMEDOUT,
	} {
		say := func(name string) string {
			_, message := classify.Outcome(storage(fmt.Errorf("can't complete PutBlob: %w", &fs.PathError{Op: "open", Path: "/repo/p1/" + name, Err: errno})))
			return message
		}
		assert.Equal(t, say("234.f.tmp.0a1b2c"), say("234.f.tmp.ffeedd"), "%v", errno)
	}
}
