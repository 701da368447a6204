// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Reasons of conditions and events. Each says when it is set and what to do.
const (
	// ReasonReconciling is set while work is under way. Nothing to do.
	ReasonReconciling = "Reconciling"
	// ReasonSucceeded is set when the object reached what it asked for. Nothing to do.
	ReasonSucceeded = "Succeeded"
	// ReasonSuspended is set while spec.suspend is true. Set it to false to go on.
	ReasonSuspended = "Suspended"
	// ReasonInvalidSpec is set where the spec cannot be carried out. The message names the field and the fix.
	ReasonInvalidSpec = "InvalidSpec"
	// ReasonMissingDependency is set while an object that the spec names does not exist. It goes on by itself when the
	// object appears; the message has its name.
	ReasonMissingDependency = "MissingDependency"
	// ReasonKubeAPIError is set when a request to the API server failed. It is retried.
	ReasonKubeAPIError = "KubeApiError"
	// ReasonNotYetSupported is set on kinds and variants this version does not carry out. Upgrade, or use another.
	ReasonNotYetSupported = "NotYetSupported"
)

// Reasons of repositories.
const (
	// ReasonReachable is set when the last connect succeeded. Nothing to do.
	ReasonReachable = "Reachable"
	// ReasonConnecting is set while the connect Job runs. Nothing to do.
	ReasonConnecting = "Connecting"
	// ReasonBackendUnreachable is set when the store did not answer or answered with a fault of its own. It is retried
	// after 2, 4, 8, 16, then every 30 minutes; check endpoint, DNS and network policies.
	ReasonBackendUnreachable = "BackendUnreachable"
	// ReasonRepositoryNotInitialized is set when the store holds no repository and spec.create.enabled is false.
	// Correct bucket, prefix or path, or let Kopiur create it.
	ReasonRepositoryNotInitialized = "RepositoryNotInitialized"
	// ReasonRepositoryVanished is set when a repository that was known is gone or replaced. Nothing is created in its
	// place: restore the store, or, where the loss is final, delete and re-create the Repository object.
	ReasonRepositoryVanished = "RepositoryVanished"
	// ReasonLocationOccupied is set when the location holds something that is not a kopia repository. Nothing was
	// written: choose an empty folder or prefix.
	ReasonLocationOccupied = "LocationOccupied"
	// ReasonBootstrapDeadlineExceeded is set when the connect Job did not end in time. It is retried with twice the time,
	// up to 30 minutes; raise spec.bootstrap.failurePolicy.activeDeadlineSeconds where the store is slow.
	ReasonBootstrapDeadlineExceeded = "BootstrapDeadlineExceeded"
	// ReasonBootstrapJobFailed is set when the connect Job failed without a result. The message has the end of its log.
	ReasonBootstrapJobFailed = "BootstrapJobFailed"
	// ReasonBootstrapInternalInconsistency is set when the connect Job reported a success that lacks the repository's id. It
	// is retried; run mover and controller from one release.
	ReasonBootstrapInternalInconsistency = "BootstrapInternalInconsistency"
	// ReasonRepositoryVolumeNotReachable is set when the claim of a filesystem repository does not exist in the namespace
	// where the mover runs. Create a claim of that name there.
	ReasonRepositoryVolumeNotReachable = "RepositoryVolumeNotReachable"
	// ReasonProbeDeadlineExceeded is set when a probe did not end in time. It is tried again with twice the time; raise
	// spec.bootstrap.failurePolicy.activeDeadlineSeconds where the store is slow.
	ReasonProbeDeadlineExceeded = "ProbeDeadlineExceeded"
	// ReasonIndexBlobsInBounds is set while there are no more index blobs than spec.health.indexBlobWarnThreshold. Nothing to
	// do.
	ReasonIndexBlobsInBounds = "IndexBlobsInBounds"
	// ReasonTooManyIndexBlobs is set when there are more index blobs than spec.health.indexBlobWarnThreshold. Look whether
	// maintenance runs: connects become slower with every blob.
	ReasonTooManyIndexBlobs = "TooManyIndexBlobs"
	// ReasonThresholdExceeded is set while at least spec.deletionProtection.threshold deletions are pending and all are held. If
	// they are meant, run kopiurctl ack-deletion or set the annotation allow-mass-deletion to the present time.
	ReasonThresholdExceeded = "ThresholdExceeded"
	// ReasonInvalidMassDeletionAck is set when the annotation allow-mass-deletion is no RFC3339 time, or lies in the future.
	// Nothing was let go: write the present time.
	ReasonInvalidMassDeletionAck = "InvalidMassDeletionAck"
	// ReasonDiscoveredSnapshotUnplaced is set when a found snapshot belongs to no namespace that may use the repository. Create
	// or allow the namespace, or set spec.catalog.fallbackNamespace.
	ReasonDiscoveredSnapshotUnplaced = "DiscoveredSnapshotUnplaced"
)

