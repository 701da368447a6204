// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package repository_test drives the repository reconcilers against a real API server.
package repository_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/loop"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// Needs the API server of KOPIUR_TEST_KUBECONFIG.
func TestMain(m *testing.M) { os.Exit(testenv.Main(m)) }

// nas is a repository in a bucket, with a password in Secret "password".
func nas() *kopiurv1.Repository {
	r := &kopiurv1.Repository{}
	r.Name = "nas"
	r.Spec.Backend.S3 = &kopiurv1.S3Backend{Bucket: "backups", Endpoint: "s3.example.org", Auth: &kopiurv1.BackendAuth{SecretRef: &kopiurv1.SecretRef{Name: "keys"}}}
	r.Spec.Encryption.PasswordSecretRef = kopiurv1.SecretKeyRef{Name: "password"}
	return r
}

func secrets() []client.Object {
	return []client.Object{
		testenv.Secret("password", map[string]string{"KOPIA_PASSWORD": "correct horse"}),
		testenv.Secret("keys", map[string]string{"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}),
	}
}

// expect waits until the repository's condition Ready has this reason, and then checks the rest at once: phase and
// conditions are one write.
func expect(t *testing.T, env *testenv.Env, r *kopiurv1.Repository, phase kopiurv1.RepositoryPhase, reason string) {
	t.Helper()
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		env.GetC(c, r)
		ready := condition(r.Status.Conditions, kopiurv1.ConditionReady)
		require.NotNil(c, ready)
		require.Equal(c, reason, ready.Reason, ready.Message)
		require.Equal(c, phase, r.Status.Phase)
	}, testenv.Wait, testenv.Tick)
	kstatus(t, r.Status, r.Generation)
}

// kstatus checks what D17 says about phases and conditions.
func kstatus(t *testing.T, s kopiurv1.RepositoryStatus, generation int64) {
	t.Helper()
	assert.Equal(t, generation, s.ObservedGeneration)
	assert.Equal(t, s.Phase == kopiurv1.RepositoryReady, loop.IsTrue(s.Conditions, kopiurv1.ConditionReady), "Ready")
	assert.Equal(t, s.Phase == kopiurv1.RepositoryFailed, loop.IsTrue(s.Conditions, kopiurv1.ConditionStalled), "Stalled")
	assert.Equal(t, s.Phase != kopiurv1.RepositoryReady && s.Phase != kopiurv1.RepositoryFailed, loop.IsTrue(s.Conditions, kopiurv1.ConditionReconciling), "Reconciling")
	for _, c := range s.Conditions {
		assert.Equal(t, generation, c.ObservedGeneration, c.Type)
	}
}

func jobs(t *testing.T, env *testenv.Env, namespace string) []batchv1.Job {
	t.Helper()
	var list batchv1.JobList
	require.NoError(t, env.Client.List(t.Context(), &list, client.InNamespace(namespace)))
	return list.Items
}

// failing answers with a code until it is told otherwise.
func failing(code work.Code, message string) func(testenv.Call) testenv.Play {
	return func(c testenv.Call) testenv.Play { return testenv.Fail(c, code, message) }
}

// events are the reasons of the events in the namespace.
func events(t *testing.T, env *testenv.Env) []string {
	t.Helper()
	c, err := client.New(env.Config, client.Options{Scheme: scheme.Scheme})
	require.NoError(t, err)
	var list eventsv1.EventList
	require.NoError(t, c.List(t.Context(), &list, client.InNamespace(env.Namespace)))
	var out []string
	for i := range list.Items {
		out = append(out, list.Items[i].Type+"/"+list.Items[i].Reason)
	}
	return out
}
