// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"cloud.google.com/go/auth"
	"cloud.google.com/go/storage"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/studio-b12/gowebdav"
	"golang.org/x/oauth2"
	"google.golang.org/api/googleapi"
	"gopkg.in/kothar/go-backblaze.v0"
)

// Answer is what a store answered, whichever client it went through.
type Answer struct {
	// Status is that of HTTP.
	Status int
	// Code is the store's own word for it; it may be empty.
	Code string
}

// AnswerOf finds the answer of a store in an error. S3's are minio.ErrorResponse.
func AnswerOf(err error) (Answer, bool) {
	var (
		azure   *azcore.ResponseError
		google  *googleapi.Error
		dav     gowebdav.StatusError
		b2      *backblaze.B2Error
		token   *oauth2.RetrieveError
		cloud   *auth.Error
		federal *azidentity.AuthenticationFailedError
	)
	switch {
	case errors.As(err, &federal):
		return tokenAnswer(federal.RawResponse, ""), true
	case errors.As(err, &token):
		return tokenAnswer(token.Response, token.ErrorCode), true
	case errors.As(err, &cloud):
		return tokenAnswer(cloud.Response, ""), true
	case errors.As(err, &azure):
		return Answer{azure.StatusCode, azure.ErrorCode}, true
	case errors.As(err, &google):
		a := Answer{Status: google.Code}
		if len(google.Errors) > 0 {
			a.Code = google.Errors[0].Reason
		}
		return a, true
	case errors.As(err, &dav):
		return Answer{Status: dav.Status}, true
	case errors.As(err, &b2):
		return Answer{b2.Status, b2.Code}, true
	}
	return Answer{}, false
}

// tokenAnswer is that of the service that turns credentials into tokens: whatever it says of them, they are refused.
func tokenAnswer(r *http.Response, code string) Answer {
	a := Answer{Status: http.StatusUnauthorized, Code: code}
	if r != nil && (r.StatusCode >= http.StatusInternalServerError || r.StatusCode == http.StatusTooManyRequests) {
		a.Status = r.StatusCode
	}
	return a
}

// answered wraps what a store answered, and tells a place that is not there.
func answered(err error) error {
	var azure *azcore.ResponseError
	switch {
	case errors.Is(err, storage.ErrBucketNotExist),
		errors.As(err, &azure) && azure.ErrorCode == string(bloberror.ContainerNotFound),
		strings.Contains(err.Error(), "bucket not found: "): // of kopia's B2, which has no type for it
		return fmt.Errorf("%w: %w", ErrLocationMissing, err)
	case strings.Contains(err.Error(), "could not find default credentials"): // of Google's, likewise
		return fmt.Errorf("%w: %w", ErrNoCredentials, err)
	}
	return fmt.Errorf("%w: %w", ErrStorage, err)
}