// Reasons of a repository's maintenance.
const (
	// ReasonMaintenanceConfigured is set when a Maintenance takes care of the repository. Nothing to do.
	ReasonMaintenanceConfigured = "MaintenanceConfigured"
	// ReasonMaintenanceDisabled is set when spec.maintenance.enabled is false and no Maintenance names the repository. Create
	// one, or the repository grows for ever.
	ReasonMaintenanceDisabled = "MaintenanceDisabled"
	// ReasonMaintenanceNotConfigured is set until the Maintenance was created. Nothing to do.
	ReasonMaintenanceNotConfigured = "MaintenanceNotConfigured"
	// ReasonMaintenanceNamespaceUnresolved is set when the namespace of a ClusterRepository's Maintenance does not exist. Create
	// it, or correct spec.maintenance.namespace.
	ReasonMaintenanceNamespaceUnresolved = "MaintenanceNamespaceUnresolved"
	// ReasonMaintenanceApplyFailed is set when the Maintenance could not be written. The message has the API server's answer; it
	// is tried again.
	ReasonMaintenanceApplyFailed = "MaintenanceApplyFailed"
)

// Reasons of spec.seed.
const (
	// ReasonSeeded is set when the repository was filled. Nothing to do.
	ReasonSeeded = "Seeded"
	// ReasonAlreadyInitialized is set when the repository existed already and was not seeded. Nothing to do, unless it has no
	// snapshots, and the condition is False: name another place, or leave spec.seed out.
	ReasonAlreadyInitialized = "AlreadyInitialized"
	// ReasonSeeding is set while the seeding Job runs. Nothing to do.
	ReasonSeeding = "Seeding"
	// ReasonWaitingForSeedSource is set while the source is not Ready. It goes on by itself; look at the source's conditions.
	ReasonWaitingForSeedSource = "WaitingForSeedSource"
	// ReasonSeedSourceAuthConflict is set when source and repository would mix static credentials and workload identity of
	// one cloud in one pod. Use the same kind on both sides.
	ReasonSeedSourceAuthConflict = "SeedSourceAuthConflict"
	// ReasonSeedSourceNotFound is set when the source holds no repository. Correct its location.
	ReasonSeedSourceNotFound = "SeedSourceNotFound"
	// ReasonSeedSourceEmpty is set when the source has no snapshots. Correct it, or set spec.seed.allowEmptySource.
	ReasonSeedSourceEmpty = "SeedSourceEmpty"
	// ReasonSeedIncomplete is set when the seeding Job ended before everything was copied. It is tried again and goes on where
	// it ended.
	ReasonSeedIncomplete = "SeedIncomplete"
	// ReasonSeedLeftEmpty is set when nothing was copied, and the new repository is empty as allowed.
	ReasonSeedLeftEmpty = "SeedLeftEmpty"
	// ReasonMoverImageTooOldForSeed is set when the mover does not know how to seed. Run mover and controller from one release.
	ReasonMoverImageTooOldForSeed = "MoverImageTooOldForSeed"
	// ReasonRepositorySeeded is the event of a seeding that ended well.
	ReasonRepositorySeeded = "RepositorySeeded"
)

