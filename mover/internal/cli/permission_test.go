// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/mover/internal/unprivileged"
)

// K-4: unreadable entries are no success, and are named with owner and mode.
func TestUnreadableEntriesFailTheSnapshotButSaveIt(t *testing.T) { //nolint:paralleltest // runs itself in a child
	if !unprivileged.Again(t) {
		return
	}
	p := newPod(t)
	p.write(p.source, "ok", "fine")
	p.write(p.source, "secret/key", "hidden")
	require.NoError(t, os.Chmod(filepath.Join(p.source, "secret/key"), 0o000))
	p.create()
	require.NoError(t, syscall.Mkfifo(filepath.Join(p.source, "pipe"), 0o600))
	var first *work.Unstored
	for _, attempt := range []string{"the first time", "when the result was lost"} {
		r, exit := p.run(p.snapshot())
		assert.Equal(t, work.CodePermissionDenied, r.Code, attempt)
		assert.Equal(t, work.ExitPermanent, exit, "a partial backup that was saved is not tried again")
		assert.NotEmpty(t, r.Snapshot.SnapshotID)
		assert.Equal(t, int64(1), r.Snapshot.FilesFailed)
		assert.Equal(t, int64(1), r.Snapshot.Unstored.Unreadable)
		assert.Zero(t, r.Snapshot.Unstored.Ignored)
		require.Len(t, r.Snapshot.Unstored.Paths, 1)
		assert.Equal(t, "secret/key", r.Snapshot.Unstored.Paths[0].Path)
		assert.Contains(t, r.Message, "1 of 4 entries could not be read by uid")
		assert.Contains(t, r.Message, fmt.Sprintf("those it may not read belong to uid %d", os.Geteuid()), "whom the mover has to be (F-3)")
		assert.Equal(t, map[string]int64{"fifo": 1}, r.Snapshot.Unstored.Unsupported, attempt)
		if first == nil {
			first = r.Snapshot.Unstored
		}
		assert.Equal(t, first, r.Snapshot.Unstored, attempt)
	}
	r, _ := p.run(p.spec(work.Operation{Resolve: &work.Resolve{Identity: identity}}))
	assert.Equal(t, work.ResolutionUnknown, r.Resolve.Resolution, "a partial snapshot is neither what was meant nor a proof of absence")

	s := p.snapshot()
	s.RequestID, s.Operation.Snapshot.Policy.IgnoreFileErrors = "tolerant", true
	ok := p.ok(s).Snapshot
	assert.Equal(t, int64(1), ok.FilesFailed, "tolerated, and still told")
	assert.Equal(t, int64(1), ok.Unstored.Ignored)
	assert.Zero(t, ok.Unstored.Unreadable)

	s = p.snapshot()
	s.RequestID, s.Operation.Snapshot.FailFast = "hasty", true
	r, exit := p.run(s)
	assert.Equal(t, work.CodePermissionDenied, r.Code)
	assert.Equal(t, work.ExitPermanent, exit)
	assert.Empty(t, r.Snapshot.SnapshotID)

	require.NoError(t, os.Chmod(p.source, 0o000))
	t.Cleanup(func() { _ = os.Chmod(p.source, 0o700) })
	s.RequestID = "closed"
	r, exit = p.run(s)
	assert.Equal(t, work.CodePermissionDenied, r.Code)
	assert.Equal(t, work.ExitPermanent, exit)
	assert.Contains(t, r.Message, "root folder")
}

// K-10: two names that kopia would make one.
func TestNamesThatAreNotUTF8FailTheSnapshotButSaveIt(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	p.write(p.source, "a\xff", "one")
	p.write(p.source, "a\xfe", "two")
	p.create()
	for _, attempt := range []string{"the first time", "when the result was lost"} {
		r, exit := p.run(p.snapshot())
		assert.Equal(t, work.CodePermissionDenied, r.Code)
		assert.Equal(t, work.ExitPermanent, exit)
		assert.Equal(t, int64(2), r.Snapshot.Unstored.UnsupportedNames, attempt)
		assert.Equal(t, int64(2), r.Snapshot.FilesFailed, attempt)
		assert.Zero(t, r.Snapshot.Unstored.Unreadable, attempt)
		assert.Contains(t, r.Message, "not UTF-8")
		assert.NotContains(t, r.Message, "belong to uid")
		assert.Equal(t, "UnsupportedName", r.Snapshot.Unstored.Paths[0].Reason, attempt)
	}
}

