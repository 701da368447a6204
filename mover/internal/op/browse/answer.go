// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package browse

import (
	"archive/tar"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/mover/internal/backend"
	"github.com/kopiur/kopiur/mover/internal/engine"
	"github.com/kopiur/kopiur/mover/internal/op"
)

// pageBytes is where a page of entries is full: far below a frame's limit, whatever one more entry adds.
const pageBytes = 512 << 10

// do gives one answer.
func (s *session) do(ctx context.Context, req work.BrowseRequest, out *work.DataWriter) error {
	switch req.Action {
	case work.BrowseEnd:
		return nil
	case work.BrowseList, work.BrowseCat, work.BrowseDownload:
	default:
		return fmt.Errorf("%w: action %q", backend.ErrInvalidSpec, req.Action)
	}
	if req.SnapshotID == "" {
		return fmt.Errorf("%w: no snapshot is named", backend.ErrInvalidSpec)
	}
	if req.Limit < 0 {
		return fmt.Errorf("%w: the limit is negative", backend.ErrInvalidSpec)
	}
	snap, err := op.Find(ctx, s.repo, req.SnapshotID, req.Identity, req.StartTime)
	if err != nil {
		return err //nolint:wrapcheck // says what and where
	}
	view, err := s.repo.Part(ctx, snap, req.Path)
	if err != nil {
		return err //nolint:wrapcheck // says what and where
	}
	e, err := s.repo.Root(view)
	if err != nil {
		return err //nolint:wrapcheck // says what and where
	}
	switch req.Action {
	case work.BrowseList:
		return s.list(ctx, req, e, out)
	case work.BrowseCat:
		return s.cat(ctx, e, out)
	default:
		return s.download(ctx, e, out)
	}
}

// list answers with pages of a folder's entries, or with one of anything else.
func (s *session) list(ctx context.Context, req work.BrowseRequest, e engine.Entry, out *work.DataWriter) error {
	entries := []engine.Entry{e}
	if e.Mode.IsDir() {
		var err error
		if entries, err = s.repo.Entries(ctx, e); err != nil {
			return err //nolint:wrapcheck // says what and where
		}
		for len(entries) > 0 && req.After != "" && entries[0].Name <= req.After {
			entries = entries[1:]
		}
	}
	more := ""
	if req.Limit > 0 && len(entries) > req.Limit {
		entries = entries[:req.Limit]
		more = entries[req.Limit-1].Name
	}
	page, size := work.BrowsePage{Number: 1}, 0
	flush := func() error {
		b, err := json.Marshal(page)
		if err != nil {
			return fmt.Errorf("describe entries: %w", err)
		}
		if _, err := out.Write(b); err != nil {
			return fmt.Errorf("answer: %w", err)
		}
		page, size = work.BrowsePage{Number: page.Number + 1}, 0
		return nil
	}
	for _, e := range entries {
		w, err := s.entry(ctx, e)
		if err != nil {
			return err
		}
		b, err := json.Marshal(w)
		if err != nil {
			return fmt.Errorf("describe entries: %w", err)
		}
		if len(page.Entries) == work.MaxPageEntries || size+len(b) > pageBytes {
			if err := flush(); err != nil {
				return err
			}
		}
		page.Entries = append(page.Entries, w)
		size += len(b)
	}
	page.More = more
	return flush()
}

func (s *session) entry(ctx context.Context, e engine.Entry) (work.BrowseEntry, error) {
	w := work.BrowseEntry{
		Name: e.Name, Type: "file", Mode: e.Mode.String(), Size: e.Size, UID: e.UID, GID: e.GID, ModTime: e.ModTime, Files: e.Files,
	}
	switch {
	case e.Mode.IsDir():
		w.Type = "directory"
	case e.Mode&os.ModeSymlink != 0:
		w.Type = "symlink"
		target, err := s.repo.LinkTarget(ctx, e)
		if err != nil {
			return w, err //nolint:wrapcheck // says what and where
		}
		w.LinkTarget = target
	}
	return w, nil
}

// cat answers with the bytes of a file.
func (s *session) cat(ctx context.Context, e engine.Entry, out *work.DataWriter) error {
	if !e.Mode.IsRegular() {
		return fmt.Errorf("%w: %q is no file", engine.ErrNotInSnapshot, e.Name)
	}
	return s.content(ctx, e, out)
}

func (s *session) content(ctx context.Context, e engine.Entry, out io.Writer) error {
	rd, err := s.repo.Read(ctx, e)
	if err != nil {
		return err //nolint:wrapcheck // says what and where
	}
	defer rd.Close()
	n, err := io.CopyBuffer(out, struct{ io.Reader }{rd}, make([]byte, 256<<10))
	if err != nil {
		return fmt.Errorf("send %q: %w", e.Name, err)
	}
	if n != e.Size {
		return fmt.Errorf("%w: %q has %d bytes, and %d were read", engine.ErrStorage, e.Name, e.Size, n)
	}
	return nil
}

// download answers with a tar archive. The names in it are relative to the folder that was asked for, which is ".", and
// none leads out of it: a folder's list is checked when it is read. A link is stored as what it is, and followed by
// nobody here.
func (s *session) download(ctx context.Context, e engine.Entry, out io.Writer) error {
	t := tar.NewWriter(out)
	err := s.repo.Walk(ctx, e, func(rel string, c engine.Entry) error {
		if rel == "." && !e.Mode.IsDir() {
			rel = path.Base(e.Name)
		}
		return s.archive(ctx, t, rel, c)
	})
	if err != nil {
		return err //nolint:wrapcheck // says what and where
	}
	if err := t.Close(); err != nil {
		return fmt.Errorf("send the archive: %w", err)
	}
	return nil
}

func (s *session) archive(ctx context.Context, t *tar.Writer, rel string, e engine.Entry) error {
	h := &tar.Header{
		Name: rel, Mode: unixMode(e.Mode), Uid: int(e.UID), Gid: int(e.GID), ModTime: e.ModTime, Format: tar.FormatPAX,
	}
	switch {
	case e.Mode.IsDir():
		h.Typeflag, h.Name = tar.TypeDir, strings.TrimSuffix(rel, "/")+"/"
	case e.Mode&os.ModeSymlink != 0:
		target, err := s.repo.LinkTarget(ctx, e)
		if err != nil {
			return err //nolint:wrapcheck // says what and where
		}
		h.Typeflag, h.Linkname = tar.TypeSymlink, target
	default:
		h.Typeflag, h.Size = tar.TypeReg, e.Size
	}
	if err := t.WriteHeader(h); err != nil {
		return fmt.Errorf("send the archive: %s: %w", rel, err)
	}
	if h.Typeflag != tar.TypeReg {
		return nil
	}
	return s.content(ctx, e, t)
}

// unixMode is a mode as tar keeps it.
func unixMode(m os.FileMode) int64 {
	out := int64(m.Perm())
	for bit, is := range map[int64]os.FileMode{0o4000: os.ModeSetuid, 0o2000: os.ModeSetgid, 0o1000: os.ModeSticky} {
		if m&is != 0 {
			out |= bit
		}
	}
	return out
}
