// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package work_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kopiur/kopiur/apis/work"
)

// TestFramesGolden keeps the bytes on the socket: mover and helper are two programs of two images.
func TestFramesGolden(t *testing.T) {
	t.Parallel()
	conversations := map[string]func(io.Writer) error{
		"stream-snapshot-mover": func(w io.Writer) error {
			return errors.Join(
				work.WriteHello(w, work.Hello{Operation: "streamSnapshot", RequestID: "u-1"}),
				work.WriteStatus(w, work.Status{Code: work.CodeOK, Bytes: 5}),
			)
		},
		"stream-snapshot-helper": func(w io.Writer) error {
			d := work.NewDataWriter(w)
			_, err := d.Write([]byte("hello"))
			return errors.Join(err, d.Finish(work.Status{}))
		},
		"stream-restore-mover": func(w io.Writer) error {
			d := work.NewDataWriter(w)
			err := work.WriteHello(w, work.Hello{Operation: "streamRestore", RequestID: "u-1", SizeBytes: 5})
			_, werr := d.Write([]byte("hello"))
			return errors.Join(err, werr, d.Finish(work.Status{}))
		},
		"stream-restore-helper": func(w io.Writer) error {
			return work.WriteStatus(w, work.Status{ExitCode: 3, Bytes: 2, Message: "psql: syntax error"})
		},
		"browse-client": func(w io.Writer) error {
			return work.WriteRequest(w, work.BrowseRequest{Action: work.BrowseList, SnapshotID: "aabb", Path: "a/b", Limit: 10, After: "c"})
		},
	}
	for name, write := range conversations {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b bytes.Buffer
			require.NoError(t, write(&b))
			path := filepath.Join("testdata", "frames-"+name+".golden.txt")
			if *update {
				require.NoError(t, os.WriteFile(path, []byte(hex.Dump(b.Bytes())), 0o600))
			}
			want, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.Equal(t, string(want), hex.Dump(b.Bytes()), "the frames changed: run go test -update and review the diff")
		})
	}
}

func TestFramesCarryEveryByte(t *testing.T) {
	t.Parallel()
	payload := make([]byte, 8<<20+4711)
	src := rand.NewChaCha8([32]byte{1})
	_, _ = src.Read(payload)
	var b bytes.Buffer
	d := work.NewDataWriter(&b)
	_, err := d.Write(payload)
	require.NoError(t, err)
	require.NoError(t, d.Finish(work.Status{}))
	assert.Equal(t, int64(len(payload)), d.Bytes())

	r := work.NewDataReader(iotest.HalfReader(&b))
	got, err := io.ReadAll(r)
	require.NoError(t, err)
	assert.True(t, bytes.Equal(payload, got))
	assert.Equal(t, d.Bytes(), r.Bytes())
	require.NotNil(t, r.Status())
}

// A stream is whole only with its final status: every shorter prefix is an error, also at the border of two frames.
func TestAStreamThatWasCutIsNotWhole(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	d := work.NewDataWriter(&b)
	for _, part := range []string{"one", "two", "three"} {
		_, err := d.Write([]byte(part))
		require.NoError(t, err)
	}
	require.NoError(t, d.Finish(work.Status{}))
	whole := b.Bytes()
	for n := range whole {
		r := work.NewDataReader(bytes.NewReader(whole[:n]))
		_, err := io.ReadAll(r)
		require.ErrorIs(t, err, work.ErrNoStatus, "after %d of %d bytes", n, len(whole))
		_, err = r.Read(make([]byte, 1))
		require.ErrorIs(t, err, work.ErrNoStatus, "an error stays")
	}
	got, err := io.ReadAll(work.NewDataReader(bytes.NewReader(whole)))
	require.NoError(t, err)
	assert.Equal(t, "onetwothree", string(got))
}

