// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package work_test

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kopiur/kopiur/apis/work"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func at(s string) time.Time {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		panic(err)
	}
	return t
}

func repository() work.Repository {
	return work.Repository{
		Name:        "Repository apps/nas",
		Backend:     work.Backend{Filesystem: &work.Filesystem{Path: "/repository"}},
		PasswordKey: work.DefaultPasswordKey,
		Username:    "kopiur", Hostname: "kopiur-apps-nas",
		ExpectedUniqueID: "0011aabb",
		Cache:            work.Cache{CapacityBytes: 1 << 30},
	}
}

func specs() map[string]work.Spec {
	s3 := repository()
	s3.Backend = work.Backend{S3: &work.S3{Bucket: "backups", Prefix: "a/", Endpoint: "s3.example.org:9000", Region: "eu-1", CAKey: "ca.crt"}}
	s3.Throttle = &work.Throttle{UploadBytesPerSecond: 1000}
	s3.ExpectedUniqueID = ""
	id := work.Identity{Username: "web", Hostname: "apps", Path: "/pvc/data"}
	out := map[string]work.Spec{
		"bootstrap-create": {RequestID: "u-1", Repository: s3, Operation: work.Operation{Bootstrap: &work.Bootstrap{Create: &work.Create{Hash: "BLAKE3-256-128"}}}},
		"snapshot": {
			RequestID: "u-2", Repository: repository(), Deadline: work.Deadline{SoftSeconds: 3300, HardSeconds: 3600},
			Operation: work.Operation{Snapshot: &work.Snapshot{
				Identity: id, Path: "/pvc/data", Description: "before the upgrade", Tags: map[string]string{"kopiur": "web"},
				Policy: work.SnapshotPolicy{Compression: "zstd-fastest", IgnoreRules: []string{"/lost+found"}, IgnoreCacheDirs: new(false)}, FailFast: true,
			}},
		},
		"resolve": {RequestID: "u-3", Repository: repository(), Operation: work.Operation{Resolve: &work.Resolve{Identity: id, AsOf: new(at("2026-03-05T02:00:00Z")), Offset: 1}}},
		"restore": {RequestID: "u-4", Repository: repository(), Operation: work.Operation{Restore: &work.Restore{
			SnapshotID: "aabb", Identity: id, StartTime: new(at("2026-03-05T02:00:00Z")), TargetPath: work.TargetDir,
			Options: work.RestoreOptions{EnableFileDeletion: new(true), IgnorePermissionErrors: new(false)},
		}}},
		"snapshot-device": {RequestID: "u-6", Repository: repository(), Operation: work.Operation{Snapshot: &work.Snapshot{Identity: id, DevicePath: work.SourceDevice}}},
		"restore-device":  {RequestID: "u-7", Repository: repository(), Operation: work.Operation{Restore: &work.Restore{SnapshotID: "aabb", DevicePath: work.TargetDevice}}},
		"restore-part":    {RequestID: "u-5", Repository: repository(), Operation: work.Operation{Restore: &work.Restore{SnapshotID: "aabb", SubPath: "conf/app.yaml", TargetPath: work.TargetDir}}},
	}
	maps.Copy(out, copySpecs())
	return out
}

func results() map[string]work.Result {
	out := map[string]work.Result{
		"bootstrap-ok": {
			Operation: "bootstrap", Code: work.CodeOK, StartTime: at("2026-03-05T02:00:00Z"), EndTime: at("2026-03-05T02:00:01Z"),
			Bootstrap: &work.BootstrapResult{UniqueID: "0011aabb", Created: true, ConnectSeconds: 0.25, SnapshotCount: 3, TotalBytes: 99, IndexBlobCount: 2},
		},
		"snapshot-ok": {Operation: "snapshot", Code: work.CodeOK, Snapshot: &work.SnapshotResult{
			SnapshotID: "aabb", RootID: "kff",
			StartTime: at("2026-03-05T02:00:00Z"), EndTime: at("2026-03-05T02:00:09Z"), SizeBytes: 10, FileCount: 2, DirCount: 1, BytesNew: 10, FilesNew: 2, BytesUploaded: 7,
		}},
		"snapshot-incomplete": {Operation: "snapshot", Code: work.CodePermissionDenied, Message: "1 of 3 entries could not be read by uid 65532", Snapshot: &work.SnapshotResult{
			SnapshotID: "aabb", FilesFailed: 1, Unstored: &work.Unstored{
				Unreadable: 1, Unsupported: map[string]int64{"fifo": 1},
				Paths: []work.EntryFault{{Path: "secret/key", UID: 0, Mode: "-rw-------", Reason: "permission denied"}},
			},
		}},
		"resolve-absent": {Operation: "resolve", Code: work.CodeOK, Resolve: &work.ResolveResult{Resolution: work.ResolutionAbsent}},
		"restore-ok": {Operation: "restore", Code: work.CodeOK, Restore: &work.RestoreResult{
			SnapshotID: "aabb", FilesRestored: 2, DirsRestored: 1, BytesRestored: 10,
			Ownership: work.Ownership{Applied: 2, Failed: 1, Paths: []work.EntryFault{{Path: "a", UID: 1000, Reason: "operation not permitted"}}},
		}},
		"wrong-password": {Operation: "bootstrap", Code: work.CodeAuthFailure, Message: "the repository password is wrong"},
	}
	maps.Copy(out, copyResults())
	return out
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden.json")
	if *update {
		require.NoError(t, os.WriteFile(path, append(got, '\n'), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, strings.TrimSpace(string(want)), string(got), "the wire format changed: run go test -update and review the diff on both sides")
}

func TestSpecGolden(t *testing.T) {
	t.Parallel()
	for name, s := range specs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			specGolden(t, name, s)
		})
	}
}

