// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Reasons of Snapshots that wait.
const (
	// ReasonWaitingForSlot is set while as many movers run as spec.concurrency.maxConcurrentJobs of the repository, the
	// policy's upload.maxParallelSnapshots or the controller allow. It goes on by itself when one of them ends.
	ReasonWaitingForSlot = "WaitingForSlot"
	// ReasonPreflightFailed is set while a preflight check gives false. The message has the check's name and message.
	ReasonPreflightFailed = "PreflightFailed"
	// ReasonWaitingForPreflightData is set while a preflight check asks for something that is not known yet.
	ReasonWaitingForPreflightData = "WaitingForPreflightData"
	// ReasonPreHookFailed is set when a hook before the snapshot failed, and no snapshot was made. The message has the
	// hook's own; correct the hook, or set its continueOnFailure.
	ReasonPreHookFailed = "PreHookFailed"
	// ReasonPreHookInterrupted is set when the controller was restarted between the first hook before the snapshot and the
	// last. The hooks after the snapshot were run; create another Snapshot.
	ReasonPreHookInterrupted = "PreHookInterrupted"
	// ReasonPostHookFailed is set when a hook after the snapshot failed. What was stored stays; look whether the application
	// works, and correct the hook.
	ReasonPostHookFailed = "PostHookFailed"
	// ReasonHooksSucceeded is set when the hooks before the snapshot have run. Nothing to do.
	ReasonHooksSucceeded = "HooksSucceeded"
	// ReasonWorkloadNotFound is set while not exactly one pod runs in which a stream's command is to run, or that pod lacks
	// the container. It is looked at once a minute.
	ReasonWorkloadNotFound = "WorkloadNotFound"
	// ReasonStreamExecNotPermitted is set when the Namespace does not allow movers to run commands in its pods. Annotate it
	// with kopiur.home-operations.com/stream-exec-movers=true.
	ReasonStreamExecNotPermitted = "StreamExecNotPermitted"
	// ReasonBlockedOnGrant is set while credentials should be copied and the ClusterRepository does not allow it. Its owner
	// sets spec.credentialProjection.allowed.
	ReasonBlockedOnGrant = "BlockedOnGrant"
	// ReasonProjected is set when the credentials were copied. Nothing to do.
	ReasonProjected = "Projected"
	// ReasonInheritSourceMissing is set while no pod is found whose user and groups the mover should take over, and neither
	// policy nor repository names a user. Start the pod, or set mover.securityContext.runAsUser.
	ReasonInheritSourceMissing = "InheritSourceMissing"
	// ReasonInheritApplied is set when user and groups were taken over. Nothing to do.
	ReasonInheritApplied = "InheritApplied"
	// ReasonInheritFallback is set when nobody was found whose user could be taken over, and the one that policy, Restore or
	// repository name was used.
	ReasonInheritFallback = "InheritFallback"
	// ReasonInheritPinnedNoUID is set when the pod names no user: that of its image is not known. Set
	// mover.securityContext.runAsUser.
	ReasonInheritPinnedNoUID = "InheritPinnedNoUid"
	// ReasonFSGroupIgnoredOnNFS is set where a mover of an NFS export is given an fsGroup and no user. The backup runs. Set
	// mover.securityContext.runAsUser, or add the group to mover.podSecurityContext.supplementalGroups.
	ReasonFSGroupIgnoredOnNFS = "FSGroupIgnoredOnNFS"
	// ReasonInheritOverridden is set when policy, Snapshot or Restore name another user, or ask for root. Theirs was used.
	ReasonInheritOverridden = "InheritOverridden"
	// ReasonSlotAvailable is set when a slot is reserved for the run. Nothing to do.
	ReasonSlotAvailable = "SlotAvailable"
	// ReasonSourceNodeUnknown is set while moverDefaults.sourceColocation.mode is Required and no node holds the source's
	// volume. Start the application, or set the mode to Auto.
	ReasonSourceNodeUnknown = "SourceNodeUnknown"
	// ReasonPinned is set when the snapshot is pinned in the repository. Nothing to do.
	ReasonPinned = "Pinned"
	// ReasonUnpinned is set when it is not pinned any more. Nothing to do.
	ReasonUnpinned = "Unpinned"
	// ReasonPinJobRunning is set while a Job pins or unpins the snapshot.
	ReasonPinJobRunning = "PinJobRunning"
	// ReasonPinJobFailed is set when it failed. It is tried again.
	ReasonPinJobFailed = "PinJobFailed"
	// ReasonSourceShrunk is set when the source has no files left, or less than a tenth of at least 100. Look at the volume
	// before retention deletes the snapshots that have them.
	ReasonSourceShrunk = "SourceShrunk"
	// ReasonOlderHistoryFound is set when the first backup of an empty volume found older snapshots of the same identity.
	// Restore them, or annotate the policy with kopiur.home-operations.com/acknowledge-empty-start and the present time.
	ReasonOlderHistoryFound = "OlderHistoryFound"
)

