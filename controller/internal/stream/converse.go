// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/kopiur/kopiur/apis/work"
)

// Exit is how a command ended.
type Exit struct {
	Code int
	// Taken is how much of its input a consumer acknowledged.
	Taken int64
	// Stderr is the end of what it said.
	Stderr string
}

// Command runs the application's command. An error means that it could not be run, or that nobody knows how it ended.
type Command interface {
	// Output runs it and writes its standard output to out.
	Output(ctx context.Context, out io.Writer) (Exit, error)
	// Input runs it with size bytes of in as its standard input.
	Input(ctx context.Context, in io.Reader, size int64) (Exit, error)
}

const (
	// redial is how often the mover's socket is tried: the two containers start in any order.
	redial = 200 * time.Millisecond
	// farewell is how long the mover may take for its last word. Behind a dump stands the commit of all of it.
	farewell = 30 * time.Minute
)

// Dial waits for the mover's socket.
func Dial(ctx context.Context, socket string) (net.Conn, error) {
	tick := time.NewTicker(redial)
	defer tick.Stop()
	for {
		conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
		if err == nil {
			return conn, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for the mover: %w", err)
		case <-tick.C:
		}
	}
}

// Converse does what the mover asks for and returns its last word. The command is bounded by timeout, all of it by ctx. An
// error means that the conversation broke; how the command ended is the mover's business.
func Converse(ctx context.Context, conn net.Conn, cmd Command, timeout time.Duration) (work.Status, error) {
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	hello, over, err := work.ReadHello(conn)
	switch {
	case err != nil:
		return work.Status{}, fmt.Errorf("listen to the mover: %w", err)
	case over != nil:
		return *over, nil // it has failed, or an attempt that was lost has stored everything
	}
	switch hello.Operation {
	case "streamSnapshot":
		return produce(ctx, conn, cmd, timeout)
	case "streamRestore":
		return consume(ctx, conn, cmd, timeout, hello.SizeBytes)
	default:
		return work.Status{}, fmt.Errorf("the mover asks for %q, which is no stream", hello.Operation)
	}
}

type word struct {
	status work.Status
	err    error
}

// produce carries the command's output to the mover. A mover that has enough of it says so in between, and the command is
// ended.
func produce(ctx context.Context, conn net.Conn, cmd Command, timeout time.Duration) (work.Status, error) {
	run, cancel := context.WithTimeoutCause(ctx, timeout, timeoutError(timeout))
	defer cancel()
	last := make(chan word, 1)
	go func() { // ends with the connection
		st, err := work.ReadStatus(conn)
		last <- word{st, err}
		cancel()
	}()
	out := work.NewDataWriter(conn)
	exit, err := cmd.Output(run, out)
	if err := out.Finish(statusOf(run, exit, err)); err != nil {
		// The mover may have said why it listens no more.
		return await(ctx, last, fmt.Errorf("tell the mover how the command ended: %w", err))
	}
	return await(ctx, last, nil)
}

// consume carries the file to the command. What of it the command does not want is read all the same: the mover's last
// word comes behind it.
func consume(ctx context.Context, conn net.Conn, cmd Command, timeout time.Duration, size int64) (work.Status, error) {
	run, cancel := context.WithTimeoutCause(ctx, timeout, timeoutError(timeout))
	defer cancel()
	in := work.NewDataReader(conn)
	exit, err := cmd.Input(run, in, size)
	if err := work.WriteStatus(conn, statusOf(run, exit, err)); err != nil {
		return work.Status{}, fmt.Errorf("tell the mover how the command ended: %w", err)
	}
	last := make(chan word, 1)
	go func() { // ends with the connection
		st, err := lastWord(conn, in)
		last <- word{st, err}
	}()
	return await(ctx, last, nil)
}

// lastWord passes over the data that is left.
func lastWord(conn net.Conn, in *work.DataReader) (work.Status, error) {
	_, err := io.Copy(io.Discard, in)
	var status *work.StatusError
	switch {
	case errors.As(err, &status):
		return status.Status, nil // it failed in the midst of the file, and that was its last word
	case err != nil:
		return work.Status{}, err //nolint:wrapcheck // the caller says what it waits for
	default:
		return work.ReadStatus(conn) //nolint:wrapcheck // the caller says what it waits for
	}
}

// await waits for the mover's last word. Where there is none, why says what had gone wrong before.
func await(ctx context.Context, last <-chan word, why error) (work.Status, error) {
	timer := time.NewTimer(farewell)
	defer timer.Stop()
	select {
	case w := <-last:
		if w.err == nil {
			return w.status, nil
		}
		return work.Status{}, errors.Join(why, fmt.Errorf("wait for the mover's last word: %w", w.err))
	case <-timer.C:
		return work.Status{}, errors.Join(why, errors.New("the mover did not say how it ended"))
	case <-ctx.Done():
		return work.Status{}, errors.Join(why, context.Cause(ctx))
	}
}

func timeoutError(d time.Duration) error {
	return fmt.Errorf("the command did not end within %s (workloadExec.timeout)", d)
}

// statusOf is what the mover is told. A command whose time is over has not ended well, whatever its exit code: it was
// ended.
func statusOf(ctx context.Context, exit Exit, err error) work.Status {
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if err != nil {
		return work.Status{ExitCode: work.ExitNotRun, Bytes: exit.Taken, Code: work.CodeSourceError, Message: err.Error()}
	}
	return work.Status{ExitCode: exit.Code, Bytes: exit.Taken, Message: exit.Stderr}
}
