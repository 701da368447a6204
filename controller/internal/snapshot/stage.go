// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"context"
	"fmt"

	vsv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/contents"
	"github.com/kopiur/kopiur/controller/internal/decide/plan"
	"github.com/kopiur/kopiur/controller/internal/decide/staging"
	"github.com/kopiur/kopiur/controller/internal/loop"
	"github.com/kopiur/kopiur/controller/internal/workload"
)

// operationStage marks the objects of a copy.
const operationStage = "snapshot-stage"

// ensureWatch starts the watch on VolumeSnapshots once the kind is there.
func (r *Reconciler) ensureWatch() error {
	r.watching.Lock()
	defer r.watching.Unlock()
	if r.watched || r.watchStaged == nil {
		return nil
	}
	if err := r.watchStaged(); err != nil {
		return fmt.Errorf("watch VolumeSnapshots: %w", err)
	}
	r.watched = true
	return nil
}

// stage stores the intent, then makes the next object of the copy.
func (r *Reconciler) stage(ctx context.Context, s *scope) error {
	st := &s.obj.Status
	if st.Staged == nil {
		pinned := plan.Pin(s.obj, s.w.Policy, *s.plan.Choice)
		st.Staged, st.Resolved = &pinned, new(plan.ResolvedOf(s.obj, s.w.Policy))
		// Before anything is made: what is stored here is found, used again and removed after any crash.
		if err := s.patcher.Write(ctx); err != nil {
			return fmt.Errorf("stage: %w", err)
		}
	}
	switch s.plan.Staging.Step {
	case staging.CreateSnapshot:
		if err := r.ensureWatch(); err != nil {
			return err
		}
		if err := r.create(ctx, r.volumeSnapshot(s)); err != nil {
			return err
		}
	case staging.CreateClaim:
		if st.Staged.VolumeGroupSnapshotName == "" { // a group is whoever's has made it
			if err := r.releaseContent(ctx, s.w.VolumeSnapshot); err != nil {
				return err
			}
		}
		if err := r.create(ctx, r.stagedClaim(s)); err != nil {
			return err
		}
	default:
	}
	// The new object's first event is the next turn.
	return loop.Wait{After: settleAfter, Reason: s.plan.Reason, Message: s.plan.Message}
}

// create makes an object of a derived name. One that exists is looked at by the next turn, which also tells whose it is.
func (r *Reconciler) create(ctx context.Context, obj client.Object) error {
	if err := r.Client.Create(ctx, obj); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create %T %s: %w", obj, client.ObjectKeyFromObject(obj), err)
	}
	return nil
}

func (r *Reconciler) stagedMeta(s *scope, name string) metav1.ObjectMeta {
	version, kind := plan.GVK.ToAPIVersionAndKind()
	return metav1.ObjectMeta{
		Name: name, Namespace: s.obj.Namespace,
		Labels: map[string]string{
			kopiurv1.LabelManagedBy: kopiurv1.ManagedByValue,
			kopiurv1.LabelOperation: operationStage,
			kopiurv1.LabelOwnerUID:  string(s.obj.UID),
			kopiurv1.LabelPolicy:    kopiurv1.LabelValue(s.w.Policy.Name),
		},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: version, Kind: kind, Name: s.obj.Name, UID: s.obj.UID, Controller: new(true)}},
	}
}

func (r *Reconciler) volumeSnapshot(s *scope) *vsv1.VolumeSnapshot {
	return &vsv1.VolumeSnapshot{
		ObjectMeta: r.stagedMeta(s, s.obj.Status.Staged.VolumeSnapshotName),
		Spec: vsv1.VolumeSnapshotSpec{
			Source:                  vsv1.VolumeSnapshotSource{PersistentVolumeClaimName: new(s.w.Source.Name)},
			VolumeSnapshotClassName: new(s.plan.Choice.SnapshotClass),
		},
	}
}

func (r *Reconciler) stagedClaim(s *scope) *corev1.PersistentVolumeClaim {
	st, source := s.obj.Status.Staged, s.w.Source
	modes := source.Spec.AccessModes
	if p := s.w.Policy.Spec.Staging; p != nil && len(p.AccessModes) > 0 {
		modes = p.AccessModes
	}
	from := &corev1.TypedLocalObjectReference{Kind: "PersistentVolumeClaim", Name: source.Name}
	if st.CopyMethod == kopiurv1.CopySnapshot {
		from = &corev1.TypedLocalObjectReference{APIGroup: new(vsv1.GroupName), Kind: "VolumeSnapshot", Name: st.VolumeSnapshotName}
	}
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: r.stagedMeta(s, st.PVCName),
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes:      modes,
			StorageClassName: new(st.StorageClassName),
			VolumeMode:       source.Spec.VolumeMode,
			DataSource:       from,
			Resources:        corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: s.plan.Staging.Size}},
		},
	}
}

