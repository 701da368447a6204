// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// image makes the image of a device: data, a hole, zeros that are written, data across two segments, a tail that fills no
// block.
func image(t *testing.T, size int64) string {
	t.Helper()
	at := filepath.Join(t.TempDir(), "image")
	f, err := os.Create(at)
	require.NoError(t, err)
	random := rand.NewChaCha8([32]byte{3})
	put := func(off, n int64) {
		b := make([]byte, n)
		_, _ = random.Read(b)
		_, err := f.WriteAt(b, off)
		require.NoError(t, err)
	}
	require.NoError(t, f.Truncate(size))
	put(0, 100)
	put(9<<20, 5<<20)
	_, err = f.WriteAt(make([]byte, 8<<20), 20<<20)
	require.NoError(t, err)
	put(60<<20, 8<<20)
	put(size-77, 77)
	require.NoError(t, f.Close())
	return at
}

const imageSize = 80<<20 + 512

// usedDevice makes a target that holds something everywhere.
func usedDevice(t *testing.T, size int64) string {
	t.Helper()
	at := filepath.Join(t.TempDir(), "target")
	require.NoError(t, os.WriteFile(at, bytes.Repeat([]byte{0xa5}, int(size)), 0o600))
	return at
}

func sameBytes(t *testing.T, a, b string, n int64) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "cmp", "-n", strconv.FormatInt(n, 10), a, b).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// uploadDevice uploads an image or device.
func uploadDevice(t *testing.T, r *Repository, at string, change ...func(*Upload)) (Uploaded, error) {
	t.Helper()
	u := uploadOf(at)
	for _, c := range change {
		c(&u)
	}
	return r.UploadDevice(testContext(t), u)
}

func TestADeviceComesBackByteForByte(t *testing.T) {
	t.Parallel()
	src := image(t, imageSize)
	_, r := created(t, folder(t))
	up, err := uploadDevice(t, r, src)
	require.NoError(t, err)
	assert.True(t, up.Snapshot.Complete())
	assert.Equal(t, int64(imageSize), up.Snapshot.Size)
	assert.Equal(t, int64(1), up.FilesNew)
	assert.Less(t, up.BytesHashed, int64(32<<20), "zeros are not hashed")
	assert.Less(t, up.BytesUploaded, int64(16<<20))
	for name, o := range map[string]Restore{"alone": {}, "in parallel": {Parallel: 4}, "writing what differs": {SkipExisting: true, Parallel: 2}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o.Target, o.Progress = usedDevice(t, imageSize+4096), &Counters{}
			out, err := r.RestoreDevice(testContext(t), up.Snapshot, o)
			require.NoError(t, err)
			assert.Equal(t, int64(imageSize), out.Bytes)
			assert.Equal(t, int64(imageSize), o.Progress.Bytes.Load())
			sameBytes(t, src, o.Target, imageSize)
			behind := make([]byte, 4096)
			f, err := os.Open(o.Target)
			require.NoError(t, err)
			defer f.Close()
			_, err = f.ReadAt(behind, imageSize)
			require.NoError(t, err)
			assert.Equal(t, bytes.Repeat([]byte{0xa5}, 4096), behind, "what lies behind the image stays")
			assert.Less(t, allocated(t, o.Target), int64(40<<20), "zeros take no space")
		})
	}
	t.Run("as a file", func(t *testing.T) {
		t.Parallel()
		dst := t.TempDir()
		_, err := r.Restore(testContext(t), up.Snapshot, Restore{Target: dst, Sparse: true, Progress: &Counters{}})
		require.NoError(t, err)
		sameBytes(t, src, filepath.Join(dst, "data.img"), imageSize)
	})
}

func allocated(t *testing.T, at string) int64 {
	t.Helper()
	st, err := os.Stat(at)
	require.NoError(t, err)
	own, ok := st.Sys().(*syscall.Stat_t)
	require.True(t, ok)
	return own.Blocks * 512
}

