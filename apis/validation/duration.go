// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// duration checks a length of time that has to be at least floor; one that is left out passes.
func duration(at *field.Path, d kopiurv1.Duration, floor time.Duration) Findings {
	var f Findings
	v, err := d.Parse(floor)
	switch {
	case err != nil:
		f.invalid(at, d, "write it like 90s, 10m or 1h30m; days are not a unit: 24h is one")
	case v < floor:
		f.invalid(at, d, "write at least %s", short(floor))
	}
	return f
}

// short writes a duration as people do: 30s, 24h, not 24h0m0s.
func short(d time.Duration) string {
	s := d.String()
	if d >= time.Minute && d%time.Minute == 0 {
		s = s[:len(s)-len("0s")]
	}
	if d >= time.Hour && d%time.Hour == 0 {
		s = s[:len(s)-len("0m")]
	}
	return s
}
