// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package populator_test

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// Needs the API server of KOPIUR_TEST_KUBECONFIG.
func TestMain(m *testing.M) { os.Exit(testenv.Main(m)) }

// world is a namespace with a repository, a policy of two claims and a class for those that are to be filled.
type world struct {
	*testenv.Env
	*binder
	Repository *kopiurv1.Repository
	Policy     *kopiurv1.SnapshotPolicy
}

func newWorld(t *testing.T, mode storagev1.VolumeBindingMode) *world {
	t.Helper()
	env := testenv.New(t)
	w := &world{
		Env: env, binder: startBinder(env, mode),
		Repository: &kopiurv1.Repository{ObjectMeta: metav1.ObjectMeta{Name: "nas"}, Spec: kopiurv1.RepositorySpec{
			Encryption: kopiurv1.Encryption{PasswordSecretRef: kopiurv1.SecretKeyRef{Name: "password"}},
			Backend:    kopiurv1.Backend{S3: &kopiurv1.S3Backend{Bucket: "b"}},
		}},
		Policy: &kopiurv1.SnapshotPolicy{ObjectMeta: metav1.ObjectMeta{Name: "shop"}, Spec: kopiurv1.SnapshotPolicySpec{
			Repository: &kopiurv1.RepositoryRef{Name: "nas"}, CopyMethod: kopiurv1.CopyDirect, GroupBy: kopiurv1.GroupByNone,
			Sources: []kopiurv1.Source{{PVC: &kopiurv1.LocalRef{Name: "data"}}, {PVC: &kopiurv1.LocalRef{Name: "logs"}}},
			Files:   &kopiurv1.Files{IgnoreRules: []string{}},
		}},
	}
	env.Create(testenv.Secret("password", map[string]string{"KOPIA_PASSWORD": "x"}), w.Repository, w.Policy)
	return w
}

// begin starts the controller and waits until the repository is Ready and at rest.
func (w *world) begin() *testenv.Controller {
	w.T.Helper()
	c := w.StartController()
	require.EventuallyWithT(w.T, func(c *assert.CollectT) {
		w.GetC(c, w.Repository)
		assert.Equal(c, kopiurv1.RepositoryReady, w.Repository.Status.Phase)
		for _, j := range w.jobsOf(w.Repository) {
			assert.NotNil(c, j.Spec.TTLSecondsAfterFinished)
		}
	}, testenv.Wait, testenv.Tick)
	return c
}

func (w *world) jobsOf(obj client.Object) []batchv1.Job {
	w.T.Helper()
	var list batchv1.JobList
	require.NoError(w.T, w.Client.List(w.T.Context(), &list, client.InNamespace(w.Namespace), client.MatchingLabels{kopiurv1.LabelOwnerUID: string(obj.GetUID())}))
	return list.Items
}

func (w *world) populator(change ...func(*kopiurv1.RestoreSpec)) *kopiurv1.Restore {
	w.T.Helper()
	r := &kopiurv1.Restore{ObjectMeta: metav1.ObjectMeta{Name: "fill"}, Spec: kopiurv1.RestoreSpec{
		Source: kopiurv1.RestoreSource{FromPolicy: &kopiurv1.FromPolicy{Name: "shop"}},
		Target: kopiurv1.RestoreTarget{Populator: &kopiurv1.PopulatorTarget{}},
	}}
	for _, c := range change {
		c(&r.Spec)
	}
	w.Create(r)
	return r
}

func failing(s *kopiurv1.RestoreSpec) {
	s.Policy = &kopiurv1.RestorePolicy{OnMissingSnapshot: kopiurv1.OnMissingFail}
}

// wanting makes a claim that the Restore is to fill.
func (w *world) wanting(name string, change ...func(*corev1.PersistentVolumeClaim)) *corev1.PersistentVolumeClaim {
	w.T.Helper()
	c := testenv.Claim(name)
	c.Spec.StorageClassName = &w.class.Name
	c.Spec.DataSourceRef = &corev1.TypedObjectReference{APIGroup: new(kopiurv1.GroupName), Kind: "Restore", Name: "fill"}
	for _, f := range change {
		f(c)
	}
	w.Create(c)
	return c
}

func (w *world) prime(c *corev1.PersistentVolumeClaim) (*corev1.PersistentVolumeClaim, bool) {
	w.T.Helper()
	var p corev1.PersistentVolumeClaim
	err := w.Client.Get(w.T.Context(), client.ObjectKey{Namespace: w.Namespace, Name: "prime-" + string(c.UID)}, &p)
	if !apierrors.IsNotFound(err) {
		require.NoError(w.T, err)
	}
	return &p, err == nil
}

