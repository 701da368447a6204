// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

// bound ends the work on a claim that has its volume: it is never written again, by this Restore or by one that GitOps
// makes anew (acceptance B-2, B-3).
func (d *decision) bound() bool {
	c := d.claim
	if !c.Bound() {
		return false
	}
	d.leftover = LeftoverOf(*c)
	d.populated, d.st.Phase = true, kopiurv1.RestoreCompleted
	if c.Filled() {
		d.tidy()
		return d.sum(Ready, 0, c.Record.Reason, "%s", c.Record.Message)
	}
	if InFlight(d.Restore) {
		d.st.Job.EndedAt, d.plan.Reap = d.stamp(), d.Job
	} else {
		d.tidy()
	}
	d.st.Failure = nil
	switch handed := d.volume != "" && d.volume == c.Claim.Spec.VolumeName; {
	case !handed:
		d.volume = ""
		return d.sum(Ready, 0, kopiurv1.ReasonTargetAlreadyBound, "claim %s had its volume before; nothing was written to it", c.Name)
	case d.st.Resolved != nil && d.writesNothing():
		return d.sum(Ready, 0, kopiurv1.ReasonNoSnapshotContinue, "there was no snapshot to restore; claim %s has an empty volume", c.Name)
	case d.st.Progress != nil:
		return d.sum(Ready, 0, kopiurv1.ReasonRestoreSucceeded, "claim %s is bound to a volume with %d files and %d bytes of its snapshot", c.Name, d.st.Progress.FilesRestored, d.st.Progress.BytesRestored)
	default:
		return d.sum(Ready, 0, kopiurv1.ReasonRestoreSucceeded, "claim %s is bound to a volume with its snapshot", c.Name)
	}
}

// rejected passes a claim that has failed, until the spec or the credentials change.
func (d *decision) rejected() bool {
	if d.st.Phase != kopiurv1.RestoreFailed {
		return false
	}
	if !Holds(d.World) {
		d.reopen()
		return false
	}
	d.tidy()
	d.plan.Carry = gateConditions
	return d.sum(Stalled, 0, d.claim.Record.Reason, "%s", d.claim.Record.Message)
}

// binding hands a filled volume over. Until the cluster has bound it, the volume is kept whatever becomes of the claims.
func (d *decision) binding() bool {
	c := d.claim
	if c.handed() {
		// Also where a Restore that is gone did it.
		d.st.Phase, d.volume = kopiurv1.RestoreCompleted, c.Volume.Name
	}
	if d.st.Phase != kopiurv1.RestoreCompleted {
		return false
	}
	d.plan.Carry = gateConditions
	busy := d.tidy()
	waiting := func(format string, args ...any) bool {
		return d.sum(Progressing, recheck, kopiurv1.ReasonClaimBinding, format, args...)
	}
	switch {
	case c.handed():
		return waiting("volume %s was handed over to claim %s; it is bound in a moment", c.Volume.Name, c.Name)
	case c.Claim.Spec.VolumeName != "":
		return waiting("claim %s names volume %s and is not bound yet", c.Name, c.Claim.Spec.VolumeName)
	case !c.ours() || c.Prime.Spec.VolumeName == "":
		d.st.Progress, d.st.Ownership, d.st.Timing, d.volume = nil, nil, nil, ""
		d.st.Phase = kopiurv1.RestorePending
		return d.wait(soon, kopiurv1.ReasonReopened, "helper claim %s is gone, and with it what was restored: restoring again", PrimeName(c.UID))
	case busy || len(d.Strays) > 0:
		return waiting("the mover's pod has not ended yet")
	case c.Volume == nil || c.Volume.Spec.ClaimRef == nil || c.Volume.Spec.ClaimRef.UID != c.Prime.UID:
		return d.sum(Progressing, recheck, kopiurv1.ReasonVolumeNotOurs, "volume %s does not belong to helper claim %s any more, and is left alone: delete claim %s and make it again",
			c.Prime.Spec.VolumeName, c.Prime.Name, c.Name)
	}
	// Stored first: a volume that is kept must be found again although the claims are gone.
	d.plan.Intent = d.volume != c.Volume.Name
	d.volume = c.Volume.Name
	d.handover = &Handover{Volume: c.Volume, Claim: c.Claim}
	return waiting("handing volume %s over to claim %s", c.Volume.Name, c.Name)
}

