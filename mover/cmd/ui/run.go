// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/mover/internal/backend"
	"github.com/kopiur/kopiur/mover/internal/classify"
	"github.com/kopiur/kopiur/mover/internal/engine"
	"github.com/kopiur/kopiur/mover/internal/op"
	"github.com/kopiur/kopiur/mover/internal/term"
)

const (
	umask = 0o007
	// openTimeout bounds the first open, which says what is wrong before anything is served.
	openTimeout = 10 * time.Minute
	// farewell is what requests get to end once the program is told to.
	farewell = 10 * time.Second
	// client is who the interface is to kopia. It is not who owns the maintenance: kopia's server would run it, outside
	// of the lease that keeps two of them apart (K-6).
	client = "kopiur-ui"
	// refreshEvery is how old the list of backups may be. Kopia's own four hours are for a server that makes the backups
	// itself: here the movers do, and a page without this morning's backup reads as if there were none. It costs one
	// listing of the index.
	refreshEvery = time.Minute
)

// process is what main gives: the outside world.
type process struct {
	Args           []string
	Version        string
	Getenv         func(string) string
	Stdout, Stderr io.Writer
	Clock          engine.Clock
	Signals        <-chan os.Signal
	// ready is told the address that is served, in tests; refresh is refreshEvery elsewhere.
	ready   func(address string)
	refresh time.Duration
}

// program is one run.
type program struct {
	process

	dirs                               backend.Dirs
	authDir, cacheDir, workDir, result string

	redact term.Redactor
	mu     sync.Mutex
}

// run serves until it is told to end, and returns the exit code. What keeps it from serving is a result in the
// termination message, as a mover's.
func run(ctx context.Context, p process) int {
	u := &program{process: p}
	if u.refresh == 0 {
		u.refresh = refreshEvery
	}
	f := flag.NewFlagSet("ui", flag.ContinueOnError)
	f.SetOutput(p.Stderr)
	f.StringVar(&u.dirs.Password, "password-dir", work.PasswordDir, "folder of the repository password's Secret")
	f.StringVar(&u.dirs.Auth, "auth-dir", work.AuthDir, "folder of the credential Secret")
	f.StringVar(&u.dirs.CA, "ca-dir", work.CADir, "folder of the CA bundle")
	f.StringVar(&u.authDir, "ui-auth-dir", work.UIAuthDir, "folder of the Secret with user name and password of the interface")
	f.StringVar(&u.cacheDir, "cache-dir", work.CacheDir, "folder of kopia's cache; without it nothing is cached")
	f.StringVar(&u.workDir, "work-dir", work.WorkDir, "folder in memory for the connection file")
	f.StringVar(&u.result, "termination-log", work.TerminationPath, "file for the result")
	if err := f.Parse(p.Args); err != nil {
		return work.ExitPermanent
	}
	syscall.Umask(umask)
	start := p.Clock()
	spec, err := work.DecodeSpec(p.Getenv(work.EnvSpec))
	switch {
	case err != nil:
		err = fmt.Errorf("%w: %w", backend.ErrInvalidSpec, err)
	case spec.Operation.UI == nil:
		err = fmt.Errorf("%w: this program does not know operation %q", backend.ErrInvalidSpec, spec.Operation.Name())
	default:
		err = u.serve(ctx, spec)
	}
	if err == nil {
		return work.ExitOK
	}
	u.log("error", err.Error())
	r := work.Result{Operation: spec.Operation.Name(), StartTime: op.Whole(start), EndTime: op.Whole(p.Clock())}
	r.Code, r.Message = classify.Outcome(err)
	if werr := term.WriteResult(u.result, u.redact.Result(r)); werr != nil {
		_, _ = fmt.Fprintln(p.Stderr, "ui:", u.redact.Text(werr.Error()))
	}
	return r.Code.ExitCode()
}

// log writes a line as a mover does. There is no limit to them: this program runs for months, and kopia only warns.
func (u *program) log(level, message string) {
	b, err := work.EncodeEvent(work.Event{
		Type: work.EventLog, Time: u.Clock().UTC().Truncate(time.Millisecond), Level: level, Message: work.Clip(u.redact.Text(message), 2<<10),
	})
	if err != nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	_, _ = u.Stdout.Write(b)
}

