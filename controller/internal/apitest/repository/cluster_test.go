// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package repository_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// offsite is a ClusterRepository. Its name is the test's own: it has no namespace to hide in.
func offsite(env *testenv.Env) *kopiurv1.ClusterRepository {
	r := &kopiurv1.ClusterRepository{}
	r.Name = "offsite-" + env.Namespace
	r.Spec.RepositorySpec = nas().Spec
	r.Spec.AllowedNamespaces.All = new(true)
	return r
}

func expectCluster(t *testing.T, env *testenv.Env, r *kopiurv1.ClusterRepository, phase kopiurv1.RepositoryPhase, reason string) {
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

func TestTheHomeOfAClusterRepository(t *testing.T) {
	t.Parallel()
	for name, named := range map[string]bool{
		"is the operator's namespace":                   false,
		"or that of its password Secret, where it says": true,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := testenv.New(t)
			home := env.Namespace
			r := offsite(env)
			if named {
				home = env.AddNamespace()
				r.Spec.Encryption.PasswordSecretRef.Namespace = home
			}
			env.Create(r)
			env.StartController()
			expectCluster(t, env, r, kopiurv1.RepositoryPending, kopiurv1.ReasonMissingCredentialsSecret)
			assert.Contains(t, condition(r.Status.Conditions, kopiurv1.ConditionReady).Message, home+"/password")
			for _, s := range secrets() {
				s.SetNamespace(home)
				env.Create(s)
			}
			expectCluster(t, env, r, kopiurv1.RepositoryReady, kopiurv1.ReasonReachable)
			require.Len(t, env.Calls(), 1)
			assert.Equal(t, home, env.Calls()[0].Namespace, "its Jobs run at home")
			list := jobs(t, env, home)
			require.Len(t, list, 1)
			assert.Equal(t, "ClusterRepository", list[0].OwnerReferences[0].Kind)
			require.NoError(t, env.Client.Get(t.Context(), client.ObjectKeyFromObject(r), r))
		})
	}
}
