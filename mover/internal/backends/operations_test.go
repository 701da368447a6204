// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build servers

package backends_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/mover/internal/cli"
)

const password = "correct horse battery staple"

var identity = work.Identity{Username: "web", Hostname: "apps", Path: "/pvc/data"}

// pod is the file system of mover pods.
type pod struct {
	t    *testing.T
	root string
	out  bytes.Buffer
	// asked counts what was asked for: the same request twice is one snapshot.
	asked int
}

func newPod(t *testing.T) *pod {
	t.Helper()
	p := &pod{t: t, root: t.TempDir()}
	for _, name := range []string{"source", "target", "work", "cache", "folder"} {
		require.NoError(t, os.Mkdir(p.path(name), 0o770))
	}
	p.write("password/"+work.DefaultPasswordKey, password)
	return p
}

func (p *pod) path(name string) string { return filepath.Join(p.root, name) }

func (p *pod) write(name, content string) {
	p.t.Helper()
	require.NoError(p.t, os.MkdirAll(filepath.Dir(p.path(name)), 0o750))
	require.NoError(p.t, os.WriteFile(p.path(name), []byte(content), 0o600))
}

// mount is what the kubelet does with the Secrets and the CA bundle of a store, below a folder.
func (p *pod) mount(at string, s *store) {
	p.t.Helper()
	for k, v := range s.auth {
		p.write(filepath.Join(at, work.SecretsAuth, k), v)
	}
	if s.ca != "" {
		p.write(filepath.Join(at, work.SecretsCA, work.DefaultCAKey), s.ca)
	}
	p.write(filepath.Join(at, work.SecretsPassword, work.DefaultPasswordKey), password)
}

func (p *pod) run(b work.Backend, o work.Operation, change ...func(*work.Spec)) work.Result {
	p.t.Helper()
	p.asked++
	s := work.Spec{RequestID: fmt.Sprint("request-", p.asked), Operation: o, Repository: work.Repository{
		Name: "Repository apps/nas", Backend: b, PasswordKey: work.DefaultPasswordKey, Username: "kopiur", Hostname: "kopiur-apps-nas",
	}, Deadline: work.Deadline{HardSeconds: 300}}
	for _, c := range change {
		c(&s)
	}
	text, err := work.EncodeSpec(s)
	require.NoError(p.t, err)
	terminated := p.path("termination-log")
	_ = os.Remove(terminated)
	cli.Main(p.t.Context(), cli.Process{
		Args: []string{
			"run", "--password-dir", p.path("password"), "--auth-dir", p.path("auth"), "--ca-dir", p.path("ca"),
			"--source-dir", p.path("from"), "--destination-dir", p.path("to"), "--stream-socket", p.path("s"), "--browse-socket", p.path("b"),
			"--cache-dir", p.path("cache"), "--work-dir", p.path("work"), "--termination-log", terminated,
		},
		Stdout: &p.out, Stderr: &p.out, Clock: time.Now, Exit: func(code int) { panic(fmt.Sprint("the watchdog ended the process with ", code)) },
		Getenv: func(k string) string {
			if k == work.EnvSpec {
				return text
			}
			return "1GiB" // GOMEMLIMIT is set: the test's own limit stays as it is
		},
	})
	said, err := os.ReadFile(terminated)
	require.NoError(p.t, err)
	r, err := work.DecodeResult(string(said))
	require.NoError(p.t, err, "%s", said)
	return r
}

func (p *pod) ok(b work.Backend, o work.Operation) work.Result {
	p.t.Helper()
	r := p.run(b, o)
	require.Equal(p.t, work.CodeOK, r.Code, "%s: %s", o.Name(), r.Message)
	return r
}

// restored brings the newest snapshot back into an empty folder and compares.
func (p *pod) restored(b work.Backend, want string) {
	p.t.Helper()
	r := p.ok(b, work.Operation{Resolve: &work.Resolve{Identity: identity}}).Resolve
	require.NoError(p.t, os.RemoveAll(p.path("target")))
	require.NoError(p.t, os.Mkdir(p.path("target"), 0o770))
	p.ok(b, work.Operation{Restore: &work.Restore{SnapshotID: r.SnapshotID, TargetPath: p.path("target")}})
	got, err := os.ReadFile(p.path("target/folder/file"))
	require.NoError(p.t, err)
	assert.Equal(p.t, want, string(got))
}

