// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kopiur/kopiur/apis/work"
)

// The values of the Secrets below, with signs that URLs, XML and JSON write differently.
const (
	secretKey = `secret/key+with&signs="1"`
	sessionID = "session<token>value="
	accessKey = "AKIAEXAMPLEOFAKEY"
)

// furnish writes the same Secrets for every role.
func (p *pod) furnish() {
	for _, root := range []string{p.from, p.to} {
		p.write(filepath.Join(root, work.SecretsPassword), work.DefaultPasswordKey, password)
		p.keys(filepath.Join(root, work.SecretsAuth))
	}
	p.keys(p.auth)
}

func (p *pod) keys(dir string) {
	p.write(dir, work.KeyAWSAccessKeyID, accessKey)
	p.write(dir, work.KeyAWSSecretAccessKey, secretKey)
	p.write(dir, work.KeyAWSSessionToken, sessionID)
}

// step is one run of a mover, and how its helper or client behaves.
type step struct {
	operation work.Operation
	// at is where the Repository of the spec is; empty means the first one.
	at  string
	run func(p *pod, s work.Spec) work.Result
}

func plain(p *pod, s work.Spec) work.Result {
	r, _ := p.run(s)
	return r
}

// everything is every operation that a mover knows, in an order in which all of them end well. key is asked for once the
// first snapshot is there. elsewhere names places beside the first repository.
func everything(s3 work.S3, key func() work.SnapshotKey, target string) []step {
	at := func(prefix string) work.Backend {
		there := s3
		there.Prefix = prefix
		return work.Backend{S3: &there}
	}
	repository := func(prefix string) work.Repository {
		return work.Repository{Backend: at(prefix), PasswordKey: work.DefaultPasswordKey, Username: "kopiur", Hostname: "kopiur-" + prefix}
	}
	later := func(operation func() work.Operation) func(*pod, work.Spec) work.Result {
		return func(p *pod, s work.Spec) work.Result {
			s.Operation = operation()
			return plain(p, s)
		}
	}
	// Everything that a user may write is named after the password here.
	note := "noted: " + password
	return []step{
		{operation: work.Operation{Bootstrap: &work.Bootstrap{Create: &work.Create{}, Catalog: &work.Catalog{}}}, run: plain},
		{operation: work.Operation{Snapshot: &work.Snapshot{
			Identity: identity, Path: filepath.Join(filepath.Dir(target), "source"), Description: note, Tags: map[string]string{"note": note},
		}}, run: plain},
		{operation: work.Operation{Resolve: &work.Resolve{Identity: identity}}, run: plain},
		{operation: work.Operation{Restore: &work.Restore{}}, run: later(func() work.Operation {
			return work.Operation{Restore: &work.Restore{SnapshotID: key().SnapshotID, TargetPath: target}}
		})},
		{operation: work.Operation{Bootstrap: &work.Bootstrap{Catalog: &work.Catalog{}}}, run: plain},
		{operation: work.Operation{Verify: &work.Verify{Identities: []work.Identity{identity}, Quick: &work.QuickVerify{FilesPercent: 100}}}, run: plain},
		{operation: work.Operation{Verify: &work.Verify{Identities: []work.Identity{identity}, Deep: &work.DeepVerify{ScratchPath: target, Keep: true}}}, run: plain},
		{operation: work.Operation{Maintain: &work.Maintain{Mode: work.MaintenanceFull}}, run: plain},
		{operation: work.Operation{Browse: &work.Browse{SessionSeconds: 60}}, run: func(p *pod, s work.Spec) work.Result {
			done := p.aside(s)
			select {
			case o := <-done:
				return o.result
			case <-p.listening(p.browse):
			}
			out, errs, _ := p.ask("list", "--snapshot", key().SnapshotID)
			p.said.Write(append(out, errs...))
			out, errs, _ = p.ask("end")
			p.said.Write(append(out, errs...))
			return (<-done).result
		}},
		{operation: work.Operation{StreamSnapshot: &work.StreamSnapshot{Identity: dump, FileName: "dump.sql", Description: note}}, run: func(p *pod, s work.Spec) work.Result {
			return p.helping(s, func(conn net.Conn) {
				d := work.NewDataWriter(conn)
				_, err := d.Write([]byte("insert into t values (1)"))
				require.NoError(p.t, err)
				require.NoError(p.t, d.Finish(work.Status{Message: note}))
			})
		}},
		{operation: work.Operation{StreamRestore: &work.StreamRestore{SnapshotID: strings.Repeat("0", 32), FileName: "a"}}, run: func(p *pod, s work.Spec) work.Result {
			s.Operation.StreamRestore.SnapshotID = key().SnapshotID
			return p.helping(s, func(conn net.Conn) {
				n, err := io.Copy(&p.said, work.NewDataReader(conn))
				require.NoError(p.t, err)
				require.NoError(p.t, work.WriteStatus(conn, work.Status{Bytes: n, Message: note}))
			})
		}},
		{operation: work.Operation{Replicate: &work.Replicate{Destination: at("replica/")}}, run: plain},
		{operation: work.Operation{Bootstrap: &work.Bootstrap{Create: &work.Create{}}}, at: "other/", run: plain},
		{operation: work.Operation{Migrate: &work.Migrate{Destination: repository("other/"), ReportPresent: true}}, run: plain},
		{operation: work.Operation{Seed: &work.Seed{Migrate: &work.SeedMigrate{Source: repository("apps/")}}}, at: "seeded/", run: plain},
		{operation: work.Operation{Pin: &work.Pin{}}, run: later(func() work.Operation {
			return work.Operation{Pin: &work.Pin{Snapshot: key(), Pinned: true}}
		})},
		{operation: work.Operation{Delete: &work.Delete{}}, run: later(func() work.Operation {
			return work.Operation{Delete: work.NewDelete([]work.SnapshotKey{key()})}
		})},
	}
}

