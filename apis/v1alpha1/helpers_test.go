// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

func TestLabelValue(t *testing.T) {
	t.Parallel()
	fits := strings.Repeat("a", 63)
	assert.Equal(t, fits, kopiurv1.LabelValue(fits))
	one, two := kopiurv1.LabelValue(fits+"b"), kopiurv1.LabelValue(fits+"c")
	assert.Len(t, one, 63)
	assert.NotEqual(t, one, two)
	assert.Equal(t, one, kopiurv1.LabelValue(fits+"b"))
	dotted := kopiurv1.LabelValue(strings.Repeat("a", 53) + "." + strings.Repeat("b", 60))
	assert.Regexp(t, `^a{53}-[0-9a-f]{8}$`, dotted)
}
