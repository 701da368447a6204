// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// testsum turns `go test -json` into something to read and something to count.
//
//	go test -json ./... | testsum -out out/test/apis.count   one line per package, the output of what failed
//	testsum -total out/test/*.count                          the closing line: N passed, N failed, N skipped
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
)

func main() {
	total := flag.Bool("total", false, "add up the count files given as arguments")
	out := flag.String("out", "", "file for the counts")
	verbose := flag.Bool("v", false, "print every test as it ends")
	flag.Parse()

	var c counts
	var err error
	if *total {
		c, err = addUp(flag.Args())
		if err == nil {
			fmt.Println(c)
		}
	} else {
		c, err = summarize(os.Stdin, os.Stdout, *verbose)
		if err == nil && *out != "" {
			err = c.save(*out)
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

func (c counts) save(file string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(c.String()+"\n"), 0o600)
}

func addUp(files []string) (counts, error) {
	var sum counts
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			return sum, err
		}
		var c counts
		if _, err := fmt.Sscanf(string(raw), "%d passed, %d failed, %d skipped", &c.Passed, &c.Failed, &c.Skipped); err != nil {
			return sum, fmt.Errorf("read %s: %w", file, err)
		}
		sum.Passed += c.Passed
		sum.Failed += c.Failed
		sum.Skipped += c.Skipped
	}
	return sum, nil
}

func summarize(in io.Reader, out io.Writer, verbose bool) (counts, error) {
	s := newSummary(out, verbose)
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			s.line(line)
		}
		if err == io.EOF {
			return s.finish(), nil
		}
		if err != nil {
			return s.total, err
		}
	}
}
