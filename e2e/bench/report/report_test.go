// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kopiur/kopiur/e2e/bench/measure"
	"github.com/kopiur/kopiur/e2e/bench/report"
)

var update = flag.Bool("update", false, "write the golden files")

func spread(values ...float64) measure.Spread { return measure.Of(values) }

func runs(wall ...time.Duration) measure.Samples {
	var out measure.Samples
	for _, w := range wall {
		out = append(out, measure.Sample{Wall: w, User: w / 2, System: w / 4, PeakRSS: 100 << 20})
	}
	return out
}

func example() *report.Report {
	return &report.Report{
		Started: time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC), Took: 7 * time.Minute, Form: "short", Commands: []string{"make bench"},
		Machine:  []report.Fact{{Name: "processors", Value: "2 × some processor"}},
		Versions: []report.Fact{{Name: "restic", Value: "restic 0.14.0"}},
		Settings: []report.Fact{{Name: "mover and kopia CLI", Value: "hash BLAKE3-256-128"}},
		LeftOut:  []report.LeftOut{{What: "M7", Why: "a memory limit takes root"}},
		Rows: []report.Row{
			{ID: "M10/size", What: "size of the program", Value: report.Value{Unit: report.Bytes, Spread: spread(24 << 20)}, Bound: &report.Bound{Budget: 60 << 20, Stretch: 45 << 20}},
			{
				ID: "M1/D2", What: "first backup, wall time vs the kopia CLI", Value: report.Value{Unit: report.Times, Spread: measure.Ratio([]float64{3, 2, 4}, []float64{2, 2, 2})},
				Bound: &report.Bound{Budget: 1, Stretch: 0.8},
				Sides: []report.Side{report.NewSide("mover", runs(3*time.Second, 2*time.Second, 4*time.Second)), report.NewSide("tar | zstd -1", runs(20*time.Second))},
			},
			{ID: "M9", What: "blobs a second", Value: report.Value{Unit: report.Count, Spread: spread(0.9)}, Bound: &report.Bound{Budget: 0.8, AtLeast: true}},
			{ID: "M8", What: "deletes", Bound: &report.Bound{Budget: 15, Stretch: 3}, Value: report.Value{Unit: report.Seconds, Spread: spread(4)}, Note: "one process"},
			{ID: "M5", What: "sparse", Failed: "mover: exit code 20"},
			{ID: "M4", What: "only to be seen", Value: report.Value{Unit: report.Seconds, Spread: spread(1.5)}},
		},
	}
}

func TestGolden(t *testing.T) {
	t.Parallel()
	r := example()
	r.Sort()
	var asJSON bytes.Buffer
	require.NoError(t, r.WriteJSON(&asJSON))
	for name, got := range map[string]string{"report.md": r.Markdown(), "report.json": asJSON.String()} {
		path := filepath.Join("testdata", name)
		if *update {
			require.NoError(t, os.WriteFile(path, []byte(got), 0o600))
		}
		want, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, string(want), got, path)
	}
	again, err := report.Read(filepath.Join("testdata", "report.json"))
	require.NoError(t, err)
	assert.Equal(t, r.Markdown(), again.Markdown(), "what is published later is what was measured")
}

func TestVerdict(t *testing.T) {
	t.Parallel()
	at := func(v float64) report.Value { return report.Value{Spread: spread(v)} }
	for name, tc := range map[string]struct {
		row  report.Row
		want report.Verdict
	}{
		"above its budget a figure is missed":        {report.Row{Value: at(1.01), Bound: &report.Bound{Budget: 1, Stretch: 0.8}}, report.Missed},
		"at its budget it is met":                    {report.Row{Value: at(1), Bound: &report.Bound{Budget: 1, Stretch: 0.8}}, report.Met},
		"at the goal it is that":                     {report.Row{Value: at(0.8), Bound: &report.Bound{Budget: 1, Stretch: 0.8}}, report.Stretch},
		"without a goal there is none to reach":      {report.Row{Value: at(0), Bound: &report.Bound{Budget: 1}}, report.Met},
		"what has to be high is missed below":        {report.Row{Value: at(0.7), Bound: &report.Bound{Budget: 0.8, AtLeast: true}}, report.Missed},
		"and met above":                              {report.Row{Value: at(0.9), Bound: &report.Bound{Budget: 0.8, AtLeast: true}}, report.Met},
		"without a budget it is open":                {report.Row{Value: at(9)}, report.Open},
		"a row that failed has failed, not been met": {report.Row{Failed: "x", Bound: &report.Bound{Budget: 1}}, report.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tc.want, tc.row.Verdict())
		})
	}
	assert.Len(t, example().Missed(), 2, "a failed row and a missed one")
}

func TestARowOfALaterRunTakesThePlaceOfTheSameRow(t *testing.T) {
	t.Parallel()
	r := &report.Report{}
	r.Add(example())
	r.Add(&report.Report{
		Took: time.Minute, Commands: []string{"make bench BENCH=M8"}, LeftOut: []report.LeftOut{{What: "restic", Why: "gone"}},
		Rows: []report.Row{{ID: "M8", What: "deletes, again"}, {ID: "M6/D1", What: "memory"}},
	})
	var ids []string
	for _, row := range r.Rows {
		ids = append(ids, row.ID)
		assert.NotEqual(t, "deletes", row.What)
	}
	assert.Equal(t, []string{"M1/D2", "M4", "M5", "M6/D1", "M8", "M9", "M10/size"}, ids)
	assert.Equal(t, 8*time.Minute, r.Took)
	assert.Len(t, r.LeftOut, 2)
	assert.Equal(t, []string{"make bench", "make bench BENCH=M8"}, r.Commands)
}

func TestResultsGoBetweenTheMarkers(t *testing.T) {
	t.Parallel()
	page := "# Performance\n\nbefore\n\n<!-- bench:begin: written by `make bench`, edit outside -->\nold\n<!-- bench:end -->\n\nafter\n"
	out, err := report.Splice(page, report.Mover, "new\n")
	require.NoError(t, err)
	assert.Equal(t, "# Performance\n\nbefore\n\n<!-- bench:begin: written by `make bench`, edit outside -->\n\nnew\n\n<!-- bench:end -->\n\nafter\n", out)
	same, err := report.Splice(out, report.Mover, "new")
	require.NoError(t, err)
	assert.Equal(t, out, same)
	_, err = report.Splice("# Performance\n", report.Mover, "new")
	require.Error(t, err, "a page of people is never overwritten")
}

func TestControllerRows(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rows.json")
	require.NoError(t, os.WriteFile(path, []byte(`[
		{"id":"C11","what":"gone","value":{"median":40,"min":40,"max":40,"n":1,"unit":"seconds"},"bound":{"budget":120}},
		{"id":"C1/writes","what":"writes at rest","value":{"median":3,"min":3,"max":3,"n":1,"unit":"count"},"bound":{"budget":0}}
	]`), 0o600))
	rows, err := report.ReadRows(path)
	require.NoError(t, err)
	r := &report.Report{Form: "short", Rows: rows}
	r.Sort()
	text := r.Markdown()
	assert.Contains(t, text, "| C1/writes | writes at rest | 3 | ≤ 0 | – | **missed** |\n| C11 | gone | 40.0 s | ≤ 120.0 s | – | met |")
	assert.NotContains(t, text, "What each program cost", "nothing is compared")
	out, err := report.Splice("<!-- bench-controller:begin: written by `make bench`, edit outside -->\nold\n<!-- bench-controller:end -->\n", report.Controller, text)
	require.NoError(t, err)
	assert.NotContains(t, out, "old")
}
