// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/kopia/kopia/fs"
	"github.com/kopia/kopia/snapshot"
	"golang.org/x/sys/unix"
)

// MaxPaths is how many paths an outcome names.
const MaxPaths = 20

// ErrUnsupportedName is a name that kopia cannot hold: it keeps names as JSON strings, which turn every byte that is not UTF-8 into the same
// character; two files would become one.
var ErrUnsupportedName = errors.New("the name is not UTF-8")

// unsupportedName is the reason of a fault that is about a name.
const unsupportedName = "UnsupportedName"

// Fault is one entry that was not stored, or not restored as it was.
type Fault struct {
	Path   string
	UID    int64
	Mode   os.FileMode
	Reason string
	// Cause is what the system said.
	Cause error
}

// Denied reports an entry that its reader had no right to.
func (f Fault) Denied() bool {
	return errors.Is(f.Cause, os.ErrPermission) || f.Cause == nil && f.Reason == syscall.EACCES.Error() // of a stored one the words are left
}

// Unstored counts what a snapshot lacks.
type Unstored struct {
	// Unreadable entries, whether or not the policy tolerates them.
	Unreadable       int64
	UnsupportedNames int64
	// Unsupported counts by kind: fifo, socket, device, xattr, acl, hardlink.
	Unsupported map[string]int64
	// Refused counts pipes, sockets and devices where the policy takes them for faults.
	Refused int64
	// Paths are the first MaxPaths unreadable entries and unsupported names.
	Paths []Fault
}

// sourceCounts is shared by all workers of one upload.
type sourceCounts struct {
	newFiles, modified atomic.Int64
	// vanished entries were deleted after they were listed. They are no fault, and kopia takes them for one.
	vanished atomic.Int64
	// strict: entries of a kind that kopia does not store are faults.
	strict bool

	noXattrs atomic.Bool // the file system has none
	// plainSince: a file that was stored before, and not touched since then, has none either.
	plainSince time.Time

	mu sync.Mutex
	u  Unstored
}

func newSourceCounts() *sourceCounts {
	return &sourceCounts{u: Unstored{Unsupported: map[string]int64{}}}
}

func (c *sourceCounts) changed(known bool) {
	if known {
		c.modified.Add(1)
	} else {
		c.newFiles.Add(1)
	}
}

// unreadable counts an entry once, however often it is tried.
func (c *sourceCounts) unreadable(e *sourceEntry, err error) {
	if !e.fault() {
		return
	}
	f := faultOf(e, err)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.u.Unreadable++
	c.path(f)
}

func (c *sourceCounts) vanish(e *sourceEntry) {
	if e.fault() {
		c.vanished.Add(1)
	}
}

// forgive takes the entries that vanished out of a snapshot's faults. Where there are others, kopia's numbers do not tell
// which is which, and all of them stay.
func (c *sourceCounts) forgive(e *snapshot.DirEntry) {
	gone, s := c.vanished.Load(), e.DirSummary
	if gone == 0 || s == nil || int64(s.FatalErrorCount)+int64(s.IgnoredErrorCount) != gone {
		return
	}
	whole := *s
	whole.FatalErrorCount, whole.IgnoredErrorCount, whole.FailedEntries = 0, 0, nil
	e.DirSummary = &whole
}

func (c *sourceCounts) badName(e *sourceEntry) {
	f := faultOf(e, ErrUnsupportedName)
	f.Reason = unsupportedName
	c.mu.Lock()
	defer c.mu.Unlock()
	c.u.UnsupportedNames++
	c.path(f)
}

func (c *sourceCounts) path(f Fault) {
	if len(c.u.Paths) < MaxPaths {
		c.u.Paths = append(c.u.Paths, f)
	}
}

// refuse counts an entry of a kind that kopia does not store, under a policy that does not pass over it.
func (c *sourceCounts) refuse(e *sourceEntry, kind string) {
	f := faultOf(e, fs.ErrUnknown)
	f.Reason = "kopia stores no " + kind
	c.unsupported(kind)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.u.Refused++
	c.path(f)
}

func (c *sourceCounts) unsupported(kind string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.u.Unsupported[kind]++
}

// attributes counts what kopia drops from an entry that it does store.
func (c *sourceCounts) attributes(e *sourceEntry) { c.attributesOf(e, nil) }

// attributesOf knows the extended ones already, or has to ask for them.
func (c *sourceCounts) attributesOf(e *sourceEntry, known *extended) {
	if st, ok := e.info.Sys().(*syscall.Stat_t); ok && e.info.Mode().IsRegular() && st.Nlink > 1 {
		c.unsupported("hardlink")
	}
	if c.noXattrs.Load() {
		return
	}
	var xattr, acl bool
	var err error
	if known != nil {
		xattr, acl, err = known.xattr, known.acl, known.err
	} else {
		xattr, acl, err = e.src.fs.Extended(e.rel())
	}
	if errors.Is(err, unix.ENOTSUP) {
		c.noXattrs.Store(true)
		return
	}
	if xattr {
		c.unsupported("xattr")
	}
	if acl {
		c.unsupported("acl")
	}
}

// isPlain reports a file that cannot have got an attribute since it was looked at: every change of one changes the time
// of the last change of the file, and there is no call that sets that time.
func (c *sourceCounts) isPlain(e *sourceEntry) bool {
	st, ok := e.info.Sys().(*syscall.Stat_t)
	return ok && e.info.Mode().IsRegular() && time.Unix(st.Ctim.Unix()).Before(c.plainSince)
}

func (c *sourceCounts) result() Unstored {
	c.mu.Lock()
	defer c.mu.Unlock()
	u := c.u
	u.Paths = append([]Fault(nil), c.u.Paths...)
	u.Unsupported = make(map[string]int64, len(c.u.Unsupported))
	maps.Copy(u.Unsupported, c.u.Unsupported)
	return u
}

func faultOf(e *sourceEntry, err error) Fault {
	return Fault{Path: e.rel(), Mode: e.Mode(), UID: int64(e.Owner().UserID), Reason: reasonOf(err), Cause: err}
}

// reasonOf is the system's own short text, without the path: status texts must not change from run to run.
func reasonOf(err error) string {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno.Error()
	}
	return err.Error()
}

func kindOf(m os.FileMode) string {
	switch {
	case m&os.ModeNamedPipe != 0:
		return "fifo"
	case m&os.ModeSocket != 0:
		return "socket"
	case m&os.ModeDevice != 0:
		return "device"
	default:
		return "other"
	}
}

// escapeName shows bytes that are not UTF-8 as \xNN.
func escapeName(name string) string {
	var b strings.Builder
	for name != "" {
		r, n := utf8.DecodeRuneInString(name)
		if r == utf8.RuneError && n == 1 {
			fmt.Fprintf(&b, `\x%02x`, name[0])
		} else {
			b.WriteString(name[:n])
		}
		name = name[n:]
	}
	return b.String()
}
