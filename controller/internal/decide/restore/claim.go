// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"cmp"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/gates"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

// selectedNode is how the scheduler asks for a volume on the node of a claim's first consumer.
const selectedNode = "volume.kubernetes.io/selected-node"

// staticProvisioner is that of classes whose volumes are made by hand: they are bound when a pod needs them, not before.
const staticProvisioner = "kubernetes.io/no-provisioner"

// ClaimWorld is what is known of one claim that names a populator as its data source.
type ClaimWorld struct {
	Name string
	UID  types.UID
	// Claim is nil where it is gone, and only a record or a helper claim is left of it.
	Claim *corev1.PersistentVolumeClaim
	// Record is what was stored about it; nil where nothing was, or where that is about an earlier claim of the name.
	Record *kopiurv1.RestoreClaim
	// Prime is the helper claim, Volume the PersistentVolume behind it, read live.
	Prime  *corev1.PersistentVolumeClaim
	Volume *corev1.PersistentVolume
	// PrimeAge is how long ago the helper claim was made.
	PrimeAge time.Duration
	// Class of the claim, read live; nil where there is none.
	Class *storagev1.StorageClass

	// Repository of the claim's snapshot, and what its movers mount here.
	Repository  *moverjob.Repository
	Credentials gates.Credentials
	Mounts      gates.Verdict
	// Recorded is whom the backup ran as, read only where the mover is to run as the same.
	Recorded *kopiurv1.Recorded
	// Job of the record, and what it amounts to; Tail is the end of its log.
	Job     *batchv1.Job
	Outcome moverjob.Outcome
	Tail    moverjob.Tail
	// Strays are pods of earlier Jobs for this claim that have not ended.
	Strays []string
}

// PrimeName is the helper claim's name: that of no other claim, and the same after every restart.
func PrimeName(uid types.UID) string { return "prime-" + string(uid) }

// Populates reports whether a Restore fills the claims that name it.
func Populates(r *kopiurv1.Restore) bool { return r.Spec.Target.Populator != nil }

// ours reports whether a helper claim was made for this claim: nothing else is ever deleted.
func (c ClaimWorld) ours() bool {
	p := c.Prime
	return p != nil && p.Name == PrimeName(c.UID) && p.Labels[kopiurv1.LabelClaimUID] == string(c.UID) &&
		p.Labels[kopiurv1.LabelManagedBy] == kopiurv1.ManagedByValue && p.Labels[kopiurv1.LabelOperation] == kopiurv1.OperationRestorePopulate
}

// handed reports whether the volume belongs to the claim already.
func (c ClaimWorld) handed() bool {
	return c.Volume != nil && c.Volume.Spec.ClaimRef != nil && c.Volume.Spec.ClaimRef.UID == c.UID
}

// Bound reports whether the claim has its volume, whoever gave it.
func (c ClaimWorld) Bound() bool {
	return c.Claim != nil && c.Claim.Spec.VolumeName != "" && c.Claim.Status.Phase != corev1.ClaimPending
}

// Filled reports whether the claim's record is final.
func (c ClaimWorld) Filled() bool {
	return c.Record != nil && c.Record.Phase == kopiurv1.ClaimPopulated
}

// Leftover is what a claim leaves behind that is bound, or gone, or whose Restore is.
type Leftover struct {
	// Wait: the volume was handed over and the cluster has not bound it yet.
	Wait bool
	// Release is a volume that gets its reclaim policy back; it comes before Drop, by which it is found.
	Release *corev1.PersistentVolume
	// Drop is a helper claim to delete.
	Drop *corev1.PersistentVolumeClaim
}

// LeftoverOf decides what to tidy up. A volume with the data in it is never deleted by that: before the handover it goes
// with its helper claim, which nobody has used; after it, it is the claim's.
func LeftoverOf(c ClaimWorld) Leftover {
	var l Leftover
	if c.handed() {
		if c.Claim != nil && !c.Bound() {
			return Leftover{Wait: true}
		}
		if c.Volume.Annotations[kopiurv1.AnnotationReclaimPolicy] != "" {
			l.Release = c.Volume
		}
	}
	if c.ours() && c.Prime.DeletionTimestamp == nil {
		l.Drop = c.Prime
	}
	return l
}

