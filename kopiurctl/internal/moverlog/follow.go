// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package moverlog reads what movers log while they run.
package moverlog

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/kopiurctl/internal/cli"
)

// container of a mover's pod.
const container = "mover"

// again is the time between two looks for a pod.
const again = time.Second

// Follow writes the log lines of all pods of a Job, one pod after the other, until no pod is left to read once over is
// closed, or ctx ends. It answers how many lines there were. What is no log, such as progress, is passed over.
func Follow(ctx context.Context, over <-chan struct{}, c *cli.Cluster, clk clock.WithTicker, namespace, job string, say func(string, ...any)) (int, error) {
	lines, read := 0, map[types.UID]bool{}
	for {
		pod, err := next(ctx, c, namespace, job, read)
		if err != nil && ctx.Err() == nil {
			return lines, err
		}
		if pod != nil {
			read[pod.UID] = true
			n, err := stream(ctx, c, pod, say)
			lines += n
			if err != nil && ctx.Err() == nil {
				return lines, err
			}
			continue
		}
		timer := clk.NewTimer(again)
		select {
		case <-ctx.Done():
			timer.Stop()
			return lines, nil
		case <-over:
			timer.Stop()
			return lines, nil
		case <-timer.C():
		}
	}
}

// next finds the oldest pod of the Job that has a log and was not read yet.
func next(ctx context.Context, c *cli.Cluster, namespace, job string, read map[types.UID]bool) (*corev1.Pod, error) {
	var pods corev1.PodList
	err := c.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabels{batchv1.JobNameLabel: job})
	if err != nil {
		return nil, fmt.Errorf("find the mover's pod: %w", err)
	}
	slices.SortFunc(pods.Items, func(a, b corev1.Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	for i := range pods.Items {
		if p := &pods.Items[i]; !read[p.UID] && p.Status.Phase != corev1.PodPending {
			return p, nil
		}
	}
	return nil, nil
}

func stream(ctx context.Context, c *cli.Cluster, pod *corev1.Pod, say func(string, ...any)) (int, error) {
	body, err := open(ctx, c, pod, true)
	if err != nil {
		return 0, err
	}
	defer body.Close()
	return Copy(body, say), nil
}

// Copy writes the log lines of a mover's output, and answers how many there were. Output that ends early, with its pod,
// is no error.
func Copy(output io.Reader, say func(string, ...any)) int {
	scanner := bufio.NewScanner(output)
	scanner.Buffer(nil, work.MaxStreamBytes)
	n := 0
	for scanner.Scan() {
		if line, ok := Line(scanner.Text()); ok {
			say("%s", line)
			n++
		}
	}
	return n
}

// Line reads one line of a mover's output; false where it is no log. What is not of the protocol, such as a panic, is
// worth reading as it is.
func Line(text string) (string, bool) {
	if strings.TrimSpace(text) == "" {
		return "", false
	}
	var e work.Event
	if !strings.HasPrefix(text, "{") || json.Unmarshal([]byte(text), &e) != nil || e.Type == "" {
		return text, true
	}
	if e.Type != work.EventLog {
		return "", false
	}
	return fmt.Sprintf("%s %-5s %s", e.Time.UTC().Format(time.TimeOnly), strings.ToUpper(e.Level), e.Message), true
}
