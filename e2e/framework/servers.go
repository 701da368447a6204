// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
)

const (
	serverPort   = 7070
	serverUser   = "kopia"
	serverFolder = "/store/backups"
)

// WebDAV runs a WebDAV server in the namespace and makes the Secret that it asks for. It returns a folder of it.
func (e *Env) WebDAV(t *testing.T, namespace string) kopiurv1.Backend {
	t.Helper()
	const password = "spec-dav-password-23"
	e.Create(t, &corev1.Secret{ObjectMeta: meta(namespace, "dav-keys"), StringData: map[string]string{
		work.KeyWebDAVUsername: serverUser, work.KeyWebDAVPassword: password,
	}})
	host := e.server(t, namespace, "dav", []string{"webdav-serve", fmt.Sprintf(":%d", serverPort), "/store"}, map[string]string{
		"APP_USER": serverUser, "APP_PASSWORD": password,
	})
	return kopiurv1.Backend{WebDAV: &kopiurv1.WebDAVBackend{
		URL:  fmt.Sprintf("http://%s:%d/backups", host, serverPort),
		Auth: &kopiurv1.BackendAuth{SecretRef: &kopiurv1.SecretRef{Name: "dav-keys"}},
	}}
}

// SFTP runs an SSH server in the namespace and makes the Secret with a key for it and its own. It returns a folder of it.
func (e *Env) SFTP(t *testing.T, namespace string) kopiurv1.Backend {
	t.Helper()
	hostKey, hostPublic := sshKey(t)
	login, loginPublic := sshKey(t)
	host := e.server(t, namespace, "ssh", []string{"sftp-serve", fmt.Sprintf(":%d", serverPort)}, map[string]string{
		"APP_USER": serverUser, "APP_HOST_KEY": hostKey, "APP_AUTHORIZED_KEY": string(ssh.MarshalAuthorizedKey(loginPublic)),
	})
	e.Create(t, &corev1.Secret{ObjectMeta: meta(namespace, "ssh-keys"), StringData: map[string]string{
		work.KeySFTPKeyData:    login,
		work.KeySFTPKnownHosts: knownhosts.Line([]string{fmt.Sprintf("%s:%d", host, serverPort)}, hostPublic) + "\n",
	}})
	return kopiurv1.Backend{SFTP: &kopiurv1.SFTPBackend{
		Host: host, Port: serverPort, Path: serverFolder, Username: serverUser,
		Auth: &kopiurv1.BackendAuth{SecretRef: &kopiurv1.SecretRef{Name: "ssh-keys"}},
	}}
}

// Rclone runs an SSH server in the namespace and makes the Secret with an rclone.conf that leads to it. (The S3 server of the
// specs keeps no metadata, and cannot join the parts that rclone uploads.)
func (e *Env) Rclone(t *testing.T, namespace string) kopiurv1.Backend {
	t.Helper()
	b := e.SFTP(t, namespace).SFTP
	var keys corev1.Secret
	require.NoError(t, e.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: b.Auth.SecretRef.Name}, &keys))
	conf := fmt.Sprintf("[store]\ntype = sftp\nhost = %s\nport = %d\nuser = %s\nkey_pem = %s\nshell_type = none\n", b.Host, b.Port, b.Username,
		strings.ReplaceAll(strings.TrimSpace(string(keys.Data[work.KeySFTPKeyData])), "\n", "\\n"))
	e.Create(t, &corev1.Secret{ObjectMeta: meta(namespace, "rclone-conf"), StringData: map[string]string{work.KeyRcloneConfig: conf}})
	return kopiurv1.Backend{Rclone: &kopiurv1.RcloneBackend{
		RemotePath: "store:" + b.Path, ConfigSecretRef: &kopiurv1.SecretRef{Name: "rclone-conf"}, StartupTimeout: "2m",
	}}
}

func sshKey(t *testing.T) (string, ssh.PublicKey) {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	block, err := ssh.MarshalPrivateKey(private, "")
	require.NoError(t, err)
	signer, err := ssh.NewSignerFromKey(private)
	require.NoError(t, err)
	return string(pem.EncodeToMemory(block)), signer.PublicKey()
}

// server runs the workload's program as a server of serverFolder, and returns its name in the cluster.
func (e *Env) server(t *testing.T, namespace, name string, args []string, env map[string]string) string {
	t.Helper()
	labels := map[string]string{"app": name}
	mount := []corev1.VolumeMount{{Name: "store", MountPath: "/store"}}
	container := corev1.Container{
		Name: name, Image: e.Image("testapp"), ImagePullPolicy: corev1.PullIfNotPresent, Args: args, VolumeMounts: mount,
		ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(serverPort)}}, PeriodSeconds: 1},
	}
	for k, v := range env {
		container.Env = append(container.Env, corev1.EnvVar{Name: k, Value: v})
	}
	d := &appsv1.Deployment{ObjectMeta: meta(namespace, name), Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: new(int64(1)),
			SecurityContext:               &corev1.PodSecurityContext{FSGroup: new(int64(65532))},
			// A leftover makes the folder; kopia takes lost+found for nothing.
			InitContainers: []corev1.Container{{
				Name: "folder", Image: e.Image("testapp"), ImagePullPolicy: corev1.PullIfNotPresent,
				Args: []string{"write", serverFolder + "/lost+found/.made", "x"}, VolumeMounts: mount,
			}},
			Containers: []corev1.Container{container},
			Volumes:    []corev1.Volume{{Name: "store", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
		}},
	}}
	e.Create(t, d, &corev1.Service{ObjectMeta: meta(namespace, name), Spec: corev1.ServiceSpec{
		Selector: labels, Ports: []corev1.ServicePort{{Port: serverPort, TargetPort: intstr.FromInt32(serverPort)}},
	}})
	e.Eventually(t, "the server "+name, func(ctx context.Context) string {
		if err := e.Client.Get(ctx, client.ObjectKeyFromObject(d), d); err != nil {
			return err.Error()
		}
		if d.Status.ReadyReplicas < 1 {
			return fmt.Sprintf("%d replicas are ready", d.Status.ReadyReplicas)
		}
		return ""
	})
	return name + "." + namespace + ".svc"
}