// helping runs a mover with a helper, which does its part once the mover has opened the repository.
func (p *pod) helping(s work.Spec, part func(net.Conn)) work.Result {
	p.t.Helper()
	done := p.aside(s)
	conn := p.dial()
	_, early, err := work.ReadHello(conn)
	require.NoError(p.t, err)
	last := early
	if early == nil {
		part(conn)
		st, err := work.ReadStatus(conn)
		require.NoError(p.t, err)
		last = &st
	}
	p.said.WriteString(last.Message)
	require.NoError(p.t, conn.Close())
	return (<-done).result
}

// listening is closed when somebody listens at a socket.
func (p *pod) listening(socket string) <-chan struct{} {
	ch := make(chan struct{})
	go func() {
		defer close(ch)
		for p.t.Context().Err() == nil {
			if _, err := os.Stat(socket); err == nil {
				return
			}
			<-time.After(5 * time.Millisecond)
		}
	}()
	return ch
}

// covers fails where an operation of the protocol has no step.
func covers(t *testing.T, steps []step) {
	t.Helper()
	have := map[string]bool{"ui": true} // a program of its own
	for _, s := range steps {
		have[s.operation.Name()] = true
	}
	for f := range reflect.TypeFor[work.Operation]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		assert.True(t, have[name], "operation %s is not tried", name)
	}
}

// nowhere looks for the values of Secrets in everything that was written, in all the forms they take.
func (p *pod) nowhere(more ...[]byte) {
	p.t.Helper()
	written := map[string][]byte{"the output": p.out.Bytes(), "what others were told": p.said.Bytes()}
	for _, b := range more {
		written["the store"] = append(written["the store"], b...)
	}
	root := filepath.Dir(p.repo)
	mounted := []string{p.password, p.auth, p.ca, p.from, p.to}
	require.NoError(p.t, filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if slices.Contains(mounted, path) {
			return filepath.SkipDir
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path) //nolint:gosec // nobody else is in a test's own folder
		written[path] = append([]byte(path), b...)
		return err
	}))
	for _, secret := range []string{password, secretKey, sessionID, accessKey} {
		for _, form := range []string{
			secret, url.QueryEscape(secret), url.PathEscape(secret), strings.ReplaceAll(secret, `"`, `\"`),
			strings.NewReplacer("&", "&amp;", `"`, "&#34;", "<", "&lt;", ">", "&gt;").Replace(secret),
			strings.NewReplacer("&", `\u0026`, "<", `\u003c`, ">", `\u003e`, `"`, `\"`).Replace(secret),
		} {
			for where, b := range written {
				assert.False(p.t, bytes.Contains(b, []byte(form)), "%s holds %q", where, form)
			}
		}
	}
}

