// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/json"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// Scheme holds the kinds that are admitted.
func Scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	// It cannot fail but by a fault of the build.
	utilruntime.Must(kopiurv1.AddToScheme(s))
	return s
}

// decode reads the object of a request and, for an update, the one before it; old is nil otherwise. What the API server
// sends has passed the schema, so a fault here is never the user's alone.
func decode(s *runtime.Scheme, req ctrladmission.Request) (object, old client.Object, err error) {
	gvk := schema.GroupVersionKind{Group: req.Kind.Group, Version: req.Kind.Version, Kind: req.Kind.Kind}
	if object, err = decodeOne(s, gvk, req.Object.Raw); err != nil {
		return nil, nil, err
	}
	if len(req.OldObject.Raw) > 0 {
		if old, err = decodeOne(s, gvk, req.OldObject.Raw); err != nil {
			return nil, nil, fmt.Errorf("the stored object: %w", err)
		}
	}
	return object, old, nil
}

func decodeOne(s *runtime.Scheme, gvk schema.GroupVersionKind, raw []byte) (client.Object, error) {
	fresh, err := s.New(gvk)
	if err != nil {
		return nil, fmt.Errorf("this webhook does not know %s: %w", gvk.Kind, err)
	}
	object, ok := fresh.(client.Object)
	if !ok {
		return nil, fmt.Errorf("%s is not an object of its own", gvk.Kind)
	}
	if err := json.UnmarshalCaseSensitivePreserveInts(raw, object); err != nil {
		return nil, fmt.Errorf("read %s: %w", gvk.Kind, err)
	}
	return object, nil
}
