// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bytes"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/mover/internal/cli"
)

func ptr[T any](v T) *T { return &v }

func TestBackUpLoseAndRestore(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	p.write(p.source, "a/b", "content")
	require.NoError(t, syscall.Mkfifo(filepath.Join(p.source, "pipe"), 0o600))

	b := p.create()
	require.True(t, b.Bootstrap.Created)
	require.Len(t, b.Bootstrap.UniqueID, 64)
	s := p.snapshot()
	s.Repository.ExpectedUniqueID = b.Bootstrap.UniqueID
	s.Operation.Snapshot.Description = "before the upgrade"
	s.Operation.Snapshot.Tags = map[string]string{work.TagConfig: "config:web"}
	r := p.ok(s)
	require.NotEmpty(t, r.Snapshot.SnapshotID)
	assert.Equal(t, int64(7), r.Snapshot.SizeBytes)
	assert.Equal(t, int64(1), r.Snapshot.FilesNew)
	assert.Equal(t, map[string]int64{"fifo": 1}, r.Snapshot.Unstored.Unsupported)
	assert.False(t, r.EndTime.Before(r.StartTime))

	found := p.ok(p.spec(work.Operation{Resolve: &work.Resolve{Identity: identity}})).Resolve
	assert.Equal(t, work.ResolutionFound, found.Resolution)
	assert.Equal(t, r.Snapshot.SnapshotID, found.SnapshotID)
	assert.Equal(t, r.Snapshot.StartTime, found.StartTime)

	back := p.ok(p.spec(work.Operation{Restore: &work.Restore{SnapshotID: found.SnapshotID, TargetPath: p.target}})).Restore
	assert.Equal(t, int64(1), back.FilesRestored)
	assert.Equal(t, int64(7), back.BytesRestored)
	got, err := os.ReadFile(filepath.Join(p.target, "a/b"))
	require.NoError(t, err)
	assert.Equal(t, "content", string(got))

	again := p.ok(p.spec(work.Operation{Bootstrap: &work.Bootstrap{}})).Bootstrap
	assert.False(t, again.Created)
	assert.Equal(t, int64(1), again.SnapshotCount)
	assert.Equal(t, int64(7), again.TotalBytes)
	assert.Positive(t, again.IndexBlobCount)
	assert.Positive(t, again.ConnectSeconds)
}

// D5: a result that was lost costs no second backup.
func TestTheSameRequestIsStoredOnce(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	p.write(p.source, "a", "content")
	p.create()
	first := p.ok(p.snapshot()).Snapshot
	p.write(p.source, "b", "changed meanwhile")
	second := p.ok(p.snapshot()).Snapshot
	assert.True(t, second.Found)
	assert.Equal(t, first.SnapshotID, second.SnapshotID)
	assert.Equal(t, first.StartTime, second.StartTime)
	assert.Equal(t, first.SizeBytes, second.SizeBytes)
	assert.Equal(t, int64(1), p.ok(p.spec(work.Operation{Bootstrap: &work.Bootstrap{}})).Bootstrap.SnapshotCount)

	other := p.snapshot()
	other.RequestID = "request-2"
	assert.False(t, p.ok(other).Snapshot.Found)

	elsewhere := p.snapshot()
	elsewhere.Operation.Snapshot.Identity.Path = "/pvc/other"
	third := p.ok(elsewhere).Snapshot
	assert.False(t, third.Found, "what was filed elsewhere is another source: the policy was edited between two attempts")
	assert.NotEqual(t, first.SnapshotID, third.SnapshotID)
}

func TestUnchangedIsNotStored(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	p.write(p.source, "a", "content")
	p.create()
	p.ok(p.snapshot())
	s := p.snapshot()
	s.RequestID, s.Operation.Snapshot.Policy.IgnoreIdentical = "request-2", true
	r := p.ok(s).Snapshot
	assert.True(t, r.Unchanged)
	assert.Empty(t, r.SnapshotID)
}

