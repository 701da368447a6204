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

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
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

// FilledBy is the claim with a Restore that fills it.
func FilledBy(pvc *corev1.PersistentVolumeClaim, restore string) *corev1.PersistentVolumeClaim {
	pvc.Spec.DataSourceRef = &corev1.TypedObjectReference{APIGroup: new(kopiurv1.GroupName), Kind: "Restore", Name: restore}
	return pvc
}

// Volume is the volume that a claim is bound to.
func (e *Env) Volume(t *testing.T, namespace, claim string) *corev1.PersistentVolume {
	t.Helper()
	var pvc corev1.PersistentVolumeClaim
	require.NoError(t, e.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: claim}, &pvc))
	require.Equal(t, corev1.ClaimBound, pvc.Status.Phase, claim)
	pv := &corev1.PersistentVolume{}
	require.NoError(t, e.Client.Get(t.Context(), client.ObjectKey{Name: pvc.Spec.VolumeName}, pv))
	return pv
}

// AppOptions shape a run of the test application.
type AppOptions struct {
	// UID and group that the application runs as; root where it is nil.
	UID *int64
	// FSGroup is a group that the kubelet gives the volume to.
	FSGroup *int64
}

// RunApp runs the test application with a claim mounted at /data, waits for its success and returns what it printed.
func (e *Env) RunApp(t *testing.T, namespace, claim string, opts AppOptions, args ...string) string {
	t.Helper()
	return e.RunAppWith(t, namespace, map[string]string{"/data": claim}, opts, args...)
}

// RunAppWith is RunApp with several claims, by where they are mounted.
func (e *Env) RunAppWith(t *testing.T, namespace string, claims map[string]string, opts AppOptions, args ...string) string {
	t.Helper()
	uid := int64(0)
	if opts.UID != nil {
		uid = *opts.UID
	}
	var mounts []corev1.VolumeMount
	var volumes []corev1.Volume
	for path, claim := range claims {
		mounts = append(mounts, corev1.VolumeMount{Name: claim, MountPath: path})
		volumes = append(volumes, corev1.Volume{Name: claim, VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}})
	}
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "app-"},
		Spec: batchv1.JobSpec{
			BackoffLimit: new(int32(0)),
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				RestartPolicy:   corev1.RestartPolicyNever,
				SecurityContext: &corev1.PodSecurityContext{RunAsUser: &uid, RunAsGroup: &uid, FSGroup: opts.FSGroup},
				Containers: []corev1.Container{{
					Name: "app", Image: e.Image("testapp"), ImagePullPolicy: corev1.PullIfNotPresent, Args: args, VolumeMounts: mounts,
				}},
				Volumes: volumes,
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
	return e.Lists(t, namespace, claim)[claim]
}

// Lists is List of several claims, which one pod mounts.
func (e *Env) Lists(t *testing.T, namespace string, claims ...string) map[string][]Entry {
	t.Helper()
	mounts := map[string]string{}
	for _, claim := range claims {
		mounts["/data/"+claim] = claim
	}
	lists := map[string][]Entry{}
	for line := range strings.Lines(e.RunAppWith(t, namespace, mounts, AppOptions{}, "manifest", "/data")) {
		var entry Entry
		require.NoError(t, json.Unmarshal([]byte(line), &entry), line)
		claim, path, inside := strings.Cut(entry.Path, "/")
		switch {
		case claim == "." || path == "lost+found": // where they are mounted, and what belongs to the file system
		case inside:
			entry.Path = path
			lists[claim] = append(lists[claim], entry)
		default:
			entry.Path = "."
			lists[claim] = append(lists[claim], entry)
		}
	}
	return lists
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
