// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kopiur/kopiur/apis/work"
)

var dump = work.Identity{Username: "db", Hostname: "apps", Path: "/stream/dump.sql"}

func (p *pod) streamSnapshot(id string) work.Spec {
	s := p.spec(work.Operation{StreamSnapshot: &work.StreamSnapshot{
		Identity: dump, FileName: "dump.sql", Description: "nightly", Tags: map[string]string{work.TagConfig: "config:db"},
	}})
	s.RequestID = id
	return s
}

// dial is the helper's side: it comes when it likes, and waits for the mover's socket.
func (p *pod) dial() net.Conn {
	p.t.Helper()
	var conn net.Conn
	require.Eventually(p.t, func() bool {
		c, err := (&net.Dialer{}).DialContext(p.t.Context(), "unix", p.socket)
		conn = c
		return err == nil
	}, time.Minute, 5*time.Millisecond)
	p.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

type outcome struct {
	result work.Result
	exit   int
}

// aside runs the mover beside the helper.
func (p *pod) aside(s work.Spec) <-chan outcome {
	out := make(chan outcome, 1)
	go func() {
		r, exit := p.run(s)
		out <- outcome{r, exit}
	}()
	return out
}

// command plays a helper whose command writes data and ends with a status.
func (p *pod) command(s work.Spec, data []byte, st work.Status) (outcome, work.Status) {
	p.t.Helper()
	done := p.aside(s)
	conn := p.dial()
	hello, early, err := work.ReadHello(conn)
	require.NoError(p.t, err)
	require.Nil(p.t, early)
	require.Equal(p.t, s.RequestID, hello.RequestID)
	require.Equal(p.t, "streamSnapshot", hello.Operation)
	d := work.NewDataWriter(conn)
	_, err = d.Write(data)
	require.NoError(p.t, err)
	require.NoError(p.t, d.Finish(st))
	last, err := work.ReadStatus(conn)
	require.NoError(p.t, err)
	require.NoError(p.t, conn.Close())
	return <-done, last
}

// consume plays a helper whose command reads everything and acknowledges what answer says.
func (p *pod) consume(s work.Spec, answer func(read int64, sum []byte) work.Status) outcome {
	p.t.Helper()
	done := p.aside(s)
	conn := p.dial()
	hello, early, err := work.ReadHello(conn)
	require.NoError(p.t, err)
	require.Nil(p.t, early)
	sum := sha256.New()
	n, err := io.Copy(sum, work.NewDataReader(conn))
	require.NoError(p.t, err)
	assert.Equal(p.t, hello.SizeBytes, n)
	require.NoError(p.t, work.WriteStatus(conn, answer(n, sum.Sum(nil))))
	_, err = work.ReadStatus(conn)
	require.NoError(p.t, err, "the mover's last word comes in every case")
	require.NoError(p.t, conn.Close())
	return <-done
}

func (p *pod) streamRestore(id string) work.Spec {
	return p.spec(work.Operation{StreamRestore: &work.StreamRestore{SnapshotID: id, FileName: "dump.sql"}})
}

// The whole way of a dump: more than 8 MiB that do not compress, stored and brought back, byte for byte.
func TestStreamThereAndBack(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	p.create()
	data := make([]byte, 8<<20+4711)
	_, _ = rand.NewChaCha8([32]byte{3}).Read(data)
	out, last := p.command(p.streamSnapshot("r1"), data, work.Status{Message: "pg_dump: done"})
	require.Equal(t, work.CodeOK, out.result.Code, out.result.Message)
	assert.Equal(t, work.CodeOK, last.Code)
	assert.Zero(t, last.ExitCode)
	r := out.result.Snapshot
	assert.Equal(t, int64(len(data)), r.SizeBytes)
	assert.Equal(t, int64(1), r.FileCount)
	assert.Greater(t, r.BytesUploaded, int64(8<<20))
	assert.Contains(t, p.out.String(), "pg_dump: done")

	found := p.ok(p.spec(work.Operation{Resolve: &work.Resolve{Identity: dump}})).Resolve
	assert.Equal(t, r.SnapshotID, found.SnapshotID)

	want := sha256.Sum256(data)
	var got []byte
	back := p.consume(p.streamRestore(r.SnapshotID), func(read int64, sum []byte) work.Status {
		got = sum
		return work.Status{Bytes: read}
	})
	assert.Equal(t, work.CodeOK, back.result.Code, back.result.Message)
	assert.Equal(t, want[:], got)
	assert.Equal(t, &work.StreamRestoreResult{
		SnapshotID: r.SnapshotID, SizeBytes: int64(len(data)), BytesDelivered: int64(len(data)), Delivered: true,
	}, back.result.StreamRestore)

	// It is a snapshot like any other.
	p.ok(p.spec(work.Operation{Restore: &work.Restore{SnapshotID: r.SnapshotID, TargetPath: p.target}}))
	file, err := os.ReadFile(filepath.Join(p.target, "dump.sql"))
	require.NoError(t, err)
	assert.True(t, bytes.Equal(data, file))
}

// D5: a lost result does not run the command a second time.
func TestAStreamThatIsStoredIsNotAskedForAgain(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	p.create()
	first, _ := p.command(p.streamSnapshot("r1"), []byte("hello"), work.Status{})
	done := p.aside(p.streamSnapshot("r1"))
	conn := p.dial()
	_, early, err := work.ReadHello(conn)
	require.NoError(t, err)
	require.NotNil(t, early, "there is nothing to run")
	assert.Equal(t, work.CodeOK, early.Code)
	require.NoError(t, conn.Close())
	second := <-done
	assert.True(t, second.result.Snapshot.Found)
	assert.Equal(t, first.result.Snapshot.SnapshotID, second.result.Snapshot.SnapshotID)
	assert.Equal(t, first.result.Snapshot.SizeBytes, second.result.Snapshot.SizeBytes)
}

// Only a final status of 0 commits. After every other end there is no snapshot, and the next attempt makes one.
func TestAStreamWithoutAGoodEndIsAbandoned(t *testing.T) {
	t.Parallel()
	half := bytes.Repeat([]byte("half a dump "), 100_000)
	for name, tc := range map[string]struct {
		helper func(t *testing.T, conn net.Conn)
		code   work.Code
		exit   int
		says   string
	}{
		"a command that fails": {func(t *testing.T, conn net.Conn) {
			t.Helper()
			d := work.NewDataWriter(conn)
			_, err := d.Write(half)
			require.NoError(t, err)
			require.NoError(t, d.Finish(work.Status{ExitCode: 3, Message: "disk on fire"}))
		}, work.CodeSourceError, 10, "exit code 3; nothing was stored"},
		"a command that fails at once": {func(t *testing.T, conn net.Conn) {
			t.Helper()
			require.NoError(t, work.WriteStatus(conn, work.Status{ExitCode: 127}))
		}, work.CodeSourceError, 10, "exit code 127"},
		"a command that could not be run": {func(t *testing.T, conn net.Conn) {
			t.Helper()
			require.NoError(t, work.WriteStatus(conn, work.Status{ExitCode: work.ExitNotRun, Code: work.CodeSourceError, Message: "no running pod matches app=db"}))
		}, work.CodeSourceError, 10, "no running pod matches app=db; nothing was stored"},
		"a helper that dies": {func(t *testing.T, conn net.Conn) {
			t.Helper()
			_, err := work.NewDataWriter(conn).Write(half)
			require.NoError(t, err)
			require.NoError(t, conn.Close())
		}, work.CodeSourceError, 10, "broke before its end; nothing was stored"},
		"a helper that dies within a frame": {func(t *testing.T, conn net.Conn) {
			t.Helper()
			_, err := conn.Write([]byte("D\x00\x00\x10\x00half"))
			require.NoError(t, err)
			require.NoError(t, conn.Close())
		}, work.CodeSourceError, 10, "broke before its end"},
		"a helper that sent more than arrived": {func(t *testing.T, conn net.Conn) {
			t.Helper()
			require.NoError(t, work.WriteFrame(conn, work.FrameData, half[:1000]))
			require.NoError(t, work.WriteStatus(conn, work.Status{Bytes: 1001}))
		}, work.CodeSourceError, 10, "not understood"},
		"something else on the socket": {func(t *testing.T, conn net.Conn) {
			t.Helper()
			_, err := conn.Write([]byte("GET / HTTP/1.1\r\n\r\n"))
			require.NoError(t, err)
		}, work.CodeSourceError, 10, "not understood"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPod(t)
			p.create()
			done := p.aside(p.streamSnapshot("r1"))
			conn := p.dial()
			_, early, err := work.ReadHello(conn)
			require.NoError(t, err)
			require.Nil(t, early)
			tc.helper(t, conn)
			if last, err := work.ReadStatus(conn); err == nil {
				assert.Equal(t, tc.code, last.Code, "the helper is told")
				assert.Equal(t, tc.exit, last.ExitCode)
			}
			_ = conn.Close()
			out := <-done
			assert.Equal(t, tc.code, out.result.Code, out.result.Message)
			assert.Equal(t, tc.exit, out.exit)
			assert.Contains(t, out.result.Message, tc.says)
			assert.NotContains(t, out.result.Message, "fire", "the command's own words are in the log")

			gone := p.ok(p.spec(work.Operation{Resolve: &work.Resolve{Identity: dump}})).Resolve
			assert.Equal(t, work.ResolutionAbsent, gone.Resolution)
			out, _ = p.command(p.streamSnapshot("r1"), []byte("whole"), work.Status{})
			assert.Equal(t, work.CodeOK, out.result.Code, out.result.Message)
			assert.False(t, out.result.Snapshot.Found)
		})
	}
}