// K-9: every operation tells them apart.
func TestFailuresAreToldApart(t *testing.T) {
	t.Parallel()
	base := newPod(t)
	base.write(base.source, "a", "content")
	base.create()
	id := base.ok(base.snapshot()).Snapshot.SnapshotID
	for name, tc := range map[string]struct {
		arrange func(*pod, *work.Spec)
		code    work.Code
		exit    int
		says    string
	}{
		"a wrong password": {func(p *pod, _ *work.Spec) { p.write(p.password, work.DefaultPasswordKey, "hunter22") }, work.CodeAuthFailure, 20, "password is wrong"},
		"a wrong password with a newline": {
			func(p *pod, _ *work.Spec) { p.write(p.password, work.DefaultPasswordKey, password+"\n") },
			work.CodeAuthFailure, 20, "ends in a newline",
		},
		"a Secret without the key":         {func(_ *pod, s *work.Spec) { s.Repository.PasswordKey = "elsewhere" }, work.CodeMissingCredentials, 20, "elsewhere"},
		"no repository":                    {func(p *pod, _ *work.Spec) { p.repo = p.target }, work.CodeRepositoryNotInitialized, 20, ""},
		"a path that holds something else": {func(p *pod, _ *work.Spec) { p.repo = p.source }, work.CodeLocationOccupied, 20, `"a"`},
		"a repository that vanished": {func(p *pod, s *work.Spec) {
			p.repo, s.Repository.ExpectedUniqueID = p.target, "00ff"
		}, work.CodeRepositoryVanished, 20, "00ff"},
		"an endpoint that is unreachable": {func(p *pod, s *work.Spec) {
			p.write(p.auth, work.KeyAWSAccessKeyID, "id")
			p.write(p.auth, work.KeyAWSSecretAccessKey, "key")
			s.Repository.Backend = work.Backend{S3: &work.S3{Bucket: "bbb", Endpoint: "127.0.0.1:1", Region: "r", DisableTLS: true}}
		}, work.CodeRepositoryUnavailable, 10, "refuses connections"},
		"a bucket that is missing": {func(p *pod, s *work.Spec) {
			p.write(p.auth, work.KeyAWSAccessKeyID, "id")
			p.write(p.auth, work.KeyAWSSecretAccessKey, "key")
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusNotFound)
				_, _ = w.Write([]byte(`<Error><Code>NoSuchBucket</Code><Message>no</Message><BucketName>bbb</BucketName></Error>`))
			}))
			p.t.Cleanup(srv.Close)
			s.Repository.Backend = work.Backend{S3: &work.S3{Bucket: "bbb", Endpoint: strings.TrimPrefix(srv.URL, "http://"), Region: "r", DisableTLS: true}}
		}, work.CodeNotFound, 20, "bucket bbb"},
		"no source": {func(p *pod, s *work.Spec) {
			if s.Operation.Snapshot != nil {
				s.Operation.Snapshot.Path += "/missing"
			} else {
				s.Operation.Restore.TargetPath += "/missing"
			}
		}, work.CodeNotFound, 20, ""},
	} {
		for _, op := range []string{"bootstrap", "snapshot", "resolve", "restore", "delete", "pin", "maintain", "verify"} {
			if name == "no source" && op != "snapshot" && op != "restore" {
				continue
			}
			t.Run(name+" in "+op, func(t *testing.T) {
				t.Parallel()
				p := newPod(t)
				p.write(p.source, "a", "content")
				require.NoError(t, os.CopyFS(p.repo, os.DirFS(base.repo)))
				s := p.spec(map[string]work.Operation{
					"bootstrap": {Bootstrap: &work.Bootstrap{}},
					"snapshot":  {Snapshot: &work.Snapshot{Identity: identity, Path: p.source}},
					"resolve":   {Resolve: &work.Resolve{Identity: identity}},
					"restore":   {Restore: &work.Restore{SnapshotID: id, TargetPath: p.target}},
					"delete":    {Delete: work.NewDelete([]work.SnapshotKey{{SnapshotID: id, Identity: identity}})},
					"pin":       {Pin: &work.Pin{Snapshot: work.SnapshotKey{SnapshotID: id, Identity: identity}, Pinned: true}},
					"verify":    {Verify: &work.Verify{Identities: []work.Identity{identity}, Quick: &work.QuickVerify{}}},
					"maintain":  {Maintain: &work.Maintain{Mode: work.MaintenanceFull}},
				}[op])
				tc.arrange(p, &s)
				if b := s.Repository.Backend.Filesystem; b != nil {
					b.Path = p.repo
				}
				r, exit := p.run(s)
				assert.Equal(t, tc.code, r.Code, r.Message)
				assert.Equal(t, tc.exit, exit)
				assert.Contains(t, r.Message, tc.says)
				assert.Equal(t, op, r.Operation)
				if op == "resolve" {
					require.NotNil(t, r.Resolve)
					assert.Equal(t, work.ResolutionUnknown, r.Resolve.Resolution, "an error proves no absence")
				}
			})
		}
	}
}

