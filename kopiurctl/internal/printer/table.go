// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package printer

import (
	"fmt"
	"io"
	"strings"

	"k8s.io/cli-runtime/pkg/printers"
)

// Column is one column of a table of T.
type Column[T any] struct {
	Name string
	// Wide columns are shown with -o wide only.
	Wide bool
	// Of gives the cell; an empty one is shown as <none>.
	Of func(T) string
}

// Table writes rows. There is no table without a row: whoever calls says on stderr that there is nothing.
func Table[T any](w io.Writer, wide bool, columns []Column[T], rows []T) error {
	if len(rows) == 0 {
		return nil
	}
	tab := printers.GetNewTabWriter(w)
	line := func(cell func(Column[T]) string) {
		var cells []string
		for _, c := range columns {
			if !c.Wide || wide {
				cells = append(cells, cell(c))
			}
		}
		fmt.Fprintln(tab, strings.Join(cells, "\t"))
	}
	line(func(c Column[T]) string { return c.Name })
	for _, r := range rows {
		line(func(c Column[T]) string { return clean(c.Of(r)) })
	}
	if err := tab.Flush(); err != nil {
		return fmt.Errorf("write the table: %w", err)
	}
	return nil
}

// clean makes a text one cell: a line, without anything that plays with the terminal.
func clean(s string) string {
	s = printers.EscapeTerminal(strings.Join(strings.Fields(s), " "))
	if s == "" {
		return "<none>"
	}
	return s
}
