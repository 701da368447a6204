// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"encoding/json"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kopiur/kopiur/apis/work"
)

// E-10: the limits of a repository are those of every connection to it, whatever the operation. They stand in the file by
// which kopia opens it, and the store looks at that file while it is being asked. That kopia keeps to them there is shown by
// mover/engine.
func TestEveryOperationIsThrottled(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	limits := work.Throttle{UploadBytesPerSecond: 1 << 30, DownloadBytesPerSecond: 1<<30 + 1, ReadOpsPerSecond: 1 << 20, WriteOpsPerSecond: 1<<20 + 1}
	var (
		mu                 sync.Mutex
		connections, limit int
	)
	s3 := *p.bucket(func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			all, limited := p.connections(limits)
			mu.Lock()
			connections, limit = max(connections, all), max(limit, limited)
			mu.Unlock()
			h.ServeHTTP(w, r)
		})
	})
	p.furnish()
	p.write(p.source, "a", "content")
	var key work.SnapshotKey
	steps := everything(s3, func() work.SnapshotKey { return key }, p.target)
	covers(t, steps)
	for _, s := range steps {
		spec := p.spec(s.operation)
		spec.RequestID = "request-" + s.operation.Name()
		there := s3
		if s.at != "" {
			there.Prefix = s.at
		}
		spec.Repository.Backend, spec.Repository.Throttle = work.Backend{S3: &there}, &limits
		want := 1
		switch o := s.operation; {
		case o.Migrate != nil:
			o.Migrate.Destination.Throttle, want = &limits, 2
		case o.Seed != nil:
			o.Seed.Migrate.Source.Throttle, want = &limits, 2
		}
		connections, limit = 0, 0
		r := s.run(p, spec)
		require.Equal(t, work.CodeOK, r.Code, "%s: %s\n%s", s.operation.Name(), r.Message, p.out.String())
		assert.Equal(t, want, connections, s.operation.Name())
		assert.Equal(t, want, limit, s.operation.Name())
		if r.Snapshot != nil && key.SnapshotID == "" {
			key = work.SnapshotKey{SnapshotID: r.Snapshot.SnapshotID, Identity: identity, StartTime: r.Snapshot.StartTime}
		}
	}
}

// connected is a store in kopia's connection file, and what stands before it.
type connected struct {
	Type   string
	Config struct {
		Throttle work.Throttle
		Storage  *connected
	}
}

func (c connected) limits() work.Throttle {
	if c.Type == "kopiur-readahead" {
		c = *c.Config.Storage // what is read ahead is paid for like everything else
	}
	if c.Type != "kopiur-throttled" {
		return work.Throttle{}
	}
	return c.Config.Throttle
}

// connections counts the connections that are open, and those of them that have limits.
func (p *pod) connections(limits work.Throttle) (all, limited int) {
	_ = filepath.WalkDir(p.work, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() != "connection.json" {
			return nil //nolint:nilerr // it may just go away
		}
		b, err := os.ReadFile(path) //nolint:gosec // nobody else is in a test's own folder
		if err != nil {
			return nil //nolint:nilerr // it may just go away
		}
		all++
		var c struct{ Storage connected }
		if json.Unmarshal(b, &c) == nil && c.Storage.limits() == limits {
			limited++
		}
		return nil
	})
	return all, limited
}
