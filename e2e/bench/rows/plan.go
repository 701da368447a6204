// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kopiur/kopiur/e2e/bench/data"
	"github.com/kopiur/kopiur/e2e/bench/report"
)

// Row is one row of the budgets, for one data set or store.
type Row struct {
	// ID is the budget's number and what it is measured on: M1/D2/s3.
	ID   string
	What string
	// Set is what has to be made for it, "" for nothing.
	Set data.Set
	// Run measures.
	Run func(ctx context.Context, l *Lab, r Row) ([]report.Row, error)
}

// Suites are the groups of rows, in the order they are run. Rows about the controller are one more list here.
func Suites() [][]Row { return [][]Row{Mover()} }

// Mover are the rows about the mover, those of a data set together: it is made once, and edited last.
func Mover() []Row {
	var out []Row
	for _, set := range []data.Set{data.ManyFiles, data.OneFile, data.Mixed, data.Sources} {
		out = append(out,
			Row{ID: "M1/" + string(set), Set: set, Run: local(firstBackup), What: "first backup, wall time vs the kopia CLI"},
			Row{ID: "M3/" + string(set), Set: set, Run: local(restore), What: "restore, wall time vs the faster of kopia CLI and restic"},
			Row{ID: "M1/" + string(set) + "/s3", Set: set, Run: faraway(firstBackup), What: "first backup to S3 at 20 ms, wall time vs the kopia CLI"},
			Row{ID: "M3/" + string(set) + "/s3", Set: set, Run: faraway(restore), What: "restore from S3 at 20 ms, wall time vs the faster of kopia CLI and restic"},
		)
		if set == data.Sources {
			out = append(out,
				Row{ID: "M2/D7", Set: set, Run: unchanged, What: "unchanged backup, wall time vs the kopia CLI"},
				Row{ID: "M2/D6", Set: set, Run: changed, What: "backup after 1 % was changed, wall time vs the kopia CLI"},
			)
		}
	}
	return out
}

// Select picks rows by their ids or the beginning of them: M1 is all of M1, M1/D2 both of its stores. None means all.
func Select(all []Row, want []string) ([]Row, error) {
	if len(want) == 0 {
		return all, nil
	}
	used := map[string]bool{}
	out := slices.DeleteFunc(slices.Clone(all), func(r Row) bool {
		for _, w := range want {
			if r.ID == w || strings.HasPrefix(r.ID, w+"/") {
				used[w] = true
				return false
			}
		}
		return true
	})
	for _, w := range want {
		if !used[w] {
			return nil, fmt.Errorf("there is no row %s; bench list names them", w) //nolint:err113 // read by people
		}
	}
	return out, nil
}