// unstage removes the next object of the copy. It is only decided on once no pod can use the copy any more.
func (r *Reconciler) unstage(ctx context.Context, s *scope) (ctrl.Result, error) {
	var err error
	switch s.plan.Removal {
	case staging.RemoveClaim:
		if err = r.releaseVolume(ctx, s.w.StagedClaim); err == nil {
			err = r.remove(ctx, s.w.StagedClaim, s.w.StagedClaim.UID)
		}
		if err == nil {
			err = r.removePods(ctx, s.obj, s.w.StagedClaim)
		}
	case staging.RemoveSnapshot:
		if err = r.releaseContent(ctx, s.w.VolumeSnapshot); err == nil {
			vs := &vsv1.VolumeSnapshot{ObjectMeta: metav1.ObjectMeta{Namespace: s.obj.Namespace, Name: s.w.VolumeSnapshot.Name}}
			err = r.remove(ctx, vs, s.w.VolumeSnapshot.UID)
		}
	case staging.AwaitRemoval:
		err = r.removePods(ctx, s.obj, s.w.StagedClaim) // again, if the turn before was cut short
	case staging.Clean:
		s.obj.Status.Staged = nil
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	if s.plan.Phase == "" || s.plan.Phase.Terminal() {
		return ctrl.Result{RequeueAfter: settleAfter}, nil
	}
	return ctrl.Result{}, loop.Wait{After: settleAfter, Reason: s.plan.Reason, Message: s.plan.Message}
}

// removePods removes the ended movers that hold a claim. A claim that is deleted stays, with all its storage, for as long
// as a pod names it, also one that is over: it would be there until the Job's time to live has passed. Their results and
// the end of their logs are in the status by now.
func (r *Reconciler) removePods(ctx context.Context, obj *kopiurv1.Snapshot, claim *corev1.PersistentVolumeClaim) error {
	if claim == nil {
		return nil
	}
	var pods corev1.PodList
	if err := r.Client.List(ctx, &pods, client.InNamespace(obj.Namespace), client.MatchingLabels{
		kopiurv1.LabelManagedBy: kopiurv1.ManagedByValue,
		kopiurv1.LabelOwnerUID:  string(obj.UID),
	}); err != nil {
		return fmt.Errorf("list movers of snapshot %s/%s: %w", obj.Namespace, obj.Name, err)
	}
	for i := range pods.Items {
		p := &pods.Items[i]
		if !workload.Ended(p) || p.DeletionTimestamp != nil || !workload.Mounts(p.Spec, claim.Name) {
			continue
		}
		if err := r.remove(ctx, p, p.UID); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reconciler) remove(ctx context.Context, obj client.Object, uid types.UID) error {
	err := r.Client.Delete(ctx, obj, client.Preconditions{UID: &uid})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("delete %T %s: %w", obj, client.ObjectKeyFromObject(obj), err)
	}
	return nil
}

// releaseContent lets a snapshot's content go with it, whatever its class says (acceptance A-2). It is done as soon as
// the content is there, because a Snapshot that is deleted takes its VolumeSnapshot along without asking us.
func (r *Reconciler) releaseContent(ctx context.Context, vs *staging.Snapshot) error {
	return contents.Release(ctx, r.Live, r.Client, vs, false) //nolint:wrapcheck // says what it did
}

// releaseVolume lets the volume of a staged claim go with it, whatever its class says.
func (r *Reconciler) releaseVolume(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	if claim == nil || claim.Spec.VolumeName == "" {
		return nil
	}
	pv, ok, err := get(ctx, r.Live, client.ObjectKey{Name: claim.Spec.VolumeName}, &corev1.PersistentVolume{})
	if err != nil || !ok {
		return err
	}
	ours := pv.Spec.ClaimRef != nil && pv.Spec.ClaimRef.UID == claim.UID
	if !ours || pv.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimRetain {
		return nil
	}
	return r.patch(ctx, pv, `{"spec":{"persistentVolumeReclaimPolicy":"Delete"}}`)
}

func (r *Reconciler) patch(ctx context.Context, obj client.Object, merge string) error {
	if err := r.Client.Patch(ctx, obj, client.RawPatch(types.MergePatchType, []byte(merge))); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("patch %T %s: %w", obj, client.ObjectKeyFromObject(obj), err)
	}
	return nil
}
