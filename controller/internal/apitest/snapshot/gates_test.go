// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// TestGatesHealByThemselves closes one gate at a time, and opens it without touching the Snapshot.
func TestGatesHealByThemselves(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		// close is called before anything exists; open heals it.
		close  func(l *lab)
		kind   string
		reason string
		says   string
		open   func(l *lab)
	}{
		"a missing policy": {
			close: func(l *lab) { l.leaveOut = l.policy }, kind: kopiurv1.ConditionReady, reason: kopiurv1.ReasonMissingDependency,
			says: "/web does not exist", open: func(l *lab) { l.Create(l.policy) },
		},
		"a suspended policy": {
			close: func(l *lab) { l.policy.Spec.Suspend = true }, kind: kopiurv1.ConditionReady, reason: kopiurv1.ReasonSuspended,
			says: "web is suspended", open: func(l *lab) { l.Change(l.policy, func() { l.policy.Spec.Suspend = false }) },
		},
		"a policy that cannot be carried out": {
			close: func(l *lab) { l.policy.Spec.Sources[0].ReadOnly = new(false) }, kind: kopiurv1.ConditionReady, reason: kopiurv1.ReasonInvalidSpec,
			says: "acknowledgeLiveMutation", open: func(l *lab) {
				l.Change(l.policy, func() { l.policy.Spec.Sources[0].AcknowledgeLiveMutation = true })
			},
		},
		"a missing repository": {
			close: func(l *lab) { l.leaveOut = l.repository }, kind: kopiurv1.ConditionRepositoryReady, reason: kopiurv1.ReasonMissingDependency,
			says: "/nas does not exist", open: func(l *lab) { l.Create(l.repository) },
		},
		"a read-only repository": {
			close: func(l *lab) { l.repository.Spec.Mode = kopiurv1.ModeReadOnly }, kind: kopiurv1.ConditionRepositoryWritable, reason: kopiurv1.ReasonRepositoryReadOnly,
			says: "takes no snapshots", open: func(l *lab) {
				// A change while it connects would take its Job away from the fake mover.
				require.EventuallyWithT(l.t, func(c *assert.CollectT) {
					l.GetC(c, l.repository)
					assert.Equal(c, kopiurv1.RepositoryReady, l.repository.Status.Phase)
				}, testenv.Wait, testenv.Tick)
				l.Change(l.repository, func() { l.repository.Spec.Mode = kopiurv1.ModeReadWrite })
			},
		},
		"a missing password Secret": {
			close: func(l *lab) { l.leaveOut = l.password }, kind: kopiurv1.ConditionRepositoryReady, reason: kopiurv1.ReasonRepositoryNotReady,
			says: "nas is Pending", open: func(l *lab) { l.Create(l.password) },
		},
		"a missing source": {
			close: func(l *lab) { l.leaveOut = l.source }, kind: kopiurv1.ConditionSourcePVCAvailable, reason: kopiurv1.ReasonSourcePVCMissing,
			says: "/data, the source, does not exist", open: func(l *lab) { l.Create(l.source) },
		},
		"a privilege without the namespace's consent": {
			close: func(l *lab) { l.policy.Spec.Mover = &kopiurv1.MoverSpec{PrivilegedMode: new(true)} },
			kind:  kopiurv1.ConditionMoverPermitted, reason: kopiurv1.ReasonPrivilegedMoverNotPermitted, says: "uid 0",
			open: func(l *lab) {
				ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: l.Namespace}}
				l.Annotate(ns, kopiurv1.AnnotationPrivilegedMovers, "true")
			},
		},
		"a repository claim that is not in the namespace": {
			close: func(l *lab) {
				l.repository.Spec.Backend = kopiurv1.Backend{Filesystem: &kopiurv1.FilesystemBackend{Path: "/repository", Volume: &kopiurv1.RepositoryVolume{PVC: &kopiurv1.LocalRef{Name: "store"}}}}
			},
			kind: kopiurv1.ConditionRepositoryReady, reason: kopiurv1.ReasonRepositoryNotReady, says: "nas is Pending",
			open: func(l *lab) { l.Create(claim("store")) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			tc.close(l)
			l.create()
			l.StartController()
			c := l.waits(tc.kind, metav1.ConditionFalse, tc.reason)
			assert.Contains(t, c.Message, tc.says)
			assert.Equal(t, kopiurv1.SnapshotPending, l.snapshot.Status.Phase)
			assert.Equal(t, metav1.ConditionTrue, condition(l.snapshot, kopiurv1.ConditionReconciling).Status)
			assert.Empty(t, l.jobs(), "nothing runs before its gates are open")
			tc.open(l)
			l.succeeds()
			assert.Equal(t, metav1.ConditionFalse, condition(l.snapshot, kopiurv1.ConditionReconciling).Status)
			assert.NotEqual(t, metav1.ConditionFalse, condition(l.snapshot, tc.kind).Status)
		})
	}
}

