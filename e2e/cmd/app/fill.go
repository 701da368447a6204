// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Owners that files get when root fills a volume. Users of containers have ids like these.
var (
	owners = []int{0, 1000, 10001, 65532}
	groups = []int{0, 1000, 2000, 65532}
	modes  = []uint32{0o600, 0o644, 0o755, 0o640, 0o444, 0o4755, 0o2755, 0o000}
)

// names that have broken backup programs: blanks at both ends, line ends, option and glob look-alikes, two spellings
// of one letter, right-to-left text, characters of four bytes, and the longest that a file system takes.
var oddNames = []string{
	" leading blank", "trailing blank ", "line\nend", "tab\tstop", "back\\slash", "-rf", "*", "[glob]?", "quote'\"", "$HOME", "#hash",
	"e\u0301 decomposed", "\u00e9 composed", "\u05e9\u05dc\u05d5\u05dd", "\U0001F4BE disk", "%25", "CON", "...", ".hidden", "~",
	strings.Repeat("\u00e4", 127) + "x",
}

// filler makes one tree. It records when folders should say they were changed, because every file put into one
// changes that again.
type filler struct {
	root    string
	largest int
	random  *rand.Rand
	asRoot  bool
	count   int
	folders []string
}

func (a app) fill(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("fill", flag.ContinueOnError)
	seed := flags.Uint64("seed", 1, "trees of one seed are alike")
	files := flags.Int("files", 2000, "number of files")
	largest := flags.Int("largest", 1<<20, "size of the largest files")
	sparse := flags.Int64("sparse", 64<<20, "size of the sparse file; 0 for none")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if err := want(flags.Args(), "DIR"); err != nil {
		return err
	}
	f := &filler{root: flags.Arg(0), largest: *largest, random: rand.New(rand.NewPCG(*seed, 0)), asRoot: os.Geteuid() == 0} //nolint:gosec // repeatable on purpose
	if err := os.MkdirAll(f.root, 0o755); err != nil {
		return err
	}
	steps := []func(context.Context) error{
		f.makeFolders,
		func(ctx context.Context) error { return f.makeFiles(ctx, *files) },
		f.makeOddNames, f.makeLinks,
		func(context.Context) error { return f.makeSparse(*sparse) },
		f.finishFolders,
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return fmt.Errorf("fill %s: %w", f.root, err)
		}
	}
	_, err := fmt.Fprintf(a.out, "%d entries\n", f.count)
	return err
}

func (f *filler) pick(folders []string) string { return folders[f.random.IntN(len(folders))] }

func (f *filler) makeFolders(context.Context) error {
	for i := range 40 {
		parent := f.root
		if len(f.folders) > 0 && f.random.IntN(3) > 0 {
			parent = f.pick(f.folders)
		}
		folder := filepath.Join(parent, fmt.Sprintf("folder-%02d", i))
		if err := os.Mkdir(folder, 0o755); err != nil {
			return err
		}
		f.folders = append(f.folders, folder)
	}
	// These stay empty.
	for i := range 5 {
		folder := filepath.Join(f.root, fmt.Sprintf("empty-%d", i))
		if err := os.Mkdir(folder, 0o755); err != nil {
			return err
		}
		if err := f.finish(folder, 0o700); err != nil {
			return err
		}
	}
	return nil
}

func (f *filler) makeFiles(ctx context.Context, files int) error {
	for i := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		path := filepath.Join(f.pick(f.folders), fmt.Sprintf("file-%05d", i))
		if err := os.WriteFile(path, f.content(), 0o600); err != nil {
			return err
		}
		mode := modes[f.random.IntN(len(modes))]
		// Only root reads a file that nobody may read.
		if mode == 0 && !f.asRoot {
			mode = 0o400
		}
		if err := f.finish(path, mode); err != nil {
			return err
		}
	}
	return nil
}

