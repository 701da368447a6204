// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/kopia/kopia/snapshot"
)

const markPrefix = ".kopiur-restore-"

// tick is longer than the times of files are coarse: file systems write down the kernel's last tick, of up to 10 ms.
// Waiting it out once makes everything that a restore writes younger than its mark.
const tick = 20 * time.Millisecond

// A restore that is killed, or that fails, is tried again by the same request, and what it has written need not be
// written twice. It leaves an empty file in the target that says since when it has been at work. What was made later
// than that, and looks like the snapshot's entry, it has made itself; of what was there before, it takes no notice. The
// time is the one when a file was made, not when it was changed: an ownership that the kubelet hands down changes every
// file. Where the file system does not keep that time, everything is written again.
type mark struct {
	name  string
	since time.Time
}

// begin finds the mark of an earlier attempt, or makes one.
func (w *restorer) begin(root targetDir, m *snapshot.Manifest, entries []*snapshot.DirEntry) error {
	if w.Request == "" {
		return nil
	}
	name := markName(w.Request, m.RootObjectID().String(), entries)
	_, err := root.Lstat(name)
	switch {
	case err == nil:
		w.mark = mark{name, root.Born(name)}
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return targetError(name, err)
	}
	f, err := root.Create(name)
	if err != nil {
		return targetError(name, err)
	}
	if err := f.Close(); err != nil {
		return targetError(name, err)
	}
	w.mark = mark{name: name}
	time.Sleep(tick)
	return nil
}

// finish removes the mark, and those of requests that never came to their end.
func (w *restorer) finish(root targetDir, entries []*snapshot.DirEntry) error {
	have, err := root.ReadDir()
	if err != nil {
		return targetError("", err)
	}
	for _, e := range have {
		if !isMark(e) || slices.ContainsFunc(entries, func(s *snapshot.DirEntry) bool { return s.Name == e.Name() }) {
			continue
		}
		if err := root.Remove(e.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return targetError(e.Name(), err)
		}
	}
	return nil
}

// isMark reports a file that a restore has made for itself: by its name, and nobody's data because it is empty.
func isMark(e fs.DirEntry) bool {
	if !strings.HasPrefix(e.Name(), markPrefix) || !e.Type().IsRegular() {
		return false
	}
	st, err := e.Info()
	return err == nil && st.Size() == 0
}

// ours reports that an earlier attempt of this request made what is at a place.
func (w *restorer) ours(at place) bool { return w.oursIn(at.in, at.name) }

func (w *restorer) oursIn(dir targetDir, name string) bool {
	if w.mark.since.IsZero() {
		return false
	}
	// Not in the same instant: somebody else's file of the milliseconds before the mark has the mark's own time.
	return dir.Born(name).After(w.mark.since)
}

// markName depends on what is restored, too: another snapshot is another restore. A snapshot may hold such a name as
// data, of a volume that was backed up while a restore was at work.
func markName(request, id string, entries []*snapshot.DirEntry) string {
	h := fnv.New64a()
	for {
		_, _ = h.Write([]byte(request + "\x00" + id))
		name := fmt.Sprintf("%s%016x", markPrefix, h.Sum64())
		if !slices.ContainsFunc(entries, func(e *snapshot.DirEntry) bool { return e.Name == name }) {
			return name
		}
	}
}
