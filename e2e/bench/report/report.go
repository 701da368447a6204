// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package report is what a run of the benchmarks found: rows with their budgets, the machine, the programs. It is written
// as JSON for programs and as Markdown for people, and nothing that was not measured is left out without a reason.
package report

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kopiur/kopiur/e2e/bench/measure"
)

// Report is one run.
type Report struct {
	Started time.Time     `json:"started"`
	Took    time.Duration `json:"took"`
	// Form is "short" or "full".
	Form     string    `json:"form"`
	Commands []string  `json:"commands"`
	Machine  []Fact    `json:"machine"`
	Versions []Fact    `json:"versions"`
	Settings []Fact    `json:"settings"`
	Rows     []Row     `json:"rows"`
	LeftOut  []LeftOut `json:"leftOut,omitempty"`
}

// Fact is something that figures depend on.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// LeftOut is something that was not measured, and why.
type LeftOut struct {
	What string `json:"what"`
	Why  string `json:"why"`
}

// Row is one figure with its budget.
type Row struct {
	// ID is the budget's, with what it was measured on: M1/D2.
	ID    string `json:"id"`
	What  string `json:"what"`
	Value Value  `json:"value"`
	// Bound is absent from rows that are only there to be seen.
	Bound *Bound `json:"bound,omitempty"`
	Sides []Side `json:"sides,omitempty"`
	Note  string `json:"note,omitempty"`
	// Failed is why there is no figure: the run ended, or what it did was wrong.
	Failed string `json:"failed,omitempty"`
}

// Value is a figure and what it counts.
type Value struct {
	measure.Spread
	Unit Unit `json:"unit"`
}

// Unit is what a figure counts.
type Unit string

// Units of figures.
const (
	Times   Unit = "times"
	Seconds Unit = "seconds"
	Bytes   Unit = "bytes"
	Count   Unit = "count"
)

// Bound is a budget and the goal beyond it. Most figures have to stay below theirs, AtLeast turns that around.
type Bound struct {
	Budget  float64 `json:"budget"`
	Stretch float64 `json:"stretch,omitempty"`
	AtLeast bool    `json:"atLeast,omitempty"`
}

// Verdict says how a figure stands to its budget.
type Verdict string

// Verdicts. Open is a row without a budget.
const (
	Missed  Verdict = "missed"
	Met     Verdict = "met"
	Stretch Verdict = "stretch"
	Open    Verdict = "–"
	Failed  Verdict = "failed"
)

// Verdict is the row's.
func (r Row) Verdict() Verdict {
	within := func(limit float64) bool {
		if r.Bound.AtLeast {
			return r.Value.Median >= limit
		}
		return r.Value.Median <= limit
	}
	switch {
	case r.Failed != "":
		return Failed
	case r.Bound == nil:
		return Open
	case !within(r.Bound.Budget):
		return Missed
	case r.Bound.Stretch != 0 && within(r.Bound.Stretch):
		return Stretch
	default:
		return Met
	}
}

// Side is what one program cost, over all rounds.
type Side struct {
	Name string          `json:"name"`
	Wall measure.Spread  `json:"wallSeconds"`
	CPU  measure.Spread  `json:"cpuSeconds"`
	RSS  measure.Spread  `json:"peakBytes"`
	Runs measure.Samples `json:"runs"`
}

// NewSide sums up the runs of one program.
func NewSide(name string, runs measure.Samples) Side {
	return Side{Name: name, Wall: measure.Of(runs.Wall()), CPU: measure.Of(runs.CPU()), RSS: measure.Of(runs.RSS()), Runs: runs}
}

// Add takes over what another run found: its rows in the place of those that are there already.
func (r *Report) Add(next *Report) {
	if len(r.Rows) == 0 {
		*r = *next
		return
	}
	for _, row := range next.Rows {
		r.Rows = slices.DeleteFunc(r.Rows, func(old Row) bool { return old.ID == row.ID })
		r.Rows = append(r.Rows, row)
	}
	r.LeftOut = append(r.LeftOut, next.LeftOut...)
	r.Commands = append(r.Commands, next.Commands...)
	r.Took += next.Took
	r.Sort()
}

// Sort orders rows by suite and number: M2 before M10.
func (r *Report) Sort() {
	slices.SortStableFunc(r.Rows, func(a, b Row) int { return strings.Compare(sortKey(a.ID), sortKey(b.ID)) })
}

func sortKey(id string) string {
	head, rest, _ := strings.Cut(id, "/")
	if len(head) < 2 {
		return id
	}
	n, err := strconv.Atoi(head[1:])
	if err != nil {
		return id
	}
	return fmt.Sprintf("%s%03d/%s", head[:1], n, rest)
}

// Missed are the rows that miss their budget or failed.
func (r *Report) Missed() []Row {
	var out []Row
	for _, row := range r.Rows {
		if v := row.Verdict(); v == Missed || v == Failed {
			out = append(out, row)
		}
	}
	return out
}

// WriteJSON writes the whole report.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	if err := e.Encode(r); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// ReadRows reads rows that another program has measured.
func ReadRows(path string) ([]Row, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the rows: %w", err)
	}
	var rows []Row
	if err := json.Unmarshal(b, &rows); err != nil {
		return nil, fmt.Errorf("read the rows: %w", err)
	}
	return rows, nil
}

// Read reads a report that was written as JSON.
func Read(path string) (*Report, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the report: %w", err)
	}
	r := &Report{}
	if err := json.Unmarshal(b, r); err != nil {
		return nil, fmt.Errorf("read the report: %w", err)
	}
	return r, nil
}