// Reasons of Snapshots and Restores before their mover runs.
const (
	// ReasonRepositoryReady is set when the repository may be used. Nothing to do.
	ReasonRepositoryReady = "RepositoryReady"
	// ReasonRepositoryNotReady is set while the repository is not Ready. The run starts by itself; if it lasts, look at
	// the repository's own conditions.
	ReasonRepositoryNotReady = "RepositoryNotReady"
	// ReasonRepositoryReadOnly is set on a Snapshot whose repository has mode ReadOnly. Use another repository.
	ReasonRepositoryReadOnly = "RepositoryReadOnly"
	// ReasonNamespaceNotAllowed is set when a ClusterRepository does not allow the namespace. Its owner adds the namespace
	// to spec.allowedNamespaces.
	ReasonNamespaceNotAllowed = "NamespaceNotAllowed"
	// ReasonMissingCredentialsSecret is set while a Secret or CA ConfigMap does not exist where the mover runs, or lacks a
	// key. The message has its name; it goes on by itself when the Secret changes.
	ReasonMissingCredentialsSecret = "MissingCredentialsSecret"
	// ReasonCredentialsFound is set when all Secrets exist. Nothing to do.
	ReasonCredentialsFound = "CredentialsFound"
	// ReasonMissingServiceAccount is set while the workload identity's ServiceAccount does not exist. Create it.
	ReasonMissingServiceAccount = "MissingServiceAccount"
	// ReasonPrivilegedMoverNotPermitted is set when the mover would run with privileges that the Namespace does not allow.
	// Annotate the Namespace with kopiur.home-operations.com/privileged-movers=true, or drop the privilege.
	ReasonPrivilegedMoverNotPermitted = "PrivilegedMoverNotPermitted"
	// ReasonPermitted is set when the mover's privileges are allowed. Nothing to do.
	ReasonPermitted = "Permitted"
	// ReasonSourcePVCMissing is set while the claim to back up does not exist. After 30 minutes the Snapshot fails.
	ReasonSourcePVCMissing = "SourcePvcMissing"
	// ReasonSourcePVCFound is set when the claim exists. Nothing to do.
	ReasonSourcePVCFound = "SourcePvcFound"
	// ReasonTargetPVCMissing is set while the claim of target.pvcRef does not exist. Create it, or use target.pvc.
	ReasonTargetPVCMissing = "TargetPvcMissing"
	// ReasonTargetPVCExists is set when the claim of target.pvc exists and this Restore did not make it. It is not
	// touched: name another claim, or use target.pvcRef to restore into it.
	ReasonTargetPVCExists = "TargetPvcExists"
	// ReasonTargetCreated is set when this Restore made the target claim. Nothing to do.
	ReasonTargetCreated = "TargetCreated"
	// ReasonTargetInUse is set when a running pod uses the claim that is restored into. The restore goes on; stop the pod
	// if the application must not see half of it.
	ReasonTargetInUse = "TargetInUse"
	// ReasonTargetFound is set when the target claim exists. Nothing to do.
	ReasonTargetFound = "TargetFound"
	// ReasonPVCInUse is set when a ReadWriteOncePod claim is in use by a running pod. For a backup use copyMethod Snapshot or
	// Clone; for a restore stop the pod.
	ReasonPVCInUse = "PvcInUse"
)

