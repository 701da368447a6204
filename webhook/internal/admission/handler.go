// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"net/http"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// Paths that the webhook configurations name.
const (
	PathValidate = "/validate"
	PathMutate   = "/mutate"
)

// Handler serves both kinds of admission. A request of any other path is not found.
func Handler(log logr.Logger, v *Validator, m *Mutator) (http.Handler, error) {
	mux := http.NewServeMux()
	for path, h := range map[string]ctrladmission.Handler{PathValidate: v, PathMutate: m} {
		hook := &ctrladmission.Webhook{Handler: h, LogConstructor: requestLog}
		standalone, err := ctrladmission.StandaloneWebhook(hook, ctrladmission.StandaloneOptions{Logger: log, MetricsPath: path})
		if err != nil {
			return nil, fmt.Errorf("serve %s: %w", path, err)
		}
		mux.Handle("POST "+path, standalone)
	}
	return mux, nil
}

// requestLog names the object once; the request's id leads to the API server's audit log.
func requestLog(base logr.Logger, req *ctrladmission.Request) logr.Logger {
	if req == nil {
		return base
	}
	return base.WithValues("object", klog.KRef(req.Namespace, req.Name), "requestID", req.UID)
}
