// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math/bits"
	"regexp"
	"strconv"
	"strings"

	"github.com/robfig/cron/v3"
)

// Cron is a parsed expression. The zero value never fires.
type Cron struct {
	text                          string
	minute, hour, dom, month, dow uint64
	// Of day of month and day of week, a field without a restriction leaves the choice to the other one; if both
	// restrict, a day that satisfies either fires.
	either bool
}

// starBit is how the parser marks a field that was written as a star.
const starBit = 1 << 63

var (
	parser = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)
	item   = regexp.MustCompile(`^(?:\*|([0-9]{1,2}|[A-Za-z]{3})(?:-([0-9]{1,2}|[A-Za-z]{3}))?)(?:/([0-9]{1,3}))?$`)
)

// field is one of the five. Of hashWidth values from min, H picks one: days stop at 28, so that every month has it.
type field struct {
	name, names         string
	min, max, hashWidth uint64
}

var fields = [5]field{
	{"minute", "", 0, 59, 60},
	{"hour", "", 0, 23, 24},
	{"day of month", "", 1, 31, 28},
	{"month", "jan feb mar apr may jun jul aug sep oct nov dec", 1, 12, 12},
	{"day of week", "sun mon tue wed thu fri sat", 0, 6, 7},
}

// Parse reads a five-field cron expression. A field that is the single letter H takes a value that follows from seed,
// the object's "namespace/name". Every error says what to write instead.
func Parse(expr, seed string) (Cron, error) {
	tokens := strings.Fields(expr)
	if err := shape(expr, tokens); err != nil {
		return Cron{}, err
	}
	for i, f := range fields {
		if tokens[i] == "H" {
			tokens[i] = strconv.FormatUint(f.hash(i, seed), 10)
			continue
		}
		for part := range strings.SplitSeq(tokens[i], ",") {
			if err := f.check(tokens[i], part); err != nil {
				return Cron{}, err
			}
		}
	}
	c := Cron{text: strings.Join(tokens, " ")}
	parsed, err := parser.Parse(c.text)
	if err != nil {
		return Cron{}, fmt.Errorf("cron expression %q is not understood: %w", expr, err)
	}
	s, ok := parsed.(*cron.SpecSchedule)
	if !ok {
		return Cron{}, fmt.Errorf("cron expression %q is not understood", expr)
	}
	c.minute, c.hour, c.dom, c.month, c.dow = s.Minute, s.Hour, s.Dom, s.Month, s.Dow
	c.either = s.Dom&starBit == 0 && s.Dow&starBit == 0
	if !c.fires() {
		resolved := ""
		if c.text != strings.Join(strings.Fields(expr), " ") {
			resolved = fmt.Sprintf(" (here %q)", c.text)
		}
		return Cron{}, fmt.Errorf("cron expression %q%s never fires: none of its months has such a day; write one that they have, such as 28", expr, resolved)
	}
	return c, nil
}

// String is the expression with its H fields replaced by their values.
func (c Cron) String() string { return c.text }

// SubHourly reports whether some hours see more than one run.
func (c Cron) SubHourly() bool { return bits.OnesCount64(c.minute&^starBit) > 1 }

// shape refuses what is no five fields, and the notations of other programs by their names.
func shape(expr string, tokens []string) error {
	switch {
	case len(tokens) == 0:
		return errors.New(`the cron expression is empty: write five fields, such as "0 3 * * *"`)
	case strings.HasPrefix(tokens[0], "TZ=") || strings.HasPrefix(tokens[0], "CRON_TZ="):
		return fmt.Errorf("%s does not belong into the cron expression: write the zone into timezone, such as timezone: Europe/Berlin", tokens[0])
	case strings.HasPrefix(tokens[0], "@"):
		return fmt.Errorf("%s is not understood: write five fields, such as %q", tokens[0], instead(tokens[0]))
	case len(tokens) == 6:
		return fmt.Errorf("cron expression %q has six fields, but there are no seconds and no years: write five fields: minute, hour, day of month, month and day of week", expr)
	case len(tokens) != 5:
		return fmt.Errorf("cron expression %q has %d of five fields: minute, hour, day of month, month and day of week", expr, len(tokens))
	}
	return nil
}