// untilFilled waits until a claim is bound, its record says so and nothing is left of the way there.
func (w *world) untilFilled(r *kopiurv1.Restore, c *corev1.PersistentVolumeClaim, reason string) *corev1.PersistentVolume {
	w.T.Helper()
	var pv corev1.PersistentVolume
	require.EventuallyWithT(w.T, func(t *assert.CollectT) {
		w.GetC(t, c)
		w.GetC(t, r)
		rec := r.Status.Claims[c.Name]
		require.Equal(t, string(kopiurv1.ClaimPopulated)+"/"+reason, string(rec.Phase)+"/"+rec.Reason, "%s: %v", rec.Message, r.Status.Conditions)
		require.Equal(t, corev1.ClaimBound, c.Status.Phase)
		require.NoError(t, w.Client.Get(w.T.Context(), client.ObjectKey{Name: c.Spec.VolumeName}, &pv))
		_, left := w.prime(c)
		require.False(t, left, "the helper claim is gone")
	}, testenv.Wait, testenv.Tick)
	assert.Equal(w.T, corev1.PersistentVolumeReclaimDelete, pv.Spec.PersistentVolumeReclaimPolicy, "as the class says")
	assert.Empty(w.T, pv.Annotations[kopiurv1.AnnotationReclaimPolicy])
	return &pv
}

// untilClaim waits for a claim's record to have this phase and reason.
func (w *world) untilClaim(r *kopiurv1.Restore, name string, phase kopiurv1.ClaimPhase, reason string) kopiurv1.RestoreClaim {
	w.T.Helper()
	require.EventuallyWithT(w.T, func(t *assert.CollectT) {
		w.GetC(t, r)
		rec := r.Status.Claims[name]
		assert.Equal(t, string(phase)+"/"+reason, string(rec.Phase)+"/"+rec.Reason, rec.Message)
	}, testenv.Wait, testenv.Tick)
	return r.Status.Claims[name]
}

// until waits for a Restore to have a condition with this reason.
func (w *world) until(r *kopiurv1.Restore, kind string, status metav1.ConditionStatus, reason string) {
	w.T.Helper()
	require.EventuallyWithT(w.T, func(c *assert.CollectT) {
		w.GetC(c, r)
		got := conditionOf(r, kind)
		assert.Equal(c, string(status)+"/"+reason, string(got.Status)+"/"+got.Reason, "%s of %s: %v", kind, r.Status.Phase, r.Status.Conditions)
	}, testenv.Wait, testenv.Tick)
}

func conditionOf(r *kopiurv1.Restore, kind string) metav1.Condition {
	return testenv.Condition(r.Status.Conditions, kind)
}

// answer makes every resolve mover answer this; all others succeed.
func (w *world) answer(of func(testenv.Call) work.Resolution) {
	w.Mover(func(c testenv.Call) testenv.Play {
		p := testenv.Succeed(c)
		if c.Spec.Operation.Resolve != nil {
			if a := of(c); a != work.ResolutionFound {
				p.Result.Resolve = &work.ResolveResult{Resolution: a}
			}
		}
		return p
	})
}

func (w *world) update(obj client.Object, change func()) {
	w.T.Helper()
	w.Get(obj)
	require.NoError(w.T, w.patch(w.T.Context(), obj, change))
}

// rests asserts that nothing writes the Restore any more.
func (w *world) rests(r *kopiurv1.Restore) {
	w.T.Helper()
	w.Quiet(r, 1500*time.Millisecond)
}

// untilEvent waits for an event about a claim.
func (w *world) untilEvent(obj client.Object, kind, reason string) {
	w.T.Helper()
	reader, err := client.New(w.Config, client.Options{}) // the controller's own scheme has no events
	require.NoError(w.T, err)
	require.EventuallyWithT(w.T, func(c *assert.CollectT) {
		var list eventsv1.EventList
		require.NoError(c, reader.List(w.T.Context(), &list, client.InNamespace(w.Namespace)))
		var got []string
		for i := range list.Items {
			if list.Items[i].Regarding.UID == obj.GetUID() {
				got = append(got, list.Items[i].Regarding.Kind+"/"+list.Items[i].Type+"/"+list.Items[i].Reason)
			}
		}
		assert.Contains(c, got, "PersistentVolumeClaim/"+kind+"/"+reason)
	}, testenv.Wait, testenv.Tick)
}
