// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"github.com/kopia/kopia/snapshot"
)

// attributes sets owner, mode and time, in this order: a change of owner clears the set-id bits, and both change
// nothing about the time. What cannot be set is counted and never stops the restore by itself; the operation decides
// what a count means.
func (w *restorer) attributes(t settable, rel string, e *snapshot.DirEntry) {
	var faults []error
	owned := true
	if !w.SkipOwners {
		if err := t.Chown(int(e.UserID), int(e.GroupID)); err != nil {
			owned = false
			faults = append(faults, err)
		}
	}
	if e.Type != snapshot.EntryTypeSymlink && !w.SkipPermissions {
		mode := modeOf(e) & (os.ModePerm | specialBits)
		if mode != mode.Perm() && (!owned || !w.owns(t, e)) {
			// A set-id bit means something else under another owner: it would hand out that owner's rights.
			mode = mode.Perm()
			if len(faults) == 0 {
				faults = append(faults, errSpecialBits)
			}
		}
		if err := t.Chmod(mode); err != nil {
			faults = append(faults, err)
		} else if mode != mode.Perm() && !has(t, mode) {
			// The kernel drops a set-group-id bit without an error when the caller is not of the group and lacks CAP_FSETID.
			faults = append(faults, errSpecialBits)
		}
	}
	if !w.SkipTimes {
		if err := t.SetTime(e.ModTime.ToTime()); err != nil {
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
			o.Ownership.Paths = append(o.Ownership.Paths, restoreFault(rel, e, errors.Join(faults...)))
		}
	})
}

var errSpecialBits = errors.New("set-id and sticky bits were dropped, the mover may not set them for this owner")

const specialBits = os.ModeSetuid | os.ModeSetgid | os.ModeSticky

// has reports that the special bits of a mode are really there.
func has(t settable, mode fs.FileMode) bool {
	st, err := t.Stat()
	return err == nil && st.Mode()&specialBits == mode&specialBits
}

// owns reports that the entry has the stored owner; without the attempt to set it, it may have it by chance.
func (w *restorer) owns(t settable, e *snapshot.DirEntry) bool {
	if !w.SkipOwners {
		return true
	}
	st, err := t.Stat()
	if err != nil {
		return false
	}
	own, ok := st.Sys().(*syscall.Stat_t)
	return ok && own.Uid == e.UserID && own.Gid == e.GroupID
}
