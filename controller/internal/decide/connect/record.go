// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package connect

import (
	"fmt"
	"math"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
)

// record puts a mover's result into the status. The conditions' messages are built from its class alone: what the mover
// says may hold ports and temporary names, and a message that changes with every attempt would be a write with every
// attempt (acceptance J-6). The mover's own words go to status.failure and to an event.
func record(p *Plan, in Input, r work.Result, now time.Time) {
	p.Note = r.Message
	where := Where(in.Spec.Backend)
	switch r.Code {
	case work.CodeOK:
		if r.Bootstrap == nil || r.Bootstrap.UniqueID == "" {
			inconclusive(p, in, kopiurv1.ReasonBootstrapInternalInconsistency, "the connect Job reported success without the repository's id; it is tried again", now)
			return
		}
		if pinned := in.Status.UniqueID; pinned != "" && pinned != r.Bootstrap.UniqueID {
			// The mover checks this itself; a mover that does not is older than this controller.
			fail(p, kopiurv1.ReasonRepositoryVanished, fmt.Sprintf("another repository is in the place of the known one at %s; %s", where, vanishedAdvice), metav1.ConditionTrue, now)
			return
		}
		succeed(p, in, *r.Bootstrap, now)
	case work.CodeRepositoryUnavailable:
		unreachable(p, in, where, now)
	case work.CodeSlow, work.CodeDeadlineExceeded:
		slow(p, in, now)
	case work.CodeMissingCredentials:
		finish(p, now)
		p.Status.Phase = kopiurv1.RepositoryPending
		message := "a key is missing from a Secret, or its value is malformed: " + r.Message + ". It goes on by itself when the Secret changes"
		p.set(kopiurv1.ConditionCredentialsAvailable, metav1.ConditionFalse, kopiurv1.ReasonMissingCredentialsSecret, message)
		p.verdict(Progressing, kopiurv1.ReasonMissingCredentialsSecret, message)
	case work.CodeAuthFailure:
		ref := in.Spec.Encryption.PasswordSecretRef
		fail(p, string(r.Code), fmt.Sprintf("the password in Secret %s, key %s, does not open the repository at %s: correct the Secret, and it is tried again at once",
			ref.Name, ref.KeyOrDefault(work.DefaultPasswordKey), where), metav1.ConditionTrue, now)
	case work.CodeAccessDenied:
		fail(p, string(r.Code), fmt.Sprintf("%s refuses the credentials: correct the Secret, or the permissions at the store", where), metav1.ConditionTrue, now)
	case work.CodePermissionDenied:
		fail(p, string(r.Code), fmt.Sprintf("%s may not be read and written by the mover's user: correct owner and mode of the folder, or moverDefaults.securityContext", where), metav1.ConditionTrue, now)
	case work.CodeNotFound:
		fail(p, string(r.Code), where+" does not exist: create it, or correct the name", metav1.ConditionFalse, now)
	case work.CodeRepositoryNotInitialized:
		fail(p, kopiurv1.ReasonRepositoryNotInitialized, fmt.Sprintf("%s holds no repository and spec.create.enabled is false: correct the location, or let Kopiur create one", where), metav1.ConditionTrue, now)
	case work.CodeRepositoryVanished:
		fail(p, kopiurv1.ReasonRepositoryVanished, fmt.Sprintf("the repository that was known at %s is gone, or another one is in its place; %s", where, vanishedAdvice), metav1.ConditionTrue, now)
	case work.CodeLocationOccupied:
		fail(p, kopiurv1.ReasonLocationOccupied, where+" holds something that is not a kopia repository; nothing was written. Choose an empty folder or prefix", metav1.ConditionTrue, now)
	case work.CodeInvalidSpec:
		fail(p, kopiurv1.ReasonInvalidSpec, "the mover refuses its work; status.failure has its words. Where they name no field of yours, its image and the controller's do not fit together: run both from one release", "", now)
	case work.CodeVerificationFailed:
		fail(p, string(r.Code), where+" answers and has lost parts of the repository; nothing is created in their place. status.failure names the first. Restore the store from a replica, or verify what is left with kopia", metav1.ConditionTrue, now)
	case work.CodeClockSkew:
		inconclusive(p, in, string(r.Code), where+" refuses requests because the node's clock and its own are too far apart; status.failure has both times. It is tried again", now)
	case work.CodeLocked, work.CodeCanceled, work.CodeNoSpace, work.CodeSourceError:
		inconclusive(p, in, string(r.Code), fmt.Sprintf("connecting to %s ended with %s; it is tried again", where, r.Code), now)
	case work.CodeLost:
		inconclusive(p, in, kopiurv1.ReasonBootstrapJobFailed, "the connect Job failed without a result; it is tried again, and status.failure has its last words", now)
	case work.CodeUnknown:
		fail(p, string(r.Code), fmt.Sprintf("connecting to %s failed in a way that Kopiur does not know; status.failure has the words of the mover", where), "", now)
	default:
		fail(p, string(work.CodeUnknown), "the mover reported an outcome that this controller does not know: run both from one release", "", now)
	}
}

