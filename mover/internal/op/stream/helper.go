// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package stream stores what a command writes, and brings a stored file to a command that reads. The command is run by a
// helper in another container of the same pod, because the mover does not speak Kubernetes; the two talk over a unix
// socket. Nothing counts without a final status of its sender: a dump that was cut looks like a short one.
package stream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/mover/internal/classify"
	"github.com/kopiur/kopiur/mover/internal/op"
)

const (
	// socketMode lets the helper in, which may run as another uid of the pod's group.
	socketMode = 0o660
	// helperTimeout is how long the mover waits for the helper's first sign: its image may have to be pulled.
	helperTimeout = 10 * time.Minute
	// farewell is how long a mover that failed waits for a helper to tell it: without that the helper would wait on, and
	// the pod with it.
	farewell = 10 * time.Second
)

var errNoHelper = errors.New("the helper that runs the command did not come")

// helper is the other end of the conversation.
type helper struct {
	env  op.Env
	l    net.Listener
	conn net.Conn
	come chan net.Conn
}

// listen opens the socket before anything else, so that a helper never finds a mover that failed gone without a word.
func listen(ctx context.Context, env op.Env) (*helper, error) {
	_ = os.Remove(env.StreamSocket) // of a container that was restarted
	l, err := (&net.ListenConfig{}).Listen(ctx, "unix", env.StreamSocket)
	if err != nil {
		return nil, fmt.Errorf("listen for the helper: %w", err)
	}
	if err := os.Chmod(env.StreamSocket, socketMode); err != nil {
		_ = l.Close()
		return nil, fmt.Errorf("listen for the helper: %w", err)
	}
	h := &helper{env: env, l: l, come: make(chan net.Conn, 1)}
	go func() {
		defer close(h.come)
		c, err := l.Accept()
		_ = l.Close() // there is one helper
		if err != nil {
			return // the listener was closed
		}
		h.come <- c
	}()
	return h, nil
}

// await waits for the helper. The connection ends with the context.
func (h *helper) await(ctx context.Context, timeout time.Duration) error {
	if h.conn != nil {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, errNoHelper)
	defer cancel()
	select {
	case c, ok := <-h.come:
		if !ok {
			return errNoHelper
		}
		h.conn = c
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// end tells the helper the outcome, and waits for one that is still on its way.
func (h *helper) end(ctx context.Context, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	defer h.l.Close()
	if h.await(ctx, farewell) != nil {
		return
	}
	defer h.conn.Close()
	code, message := classify.Outcome(err)
	deadline, _ := ctx.Deadline()
	_ = h.conn.SetDeadline(deadline)
	werr := work.WriteStatus(h.conn, work.Status{ExitCode: code.ExitCode(), Code: code, Message: h.env.Redact(message)})
	if werr != nil {
		h.env.Log("warn", "The helper was gone before it could be told the outcome")
		return
	}
	// Until it hangs up: it may be in the midst of sending, and would take a closed connection for the outcome.
	_, _ = io.Copy(io.Discard, h.conn)
}

// failed turns what ended a conversation into an outcome. Nothing is kept of a stream that was cut.
func failed(ctx context.Context, err error, after string) error {
	var status *work.StatusError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		code, _ := classify.Outcome(op.Cause(ctx, err))
		return &classify.Coded{Code: code, Err: err, Message: "the time was over, or the mover was told to end; " + after}
	case errors.As(err, &status) && status.Status.Code != "":
		return &classify.Coded{Code: work.CodeSourceError, Err: err, Message: status.Status.Message + "; " + after}
	case errors.As(err, &status):
		return &classify.Coded{Code: work.CodeSourceError, Err: err, Message: fmt.Sprintf(
			"the command ended with exit code %d; %s", status.Status.ExitCode, after)}
	case errors.Is(err, errNoHelper):
		return &classify.Coded{Code: work.CodeSourceError, Err: err, Message: errNoHelper.Error() + "; " + after}
	case errors.Is(err, work.ErrNoStatus):
		return &classify.Coded{Code: work.CodeSourceError, Err: err, Message: "the connection to the command broke before its end; " + after}
	case errors.Is(err, work.ErrBadFrame):
		return &classify.Coded{Code: work.CodeSourceError, Err: err, Message: "what came from the helper is not understood; " + after}
	default:
		return err
	}
}
