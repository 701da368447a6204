// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kopiur/kopiur/apis/work"
)

// F-2: root in a container has the capabilities that the pod gives it and no others. With those of privilegedMode a
// restore brings owners back; without them it says so before it writes, if owners matter.
func TestRestoreAsRootWithSomeCapabilities(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	setpriv, err := exec.LookPath("setpriv")
	if err != nil {
		t.Skip("needs setpriv")
	}
	p := newPod(t)
	p.write(p.source, "theirs", "content")
	p.write(p.source, "suid", "#!")
	require.NoError(t, os.Chown(p.source, 4242, 4243))
	for n, mode := range map[string]os.FileMode{"theirs": 0o640, "suid": 0o755 | os.ModeSetuid} {
		require.NoError(t, os.Chown(filepath.Join(p.source, n), 4242, 4243))
		require.NoError(t, os.Chmod(filepath.Join(p.source, n), mode))
	}
	p.create()
	id := p.ok(p.snapshot()).Snapshot.SnapshotID
	strict := p.spec(work.Operation{Restore: &work.Restore{
		SnapshotID: id, TargetPath: p.target, Options: work.RestoreOptions{IgnorePermissionErrors: new(false)},
	}})
	for _, tc := range []struct {
		name, caps string
		code       work.Code
	}{
		{"none", "-all", work.CodePermissionDenied},
		{"those of privilegedMode", "-all,+chown,+dac_override,+fowner,+fsetid", work.CodeOK},
	} {
		cmd := p.mover(strict)
		cmd.Args = append([]string{setpriv, "--bounding-set=" + tc.caps, "--inh-caps=-all", cmd.Path}, cmd.Args[1:]...)
		cmd.Path = setpriv
		_ = cmd.Run() // the result tells
		r := p.result()
		require.Equal(t, tc.code, r.Code, "%s: %s\n%s", tc.name, r.Message, p.out.String())
		if tc.code != work.CodeOK {
			assert.Contains(t, r.Message, "nothing was written")
			assert.NoFileExists(t, filepath.Join(p.target, "theirs"))
			continue
		}
		assert.Zero(t, r.Restore.Ownership.Failed)
		for n, mode := range map[string]os.FileMode{"theirs": 0o640, "suid": 0o755 | os.ModeSetuid} {
			st, err := os.Stat(filepath.Join(p.target, n))
			require.NoError(t, err)
			own, ok := st.Sys().(*syscall.Stat_t)
			require.True(t, ok)
			assert.Equal(t, []uint32{4242, 4243}, []uint32{own.Uid, own.Gid}, n)
			assert.Equal(t, mode, st.Mode(), n)
		}
	}
}