// The command is not run where the mover cannot store what it writes, and the helper is told so instead of being left.
func TestTheHelperIsToldOfAMoverThatFails(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		arrange func(*pod, *work.Spec)
		code    work.Code
	}{
		"a wrong password":            {func(p *pod, _ *work.Spec) { p.write(p.password, work.DefaultPasswordKey, "hunter22") }, work.CodeAuthFailure},
		"a read-only repository":      {func(_ *pod, s *work.Spec) { s.Repository.ReadOnly = true }, work.CodeInvalidSpec},
		"an unknown compression":      {func(_ *pod, s *work.Spec) { s.Operation.StreamSnapshot.Compression = "zip" }, work.CodeInvalidSpec},
		"a restore of what is absent": {func(p *pod, s *work.Spec) { s.Operation = p.streamRestore("00ff").Operation }, work.CodeNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPod(t)
			p.create()
			s := p.streamSnapshot("r1")
			tc.arrange(p, &s)
			done := p.aside(s)
			conn := p.dial()
			_, early, err := work.ReadHello(conn)
			require.NoError(t, err)
			require.NotNil(t, early)
			assert.Equal(t, tc.code, early.Code)
			assert.Equal(t, work.ExitPermanent, early.ExitCode)
			assert.NotContains(t, early.Message, "hunter22")
			require.NoError(t, conn.Close())
			assert.Equal(t, tc.code, (<-done).result.Code)
		})
	}
	t.Run("a name that is no file's", func(t *testing.T) {
		t.Parallel()
		p := newPod(t)
		p.create()
		s := p.streamSnapshot("r1")
		s.Operation.StreamSnapshot.FileName = "../dump"
		done := p.aside(s)
		conn := p.dial()
		_, _, err := work.ReadHello(conn)
		require.NoError(t, err)
		require.NoError(t, conn.Close())
		assert.Equal(t, work.CodeInvalidSpec, (<-done).result.Code)
	})
}

