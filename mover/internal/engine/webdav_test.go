// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/webdav"
)

// davServer is a real WebDAV server in this process, and the folder that it serves. wrap may stand before it.
func davServer(tb testing.TB, wrap func(http.Handler) http.Handler) (*WebDAV, string) {
	tb.Helper()
	dir := tb.TempDir()
	require.NoError(tb, os.Mkdir(filepath.Join(dir, "backups"), 0o750))
	h := http.Handler(&webdav.Handler{FileSystem: webdav.Dir(dir), LockSystem: webdav.NewMemLS()})
	if wrap != nil {
		h = wrap(h)
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, ok := r.BasicAuth(); !ok || user != "kopia" || password != "dav password" {
			w.Header().Set("WWW-Authenticate", `Basic realm="backups"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(w, r)
	}))
	tb.Cleanup(srv.Close)
	return &WebDAV{URL: srv.URL + "/backups", Username: "kopia", Password: "dav password"}, filepath.Join(dir, "backups")
}

func TestWebDAVRoundTrip(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	w, _ := davServer(t, nil)
	c, r := created(t, Storage{WebDAV: w})
	src := t.TempDir()
	writeFile(t, filepath.Join(src, "a/b"), "content", 0o644)
	up, err := r.Upload(ctx, uploadOf(src))
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "a/b"}, stored(t, r, up.Snapshot))

	c.ExpectedUniqueID, c.WorkDir = r.UniqueID(), t.TempDir()
	again, err := Open(ctx, c)
	require.NoError(t, err)
	require.NoError(t, again.Close(ctx))
}

// What another client left, and what a killed create left, in the folder of a server.
func TestWebDAVProbe(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		files  []string
		change func(*WebDAV)
		want   error
	}{
		"nothing":                         {want: ErrNotInitialized},
		"what a killed create left":       {files: []string{".shards", "kopia.repository.f-4217"}, want: ErrNotInitialized},
		"a repository that was moved off": {files: []string{".shards", "kopia.repository.f-old"}, want: ErrOccupied},
		"photos":                          {files: []string{"cat.jpg"}, want: ErrOccupied},
		"a copy that has not ended":       {files: []string{".shards", "kopiur.copy.f"}, want: ErrOccupied},
		"no such folder":                  {change: func(w *WebDAV) { w.URL += "/below" }, want: ErrLocationMissing},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, dir := davServer(t, nil)
			for _, f := range tc.files {
				writeFile(t, filepath.Join(dir, f), "{}", 0o600)
			}
			if tc.change != nil {
				tc.change(w)
			}
			_, err := Open(testContext(t), connection(t, Storage{WebDAV: w}))
			require.ErrorIs(t, err, tc.want)
			entries, err := os.ReadDir(dir)
			require.NoError(t, err)
			assert.Len(t, entries, len(tc.files), "a question writes nothing")
			assert.NotContains(t, Storage{WebDAV: w}.String(), "dav password")
		})
	}
}

func TestRemotesApart(t *testing.T) {
	t.Parallel()
	var (
		gcs    = func(bucket, prefix string) Storage { return Storage{GCS: &GCS{Bucket: bucket, Prefix: prefix}} }
		sftp   = func(port int, path string) Storage { return Storage{SFTP: &SFTP{Host: "nas", Port: port, Path: path}} }
		dav    = func(url string) Storage { return Storage{WebDAV: &WebDAV{URL: url}} }
		rclone = func(path string) Storage { return Storage{Rclone: &Rclone{RemotePath: path}} }
	)
	for name, tc := range map[string]struct {
		a, b  Storage
		apart bool
	}{
		"the same bucket":                {gcs("b", ""), gcs("b", ""), false},
		"a part of the bucket":           {gcs("b", ""), gcs("b", "apps/"), false},
		"two parts of the bucket":        {gcs("b", "a/"), gcs("b", "b/"), true},
		"two buckets":                    {gcs("b", ""), gcs("c", ""), true},
		"two kinds":                      {gcs("b", ""), dav("http://h/"), true},
		"the same folder, the port told": {sftp(0, "/p"), sftp(22, "/p/"), false},
		"a folder below":                 {sftp(0, "/p"), sftp(0, "/p/q"), false},
		"a folder beside":                {sftp(0, "/p"), sftp(0, "/pq"), true},
		"two servers at one address":     {sftp(0, "/p"), sftp(2222, "/p"), true},
		"the same url":                   {dav("https://H/p"), dav("https://h/p/"), false},
		"the same remote":                {rclone("nas:p"), rclone("nas:/p"), false},
		"two remotes":                    {rclone("nas:p"), rclone("cloud:p"), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tc.apart {
				require.NoError(t, tc.a.apartFrom(tc.b))
				require.NoError(t, tc.b.apartFrom(tc.a))
				return
			}
			require.ErrorIs(t, tc.a.apartFrom(tc.b), ErrInvalidOption)
			require.ErrorIs(t, tc.b.apartFrom(tc.a), ErrInvalidOption)
		})
	}
}

// The options of rclone's remotes on the fly stand in their names, keys included.
func TestRcloneIsNamedWithoutItsOptions(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "folder nas:kopia of rclone", Storage{Rclone: &Rclone{RemotePath: "nas:kopia"}}.String())
	for _, path := range []string{":s3,secret_access_key=hunter22:bucket", "nas,pass=hunter22:p"} {
		s := Storage{Rclone: &Rclone{RemotePath: path}}.String()
		assert.NotContains(t, s, "hunter22")
	}
}
