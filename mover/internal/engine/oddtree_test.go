// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// oddTree is a random folder with all that a volume may hold, and what must become of it.
type oddTree struct {
	t      *testing.T
	dir    string
	random *rand.Rand
	euid   int
	xattrs bool // the file system has them

	// want is what a restore must bring back, by path; folders and files are removed from it as they turn out unreadable.
	want map[string]fact
	// What must be counted.
	unsupported map[string]int64
	badNames    int64
	unreadable  int64
}

// oddNames are legal in every Linux file system and valid UTF-8.
var oddNames = []string{
	" ", "-", "--help", "*", "a b", "new\nline", "tab\t", "quo\"te", "back\\slash", "%2e%2e", "...", ".hidden", "~", "null\u2400",
	"ünï", "u\u0308", "日本語", "\u202Ertl", "\ufeffbom", "\ufffd", "😀", "x.kopia-entry", partPrefix + "0123456789abcdef", markPrefix + "0123456789abcdef",
	"CON", "aux.", strings.Repeat("n", 255), strings.Repeat("ä", 127), "<&>", "$HOME", "`id`", ".snapshot2", "lost+found2",
}

func newOddTree(t *testing.T, seed uint64) *oddTree {
	t.Helper()
	o := &oddTree{
		t: t, dir: t.TempDir(), random: rand.New(rand.NewPCG(seed, 1)), euid: os.Geteuid(),
		want: map[string]fact{}, unsupported: map[string]int64{},
	}
	probe := filepath.Join(t.TempDir(), "probe")
	writeFile(t, probe, "", 0o600)
	o.xattrs = unix.Setxattr(probe, "user.note", []byte("x"), 0) == nil
	root, err := os.OpenRoot(o.dir)
	require.NoError(t, err)
	t.Cleanup(func() {
		reopen(root)
		_ = root.Close()
	})
	o.fill(root, "", 0)
	if o.random.IntN(3) == 0 {
		o.deep(root)
	}
	o.dress(root, ".", 0)
	o.walk(root, ".")
	return o
}

// reopen lets the test remove its folder.
func reopen(in *os.Root) {
	d, err := in.Open(".")
	if err != nil {
		return
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1)
	for _, n := range names {
		if st, err := in.Lstat(n); err == nil && st.IsDir() {
			_ = in.Chmod(n, 0o700)
			if sub, err := in.OpenRoot(n); err == nil {
				reopen(sub)
				_ = sub.Close()
			}
		}
	}
}

func (o *oddTree) name(i int) string {
	if o.random.IntN(2) == 0 {
		return oddNames[o.random.IntN(len(oddNames))]
	}
	return fmt.Sprint("entry", i)
}

// fill makes the entries of one folder; dress gives them owners, modes and times from the leaves up.
func (o *oddTree) fill(in *os.Root, rel string, depth int) {
	t := o.t
	var files []string
	for i := range 2 + o.random.IntN(8) {
		name := o.name(i)
		if _, err := in.Lstat(name); err == nil {
			continue
		}
		switch kind := o.random.IntN(20); {
		case kind < 8:
			b := make([]byte, []int{0, 1, 4095, 4096, 70_000}[o.random.IntN(5)])
			for i := range b {
				b[i] = byte(o.random.Uint32())
			}
			require.NoError(t, in.WriteFile(name, b, 0o600))
			files = append(files, name)
		case kind < 9: // holes
			f, err := in.Create(name)
			require.NoError(t, err)
			_, err = f.WriteAt([]byte("data"), 1<<20)
			require.NoError(t, err)
			require.NoError(t, f.Truncate(2<<20))
			require.NoError(t, f.Close())
			files = append(files, name)
		case kind < 12 && depth < 4:
			require.NoError(t, in.Mkdir(name, 0o700))
			sub, err := in.OpenRoot(name)
			require.NoError(t, err)
			o.fill(sub, path.Join(rel, name), depth+1)
			require.NoError(t, sub.Close())
		case kind < 14:
			to := []string{"entry0", "/etc/passwd", "../../..", "no\xffwhere", strings.Repeat("x/", 2000) + "y", "."}[o.random.IntN(6)]
			require.NoError(t, in.Symlink(to, name))
		case kind < 15:
			require.NoError(t, unix.Mkfifoat(o.fd(in), name, 0o600))
		case kind < 16:
			o.socket(in, name)
		case kind < 17 && o.euid == 0:
			mode := []uint32{unix.S_IFCHR, unix.S_IFBLK}[o.random.IntN(2)]
			require.NoError(t, unix.Mknodat(o.fd(in), name, mode|0o600, int(unix.Mkdev(1, 3))))
		case kind < 18 && len(files) > 0:
			require.NoError(t, in.Link(files[o.random.IntN(len(files))], name))
		case kind < 20:
			bad := "bad\xff" + fmt.Sprint(o.random.IntN(3))
			if _, err := in.Lstat(bad); err == nil {
				continue
			}
			if o.random.IntN(2) == 0 {
				require.NoError(t, in.WriteFile(bad, []byte("lost"), 0o600))
			} else {
				require.NoError(t, in.Mkdir(bad, 0o700))
			}
		}
	}
}

