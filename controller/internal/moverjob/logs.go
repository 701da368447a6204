// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package moverjob

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
)

const (
	// tailBytes is how much of a mover's log is read at a time.
	tailBytes = 16 << 10
	tailLines = 200
	// logTimeout bounds one read: the API server asks the kubelet, and a lost node would hang it.
	logTimeout = 10 * time.Second
	// maxTail and maxTailLines bound status.logTail.
	maxTail      = 4 << 10
	maxTailLines = 50
)

// LogReader reads the end of a container's log.
type LogReader interface {
	// Tail returns the last lines, no more than limit bytes of them.
	Tail(ctx context.Context, namespace, pod, container string, lines, limit int64) ([]byte, error)
	// Open reads from the beginning, no more than limit bytes.
	Open(ctx context.Context, namespace, pod, container string, limit int64) (io.ReadCloser, error)
}

// PodLogs reads logs through the API server. It is a REST client for one resource, because a whole clientset would cost
// the controller more memory than all its own types.
type PodLogs struct{ client rest.Interface }

// NewPodLogs makes a reader from the manager's configuration.
func NewPodLogs(cfg *rest.Config) (*PodLogs, error) {
	c := rest.CopyConfig(cfg)
	c.APIPath = "/api"
	c.GroupVersion = &corev1.SchemeGroupVersion
	c.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	rc, err := rest.RESTClientFor(c)
	if err != nil {
		return nil, fmt.Errorf("make the pod log client: %w", err)
	}
	return &PodLogs{client: rc}, nil
}

// Tail implements LogReader.
func (p *PodLogs) Tail(ctx context.Context, namespace, pod, container string, lines, limit int64) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, logTimeout)
	defer cancel()
	b, err := p.client.Get().Namespace(namespace).Resource("pods").Name(pod).SubResource("log").
		Param("container", container).Param("tailLines", strconv.FormatInt(lines, 10)).Param("limitBytes", strconv.FormatInt(limit, 10)).
		DoRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the log of pod %s/%s: %w", namespace, pod, err)
	}
	return b, nil
}

// Open implements LogReader.
func (p *PodLogs) Open(ctx context.Context, namespace, pod, container string, limit int64) (io.ReadCloser, error) {
	r, err := p.client.Get().Namespace(namespace).Resource("pods").Name(pod).SubResource("log").
		Param("container", container).Param("limitBytes", strconv.FormatInt(limit, 10)).Stream(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the log of pod %s/%s: %w", namespace, pod, err)
	}
	return r, nil
}

// Tail is the end of a mover's event stream.
type Tail struct {
	// Text is the log lines for status.logTail.
	Text string
	// Progress is the newest progress event, nil where there is none.
	Progress *work.Progress
	// ProgressAt is the mover's time of that event.
	ProgressAt time.Time
}

// ReadTail reads the end of a mover's event stream. An unreadable log is not an error to its callers: they pass over it,
// because a log is a help for people and never the reason for a retry.
func ReadTail(ctx context.Context, r LogReader, namespace, pod string) (Tail, error) {
	b, err := r.Tail(ctx, namespace, pod, Container, tailLines, tailBytes)
	if err != nil {
		return Tail{}, err
	}
	return ParseTail(b), nil
}

// ParseTail parses the end of an event stream. Lines that are not events (a panic) are kept as they are.
func ParseTail(b []byte) Tail {
	var t Tail
	var lines []string
	for line := range bytes.Lines(b) {
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			continue
		}
		e, ok := work.DecodeEvent(line)
		switch {
		case !ok:
			lines = append(lines, string(line))
		case e.Type == work.EventLog:
			lines = append(lines, e.Time.UTC().Format(time.RFC3339)+" "+e.Level+" "+e.Message)
		case e.Type == work.EventProgress && e.Progress != nil:
			t.Progress, t.ProgressAt = e.Progress, e.Time
		}
	}
	if len(lines) > maxTailLines {
		lines = lines[len(lines)-maxTailLines:]
	}
	text := strings.ToValidUTF8(strings.Join(lines, "\n"), "\uFFFD")
	for len(text) > maxTail {
		_, after, found := strings.Cut(text, "\n")
		if !found {
			after = work.Clip(text, maxTail)
		}
		text = after
	}
	t.Text = text
	return t
}

// StatusProgress is the status block for a tail, nil where the mover has not said anything yet.
func (t Tail) StatusProgress() *kopiurv1.Progress {
	if t.Progress == nil {
		return nil
	}
	return &kopiurv1.Progress{
		BytesProcessed: t.Progress.BytesProcessed,
		FilesProcessed: t.Progress.FilesProcessed,
		BytesTotal:     t.Progress.BytesTotal,
		FilesTotal:     t.Progress.FilesTotal,
		BytesPerSecond: t.Progress.BytesPerSecond,
		ETASeconds:     t.Progress.ETASeconds,
		UpdatedAt:      t.ProgressAt.UTC().Format(time.RFC3339),
	}
}
