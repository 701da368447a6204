// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package podexec runs commands in containers, and knows how they ended.
//
// The protocol is SPDY on purpose. Its frames reach us as the kubelet sent them, so that we see for ourselves whether an
// exit status came. Over WebSockets the API server speaks SPDY to the kubelet in our place, by the client that takes a
// connection that ends without a status for a success, and then sends us a status that says so: a node that dies in the
// midst of a command would look like a command that succeeded.
//
// Nothing is sent on such a connection but what the command reads. client-go pings every five seconds; a ping that reaches
// a node which has sent everything and hung up makes the API server drop what we have not read yet, the exit status with it.
// A reader that takes its time, as an upload does, would never see the end of a dump. TCP's own keepalives do for what pings
// are there for.
package podexec

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/httpstream"                     //nolint:staticcheck // client-go asks for these very types
	httpstreamspdy "k8s.io/apimachinery/pkg/util/httpstream/spdy" //nolint:staticcheck // client-go asks for these very types
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/transport/spdy"
	utilexec "k8s.io/client-go/util/exec"
)

var (
	// ErrNoExit says that the connection ended, and nobody knows how the command did. client-go takes that for a success.
	ErrNoExit = errors.New("the connection ended without the exit status of the command")
	// ErrForbidden says that the API server did not let us run the command.
	ErrForbidden = errors.New("not permitted")
)

// Client runs commands through the API server.
type Client struct {
	config *rest.Config
	rest   *rest.RESTClient
	codec  runtime.ParameterCodec
}

// New makes one.
func New(config *rest.Config) (*Client, error) {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("make a client for commands: %w", err)
	}
	cfg := rest.CopyConfig(config)
	cfg.APIPath, cfg.GroupVersion = "/api", &corev1.SchemeGroupVersion
	cfg.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	client, err := rest.RESTClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("make a client for commands: %w", err)
	}
	return &Client{config: cfg, rest: client, codec: runtime.NewParameterCodec(scheme)}, nil
}

// REST is the client for what has to be asked about pods before.
func (c *Client) REST() *rest.RESTClient { return c.rest }

// Codec encodes the parameters of such requests.
func (c *Client) Codec() runtime.ParameterCodec { return c.codec }

// Run runs a command in a container over a connection of its own and returns its exit code. An error says that nobody
// knows how it ended, or that it did not begin.
func (c *Client) Run(ctx context.Context, pod *corev1.Pod, container string, argv []string, o remotecommand.StreamOptions) (int, error) {
	u := c.rest.Post().Namespace(pod.Namespace).Resource("pods").Name(pod.Name).SubResource("exec").VersionedParams(&corev1.PodExecOptions{
		Container: container, Command: argv, Stdin: o.Stdin != nil, Stdout: o.Stdout != nil, Stderr: o.Stderr != nil,
	}, c.codec).URL()
	code, err := c.stream(ctx, u, o)
	if err != nil {
		return 0, fmt.Errorf("run the command in container %s of pod %s: %w", container, pod.Name, err)
	}
	return code, nil
}

func (c *Client) stream(ctx context.Context, u *url.URL, o remotecommand.StreamOptions) (int, error) {
	transport, upgrader, err := c.transport()
	if err != nil {
		return 0, fmt.Errorf("make a connection: %w", err)
	}
	w := &watched{Upgrader: upgrader}
	executor, err := remotecommand.NewSPDYExecutorForTransports(transport, w, http.MethodPost, u)
	if err != nil {
		return 0, fmt.Errorf("make a connection: %w", err)
	}
	err = executor.StreamWithContext(ctx, o)
	exit := utilexec.CodeExitError{}
	switch {
	case errors.As(err, &exit):
		return exit.Code, nil
	case err != nil:
		return 0, err //nolint:wrapcheck // the caller says what was run
	case !w.heard.Load():
		return 0, ErrNoExit
	default:
		return 0, nil
	}
}

// transport is client-go's, without its pings.
func (c *Client) transport() (http.RoundTripper, spdy.Upgrader, error) {
	tls, err := rest.TLSConfigFor(c.config)
	if err != nil {
		return nil, nil, err //nolint:wrapcheck // the caller says what for
	}
	proxy := http.ProxyFromEnvironment
	if c.config.Proxy != nil {
		proxy = c.config.Proxy
	}
	upgrader, err := httpstreamspdy.NewRoundTripperWithConfig(httpstreamspdy.RoundTripperConfig{TLS: tls, Proxier: proxy})
	if err != nil {
		return nil, nil, err //nolint:wrapcheck // the caller says what for
	}
	transport, err := rest.HTTPWrappersForConfig(c.config, upgrader)
	if err != nil {
		return nil, nil, err //nolint:wrapcheck // the caller says what for
	}
	return transport, upgrader, nil
}

// watched notes whether anything arrived on the stream for the exit status. Without it an API server or kubelet that goes
// away in the midst of a command looks like its good end.
type watched struct {
	spdy.Upgrader

	heard atomic.Bool
}

// NewConnection implements spdy.Upgrader.
func (w *watched) NewConnection(resp *http.Response) (httpstream.Connection, error) {
	conn, err := w.Upgrader.NewConnection(resp)
	switch {
	case err != nil && resp.StatusCode == http.StatusForbidden:
		return nil, fmt.Errorf("%w: %w", ErrForbidden, err)
	case err != nil:
		return nil, err //nolint:wrapcheck // the caller says what was asked for
	}
	return &watchedConnection{Connection: conn, heard: &w.heard}, nil
}

type watchedConnection struct {
	httpstream.Connection

	heard *atomic.Bool
}

// CreateStream implements httpstream.Connection.
func (c *watchedConnection) CreateStream(headers http.Header) (httpstream.Stream, error) {
	s, err := c.Connection.CreateStream(headers)
	if err != nil || headers.Get(corev1.StreamType) != corev1.StreamTypeError {
		return s, err //nolint:wrapcheck // it only passes on
	}
	return &watchedStream{Stream: s, heard: c.heard}, nil
}

type watchedStream struct {
	httpstream.Stream

	heard *atomic.Bool
}

// Read implements io.Reader.
func (s *watchedStream) Read(p []byte) (int, error) {
	n, err := s.Stream.Read(p)
	if n > 0 {
		s.heard.Store(true)
	}
	return n, err //nolint:wrapcheck // it is a Reader
}
