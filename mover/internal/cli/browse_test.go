// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/mover/internal/cli"
)

// ask runs `mover browse` beside the session, as an exec into the container does.
func (p *pod) ask(args ...string) (stdout, stderr []byte, exit int) {
	p.t.Helper()
	var out, errs bytes.Buffer
	exit = cli.Main(p.t.Context(), cli.Process{
		Args: append([]string{"browse", "--socket", p.browse}, args...), Stdout: &out, Stderr: &errs, Clock: time.Now,
	})
	return out.Bytes(), errs.Bytes(), exit
}

// answer asks and decodes the frames, as our command line does.
func (p *pod) answer(args ...string) []byte {
	p.t.Helper()
	out, errs, exit := p.ask(args...)
	require.Zero(p.t, exit, "%s", errs)
	data, err := io.ReadAll(work.NewDataReader(bytes.NewReader(out)))
	require.NoError(p.t, err)
	return data
}

// list asks for entries; every frame is a page.
func (p *pod) list(args ...string) (entries []work.BrowseEntry, pages int, more string) {
	p.t.Helper()
	out, errs, exit := p.ask(append([]string{"list"}, args...)...)
	require.Zero(p.t, exit, "%s", errs)
	r := bytes.NewReader(out)
	for {
		kind, b, err := work.ReadFrame(r)
		require.NoError(p.t, err)
		if kind == work.FrameStatus {
			return entries, pages, more
		}
		var page work.BrowsePage
		require.NoError(p.t, json.Unmarshal(b, &page))
		pages++
		assert.Equal(p.t, pages, page.Number)
		assert.LessOrEqual(p.t, len(page.Entries), work.MaxPageEntries)
		entries = append(entries, page.Entries...)
		more = page.More
	}
}

// browsing is a pod with an open session on a snapshot worth looking at.
func browsing(t *testing.T, ttl int64) (p *pod, id string, done <-chan outcome) {
	t.Helper()
	p = newPod(t)
	p.write(p.source, "dir/large", strings.Repeat("0123456789abcdef", 200_000))
	p.write(p.source, "dir/deeper/small", "small")
	require.NoError(t, os.Chmod(filepath.Join(p.source, "dir/deeper/small"), os.ModeSetuid|0o750))
	require.NoError(t, os.Symlink("../dir/large", filepath.Join(p.source, "dir/link")))
	for i := range 1200 {
		p.write(p.source, fmt.Sprintf("many/f%04d", i), "x")
	}
	old := time.Date(2020, 2, 3, 4, 5, 6, 789, time.UTC)
	require.NoError(t, os.Chtimes(filepath.Join(p.source, "dir/deeper/small"), old, old))
	p.create()
	id = p.ok(p.snapshot()).Snapshot.SnapshotID
	done = p.aside(p.spec(work.Operation{Browse: &work.Browse{SessionSeconds: ttl}}))
	return p, id, done
}