// K-4: ignoreUnknownTypes: false makes of a pipe what an unreadable file is.
func TestEntriesOfOtherKindsFailTheSnapshotIfAskedTo(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	p.write(p.source, "ok", "fine")
	require.NoError(t, syscall.Mkfifo(filepath.Join(p.source, "pipe"), 0o600))
	p.create()
	s := p.snapshot()
	s.Operation.Snapshot.Policy.IgnoreUnknownTypes = new(false)
	for _, attempt := range []string{"the first time", "when the result was lost"} {
		r, exit := p.run(s)
		assert.Equal(t, work.CodePermissionDenied, r.Code, attempt)
		assert.Equal(t, work.ExitPermanent, exit)
		assert.Contains(t, r.Message, "1 of them are pipes")
		assert.Equal(t, int64(1), r.Snapshot.FilesFailed, attempt)
		assert.Zero(t, r.Snapshot.Unstored.Unreadable, attempt)
		assert.Equal(t, map[string]int64{"fifo": 1}, r.Snapshot.Unstored.Unsupported, attempt)
		require.Len(t, r.Snapshot.Unstored.Paths, 1, attempt)
		assert.Equal(t, "pipe", r.Snapshot.Unstored.Paths[0].Path, attempt)
	}
}

// What a snapshot could not read is never taken for what was deleted since.
func TestDeletionNeedsAWholeSnapshot(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	p.write(p.source, "a\xff", "one")
	p.write(p.source, "b", "two")
	p.create()
	r, _ := p.run(p.snapshot())
	require.NotEmpty(t, r.Snapshot.SnapshotID)
	p.write(p.target, "a\xff", "precious")
	restore := work.Restore{SnapshotID: r.Snapshot.SnapshotID, TargetPath: p.target, Options: work.RestoreOptions{EnableFileDeletion: new(true)}}
	r, exit := p.run(p.spec(work.Operation{Restore: &restore}))
	assert.Equal(t, work.CodeInvalidSpec, r.Code)
	assert.Equal(t, work.ExitPermanent, exit)
	assert.Contains(t, r.Message, "lacks 1 entries")
	assert.FileExists(t, filepath.Join(p.target, "a\xff"))
	assert.NoFileExists(t, filepath.Join(p.target, "b"), "nothing was written")

	restore.Options.EnableFileDeletion = nil
	assert.Equal(t, int64(1), p.ok(p.spec(work.Operation{Restore: &restore})).Restore.FilesRestored)
	assert.FileExists(t, filepath.Join(p.target, "a\xff"))
}

// K-5 and F-2: an owner that cannot be given back is counted, or refused before the first byte.
func TestRestoreOfAnotherOwnersFiles(t *testing.T) { //nolint:paralleltest // runs itself in a child
	if os.Geteuid() == 0 {
		// Root makes the repository with files of another owner, the child restores from it.
		p := newPod(t)
		p.write(p.source, "theirs", "content")
		for _, n := range []string{"theirs", "."} {
			require.NoError(t, os.Chown(filepath.Join(p.source, n), 4242, 4242))
		}
		p.create()
		id := p.ok(p.snapshot()).Snapshot.SnapshotID
		shared, err := os.MkdirTemp("/tmp", "kopiur-shared-") //nolint:usetesting // t.TempDir is closed to others
		require.NoError(t, err)
		t.Cleanup(func() { _ = os.RemoveAll(shared) })
		require.NoError(t, os.CopyFS(filepath.Join(shared, "repo"), os.DirFS(p.repo)))
		require.NoError(t, os.WriteFile(filepath.Join(shared, "id"), []byte(id), 0o600))
		require.NoError(t, filepath.WalkDir(shared, func(path string, _ os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			return os.Chmod(path, 0o777) //nolint:gosec // nobody else is in a test's own folder
		}))
		t.Setenv("KOPIUR_TEST_SHARED", shared)
	}
	if !unprivileged.Again(t) {
		return
	}
	shared := os.Getenv("KOPIUR_TEST_SHARED")
	if shared == "" {
		t.Skip("needs root: only root can make files of another owner")
	}
	p := newPod(t)
	p.repo = filepath.Join(shared, "repo")
	id, err := os.ReadFile(filepath.Join(shared, "id"))
	require.NoError(t, err)
	restore := work.Restore{SnapshotID: string(id), TargetPath: p.target}
	restore.Options.IgnorePermissionErrors = new(bool)
	r, exit := p.run(p.spec(work.Operation{Restore: &restore}))
	assert.Equal(t, work.CodePermissionDenied, r.Code)
	assert.Equal(t, work.ExitPermanent, exit)
	assert.Contains(t, r.Message, "uid 4242")
	assert.NoFileExists(t, filepath.Join(p.target, "theirs"), "nothing was written")

	restore.Options.IgnorePermissionErrors = nil
	back := p.ok(p.spec(work.Operation{Restore: &restore})).Restore
	assert.Equal(t, int64(2), back.Ownership.Failed)
	require.Len(t, back.Ownership.Paths, 2)
	assert.Equal(t, int64(4242), back.Ownership.Paths[0].UID)
	assert.FileExists(t, filepath.Join(p.target, "theirs"))
}