// instead is what an @ shorthand stands for.
func instead(shorthand string) string {
	switch shorthand {
	case "@yearly", "@annually":
		return "H H H H *"
	case "@monthly":
		return "H H H * *"
	case "@weekly":
		return "H H * * H"
	case "@hourly":
		return "H * * * *"
	default:
		return "H H * * *"
	}
}

// hash is the value of H in field i. The formula is frozen.
func (f field) hash(i int, seed string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(seed))
	return f.min + bits.RotateLeft64(h.Sum64(), (i+1)*7)%f.hashWidth
}

// check refuses a part of a field with a sentence of its own for every mistake. The parser proper is more lenient, and
// takes some mistakes for something else.
func (f field) check(whole, part string) error {
	switch {
	case part == "":
		return fmt.Errorf("%s %q has an empty part: remove the extra comma", f.name, whole)
	case strings.Contains(part, "?"):
		return fmt.Errorf("%s %q: ? is not understood, write *", f.name, whole)
	case part[0] == 'H' || part == "h":
		return fmt.Errorf("%s %q: H stands alone in its field, without a step, a range or a list: write H for a value that follows from the object's name, or numbers", f.name, whole)
	case strings.ContainsAny(part, "LW#") && !strings.ContainsAny(part, "abcdefghijklmnopqrstuvwxyz") && item.FindString(part) == "":
		return fmt.Errorf("%s %q: L, W and # are not understood: write days as numbers or names", f.name, whole)
	}
	m := item.FindStringSubmatch(part)
	if m == nil {
		return fmt.Errorf("%s %q is not understood: write *, a value, a range such as %d-%d, or one of them with a step such as */2; several with commas",
			f.name, whole, f.min+1, f.min+3)
	}
	var last uint64
	for i, text := range m[1:3] {
		if text == "" {
			continue
		}
		v, err := f.value(whole, text)
		if err != nil {
			return err
		}
		if i == 1 && v < last {
			return fmt.Errorf("%s %q runs backwards: write its two parts with a comma between them, such as %s-%s,%s-%s", f.name, whole, m[1], f.last(), f.first(), m[2])
		}
		last = v
	}
	if m[3] != "" && strings.Trim(m[3], "0") == "" {
		return fmt.Errorf("%s %q: a step is at least 1", f.name, whole)
	}
	return nil
}

// first and last are the ends of the field, by name where it has names.
func (f field) first() string {
	if f.names != "" {
		return f.names[:3]
	}
	return strconv.FormatUint(f.min, 10)
}

func (f field) last() string {
	if f.names != "" {
		return f.names[len(f.names)-3:]
	}
	return strconv.FormatUint(f.max, 10)
}

// value reads a number or a name.
func (f field) value(whole, text string) (uint64, error) {
	v, err := strconv.ParseUint(text, 10, 8)
	if err != nil {
		at := strings.Index(f.names, strings.ToLower(text))
		if at < 0 || at%4 != 0 {
			if f.names == "" {
				return 0, fmt.Errorf("%s %q is not understood: write numbers from %d to %d", f.name, whole, f.min, f.max)
			}
			return 0, fmt.Errorf("%s %q: there is no %s: the names are %s", f.name, whole, text, f.names)
		}
		return f.min + uint64(at/4), nil
	}
	switch {
	case f.name == "day of week" && v == 7:
		return 0, fmt.Errorf("day of week %q: Sunday is 0 or sun, not 7", whole)
	case v < f.min || v > f.max:
		return 0, fmt.Errorf("%s %q: %s is out of range, write %d to %d", f.name, whole, text, f.min, f.max)
	}
	return v, nil
}

// longest month, by number; February in a leap year.
var longest = [13]int{0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}

// fires reports whether there is a day at all: 30 February is none.
func (c Cron) fires() bool {
	if c.either {
		return true
	}
	for m := 1; m <= 12; m++ {
		if c.month&(1<<m) != 0 && c.dom&(1<<(longest[m]+1)-2) != 0 {
			return true
		}
	}
	return false
}