func TestWhatIsNoStreamIsRefused(t *testing.T) {
	t.Parallel()
	frames := func(f ...func(io.Writer) error) []byte {
		var b bytes.Buffer
		for _, w := range f {
			require.NoError(t, w(&b))
		}
		return b.Bytes()
	}
	status := func(s work.Status) func(io.Writer) error {
		return func(w io.Writer) error { return work.WriteStatus(w, s) }
	}
	data := func(s string) func(io.Writer) error {
		return func(w io.Writer) error { return work.WriteFrame(w, work.FrameData, []byte(s)) }
	}
	for name, tc := range map[string]struct {
		in   []byte
		want string
	}{
		"a command that failed":          {frames(data("abc"), status(work.Status{ExitCode: 1, Bytes: 3, Message: "boom"})), "exit code 1: boom"},
		"a count that is too high":       {frames(data("abc"), status(work.Status{Bytes: 4})), "counts 4 bytes, 3 arrived"},
		"a count that is too low":        {frames(data("abc"), status(work.Status{Bytes: 2})), "counts 2 bytes, 3 arrived"},
		"a frame nobody knows":           {[]byte{'X', 0, 0, 0, 0}, "unknown frame"},
		"a frame larger than any":        {[]byte{'D', 0xff, 0xff, 0xff, 0xff}, "at most"},
		"a greeting among the data":      {frames(func(w io.Writer) error { return work.WriteHello(w, work.Hello{}) }), "among the data"},
		"a status that is no JSON":       {frames(func(w io.Writer) error { return work.WriteFrame(w, work.FrameStatus, []byte("x")) }), "status"},
		"text of a program that panics":  {[]byte("panic: runtime error"), "unknown frame"},
		"a connection that broke midway": {frames(data("abc"))[:6], "without a final status"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := io.ReadAll(work.NewDataReader(bytes.NewReader(tc.in)))
			require.ErrorContains(t, err, tc.want)
		})
	}
	var failed *work.StatusError
	_, err := io.ReadAll(work.NewDataReader(bytes.NewReader(frames(status(work.Status{ExitCode: 7})))))
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, 7, failed.Status.ExitCode)
}

func TestHelloOrStatus(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	require.NoError(t, work.WriteHello(&b, work.Hello{Operation: "streamRestore", SizeBytes: 9}))
	h, s, err := work.ReadHello(&b)
	require.NoError(t, err)
	assert.Nil(t, s)
	assert.Equal(t, work.Hello{APIVersion: work.APIVersion, Operation: "streamRestore", SizeBytes: 9}, h)

	require.NoError(t, work.WriteStatus(&b, work.Status{ExitCode: 20, Code: work.CodeAuthFailure, Message: strings.Repeat("é", work.MaxStatusMessageBytes)}))
	_, s, err = work.ReadHello(&b)
	require.NoError(t, err)
	require.NotNil(t, s)
	assert.Equal(t, work.CodeAuthFailure, s.Code)
	assert.LessOrEqual(t, len(s.Message), work.MaxStatusMessageBytes)

	require.NoError(t, work.WriteFrame(&b, work.FrameHello, []byte(`{"apiVersion":"v0"}`)))
	_, _, err = work.ReadHello(&b)
	require.ErrorIs(t, err, work.ErrBadFrame, "another protocol")
	_, _, err = work.ReadHello(&b)
	require.ErrorIs(t, err, work.ErrNoStatus)

	require.NoError(t, work.WriteFrame(&b, work.FrameRequest, []byte(`{"action":"list","surprise":1}`)))
	_, err = work.ReadRequest(&b)
	require.ErrorIs(t, err, work.ErrBadFrame, "a session must not ignore what a newer client asks for")
	require.Error(t, work.WriteFrame(&b, work.FrameData, make([]byte, work.MaxFrameBytes+1)))
}

func FuzzFrames(f *testing.F) {
	f.Add([]byte("D\x00\x00\x00\x01xS\x00\x00\x00\x1a{\"exitCode\":0,\"bytes\":1}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := work.NewDataReader(bytes.NewReader(b))
		got, err := io.ReadAll(r)
		if err == nil && (r.Status() == nil || r.Status().Bytes != int64(len(got))) {
			t.Fatal("taken for whole without a status that says so")
		}
	})
}
