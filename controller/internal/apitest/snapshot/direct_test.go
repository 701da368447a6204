// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot_test

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// Needs the API server of KOPIUR_TEST_KUBECONFIG.
func TestMain(m *testing.M) { os.Exit(testenv.Main(m)) }

// lab is one test's namespace with what a backup needs.
type lab struct {
	*testenv.Env
	t          *testing.T
	repository *kopiurv1.Repository
	policy     *kopiurv1.SnapshotPolicy
	snapshot   *kopiurv1.Snapshot
	password   *corev1.Secret
	source     *corev1.PersistentVolumeClaim
	// leaveOut is one of the above that create does not create.
	leaveOut client.Object
}

func newLab(t *testing.T) *lab {
	t.Helper()
	l := &lab{Env: testenv.New(t), t: t, source: claim("data"), password: testenv.Secret("password", map[string]string{"KOPIA_PASSWORD": "x"})}
	l.repository = &kopiurv1.Repository{
		ObjectMeta: metav1.ObjectMeta{Name: "nas"},
		Spec: kopiurv1.RepositorySpec{
			Backend:    kopiurv1.Backend{S3: &kopiurv1.S3Backend{Bucket: "backups"}},
			Encryption: kopiurv1.Encryption{PasswordSecretRef: kopiurv1.SecretKeyRef{Name: "password"}},
		},
	}
	l.policy = &kopiurv1.SnapshotPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: kopiurv1.SnapshotPolicySpec{
			Repository: &kopiurv1.RepositoryRef{Name: "nas"},
			Sources:    []kopiurv1.Source{{PVC: &kopiurv1.LocalRef{Name: "data"}}},
			CopyMethod: kopiurv1.CopyDirect,
		},
	}
	l.snapshot = &kopiurv1.Snapshot{
		ObjectMeta: metav1.ObjectMeta{Name: "one"},
		Spec:       kopiurv1.SnapshotSpec{PolicyRef: &kopiurv1.PolicyRef{Name: "web"}, Description: "before the upgrade", Tags: map[string]string{"team": "a"}},
	}
	return l
}

func claim(name string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			StorageClassName: new(""),
			Resources:        corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
}

// base makes repository, password and policy.
func (l *lab) base() {
	l.t.Helper()
	l.Create(l.password, l.repository, l.policy)
}

// create makes everything that a Direct backup needs, but for what is left out.
func (l *lab) create() {
	l.t.Helper()
	for _, obj := range []client.Object{l.password, l.repository, l.policy, l.source, l.snapshot} {
		if obj != l.leaveOut {
			l.Create(obj)
		}
	}
}

// until waits for the Snapshot to pass check.
func (l *lab) until(check func(c *assert.CollectT, s *kopiurv1.Snapshot)) {
	l.t.Helper()
	require.EventuallyWithT(l.t, func(c *assert.CollectT) {
		if !assert.NoError(c, l.Client.Get(l.t.Context(), client.ObjectKeyFromObject(l.snapshot), l.snapshot)) {
			return
		}
		check(c, l.snapshot)
	}, testenv.Wait, testenv.Tick)
}

func condition(s *kopiurv1.Snapshot, kind string) metav1.Condition {
	return testenv.Condition(s.Status.Conditions, kind)
}

// waits returns a condition once it has this status and reason.
func (l *lab) waits(kind string, status metav1.ConditionStatus, reason string) metav1.Condition {
	l.t.Helper()
	var got metav1.Condition
	l.until(func(c *assert.CollectT, s *kopiurv1.Snapshot) {
		got = condition(s, kind)
		assert.Equal(c, status, got.Status, "%s: %+v", kind, s.Status)
		assert.Equal(c, reason, got.Reason)
	})
	return got
}

// succeeds waits for the success, and for the turn after it that retires the Job.
func (l *lab) succeeds() {
	l.t.Helper()
	l.waits(kopiurv1.ConditionReady, metav1.ConditionTrue, kopiurv1.ReasonSnapshotSucceeded)
	l.settled()
}

