// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/podexec"
)

// local runs commands as processes of this machine, by the same command lines and with the same readers.
type local struct{ argv []string }

func (l local) Output(ctx context.Context, out io.Writer) (Exit, error) {
	said := &tail{}
	c := exec.CommandContext(ctx, l.argv[0], l.argv[1:]...) // the test's own
	c.Stdout, c.Stderr = out, said
	code, err := ended(c.Run())
	return Exit{Code: code, Stderr: said.String()}, err
}

func (l local) Input(ctx context.Context, in io.Reader, size int64) (Exit, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	said := &listener{word: "the-word"}
	argv := Consumer(l.argv, size, said.word)
	c := exec.CommandContext(ctx, argv[0], argv[1:]...) // the test's own
	c.Stderr = said
	c.WaitDelay = time.Second // a child may hold standard error
	stdin, err := c.StdinPipe()
	if err != nil {
		return Exit{}, err
	}
	if err := c.Start(); err != nil {
		return Exit{}, err
	}
	input := &held{Reader: in, until: ctx, broke: cancel}
	go func() { // as client-go feeds an exec: until the input ends, and nobody waits for it
		_, _ = io.Copy(stdin, input)
		_ = stdin.Close()
	}()
	code, err := ended(c.Wait())
	exit, err := said.exit(ctx, code, size, err)
	cancel(nil)
	input.release()
	return exit, err
}

func ended(err error) (int, error) {
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Exited() {
		return exit.ExitCode(), nil
	}
	return 0, err
}

func payload(n int) []byte {
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{7})
	_, _ = r.Read(b)
	return b
}

func sum(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

// pair is a connection between a mover that the test plays and the helper, whose outcome arrives in the channel.
func pair(t *testing.T, cmd Command, timeout time.Duration) (net.Conn, <-chan word) {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", socket)
	require.NoError(t, err)
	out := make(chan word, 1)
	go func() {
		conn, err := Dial(t.Context(), socket)
		if err != nil {
			out <- word{err: err}
			return
		}
		defer conn.Close()
		st, err := Converse(t.Context(), conn, cmd, timeout)
		out <- word{st, err}
	}()
	mover, err := l.Accept()
	require.NoError(t, err)
	t.Cleanup(func() { _ = mover.Close(); _ = l.Close() })
	return mover, out
}

func TestADumpReachesTheMover(t *testing.T) {
	t.Parallel()
	want := payload(9 << 20)
	file := filepath.Join(t.TempDir(), "dump")
	require.NoError(t, writeFile(file, want))
	mover, out := pair(t, local{[]string{"sh", "-c", "echo working >&2; cat " + file}}, time.Minute)
	require.NoError(t, work.WriteHello(mover, work.Hello{Operation: "streamSnapshot"}))
	in := work.NewDataReader(mover)
	got, err := io.ReadAll(in)
	require.NoError(t, err, "a status of 0 that counts every byte")
	assert.Equal(t, sum(want), sum(got))
	assert.Equal(t, "working", in.Status().Message)
	require.NoError(t, work.WriteStatus(mover, work.Status{Code: work.CodeOK}))
	last := <-out
	require.NoError(t, last.err)
	assert.Equal(t, work.CodeOK, last.status.Code)
}

// TestADumpWithoutAGoodEnd: whatever a command wrote, the mover hears that it did not end well.
func TestADumpWithoutAGoodEnd(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		cmd     Command
		timeout time.Duration
		code    int
		says    string
	}{
		"a failing producer":            {local{[]string{"sh", "-c", "echo half a dump; echo disk is full >&2; exit 3"}}, time.Minute, 3, "disk is full"},
		"a producer that is killed":     {local{[]string{"sh", "-c", "echo half a dump; kill -9 $$"}}, time.Minute, work.ExitNotRun, "signal: killed"},
		"a producer that hangs":         {local{[]string{"sh", "-c", "echo half a dump; exec sleep 600"}}, 300 * time.Millisecond, work.ExitNotRun, "did not end within 300ms (workloadExec.timeout)"},
		"a command that is not there":   {local{[]string{"/no/such/program"}}, time.Minute, work.ExitNotRun, "no such file"},
		"a connection that breaks":      {broken{podexec.ErrNoExit}, time.Minute, work.ExitNotRun, "without the exit status of the command"},
		"a pod that cannot be told out": {broken{errors.New("2 running pods match app=db, and it must be one")}, time.Minute, work.ExitNotRun, "it must be one"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mover, out := pair(t, tc.cmd, tc.timeout)
			require.NoError(t, work.WriteHello(mover, work.Hello{Operation: "streamSnapshot"}))
			_, err := io.ReadAll(work.NewDataReader(mover))
			var status *work.StatusError
			require.ErrorAs(t, err, &status)
			assert.Equal(t, tc.code, status.Status.ExitCode)
			assert.Contains(t, status.Status.Message, tc.says)
			assert.Equal(t, tc.code == work.ExitNotRun, status.Status.Code == work.CodeSourceError, "the helper's own words are marked")
			require.NoError(t, work.WriteStatus(mover, work.Status{ExitCode: 10, Code: work.CodeSourceError}))
			assert.NoError(t, (<-out).err, "the helper has done its part")
		})
	}
}

