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
	// Long rows are left out of the short form unless they are asked for by name.
	Long bool
	// Run measures.
	Run func(ctx context.Context, l *Lab, r Row) ([]report.Row, error)
}

// Suite is a group of rows that are measured with the same programs.
type Suite struct {
	Name string
	// Peers says that its rows compare programs: the lab then has them, with equal settings.
	Peers bool
	Rows  []Row
}

// Suites are all groups, in the order they are run. Rows about the controller are measured by its own module.
func Suites() []Suite { return []Suite{{Name: "mover", Peers: true, Rows: Mover()}} }

// All are the rows of all suites.
func All() []Row {
	var out []Row
	for _, s := range Suites() {
		out = append(out, s.Rows...)
	}
	return out
}

// Compare reports whether any of some rows compares programs.
func Compare(chosen []Row) bool {
	for _, s := range Suites() {
		for _, r := range s.Rows {
			if s.Peers && slices.ContainsFunc(chosen, func(c Row) bool { return c.ID == r.ID }) {
				return true
			}
		}
	}
	return false
}

// Mover are the rows about the mover, those of a data set together: it is made once, and edited last.
func Mover() []Row {
	out := []Row{
		{ID: "M8", Run: deletes, What: "delete 1,000 snapshots in one process, on the disk"},
		{ID: "M9", Run: replication, What: "copy a repository between two buckets at 20 ms, as a share of parallelism ÷ latency"},
		{ID: "M10/size", Run: size, What: "size of the released program"},
		{ID: "M10/open", Run: open, What: "start to an open repository, wall time vs the key derivation"},
	}
	for _, set := range []data.Set{data.ManyFiles, data.OneFile, data.Mixed, data.Sources} {
		out = append(out,
			Row{ID: "M1/" + string(set), Set: set, Run: local(firstBackup), What: "first backup, wall time vs the kopia CLI"},
			Row{ID: "M3/" + string(set), Set: set, Run: local(restore), What: "restore, wall time vs the faster of kopia CLI and restic"},
			Row{ID: "M1/" + string(set) + "/s3", Set: set, Run: faraway(firstBackup), Long: long(set), What: "first backup to S3 at 20 ms, wall time vs the kopia CLI"},
			farRestore(set),
		)
		if set != data.Sources {
			out = append(out, Row{ID: "M6/" + string(set), Set: set, Run: memory, What: "peak resident memory of backup and restore"})
		}
		out = append(out, limited(set))
		if set == data.Sources {
			out = append(out,
				Row{ID: "M2/D7", Set: set, Run: unchanged, What: "unchanged backup, wall time vs the kopia CLI"},
				Row{ID: "M2/D6", Set: set, Run: changed, What: "backup after 1 % was changed, wall time vs the kopia CLI"},
			)
		}
	}
	return append(out,
		Row{ID: "M5", Set: data.Sparse, Run: holes, What: "first backup of a sparse file, wall time vs its data without holes"},
		limited(data.Sparse),
		limited(data.Odd),
	)
}

// farRestore is a restore from S3. That of one large file has a budget of its own.
func farRestore(set data.Set) Row {
	if set == data.OneFile {
		return Row{ID: "M4", Set: set, Run: faraway(restoreLarge), What: "restore of one large file from S3 at 20 ms, wall time vs the kopia CLI"}
	}
	return Row{ID: "M3/" + string(set) + "/s3", Set: set, Long: long(set), Run: faraway(restore), What: "restore from S3 at 20 ms, wall time vs the faster of kopia CLI and restic"}
}

// long is true for the data sets that take minutes over a network also in their short form.
func long(set data.Set) bool { return set == data.ManyFiles || set == data.Mixed }

func limited(set data.Set) Row {
	return Row{ID: "M7/" + string(set), Set: set, Run: underLimit, What: "killed for memory under a limit of 256 MiB"}
}

// Select picks rows by their ids or the beginning of them: M1 is all of M1, M1/D2 both of its stores. None means all. What
// is too long for the short form is returned beside them, unless it is asked for by its whole id.
func Select(all []Row, want []string, full bool) (chosen, left []Row, err error) {
	chosen, err = matching(all, want)
	if err != nil || full {
		return chosen, nil, err
	}
	var short []Row
	for _, r := range chosen {
		if r.Long && !slices.Contains(want, r.ID) {
			left = append(left, r)
		} else {
			short = append(short, r)
		}
	}
	return short, left, nil
}

func matching(all []Row, want []string) ([]Row, error) {
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
