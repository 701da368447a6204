// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/contents"
	"github.com/kopiur/kopiur/controller/internal/decide/group"
	"github.com/kopiur/kopiur/controller/internal/decide/mapper"
	"github.com/kopiur/kopiur/controller/internal/decide/plan"
	"github.com/kopiur/kopiur/controller/internal/loop"
)

// +kubebuilder:rbac:groups=groupsnapshot.storage.k8s.io,resources=volumegroupsnapshots,verbs=get;list;watch;create
// +kubebuilder:rbac:groups=groupsnapshot.storage.k8s.io,resources=volumegroupsnapshotclasses,verbs=list
// +kubebuilder:rbac:groups=snapshot.storage.k8s.io,resources=volumesnapshots,verbs=list
// +kubebuilder:rbac:groups="",resources=persistentvolumeclaims,verbs=get;list;watch;patch

// lookAtGroup reads how far the cut of a run is: the group live, the run from the cache.
func (r *Reconciler) lookAtGroup(ctx context.Context, w *plan.World) error {
	s := w.Snapshot
	st := group.State{
		Name: group.Of(s), Claim: w.Source.Name, OfRun: s.Labels[kopiurv1.LabelGroup] == group.Of(s), Self: group.Claims(s) != nil, Began: s.CreationTimestamp.Time,
	}
	version, err := r.Groups.Version()
	if err != nil {
		return err //nolint:wrapcheck // says what it looked for
	}
	if st.Served = version != ""; st.Served {
		if err := r.Groups.Watch(); err != nil {
			return err //nolint:wrapcheck // says what it did
		}
		if err := r.run(ctx, s, &st); err != nil {
			return err
		}
		key := client.ObjectKey{Namespace: s.Namespace, Name: st.Name}
		if st.Group, err = r.Groups.Get(ctx, key); err != nil {
			return err //nolint:wrapcheck // says what it read
		}
		switch {
		case st.Group != nil && st.Group.Ready:
			err = r.lookAtMember(ctx, s.Namespace, &st)
		case st.Group == nil && st.Self:
			err = r.lookAtClaims(ctx, w, &st)
		}
	}
	w.Group = st
	return err
}

// run reads the other Snapshots whose claims are cut with this one's.
func (r *Reconciler) run(ctx context.Context, s *kopiurv1.Snapshot, st *group.State) error {
	var list kopiurv1.SnapshotList
	key := mapper.Named(s.Namespace, st.Name)
	if err := r.Client.List(ctx, &list, client.MatchingFields{mapper.FieldGroup: key}, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list the snapshots of group %s: %w", key, err)
	}
	if st.Self {
		st.Maker = &group.Maker{Name: s.Name, UID: s.UID}
	}
	for i := range list.Items {
		o := &list.Items[i]
		if o.UID == s.UID {
			continue
		}
		if o.Status.Staged != nil && o.Status.Staged.VolumeGroupSnapshotName == st.Name || o.Status.Phase.Terminal() && o.Status.Phase != kopiurv1.SnapshotFailed {
			st.Read = true
		}
		if group.Claims(o) == nil || st.Self || o.DeletionTimestamp != nil {
			continue
		}
		st.Maker = &group.Maker{Name: o.Name, UID: o.UID, Over: o.Status.Phase.Terminal(), Failed: o.Status.Phase == kopiurv1.SnapshotFailed}
		if ready := meta.FindStatusCondition(o.Status.Conditions, kopiurv1.ConditionReady); ready != nil {
			st.Maker.Why = ready.Message
		}
	}
	return nil
}

// lookAtMember finds the claim's VolumeSnapshot in a group.
func (r *Reconciler) lookAtMember(ctx context.Context, namespace string, st *group.State) error {
	members, err := r.Groups.Members(ctx, namespace, *st.Group)
	if err != nil {
		return err //nolint:wrapcheck // says what it listed
	}
	for i := range members {
		if name := members[i].Spec.Source.PersistentVolumeClaimName; name != nil && *name == st.Claim {
			st.Member = contents.SnapshotOf(&members[i])
		}
	}
	return nil
}

// lookAtClaims reads what is to be cut and with what.
func (r *Reconciler) lookAtClaims(ctx context.Context, w *plan.World, st *group.State) error {
	st.Plan.ClassName = w.Policy.Spec.VolumeSnapshotClassName
	for _, name := range group.Claims(w.Snapshot) {
		c, ok, err := get(ctx, r.Client, client.ObjectKey{Namespace: w.Snapshot.Namespace, Name: name}, &corev1.PersistentVolumeClaim{})
		if err != nil {
			return err
		}
		one := group.Claim{Name: name, Missing: !ok || c.DeletionTimestamp != nil}
		if ok {
			one.Label, one.Bound = c.Labels[kopiurv1.LabelGroup], c.Spec.VolumeName != "" && c.Status.Phase == corev1.ClaimBound
		}
		if one.Bound {
			pv, ok, err := get(ctx, r.Live, client.ObjectKey{Name: c.Spec.VolumeName}, &corev1.PersistentVolume{})
			if err != nil {
				return err
			}
			if one.Bound = ok; ok && pv.Spec.CSI != nil {
				one.Driver = pv.Spec.CSI.Driver
			}
		}
		st.Plan.Claims = append(st.Plan.Claims, one)
	}
	var err error
	st.Plan.Classes, err = r.Groups.Classes(ctx)
	return err //nolint:wrapcheck // says what it listed
}

// cut labels the claims of a run, and then makes the group that selects them. Both can be repeated.
func (r *Reconciler) cut(ctx context.Context, s *scope) error {
	v := s.plan.Group
	switch v.Step {
	case group.Label:
		for _, name := range v.Claims {
			if err := r.labelClaim(ctx, client.ObjectKey{Namespace: s.obj.Namespace, Name: name}, group.Of(s.obj)); err != nil {
				return err
			}
		}
	case group.Create:
		obj := r.stagedMeta(s, group.Of(s.obj))
		obj.OwnerReferences = nil // it serves the whole run, and goes when no Snapshot of that needs it
		obj.Labels[kopiurv1.LabelGroup] = group.Of(s.obj)
		g, err := r.Groups.New(obj, v.Class)
		if err != nil {
			return err //nolint:wrapcheck // says what it looked for
		}
		if err := r.create(ctx, g); err != nil {
			return err
		}
	default:
	}
	return loop.Wait{After: cacheLag, Reason: s.plan.Reason, Message: s.plan.Message}
}

// labelClaim marks a claim as one that is being cut. Two runs may want the same claim at the same time: the version that
// was read lets only one have it.
func (r *Reconciler) labelClaim(ctx context.Context, key client.ObjectKey, name string) error {
	c, ok, err := get(ctx, r.Client, key, &corev1.PersistentVolumeClaim{})
	if err != nil || !ok {
		return err
	}
	if was := c.Labels[kopiurv1.LabelGroup]; was != "" {
		return nil // the next turn sees whose it is
	}
	base := c.DeepCopy()
	metav1.SetMetaDataLabel(&c.ObjectMeta, kopiurv1.LabelGroup, name)
	err = r.Client.Patch(ctx, c, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{}))
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("label claim %s: %w", key, err)
	}
	return nil
}
