// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/mover/internal/engine"
)

const (
	password   = "correct horse battery staple"
	uiPassword = "let me in, please"
)

// bench is a repository with one snapshot, and the files of a pod that serves it.
type bench struct {
	t                                      *testing.T
	refresh                                time.Duration
	repo, password, auth, ui, work, result string

	mu  sync.Mutex
	out bytes.Buffer
}

func (b *bench) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.out.Write(p)
}

func (b *bench) said() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.out.String()
}

func newBench(t *testing.T) *bench {
	t.Helper()
	// The kernel allows 107 bytes for the path of a socket.
	dir, err := os.MkdirTemp("", "k") //nolint:usetesting // see above
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	b := &bench{t: t, repo: t.TempDir(), password: t.TempDir(), auth: t.TempDir(), ui: t.TempDir(), work: dir, result: filepath.Join(t.TempDir(), "termination-log")}
	b.secret(b.password, "KOPIA_PASSWORD", password)
	b.secret(b.ui, "username", "kopia")
	b.secret(b.ui, "password", uiPassword)
	ctx := t.Context()
	require.NoError(t, engine.Create(ctx, b.connection("kopiur"), engine.CreateOptions{}))
	b.backup("/pvc/data")
	return b
}

// backup stores one page under a path.
func (b *bench) backup(path string) {
	b.t.Helper()
	ctx := b.t.Context()
	r, err := engine.Open(ctx, b.connection("kopiur"))
	require.NoError(b.t, err)
	require.NoError(b.t, r.Furnish(ctx))
	src := b.t.TempDir()
	require.NoError(b.t, os.WriteFile(filepath.Join(src, "page.html"), []byte("<script>alert(1)</script>"), 0o600))
	_, err = r.Upload(ctx, engine.Upload{
		Identity: engine.Identity{Username: "web", Hostname: "apps", Path: path}, Path: src, Parallel: 1, Progress: &engine.Counters{},
	})
	require.NoError(b.t, err)
	require.NoError(b.t, r.Close(ctx))
}

func (b *bench) secret(dir, key, value string) {
	require.NoError(b.t, os.WriteFile(filepath.Join(dir, key), []byte(value), 0o600))
}

func (b *bench) connection(user string) engine.Connection {
	return engine.Connection{
		Storage: engine.Storage{Filesystem: &engine.Filesystem{Path: b.repo}}, Password: password,
		Username: user, Hostname: "kopiur-apps-nas", WorkDir: b.t.TempDir(), Clock: time.Now,
	}
}

func (b *bench) spec(u work.UI) work.Spec {
	if u.Listen == "" {
		u.Listen = "127.0.0.1:0"
	}
	return work.Spec{RequestID: "r", Operation: work.Operation{UI: &u}, Repository: work.Repository{
		Name: "Repository apps/nas", Backend: work.Backend{Filesystem: &work.Filesystem{Path: b.repo}},
		PasswordKey: "KOPIA_PASSWORD", Username: "kopiur", Hostname: "kopiur-apps-nas", Throttle: &work.Throttle{DownloadBytesPerSecond: 10 << 20},
	}}
}

func (b *bench) process(s work.Spec) (process, chan os.Signal) {
	text, err := work.EncodeSpec(s)
	require.NoError(b.t, err)
	signals := make(chan os.Signal, 1)
	return process{
		Args: []string{
			"--password-dir", b.password, "--auth-dir", b.auth, "--ui-auth-dir", b.ui, "--cache-dir", "", "--work-dir", b.work,
			"--termination-log", b.result,
		},
		Getenv: func(string) string { return text }, Stdout: b, Stderr: b, Clock: time.Now, Signals: signals, refresh: b.refresh,
	}, signals
}

