// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package contents reads VolumeSnapshots, and lets what a driver keeps for a VolumeSnapshot go with it, whatever its class says (acceptance A-2).
package contents

import (
	"context"
	"fmt"

	vsv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kopiur/kopiur/controller/internal/decide/staging"
)

// Released is what a content of a VolumeSnapshot, or of a VolumeGroupSnapshot, is told.
const Released = `{"spec":{"deletionPolicy":"Delete"}}`

// SnapshotOf is what matters of a VolumeSnapshot.
func SnapshotOf(vs *vsv1.VolumeSnapshot) *staging.Snapshot {
	out := &staging.Snapshot{
		Name: vs.Name, UID: vs.UID, Created: vs.CreationTimestamp.Time, Deleting: vs.DeletionTimestamp != nil,
	}
	if ref := metav1.GetControllerOf(vs); ref != nil {
		out.Owner = ref.UID
	}
	st := vs.Status
	if st == nil {
		return out
	}
	out.RestoreSize = st.RestoreSize
	if st.BoundVolumeSnapshotContentName != nil {
		out.Content = *st.BoundVolumeSnapshotContentName
	}
	// Ready without a content is a status that somebody else wrote: there is nothing to restore from (acceptance K-2).
	out.Ready = st.ReadyToUse != nil && *st.ReadyToUse && out.Content != ""
	if st.Error != nil && st.Error.Message != nil {
		out.Error = *st.Error.Message
	}
	return out
}

// Release tells the content of a VolumeSnapshot to go with it. made: the snapshot controller is known to have made it; where
// that is not known, its source tells.
func Release(ctx context.Context, live client.Reader, c client.Writer, vs *staging.Snapshot, made bool) error {
	if vs == nil || vs.Content == "" {
		return nil
	}
	obj := &vsv1.VolumeSnapshotContent{}
	if err := live.Get(ctx, client.ObjectKey{Name: vs.Content}, obj); err != nil {
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("get the content of VolumeSnapshot %s: %w", vs.Name, err)
	}
	content := &staging.Content{
		Name: obj.Name, SnapshotUID: obj.Spec.VolumeSnapshotRef.UID, Retain: obj.Spec.DeletionPolicy == vsv1.VolumeSnapshotContentRetain,
		Dynamic: made || obj.Spec.Source.VolumeHandle != nil,
	}
	if !staging.Release(content, vs) {
		return nil
	}
	if err := c.Patch(ctx, obj, client.RawPatch(types.MergePatchType, []byte(Released))); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("release the content of VolumeSnapshot %s: %w", vs.Name, err)
	}
	return nil
}