// C-13: one connect builder. Every operation reaches a store with a CA of its own, and none without the CA.
func TestEveryOperationUsesTheCABundle(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	mem := s3mem.New()
	require.NoError(t, mem.CreateBucket("backups"))
	fake := gofakes3.New(mem).Server()
	var requests atomic.Int64
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		fake.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	p.write(p.source, "a", "content")
	p.write(p.auth, work.KeyAWSAccessKeyID, "id")
	p.write(p.auth, work.KeyAWSSecretAccessKey, "key")
	p.write(p.ca, work.DefaultCAKey, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw})))
	store := work.Backend{S3: &work.S3{Bucket: "backups", Prefix: "apps", Endpoint: strings.TrimPrefix(srv.URL, "https://"), Region: "us-east-1", CAKey: work.DefaultCAKey}}
	var key work.SnapshotKey
	for _, o := range []func() work.Operation{
		func() work.Operation { return work.Operation{Bootstrap: &work.Bootstrap{Create: &work.Create{}}} },
		func() work.Operation { return p.snapshot().Operation },
		func() work.Operation { return work.Operation{Resolve: &work.Resolve{Identity: identity}} },
		func() work.Operation {
			return work.Operation{Restore: &work.Restore{SnapshotID: key.SnapshotID, TargetPath: p.target}}
		},
		func() work.Operation { return p.verify(work.Verify{Quick: &work.QuickVerify{}}).Operation },
		func() work.Operation { return p.maintain(work.Maintain{Mode: work.MaintenanceQuick}).Operation },
		func() work.Operation { return work.Operation{Pin: &work.Pin{Snapshot: key, Pinned: true}} },
		func() work.Operation { return work.Operation{Delete: work.NewDelete([]work.SnapshotKey{key})} },
	} {
		s := p.spec(o())
		s.Repository.Backend = store
		before := requests.Load()
		r := p.ok(s)
		assert.Greater(t, requests.Load(), before, r.Operation)
		if r.Resolve != nil {
			key = work.SnapshotKey{SnapshotID: r.Resolve.SnapshotID, Identity: identity, StartTime: r.Resolve.StartTime}
		}
		without := *store.S3
		without.CAKey = ""
		s.Repository.Backend = work.Backend{S3: &without}
		r, exit := p.run(s)
		assert.Equal(t, work.CodeRepositoryUnavailable, r.Code, r.Message)
		assert.Equal(t, work.ExitRetryable, exit)
		assert.Contains(t, r.Message, "caBundleRef")
	}
	assert.FileExists(t, filepath.Join(p.target, "a"))
}

// The golden specs are the controller's, too: whatever it may ask for, this mover understands.
func TestGoldenSpecsAreUnderstood(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../../apis/work/testdata/spec-*.golden.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(f)
			require.NoError(t, err)
			s, err := work.DecodeSpec(string(text))
			require.NoError(t, err)
			p := newPod(t)
			require.NoError(t, os.Remove(filepath.Join(p.password, work.DefaultPasswordKey)))
			r, _ := p.run(s)
			if s.Operation.UI != nil {
				assert.Contains(t, r.Message, "served by the program ui", "its own tests do the same")
				return
			}
			assert.NotEqual(t, work.CodeInvalidSpec, r.Code, r.Message)
			assert.Equal(t, s.Operation.Name(), r.Operation)
		})
	}
}
