// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	"gomodules.xyz/jsonpatch/v2"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// Mutator stamps labels on new objects. It writes a patch of single labels and nothing else of the object again: what the
// user wrote stays as it was written.
type Mutator struct {
	rules  Rules
	scheme *runtime.Scheme
}

// NewMutator makes a Mutator.
func NewMutator(rules Rules) *Mutator { return &Mutator{rules: rules, scheme: Scheme()} }

// Handle answers one request.
func (m *Mutator) Handle(ctx context.Context, req ctrladmission.Request) ctrladmission.Response {
	object, old, err := decode(m.scheme, req)
	if err != nil {
		logr.FromContextOrDiscard(ctx).Error(err, "Reading a request", "kind", req.Kind.Kind)
		count(req.Kind.Kind, decisionErrored)
		return ctrladmission.Errored(http.StatusBadRequest, err)
	}
	if old != nil {
		return ctrladmission.Allowed("")
	}
	patch := stamp(object, m.rules.Labels(object))
	if len(patch) == 0 {
		return ctrladmission.Allowed("")
	}
	count(req.Kind.Kind, decisionMutated)
	return ctrladmission.Patched("", patch...)
}

// stamp is the patch that gives an object these labels.
func stamp(o client.Object, labels map[string]string) []jsonpatch.Operation {
	var out []jsonpatch.Operation
	have := o.GetLabels()
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		if v, ok := have[k]; !ok || v != labels[k] {
			out = append(out, jsonpatch.NewOperation("add", "/metadata/labels/"+escape(k), labels[k]))
		}
	}
	if len(out) > 0 && have == nil {
		out = append([]jsonpatch.Operation{jsonpatch.NewOperation("add", "/metadata/labels", map[string]string{})}, out...)
	}
	return out
}

// escape makes a key a part of a JSON pointer.
func escape(key string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}
