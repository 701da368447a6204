// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// PVC is a claim of one of the cluster's classes.
func PVC(namespace, name, class, size string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			StorageClassName: &class,
			Resources:        corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}},
		},
	}
}

// AppOptions shape a run of the test application.
type AppOptions struct {
	// UID the application runs as; root where it is nil.
	UID *int64
}

// RunApp runs the test application with a claim mounted at /data, waits for its success and returns what it printed.
func (e *Env) RunApp(t *testing.T, namespace, claim string, opts AppOptions, args ...string) string {
	t.Helper()
	uid := int64(0)
	if opts.UID != nil {
		uid = *opts.UID
	}
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "app-"},
		Spec: batchv1.JobSpec{
			BackoffLimit: new(int32(0)),
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever,
				Containers: []corev1.Container{{
					Name: "app", Image: e.Image("testapp"), ImagePullPolicy: corev1.PullIfNotPresent, Args: args,
					SecurityContext: &corev1.SecurityContext{RunAsUser: &uid},
					VolumeMounts:    []corev1.VolumeMount{{Name: "data", MountPath: "/data"}},
				}},
				Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}}},
			}},
		},
	}
	e.Create(t, job)
	var pod corev1.Pod
	e.Eventually(t, "the application to "+strings.Join(args, " "), func(ctx context.Context) string {
		var pods corev1.PodList
		if err := e.Client.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabels{batchv1.JobNameLabel: job.Name}); err != nil {
			return err.Error()
		}
		if len(pods.Items) == 0 {
			return "no pod yet"
		}
		pod = pods.Items[0]
		if pod.Status.Phase == corev1.PodSucceeded {
			return ""
		}
		if pod.Status.Phase == corev1.PodFailed {
			logs, err := e.Logs(ctx, namespace, pod.Name, "app")
			require.FailNow(t, "the application failed", "%s %v", logs, err)
		}
		return fmt.Sprintf("pod %s is %s %v", pod.Name, pod.Status.Phase, pod.Status.ContainerStatuses)
	})
	logs, err := e.Logs(t.Context(), namespace, pod.Name, "app")
	require.NoError(t, err)
	require.NoError(t, e.Client.Delete(t.Context(), job, client.PropagationPolicy(metav1.DeletePropagationBackground)))
	return logs
}

// Logs reads a container's whole log.
func (e *Env) Logs(ctx context.Context, namespace, pod, container string) (string, error) {
	b, err := e.logs.Get().Namespace(namespace).Resource("pods").Name(pod).SubResource("log").Param("container", container).DoRaw(ctx)
	if err != nil {
		return "", fmt.Errorf("read the log of %s: %w", pod, err)
	}
	return string(b), nil
}

// Entry is one line of the test application's manifest verb.
type Entry struct {
	Path   string `json:"path"`
	Type   string `json:"type"`
	Mode   string `json:"mode"`
	UID    int64  `json:"uid"`
	GID    int64  `json:"gid"`
	Size   int64  `json:"size"`
	Mtime  int64  `json:"mtime"`
	Target string `json:"target"`
	SHA256 string `json:"sha256"`
}

// List describes every entry of a claim: type, mode, owner, size, time, link target, checksum.
func (e *Env) List(t *testing.T, namespace, claim string) []Entry {
	t.Helper()
	var out []Entry
	for line := range strings.Lines(e.RunApp(t, namespace, claim, AppOptions{}, "manifest", "/data")) {
		var entry Entry
		require.NoError(t, json.Unmarshal([]byte(line), &entry), line)
		out = append(out, entry)
	}
	return out
}

// Contents is a list without owners, modes and times: what remains the same when a mover without privileges restores.
func Contents(entries []Entry) []Entry {
	out := make([]Entry, 0, len(entries))
	for _, entry := range entries {
		entry.UID, entry.GID, entry.Mode = 0, 0, ""
		if entry.Type != "file" || entry.Path == "." {
			entry.Mtime = 0
		}
		out = append(out, entry)
	}
	return out
}
