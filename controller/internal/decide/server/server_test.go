// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/server"
	"github.com/kopiur/kopiur/controller/internal/gates"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

type option func(*server.Input)

// given is a repository that is connected to, asks for a web UI, and whose gates are open.
func given(opts ...option) server.Input {
	open := gates.Verdict{Open: true}
	in := server.Input{
		Repository: moverjob.Repository{
			Ref:    kopiurv1.RepositoryRef{Name: "nas", Kind: kopiurv1.KindRepository, Namespace: "apps"},
			Spec:   kopiurv1.RepositorySpec{Server: &kopiurv1.ServerSpec{}},
			Status: kopiurv1.RepositoryStatus{UniqueID: "0011"},
		},
		Namespace: "apps", Enabled: true, Creds: open, Volume: open, Auth: open, Permitted: open,
	}
	for _, o := range opts {
		o(&in)
	}
	return in
}

func closed(reason string) gates.Verdict { return gates.Verdict{Reason: reason, Message: "because"} }

func onClaim(modes ...corev1.PersistentVolumeAccessMode) option {
	return func(in *server.Input) {
		in.Claim = &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "share"}}
		in.Claim.Spec.AccessModes = modes
	}
}

// deployed is a Deployment whose latest generation has so many pods that answer.
func deployed(available int32) option {
	return func(in *server.Input) {
		in.Deployment = &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Generation: 2}}
		in.Deployment.Status = appsv1.DeploymentStatus{ObservedGeneration: 2, UpdatedReplicas: available, AvailableReplicas: available}
	}
}

func TestDecide(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		in        server.Input
		serve     bool
		available bool
		reason    string
	}{
		"one that is connected to is served":            {given(), true, false, kopiurv1.ReasonServerStarting},
		"and available once its pod answers":            {given(deployed(1)), true, true, kopiurv1.ReasonServerAvailable},
		"the pod of an older spec does not count":       {given(deployed(1), func(in *server.Input) { in.Deployment.Generation = 3 }), true, false, kopiurv1.ReasonServerStarting},
		"a pod that ended says why":                     {given(deployed(0), func(in *server.Input) { in.LastWords = "key password is missing" }), true, false, kopiurv1.ReasonServerFailed},
		"an old end does not matter while it is served": {given(deployed(1), func(in *server.Input) { in.LastWords = "killed" }), true, true, kopiurv1.ReasonServerAvailable},
		"an installation without web UIs serves none":   {given(func(in *server.Input) { in.Enabled = false }), false, false, kopiurv1.ReasonServerNotEnabled},
		"one that was never connected to is not served": {given(func(in *server.Input) { in.Repository.Status.UniqueID = "" }), false, false, kopiurv1.ReasonRepositoryNotReady},
		"a spec that makes no pod is refused":           {given(func(in *server.Input) { in.Refusal = "no rclone" }), false, false, kopiurv1.ReasonInvalidSpec},
		"what belongs to others is not touched":         {given(func(in *server.Input) { in.Taken = "Service apps/nas-kopia-ui" }), false, false, kopiurv1.ReasonServerNameTaken},
		"a claim for many nodes is shared":              {given(onClaim(corev1.ReadWriteOnce, corev1.ReadWriteMany)), true, false, kopiurv1.ReasonServerStarting},
		"a claim for one node would lock movers out":    {given(onClaim(corev1.ReadWriteOnce)), false, false, kopiurv1.ReasonServerVolumeNotShared},
		"a claim for one pod would as well":             {given(onClaim(corev1.ReadWriteOncePod)), false, false, kopiurv1.ReasonServerVolumeNotShared},
		"a claim that is not there is waited for":       {given(func(in *server.Input) { in.Volume = closed(kopiurv1.ReasonRepositoryVolumeNotReachable) }), false, false, kopiurv1.ReasonRepositoryVolumeNotReachable},
		"Secrets that are not there are waited for":     {given(func(in *server.Input) { in.Creds = closed(kopiurv1.ReasonMissingCredentialsSecret) }), false, false, kopiurv1.ReasonMissingCredentialsSecret},
		"a password that is not there is waited for":    {given(func(in *server.Input) { in.Auth = closed(kopiurv1.ReasonMissingCredentialsSecret) }), false, false, kopiurv1.ReasonMissingCredentialsSecret},
		"a privilege needs the namespace's consent":     {given(func(in *server.Input) { in.Permitted = closed(kopiurv1.ReasonPrivilegedMoverNotPermitted) }), false, false, kopiurv1.ReasonPrivilegedMoverNotPermitted},
		"a suspended one is not started":                {given(func(in *server.Input) { in.Repository.Spec.Suspend = true }), false, false, kopiurv1.ReasonSuspended},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := server.Decide(tc.in)
			assert.Equal(t, tc.serve, got.Serve)
			assert.Equal(t, tc.available, got.Available)
			assert.Equal(t, tc.reason, got.Reason)
			assert.NotEmpty(t, got.Message, "every verdict explains itself")
			assert.False(t, got.Gone, "what stands in the way takes nothing away")
		})
	}
}

func TestWithoutASpecNothingIsLeft(t *testing.T) {
	t.Parallel()
	assert.Equal(t, server.Verdict{Gone: true}, server.Decide(given(deployed(1), func(in *server.Input) { in.Repository.Spec.Server = nil })))
	assert.Equal(t, server.Verdict{Gone: true}, server.Decide(server.Input{}))
}

func TestASuspendedOneIsStopped(t *testing.T) {
	t.Parallel()
	got := server.Decide(given(deployed(1), func(in *server.Input) { in.Repository.Spec.Suspend = true }))
	assert.True(t, got.Serve)
	assert.True(t, got.Stopped)
	assert.False(t, got.Available)
}

func TestStatus(t *testing.T) {
	t.Parallel()
	assert.Equal(t, &kopiurv1.ServerStatus{
		Endpoint: "nas-kopia-ui.apps.svc:51515", Namespace: "apps", AuthMode: kopiurv1.ServerAuthGenerate,
		GeneratedSecretRef: &kopiurv1.SecretRef{Name: "nas-kopia-ui-auth", Namespace: "apps"},
	}, server.Decide(given()).Status)
	other := given(func(in *server.Input) {
		in.Repository.Spec.Mode = kopiurv1.ModeReadOnly
		in.Repository.Spec.Server = &kopiurv1.ServerSpec{
			Auth:    &kopiurv1.ServerAuth{SecretRef: &kopiurv1.ServerSecretRef{Name: "people"}},
			Service: &kopiurv1.ServerService{Port: new(int32(80))},
		}
	})
	assert.Equal(t, &kopiurv1.ServerStatus{
		Endpoint: "nas-kopia-ui.apps.svc:80", Namespace: "apps", AuthMode: kopiurv1.ServerAuthSecretRef, ReadOnly: true,
	}, server.Decide(other).Status)
	other.Creds = closed(kopiurv1.ReasonMissingCredentialsSecret)
	assert.Nil(t, server.Decide(other).Status, "there is nothing yet")
	deployed(1)(&other)
	assert.NotNil(t, server.Decide(other).Status, "what runs goes on")
}
