// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Kopia runs commands of kopia's own command line, one after the other as root, with a claim mounted at /data. They share
// one configuration: the first connects. It is what people did before they had an operator.
func (e *Env) Kopia(t *testing.T, namespace, claim string, commands ...[]string) {
	t.Helper()
	mounts := []corev1.VolumeMount{{Name: "data", MountPath: "/data"}, {Name: "kopia", MountPath: "/state"}}
	var containers []corev1.Container
	for i, args := range commands {
		containers = append(containers, corev1.Container{
			Name: fmt.Sprint("kopia-", i), Image: e.Image("kopia"), ImagePullPolicy: corev1.PullIfNotPresent, Args: args, VolumeMounts: mounts,
			Env: []corev1.EnvVar{
				{Name: "HOME", Value: "/state"},
				{Name: "KOPIA_PASSWORD", Value: Password},
				{Name: "KOPIA_CONFIG_PATH", Value: "/state/repository.config"},
				{Name: "KOPIA_CACHE_DIRECTORY", Value: "/state/cache"},
				{Name: "KOPIA_LOG_DIR", Value: "/state/logs"},
				{Name: "KOPIA_CHECK_FOR_UPDATES", Value: "false"},
			},
			SecurityContext: &corev1.SecurityContext{RunAsUser: new(int64(0))},
		})
	}
	last := len(containers) - 1
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "kopia-"},
		Spec: batchv1.JobSpec{BackoffLimit: new(int32(0)), Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, InitContainers: containers[:last], Containers: containers[last:],
			Volumes: []corev1.Volume{
				{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}},
				{Name: "kopia", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			},
		}}},
	}
	e.Create(t, job)
	e.Eventually(t, "kopia's command line", func(ctx context.Context) string {
		var pods corev1.PodList
		if err := e.Client.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabels{batchv1.JobNameLabel: job.Name}); err != nil {
			return err.Error()
		}
		if len(pods.Items) == 0 {
			return "no pod yet"
		}
		p := &pods.Items[0]
		if p.Status.Phase == corev1.PodFailed {
			for _, c := range append(containers[:last:last], containers[last]) {
				logs, _ := e.Logs(ctx, namespace, p.Name, c.Name)
				t.Logf("%s %v: %s", c.Name, c.Args, logs)
			}
			require.FailNow(t, "kopia's command line failed")
		}
		if p.Status.Phase != corev1.PodSucceeded {
			return fmt.Sprintf("pod %s is %s", p.Name, p.Status.Phase)
		}
		return ""
	})
	require.NoError(t, e.Client.Delete(t.Context(), job, client.PropagationPolicy(metav1.DeletePropagationBackground)))
}
