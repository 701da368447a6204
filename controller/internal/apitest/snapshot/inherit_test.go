// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
)

// application starts a pod of uid 999 that uses the claim on a node.
func (l *lab) application() *corev1.Pod {
	l.t.Helper()
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "db-0", Labels: map[string]string{"app": "db"}},
		Spec: corev1.PodSpec{
			NodeName: "node-of-the-db",
			Containers: []corev1.Container{{
				Name: "db", Image: "db", SecurityContext: &corev1.SecurityContext{RunAsUser: new(int64(999))},
				VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/data"}},
			}},
			Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}},
		},
	}
	l.Create(p)
	p.Status.Phase = corev1.PodRunning
	require.NoError(l.t, l.Client.Status().Update(l.t.Context(), p))
	return p
}

// J-2, F-7: a workload at zero parks the run with a name, and the run starts when it is scaled up; whom it ran as is
// recorded with the Snapshot and in the repository. It goes to the node where the application holds the volume.
func TestWorkloadAtZeroJ2F7(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.policy.Spec.Mover = &kopiurv1.MoverSpec{InheritSecurityContextFrom: &kopiurv1.InheritSecurityContextFrom{
		WorkloadSelector: &kopiurv1.WorkloadSelector{PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}},
	}}
	l.snapshot.Spec.FailurePolicy = &kopiurv1.FailurePolicy{PodStartupDeadlineSeconds: new(int64(3600))}
	clock := l.NewTime()
	l.SetClock(clock)
	l.create()
	l.StartController(clock.Decisions)
	c := l.waits(kopiurv1.ConditionSecurityContextResolved, metav1.ConditionFalse, kopiurv1.ReasonInheritSourceMissing)
	assert.Contains(t, c.Message, "no running pod matches app=db")
	assert.Equal(t, kopiurv1.SnapshotPending, l.snapshot.Status.Phase)
	assert.Empty(t, l.jobs())
	l.atRest()

	l.application()
	clock.Step(61 * time.Second)
	l.succeeds()
	assert.Equal(t, metav1.ConditionTrue, condition(l.snapshot, kopiurv1.ConditionSecurityContextResolved).Status)
	assert.Equal(t, &kopiurv1.Recorded{Schema: 1, Src: kopiurv1.RecordedInherited, UID: new(int64(999)), GID: new(int64(65532)), FSGroup: new(int64(65532))}, l.snapshot.Status.Recorded)
	assert.JSONEq(t, `{"schema":1,"uid":999,"gid":65532,"fsGroup":65532,"src":"inherited"}`, l.runs()[0].Spec.Operation.Snapshot.Tags[work.TagMeta])
	pod := l.jobs()[0].Spec.Template.Spec
	assert.Equal(t, int64(999), *pod.Containers[0].SecurityContext.RunAsUser)
	require.NotNil(t, pod.Affinity)
	assert.Equal(t, []string{"node-of-the-db"}, pod.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchFields[0].Values)
}
