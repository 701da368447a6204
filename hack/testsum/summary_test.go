// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
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
			got, err := summarize(strings.NewReader(tc.events+"\n"), &out, false)
			if err != nil {
				t.Fatal(err)
			}
			if got != tc.want {
				t.Errorf("got %v, want %v\n%s", got, tc.want, out.String())
			}
			if !strings.Contains(out.String(), tc.prints) {
				t.Errorf("printed %q, want %q in it", out.String(), tc.prints)
			}
		})
	}
}

func TestAddUp(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	if err := (counts{1, 2, 3}).save(a); err != nil {
		t.Fatal(err)
	}
	if err := (counts{10, 0, 1}).save(b); err != nil {
		t.Fatal(err)
	}
	got, err := addUp([]string{a, b})
	if err != nil || got != (counts{11, 2, 4}) {
		t.Errorf("got %v, %v", got, err)
	}
	if err := os.WriteFile(a, []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := addUp([]string{a}); err == nil {
		t.Error("a damaged count file must not read as zero")
	}
}
