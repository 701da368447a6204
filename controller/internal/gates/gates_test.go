// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package gates_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/gates"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

// shelf answers for objects of one namespace by kind and name; the value is the resourceVersion.
type shelf struct {
	client.Reader
	have map[string]string
	err  error
}

func (s shelf) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	if s.err != nil {
		return s.err
	}
	kind := obj.GetObjectKind().GroupVersionKind().Kind
	if _, ok := obj.(*corev1.PersistentVolumeClaim); ok {
		kind = "PersistentVolumeClaim"
	}
	v, ok := s.have[kind+"/"+key.Name]
	if !ok || key.Namespace != "apps" {
		return apierrors.NewNotFound(schema.GroupResource{Resource: kind}, key.Name)
	}
	obj.SetResourceVersion(v)
	return nil
}

func s3() moverjob.Repository {
	return moverjob.Repository{
		Ref: kopiurv1.RepositoryRef{Name: "nas", Kind: kopiurv1.KindRepository, Namespace: "apps"},
		Spec: kopiurv1.RepositorySpec{
			Encryption: kopiurv1.Encryption{PasswordSecretRef: kopiurv1.SecretKeyRef{Name: "password"}},
			Backend: kopiurv1.Backend{S3: &kopiurv1.S3Backend{
				Bucket: "b",
				Auth:   &kopiurv1.BackendAuth{SecretRef: &kopiurv1.SecretRef{Name: "keys"}},
				TLS:    &kopiurv1.S3TLS{CABundleRef: &kopiurv1.CABundleRef{ConfigMapName: "ca"}},
			}},
		},
	}
}

func TestCheckCredentials(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		have        map[string]string
		wantOpen    bool
		wantReason  string
		wantMessage string
		wantVersion string
	}{
		"all that is mounted exists, and the version lists the password first": {
			map[string]string{"Secret/password": "7", "Secret/keys": "5", "ConfigMap/ca": "9"},
			true, kopiurv1.ReasonCredentialsFound, "all Secrets exist", "7,5,9",
		},
		"a missing Secret is named with its namespace": {
			map[string]string{"Secret/password": "7", "ConfigMap/ca": "9"},
			false, kopiurv1.ReasonMissingCredentialsSecret,
			"Secret apps/keys does not exist, and movers of Repository apps/nas mount it in this namespace", "",
		},
		"everything that is missing is named at once": {
			map[string]string{"Secret/keys": "5"},
			false, kopiurv1.ReasonMissingCredentialsSecret,
			"Secret apps/password and ConfigMap apps/ca do not exist, and movers of Repository apps/nas mount it in this namespace", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := gates.CheckCredentials(t.Context(), shelf{have: tc.have}, s3(), "apps")
			require.NoError(t, err)
			assert.Equal(t, gates.Credentials{
				Verdict: gates.Verdict{Open: tc.wantOpen, Reason: tc.wantReason, Message: tc.wantMessage}, Version: tc.wantVersion,
			}, got)
		})
	}

	t.Run("an error is not an absence", func(t *testing.T) {
		t.Parallel()
		_, err := gates.CheckCredentials(t.Context(), shelf{err: errors.New("connection refused")}, s3(), "apps")
		require.ErrorContains(t, err, "get Secret apps/password: connection refused")
	})
}

func TestCheckVolume(t *testing.T) {
	t.Parallel()
	r := s3()
	v, err := gates.CheckVolume(t.Context(), shelf{}, r, "apps")
	require.NoError(t, err)
	assert.True(t, v.Open, "a bucket needs no claim")

	r.Spec.Backend = kopiurv1.Backend{Filesystem: &kopiurv1.FilesystemBackend{
		Path: "/repo", Volume: &kopiurv1.RepositoryVolume{PVC: &kopiurv1.LocalRef{Name: "store"}},
	}}
	v, err = gates.CheckVolume(t.Context(), shelf{}, r, "apps")
	require.NoError(t, err)
	assert.Equal(t, kopiurv1.ReasonRepositoryVolumeNotReachable, v.Reason)
	assert.Contains(t, v.Message, "claim store, and namespace apps has none of that name")

	v, err = gates.CheckVolume(t.Context(), shelf{have: map[string]string{"PersistentVolumeClaim/store": "1"}}, r, "apps")
	require.NoError(t, err)
	assert.True(t, v.Open)
}

