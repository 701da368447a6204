// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package browse

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/mover/internal/engine"
)

const (
	// opening is how long a client waits for a session that is being opened.
	opening = 2 * time.Minute
	retry   = 100 * time.Millisecond
)

// Ask brings a question to the session at a socket and copies the answer to w: as the frames that it is made of, for a
// program that has to know whether all of it came, or plain, for people. It returns the status of the answer.
func Ask(ctx context.Context, socket string, req work.BrowseRequest, plain bool, w io.Writer, clock engine.Clock) (work.Status, error) {
	conn, err := dial(ctx, socket, clock)
	if err != nil {
		return work.Status{}, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if err := work.WriteRequest(conn, req); err != nil {
		return work.Status{}, fmt.Errorf("ask the session: %w", err)
	}
	from := io.Reader(conn)
	if !plain {
		from = io.TeeReader(conn, w)
		w = io.Discard
	}
	data := work.NewDataReader(from)
	for {
		// A page of entries is a frame of its own; for people it is a line of its own.
		n, err := io.CopyN(w, data, 1)
		if n == 0 {
			return end(data, err)
		}
		if err := rest(w, data, plain && req.Action == work.BrowseList); err != nil {
			return work.Status{}, err
		}
	}
}

func rest(w io.Writer, data *work.DataReader, line bool) error {
	if _, err := io.CopyN(w, data, int64(data.Buffered())); err != nil {
		return fmt.Errorf("copy the answer: %w", err)
	}
	if line {
		if _, err := io.WriteString(w, "\n"); err != nil {
			return fmt.Errorf("copy the answer: %w", err)
		}
	}
	return nil
}

func end(data *work.DataReader, err error) (work.Status, error) {
	var status *work.StatusError
	switch {
	case errors.As(err, &status):
		return status.Status, nil
	case errors.Is(err, io.EOF) && data.Status() != nil:
		return *data.Status(), nil
	default:
		return work.Status{}, fmt.Errorf("read the answer: %w", err)
	}
}

// dial waits for the socket: a pod is running before its session is open.
func dial(ctx context.Context, socket string, clock engine.Clock) (net.Conn, error) {
	until := clock().Add(opening)
	for {
		conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
		if err == nil {
			return conn, nil
		}
		if !clock().Before(until) {
			return nil, fmt.Errorf("there is no session here: %w", err)
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(retry):
		}
	}
}
