// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ResolvedSource is one source as it stands now.
type ResolvedSource struct {
	// pvc as namespace/name; absent for sources that are no claim.
	// +optional
	PVC string `json:"pvc,omitempty"`
	// sourcePath its snapshots are filed under.
	// +optional
	SourcePath string `json:"sourcePath,omitempty"`
}

// ResolvedRepository is one of several repositories, with the identity that snapshots are filed under there.
type ResolvedRepository struct {
	// repository that takes snapshots.
	Repository RepositoryRef `json:"repository"`
	// identity there, without the path.
	// +optional
	Identity *Identity `json:"identity,omitempty"`
}

// PolicyResolved is what the policy's references lead to.
type PolicyResolved struct {
	// identity without the path; absent where there are several repositories.
	// +optional
	Identity *Identity `json:"identity,omitempty"`
	// sources with their paths.
	// +kubebuilder:validation:MaxItems=400
	// +listType=atomic
	// +optional
	Sources []ResolvedSource `json:"sources,omitempty"`
	// repositories with the identity in each, where there are several.
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	// +optional
	Repositories []ResolvedRepository `json:"repositories,omitempty"`
}

// RepositoryVerified is when a policy's snapshots in one repository were last verified.
type RepositoryVerified struct {
	// repository that was verified.
	Repository RepositoryRef `json:"repository"`
	// lastVerified is the end of the last successful verification.
	// +optional
	LastVerified string `json:"lastVerified,omitempty"`
}

// VerificationTier is quick or deep.
// +kubebuilder:validation:Enum=quick;deep
type VerificationTier string

// Tiers of verification.
const (
	VerificationQuick VerificationTier = "quick"
	VerificationDeep  VerificationTier = "deep"
)

// VerificationOutcome is what became of a run.
// +kubebuilder:validation:Enum=Succeeded;Failed;Unproven
type VerificationOutcome string

// Outcomes of a verification.
const (
	// VerificationSucceeded: what was stored can be read back.
	VerificationSucceeded VerificationOutcome = "Succeeded"
	// VerificationFailed: it cannot, or does not satisfy the check or successExpr.
	VerificationFailed VerificationOutcome = "Failed"
	// VerificationUnproven: the run did not get to an answer, for a reason that says nothing about the data.
	VerificationUnproven VerificationOutcome = "Unproven"
)

// VerificationRun is what the verification of one tier and repository did, and when it is due again.
type VerificationRun struct {
	// tier of the verification.
	Tier VerificationTier `json:"tier"`
	// repository whose snapshots are verified.
	Repository        RepositoryRef `json:"repository"`
	VerificationState `json:",inline"`
	// lastHandledAt is the newest due time that was dealt with.
	// +optional
	LastHandledAt string `json:"lastHandledAt,omitempty"`
	// bytes of these files.
	// +optional
	Bytes int64 `json:"bytes,omitempty"`
	// logTail is the end of what verification.deep.check printed, where it failed.
	// +optional
	LogTail string `json:"logTail,omitempty"`
}

// VerificationState is what a verification did, and when it is due again.
type VerificationState struct {
	// nextScheduledAt is when the next run is due.
	// +optional
	NextScheduledAt string `json:"nextScheduledAt,omitempty"`
	// schedule that nextScheduledAt was computed by.
	// +optional
	Schedule string `json:"schedule,omitempty"`
	// job of the run that is under way.
	// +optional
	Job string `json:"job,omitempty"`
	// lastRunAt is the end of the last run.
	// +optional
	LastRunAt string `json:"lastRunAt,omitempty"`
	// outcome of the last run.
	// +optional
	Outcome VerificationOutcome `json:"outcome,omitempty"`
	// reason of the outcome, as the condition Verified has it.
	// +optional
	Reason string `json:"reason,omitempty"`
	// message about the last run.
	// +optional
	Message string `json:"message,omitempty"`
	// consecutiveFailures since the last success.
	// +optional
	ConsecutiveFailures int32 `json:"consecutiveFailures,omitempty"`
	// snapshots that the last run looked at.
	// +optional
	Snapshots int64 `json:"snapshots,omitempty"`
	// files it looked at.
	// +optional
	Files int64 `json:"files,omitempty"`
	// errors it found.
	// +optional
	Errors int64 `json:"errors,omitempty"`
}