func TestAStreamIsDeliveredOnlyWhenItIsAcknowledged(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	p.create()
	data := bytes.Repeat([]byte("all of it "), 300_000)
	out, _ := p.command(p.streamSnapshot("r1"), data, work.Status{})
	id := out.result.Snapshot.SnapshotID
	size := int64(len(data))
	for name, tc := range map[string]struct { //nolint:paralleltest // one socket for all
		helper func(t *testing.T, conn net.Conn)
		code   work.Code
		taken  int64
		says   string
	}{
		"a tail that was dropped on the way": {func(t *testing.T, conn net.Conn) {
			t.Helper()
			_, err := io.Copy(io.Discard, work.NewDataReader(conn))
			require.NoError(t, err)
			require.NoError(t, work.WriteStatus(conn, work.Status{Bytes: 131_072}))
		}, work.CodeUnknown, 131_072, "took 131072 of 3000000 bytes"},
		"a consumer that fails at the end": {func(t *testing.T, conn net.Conn) {
			t.Helper()
			_, err := io.Copy(io.Discard, work.NewDataReader(conn))
			require.NoError(t, err)
			require.NoError(t, work.WriteStatus(conn, work.Status{ExitCode: 3, Bytes: size, Message: "syntax error"}))
		}, work.CodeUnknown, size, "exit code 3"},
		"a consumer that could not be run": {func(t *testing.T, conn net.Conn) {
			t.Helper()
			_, err := io.Copy(io.Discard, work.NewDataReader(conn))
			require.NoError(t, err)
			require.NoError(t, work.WriteStatus(conn, work.Status{ExitCode: work.ExitNotRun, Code: work.CodeSourceError, Message: "no running pod matches app=db"}))
		}, work.CodeUnknown, 0, "no running pod matches app=db"},
		"a consumer that takes no more": {func(t *testing.T, conn net.Conn) {
			t.Helper()
			_, err := io.CopyN(io.Discard, work.NewDataReader(conn), 1000)
			require.NoError(t, err)
			require.NoError(t, work.WriteStatus(conn, work.Status{ExitCode: 1, Bytes: 1000}))
			require.NoError(t, conn.Close())
		}, work.CodeUnknown, 1000, "exit code 1"},
		"a helper that says nothing at the end": {func(t *testing.T, conn net.Conn) {
			t.Helper()
			_, err := io.Copy(io.Discard, work.NewDataReader(conn))
			require.NoError(t, err)
			require.NoError(t, conn.Close())
		}, work.CodeUnknown, 0, "not known to be whole"},
	} {
		t.Run(name, func(t *testing.T) {
			done := p.aside(p.streamRestore(id))
			conn := p.dial()
			hello, early, err := work.ReadHello(conn)
			require.NoError(t, err)
			require.Nil(t, early)
			require.Equal(t, size, hello.SizeBytes)
			tc.helper(t, conn)
			_ = conn.(*net.UnixConn).CloseWrite()
			_, _ = io.Copy(io.Discard, conn)
			_ = conn.Close()
			r := <-done
			assert.Equal(t, tc.code, r.result.Code, r.result.Message)
			assert.Equal(t, work.ExitPermanent, r.exit, "half of it may be applied: nobody tries again by himself")
			assert.Contains(t, r.result.Message, tc.says)
			assert.False(t, r.result.StreamRestore.Delivered)
			assert.Equal(t, tc.taken, r.result.StreamRestore.BytesDelivered)
		})
	}
}

