// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package repository_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// in puts objects into the repository's home.
func (r *repository) in(objs ...client.Object) []client.Object {
	for _, o := range objs {
		o.SetNamespace(r.home)
	}
	return objs
}

func config(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"ca.crt": "x"}}
}

func bundle(s *kopiurv1.RepositorySpec) {
	s.Backend.S3.TLS = &kopiurv1.S3TLS{CABundleRef: &kopiurv1.CABundleRef{ConfigMapName: "ca"}}
}

// TestWhatWakesARepository: each thing that a repository names and that comes, or changes, later. The controller would
// look again in an hour: only the watch can have healed it.
func TestWhatWakesARepository(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		spec func(*kopiurv1.RepositorySpec)
		// waits is the reason while it has not come.
		waits  string
		arrive func(env *testenv.Env, r *repository)
	}{
		"a Secret": {
			func(s *kopiurv1.RepositorySpec) { s.Backend.S3.Auth.SecretRef.Name = "other-keys" }, kopiurv1.ReasonMissingCredentialsSecret,
			func(env *testenv.Env, r *repository) {
				env.Create(r.in(testenv.Secret("other-keys", map[string]string{"AWS_ACCESS_KEY_ID": "a"}))...)
			},
		},
		"a CA bundle": {
			bundle, kopiurv1.ReasonMissingCredentialsSecret,
			func(env *testenv.Env, r *repository) { env.Create(r.in(config("ca"))...) },
		},
		"an account": {
			func(s *kopiurv1.RepositorySpec) {
				s.Backend.S3.Auth = &kopiurv1.BackendAuth{WorkloadIdentity: &kopiurv1.WorkloadIdentity{ServiceAccountName: "cloud"}}
			}, kopiurv1.ReasonMissingServiceAccount,
			func(env *testenv.Env, r *repository) {
				env.Create(r.in(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "cloud"}})...)
			},
		},
		"a claim": {
			func(s *kopiurv1.RepositorySpec) {
				s.Backend = kopiurv1.Backend{Filesystem: &kopiurv1.FilesystemBackend{Path: "/r", Volume: &kopiurv1.RepositoryVolume{PVC: &kopiurv1.LocalRef{Name: "share"}}}}
			}, kopiurv1.ReasonRepositoryVolumeNotReachable,
			func(env *testenv.Env, r *repository) { env.Create(r.in(testenv.Claim("share"))...) },
		},
		"a Namespace's consent": {
			func(s *kopiurv1.RepositorySpec) {
				s.Backend = kopiurv1.Backend{Filesystem: &kopiurv1.FilesystemBackend{Path: "/r"}}
			}, kopiurv1.ReasonPrivilegedMoverNotPermitted,
			func(env *testenv.Env, r *repository) {
				env.Annotate(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: r.home}}, kopiurv1.AnnotationPrivilegedMovers, "true")
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bothKinds(t, func(t *testing.T, env *testenv.Env, r *repository) {
				t.Helper()
				tc.spec(r.spec)
				env.Create(r.Object)
				env.StartController(testenv.OnlyWatches)
				r.expect(t, env, kopiurv1.RepositoryPending, tc.waits)
				tc.arrive(env, r)
				r.expect(t, env, kopiurv1.RepositoryReady, kopiurv1.ReasonReachable)
			})
		})
	}
}

// TestACorrectedCABundleReopens: the content of a ConfigMap is part of the credentials (C-2, C-15).
func TestACorrectedCABundleReopens(t *testing.T) {
	t.Parallel()
	bothKinds(t, func(t *testing.T, env *testenv.Env, r *repository) {
		t.Helper()
		bundle(r.spec)
		env.Mover(failing(work.CodeUnknown, "x509: certificate signed by unknown authority"))
		env.Create(r.in(config("ca"))...)
		env.Create(r.Object)
		env.StartController(testenv.OnlyWatches)
		r.expect(t, env, kopiurv1.RepositoryFailed, string(work.CodeUnknown))
		r.looked(t, env, 1)
		env.Mover(testenv.Succeed)
		env.Touch(r.in(config("ca"))[0])
		r.expect(t, env, kopiurv1.RepositoryReady, kopiurv1.ReasonReachable)
	})
}

