// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	stdlog "log"
	"net"
	"net/http"
	"time"

	"github.com/go-logr/logr"
)

// Server is one listener.
type Server struct {
	what string
	srv  *http.Server
	addr net.Addr
	done chan struct{}
	err  error
}

// GetCertificate answers with the certificate to serve with, or with an error while there is none.
type GetCertificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)

// Start listens, over TLS where there is a certificate. It fails at once where the address is taken.
func Start(ctx context.Context, what, addr string, h http.Handler, certificate GetCertificate) (*Server, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("serve %s: %w", what, err)
	}
	s := &Server{what: what, addr: l.Addr(), done: make(chan struct{}), srv: &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: 30 * time.Second,
		IdleTimeout: 2 * time.Minute,
		ErrorLog:    stdlog.New(connections{logr.FromContextOrDiscard(ctx)}, "", 0),
	}}
	serve := func() error { return s.srv.Serve(l) }
	if certificate != nil {
		s.srv.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: certificate}
		serve = func() error { return s.srv.ServeTLS(l, "", "") }
	}
	go func() {
		defer close(s.done)
		if err := serve(); !errors.Is(err, http.ErrServerClosed) {
			s.err = fmt.Errorf("serve %s: %w", what, err)
		}
	}()
	return s, nil
}

// Addr is where it listens.
func (s *Server) Addr() net.Addr { return s.addr }

// Done is closed when the server has ended, by Close or by itself; Close then tells the reason.
func (s *Server) Done() <-chan struct{} { return s.done }

// Close lets requests in flight end, waits for them until the context ends, and for the server's own end.
func (s *Server) Close(ctx context.Context) error {
	err := s.srv.Shutdown(ctx)
	if err != nil {
		_ = s.srv.Close()
		err = fmt.Errorf("end %s: %w", s.what, err)
	}
	<-s.done
	return errors.Join(s.err, err)
}

// connections turns what net/http says about single connections, such as a port scan's handshake, into debug lines.
type connections struct{ log logr.Logger }

func (c connections) Write(b []byte) (int, error) {
	c.log.V(1).Info("Serving a connection", "error", string(bytes.TrimSpace(b)))
	return len(b), nil
}
