// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"strconv"

	"gomodules.xyz/jsonpatch/v2"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// target is a webhook configuration and what each webhook in it trusts.
type target struct {
	kind    string
	object  client.Object
	bundles [][]byte
}

// targets reads the configurations that exist. One that does not exist yet calls nobody; its arrival wakes the Keeper.
func (k *Keeper) targets(ctx context.Context) ([]target, error) {
	var out []target
	validating := &admissionv1.ValidatingWebhookConfiguration{}
	found, err := k.get(ctx, "ValidatingWebhookConfiguration", k.config.Validating, validating)
	if err != nil {
		return nil, err
	}
	if found {
		t := target{kind: "ValidatingWebhookConfiguration", object: validating}
		for _, w := range validating.Webhooks {
			t.bundles = append(t.bundles, w.ClientConfig.CABundle)
		}
		out = append(out, t)
	}
	mutating := &admissionv1.MutatingWebhookConfiguration{}
	found, err = k.get(ctx, "MutatingWebhookConfiguration", k.config.Mutating, mutating)
	if err != nil {
		return nil, err
	}
	if found {
		t := target{kind: "MutatingWebhookConfiguration", object: mutating}
		for _, w := range mutating.Webhooks {
			t.bundles = append(t.bundles, w.ClientConfig.CABundle)
		}
		out = append(out, t)
	}
	return out, nil
}

func (k *Keeper) get(ctx context.Context, kind, name string, into client.Object) (bool, error) {
	if name == "" {
		return false, nil
	}
	err := k.client.Get(ctx, client.ObjectKey{Name: name}, into)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read %s %s: %w", kind, name, err)
	}
	return true, nil
}

// inject writes the bundle where it is not there yet. It patches nothing else: a newer API server's configuration may hold
// fields that we do not know. The version that was read makes it fail where somebody else was faster.
func (k *Keeper) inject(ctx context.Context, t target, bundle []byte) error {
	patch := []jsonpatch.Operation{jsonpatch.NewOperation("replace", "/metadata/resourceVersion", t.object.GetResourceVersion())}
	for i, b := range t.bundles {
		if !bytes.Equal(b, bundle) {
			patch = append(patch, jsonpatch.NewOperation("add", "/webhooks/"+strconv.Itoa(i)+"/clientConfig/caBundle", bundle))
		}
	}
	if len(patch) == 1 {
		return nil
	}
	raw, err := json.Marshal(patch)
	if err != nil {
		return fmt.Errorf("tell %s %s what to trust: %w", t.kind, t.object.GetName(), err)
	}
	err = k.client.Patch(ctx, t.object, client.RawPatch(types.JSONPatchType, raw))
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("tell %s %s what to trust: %w", t.kind, t.object.GetName(), err)
	}
	k.log.Info("Telling a configuration what to trust", t.kind, t.object.GetName())
	return nil
}

// trusted are the certificates that the configurations trust; what cannot be read is not trusted.
func trusted(targets []target) []*x509.Certificate {
	var out []*x509.Certificate
	for _, t := range targets {
		for _, b := range t.bundles {
			if certs, err := parseCerts(b); err == nil {
				out = merge(out, certs)
			}
		}
	}
	return out
}
