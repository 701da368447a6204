// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build servers

package backends_test

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"github.com/kopiur/kopiur/apis/work"
)

// patience is the deadline of operations that meet a silent server.
const patience = 5

// speakHTTP are the stores behind a name, before which everything can happen.
var speakHTTP = []string{"s3", "azure by key", "gcs", "webDav"}

// answer is a handler that says the same to everybody.
func answer(status int, header ...string) func(http.Handler) http.Handler {
	return func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			for i := 0; i+1 < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(status)
		})
	}
}

// first lets a handler stand before the first n requests only.
func first(n int64, fault func(http.Handler) http.Handler) func(http.Handler) http.Handler {
	var seen atomic.Int64
	return func(next http.Handler) http.Handler {
		if seen.Add(1) <= n {
			return fault(next)
		}
		return next
	}
}

// ofBlobs lets a handler stand before downloads only.
func ofBlobs(fault func(http.Handler) http.Handler) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "kopia.repository") && !strings.Contains(r.URL.RawQuery, "alt=json") {
				fault(next).ServeHTTP(w, r)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

// silent says nothing until the client has gone.
func silent(http.Handler) http.Handler {
	return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
}

func slow(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-time.After(300 * time.Millisecond):
			next.ServeHTTP(w, r)
		}
	})
}

// cut ends the connection in the middle of a body.
func cut(http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		_, _ = w.Write([]byte("half"))
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
}

// TestFaults: whatever a store does, the operation ends within its deadline, and says what it was.
func TestFaults(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		fault func(t *testing.T, s *store)
		// seconds is the deadline; kopia's own retries of one request take eleven.
		seconds int64
		want    work.Code
		says    string
	}{
		"403": {func(_ *testing.T, s *store) { s.front.set(answer(http.StatusForbidden)) }, 60, work.CodeAccessDenied, "credentials"},
		"503, for ever": {
			func(_ *testing.T, s *store) { s.front.set(answer(http.StatusServiceUnavailable)) }, patience, work.CodeRepositoryUnavailable, "",
		},
		"503 with Retry-After, for ever": {
			func(_ *testing.T, s *store) { s.front.set(answer(http.StatusServiceUnavailable, "Retry-After", "1")) }, patience, work.CodeRepositoryUnavailable, "",
		},
		"429 with Retry-After, for ever": {
			func(_ *testing.T, s *store) { s.front.set(answer(http.StatusTooManyRequests, "Retry-After", "1")) }, patience, work.CodeRepositoryUnavailable, "",
		},
		"429 for a moment, while a blob is read": {
			func(_ *testing.T, s *store) { s.front.set(ofBlobs(first(2, answer(http.StatusTooManyRequests)))) }, 60, work.CodeOK, "",
		},
		"503 for a moment, while a blob is read": {
			func(_ *testing.T, s *store) {
				s.front.set(ofBlobs(first(2, answer(http.StatusServiceUnavailable, "Retry-After", "1"))))
			}, 60, work.CodeOK, "",
		},
		"no first byte":            {func(_ *testing.T, s *store) { s.front.set(silent) }, patience, work.CodeRepositoryUnavailable, "in time"},
		"a slow first byte":        {func(_ *testing.T, s *store) { s.front.set(slow) }, 120, work.CodeOK, ""},
		"a connection that is cut": {func(_ *testing.T, s *store) { s.front.set(ofBlobs(first(2, cut))) }, 60, work.CodeOK, ""},
		"connections that are cut": {func(_ *testing.T, s *store) { s.front.set(ofBlobs(cut)) }, 90, work.CodeRepositoryUnavailable, ""},
		"the clock of another year": {func(_ *testing.T, s *store) {
			s.front.set(answer(http.StatusForbidden, "Date", "Mon, 02 Jan 2006 15:04:05 GMT"))
		}, 60, work.CodeClockSkew, "ahead of the store's"},
		"nobody is there":          {func(_ *testing.T, s *store) { internet.gone(s.host) }, patience, work.CodeRepositoryUnavailable, ""},
		"a stranger's certificate": {func(_ *testing.T, s *store) { internet.mistrusted(s.host) }, 60, work.CodeRepositoryUnavailable, "authority"},
	} {
		for _, kind := range speakHTTP {
			t.Run(name+"/"+kind, func(t *testing.T) {
				t.Parallel()
				if kind == "gcs" && (name == "nobody is there" || name == "a stranger's certificate") {
					kind = "webDav" // Google has one name, and others ask for it at the same time
				}
				s, p := stores[kind](t), newPod(t)
				p.mount("", s)
				b := s.at("repository")
				p.ok(b, work.Operation{Bootstrap: &work.Bootstrap{Create: &work.Create{}}})
				tc.fault(t, s)
				r := p.run(b, work.Operation{Resolve: &work.Resolve{Identity: identity}}, func(s *work.Spec) { s.Deadline.HardSeconds = tc.seconds })
				require.Equal(t, tc.want, r.Code, r.Message)
				assert.Contains(t, r.Message, tc.says)
				assert.NotContains(t, r.Message, "0xc0", "a text that changes by itself")
			})
		}
	}
}