func TestADeviceThatHasNotChanged(t *testing.T) {
	t.Parallel()
	src := image(t, imageSize)
	_, r := created(t, folder(t))
	first, err := uploadDevice(t, r, src, func(u *Upload) { u.Parallel = 1 })
	require.NoError(t, err)
	again, err := uploadDevice(t, r, src, func(u *Upload) { u.Parallel = 4 })
	require.NoError(t, err)
	assert.Equal(t, first.Snapshot.RootID, again.Snapshot.RootID, "whatever the number of workers")
	assert.Equal(t, int64(1), again.FilesUnchanged)
	assert.Less(t, again.BytesUploaded, int64(64<<10))
	same, err := uploadDevice(t, r, src, func(u *Upload) { u.Policy.IgnoreIdentical = true })
	require.NoError(t, err)
	assert.True(t, same.Unchanged)
	assert.Empty(t, same.Snapshot.ID)

	f, err := os.OpenFile(src, os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.WriteAt([]byte("changed"), 61<<20)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	changed, err := uploadDevice(t, r, src)
	require.NoError(t, err)
	assert.Equal(t, int64(1), changed.FilesModified)
	assert.Less(t, changed.BytesUploaded, int64(5<<20), "one block of four MiB")
}

func TestADeviceThatIsAllZeros(t *testing.T) {
	t.Parallel()
	const size = deviceSegment + 3*deviceBlock
	src := filepath.Join(t.TempDir(), "image")
	require.NoError(t, os.WriteFile(src, nil, 0o600))
	require.NoError(t, os.Truncate(src, size))
	_, r := created(t, folder(t))
	up, err := uploadDevice(t, r, src)
	require.NoError(t, err)
	assert.Zero(t, up.BytesHashed)
	dst := usedDevice(t, size)
	_, err = r.RestoreDevice(testContext(t), up.Snapshot, Restore{Target: dst, Progress: &Counters{}})
	require.NoError(t, err)
	sameBytes(t, src, dst, size)
	assert.Zero(t, allocated(t, dst))
}

func TestARestoreOntoADeviceRefuses(t *testing.T) {
	t.Parallel()
	src := image(t, imageSize)
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "disk.img"), "a small image", 0o600)
	_, r := created(t, folder(t))
	up, err := uploadDevice(t, r, src)
	require.NoError(t, err)
	files, err := r.Upload(testContext(t), uploadOf(dir))
	require.NoError(t, err)
	sparse := filepath.Join(t.TempDir(), "sparse")
	require.NoError(t, os.WriteFile(sparse, nil, 0o600))
	require.NoError(t, os.Truncate(sparse, imageSize))
	for name, tc := range map[string]struct {
		snapshot Snapshot
		o        Restore
		err      error
	}{
		"a device that is too small":                   {up.Snapshot, Restore{Target: usedDevice(t, imageSize-512)}, ErrTooSmall},
		"a folder in the place of an image":            {files.Snapshot, Restore{Target: usedDevice(t, 4096)}, ErrInvalidOption},
		"a target that is a folder":                    {up.Snapshot, Restore{Target: t.TempDir()}, syscall.ENOTBLK},
		"a target that is a terminal":                  {up.Snapshot, Restore{Target: "/dev/null"}, syscall.ENOTBLK},
		"a target that is not there":                   {up.Snapshot, Restore{Target: filepath.Join(t.TempDir(), "none")}, fs.ErrNotExist},
		"a device with something on it, if asked to":   {up.Snapshot, Restore{Target: usedDevice(t, imageSize), KeepFiles: true}, fs.ErrExist},
		"an empty device takes it, if asked to or not": {up.Snapshot, Restore{Target: sparse, KeepFiles: true}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before, _ := os.ReadFile(tc.o.Target)
			tc.o.Progress = &Counters{}
			_, err := r.RestoreDevice(testContext(t), tc.snapshot, tc.o)
			if tc.err == nil {
				require.NoError(t, err)
				sameBytes(t, src, tc.o.Target, imageSize)
				return
			}
			require.ErrorIs(t, err, tc.err)
			after, _ := os.ReadFile(tc.o.Target)
			assert.True(t, bytes.Equal(before, after), "nothing was written")
		})
	}
	part, err := r.Part(testContext(t), files.Snapshot, "disk.img")
	require.NoError(t, err)
	dst := usedDevice(t, 4096)
	_, err = r.RestoreDevice(testContext(t), part, Restore{Target: dst, Progress: &Counters{}})
	require.NoError(t, err, "an image in a folder goes onto a device by its path")
	sameBytes(t, filepath.Join(dir, "disk.img"), dst, 13)
}