// Reasons of deleting Snapshots.
const (
	// ReasonMassDeletionBreaker is set when as many Snapshots of a repository are being deleted as its
	// deletionProtection.threshold. Nothing is deleted: if it is meant, annotate the repository with
	// kopiur.home-operations.com/allow-mass-deletion and the present time; if not, see the runbook.
	ReasonMassDeletionBreaker = "MassDeletionBreaker"
	// ReasonDeletionReleased is set on a Snapshot that was held and is no more: by an acknowledgement, or because the
	// repository's protection was switched off. Nothing to do.
	ReasonDeletionReleased = "DeletionReleased"
	// ReasonDeletionQueued is set while a Snapshot waits for the Job that deletes its data. Deletions are gathered for some
	// seconds, and each repository has one such Job at a time. Nothing to do.
	ReasonDeletionQueued = "DeletionQueued"
	// ReasonDeletionRunning is set while a Job deletes the stored data. Nothing to do.
	ReasonDeletionRunning = "DeletionRunning"
	// ReasonDeletionFailed is set when the stored data could not be deleted. It is tried again after 2, 4, 8, 16, then every
	// 30 minutes; the message has the mover's reason. To let the object go and keep the data, annotate the Snapshot with
	// kopiur.home-operations.com/skip-snapshot-cleanup.
	ReasonDeletionFailed = "DeletionFailed"
	// ReasonDeletionUndecided is set while it cannot be found out what should happen to the stored data. It is kept, and
	// asked again by itself.
	ReasonDeletionUndecided = "DeletionUndecided"
	// ReasonStoppingMover is set while the mover of a Snapshot that is being deleted comes to its end. Nothing to do.
	ReasonStoppingMover = "StoppingMover"
	// ReasonSnapshotDeleted is set on an event when the stored data was deleted, or was not there any more. Nothing to do.
	ReasonSnapshotDeleted = "SnapshotDeleted"
	// ReasonSnapshotDeletionHeld is set on an event of each Snapshot that waits because of it.
	ReasonSnapshotDeletionHeld = "SnapshotDeletionHeld"
	// ReasonSnapshotRetained is set on an event when a Snapshot went and its data stays because its deletionPolicy is Retain.
	ReasonSnapshotRetained = "SnapshotRetained"
	// ReasonSnapshotOrphaned is set on an event when a Snapshot went and its data stays: deletionPolicy is Orphan, its
	// Namespace is being deleted, its repository is gone, or it is annotated with skip-snapshot-cleanup.
	ReasonSnapshotOrphaned = "SnapshotOrphaned"
	// ReasonSnapshotRetainedOnScheduleDelete is set on an event when the data stays because the schedule is gone. Nothing to do.
	ReasonSnapshotRetainedOnScheduleDelete = "SnapshotRetainedOnScheduleDelete"
	// ReasonSnapshotRetainedOnPolicyDelete is set on an event when the data stays because the policy is gone. Nothing to do.
	ReasonSnapshotRetainedOnPolicyDelete = "SnapshotRetainedOnPolicyDelete"
	// ReasonSnapshotDiscovered is set on a Snapshot that only shows what was found in a repository. It can be restored from;
	// deleting it deletes nothing.
	ReasonSnapshotDiscovered = "SnapshotDiscovered"
	// ReasonSnapshotAdopted is set when a found snapshot became one of a policy, whose retention counts it from then on.
	ReasonSnapshotAdopted = "SnapshotAdopted"
	// ReasonHistoryAdopted is set on a policy that has taken over all snapshots that are filed under its identity. Nothing to
	// do.
	ReasonHistoryAdopted = "HistoryAdopted"
	// ReasonNoMatchingIdentity is set on a policy without history where the repository has snapshots under a similar
	// identity. To take those over, correct spec.identity or sourcePathOverride as the message says; else nothing to do.
	ReasonNoMatchingIdentity = "NoMatchingIdentity"
	// ReasonAdoptionSkippedByRetention is set on an event, and on a policy that has taken over nothing else, when snapshots
	// of its identity stay as they were found: its retention would delete their objects at once, and its
	// defaultDeletionPolicy keeps their data. They can be restored from. Nothing to do; to have them taken over, widen
	// spec.retention, set adoption to Ignore, and set it back.
	ReasonAdoptionSkippedByRetention = "AdoptionSkippedByRetention"
)

