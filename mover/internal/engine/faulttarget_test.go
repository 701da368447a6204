// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"io/fs"
	"time"
)

// faultyDir passes every call on a target through a trigger.
type faultyDir struct {
	d targetDir
	t *trigger
}

func (t *trigger) target(d targetDir) targetDir { return faultyDir{d, t} }

func (f faultyDir) Stat() (fs.FileInfo, error) { return calling(f.t, "stat", ".", f.d.Stat) }
func (f faultyDir) Chown(uid, gid int) error {
	return f.t.call("chown", ".", func() error { return f.d.Chown(uid, gid) })
}

func (f faultyDir) Chmod(mode fs.FileMode) error {
	return f.t.call("chmod", ".", func() error { return f.d.Chmod(mode) })
}

func (f faultyDir) SetTime(at time.Time) error {
	return f.t.call("settime", ".", func() error { return f.d.SetTime(at) })
}

func (f faultyDir) Lstat(name string) (fs.FileInfo, error) {
	return calling(f.t, "lstat", name, func() (fs.FileInfo, error) { return f.d.Lstat(name) })
}
func (f faultyDir) Born(name string) time.Time { return f.d.Born(name) }

func (f faultyDir) Readlink(name string) (string, error) {
	return calling(f.t, "readlink", name, func() (string, error) { return f.d.Readlink(name) })
}

func (f faultyDir) ReadDir() ([]fs.DirEntry, error) { return calling(f.t, "readdir", ".", f.d.ReadDir) }

func (f faultyDir) Mkdir(name string, mode fs.FileMode) error {
	return f.t.call("mkdir", name, func() error { return f.d.Mkdir(name, mode) })
}

func (f faultyDir) OpenDir(name string) (targetDir, error) {
	d, err := calling(f.t, "opendir", name, func() (targetDir, error) { return f.d.OpenDir(name) })
	if err != nil {
		return nil, err
	}
	return faultyDir{d, f.t}, nil
}

func (f faultyDir) Create(name string) (targetFile, error) {
	return f.file("create", name, f.d.Create)
}

func (f faultyDir) Open(name string) (targetFile, error) { return f.file("open", name, f.d.Open) }

func (f faultyDir) file(op, name string, open func(string) (targetFile, error)) (targetFile, error) {
	file, err := calling(f.t, op, name, func() (targetFile, error) { return open(name) })
	if err != nil {
		return nil, err
	}
	return faultyFile{file, faultyThing{file, name, f.t}}, nil
}

func (f faultyDir) Symlink(to, name string) error {
	return f.t.call("symlink", name, func() error { return f.d.Symlink(to, name) })
}

func (f faultyDir) Rename(from, to string) error {
	return f.t.call("rename", from, func() error { return f.d.Rename(from, to) })
}

func (f faultyDir) Remove(name string) error {
	return f.t.call("remove", name, func() error { return f.d.Remove(name) })
}

func (f faultyDir) RemoveAll(name string) error {
	return f.t.call("removeall", name, func() error { return f.d.RemoveAll(name) })
}
func (f faultyDir) Named(name string) settable { return faultyThing{f.d.Named(name), name, f.t} }
func (f faultyDir) Sync() error                { return f.t.call("sync", ".", f.d.Sync) }
func (f faultyDir) Close() error               { return f.d.Close() }

type faultyThing struct {
	settable

	name string
	t    *trigger
}

func (f faultyThing) Chown(uid, gid int) error {
	return f.t.call("chown", f.name, func() error { return f.settable.Chown(uid, gid) })
}

func (f faultyThing) Chmod(mode fs.FileMode) error {
	return f.t.call("chmod", f.name, func() error { return f.settable.Chmod(mode) })
}

func (f faultyThing) SetTime(at time.Time) error {
	return f.t.call("settime", f.name, func() error { return f.settable.SetTime(at) })
}

type faultyFile struct {
	f targetFile
	faultyThing
}

func (f faultyFile) WriteAt(b []byte, off int64) (int, error) {
	return calling(f.t, "write", f.name, func() (int, error) { return f.f.WriteAt(b, off) })
}

func (f faultyFile) Truncate(size int64) error {
	return f.t.call("truncate", f.name, func() error { return f.f.Truncate(size) })
}

func (f faultyFile) Close() error { return f.t.call("close", f.name, f.f.Close) }