func TestRepository(t *testing.T) {
	t.Parallel()
	ready := s3()
	ready.Status.Phase = kopiurv1.RepositoryReady
	suspended := ready
	suspended.Spec.Suspend = true
	fresh := s3()
	readOnly := ready
	readOnly.Spec.Mode = kopiurv1.ModeReadOnly
	for name, tc := range map[string]struct {
		r          *moverjob.Repository
		denied     bool
		wantReason string
		wantIn     string
	}{
		"one that does not exist is named":             {nil, false, kopiurv1.ReasonMissingDependency, "Repository apps/nas does not exist"},
		"one that denies the namespace stays shut":     {&ready, true, kopiurv1.ReasonNamespaceNotAllowed, "allowedNamespaces"},
		"one that is suspended starts nothing":         {&suspended, false, kopiurv1.ReasonRepositoryNotReady, "suspended"},
		"one without a phase is Pending":               {&fresh, false, kopiurv1.ReasonRepositoryNotReady, "is Pending"},
		"one that is Ready is open":                    {&ready, false, kopiurv1.ReasonSucceeded, "is Ready"},
		"one that is read-only is open to its readers": {&readOnly, false, kopiurv1.ReasonSucceeded, "is Ready"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := gates.Repository("Repository apps/nas", tc.r, !tc.denied)
			assert.Equal(t, tc.wantReason == kopiurv1.ReasonSucceeded, got.Open)
			assert.Equal(t, tc.wantReason, got.Reason)
			assert.Contains(t, got.Message, tc.wantIn)
		})
	}
}

func TestPrivileges(t *testing.T) {
	t.Parallel()
	root := corev1.PodSpec{Containers: []corev1.Container{{Name: "mover"}}}
	hard := corev1.PodSpec{Containers: []corev1.Container{{Name: "mover", SecurityContext: &corev1.SecurityContext{
		RunAsNonRoot: new(true), AllowPrivilegeEscalation: new(false),
		Capabilities:   &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}}}}
	consent := map[string]string{kopiurv1.AnnotationPrivilegedMovers: "true"}

	assert.True(t, gates.Privileges(hard, "apps", nil).Open)
	assert.True(t, gates.Privileges(root, "apps", consent).Open)
	for _, v := range []string{"", "True", "yes"} {
		got := gates.Privileges(root, "apps", map[string]string{kopiurv1.AnnotationPrivilegedMovers: v})
		assert.Equal(t, kopiurv1.ReasonPrivilegedMoverNotPermitted, got.Reason, "only the exact word is consent, not %q", v)
		assert.Contains(t, got.Message, "annotate it with kopiur.home-operations.com/privileged-movers=true")
	}
}

func TestNamespace(t *testing.T) {
	t.Parallel()
	_, err := gates.Namespace(t.Context(), shelf{err: errors.New("gone")}, "apps")
	require.EqualError(t, err, "get namespace apps: gone")
}

// C-3: maintenance is never held back by slowness.
func TestMaintenance(t *testing.T) {
	t.Parallel()
	repo := func(phase kopiurv1.RepositoryPhase, reason string, change ...func(*moverjob.Repository)) *moverjob.Repository {
		r := s3()
		r.Status = kopiurv1.RepositoryStatus{Phase: phase, UniqueID: "aa", Conditions: []metav1.Condition{{Type: kopiurv1.ConditionReady, Reason: reason}}}
		for _, f := range change {
			f(&r)
		}
		return &r
	}
	unknown := func(r *moverjob.Repository) { r.Status.UniqueID = "" }
	suspended := func(r *moverjob.Repository) { r.Spec.Suspend = true }
	readOnly := func(r *moverjob.Repository) { r.Spec.Mode = kopiurv1.ModeReadOnly }
	for name, tc := range map[string]struct {
		in   *moverjob.Repository
		want string // the reason it is held back for
	}{
		"a Ready repository":                        {repo(kopiurv1.RepositoryReady, kopiurv1.ReasonReachable), ""},
		"one whose probes are too slow":             {repo(kopiurv1.RepositoryDegraded, kopiurv1.ReasonProbeDeadlineExceeded), ""},
		"one whose first connects are too slow now": {repo(kopiurv1.RepositoryDegraded, kopiurv1.ReasonBootstrapDeadlineExceeded), ""},
		"not one that was never connected to":       {repo(kopiurv1.RepositoryDegraded, kopiurv1.ReasonBootstrapDeadlineExceeded, unknown), kopiurv1.ReasonRepositoryNotReady},
		"not one that does not answer":              {repo(kopiurv1.RepositoryDegraded, kopiurv1.ReasonBackendUnreachable), kopiurv1.ReasonRepositoryNotReady},
		"not one whose password is wrong":           {repo(kopiurv1.RepositoryFailed, "AuthFailure"), kopiurv1.ReasonRepositoryNotReady},
		"not one that is suspended":                 {repo(kopiurv1.RepositoryDegraded, kopiurv1.ReasonProbeDeadlineExceeded, suspended), kopiurv1.ReasonRepositoryNotReady},
		"not one that is read-only":                 {repo(kopiurv1.RepositoryDegraded, kopiurv1.ReasonProbeDeadlineExceeded, readOnly), kopiurv1.ReasonRepositoryReadOnly},
		"not one that is read-only and Ready":       {repo(kopiurv1.RepositoryReady, kopiurv1.ReasonReachable, readOnly), kopiurv1.ReasonRepositoryReadOnly},
		"not one that does not exist":               {nil, kopiurv1.ReasonMissingDependency},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := gates.Maintenance("Repository apps/nas", tc.in)
			assert.Equal(t, tc.want == "", v.Open)
			if !v.Open {
				assert.Equal(t, tc.want, v.Reason)
			}
		})
	}
}