// serve runs the program and returns where it listens.
func (b *bench) serve(u work.UI) (address string, stop func() int) {
	b.t.Helper()
	p, signals := b.process(b.spec(u))
	ready, exit := make(chan string, 1), make(chan int, 1)
	p.ready = func(a string) { ready <- a }
	go func() { exit <- run(context.Background(), p) }()
	select {
	case a := <-ready:
		address = "http://" + a
	case code := <-exit:
		require.Fail(b.t, "it ended", "with %d\n%s", code, b.said())
	}
	var once sync.Once
	code := -1
	stop = func() int {
		once.Do(func() {
			signals <- syscall.SIGTERM
			code = <-exit
		})
		return code
	}
	b.t.Cleanup(func() { stop() })
	require.EventuallyWithT(b.t, func(c *assert.CollectT) {
		st, _ := b.get(address+"/healthz", "", "")
		assert.Equal(c, http.StatusOK, st)
	}, time.Minute, 20*time.Millisecond)
	return address, stop
}

func (b *bench) do(r *http.Request) (int, http.Header, string) {
	b.t.Helper()
	res, err := http.DefaultClient.Do(r)
	require.NoError(b.t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	require.NoError(b.t, err)
	return res.StatusCode, res.Header, string(body)
}

func (b *bench) request(method, address, user, pass, body string) *http.Request {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), method, address, strings.NewReader(body))
	require.NoError(b.t, err)
	if user != "" {
		r.SetBasicAuth(user, pass)
	}
	return r
}

func (b *bench) get(address, user, pass string) (int, string) {
	b.t.Helper()
	st, _, body := b.do(b.request(http.MethodGet, address, user, pass, ""))
	return st, body
}

// page opens the interface as a browser does, and returns what its scripts send with every change.
func (b *bench) page(address string) (token string, cookies []*http.Cookie) {
	b.t.Helper()
	res, err := http.DefaultClient.Do(b.request(http.MethodGet, address+"/", "kopia", uiPassword, ""))
	require.NoError(b.t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	require.NoError(b.t, err)
	m := regexp.MustCompile(`name="kopia-csrf-token" content="([^"]+)"`).FindSubmatch(body)
	require.NotNil(b.t, m, "%s", body)
	return string(m[1]), res.Cookies()
}

// ask sends what a script of the page sends: kopia wants its token for reading as well.
func (b *bench) ask(address, method, path, body string) (int, string) {
	b.t.Helper()
	token, cookies := b.page(address)
	r := b.request(method, address+path, "kopia", uiPassword, body)
	r.Header.Set("X-Kopia-Csrf-Token", token)
	for _, c := range cookies {
		r.AddCookie(c)
	}
	st, _, text := b.do(r)
	return st, text
}

var withPassword = work.UI{UsernameKey: "username", PasswordKey: "password"}

func (b *bench) tree() map[string]int64 {
	out := map[string]int64{}
	require.NoError(b.t, filepath.WalkDir(b.repo, func(p string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			st, serr := d.Info()
			require.NoError(b.t, serr)
			out[p] = st.Size()
		}
		return err
	}))
	return out
}

