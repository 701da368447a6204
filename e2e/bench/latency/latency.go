// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package latency is a network that is far away: a proxy for TCP that hands on what a client sends after a time, and
// what the server answers at once. A request and its answer so take the time longer, and throughput stays what it was.
// It runs as a process of its own, so that neither side of a comparison pays for it.
package latency

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Proxy hands on connections to one server.
type Proxy struct {
	// To is the server, host:port.
	To    string
	Delay time.Duration
	// Now and Sleep are the clock; tests have another one than time.Now and time.Sleep.
	Now   func() time.Time
	Sleep func(time.Duration)

	// Connections counts those that were accepted.
	Connections atomic.Int64
}

// What may be on its way at a time. Pieces are as large as an io.Copy's: 16 MiB per delay is far above what a disk gives.
const (
	piece    = 64 << 10
	onTheWay = 256
)

// Serve accepts connections until the context ends, and waits for those that are open.
func (p *Proxy) Serve(ctx context.Context, l net.Listener) error {
	defer context.AfterFunc(ctx, func() { _ = l.Close() })()
	var open sync.WaitGroup
	defer open.Wait()
	for {
		c, err := l.Accept()
		if ctx.Err() != nil {
			return nil // told to end
		}
		if err != nil {
			return fmt.Errorf("accept a connection: %w", err)
		}
		p.Connections.Add(1)
		open.Go(func() { p.serve(ctx, c) })
	}
}

func (p *Proxy) serve(ctx context.Context, client net.Conn) {
	defer client.Close()
	server, err := (&net.Dialer{}).DialContext(ctx, "tcp", p.To)
	if err != nil {
		return // the client sees a connection that ends
	}
	defer server.Close()
	defer context.AfterFunc(ctx, func() { _, _ = client.Close(), server.Close() })()
	var both sync.WaitGroup
	both.Go(func() {
		p.delayed(server, client)
		shut(server)
	})
	both.Go(func() {
		_, _ = io.Copy(client, server)
		shut(client)
	})
	both.Wait()
}

// shut tells the other end that no more comes; the other direction stays open.
func shut(c net.Conn) {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}

// delayed copies; each piece leaves a Delay after it came.
func (p *Proxy) delayed(to io.Writer, from io.Reader) {
	type parcel struct {
		bytes []byte
		due   time.Time
	}
	way := make(chan parcel, onTheWay)
	gone := make(chan struct{})
	go func() {
		defer close(way)
		for {
			b := make([]byte, piece)
			n, err := from.Read(b)
			if n > 0 {
				select {
				case way <- parcel{b[:n], p.Now().Add(p.Delay)}:
				case <-gone:
					return
				}
			}
			if err != nil {
				return
			}
		}
	}()
	defer close(gone)
	for x := range way {
		if d := x.due.Sub(p.Now()); d > 0 {
			p.Sleep(d)
		}
		if _, err := to.Write(x.bytes); err != nil {
			return
		}
	}
}