func (u *program) serve(ctx context.Context, spec work.Spec) error {
	ctx = engine.WithLog(ctx, func(level, module, message string) { u.log(level, module+": "+message) })
	s := spec.Operation.UI
	who, err := u.users(*s)
	if err != nil {
		return err
	}
	config, err := u.connect(ctx, spec)
	if err != nil {
		return err
	}
	if err := u.prefer(); err != nil {
		return err
	}
	k := u.start(ctx, config, s.Title)
	defer k.stop()
	listen := s.Listen
	if listen == "" {
		listen = work.DefaultUIListen
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", listen)
	if err != nil {
		return &classify.Coded{Code: work.CodeInvalidSpec, Err: err, Message: "cannot listen on " + listen}
	}
	front := &http.Server{
		Handler: newGate(who, s.ReadOnly, k.socket), ReadHeaderTimeout: 15 * time.Second, IdleTimeout: 2 * time.Minute,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	failed := make(chan error, 1)
	go func() { failed <- front.Serve(l) }()
	u.log("info", "Serving "+spec.Repository.Name+" on "+l.Addr().String())
	if u.ready != nil {
		u.ready(l.Addr().String())
	}
	select {
	case sig := <-u.Signals:
		u.log("info", fmt.Sprintf("Ending, the program received %s", sig))
		err = nil
	case err = <-failed:
	case err = <-k.ended:
		err = fmt.Errorf("%w: kopia's server ended by itself: %w", engine.ErrStorage, errors.Join(err, errEnded))
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	if serr := front.Shutdown(end); serr != nil {
		_ = front.Close() // somebody is still downloading
	}
	return err
}

var errEnded = errors.New("the server ended")

// connect opens the repository once, so that what is wrong is said in our words and with our exit codes, and leaves the
// connection file for kopia's server.
func (u *program) connect(ctx context.Context, spec work.Spec) (config string, err error) {
	cache := u.cacheDir
	if st, err := os.Stat(cache); err != nil || !st.IsDir() {
		cache = ""
	}
	env := op.Env{
		Dirs: u.dirs, CacheDir: cache, WorkDir: u.workDir, Clock: u.Clock, Secret: u.redact.Add, Redact: u.redact.Text,
		Log: u.log, Warn: func(s string) { u.log("warn", s) },
	}
	r := spec.Repository
	r.Username = client
	c, err := env.Connection(r, op.Mode(spec.Operation.UI.ReadOnly))
	if err != nil {
		return "", err //nolint:wrapcheck // a sentence for the user already
	}
	octx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	rep, err := engine.Open(octx, c)
	if err != nil {
		return "", op.Explain(octx, err, r, c) //nolint:wrapcheck // says what and where
	}
	if err := env.Close(octx, rep, nil); err != nil {
		return "", err //nolint:wrapcheck // says what and where
	}
	config, err = c.WriteConfig()
	if err != nil {
		return "", err //nolint:wrapcheck // says what and where
	}
	return config, nil
}

// prefer has the page list every backup at first: by itself kopia's lists those of its own user and host, and here
// nobody's are. What a person then prefers lasts as long as the container's folder.
func (u *program) prefer() error {
	f, err := os.OpenFile(u.path(preferencesFile), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err == nil {
		_, err = f.WriteString(`{"defaultSnapshotViewAll":true}`)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return fmt.Errorf("write the preferences of the web interface: %w", err)
	}
	return nil
}

const preferencesFile = "ui-preferences.json"

// users reads who may come in. Without an acknowledgement nobody may without a password.
func (u *program) users(s work.UI) (credentials, error) {
	if s.AcknowledgeInsecure {
		u.log("warn", "Serving everyone who reaches the port, as acknowledged")
		return nil, nil
	}
	read := func() (string, string, error) {
		name, err := u.key(s.UsernameKey, "username")
		if err != nil {
			return "", "", err
		}
		password, err := u.key(s.PasswordKey, "password")
		return name, password, err
	}
	// Now, so that a missing key is said at once; and with every request, because Secrets change.
	if _, _, err := read(); err != nil {
		return nil, err
	}
	return read, nil
}

const authObject = "Secret of the web interface"

func (u *program) key(key, what string) (string, error) {
	if key == "" {
		return "", fmt.Errorf("%w: no key for the %s, and serving without one is not acknowledged", backend.ErrInvalidSpec, what)
	}
	v, err := backend.ReadKey(u.authDir, authObject, key)
	if err != nil {
		return "", err //nolint:wrapcheck // a sentence for the user already
	}
	if space := backend.TrailingSpace(v); space != "" {
		return "", &backend.KeyError{Object: authObject, Key: key, Problem: "ends in " + space + ", which nobody can type"}
	}
	if what == "password" {
		u.redact.Add(v)
	}
	return v, nil
}

func (u *program) path(name string) string { return filepath.Join(u.workDir, name) }