// Reasons of policies and schedules.
const (
	// ReasonPruned is an event of a policy: Snapshots that no rule of its retention keeps were deleted. Nothing to do;
	// kopiurctl retention preview says in advance which go, and why.
	ReasonPruned = "Pruned"
	// ReasonPruneFailed is an event of a policy: a Snapshot that its retention does not keep could not be deleted. It is tried
	// again every minute; the message has the API server's answer.
	ReasonPruneFailed = "PruneFailed"
	// ReasonNoClaimsSelected is set when the selectors of a policy find no claim that has a volume: nothing is backed up.
	// Label the claims that are meant, or correct the selector.
	ReasonNoClaimsSelected = "NoClaimsSelected"
	// ReasonSourcesOverlap is set when two sources of a policy stand for the same claim or path. No run is started: select by
	// labels that only some claims have, or write another sourcePathOverride.
	ReasonSourcesOverlap = "SourcesOverlap"
	// ReasonFanoutCapped is set when one run would make more than 400 Snapshots. None is made: narrow the selector, or make
	// several policies of it.
	ReasonFanoutCapped = "FanoutCapped"
	// ReasonSourceNotSelected is set on a Snapshot whose claim the policy's selector does not find (any more). Label the
	// claim, or delete the Snapshot.
	ReasonSourceNotSelected = "SourceNotSelected"
	// ReasonGroupSnapshotUnsupported is set where the claims of a run cannot be cut at one instant: the cluster has no
	// VolumeGroupSnapshot API, they belong to several drivers, or copyMethod is not Snapshot. No run is made, because several
	// instants would pass for one. Set groupBy: None to cut each for itself.
	ReasonGroupSnapshotUnsupported = "GroupSnapshotUnsupported"
	// ReasonGroupSnapshotSupported is set where the cluster can cut the claims of a run at one instant. Nothing to do.
	ReasonGroupSnapshotSupported = "GroupSnapshotSupported"
	// ReasonNoVolumeGroupSnapshotClass is set where no VolumeGroupSnapshotClass of the claims' driver is the one to use.
	// Create one, or mark one as the default; or set groupBy: None to cut each claim for itself.
	ReasonNoVolumeGroupSnapshotClass = "NoVolumeGroupSnapshotClass"
	// ReasonWaitingForGroupSnapshot is set until the claims of a run were cut together. The message says who makes the
	// VolumeGroupSnapshot and what its driver says. It goes on by itself.
	ReasonWaitingForGroupSnapshot = "WaitingForGroupSnapshot"
	// ReasonGroupSnapshotFailed is set on the Snapshots of a run whose VolumeGroupSnapshot was not made, because the Snapshot
	// that was to make it failed or is gone. Nothing was cut. Mend what the message names; the next run starts anew.
	ReasonGroupSnapshotFailed = "GroupSnapshotFailed"
	// ReasonGroupSnapshotLost is set where a VolumeGroupSnapshot went, or does not hold a claim, before all of its run had
	// read it. The rest of the run fails: another cut would be of another instant. Find out who deletes VolumeGroupSnapshots;
	// the next run starts anew.
	ReasonGroupSnapshotLost = "GroupSnapshotLost"
	// ReasonScratchNotWritable is set when a deep verification could not write to its scratch volume. Set
	// mover.podSecurityContext.fsGroup.
	ReasonScratchNotWritable = "ScratchNotWritable"
	// ReasonVerified is set when the last verification of every kind that was asked for read back what is stored. Nothing
	// to do.
	ReasonVerified = "Verified"
	// ReasonVerificationPending is set until the first verification has run. The message says when it is due.
	ReasonVerificationPending = "VerificationPending"
	// ReasonWaitingForFirstSnapshot is set while there is no complete snapshot to verify. It goes on by itself.
	ReasonWaitingForFirstSnapshot = "WaitingForFirstSnapshot"
	// ReasonVerificationFailed is set when a verification found that stored data is missing or damaged. The message has
	// the number of errors, the mover's log the paths. Make a new backup elsewhere first, then follow the runbook.
	ReasonVerificationFailed = "VerificationFailed"
	// ReasonVerificationCheckFailed is set when the program of verification.deep.check did not accept what was restored.
	// status.verificationRuns has the end of its log.
	ReasonVerificationCheckFailed = "VerificationCheckFailed"
	// ReasonVerificationRejected is set when a verification found no errors and successExpr gave false. The message has
	// the numbers: correct the expression, or find out why they are not as expected.
	ReasonVerificationRejected = "VerificationRejected"
	// ReasonVerificationUnproven is set when a verification came to no answer: the store did not answer, its time was up,
	// its pod did not start. It is tried again after an hour; if it stays so, the message says what to look at.
	ReasonVerificationUnproven = "VerificationUnproven"
	// ReasonVerificationWaiting is set while another verification reads from the same repository, or a copy is written to
	// what is to be verified. It goes on by itself.
	ReasonVerificationWaiting = "VerificationWaiting"
	// ReasonScratchStorageClassIgnored is set where verification.deep.storageClassName is set and no capacity, neither there
	// nor in the repository's moverDefaults.scratch. Set a capacity, or leave the class out.
	ReasonScratchStorageClassIgnored = "ScratchStorageClassIgnored"
	// ReasonInvalidSchedule is set where cron, timezone or jitter cannot be read. The message says which.
	ReasonInvalidSchedule = "InvalidSchedule"
	// ReasonScheduled is set on a schedule that makes its runs; status.nextSchedule says when the next one is. Nothing to do.
	ReasonScheduled = "Scheduled"
	// ReasonRunMissed is an event of a schedule: runs came due while the controller did not work, or what the schedule needs
	// was missing. One run is made up for all of them, within 5 minutes.
	ReasonRunMissed = "RunMissed"
	// ReasonRunSkipped is an event of a schedule: a run was left out, because the one before has not ended, or because it
	// could not start within startingDeadlineSeconds. Look at the Snapshot that it names.
	ReasonRunSkipped = "RunSkipped"
	// ReasonRunReplaced is an event of a schedule whose concurrencyPolicy is Replace: a Snapshot that had not ended was deleted
	// to make room for the next one. If that happens often, the runs are too close together.
	ReasonRunReplaced = "RunReplaced"
	// ReasonNoPolicySelected is set while the schedule's policySelector selects no SnapshotPolicy that is not suspended. Label
	// the policies, or correct the selector.
	ReasonNoPolicySelected = "NoPolicySelected"
	// ReasonSnapshotNameTaken is set where a Snapshot of the name that a run needs belongs to somebody else. It is not
	// touched: delete or rename it.
	ReasonSnapshotNameTaken = "SnapshotNameTaken"
	// ReasonTimezoneDefaultAmbiguous is set where the schedule names no time zone and its repositories have different
	// defaults. It uses UTC: write schedule.timezone.
	ReasonTimezoneDefaultAmbiguous = "TimezoneDefaultAmbiguous"
)