// deep makes a file whose path is longer than the system takes in one piece.
func (o *oddTree) deep(root *os.Root) {
	name := strings.Repeat("d", 250)
	at, err := root.OpenRoot(".")
	require.NoError(o.t, err)
	for range 18 {
		require.NoError(o.t, at.Mkdir(name, 0o700))
		sub, err := at.OpenRoot(name)
		require.NoError(o.t, err)
		_ = at.Close()
		at = sub
	}
	require.NoError(o.t, at.WriteFile("bottom", []byte("deep down"), 0o600))
	require.NoError(o.t, at.Close())
}

func (o *oddTree) fd(in *os.Root) int {
	f, err := in.Open(".")
	require.NoError(o.t, err)
	o.t.Cleanup(func() { _ = f.Close() })
	return int(f.Fd())
}

// socket leaves a socket behind. Its address has 108 bytes, so it is made elsewhere in this file system and moved.
func (o *oddTree) socket(in *os.Root, name string) {
	tmp, err := os.MkdirTemp(filepath.Dir(o.dir), "s")
	require.NoError(o.t, err)
	at := filepath.Join(tmp, "s")
	l, err := (&net.ListenConfig{}).Listen(o.t.Context(), "unix", at)
	require.NoError(o.t, err)
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	require.NoError(o.t, l.Close())
	require.NoError(o.t, unix.Renameat(unix.AT_FDCWD, at, o.fd(in), name))
	require.NoError(o.t, os.Remove(tmp))
}

// dress gives owners, modes, attributes and times to a folder and all that is in it.
func (o *oddTree) dress(in *os.Root, name string, depth int) {
	st, err := in.Lstat(name)
	require.NoError(o.t, err)
	dir := o.fd(in)
	if st.IsDir() {
		sub, err := in.OpenRoot(name)
		require.NoError(o.t, err)
		d, err := sub.Open(".")
		require.NoError(o.t, err)
		names, err := d.Readdirnames(-1)
		require.NoError(o.t, err)
		_ = d.Close()
		for _, n := range names {
			o.dress(sub, n, depth+1)
		}
		_ = sub.Close()
	}
	if o.euid == 0 && o.random.IntN(2) == 0 {
		require.NoError(o.t, in.Lchown(name, o.random.IntN(5000), o.random.IntN(5000)))
	}
	if st.Mode()&os.ModeSymlink == 0 {
		mode := fs.FileMode(o.random.Uint32()) & 0o777
		if st.IsDir() {
			mode |= 0o700
		}
		if o.random.IntN(4) == 0 {
			mode |= []fs.FileMode{os.ModeSetuid, os.ModeSetgid, os.ModeSticky}[o.random.IntN(3)]
		}
		if o.euid != 0 {
			if mode |= 0o400; depth > 0 && o.random.IntN(8) == 0 {
				mode &^= 0o777 // closed to its owner
			}
		}
		if o.xattrs && (st.Mode().IsRegular() || st.IsDir()) && o.random.IntN(6) == 0 {
			// Before the mode: a closed file takes none.
			at := fmt.Sprintf("/proc/self/fd/%d/%s", dir, name)
			if err := unix.Setxattr(at, "user.note", []byte("x"), 0); err != nil {
				require.ErrorIs(o.t, err, unix.EACCES, "by another name it is closed already")
			}
			if o.random.IntN(2) == 0 {
				require.NoError(o.t, unix.Setxattr(at, "system.posix_acl_access", oneNamedUser, 0))
			}
		}
		require.NoError(o.t, in.Chmod(name, mode))
	}
	at := time.Unix(o.random.Int64N(4e9)-1e9, o.random.Int64N(1e9))
	require.NoError(o.t, setTime(dir, name, at))
}

