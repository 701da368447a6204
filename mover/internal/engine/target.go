// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// targetDir is one folder of a restore's target. Every folder is opened by itself, and every name in it is one element
// of a path: an operation touches that folder or nothing, also when somebody swaps a folder for a link meanwhile.
// Tests put one in between that fails, or that is the somebody.
type targetDir interface {
	settable
	Lstat(name string) (fs.FileInfo, error)
	// Born is when a name was made; zero where the file system does not keep that.
	Born(name string) time.Time
	Readlink(name string) (string, error)
	ReadDir() ([]fs.DirEntry, error)
	Mkdir(name string, mode fs.FileMode) error
	OpenDir(name string) (targetDir, error)
	// Create makes a file that must not exist; Open takes one as it is.
	Create(name string) (targetFile, error)
	Open(name string) (targetFile, error)
	Symlink(to, name string) error
	Rename(from, to string) error
	Remove(name string) error
	RemoveAll(name string) error
	// Named is what has a name, without following it where it is a link.
	Named(name string) settable
	// Sync makes all that was written durable.
	Sync() error
	Close() error
}

// targetFile is an open file of the target.
type targetFile interface {
	settable
	io.WriterAt
	Truncate(size int64) error
	Close() error
}

// settable is what has an owner, a mode and a time.
type settable interface {
	Stat() (fs.FileInfo, error)
	Chown(uid, gid int) error
	Chmod(mode fs.FileMode) error
	SetTime(t time.Time) error
}

// rootDir is the real one.
type rootDir struct {
	*os.Root

	self *os.File
}

func openTarget(path string) (targetDir, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err //nolint:wrapcheck // the caller says that it is the target
	}
	return newRootDir(root)
}

func newRootDir(root *os.Root) (targetDir, error) {
	f, err := root.Open(".")
	if err != nil {
		_ = root.Close()
		return nil, err //nolint:wrapcheck // the caller adds the path
	}
	return &rootDir{root, f}, nil
}

func (d *rootDir) OpenDir(name string) (targetDir, error) {
	root, err := d.OpenRoot(name)
	if err != nil {
		return nil, err //nolint:wrapcheck // the caller adds the path
	}
	return newRootDir(root)
}

func (d *rootDir) Born(name string) time.Time {
	var st unix.Statx_t
	err := unix.Statx(d.fd(), name, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BTIME, &st)
	if err != nil || st.Mask&unix.STATX_BTIME == 0 {
		return time.Time{}
	}
	return time.Unix(st.Btime.Sec, int64(st.Btime.Nsec))
}

// ReadDir reads through a descriptor of its own: one that was read to its end stays there.
func (d *rootDir) ReadDir() ([]fs.DirEntry, error) {
	f, err := d.Root.Open(".")
	if err != nil {
		return nil, err //nolint:wrapcheck // the caller adds the path
	}
	defer f.Close()
	return f.ReadDir(-1) //nolint:wrapcheck // the caller adds the path
}

func (d *rootDir) Create(name string) (targetFile, error) {
	return d.file(name, os.O_CREATE|os.O_EXCL)
}

// Open does not wait where somebody has put a pipe, and refuses what is no regular file.
func (d *rootDir) Open(name string) (targetFile, error) {
	return d.file(name, os.O_CREATE|os.O_TRUNC|syscall.O_NONBLOCK)
}

func (d *rootDir) file(name string, flags int) (targetFile, error) {
	f, err := d.OpenFile(name, os.O_WRONLY|flags, 0o600)
	if err != nil {
		return nil, err //nolint:wrapcheck // the caller adds the path
	}
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		_ = f.Close()
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.EEXIST}
	}
	return rootFile{f, named{d, name}}, nil
}

func (d *rootDir) Named(name string) settable { return named{d, name} }

func (d *rootDir) Sync() error { return unix.Syncfs(d.fd()) } //nolint:wrapcheck // the caller adds what it is

func (d *rootDir) Close() error {
	_ = d.self.Close()
	return d.Root.Close() //nolint:wrapcheck // nothing was written through it
}

func (d *rootDir) fd() int { return int(d.self.Fd()) }

// The folder itself. The root's own methods of these names take a name.

func (d *rootDir) Stat() (fs.FileInfo, error)   { return d.self.Stat() }
func (d *rootDir) Chown(uid, gid int) error     { return d.self.Chown(uid, gid) }
func (d *rootDir) Chmod(mode fs.FileMode) error { return d.self.Chmod(mode) }
func (d *rootDir) SetTime(t time.Time) error    { return setTime(d.fd(), ".", t) }

// rootFile is an open file. Only its time goes by its name: kernels before 5.8 know no other way.
type rootFile struct {
	*os.File

	at named
}

func (f rootFile) SetTime(t time.Time) error { return f.at.SetTime(t) }

// named is an entry by its name.
type named struct {
	d    *rootDir
	name string
}

func (n named) Stat() (fs.FileInfo, error)   { return n.d.Lstat(n.name) }
func (n named) Chown(uid, gid int) error     { return n.d.Lchown(n.name, uid, gid) }
func (n named) Chmod(mode fs.FileMode) error { return n.d.Root.Chmod(n.name, mode) }
func (n named) SetTime(t time.Time) error    { return setTime(n.d.fd(), n.name, t) }

func setTime(dir int, name string, t time.Time) error {
	ts := unix.NsecToTimespec(t.UnixNano())
	return unix.UtimesNanoAt(dir, name, []unix.Timespec{ts, ts}, unix.AT_SYMLINK_NOFOLLOW) //nolint:wrapcheck // counted with its path
}
