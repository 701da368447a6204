// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// item describes one file, folder or link.
type item struct {
	Path   string `json:"path"` // relative; . is the folder itself
	Type   string `json:"type"`
	Mode   string `json:"mode"` // octal, with setuid, setgid and sticky
	UID    uint32 `json:"uid"`
	GID    uint32 `json:"gid"`
	Size   int64  `json:"size"`  // of files; a folder's says nothing about what it holds
	Mtime  int64  `json:"mtime"` // nanoseconds
	Target string `json:"target,omitempty"`
	SHA256 string `json:"sha256,omitempty"`
}

func (a app) manifest(ctx context.Context, args []string) error {
	if err := want(args, "DIR"); err != nil {
		return err
	}
	items, err := describe(ctx, args[0])
	if err != nil {
		return err
	}
	out := bufio.NewWriter(a.out)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for _, i := range items {
		if err := encoder.Encode(i); err != nil {
			return err
		}
	}
	return out.Flush()
}

// allocated prints what files take up: those with holes less than their size.
func (a app) allocated(_ context.Context, args []string) error {
	for _, file := range args {
		info, err := os.Stat(file)
		if err != nil {
			return err
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		if !ok {
			return fmt.Errorf("stat %s: no blocks", file)
		}
		if _, err := fmt.Fprintln(a.out, st.Blocks*512); err != nil {
			return err
		}
	}
	return nil
}

// describe lists a tree, sorted by path. lost+found is left out: it belongs to the file system, not to its user.
func describe(ctx context.Context, root string) ([]item, error) {
	var items []item
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if d.IsDir() && inside == "lost+found" {
			return fs.SkipDir
		}
		i, err := describeOne(path)
		i.Path = inside
		items = append(items, i)
		return err
	})
	slices.SortFunc(items, func(a, b item) int { return strings.Compare(a.Path, b.Path) })
	return items, err
}

func describeOne(path string) (item, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return item{}, err
	}
	system, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return item{}, fmt.Errorf("describe %s: no owner is known", path)
	}
	i := item{Mode: fmt.Sprintf("%04o", system.Mode&0o7777), UID: system.Uid, GID: system.Gid, Mtime: info.ModTime().UnixNano()}
	switch {
	case info.Mode().IsRegular():
		i.Type, i.Size = "file", info.Size()
		i.SHA256, err = hash(path)
	case info.IsDir():
		i.Type = "dir"
	case info.Mode()&fs.ModeSymlink != 0:
		i.Type = "link"
		i.Target, err = os.Readlink(path)
	default:
		i.Type = info.Mode().Type().String()
	}
	return i, err
}

func hash(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// load describes a tree, or reads a description of one from a file or from standard input.
func (a app) load(ctx context.Context, from string) ([]item, error) {
	in := a.in
	if from != "-" {
		info, err := os.Stat(from)
		if err != nil {
			return nil, err
		}
		if info.IsDir() {
			return describe(ctx, from)
		}
		file, err := os.Open(from)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		in = file
	}
	var items []item
	for decoder := json.NewDecoder(in); ; {
		var i item
		switch err := decoder.Decode(&i); {
		case errors.Is(err, io.EOF):
			return items, nil
		case err != nil:
			return nil, fmt.Errorf("read manifest %s: %w", from, err)
		}
		items = append(items, i)
	}
}