func (l *lab) settled() {
	l.t.Helper()
	require.EventuallyWithT(l.t, func(c *assert.CollectT) {
		for _, j := range l.jobs() {
			assert.NotNil(c, j.Spec.TTLSecondsAfterFinished, "the Job is retired once its result is recorded")
		}
		if assert.NoError(c, l.Client.Get(l.t.Context(), client.ObjectKeyFromObject(l.snapshot), l.snapshot)) {
			assert.Nil(c, l.snapshot.Status.Staged, "the copy is gone")
			if l.snapshot.Status.Snapshot != nil {
				assert.Equal(c, l.snapshot.Status.Snapshot.KopiaSnapshotID, l.snapshot.Labels[kopiurv1.LabelSnapshotID])
			}
		}
	}, testenv.Wait, testenv.Tick)
}

func (l *lab) jobs() []batchv1.Job {
	l.t.Helper()
	var jobs batchv1.JobList
	require.NoError(l.t, l.Client.List(l.t.Context(), &jobs, client.InNamespace(l.Namespace), client.MatchingLabels{kopiurv1.LabelOwnerUID: string(l.snapshot.UID)}))
	return jobs.Items
}

// runs are the movers that took a snapshot.
func (l *lab) runs() []testenv.Call {
	l.t.Helper()
	var out []testenv.Call
	for _, c := range l.Calls() {
		if c.Spec.Operation.Snapshot != nil {
			out = append(out, c)
		}
	}
	return out
}

// atRest proves that nothing is written while nothing happens (acceptance E-5).
func (l *lab) atRest() {
	l.t.Helper()
	l.Create(testenv.Secret("unrelated", map[string]string{"a": "b"}))
	l.Get(l.snapshot)
	l.Quiet(l.snapshot, time.Second)
}

// TestDirectBackup: all that a backup leaves in its status, which is not written again at rest (E-5).
func TestDirectBackup(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.base()
	l.Create(claim("data"), l.snapshot)
	l.StartController()
	l.succeeds()

	st := l.snapshot.Status
	assert.Equal(t, kopiurv1.SnapshotSucceeded, st.Phase)
	assert.Equal(t, kopiurv1.OriginManual, st.Origin)
	require.NotNil(t, st.Snapshot)
	assert.Equal(t, kopiurv1.StoredSnapshot{
		KopiaSnapshotID: "k" + string(l.snapshot.UID), Description: "before the upgrade",
		Identity: kopiurv1.Identity{Username: "web", Hostname: l.Namespace, SourcePath: "/pvc/data"},
	}, *st.Snapshot)
	require.NotNil(t, st.Stats)
	assert.Equal(t, int64(4096), st.Stats.SizeBytes)
	assert.NotEmpty(t, st.Timing.EndTime)
	assert.Equal(t, int32(1), st.Job.Attempts)
	for kind, want := range map[string]metav1.ConditionStatus{
		kopiurv1.ConditionReady: metav1.ConditionTrue, kopiurv1.ConditionReconciling: metav1.ConditionFalse,
		kopiurv1.ConditionStalled: metav1.ConditionFalse, kopiurv1.ConditionRepositoryReady: metav1.ConditionTrue,
		kopiurv1.ConditionCredentialsAvailable: metav1.ConditionTrue, kopiurv1.ConditionSourcePVCAvailable: metav1.ConditionTrue,
		kopiurv1.ConditionMoverPermitted: metav1.ConditionTrue, kopiurv1.ConditionSnapshotCreated: metav1.ConditionTrue,
	} {
		assert.Equal(t, want, condition(l.snapshot, kind).Status, kind)
	}
	for k, v := range map[string]string{
		kopiurv1.LabelConfig: "web", kopiurv1.LabelPolicy: "web", kopiurv1.LabelOrigin: kopiurv1.OriginManual,
		kopiurv1.LabelRepositoryUID: string(l.repository.UID), kopiurv1.LabelSnapshotID: st.Snapshot.KopiaSnapshotID,
	} {
		assert.Equal(t, v, l.snapshot.Labels[k], k)
	}

	calls := l.runs()
	require.Len(t, calls, 1)
	op := calls[0].Spec.Operation.Snapshot
	require.NotNil(t, op)
	assert.Equal(t, string(l.snapshot.UID), calls[0].Spec.RequestID)
	assert.Equal(t, "web", op.Tags[work.TagConfig])
	assert.Equal(t, "a", op.Tags["team"])
	assert.JSONEq(t, `{"schema":1,"uid":65532,"gid":65532,"fsGroup":65532,"src":"defaults"}`, op.Tags[work.TagMeta])
	l.atRest()
}
