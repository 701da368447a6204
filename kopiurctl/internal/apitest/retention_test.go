// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package apitest

import (
	"fmt"
	"testing"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// TestRetentionPreview says of each snapshot what the next prune does, and why.
func TestRetentionPreview(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	data, db := policy("data", "nas"), policy("db", "nas")
	data.Spec.Retention = &kopiurv1.Retention{KeepLatest: new(int32(1)), KeepDaily: new(int32(2))}
	w.create(repository("nas"), data, db, succeeded(snapshot("db-1", "db"), "2026-03-04T09:00:00Z"), failed(snapshot("data-0830", "data")))
	for i, at := range []string{"2026-03-02T04:00:00Z", "2026-03-03T04:00:00Z", "2026-03-04T04:00:00Z", "2026-03-04T16:00:00Z", "2026-03-05T04:00:00Z"} {
		s := succeeded(snapshot(fmt.Sprintf("data-%d", i), "data"), at)
		s.Spec.Pin = i == 0
		w.create(s)
	}
	for name, args := range map[string][]string{
		"table":          nil,
		"of-a-policy":    {"--policy", "data"},
		"names-that-go":  {"--policy", "data", "-o", "name"},
		"policy-unknown": {"--policy", "dta"},
		"policy-and-all": {"--policy", "data", "-A"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := w.run(append([]string{"retention", "preview"}, args...)...)
			r.t = t
			r.golden("retention-preview-" + name)
		})
	}
}
