// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"
	"golang.org/x/net/webdav"
)

// What servers ask of their clients is in the environment: arguments are shown by every list of processes.
const (
	envUser          = "APP_USER"
	envPassword      = "APP_PASSWORD"
	envHostKey       = "APP_HOST_KEY"
	envAuthorizedKey = "APP_AUTHORIZED_KEY"
)

func (a app) davServe(ctx context.Context, args []string) error {
	if err := want(args, "ADDRESS", "DIR"); err != nil {
		return err
	}
	handler := &webdav.Handler{FileSystem: webdav.Dir(args[1]), LockSystem: webdav.NewMemLS()}
	server := &http.Server{Addr: args[0], ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, ok := r.BasicAuth()
		if !ok || user != os.Getenv(envUser) || password != os.Getenv(envPassword) {
			w.Header().Set("WWW-Authenticate", `Basic realm="backups"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	})}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func (a app) sftpServe(ctx context.Context, args []string) error {
	if err := want(args, "ADDRESS"); err != nil {
		return err
	}
	signer, err := ssh.ParsePrivateKey([]byte(os.Getenv(envHostKey)))
	if err != nil {
		return fmt.Errorf("read the host key: %w", err)
	}
	allowed, _, _, _, err := ssh.ParseAuthorizedKey([]byte(os.Getenv(envAuthorizedKey)))
	if err != nil {
		return fmt.Errorf("read the authorized key: %w", err)
	}
	conf := &ssh.ServerConfig{PublicKeyCallback: func(c ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		if c.User() != os.Getenv(envUser) || !bytes.Equal(key.Marshal(), allowed.Marshal()) {
			return nil, errors.New("not this key")
		}
		return nil, nil //nolint:nilnil // no permissions beyond the login
	}}
	conf.AddHostKey(signer)
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", args[0])
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = l.Close() })()
	for {
		c, err := l.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		go serveSSH(c, conf)
	}
}

// serveSSH ends with its connection.
func serveSSH(c net.Conn, conf *ssh.ServerConfig) {
	defer c.Close()
	_, channels, requests, err := ssh.NewServerConn(c, conf)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	for next := range channels {
		channel, asked, err := next.Accept()
		if err != nil {
			return
		}
		go func() {
			for r := range asked {
				_ = r.Reply(r.Type == "subsystem" && bytes.HasSuffix(r.Payload, []byte("sftp")), nil)
			}
		}()
		go func() {
			defer channel.Close()
			server, err := sftp.NewServer(channel)
			if err == nil && !errors.Is(server.Serve(), io.EOF) {
				return
			}
		}()
	}
}
