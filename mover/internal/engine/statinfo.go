// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// statInfo is what the system says of an entry that was asked for by a descriptor. Go has no way to make its own
// FileInfo from such an answer without opening the entry.
type statInfo struct {
	name string
	mode os.FileMode
	sys  syscall.Stat_t
}

func newStatInfo(name string, st *unix.Stat_t) *statInfo {
	return &statInfo{name: name, mode: fileMode(st.Mode), sys: syscall.Stat_t{
		Dev: st.Dev, Ino: st.Ino, Nlink: st.Nlink, Mode: st.Mode, Uid: st.Uid, Gid: st.Gid, Rdev: st.Rdev,
		Size: st.Size, Blksize: st.Blksize, Blocks: st.Blocks,
		Atim: syscall.Timespec(st.Atim), Mtim: syscall.Timespec(st.Mtim), Ctim: syscall.Timespec(st.Ctim),
	}}
}

func (s *statInfo) Name() string       { return s.name }
func (s *statInfo) Size() int64        { return s.sys.Size }
func (s *statInfo) Mode() os.FileMode  { return s.mode }
func (s *statInfo) ModTime() time.Time { return time.Unix(s.sys.Mtim.Unix()) }
func (s *statInfo) IsDir() bool        { return s.mode.IsDir() }
func (s *statInfo) Sys() any           { return &s.sys }

// fileMode turns the bits of stat(2) into Go's.
func fileMode(bits uint32) os.FileMode {
	mode := os.FileMode(bits & 0o777)
	switch bits & unix.S_IFMT {
	case unix.S_IFDIR:
		mode |= os.ModeDir
	case unix.S_IFLNK:
		mode |= os.ModeSymlink
	case unix.S_IFIFO:
		mode |= os.ModeNamedPipe
	case unix.S_IFSOCK:
		mode |= os.ModeSocket
	case unix.S_IFCHR:
		mode |= os.ModeDevice | os.ModeCharDevice
	case unix.S_IFBLK:
		mode |= os.ModeDevice
	}
	if bits&unix.S_ISUID != 0 {
		mode |= os.ModeSetuid
	}
	if bits&unix.S_ISGID != 0 {
		mode |= os.ModeSetgid
	}
	if bits&unix.S_ISVTX != 0 {
		mode |= os.ModeSticky
	}
	return mode
}
