// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package term_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/mover/internal/term"
)

func fixed() time.Time { return time.Date(2026, 3, 5, 2, 0, 0, 0, time.UTC) }

func events(t *testing.T, b []byte) []work.Event {
	t.Helper()
	var out []work.Event
	for line := range bytes.Lines(b) {
		e, ok := work.DecodeEvent(line)
		require.True(t, ok, "%s", line)
		out = append(out, e)
	}
	return out
}

func TestRedactor(t *testing.T) {
	t.Parallel()
	var r term.Redactor
	r.Add("p@ss w\"rd\n", "key+/key", "abc", "key+/key-and-more", "")
	for in, want := range map[string]string{
		"the password p@ss w\"rd\n is here": "the password [redacted] is here",
		"trimmed: p@ss w\"rd.":              "trimmed: [redacted].",
		"in a URL: key%2B%2Fkey":            "in a URL: [redacted]",
		`in JSON: p@ss w\"rd\n`:             "in JSON: [redacted]",
		"the longer one: key+/key-and-more": "the longer one: [redacted]",
		"abc is too short to hide":          "abc is too short to hide",
	} {
		assert.Equal(t, want, r.Text(in))
	}
	res := work.Result{
		Operation: "key+/key", Message: "key+/key", Warning: "key+/key", Snapshot: &work.SnapshotResult{Unstored: &work.Unstored{Paths: []work.EntryFault{{Path: "a/key+/key", Reason: "key+/key"}}}},
		Restore: &work.RestoreResult{Ownership: work.Ownership{Paths: []work.EntryFault{{Path: "key+/key"}}}},
	}
	got := r.Result(res)
	assert.Equal(t, "key+/key", got.Operation, "the protocol's own words stay: the controller could not read the result without them")
	got.Operation = ""
	assert.NotContains(t, fmt.Sprintf("%+v %+v %+v", got, *got.Snapshot.Unstored, *got.Restore), "key+/key")
	assert.Equal(t, "a/key+/key", res.Snapshot.Unstored.Paths[0].Path, "the caller's value is untouched")
}

func TestWriteResult(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "termination-log")
	require.NoError(t, os.WriteFile(path, []byte(strings.Repeat("old", 5000)), 0o600))
	require.NoError(t, term.WriteResult(path, work.Result{Operation: "snapshot", Code: work.CodeUnknown, Message: strings.Repeat("é", 9000)}))
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.LessOrEqual(t, len(b), work.MaxResultBytes)
	r, err := work.DecodeResult(string(b))
	require.NoError(t, err)
	assert.Equal(t, work.CodeUnknown, r.Code)
	require.Error(t, term.WriteResult(filepath.Join(path, "below-a-file"), r))
}

// The golden files are the controller's, too.
func TestGoldenResultsAreWrittenByteForByte(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../../apis/work/testdata/result-*.golden.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) {
			t.Parallel()
			want, err := os.ReadFile(f)
			require.NoError(t, err)
			r, err := work.DecodeResult(string(want))
			require.NoError(t, err)
			path := filepath.Join(t.TempDir(), "termination-log")
			require.NoError(t, term.WriteResult(path, (&term.Redactor{}).Result(r)))
			got, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.Equal(t, strings.TrimSpace(string(want)), string(got))
		})
	}
}

// G-2: what a mover says is bounded.
func TestStreamKeepsRoomForTheResult(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := term.NewStream(&out, fixed, &term.Redactor{})
	for i := range 4000 {
		s.Log("info", fmt.Sprint(i, strings.Repeat("x", 4000)))
	}
	s.Result(work.Result{Operation: "snapshot", Code: work.CodeOK, Message: strings.Repeat("m", 5000)})
	assert.LessOrEqual(t, out.Len(), work.MaxStreamBytes)
	all := events(t, out.Bytes())
	assert.Equal(t, work.EventResult, all[len(all)-1].Type)
	assert.Contains(t, all[len(all)-2].Message, "further lines are left out")
}