// Reasons of staging.
const (
	// ReasonSourceStaged is set when the mover may read the staged copy. Nothing to do.
	ReasonSourceStaged = "SourceStaged"
	// ReasonWaitingForVolumeSnapshot is set until the VolumeSnapshot is ready to use. The message has the driver's error.
	ReasonWaitingForVolumeSnapshot = "WaitingForVolumeSnapshot"
	// ReasonWaitingForStagedPVCBind is set until the staged claim is bound. The message has the provisioner's last event.
	ReasonWaitingForStagedPVCBind = "WaitingForStagedPvcBind"
	// ReasonSnapshotStackMissing is set where the cluster has no VolumeSnapshot API. Install the CSI snapshot CRDs and
	// controller, or set copyMethod: Direct.
	ReasonSnapshotStackMissing = "SnapshotStackMissing"
	// ReasonNoVolumeSnapshotClass is set where no VolumeSnapshotClass fits the volume's driver, or several do and none is
	// the default. Name one, or set copyMethod: Direct.
	ReasonNoVolumeSnapshotClass = "NoVolumeSnapshotClass"
	// ReasonVolumeSnapshotFailed is set where the driver reports an error that is not going to pass.
	ReasonVolumeSnapshotFailed = "VolumeSnapshotFailed"
	// ReasonStagingTimedOut is set where the VolumeSnapshot was not ready in spec.staging.timeout.
	ReasonStagingTimedOut = "StagingTimedOut"
	// ReasonStagedPVCBindTimeout is set where the staged claim was not bound in spec.staging.timeout.
	ReasonStagedPVCBindTimeout = "StagedPvcBindTimeout"
	// ReasonStagedPVCLost is set where the staged claim disappeared before the mover had ended.
	ReasonStagedPVCLost = "StagedPvcLost"
	// ReasonSourceNotCSIProvisioned is set where the volume has no CSI driver. Set copyMethod: Direct.
	ReasonSourceNotCSIProvisioned = "SourceNotCSIProvisioned"
	// ReasonStagingNameTaken is set where a claim or VolumeSnapshot of the derived name belongs to somebody else. It is
	// not touched: delete or rename it, or give the Snapshot another name.
	ReasonStagingNameTaken = "StagingNameTaken"
	// ReasonStagedClassNotFound is set where spec.staging.storageClassName does not exist.
	ReasonStagedClassNotFound = "StagedClassNotFound"
	// ReasonStagedClassMismatch is set where spec.staging.storageClassName belongs to another driver.
	ReasonStagedClassMismatch = "StagedClassMismatch"
)

