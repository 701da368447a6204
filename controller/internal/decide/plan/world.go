// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/group"
	"github.com/kopiur/kopiur/controller/internal/decide/policy"
	"github.com/kopiur/kopiur/controller/internal/decide/slots"
	"github.com/kopiur/kopiur/controller/internal/decide/staging"
	"github.com/kopiur/kopiur/controller/internal/gates"
	"github.com/kopiur/kopiur/controller/internal/keptcache"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

// Ask names facts that cost a request. They are bits: World.Asked collects those that were looked up.
type Ask uint

// Facts to look up.
const (
	// AskNamespace: labels and annotations of the Snapshot's Namespace, live.
	AskNamespace Ask = 1 << iota
	// AskJob: whether the Job that the cache does not have is really gone.
	AskJob
	// AskUsers: running pods that use the source claim.
	AskUsers
	// AskVolume: the source's volume and the classes it could be staged with.
	AskVolume
	// AskVolumeSnapshot: the Snapshot's VolumeSnapshot.
	AskVolumeSnapshot
	// AskClaimEvent: the newest warning about the staged claim.
	AskClaimEvent
	// AskPods: all pods of the Snapshot's namespace.
	AskPods
	// AskAttachment: the node that the source's volume is attached to.
	AskAttachment
	// AskSlot: whether this run may start beside the others.
	AskSlot
	// AskCache: the claim of a cache that is kept.
	AskCache
	// AskGroup: the VolumeGroupSnapshot that the claim is cut with, and the others of the run.
	AskGroup
)

// World is one Snapshot and what it depends on. A nil object does not exist.
type World struct {
	Snapshot   *kopiurv1.Snapshot
	Policy     *kopiurv1.SnapshotPolicy
	Repository *moverjob.Repository
	// Others are the policies of the same repository, Selected the paths of the claims that their selectors find, History
	// what this one has stored there.
	Others   []kopiurv1.SnapshotPolicy
	Selected policy.Selected
	History  policy.History
	// Credentials and RepositoryVolume say whether what the repository's movers mount exists in the mover's namespace.
	Credentials, RepositoryVolume gates.Verdict
	// Source is the live claim.
	Source *corev1.PersistentVolumeClaim
	// StagedClaim is the claim of the staged copy's name.
	StagedClaim *corev1.PersistentVolumeClaim
	// Job of the present attempt (see Current) and its pods.
	Job  *batchv1.Job
	Pods []corev1.Pod
	// PinJobs are the Jobs that pin or unpin the finished snapshot; there is at most one.
	PinJobs []JobPods
	// EmptyStart is set where this is the first backup of a volume that a Restore left empty, Question is the Job that asks
	// the repository about it.
	EmptyStart *EmptyStart
	Question   JobPods
	// OtherPods are pods of this Snapshot's other Jobs that have not ended.
	OtherPods []string

	// ServerTime is the present by the clock of the API server, whose timestamps Jobs, pods and copies have; the zero time is
	// the same as the decision's.
	ServerTime time.Time

	// Image and PullPolicy of movers.
	Image      moverjob.Images
	PullPolicy corev1.PullPolicy

	// Asked are the facts below that were looked up.
	Asked          Ask
	Namespace      *metav1.PartialObjectMetadata
	Users          []string
	Volume         staging.Input
	VolumeSnapshot *staging.Snapshot
	ClaimEvent     string
	// Inherited is set by Decide where the mover takes over another pod's user.
	Inherited *moverjob.Layer
	// Attached is the node that the source's volume is attached to, "" where it is to none.
	Attached string
	// Neighbours are the pods of the namespace that are no movers.
	Neighbours []corev1.Pod
	Slot       slots.Verdict
	// Cache is which claim the mover's cache is kept in.
	Cache keptcache.Verdict
	// Group is how far the cut of the run's claims has come.
	Group group.State
	// ClusterLimit is how many runs the controller allows at a time; 0 is no limit.
	ClusterLimit int
}

// JobPods is a Job and its pods.
type JobPods struct {
	Job  *batchv1.Job
	Pods []corev1.Pod
}

// server is the present by the clock that wrote what is waited for.
func (w World) server(now time.Time) time.Time {
	if w.ServerTime.IsZero() {
		return now
	}
	return w.ServerTime
}

func (w World) asked(a Ask) bool { return w.Asked&a != 0 }

// Action is the one thing that act does next.
type Action string

