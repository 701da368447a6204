// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package group

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/staging"
)

// memberRecheck is when to look again for a VolumeSnapshot of the group: those of others are not watched.
const memberRecheck = 2 * time.Second

// Group is what matters of a VolumeGroupSnapshot.
type Group struct {
	Name string
	UID  types.UID
	// Ours: Kopiur made it, for the Snapshot with this UID.
	Ours  bool
	Maker types.UID
	// Ready is the driver's word that all of its snapshots may be restored from.
	Ready bool
	// Error is what the driver last complained about.
	Error   string
	Created time.Time
	// Deleting: it is on its way out.
	Deleting bool
	// Content is the VolumeGroupSnapshotContent it is bound to. Once it is, labels of claims change nothing any more.
	Content string
}

// Maker is the Snapshot of a run that makes the group.
type Maker struct {
	Name string
	UID  types.UID
	// Over: its run has ended, Failed: in failure.
	Over, Failed bool
	// Why is what its status says.
	Why string
}

// State is how far the cut has come, seen from one Snapshot of the run.
type State struct {
	// Name of the group, and the claim of this Snapshot.
	Name, Claim string
	// OfRun: whoever started a run has written the group's name into this Snapshot. Otherwise it was written by hand, and
	// the group is whoever's.
	OfRun bool
	// Self: this Snapshot makes the group.
	Self bool
	// Maker is nil where there is none (any more).
	Maker *Maker
	// Began is when this Snapshot was created.
	Began time.Time
	// Timeout of each wait; zero is none.
	Timeout time.Duration
	// Served: the cluster has the API.
	Served bool
	// Read: another Snapshot of the run has taken its copy from the group.
	Read bool
	// Group is nil where absent; Member is this claim's VolumeSnapshot of it.
	Group  *Group
	Member *staging.Snapshot
	// Plan is what the maker cuts, where there is no group yet.
	Plan Cut
}

// Step is what comes next.
type Step string

// Steps in their order.
const (
	// Label puts the group's label on Verdict.Claims.
	Label Step = "Label"
	// Create makes the VolumeGroupSnapshot.
	Create Step = "Create"
	Await  Step = "Await"
	// Ready: the Snapshot may take its copy from State.Member.
	Ready Step = "Ready"
	// Refused: it cannot be made as things are. It passes by itself once the cluster or the policy is changed.
	Refused Step = "Refused"
	// Failed: it never will be, or is lost.
	Failed Step = "Failed"
)

// Verdict is what comes next and why.
type Verdict struct {
	Step            Step
	Reason, Message string
	// Recheck is when to look again; zero means that only an event can change anything.
	Recheck time.Duration
	// Claims to label.
	Claims []string
	// Class of the group to create.
	Class string
}

func await(recheck time.Duration, format string, args ...any) Verdict {
	return Verdict{Step: Await, Reason: kopiurv1.ReasonWaitingForGroupSnapshot, Message: fmt.Sprintf(format, args...), Recheck: recheck}
}

