// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package data makes what the benchmarks back up. The same seed gives the same bytes on every machine, so that figures
// of two days can be compared, and a restore with its source long after that is gone.
package data

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Set names one data set.
type Set string

// The data sets. D6 and D7 are D4 after an edit and without one.
const (
	// ManyFiles is many files of 1 KiB.
	ManyFiles Set = "D1"
	// OneFile is one large file that does not compress.
	OneFile Set = "D2"
	// Mixed is 60 % compressible and 40 % duplicate.
	Mixed Set = "D3"
	// Sources is a tree like that of a program's sources.
	Sources Set = "D4"
	// Sparse is one file that is mostly holes, SparseDense the same data without them.
	Sparse      Set = "D5"
	SparseDense Set = "D5-dense"
	// Odd is what a backup stumbles over.
	Odd Set = "D8"
)

// Spec says what to make.
type Spec struct {
	Set  Set
	Seed uint64
	// Files and Folders are how many there are, Bytes how much data in all, Apparent the size of a sparse file.
	Files, Folders  int
	Bytes, Apparent int64
}

const (
	kib = 1 << 10
	mib = 1 << 20
	gib = 1 << 30
)

// Sizes are the data sets of one form.
type Sizes map[Set]Spec

// Short is minutes for all rows, Full what the budgets name.
func Short() Sizes {
	return sizes(
		Spec{Set: ManyFiles, Files: 10_000, Folders: 100},
		Spec{Set: OneFile, Bytes: 256 * mib},
		Spec{Set: Mixed, Bytes: 256 * mib},
		Spec{Set: Sources, Files: 2_500, Bytes: 25 * mib},
		Spec{Set: Sparse, Bytes: 32 * mib, Apparent: 2 * gib},
		Spec{Set: Odd},
	)
}

// Full is what the budgets name; many is how many files D1 has, 0 for 200,000.
func Full(many int) Sizes {
	if many == 0 {
		many = 200_000
	}
	return sizes(
		Spec{Set: ManyFiles, Files: many, Folders: max(1, many/100)},
		Spec{Set: OneFile, Bytes: 4 * gib},
		Spec{Set: Mixed, Bytes: 4 * gib},
		Spec{Set: Sources, Files: 40_000, Bytes: 400 * mib},
		Spec{Set: Sparse, Bytes: 256 * mib, Apparent: 16 * gib},
		Spec{Set: Odd},
	)
}

func sizes(specs ...Spec) Sizes {
	out := Sizes{}
	for _, s := range specs {
		s.Seed = 1
		if s.Set == ManyFiles {
			s.Bytes = int64(s.Files) * kib
		}
		out[s.Set] = s
	}
	dense := out[Sparse]
	dense.Set, dense.Apparent = SparseDense, 0
	out[SparseDense] = dense
	return out
}

// String is the set for people.
func (s Spec) String() string {
	switch s.Set {
	case ManyFiles:
		return fmt.Sprintf("%d files of 1 KiB in %d folders", s.Files, s.Folders)
	case OneFile:
		return "one file of " + Bytes(s.Bytes) + " that does not compress"
	case Mixed:
		return Bytes(s.Bytes) + ", 60 % compressible, 40 % duplicate"
	case Sources:
		return fmt.Sprintf("a source tree of %d files, %s", s.Files, Bytes(s.Bytes))
	case Sparse:
		return Bytes(s.Apparent) + " with " + Bytes(s.Bytes) + " of data"
	case SparseDense:
		return "the same " + Bytes(s.Bytes) + " without holes"
	default:
		return "odd entries"
	}
}

// Bytes writes a size as people do.
func Bytes(n int64) string {
	switch {
	case n >= gib && n%gib == 0:
		return fmt.Sprintf("%d GiB", n/gib)
	case n >= 10*mib:
		return fmt.Sprintf("%d MiB", n/mib)
	case n >= 10*kib:
		return fmt.Sprintf("%d KiB", n/kib)
	default:
		return fmt.Sprintf("%d B", n)
	}
}

// Kinds are the sets that can be made, in order.
func Kinds() []Set { return []Set{ManyFiles, OneFile, Mixed, Sources, Sparse, SparseDense, Odd} }

// Generate makes a data set in a folder that is not there yet.
func Generate(dir string, s Spec) error {
	if !slices.Contains(Kinds(), s.Set) {
		return fmt.Errorf("make data set %s: there is none of this name", s.Set)
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return fmt.Errorf("make data set %s: %w", s.Set, err)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return fmt.Errorf("make data set %s: %w", s.Set, err)
	}
	var err error
	switch s.Set {
	case ManyFiles:
		err = manyFiles(dir, s)
	case OneFile:
		err = oneFile(dir, s)
	case Mixed:
		err = mixed(dir, s)
	case Sources:
		err = sources(dir, s)
	case Sparse, SparseDense:
		err = sparse(dir, s)
	default:
		err = odd(dir, s)
	}
	if err != nil {
		return fmt.Errorf("make data set %s: %w", s.Set, err)
	}
	return nil
}

// epoch is when the first file of a set was last written: a fixed moment, so that two sets are equal to the second.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// write makes one file; number is its place in the set and decides its time.
func write(path string, content []byte, mode os.FileMode, number int) error {
	if err := os.WriteFile(path, content, mode); err != nil {
		return err //nolint:wrapcheck // names the path
	}
	return stamp(path, number)
}

func stamp(path string, number int) error {
	t := epoch.Add(time.Duration(number) * time.Second)
	return os.Chtimes(path, t, t) //nolint:wrapcheck // names the path
}
