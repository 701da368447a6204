// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// retention checks which snapshots are kept; nil keeps all. One that keeps nothing would delete every snapshot.
func retention(at *field.Path, r *kopiurv1.Retention) Findings {
	var f Findings
	if r == nil {
		return f
	}
	keeps := false
	for _, n := range []struct {
		field string
		value *int32
	}{
		{"keepLatest", r.KeepLatest},
		{"keepHourly", r.KeepHourly},
		{"keepDaily", r.KeepDaily},
		{"keepWeekly", r.KeepWeekly},
		{"keepMonthly", r.KeepMonthly},
		{"keepAnnual", r.KeepAnnual},
	} {
		f.Merge(notNegative(at.Child(n.field), n.value))
		keeps = keeps || n.value != nil && *n.value > 0
	}
	if !keeps && len(f.Errors) == 0 {
		f.forbidden(at, "it keeps nothing, so that every snapshot would be deleted: write at least one of keepLatest, keepHourly, keepDaily, keepWeekly, "+
			"keepMonthly, keepAnnual with 1 or more, or leave it out to keep all")
	}
	return f
}
