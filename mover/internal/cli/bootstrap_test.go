// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kopiur/kopiur/apis/work"
)

// pages are those of the last run in the pod's output.
func (p *pod) pages(since int) []work.Page {
	var out []work.Page
	for line := range bytes.Lines(p.out.Bytes()[since:]) {
		if e, ok := work.DecodeEvent(line); ok && e.Type == work.EventPage {
			out = append(out, *e.Page)
		}
	}
	return out
}

// bucket is an S3 server with one bucket, and the backend that names it. wrap may stand before it.
func (p *pod) bucket(wrap func(http.Handler) http.Handler) *work.S3 {
	p.t.Helper()
	mem := s3mem.New()
	require.NoError(p.t, mem.CreateBucket("bbb"))
	h := gofakes3.New(mem).Server()
	if wrap != nil {
		h = wrap(h)
	}
	srv := httptest.NewServer(h)
	p.t.Cleanup(srv.Close)
	p.write(p.auth, work.KeyAWSAccessKeyID, "access-key")
	p.write(p.auth, work.KeyAWSSecretAccessKey, "secret-key")
	return &work.S3{Bucket: "bbb", Prefix: "apps/", Endpoint: strings.TrimPrefix(srv.URL, "http://"), Region: "r", DisableTLS: true}
}

// C-10, C-6: one bootstrap leaves the repository as it was asked to and reads back what is there.
func TestBootstrapArrangesAndDescribes(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	b := work.Bootstrap{
		Create: &work.Create{},
		Parameters: &work.Parameters{Epoch: &work.Epoch{
			MinDurationSeconds: 7200, RefreshFrequencySeconds: 1800, AdvanceOnCount: 30, AdvanceOnSizeMiB: 20, CheckpointFrequency: 5, DeleteParallelism: 3,
		}},
		Keep:    []work.Identity{identity},
		Catalog: &work.Catalog{},
	}
	r := p.ok(p.spec(work.Operation{Bootstrap: &b})).Bootstrap
	assert.True(t, r.Created)
	assert.Equal(t, work.EpochState{
		Enabled: true, MinDurationSeconds: 7200, RefreshFrequencySeconds: 1800, AdvanceOnCount: 30, AdvanceOnSizeMiB: 20, CheckpointFrequency: 5,
		DeleteParallelism: 3, CleanupSafetyMarginSeconds: 14400,
	}, r.Parameters.Epoch)
	assert.Nil(t, r.Parameters.BlobRetention)
	assert.Equal(t, "kopiur@kopiur-apps-nas", r.Owner)
	assert.Empty(t, r.PreviousOwner)
	assert.Equal(t, work.CatalogResult{}, *r.Catalog)

	keys := p.snapshots(2)
	before := p.out.Len()
	s := p.spec(work.Operation{Bootstrap: &work.Bootstrap{Catalog: &work.Catalog{}}})
	s.Repository.Hostname = "kopiur-new-name"
	r = p.ok(s).Bootstrap
	assert.Equal(t, "kopiur@kopiur-apps-nas", r.Owner, "somebody else's ownership is left alone without a rule")
	assert.Equal(t, work.CatalogResult{Pages: 1, Entries: 2}, *r.Catalog)
	pages := p.pages(before)
	require.Len(t, pages, 1)
	for i, e := range pages[0].Snapshots {
		got := work.SnapshotKey{SnapshotID: e.SnapshotID, Identity: e.Identity, StartTime: e.StartTime.Truncate(time.Second)}
		assert.Equal(t, keys[i], got)
		assert.Positive(t, e.SizeBytes)
		assert.NotEmpty(t, e.Tags[work.TagRequest])
	}
	before = p.out.Len()
	s.Operation.Bootstrap.Catalog.After = pages[0].Cursor
	s.Operation.Bootstrap.Owner = &work.OwnerRule{Aliases: []string{"kopiur@kopiur-apps-nas"}}
	r = p.ok(s).Bootstrap
	assert.Equal(t, work.CatalogResult{Pages: 1, Entries: 1}, *r.Catalog, "it goes on with the last one")
	assert.Equal(t, keys[1].SnapshotID, p.pages(before)[0].Snapshots[0].SnapshotID)
	assert.Equal(t, "kopiur@kopiur-new-name", r.Owner)
	assert.Equal(t, "kopiur@kopiur-apps-nas", r.PreviousOwner)
	assert.Equal(t, int64(30), r.Parameters.Epoch.AdvanceOnCount, "what is not asked for is left alone")
}

func TestBootstrapRefusesImpossibleParameters(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	p.create()
	for name, b := range map[string]work.Bootstrap{ //nolint:paralleltest // one pod for all
		"a negative count":               {Parameters: &work.Parameters{Epoch: &work.Epoch{AdvanceOnCount: -1}}},
		"epochs that are too short":      {Parameters: &work.Parameters{Epoch: &work.Epoch{MinDurationSeconds: 60}}},
		"object lock on a folder":        {Parameters: &work.Parameters{BlobRetention: &work.BlobRetention{Mode: work.RetentionGovernance, PeriodSeconds: 172800}}},
		"object lock without a period":   {Parameters: &work.Parameters{BlobRetention: &work.BlobRetention{Mode: work.RetentionCompliance}}},
		"object lock of an unknown mode": {Parameters: &work.Parameters{BlobRetention: &work.BlobRetention{Mode: "firm", PeriodSeconds: 172800}}},
		"a cursor of somebody else":      {Catalog: &work.Catalog{After: "page 3"}},
		"an identity without a path":     {Keep: []work.Identity{{Username: "web", Hostname: "apps"}}},
	} {
		t.Run(name, func(t *testing.T) {
			r, exit := p.run(p.spec(work.Operation{Bootstrap: &b}))
			assert.Equal(t, work.CodeInvalidSpec, r.Code, r.Message)
			assert.Equal(t, work.ExitPermanent, exit)
		})
	}
	s := p.spec(work.Operation{Bootstrap: &work.Bootstrap{Parameters: &work.Parameters{Epoch: &work.Epoch{AdvanceOnCount: 30}}, Catalog: &work.Catalog{}}})
	s.Repository.ReadOnly = true
	assert.Equal(t, int64(20), p.ok(s).Bootstrap.Parameters.Epoch.AdvanceOnCount, "a read-only repository is described, not changed")
}