func TestASourceThatIsNoDevice(t *testing.T) {
	t.Parallel()
	_, r := created(t, folder(t))
	empty := filepath.Join(t.TempDir(), "empty")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	for name, at := range map[string]string{"a folder": t.TempDir(), "a terminal": "/dev/null", "nothing": "/nowhere", "no bytes": empty} {
		_, err := uploadDevice(t, r, at)
		require.ErrorIs(t, err, ErrSource, name)
	}
	assert.Empty(t, tagged(t, r))
}

func tagged(t *testing.T, r *Repository) []Snapshot {
	t.Helper()
	all, err := r.List(testContext(t), webData)
	require.NoError(t, err)
	return all
}

// interruptedDevice does something at the nth read.
type interruptedDevice struct {
	sourceDevice

	t *trigger
}

func (d interruptedDevice) ReadAt(b []byte, off int64) (int, error) {
	return calling(d.t, "read", "device", func() (int, error) { return d.sourceDevice.ReadAt(b, off) })
}

func TestADeviceUploadThatIsInterrupted(t *testing.T) {
	t.Parallel()
	src := image(t, imageSize)
	c, r := created(t, folder(t))
	soft, end := context.WithCancel(t.Context())
	defer end()
	// The seventh block that is read is the first of the second segment: holes are not read.
	tr := &trigger{n: 7, do: func(string, string) error { end(); return nil }}
	interrupt := func(u *Upload) {
		u.Parallel, u.Soft, u.Tags = 1, soft, map[string]string{"kopiur-request": "r1"}
		u.wrapDevice = func(d sourceDevice) sourceDevice { return interruptedDevice{d, tr} }
	}
	_, err := uploadDevice(t, r, src, interrupt)
	require.ErrorIs(t, err, ErrInterrupted)
	all := listFresh(t, c)
	require.Len(t, all, 1)
	assert.False(t, all[0].Complete())
	assert.Empty(t, all[0].Tags)
	assert.Equal(t, int64(deviceSegment), all[0].Size, "what was stored by then is kept")

	up, err := uploadDevice(t, r, src)
	require.NoError(t, err)
	assert.Less(t, up.BytesUploaded, int64(10<<20), "and not stored again")
	all = listFresh(t, c)
	require.Len(t, all, 1, "the checkpoint is gone")
	assert.True(t, all[0].Complete())

	up, err = uploadDevice(t, r, src, func(u *Upload) { u.MaxBytes, u.Parallel = 1<<20, 1 })
	require.ErrorIs(t, err, ErrUploadLimit)
	assert.False(t, up.Snapshot.Complete())
}

func TestADeviceUploadMakesCheckpoints(t *testing.T) {
	t.Parallel()
	src := image(t, imageSize)
	c, r := created(t, folder(t))
	seen := 0
	tr := &trigger{n: 1, manner: manner{forever: true}, do: func(string, string) error {
		seen = max(seen, len(listFresh(t, c)))
		return nil
	}}
	_, err := uploadDevice(t, r, src, func(u *Upload) {
		u.Parallel, u.Checkpoint = 1, 1
		u.wrapDevice = func(d sourceDevice) sourceDevice { return interruptedDevice{d, tr} }
	})
	require.NoError(t, err)
	assert.Positive(t, seen, "there was one while it was read")
	assert.Len(t, listFresh(t, c), 1)
}

func TestADeviceThatCannotBeRead(t *testing.T) {
	t.Parallel()
	src := image(t, imageSize)
	c, r := created(t, folder(t))
	tr := &trigger{n: 3, do: func(string, string) error { return syscall.EIO }}
	_, err := uploadDevice(t, r, src, func(u *Upload) {
		u.Policy.IgnoreFileErrors = true
		u.wrapDevice = func(d sourceDevice) sourceDevice { return interruptedDevice{d, tr} }
	})
	require.ErrorIs(t, err, ErrSource)
	require.ErrorIs(t, err, syscall.EIO)
	require.ErrorContains(t, err, "at byte")
	assert.Empty(t, listFresh(t, c), "an image with a gap is no image")
}

