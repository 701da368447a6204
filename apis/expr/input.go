// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package expr

import "time"

// The fields with a cel tag are the variables. A nil pointer or list is a value that is not known: an expression whose
// result depends on it gives UnknownError.

// IdentityInput is what the parts of an identity can be made from.
type IdentityInput struct {
	// Namespace, PolicyName, Labels and Annotations are the policy's.
	Namespace   string            `cel:"namespace"`
	PolicyName  string            `cel:"policyName"`
	Labels      map[string]string `cel:"labels"`
	Annotations map[string]string `cel:"annotations"`
	// Cluster is the repository's identityDefaults.cluster, "" where it has none.
	Cluster string `cel:"cluster"`
}

// SuccessInput is what a verification has to show.
type SuccessInput struct {
	// Tier is TierQuick or TierDeep.
	Tier  string `cel:"tier"`
	Stats *Stats `cel:"stats"`
	// Snapshot that was verified.
	Snapshot *Snapshot `cel:"snapshot"`
	// Restored is nil unless the tier is deep.
	Restored *Restored `cel:"restored"`
}

// Tiers of verification.
const (
	TierQuick = "quick"
	TierDeep  = "deep"
)

// Stats count what a verification looked at.
type Stats struct {
	Files  int64 `cel:"files"`
	Bytes  int64 `cel:"bytes"`
	Errors int64 `cel:"errors"`
}

// Snapshot is one that was verified.
type Snapshot struct {
	ID string `cel:"id"`
	// Identity is written as username@hostname:path.
	Identity  string    `cel:"identity"`
	StartTime time.Time `cel:"startTime"`
	EndTime   time.Time `cel:"endTime"`
}

// Restored is what a deep verification restored.
type Restored struct {
	Files           int64 `cel:"files"`
	ChecksumMatches bool  `cel:"checksumMatches"`
}

// PreflightInput is what a check before a run can look at.
type PreflightInput struct {
	// Namespace, PolicyName, Labels and Annotations are the policy's.
	Namespace   string            `cel:"namespace"`
	PolicyName  string            `cel:"policyName"`
	Labels      map[string]string `cel:"labels"`
	Annotations map[string]string `cel:"annotations"`
	// Cluster is the repository's identityDefaults.cluster, "" where it has none.
	Cluster string `cel:"cluster"`
	// Origin is why the run happens: scheduled or manual.
	Origin string `cel:"origin"`
	// NamespaceLabels and NamespaceAnnotations are the namespace's own.
	NamespaceLabels      map[string]string `cel:"namespaceLabels"`
	NamespaceAnnotations map[string]string `cel:"namespaceAnnotations"`
	// Repository that the run writes to.
	Repository *Repository `cel:"repository"`
	// PVC is the source; a source without a claim has none.
	PVC *PVC `cel:"pvc"`
	// Pods are those that mount the claim.
	Pods []Pod `cel:"pods"`
}

// Repository is what its object says about itself.
type Repository struct {
	Name  string `cel:"name"`
	Kind  string `cel:"kind"`
	Phase string `cel:"phase"`
	// Snapshots and Bytes are those of the last look at its contents.
	Snapshots  int64 `cel:"snapshots"`
	Bytes      int64 `cel:"bytes"`
	IndexBlobs int64 `cel:"indexBlobs"`
}

// PVC is a claim.
type PVC struct {
	Name             string            `cel:"name"`
	Labels           map[string]string `cel:"labels"`
	Annotations      map[string]string `cel:"annotations"`
	Phase            string            `cel:"phase"`
	StorageClassName string            `cel:"storageClassName"`
	VolumeMode       string            `cel:"volumeMode"`
	AccessModes      []string          `cel:"accessModes"`
	// Bytes is the capacity.
	Bytes int64 `cel:"bytes"`
}

// Pod mounts the source.
type Pod struct {
	Name   string            `cel:"name"`
	Labels map[string]string `cel:"labels"`
	Phase  string            `cel:"phase"`
	// Ready is the pod's condition.
	Ready bool `cel:"ready"`
}