func specGolden(t *testing.T, name string, s work.Spec) {
	t.Helper()
	text, err := work.EncodeSpec(s)
	require.NoError(t, err)
	golden(t, "spec-"+name, []byte(text))
	back, err := work.DecodeSpec(text)
	require.NoError(t, err)
	s.APIVersion = work.APIVersion
	assert.Equal(t, s, back)
}

func TestResultGolden(t *testing.T) {
	t.Parallel()
	for name, r := range results() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resultGolden(t, name, r)
		})
	}
}

func resultGolden(t *testing.T, name string, r work.Result) {
	t.Helper()
	b, err := work.EncodeResult(r)
	require.NoError(t, err)
	golden(t, "result-"+name, b)
	back, err := work.DecodeResult(string(b))
	require.NoError(t, err)
	r.APIVersion = work.APIVersion
	assert.Equal(t, r, back)
}

func TestEncodeSpecRefuses(t *testing.T) {
	t.Parallel()
	s := specs()["snapshot"]
	s.Operation.Snapshot.Description = strings.Repeat("x", work.MaxSpecBytes)
	_, err := work.EncodeSpec(s)
	require.ErrorIs(t, err, work.ErrTooLarge)
	require.ErrorContains(t, err, "operation.snapshot.description", "the longest field is named")

	_, err = work.EncodeSpec(work.Spec{})
	require.ErrorContains(t, err, "exactly one operation")
	_, err = work.EncodeSpec(work.Spec{Operation: work.Operation{Bootstrap: &work.Bootstrap{}, Resolve: &work.Resolve{}}})
	require.ErrorContains(t, err, "exactly one operation")
}

func TestDecodeSpecRefuses(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"an unknown field":           `{"apiVersion":"` + work.APIVersion + `","operation":{"bootstrap":{}},"surprise":1}`,
		"another protocol":           `{"apiVersion":"v0","operation":{"bootstrap":{}}}`,
		"no operation":               `{"apiVersion":"` + work.APIVersion + `"}`,
		"something that is not JSON": `hello`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := work.DecodeSpec(text)
			require.Error(t, err)
		})
	}
}

func TestEncodeResultAlwaysFits(t *testing.T) {
	t.Parallel()
	long := work.EntryFault{Path: strings.Repeat("ä/", 600), Mode: "-rw-------", Reason: "permission denied"}
	paths := make([]work.EntryFault, work.MaxPaths)
	for i := range paths {
		paths[i] = long
	}
	for name, r := range map[string]work.Result{
		"many long unreadable paths": {Operation: "snapshot", Code: work.CodePermissionDenied, Message: strings.Repeat("é", 5000), Snapshot: &work.SnapshotResult{SnapshotID: "keep-me", FilesFailed: 77, Unstored: &work.Unstored{Unreadable: 77, Paths: paths}}},
		"many long unowned paths":    {Operation: "restore", Code: work.CodeOK, Restore: &work.RestoreResult{SnapshotID: "keep-me", Ownership: work.Ownership{Failed: 77, Paths: paths}}},
		"a message of control bytes": {Operation: "bootstrap", Code: work.CodeUnknown, Message: strings.Repeat("\x01", 5000)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, err := work.EncodeResult(r)
			require.NoError(t, err)
			assert.LessOrEqual(t, len(b), work.MaxResultBytes)
			back, err := work.DecodeResult(string(b))
			require.NoError(t, err)
			assert.True(t, utf8.ValidString(back.Message))
			if r.Snapshot != nil {
				assert.Equal(t, "keep-me", back.Snapshot.SnapshotID)
				assert.Equal(t, int64(77), back.Snapshot.Unstored.Unreadable)
				assert.Len(t, r.Snapshot.Unstored.Paths, work.MaxPaths, "the caller's value is untouched")
			}
		})
	}
}