// Actions.
const (
	// Rest: nothing to do.
	Rest Action = "Rest"
	// Wait: write what is waited for.
	Wait Action = "Wait"
	// Stage: carry out Plan.Staging, after the intent is stored in status.staged.
	Stage Action = "Stage"
	// Cut: carry out Plan.Group. There is no intent to store: the Snapshot's spec names the group.
	Cut Action = "Cut"
	// Unstage: remove the staged copy, one object at a time.
	Unstage Action = "Unstage"
	// Hook: run the policy's hooks before the snapshot, after the intent is stored in status.hooks.
	Hook Action = "Hook"
	// Inquire: create Plan.Job, which asks about older snapshots, or delete Plan.Lost, which has not answered.
	Inquire Action = "Inquire"
	// Start: create Plan.Job.
	Start Action = "Start"
	// Follow: a mover runs; write its progress.
	Follow Action = "Follow"
	// Record: write the mover's final result.
	Record Action = "Record"
	// Fail: write Plan.Failure; no mover has given a result.
	Fail Action = "Fail"
	// Retire: give the finished Job its time to live.
	Retire Action = "Retire"
	// Reap: delete the Job.
	Reap Action = "Reap"
	// PinStart, PinWait, PinRecord and PinFail bring the pin of a finished snapshot in line; its other conditions stay.
	PinStart  Action = "PinStart"
	PinWait   Action = "PinWait"
	PinRecord Action = "PinRecord"
	PinFail   Action = "PinFail"
)

// Plan is the answer.
type Plan struct {
	// Ask, if not zero, is the fact to look up before asking again. The rest is then void.
	Ask    Ask
	Action Action
	// Phase to write; empty leaves it.
	Phase kopiurv1.SnapshotPhase
	// Conditions found out now, without times and without the three of kstatus.
	Conditions []metav1.Condition
	// Carry keeps the stored conditions of the gates: they were passed before and are not looked at again.
	Carry bool
	// Reason and Message sum up a Wait or Fail.
	Reason, Message string
	// After is when a deadline passes.
	After time.Duration
	// Attempt is the number of the Job to create or follow.
	Attempt int32
	Job     *batchv1.Job
	// Lost is the Job before it, whose result is gone: there is nothing left to keep it for.
	Lost *batchv1.Job
	// Choice is set with Stage before anything was made.
	Choice  *staging.Choice
	Staging staging.Verdict
	Group   group.Verdict
	Removal staging.Removal
	Outcome moverjob.Outcome
	Failure *kopiurv1.Failure
	// Preflight: the wait is for the policy's checks.
	Preflight bool
	// Recorded is whom the mover of Job runs as.
	Recorded kopiurv1.Recorded
	// Reopened: an earlier failure is void.
	Reopened bool
}

// Ops of failures in which no mover has run. They reopen when the Snapshot's generation changes.
const (
	OpPrepare = "prepare"
	OpStage   = "stage"
	OpStart   = "start"
	// OpSnapshot is the mover's own operation.
	OpSnapshot = "snapshot"
)

// Stores reports whether a mover of this operation makes a backup.
func Stores(operation string) bool { return operation == OpSnapshot || operation == opStream }

// opStream is the mover's operation for the output of a command. In names of Jobs it is a snapshot like any other: they
// have to be found without the policy.
const opStream = "streamSnapshot"

// MaxAttempts is how many Jobs may lose their result before the Snapshot fails.
const MaxAttempts int32 = 3

// Reopens reports whether a Snapshot failed before any mover ran and was changed since.
func Reopens(s *kopiurv1.Snapshot) bool {
	if s.Status.Phase != kopiurv1.SnapshotFailed || s.Status.Failure == nil || s.Generation == s.Status.ObservedGeneration {
		return false
	}
	switch s.Status.Failure.Op {
	case OpPrepare, OpStage, OpStart:
		return true
	default:
		return false
	}
}

// Current is the number of the present attempt, and whether a Job of that number was already reported in the status.
// A failed start is over: after it the next number is due, because its Job may still be going away under its name.
func Current(s *kopiurv1.Snapshot) (attempt int32, started bool) {
	j := s.Status.Job
	switch {
	case j == nil:
		return 1, false
	case j.Name == "" || Reopens(s):
		return j.Attempts + 1, false
	default:
		return j.Attempts, true
	}
}

// JobName is the name of an attempt's Job.
func JobName(s *kopiurv1.Snapshot, attempt int32) string {
	return moverjob.Name("s", s.Name, s.UID, OpSnapshot, attemptKey(attempt))
}

func condition(kind string, ok bool, reason, message string) metav1.Condition {
	status := metav1.ConditionFalse
	if ok {
		status = metav1.ConditionTrue
	}
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message}
}
