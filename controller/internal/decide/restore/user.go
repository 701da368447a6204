// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
	"github.com/kopiur/kopiur/controller/internal/workload"
)

// Inherits is where the mover of a Restore takes its user from, nil where from nowhere. One that is privileged runs as
// root, which can give files to every user, whatever else it names (acceptance F-2).
func Inherits(r *kopiurv1.Restore) *kopiurv1.InheritSecurityContextFrom {
	m := r.Spec.Mover
	if m == nil || m.InheritSecurityContextFrom == nil || overruled(m) {
		return nil
	}
	return m.InheritSecurityContextFrom
}

// overruled reports whether a mover is told to be root.
func overruled(m *kopiurv1.MoverSpec) bool {
	return m.PrivilegedMode != nil && *m.PrivilegedMode && moverjob.SpecLayer(m).UID() == nil
}

// user passes once it is known whom the mover runs as. It asks before anything is written: files of a wrong owner are only
// found by the application.
func (d *decision) user() bool {
	m := d.Restore.Spec.Mover
	if m == nil || m.InheritSecurityContextFrom == nil || d.writesNothing() {
		return false
	}
	if overruled(m) {
		d.set(kopiurv1.ConditionSecurityContextInherited, metav1.ConditionFalse, kopiurv1.ReasonInheritOverridden,
			"mover.privilegedMode is true: the mover runs as root, and nobody's user is taken over")
		return false
	}
	if m.InheritSecurityContextFrom.Snapshot != nil {
		return d.recorded(m)
	}
	return d.donor(m)
}

// recorded takes over whom the backup ran as (acceptance F-7).
func (d *decision) recorded(m *kopiurv1.MoverSpec) bool {
	layer := workload.Recorded(d.Recorded)
	if layer == nil || layer.UID() == nil {
		const missing = "the snapshot has no object here that says which user its backup ran as"
		if moverjob.SpecLayer(m).Names() {
			d.set(kopiurv1.ConditionSecurityContextInherited, metav1.ConditionFalse, kopiurv1.ReasonInheritFallback, missing+"; the user that the Restore names is used")
			return false
		}
		return d.unknownUser(kopiurv1.ReasonMissingRecordedIdentity, missing+": set mover.securityContext.runAsUser")
	}
	d.inherit(m, *layer, "those of the backup", "its backup did")
	return false
}

// donor takes over the user of a running pod (acceptance J-2).
func (d *decision) donor(m *kopiurv1.MoverSpec) bool {
	donor, missing := workload.FindDonor(d.Neighbours, *m.InheritSecurityContextFrom, "")
	switch {
	case donor != nil:
		d.inherit(m, donor.Layer, "those of container "+donor.Container+" of pod "+donor.Pod, "pod "+donor.Pod+" does")
		return false
	case slices.ContainsFunc(moverjob.LayersOf(d.repository(), nil, m), moverjob.Layer.Names):
		d.set(kopiurv1.ConditionSecurityContextInherited, metav1.ConditionFalse, kopiurv1.ReasonInheritFallback, "%s; the user that Restore or repository name is used", missing)
		return false
	default:
		return d.unknownUser(kopiurv1.ReasonInheritSourceMissing,
			missing+", and neither Restore nor repository names a user: start it, or set mover.securityContext.runAsUser")
	}
}

// unknownUser waits: as Kopiur's own user the mover would leave files that the application cannot use.
func (d *decision) unknownUser(reason, message string) bool {
	d.makeNothing()
	d.set(kopiurv1.ConditionSecurityContextResolved, metav1.ConditionFalse, reason, "%s", message)
	return d.wait(recheck, reason, "%s", message)
}

// inherit takes a user over, and says where the mover does not run as that one.
func (d *decision) inherit(m *kopiurv1.MoverSpec, layer moverjob.Layer, whose, does string) {
	d.inherited = &layer
	d.set(kopiurv1.ConditionSecurityContextResolved, metav1.ConditionTrue, kopiurv1.ReasonInheritApplied, "user and groups are %s", whose)
	const unusual = kopiurv1.ConditionSecurityContextInherited
	switch own, named := layer.UID(), moverjob.SpecLayer(m).UID(); {
	case own == nil && named == nil:
		d.set(unusual, metav1.ConditionFalse, kopiurv1.ReasonInheritPinnedNoUID,
			"the pod names no user, and its node does not say which one its image has: set mover.securityContext.runAsUser")
	case named != nil && (own == nil || *own != *named):
		d.set(unusual, metav1.ConditionFalse, kopiurv1.ReasonInheritOverridden, "the mover runs as uid %d, as the Restore says, and not as %s", *named, does)
	}
}

// RecordedOf finds, among the Snapshots of a policy, the object of the snapshot that was pinned: by its id, or by identity
// and start time where the id was replaced by a pin (acceptance J-4).
func RecordedOf(pin *kopiurv1.RestoreResolved, snapshots []kopiurv1.Snapshot) *kopiurv1.Recorded {
	if pin == nil || pin.Identity == nil {
		return nil
	}
	for i := range snapshots {
		s := &snapshots[i]
		stored := s.Status.Snapshot
		if stored == nil || stored.Identity != *pin.Identity {
			continue
		}
		if stored.KopiaSnapshotID == pin.KopiaSnapshotID || s.Status.Timing != nil && sameTime(s.Status.Timing.StartTime, pin.StartTime) {
			return s.Status.Recorded.DeepCopy()
		}
	}
	return nil
}

// sameTime compares to the second: a pin from the repository has more digits than a Snapshot's status.
func sameTime(a, b string) bool {
	at, err := time.Parse(time.RFC3339, a)
	if err != nil {
		return false
	}
	bt, err := time.Parse(time.RFC3339, b)
	return err == nil && at.Truncate(time.Second).Equal(bt.Truncate(time.Second))
}

// colocate sends a mover into a volume that only one node can mount to the node that holds it: on another one its pod
// would hang until the application stops. A claim that nobody holds can be mounted anywhere.
func (d *decision) colocate(job *batchv1.Job) {
	c := d.Claim
	if c == nil || workload.Colocation(d.repository()) == kopiurv1.ColocationDisabled || !workload.OneNode(c) {
		return
	}
	if p := workload.Holder(d.Neighbours, c.Name); p != nil {
		moverjob.SendTo(job, p.Spec.NodeName, p.Spec.Tolerations)
	} else if d.Attached != "" {
		moverjob.SendTo(job, d.Attached, nil)
	}
}
