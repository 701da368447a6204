// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/kopia/kopia/repo/format"
	"github.com/minio/minio-go/v7"
	"github.com/stretchr/testify/require"
)

// TestAKilledCreateIsDoneAgain: kopia writes three files, and a mover may be killed after each of them and in the midst.
func TestAKilledCreateIsDoneAgain(t *testing.T) {
	t.Parallel()
	const blobcfg, repository = format.KopiaBlobCfgBlobID + ".f", format.KopiaRepositoryBlobID + ".f"
	for name, tc := range map[string]struct {
		missing, torn []string
		more          string
		want          error
	}{
		"in the first":          {missing: []string{".shards", blobcfg, repository}, torn: []string{".shards.tmp.0a"}},
		"after the first":       {missing: []string{blobcfg, repository}},
		"in the second":         {missing: []string{blobcfg, repository}, torn: []string{blobcfg + ".tmp.0a"}},
		"after the second":      {missing: []string{repository}},
		"in the third":          {missing: []string{repository}, torn: []string{repository + ".tmp.0a"}},
		"after the third":       {torn: []string{blobcfg + ".tmp.0a", repository + ".tmp.0b"}},
		"a repository in ruins": {missing: []string{repository}, more: "p01/23/4567.f", want: ErrOccupied},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := testContext(t)
			c := connection(t, folder(t))
			require.NoError(t, Create(ctx, c, CreateOptions{}))
			dir := c.Storage.Filesystem.Path
			for _, n := range tc.missing {
				require.NoError(t, os.Remove(filepath.Join(dir, n)))
			}
			for _, n := range tc.torn {
				writeFile(t, filepath.Join(dir, n), "to", 0o600)
			}
			if tc.more != "" {
				writeFile(t, filepath.Join(dir, tc.more), "data", 0o600)
			}
			if len(tc.missing) > 0 && tc.want == nil {
				_, err := Open(ctx, c)
				require.ErrorIs(t, err, ErrNotInitialized)
				pinned := c
				pinned.ExpectedUniqueID = "00ff"
				_, err = Open(ctx, pinned)
				require.ErrorIs(t, err, ErrVanished)
			}
			before := tree(t, dir)
			err := Create(ctx, c, CreateOptions{})
			if tc.want != nil {
				require.ErrorIs(t, err, tc.want)
				require.Equal(t, before, tree(t, dir), "nothing was touched")
				return
			}
			require.NoError(t, err)
			r, err := Open(ctx, c)
			require.NoError(t, err)
			require.NoError(t, r.Close(ctx))
		})
	}
}

func TestAKilledCreateIsDoneAgainOnS3(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	s, _ := s3Server(t, false, nil)
	c := connection(t, Storage{S3: &s})
	require.NoError(t, Create(ctx, c, CreateOptions{}))
	cli, err := s.client()
	require.NoError(t, err)
	gone := s.Prefix + format.KopiaRepositoryBlobID
	require.NoError(t, cli.RemoveObject(ctx, s.Bucket, gone, minio.RemoveObjectOptions{}))

	other := s.Prefix + "q0123"
	_, err = cli.PutObject(ctx, s.Bucket, other, bytes.NewReader([]byte("x")), 1, minio.PutObjectOptions{})
	require.NoError(t, err)
	require.ErrorIs(t, Create(ctx, c, CreateOptions{}), ErrOccupied, "a repository in ruins is not touched")
	require.NoError(t, cli.RemoveObject(ctx, s.Bucket, other, minio.RemoveObjectOptions{}))

	require.NoError(t, Create(ctx, c, CreateOptions{}))
	r, err := Open(ctx, c)
	require.NoError(t, err)
	require.NoError(t, r.Close(ctx))
}
