// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/kopiur/kopiur/apis/validation"
)

// patience bounds all that is looked up for one answer, which an API server waits for.
const patience = 2 * time.Second

// Validator answers validating admission.
type Validator struct {
	rules  Rules
	others *Others
	scheme *runtime.Scheme
}

// NewValidator makes a Validator.
func NewValidator(rules Rules, others *Others) *Validator {
	return &Validator{rules: rules, others: others, scheme: Scheme()}
}

// Handle answers one request.
func (v *Validator) Handle(ctx context.Context, req ctrladmission.Request) ctrladmission.Response {
	object, old, err := decode(v.scheme, req)
	if err != nil {
		// Without its content nobody can say whether it is right, so it does not pass.
		logr.FromContextOrDiscard(ctx).Error(err, "Reading a request", "kind", req.Kind.Kind)
		count(req.Kind.Kind, decisionErrored)
		return ctrladmission.Errored(http.StatusBadRequest, err)
	}
	looking, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	found := v.rules.Object(object)
	found.Merge(v.others.Object(looking, object))
	if old != nil {
		before := v.rules.Object(old)
		before.Merge(v.others.Object(looking, old))
		found = validation.Settled(found, before)
		found.Merge(v.rules.Update(object, old))
		found.Merge(v.others.Update(looking, object, old))
	}
	for _, p := range v.rules.Pending(object) {
		found.Warnings = append(found.Warnings, p.Message())
	}
	response := answer(req, object, found)
	decision := decisionAllowed
	if !response.Allowed {
		decision = decisionDenied
		// Fields, not values: a value may be something the user would not want to read in a log.
		logr.FromContextOrDiscard(ctx).Info("Refusing an object", "kind", req.Kind.Kind, "user", req.UserInfo.Username, "fields", fields(found.Errors))
	}
	count(req.Kind.Kind, decision)
	return response
}

// answer lists every error in one status, so that a manifest is put right in one go.
func answer(req ctrladmission.Request, o client.Object, found validation.Findings) ctrladmission.Response {
	out := ctrladmission.Response{AdmissionResponse: admissionv1.AdmissionResponse{
		Allowed: len(found.Errors) == 0, Warnings: unique(found.Warnings),
	}}
	if out.Allowed {
		return out
	}
	name := o.GetName()
	if name == "" {
		name = o.GetGenerateName()
	}
	status := apierrors.NewInvalid(schema.GroupKind{Group: req.Kind.Group, Kind: req.Kind.Kind}, name, found.Errors).Status()
	out.Result = &status
	return out
}

func unique(in []string) []string {
	var out []string
	for _, s := range in {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

func fields(errs field.ErrorList) []string {
	out := make([]string, 0, len(errs))
	for _, e := range errs {
		out = append(out, e.Field)
	}
	return unique(out)
}