// TestCredentialsWhereTheMoverRuns: a Secret of a ClusterRepository has to be in the namespace of the data, and the
// Snapshot starts when it appears there.
func TestCredentialsWhereTheMoverRuns(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	home := l.AddNamespace()
	password := testenv.Secret("password", map[string]string{"KOPIA_PASSWORD": "x"})
	password.Namespace = home
	cluster := &kopiurv1.ClusterRepository{ObjectMeta: metav1.ObjectMeta{Name: "offsite-" + l.Namespace}}
	cluster.Spec.RepositorySpec = l.repository.Spec
	cluster.Spec.Encryption.PasswordSecretRef.Namespace = home
	cluster.Spec.AllowedNamespaces = kopiurv1.AllowedNamespaces{List: []string{"other"}}
	l.policy.Spec.Repository = &kopiurv1.RepositoryRef{Name: cluster.Name, Kind: kopiurv1.KindClusterRepository}
	l.Create(password, cluster, l.policy, l.source, l.snapshot)
	l.StartController()
	l.waits(kopiurv1.ConditionRepositoryReady, metav1.ConditionFalse, kopiurv1.ReasonNamespaceNotAllowed)
	l.Change(cluster, func() { cluster.Spec.AllowedNamespaces.List = append(cluster.Spec.AllowedNamespaces.List, l.Namespace) })
	c := l.waits(kopiurv1.ConditionCredentialsAvailable, metav1.ConditionFalse, kopiurv1.ReasonMissingCredentialsSecret)
	assert.Contains(t, c.Message, "Secret "+l.Namespace+"/password does not exist")
	l.Create(testenv.Secret("password", map[string]string{"KOPIA_PASSWORD": "x"}))
	l.succeeds()
}

// TestReadWriteOncePodInUse fails at once with advice, instead of a pod that waits for ever.
func TestReadWriteOncePodInUse(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.source.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}
	l.create()
	l.Create(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "app"},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "app", Image: "app"}},
			Volumes:    []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}},
		},
	})
	l.StartController()
	c := l.waits(kopiurv1.ConditionStalled, metav1.ConditionTrue, kopiurv1.ReasonPVCInUse)
	assert.Contains(t, c.Message, "pod app uses it: use copyMethod Snapshot or Clone")
	assert.Empty(t, l.jobs())
}

// TestWritableSourceSaysSo: what the kubelet did to groups and modes is told (D19).
func TestWritableSourceSaysSo(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.policy.Spec.Sources[0].ReadOnly, l.policy.Spec.Sources[0].AcknowledgeLiveMutation = new(false), true
	l.create()
	l.StartController()
	l.succeeds()
	assert.Equal(t, metav1.ConditionTrue, condition(l.snapshot, kopiurv1.ConditionMetadataAltered).Status)
	job := l.jobs()[0]
	for _, v := range job.Spec.Template.Spec.Volumes {
		if v.Name == "source" {
			assert.False(t, v.PersistentVolumeClaim.ReadOnly)
		}
	}
}

// TestPolicyTellsOfItsSnapshots: resolved identity, the repository and the last success.
func TestPolicyTellsOfItsSnapshots(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.create()
	l.StartController()
	l.succeeds()
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		l.GetC(c, l.policy)
		st := l.policy.Status
		require.NotNil(c, st.Resolved)
		assert.Equal(c, kopiurv1.Identity{Username: "web", Hostname: l.Namespace}, *st.Resolved.Identity)
		assert.Equal(c, []kopiurv1.ResolvedSource{{PVC: l.Namespace + "/data", SourcePath: "/pvc/data"}}, st.Resolved.Sources)
		assert.Equal(c, "Repository "+l.Namespace+"/nas", st.RepositorySummary)
		assert.Equal(c, l.snapshot.Status.Timing.EndTime, st.LastSuccessfulSnapshot)
		assert.Equal(c, kopiurv1.ReasonPolicyReady, policyCondition(l.policy, kopiurv1.ConditionReady).Reason)
	}, testenv.Wait, testenv.Tick)

	// Another policy with the same identity and path: both are told.
	twin := l.policy.DeepCopy()
	twin.ObjectMeta = metav1.ObjectMeta{Name: "twin"}
	twin.Spec.Identity = &kopiurv1.PolicyIdentity{Username: "web"}
	l.Create(twin)
	for policy, other := range map[*kopiurv1.SnapshotPolicy]string{twin: "/web", l.policy: "/twin"} {
		require.EventuallyWithT(t, func(c *assert.CollectT) {
			l.GetC(c, policy)
			stalled := policyCondition(policy, kopiurv1.ConditionStalled)
			assert.Equal(c, metav1.ConditionTrue, stalled.Status)
			assert.Equal(c, kopiurv1.ReasonIdentityCollision, stalled.Reason)
			assert.Contains(c, stalled.Message, other)
		}, testenv.Wait, testenv.Tick)
	}
	require.NoError(t, l.Client.Delete(t.Context(), twin))
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		l.GetC(c, l.policy)
		assert.Equal(c, metav1.ConditionTrue, policyCondition(l.policy, kopiurv1.ConditionReady).Status)
	}, testenv.Wait, testenv.Tick)
}

func policyCondition(p *kopiurv1.SnapshotPolicy, kind string) metav1.Condition {
	for _, c := range p.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return metav1.Condition{}
}
