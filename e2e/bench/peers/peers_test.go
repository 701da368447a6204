// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package peers_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/e2e/bench/data"
	"github.com/kopiur/kopiur/e2e/bench/peers"
)

func vault(t *testing.T) *peers.Vault {
	t.Helper()
	return &peers.Vault{Home: t.TempDir(), Place: peers.Place{Dir: t.TempDir()}, Want: data.Tree{Files: 2, Bytes: 3000}}
}

func TestABackupThatHoldsSomethingElseIsAnError(t *testing.T) {
	t.Parallel()
	kopia := func(files, size string) string {
		return `{"id":"k1","rootEntry":{"summ":{"files":` + files + `,"size":` + size + `}}}`
	}
	restic := func(files, size string) string {
		return `{"message_type":"status"}` + "\n" +
			`{"message_type":"summary","snapshot_id":"r1","total_files_processed":` + files + `,"total_bytes_processed":` + size + "}\n"
	}
	for name, tc := range map[string]struct {
		peer   peers.Peer
		output string
		want   string
	}{
		"kopia stored all of it":           {&peers.Kopia{}, kopia("2", "3000"), "k1"},
		"kopia stored nothing":             {&peers.Kopia{}, kopia("0", "0"), ""},
		"kopia missed a file":              {&peers.Kopia{}, kopia("1", "3000"), ""},
		"kopia missed a byte":              {&peers.Kopia{}, kopia("2", "2999"), ""},
		"kopia said something else":        {&peers.Kopia{}, "Created snapshot", ""},
		"restic stored all of it":          {&peers.Restic{}, restic("2", "3000"), "r1"},
		"restic stored nothing":            {&peers.Restic{}, restic("0", "0"), ""},
		"restic ended without its summary": {&peers.Restic{}, `{"message_type":"status"}`, ""},
		"tar wrote no archive":             {peers.Tar{}, "", ""},
		"cp copied nothing":                {peers.Copy{}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := vault(t)
			err := tc.peer.Backup(v, "/source").Check([]byte(tc.output))
			if tc.want == "" {
				require.Error(t, err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tc.want, v.Snapshot)
		})
	}
}

func TestAnEmptySourceIsNoBenchmark(t *testing.T) {
	t.Parallel()
	v := vault(t)
	v.Want = data.Tree{}
	require.Error(t, (&peers.Kopia{}).Backup(v, "/source").Check([]byte(`{"id":"k1","rootEntry":{"summ":{"files":0,"size":0}}}`)))
}

func TestTheMoverIsJudgedByItsResult(t *testing.T) {
	t.Parallel()
	stored := &work.SnapshotResult{SnapshotID: "m1", FileCount: 2, SizeBytes: 3000}
	for name, tc := range map[string]struct {
		result work.Result
		want   string
	}{
		"all of it":                 {work.Result{Code: work.CodeOK, Snapshot: stored}, "m1"},
		"a file is missing":         {work.Result{Code: work.CodeOK, Snapshot: &work.SnapshotResult{SnapshotID: "m1", FileCount: 1, SizeBytes: 3000}}, ""},
		"stored, but not all of it": {work.Result{Code: work.CodePermissionDenied, Message: "1 of 3 entries could not be read", Snapshot: stored}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := vault(t)
			tc.result.Operation = "snapshot"
			text, err := work.EncodeResult(tc.result)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(v.Home, "termination-log"), text, 0o600))
			err = (&peers.Mover{}).Backup(v, "/source").Check(nil)
			if tc.want == "" {
				require.Error(t, err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tc.want, v.Snapshot)
		})
	}
	v := vault(t)
	require.Error(t, (&peers.Mover{}).Backup(v, "/source").Check(nil), "no result is no success")
}

func TestBothKopiasAreToldTheSame(t *testing.T) {
	t.Parallel()
	s := peers.Settings{Parallel: 6, CacheMiB: 512}
	v := vault(t)
	v.Bucket = &peers.Bucket{Endpoint: "127.0.0.1:7", Name: "b", AccessKey: "a", SecretKey: "hidden"}
	mover := (&peers.Mover{Settings: s}).Backup(v, "/source")
	spec, err := work.DecodeSpec(strings.TrimPrefix(mover.Env[0], work.EnvSpec+"="))
	require.NoError(t, err)
	assert.Equal(t, 6, spec.Operation.Snapshot.Policy.MaxParallelFileReads)
	assert.EqualValues(t, 512<<20, spec.Repository.Cache.ContentLimitBytes)
	assert.Equal(t, "b", spec.Repository.Backend.S3.Bucket)
	assert.NotContains(t, mover.Env[0], "hidden", "keys are files, as in a pod")
	assert.Empty(t, spec.RequestID, "what an earlier round stored is not taken for this one's")
	kopia := (&peers.Kopia{Settings: s}).Backup(v, "/source")
	assert.Contains(t, strings.Join(kopia.Args, " "), "snapshot create --json --parallel 6 /source")
}
