// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package backend_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/mover/internal/backend"
	"github.com/kopiur/kopiur/mover/internal/engine"
)

// secret writes a Secret as the kubelet mounts it: links into a folder of its own.
func secret(t *testing.T, values map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "..2026"), 0o700))
	require.NoError(t, os.Symlink("..2026", filepath.Join(dir, "..data")))
	for k, v := range values {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "..2026", k), []byte(v), 0o600))
		require.NoError(t, os.Symlink("..data/"+k, filepath.Join(dir, k)))
	}
	return dir
}

func TestConnectionS3(t *testing.T) {
	t.Parallel()
	d := backend.Dirs{
		Password: secret(t, map[string]string{"KOPIA_PASSWORD": "pass word\n"}),
		Auth:     secret(t, map[string]string{"AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "key", "AWS_SESSION_TOKEN": "token", "KOPIA_PASSWORD": "beside"}),
		CA:       secret(t, map[string]string{"ca.crt": "pem"}),
	}
	c, secrets, err := backend.Connection(work.Repository{
		Backend:  work.Backend{S3: &work.S3{Bucket: "b", Prefix: "p", Endpoint: "e:1", Region: "r", CAKey: "ca.crt", DisableTLS: true, InsecureSkipVerify: true}},
		Username: "u", Hostname: "h", ExpectedUniqueID: "ff", ReadOnly: true,
		Throttle: &work.Throttle{UploadBytesPerSecond: 1, DownloadBytesPerSecond: 2, ReadOpsPerSecond: 3, WriteOpsPerSecond: 4},
	}, d)
	require.NoError(t, err)
	assert.Equal(t, engine.Connection{
		Storage: engine.Storage{S3: &engine.S3{
			Bucket: "b", Prefix: "p", Endpoint: "e:1", Region: "r", AccessKeyID: "id", SecretAccessKey: "key", SessionToken: "token",
			DisableTLS: true, SkipVerify: true, RootCA: []byte("pem"),
		}},
		Password: "pass word\n", Username: "u", Hostname: "h", ExpectedUniqueID: "ff", ReadOnly: true,
		Throttle: engine.Throttle{UploadBytesPerSecond: 1, DownloadBytesPerSecond: 2, ReadOpsPerSecond: 3, WriteOpsPerSecond: 4},
	}, c, "the password is taken as it is, newline included")
	assert.ElementsMatch(t, []string{"pass word\n", "id", "key", "token"}, secrets)
}

func TestConnectionNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	s3 := work.Repository{Backend: work.Backend{S3: &work.S3{Bucket: "b"}}}
	fs := work.Repository{Backend: work.Backend{Filesystem: &work.Filesystem{Path: "/r"}}}
	password := map[string]string{"KOPIA_PASSWORD": "hunter22"}
	for name, tc := range map[string]struct {
		repository     work.Repository
		password, auth map[string]string
		want           []string
	}{
		"no password key":         {fs, map[string]string{"password": "hunter22"}, nil, []string{"KOPIA_PASSWORD", "is missing", "it has password"}},
		"an empty password":       {fs, map[string]string{"KOPIA_PASSWORD": ""}, nil, []string{"KOPIA_PASSWORD", "is empty"}},
		"no password Secret":      {fs, nil, nil, []string{"KOPIA_PASSWORD", "is missing", "does not exist"}},
		"a key that climbs":       {work.Repository{PasswordKey: "../x", Backend: fs.Backend}, password, nil, []string{"../x", "no valid name"}},
		"a misspelt access key":   {s3, password, map[string]string{"AWS_ACCESS_KEY_ID": "hunter22", "AWS_SECRET_KEY": "hunter22"}, []string{"AWS_SECRET_ACCESS_KEY", "is missing", "AWS_SECRET_KEY"}},
		"an empty secret key":     {s3, password, map[string]string{"AWS_ACCESS_KEY_ID": "hunter22", "AWS_SECRET_ACCESS_KEY": ""}, []string{"AWS_SECRET_ACCESS_KEY", "is empty"}},
		"a newline in a key":      {s3, password, map[string]string{"AWS_ACCESS_KEY_ID": "hunter22", "AWS_SECRET_ACCESS_KEY": "hunter22\n"}, []string{"AWS_SECRET_ACCESS_KEY", "newline"}},
		"keys of another case":    {s3, password, map[string]string{"aws_access_key_id": "hunter22", "aws_secret_access_key": "hunter22"}, []string{"AWS_ACCESS_KEY_ID", "is missing"}},
		"no credential Secret":    {s3, password, nil, []string{"AWS_ACCESS_KEY_ID", "is missing"}},
		"a CA key that is absent": {work.Repository{Backend: work.Backend{S3: &work.S3{Bucket: "b", CAKey: "ca.crt"}}}, password, nil, []string{"ca.crt", "is missing"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dirs := backend.Dirs{Password: filepath.Join(t.TempDir(), "absent"), Auth: filepath.Join(t.TempDir(), "absent"), CA: t.TempDir()}
			if tc.password != nil {
				dirs.Password = secret(t, tc.password)
			}
			if tc.auth != nil {
				dirs.Auth = secret(t, tc.auth)
			}
			_, _, err := backend.Connection(tc.repository, dirs)
			var key *backend.KeyError
			require.ErrorAs(t, err, &key)
			for _, w := range tc.want {
				require.ErrorContains(t, err, w)
			}
			assert.NotContains(t, err.Error(), "hunter22", "names, never values")
		})
	}
	_, _, err := backend.Connection(work.Repository{}, backend.Dirs{Password: secret(t, password)})
	require.ErrorIs(t, err, backend.ErrInvalidSpec)
}

func TestAmbientCredentialsReadNoSecret(t *testing.T) {
	t.Parallel()
	c, _, err := backend.Connection(work.Repository{Backend: work.Backend{S3: &work.S3{Bucket: "b", AmbientCredentials: true}}},
		backend.Dirs{Password: secret(t, map[string]string{"KOPIA_PASSWORD": "x"}), Auth: secret(t, map[string]string{"AWS_ACCESS_KEY_ID": "must not be used"})})
	require.NoError(t, err)
	assert.Empty(t, c.Storage.S3.AccessKeyID)
}

func TestCache(t *testing.T) {
	t.Parallel()
	const gib, mib = 1 << 30, 1 << 20
	for name, tc := range map[string]struct {
		in     work.Cache
		dir    string
		want   engine.Cache
		volume int64
	}{
		"no folder is no cache":              {work.Cache{CapacityBytes: gib}, "", engine.Cache{}, 0},
		"without a capacity it is modest":    {work.Cache{}, "/c", engine.Cache{Dir: "/c", ContentBytes: 512 * mib, MetadataBytes: gib}, 0},
		"a volume is used to 80 %":           {work.Cache{CapacityBytes: 1000 * mib}, "/c", engine.Cache{Dir: "/c", ContentBytes: 300 * mib, MetadataBytes: 500 * mib}, 0},
		"what the user set is kept":          {work.Cache{CapacityBytes: 1000 * mib, ContentLimitBytes: 100 * mib, MetadataLimitBytes: 200 * mib}, "/c", engine.Cache{Dir: "/c", ContentBytes: 100 * mib, MetadataBytes: 200 * mib}, 0},
		"the other half gets the rest":       {work.Cache{CapacityBytes: 1000 * mib, ContentLimitBytes: 100 * mib}, "/c", engine.Cache{Dir: "/c", ContentBytes: 100 * mib, MetadataBytes: 700 * mib}, 0},
		"more than fits is cut in ratio":     {work.Cache{CapacityBytes: 1000 * mib, ContentLimitBytes: 1000 * mib, MetadataLimitBytes: 3000 * mib}, "/c", engine.Cache{Dir: "/c", ContentBytes: 200 * mib, MetadataBytes: 600 * mib}, 0},
		"one that wants all leaves a floor":  {work.Cache{CapacityBytes: 1000 * mib, MetadataLimitBytes: 9000 * mib}, "/c", engine.Cache{Dir: "/c", ContentBytes: 64 * mib, MetadataBytes: 736 * mib}, 0},
		"a volume too small is not used":     {work.Cache{CapacityBytes: 100 * mib}, "/c", engine.Cache{}, 0},
		"a volume smaller than it should be": {work.Cache{CapacityBytes: 2000 * mib}, "/c", engine.Cache{Dir: "/c", ContentBytes: 300 * mib, MetadataBytes: 500 * mib}, 1000 * mib},
		"a small volume of unknown capacity": {work.Cache{}, "/c", engine.Cache{Dir: "/c", ContentBytes: 300 * mib, MetadataBytes: 500 * mib}, 1000 * mib},
		"a small volume and a large wish":    {work.Cache{ContentLimitBytes: 4000 * mib}, "/c", engine.Cache{Dir: "/c", ContentBytes: 736 * mib, MetadataBytes: 64 * mib}, 1000 * mib},
		"the disk of a node":                 {work.Cache{}, "/c", engine.Cache{Dir: "/c", ContentBytes: 512 * mib, MetadataBytes: gib}, 500 * gib},
		"a tiny volume of unknown capacity":  {work.Cache{}, "/c", engine.Cache{}, 64 * mib},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := backend.Cache(tc.in, tc.dir, tc.volume)
			assert.Equal(t, tc.want, got)
			for _, size := range []int64{tc.in.CapacityBytes, tc.volume} {
				if size > 0 {
					assert.LessOrEqual(t, got.ContentBytes+got.MetadataBytes, size/5*4)
				}
			}
		})
	}
}

func TestTrailingSpace(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"plain": "", "two words": "", "newline\n": "a newline", "windows\r\n": "a newline", "blank ": "white space"} {
		assert.Equal(t, want, backend.TrailingSpace(in), "%q", in)
	}
}