const usableMessage = "the repository can be used"

const vanishedAdvice = "nothing is created in its place. Restore the store, or, where the loss is final, delete and re-create this object"

func succeed(p *Plan, in Input, b work.BootstrapResult, now time.Time) {
	finish(p, now)
	p.Status.Job.Failures, p.Status.Job.DeadlineKills = 0, 0
	p.Status.Phase = kopiurv1.RepositoryReady
	p.Status.UniqueID = b.UniqueID
	at := stamp(now)
	p.Status.StorageStats = &kopiurv1.StorageStats{
		SnapshotCount: b.SnapshotCount, TotalSizeBytes: b.TotalBytes, TotalSize: size(b.TotalBytes),
		IndexBlobCount: b.IndexBlobCount, LastObservedAt: at,
	}
	p.Status.Health = &kopiurv1.RepositoryHealth{
		ConnectSeconds: int64(math.Ceil(b.ConnectSeconds)), IndexBytes: b.IndexBlobBytes, LastHealthyAt: at, LastProbeAt: at,
	}
	if read := parametersOf(b.Parameters); read != nil {
		p.Status.Parameters = read
	}
	p.Status.MaintenanceOwner = ownerOf(p.Status.MaintenanceOwner, b, now)
	p.set(kopiurv1.ConditionBackendReachable, metav1.ConditionTrue, kopiurv1.ReasonReachable, "the last connect succeeded")
	p.verdict(Ready, kopiurv1.ReasonReachable, usableMessage)
	if probe := ProbeOf(in.Spec); probe.Enabled {
		p.After = probe.Interval
	}
	p.Note = "connected"
	if b.Created {
		p.Note = "created a new repository with unique id " + b.UniqueID
	}
	if b.PreviousOwner != "" {
		p.Note += "; took its maintenance over from " + b.PreviousOwner
	}
}

// fail parks the repository until somebody acts.
func fail(p *Plan, reason, message string, reachable metav1.ConditionStatus, now time.Time) {
	finish(p, now)
	p.lost(now)
	p.Status.Phase = kopiurv1.RepositoryFailed
	if reachable != "" {
		why := kopiurv1.ReasonReachable
		if reachable != metav1.ConditionTrue {
			why = reason
		}
		p.set(kopiurv1.ConditionBackendReachable, reachable, why, "as the last connect found")
	}
	p.verdict(Stalled, reason, message)
	p.After = failedRetry
}

// unreachable is the one class that a repository recovers from by itself. One that is in use stays so until the failures
// in a row are as many as its probe's threshold, so that a store that stumbles holds back nobody.
func unreachable(p *Plan, in Input, where string, now time.Time) {
	finish(p, now)
	p.lost(now)
	probe := ProbeOf(in.Spec)
	p.After = Ladder(p.Status.Job.Failures)
	message := where + " does not answer, or answers with a fault of its own; it is tried again after 2, 4, 8, 16 and then every 30 minutes. Check endpoint, DNS and network policies"
	inUse := usable(in)
	if inUse && (probe.OnFailure == kopiurv1.ProbeAlert || p.Status.Health.ConsecutiveProbeFailures < probe.FailureThreshold) {
		if probe.OnFailure == kopiurv1.ProbeAlert {
			message += ". Backups go on, as spec.health.probe.onFailure says"
		} else {
			message += ". Backups are held back once spec.health.probe.failureThreshold connects in a row have failed"
		}
		p.set(kopiurv1.ConditionBackendReachable, metav1.ConditionFalse, kopiurv1.ReasonBackendUnreachable, message)
		p.verdict(Keep, kopiurv1.ReasonBackendUnreachable, message)
		return
	}
	p.Tripped = inUse
	p.Status.Phase = kopiurv1.RepositoryDegraded
	p.set(kopiurv1.ConditionBackendReachable, metav1.ConditionFalse, kopiurv1.ReasonBackendUnreachable, "as the last connect found")
	p.verdict(Progressing, kopiurv1.ReasonBackendUnreachable, message)
}

