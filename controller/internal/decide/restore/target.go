// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// target passes once the claim may be written, or is planned to be made. It plans nothing else: a claim of the user is
// never deleted, changed or taken over (K-7).
func (d *decision) target() bool {
	if t := d.Restore.Spec.Target.StreamExec; t != nil {
		return d.consumer(*t)
	}
	name := TargetClaim(d.Restore)
	d.st.Target = &kopiurv1.RestoreTargetStatus{PVCRef: &kopiurv1.LocalRef{Name: name}}
	pvc := d.Claim
	if t := d.Restore.Spec.Target.PVC; t != nil {
		switch {
		case pvc == nil:
			d.plan.Claim = newClaim(d.Restore, *t)
			d.set(kopiurv1.ConditionTargetAvailable, metav1.ConditionTrue, kopiurv1.ReasonTargetCreated, "claim %s was made for this Restore", name)
			return false
		case pvc.Labels[kopiurv1.LabelOwnerUID] != string(d.Restore.UID):
			const advice = "it is not touched: choose another name, or target.pvcRef to restore into it"
			d.set(kopiurv1.ConditionTargetAvailable, metav1.ConditionFalse, kopiurv1.ReasonTargetPVCExists, "claim %s exists and was not made by this Restore; %s", name, advice)
			return d.refuse(kopiurv1.ReasonTargetPVCExists, "claim %s exists and was not made by this Restore; %s", name, advice)
		}
	}
	switch {
	case pvc == nil:
		d.set(kopiurv1.ConditionTargetAvailable, metav1.ConditionFalse, kopiurv1.ReasonTargetPVCMissing, "claim %s does not exist", name)
		return d.wait(0, kopiurv1.ReasonTargetPVCMissing, "claim %s does not exist: make it, or use target.pvc", name)
	case pvc.DeletionTimestamp != nil:
		d.set(kopiurv1.ConditionTargetAvailable, metav1.ConditionFalse, kopiurv1.ReasonTargetPVCMissing, "claim %s is being deleted", name)
		return d.wait(0, kopiurv1.ReasonTargetPVCMissing, "claim %s is being deleted", name)
	case len(d.Writers) > 0 && !d.writesNothing():
		// Each would take the parts of the other for its own, and both would be recorded as complete.
		d.set(kopiurv1.ConditionTargetAvailable, metav1.ConditionFalse, kopiurv1.ReasonPVCInUse,
			"claim %s is being restored into by another Restore (%s)", name, quoted(d.Writers))
		return d.wait(recheck, kopiurv1.ReasonPVCInUse, "claim %s is being restored into by another Restore (%s); this one starts when that has ended", name, quoted(d.Writers))
	case len(d.Users) > 0 && slices.Contains(pvc.Spec.AccessModes, corev1.ReadWriteOncePod) && !d.writesNothing():
		d.set(kopiurv1.ConditionTargetAvailable, metav1.ConditionFalse, kopiurv1.ReasonPVCInUse,
			"claim %s is ReadWriteOncePod and in use by %s", name, quoted(d.Users))
		return d.wait(recheck, kopiurv1.ReasonPVCInUse, "claim %s is ReadWriteOncePod and in use by %s: stop the pod", name, quoted(d.Users))
	case len(d.Users) > 0 && refusesUsers(d.Restore.Spec.Target) && !d.writesNothing():
		d.set(kopiurv1.ConditionTargetAvailable, metav1.ConditionFalse, kopiurv1.ReasonPVCInUse,
			"claim %s is in use by %s, and target.pvcRef.ifInUse is Refuse", name, quoted(d.Users))
		return d.wait(recheck, kopiurv1.ReasonPVCInUse, "claim %s is in use by %s, and target.pvcRef.ifInUse is Refuse: stop the pod", name, quoted(d.Users))
	case len(d.Users) > 0 && !d.writesNothing():
		d.set(kopiurv1.ConditionTargetAvailable, metav1.ConditionTrue, kopiurv1.ReasonTargetInUse,
			"claim %s is in use by %s, which sees the files change while they are restored", name, quoted(d.Users))
	case d.Restore.Spec.Target.PVC != nil:
		d.set(kopiurv1.ConditionTargetAvailable, metav1.ConditionTrue, kopiurv1.ReasonTargetCreated, "claim %s was made for this Restore", name)
	default:
		d.set(kopiurv1.ConditionTargetAvailable, metav1.ConditionTrue, kopiurv1.ReasonTargetFound, "claim %s exists", name)
	}
	return false
}

func refusesUsers(t kopiurv1.RestoreTarget) bool {
	return t.PVCRef != nil && t.PVCRef.IfInUse == kopiurv1.InUseRefuse
}

func (d *decision) writesNothing() bool {
	return d.st.Resolved.Resolution == kopiurv1.ResolutionNoSnapshot
}

// newClaim is the claim to make. It has no owner reference, because it is the user's from then on: deleting the Restore
// must not delete the data. The label tells us that we made it.
func newClaim(r *kopiurv1.Restore, t kopiurv1.TargetPVC) *corev1.PersistentVolumeClaim {
	modes := t.AccessModes
	if len(modes) == 0 {
		modes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	}
	size, _ := t.Capacity.Parse() // validate has refused what is no amount
	pvc := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: t.Name, Namespace: r.Namespace, Labels: map[string]string{
			kopiurv1.LabelManagedBy: kopiurv1.ManagedByValue,
			kopiurv1.LabelOperation: kopiurv1.OperationRestoreTarget,
			kopiurv1.LabelOwnerUID:  string(r.UID),
		}},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: modes,
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: size}},
		},
	}
	if t.StorageClassName != "" {
		pvc.Spec.StorageClassName = &t.StorageClassName
	}
	return pvc
}
