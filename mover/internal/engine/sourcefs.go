// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// sourceFS is what a backup asks the system, by paths below the source's root. Tests put one in between that fails.
type sourceFS interface {
	Lstat(rel string) (os.FileInfo, error)
	Readlink(rel string) (string, error)
	OpenDir(rel string) (sourceFolder, error)
	OpenFile(rel string) (sourceHandle, error)
	// Extended reports extended attributes and ACLs.
	Extended(rel string) (xattr, acl bool, err error)
	Close() error
}

// sourceFolder is an open folder.
type sourceFolder interface {
	ReadDir(n int) ([]os.DirEntry, error)
	Lstat(name string) (os.FileInfo, error)
	Close() error
}

// sourceHandle is an open file.
type sourceHandle interface {
	io.ReadSeekCloser
	Stat() (os.FileInfo, error)
}

// rootFS is the real one. On a live volume somebody may put a link in the place of a file or folder: it is never
// followed out of the source. And as every element of a path is opened by itself, a path may be longer than 4096 bytes.
type rootFS struct {
	*os.Root

	self *os.File
}

func openRootFS(root string) (sourceFS, error) {
	r, err := os.OpenRoot(filepath.Clean(root)) // a mount point may be reached through a link
	if err != nil {
		return nil, err //nolint:wrapcheck // the caller says that it is the source
	}
	self, err := r.Open(".")
	if err != nil {
		_ = r.Close()
		return nil, err //nolint:wrapcheck // the caller says that it is the source
	}
	return rootFS{r, self}, nil
}

func (r rootFS) Close() error {
	_ = r.self.Close()
	return r.Root.Close() //nolint:wrapcheck // nobody looks at it
}

// Lstat goes the short way where it can: kopia asks for two names in every folder that are hardly ever there.
func (r rootFS) Lstat(rel string) (os.FileInfo, error) {
	fd, err := r.beneath(rel, unix.O_PATH|unix.O_NOFOLLOW)
	if err != nil {
		if errors.Is(err, unix.ENOENT) {
			return nil, &os.PathError{Op: "lstat", Path: rel, Err: err}
		}
		return r.Root.Lstat(rel) //nolint:wrapcheck // the callers look at it
	}
	defer func() { _ = unix.Close(fd) }()
	var st unix.Stat_t
	if err := uninterrupted(func() error { return unix.Fstat(fd, &st) }); err != nil {
		return nil, &os.PathError{Op: "lstat", Path: rel, Err: err}
	}
	return newStatInfo(path.Base(rel), &st), nil
}

func (r rootFS) OpenDir(rel string) (sourceFolder, error) {
	if fd, err := r.beneath(rel, unix.O_RDONLY|unix.O_DIRECTORY); err == nil {
		return openFolder{os.NewFile(uintptr(fd), filepath.Join(r.Name(), rel)), fd}, nil
	}
	f, err := r.Root.OpenFile(rel, os.O_RDONLY|syscall.O_DIRECTORY, 0)
	if err != nil {
		return nil, err //nolint:wrapcheck // the callers look at it
	}
	defer f.Close()
	// To list takes the right to read, to look that to search; a folder may give only the first. Go's own listing of a file
	// that was opened in a root looks at every entry, so it gets another file of the same descriptor.
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "dup", Path: rel, Err: err}
	}
	return openFolder{os.NewFile(uintptr(fd), filepath.Join(r.Name(), rel)), fd}, nil
}

func (r rootFS) OpenFile(rel string) (sourceHandle, error) {
	if f := r.openBeneath(rel); f != nil {
		return f, nil
	}
	f, err := r.Root.OpenFile(rel, openFlags, 0)
	if err != nil {
		return nil, err //nolint:wrapcheck // the callers look at it
	}
	return f, nil
}

// openFlags has O_NONBLOCK: where somebody has put a pipe, opening it would wait for a writer for ever.
const openFlags = os.O_RDONLY | syscall.O_NONBLOCK

// openBeneath opens a file in one step, where the root takes one for every folder on the way. The kernel watches over the
// root as closely. What it refuses is asked for again the long way: it may not know this call, or not such a long path,
// and if the file is the reason, the root says so in its own words.
func (r rootFS) openBeneath(rel string) *os.File {
	fd, err := r.beneath(rel, uint64(openFlags))
	if err != nil {
		return nil
	}
	return os.NewFile(uintptr(fd), filepath.Join(r.Name(), rel))
}

func (r rootFS) beneath(rel string, flags uint64) (int, error) {
	return unix.Openat2(int(r.self.Fd()), rel, &unix.OpenHow{ //nolint:wrapcheck // the callers look at it
		Flags: flags | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS,
	})
}

// Extended does not count what a security module or an overlay puts on every file: it is not the user's.
func (r rootFS) Extended(rel string) (xattr, acl bool, err error) {
	name := filepath.Join(r.Name(), rel)
	if len(name) >= unix.PathMax {
		d, err := r.OpenRoot(path.Dir(rel))
		if err != nil {
			return false, false, err //nolint:wrapcheck // compared by the caller
		}
		defer d.Close()
		f, err := d.Open(".")
		if err != nil {
			return false, false, err //nolint:wrapcheck // compared by the caller
		}
		defer f.Close()
		name = fmt.Sprintf("/proc/self/fd/%d/%s", f.Fd(), path.Base(rel))
	}
	return lookThrough(func(buf []byte) (int, error) { return unix.Llistxattr(name, buf) })
}

// extended is what a file has of extended attributes and ACLs.
type extended struct {
	xattr, acl bool
	err        error
}

// extendedOf asks an open file, which takes less than to ask for its name; nil where it cannot be asked.
func extendedOf(h sourceHandle) *extended {
	f, ok := h.(syscall.Conn)
	if !ok {
		return nil
	}
	c, err := f.SyscallConn()
	if err != nil {
		return nil
	}
	var e extended
	if err := c.Control(func(fd uintptr) {
		e.xattr, e.acl, e.err = lookThrough(func(buf []byte) (int, error) { return unix.Flistxattr(int(fd), buf) })
	}); err != nil {
		return nil
	}
	return &e
}

// lookThrough looks at the names of extended attributes.
func lookThrough(list func([]byte) (int, error)) (xattr, acl bool, err error) {
	var small [512]byte
	buf := small[:]
	n, err := list(buf)
	if errors.Is(err, unix.ERANGE) {
		buf = make([]byte, 64<<10) // the kernel's own limit
		n, err = list(buf)
	}
	if err != nil {
		return false, false, err //nolint:wrapcheck // compared by the caller
	}
	for name := range strings.SplitSeq(string(buf[:n]), "\x00") {
		switch {
		case name == "", name == "security.selinux", name == "security.ima", name == "security.evm",
			strings.HasPrefix(name, "trusted.overlay."), strings.HasPrefix(name, "system.nfs4"):
		case strings.HasPrefix(name, "system.posix_acl_"):
			acl = true
		default:
			xattr = true
		}
	}
	return xattr, acl, nil
}

// openFolder is asked by its descriptor: neither way goes by a path that somebody may have changed meanwhile.
type openFolder struct {
	*os.File

	fd int
}

func (f openFolder) Lstat(name string) (os.FileInfo, error) {
	var st unix.Stat_t
	if err := uninterrupted(func() error { return unix.Fstatat(f.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) }); err != nil {
		return nil, &os.PathError{Op: "lstat", Path: name, Err: err}
	}
	return newStatInfo(name, &st), nil
}

// uninterrupted asks again where a signal of the runtime's cut a slow file system short.
func uninterrupted(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
