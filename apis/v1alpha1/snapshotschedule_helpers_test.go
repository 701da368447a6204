// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

func TestScheduleSlot(t *testing.T) {
	t.Parallel()
	const nine, ten = "2026-03-05T09:00:00Z", "2026-03-05T10:00:00Z"
	for name, tc := range map[string]struct{ in, want string }{
		"at":                         {`{"at":"` + nine + `"}`, nine},
		"the older name is read":     {`{"scheduledAt":"` + nine + `"}`, nine},
		"of both, at is the newer":   {`{"scheduledAt":"` + nine + `","at":"` + ten + `"}`, ten},
		"neither is no time":         {`{}`, ""},
		"an absent slot stays empty": {`null`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var s kopiurv1.ScheduleSlot
			require.NoError(t, json.Unmarshal([]byte(tc.in), &s))
			assert.Equal(t, tc.want, s.At)
			out, err := json.Marshal(s)
			require.NoError(t, err)
			assert.NotContains(t, string(out), "scheduledAt")
		})
	}
}
