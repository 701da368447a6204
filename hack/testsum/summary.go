// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// event is one line of `go test -json`; see go doc test2json.
type event struct {
	Action, Package, Test, Output string
	ImportPath, FailedBuild       string
	Elapsed                       float64
}

type pkg struct {
	counts
	output  []string            // of the package itself: a panic in TestMain, a missing tag
	tests   map[string][]string // output of each test that still runs
	parents map[string]bool     // tests that have subtests
	failed  map[string]bool     // tests that failed, and every ancestor of one
}

type summary struct {
	out     io.Writer
	verbose bool
	total   counts
	again   []string // every failure, short, for the end of a run whose beginning nobody scrolls back to
	pkgs    map[string]*pkg
	builds  map[string][]string // compiler output by import path
}

func newSummary(out io.Writer, verbose bool) *summary {
	return &summary{out: out, verbose: verbose, pkgs: map[string]*pkg{}, builds: map[string][]string{}}
}

func (s *summary) line(raw []byte) {
	var e event
	if json.Unmarshal(raw, &e) != nil || e.Action == "" {
		// Not from test2json: go itself complaining. Never hide it, but a first run's hundreds of downloads.
		if !bytes.HasPrefix(raw, []byte("go: downloading ")) {
			fmt.Fprint(s.out, string(raw))
		}
		return
	}
	switch {
	case e.Action == "build-output":
		s.builds[e.ImportPath] = append(s.builds[e.ImportPath], e.Output)
	case e.Package == "":
	case e.Test == "":
		s.packageEvent(e)
	default:
		s.testEvent(e)
	}
}

func (s *summary) pkg(name string) *pkg {
	p := s.pkgs[name]
	if p == nil {
		p = &pkg{tests: map[string][]string{}, parents: map[string]bool{}, failed: map[string]bool{}}
		s.pkgs[name] = p
	}
	return p
}

func (s *summary) testEvent(e event) {
	p := s.pkg(e.Package)
	if i := strings.LastIndex(e.Test, "/"); i > 0 {
		p.parents[e.Test[:i]] = true
	}
	switch e.Action {
	case "run":
		p.tests[e.Test] = nil
	case "output":
		p.tests[e.Test] = append(p.tests[e.Test], e.Output)
		if _, figures, ok := strings.Cut(e.Output, ": figures: "); ok {
			fmt.Fprintf(s.out, "count %s %s: %s\n", e.Package, e.Test, strings.TrimSpace(figures))
		}
	case "pass", "skip", "fail":
		s.ended(p, e)
		delete(p.tests, e.Test)
	}
}

// ended counts leaves only: a table with ten rows is ten tests, not eleven. A parent counts when it failed by itself.
func (s *summary) ended(p *pkg, e event) {
	output := strings.Join(p.tests[e.Test], "")
	switch {
	case e.Action == "fail":
		own := !p.failed[e.Test]
		for name := e.Test; name != ""; {
			p.failed[name] = true
			i := max(strings.LastIndex(name, "/"), 0)
			name = name[:i]
		}
		if own {
			p.Failed++
		}
		s.fail(fmt.Sprintf("%s %s (%.1fs)", e.Package, e.Test, e.Elapsed), output, own)
		return
	case p.parents[e.Test]:
		return
	case e.Action == "skip":
		p.Skipped++
		fmt.Fprintf(s.out, "skip  %s %s: %s\n", e.Package, e.Test, reason(p.tests[e.Test]))
		return
	}
	p.Passed++
	if s.verbose {
		fmt.Fprintf(s.out, "pass  %s (%.1fs)\n", e.Test, e.Elapsed)
	}
}

func (s *summary) packageEvent(e event) {
	p := s.pkg(e.Package)
	switch e.Action {
	case "output":
		p.output = append(p.output, e.Output)
	case "fail":
		s.packageFailed(p, e)
		s.close(e.Package, p, "FAIL", e.Elapsed)
	case "pass":
		s.close(e.Package, p, "ok", e.Elapsed)
	case "skip": // no test files
		delete(s.pkgs, e.Package)
	}
}

// packageFailed prints what no test stands for: a build error, a panic, a timeout. Tests that were running then have
// no end of their own; each counts as failed, and a package that failed without any failed test counts as one.
func (s *summary) packageFailed(p *pkg, e event) {
	if e.FailedBuild != "" {
		s.fail(e.Package+" does not build", strings.Join(s.builds[e.FailedBuild], ""), true)
	}
	var running []string
	for name := range p.tests {
		if !p.parents[name] {
			running = append(running, name)
		}
	}
	slices.Sort(running)
	for _, name := range running {
		p.Failed++
		s.fail(e.Package+" "+name+" (did not end)", strings.Join(p.tests[name], ""), true)
	}
	if p.Failed == 0 {
		p.Failed = 1
		s.fail(e.Package, strings.Join(p.output, ""), e.FailedBuild == "")
	}
}

// fail prints a failure, and keeps its last lines where it is nobody else's.
func (s *summary) fail(what, output string, own bool) {
	text := indent(output)
	fmt.Fprintf(s.out, "FAIL  %s\n%s", what, text)
	if !own {
		return
	}
	lines := slices.Collect(strings.Lines(text))
	s.again = append(s.again, "FAIL  "+what+"\n"+strings.Join(lines[max(0, len(lines)-linesAgain):], ""))
}

// linesAgain is as many lines of a failure as are repeated: an assertion with its place, both values and a message.
const linesAgain = 16

func (s *summary) close(name string, p *pkg, word string, elapsed float64) {
	fmt.Fprintf(s.out, "%-5s %s: %s (%.1fs)\n", word, name, p.counts, elapsed)
	s.total.Passed += p.Passed
	s.total.Failed += p.Failed
	s.total.Skipped += p.Skipped
	delete(s.pkgs, name)
}

// finish accounts for packages that never ended: go test was killed, or its output cut off.
func (s *summary) finish() counts {
	for name, p := range s.pkgs {
		s.packageFailed(p, event{Package: name})
		s.close(name, p, "FAIL", 0)
	}
	return s.total
}

func indent(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if trimmed := strings.TrimSpace(line); strings.HasPrefix(trimmed, "=== ") {
			continue // RUN, PAUSE, CONT: the event says it already
		}
		b.WriteString("      ")
		b.WriteString(strings.TrimRight(line, "\n"))
		b.WriteString("\n")
	}
	return b.String()
}

// reason is what the test said last before it skipped.
func reason(output []string) string {
	for _, line := range slices.Backward(output) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "--- ") && !strings.HasPrefix(line, "=== ") {
			return line
		}
	}
	return "no reason given"
}
