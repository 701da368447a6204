// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"github.com/kopia/kopia/snapshot"
	"golang.org/x/sys/unix"
)

// attributes sets owner, mode and time, in this order: a change of owner clears the set-id bits, and both change
// nothing about the time. What cannot be set is counted and never stops the restore by itself; the operation decides
// what a count means.
// An open file saves the way through its name.
func (w *restorer) attributes(at place, f *os.File, rel string, e *snapshot.DirEntry) {
	var faults []error
	owned := true
	if !w.SkipOwners {
		if err := chown(at, f, int(e.UserID), int(e.GroupID)); err != nil {
			owned = false
			faults = append(faults, err)
		}
	}
	if e.Type != snapshot.EntryTypeSymlink && !w.SkipPermissions {
		mode := modeOf(e) & (os.ModePerm | specialBits)
		if mode != mode.Perm() && (!owned || !w.owns(at, e)) {
			// A set-id bit means something else under another owner: it would hand out that owner's rights.
			mode = mode.Perm()
			if len(faults) == 0 {
				faults = append(faults, errSpecialBits)
			}
		}
		if err := chmod(at, f, mode); err != nil {
			faults = append(faults, err)
		} else if mode != mode.Perm() && !has(at, mode) {
			// The kernel drops a set-group-id bit without an error when the caller is not of the group and lacks CAP_FSETID.
			faults = append(faults, errSpecialBits)
		}
	}
	if !w.SkipTimes {
		if err := setTime(at, e); err != nil {
			faults = append(faults, err)
		}
	}
	w.count(func(o *Restored) {
		if len(faults) == 0 {
			o.Ownership.Applied++
			return
		}
		o.Ownership.Failed++
		if len(o.Ownership.Paths) < MaxPaths {
			f := restoreFault(rel, e, errors.Join(faults...))
			if rel == "" {
				f.Path = "."
			}
			o.Ownership.Paths = append(o.Ownership.Paths, f)
		}
	})
}

func chown(at place, f *os.File, uid, gid int) error {
	if f != nil {
		return f.Chown(uid, gid) //nolint:wrapcheck // counted with its path
	}
	return at.in.Lchown(at.name, uid, gid) //nolint:wrapcheck // counted with its path
}

func chmod(at place, f *os.File, mode fs.FileMode) error {
	if f != nil {
		return f.Chmod(mode) //nolint:wrapcheck // counted with its path
	}
	return at.in.Chmod(at.name, mode) //nolint:wrapcheck // counted with its path
}

var errSpecialBits = errors.New("set-id and sticky bits were dropped, the mover may not set them for this owner")

const specialBits = os.ModeSetuid | os.ModeSetgid | os.ModeSticky

// has reports that the special bits of a mode are really there.
func has(at place, mode fs.FileMode) bool {
	st, err := at.in.Lstat(at.name)
	return err == nil && st.Mode()&specialBits == mode&specialBits
}

// owns reports that the entry has the stored owner; without the attempt to set it, it may have it by chance.
func (w *restorer) owns(at place, e *snapshot.DirEntry) bool {
	if !w.SkipOwners {
		return true
	}
	st, err := at.in.Lstat(at.name)
	if err != nil {
		return false
	}
	own, ok := st.Sys().(*syscall.Stat_t)
	return ok && own.Uid == e.UserID && own.Gid == e.GroupID
}

func setTime(at place, e *snapshot.DirEntry) error {
	t := e.ModTime.ToTime()
	if e.Type != snapshot.EntryTypeSymlink {
		return at.in.Chtimes(at.name, t, t) //nolint:wrapcheck // counted with its path
	}
	d, err := at.in.Open(".")
	if err != nil {
		return err //nolint:wrapcheck // counted with its path
	}
	defer d.Close()
	ts := unix.NsecToTimespec(t.UnixNano())
	return unix.UtimesNanoAt(int(d.Fd()), at.name, []unix.Timespec{ts, ts}, unix.AT_SYMLINK_NOFOLLOW) //nolint:wrapcheck // counted
}