// Reasons of a mover's run and outcome.
const (
	// ReasonMoverStarting is set while the mover's pod starts, or a failed one waits for its retry. The message has the
	// pod's own reason.
	ReasonMoverStarting = "MoverStarting"
	// ReasonResultLost is set when the mover's pod disappeared before its result was read. Another mover is started, which
	// finds what was stored; after three of them the run fails.
	ReasonResultLost = "ResultLost"
	// ReasonMoverRunning is set while the mover works. status.progress says how far it is.
	ReasonMoverRunning = "MoverRunning"
	// ReasonMoverPodWedged is set where the mover's pod did not start in failurePolicy.podStartupDeadlineSeconds. The
	// message has the pod's own reason.
	ReasonMoverPodWedged = "MoverPodWedged"
	// ReasonDeadlineKilled is set where the Job's last deadline ended the mover before it could report.
	ReasonDeadlineKilled = "DeadlineKilled"
	// ReasonNodeLost is set where the mover's node has not answered for 10 minutes. The run goes on when the node is back
	// or its pod is deleted; two movers never run at once.
	ReasonNodeLost = "NodeLost"
	// ReasonJobNameTaken is set where a Job of the derived name belongs to somebody else. Delete or rename it.
	ReasonJobNameTaken = "JobNameTaken"
	// ReasonCacheClaimTaken is told in an event where the claim of a cache that is to be kept belongs to somebody else. The work
	// goes on with a cache that goes with the pod. Rename the claim, or set cache.mode to Ephemeral.
	ReasonCacheClaimTaken = "CacheClaimTaken"
	// ReasonSnapshotSucceeded is set when the snapshot is stored completely. Nothing to do.
	ReasonSnapshotSucceeded = "SnapshotSucceeded"
	// ReasonSnapshotUnchanged is set when the source equals the previous snapshot and nothing was stored, as asked. Nothing to do.
	ReasonSnapshotUnchanged = "Unchanged"
	// ReasonIdentityCollision is set on a policy whose snapshots would be filed under the same identity and path as those
	// of another policy in the same repository. Change spec.identity or the source's path of one of them.
	ReasonIdentityCollision = "IdentityCollision"
	// ReasonIdentityUnresolved is set where the repository's identityDefaults make no username or hostname for a policy,
	// such as for a label that it does not have. Correct the policy's labels, or write its spec.identity.
	ReasonIdentityUnresolved = "IdentityUnresolved"
	// ReasonIdentityChanged is set where a policy that has snapshots would file further ones under another identity, where
	// neither retention nor a restore finds the old ones. Undo the change (an edit of a label is enough), or annotate the
	// policy with kopiur.home-operations.com/allow-identity-change if it is meant.
	ReasonIdentityChanged = "IdentityChanged"
	// ReasonPolicyReady is set when snapshots of the policy can be made. Nothing to do.
	ReasonPolicyReady = "PolicyReady"
	// ReasonSnapshotFailed is set when the mover's final result is a failure. status.failure says what to do.
	ReasonSnapshotFailed = "SnapshotFailed"
	// ReasonSnapshotIncompleteUnreadableEntries is set when entries could not be read. The snapshot is stored and can be
	// restored by its id; run the mover with the uid that owns the files, or tolerate it with errorHandling.
	ReasonSnapshotIncompleteUnreadableEntries = "SnapshotIncompleteUnreadableEntries"
	// ReasonRestoreSucceeded is set when everything was restored. Nothing to do.
	ReasonRestoreSucceeded = "RestoreSucceeded"
	// ReasonRestoreFailed is set when the mover's final result is a failure. status.failure says what to do.
	ReasonRestoreFailed = "RestoreFailed"
	// ReasonResolving is set while the repository is asked which snapshot is meant.
	ReasonResolving = "Resolving"
	// ReasonResolved is set when the snapshot is known. Nothing to do.
	ReasonResolved = "Resolved"
	// ReasonResolutionUnknown is set when the repository could not be asked. It is asked again; nothing is written to the
	// target before it has answered.
	ReasonResolutionUnknown = "ResolutionUnknown"
	// ReasonWaitingForSnapshot is set while policy.waitTimeout runs and no snapshot has appeared.
	ReasonWaitingForSnapshot = "WaitingForSnapshot"
	// ReasonNoSnapshotContinue is set when the repository proves that there is no snapshot and the target stays as it is.
	ReasonNoSnapshotContinue = "NoSnapshotContinue"
	// ReasonNoSnapshot is set when the repository proves that it has no snapshot that was asked for, and the Restore may
	// not go on without one. Correct asOf, offset or sourcePath, or make a backup first.
	ReasonNoSnapshot = "NoSnapshot"
	// ReasonSnapshotIDHealed is set on an event when the snapshot was found under another id than the one that was pinned:
	// pinning it rewrote its manifest. Nothing to do.
	ReasonSnapshotIDHealed = "SnapshotIDHealed"
	// ReasonReopened is set on an event when a failed object is tried again because its spec or its Secrets changed.
	ReasonReopened = "Reopened"
	// ReasonReferentFound is set when what the source names exists. Nothing to do.
	ReasonReferentFound = "ReferentFound"
	// ReasonRestoreReferentMissing is set while the Snapshot or SnapshotPolicy that the source names does not exist.
	ReasonRestoreReferentMissing = "RestoreReferentMissing"
	// ReasonMissingRecordedIdentity is set while the mover is to run as the backup did and no Snapshot says who that was. Set
	// mover.securityContext.runAsUser.
	ReasonMissingRecordedIdentity = "MissingRecordedIdentity"
	// ReasonSourcePathAmbiguous is set when the policy, or the identity, has several source paths and sourcePath picks none.
	ReasonSourcePathAmbiguous = "SourcePathAmbiguous"
	// ReasonOwnershipApplied is set when owners, modes and times of all entries were set. Nothing to do.
	ReasonOwnershipApplied = "OwnershipApplied"
	// ReasonOwnershipIncomplete is set when some could not be set. Run the mover with privilegedMode, or with the uid that
	// owns the files.
	ReasonOwnershipIncomplete = "OwnershipIncomplete"
	// ReasonFSGroupApplied is set on MetadataAltered: source.readOnly was false and the kubelet applied the pod's fsGroup, as
	// was acknowledged. Nothing to do.
	ReasonFSGroupApplied = "FsGroupApplied"
)

