// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kopiur/kopiur/e2e/bench/measure"
)

// Section of a page that is written by a run. What is outside of its markers is written by people.
type Section string

// Sections.
const (
	Mover      Section = "bench"
	Controller Section = "bench-controller"
)

func (s Section) markers() (begin, end string) {
	return "<!-- " + string(s) + ":begin: written by `make bench`, edit outside -->", "<!-- " + string(s) + ":end -->"
}

var errNoMarkers = errors.New("the page lacks the markers between which results go")

// Splice puts the results into a page between the markers of a section.
func Splice(page string, section Section, results string) (string, error) {
	begin, end := section.markers()
	head, rest, ok := strings.Cut(page, begin)
	_, tail, closed := strings.Cut(rest, end)
	if !ok || !closed {
		return "", fmt.Errorf("%w: %q and %q", errNoMarkers, begin, end)
	}
	return head + begin + "\n\n" + strings.TrimSpace(results) + "\n\n" + end + tail, nil
}

// Markdown is the report for people: budgets first, then what each program cost, then what it was measured on.
func (r *Report) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Measured on %s, the %s form, in %s.", r.Started.UTC().Format("2006-01-02 15:04 UTC"), r.Form, duration(r.Took))
	if slices.ContainsFunc(r.Rows, func(row Row) bool { return row.Value.Unit == Times }) {
		b.WriteString(" A ratio is that of the medians, with the range of the rounds' own ratios.")
	}
	b.WriteString("\n\n")
	b.WriteString("| row | what | measured | budget | stretch | verdict |\n|---|---|---|---|---|---|\n")
	for _, row := range r.Rows {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", row.ID, cell(row.What), row.figure(), row.limit(false), row.limit(true), row.verdict())
	}
	if len(r.LeftOut) > 0 {
		b.WriteString("\nLeft out:\n\n")
		for _, l := range r.LeftOut {
			fmt.Fprintf(&b, "- %s: %s\n", l.What, l.Why)
		}
	}
	r.costs(&b)
	facts(&b, "The machine", r.Machine)
	facts(&b, "The programs", r.Versions)
	facts(&b, "The settings", r.Settings)
	b.WriteString("\n### Commands\n\n```sh\n" + strings.Join(r.Commands, "\n") + "\n```\n")
	return b.String()
}

// costs are what the programs of rows that compare some have cost.
func (r *Report) costs(b *strings.Builder) {
	if !slices.ContainsFunc(r.Rows, func(row Row) bool { return len(row.Sides) > 0 }) {
		return
	}
	b.WriteString("\n### What each program cost\n\nMedians of wall time and of user and system time in seconds, with the range, and the highest resident memory.\n\n")
	b.WriteString("| row | program | wall | CPU | peak RSS | rounds |\n|---|---|---|---|---|---|\n")
	for _, row := range r.Rows {
		for _, s := range row.Sides {
			fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %d |\n", row.ID, cell(s.Name), spread(s.Wall, seconds), spread(s.CPU, seconds), mib(s.RSS.Max), s.Wall.N)
		}
	}
}

func facts(b *strings.Builder, title string, list []Fact) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(b, "\n### %s\n\n", title)
	for _, f := range list {
		fmt.Fprintf(b, "- %s: %s\n", f.Name, f.Value)
	}
}

func (r Row) verdict() string {
	v := r.Verdict()
	text := string(v)
	if v == Missed || v == Failed {
		text = "**" + text + "**"
	}
	if r.Failed != "" {
		return text + ": " + cell(r.Failed)
	}
	if r.Note != "" {
		text += "; " + cell(r.Note)
	}
	return text
}

func (r Row) figure() string {
	if r.Failed != "" {
		return "–"
	}
	return spread(r.Value.Spread, r.Value.Unit.format)
}

func (r Row) limit(stretch bool) string {
	if r.Bound == nil || stretch && r.Bound.Stretch == 0 {
		return "–"
	}
	v, sign := r.Bound.Budget, "≤"
	if stretch {
		v = r.Bound.Stretch
	}
	if r.Bound.AtLeast {
		sign = "≥"
	}
	if r.Value.Unit == Count {
		return fmt.Sprintf("%s %.4g", sign, v)
	}
	return sign + " " + r.Value.Unit.format(v)
}

func (u Unit) format(v float64) string {
	switch u {
	case Times:
		return fmt.Sprintf("%.2f×", v)
	case Seconds:
		return seconds(v) + " s"
	case Bytes:
		return mib(v)
	default:
		return fmt.Sprintf("%.4g", v)
	}
}

func seconds(v float64) string {
	if v < 10 {
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.1f", v)
}

func mib(v float64) string { return fmt.Sprintf("%.0f MiB", v/(1<<20)) }

// spread is a median with its range, or the figure alone where there was one.
func spread(s measure.Spread, format func(float64) string) string {
	if s.N < 2 {
		return format(s.Median)
	}
	return fmt.Sprintf("%s (%s to %s)", format(s.Median), format(s.Min), format(s.Max))
}

// cell keeps text in its cell of a table.
func cell(s string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "|", "\\|")
}

func duration(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	return fmt.Sprintf("%.0f min", d.Minutes())
}
