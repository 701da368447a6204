// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package unpack puts what was downloaded where it belongs. All of it goes into a hidden folder first, beside its place; only
// when the archive has come to its good end is each file given its name. What is there already stays, unless the user wants
// it replaced; no link is followed; nothing is written outside of the folder that was asked for.
package unpack

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// hidden begins the name of the folder that holds what is not complete.
const hidden = ".kopiurctl-download-"

// Facts that callers branch on.
var (
	// ErrExists: there is something in the place of what was downloaded.
	ErrExists = errors.New("is there already")
	// ErrBadArchive: the archive asks for what no archive of ours does.
	ErrBadArchive = errors.New("the archive cannot be trusted")
)

// Place is where a download goes.
type Place struct {
	// Dir gets what a folder holds, or a file under its own name. It is made where it does not exist, in a folder that does.
	// Where it is "" a file goes into the current folder, and a folder becomes the one of the name in Folder there.
	Dir, Folder string
	// Force replaces files and links that are there.
	Force bool
}

// Result is what was put there.
type Result struct {
	// Path is the file, or the folder.
	Path                  string
	Files, Folders, Links int64
	Bytes                 int64
}

// entry of the archive, in its order: folders come before what they hold.
type entry struct {
	rel  string
	kind byte
	mode fs.FileMode
	time time.Time
}

type download struct {
	// base exists and holds everything; temp and place are relative to it.
	base        *os.Root
	at          string
	temp, place string
	force       bool
	entries     []entry
	folders     map[string]bool
	result      Result
}

// From reads the archive to its end. An error of the archive, at its end too, means that nothing was put anywhere.
func From(archive io.Reader, p Place) (Result, error) {
	t := tar.NewReader(archive)
	first, err := t.Next()
	if errors.Is(err, io.EOF) {
		return Result{}, fmt.Errorf("%w: it is empty", ErrBadArchive)
	}
	if err != nil {
		return Result{}, fmt.Errorf("read the archive: %w", err)
	}
	d, err := open(p, first)
	if err != nil {
		return Result{}, err
	}
	defer d.close()
	for h := first; ; {
		if err := d.take(h, t); err != nil {
			return Result{}, err
		}
		h, err = t.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Result{}, fmt.Errorf("read the archive: %w", err)
		}
	}
	// Behind the archive's own end comes the word that all of it was sent.
	if _, err := io.Copy(io.Discard, archive); err != nil {
		return Result{}, fmt.Errorf("read the archive: %w", err)
	}
	if err := d.check(); err != nil {
		return Result{}, err
	}
	if err := d.put(); err != nil {
		return Result{}, err
	}
	return d.result, nil
}

// open makes the hidden folder on the file system of the place.
func open(p Place, first *tar.Header) (*download, error) {
	folder := first.Typeflag == tar.TypeDir
	d := &download{force: p.Force, folders: map[string]bool{}}
	at, place := ".", "."
	switch {
	case p.Dir == "" && folder:
		place = p.Folder
	case p.Dir != "":
		at = p.Dir
		st, err := os.Stat(p.Dir)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			at, place = filepath.Dir(filepath.Clean(p.Dir)), filepath.Base(p.Dir)
		case err != nil:
			return nil, fmt.Errorf("look at %s: %w", p.Dir, err)
		case !st.IsDir():
			return nil, fmt.Errorf("%s %w, and is no folder", p.Dir, ErrExists)
		}
	}
	base, err := os.OpenRoot(at)
	if err != nil {
		return nil, fmt.Errorf("download into %s: %w", at, err)
	}
	temp, err := os.MkdirTemp(at, hidden)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("download into %s: %w", at, err), base.Close())
	}
	d.base, d.at, d.temp, d.place = base, at, filepath.Base(temp), place
	d.result.Path = filepath.Join(at, place)
	if !folder {
		d.result.Path = filepath.Join(d.result.Path, filepath.FromSlash(first.Name))
		if place != "." { // the file's folder, which is in no archive
			d.entries = append(d.entries, entry{rel: ".", kind: tar.TypeDir})
		}
		d.folders["."] = true
	}
	return d, nil
}

func (d *download) close() {
	_ = d.base.RemoveAll(d.temp)
	_ = d.base.Close()
}

// take brings one entry into the hidden folder. A place that is taken ends a long download at once.
func (d *download) take(h *tar.Header, content io.Reader) error {
	e, err := d.entry(h)
	if err != nil {
		return err
	}
	if err := d.free(e); err != nil {
		return err
	}
	d.entries = append(d.entries, e)
	at := filepath.Join(d.temp, e.rel)
	switch e.kind {
	case tar.TypeDir:
		d.folders[e.rel] = true
		if e.rel == "." {
			return nil
		}
		d.result.Folders++
		err = d.base.Mkdir(at, 0o700)
	case tar.TypeSymlink:
		d.result.Links++
		err = d.base.Symlink(h.Linkname, at)
	default:
		d.result.Files++
		err = d.file(at, e, h.Size, content)
	}
	if err != nil {
		return fmt.Errorf("download %s: %w", h.Name, err)
	}
	return nil
}