// K-8.
func TestCreateNeverReplacesAnything(t *testing.T) {
	t.Parallel()
	create := work.Operation{Bootstrap: &work.Bootstrap{Create: &work.Create{}}}
	for name, tc := range map[string]struct {
		arrange func(*pod, *work.Spec)
		code    work.Code
	}{
		"where the password is wrong":     {func(p *pod, _ *work.Spec) { p.create(); p.write(p.password, work.DefaultPasswordKey, "hunter22") }, work.CodeAuthFailure},
		"where something else is":         {func(p *pod, _ *work.Spec) { p.write(p.repo, "cat.jpg", "meow") }, work.CodeLocationOccupied},
		"where a repository was known":    {func(_ *pod, s *work.Spec) { s.Repository.ExpectedUniqueID = "00ff" }, work.CodeRepositoryVanished},
		"with a password that has a tail": {func(p *pod, _ *work.Spec) { p.write(p.password, work.DefaultPasswordKey, "newline\n") }, work.CodeMissingCredentials},
		"with an unknown hash":            {func(_ *pod, s *work.Spec) { s.Operation.Bootstrap = &work.Bootstrap{Create: &work.Create{Hash: "MD5"}} }, work.CodeInvalidSpec},
		"through a read-only connection":  {func(_ *pod, s *work.Spec) { s.Repository.ReadOnly = true }, work.CodeRepositoryNotInitialized},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPod(t)
			s := p.spec(create)
			tc.arrange(p, &s)
			before, err := os.ReadDir(p.repo)
			require.NoError(t, err)
			r, exit := p.run(s)
			assert.Equal(t, tc.code, r.Code, r.Message)
			assert.Equal(t, work.ExitPermanent, exit)
			after, err := os.ReadDir(p.repo)
			require.NoError(t, err)
			assert.Len(t, after, len(before), "nothing was written")
		})
	}
}

func TestResolveHasThreeOutcomes(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	p.write(p.source, "a", "content")
	p.create()
	var times []time.Time
	var ids []string
	for _, id := range []string{"1", "2", "3"} {
		s := p.snapshot()
		s.RequestID = id
		r := p.ok(s).Snapshot
		times, ids = append(times, r.StartTime), append(ids, r.SnapshotID)
		// The next one has to start in another second: that is what Kubernetes can tell apart.
		for next := r.StartTime.Add(time.Second); time.Now().Before(next); {
			<-time.After(time.Until(next))
		}
	}
	other := identity
	other.Path = "/pvc/other"
	for name, tc := range map[string]struct { //nolint:paralleltest // one pod for all
		in   work.Resolve
		want work.Resolution
		id   string
	}{
		"the newest":                       {work.Resolve{Identity: identity}, work.ResolutionFound, ids[2]},
		"the one before":                   {work.Resolve{Identity: identity, Offset: 1}, work.ResolutionFound, ids[1]},
		"as of a time":                     {work.Resolve{Identity: identity, AsOf: &times[1]}, work.ResolutionFound, ids[1]},
		"as of a time, and one before":     {work.Resolve{Identity: identity, AsOf: &times[1], Offset: 1}, work.ResolutionFound, ids[0]},
		"as of before the first":           {work.Resolve{Identity: identity, AsOf: ptr(times[0].Add(-time.Hour))}, work.ResolutionAbsent, ""},
		"more back than there are":         {work.Resolve{Identity: identity, Offset: 3}, work.ResolutionAbsent, ""},
		"an identity without snapshots":    {work.Resolve{Identity: other}, work.ResolutionAbsent, ""},
		"one by its id":                    {work.Resolve{SnapshotID: ids[0]}, work.ResolutionFound, ids[0]},
		"one by an id that does not exist": {work.Resolve{SnapshotID: strings.Repeat("0", 32)}, work.ResolutionAbsent, ""},
		"one by its id and its identity":   {work.Resolve{Identity: identity, SnapshotID: ids[1]}, work.ResolutionFound, ids[1]},
		"one by its id, of another path":   {work.Resolve{Identity: other, SnapshotID: ids[1]}, work.ResolutionUnknown, ""},
		"one by its id, of another host":   {work.Resolve{Identity: work.Identity{Username: "web", Hostname: "else"}, SnapshotID: ids[1]}, work.ResolutionUnknown, ""},
		"an identity of one path only":     {work.Resolve{Identity: work.Identity{Username: "web", Hostname: "apps"}}, work.ResolutionFound, ids[2]},
		"an identity without a host":       {work.Resolve{Identity: work.Identity{Username: "web", Path: "/pvc/data"}}, work.ResolutionUnknown, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r, _ := p.run(p.spec(work.Operation{Resolve: &tc.in}))
			require.NotNil(t, r.Resolve)
			assert.Equal(t, tc.want, r.Resolve.Resolution, r.Message)
			assert.Equal(t, tc.id, r.Resolve.SnapshotID)
			assert.Equal(t, tc.want != work.ResolutionUnknown, r.Code == work.CodeOK)
		})
	}
}