// Reasons of populators.
const (
	// ReasonAwaitingClaim is set while no claim names the Restore. Set spec.dataSourceRef of a claim to it.
	ReasonAwaitingClaim = "AwaitingClaim"
	// ReasonClaimsObserved is set when a claim names the Restore. status.claims has one entry for each.
	ReasonClaimsObserved = "ClaimsObserved"
	// ReasonTargetAlreadyBound is set when the claim had a volume before the populator came to it. Nothing was written to
	// it.
	ReasonTargetAlreadyBound = "TargetAlreadyBound"
	// ReasonWaitingForFirstConsumer is set while no pod uses the claim, whose StorageClass waits for one. Start the pod.
	ReasonWaitingForFirstConsumer = "WaitingForFirstConsumer"
	// ReasonWaitingForVolume is set while the helper claim has no volume yet. Its own events, in kubectl describe, say what
	// the storage driver waits for.
	ReasonWaitingForVolume = "WaitingForVolume"
	// ReasonClaimBinding is set when the volume has its data and the claim is not bound to it yet. Nothing to do.
	ReasonClaimBinding = "ClaimBinding"
	// ReasonVolumeNotOurs is set when the volume behind the helper claim belongs to another claim. Nothing is done with it:
	// delete the claim and make it again.
	ReasonVolumeNotOurs = "VolumeNotOurs"
	// ReasonNotAPopulator is set on an event of a claim whose data source is a Restore with another target. Set
	// target.populator of that Restore, or remove the claim's dataSourceRef.
	ReasonNotAPopulator = "NotAPopulator"
	// ReasonOrphanedPrimePVCReaped is set on an event when a helper claim whose own claim is gone was deleted. Nothing to
	// do.
	ReasonOrphanedPrimePVCReaped = "OrphanedPrimePvcReaped"
)

// Reasons of Maintenances.
const (
	// ReasonLeaseOwned is set while this Maintenance is the registered owner. Nothing to do.
	ReasonLeaseOwned = "LeaseOwned"
	// ReasonLeaseHeldByOther is set where another owner maintains the repository. If that one is gone for good, set
	// spec.ownership.takeoverPolicy to Force once.
	ReasonLeaseHeldByOther = "LeaseHeldByOther"
	// ReasonLeaseTakeoverPrompt is set where another owner maintains the repository and takeoverPolicy is PromptCondition.
	// The message names that owner: stop it, or set takeoverPolicy to Force.
	ReasonLeaseTakeoverPrompt = "LeaseTakeoverPrompt"
	// ReasonMaintenanceYielding is set where a run was left to another owner. Nothing to do.
	ReasonMaintenanceYielding = "MaintenanceYielding"
	// ReasonMaintained is set when the last run maintained the repository. Nothing to do.
	ReasonMaintained = "Maintained"
	// ReasonMaintenanceScheduled is set until the first run. The message says when it is due; for one at once, set the
	// annotation run-requested.
	ReasonMaintenanceScheduled = "MaintenanceScheduled"
	// ReasonMaintenanceFailed is set when the last run failed. The message has the class and the mover's words; it is tried
	// again after half an hour. With class VerificationFailed the repository has lost data, and nothing is removed before
	// somebody has looked.
	ReasonMaintenanceFailed = "MaintenanceFailed"
	// ReasonMaintenanceWaiting is set while the same store is being maintained for another object. It goes on by itself.
	ReasonMaintenanceWaiting = "MaintenanceWaiting"
)

// Reasons of runs that the annotation run-requested asks for.
const (
	// ReasonInvalidRunRequest is set where the annotation run-requested is no RFC 3339 time, or run-mode is neither quick
	// nor full. Nothing is run for it: correct the value.
	ReasonInvalidRunRequest = "InvalidRunRequest"
	// ReasonSuspendedWithPendingRun is set where a run was asked for while spec.suspend is true. It runs after that.
	ReasonSuspendedWithPendingRun = "SuspendedWithPendingRun"
)