func TestServesARepository(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	before := b.tree()
	u := withPassword
	u.Title = "apps/nas"
	address, stop := b.serve(u)
	for name, who := range map[string][2]string{"nobody": {"", ""}, "a wrong password": {"kopia", "hunter22"}, "another user": {"root", uiPassword}} {
		for _, path := range []string{"/", "/api/v1/sources", "/api/v1/repo/status"} {
			st, body := b.get(address+path, who[0], who[1])
			assert.Equal(t, http.StatusUnauthorized, st, name)
			assert.NotContains(t, body, "apps")
		}
	}
	st, body := b.get(address+"/", "kopia", uiPassword)
	require.Equal(t, http.StatusOK, st)
	assert.Contains(t, body, "apps/nas")

	st, body = b.ask(address, http.MethodGet, "/api/v1/sources", "")
	require.Equal(t, http.StatusOK, st, body)
	var sources struct {
		LocalUsername string
		Sources       []struct {
			Source struct{ Host, UserName, Path string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(body), &sources))
	require.Len(t, sources.Sources, 1)
	assert.Equal(t, "/pvc/data", sources.Sources[0].Source.Path)
	assert.Equal(t, client, sources.LocalUsername, "not the one who owns the maintenance")

	st, body = b.ask(address, http.MethodGet, "/api/v1/snapshots?all=1&userName=web&host=apps&path="+url.QueryEscape("/pvc/data"), "")
	require.Equal(t, http.StatusOK, st, body)
	root := regexp.MustCompile(`"rootID":\s*"(\w+)"`).FindStringSubmatch(body)
	require.NotNil(t, root, body)
	_, list := b.get(address+"/api/v1/objects/"+root[1], "kopia", uiPassword)
	file := regexp.MustCompile(`"obj":\s*"(\w+)"`).FindStringSubmatch(list)
	require.NotNil(t, file, list)
	st, head, content := b.do(b.request(http.MethodGet, address+"/api/v1/objects/"+file[1], "kopia", uiPassword, ""))
	assert.Equal(t, http.StatusOK, st)
	assert.Equal(t, "<script>alert(1)</script>", content)
	assert.Contains(t, head.Get("Content-Security-Policy"), "sandbox", "a stored page must not act as the interface")
	assert.Equal(t, "nosniff", head.Get("X-Content-Type-Options"))

	assert.Equal(t, work.ExitOK, stop())
	assert.Equal(t, before, b.tree(), "looking changes nothing: no maintenance, no logs, no sessions")
	for _, secret := range []string{password, uiPassword} {
		assert.NotContains(t, b.said(), secret)
	}
	assert.NoFileExists(t, b.result, "there is nothing to report")
}

func TestReadWrite(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	address, _ := b.serve(withPassword)
	st, body := b.ask(address, http.MethodPut, "/api/v1/policy?userName=web&host=apps&path=/pvc/data", `{"compression":{"compressorName":"pgzip"}}`)
	assert.Equal(t, http.StatusOK, st, body)
	_, body = b.ask(address, http.MethodGet, "/api/v1/policy?userName=web&host=apps&path=/pvc/data", "")
	assert.Contains(t, body, "pgzip")

	r := b.request(http.MethodPut, address+"/api/v1/policy?userName=web&host=apps&path=/pvc/data", "kopia", uiPassword, `{}`)
	st, _, _ = b.do(r)
	assert.Equal(t, http.StatusUnauthorized, st, "another site's page has no token")
}

func TestReadOnlyIsReadOnly(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	before := b.tree()
	u := withPassword
	u.ReadOnly = true
	address, _ := b.serve(u)
	_, body := b.ask(address, http.MethodGet, "/api/v1/repo/status", "")
	assert.Contains(t, body, `"readonly": true`)
	for path, method := range map[string]string{
		"/api/v1/policy?userName=web&host=apps&path=/pvc/data": http.MethodPut,
		"/api/v1/policy?userName=web&host=apps&path=/other":    http.MethodDelete,
		"/api/v1/snapshots/delete":                             http.MethodPost,
		"/api/v1/snapshots/edit":                               http.MethodPost,
	} {
		st, _ := b.ask(address, method, path, `{}`)
		assert.Equal(t, http.StatusForbidden, st, path)
	}
	st, body := b.ask(address, http.MethodPut, "/api/v1/ui-preferences", `{}`)
	assert.Equal(t, http.StatusOK, st, body)
	assert.Equal(t, before, b.tree())
}

// By itself the page lists the backups of its own user, of whom there are none, and looks as if nothing were stored.
func TestListsEverybodysBackups(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	address, stop := b.serve(withPassword)
	viewAll := func(address string) bool {
		var p struct{ DefaultSnapshotViewAll bool }
		_, body := b.ask(address, http.MethodGet, "/api/v1/ui-preferences", "")
		require.NoError(t, json.Unmarshal([]byte(body), &p))
		return p.DefaultSnapshotViewAll
	}
	assert.True(t, viewAll(address))
	res, err := http.DefaultTransport.RoundTrip(b.request(http.MethodGet, address+"/snapshots", "kopia", uiPassword, ""))
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	assert.Equal(t, "/", res.Header.Get("Location"), "a bookmark begins at the page that waits for the preferences")

	st, body := b.ask(address, http.MethodPut, "/api/v1/ui-preferences", `{"defaultSnapshotViewAll":false}`)
	require.Equal(t, http.StatusOK, st, body)
	stop()
	address, _ = b.serve(withPassword)
	assert.False(t, viewAll(address), "what a person chose lasts")
}

// Kopia's server lists what was there when it began: who makes the backups are others.
func TestShowsWhatIsStoredLater(t *testing.T) {
	t.Parallel()
	u := withPassword
	u.ReadOnly = true
	listed := func(b *bench, address string) []string {
		_, body := b.ask(address, http.MethodGet, "/api/v1/sources", "")
		var sources struct {
			Sources []struct{ Source struct{ Path string } }
		}
		require.NoError(b.t, json.Unmarshal([]byte(body), &sources))
		var paths []string
		for _, s := range sources.Sources {
			paths = append(paths, s.Source.Path)
		}
		return paths
	}
	t.Run("by itself", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		b.refresh = 50 * time.Millisecond
		address, _ := b.serve(u)
		b.backup("/pvc/later")
		assert.EventuallyWithT(t, func(c *assert.CollectT) {
			assert.ElementsMatch(c, []string{"/pvc/data", "/pvc/later"}, listed(b, address))
		}, time.Minute, 50*time.Millisecond)
	})
	t.Run("when asked to, even read-only", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		b.refresh = 24 * time.Hour
		address, _ := b.serve(u)
		b.backup("/pvc/later")
		assert.Equal(t, []string{"/pvc/data"}, listed(b, address), "nothing looks by itself for a day")
		before := b.tree()
		st, body := b.ask(address, http.MethodPost, "/api/v1/repo/sync", "{}")
		require.Equal(t, http.StatusOK, st, body)
		assert.ElementsMatch(t, []string{"/pvc/data", "/pvc/later"}, listed(b, address))
		assert.Equal(t, before, b.tree())
	})
}

