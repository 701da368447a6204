// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package browse lets somebody look into snapshots without restoring them. Opening a repository costs a quarter of a
// second of key derivation and, from far away, all of its indexes; so one mover keeps a read-only connection open for a
// session, and every question is a small program run beside it in the same container, which asks over a unix socket.
package browse

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/mover/internal/backend"
	"github.com/kopiur/kopiur/mover/internal/classify"
	"github.com/kopiur/kopiur/mover/internal/engine"
	"github.com/kopiur/kopiur/mover/internal/op"
)

const (
	// socketMode is for the mover's own uid: its programs run as the same one.
	socketMode = 0o600
	// maxRequests bounds the answers that are given at the same time.
	maxRequests = 4
	// patience is how long one write to a client that does not read may take, and how long a client has for its question.
	patience = time.Minute
)

// session is one browse operation.
type session struct {
	env  op.Env
	repo *engine.Repository
	ttl  time.Duration
	// idle ends the session when it fires; it is stopped while a request is answered.
	idle *time.Timer
	end  context.CancelFunc

	mu     sync.Mutex
	active int

	requests, failed, bytes atomic.Int64
}

// Run is the operation. A session that ends by itself, by request or because the mover is told to end has done what it
// was asked for.
func Run(ctx context.Context, env op.Env, spec work.Spec) (_ *work.BrowseResult, err error) {
	s := spec.Operation.Browse
	if s.SessionSeconds < 0 {
		return nil, fmt.Errorf("%w: the session's time is negative", backend.ErrInvalidSpec)
	}
	ttl := time.Duration(min(s.SessionSeconds, work.MaxSeconds)) * time.Second
	if ttl == 0 {
		ttl = time.Duration(work.DefaultSessionSeconds) * time.Second
	}
	r, err := env.Open(env.Soft, spec.Repository, op.ReadOnly)
	if err != nil {
		return nil, op.Cause(env.Soft, err)
	}
	defer func() { err = env.Close(ctx, r, err) }()
	run, end := context.WithCancel(env.Soft)
	defer end()
	b := &session{env: env, repo: r, ttl: ttl, end: end}
	b.idle = time.AfterFunc(ttl, end)
	defer b.idle.Stop()
	if err := b.serve(run); err != nil {
		return nil, err
	}
	return &work.BrowseResult{Requests: b.requests.Load(), Failed: b.failed.Load(), Bytes: b.bytes.Load()}, nil
}

// serve answers until the context ends, and then waits for the answers that are being given: their context is the same.
func (s *session) serve(ctx context.Context) error {
	_ = os.Remove(s.env.BrowseSocket) // of a container that was restarted
	l, err := (&net.ListenConfig{}).Listen(ctx, "unix", s.env.BrowseSocket)
	if err != nil {
		return fmt.Errorf("listen for questions: %w", err)
	}
	defer l.Close()
	if err := os.Chmod(s.env.BrowseSocket, socketMode); err != nil {
		return fmt.Errorf("listen for questions: %w", err)
	}
	defer context.AfterFunc(ctx, func() { _ = l.Close() })()
	s.env.Log("info", "The session is open")
	var wg sync.WaitGroup
	defer wg.Wait()
	slots := make(chan struct{}, maxRequests)
	for {
		conn, err := l.Accept()
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return nil
			}
			return fmt.Errorf("listen for questions: %w", err)
		}
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			s.answer(ctx, conn)
		})
	}
}

// busy stops the clock of the session while an answer is given.
func (s *session) busy() (done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.active++
	s.idle.Stop()
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.active--
		if s.active == 0 {
			s.idle.Reset(s.ttl)
		}
	}
}

// answer reads one question and answers it.
func (s *session) answer(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	defer s.busy()()
	_ = conn.SetReadDeadline(s.env.Clock().Add(patience))
	req, err := work.ReadRequest(conn)
	s.requests.Add(1)
	out := work.NewDataWriter(&patient{Conn: conn, clock: s.env.Clock})
	if err == nil {
		s.env.Log("info", fmt.Sprintf("Answering %s of %q in snapshot %s", req.Action, req.Path, req.SnapshotID))
		err = s.do(ctx, req, out)
	} else {
		err = fmt.Errorf("%w: %w", backend.ErrInvalidSpec, err)
	}
	s.bytes.Add(out.Bytes())
	code, message := classify.Outcome(op.Cause(ctx, err))
	if err != nil {
		s.failed.Add(1)
		s.env.Log("warn", "Answering failed: "+err.Error())
	}
	_ = out.Finish(work.Status{ExitCode: code.ExitCode(), Code: code, Message: s.env.Redact(message)})
	if req.Action == work.BrowseEnd {
		s.end()
	}
}

// patient gives every write some time, however long the answer is.
type patient struct {
	net.Conn

	clock engine.Clock
}

func (p *patient) Write(b []byte) (int, error) {
	_ = p.SetWriteDeadline(p.clock().Add(patience))
	return p.Conn.Write(b) //nolint:wrapcheck // a net.Error
}
