// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kopiur/kopiur/apis/schedule"
)

var update = flag.Bool("update", false, "write the golden files")

// golden compares with, or with -update writes, a file under testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile("testdata/"+name, []byte(got), 0o644))
	}
	want, err := os.ReadFile("testdata/" + name)
	require.NoError(t, err)
	assert.Equal(t, string(want), got, "what users wrote keeps its meaning: lines may be added and words improved, values never change")
}

// Case H-7: the grammar is frozen. Each line of the file is an expression, what it resolves to and its next three
// runs after 2026-01-01T00:00Z in UTC, or the sentence that refuses it.
func TestGrammarIsFrozenH7(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	for _, expr := range []string{
		// What people write.
		"0 3 * * *", "30 2 * * *", "*/15 * * * *", "0 */6 * * *", "0 0 * * 0", "0 0 1 * *", "15 4 1,15 * *",
		"0 9-17 * * 1-5", "0 9-17/2 * * mon-fri", "0 0 1 JAN *", "0 0 1 jan,Apr,jul,OCT *", "5 4 * * sun",
		"  0   3 *\t* *\n", "05 04 03 02 *", "59 23 31 12 *", "0 0 29 2 *",
		// N/step: from N to the end of the field.
		"0 0/2 * * *", "0 1/2 * * *", "10/20 * * * *", "0 0 10/10 * *", "0 0 1 3/4 *", "0 0 * * 2/2", "0 0 * * tue/2",
		"*/7 * * * *", "*/100 * * * *", "*/1 * * * *", "1-5/3 * * * *",
		// Day of month and day of week: either, if both restrict. A star with a step restricts.
		"0 0 13 * 5", "0 0 1-7 * 1", "0 0 */10 * 1", "0 0 */1 * 1", "0 0 1-31 * 1", "0 0 30 2 1", "0 0 *,5 * 1", "0 0 1 * */3",
		// H.
		"H H * * *", "H * * * *", "H 3 * * *", "H H H * *", "H H H H *", "H H * * H", "H H H H H", "*/30 H * * *", "H */4 * * *",
		// Refused.
		"", "0 3 * *", "* * * * * *", "0 0 3 * * * 2026", "@daily", "@every 1h", "@hourly", "@reboot", "TZ=Europe/Berlin 0 3 * * *",
		"CRON_TZ=UTC 0 3 * * *", "0 3 ? * *", "0 3 * * ?", "0 3 * * 7", "0 3 * * 5-7", "0 3 * * 1,7", "60 * * * *", "0 24 * * *", "0 0 0 * *",
		"0 0 32 * *", "0 0 * 13 *", "0 0 * 0 *", "0 0 * * 8", "H/15 * * * *", "H(0-5) * * * *", "H,30 * * * *", "0,H * * * *",
		"h * * * *", "H-5 * * * *", "0 0 L * *", "0 0 15W * *", "0 0 * * 5#2", "0 0 * * MON#2", "0 0 * * 5L", "0 0 * * fri-mon", "50-10 * * * *",
		"0 22-2 * * *", "0 0 * dec-feb *", "*/0 * * * *", "0/00 * * * *", "1,,2 * * * *", ",1 * * * *", "1, * * * *", ", * * * *", "1/ * * * *", "/5 * * * *", "1-2-3 * * * *",
		"*-5 * * * *", "5-* * * * *", "+5 * * * *", "-5 * * * *", "5.5 * * * *", "*/+5 * * * *", "1/2/3 * * * *", "* * * foo *", "* * * january *", "* * * mon *",
		"* jan * * *", "** * * * *", "*5 * * * *", "0x1 * * * *", "٣ * * * *", "*/9999999999999999999999 * * * *", "0 0 30 2 *", "0 0 31 2,4,6,9,11 *", "0 0 31 4 */1", "0 0 31 H *",
	} {
		c, err := schedule.Parse(expr, "apps/nightly")
		if err != nil {
			fmt.Fprintf(&out, "%-28q %s\n", expr, err)
			continue
		}
		fmt.Fprintf(&out, "%-28q = %-20s", expr, c)
		n := 0
		for at := range c.After(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.UTC) {
			fmt.Fprintf(&out, "  %s", at.Format("06-01-02T15:04"))
			n++
			if n == 3 {
				break
			}
		}
		out.WriteString("\n")
	}
	golden(t, "grammar.golden", out.String())
}

// The values of H are frozen as well: a schedule never moves by itself to other minutes.
func TestHashIsFrozenH7(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	for _, seed := range []string{
		"", "default/nightly", "apps/nightly", "apps/hourly", "media/plex", "media/jellyfin", "databases/postgres-16",
		"a/a", "a/b", "b/a", "home-automation/home-assistant-config", "kopiur-system/offsite", "ä/ö",
	} {
		c, err := schedule.Parse("H H H H H", seed)
		require.NoError(t, err)
		fmt.Fprintf(&out, "%-40q %s\n", seed, c)
	}
	golden(t, "hash.golden", out.String())
}

func TestHashSpreads(t *testing.T) {
	t.Parallel()
	minutes := map[string]int{}
	for i := range 6000 {
		c, err := schedule.Parse("H * * * *", fmt.Sprintf("apps/schedule-%d", i))
		require.NoError(t, err)
		minutes[c.String()]++
	}
	assert.Len(t, minutes, 60)
	for minute, n := range minutes {
		assert.InDelta(t, 100, n, 50, minute)
	}
}

func TestSubHourly(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		expr string
		want bool
	}{
		"once a day":                  {"0 3 * * *", false},
		"once an hour":                {"30 * * * *", false},
		"at the hash once an hour":    {"H * * * *", false},
		"every half hour":             {"*/30 * * * *", true},
		"every minute":                {"* * * * *", true},
		"twice in one hour of a year": {"0,1 3 1 1 *", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := schedule.Parse(tc.expr, "a/b")
			require.NoError(t, err)
			assert.Equal(t, tc.want, c.SubHourly())
		})
	}
}

func TestZeroCronNeverFires(t *testing.T) {
	t.Parallel()
	assert.True(t, schedule.Cron{}.Next(time.Unix(0, 0), nil).IsZero())
	assert.True(t, schedule.Cron{}.Latest(time.Unix(0, 0), nil).IsZero())
}
