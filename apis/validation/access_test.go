// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package validation_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/validation/field"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/validation"
)

func TestNamespaceAllowed(t *testing.T) {
	t.Parallel()
	r := &kopiurv1.ClusterRepository{}
	r.Name = "offsite"
	r.Spec.AllowedNamespaces.List = []string{"apps"}
	at := field.NewPath("spec", "repository")
	require.NoError(t, validation.NamespaceAllowed(at, r, "apps", nil).Err())
	assert.EqualError(t, validation.NamespaceAllowed(at, r, "media", nil).Err(),
		"spec.repository: Forbidden: ClusterRepository offsite does not allow namespace media: its owner adds the namespace to spec.allowedNamespaces")
}
