// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

var (
	methods = []string{"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"}
	// framing are headers that HTTP sets itself.
	framing = []string{"connection", "content-length", "te", "trailer", "transfer-encoding", "upgrade"}
)

// httpRequest checks a request that a hook sends. An address may hold a password, so it is never repeated in an error.
func httpRequest(at *field.Path, r kopiurv1.HTTPHook) Findings {
	f := duration(at.Child("timeout"), r.Timeout, time.Second)
	address := at.Child("url")
	u, err := url.Parse(r.URL)
	switch {
	case r.URL == "":
		f.required(address, "write https://host/path")
	case err != nil:
		f.forbidden(address, "it is no address: write https://host/path")
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		f.forbidden(address, "write http:// or https:// and a host")
	case u.Fragment != "":
		f.forbidden(address, "what follows # is never sent: remove it")
	}
	switch {
	case r.Method == "" || slices.Contains(methods, r.Method):
	case slices.Contains(methods, strings.ToUpper(r.Method)):
		f.invalid(at.Child("method"), r.Method, "write it in capitals: %s", strings.ToUpper(r.Method))
	default:
		f.Errors = append(f.Errors, field.NotSupported(at.Child("method"), r.Method, methods))
	}
	f.Merge(headers(at.Child("headers"), r.Headers, err == nil && u.User != nil))
	return f
}

// headers checks them as RFC 7230 has them. credentials says that the address brings some already.
func headers(at *field.Path, list []kopiurv1.HTTPHeader, credentials bool) Findings {
	var f Findings
	seen := map[string]bool{}
	for i, h := range list {
		name, value := at.Index(i).Child("name"), at.Index(i).Child("value")
		lower := strings.ToLower(h.Name)
		switch {
		case h.Name == "":
			f.required(name, "write the name of the header")
		case strings.ContainsFunc(h.Name, notToken):
			f.invalid(name, h.Name, "write letters, digits and -, without spaces and without the colon")
		case slices.Contains(framing, lower):
			f.forbidden(name, "HTTP sets %s itself: remove it", h.Name)
		case seen[lower]:
			f.Errors = append(f.Errors, field.Duplicate(name, h.Name))
		case lower == "authorization" && credentials:
			f.forbidden(name, "the address has a user and a password already: keep one of them")
		}
		seen[lower] = true
		// A value may be a token, so it is not repeated.
		switch {
		case strings.ContainsAny(h.Value, "\r\n"):
			f.forbidden(value, "write it on one line")
		case strings.ContainsFunc(h.Value, func(r rune) bool { return r != '\t' && (r < ' ' || r == 0x7f) }):
			f.forbidden(value, "write it without control characters")
		case strings.TrimSpace(h.Value) != h.Value:
			f.forbidden(value, "write it without white space at its ends, which HTTP drops")
		}
	}
	return f
}

// notToken reports whether a character cannot be part of a header's name.
func notToken(r rune) bool {
	return r <= ' ' || r >= 0x7f || strings.ContainsRune("\"(),/:;<=>?@[\\]{}", r)
}
