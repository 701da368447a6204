// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package unpack_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kopiur/kopiur/kopiurctl/internal/unpack"
)

var old = time.Date(2020, 2, 3, 4, 5, 6, 0, time.UTC)

func folder(name string, mode int64) tar.Header {
	return tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: mode, ModTime: old}
}

// file has its name's last part as its content.
func file(name string, mode int64) tar.Header {
	return tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, ModTime: old, Size: int64(len(filepath.Base(name)))}
}

func link(name, to string) tar.Header {
	return tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: to, Mode: 0o777, ModTime: old}
}

func archive(t *testing.T, headers ...tar.Header) *bytes.Buffer {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range headers {
		require.NoError(t, w.WriteHeader(&h))
		if h.Size > 0 {
			_, err := io.WriteString(w, filepath.Base(h.Name))
			require.NoError(t, err)
		}
	}
	require.NoError(t, w.Close())
	return &b
}

func data(t *testing.T) *bytes.Buffer {
	t.Helper()
	return archive(t, folder("./", 0o755), file("large", 0o600), folder("deeper/", 0o550), file("deeper/small", 0o4750), link("deeper/link", "../large"), link("away", "/etc/passwd"))
}

// tree lists what is below a folder, each with its mode, and its content or where it leads.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		require.NoError(t, err)
		rel, err := filepath.Rel(dir, path)
		require.NoError(t, err)
		st, err := e.Info()
		require.NoError(t, err)
		text := st.Mode().String()
		switch {
		case rel == ".":
			return nil
		case st.Mode().IsRegular():
			b, err := os.ReadFile(filepath.Clean(path)) //nolint:gosec // a folder of the test's own
			require.NoError(t, err)
			text += " " + string(b)
		case st.Mode()&fs.ModeSymlink != 0:
			to, err := os.Readlink(path)
			require.NoError(t, err)
			text = "-> " + to
		}
		out[rel] = text
		return nil
	}))
	return out
}

// writable lets the test's folder be removed again.
func writable(t *testing.T, dirs ...string) {
	t.Helper()
	t.Cleanup(func() {
		for _, d := range dirs {
			_ = os.Chmod(d, 0o700)
		}
	})
}

func TestAFolder(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"large": "-rw------- large", "deeper": "dr-xr-x---", "deeper/small": "-rwxr-x--- small", "deeper/link": "-> ../large", "away": "-> /etc/passwd",
	}
	for name, exists := range map[string]bool{"into a new folder": false, "into one that is there": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to := filepath.Join(t.TempDir(), "to")
			if exists {
				require.NoError(t, os.Mkdir(to, 0o700))
			}
			writable(t, filepath.Join(to, "deeper"))
			got, err := unpack.From(data(t), unpack.Place{Dir: to})
			require.NoError(t, err)
			assert.Equal(t, unpack.Result{Path: to, Files: 2, Folders: 1, Links: 2, Bytes: 10}, got)
			assert.Equal(t, want, tree(t, to))
			for _, rel := range []string{"large", "deeper", "deeper/small"} {
				st, err := os.Lstat(filepath.Join(to, rel))
				require.NoError(t, err)
				assert.True(t, st.ModTime().Equal(old), "%s is of %s", rel, st.ModTime())
			}
			st, err := os.Stat(to)
			require.NoError(t, err)
			if exists {
				assert.Equal(t, fs.FileMode(0o700), st.Mode().Perm(), "what was there stays as it is")
			} else {
				assert.Equal(t, fs.FileMode(0o755), st.Mode().Perm())
				assert.True(t, st.ModTime().Equal(old))
			}
			left, err := filepath.Glob(filepath.Join(filepath.Dir(to), ".*"))
			require.NoError(t, err)
			assert.Empty(t, left)
		})
	}
}

func TestAFile(t *testing.T) {
	t.Parallel()
	to := filepath.Join(t.TempDir(), "to")
	got, err := unpack.From(archive(t, file("small", 0o640)), unpack.Place{Dir: to})
	require.NoError(t, err)
	assert.Equal(t, unpack.Result{Path: filepath.Join(to, "small"), Files: 1, Bytes: 5}, got)
	assert.Equal(t, map[string]string{"small": "-rw-r----- small"}, tree(t, to))
	_, err = unpack.From(archive(t, link("small", "large")), unpack.Place{Dir: to, Force: true})
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"small": "-> large"}, tree(t, to))
}

// Without a place a folder gets a name, and a file is in the folder one is in.
func TestTheCurrentFolder(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	writable(t, "data/deeper")
	got, err := unpack.From(data(t), unpack.Place{Folder: "data"})
	require.NoError(t, err)
	assert.Equal(t, "data", got.Path)
	got, err = unpack.From(archive(t, file("small", 0o640)), unpack.Place{Folder: "small"})
	require.NoError(t, err)
	assert.Equal(t, "small", got.Path)
	assert.Contains(t, tree(t, dir), "data/deeper/small")
	assert.Contains(t, tree(t, dir), "small")
}