// entry reads a header, and refuses what leads out of the folder or through a link.
func (d *download) entry(h *tar.Header) (entry, error) {
	rel := filepath.Clean(filepath.FromSlash(h.Name))
	e := entry{rel: rel, kind: h.Typeflag, mode: fs.FileMode(h.Mode).Perm(), time: h.ModTime} //nolint:gosec // nine bits of it
	switch {
	case !filepath.IsLocal(rel):
		return e, fmt.Errorf("%w: %q leads out of the folder", ErrBadArchive, h.Name)
	case h.Typeflag != tar.TypeDir && h.Typeflag != tar.TypeReg && h.Typeflag != tar.TypeSymlink:
		return e, fmt.Errorf("%w: %q is neither a file nor a folder nor a link", ErrBadArchive, h.Name)
	case rel == "." && (h.Typeflag != tar.TypeDir || len(d.entries) > 0):
		return e, fmt.Errorf("%w: %q is the folder itself", ErrBadArchive, h.Name)
	case rel != "." && !d.folders[filepath.Dir(rel)]:
		return e, fmt.Errorf("%w: %q is in no folder of it", ErrBadArchive, h.Name)
	}
	return e, nil
}

func (d *download) file(at string, e entry, size int64, content io.Reader) error {
	f, err := d.base.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err //nolint:wrapcheck // by the caller
	}
	n, err := io.Copy(f, content)
	d.result.Bytes += n
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if n != size {
		return fmt.Errorf("%w: %d bytes of %d", ErrBadArchive, n, size)
	}
	if err := d.base.Chmod(at, e.mode); err != nil {
		return err //nolint:wrapcheck // by the caller
	}
	return d.base.Chtimes(at, e.time, e.time) //nolint:wrapcheck // by the caller
}

// free reports whether an entry may have its place.
func (d *download) free(e entry) error {
	at := filepath.Join(d.place, e.rel)
	st, err := d.base.Lstat(at)
	name := filepath.Join(d.at, at)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("look at %s: %w", name, err)
	case e.kind == tar.TypeDir && st.IsDir():
		return nil
	case e.kind == tar.TypeDir:
		return fmt.Errorf("%s %w, and is no folder", name, ErrExists)
	case st.IsDir():
		return fmt.Errorf("%s %w, and is a folder", name, ErrExists)
	case !d.force:
		return fmt.Errorf("%s %w", name, ErrExists)
	default:
		return nil
	}
}

// check looks at all places once more before anything is put: a download may take hours.
func (d *download) check() error {
	for _, e := range d.entries {
		if err := d.free(e); err != nil {
			return err
		}
	}
	return nil
}

// name gives a complete file or link its name. A rename would replace what somebody has put there since the last look, so
// unless that is wanted it is a hard link, which is refused then. Where a file system has none, it looks once more.
func (d *download) name(e entry, at string) error {
	from := filepath.Join(d.temp, e.rel)
	if !d.force {
		err := d.base.Link(from, at)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, fs.ErrExist):
			return fmt.Errorf("%s %w", filepath.Join(d.at, at), ErrExists)
		}
		if err := d.free(e); err != nil {
			return err
		}
	}
	if err := d.base.Rename(from, at); err != nil {
		return fmt.Errorf("put %s in its place: %w", e.rel, err)
	}
	return nil
}

// put gives each entry its name. Folders get modes and times last: one may be read-only, and each file changes its time.
func (d *download) put() error {
	var made []entry
	for _, e := range d.entries {
		at := filepath.Join(d.place, e.rel)
		if e.kind != tar.TypeDir {
			if err := d.name(e, at); err != nil {
				return err
			}
			continue
		}
		mode := fs.FileMode(0o777)
		if !e.time.IsZero() {
			mode = 0o700
		}
		switch err := d.base.Mkdir(at, mode); {
		case err == nil && !e.time.IsZero():
			made = append(made, e)
		case err != nil && !errors.Is(err, fs.ErrExist):
			return fmt.Errorf("put %s in its place: %w", e.rel, err)
		}
	}
	for _, e := range slices.Backward(made) {
		at := filepath.Join(d.place, e.rel)
		if err := errors.Join(d.base.Chtimes(at, e.time, e.time), d.base.Chmod(at, e.mode)); err != nil {
			return fmt.Errorf("put %s in its place: %w", e.rel, err)
		}
	}
	return nil
}
