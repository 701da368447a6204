// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package data

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Tree is what a folder holds: counts for people, and a checksum over the name, type, mode, owner, content or link target
// of every entry. Two trees with the same checksum are the same to a user.
type Tree struct {
	Files, Folders, Others int
	Bytes                  int64
	Sum                    string
	// entries are what the checksum is made of, by path.
	entries map[string]string
}

// Look reads a whole folder. What skip is true for counts as absent, with all below it.
func Look(dir string, skip func(path string) bool) (Tree, error) {
	t := Tree{entries: map[string]string{}}
	type job struct{ path, prefix string }
	jobs := make(chan job)
	var mu sync.Mutex
	var failed error
	var workers sync.WaitGroup
	for range 2 {
		workers.Go(func() {
			buf := make([]byte, mib)
			for j := range jobs {
				sum, err := contentSum(filepath.Join(dir, j.path), buf)
				mu.Lock()
				if err != nil && failed == nil {
					failed = err
				}
				t.entries[j.path] = j.prefix + sum
				mu.Unlock()
			}
		})
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err //nolint:wrapcheck // wrapped below
		}
		if skip != nil && rel != "." && skip(rel) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err //nolint:wrapcheck // wrapped below
		}
		// The root's own mode and owner are the target's, not the snapshot's.
		line := ""
		if rel != "." {
			st := status(info)
			line = fmt.Sprintf("%s %d:%d ", info.Mode(), st.Uid, st.Gid)
		}
		switch {
		case d.IsDir():
			t.Folders++
		case info.Mode().IsRegular():
			t.Files++
			t.Bytes += info.Size()
			jobs <- job{rel, fmt.Sprintf("%s%d ", line, info.Size())}
			return nil
		case info.Mode()&fs.ModeSymlink != 0:
			t.Others++
			to, err := os.Readlink(path)
			if err != nil {
				return err //nolint:wrapcheck // wrapped below
			}
			line += to
		default:
			t.Others++
		}
		mu.Lock()
		t.entries[rel] = line
		mu.Unlock()
		return nil
	})
	close(jobs)
	workers.Wait()
	if err == nil {
		err = failed
	}
	if err != nil {
		return Tree{}, fmt.Errorf("look at %s: %w", dir, err)
	}
	t.Sum = t.sum()
	return t, nil
}

// Contents is a tree without what is beside its contents: modes and owners.
func (t Tree) Contents() Tree {
	entries := make(map[string]string, len(t.entries))
	for path, e := range t.entries {
		if fields := strings.SplitN(e, " ", 3); len(fields) == 3 {
			e = fields[2]
		}
		entries[path] = e
	}
	t.entries = entries
	t.Sum = t.sum()
	return t
}

func (t Tree) sum() string {
	h := sha256.New()
	for _, path := range t.paths() {
		fmt.Fprintf(h, "%s\x00%s\x00", path, t.entries[path])
	}
	return hex.EncodeToString(h.Sum(nil))
}

func (t Tree) paths() []string {
	paths := make([]string, 0, len(t.entries))
	for path := range t.entries {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return paths
}

func contentSum(path string, buf []byte) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err //nolint:wrapcheck // wrapped by the caller
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.CopyBuffer(struct{ io.Writer }{h}, struct{ io.Reader }{f}, buf); err != nil {
		return "", err //nolint:wrapcheck // wrapped by the caller
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Compare is nil for equal trees; otherwise it names the first entries that differ.
func (t Tree) Compare(restored Tree) error {
	if t.Sum == restored.Sum {
		return nil
	}
	var out []string
	for _, path := range t.paths() {
		got, ok := restored.entries[path]
		switch {
		case !ok:
			out = append(out, fmt.Sprintf("%q is missing", path))
		case got != t.entries[path]:
			out = append(out, fmt.Sprintf("%q is %s, not %s", path, got, t.entries[path]))
		}
	}
	for _, path := range restored.paths() {
		if _, ok := t.entries[path]; !ok {
			out = append(out, fmt.Sprintf("%q was not there", path))
		}
	}
	n := len(out)
	return fmt.Errorf("%d of %d entries differ: %s", n, len(t.entries), strings.Join(out[:min(n, 5)], "; ")) //nolint:err113 // read by people
}

// Warm reads every byte that a folder holds, holes excluded, so that what is read next comes from memory for everybody.
func Warm(dir string) error {
	buf := make([]byte, mib)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		return readData(path, buf)
	})
	if err != nil {
		return fmt.Errorf("read %s: %w", dir, err)
	}
	return nil
}
