// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package moverjob

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/kopiur/kopiur/apis/work"
)

const (
	// pagesTimeout bounds the reading of one mover's pages.
	pagesTimeout = 30 * time.Second
	// pagesLimit is a little more than a mover may write: the runtime and a panic have something to say as well.
	pagesLimit = work.MaxStreamBytes + 1<<20
	// longestLine is a little more than a page.
	longestLine = 4 * work.MaxPageBytes
)

// ReadPages reads the pages of a mover's event stream, one at a time, until take refuses one. Lines that are no pages, or
// that nobody could have written, are passed over: a page that is missing shows by its number.
func ReadPages(ctx context.Context, r LogReader, namespace, pod string, take func(work.Page) bool) (err error) {
	ctx, cancel := context.WithTimeout(ctx, pagesTimeout)
	defer cancel()
	stream, err := r.Open(ctx, namespace, pod, Container, pagesLimit)
	if err != nil {
		return err //nolint:wrapcheck // says what it read
	}
	defer func() { err = errors.Join(err, stream.Close()) }()
	in := bufio.NewReaderSize(stream, longestLine)
	for {
		line, err := in.ReadSlice('\n')
		for errors.Is(err, bufio.ErrBufferFull) {
			line = nil
			_, err = in.ReadSlice('\n')
		}
		if len(line) > 0 {
			if e, ok := work.DecodeEvent(line); ok && e.Type == work.EventPage && e.Page != nil && !take(*e.Page) {
				return nil
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read the pages of pod %s/%s: %w", namespace, pod, err)
		}
	}
}
