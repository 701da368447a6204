// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package data

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"
)

func manyFiles(dir string, s Spec) error {
	folder := func(i int) string { return filepath.Join(dir, fmt.Sprintf("dir-%05d", i%s.Folders)) }
	for i := range s.Folders {
		if err := os.Mkdir(folder(i), 0o755); err != nil {
			return err //nolint:wrapcheck // names the path
		}
	}
	r, buf := source(s), make([]byte, kib)
	for i := range s.Files {
		_, _ = r.Read(buf)
		if err := write(filepath.Join(folder(i), fmt.Sprintf("file-%07d", i)), buf, 0o644, i); err != nil {
			return err
		}
	}
	return nil
}

func oneFile(dir string, s Spec) error {
	return stream(filepath.Join(dir, "large"), func(f *os.File) error {
		_, err := io.CopyN(f, source(s), s.Bytes)
		return err //nolint:wrapcheck // names the path
	})
}

// stream makes a file that is too large for memory.
func stream(path string, fill func(*os.File) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err //nolint:wrapcheck // names the path
	}
	err = fill(f)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = stamp(path, 0)
	}
	return err
}

// Of every five parts of Mixed, three compress, and of every five files two are copies of earlier ones: whole files, so
// that every tool can find them, however it cuts.
const (
	outOf        = 5
	compressible = 3
	duplicate    = 2
)

func mixed(dir string, s Spec) error {
	size := min(max(s.Bytes/256, 256*kib), 16*mib)
	block := int(size / 8)
	count := int(s.Bytes / size)
	buf := make([]byte, size)
	for i := range count {
		original := i
		if i%outOf >= outOf-duplicate {
			// Some earlier file of another group where there is one, never a copy itself.
			group := random(s, i, 1).IntN(i/outOf + 1)
			original = group*outOf + i%(outOf-duplicate)
		}
		for j := range 8 {
			b := buf[j*block : (j+1)*block]
			if part := original*8 + j; part%outOf < compressible {
				text(random(s, original, j), b)
			} else {
				_, _ = source(s, original, j).Read(b)
			}
		}
		if err := write(filepath.Join(dir, fmt.Sprintf("part-%04d", i)), buf, 0o644, i); err != nil {
			return err
		}
	}
	return nil
}

// sourcePath is where file i of a source tree lies: modules, packages in them, some deeper than others.
func sourcePath(s Spec, i int) string {
	r := random(s, i, 2)
	path := fmt.Sprintf("module-%02d", i*20/s.Files)
	for depth := range 1 + r.IntN(4) {
		path = filepath.Join(path, fmt.Sprintf("%s%d", words[(depth*17+r.IntN(6))%len(words)], r.IntN(4)))
	}
	return filepath.Join(path, fmt.Sprintf("%s_%05d.go", words[i%len(words)], i))
}

func sources(dir string, s Spec) error {
	// Most files are small and a few are large, as in any repository of sources.
	weights, sum := make([]float64, s.Files), 0.0
	r := random(s, -1)
	for i := range weights {
		weights[i] = math.Exp(1.2 * r.NormFloat64())
		sum += weights[i]
	}
	for i, w := range weights {
		path := filepath.Join(dir, sourcePath(s, i))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err //nolint:wrapcheck // names the path
		}
		b := make([]byte, int64(float64(s.Bytes)*w/sum))
		text(random(s, i, 3), b)
		if err := write(path, b, 0o644, i); err != nil {
			return err
		}
	}
	return nil
}

// Edit changes one of a hundred files of Sources, others in each round, and says how many.
func Edit(dir string, s Spec, round int) (int, error) {
	files := random(s, round, 4).Perm(s.Files)[:max(1, s.Files/100)]
	slices.Sort(files)
	for _, i := range files {
		path := filepath.Join(dir, sourcePath(s, i))
		b, err := os.ReadFile(path)
		if err != nil {
			return 0, fmt.Errorf("edit: %w", err)
		}
		at := len(b) / 2
		b = slices.Insert(b, at, fmt.Appendf(nil, "\n// round %d\n", round)...)
		if err := os.WriteFile(path, b, 0o644); err != nil {
			return 0, fmt.Errorf("edit: %w", err)
		}
		t := epoch.AddDate(1, 0, round)
		if err := os.Chtimes(path, t, t.Add(time.Duration(i)*time.Second)); err != nil {
			return 0, fmt.Errorf("edit: %w", err)
		}
	}
	return len(files), nil
}

// extent is how much data lies between two holes, at most.
const extent = mib

func sparse(dir string, s Spec) error {
	return stream(filepath.Join(dir, "disk"), func(f *os.File) error {
		count := int(s.Bytes / extent)
		places := make([]int, count)
		for i := range places {
			places[i] = i
		}
		if s.Set == Sparse {
			places = random(Spec{Set: Sparse, Seed: s.Seed}, 0, 5).Perm(int(s.Apparent / extent))[:count]
			slices.Sort(places)
		}
		// The data is the same with and without holes.
		r, buf := source(Spec{Set: Sparse, Seed: s.Seed}), make([]byte, extent)
		for _, p := range places {
			_, _ = r.Read(buf)
			if _, err := f.WriteAt(buf, int64(p)*extent); err != nil {
				return err //nolint:wrapcheck // names the path
			}
		}
		return f.Truncate(max(s.Apparent, s.Bytes)) //nolint:wrapcheck // names the path
	})
}
