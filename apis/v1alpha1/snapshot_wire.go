// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Labels of Snapshots and of the Jobs of policies.
const (
	// LabelSchedule holds the name of the schedule that made a Snapshot.
	LabelSchedule = prefix + "schedule"
	// LabelGroup joins the Snapshots of one VolumeGroupSnapshot. Kopiur also puts it on the claims while they are being cut:
	// a VolumeGroupSnapshot selects claims by labels.
	LabelGroup = prefix + "group"
	// LabelVerify holds the name of the policy that a verification Job belongs to, LabelVerifyRepository the repository it
	// looks at.
	LabelVerify           = prefix + "verify"
	LabelVerifyRepository = prefix + "verify-repo"
)

// Annotations that people set.
const (
	// AnnotationSkipSnapshotCleanup on a Snapshot lets it go without anything in the repository being deleted. Its value
	// does not matter.
	AnnotationSkipSnapshotCleanup = prefix + "skip-snapshot-cleanup"
	// AnnotationAcknowledgeEmptyStart on a policy, with the present time in RFC 3339, lets a backup go on that began
	// without the history that was found in the repository.
	AnnotationAcknowledgeEmptyStart = prefix + "acknowledge-empty-start"
	// AnnotationStreamExecMovers set to "true" on a Namespace lets movers run commands in its pods.
	AnnotationStreamExecMovers = prefix + "stream-exec-movers"
)

// Annotations that Kopiur sets.
const (
	// AnnotationPrunedBy is set on a Snapshot just before Kopiur deletes it. Without it, somebody else did.
	AnnotationPrunedBy = prefix + "pruned-by"
	// AnnotationPinTarget says whether a pin Job pins or unpins: "true" or "false".
	AnnotationPinTarget = prefix + "pin-target"
	// AnnotationVerifyPolicy names the policy, as namespace/name, that a verification Job runs for.
	AnnotationVerifyPolicy = prefix + "verify-policy"
	// AnnotationScheduleSlot on a Snapshot holds the time for which its schedule made it.
	AnnotationScheduleSlot = prefix + "schedule-slot"
	// AnnotationGroupClaims on one Snapshot of a run holds the names of all claims that are cut at one instant, with commas
	// between them. That Snapshot makes the VolumeGroupSnapshot, the others wait for it.
	AnnotationGroupClaims = prefix + "group-claims"
	// AnnotationFoundRequest on a Snapshot that was found holds the UID of the Snapshot that it was once made for.
	AnnotationFoundRequest = prefix + "found-request"
	// AnnotationVerifySlot holds the time in whose name a verification Job runs.
	AnnotationVerifySlot = prefix + "verify-slot"
)

// Values of AnnotationPrunedBy.
const (
	PrunedByRetention            = "retention"
	PrunedByFailedHistory        = "failed-history"
	PrunedByPolicyCascade        = "policy-cascade"
	PrunedByReplicationRetention = "replication-retention"
	PrunedByReplacedRun          = "replaced-run"
)

// Values and annotations of Jobs that delete stored snapshots.
const (
	// OperationSnapshotDelete is the value of LabelOperation on them.
	OperationSnapshotDelete = "snapshot-delete-batch"
	// AnnotationDeleteMembers lists what such a Job deletes, as JSON: namespace, name and uid of each Snapshot, and the id
	// it was stored under.
	AnnotationDeleteMembers = prefix + "delete-members"
)

// FinalizerPolicy keeps a policy until what becomes of its Snapshots is written on them.
const FinalizerPolicy = prefix + "policy-cleanup"

// FinalizerHooks keeps a Snapshot from its first hook until the hooks after it have run: deleting it must not leave an
// application frozen.
const FinalizerHooks = prefix + "hooks"

// Origins of Snapshots that no mover of ours made for them.
const (
	// OriginDiscovered stands for one that was found in a repository.
	OriginDiscovered = "discovered"
	// OriginAdopted stands for one that was found and belongs to a policy since.
	OriginAdopted = "adopted"
)

// Sources of a recorded identity.
const (
	RecordedInherited = "inherited"
	RecordedExplicit  = "explicit"
	RecordedDefaults  = "defaults"
	RecordedUnknown   = "unknown"
)

// Copies of credentials.
const (
	// ComponentVerify marks what a verification made.
	ComponentVerify = "verify"
	// ComponentCredentials marks them.
	ComponentCredentials = "credentials"
	// LabelCredentialsScope with CredentialsScopeClusterRepository says whose they are.
	LabelCredentialsScope             = prefix + "creds-scope"
	CredentialsScopeClusterRepository = "cr"
	// AnnotationCacheOf on the claim of a cache that is kept says what it was made for: repository, size and class. It is
	// compared as a whole.
	AnnotationCacheOf = prefix + "cache-of"
	// AnnotationProjectedFrom names what a copy was made from, AnnotationProjectedAt when it was last used.
	AnnotationProjectedFrom = prefix + "projected-from"
	AnnotationProjectedAt   = prefix + "projected-at"
)
