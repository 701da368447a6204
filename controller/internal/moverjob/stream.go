// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package moverjob

import (
	"errors"
	"fmt"
	"path"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
)

const (
	// StreamContainer is the name of the helper's container.
	StreamContainer = "exec"
	// StreamServiceAccount is whom the pod of a stream runs as. Only the helper has its token.
	StreamServiceAccount = "kopiur-stream-mover"

	streamProgram = "/stream"
	// tokenDir is where every client of the API server looks for its token.
	tokenDir = "/var/run/secrets/kubernetes.io/serviceaccount"
	// defaultStreamTimeout of a command.
	defaultStreamTimeout = time.Hour
)

// streamCommand is what the helper is told.
func streamCommand(e kopiurv1.WorkloadExec, namespace string, deadline work.Deadline) (string, error) {
	selector, err := metav1.LabelSelectorAsSelector(&e.PodSelector)
	if err != nil || selector.Empty() {
		return "", errors.New("workloadExec.podSelector selects nothing")
	}
	timeout, err := e.Timeout.Parse(defaultStreamTimeout)
	if err != nil {
		return "", fmt.Errorf("workloadExec.timeout: %w", err)
	}
	if timeout <= 0 {
		timeout = defaultStreamTimeout
	}
	return work.EncodeStreamCommand(work.StreamCommand{ //nolint:wrapcheck // it says what it is
		Namespace: namespace, PodSelector: selector.String(), Container: e.Container, Command: e.Command,
		TimeoutSeconds: max(1, int64(timeout/time.Second)), DeadlineSeconds: deadline.HardSeconds + int64(work.WatchdogGrace/time.Second),
	})
}

// addStream puts the helper beside the mover. They share a socket and nothing else: the mover has no token, the helper no
// Secret.
func addStream(r Request, pod *corev1.PodSpec, deadline work.Deadline) error {
	if r.Stream == nil {
		return nil
	}
	if r.Image.Stream == "" {
		return errors.New("the controller was not told the image of the helper that runs commands (KOPIUR_STREAM_IMAGE)")
	}
	if sa := pod.ServiceAccountName; sa != "" {
		return fmt.Errorf("the pod of a stream runs as ServiceAccount %s, and the workload identity of %s needs %s: use a repository whose credentials are in a Secret", StreamServiceAccount, r.Repository.Ref, sa)
	}
	text, err := streamCommand(*r.Stream, r.Namespace, deadline)
	if err != nil {
		return err
	}
	pod.ServiceAccountName = StreamServiceAccount
	socket := corev1.VolumeMount{Name: "stream", MountPath: path.Dir(work.StreamSocket)}
	pod.Volumes = append(pod.Volumes,
		corev1.Volume{Name: socket.Name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{
			SizeLimit: new(resource.MustParse("1Mi")), Medium: corev1.StorageMediumMemory,
		}}},
		corev1.Volume{Name: "token", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
			DefaultMode: new(int32(0o444)),
			Sources: []corev1.VolumeProjection{
				{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: new(int64(3600))}},
				{ConfigMap: &corev1.ConfigMapProjection{
					LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"},
					Items:                []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}},
				}},
			},
		}}},
	)
	pod.Containers[0].VolumeMounts = append(pod.Containers[0].VolumeMounts, socket)
	pod.Containers = append(pod.Containers, corev1.Container{
		Name: StreamContainer, Image: r.Image.Stream, ImagePullPolicy: r.PullPolicy, Command: []string{streamProgram},
		Env: []corev1.EnvVar{{Name: work.EnvStream, Value: text}},
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("32Mi"),
		}},
		SecurityContext: &corev1.SecurityContext{
			RunAsUser: new(moverUID), RunAsGroup: new(moverUID), RunAsNonRoot: new(true),
			AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true),
			Capabilities:   &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		VolumeMounts:             []corev1.VolumeMount{socket, {Name: "token", MountPath: tokenDir, ReadOnly: true}},
	})
	return nil
}
