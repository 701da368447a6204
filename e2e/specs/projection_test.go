// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package specs

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/e2e/framework"
)

// clusterRepository makes one on an S3 server in its home namespace, for all namespaces, named after that namespace.
func clusterRepository(t *testing.T, e *framework.Env, home string) *kopiurv1.ClusterRepository {
	t.Helper()
	r := &kopiurv1.ClusterRepository{ObjectMeta: metav1.ObjectMeta{Name: home}}
	r.Spec.Backend = framework.OnS3(e.S3Server(t, home), framework.Bucket)
	r.Spec.Backend.S3.Auth.SecretRef.Namespace = home
	r.Spec.Encryption.PasswordSecretRef = kopiurv1.SecretKeyRef{Name: "password", Namespace: home}
	r.Spec.AllowedNamespaces = kopiurv1.AllowedNamespaces{All: new(true)}
	e.Create(t, framework.PasswordSecret(home, "password", framework.Password), r)
	t.Cleanup(func() {
		if err := client.IgnoreNotFound(e.Client.Delete(context.WithoutCancel(t.Context()), r)); err != nil {
			t.Errorf("delete ClusterRepository %s: %v", r.Name, err)
		}
	})
	return r
}

// E-1: TestCredentialsAcrossNamespaces: a policy asks for the credentials of a repository whose Secrets are in another
// namespace. They are copied once its owner agrees, and no sooner; two backups share one copy, which goes with the
// repository.
func TestCredentialsAcrossNamespaces(t *testing.T) {
	t.Parallel()
	e := framework.New(t)
	home, app := e.Namespace(t, nil), e.Namespace(t, nil)
	r := clusterRepository(t, e, home)
	e.WaitReady(t, r)
	copies := func() []corev1.Secret {
		var list corev1.SecretList
		require.NoError(t, e.Client.List(t.Context(), &list, client.InNamespace(app)))
		return list.Items
	}

	p := framework.Policy(app, "app", "data", kopiurv1.CopyDirect)
	p.Spec.Repository = &kopiurv1.RepositoryRef{Kind: kopiurv1.KindClusterRepository, Name: r.Name}
	p.Spec.CredentialProjection = &kopiurv1.CredentialProjection{Enabled: true}
	one, two := framework.Snapshot(app, "one", "app"), framework.Snapshot(app, "two", "app")
	e.Create(t, framework.PVC(app, "data", framework.ClassImmediate, "1Gi"), p, one)
	e.WaitCondition(t, one, kopiurv1.ConditionCredentialsAvailable, metav1.ConditionFalse, kopiurv1.ReasonBlockedOnGrant)
	assert.Contains(t, framework.Condition(one, kopiurv1.ConditionCredentialsAvailable).Message, "its owner sets spec.credentialProjection.allowed")
	assert.Empty(t, copies(), "the policy alone cannot have it")

	base := r.DeepCopy()
	r.Spec.CredentialProjection = &kopiurv1.ProjectionGate{Allowed: true}
	require.NoError(t, e.Client.Patch(t.Context(), r, client.MergeFrom(base)))
	e.WaitReady(t, one)
	e.Create(t, two)
	e.WaitReady(t, two)
	list := copies()
	require.Len(t, list, 1, "one copy, however many backups")
	assert.Equal(t, map[string][]byte{
		work.DefaultPasswordKey: []byte(framework.Password),
		work.KeyAWSAccessKeyID:  []byte(framework.S3AccessKey), work.KeyAWSSecretAccessKey: []byte(framework.S3SecretKey),
	}, list[0].Data)

	require.NoError(t, e.Client.Delete(t.Context(), r))
	e.Eventually(t, "the copy to go with the repository", func(context.Context) string {
		if n := len(copies()); n > 0 {
			return fmt.Sprintf("%d are there", n)
		}
		return ""
	})
}