// PolicyRetentionStatus is what retention did.
type PolicyRetentionStatus struct {
	// activeSnapshotCount of snapshots that are kept.
	// +optional
	ActiveSnapshotCount int64 `json:"activeSnapshotCount,omitempty"`
	// lastPruneAt is when retention last deleted something.
	// +optional
	LastPruneAt string `json:"lastPruneAt,omitempty"`
	// lastPruneDeleted counts what it deleted then.
	// +optional
	LastPruneDeleted int64 `json:"lastPruneDeleted,omitempty"`
}

// PolicyAdoptionStatus is what adoption did.
type PolicyAdoptionStatus struct {
	// lastAdoptedCount of the last adoption.
	// +optional
	LastAdoptedCount int64 `json:"lastAdoptedCount,omitempty"`
	// lastAdoptionAt is when something was last adopted.
	// +optional
	LastAdoptionAt string `json:"lastAdoptionAt,omitempty"`
	// totalAdopted so far.
	// +optional
	TotalAdopted int64 `json:"totalAdopted,omitempty"`
	// lastScanMatched counts the snapshots of the last scan that have this policy's identity.
	// +optional
	LastScanMatched int64 `json:"lastScanMatched,omitempty"`
	// lastScanUnmatched counts those that have another.
	// +optional
	LastScanUnmatched int64 `json:"lastScanUnmatched,omitempty"`
	// skippedByRetention counts those that retention would delete at once, and that were left alone for it.
	// +optional
	SkippedByRetention int64 `json:"skippedByRetention,omitempty"`
	// scanRequestedAt is when this policy last asked for a scan.
	// +optional
	ScanRequestedAt string `json:"scanRequestedAt,omitempty"`
	// scanRequestedIdentity is the identity that it asked for.
	// +optional
	ScanRequestedIdentity string `json:"scanRequestedIdentity,omitempty"`
	// through says, by the UID of a repository and the source path, how new the newest snapshot is that was taken over.
	// What is older and found again is one whose Snapshot was deleted: it is not taken over a second time.
	// +kubebuilder:validation:MaxProperties=3200
	// +optional
	Through map[string]string `json:"through,omitempty"`
}

// SnapshotPolicyStatus is what Kopiur found.
type SnapshotPolicyStatus struct {
	// conditions of the policy.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// observedGeneration is the generation this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// resolved references.
	// +optional
	Resolved *PolicyResolved `json:"resolved,omitempty"`
	// repositorySummary is the repository for people.
	// +optional
	RepositorySummary string `json:"repositorySummary,omitempty"`
	// lastSuccessfulSnapshot is the end time of the newest successful Snapshot.
	// +optional
	LastSuccessfulSnapshot string `json:"lastSuccessfulSnapshot,omitempty"`
	// lastVerified is the end of the last successful verification; with several repositories that of the one verified
	// longest ago.
	// +optional
	LastVerified string `json:"lastVerified,omitempty"`
	// verification by repository.
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	// +optional
	Verification []RepositoryVerified `json:"verification,omitempty"`
	// verificationStamps maps tier and repository to the end of the last verification.
	// +optional
	VerificationStamps map[string]string `json:"verificationStamps,omitempty"`
	// verificationRuns has one entry for each tier and repository.
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	// +optional
	VerificationRuns []VerificationRun `json:"verificationRuns,omitempty"`
	// retention is what it did.
	// +optional
	Retention *PolicyRetentionStatus `json:"retention,omitempty"`
	// adoption is what it did.
	// +optional
	Adoption *PolicyAdoptionStatus `json:"adoption,omitempty"`
}
