// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package moverjob_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

func serverRequest(backend kopiurv1.Backend, s kopiurv1.ServerSpec) moverjob.ServerRequest {
	r := &kopiurv1.Repository{}
	r.Name, r.Namespace, r.UID = "nas", "apps", "repo-uid"
	rep := repo(backend)
	rep.Spec.Server = &s
	return moverjob.ServerRequest{
		Request: moverjob.Request{
			Owner: r, GVK: kopiurv1.GroupVersion.WithKind("Repository"), Letter: "u", Attempt: "0", Namespace: "apps",
			Image: moverjob.Images{Mover: "localhost/kopiur/ui:dev"}, Repository: rep,
		},
		Credentials: "5,6",
	}
}

// F-9: TestServerGolden keeps Deployment and Service reviewable: every Secret of the backend is mounted, read-only and
// whole, as in a mover.
func TestServerGolden(t *testing.T) {
	t.Parallel()
	cluster := serverRequest(onS3(), kopiurv1.ServerSpec{Namespace: "web", ReadOnly: new(true)})
	cluster.Repository.Ref = kopiurv1.RepositoryRef{Name: "nas", Kind: kopiurv1.KindClusterRepository}
	cluster.Repository.Projected, cluster.Namespace = moverjob.ServerCredentials("nas"), "web"
	for name, req := range map[string]moverjob.ServerRequest{
		"server-s3":      serverRequest(onS3(), kopiurv1.ServerSpec{}),
		"server-cluster": cluster,
		"server-with-all": serverRequest(onPVC(), kopiurv1.ServerSpec{
			Auth:               &kopiurv1.ServerAuth{SecretRef: &kopiurv1.ServerSecretRef{Name: "people", UsernameKey: "user", PasswordKey: "pass"}},
			Service:            &kopiurv1.ServerService{Type: corev1.ServiceTypeNodePort, Port: new(int32(80)), Annotations: map[string]string{"example.org/lb": "yes"}},
			Resources:          &kopiurv1.Resources{Limits: map[corev1.ResourceName]kopiurv1.Quantity{"memory": "1Gi"}},
			SecurityContext:    &corev1.SecurityContext{RunAsGroup: new(int64(7))},
			PodSecurityContext: &corev1.PodSecurityContext{RunAsUser: new(int64(1000))},
		}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := moverjob.BuildServer(req)
			require.NoError(t, err)
			svc, err := moverjob.BuildService(req.Repository)
			require.NoError(t, err)
			golden(t, name, []any{d, svc})
		})
	}
}

// A uid on the pod is not undone by the hardened base's on the container.
func TestServerRunsAsItsPodSays(t *testing.T) {
	t.Parallel()
	d, err := moverjob.BuildServer(serverRequest(onS3(), kopiurv1.ServerSpec{PodSecurityContext: &corev1.PodSecurityContext{RunAsUser: new(int64(1000))}}))
	require.NoError(t, err)
	pod := d.Spec.Template.Spec
	assert.Nil(t, pod.Containers[0].SecurityContext.RunAsUser)
	assert.Equal(t, int64(1000), *pod.SecurityContext.RunAsUser)
	assert.Empty(t, moverjob.Privileges(pod))
}

func TestServerNeedsItsImage(t *testing.T) {
	t.Parallel()
	_, err := moverjob.BuildServer(serverRequest(onRclone(), kopiurv1.ServerSpec{}))
	require.ErrorContains(t, err, "no rclone")
}

// What the server is made from decides whether it is changed, and nothing else.
func TestServerIsChangedWhenItHasTo(t *testing.T) {
	t.Parallel()
	digest := func(edit func(*moverjob.ServerRequest)) string {
		req := serverRequest(onS3(), kopiurv1.ServerSpec{})
		edit(&req)
		d, err := moverjob.BuildServer(req)
		require.NoError(t, err)
		return d.Annotations[kopiurv1.AnnotationServerSpec]
	}
	same := digest(func(*moverjob.ServerRequest) {})
	assert.Equal(t, same, digest(func(*moverjob.ServerRequest) {}))
	for name, edit := range map[string]func(*moverjob.ServerRequest){
		"other credentials": func(r *moverjob.ServerRequest) { r.Credentials = "5,7" },
		"another image":     func(r *moverjob.ServerRequest) { r.Image.Mover = "ui:2" },
		"read-only":         func(r *moverjob.ServerRequest) { r.Repository.Spec.Mode = kopiurv1.ModeReadOnly },
		"stopped":           func(r *moverjob.ServerRequest) { r.Stopped = true },
	} {
		assert.NotEqual(t, same, digest(edit), name)
	}
}

func TestServerName(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "nas-kopia-ui", moverjob.ServerName("nas"))
	long, seen := strings.Repeat("a", 63), map[string]bool{}
	for _, name := range []string{"nas", "nas.local", "nas-local", "9lives", long, long[:62] + "b", long[:43], long[:44]} {
		got := moverjob.ServerName(name)
		assert.Regexp(t, `^[a-z][a-z0-9-]*[a-z0-9]$`, got)
		for _, n := range []string{got, moverjob.ServerAuthSecret(name), moverjob.ServerCredentials(name)} {
			assert.LessOrEqual(t, len(n), 63)
		}
		assert.False(t, seen[got], got)
		seen[got] = true
	}
}