// What is there stays. With force files are replaced, and a link is, not what it leads to; folders never are.
func TestWhatIsThereStays(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		given  func(t *testing.T, to string)
		force  bool
		refuse string
	}{
		"a file":                       {func(t *testing.T, to string) { write(t, to, "deeper/small") }, false, "deeper/small"},
		"a file, with force":           {func(t *testing.T, to string) { write(t, to, "deeper/small") }, true, ""},
		"a link":                       {func(t *testing.T, to string) { point(t, to, "large") }, false, "large"},
		"a link, with force":           {func(t *testing.T, to string) { point(t, to, "large") }, true, ""},
		"a link for a folder":          {func(t *testing.T, to string) { point(t, to, "deeper") }, true, "is no folder"},
		"a file for a folder":          {func(t *testing.T, to string) { write(t, to, "deeper") }, true, "is no folder"},
		"a folder for a file":          {func(t *testing.T, to string) { write(t, to, "large/x") }, true, "is a folder"},
		"a folder that has other ones": {func(t *testing.T, to string) { write(t, to, "deeper/other") }, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			to, victim := filepath.Join(dir, "to"), filepath.Join(dir, "victim")
			require.NoError(t, os.Mkdir(victim, 0o700))
			require.NoError(t, os.Mkdir(to, 0o700))
			tc.given(t, to)
			before := tree(t, to)
			writable(t, filepath.Join(to, "deeper"))
			_, err := unpack.From(data(t), unpack.Place{Dir: to, Force: tc.force})
			assert.Empty(t, tree(t, victim), "nothing is written through a link")
			if tc.refuse != "" {
				require.ErrorIs(t, err, unpack.ErrExists)
				require.ErrorContains(t, err, tc.refuse)
				assert.Equal(t, before, tree(t, to), "nothing has changed")
				return
			}
			require.NoError(t, err)
			after := tree(t, to)
			assert.Equal(t, "-rw------- large", after["large"])
			assert.Equal(t, "-rwxr-x--- small", after["deeper/small"])
		})
	}
}

func write(t *testing.T, dir, rel string) {
	t.Helper()
	path := filepath.Join(dir, rel)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte("mine"), 0o600))
}

// point makes a link that leads to the victim.
func point(t *testing.T, dir, rel string) {
	t.Helper()
	require.NoError(t, os.Symlink("../victim", filepath.Join(dir, rel)))
}

// An archive that was cut anywhere leaves nothing, and neither does one whose sender says at the end that it failed.
func TestAnArchiveThatIsNotWhole(t *testing.T) {
	t.Parallel()
	broken := errors.New("the connection ended")
	whole := data(t).Bytes()
	for cut := range len(whole)/512 + 1 {
		to := filepath.Join(t.TempDir(), "to")
		_, err := unpack.From(io.MultiReader(bytes.NewReader(whole[:cut*512]), failing{broken}), unpack.Place{Dir: to})
		require.ErrorIs(t, err, broken, "cut behind %d bytes", cut*512)
		assert.NoDirExists(t, to)
		assert.Empty(t, tree(t, filepath.Dir(to)), "and nothing hidden")
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func TestAnArchiveThatCannotBeTrusted(t *testing.T) {
	t.Parallel()
	root := folder("./", 0o755)
	for name, headers := range map[string][]tar.Header{
		"it leads up":                {root, file("../x", 0o600)},
		"it leads up in the middle":  {root, folder("a/", 0o755), file("a/../../x", 0o600)},
		"it leads to the root":       {root, file("/etc/x", 0o600)},
		"a file in no folder":        {root, file("a/x", 0o600)},
		"a file behind a link":       {root, link("a", "/tmp"), file("a/x", 0o600)},
		"a file twice":               {root, file("x", 0o600), file("x", 0o600)},
		"a link over a folder":       {root, folder("a/", 0o755), link("a", "/tmp")},
		"a device":                   {root, {Typeflag: tar.TypeChar, Name: "null"}},
		"a hard link":                {root, {Typeflag: tar.TypeLink, Name: "x", Linkname: "/etc/passwd"}},
		"a single file that goes up": {file("../x", 0o600)},
		"a single file of no name":   {file(".", 0o600)},
		"nothing":                    nil,
		"the folder once more":       {root, root},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			_, err := unpack.From(archive(t, headers...), unpack.Place{Dir: filepath.Join(dir, "to")})
			require.Error(t, err)
			assert.Empty(t, tree(t, dir))
		})
	}
}

func TestAPlaceThatIsNone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "file")
	_, err := unpack.From(data(t), unpack.Place{Dir: filepath.Join(dir, "file"), Force: true})
	require.ErrorIs(t, err, unpack.ErrExists)
	_, err = unpack.From(data(t), unpack.Place{Dir: filepath.Join(dir, "no", "such")})
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorContains(t, err, filepath.Join(dir, "no"))
}