// Whoever looks at backups has no business in the pod: its folders hold the repository's own credentials.
func TestWhatIsNotPossibleHere(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	before := b.tree()
	address, _ := b.serve(withPassword)
	for _, tc := range []struct{ method, path string }{
		{http.MethodPost, "/api/v1/sources"},
		{http.MethodPost, "/api/v1/sources/upload"},
		{http.MethodPost, "/api/v1/estimate"},
		{http.MethodPost, "/api/v1/restore"},
		{http.MethodPost, "/api/v1/paths/resolve"},
		{http.MethodPost, "/api/v1/mounts"},
		{http.MethodGet, "/api/v1/mounts"},
		{http.MethodPost, "/api/v1/repo/connect"},
		{http.MethodPost, "/api/v1/repo/create"},
		{http.MethodPost, "/api/v1/repo/exists"},
		{http.MethodPost, "/api/v1/repo/disconnect"},
		{http.MethodPost, "/api/v1/repo/description"},
		{http.MethodPost, "/api/v1/notificationProfiles"},
		{http.MethodGet, "/api/v1/notificationProfiles"},
		{http.MethodPost, "/api/v1/testNotificationProfile"},
		{http.MethodPost, "/api/v1/control/shutdown"},
		{http.MethodGet, "/api/v1/control/status"},
		{http.MethodGet, "/metrics"},
		{http.MethodGet, "//metrics"},
		{http.MethodGet, "/x/../metrics"},
		{http.MethodPost, "/api/v1/policy/resolve/../../restore"},
		{http.MethodPost, "/api/v1/tasks/../restore"},
		{http.MethodPost, "/api/v1/tasks/../repo/disconnect/../cancel"},
		{http.MethodPost, "/"},
		{"PROPFIND", "/api/v1/sources"},
	} {
		r := b.request(tc.method, address, "kopia", uiPassword, `{}`)
		r.URL.Path = tc.path
		st, _, _ := b.do(r)
		assert.Equal(t, http.StatusForbidden, st, "%s %s", tc.method, tc.path)
	}
	st, _ := b.ask(address, http.MethodGet, "/api/v1/repo/status", "")
	assert.Equal(t, http.StatusOK, st, "it is still connected")
	assert.Equal(t, before, b.tree())
}

func TestWithoutAPasswordOnlyWhenAcknowledged(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	address, _ := b.serve(work.UI{AcknowledgeInsecure: true})
	st, _ := b.get(address+"/", "", "")
	assert.Equal(t, http.StatusOK, st)
	assert.Contains(t, b.said(), "everyone who reaches the port")
}

func TestAChangedPasswordCountsAtOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	address, _ := b.serve(withPassword)
	b.secret(b.ui, "password", "a new one")
	st, _ := b.get(address+"/", "kopia", uiPassword)
	assert.Equal(t, http.StatusUnauthorized, st)
	st, _ = b.get(address+"/", "kopia", "a new one")
	assert.Equal(t, http.StatusOK, st)
	require.NoError(t, os.Remove(filepath.Join(b.ui, "password")))
	st, _ = b.get(address+"/", "kopia", "a new one")
	assert.Equal(t, http.StatusUnauthorized, st, "without a Secret nobody comes in")
}

func TestWhatKeepsItFromServing(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		arrange func(b *bench, s *work.Spec)
		code    work.Code
		exit    int
		says    string
	}{
		"a wrong password": {func(b *bench, _ *work.Spec) { b.secret(b.password, "KOPIA_PASSWORD", "hunter22") }, work.CodeAuthFailure, 20, "password is wrong"},
		"no password":      {func(_ *bench, s *work.Spec) { s.Repository.PasswordKey = "elsewhere" }, work.CodeMissingCredentials, 20, "elsewhere"},
		"no user": {func(b *bench, _ *work.Spec) {
			require.NoError(b.t, os.Remove(filepath.Join(b.ui, "username")))
		}, work.CodeMissingCredentials, 20, "username"},
		"a password nobody can type":          {func(b *bench, _ *work.Spec) { b.secret(b.ui, "password", "secret\n") }, work.CodeMissingCredentials, 20, "a newline"},
		"no password and no acknowledgement":  {func(_ *bench, s *work.Spec) { s.Operation.UI.PasswordKey = "" }, work.CodeInvalidSpec, 20, "not acknowledged"},
		"another repository":                  {func(_ *bench, s *work.Spec) { s.Repository.ExpectedUniqueID = "00ff" }, work.CodeRepositoryVanished, 20, "00ff"},
		"no repository":                       {func(b *bench, _ *work.Spec) { b.repo = b.t.TempDir() }, work.CodeRepositoryNotInitialized, 20, ""},
		"another program's work":              {func(_ *bench, s *work.Spec) { s.Operation = work.Operation{Bootstrap: &work.Bootstrap{}} }, work.CodeInvalidSpec, 20, "bootstrap"},
		"an address that is somebody else's ": {func(_ *bench, s *work.Spec) { s.Operation.UI.Listen = "203.0.113.1:1" }, work.CodeInvalidSpec, 20, "203.0.113.1:1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			s := b.spec(withPassword)
			tc.arrange(b, &s)
			if s.Repository.Backend.Filesystem != nil {
				s.Repository.Backend.Filesystem.Path = b.repo
			}
			p, _ := b.process(s)
			p.ready = func(string) { require.Fail(t, "it serves") }
			assert.Equal(t, tc.exit, run(t.Context(), p))
			text, err := os.ReadFile(b.result)
			require.NoError(t, err)
			r, err := work.DecodeResult(string(text))
			require.NoError(t, err)
			assert.Equal(t, tc.code, r.Code, r.Message)
			assert.Contains(t, r.Message, tc.says)
			assert.NotContains(t, b.said()+string(text), "hunter22")
		})
	}
}

func TestKopiaEnds(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	address, stop := b.serve(withPassword)
	require.NoError(t, os.Remove(filepath.Join(b.work, "ui.sock")))
	st, _ := b.get(address+"/healthz", "", "")
	assert.Equal(t, http.StatusServiceUnavailable, st)
	st, _ = b.get(address+"/", "kopia", uiPassword)
	assert.Equal(t, http.StatusBadGateway, st)
	assert.Equal(t, work.ExitOK, stop())
}

// The golden spec is the controller's, too.
func TestGoldenSpecIsUnderstood(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../apis/work/testdata/spec-ui.golden.json")
	require.NoError(t, err)
	b := newBench(t)
	p, _ := b.process(b.spec(withPassword))
	p.Getenv = func(string) string { return string(text) }
	assert.Equal(t, work.ExitPermanent, run(t.Context(), p))
	out, err := os.ReadFile(b.result)
	require.NoError(t, err)
	r, err := work.DecodeResult(string(out))
	require.NoError(t, err)
	assert.Equal(t, work.CodeRepositoryVanished, r.Code, "there is no such folder here: %s", r.Message)
}
