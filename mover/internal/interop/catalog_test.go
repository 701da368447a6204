// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build interop

package interop_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kopiur/kopiur/apis/work"
)

// TestTheMoverListsWhatKopiaWrote: a repository with history that only kopia's own command line has written, under names
// of several machines, with a pin, a description, and a snapshot that did not get to its end.
func TestTheMoverListsWhatKopiaWrote(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.cli("repository", "create", "filesystem", "--path", b.repo)
	sources := []string{"root@laptop:/home", "web@apps:/pvc/data", "web@apps:/pvc/data", "root@nas.example.org:/volume1", "web@apps:/pvc/data"}
	for _, s := range sources {
		b.cli("snapshot", "create", b.source, "--override-source", s, "--description", "of "+s, "--tags", "kept:yes")
	}
	big := make([]byte, 4<<20)
	_, err := rand.Read(big)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(b.dir("big"), "data"), big, 0o600))
	b.cli("snapshot", "create", filepath.Join(b.root, "big"), "--override-source", "web@apps:/cut", "--upload-limit-mb", "1")
	var list []struct {
		listed
		Incomplete string `json:"incomplete"`
	}
	require.NoError(t, json.Unmarshal([]byte(b.cli("snapshot", "list", "--all", "--incomplete", "--json")), &list))
	want := map[string]string{}
	for _, s := range list {
		if s.Incomplete == "" {
			want[s.ID] = s.Source.UserName + "@" + s.Source.Host + ":" + s.Source.Path
		}
	}
	require.Len(t, want, len(sources))
	assert.Len(t, list, len(sources)+1, "the one that was cut is there, too")

	r := b.run("r1", work.Operation{Bootstrap: &work.Bootstrap{Catalog: &work.Catalog{}}})
	require.NotNil(t, r.Bootstrap)
	assert.Equal(t, int64(len(sources)), r.Bootstrap.SnapshotCount)
	got := map[string]string{}
	for line := range bytes.Lines(b.stdout) {
		e, ok := work.DecodeEvent(bytes.TrimSpace(line))
		if !ok || e.Page == nil {
			continue
		}
		for _, s := range e.Page.Snapshots {
			name := s.Identity.Username + "@" + s.Identity.Hostname + ":" + s.Identity.Path
			got[s.SnapshotID] = name
			assert.Equal(t, "of "+name, s.Description)
			assert.Equal(t, "yes", s.Tags["kept"])
			assert.Positive(t, s.FileCount)
			assert.Zero(t, s.FilesFailed)
		}
	}
	assert.Equal(t, want, got)
}
