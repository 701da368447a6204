// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import "os"

// faultySource passes every call on a source through a trigger.
type faultySource struct {
	sourceFS

	t *trigger
}

func (t *trigger) source(s sourceFS) sourceFS { return faultySource{s, t} }

func (f faultySource) Lstat(rel string) (os.FileInfo, error) {
	return calling(f.t, "lstat", rel, func() (os.FileInfo, error) { return f.sourceFS.Lstat(rel) })
}

func (f faultySource) Readlink(rel string) (string, error) {
	return calling(f.t, "readlink", rel, func() (string, error) { return f.sourceFS.Readlink(rel) })
}

func (f faultySource) Extended(rel string) (xattr, acl bool, err error) {
	err = f.t.call("xattr", rel, func() (err error) { xattr, acl, err = f.sourceFS.Extended(rel); return err })
	return xattr, acl, err
}

func (f faultySource) OpenDir(rel string) (sourceFolder, error) {
	d, err := calling(f.t, "opendir", rel, func() (sourceFolder, error) { return f.sourceFS.OpenDir(rel) })
	if err != nil {
		return nil, err
	}
	return faultyFolder{d, rel, f.t}, nil
}

func (f faultySource) OpenFile(rel string) (sourceHandle, error) {
	h, err := calling(f.t, "open", rel, func() (sourceHandle, error) { return f.sourceFS.OpenFile(rel) })
	if err != nil {
		return nil, err
	}
	return faultyHandle{h, rel, f.t}, nil
}

type faultyFolder struct {
	sourceFolder

	rel string
	t   *trigger
}

func (f faultyFolder) ReadDir(n int) ([]os.DirEntry, error) {
	return calling(f.t, "readdir", f.rel, func() ([]os.DirEntry, error) { return f.sourceFolder.ReadDir(n) })
}

func (f faultyFolder) Lstat(name string) (os.FileInfo, error) {
	return calling(f.t, "lstat", f.rel+"/"+name, func() (os.FileInfo, error) { return f.sourceFolder.Lstat(name) })
}

type faultyHandle struct {
	sourceHandle

	rel string
	t   *trigger
}

func (f faultyHandle) Read(p []byte) (int, error) {
	return calling(f.t, "read", f.rel, func() (int, error) { return f.sourceHandle.Read(p) })
}

func (f faultyHandle) Seek(off int64, whence int) (int64, error) {
	return calling(f.t, "seek", f.rel, func() (int64, error) { return f.sourceHandle.Seek(off, whence) })
}

func (f faultyHandle) Stat() (os.FileInfo, error) {
	return calling(f.t, "stat", f.rel, f.sourceHandle.Stat)
}