// C-13: each operation on each backend, by the one connect builder, with credentials and a CA where there is one.
func TestEveryOperationOnEveryBackend(t *testing.T) {
	t.Parallel()
	for name, serve := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, p := serve(t), newPod(t)
			p.mount("", s)
			p.mount("from", s)
			p.mount("to", s)
			b := s.at("first")
			p.write("source/folder/file", "one")

			made := p.ok(b, work.Operation{Bootstrap: &work.Bootstrap{Create: &work.Create{}}}).Bootstrap
			assert.True(t, made.Created)
			again := p.ok(b, work.Operation{Bootstrap: &work.Bootstrap{Create: &work.Create{}}}).Bootstrap
			assert.False(t, again.Created)
			assert.Equal(t, made.UniqueID, again.UniqueID)

			snapshot := work.Operation{Snapshot: &work.Snapshot{Identity: identity, Path: p.path("source")}}
			p.ok(b, snapshot)
			p.write("source/folder/file", "two")
			p.ok(b, snapshot)
			p.restored(b, "two")

			v := p.ok(b, work.Operation{Verify: &work.Verify{Identities: []work.Identity{identity}, Quick: &work.QuickVerify{FilesPercent: 100}}}).Verify
			assert.Equal(t, int64(2), v.Snapshots)
			newest := p.ok(b, work.Operation{Resolve: &work.Resolve{Identity: identity}}).Resolve
			key := work.SnapshotKey{SnapshotID: newest.SnapshotID, Identity: identity, StartTime: newest.StartTime}
			pinned := p.ok(b, work.Operation{Pin: &work.Pin{Snapshot: key, Pinned: true}}).Pin
			assert.True(t, pinned.Pinned)
			key.SnapshotID = pinned.SnapshotID
			p.ok(b, work.Operation{Pin: &work.Pin{Snapshot: key}})
			p.ok(b, work.Operation{Maintain: &work.Maintain{Mode: work.MaintenanceFull}})

			// To a folder and back into another place of the store.
			folder := work.Backend{Filesystem: &work.Filesystem{Path: p.path("folder")}}
			copied := p.ok(b, work.Operation{Replicate: &work.Replicate{Destination: folder, Times: true}}).Replicate
			assert.Equal(t, copied.BlobsTotal, copied.BlobsCopied)
			p.restored(folder, "two")
			second := s.at("second")
			p.ok(folder, work.Operation{Replicate: &work.Replicate{Destination: second, Times: true}})
			p.restored(second, "two")
			third := s.at("third")
			p.ok(b, work.Operation{Replicate: &work.Replicate{Destination: third, Parallel: 4}})
			p.restored(third, "two")

			key.SnapshotID = p.ok(b, work.Operation{Resolve: &work.Resolve{Identity: identity}}).Resolve.SnapshotID
			p.ok(b, work.Operation{Delete: work.NewDelete([]work.SnapshotKey{key})})
			p.restored(b, "one")

			// Nothing is ever created where another thing is.
			r := p.run(b, work.Operation{Bootstrap: &work.Bootstrap{Create: &work.Create{}}}, func(s *work.Spec) { s.Repository.ExpectedUniqueID = "00ff" })
			assert.Equal(t, work.CodeRepositoryVanished, r.Code, r.Message)
			for _, secret := range append([]string{password}, values(s.auth)...) {
				assert.NotContains(t, p.out.String(), secret, "nothing secret is said")
			}
		})
	}
}

func values(m map[string]string) []string {
	var out []string
	for k, v := range m {
		if k != work.KeyWebDAVUsername && k != work.KeySFTPKnownHosts && k != work.KeyAWSAccessKeyID && k != work.KeyAzureAccount && k != work.KeyRcloneConfig {
			out = append(out, v)
		}
	}
	return out
}
