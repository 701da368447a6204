// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	utilexec "k8s.io/client-go/util/exec"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=pods/exec,verbs=get;create

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
	cfg := rest.CopyConfig(r.Config)
	cfg.APIPath, cfg.GroupVersion, cfg.NegotiatedSerializer = "/api", &corev1.SchemeGroupVersion, scheme.Codecs.WithoutConversion()
	rc, err := rest.RESTClientFor(cfg)
	if err != nil {
		return fmt.Errorf("make a client for commands: %w", err)
	}
	u := rc.Get().Namespace(pod.Namespace).Resource("pods").Name(pod.Name).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Container: container, Command: argv, Stdout: true, Stderr: true}, scheme.ParameterCodec).URL()
	executor, err := executorFor(cfg, u)
	if err != nil {
		return err
	}
	out := &tail{}
	err = executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: out, Stderr: out})
	exit := utilexec.CodeExitError{}
	switch {
	case err == nil:
		return nil
	case errors.As(err, &exit):
		return failed(out.String(), "workloadExec in pod %s: exit code %d", pod.Name, exit.Code)
	default:
		return failed(strings.TrimSpace(out.String()+"\n"+err.Error()), "workloadExec in pod %s: the command could not be run", pod.Name)
	}
}

func executorFor(cfg *rest.Config, u *url.URL) (remotecommand.Executor, error) {
	e, err := remotecommand.NewWebSocketExecutor(cfg, "GET", u.String())
	if err != nil {
		return nil, fmt.Errorf("make a connection for commands: %w", err)
	}
	return e, nil
}

// tail keeps the end of what is written to it.
type tail struct{ b []byte }

// Write never fails: a command must not be held up by what it prints.
func (t *tail) Write(p []byte) (int, error) {
	t.b = append(t.b, p...)
	if over := len(t.b) - maxOutput; over > 0 {
		t.b = append(t.b[:0], t.b[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string { return strings.TrimSpace(strings.ToValidUTF8(string(t.b), "\uFFFD")) }
