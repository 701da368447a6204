// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// It is kept as text and parsed at use: what Kubernetes' own type does not decode would hide the whole list of objects in
// which one of them has it. (Apart, because what follows stands in every schema.)

// Quantity is an amount such as 10Gi, 500m or 1073741824.
// +kubebuilder:validation:Type=""
// +kubebuilder:validation:XIntOrString
// +kubebuilder:validation:MaxLength=64
// +kubebuilder:validation:Pattern=`^([+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,3})?)?$`
type Quantity string

// UnmarshalJSON takes a string or a bare number, as people write both.
func (q *Quantity) UnmarshalJSON(raw []byte) error {
	switch text := string(raw); {
	case text == "null":
		*q = ""
	case strings.HasPrefix(text, `"`):
		var s string
		if err := json.Unmarshal(raw, &s); err != nil {
			return fmt.Errorf("decode quantity: %w", err)
		}
		*q = Quantity(s)
	default:
		// Whatever else it is, it is for Parse to refuse.
		*q = Quantity(text)
	}
	return nil
}

// Parse reads the amount.
func (q Quantity) Parse() (resource.Quantity, error) {
	v, err := resource.ParseQuantity(string(q))
	if err != nil {
		return resource.Quantity{}, fmt.Errorf("quantity %q is not understood: write it like 512Mi, 10Gi or 500m", string(q))
	}
	return v, nil
}

// Resources of a container, as Kubernetes has them.
type Resources struct {
	// limits that the container may not exceed.
	// +kubebuilder:validation:MaxProperties=32
	// +optional
	Limits map[corev1.ResourceName]Quantity `json:"limits,omitempty"`
	// requests that the scheduler sets aside for the container.
	// +kubebuilder:validation:MaxProperties=32
	// +optional
	Requests map[corev1.ResourceName]Quantity `json:"requests,omitempty"`
	// claims of dynamic resources that the pod names.
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=name
	// +optional
	Claims []corev1.ResourceClaim `json:"claims,omitempty"`
}

// Parse is what Kubernetes' own type makes of them.
func (r Resources) Parse() (corev1.ResourceRequirements, error) {
	limits, err := parseList("limits", r.Limits)
	if err != nil {
		return corev1.ResourceRequirements{}, err
	}
	requests, err := parseList("requests", r.Requests)
	if err != nil {
		return corev1.ResourceRequirements{}, err
	}
	return corev1.ResourceRequirements{Limits: limits, Requests: requests, Claims: r.Claims}, nil
}

func parseList(field string, in map[corev1.ResourceName]Quantity) (corev1.ResourceList, error) {
	if in == nil {
		return nil, nil //nolint:nilnil // no list is an answer
	}
	out := make(corev1.ResourceList, len(in))
	for name, text := range in {
		q, err := text.Parse()
		if err != nil {
			return nil, fmt.Errorf("resources.%s.%s: %w", field, name, err)
		}
		out[name] = q
	}
	return out, nil
}