func failed(reason, format string, args ...any) Verdict {
	return Verdict{Step: Failed, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

func refused(reason, format string, args ...any) Verdict {
	return Verdict{Step: Refused, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// orNone ends every refusal that cutting each claim for itself would solve.
const orNone = "or write groupBy: None where each claim may be cut for itself"

// Next decides what comes next. now is by the clock that wrote the objects.
func Next(s State, now time.Time) Verdict {
	switch g := s.Group; {
	case !s.Served:
		return refused(kopiurv1.ReasonGroupSnapshotUnsupported,
			"this cluster does not serve VolumeGroupSnapshots (groupsnapshot.storage.k8s.io): install their CRDs and a snapshot controller that knows them, %s", orNone)
	case g == nil && s.Self:
		return s.make()
	case g == nil:
		return s.absent()
	case g.Deleting:
		return await(memberRecheck, "VolumeGroupSnapshot %s is being deleted", g.Name)
	case s.OfRun && !g.Ours:
		return refused(kopiurv1.ReasonStagingNameTaken, "VolumeGroupSnapshot %s belongs to somebody else and is not touched: delete it, or start a run of another name", g.Name)
	case g.Ours && s.stale(*g):
		// What it holds is older than the run. Its data must not pass for that of now.
		return await(memberRecheck, "VolumeGroupSnapshot %s is of an earlier run and is being removed", g.Name)
	case !g.Ready:
		return s.unready(*g, now)
	case s.Member == nil:
		return s.until(failed(kopiurv1.ReasonGroupSnapshotLost, "VolumeGroupSnapshot %s holds no snapshot of claim %s", g.Name, s.Claim), *g, now, memberRecheck,
			"VolumeGroupSnapshot %s is ready, and its VolumeSnapshot of claim %s is not there yet", g.Name, s.Claim)
	case s.Member.Deleting:
		return failed(kopiurv1.ReasonGroupSnapshotLost, "VolumeSnapshot %s of VolumeGroupSnapshot %s is being deleted before claim %s was read from it", s.Member.Name, g.Name, s.Claim)
	case !s.Member.Ready:
		message := fmt.Sprintf("VolumeSnapshot %s of VolumeGroupSnapshot %s is not ready to use yet", s.Member.Name, g.Name)
		return s.until(failed(kopiurv1.ReasonStagingTimedOut, "%s", says(message, s.Member.Error)), *g, now, memberRecheck, "%s", says(message, s.Member.Error))
	default:
		return Verdict{Step: Ready, Reason: kopiurv1.ReasonSourceStaged, Message: "claim " + s.Claim + " was cut with VolumeGroupSnapshot " + g.Name}
	}
}

// stale reports whether a group of ours is not of this run. Where its maker is gone, it is of this run if it was made after
// the Snapshot.
func (s State) stale(g Group) bool {
	if s.Maker != nil {
		return g.Maker != s.Maker.UID
	}
	return g.Created.Before(s.Began)
}

func (s State) unready(g Group, now time.Time) Verdict {
	message := says("VolumeGroupSnapshot "+g.Name+" is not ready to use yet", g.Error)
	if g.Ours && s.Maker != nil && s.Maker.Failed {
		return failed(kopiurv1.ReasonGroupSnapshotFailed, "Snapshot %s, which made VolumeGroupSnapshot %s, failed before that was ready: %s", s.Maker.Name, g.Name, s.Maker.Why)
	}
	return s.until(failed(kopiurv1.ReasonStagingTimedOut, "%s", message), g, now, 0, "%s", message)
}

// until waits for as long as the deadline allows, counted from the group's creation.
func (s State) until(late Verdict, g Group, now time.Time, recheck time.Duration, format string, args ...any) Verdict {
	if s.Timeout <= 0 {
		return await(recheck, format, args...)
	}
	left := s.Timeout - now.Sub(g.Created)
	if left <= 0 {
		late.Message = fmt.Sprintf("gave up after %s: %s. Raise staging.timeout where the storage takes longer", s.Timeout, late.Message)
		return late
	}
	return await(min(left, cmp.Or(recheck, left)), format, args...)
}

// absent is for those that wait for the maker.
func (s State) absent() Verdict {
	switch m := s.Maker; {
	case m == nil:
		// It may not be in the cache yet.
		return refused(kopiurv1.ReasonGroupSnapshotFailed, "VolumeGroupSnapshot %s does not exist, and neither does a Snapshot of this run that would make it: correct spec.source.group, or start another run", s.Name)
	case m.Over && !m.Failed, s.Read:
		return failed(kopiurv1.ReasonGroupSnapshotLost, "VolumeGroupSnapshot %s went before claim %s was read from it", s.Name, s.Claim)
	case m.Over:
		return failed(kopiurv1.ReasonGroupSnapshotFailed, "Snapshot %s, which was to make VolumeGroupSnapshot %s, failed, and nothing was cut: %s", m.Name, s.Name, m.Why)
	case m.Why == "":
		return await(0, "Snapshot %s cuts the claims of this run with VolumeGroupSnapshot %s", m.Name, s.Name)
	default:
		return await(0, "Snapshot %s cuts the claims of this run with VolumeGroupSnapshot %s, and waits: %s", m.Name, s.Name, m.Why)
	}
}

// make is for the maker, while there is no group.
func (s State) make() Verdict {
	if s.Read {
		return failed(kopiurv1.ReasonGroupSnapshotLost, "VolumeGroupSnapshot %s went before claim %s was read from it, and others of the run were: another cut would be of another instant", s.Name, s.Claim)
	}
	class, v := s.Plan.class()
	if v != nil {
		return *v
	}
	var unlabelled []string
	for _, c := range s.Plan.Claims {
		switch c.Label {
		case s.Name:
		case "":
			unlabelled = append(unlabelled, c.Name)
		default:
			// Claims are labelled in the order of their names, so that two runs never wait for each other.
			if len(unlabelled) > 0 {
				return Verdict{Step: Label, Reason: kopiurv1.ReasonWaitingForGroupSnapshot, Message: "cutting claim " + strings.Join(unlabelled, ", "), Claims: unlabelled}
			}
			return await(memberRecheck, "claim %s is being cut with VolumeGroupSnapshot %s", c.Name, c.Label)
		}
	}
	message := "making VolumeGroupSnapshot " + s.Name
	if len(unlabelled) > 0 {
		return Verdict{Step: Label, Reason: kopiurv1.ReasonWaitingForGroupSnapshot, Message: message, Claims: unlabelled}
	}
	return Verdict{Step: Create, Reason: kopiurv1.ReasonWaitingForGroupSnapshot, Message: message, Class: class}
}

func says(message, driver string) string {
	if driver == "" {
		return message
	}
	return message + "; its driver says: " + staging.OneLine(driver)
}
