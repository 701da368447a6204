// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/kopiur/kopiur/e2e/bench/peers"
)

// Latency is how far away the S3 server seems to be.
const Latency = 20 * time.Millisecond

// LatencyVerb is the first argument that makes this program the proxy.
const LatencyVerb = "latency"

// s3 is an S3 server on a folder and the proxy in front of it, both processes of their own.
type s3 struct {
	dir     string
	direct  string
	delayed string
	procs   []*exec.Cmd
	buckets int
}

// s3Keys are known to nobody else; the server listens on loopback only.
const s3Access, s3Secret = "bench-access-key", "bench-secret-key"

// bucket makes a bucket and returns it behind the latency, with the folder it is kept in.
func (l *Lab) bucket(ctx context.Context) (*peers.Bucket, string, error) {
	if l.store == nil {
		s, err := l.startS3(ctx)
		if err != nil {
			return nil, "", err
		}
		l.store = s
	}
	l.store.buckets++
	name := fmt.Sprintf("bucket-%d", l.store.buckets)
	dir := filepath.Join(l.store.dir, name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, "", fmt.Errorf("make a bucket: %w", err)
	}
	return &peers.Bucket{Endpoint: l.store.delayed, Name: name, AccessKey: s3Access, SecretKey: s3Secret}, dir, nil
}

func (l *Lab) startS3(ctx context.Context) (*s3, error) {
	s := &s3{dir: l.at("s3")}
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return nil, fmt.Errorf("start the S3 server: %w", err)
	}
	port, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	s.direct = port
	server := exec.CommandContext(ctx, l.Gateway, "--port", port, "posix", "--nometa", s.dir)
	server.Env = []string{"ROOT_ACCESS_KEY=" + s3Access, "ROOT_SECRET_KEY=" + s3Secret, "HOME=" + l.Work}
	if err := s.start(server); err != nil {
		return nil, err
	}
	if err := answers(ctx, s.direct); err != nil {
		s.close()
		return nil, err
	}
	proxy := exec.CommandContext(ctx, l.Runner.Self, LatencyVerb, "--to", s.direct, "--delay", Latency.String())
	out, err := proxy.StdoutPipe()
	if err == nil {
		err = s.start(proxy)
	}
	if err != nil {
		s.close()
		return nil, fmt.Errorf("start the latency proxy: %w", err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		s.close()
		return nil, fmt.Errorf("start the latency proxy: %w", err)
	}
	s.delayed = strings.TrimSpace(line)
	return s, nil
}

func (s *s3) start(c *exec.Cmd) error {
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := c.Start(); err != nil {
		return fmt.Errorf("start %s: %w", c.Path, err)
	}
	s.procs = append(s.procs, c)
	return nil
}

func (s *s3) close() {
	for _, p := range s.procs {
		_ = p.Process.Kill()
		_ = p.Wait()
	}
	_ = os.RemoveAll(s.dir)
}

func freePort(ctx context.Context) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("look for a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// answers waits until a server takes connections.
func answers(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err == nil {
			return c.Close() //nolint:wrapcheck // it answered
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the S3 server: %w", errors.Join(ctx.Err(), err))
		case <-time.After(50 * time.Millisecond):
		}
	}
}