// loop makes a block device of a file.
func loop(t *testing.T, file string) string {
	t.Helper()
	ctl, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	require.NoError(t, err)
	defer ctl.Close()
	backing, err := os.OpenFile(file, os.O_RDWR, 0)
	require.NoError(t, err)
	defer backing.Close()
	for {
		n, err := unix.IoctlRetInt(int(ctl.Fd()), unix.LOOP_CTL_GET_FREE)
		require.NoError(t, err)
		at := "/dev/loop" + strconv.Itoa(n)
		if _, err := os.Stat(at); errors.Is(err, fs.ErrNotExist) {
			_ = unix.Mknod(at, unix.S_IFBLK|0o600, int(unix.Mkdev(7, uint32(n))))
		}
		dev, err := os.OpenFile(at, os.O_RDWR, 0)
		require.NoError(t, err)
		err = unix.IoctlLoopConfigure(int(dev.Fd()), &unix.LoopConfig{Fd: uint32(backing.Fd()), Size: 512})
		if errors.Is(err, unix.EBUSY) {
			_ = dev.Close()
			continue // somebody else was quicker
		}
		require.NoError(t, err)
		require.NoError(t, dev.Close())
		t.Cleanup(func() {
			dev, err := os.OpenFile(at, os.O_RDWR, 0)
			require.NoError(t, err)
			defer dev.Close()
			require.NoError(t, unix.IoctlSetInt(int(dev.Fd()), unix.LOOP_CLR_FD, 0))
		})
		return at
	}
}

func TestRealBlockDevices(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root: without it no file becomes a block device; the other tests use files")
	}
	if _, err := os.Stat("/dev/loop-control"); err != nil {
		t.Skip("this machine has no loop devices")
	}
	file := image(t, imageSize)
	src := loop(t, file)
	target := usedDevice(t, imageSize+1<<20)
	dst := loop(t, target)
	_, r := created(t, folder(t))
	up, err := uploadDevice(t, r, src)
	require.NoError(t, err)
	assert.Equal(t, int64(imageSize), up.Snapshot.Size)
	assert.Less(t, up.BytesHashed, int64(40<<20), "zeros are found where holes cannot be")
	o := Restore{Target: dst, Parallel: 2, Progress: &Counters{}}

	holder, err := os.OpenFile(dst, os.O_RDONLY|os.O_EXCL, 0)
	require.NoError(t, err)
	_, err = r.RestoreDevice(testContext(t), up.Snapshot, o)
	require.ErrorIs(t, err, ErrInUse, "somebody else has it, as a mount does")
	require.NoError(t, holder.Close())
	sameBytes(t, usedDevice(t, imageSize), target, imageSize)

	_, err = r.RestoreDevice(testContext(t), up.Snapshot, o)
	require.NoError(t, err)
	sameBytes(t, file, dst, imageSize)
	assert.Less(t, allocated(t, target), int64(60<<20), "zeros went back to the pool")

	small := loop(t, usedDevice(t, imageSize-1<<20))
	_, err = r.RestoreDevice(testContext(t), up.Snapshot, Restore{Target: small, Progress: &Counters{}})
	require.ErrorIs(t, err, ErrTooSmall)
}

func TestAMountedDeviceIsRefused(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root: without it nothing is mounted")
	}
	file := filepath.Join(t.TempDir(), "fs")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.NoError(t, os.Truncate(file, 16<<20))
	if out, err := exec.CommandContext(t.Context(), "mkfs.ext4", "-q", file).CombinedOutput(); err != nil {
		t.Skipf("needs mkfs.ext4: %v %s", err, out)
	}
	dev, at := loop(t, file), t.TempDir()
	if err := unix.Mount(dev, at, "ext4", 0, ""); err != nil {
		t.Skipf("this machine lets nobody mount: %v", err)
	}
	t.Cleanup(func() { assert.NoError(t, unix.Unmount(at, 0)) })
	writeFile(t, filepath.Join(at, "precious"), "precious", 0o600)
	_, r := created(t, folder(t))
	small := filepath.Join(t.TempDir(), "image")
	require.NoError(t, os.WriteFile(small, []byte("image"), 0o600))
	up, err := uploadDevice(t, r, small)
	require.NoError(t, err)
	_, err = r.RestoreDevice(testContext(t), up.Snapshot, Restore{Target: dev, Progress: &Counters{}})
	require.ErrorIs(t, err, ErrInUse)
	b, err := os.ReadFile(filepath.Join(at, "precious"))
	require.NoError(t, err)
	assert.Equal(t, "precious", string(b))
}
