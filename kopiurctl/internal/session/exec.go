// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/streaming/pkg/httpstream"

	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/kopiurctl/internal/cli"
)

const (
	container = "mover"
	program   = "/mover"
	// most of what a program says on stderr is kept.
	most = 4 << 10
)

// Reader reads an answer, frames and all, and returns nil only where its status says that all of it came.
type Reader func(answer io.Reader) error

// errDone ends a command whose answer was read.
var errDone = errors.New("the answer was read")

// exec asks in the session's pod. began reports whether any of the answer came.
//
// The frames of the answer say how it ended. What the connection says about that is not needed, so that it may be what gets
// through most proxies: a WebSocket, or where that is not spoken SPDY.
func (c *Client) exec(ctx context.Context, o opened, req work.BrowseRequest, read Reader) (began bool, err error) {
	var refused error
	executor, err := c.executor(o.pod, req, func(err error) { refused = err })
	if err != nil {
		return false, fmt.Errorf("make a connection: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	from, to := io.Pipe()
	words, done := &words{}, make(chan error, 1)
	go func() {
		err := executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: to, Stderr: words})
		_ = to.CloseWithError(err)
		done <- err
	}()
	answer := &counted{Reader: from}
	err = read(answer)
	_ = from.CloseWithError(errDone)
	cancel()
	ended := <-done
	if errors.Is(err, work.ErrNoStatus) {
		if refused != nil && answer.n == 0 {
			ended = refused
		}
		err = cut(o, answer.n, ended, words.String())
	}
	return answer.n > 0, err
}

// cut explains an answer that did not come to its end.
func cut(o opened, n int64, ended error, words string) error {
	switch {
	case ended == nil || errors.Is(ended, errDone):
		ended = work.ErrNoStatus
	case cli.CodeOf(ended) == cli.Forbidden:
		return fmt.Errorf("ask in pod %s: %w", o.pod, ended)
	}
	if words = strings.TrimSpace(words); words != "" {
		ended = fmt.Errorf("%w: %s", ended, words)
	}
	if n == 0 {
		return cli.Failedf("pod %s does not answer: %w", o.pod, ended)
	}
	return cli.Failedf("the answer was cut off behind %d bytes: %w; ask again", n, ended)
}

// executor runs the question. refused is given the API server's own words where it did not let a WebSocket through: what SPDY
// makes of them is a text only.
func (c *Client) executor(pod string, req work.BrowseRequest, refused func(error)) (remotecommand.Executor, error) {
	u := c.Cluster.Pods.Post().Namespace(c.Cluster.Namespace).Resource("pods").Name(pod).SubResource("exec").VersionedParams(&corev1.PodExecOptions{
		Container: container, Command: command(req), Stdout: true, Stderr: true,
	}, runtime.NewParameterCodec(c.Cluster.Scheme())).URL()
	socket, err := remotecommand.NewWebSocketExecutor(c.Cluster.Config, http.MethodGet, u.String())
	if err != nil {
		return nil, err //nolint:wrapcheck // by the caller
	}
	older, err := remotecommand.NewSPDYExecutor(c.Cluster.Config, http.MethodPost, u)
	if err != nil {
		return nil, err //nolint:wrapcheck // by the caller
	}
	return remotecommand.NewFallbackExecutor(socket, older, func(err error) bool { //nolint:wrapcheck // by the caller
		if upgrade, ok := errors.AsType[*httpstream.UpgradeFailureError](err); ok {
			if _, ok := errors.AsType[*apierrors.StatusError](upgrade.Cause); ok {
				refused(upgrade.Cause)
			}
			return true
		}
		return httpstream.IsHTTPSProxyError(err)
	})
}

// command is the question as the mover's command line.
func command(r work.BrowseRequest) []string {
	out := []string{program, "browse", string(r.Action), "--snapshot", r.SnapshotID}
	if r.StartTime != nil {
		out = append(out, "--username", r.Identity.Username, "--hostname", r.Identity.Hostname, "--source-path", r.Identity.Path,
			"--start-time", r.StartTime.UTC().Format(time.RFC3339Nano))
	}
	return append(out, "--", r.Path)
}

// counted counts what is read.
type counted struct {
	io.Reader

	n int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += int64(n)
	return n, err //nolint:wrapcheck // it is a Reader
}

// words keeps the beginning of what is written.
type words struct{ strings.Builder }

func (w *words) Write(p []byte) (int, error) {
	if rest := most - w.Len(); rest > 0 {
		_, _ = w.Builder.Write(p[:min(rest, len(p))])
	}
	return len(p), nil
}
