// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package printer_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kopiur/kopiur/kopiurctl/internal/printer"
)

func TestBytes(t *testing.T) {
	t.Parallel()
	for want, n := range map[string]int64{
		"0 B": 0, "1023 B": 1023, "1.0 KiB": 1024, "99.9 MiB": 104752742, "100 MiB": 104857600, "1023 MiB": 1072693248,
		"1.0 GiB": 1 << 30, "8.0 EiB": 1<<63 - 1,
	} {
		assert.Equal(t, want, printer.Bytes(n))
	}
}

func TestSince(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 5, 9, 0, 0, 0, time.UTC)
	assert.Equal(t, "5h", printer.Since(now.Add(-5*time.Hour), now))
	assert.Equal(t, "0s", printer.Since(now.Add(time.Hour), now), "a clock that is behind makes nothing older than it is")
	assert.Empty(t, printer.Since(time.Time{}, now))
	assert.Empty(t, printer.Since(printer.Time("yesterday"), now))
}

// What comes out of a cluster was written by whoever may write there.
func TestTableIsHarmless(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	columns := []printer.Column[string]{
		{Name: "TEXT", Of: func(s string) string { return s }},
		{Name: "MORE", Wide: true, Of: func(string) string { return "x" }},
	}
	require.NoError(t, printer.Table(&b, false, columns, []string{"a\x1b[2Jb", "two\nlines\r", ""}))
	assert.Equal(t, "TEXT\na^[[2Jb\ntwo lines\n<none>\n", b.String())
	b.Reset()
	require.NoError(t, printer.Table(&b, true, columns, []string{"a"}))
	assert.Equal(t, "TEXT   MORE\na      x\n", b.String())
	b.Reset()
	require.NoError(t, printer.Table(&b, true, columns, nil))
	assert.Empty(t, b.String())
}
