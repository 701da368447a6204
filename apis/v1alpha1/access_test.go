// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

func TestAllows(t *testing.T) {
	t.Parallel()
	selecting := func(s metav1.LabelSelector) *kopiurv1.AllowedNamespaces {
		return &kopiurv1.AllowedNamespaces{Selector: &s}
	}
	absence := metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "private", Operator: metav1.LabelSelectorOpDoesNotExist}}}
	backup := map[string]string{"backup": "yes"}
	for name, tc := range map[string]struct {
		allowed *kopiurv1.AllowedNamespaces
		labels  map[string]string
		want    bool
	}{
		"a Repository has no gate":                       {nil, nil, true},
		"nothing set denies":                             {&kopiurv1.AllowedNamespaces{}, backup, false},
		"all allows":                                     {&kopiurv1.AllowedNamespaces{All: new(true)}, nil, true},
		"all that is false denies":                       {&kopiurv1.AllowedNamespaces{All: new(false)}, nil, false},
		"a list allows those in it":                      {&kopiurv1.AllowedNamespaces{List: []string{"apps"}}, nil, true},
		"a list denies the others":                       {&kopiurv1.AllowedNamespaces{List: []string{"media"}}, nil, false},
		"an empty list denies":                           {&kopiurv1.AllowedNamespaces{List: []string{}}, nil, false},
		"a selector allows what it matches":              {selecting(metav1.LabelSelector{MatchLabels: backup}), backup, true},
		"a selector denies what it does not match":       {selecting(metav1.LabelSelector{MatchLabels: backup}), map[string]string{"backup": "no"}, false},
		"a selector denies where the labels are unknown": {selecting(metav1.LabelSelector{MatchLabels: backup}), nil, false},
		"an empty selector denies, whatever the labels":  {selecting(metav1.LabelSelector{}), backup, false},
		"a selector that cannot be read denies":          {selecting(metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "backup", Operator: "Is"}}}), backup, false},
		"so does a selector of absence":                  {selecting(absence), nil, false},
		"a selector of absence allows who has it not":    {selecting(absence), backup, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tc.want, tc.allowed.Allows("apps", tc.labels))
		})
	}
}
