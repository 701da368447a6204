// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package work

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// ReadBrowsePages reads the answer to a list, frames and all, and gives each page to a function, in order. It returns nil
// only for a status of 0 behind all pages: a list that was cut is never taken for a short one.
func ReadBrowsePages(answer io.Reader, each func(BrowsePage) error) error {
	pages := json.NewDecoder(NewDataReader(answer))
	for n := 1; ; n++ {
		var page BrowsePage
		err := pages.Decode(&page)
		var syntax *json.SyntaxError
		var kind *json.UnmarshalTypeError
		switch {
		case errors.Is(err, io.EOF) && n > 1:
			return nil
		case errors.Is(err, io.EOF):
			return fmt.Errorf("%w: a list without a page", ErrBadFrame)
		case errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, &syntax), errors.As(err, &kind):
			return fmt.Errorf("%w: page %d: %w", ErrBadFrame, n, err)
		case err != nil:
			return err //nolint:wrapcheck // the stream's own words
		case page.Number != n:
			return fmt.Errorf("%w: page %d where page %d was due", ErrBadFrame, page.Number, n)
		}
		if err := each(page); err != nil {
			return err
		}
	}
}