// consumed passes once the claim is to have a volume: a class may wait for the claim's first consumer.
func (d *decision) consumed() bool {
	pvc := d.claim.Claim
	switch class := pvc.Spec.StorageClassName; {
	case d.claim.ours() && d.claim.Prime.Spec.VolumeName != "":
		return false
	case class == nil:
		return d.noVolume("claim %s names no StorageClass, and the cluster has no default", pvc.Name)
	case *class == "":
		return false // a volume that was made by hand
	case d.claim.Class == nil:
		return d.noVolume("StorageClass %s of claim %s does not exist", *class, pvc.Name)
	case d.waits() && pvc.Annotations[selectedNode] == "":
		d.set(kopiurv1.ConditionTargetAvailable, metav1.ConditionUnknown, kopiurv1.ReasonWaitingForFirstConsumer,
			"StorageClass %s waits for the first pod that uses the claim", *class)
		return d.wait(0, kopiurv1.ReasonWaitingForFirstConsumer, "claim %s is filled when a pod uses it, as its StorageClass %s says", pvc.Name, *class)
	}
	return false
}

func (d *decision) waits() bool {
	c := d.claim.Class
	return c != nil && c.VolumeBindingMode != nil && *c.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer
}

func (d *decision) noVolume(format string, args ...any) bool {
	d.set(kopiurv1.ConditionTargetAvailable, metav1.ConditionFalse, kopiurv1.ReasonWaitingForVolume, format, args...)
	return d.wait(recheck, kopiurv1.ReasonWaitingForVolume, format, args...)
}

// prime passes once the helper claim has a volume. It is a claim of our own with the spec of the user's: a mover cannot
// mount a claim that has no volume, and a claim that has one is bound for good.
func (d *decision) prime() bool {
	c, p := d.claim, d.claim.Prime
	switch {
	case p == nil:
		d.plan.Claim = newPrime(d.original, c.Claim)
		d.set(kopiurv1.ConditionTargetAvailable, metav1.ConditionUnknown, kopiurv1.ReasonWaitingForVolume, "helper claim %s is made", d.plan.Claim.Name)
		return d.wait(recheck, kopiurv1.ReasonWaitingForVolume, "making helper claim %s, which is filled and whose volume claim %s then gets", d.plan.Claim.Name, c.Name)
	case !c.ours():
		d.set(kopiurv1.ConditionTargetAvailable, metav1.ConditionFalse, kopiurv1.ReasonTargetPVCExists, "claim %s exists and was not made by Kopiur", p.Name)
		return d.refuse(kopiurv1.ReasonTargetPVCExists, "claim %s exists and was not made by Kopiur; it is not touched: delete it", p.Name)
	case p.DeletionTimestamp != nil:
		return d.wait(recheck, kopiurv1.ReasonWaitingForVolume, "helper claim %s is being deleted, and is made again", p.Name)
	case p.Labels[kopiurv1.LabelOwnerUID] != string(d.original.UID):
		// A Restore that was deleted began to fill it, with a snapshot of its own choice.
		d.leftover.Drop = p
		return d.wait(soon, kopiurv1.ReasonWaitingForVolume, "helper claim %s was made for another Restore, and is made again", p.Name)
	case p.Spec.VolumeName == "" && p.Annotations[selectedNode] == "" && c.Claim.Annotations[selectedNode] != "" && c.PrimeAge.Abs() < recheck:
		// A driver takes its node off a claim that it has no room for there. Asked again at once it would say the same.
		const full = "the storage driver has no room for helper claim %s on node %s, as its events say; it is asked again in a minute"
		d.set(kopiurv1.ConditionTargetAvailable, metav1.ConditionFalse, kopiurv1.ReasonWaitingForVolume, full, p.Name, c.Claim.Annotations[selectedNode])
		return d.wait(recheck-c.PrimeAge.Abs(), kopiurv1.ReasonWaitingForVolume, full, p.Name, c.Claim.Annotations[selectedNode])
	case p.Spec.VolumeName == "" && p.Annotations[selectedNode] != c.Claim.Annotations[selectedNode]:
		d.leftover.Drop = p
		return d.wait(soon, kopiurv1.ReasonWaitingForVolume, "helper claim %s was asked for on another node, and is made again", p.Name)
	case (p.Spec.VolumeName == "" || p.Status.Phase != corev1.ClaimBound) && !d.static():
		const waiting = "helper claim %s of claim %s has no volume yet; its own events say what that waits for"
		d.set(kopiurv1.ConditionTargetAvailable, metav1.ConditionUnknown, kopiurv1.ReasonWaitingForVolume, waiting, p.Name, c.Name)
		return d.wait(recheck, kopiurv1.ReasonWaitingForVolume, waiting, p.Name, c.Name)
	}
	d.set(kopiurv1.ConditionTargetAvailable, metav1.ConditionTrue, kopiurv1.ReasonTargetFound, "helper claim %s has a volume", p.Name)
	return false
}