// As is the Restore of one claim: that of the spec, into the helper claim, with the claim's own state.
func (c ClaimWorld) As(r *kopiurv1.Restore) *kopiurv1.Restore {
	out := r.DeepCopy()
	out.Spec.Target = kopiurv1.RestoreTarget{PVCRef: &kopiurv1.TargetPVCRef{Name: PrimeName(c.UID)}}
	out.Status = kopiurv1.RestoreStatus{ObservedGeneration: r.Status.ObservedGeneration, SourceKind: r.Status.SourceKind}
	rec := c.Record
	if rec == nil {
		return out
	}
	rec = rec.DeepCopy()
	s := &out.Status
	s.Resolved, s.Progress, s.Ownership, s.Timing = rec.Resolved, rec.Progress, rec.Ownership, rec.Timing
	s.WaitStartedAt, s.Job, s.Failure, s.ResolvedCredentialVersion = rec.WaitStartedAt, rec.Job, rec.Failure, rec.ResolvedCredentialVersion
	s.Phase = phaseOf(rec.Phase)
	switch {
	case rec.Resolved == nil && rec.Reason == kopiurv1.ReasonWaitingForSnapshot:
		s.Conditions = []metav1.Condition{{Type: kopiurv1.ConditionResolved, Status: metav1.ConditionFalse, Reason: rec.Reason, Message: rec.Message}}
	case rec.Resolved == nil && rec.Reason == kopiurv1.ReasonResolutionUnknown:
		s.Conditions = []metav1.Condition{{Type: kopiurv1.ConditionResolved, Status: metav1.ConditionUnknown, Reason: rec.Reason, Message: rec.Message}}
	}
	return out
}

// record is what is stored of a decision about one claim.
func (d *decision) record() *kopiurv1.RestoreClaim {
	s, c := d.st, d.claim
	out := &kopiurv1.RestoreClaim{
		UID: string(c.UID), Reason: d.plan.Reason, Message: d.plan.Message, Phase: claimPhase(s.Phase),
		Resolved: s.Resolved, PVCPrime: PrimeName(c.UID), Volume: d.volume, Job: s.Job, Progress: s.Progress, Ownership: s.Ownership,
		Timing: s.Timing, Failure: s.Failure, WaitStartedAt: s.WaitStartedAt, ResolvedCredentialVersion: s.ResolvedCredentialVersion,
	}
	if d.populated {
		out.Phase, out.PVCPrime = kopiurv1.ClaimPopulated, ""
	}
	if o := out.Ownership; o != nil && len(o.Paths) > claimPaths {
		o.Paths = o.Paths[:claimPaths]
	}
	switch {
	case s.Resolved != nil && s.Resolved.Identity != nil:
		out.SourcePath = s.Resolved.Identity.SourcePath
	case c.Record != nil:
		out.SourcePath = c.Record.SourcePath
	}
	return out
}

// phaseOf is the phase of the Restore that a claim is to itself: one whose claim is not bound yet has written all it has to.
func phaseOf(p kopiurv1.ClaimPhase) kopiurv1.RestorePhase {
	switch p {
	case kopiurv1.ClaimResolving:
		return kopiurv1.RestoreResolving
	case kopiurv1.ClaimRestoring:
		return kopiurv1.RestoreRestoring
	case kopiurv1.ClaimBinding, kopiurv1.ClaimPopulated:
		return kopiurv1.RestoreCompleted
	case kopiurv1.ClaimFailed:
		return kopiurv1.RestoreFailed
	default:
		return kopiurv1.RestorePending
	}
}

// claimPhase is the way back.
func claimPhase(p kopiurv1.RestorePhase) kopiurv1.ClaimPhase {
	switch p {
	case kopiurv1.RestoreResolving:
		return kopiurv1.ClaimResolving
	case kopiurv1.RestoreRestoring:
		return kopiurv1.ClaimRestoring
	case kopiurv1.RestoreCompleted:
		return kopiurv1.ClaimBinding
	case kopiurv1.RestoreFailed:
		return kopiurv1.ClaimFailed
	default:
		return kopiurv1.ClaimPending
	}
}

// claimPaths is how many paths are named for each claim: four hundred claims have to fit into one object.
const claimPaths = 3

// attemptOf names an attempt, so that no two claims share a Job.
func (d *decision) attemptOf(n int32) string {
	if d.claim == nil {
		return strconv.Itoa(int(n))
	}
	return string(d.claim.UID) + "/" + strconv.Itoa(int(n))
}

// Handover gives a volume to the claim it was filled for.
type Handover struct {
	Volume *corev1.PersistentVolume
	Claim  *corev1.PersistentVolumeClaim
}