// broken writes something and loses its connection.
type broken struct{ err error }

func (b broken) Output(_ context.Context, out io.Writer) (Exit, error) {
	_, _ = out.Write([]byte("half a dump"))
	return Exit{}, b.err
}

func (b broken) Input(context.Context, io.Reader, int64) (Exit, error) { return Exit{}, b.err }

// A mover that has failed says so in between: the command is ended, and the helper with it.
func TestAMoverThatWantsNoMore(t *testing.T) {
	t.Parallel()
	mover, out := pair(t, local{[]string{"sh", "-c", "while :; do echo more; done"}}, time.Minute)
	require.NoError(t, work.WriteHello(mover, work.Hello{Operation: "streamSnapshot"}))
	require.NoError(t, work.WriteStatus(mover, work.Status{ExitCode: 10, Code: work.CodeRepositoryUnavailable, Message: "the store is gone"}))
	go func() { _, _ = io.Copy(io.Discard, mover) }()
	last := <-out
	require.NoError(t, last.err)
	assert.Equal(t, work.CodeRepositoryUnavailable, last.status.Code)
}

func TestAMoverThatHasNothingToRun(t *testing.T) {
	t.Parallel()
	mover, out := pair(t, broken{errors.New("it must not be run")}, time.Minute)
	require.NoError(t, work.WriteStatus(mover, work.Status{Code: work.CodeOK}))
	last := <-out
	require.NoError(t, last.err)
	assert.Equal(t, work.CodeOK, last.status.Code)
}

func TestAMoverThatDies(t *testing.T) {
	t.Parallel()
	mover, out := pair(t, local{[]string{"sh", "-c", "exec sleep 600"}}, time.Minute)
	require.NoError(t, work.WriteHello(mover, work.Hello{Operation: "streamSnapshot"}))
	require.NoError(t, mover.Close())
	assert.ErrorIs(t, (<-out).err, work.ErrNoStatus)
}

// deliver plays a mover that sends content and hears what became of it.
func deliver(t *testing.T, cmd Command, timeout time.Duration, content []byte, size int64) work.Status {
	t.Helper()
	mover, out := pair(t, cmd, timeout)
	require.NoError(t, work.WriteHello(mover, work.Hello{Operation: "streamRestore", SizeBytes: size}))
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		d := work.NewDataWriter(mover)
		if _, err := d.Write(content); err == nil {
			_ = d.Finish(work.Status{})
		}
	}()
	st, err := work.ReadStatus(mover)
	require.NoError(t, err)
	<-sent
	require.NoError(t, work.WriteStatus(mover, work.Status{Code: work.CodeOK}))
	assert.NoError(t, (<-out).err)
	return st
}

