// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot_test

import (
	"testing"

	vgsv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	vsv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// theirs makes a VolumeGroupSnapshot that Kopiur has not made, of a class that retains, and waits for it.
func (l *lab) theirs(name string) *vgsv1.VolumeGroupSnapshot {
	l.t.Helper()
	mine := map[string]string{"app": "shop"}
	for _, claim := range []string{"data", "wal"} {
		l.Label(l.pvc(claim), "app", "shop")
	}
	g := &vgsv1.VolumeGroupSnapshot{ObjectMeta: metav1.ObjectMeta{Namespace: l.Namespace, Name: name, Labels: mine}}
	g.Spec.Source.Selector = &metav1.LabelSelector{MatchLabels: mine}
	l.Create(g)
	require.EventuallyWithT(l.t, func(c *assert.CollectT) {
		l.GetC(c, g)
		assert.True(c, g.Status != nil && g.Status.ReadyToUse != nil && *g.Status.ReadyToUse)
	}, testenv.Wait, testenv.Tick)
	return g
}

func (l *lab) pvc(name string) *corev1.PersistentVolumeClaim {
	l.t.Helper()
	var c corev1.PersistentVolumeClaim
	require.NoError(l.t, l.Client.Get(l.t.Context(), client.ObjectKey{Namespace: l.Namespace, Name: name}, &c))
	return &c
}

// untouched proves that somebody else's group is as it was.
func (l *lab) untouched(g *vgsv1.VolumeGroupSnapshot) {
	l.t.Helper()
	was := g.ResourceVersion
	l.Get(g)
	assert.Equal(l.t, was, g.ResourceVersion)
	var content vgsv1.VolumeGroupSnapshotContent
	require.NoError(l.t, l.Client.Get(l.t.Context(), client.ObjectKey{Name: *g.Status.BoundVolumeGroupSnapshotContentName}, &content))
	assert.Equal(l.t, vsv1.VolumeSnapshotContentRetain, content.Spec.DeletionPolicy)
	var members vsv1.VolumeSnapshotList
	require.NoError(l.t, l.Client.List(l.t.Context(), &members, client.InNamespace(l.Namespace)))
	require.Len(l.t, members.Items, 2)
	for i := range members.Items {
		var one vsv1.VolumeSnapshotContent
		require.NoError(l.t, l.Client.Get(l.t.Context(), client.ObjectKey{Name: *members.Items[i].Status.BoundVolumeSnapshotContentName}, &one))
		assert.Equal(l.t, vsv1.VolumeSnapshotContentRetain, one.Spec.DeletionPolicy)
	}
}

// TestAGroupOfTheUsers is read by a Snapshot that names it, and neither released nor deleted: not when that has ended, and not
// when it is deleted.
func TestAGroupOfTheUsers(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	st := l.together()
	st.set(func() { st.retain = true })
	g := l.theirs("theirs")
	l.StartController()
	l.ready()
	l.snapshot.Spec.Source = &kopiurv1.SnapshotSource{
		SourceIndex: 1, Group: &kopiurv1.SnapshotGroup{Namespace: l.Namespace, VolumeGroupSnapshotName: g.Name},
	}
	l.Create(l.snapshot)
	l.succeeds()
	assert.Equal(t, "/pvc/wal", l.snapshot.Status.Snapshot.Identity.SourcePath)
	l.atRest()
	l.untouched(g)
	require.NoError(t, l.Client.Delete(t.Context(), l.snapshot))
	l.gone(l.snapshot)
	l.untouched(g)
	assert.Len(t, st.made(), 1, "it was made once, by its user")
}

// TestAGroupWithTheNameOfARun is not read: it is of another instant. Nor is it touched; the run waits until it is gone.
func TestAGroupWithTheNameOfARun(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	st := l.together()
	st.groupClass()
	st.set(func() { st.retain = true })
	g := l.theirs("nightly-web")
	l.StartController()
	l.ready()
	run := l.run("nightly")
	for _, s := range run {
		l.snapshot = s
		c := l.waits(kopiurv1.ConditionSourceStaged, metav1.ConditionFalse, kopiurv1.ReasonStagingNameTaken)
		assert.Contains(t, c.Message, "start a run of another name")
	}
	l.untouched(g)
	assert.Empty(t, l.runs())

	require.NoError(t, l.Client.Delete(t.Context(), g))
	l.gone(g)
	for _, s := range run {
		l.Touch(s) // it would look again in a minute
		l.snapshot = s
		l.succeeds()
	}
	assert.Len(t, st.made(), 2)
	l.groupless()
}

func (l *lab) gone(obj client.Object) {
	l.t.Helper()
	require.EventuallyWithT(l.t, func(c *assert.CollectT) {
		err := l.Client.Get(l.t.Context(), client.ObjectKeyFromObject(obj), obj)
		assert.True(c, apierrors.IsNotFound(err), "%v", err)
	}, testenv.Wait, testenv.Tick)
}
