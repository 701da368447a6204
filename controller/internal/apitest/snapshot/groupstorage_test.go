// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot_test

import (
	"context"
	"slices"
	"time"

	vgsv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	vsv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// groups is what the storage plays of VolumeGroupSnapshots.
type groups struct {
	// hold keeps groups from being bound, unready from becoming ready; failure is what the driver complains about.
	hold, unready bool
	failure       string
	// cuts are the groups that were made, each with the claims that had its label at that moment.
	cuts []cut
}

type cut struct {
	name   string
	claims []string
}

// groupClass adds a VolumeGroupSnapshotClass of the driver.
func (s *storage) groupClass() {
	s.l.t.Helper()
	c := &vgsv1.VolumeGroupSnapshotClass{ObjectMeta: metav1.ObjectMeta{Name: s.l.Namespace}, Driver: s.driver, DeletionPolicy: vsv1.VolumeSnapshotContentDelete}
	s.l.Create(c)
	s.l.cleanup(c)
}

// made are the groups that were cut.
func (s *storage) made() []cut {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.groups.cuts)
}

func (s *storage) stepGroups(ctx context.Context) {
	var list vgsv1.VolumeGroupSnapshotList
	if s.l.Client.List(ctx, &list, client.InNamespace(s.l.Namespace)) != nil {
		return
	}
	for i := range list.Items {
		s.stepGroup(ctx, &list.Items[i])
	}
}

// stepGroup plays the snapshot controller and the driver: it looks for the claims once, and makes a VolumeSnapshot of each.
func (s *storage) stepGroup(ctx context.Context, g *vgsv1.VolumeGroupSnapshot) {
	content := &vgsv1.VolumeGroupSnapshotContent{ObjectMeta: metav1.ObjectMeta{Name: "groupsnapcontent-" + string(g.UID)}}
	switch {
	case len(g.Finalizers) == 0 && g.DeletionTimestamp == nil:
		s.patch(ctx, g, `{"metadata":{"finalizers":["groupsnapshot.storage.kubernetes.io/test"]}}`)
	case g.DeletionTimestamp != nil:
		var members vsv1.VolumeSnapshotList
		if s.l.Client.List(ctx, &members, client.InNamespace(g.Namespace)) != nil {
			return
		}
		for i := range members.Items {
			if ofGroup(&members.Items[i], g) {
				_ = s.l.Client.Delete(ctx, &members.Items[i])
			}
		}
		s.gone = append(s.gone, "VolumeGroupSnapshot")
		s.patch(ctx, g, `{"metadata":{"finalizers":null}}`)
	case s.groups.hold:
	case s.groups.failure != "":
		base := g.DeepCopy()
		g.Status = &vgsv1.VolumeGroupSnapshotStatus{ReadyToUse: new(false), Error: &vsv1.VolumeSnapshotError{Message: &s.groups.failure}}
		_ = s.l.Client.Status().Patch(ctx, g, client.MergeFrom(base))
	case g.Status == nil || g.Status.BoundVolumeGroupSnapshotContentName == nil:
		s.bindGroup(ctx, g, content)
	case !s.groups.unready && (g.Status.ReadyToUse == nil || !*g.Status.ReadyToUse):
		for _, claim := range s.groups.cuts[len(s.groups.cuts)-1].claims {
			s.memberOf(ctx, g, claim)
		}
		base := g.DeepCopy()
		g.Status.ReadyToUse, g.Status.Error = new(true), nil
		_ = s.l.Client.Status().Patch(ctx, g, client.MergeFrom(base))
	}
}

func ofGroup(vs *vsv1.VolumeSnapshot, g *vgsv1.VolumeGroupSnapshot) bool {
	return slices.ContainsFunc(vs.OwnerReferences, func(r metav1.OwnerReference) bool { return r.UID == g.UID })
}

