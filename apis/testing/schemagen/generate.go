// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package schemagen

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// Generator makes values. The same random source gives the same values.
type Generator struct {
	Rand *rand.Rand
	// Optional is how likely a field is there that does not have to be, of 100.
	Optional int
}

// odd are texts that have broken somebody's parser.
var odd = []string{
	"", " ", "a", "0", "-1", "1e3", "0x1", "1.5", "null", "true", "no", "~", "{}", "[]", "''", `"`, `\`, "\n", "a\r\nb", "\t", "\u0001",
	"ä", "日本語", "٣", "e\u0301", "\u202eabc", "🗄️", "a/b", "../../etc/passwd", "/", "//", ".", "..", "a:b@c", "$(VAR)", "{{ .Values.x }}",
	"%s%n", "<script>", "9223372036854775808", "1d", "10m", "0 3 * * *", "2026-01-01T00:00:00Z", "-", "--help", "*", "x\u00a0y", "\ufeffx",
}

// Value makes a value that a schema admits. CEL rules are not looked at, except that of fields that exclude each other
// one is chosen.
func (g *Generator) Value(s Schema) any { return g.value(s, 0) }

// Some is a value that is there: neither null nor false, and no empty list.
func (g *Generator) Some(s Schema) any {
	for range 1000 {
		v := g.Value(s)
		if list, ok := v.([]any); v != nil && v != false && (!ok || len(list) > 0) {
			return v
		}
	}
	panic(fmt.Sprintf("no value for %v", s))
}

func (g *Generator) value(s Schema, depth int) any {
	if s.is("nullable") && g.Rand.IntN(10) == 0 {
		return nil
	}
	if enum := s.list("enum"); len(enum) > 0 {
		return enum[g.Rand.IntN(len(enum))]
	}
	switch {
	case s.is("x-kubernetes-int-or-string"):
		if g.Rand.IntN(2) == 0 {
			return g.integer(s)
		}
		return g.text(s)
	case s.is("x-kubernetes-preserve-unknown-fields"):
		return g.anything(3)
	}
	switch s.text("type") {
	case "object":
		return g.object(s, depth)
	case "array":
		return g.list(s, depth)
	case "string":
		return g.text(s)
	case "integer":
		return g.integer(s)
	case "boolean":
		return g.Rand.IntN(2) == 0
	case "number":
		return g.Rand.NormFloat64()
	default:
		panic(fmt.Sprintf("a schema of type %q is new here", s.text("type")))
	}
}

func (g *Generator) object(s Schema, depth int) any {
	out := map[string]any{}
	if sub(map[string]any(s), "additionalProperties") != nil {
		n := g.between(s.number("minProperties", 0), min(s.number("maxProperties", 3), 3))
		for len(out) < int(n) {
			out[g.plainText(63)] = g.value(sub(map[string]any(s), "additionalProperties"), depth+1)
		}
		return out
	}
	properties, _ := s["properties"].(map[string]any)
	required := s.list("required")
	u, isUnion := s.union()
	chosen := ""
	if isUnion && (u.Needed || g.Rand.IntN(2) == 0) {
		chosen = u.Variants[g.Rand.IntN(len(u.Variants))]
	}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		there := g.Rand.IntN(100) < g.Optional/(1+depth/4)
		if slices.Contains(u.Variants, name) {
			there = name == chosen
		}
		if there || slices.Contains(required, any(name)) {
			out[name] = g.value(s.Property(name), depth+1)
		}
		if name == chosen {
			out[name] = g.Some(s.Property(name))
		}
	}
	return out
}

func (g *Generator) list(s Schema, depth int) any {
	low := s.number("minItems", 0)
	n := g.between(low, max(low, min(s.number("maxItems", 3), 3)))
	out := []any{}
	seen := map[string]bool{}
	for range n {
		item := g.value(s.Items(), depth+1)
		// Lists that are sets or maps take each key once.
		key := fmt.Sprint(item)
		if m, ok := item.(map[string]any); ok {
			var keys []any
			for _, name := range s.list("x-kubernetes-list-map-keys") {
				keys = append(keys, m[fmt.Sprint(name)])
			}
			key = fmt.Sprint(keys...)
		}
		if s.text("x-kubernetes-list-type") != "" && s.text("x-kubernetes-list-type") != "atomic" && seen[key] {
			continue
		}
		seen[key] = true
		out = append(out, item)
	}
	return out
}

func (g *Generator) integer(s Schema) int64 {
	low, high := int64(math.MinInt64), int64(math.MaxInt64)
	if s.text("format") == "int32" || s.is("x-kubernetes-int-or-string") {
		low, high = math.MinInt32, math.MaxInt32
	}
	if s.is("x-kubernetes-int-or-string") {
		low = 0 // as in its pattern
	}
	low, high = s.number("minimum", low), min(high, s.number("maximum", high))
	switch g.Rand.IntN(4) {
	case 0:
		return low
	case 1:
		return high
	default:
		return g.between(low, high)
	}
}

// between includes both ends.
func (g *Generator) between(low, high int64) int64 {
	if width := uint64(high) - uint64(low); width != math.MaxUint64 { //nolint:gosec // two's complement is meant
		return low + int64(g.Rand.Uint64N(width+1)) //nolint:gosec // two's complement is meant
	}
	return int64(g.Rand.Uint64()) //nolint:gosec // any of them
}

func (g *Generator) text(s Schema) string {
	if s.text("format") == "date-time" {
		return fmt.Sprintf("20%02d-0%d-1%dT0%d:00:00Z", g.Rand.IntN(100), 1+g.Rand.IntN(9), g.Rand.IntN(10), g.Rand.IntN(10))
	}
	low, high := int(s.number("minLength", 0)), int(s.number("maxLength", 5000))
	pattern := s.text("pattern")
	for range 1000 {
		text := g.plainText(high)
		if pattern != "" {
			text = g.match(pattern)
		}
		n := utf8.RuneCountInString(text)
		if n < low && pattern == "" {
			text += strings.Repeat("x", low-n)
			n = low
		}
		if low <= n && n <= high && (pattern == "" || regexp.MustCompile(pattern).MatchString(text)) {
			return text
		}
	}
	panic(fmt.Sprintf("no text fits pattern %q with %d to %d characters", pattern, low, high))
}

func (g *Generator) plainText(high int) string {
	switch g.Rand.IntN(8) {
	case 0: // as long as may be
		return strings.Repeat("ö", min(high, 5000))
	case 1:
		b := make([]rune, g.Rand.IntN(min(high, 20)+1))
		for i := range b {
			b[i] = 1 + g.Rand.Int32N(0xD7FF)
		}
		return string(b)
	default:
		text := []rune(odd[g.Rand.IntN(len(odd))])
		return string(text[:min(len(text), high)])
	}
}

// match writes a text that a regular expression matches.
func (g *Generator) match(pattern string) string {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		panic(fmt.Sprintf("pattern %q: %s", pattern, err))
	}
	var out strings.Builder
	g.write(&out, re)
	return out.String()
}

func (g *Generator) write(out *strings.Builder, re *syntax.Regexp) {
	repeat := func(low, high int) {
		for range g.between(int64(low), int64(high)) {
			g.write(out, re.Sub[0])
		}
	}
	switch re.Op {
	case syntax.OpLiteral:
		out.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		i := 2 * g.Rand.IntN(len(re.Rune)/2)
		out.WriteRune(rune(g.between(int64(re.Rune[i]), int64(min(re.Rune[i+1], re.Rune[i]+300))))) //nolint:gosec // a rune
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		out.WriteRune('a' + g.Rand.Int32N(26))
	case syntax.OpStar:
		repeat(0, 5)
	case syntax.OpPlus:
		repeat(1, 5)
	case syntax.OpQuest:
		repeat(0, 1)
	case syntax.OpRepeat:
		repeat(re.Min, max(re.Min, min(re.Max, re.Min+5)))
	case syntax.OpConcat, syntax.OpCapture:
		for _, sub := range re.Sub {
			g.write(out, sub)
		}
	case syntax.OpAlternate:
		g.write(out, re.Sub[g.Rand.IntN(len(re.Sub))])
	default: // begin, end, nothing
	}
}

// anything is JSON of any shape below an object.
func (g *Generator) anything(depth int) map[string]any {
	out := map[string]any{}
	for range g.Rand.IntN(4) {
		var v any
		switch kind := g.Rand.IntN(6); {
		case kind == 0 && depth > 0:
			v = g.anything(depth - 1)
		case kind == 1:
			v = []any{g.plainText(20), true}
		case kind == 2:
			v = g.between(math.MinInt64, math.MaxInt64)
		case kind == 3:
			v = 1.5
		case kind == 4:
			v = false
		default:
			v = g.plainText(20)
		}
		out[g.plainText(20)] = v
	}
	return out
}
