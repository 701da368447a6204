// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build interop

package interop_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kopiur/kopiur/apis/work"
)

const (
	accessKey = "AKIALOCK"
	secretKey = "secret-of-the-lock"
)

// gateway is versitygw over a folder: an S3 server that keeps versions and locks objects.
type gateway struct {
	t        *testing.T
	endpoint string
	client   *minio.Client
}

func newGateway(t *testing.T) *gateway {
	t.Helper()
	program := os.Getenv("KOPIUR_VERSITYGW")
	if program == "" {
		out, err := exec.CommandContext(t.Context(), "../../../hack/tool", "versitygw").Output()
		require.NoError(t, err, "build versitygw")
		program = strings.TrimSpace(string(out))
	}
	root := t.TempDir()
	for _, d := range []string{"objects", "versions"} {
		require.NoError(t, os.Mkdir(filepath.Join(root, d), 0o750))
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	g := &gateway{t: t, endpoint: l.Addr().String()}
	require.NoError(t, l.Close())
	cmd := exec.CommandContext(t.Context(), program, "--port", g.endpoint, "--quiet", //nolint:gosec // the test's own program
		"posix", "--versioning-dir", filepath.Join(root, "versions"), filepath.Join(root, "objects"))
	cmd.Env = []string{"ROOT_ACCESS_KEY=" + accessKey, "ROOT_SECRET_KEY=" + secretKey}
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	g.client, err = minio.New(g.endpoint, &minio.Options{Creds: credentials.NewStaticV4(accessKey, secretKey, ""), Region: "us-east-1"})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		_, err := g.client.ListBuckets(t.Context())
		return err == nil
	}, time.Minute, 20*time.Millisecond, "%s", said.String())
	return g
}

func (g *gateway) bucket(name string, locking bool) work.Backend {
	g.t.Helper()
	require.NoError(g.t, g.client.MakeBucket(g.t.Context(), name, minio.MakeBucketOptions{ObjectLocking: locking}))
	return work.Backend{S3: &work.S3{Bucket: name, Prefix: "apps/", Endpoint: g.endpoint, Region: "us-east-1", DisableTLS: true}}
}

// until says when the lock of each of kopia's blobs ends; zero means that it has none.
func (g *gateway) until(bucket string) map[string]time.Time {
	g.t.Helper()
	out := map[string]time.Time{}
	for o := range g.client.ListObjects(g.t.Context(), bucket, minio.ListObjectsOptions{Prefix: "apps/"}) {
		require.NoError(g.t, o.Err)
		out[strings.TrimPrefix(o.Key, "apps/")] = g.end(bucket, o.Key)
	}
	return out
}

func (g *gateway) end(bucket, key string) time.Time {
	g.t.Helper()
	o, err := g.client.StatObject(g.t.Context(), bucket, key, minio.StatObjectOptions{})
	require.NoError(g.t, err)
	text := o.Metadata.Get("X-Amz-Object-Lock-Retain-Until-Date")
	if text == "" {
		return time.Time{}
	}
	end, err := time.Parse(time.RFC3339, text)
	require.NoError(g.t, err)
	return end
}

// kept reports whether a blob is one of those that kopia locks.
func kept(name string) bool {
	return strings.ContainsRune("pqx", rune(name[0])) || name == "kopia.repository" || name == "kopia.blobcfg"
}

func locked(period time.Duration, create bool) work.Operation {
	b := &work.Bootstrap{Parameters: &work.Parameters{BlobRetention: &work.BlobRetention{
		Mode: work.RetentionGovernance, PeriodSeconds: int64(period.Seconds()),
	}}}
	if create {
		b.Create = &work.Create{}
	}
	return work.Operation{Bootstrap: b}
}

