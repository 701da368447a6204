// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/mover/internal/cli"
)

// envMover makes the test binary be the mover itself: signals and kills need a process of their own.
const envMover = "KOPIUR_TEST_AS_MOVER"

func TestMain(m *testing.M) {
	if os.Getenv(envMover) == "" {
		os.Exit(m.Run())
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	os.Exit(cli.Main(context.Background(), cli.Process{
		Args: os.Args[1:], Getenv: os.Getenv, Stdout: os.Stdout, Stderr: os.Stderr, Clock: time.Now, Signals: signals, Exit: os.Exit,
	}))
}

const password = "correct horse battery staple"

// pod is the file system of one mover pod, and the repository beside it.
type pod struct {
	t                                           *testing.T
	repo, source, target                        string
	password, auth, ca, cache, work, terminated string
	// from and to hold the Secrets of an operation with two repositories.
	from, to string
	// socket is of the helper that runs a command, browse of a session. The kernel allows 107 bytes for their paths.
	socket, browse string

	out bytes.Buffer
	// said is what helpers and clients were told.
	said bytes.Buffer
}

func newPod(t *testing.T) *pod {
	t.Helper()
	root := t.TempDir()
	dir := func(name string) string {
		p := filepath.Join(root, name)
		require.NoError(t, os.Mkdir(p, 0o750))
		return p
	}
	p := &pod{
		t: t, repo: dir("repo"), source: dir("source"), target: dir("target"),
		password: dir("password"), auth: dir("auth"), ca: dir("ca"), cache: dir("cache"), work: dir("work"),
		from: dir("from"), to: dir("to"),
		terminated: filepath.Join(root, "termination-log"),
	}
	sockets, err := os.MkdirTemp("", "k") //nolint:usetesting // see above
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(sockets) })
	p.socket, p.browse = filepath.Join(sockets, "s"), filepath.Join(sockets, "b")
	p.write(p.password, work.DefaultPasswordKey, password)
	return p
}

func (p *pod) write(dir, name, content string) {
	p.t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(p.t, os.MkdirAll(filepath.Dir(path), 0o750))
	require.NoError(p.t, os.WriteFile(path, []byte(content), 0o600))
}

func (p *pod) args() []string {
	return []string{
		"run", "--password-dir", p.password, "--auth-dir", p.auth, "--ca-dir", p.ca,
		"--stream-socket", p.socket, "--browse-socket", p.browse, "--source-dir", p.from, "--destination-dir", p.to,
		"--cache-dir", p.cache, "--work-dir", p.work, "--termination-log", p.terminated,
	}
}

func (p *pod) repository() work.Repository {
	return work.Repository{
		Name: "Repository apps/nas", Backend: work.Backend{Filesystem: &work.Filesystem{Path: p.repo}},
		PasswordKey: work.DefaultPasswordKey, Username: "kopiur", Hostname: "kopiur-apps-nas",
	}
}

var identity = work.Identity{Username: "web", Hostname: "apps", Path: "/pvc/data"}

func (p *pod) spec(o work.Operation) work.Spec {
	return work.Spec{RequestID: "request-1", Repository: p.repository(), Operation: o}
}

func (p *pod) snapshot() work.Spec {
	return p.spec(work.Operation{Snapshot: &work.Snapshot{Identity: identity, Path: p.source}})
}

// run does the work in this process.
func (p *pod) run(s work.Spec) (work.Result, int) {
	p.t.Helper()
	text, err := work.EncodeSpec(s)
	require.NoError(p.t, err)
	code := cli.Main(p.t.Context(), cli.Process{
		Args: p.args(), Stdout: &p.out, Stderr: &p.out, Clock: time.Now,
		Getenv: func(k string) string {
			if k == work.EnvSpec {
				return text
			}
			return "1GiB" // GOMEMLIMIT is set: the test's own limit stays as it is
		},
		Exit: func(code int) { panic(fmt.Sprint("the watchdog ended the process with ", code)) },
	})
	return p.result(), code
}

func (p *pod) ok(s work.Spec) work.Result {
	p.t.Helper()
	r, code := p.run(s)
	require.Equal(p.t, work.CodeOK, r.Code, "%s\n%s", r.Message, p.out.String())
	require.Zero(p.t, code)
	return r
}

func (p *pod) create() work.Result {
	p.t.Helper()
	return p.ok(p.spec(work.Operation{Bootstrap: &work.Bootstrap{Create: &work.Create{}}}))
}

func (p *pod) result() work.Result {
	p.t.Helper()
	b, err := os.ReadFile(p.terminated)
	require.NoError(p.t, err)
	r, err := work.DecodeResult(string(b))
	require.NoError(p.t, err, "%s", b)
	return r
}

// start does the work in a process of its own, as somebody else if who is given.
func (p *pod) start(s work.Spec, who ...*syscall.Credential) *exec.Cmd {
	p.t.Helper()
	cmd := p.mover(s)
	if len(who) > 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: who[0]}
	}
	require.NoError(p.t, cmd.Start())
	return cmd
}

// mover is the work as a process that is not started yet.
func (p *pod) mover(s work.Spec) *exec.Cmd {
	p.t.Helper()
	text, err := work.EncodeSpec(s)
	require.NoError(p.t, err)
	// The test binary lies in a folder that only its owner may enter; a descriptor needs no path.
	exe, err := os.Open("/proc/self/exe")
	require.NoError(p.t, err)
	p.t.Cleanup(func() { _ = exe.Close() })
	cmd := exec.CommandContext(p.t.Context(), "/proc/self/fd/3", p.args()...)
	cmd.ExtraFiles = []*os.File{exe}
	cmd.Env = []string{envMover + "=1", work.EnvSpec + "=" + text}
	cmd.Stdout, cmd.Stderr = &p.out, &p.out
	return cmd
}

// blobs counts the blobs of the repository whose name begins with a prefix: p for data, q for metadata.
func (p *pod) blobs(prefix string) int {
	n := 0
	// What kopia is writing has another ending.
	_ = filepath.WalkDir(p.repo, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".f") && strings.HasPrefix(strings.ReplaceAll(strings.TrimPrefix(path, p.repo), "/", ""), prefix) {
			n++
		}
		return nil
	})
	return n
}

func randomFile(t *testing.T, path string, size int64) {
	t.Helper()
	rnd, err := os.Open("/dev/urandom")
	require.NoError(t, err)
	defer rnd.Close()
	f, err := os.Create(path)
	require.NoError(t, err)
	_, err = io.CopyN(f, rnd, size)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}
