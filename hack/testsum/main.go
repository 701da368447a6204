// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// testsum turns `go test -json` into something to read and something to count.
//
//	go test -json ./... | testsum -out out/test/apis.count   one line per package, the output of what failed
//	testsum -total out/test/*.count                          what failed, again, and the closing line: N passed, N failed, N skipped
//
// What a test logs behind "figures: " is printed in any case: how often something was tried that is a count of its own.
// It exists because `go test` prints no totals, and a suite whose size nobody sees can shrink unnoticed.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	total := flag.Bool("total", false, "add up the count files given as arguments")
	out := flag.String("out", "", "file for the counts")
	verbose := flag.Bool("v", false, "print every test as it ends")
	flag.Parse()

	var c counts
	var err error
	if *total {
		var failures string
		c, failures, err = addUp(flag.Args())
		if err == nil {
			fmt.Print(failures)
			fmt.Println(c)
		}
	} else {
		var failures []string
		c, failures, err = summarize(os.Stdin, os.Stdout, *verbose)
		if err == nil && *out != "" {
			err = c.save(*out, failures)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "testsum:", err)
		os.Exit(2)
	}
	if c.Failed > 0 {
		os.Exit(1)
	}
}

// counts is what the closing line says.
type counts struct{ Passed, Failed, Skipped int }

func (c counts) String() string {
	return fmt.Sprintf("%d passed, %d failed, %d skipped", c.Passed, c.Failed, c.Skipped)
}

// save writes the counts into the first line, and below it the failures.
func (c counts) save(file string, failures []string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(c.String()+"\n"+strings.Join(failures, "")), 0o600)
}

func addUp(files []string) (sum counts, failed string, err error) {
	var failures strings.Builder
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			return sum, "", err
		}
		first, rest, _ := strings.Cut(string(raw), "\n")
		var c counts
		if _, err := fmt.Sscanf(first, "%d passed, %d failed, %d skipped", &c.Passed, &c.Failed, &c.Skipped); err != nil {
			return sum, "", fmt.Errorf("read %s: %w", file, err)
		}
		failures.WriteString(rest)
		sum.Passed += c.Passed
		sum.Failed += c.Failed
		sum.Skipped += c.Skipped
	}
	if failures.Len() > 0 {
		failed = "Failed:\n" + failures.String() + "\n"
	}
	return sum, failed, nil
}

func summarize(in io.Reader, out io.Writer, verbose bool) (counts, []string, error) {
	s := newSummary(out, verbose)
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			s.line(line)
		}
		if err == io.EOF {
			return s.finish(), s.again, nil
		}
		if err != nil {
			return s.total, s.again, err
		}
	}
}