// D-11, on a server that really locks: what a repository with blob retention writes cannot be deleted, every full
// maintenance locks anew what is still there, copies are locked like their source, and deleting snapshots goes on.
func TestObjectLock(t *testing.T) {
	t.Parallel()
	b, g := newBench(t), newGateway(t)
	for _, d := range []string{b.dir("auth"), b.dir("from/auth"), b.dir("to/auth")} {
		require.NoError(t, os.WriteFile(filepath.Join(d, work.KeyAWSAccessKeyID), []byte(accessKey), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(d, work.KeyAWSSecretAccessKey), []byte(secretKey), 0o600))
	}
	const period = 72 * time.Hour
	b.backend = g.bucket("source", true)
	r := b.run("r0", locked(period, true))
	assert.Equal(t, int64(period.Seconds()), r.Bootstrap.Parameters.BlobRetention.PeriodSeconds)
	assert.Empty(t, r.Warning)
	snap := b.run("r1", work.Operation{Snapshot: &work.Snapshot{Identity: identity, Path: b.source}}).Snapshot
	first := g.until("source")
	packs := 0
	for name, end := range first {
		if strings.HasPrefix(name, "p") && !end.IsZero() {
			packs++
			err := g.client.RemoveObject(t.Context(), "source", "apps/"+name, minio.RemoveObjectOptions{VersionID: g.version("source", "apps/"+name)})
			require.Error(t, err, "%s can be deleted for good", name)
		}
	}
	require.Positive(t, packs)

	<-time.After(1100 * time.Millisecond) // locks end at whole seconds
	full := work.Operation{Maintain: &work.Maintain{Mode: work.MaintenanceFull, FullIntervalSeconds: 86400}}
	assert.Empty(t, b.run("r2", full).Warning)
	for name, end := range g.until("source") {
		if !kept(name) {
			continue
		}
		assert.WithinDuration(t, time.Now().Add(period), end, 10*time.Minute, name)
		assert.True(t, end.After(first[name]), "the lock of %s was prolonged", name)
	}

	// A copy below the repository has the locks that kopia would have put on it, and from then on keeps them.
	copyTo := work.Operation{Replicate: &work.Replicate{Destination: g.bucket("copy", true)}}
	assert.Empty(t, b.run("r3", copyTo).Warning)
	copied := g.until("copy")
	for name, end := range copied {
		assert.Equal(t, kept(name), !end.IsZero(), name)
	}
	<-time.After(1100 * time.Millisecond)
	again := b.run("r4", copyTo)
	assert.Empty(t, again.Warning)
	for name, end := range g.until("copy") {
		assert.Equal(t, kept(name), end.After(copied[name]), "the lock of %s was prolonged", name)
	}
	open := work.Operation{Replicate: &work.Replicate{Destination: g.bucket("open", false)}}
	r = b.run("r5", open)
	assert.Contains(t, r.Warning, "does not lock objects")
	assert.Equal(t, r.Replicate.BlobsTotal, r.Replicate.BlobsCopied)
	assert.Contains(t, b.run("r6", open).Warning, "does not lock objects", "also where nothing is left to copy")

	// A shorter period: nothing can shorten what is locked, and everything else goes on.
	b.run("r7", locked(48*time.Hour, false))
	assert.Contains(t, b.run("r8", full).Warning, "refused to prolong")
	assert.Contains(t, b.run("r9", copyTo).Warning, "refused to prolong")

	// Snapshots are deleted all the same: an S3 store keeps the locked versions, and says that they are gone.
	key := work.SnapshotKey{SnapshotID: snap.SnapshotID, Identity: identity, StartTime: snap.StartTime}
	assert.Equal(t, int64(1), b.run("r10", work.Operation{Delete: work.NewDelete([]work.SnapshotKey{key})}).Delete.Deleted)
	b.run("r11", full)
}

func (g *gateway) version(bucket, key string) string {
	g.t.Helper()
	o, err := g.client.StatObject(context.WithoutCancel(g.t.Context()), bucket, key, minio.StatObjectOptions{})
	require.NoError(g.t, err)
	return o.VersionID
}