// A place that is not there is reported, and never made.
func TestMissingPlaces(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*work.Backend){
		"s3":              func(b *work.Backend) { b.S3.Bucket = "nowhere" },
		"s3 by versitygw": func(b *work.Backend) { b.S3.Bucket = "nowhere" },
		"azure by key":    func(b *work.Backend) { b.Azure.Container = "nowhere" },
		"gcs":             func(b *work.Backend) { b.GCS.Bucket = "nowhere" },
		"sftp":            func(b *work.Backend) { b.SFTP.Path += "/nowhere" },
		"webDav":          func(b *work.Backend) { b.WebDAV.URL += "/nowhere" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, p := stores[name](t), newPod(t)
			p.mount("", s)
			b := s.at("repository")
			change(&b)
			create := work.Operation{Bootstrap: &work.Bootstrap{Create: &work.Create{}}}
			r := p.run(b, create)
			assert.Equal(t, work.CodeNotFound, r.Code, r.Message)
			r = p.run(b, create)
			assert.Equal(t, work.CodeNotFound, r.Code, "nothing was made: %s", r.Message)
			r = p.run(b, create, func(s *work.Spec) { s.Repository.ExpectedUniqueID = "00ff" })
			assert.Equal(t, work.CodeRepositoryVanished, r.Code, r.Message)
		})
	}
}

// H-5, C-12: an SSH server has faults of its own.
func TestFaultsOfSSH(t *testing.T) {
	t.Parallel()
	lines := func(s *store, keep func(string) bool) {
		var kept []string
		for line := range strings.Lines(s.auth[work.KeySFTPKnownHosts]) {
			if keep(line) {
				kept = append(kept, line)
			}
		}
		s.auth[work.KeySFTPKnownHosts] = strings.Join(kept, "")
	}
	for name, tc := range map[string]struct {
		fault func(t *testing.T, s *store, b *work.Backend)
		want  work.Code
		says  []string
	}{
		"nobody listens": {func(t *testing.T, _ *store, b *work.Backend) {
			_, err := fmt.Sscan(portOf(freeAddress(t)), &b.SFTP.Port)
			require.NoError(t, err)
		}, work.CodeRepositoryUnavailable, []string{"refuses connections"}},
		"a silent server": {func(t *testing.T, _ *store, b *work.Backend) {
			l, err := listen()
			require.NoError(t, err)
			t.Cleanup(func() { _ = l.Close() })
			b.SFTP.Port = int32(l.Addr().(*net.TCPAddr).Port)
		}, work.CodeRepositoryUnavailable, []string{"in time"}},
		"another private key": {func(t *testing.T, s *store, _ *work.Backend) {
			s.auth[work.KeySFTPKeyData] = sshd(t).auth[work.KeySFTPKeyData]
		}, work.CodeAccessDenied, []string{"refuses the credentials"}},
		"another user": {func(_ *testing.T, _ *store, b *work.Backend) { b.SFTP.Username = "nobody-by-that-name" }, work.CodeAccessDenied, []string{"refuses the credentials"}},
		"a host that is unknown": {func(_ *testing.T, s *store, _ *work.Backend) {
			s.auth[work.KeySFTPKnownHosts] = strings.ReplaceAll(s.auth[work.KeySFTPKnownHosts], "127.0.0.1", "127.0.0.2")
		}, work.CodeMissingCredentials, []string{work.KeySFTPKnownHosts, "no line for 127.0.0.1:", "ssh-keyscan"}},
		"the line of one kind, and a server that likes the other": {func(_ *testing.T, s *store, _ *work.Backend) {
			lines(s, func(line string) bool { return strings.Contains(line, ssh.KeyAlgoED25519) })
		}, work.CodeMissingCredentials, []string{work.KeySFTPKnownHosts, "of another kind than ecdsa-sha2-nistp256", "ssh-keyscan"}},
		"another server under the same name": {func(t *testing.T, s *store, b *work.Backend) {
			other := sshd(t)
			port := other.at("repository").SFTP.Port
			s.auth[work.KeySFTPKnownHosts] = strings.ReplaceAll(s.auth[work.KeySFTPKnownHosts], fmt.Sprint(b.SFTP.Port), fmt.Sprint(port))
			b.SFTP.Port = port
		}, work.CodeMissingCredentials, []string{work.KeySFTPKnownHosts, "not the key it is known by"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, p := sshd(t), newPod(t)
			b := s.at("repository")
			tc.fault(t, s, &b)
			p.mount("", s)
			r := p.run(b, work.Operation{Bootstrap: &work.Bootstrap{}}, func(s *work.Spec) { s.Deadline.HardSeconds = patience })
			require.Equal(t, tc.want, r.Code, r.Message)
			for _, w := range tc.says {
				assert.Contains(t, r.Message, w)
			}
			assert.NotContains(t, r.Message, "0xc0", "a text that changes by itself")
		})
	}
}