func TestDecodeResultRefusesWhatIsNotOne(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"an empty message":               "",
		"a panic's last lines":           "goroutine 1 [running]:\nmain.main()",
		"JSON of something else":         `{"level":"info"}`,
		"a code this version never sets": `{"apiVersion":"` + work.APIVersion + `","operation":"snapshot","code":"Fine"}`,
		"the controller's own code":      `{"apiVersion":"` + work.APIVersion + `","operation":"snapshot","code":"Lost"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := work.DecodeResult(text)
			require.ErrorIs(t, err, work.ErrNoResult)
		})
	}
}

func TestDecodeEventPassesOverForeignLines(t *testing.T) {
	t.Parallel()
	line, err := work.EncodeEvent(work.Event{Type: work.EventProgress, Time: at("2026-03-05T02:00:00Z"), Progress: &work.Progress{BytesProcessed: 5}})
	require.NoError(t, err)
	e, ok := work.DecodeEvent(line)
	require.True(t, ok)
	assert.Equal(t, int64(5), e.Progress.BytesProcessed)
	for _, foreign := range []string{"", "panic: boom", `{"type":"other"}`, `[1]`} {
		_, ok := work.DecodeEvent([]byte(foreign))
		assert.False(t, ok, foreign)
	}
}

// J-7.
func TestClipKeepsRunesWhole(t *testing.T) {
	t.Parallel()
	for n := range 40 {
		got := work.Clip("añb→c𝄞d", n)
		assert.True(t, utf8.ValidString(got))
		assert.LessOrEqual(t, len(got), max(n, 0))
	}
}

func TestDeadlineOrDefault(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ in, want work.Deadline }{
		"nothing set means two days":                     {work.Deadline{}, work.Deadline{SoftSeconds: work.DefaultSoftSeconds, HardSeconds: work.DefaultHardSeconds}},
		"a short hard deadline keeps a tenth for saving": {work.Deadline{HardSeconds: 100}, work.Deadline{SoftSeconds: 90, HardSeconds: 100}},
		"more than a timer holds is as long as it holds": {work.Deadline{HardSeconds: 1 << 62}, work.Deadline{SoftSeconds: work.MaxSeconds - 300, HardSeconds: work.MaxSeconds}},
		"a soft deadline behind the hard one is moved":   {work.Deadline{SoftSeconds: 500, HardSeconds: 100}, work.Deadline{SoftSeconds: 90, HardSeconds: 100}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tc.want, tc.in.OrDefault())
		})
	}
}

func TestCodesAgree(t *testing.T) {
	t.Parallel()
	assert.Equal(t, work.ExitOK, work.CodeOK.ExitCode())
	assert.Equal(t, work.ExitRetryable, work.CodeRepositoryUnavailable.ExitCode())
	assert.Equal(t, work.ExitPermanent, work.CodeAuthFailure.ExitCode())
	assert.Equal(t, work.ExitPermanent, work.CodePermissionDenied.ExitCode(), "an incomplete but saved snapshot must not be retried (D3)")
	assert.False(t, work.Code("Fine").Valid())
	assert.False(t, work.CodeLost.Valid(), "a mover cannot report its own loss")
}

func TestEncodeResultShortensTheLongestListFirst(t *testing.T) {
	t.Parallel()
	paths := func(n int) []work.EntryFault {
		out := make([]work.EntryFault, n)
		for i := range out {
			out[i].Path = strings.Repeat("x", 300)
		}
		return out
	}
	b, err := work.EncodeResult(work.Result{
		Operation: "snapshot", Code: work.CodeOK, Warning: strings.Repeat("w", 4000),
		Snapshot: &work.SnapshotResult{Unstored: &work.Unstored{Paths: paths(12)}},
		Restore:  &work.RestoreResult{Ownership: work.Ownership{Paths: paths(4)}},
	})
	require.NoError(t, err)
	require.LessOrEqual(t, len(b), work.MaxResultBytes)
	back, err := work.DecodeResult(string(b))
	require.NoError(t, err)
	assert.Len(t, back.Restore.Ownership.Paths, 4, "the shorter list is whole")
	assert.Greater(t, len(back.Snapshot.Unstored.Paths), 3)
	assert.NotEmpty(t, back.Warning, "the warning is shortened, not dropped")
}