// content is of mixed size and nature: empty, small text, larger noise, and some that repeats earlier content.
func (f *filler) content() []byte {
	var size int
	switch share := f.random.IntN(100); {
	case share < 8:
		size = 0
	case share < 70:
		size = f.random.IntN(4 << 10)
	case share < 96:
		size = f.random.IntN(64 << 10)
	default:
		size = f.random.IntN(1 << 20)
	}
	size = min(size, f.largest)
	content := make([]byte, size)
	switch f.random.IntN(3) {
	case 0: // text
		words := fmt.Sprintf("line %d of a log that repeats itself\n", f.random.IntN(10))
		for i := 0; i < size; i += copy(content[i:], words) {
		}
	case 1: // one of a few contents, so that some files are alike
		noise(content, f.random.Uint64N(8))
	default:
		noise(content, f.random.Uint64())
	}
	return content
}

func noise(content []byte, seed uint64) {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	_, _ = rand.NewChaCha8(key).Read(content)
}

func (f *filler) makeOddNames(context.Context) error {
	folder := filepath.Join(f.root, "odd names")
	if err := os.Mkdir(folder, 0o755); err != nil {
		return err
	}
	f.folders = append(f.folders, folder)
	for _, name := range oddNames {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(name), 0o600); err != nil {
			return err
		}
		if err := f.finish(path, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (f *filler) makeLinks(context.Context) error {
	folder := filepath.Join(f.root, "links")
	if err := os.Mkdir(folder, 0o755); err != nil {
		return err
	}
	f.folders = append(f.folders, folder)
	for name, target := range map[string]string{
		"relative": "../folder-00", "absolute": "/etc/hostname", "dangling": "no-such-file", "loop": "loop", "outside": "../../../..",
		"long": strings.Repeat("very-long-target/", 100),
	} {
		path := filepath.Join(folder, name)
		if err := os.Symlink(target, path); err != nil {
			return err
		}
	}
	// In order, as a map has none and the times must not differ between runs.
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if err := f.finishLink(filepath.Join(folder, entry.Name())); err != nil {
			return err
		}
	}
	return nil
}

// makeSparse makes a file that is mostly a hole, with data at its start and its end.
func (f *filler) makeSparse(size int64) error {
	const piece = 4096
	if size < 2*piece {
		return nil
	}
	path := filepath.Join(f.root, "sparse")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	data := []byte(strings.Repeat("sparse! ", piece/8))
	_, first := file.WriteAt(data, 0)
	_, last := file.WriteAt(data, size-piece)
	if err := errors.Join(first, last, file.Close()); err != nil {
		return err
	}
	return f.finish(path, 0o640)
}

// finish gives an entry its owner, mode and time, in the order that keeps each: a new owner clears setuid.
func (f *filler) finish(path string, mode uint32) error {
	if f.asRoot {
		if err := os.Lchown(path, owners[f.random.IntN(len(owners))], groups[f.random.IntN(len(groups))]); err != nil {
			return err
		}
	}
	if err := unix.Chmod(path, mode); err != nil {
		return err
	}
	return f.setTime(path)
}

func (f *filler) finishLink(path string) error {
	if f.asRoot {
		if err := os.Lchown(path, owners[f.random.IntN(len(owners))], groups[0]); err != nil {
			return err
		}
	}
	return f.setTime(path)
}

// setTime gives each entry its own old time, with nanoseconds.
func (f *filler) setTime(path string) error {
	f.count++
	when := time.Date(2001, 9, 9, 1, 46, 40, 123456789, time.UTC).Add(time.Duration(f.count) * (time.Minute + time.Nanosecond))
	stamp := unix.NsecToTimespec(when.UnixNano())
	if err := unix.UtimesNanoAt(unix.AT_FDCWD, path, []unix.Timespec{stamp, stamp}, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return fmt.Errorf("set the time of %s: %w", path, err)
	}
	return nil
}

// finishFolders comes last and goes from the innermost folder out.
func (f *filler) finishFolders(context.Context) error {
	slices.SortFunc(f.folders, func(a, b string) int { return strings.Compare(b, a) })
	for _, folder := range f.folders {
		if err := f.finish(folder, 0o755); err != nil {
			return err
		}
	}
	return nil
}
