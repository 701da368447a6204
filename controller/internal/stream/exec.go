// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"

	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/podexec"
)

const (
	// permission is how long to wait for a permission that was granted just before: the API server learns of it by a watch.
	permission = 30 * time.Second
	// askAgain is how often it is asked meanwhile.
	askAgain = 500 * time.Millisecond
)

// Exec runs commands through the API server.
type Exec struct {
	client  *podexec.Client
	command work.StreamCommand
}

// NewExec makes one for a command.
func NewExec(config *rest.Config, command work.StreamCommand) (*Exec, error) {
	client, err := podexec.New(config)
	if err != nil {
		return nil, err //nolint:wrapcheck // says what it is
	}
	return &Exec{client: client, command: command}, nil
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
		if !apierrors.IsForbidden(err) && !errors.Is(err, podexec.ErrForbidden) {
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
	return e.client.Run(ctx, pod, container, argv, o) //nolint:wrapcheck // says what was run
}

// pod finds the one running pod. Of several, nobody can say which one has the data.
func (e *Exec) pod(ctx context.Context) (*corev1.Pod, error) {
	var pods corev1.PodList
	err := e.client.REST().Get().Namespace(e.command.Namespace).Resource("pods").
		VersionedParams(&metav1.ListOptions{LabelSelector: e.command.PodSelector}, e.client.Codec()).Do(ctx).Into(&pods)
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
