// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package moverjob_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

// said is the log of one pod.
type said struct {
	moverjob.LogReader

	log   io.Reader
	limit int64
}

func (s *said) Open(_ context.Context, _, _, _ string, limit int64) (io.ReadCloser, error) {
	s.limit = limit
	if s.log == nil {
		return nil, errors.New("the kubelet does not answer")
	}
	return io.NopCloser(s.log), nil
}

func TestPagesAreReadOneAtATime(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	line := func(e work.Event) {
		b, err := work.EncodeEvent(e)
		require.NoError(t, err)
		log.Write(b)
	}
	line(work.Event{Type: work.EventLog, Level: "info", Message: "Listing"})
	line(work.Event{Type: work.EventPage, Page: &work.Page{Number: 1}})
	log.WriteString("panic: not an event\n" + strings.Repeat("x", 1<<20) + "\n")
	line(work.Event{Type: work.EventPage, Page: &work.Page{Number: 2}})
	line(work.Event{Type: work.EventPage, Page: &work.Page{Number: 4}})
	line(work.Event{Type: work.EventPage, Page: &work.Page{Number: 5}})
	r := &said{log: &log}
	var got []int
	require.NoError(t, moverjob.ReadPages(t.Context(), r, "apps", "r-1", func(p work.Page) bool {
		got = append(got, p.Number)
		return p.Number < 4
	}))
	assert.Equal(t, []int{1, 2, 4}, got, "lines that are no pages are passed over, and after a refusal nothing is read")
	assert.Greater(t, r.limit, int64(work.MaxStreamBytes))

	require.ErrorContains(t, moverjob.ReadPages(t.Context(), &said{}, "apps", "r-1", nil), "does not answer")
	broken := &said{log: io.MultiReader(strings.NewReader("{}\n"), iotestErr{})}
	require.ErrorContains(t, moverjob.ReadPages(t.Context(), broken, "apps", "r-1", nil), "read the pages of pod apps/r-1")
}

type iotestErr struct{}

func (iotestErr) Read([]byte) (int, error) { return 0, errors.New("connection reset") }