func TestBrowse(t *testing.T) {
	t.Parallel()
	p, id, done := browsing(t, 0)
	root, pages, _ := p.list("--snapshot", id)
	require.Len(t, root, 2)
	assert.Equal(t, 1, pages)
	assert.Equal(t, "dir", root[0].Name)
	assert.Equal(t, "directory", root[0].Type)
	assert.Equal(t, int64(2), root[0].Files)
	assert.Equal(t, int64(3_200_005), root[0].Size)
	assert.Equal(t, int64(1200), root[1].Files)

	dir, _, _ := p.list("--snapshot", id, "dir")
	require.Len(t, dir, 3)
	assert.Equal(t, "large", dir[1].Name)
	assert.Equal(t, "file", dir[1].Type)
	assert.Equal(t, int64(3_200_000), dir[1].Size)
	assert.Equal(t, "-rw-------", dir[1].Mode)
	assert.Equal(t, int64(os.Geteuid()), dir[1].UID)
	assert.Equal(t, work.BrowseEntry{
		Name: "link", Type: "symlink", Mode: dir[2].Mode, Size: dir[2].Size, UID: dir[2].UID, GID: dir[2].GID, ModTime: dir[2].ModTime, LinkTarget: "../dir/large",
	}, dir[2])
	one, _, _ := p.list("--snapshot", id, "/dir/deeper/small")
	require.Len(t, one, 1)
	assert.Equal(t, "urwxr-x---", one[0].Mode)
	assert.Equal(t, time.Date(2020, 2, 3, 4, 5, 6, 789, time.UTC), one[0].ModTime)

	many, pages, more := p.list("--snapshot", id, "many")
	assert.Len(t, many, 1200)
	assert.Equal(t, 3, pages)
	assert.Empty(t, more)
	some, _, more := p.list("--snapshot", id, "--limit", "7", "--after", "f0009", "many")
	require.Len(t, some, 7)
	assert.Equal(t, "f0010", some[0].Name)
	assert.Equal(t, "f0016", more)
	rest, _, more := p.list("--snapshot", id, "--after", "f1198", "many")
	assert.Len(t, rest, 1)
	assert.Empty(t, more)

	want, err := os.ReadFile(filepath.Join(p.source, "dir/large"))
	require.NoError(t, err)
	assert.True(t, bytes.Equal(want, p.answer("cat", "--snapshot", id, "dir/large")))
	plain, _, exit := p.ask("cat", "--plain", "--snapshot", id, "dir/large")
	assert.Zero(t, exit)
	assert.True(t, bytes.Equal(want, plain))
	plain, _, exit = p.ask("list", "--plain", "--snapshot", id, "many")
	assert.Zero(t, exit)
	assert.Equal(t, 3, bytes.Count(plain, []byte("\n")))

	p.answer("end")
	out := <-done
	assert.Equal(t, work.CodeOK, out.result.Code, out.result.Message)
	assert.Equal(t, int64(10), out.result.Browse.Requests)
	assert.Zero(t, out.result.Browse.Failed)
	assert.Greater(t, out.result.Browse.Bytes, int64(6_400_000))
}

func TestBrowseDownloadsAnArchive(t *testing.T) {
	t.Parallel()
	p, id, done := browsing(t, 0)
	type entry struct {
		kind    byte
		mode    int64
		size    int64
		link    string
		modTime time.Time
	}
	unpack := func(path string) map[string]entry {
		out := map[string]entry{}
		r := tar.NewReader(bytes.NewReader(p.answer("download", "--snapshot", id, path)))
		for {
			h, err := r.Next()
			if err == io.EOF { //nolint:errorlint // tar's own word
				return out
			}
			require.NoError(t, err)
			n, err := io.CopyN(io.Discard, r, h.Size)
			require.NoError(t, err)
			assert.Equal(t, h.Size, n)
			assert.True(t, filepath.IsLocal(h.Name), h.Name)
			out[h.Name] = entry{h.Typeflag, h.Mode, h.Size, h.Linkname, h.ModTime.UTC()}
		}
	}
	dir := unpack("dir")
	require.Len(t, dir, 5)
	assert.Equal(t, entry{tar.TypeReg, 0o4750, 5, "", time.Date(2020, 2, 3, 4, 5, 6, 789, time.UTC)}, dir["deeper/small"])
	assert.Equal(t, byte(tar.TypeDir), dir["./"].kind)
	assert.Equal(t, byte(tar.TypeDir), dir["deeper/"].kind)
	assert.Equal(t, int64(3_200_000), dir["large"].size)
	assert.Equal(t, "../dir/large", dir["link"].link)
	assert.Len(t, unpack(""), 1+5+1+1200)
	one := unpack("dir/deeper/small")
	require.Len(t, one, 1)
	assert.Equal(t, int64(5), one["small"].size)
	p.answer("end")
	<-done
}

func TestBrowseSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	p, id, done := browsing(t, 0)
	for name, tc := range map[string]struct { //nolint:paralleltest // one session for all
		args []string
		code work.Code
		says string
	}{
		"a snapshot that does not exist": {[]string{"list", "--snapshot", strings.Repeat("0", 32)}, work.CodeNotFound, ""},
		"no snapshot":                    {[]string{"list"}, work.CodeInvalidSpec, "no snapshot"},
		"a path that does not exist":     {[]string{"list", "--snapshot", id, "dir/missing"}, work.CodeNotFound, "dir/missing"},
		"a path behind a link":           {[]string{"cat", "--snapshot", id, "dir/link/x"}, work.CodeNotFound, "no folder"},
		"a path that goes up":            {[]string{"cat", "--snapshot", id, "../etc/passwd"}, work.CodeInvalidSpec, "goes up"},
		"the bytes of a folder":          {[]string{"cat", "--snapshot", id, "dir"}, work.CodeNotFound, "no file"},
		"something else":                 {[]string{"delete", "--snapshot", id}, work.CodeInvalidSpec, "delete"},
		"a negative limit":               {[]string{"list", "--snapshot", id, "--limit", "-1"}, work.CodeInvalidSpec, "negative"},
	} {
		t.Run(name, func(t *testing.T) {
			out, errs, exit := p.ask(tc.args...)
			assert.Equal(t, work.ExitPermanent, exit)
			assert.Contains(t, string(errs), tc.says)
			var failed *work.StatusError
			_, err := io.ReadAll(work.NewDataReader(bytes.NewReader(out)))
			require.ErrorAs(t, err, &failed, "the frames say so as well")
			assert.Equal(t, tc.code, failed.Status.Code)
		})
	}
	// A stranger on the socket, and one that goes away, end nothing.
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "unix", p.browse)
	require.NoError(t, err)
	_, err = conn.Write([]byte("GET / HTTP/1.1\r\n\r\n"))
	require.NoError(t, err)
	_, _ = io.Copy(io.Discard, conn)
	require.NoError(t, conn.Close())
	st, err := os.Stat(p.browse)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), st.Mode().Perm())

	// K-3: a snapshot is found again by what does not change.
	start := p.ok(p.spec(work.Operation{Resolve: &work.Resolve{Identity: identity}})).Resolve.StartTime.Format(time.RFC3339)
	again := []string{"list", "--snapshot", strings.Repeat("0", 32), "--username", "web", "--hostname", "apps", "--source-path", "/pvc/data", "--start-time"}
	_, errs, exit := p.ask(append(again, start)...)
	assert.Zero(t, exit, "%s", errs)
	_, _, exit = p.ask(append(again, "yesterday")...)
	assert.Equal(t, work.ExitPermanent, exit)

	p.answer("end")
	out := <-done
	assert.Equal(t, work.CodeOK, out.result.Code)
	assert.Equal(t, int64(9), out.result.Browse.Failed)
}

func TestASessionEnds(t *testing.T) {
	t.Parallel()
	t.Run("when nobody asks any more", func(t *testing.T) {
		t.Parallel()
		p, id, done := browsing(t, 1)
		start := time.Now()
		for range 3 {
			p.list("--snapshot", id)
			<-time.After(500 * time.Millisecond)
		}
		out := <-done
		assert.Equal(t, work.CodeOK, out.result.Code)
		assert.Equal(t, int64(3), out.result.Browse.Requests)
		assert.Greater(t, time.Since(start), 1900*time.Millisecond, "every question makes it last")
	})
	t.Run("when the mover is told to end", func(t *testing.T) {
		t.Parallel()
		p := newPod(t)
		p.create()
		cmd := p.start(p.spec(work.Operation{Browse: &work.Browse{}}))
		require.Eventually(t, func() bool { _, err := os.Stat(p.browse); return err == nil }, time.Minute, 10*time.Millisecond)
		require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		require.NoError(t, cmd.Wait())
		assert.Equal(t, work.CodeOK, p.result().Code)
	})
	t.Run("before it begins, where the password is wrong", func(t *testing.T) {
		t.Parallel()
		p := newPod(t)
		p.create()
		p.write(p.password, work.DefaultPasswordKey, "hunter22")
		r, exit := p.run(p.spec(work.Operation{Browse: &work.Browse{}}))
		assert.Equal(t, work.CodeAuthFailure, r.Code)
		assert.Equal(t, work.ExitPermanent, exit)
		r, _ = p.run(p.spec(work.Operation{Browse: &work.Browse{SessionSeconds: -1}}))
		assert.Equal(t, work.CodeInvalidSpec, r.Code)
	})
}
