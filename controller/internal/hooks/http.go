// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// maxAnswer is how much of an answer is kept for the event.
const maxAnswer = 512

// request sends a request and expects 2xx. A redirect is no success: it would lead where nobody wrote.
func request(ctx context.Context, h kopiurv1.HTTPHook) error {
	method := h.Method
	if method == "" {
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(ctx, method, h.URL, strings.NewReader(h.Body))
	if err != nil {
		return failed("", "httpRequest.url cannot be used") // the address may hold a password
	}
	for _, header := range h.Headers {
		if strings.EqualFold(header.Name, "Host") {
			req.Host = header.Value
			continue
		}
		req.Header.Set(header.Name, header.Value)
	}
	res, err := httpClient.Do(req)
	if err != nil {
		if u := (*url.Error)(nil); errors.As(err, &u) {
			err = u.Err // without the address
		}
		return failed(err.Error(), "httpRequest: %s did not answer", req.URL.Host)
	}
	defer func() { _ = res.Body.Close() }()
	answer, _ := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return failed(strings.ToValidUTF8(string(answer), "\uFFFD"), "httpRequest: %s answered with status %d", req.URL.Host, res.StatusCode)
	}
	return nil
}
