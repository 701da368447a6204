// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package restore_test

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// Needs the API server of KOPIUR_TEST_KUBECONFIG.
func TestMain(m *testing.M) { os.Exit(testenv.Main(m)) }

// world is a namespace with a repository, its Secret, a policy and a Snapshot that succeeded.
type world struct {
	*testenv.Env
	Repository *kopiurv1.Repository
	Secret     *corev1.Secret
	Policy     *kopiurv1.SnapshotPolicy
	Snapshot   *kopiurv1.Snapshot
}

func newWorld(t *testing.T) *world {
	t.Helper()
	env := testenv.New(t)
	w := &world{
		Env: env,
		Repository: &kopiurv1.Repository{ObjectMeta: metav1.ObjectMeta{Name: "nas"}, Spec: kopiurv1.RepositorySpec{
			Encryption: kopiurv1.Encryption{PasswordSecretRef: kopiurv1.SecretKeyRef{Name: "password"}},
			Backend:    kopiurv1.Backend{S3: &kopiurv1.S3Backend{Bucket: "b"}},
		}},
		Secret: testenv.Secret("password", map[string]string{"KOPIA_PASSWORD": "x"}),
		Policy: &kopiurv1.SnapshotPolicy{ObjectMeta: metav1.ObjectMeta{Name: "db"}, Spec: kopiurv1.SnapshotPolicySpec{
			Repository: &kopiurv1.RepositoryRef{Name: "nas"},
			Sources:    []kopiurv1.Source{{PVC: &kopiurv1.LocalRef{Name: "data"}}},
			CopyMethod: kopiurv1.CopyDirect,
			Files:      &kopiurv1.Files{IgnoreRules: []string{}},
		}},
		// It has succeeded before its own reconciler sees it.
		Snapshot: &kopiurv1.Snapshot{ObjectMeta: metav1.ObjectMeta{Name: "monday"}},
	}
	env.Create(w.Secret, w.Repository, w.Policy, w.Snapshot)
	w.setStatus(w.Snapshot, func() {
		w.Snapshot.Status = kopiurv1.SnapshotStatus{
			Phase: kopiurv1.SnapshotSucceeded,
			Snapshot: &kopiurv1.StoredSnapshot{KopiaSnapshotID: "k1", Identity: kopiurv1.Identity{
				Username: "db", Hostname: env.Namespace, SourcePath: "/pvc/data",
			}},
			Timing: &kopiurv1.Timing{StartTime: "2026-03-02T02:00:00Z", EndTime: "2026-03-02T02:01:00Z"},
			Resolved: &kopiurv1.SnapshotResolved{Repository: &kopiurv1.RepositoryRef{
				Name: "nas", Kind: kopiurv1.KindRepository, Namespace: env.Namespace,
			}},
		}
	})
	return w
}

// begin starts the controller and waits until the repository is Ready and at rest.
func (w *world) begin() *testenv.Controller {
	w.T.Helper()
	c := w.StartController()
	w.untilConnected(w.Repository)
	return c
}

func (w *world) untilConnected(r *kopiurv1.Repository) {
	w.T.Helper()
	require.EventuallyWithT(w.T, func(c *assert.CollectT) {
		require.NoError(c, w.Client.Get(w.T.Context(), client.ObjectKeyFromObject(r), r))
		assert.Equal(c, kopiurv1.RepositoryReady, r.Status.Phase)
		for _, j := range w.jobsOf(r) {
			assert.NotNil(c, j.Spec.TTLSecondsAfterFinished)
		}
	}, testenv.Wait, testenv.Tick)
}

func (w *world) setStatus(obj client.Object, change func()) {
	w.T.Helper()
	base := obj.DeepCopyObject().(client.Object) //nolint:forcetypeassert // a copy has the type of its original
	change()
	require.NoError(w.T, w.Client.Status().Patch(w.T.Context(), obj, client.MergeFrom(base)))
}