func TestAFileReachesTheConsumer(t *testing.T) {
	t.Parallel()
	for name, n := range map[string]int{"more than pipes hold": 9 << 20, "one byte": 1, "nothing": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, file := payload(n), filepath.Join(t.TempDir(), "got")
			st := deliver(t, local{[]string{"sh", "-c", "echo reading >&2; cat > " + file}}, time.Minute, want, int64(n))
			assert.Equal(t, work.Status{ExitCode: 0, Bytes: int64(n), Message: "reading"}, st, "and the word of acknowledgement is nobody's business")
			got, err := readFile(file)
			require.NoError(t, err)
			assert.Equal(t, sum(want), sum(got))
		})
	}
}

// TestAConsumerThatHasNotTakenAll: an end that looks good and is none.
func TestAConsumerThatHasNotTakenAll(t *testing.T) {
	t.Parallel()
	content := payload(4 << 20)
	size := int64(len(content))
	t.Run("it fails", func(t *testing.T) {
		t.Parallel()
		st := deliver(t, local{[]string{"sh", "-c", "cat >/dev/null; echo no such table >&2; exit 4"}}, time.Minute, content, size)
		assert.Equal(t, work.Status{ExitCode: 4, Bytes: size, Message: "no such table"}, st)
	})
	t.Run("it ends before the end", func(t *testing.T) {
		t.Parallel()
		st := deliver(t, local{[]string{"head", "-c", "1000"}}, time.Minute, content, size)
		assert.Zero(t, st.ExitCode)
		assert.Less(t, st.Bytes, size, "which the mover takes for a failure")
	})
	t.Run("the last byte is lost on the way", func(t *testing.T) {
		t.Parallel()
		st := deliver(t, local{[]string{"cat"}}, 500*time.Millisecond, content, size+1)
		assert.Equal(t, work.ExitNotRun, st.ExitCode, "the command waits for it and does not take the rest for the whole")
		assert.Contains(t, st.Message, "did not end within")
		assert.Zero(t, st.Bytes)
	})
	t.Run("the mover fails in the midst of the file", func(t *testing.T) {
		t.Parallel()
		mover, out := pair(t, local{[]string{"cat"}}, time.Minute)
		require.NoError(t, work.WriteHello(mover, work.Hello{Operation: "streamRestore", SizeBytes: size}))
		d := work.NewDataWriter(mover)
		_, err := d.Write(content[:1000])
		require.NoError(t, err)
		require.NoError(t, d.Finish(work.Status{ExitCode: 10, Code: work.CodeRepositoryUnavailable}))
		st, err := work.ReadStatus(mover)
		require.NoError(t, err)
		assert.Equal(t, work.ExitNotRun, st.ExitCode)
		assert.Zero(t, st.Bytes, "head has passed on all it got, which does not count")
		last := <-out
		require.NoError(t, last.err)
		assert.Equal(t, work.CodeRepositoryUnavailable, last.status.Code)
	})
}

func TestTheWordIsFoundInPieces(t *testing.T) {
	t.Parallel()
	const said = "before the-word\nafter"
	for i := range said {
		l := &listener{word: "the-word"}
		_, _ = l.Write([]byte(said[:i]))
		_, _ = l.Write([]byte(said[i:]))
		assert.True(t, l.heard, said[:i])
		assert.Equal(t, "before after", strings.Join(strings.Fields(l.String()), " "), said[:i])
	}
	l := &listener{word: "the-word"}
	_, _ = l.Write([]byte("the-wo"))
	assert.False(t, l.heard)
	assert.Equal(t, "the-wo", l.String(), "nothing is lost of what is none")
	_, _ = l.Write(bytes.Repeat([]byte("x"), 3*maxStderr))
	assert.LessOrEqual(t, len(l.String()), maxStderr)
}
