// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What commands write is under fire as well: a dump is stored whole and once, or not at all.
func init() {
	operations["stream snapshot on its store"] = operation{run: uploadDump, done: dumpIsThere, stride: 2}
}

var (
	webDump = Identity{Username: "web", Hostname: "apps", Path: "/stream/dump"}
	dump    = strings.Repeat("insert into t values (1);\n", 5000)
)

func uploadDump(ctx context.Context, _ *scene, r *Repository, _ *trigger) error {
	found, err := r.FindByTag(ctx, "kopiur-request", "dump")
	if err != nil || len(found) > 0 {
		return err
	}
	_, err = r.UploadStream(ctx, StreamUpload{
		Identity: webDump, FileName: "dump.sql", Tags: map[string]string{"kopiur-request": "dump"}, Progress: &Counters{},
		Body: iotest.HalfReader(strings.NewReader(dump)),
	})
	return err
}

func dumpIsThere(s *scene, r *Repository) {
	s.t.Helper()
	all, err := r.List(testContext(s.t), webDump)
	require.NoError(s.t, err)
	require.Len(s.t, all, 1, "not twice")
	_, err = r.Restore(testContext(s.t), all[0], Restore{Target: s.target, Progress: &Counters{}})
	require.NoError(s.t, err)
	got, err := os.ReadFile(filepath.Join(s.target, "dump.sql"))
	require.NoError(s.t, err)
	assert.Equal(s.t, dump, string(got))
	assert.Equal(s.t, []string{"first"}, s.whole("beside a dump"))
}