// B-5.
func TestRestoreFindsASnapshotWhoseIDChanged(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	p.write(p.source, "a", "content")
	p.create()
	s := p.ok(p.snapshot()).Snapshot
	gone := strings.Repeat("0", 32)
	restore := work.Restore{SnapshotID: gone, Identity: identity, StartTime: &s.StartTime, TargetPath: p.target}
	r := p.ok(p.spec(work.Operation{Restore: &restore}))
	assert.Equal(t, s.SnapshotID, r.Restore.SnapshotID)
	assert.FileExists(t, filepath.Join(p.target, "a"))

	restore.StartTime = ptr(s.StartTime.Add(time.Hour))
	f, exit := p.run(p.spec(work.Operation{Restore: &restore}))
	assert.Equal(t, work.CodeNotFound, f.Code)
	assert.Equal(t, work.ExitPermanent, exit)
}

func TestABadSpecIsAnOutcome(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"no spec": "", "no JSON": "hello", "another protocol": `{"apiVersion":"v0"}`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPod(t)
			code := cli.Main(t.Context(), cli.Process{
				Args: p.args(), Stdout: &p.out, Stderr: &p.out, Clock: time.Now,
				Getenv: func(k string) string {
					if k == work.EnvSpec {
						return text
					}
					return "1GiB"
				},
			})
			assert.Equal(t, work.ExitPermanent, code)
			assert.Equal(t, work.CodeInvalidSpec, p.result().Code)
		})
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	assert.Zero(t, cli.Main(t.Context(), cli.Process{Args: []string{"version"}, Stdout: &out, Stderr: &out}))
	assert.Contains(t, out.String(), work.APIVersion)
	assert.Equal(t, work.ExitPermanent, cli.Main(t.Context(), cli.Process{Args: []string{"dance"}, Stdout: &out, Stderr: &out}))
}

func TestAStoreThatHangsIsUnavailableAndNotSlow(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	p.write(p.auth, work.KeyAWSAccessKeyID, "id")
	p.write(p.auth, work.KeyAWSSecretAccessKey, "key")
	s := p.spec(work.Operation{Bootstrap: &work.Bootstrap{}})
	s.Repository.Backend = work.Backend{S3: &work.S3{Bucket: "bbb", Endpoint: l.Addr().String(), Region: "r", DisableTLS: true}}
	s.Deadline = work.Deadline{SoftSeconds: 1, HardSeconds: 2}
	r, exit := p.run(s)
	assert.Equal(t, work.CodeRepositoryUnavailable, r.Code, r.Message)
	assert.Equal(t, work.ExitRetryable, exit)
}
