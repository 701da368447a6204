// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/mover/internal/unprivileged"
)

// every is one of each operation on the pod's repository that ends well, in an order in which they can.
func (p *pod) every(key work.SnapshotKey) []work.Spec {
	return []work.Spec{
		p.spec(work.Operation{Bootstrap: &work.Bootstrap{Catalog: &work.Catalog{}}}),
		p.spec(work.Operation{Resolve: &work.Resolve{Identity: identity}}),
		p.spec(work.Operation{Restore: &work.Restore{SnapshotID: key.SnapshotID, TargetPath: p.target}}),
		p.verify(work.Verify{Quick: &work.QuickVerify{FilesPercent: 100}}),
		p.verify(work.Verify{Deep: &work.DeepVerify{ScratchPath: p.target}}),
		p.maintain(work.Maintain{Mode: work.MaintenanceQuick}),
		p.maintain(work.Maintain{Mode: work.MaintenanceFull}),
		p.spec(work.Operation{Pin: &work.Pin{Snapshot: key, Pinned: true}}),
		p.spec(work.Operation{Delete: work.NewDelete([]work.SnapshotKey{key})}),
	}
}

// G-1 to G-3, J-8: no operation fails for its cache, and each that has one says what is wrong with it.
func TestNoOperationFailsForItsCache(t *testing.T) { //nolint:paralleltest // runs itself in a child
	if !unprivileged.Mounting(t) {
		return
	}
	p := newPod(t)
	unprivileged.Volume(t, p.cache, 256<<20)
	p.create()
	key := p.snapshots(1)[0]
	unprivileged.ReadOnly(t, p.cache)
	for _, s := range p.every(key) {
		r := p.ok(s)
		reads := s.Operation.Restore != nil || s.Operation.Verify != nil // they have no cache in front of a folder
		if !reads {
			assert.Contains(t, r.Warning, "mounted read-only", s.Operation.Name())
		}
	}
}

// G-2: kopia's logs go nowhere but into the bounded stream: not beside the cache, and not into the repository.
func TestNoLogsAreKept(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	p.create()
	p.write(p.cache, "cli-logs/of-another-mover.log", "x")
	key := p.snapshots(1)[0]
	for _, s := range p.every(key) {
		p.ok(s)
	}
	for _, dir := range []string{p.cache, p.repo, p.work} {
		require.NoError(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
			name := strings.ReplaceAll(strings.TrimPrefix(path, dir), "/", "")
			assert.False(t, strings.HasPrefix(name, "_log") || strings.Contains(path, "logs") || strings.HasSuffix(path, ".log"), path)
			return err
		}))
	}
	left, err := os.ReadDir(p.work)
	require.NoError(t, err)
	assert.Empty(t, left)
}