func (w *world) update(obj client.Object, change func()) {
	w.T.Helper()
	w.Get(obj)
	base := obj.DeepCopyObject().(client.Object) //nolint:forcetypeassert // a copy has the type of its original
	change()
	require.NoError(w.T, w.Client.Patch(w.T.Context(), obj, client.MergeFrom(base)))
}

// restore makes a Restore of the Snapshot into a new claim, changed as asked.
func (w *world) restore(change ...func(*kopiurv1.RestoreSpec)) *kopiurv1.Restore {
	w.T.Helper()
	r := &kopiurv1.Restore{ObjectMeta: metav1.ObjectMeta{Name: "back"}, Spec: kopiurv1.RestoreSpec{
		Source: kopiurv1.RestoreSource{SnapshotRef: &kopiurv1.ObjectRef{Name: "monday"}},
		Target: kopiurv1.RestoreTarget{PVC: &kopiurv1.TargetPVC{Name: "data-new", Capacity: "1Gi"}},
	}}
	for _, c := range change {
		c(&r.Spec)
	}
	w.Create(r)
	return r
}

func fromPolicy(s *kopiurv1.RestoreSpec) {
	s.Source = kopiurv1.RestoreSource{FromPolicy: &kopiurv1.FromPolicy{Name: "db"}}
}

func into(claim string) func(*kopiurv1.RestoreSpec) {
	return func(s *kopiurv1.RestoreSpec) {
		s.Target = kopiurv1.RestoreTarget{PVCRef: &kopiurv1.TargetPVCRef{Name: claim}}
	}
}

func (w *world) claim(name string, modes ...corev1.PersistentVolumeAccessMode) *corev1.PersistentVolumeClaim {
	w.T.Helper()
	if len(modes) == 0 {
		modes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	}
	pvc := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: modes,
		Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
	}}
	w.Create(pvc)
	return pvc
}

// until waits for a Restore to have a condition with this reason, and returns it as it was then.
func (w *world) until(r *kopiurv1.Restore, kind string, status metav1.ConditionStatus, reason string) {
	w.T.Helper()
	require.EventuallyWithT(w.T, func(c *assert.CollectT) {
		require.NoError(c, w.Client.Get(w.T.Context(), client.ObjectKeyFromObject(r), r))
		got := conditionOf(r, kind)
		assert.Equal(c, string(status)+"/"+reason, string(got.Status)+"/"+got.Reason, "%s of %s: %v", kind, r.Status.Phase, r.Status.Conditions)
	}, testenv.Wait, testenv.Tick)
}

func (w *world) untilReady(r *kopiurv1.Restore) {
	w.T.Helper()
	w.until(r, kopiurv1.ConditionReady, metav1.ConditionTrue, kopiurv1.ReasonRestoreSucceeded)
}

func conditionOf(r *kopiurv1.Restore, kind string) metav1.Condition {
	return testenv.Condition(r.Status.Conditions, kind)
}

// settles waits until a Restore is left alone for a while: what it asked of others may come back to it once more before.
func (w *world) settles(r *kopiurv1.Restore) {
	w.T.Helper()
	require.EventuallyWithT(w.T, func(c *assert.CollectT) {
		w.GetC(c, r)
		version, rest := r.ResourceVersion, time.NewTimer(1500*time.Millisecond)
		defer rest.Stop()
		<-rest.C
		w.GetC(c, r)
		assert.Equal(c, version, r.ResourceVersion, "a status that is written for nothing wakes its own reconciler")
	}, testenv.Wait, testenv.Tick)
}

// rests asserts that nothing writes the Restore any more, once its present generation was dealt with.
func (w *world) rests(r *kopiurv1.Restore) {
	w.T.Helper()
	require.EventuallyWithT(w.T, func(c *assert.CollectT) {
		w.GetC(c, r)
		assert.Equal(c, r.Generation, r.Status.ObservedGeneration)
	}, testenv.Wait, testenv.Tick)
	w.Quiet(r, 1500*time.Millisecond)
}
