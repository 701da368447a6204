// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package staging

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// DefaultTimeout of each step.
const DefaultTimeout = 10 * time.Minute

// eventInterval is how often a claim that is not bound is looked at again, for the newest words of its provisioner.
const eventInterval = 30 * time.Second

// Snapshot is what matters of a VolumeSnapshot.
type Snapshot struct {
	Name  string
	UID   types.UID
	Owner types.UID
	// Ready is the driver's word that it may be restored from.
	Ready bool
	// Error is what the driver last complained about.
	Error       string
	RestoreSize *resource.Quantity
	Created     time.Time
	Deleting    bool
	// Content is the VolumeSnapshotContent it is bound to.
	Content string
}

// State is how far the staging of one Snapshot has come.
type State struct {
	// Owner is the Snapshot's UID.
	Owner  types.UID
	Staged kopiurv1.Staged
	Source *corev1.PersistentVolumeClaim
	// Snapshot and Claim are the staged objects as they are, nil where absent.
	Snapshot *Snapshot
	Claim    *corev1.PersistentVolumeClaim
	// ClaimEvent is the newest warning about the staged claim.
	ClaimEvent string
}

// Step is what comes next.
type Step string

// Steps in their order.
const (
	CreateSnapshot Step = "CreateSnapshot"
	AwaitSnapshot  Step = "AwaitSnapshot"
	CreateClaim    Step = "CreateClaim"
	AwaitClaim     Step = "AwaitClaim"
	// Usable: the mover may mount the claim.
	Usable Step = "Usable"
	// Failed: a deadline passed or the copy is lost.
	Failed Step = "Failed"
	// Blocked: a name is taken, or an old object is still going away.
	Blocked Step = "Blocked"
)

// Verdict is what comes next and why.
type Verdict struct {
	Step            Step
	Reason, Message string
	// Recheck is when a deadline passes; zero means that only an event can change anything.
	Recheck time.Duration
	// Size of the claim to create.
	Size resource.Quantity
}

// Next decides what comes next. It never proposes the live claim.
func Next(s State, now time.Time) Verdict {
	timeout := time.Duration(s.Staged.StagingTimeoutSeconds) * time.Second
	if s.Claim != nil {
		return claimState(s, timeout, now)
	}
	if s.Staged.CopyMethod == kopiurv1.CopyClone {
		return Verdict{Step: CreateClaim, Reason: kopiurv1.ReasonWaitingForStagedPVCBind, Message: "making the staged claim", Size: sizeOf(s)}
	}
	vs := s.Snapshot
	switch grouped := s.Staged.VolumeGroupSnapshotName != ""; {
	case grouped && (vs == nil || vs.Deleting):
		return Verdict{
			Step: Failed, Reason: kopiurv1.ReasonGroupSnapshotLost,
			Message: fmt.Sprintf("VolumeSnapshot %s of VolumeGroupSnapshot %s went before the claim was read from it; another cut would be of another instant", s.Staged.VolumeSnapshotName, s.Staged.VolumeGroupSnapshotName),
		}
	case vs == nil:
		return Verdict{Step: CreateSnapshot, Reason: kopiurv1.ReasonWaitingForVolumeSnapshot, Message: "making VolumeSnapshot " + s.Staged.VolumeSnapshotName}
	case vs.Owner != s.Owner && !grouped:
		return taken("VolumeSnapshot", s.Staged.VolumeSnapshotName)
	case vs.Deleting:
		return Verdict{Step: Blocked, Reason: kopiurv1.ReasonWaitingForVolumeSnapshot, Message: "VolumeSnapshot " + vs.Name + " is being deleted; a new one follows"}
	case vs.Ready:
		return Verdict{Step: CreateClaim, Reason: kopiurv1.ReasonWaitingForStagedPVCBind, Message: "making the staged claim", Size: sizeOf(s)}
	}
	message := "VolumeSnapshot " + vs.Name + " is not ready to use yet"
	if vs.Error != "" {
		message += "; its driver says: " + OneLine(vs.Error)
	}
	return await(AwaitSnapshot, kopiurv1.ReasonWaitingForVolumeSnapshot, kopiurv1.ReasonStagingTimedOut, message, vs.Created, timeout, now)
}

func claimState(s State, timeout time.Duration, now time.Time) Verdict {
	c := s.Claim
	name := s.Staged.PVCName
	switch {
	case !ownedBy(c, s.Owner):
		return taken("claim", name)
	case c.DeletionTimestamp != nil:
		return Verdict{Step: Blocked, Reason: kopiurv1.ReasonWaitingForStagedPVCBind, Message: "staged claim " + name + " is being deleted; a new one follows"}
	case c.Status.Phase == corev1.ClaimLost:
		return Verdict{Step: Failed, Reason: kopiurv1.ReasonStagedPVCLost, Message: "the volume of staged claim " + name + " disappeared"}
	case c.Status.Phase == corev1.ClaimBound, s.Staged.WaitForFirstConsumer:
		return Verdict{Step: Usable, Reason: kopiurv1.ReasonSourceStaged, Message: "the mover reads claim " + name + ", a copy of claim " + sourceName(s)}
	}
	v := await(AwaitClaim, kopiurv1.ReasonWaitingForStagedPVCBind, kopiurv1.ReasonStagedPVCBindTimeout, BindMessage(name, s.ClaimEvent), c.CreationTimestamp.Time, timeout, now)
	if v.Step == AwaitClaim && (v.Recheck == 0 || v.Recheck > eventInterval) {
		v.Recheck = eventInterval
	}
	return v
}

// BindMessage says that a staged claim is not bound, in its provisioner's own words where there are any.
func BindMessage(name, event string) string {
	message := "staged claim " + name + " is not bound yet"
	if event != "" {
		message += "; its newest event says: " + OneLine(event)
	}
	return message
}

func await(step Step, waiting, timedOut, message string, since time.Time, timeout time.Duration, now time.Time) Verdict {
	if timeout <= 0 {
		return Verdict{Step: step, Reason: waiting, Message: message}
	}
	if left := timeout - now.Sub(since); left > 0 {
		return Verdict{Step: step, Reason: waiting, Message: message, Recheck: left}
	}
	return Verdict{Step: Failed, Reason: timedOut, Message: fmt.Sprintf("gave up after %s: %s. Raise staging.timeout where the storage takes longer", timeout, message)}
}

func taken(what, name string) Verdict {
	return Verdict{
		Step: Blocked, Reason: kopiurv1.ReasonStagingNameTaken,
		Message: fmt.Sprintf("%s %s belongs to somebody else and is not touched: delete or rename it, or use another name for the Snapshot", what, name),
		Recheck: time.Minute,
	}
}

// sizeOf is what the staged claim has to ask for: a driver refuses a copy that is smaller than what it is made from.
func sizeOf(s State) resource.Quantity {
	var size resource.Quantity
	larger := func(q *resource.Quantity) {
		if q != nil && q.Cmp(size) > 0 {
			size = q.DeepCopy()
		}
	}
	if s.Source != nil {
		larger(s.Source.Spec.Resources.Requests.Storage())
		larger(s.Source.Status.Capacity.Storage())
	}
	if s.Snapshot != nil {
		larger(s.Snapshot.RestoreSize)
	}
	return size
}

func sourceName(s State) string {
	if s.Source == nil {
		return "that is gone"
	}
	return s.Source.Name
}

func ownedBy(o metav1.Object, uid types.UID) bool {
	ref := metav1.GetControllerOf(o)
	return ref != nil && ref.UID == uid
}

// OneLine keeps a foreign message readable inside a condition.
func OneLine(s string) string {
	const most = 512
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
