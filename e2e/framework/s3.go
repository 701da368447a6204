// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
)

// Keys of the S3 server of the specs.
const (
	S3AccessKey = "spec-access-key"
	S3SecretKey = "spec-secret-key-19"
	// Bucket is the one bucket that it holds.
	Bucket = "backups"

	s3Name = "s3"
)

// S3Server runs a real S3 server in the namespace and makes Secret "s3-keys". It returns the endpoint. What it stores is on
// a claim, and outlives a stop.
func (e *Env) S3Server(t *testing.T, namespace string) string {
	t.Helper()
	labels := map[string]string{"app": "s3"}
	env := []corev1.EnvVar{{Name: "ROOT_ACCESS_KEY", Value: S3AccessKey}, {Name: "ROOT_SECRET_KEY", Value: S3SecretKey}}
	mount := []corev1.VolumeMount{{Name: "store", MountPath: "/store"}}
	server := &appsv1.Deployment{
		ObjectMeta: meta(namespace, s3Name),
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
				TerminationGracePeriodSeconds: new(int64(1)),
				SecurityContext:               &corev1.PodSecurityContext{FSGroup: new(int64(65532))},
				// A bucket of the posix backend is a folder.
				InitContainers: []corev1.Container{{
					Name: "bucket", Image: e.Image("testapp"), ImagePullPolicy: corev1.PullIfNotPresent,
					Args: []string{"write", "/store/" + Bucket + "/.made", "x"}, VolumeMounts: mount,
				}},
				Containers: []corev1.Container{{
					Name: "s3", Image: e.Image("versitygw"), ImagePullPolicy: corev1.PullIfNotPresent, Env: env,
					Args:           []string{"--port", ":7070", "posix", "--nometa", "/store"},
					VolumeMounts:   mount,
					ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(7070)}}, PeriodSeconds: 1},
				}},
				Volumes: []corev1.Volume{{Name: "store", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "s3-store"}}}},
			}},
		},
	}
	service := &corev1.Service{ObjectMeta: meta(namespace, s3Name), Spec: corev1.ServiceSpec{
		Selector: labels, Ports: []corev1.ServicePort{{Port: 7070, TargetPort: intstr.FromInt32(7070)}},
	}}
	keys := &corev1.Secret{ObjectMeta: meta(namespace, "s3-keys"), StringData: map[string]string{
		work.KeyAWSAccessKeyID: S3AccessKey, work.KeyAWSSecretAccessKey: S3SecretKey,
	}}
	e.Create(t, PVC(namespace, "s3-store", ClassImmediate, "2Gi"), server, service, keys)
	e.s3(t, namespace, 1)
	return "s3." + namespace + ".svc:7070"
}

// StopS3 stops the server of S3Server: connections to it are refused. StartS3 starts it again.
func (e *Env) StopS3(t *testing.T, namespace string) {
	t.Helper()
	e.s3(t, namespace, 0)
}

// StartS3 starts the server that StopS3 has stopped.
func (e *Env) StartS3(t *testing.T, namespace string) {
	t.Helper()
	e.s3(t, namespace, 1)
}

// s3 runs that many servers and waits until they serve, and nobody else does.
func (e *Env) s3(t *testing.T, namespace string, replicas int32) {
	t.Helper()
	d := &appsv1.Deployment{ObjectMeta: meta(namespace, s3Name)}
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas))
	require.NoError(t, e.Client.Patch(t.Context(), d, patch))
	e.Eventually(t, fmt.Sprintf("%d S3 servers", replicas), func(ctx context.Context) string {
		if err := e.Client.Get(ctx, client.ObjectKeyFromObject(d), d); err != nil {
			return err.Error()
		}
		var pods corev1.PodList
		if err := e.Client.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabels(d.Spec.Selector.MatchLabels)); err != nil {
			return err.Error()
		}
		if d.Status.ReadyReplicas != replicas || len(pods.Items) != int(replicas) {
			return fmt.Sprintf("%d pods, %d of them ready", len(pods.Items), d.Status.ReadyReplicas)
		}
		return ""
	})
}

// OnS3 is a bucket of the server that S3Server started.
func OnS3(endpoint, bucket string) kopiurv1.Backend {
	return kopiurv1.Backend{S3: &kopiurv1.S3Backend{
		Bucket: bucket, Prefix: "apps/", Endpoint: endpoint, Region: "us-east-1",
		TLS:  &kopiurv1.S3TLS{DisableTLS: true},
		Auth: &kopiurv1.BackendAuth{SecretRef: &kopiurv1.SecretRef{Name: "s3-keys"}},
	}}
}
