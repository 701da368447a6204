// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Labels, annotations and names on the wire.
const (
	// LabelManagedBy with ManagedByValue is on every object Kopiur creates.
	LabelManagedBy = "app.kubernetes.io/managed-by"
	ManagedByValue = "kopiur"
	// LabelComponent says which part of Kopiur an object belongs to.
	LabelComponent = "app.kubernetes.io/component"
	ComponentMover = "mover"

	// ComponentServer is the value of LabelComponent on the objects of a repository's web UI, ServerAppName that of
	// LabelAppName; LabelAppInstance has the repository's name.
	ComponentServer  = "kopia-server"
	LabelAppName     = "app.kubernetes.io/name"
	ServerAppName    = "kopiur-server"
	LabelAppInstance = "app.kubernetes.io/instance"

	prefix = GroupName + "/"

	// LabelServerUser on a generated Secret of the web UI is a digest of the user name in it, AnnotationServerSpec on what
	// was made for the web UI one of what it was made from.
	LabelServerUser      = prefix + "server-user"
	AnnotationServerSpec = prefix + "server-spec"
	// LabelServerCredentials on a copy of a ClusterRepository's credentials beside its web UI is a digest of their version;
	// AnnotationServerCredentials on the server's pod the same.
	LabelServerCredentials      = prefix + "server-credentials"
	AnnotationServerCredentials = prefix + "server-credentials"
	// AnnotationServerAnnotations on the web UI's Service lists the annotations that spec.server.service.annotations has set.
	AnnotationServerAnnotations = prefix + "server-annotations"

	// LabelOrigin tells where a Snapshot comes from.
	LabelOrigin = prefix + "origin"
	// LabelSnapshotID holds the kopia manifest id of a Snapshot.
	LabelSnapshotID = prefix + "snapshot-id"
	// LabelRepositoryUID holds the UID of the repository object a Snapshot lies in.
	LabelRepositoryUID = prefix + "repository-uid"
	// LabelClusterRepository and LabelClusterRepositoryUID name the ClusterRepository that an object in some namespace serves.
	LabelClusterRepository    = prefix + "cluster-repository"
	LabelClusterRepositoryUID = prefix + "cluster-repository-uid"
	// LabelConfig and LabelPolicy both hold the name of a Snapshot's policy, as LabelValue gives it.
	LabelConfig = prefix + "config"
	LabelPolicy = prefix + "policy"
	// LabelOperation names the operation of a mover Job.
	LabelOperation = prefix + "op"
	// OperationRestoreTarget is the value of LabelOperation on a claim that a Restore made.
	OperationRestoreTarget = "restore-target"
	// LabelGeneration holds the generation of the object that a mover Job was made from.
	LabelGeneration = prefix + "generation"
	// LabelOwnerUID holds the UID of the object a Job, claim or volume snapshot was made for.
	LabelOwnerUID = prefix + "owner-uid"

	// AnnotationPrivilegedMovers set to "true" on a Namespace lets movers run as root there.
	AnnotationPrivilegedMovers = prefix + "privileged-movers"
	// AnnotationReverifyRequestedAt asks the repository's reconciler to connect again.
	AnnotationReverifyRequestedAt = prefix + "reverify-requested-at"
	// AnnotationAllowMassDeletion on a repository lets go the held deletions that were made up to its value, an RFC3339 time.
	AnnotationAllowMassDeletion = prefix + "allow-mass-deletion"
	// AnnotationAllowIdentityChange with any value allows an update that files further snapshots under another identity than
	// those that are there.
	AnnotationAllowIdentityChange = prefix + "allow-identity-change"
	// AnnotationCatalogScanRequestedAt asks for a listing of the repository; each value is honoured once.
	AnnotationCatalogScanRequestedAt = prefix + "catalog-scan-requested-at"
	// AnnotationWebhookCertNotAfter on the webhook's Secret says when the certificate in it ends.
	AnnotationWebhookCertNotAfter = prefix + "webhook-cert-not-after"

	// FinalizerServer keeps a ClusterRepository until the objects of its web UI are gone.
	FinalizerServer = prefix + "server-cleanup"
	// FinalizerSnapshot keeps a Snapshot until its data was dealt with.
	FinalizerSnapshot = prefix + "snapshot-cleanup"
)

// Origins of a Snapshot.
const (
	OriginManual    = "manual"
	OriginScheduled = "scheduled"
)

// What belongs to populators, Maintenances and replications.
const (
	// OperationRestorePopulate is the value of LabelOperation on the helper claim of a populator.
	OperationRestorePopulate = "restore-populate"
	// LabelClaimUID on a populator's helper claim and Jobs is the UID of the claim that is filled.
	LabelClaimUID = prefix + "claim-uid"
	// AnnotationRestore on a helper claim is the name of the Restore that fills it.
	AnnotationRestore = prefix + "restore"
	// AnnotationReclaimPolicy on a volume that is being handed over is the reclaim policy that it gets back.
	AnnotationReclaimPolicy = prefix + "reclaim-policy"
	// ComponentMaintenance and ComponentReplication are values of LabelComponent.
	ComponentMaintenance = "maintenance"
	ComponentReplication = "replication"
	// LabelMaintenance and LabelReplication hold the name of the object that a Job runs for.
	LabelMaintenance = prefix + "maintenance"
	LabelReplication = prefix + "replication"
	// LabelSnapshotReplication holds the name of the SnapshotReplication that made a copy.
	LabelSnapshotReplication = prefix + "snapshot-replication"

	// AnnotationRunRequested asks a Maintenance or replication for a run now. Its value is an RFC 3339 time; another value
	// asks again.
	AnnotationRunRequested = prefix + "run-requested"
	// AnnotationRunMode is the mode of that run of a Maintenance: quick, or full.
	AnnotationRunMode = prefix + "run-mode"
	// AnnotationMaintenanceSlot and AnnotationReplicationSlot hold the due time that a Job runs for.
	AnnotationMaintenanceSlot = prefix + "maintenance-slot"
	AnnotationReplicationSlot = prefix + "replication-slot"

	// AnnotationCopiedFromID on a copy is the unique id of the repository that holds, or held, the original.
	AnnotationCopiedFromID = prefix + "copied-from-id"

	// OriginReplicated is the origin of a copy.
	OriginReplicated = "replicated"
)
