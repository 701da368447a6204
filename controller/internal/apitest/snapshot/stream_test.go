// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// streams makes the policy one of a command's output.
func (l *lab) streams() {
	l.policy.Spec.CopyMethod = kopiurv1.CopySnapshot
	l.policy.Spec.Sources = []kopiurv1.Source{{Stream: &kopiurv1.StreamSource{FileName: "shop.dump", WorkloadExec: kopiurv1.WorkloadExec{
		PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}, Command: []string{"pg_dump", "shop"},
	}}}}
	l.leaveOut = l.source
}

// database is the pod in which the command runs. Nothing runs pods here.
func (l *lab) database() {
	l.t.Helper()
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "db-0", Labels: map[string]string{"app": "db"}}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "db", Image: "db"}}}}
	l.Create(p)
	p.Status.Phase = corev1.PodRunning
	require.NoError(l.t, l.Client.Status().Update(l.t.Context(), p))
}

// grants are the rights that helpers have in the namespace.
func (l *lab) grants() []rbacv1.RoleBinding {
	l.t.Helper()
	var list rbacv1.RoleBindingList
	c, err := client.New(l.Config, client.Options{}) // the controller's own scheme has no roles
	require.NoError(l.t, err)
	require.NoError(l.t, c.List(l.t.Context(), &list, client.InNamespace(l.Namespace)))
	return list.Items
}

func (l *lab) allowCommands() {
	l.t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: l.Namespace}}
	require.NoError(l.t, l.Client.Get(l.t.Context(), client.ObjectKeyFromObject(ns), ns))
	l.Annotate(ns, kopiurv1.AnnotationStreamExecMovers, "true")
}

// The output of a command: nothing happens without the namespace's consent, and the right to run commands is there for as
// long as the run is.
func TestStream(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.streams()
	l.create()
	l.database()
	release := make(chan struct{})
	l.Mover(func(c testenv.Call) testenv.Play {
		p := testenv.Succeed(c)
		if c.Spec.Operation.StreamSnapshot != nil {
			p.Hold = release
		}
		return p
	})
	l.StartController()
	c := l.waits(kopiurv1.ConditionMoverPermitted, metav1.ConditionFalse, kopiurv1.ReasonStreamExecNotPermitted)
	assert.Contains(t, c.Message, "stream-exec-movers=true")
	assert.Empty(t, l.jobs())
	assert.Empty(t, l.grants(), "no right without consent")

	l.allowCommands()
	l.until(func(c *assert.CollectT, s *kopiurv1.Snapshot) {
		assert.Equal(c, kopiurv1.SnapshotRunning, s.Status.Phase)
	})
	jobs, grants := l.jobs(), l.grants()
	require.Len(t, jobs, 1)
	require.Len(t, grants, 1)
	assert.Equal(t, jobs[0].Name, grants[0].Name)
	assert.True(t, metav1.IsControlledBy(&grants[0], l.snapshot), "it goes with its Snapshot if nobody takes it back")
	assert.Equal(t, []rbacv1.Subject{{Kind: "ServiceAccount", Name: "kopiur-stream-mover", Namespace: l.Namespace}}, grants[0].Subjects)
	assert.Equal(t, jobs[0].Spec.Template.Spec.ServiceAccountName, grants[0].Subjects[0].Name)
	var sa corev1.ServiceAccount
	require.NoError(t, l.Client.Get(t.Context(), client.ObjectKey{Namespace: l.Namespace, Name: "kopiur-stream-mover"}, &sa))
	assert.False(t, *sa.AutomountServiceAccountToken, "no other pod gets its token by chance")

	close(release)
	l.succeeds()
	assert.Empty(t, l.grants(), "the right ends with the run")
	assert.Equal(t, kopiurv1.Identity{Username: "web", Hostname: l.Namespace, SourcePath: "/stream/shop.dump"}, l.snapshot.Status.Snapshot.Identity)
	assert.Equal(t, []kopiurv1.ResolvedSource{{SourcePath: "/stream/shop.dump"}}, l.snapshot.Status.Resolved.Sources)
	l.atRest()
}

// A producer that fails: nothing is recorded as stored, and the right is taken back all the same.
func TestStreamOfAFailingProducer(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.streams()
	l.snapshot.Spec.FailurePolicy = &kopiurv1.FailurePolicy{BackoffLimit: new(int32(0))}
	l.create()
	l.database()
	l.allowCommands()
	l.Mover(func(c testenv.Call) testenv.Play {
		if c.Spec.Operation.StreamSnapshot == nil {
			return testenv.Succeed(c)
		}
		return testenv.Fail(c, work.CodeSourceError, "the command ended with exit code 3; nothing was stored")
	})
	l.StartController()
	c := l.waits(kopiurv1.ConditionStalled, metav1.ConditionTrue, kopiurv1.ReasonSnapshotFailed)
	assert.Contains(t, c.Message, "exit code 3; nothing was stored")
	l.settled()
	assert.Nil(t, l.snapshot.Status.Snapshot)
	assert.Empty(t, l.grants())
}

// A pod that is not there is waited for, and one that appears is found.
func TestStreamWaitsForItsPod(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.streams()
	l.create()
	l.allowCommands()
	l.StartController()
	c := l.waits(kopiurv1.ConditionReady, metav1.ConditionFalse, kopiurv1.ReasonWorkloadNotFound)
	assert.Contains(t, c.Message, "no running pod matches app=db")
	l.database()
	l.Label(l.snapshot, "touched", "once") // foreign pods are not watched, but looked at once a minute
	l.succeeds()
}