// TestWhatWakesThoseWhoUseARepository: policy and Snapshot wait for the same thing and go on by themselves.
func TestWhatWakesThoseWhoUseARepository(t *testing.T) {
	t.Parallel()
	label := func(env *testenv.Env) {
		env.Label(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: env.Namespace}}, "backup", "yes")
	}
	for name, tc := range map[string]struct {
		prepare func(env *testenv.Env, r *repository)
		// late: the repository comes only with arrive.
		late   bool
		waits  string
		arrive func(env *testenv.Env, r *repository)
		// cluster: only a ClusterRepository knows this.
		cluster bool
	}{
		"a repository that comes": {
			late: true, waits: kopiurv1.ReasonMissingDependency,
			arrive: func(env *testenv.Env, r *repository) { env.Create(r.Object) },
		},
		"one whose store comes back": {
			prepare: func(env *testenv.Env, _ *repository) { env.Mover(looks(failing(work.CodeAuthFailure, "no"))) },
			waits:   kopiurv1.ReasonRepositoryNotReady,
			arrive: func(env *testenv.Env, r *repository) {
				env.Mover(testenv.Succeed)
				r.touch(env, "password")
			},
		},
		"one that is no longer suspended": {
			prepare: func(_ *testenv.Env, r *repository) { r.spec.Suspend = true }, waits: kopiurv1.ReasonRepositoryNotReady,
			arrive: func(env *testenv.Env, r *repository) { env.Change(r.Object, func() { r.spec.Suspend = false }) },
		},
		"one that may be written again": {
			prepare: func(_ *testenv.Env, r *repository) { r.spec.Mode = kopiurv1.ModeReadOnly }, waits: kopiurv1.ReasonRepositoryReadOnly,
			arrive: func(env *testenv.Env, r *repository) {
				env.Change(r.Object, func() { r.spec.Mode = kopiurv1.ModeReadWrite })
			},
		},
		"one whose owner allows the namespace": {
			cluster: true,
			prepare: func(_ *testenv.Env, r *repository) { allow(r, kopiurv1.AllowedNamespaces{List: []string{"elsewhere"}}) },
			waits:   kopiurv1.ReasonNamespaceNotAllowed,
			arrive: func(env *testenv.Env, r *repository) {
				env.Change(r.Object, func() { allow(r, kopiurv1.AllowedNamespaces{List: []string{"elsewhere", env.Namespace}}) })
			},
		},
		"a label that its owner asks for": {
			cluster: true,
			prepare: func(_ *testenv.Env, r *repository) {
				allow(r, kopiurv1.AllowedNamespaces{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"backup": "yes"}}})
			},
			waits:  kopiurv1.ReasonNamespaceNotAllowed,
			arrive: func(env *testenv.Env, _ *repository) { label(env) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bothKinds(t, func(t *testing.T, env *testenv.Env, r *repository) {
				t.Helper()
				if _, is := r.Object.(*kopiurv1.ClusterRepository); tc.cluster && !is {
					return // it has no owner but the namespace's
				}
				if tc.prepare != nil {
					tc.prepare(env, r)
				}
				if !tc.late {
					env.Create(r.Object)
				}
				r.backup(env)
				s := snapshot("one")
				env.Create(s)
				env.StartController(testenv.OnlyWatches)
				expectPolicy(t, env, tc.waits)
				expectSnapshot(t, env, s, kopiurv1.SnapshotPending, tc.waits)
				tc.arrive(env, r)
				expectPolicy(t, env, kopiurv1.ReasonPolicyReady)
				expectSnapshot(t, env, s, kopiurv1.SnapshotSucceeded, kopiurv1.ReasonSnapshotSucceeded)
			})
		})
	}
}

func allow(r *repository, a kopiurv1.AllowedNamespaces) {
	if c, ok := r.Object.(*kopiurv1.ClusterRepository); ok {
		c.Spec.AllowedNamespaces = a
	}
}

func expectPolicy(t *testing.T, env *testenv.Env, reason string) {
	t.Helper()
	p := &kopiurv1.SnapshotPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: env.Namespace, Name: "web"}}
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		env.GetC(c, p)
		ready := condition(p.Status.Conditions, kopiurv1.ConditionReady)
		require.NotNil(c, ready)
		require.Equal(c, reason, ready.Reason, ready.Message)
	}, testenv.Wait, testenv.Tick)
}

// TestAReadOnlyRepositoryRestores: that is all it does. Nothing asks its store for a change.
func TestAReadOnlyRepositoryRestores(t *testing.T) {
	t.Parallel()
	bothKinds(t, func(t *testing.T, env *testenv.Env, r *repository) {
		t.Helper()
		r.spec.Mode = kopiurv1.ModeReadOnly
		env.Create(r.Object)
		r.backup(env)
		s := snapshot("refused")
		env.Create(s, testenv.Claim("target"))
		restore := &kopiurv1.Restore{ObjectMeta: metav1.ObjectMeta{Name: "back"}, Spec: kopiurv1.RestoreSpec{
			Source:        kopiurv1.RestoreSource{FromPolicy: &kopiurv1.FromPolicy{Name: "web"}},
			Target:        kopiurv1.RestoreTarget{PVCRef: &kopiurv1.TargetPVCRef{Name: "target"}},
			FailurePolicy: s.Spec.FailurePolicy,
		}}
		env.Create(restore)
		env.StartController()
		r.expect(t, env, kopiurv1.RepositoryReady, kopiurv1.ReasonReachable)
		require.EventuallyWithT(t, func(c *assert.CollectT) {
			env.GetC(c, restore)
			assert.Equal(c, kopiurv1.RestoreCompleted, restore.Status.Phase)
		}, testenv.Wait, testenv.Tick)
		expectSnapshot(t, env, s, kopiurv1.SnapshotPending, kopiurv1.ReasonRepositoryReadOnly)
		for _, c := range env.Calls() {
			assert.True(t, c.Spec.Repository.ReadOnly)
			assert.Nil(t, c.Spec.Operation.Snapshot)
			if b := c.Spec.Operation.Bootstrap; b != nil {
				assert.Equal(t, work.Bootstrap{Catalog: &work.Catalog{}}, *b, "nothing is created, changed or taken over")
			}
		}
	})
}
