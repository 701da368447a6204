// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"net"
	"time"
)

// stallTimeout is how long a connection to a store may stand still while it is in use. It is long: a server may take
// minutes to put a large blob into its place.
const stallTimeout = 5 * time.Minute

type dialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

// unstalled ends connections on which nothing comes or goes for too long. Kopia's clients of WebDAV and B2 know of no
// context: without this a server that falls silent would hold an operation until its hard deadline, two days by default.
func unstalled(dial dialFunc, timeout time.Duration) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, err //nolint:wrapcheck // the transport says of what
		}
		return &movingConn{Conn: c, timeout: timeout}, nil
	}
}

// movingConn moves its deadline with every byte. A byte in one direction lets the other one wait as well: while a body
// is sent, nobody answers.
type movingConn struct {
	net.Conn

	timeout time.Duration
}

func (c *movingConn) Read(p []byte) (int, error) {
	c.move()
	return c.Conn.Read(p) //nolint:wrapcheck // the transport looks at it
}

func (c *movingConn) Write(p []byte) (int, error) {
	c.move()
	n, err := c.Conn.Write(p)
	c.move()
	return n, err //nolint:wrapcheck // the transport looks at it
}

func (c *movingConn) move() {
	_ = c.SetDeadline(time.Now().Add(c.timeout)) //nolint:forbidigo // the kernel knows no other clock; a connection that is closed says so by itself
}
