// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func listen(t *testing.T) *net.TCPListener {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	return listener.(*net.TCPListener)
}

// exec and port-forward close one half and go on reading the other.
func TestTheRelayPassesHalfCloseOn(t *testing.T) {
	server, relay := listen(t), listen(t)
	go func() {
		conn, err := server.Accept()
		if err != nil {
			return
		}
		// The answer comes after the end of the question.
		question, _ := io.ReadAll(conn)
		_, _ = conn.Write(append([]byte("answer to "), question...))
		_ = conn.Close()
	}()
	go func() {
		conn, err := relay.Accept()
		if err == nil {
			_ = pass(conn, server.Addr().String())
		}
	}()

	conn, err := net.DialTCP("tcp", nil, relay.Addr().(*net.TCPAddr))
	require.NoError(t, err)
	require.NoError(t, conn.SetDeadline(time.Now().Add(10*time.Second)))
	_, err = conn.Write([]byte("question"))
	require.NoError(t, err)
	require.NoError(t, conn.CloseWrite())
	answer, err := io.ReadAll(conn)
	require.NoError(t, err)
	assert.Equal(t, "answer to question", string(answer))
}

func TestTheRelayHangsUpWhenNobodyListens(t *testing.T) {
	relay := listen(t)
	closed := listen(t)
	require.NoError(t, closed.Close())
	result := make(chan error, 1)
	go func() {
		conn, err := relay.Accept()
		if err == nil {
			err = pass(conn, closed.Addr().String())
		}
		result <- err
	}()
	conn, err := net.DialTCP("tcp", nil, relay.Addr().(*net.TCPAddr))
	require.NoError(t, err)
	require.NoError(t, conn.SetDeadline(time.Now().Add(10*time.Second)))
	_, err = io.ReadAll(conn)
	require.NoError(t, err, "the end of the connection, not a timeout")
	assert.Error(t, <-result)
}
