// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package data

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// What Odd has that grows or vanishes while it is read (Disturb), and what kopia keeps none of.
const (
	Fifo      = "fifo"
	NotUTF8   = "latin-\xe9"
	Growing   = "growing"
	Vanishing = "vanishing"
)

// longPath is how long the longest path of Odd is, from the root of the file system: just below what the kernel takes,
// with room for a restore into a folder whose name is somewhat longer.
const longPath = unix.PathMax - 64

// odd makes one of everything that a backup stumbles over. What only root can make is left out for others.
func odd(dir string, s Spec) error {
	at := func(name string) string { return filepath.Join(dir, name) }
	content := make([]byte, 10*kib)
	_, _ = source(s).Read(content)
	plain := func(name string, mode os.FileMode) error {
		if err := write(at(name), content, mode, len(name)); err != nil {
			return err
		}
		return os.Chmod(at(name), mode) //nolint:wrapcheck // names the path
	}
	var err error
	do := func(what string, step error) {
		if err == nil && step != nil {
			err = fmt.Errorf("%s: %w", what, step)
		}
	}
	do("file", plain("file", 0o640))
	do("set-user-id", plain("setuid", 0o755|os.ModeSetuid))
	do("executable", plain("program", 0o755))
	do("empty", os.WriteFile(at("empty"), nil, 0o600))
	do("empty folder", os.Mkdir(at("empty-folder"), 0o700))
	do("sticky folder", os.Mkdir(at("sticky"), 0o777))
	do("sticky folder", os.Chmod(at("sticky"), 0o777|os.ModeSticky))
	do("link", os.Symlink("file", at("link")))
	do("dangling link", os.Symlink("../nowhere", at("dangling")))
	do("absolute link", os.Symlink("/etc/hostname", at("absolute")))
	do("link to a folder", os.Symlink("sticky", at("link-to-folder")))
	do("loop", os.Symlink("loop", at("loop")))
	do("hard link", os.Link(at("file"), at("hard-link")))
	do("fifo", unix.Mkfifo(at(Fifo), 0o600))
	do("names", plain("with space, \"quotes\" and \n a line break", 0o644))
	do("names", plain("früh-日本-🗄", 0o644))
	do("names", plain(strings.Repeat("n", 255), 0o644))
	do("a name that is not UTF-8", plain(NotUTF8, 0o644))
	do("hole", stream(at("hole"), func(f *os.File) error { return f.Truncate(16 * mib) }))
	do("growing", plain(Growing, 0o644))
	for i := range 20 {
		do("vanishing", plain(fmt.Sprintf("%s-%02d", Vanishing, i), 0o644))
	}
	if xerr := unix.Lsetxattr(at("program"), "user.kopiur", []byte("kept by nobody"), 0); xerr != unix.ENOTSUP {
		do("extended attribute", xerr)
	}
	if os.Geteuid() == 0 {
		do("somebody else's", plain("of-another", 0o600))
		do("somebody else's", os.Chown(at("of-another"), 12345, 23456))
	}
	if err == nil {
		err = deep(dir, content)
	}
	return err
}

// deep makes folders below each other until the path of the file in the last one is as long as a path may be. How many
// there are so depends on where the set is.
func deep(dir string, content []byte) error {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return err //nolint:wrapcheck // says what failed
	}
	path := filepath.Join(abs, "deep")
	for longPath-len(path)-1 > unix.NAME_MAX {
		path = filepath.Join(path, strings.Repeat("d", 200))
	}
	if err := os.MkdirAll(path, 0o755); err != nil {
		return err //nolint:wrapcheck // names the path
	}
	return write(filepath.Join(path, strings.Repeat("f", longPath-len(path)-1)), content, 0o644, 0)
}

// Disturb lets one file of Odd grow and others vanish until done is closed. It is meant to run while somebody reads them.
func Disturb(dir string, done, tick <-chan struct{}) error {
	f, err := os.OpenFile(filepath.Join(dir, Growing), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err //nolint:wrapcheck // names the path
	}
	defer f.Close()
	line := []byte(strings.Repeat("more ", 800))
	for i := 0; ; i++ {
		select {
		case <-done:
			return nil
		case <-tick:
		}
		if _, err := f.Write(line); err != nil {
			return err //nolint:wrapcheck // names the path
		}
		if i < 20 {
			err := os.Remove(filepath.Join(dir, fmt.Sprintf("%s-%02d", Vanishing, i)))
			if err != nil && !os.IsNotExist(err) {
				return err //nolint:wrapcheck // names the path
			}
		}
	}
}

// status is what the kernel says of a file.
func status(info os.FileInfo) *syscall.Stat_t {
	st, _ := info.Sys().(*syscall.Stat_t)
	return st
}