// Reasons of replications.
const (
	// ReasonWaitingForSourceRepository is set while the repository of sourceRef is not Ready. It goes on by itself.
	ReasonWaitingForSourceRepository = "WaitingForSourceRepository"
	// ReasonWaitingForDestinationRepository is the same for destinationRef.
	ReasonWaitingForDestinationRepository = "WaitingForDestinationRepository"
	// ReasonReplicationScheduled is set while nothing is to be done before the time in status.nextScheduledAt.
	ReasonReplicationScheduled = "ReplicationScheduled"
	// ReasonReplicating is set while a mover copies. status.progress says how far it is.
	ReasonReplicating = "Replicating"
	// ReasonReplicated is set when a run copied what was to be copied. status.lastRun has the numbers. Nothing to do.
	ReasonReplicated = "Replicated"
	// ReasonReplicationFailed is set when a run failed. status.failure has the mover's words; the message says when it is
	// tried again.
	ReasonReplicationFailed = "ReplicationFailed"
	// ReasonWaitingForFirstCopy is set while there is no complete copy to verify. It goes on by itself.
	ReasonWaitingForFirstCopy = "WaitingForFirstCopy"
	// ReasonWaitingForVerification is set while a copy is due and its destination is being verified. It is made after that.
	ReasonWaitingForVerification = "WaitingForVerification"
	// ReasonPruningHeld is set where a run deleted no copies although spec.pruning asks for it, because it did not get to
	// see all that the source holds. Nothing to do: the next run that does deletes what is to be deleted.
	ReasonPruningHeld = "PruningHeld"
	// ReasonNoIdentityOverlap is set when all snapshots of the selected identities in the destination are copies.
	ReasonNoIdentityOverlap = "NoIdentityOverlap"
	// ReasonDestinationReadOnly is set where the repository of destinationRef has mode ReadOnly. Name another.
	ReasonDestinationReadOnly = "DestinationReadOnly"
	// ReasonNoIdentitiesMatched is set where spec.selection selects none of the source's identities. Nothing was copied:
	// correct the patterns; each is that of the whole value.
	ReasonNoIdentitiesMatched = "NoIdentitiesMatched"
	// ReasonIdentityOverlap is set where the destination has snapshots of a selected identity that are no copies, such as
	// those of a policy that writes there itself. Exclude the identity, or give the policy another.
	ReasonIdentityOverlap = "IdentityOverlap"
)

// Reasons of a repository's web UI.
const (
	// ReasonServerAvailable is set while the web UI is served. Nothing to do; status.server says where it is.
	ReasonServerAvailable = "ServerAvailable"
	// ReasonServerStarting is set while the web UI's pod starts. Nothing to do; if it lasts, look at the pod.
	ReasonServerStarting = "ServerStarting"
	// ReasonServerFailed is set when the web UI's pod has ended. The message has what it said last; it is started again.
	ReasonServerFailed = "ServerFailed"
	// ReasonServerNotEnabled is set where spec.server is written and this installation serves no web UI. Set
	// features.kopiaUi.enabled of the chart, or take spec.server away.
	ReasonServerNotEnabled = "ServerNotEnabled"
	// ReasonServerNameTaken is set when an object of the name that the web UI needs belongs to somebody else. It is not
	// touched: delete or rename it.
	ReasonServerNameTaken = "ServerNameTaken"
	// ReasonServerVolumeNotShared is set when the claim of a filesystem repository cannot be mounted by the web UI and by
	// movers at a time. Use a claim with access mode ReadWriteMany, or an NFS volume.
	ReasonServerVolumeNotShared = "ServerVolumeNotShared"
	// ReasonServerLeftBehind is set in an event when a ClusterRepository goes and this installation may not delete the
	// objects of its web UI. Delete what the message names.
	ReasonServerLeftBehind = "ServerLeftBehind"
)