// oneNamedUser is an ACL as the kernel keeps it.
var oneNamedUser = []byte{
	2, 0, 0, 0, 1, 0, 7, 0, 255, 255, 255, 255, 2, 0, 4, 0, 1, 0, 0, 0, 4, 0, 4, 0, 255, 255, 255, 255,
	16, 0, 4, 0, 255, 255, 255, 255, 32, 0, 4, 0, 255, 255, 255, 255,
}

// walk writes down what must become of everything.
func (o *oddTree) walk(in *os.Root, rel string) {
	name := path.Base(rel)
	st, err := in.Lstat(name)
	require.NoError(o.t, err)
	own, ok := st.Sys().(*syscall.Stat_t)
	require.True(o.t, ok)
	f := fact{mode: st.Mode(), uid: own.Uid, gid: own.Gid, mtime: st.ModTime()}
	if !isText(name) {
		o.badNames++
		return
	}
	may := o.euid == 0 || st.Mode().Perm()&0o400 != 0
	if st.Mode().IsRegular() || st.IsDir() {
		o.walkAttributes(in, name, st, own)
		if !may {
			o.unreadable++
			return
		}
	}
	switch st.Mode().Type() {
	case 0:
		b, err := in.ReadFile(name)
		require.NoError(o.t, err)
		f.content = string(b)
	case os.ModeDir:
		sub, err := in.OpenRoot(name)
		require.NoError(o.t, err)
		defer sub.Close()
		d, err := sub.Open(".")
		require.NoError(o.t, err)
		names, err := d.Readdirnames(-1)
		require.NoError(o.t, err)
		_ = d.Close()
		for _, n := range names {
			o.walk(sub, path.Join(rel, n))
		}
	case os.ModeSymlink:
		f.content, err = in.Readlink(name)
		require.NoError(o.t, err)
	case os.ModeNamedPipe:
		o.unsupported["fifo"]++
		return
	case os.ModeSocket:
		o.unsupported["socket"]++
		return
	default:
		o.unsupported["device"]++
		return
	}
	o.want[rel] = f
}

func (o *oddTree) walkAttributes(in *os.Root, name string, st fs.FileInfo, own *syscall.Stat_t) {
	if st.Mode().IsRegular() && own.Nlink > 1 {
		o.unsupported["hardlink"]++
	}
	buf := make([]byte, 1<<10)
	n, err := unix.Llistxattr(fmt.Sprintf("/proc/self/fd/%d/%s", o.fd(in), name), buf)
	if err != nil {
		return
	}
	if strings.Contains(string(buf[:n]), "user.note") {
		o.unsupported["xattr"]++
	}
	if strings.Contains(string(buf[:n]), "system.posix_acl_access") {
		o.unsupported["acl"]++
	}
}

func isText(s string) bool { return strings.ToValidUTF8(s, "") == s }

// deepFacts is facts for paths of any length.
func deepFacts(t *testing.T, dir string) map[string]fact {
	t.Helper()
	o := &oddTree{t: t, euid: 0, want: map[string]fact{}, unsupported: map[string]int64{}}
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	defer root.Close()
	o.walk(root, ".")
	return o.want
}
