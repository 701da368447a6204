// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"errors"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kopiur/kopiur/apis/work"
)

// slowUpload is a snapshot that takes minutes unless somebody ends it: more data than the throttle lets through.
func (p *pod) slowUpload() work.Spec {
	randomFile(p.t, filepath.Join(p.source, "a"), 4<<20)
	randomFile(p.t, filepath.Join(p.source, "b"), 60<<20)
	s := p.snapshot()
	// The first pack goes through at once, the bucket of the throttle is filled for six seconds; then it takes a while.
	s.Repository.Throttle = &work.Throttle{UploadBytesPerSecond: 4 << 20}
	s.Operation.Snapshot.CheckpointSeconds = 1
	s.Operation.Snapshot.Policy.MaxParallelFileReads = 1
	return s
}

// underway waits until data of the upload is in the repository.
func (p *pod) underway() {
	p.t.Helper()
	require.Eventually(p.t, func() bool { return p.blobs("p") > 0 }, 2*time.Minute, 50*time.Millisecond)
}

func exitCode(err error) int {
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		return e.ExitCode()
	}
	return 0
}

// C-14, D-3 and D5: a mover that is killed leaves nothing to clean up, its checkpoints are no snapshots to anybody, and its
// retry makes one.
func TestKilledInMidUpload(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	p.create()
	s := p.slowUpload()
	cmd := p.start(s)
	p.underway()
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())

	absent := p.ok(p.spec(work.Operation{Resolve: &work.Resolve{Identity: identity}})).Resolve
	assert.Equal(t, work.ResolutionAbsent, absent.Resolution, "a checkpoint is no candidate")
	listed := p.ok(p.spec(work.Operation{Bootstrap: &work.Bootstrap{Catalog: &work.Catalog{}}})).Bootstrap
	assert.Equal(t, work.CatalogResult{}, *listed.Catalog, "nor in the catalog")
	assert.Zero(t, listed.SnapshotCount)

	s.Repository.Throttle = nil
	r := p.ok(s).Snapshot
	assert.False(t, r.Found)
	assert.Equal(t, int64(64<<20), r.SizeBytes)
	assert.True(t, p.ok(s).Snapshot.Found)
	b := p.ok(p.spec(work.Operation{Bootstrap: &work.Bootstrap{}})).Bootstrap
	assert.Equal(t, int64(1), b.SnapshotCount)
	p.compareAfterRestore(r.SnapshotID)
}

// SIGTERM ends in a consistent repository and still reports.
func TestToldToEndInMidUpload(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	p.create()
	s := p.slowUpload()
	cmd := p.start(s)
	p.underway()
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	code := exitCode(cmd.Wait())
	r := p.result()
	assert.Equal(t, work.CodeCanceled, r.Code, r.Message)
	assert.Equal(t, work.ExitRetryable, code)
	require.NotNil(t, r.Snapshot)
	assert.Empty(t, r.Snapshot.SnapshotID)
	assert.Contains(t, p.out.String(), `"type":"result"`)

	s.Repository.Throttle = nil
	id := p.ok(s).Snapshot.SnapshotID
	assert.Equal(t, int64(1), p.ok(p.spec(work.Operation{Bootstrap: &work.Bootstrap{}})).Bootstrap.SnapshotCount)
	p.compareAfterRestore(id)
}

// C-14: A restore that is killed goes on where it was, in the same target and by the same request.
func TestKilledInMidRestore(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	for i := range 16 {
		randomFile(t, filepath.Join(p.source, string(rune('a'+i))), 4<<20)
	}
	p.create()
	id := p.ok(p.snapshot()).Snapshot.SnapshotID
	s := p.spec(work.Operation{Restore: &work.Restore{SnapshotID: id, TargetPath: p.target}})
	s.Repository.Throttle = &work.Throttle{DownloadBytesPerSecond: 4 << 20}
	cmd := p.start(s)
	require.Eventually(t, func() bool {
		have, err := filepath.Glob(filepath.Join(p.target, "?"))
		return err == nil && len(have) > 0
	}, 2*time.Minute, 10*time.Millisecond)
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())

	s.Repository.Throttle = nil
	r := p.ok(s).Restore
	assert.Positive(t, r.FilesSkipped, "what was whole is not written again")
	assert.Equal(t, int64(16), r.FilesRestored+r.FilesSkipped)
	out, err := exec.CommandContext(t.Context(), "diff", "-r", p.source, p.target).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

func TestSoftDeadlineReportsAndIsRetryable(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	p.create()
	s := p.slowUpload()
	s.Deadline = work.Deadline{SoftSeconds: 5, HardSeconds: 120}
	r, code := p.run(s)
	assert.Equal(t, work.CodeDeadlineExceeded, r.Code, r.Message)
	assert.Equal(t, work.ExitRetryable, code)
	s.Repository.Throttle, s.Deadline = nil, work.Deadline{}
	p.ok(s)
}

func (p *pod) compareAfterRestore(id string) {
	p.t.Helper()
	p.ok(p.spec(work.Operation{Restore: &work.Restore{SnapshotID: id, TargetPath: p.target}}))
	out, err := exec.CommandContext(p.t.Context(), "diff", "-r", p.source, p.target).CombinedOutput()
	require.NoError(p.t, err, "%s", out)
}