// static reports whether only a pod makes the cluster choose a volume. Where nothing is written there is none, and the
// claim goes on waiting.
func (d *decision) static() bool {
	return d.waits() && d.claim.Class.Provisioner == staticProvisioner && !d.writesNothing()
}

// newPrime is the helper claim. It belongs to the user's claim: the two go together whatever becomes of the Restore.
func newPrime(r *kopiurv1.Restore, c *corev1.PersistentVolumeClaim) *corev1.PersistentVolumeClaim {
	spec := c.Spec.DeepCopy()
	spec.DataSource, spec.DataSourceRef, spec.VolumeName = nil, nil, ""
	out := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Name: PrimeName(c.UID), Namespace: c.Namespace,
			Labels: map[string]string{
				kopiurv1.LabelManagedBy: kopiurv1.ManagedByValue,
				kopiurv1.LabelOperation: kopiurv1.OperationRestorePopulate,
				kopiurv1.LabelOwnerUID:  string(r.UID),
				kopiurv1.LabelClaimUID:  string(c.UID),
			},
			Annotations:     map[string]string{kopiurv1.AnnotationRestore: r.Name},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "PersistentVolumeClaim", Name: c.Name, UID: c.UID}},
		},
		Spec: *spec,
	}
	if node := c.Annotations[selectedNode]; node != "" {
		out.Annotations[selectedNode] = node
	}
	return out
}

// memberPath is the source path of a claim that a populator fills: that of the source which backs up a claim of its name.
// It is never empty, and never that of another one (J-1).
func (d *decision) memberPath(name string) (string, error) {
	p := d.Policy
	var selected []string
	for _, s := range p.Spec.Sources {
		switch {
		case s.PVC != nil && s.PVC.Name == name:
			return s.Path(p.Namespace), nil
		case s.PVCSelector != nil:
			if path := s.ClaimPath(p.Namespace, name); !slices.Contains(selected, path) {
				selected = append(selected, path)
			}
		}
	}
	paths := d.paths()
	switch {
	case len(selected) == 1:
		return selected[0], nil
	case len(selected) == 0 && len(paths) == 1:
		return paths[0], nil
	default:
		return "", fmt.Errorf("SnapshotPolicy %s has several source paths (%s), and none is that of claim %s: set source.fromPolicy.sourcePath, or name the claim as the one that was backed up",
			p.Name, quoted(slices.Concat(paths, selected)), name)
	}
}

// knows reports whether a path is one of the policy's.
func (d *decision) knows(path string) bool {
	if slices.Contains(d.paths(), path) {
		return true
	}
	return d.claim != nil && slices.ContainsFunc(d.Policy.Spec.Sources, func(s kopiurv1.Source) bool {
		return s.PVCSelector != nil && s.ClaimPath(d.Policy.Namespace, d.claim.Name) == path
	})
}

// claimName is how messages call what is restored into.
func (d *decision) claimName() string {
	if d.claim != nil {
		return "claim " + d.claim.Name
	}
	return targetName(d.Restore)
}

// isBlock reports whether a device is written. A helper claim is of the kind of its claim.
func (d *decision) isBlock() bool {
	if d.claim != nil {
		return moverjob.IsBlock(d.claim.Claim)
	}
	return moverjob.IsBlock(d.Claim)
}