// slow is an attempt that did not fit into its time. The store was not found unreachable: with a cold cache and many
// index blobs a connect takes minutes, and holding anybody back for that would stop the maintenance that makes it faster
// (acceptance C-3). A repository that was never connected to is of no use to anybody yet and waits as Degraded.
func slow(p *Plan, in Input, now time.Time) {
	finish(p, now)
	p.failed()
	p.Status.Job.DeadlineKills++
	p.After = Ladder(p.Status.Job.Failures)
	reason := kopiurv1.ReasonBootstrapDeadlineExceeded
	if in.Status.UniqueID != "" {
		reason = kopiurv1.ReasonProbeDeadlineExceeded
	}
	message := fmt.Sprintf("connecting to %s took longer than it was given; it is tried again with twice the time, up to 30 minutes. Raise spec.bootstrap.failurePolicy.activeDeadlineSeconds where the store is slow",
		Where(in.Spec.Backend))
	p.set(kopiurv1.ConditionBackendReachable, metav1.ConditionUnknown, reason, "the last connect ended before there was an answer")
	if usable(in) {
		p.verdict(Keep, reason, message)
		return
	}
	p.Status.Phase = kopiurv1.RepositoryDegraded
	p.verdict(Progressing, reason, message)
}

// inconclusive is an attempt that says nothing about the repository: one that was Ready with the same settings stays so.
func inconclusive(p *Plan, in Input, reason, message string, now time.Time) {
	finish(p, now)
	p.failed()
	p.After = Ladder(p.Status.Job.Failures)
	switch {
	case usable(in):
		p.verdict(Keep, reason, message)
	case in.SameInputs && in.Status.Phase == kopiurv1.RepositoryDegraded:
		// Out of reach, and not known to be anything else.
		p.verdict(Keep, reason, message)
	default:
		p.Status.Phase = kopiurv1.RepositoryInitializing
		p.verdict(Progressing, reason, message)
	}
}

// finish marks the outcome as recorded.
func finish(p *Plan, now time.Time) {
	p.Status.Job.FinishedAt = stamp(now)
	h := p.health()
	h.LastProbeAt, h.ProbeAttemptAt = stamp(now), ""
}

// failed counts one more attempt in a row that did not succeed.
func (p *Plan) failed() { p.Status.Job.Failures = min(p.Status.Job.Failures, math.MaxInt32-1) + 1 }

// lost counts one that found the repository lost or out of reach as well.
func (p *Plan) lost(now time.Time) {
	p.failed()
	h := p.health()
	if h.ConsecutiveProbeFailures <= 0 {
		h.ConsecutiveProbeFailures, h.FirstFailureAt = 0, stamp(now)
	}
	h.ConsecutiveProbeFailures = min(h.ConsecutiveProbeFailures, math.MaxInt32-1) + 1
}

func (p *Plan) health() *kopiurv1.RepositoryHealth {
	if p.Status.Health == nil {
		p.Status.Health = &kopiurv1.RepositoryHealth{}
	}
	return p.Status.Health
}

// set replaces a condition of this plan.
func (p *Plan) set(kind string, s metav1.ConditionStatus, reason, message string) {
	for i := range p.Conditions {
		if p.Conditions[i].Type == kind {
			p.Conditions[i] = Condition{kind, s, reason, message}
			return
		}
	}
	p.condition(kind, s, reason, message)
}

// Where names a backend's location for people.
func Where(b kopiurv1.Backend) string {
	switch {
	case b.S3 != nil:
		where := "bucket " + b.S3.Bucket
		if b.S3.Prefix != "" {
			where += ", prefix " + b.S3.Prefix
		}
		if b.S3.Endpoint != "" {
			where += ", at " + b.S3.Host()
		}
		return where
	case b.Filesystem != nil:
		v := b.Filesystem.Volume
		switch {
		case v == nil:
			return "path " + b.Filesystem.Path + " of the node"
		case v.PVC != nil:
			return "path " + b.Filesystem.Path + " on claim " + v.PVC.Name
		case v.NFS != nil:
			return "path " + b.Filesystem.Path + " on " + v.NFS.Server + ":" + v.NFS.Path
		}
	}
	return whereElse(b)
}

func whereElse(b kopiurv1.Backend) string {
	prefix := func(p string) string {
		if p == "" {
			return ""
		}
		return ", prefix " + p
	}
	switch {
	case b.Azure != nil:
		return "container " + b.Azure.Container + prefix(b.Azure.Prefix)
	case b.GCS != nil:
		return "bucket " + b.GCS.Bucket + prefix(b.GCS.Prefix)
	case b.B2 != nil:
		return "bucket " + b.B2.Bucket + prefix(b.B2.Prefix)
	case b.SFTP != nil:
		return "path " + b.SFTP.Path + " on " + b.SFTP.Host
	case b.WebDAV != nil:
		return b.WebDAV.URL // admission lets no credentials into it
	case b.GDrive != nil:
		return "folder " + b.GDrive.FolderID
	default:
		return "the store" // rclone's remotePath may hold keys
	}
}

func size(bytes int64) string { return resource.NewQuantity(bytes, resource.BinarySI).String() }
