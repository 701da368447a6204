// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSummarize(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		events string
		want   counts
		prints string
	}{
		"a table counts its rows, not itself": {
			`{"Action":"run","Package":"p","Test":"T"}
			 {"Action":"run","Package":"p","Test":"T/a"}
			 {"Action":"run","Package":"p","Test":"T/b"}
			 {"Action":"pass","Package":"p","Test":"T/a"}
			 {"Action":"pass","Package":"p","Test":"T/b"}
			 {"Action":"pass","Package":"p","Test":"T"}
			 {"Action":"pass","Package":"p"}`, counts{Passed: 2}, "ok    p: 2 passed",
		},
		"a failed row is one failure and its output is shown": {
			`{"Action":"run","Package":"p","Test":"T"}
			 {"Action":"run","Package":"p","Test":"T/a"}
			 {"Action":"output","Package":"p","Test":"T/a","Output":"boom\n"}
			 {"Action":"fail","Package":"p","Test":"T/a"}
			 {"Action":"fail","Package":"p","Test":"T"}
			 {"Action":"fail","Package":"p"}`, counts{Failed: 1}, "      boom",
		},
		"a parent that fails by itself counts": {
			`{"Action":"run","Package":"p","Test":"T"}
			 {"Action":"run","Package":"p","Test":"T/a"}
			 {"Action":"pass","Package":"p","Test":"T/a"}
			 {"Action":"fail","Package":"p","Test":"T"}
			 {"Action":"fail","Package":"p"}`, counts{Passed: 1, Failed: 1}, "FAIL  p T",
		},
		"a skip says why": {
			`{"Action":"run","Package":"p","Test":"T"}
			 {"Action":"output","Package":"p","Test":"T","Output":"needs root\n"}
			 {"Action":"output","Package":"p","Test":"T","Output":"--- SKIP: T\n"}
			 {"Action":"skip","Package":"p","Test":"T"}
			 {"Action":"pass","Package":"p"}`, counts{Skipped: 1}, "needs root",
		},
		"figures are printed, though the test passes": {
			`{"Action":"run","Package":"p","Test":"T"}
			 {"Action":"output","Package":"p","Test":"T","Output":"    a_test.go:7: figures: 200 kills\n"}
			 {"Action":"pass","Package":"p","Test":"T"}
			 {"Action":"pass","Package":"p"}`, counts{Passed: 1}, "count p T: 200 kills",
		},
		"a package that does not build is one failure": {
			`{"Action":"build-output","ImportPath":"p","Output":"x.go:1: bad\n"}
			 {"Action":"build-fail","ImportPath":"p"}
			 {"Action":"fail","Package":"p","FailedBuild":"p"}`, counts{Failed: 1}, "x.go:1: bad",
		},
		"a test that never ends is a failure": {
			`{"Action":"run","Package":"p","Test":"T"}
			 {"Action":"output","Package":"p","Test":"T","Output":"panic: timed out\n"}
			 {"Action":"fail","Package":"p"}`, counts{Failed: 1}, "panic: timed out",
		},
		"output cut off is a failure": {
			`{"Action":"run","Package":"p","Test":"T"}`, counts{Failed: 1}, "did not end",
		},
		"what is no event is passed on": {
			`go: updates to go.mod needed`, counts{}, "go: updates",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			got, again, err := summarize(strings.NewReader(tc.events+"\n"), &out, false)
			if err != nil {
				t.Fatal(err)
			}
			if got != tc.want {
				t.Errorf("got %v, want %v\n%s", got, tc.want, out.String())
			}
			if !strings.Contains(out.String(), tc.prints) {
				t.Errorf("printed %q, want %q in it", out.String(), tc.prints)
			}
			if len(again) != got.Failed {
				t.Errorf("%d failures, and %d to be shown again: %q", got.Failed, len(again), again)
			}
			for _, failure := range again {
				if !strings.HasPrefix(failure, "FAIL  p") || !strings.Contains(out.String(), failure) {
					t.Errorf("shown again: %q, of %q", failure, out.String())
				}
			}
		})
	}
}

func TestAddUp(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	if err := (counts{1, 2, 3}).save(a, []string{"FAIL  p T\n      boom\n", "FAIL  p U\n"}); err != nil {
		t.Fatal(err)
	}
	if err := (counts{10, 0, 1}).save(b, nil); err != nil {
		t.Fatal(err)
	}
	got, failures, err := addUp([]string{a, b})
	if err != nil || got != (counts{11, 2, 4}) || failures != "Failed:\nFAIL  p T\n      boom\nFAIL  p U\n\n" {
		t.Errorf("got %v, %q, %v", got, failures, err)
	}
	if _, failures, _ := addUp([]string{b}); failures != "" {
		t.Errorf("nothing failed, and it prints %q", failures)
	}
	if err := os.WriteFile(a, []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := addUp([]string{a}); err == nil {
		t.Error("a damaged count file must not read as zero")
	}
}

// What is shown again is the end of a failure, where the assertion is, and not its thousand lines.
func TestALongFailureIsCut(t *testing.T) {
	t.Parallel()
	var events strings.Builder
	events.WriteString(`{"Action":"run","Package":"p","Test":"T"}` + "\n")
	for i := range 1000 {
		fmt.Fprintf(&events, `{"Action":"output","Package":"p","Test":"T","Output":"line %d\n"}`+"\n", i)
	}
	events.WriteString(`{"Action":"fail","Package":"p","Test":"T"}` + "\n")
	_, again, err := summarize(strings.NewReader(events.String()), io.Discard, false)
	if err != nil || len(again) != 1 {
		t.Fatalf("%d failures, %v", len(again), err)
	}
	if got := strings.Count(again[0], "\n"); got != linesAgain+1 || !strings.HasSuffix(again[0], "line 999\n") {
		t.Errorf("%d lines: %q", got, again[0])
	}
}
