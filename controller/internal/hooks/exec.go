// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/remotecommand"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/podexec"
)

// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=pods/exec,verbs=create

// maxOutput is how much of a command's output is kept: its end.
const maxOutput = 8 << 10

// exec runs a command in a container of the one running pod that is selected.
func (r *Runner) exec(ctx context.Context, namespace string, h kopiurv1.ExecHook) error {
	pod, err := r.pod(ctx, namespace, h.PodSelector)
	if err != nil {
		return err
	}
	container := h.Container
	if container == "" {
		container = pod.Spec.Containers[0].Name
	}
	return r.command(ctx, pod, container, h.Command)
}

// pod finds the one running pod. Of several, nobody can say in which the command would do what it is meant for.
func (r *Runner) pod(ctx context.Context, namespace string, by metav1.LabelSelector) (*corev1.Pod, error) {
	selector, err := metav1.LabelSelectorAsSelector(&by)
	if err != nil || selector.Empty() {
		return nil, failed("", "workloadExec.podSelector selects nothing")
	}
	var pods corev1.PodList
	if err := r.Live.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return nil, fmt.Errorf("list the pods of namespace %s: %w", namespace, err)
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
		return nil, failed("", "workloadExec: no running pod matches %s", selector)
	default:
		return nil, failed("", "workloadExec: %d running pods match %s, and it must be one", len(running), selector)
	}
}

// command runs it over a connection of its own, and waits for its exit status.
func (r *Runner) command(ctx context.Context, pod *corev1.Pod, container string, argv []string) error {
	c, err := podexec.New(r.Config)
	if err != nil {
		return err //nolint:wrapcheck // says what it is
	}
	out := &tail{}
	code, err := c.Run(ctx, pod, container, argv, remotecommand.StreamOptions{Stdout: out, Stderr: out})
	switch {
	case errors.Is(err, podexec.ErrNoExit):
		return failed(out.String(), "workloadExec in pod %s: the connection ended before the command did, and nobody knows how it ended", pod.Name)
	case err != nil:
		return failed(strings.TrimSpace(out.String()+"\n"+err.Error()), "workloadExec in pod %s: the command could not be run", pod.Name)
	case code != 0:
		return failed(out.String(), "workloadExec in pod %s: exit code %d", pod.Name, code)
	default:
		return nil
	}
}

// tail keeps the end of what is written to it, from two streams at once.
type tail struct {
	mu sync.Mutex
	b  []byte
}

// Write never fails: a command must not be held up by what it prints.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, p...)
	if over := len(t.b) - maxOutput; over > 0 {
		t.b = append(t.b[:0], t.b[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(strings.ToValidUTF8(string(t.b), "\uFFFD"))
}