// No value of a Secret is written anywhere: not to the output, not to the result, not to a disk, not into the store.
// Users may write what they like into names and descriptions; here it is the password.
func TestNothingSecretIsWritten(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	var mu sync.Mutex
	var put bytes.Buffer
	s3 := *p.bucket(func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPut {
				b, err := io.ReadAll(r.Body)
				if err != nil {
					w.WriteHeader(http.StatusInternalServerError)
					return
				}
				mu.Lock()
				put.WriteString(r.URL.String())
				put.Write(b)
				mu.Unlock()
				r.Body = io.NopCloser(bytes.NewReader(b))
			}
			h.ServeHTTP(w, r)
		})
	})
	p.furnish()
	p.write(p.source, "a", "content")
	var key work.SnapshotKey
	steps := everything(s3, func() work.SnapshotKey { return key }, p.target)
	covers(t, steps)
	for i, s := range steps {
		spec := p.spec(s.operation)
		spec.RequestID = "request-" + s.operation.Name()
		there := s3
		if s.at != "" {
			there.Prefix = s.at
		}
		spec.Repository.Backend = work.Backend{S3: &there}
		r := s.run(p, spec)
		require.Equal(t, work.CodeOK, r.Code, "step %d, %s: %s\n%s", i, s.operation.Name(), r.Message, p.out.String())
		if r.Snapshot != nil && key.SnapshotID == "" {
			key = work.SnapshotKey{SnapshotID: r.Snapshot.SnapshotID, Identity: identity, StartTime: r.Snapshot.StartTime}
		}
		b, err := os.ReadFile(p.terminated)
		require.NoError(t, err)
		p.out.Write(b)
		left, err := filepath.Glob(filepath.Join(p.work, "*", "*"))
		require.NoError(t, err)
		assert.Empty(t, left, "the connection files are gone after %s", s.operation.Name())
	}
	assert.Contains(t, p.out.String(), "[redacted]")
	assert.Positive(t, put.Len())
	p.nowhere(put.Bytes())
}

// The same where nothing works, and the store's answers are full of secrets.
func TestNothingSecretIsWrittenWhereNothingWorks(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	p.furnish()
	p.write(p.source, "a", "content")
	echo := strings.Join([]string{password, secretKey, sessionID, accessKey}, " ")
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`<Error><Code>AccessDenied ` + strings.NewReplacer("&", "&amp;", "<", "&lt;").Replace(echo) +
			`</Code><Message>` + strings.NewReplacer("&", "&amp;", "<", "&lt;").Replace(echo) + `</Message></Error>`))
	}))
	t.Cleanup(srv.Close)
	s3 := work.S3{Bucket: "bbb", Prefix: secretKey, Endpoint: strings.TrimPrefix(srv.URL, "http://"), Region: "r", DisableTLS: true}
	key := work.SnapshotKey{SnapshotID: password, Identity: identity}
	for _, s := range everything(s3, func() work.SnapshotKey { return key }, p.target) {
		spec := p.spec(s.operation)
		spec.Repository.Backend = work.Backend{S3: &s3}
		r := s.run(p, spec)
		assert.Equal(t, work.CodeAccessDenied, r.Code, "%s: %s", s.operation.Name(), r.Message)
		b, err := os.ReadFile(p.terminated)
		require.NoError(t, err)
		p.out.Write(b)
	}
	p.nowhere()
}
