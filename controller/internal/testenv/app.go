// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kopiur/kopiur/controller/internal/podexec/wire"
)

// App makes a running pod with the label app=name, in which every command does the same. Between it and who asks for that
// is the real API server.
func (e *Env) App(name string, c wire.Command) *corev1.Pod {
	e.T.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": name}},
		Spec:       corev1.PodSpec{NodeName: server.node.name, Containers: []corev1.Container{{Name: "app", Image: "app"}}},
	}
	e.Create(pod)
	pod.Status.Phase = corev1.PodRunning
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "app", Ready: true, Started: new(true), State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}},
	}}
	require.NoError(e.T, e.Client.Status().Update(e.T.Context(), pod))
	server.node.setCommand(pod.Namespace, pod.Name, c)
	return pod
}