// A mover that is told to end in mid-stream stores nothing, and says so.
func TestToldToEndInMidStream(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	p.create()
	cmd := p.start(p.streamSnapshot("r1"))
	conn := p.dial()
	_, _, err := work.ReadHello(conn)
	require.NoError(t, err)
	_, err = work.NewDataWriter(conn).Write([]byte("half"))
	require.NoError(t, err)
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	_, err = work.ReadStatus(conn)
	require.Error(t, err, "the connection ends")
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
	assert.Equal(t, work.ExitRetryable, exitCode(cmd.Wait()))
	r := p.result()
	assert.Equal(t, work.CodeCanceled, r.Code)
	assert.Contains(t, r.Message, "nothing was stored")
	assert.Equal(t, work.ResolutionAbsent, p.ok(p.spec(work.Operation{Resolve: &work.Resolve{Identity: dump}})).Resolve.Resolution)
}

func TestASocketIsForTheGroup(t *testing.T) {
	t.Parallel()
	p := newPod(t)
	p.create()
	require.NoError(t, os.WriteFile(p.socket, nil, 0o600), "left by a container that was restarted")
	done := p.aside(p.streamSnapshot("r1"))
	var st os.FileInfo
	require.Eventually(t, func() bool {
		var err error
		st, err = os.Stat(p.socket)
		return err == nil && st.Mode()&os.ModeSocket != 0
	}, time.Minute, time.Millisecond)
	require.Eventually(t, func() bool {
		st, err := os.Stat(p.socket)
		return errors.Is(err, os.ErrNotExist) || st.Mode().Perm() == 0o660
	}, time.Minute, time.Millisecond)
	require.NoError(t, p.dial().Close())
	assert.Equal(t, work.CodeSourceError, (<-done).result.Code)
}
