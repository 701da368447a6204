// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// shown is how many differences are printed; a tree that is wholly different needs no more to be understood.
const shown = 50

func (a app) compare(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("compare", flag.ContinueOnError)
	ignore := flags.String("ignore", "", "fields not to compare: type, mode, uid, gid, size, mtime, target, sha256")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if err := want(flags.Args(), "A", "B"); err != nil {
		return err
	}
	left, err := a.load(ctx, flags.Arg(0))
	if err != nil {
		return err
	}
	right, err := a.load(ctx, flags.Arg(1))
	if err != nil {
		return err
	}
	skip, err := parseIgnore(*ignore)
	if err != nil {
		return err
	}
	differences := diff(left, right, skip)
	for _, line := range differences[:min(shown, len(differences))] {
		fmt.Fprintln(a.out, line)
	}
	if len(differences) > 0 {
		fmt.Fprintf(a.out, "%d differences\n", len(differences))
		return exitError(1)
	}
	fmt.Fprintf(a.out, "%d entries are the same\n", len(left))
	return nil
}

// fields are what is compared, each as text.
var fields = map[string]func(item) string{
	"type":   func(i item) string { return i.Type },
	"mode":   func(i item) string { return i.Mode },
	"uid":    func(i item) string { return fmt.Sprint(i.UID) },
	"gid":    func(i item) string { return fmt.Sprint(i.GID) },
	"size":   func(i item) string { return fmt.Sprint(i.Size) },
	"mtime":  func(i item) string { return fmt.Sprint(i.Mtime) },
	"target": func(i item) string { return i.Target },
	"sha256": func(i item) string { return i.SHA256 },
}

func parseIgnore(text string) (map[string]bool, error) {
	skip := map[string]bool{}
	for name := range strings.SplitSeq(text, ",") {
		if name == "" {
			continue
		}
		if fields[name] == nil {
			return nil, fmt.Errorf("--ignore %s: no such field", name)
		}
		skip[name] = true
	}
	return skip, nil
}

// diff lists what is only on one side and what differs, sorted by path.
func diff(left, right []item, skip map[string]bool) []string {
	byPath := func(items []item) map[string]item {
		all := make(map[string]item, len(items))
		for _, i := range items {
			all[i.Path] = i
		}
		return all
	}
	a, b := byPath(left), byPath(right)
	paths := map[string]bool{}
	for path := range a {
		paths[path] = true
	}
	for path := range b {
		paths[path] = true
	}
	var lines []string
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		one, inA := a[path]
		other, inB := b[path]
		switch {
		case !inB:
			lines = append(lines, fmt.Sprintf("%q: only in the first", path))
			continue
		case !inA:
			lines = append(lines, fmt.Sprintf("%q: only in the second", path))
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			if x, y := fields[name](one), fields[name](other); x != y && !skip[name] {
				lines = append(lines, fmt.Sprintf("%q: %s is %q and %q", path, name, x, y))
			}
		}
	}
	return lines
}
