// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package rows_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kopiur/kopiur/e2e/bench/data"
	"github.com/kopiur/kopiur/e2e/bench/rows"
)

func ids(list []rows.Row) []string {
	var out []string
	for _, r := range list {
		out = append(out, r.ID)
	}
	return out
}

func TestSelect(t *testing.T) {
	t.Parallel()
	all := []rows.Row{{ID: "M1/D1"}, {ID: "M1/D2"}, {ID: "M1/D2/s3", Long: true}, {ID: "M10/size"}, {ID: "M4"}}
	for name, tc := range map[string]struct {
		want []string
		full bool
		ids  []string
	}{
		"nothing asked for is everything":                {nil, true, []string{"M1/D1", "M1/D2", "M1/D2/s3", "M10/size", "M4"}},
		"of the short form, everything that is short":    {nil, false, []string{"M1/D1", "M1/D2", "M10/size", "M4"}},
		"a number is all of it, and not that of another": {[]string{"M1"}, true, []string{"M1/D1", "M1/D2", "M1/D2/s3"}},
		"a data set is both of its stores":               {[]string{"M1/D2"}, true, []string{"M1/D2", "M1/D2/s3"}},
		"a long row is run when it is named":             {[]string{"M1/D2/s3"}, false, []string{"M1/D2/s3"}},
		"several, in the order they are run":             {[]string{"M4", "M1/D1"}, false, []string{"M1/D1", "M4"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, left, err := rows.Select(all, tc.want, tc.full)
			require.NoError(t, err)
			assert.Equal(t, tc.ids, ids(got))
			if tc.want == nil {
				assert.Len(t, append(got, left...), len(all), "nothing is left out in silence")
			}
		})
	}
	_, _, err := rows.Select(all, []string{"M1", "M99"}, true)
	require.ErrorContains(t, err, "M99", "a row that does not exist is no empty run")
}

func TestRowsOfADataSetStayTogether(t *testing.T) {
	t.Parallel()
	for _, suite := range rows.Suites() {
		seen := map[string]bool{}
		done := map[data.Set]bool{}
		last := data.Set("")
		for _, r := range suite.Rows {
			assert.False(t, seen[r.ID], "%s is there twice", r.ID)
			seen[r.ID] = true
			if r.Set != last {
				assert.False(t, done[r.Set] && r.Set != "", "%s would be made twice, for %s", r.Set, r.ID)
				done[last] = true
				last = r.Set
			}
		}
	}
}