// Clock skew is reported with both clocks, also by a repository that works all the same.
func TestClockSkewIsReported(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	s := p.spec(work.Operation{Bootstrap: &work.Bootstrap{Create: &work.Create{}}})
	s.Repository.Backend = work.Backend{S3: p.bucket(func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Date", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat))
			h.ServeHTTP(w, r)
		})
	})}
	r := p.ok(s)
	assert.Contains(t, r.Warning, "the mover's clock is 60 minutes behind the store's")
	assert.InDelta(t, time.Hour.Seconds(), r.Bootstrap.Clock.Store.Sub(r.Bootstrap.Clock.Mover).Seconds(), 5)

	s.Repository.Backend = work.Backend{S3: p.bucket(func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Date", time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat))
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(`<Error><Code>RequestTimeTooSkewed</Code><Message>no</Message></Error>`))
		})
	})}
	for _, o := range []work.Operation{{Bootstrap: &work.Bootstrap{}}, {Resolve: &work.Resolve{Identity: identity}}} {
		s.Operation = o
		r, exit := p.run(s)
		assert.Equal(t, work.CodeClockSkew, r.Code, r.Message)
		assert.Equal(t, work.ExitRetryable, exit)
		assert.Contains(t, r.Message, "the mover's clock is 60 minutes ahead of the store's")
		assert.Contains(t, r.Message, "there")
	}
}

// D-11: where blobs are locked, a store that refuses to delete one is asked again, and the retry ends well.
func TestDeleteIsRetriedUnderObjectLock(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	refuse := false
	s := p.spec(work.Operation{Bootstrap: &work.Bootstrap{Create: &work.Create{}, Parameters: &work.Parameters{
		BlobRetention: &work.BlobRetention{Mode: work.RetentionGovernance, PeriodSeconds: 172800},
	}}})
	s.Repository.Backend = work.Backend{S3: p.bucket(func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if refuse && r.Method == http.MethodDelete {
				w.WriteHeader(http.StatusForbidden)
				_, _ = w.Write([]byte(`<Error><Code>AccessDenied</Code><Message>object protected by object lock</Message></Error>`))
				return
			}
			h.ServeHTTP(w, r)
		})
	})}
	b := p.ok(s).Bootstrap
	assert.Equal(t, work.BlobRetentionState{Mode: work.RetentionGovernance, PeriodSeconds: 172800}, *b.Parameters.BlobRetention)
	p.write(p.source, "a", "content")
	s.Operation = p.snapshot().Operation
	snapshot := p.ok(s).Snapshot
	s.Operation = work.Operation{Delete: work.NewDelete([]work.SnapshotKey{{SnapshotID: snapshot.SnapshotID, Identity: identity, StartTime: snapshot.StartTime}})}
	refuse = true
	r, exit := p.run(s)
	assert.Equal(t, work.CodeLocked, r.Code, r.Message)
	assert.Equal(t, work.ExitRetryable, exit)
	assert.Nil(t, r.Delete, "nothing is known to be deleted")
	refuse = false
	assert.Equal(t, int64(1), p.ok(s).Delete.Gone+p.result().Delete.Deleted)
}

// The catalog's pages are the protocol's byte for byte.
func TestPagesAreOneLineEach(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	p.create()
	p.snapshots(1)
	before := p.out.Len()
	p.ok(p.spec(work.Operation{Bootstrap: &work.Bootstrap{Catalog: &work.Catalog{}}}))
	for line := range bytes.Lines(p.out.Bytes()[before:]) {
		var e work.Event
		d := json.NewDecoder(bytes.NewReader(line))
		d.DisallowUnknownFields()
		require.NoError(t, d.Decode(&e), "%s", line)
	}
}

// dropping is a store that has lost its blobs of data, and says so, once missing is set.
func dropping(missing *bool) func(http.Handler) http.Handler {
	return func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if *missing && strings.Contains(r.URL.Path, "/apps/p") {
				http.NotFound(w, r)
				return
			}
			h.ServeHTTP(w, r)
		})
	}
}

// C-3: a store that answers, and then takes its time, is slow; one that never answers is not there.
func TestSlowIsNotUnavailable(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	hang := ""
	s := p.spec(work.Operation{Bootstrap: &work.Bootstrap{Create: &work.Create{}}})
	s.Repository.Backend = work.Backend{S3: p.bucket(func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if hang != "" && r.Method == http.MethodGet && strings.Contains(r.URL.String(), hang) {
				<-r.Context().Done()
				return
			}
			h.ServeHTTP(w, r)
		})
	})}
	p.ok(s)
	s.Deadline = work.Deadline{SoftSeconds: 2, HardSeconds: 60}
	for what, code := range map[string]work.Code{"kopia.repository": work.CodeSlow, "list-type": work.CodeRepositoryUnavailable} {
		hang = what
		r, exit := p.run(s)
		assert.Equal(t, code, r.Code, "%s: %s", what, r.Message)
		assert.Equal(t, work.ExitRetryable, exit)
	}
}
