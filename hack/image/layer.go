// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// entry is one file, folder or link of a layer. All belong to root and are from the epoch.
type entry struct {
	path string // in the image, without the leading slash
	mode fs.FileMode
	from string // the file on this machine, or the target of a link
}

// binaryEntries are an executable and the folders that lead to it.
func binaryEntries(from, to string) []entry {
	to = strings.TrimPrefix(to, "/")
	var entries []entry
	for folder := path.Dir(to); folder != "."; folder = path.Dir(folder) {
		entries = append(entries, entry{path: folder, mode: fs.ModeDir | 0o755})
	}
	return append(entries, entry{path: to, mode: 0o755, from: from})
}

// folderEntries are the content of a folder.
func folderEntries(folder string) ([]entry, error) {
	var entries []entry
	err := filepath.WalkDir(folder, func(file string, d fs.DirEntry, err error) error {
		if err != nil || file == folder {
			return err
		}
		inside, err := filepath.Rel(folder, file)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		e := entry{path: filepath.ToSlash(inside), mode: info.Mode(), from: file}
		switch {
		case info.Mode().IsRegular(), info.IsDir():
		case info.Mode()&fs.ModeSymlink != 0:
			if e.from, err = os.Readlink(file); err != nil {
				return err
			}
		default:
			return fmt.Errorf("%s is a %s: images hold files, folders and links", file, info.Mode().Type())
		}
		entries = append(entries, e)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read folder %s: %w", folder, err)
	}
	return entries, nil
}

func makeLayer(entries []entry) (v1.Layer, error) {
	entries = slices.Clone(entries)
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.path, b.path) })
	var content bytes.Buffer
	archive := tar.NewWriter(&content)
	for _, e := range entries {
		if err := e.write(archive); err != nil {
			return nil, err
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(content.Bytes())), nil
	})
}

func (e entry) write(archive *tar.Writer) error {
	header := &tar.Header{Name: e.path, Mode: unixMode(e.mode), ModTime: epoch, Format: tar.FormatPAX}
	switch {
	case e.mode.IsDir():
		header.Typeflag, header.Name = tar.TypeDir, e.path+"/"
		return archive.WriteHeader(header)
	case e.mode&fs.ModeSymlink != 0:
		header.Typeflag, header.Linkname = tar.TypeSymlink, e.from
		return archive.WriteHeader(header)
	}
	file, err := os.Open(e.from)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	header.Typeflag, header.Size = tar.TypeReg, info.Size()
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	_, err = io.Copy(archive, file)
	return err
}

// unixMode keeps the bits that Go moves elsewhere. Write permission for others and group is dropped: it depends on
// the umask of whoever checked the files out.
func unixMode(mode fs.FileMode) int64 {
	bits := int64(mode.Perm() &^ 0o022)
	for flag, bit := range map[fs.FileMode]int64{fs.ModeSetuid: 0o4000, fs.ModeSetgid: 0o2000, fs.ModeSticky: 0o1000} {
		if mode&flag != 0 {
			bits |= bit
		}
	}
	if mode.IsDir() && mode&fs.ModeSticky != 0 {
		bits |= 0o777 // /tmp
	}
	return bits
}
