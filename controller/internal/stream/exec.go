// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/httpstream" //nolint:staticcheck // client-go asks for these very types
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/transport/spdy"
	utilexec "k8s.io/client-go/util/exec"

	"github.com/kopiur/kopiur/apis/work"
)

const (
	// permission is how long to wait for a permission that was granted just before: the API server learns of it by a watch.
	permission = 30 * time.Second
	// askAgain is how often it is asked meanwhile.
	askAgain = 500 * time.Millisecond
)

// Exec runs commands through the API server.
type Exec struct {
	config  *rest.Config
	client  *rest.RESTClient
	codec   runtime.ParameterCodec
	command work.StreamCommand
}

// NewExec makes one for a command.
func NewExec(config *rest.Config, command work.StreamCommand) (*Exec, error) {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	cfg := rest.CopyConfig(config)
	cfg.APIPath, cfg.GroupVersion = "/api", &corev1.SchemeGroupVersion
	cfg.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	client, err := rest.RESTClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	return &Exec{config: cfg, client: client, codec: runtime.NewParameterCodec(scheme), command: command}, nil
}

// Output implements Command.
func (e *Exec) Output(ctx context.Context, out io.Writer) (Exit, error) {
	said := &tail{}
	code, err := e.run(ctx, e.command.Command, remotecommand.StreamOptions{Stdout: out, Stderr: said})
	return Exit{Code: code, Stderr: said.String()}, explain(err, said.String())
}

// Input implements Command.
func (e *Exec) Input(ctx context.Context, in io.Reader, size int64) (Exit, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	said, stdin := &listener{word: rand.Text()}, &held{Reader: in, until: ctx, broke: cancel}
	code, err := e.run(ctx, Consumer(e.command.Command, size, said.word), remotecommand.StreamOptions{Stdin: stdin, Stdout: &tail{}, Stderr: said})
	exit, err := said.exit(ctx, code, size, err)
	cancel(nil)
	stdin.release()
	return exit, err
}

// explain adds the command's own words to an error.
func explain(err error, said string) error {
	if err == nil || said == "" {
		return err
	}
	return fmt.Errorf("%w; it said: %s", err, said)
}

// run finds the pod and runs a command in it. A permission that is not there yet is waited for: nothing ran without it.
func (e *Exec) run(ctx context.Context, argv []string, o remotecommand.StreamOptions) (int, error) {
	patience := time.NewTimer(permission)
	defer patience.Stop()
	for {
		code, err := e.attempt(ctx, argv, o)
		if !apierrors.IsForbidden(err) && !errors.Is(err, errForbidden) {
			return code, err
		}
		again := time.NewTimer(askAgain)
		select {
		case <-again.C:
			continue
		case <-patience.C:
		case <-ctx.Done():
		}
		again.Stop()
		return 0, err
	}
}

func (e *Exec) attempt(ctx context.Context, argv []string, o remotecommand.StreamOptions) (int, error) {
	pod, err := e.pod(ctx)
	if err != nil {
		return 0, err
	}
	container := e.command.Container
	if container == "" {
		container = pod.Spec.Containers[0].Name
	}
	u := e.client.Post().Namespace(pod.Namespace).Resource("pods").Name(pod.Name).SubResource("exec").VersionedParams(&corev1.PodExecOptions{
		Container: container, Command: argv, Stdin: o.Stdin != nil, Stdout: o.Stdout != nil, Stderr: o.Stderr != nil,
	}, e.codec).URL()
	code, err := e.stream(ctx, u, o)
	if err != nil {
		return 0, fmt.Errorf("run the command in container %s of pod %s: %w", container, pod.Name, err)
	}
	return code, nil
}

// pod finds the one running pod. Of several, nobody can say which one has the data.
func (e *Exec) pod(ctx context.Context) (*corev1.Pod, error) {
	var pods corev1.PodList
	err := e.client.Get().Namespace(e.command.Namespace).Resource("pods").
		VersionedParams(&metav1.ListOptions{LabelSelector: e.command.PodSelector}, e.codec).Do(ctx).Into(&pods)
	if err != nil {
		return nil, fmt.Errorf("list the pods of namespace %s: %w", e.command.Namespace, err)
	}
	var running []*corev1.Pod
	for i := range pods.Items {
		if p := &pods.Items[i]; p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil {
			running = append(running, p)
		}
	}
	switch len(running) {
	case 1:
		return running[0], nil
	case 0:
		return nil, fmt.Errorf("no running pod matches %s", e.command.PodSelector)
	default:
		return nil, fmt.Errorf("%d running pods match %s, and it must be one", len(running), e.command.PodSelector)
	}
}

// errNoExit: the connection ended, and how the command ended is not known. client-go takes that for a success.
var errNoExit = errors.New("the connection ended without the exit status of the command")

// errForbidden: the API server did not let us run the command.
var errForbidden = errors.New("not permitted")

// stream runs the command over a connection of its own and returns its exit code.
func (e *Exec) stream(ctx context.Context, u *url.URL, o remotecommand.StreamOptions) (int, error) {
	transport, upgrader, err := spdy.RoundTripperFor(e.config)
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
		return 0, errNoExit
	default:
		return 0, nil
	}
}

// watched notes whether anything arrived on the stream for the exit status. Without it an API server or kubelet that goes
// away in the midst of a dump looks like the good end of a short one.
type watched struct {
	spdy.Upgrader
	heard atomic.Bool
}

// NewConnection implements spdy.Upgrader.
func (w *watched) NewConnection(resp *http.Response) (httpstream.Connection, error) {
	conn, err := w.Upgrader.NewConnection(resp)
	switch {
	case err != nil && resp.StatusCode == http.StatusForbidden:
		return nil, fmt.Errorf("%w: %w", errForbidden, err)
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
