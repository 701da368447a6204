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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	// Tests count movers over days. Maintenance has tests of its own.
	r.Spec.Maintenance = &kopiurv1.RepositoryMaintenance{Enabled: new(false)}
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

// repository is one of either kind, as a test of both sees it.
type repository struct {
	client.Object

	spec   *kopiurv1.RepositorySpec
	status *kopiurv1.RepositoryStatus
	// home is where its Secrets and its Jobs are.
	home string
}

// bothKinds runs a test of what the two kinds have in common. The ClusterRepository's Secrets are in a namespace of
// their own, where its home is; they exist when the test begins, and so does a policy's claim in the test's namespace.
func bothKinds(t *testing.T, test func(t *testing.T, env *testenv.Env, r *repository)) {
	t.Helper()
	t.Run("Repository", func(t *testing.T) {
		t.Parallel()
		env := testenv.New(t)
		r := nas()
		env.Create(secrets()...)
		test(t, env, &repository{Object: r, spec: &r.Spec, status: &r.Status, home: env.Namespace})
	})
	t.Run("ClusterRepository", func(t *testing.T) {
		t.Parallel()
		env := testenv.New(t)
		r := offsite(env)
		home := env.AddNamespace()
		r.Spec.Encryption.PasswordSecretRef.Namespace = home
		for _, s := range secrets() {
			s.SetNamespace(home)
			env.Create(s)
		}
		env.Create(secrets()...) // and where the movers of its users run
		test(t, env, &repository{Object: r, spec: &r.Spec.RepositorySpec, status: &r.Status, home: home})
	})
}

// ref is how a policy in the test's namespace names the repository.
func (r *repository) ref() *kopiurv1.RepositoryRef {
	if _, ok := r.Object.(*kopiurv1.ClusterRepository); ok {
		return &kopiurv1.RepositoryRef{Name: r.GetName(), Kind: kopiurv1.KindClusterRepository}
	}
	return &kopiurv1.RepositoryRef{Name: r.GetName()}
}

// touch changes one of the repository's own Secrets.
func (r *repository) touch(env *testenv.Env, name string) {
	s := testenv.Secret(name, nil)
	s.Namespace = r.home
	env.Touch(s)
}

// expect is the same for either kind.
func (r *repository) expect(t *testing.T, env *testenv.Env, phase kopiurv1.RepositoryPhase, reason string) {
	t.Helper()
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		env.GetC(c, r.Object)
		ready := condition(r.status.Conditions, kopiurv1.ConditionReady)
		require.NotNil(c, ready)
		require.Equal(c, reason, ready.Reason, ready.Message)
		require.Equal(c, phase, r.status.Phase)
	}, testenv.Wait, testenv.Tick)
	kstatus(t, *r.status, r.GetGeneration())
}

// looked waits until the n-th look has ended and is recorded, and its Job is the only one that is left.
func (r *repository) looked(t *testing.T, env *testenv.Env, n int32) {
	t.Helper()
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		env.GetC(c, r.Object)
		require.NotNil(c, r.status.Job)
		require.Equal(c, n, r.status.Job.Attempts)
		require.NotEmpty(c, r.status.Job.FinishedAt)
		var list batchv1.JobList
		require.NoError(c, env.Client.List(t.Context(), &list, client.InNamespace(r.home), client.MatchingLabels{kopiurv1.LabelOwnerUID: string(r.GetUID())}))
		require.Len(c, list.Items, 1, "one Job is left of all looks")
		require.NotNil(c, list.Items[0].Spec.TTLSecondsAfterFinished, "and goes by itself")
	}, testenv.Wait, testenv.Tick)
}

// backup makes a policy for the repository, and its claim.
func (r *repository) backup(env *testenv.Env) {
	env.Create(testenv.Claim("data"), &kopiurv1.SnapshotPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: kopiurv1.SnapshotPolicySpec{
			Repository: r.ref(), Sources: []kopiurv1.Source{{PVC: &kopiurv1.LocalRef{Name: "data"}}}, CopyMethod: kopiurv1.CopyDirect,
		},
	})
}

func snapshot(name string) *kopiurv1.Snapshot {
	return &kopiurv1.Snapshot{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: kopiurv1.SnapshotSpec{
		PolicyRef: &kopiurv1.PolicyRef{Name: "web"},
		// Tests move the clock, and the API server dates its pods by another.
		FailurePolicy: &kopiurv1.FailurePolicy{PodStartupDeadlineSeconds: new(int64(10_000_000))},
	}}
}

// expectSnapshot waits for a Snapshot's phase and reason.
func expectSnapshot(t *testing.T, env *testenv.Env, s *kopiurv1.Snapshot, phase kopiurv1.SnapshotPhase, reason string) {
	t.Helper()
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		env.GetC(c, s)
		ready := condition(s.Status.Conditions, kopiurv1.ConditionReady)
		require.NotNil(c, ready)
		require.Equal(c, reason, ready.Reason, ready.Message)
		require.Equal(c, phase, s.Status.Phase)
	}, testenv.Wait, testenv.Tick)
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