func TestStreamDoesNotRepeatItself(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := term.NewStream(&out, fixed, &term.Redactor{})
	for range 1000 {
		s.Log("warn", "the store says no")
	}
	s.Log("warn", "something else")
	all := events(t, out.Bytes())
	assert.Len(t, all, 21)
	assert.Contains(t, all[19].Message, "left out")
	assert.Equal(t, "something else", all[20].Message)
}

func TestStreamRedacts(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	r := &term.Redactor{}
	r.Add("hunter22")
	s := term.NewStream(&out, fixed, r)
	s.Log("warn", "password hunter22")
	all := events(t, out.Bytes())
	require.Len(t, all, 1)
	assert.Equal(t, "password [redacted]", all[0].Message)
	assert.Equal(t, fixed(), all[0].Time)
}

func TestMeter(t *testing.T) {
	t.Parallel()
	m := term.NewMeter(fixed())
	p := m.Next(fixed().Add(5*time.Second), term.Sample{Bytes: 500, Files: 5, TotalBytes: 1500, TotalFiles: 15})
	assert.Equal(t, work.Progress{BytesProcessed: 500, FilesProcessed: 5, BytesTotal: 1500, FilesTotal: 15, BytesPerSecond: 100, ETASeconds: 10}, p)
	p = m.Next(fixed().Add(10*time.Second), term.Sample{Bytes: 500, TotalBytes: 1500})
	assert.Equal(t, int64(70), p.BytesPerSecond, "one pause does not make it zero")
	p = m.Next(fixed().Add(15*time.Second), term.Sample{Bytes: 2000, TotalBytes: 1500})
	assert.Zero(t, p.ETASeconds, "no estimate rather than a wrong one")
	p = term.NewMeter(fixed()).Next(fixed(), term.Sample{TotalBytes: 5})
	assert.Zero(t, p.BytesPerSecond)
	assert.Zero(t, p.ETASeconds)
}

func TestReportFollowsTheProtocolsIntervals(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	now := fixed()
	s := term.NewStream(&out, func() time.Time { return now }, &term.Redactor{})
	ctx, cancel := context.WithCancel(t.Context())
	var waits []time.Duration
	after := func(d time.Duration) <-chan time.Time {
		waits = append(waits, d)
		now = now.Add(d)
		ch := make(chan time.Time, 1)
		if len(waits) > 14 {
			cancel()
		} else {
			ch <- now
		}
		return ch
	}
	s.Report(ctx, func() term.Sample { return term.Sample{Bytes: 1} }, after)
	for i, w := range waits[:12] {
		assert.Equal(t, 5*time.Second, w, i)
	}
	assert.Equal(t, 30*time.Second, waits[12])
	assert.Len(t, events(t, out.Bytes()), 14)
}

func TestPagesLeaveRoomForTheLog(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	r := &term.Redactor{}
	r.Add("hunter22")
	s := term.NewStream(&out, fixed, r)
	page := work.Page{Snapshots: []work.CatalogEntry{{
		SnapshotID: "aabb", Description: strings.Repeat("hunter22 ", 1000), Tags: map[string]string{"note": "hunter22"},
	}}}
	n := 0
	for s.Page(page) {
		n++
	}
	assert.Positive(t, n)
	assert.Equal(t, "hunter22", page.Snapshots[0].Tags["note"], "the caller's value is untouched")
	assert.False(t, s.Page(page), "what does not fit is not written at all")
	s.Log("warn", "the log goes on")
	s.Result(work.Result{Operation: "bootstrap", Code: work.CodeOK})
	assert.LessOrEqual(t, out.Len(), work.MaxStreamBytes)
	assert.NotContains(t, out.String(), "hunter22")
	all := events(t, out.Bytes())
	assert.Len(t, all, n+2)
	assert.Equal(t, "the log goes on", all[n].Message)
	assert.Equal(t, "aabb", all[0].Page.Snapshots[0].SnapshotID)
}