// ClaimPlan is what to do for one claim, in the order of its fields after those of Plan.
type ClaimPlan struct {
	Name string
	UID  types.UID
	// Claim to tell about it; nil where it is gone.
	Claim *corev1.PersistentVolumeClaim
	// Plan of its movers; of it, Status and the summary are in Record.
	Plan Plan
	// Repository that the mover reads.
	Repository *moverjob.Repository
	// Record to store; nil forgets the claim.
	Record *kopiurv1.RestoreClaim
	// Handover, Release and Drop as Leftover says.
	Handover *Handover
	Release  *corev1.PersistentVolume
	Drop     *corev1.PersistentVolumeClaim
}

// Interrupt replaces what a plan says by what kept it from being carried out.
func (p *ClaimPlan) Interrupt(state State, after time.Duration, reason, message string) {
	p.Plan.State, p.Plan.Reason, p.Plan.Message = state, reason, message
	p.Plan.After = cmp.Or(after, p.Plan.After)
	if p.Record != nil {
		p.Record.Reason, p.Record.Message = reason, message
	}
}

// decideClaim returns the next move for one claim.
func decideClaim(w World, c ClaimWorld, now time.Time) ClaimPlan {
	if c.Claim == nil || c.Claim.DeletionTimestamp != nil && !c.Bound() {
		return gone(c)
	}
	sub := w
	sub.Restore = c.As(w.Restore)
	sub.Repository, sub.Credentials, sub.Volume = c.Repository, c.Credentials, c.Mounts
	sub.Claim, sub.Recorded, sub.Claims = c.Prime, c.Recorded, nil
	sub.Job, sub.Outcome, sub.Tail, sub.Strays = c.Job, c.Outcome, c.Tail, c.Strays
	d := &decision{World: sub, now: now, plan: Plan{Status: *sub.Restore.Status.DeepCopy()}, claim: &c, original: w.Restore}
	d.plan.Status.Conditions = nil
	d.st = &d.plan.Status
	if c.Record != nil {
		d.volume = c.Record.Volume
	}
	d.plan.TTL = moverjob.TTL(d.repository(), w.Restore.Spec.Mover)
	for _, step := range []func() bool{
		d.bound,        // it has its volume
		d.rejected,     // it failed, and nothing has changed since
		d.binding,      // its volume is filled, and is handed over
		d.running,      // a mover is at work, or has ended
		d.validate,     // the spec makes sense
		d.consumed,     // it is wanted now
		d.referent,     // what the source names exists
		d.reachable,    // the repository may be used
		d.credentials,  // its Secrets are here
		d.resolve,      // which snapshot
		d.prime,        // there is a volume to fill
		d.user,         // it is known as whom
		d.startRestore, // fill it
	} {
		if step() {
			break
		}
	}
	if d.st.Phase == kopiurv1.RestoreCompleted {
		// The helper claim cannot go before the pod that has filled it.
		d.plan.TTL = 0
	}
	if d.st.Phase == kopiurv1.RestoreCompleted && !d.populated && d.plan.State == Ready {
		// Written, and nobody's yet.
		d.plan.State, d.plan.After = Progressing, soon
	}
	return ClaimPlan{
		Name: c.Name, UID: c.UID, Claim: c.Claim, Plan: d.plan, Repository: c.Repository, Record: d.record(),
		Handover: d.handover, Release: d.leftover.Release, Drop: d.leftover.Drop,
	}
}

// gone tidies up after a claim that was deleted before it had its volume.
func gone(c ClaimWorld) ClaimPlan {
	c.Claim = nil
	l := LeftoverOf(c)
	p := ClaimPlan{Name: c.Name, UID: c.UID, Record: c.Record, Release: l.Release, Drop: l.Drop}
	p.Plan.State, p.Plan.Reason, p.Plan.Message = Progressing, kopiurv1.ReasonOrphanedPrimePVCReaped, "the claim is gone; what was made for it is removed"
	if j := c.Record; j != nil && j.Job != nil && c.Job != nil {
		p.Plan.Reap = c.Job // also one that has ended: the helper claim cannot go before its pod
	}
	if l.Drop != nil {
		p.Plan.Notes = append(p.Plan.Notes, Note{Reason: kopiurv1.ReasonOrphanedPrimePVCReaped, Message: "claim " + c.Name + " is gone: helper claim " + l.Drop.Name + " was deleted"})
	}
	if p.Plan.Reap == nil && l.Release == nil && (c.Prime == nil || !c.ours()) {
		p.Record = nil
	}
	p.Plan.After = soon
	return p
}