func (s *storage) bindGroup(ctx context.Context, g *vgsv1.VolumeGroupSnapshot, content *vgsv1.VolumeGroupSnapshotContent) {
	var claims corev1.PersistentVolumeClaimList
	// As the snapshot controller does, which looks at matchLabels alone.
	if s.l.Client.List(ctx, &claims, client.InNamespace(g.Namespace), client.MatchingLabels(g.Spec.Source.Selector.MatchLabels)) != nil {
		return
	}
	one := cut{name: g.Name}
	var handles []string
	for i := range claims.Items {
		one.claims = append(one.claims, claims.Items[i].Name)
		handles = append(handles, string(claims.Items[i].UID))
	}
	content.Spec = vgsv1.VolumeGroupSnapshotContentSpec{
		VolumeGroupSnapshotRef: corev1.ObjectReference{Kind: "VolumeGroupSnapshot", Namespace: g.Namespace, Name: g.Name, UID: g.UID},
		DeletionPolicy:         s.policy(), Driver: s.driver, Source: vgsv1.VolumeGroupSnapshotContentSource{VolumeHandles: handles},
	}
	if s.l.Client.Create(ctx, content) == nil {
		s.l.cleanup(content)
		s.groups.cuts = append(s.groups.cuts, one)
	}
	base := g.DeepCopy()
	g.Status = &vgsv1.VolumeGroupSnapshotStatus{BoundVolumeGroupSnapshotContentName: &content.Name, ReadyToUse: new(false)}
	_ = s.l.Client.Status().Patch(ctx, g, client.MergeFrom(base))
}

func (s *storage) policy() vsv1.DeletionPolicy {
	if s.retain {
		return vsv1.VolumeSnapshotContentRetain
	}
	return vsv1.VolumeSnapshotContentDelete
}

// memberOf makes the VolumeSnapshot of one claim. Its content is stepSnapshot's business.
func (s *storage) memberOf(ctx context.Context, g *vgsv1.VolumeGroupSnapshot, claim string) {
	vs := &vsv1.VolumeSnapshot{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: g.Namespace, Name: "snapshot-" + string(g.UID)[:8] + "-" + claim,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: vgsv1.SchemeGroupVersion.String(), Kind: "VolumeGroupSnapshot", Name: g.Name, UID: g.UID}},
		},
		Spec: vsv1.VolumeSnapshotSpec{Source: vsv1.VolumeSnapshotSource{PersistentVolumeClaimName: &claim}},
	}
	_ = s.l.Client.Create(ctx, vs)
}

// together makes a policy that covers two claims which are to be cut at one instant, and their storage.
func (l *lab) together() *storage {
	l.t.Helper()
	require.NoError(l.t, vgsv1.AddToScheme(l.Client.Scheme()))
	// What a failed test leaves would keep its kind from being taken away. It runs after the storage has ended.
	l.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		var left vgsv1.VolumeGroupSnapshotList
		_ = l.Client.List(ctx, &left, client.InNamespace(l.Namespace))
		for i := range left.Items {
			_ = l.Client.Patch(ctx, &left.Items[i], client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
		}
	})
	l.policy.Spec.CopyMethod = kopiurv1.CopySnapshot
	l.policy.Spec.Sources = []kopiurv1.Source{{PVC: &kopiurv1.LocalRef{Name: "data"}}, {PVC: &kopiurv1.LocalRef{Name: "wal"}}}
	l.base()
	st := l.withStorage(storagev1.VolumeBindingImmediate)
	wal := claim("wal")
	wal.Spec.StorageClassName = new(st.class.Name)
	l.Create(wal)
	return st
}

// groupless proves that neither a group nor a label of one is left.
func (l *lab) groupless() {
	l.t.Helper()
	l.nothingStaged()
	require.EventuallyWithT(l.t, func(c *assert.CollectT) {
		var list vgsv1.VolumeGroupSnapshotList
		require.NoError(c, l.Client.List(l.t.Context(), &list, client.InNamespace(l.Namespace)))
		assert.Empty(c, list.Items)
		var claims corev1.PersistentVolumeClaimList
		require.NoError(c, l.Client.List(l.t.Context(), &claims, client.InNamespace(l.Namespace), client.HasLabels{kopiurv1.LabelGroup}))
		assert.Empty(c, claims.Items)
	}, testenv.Wait, testenv.Tick)
}
