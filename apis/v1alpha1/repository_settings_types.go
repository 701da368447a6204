// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// AdoptionPolicy is Adopt or Ignore.
// +kubebuilder:validation:Enum=Adopt;Ignore
type AdoptionPolicy string

// What becomes of found snapshots that fit a policy of this cluster.
const (
	// AdoptionAdopt makes them Snapshots of the policy, which its retention counts.
	AdoptionAdopt AdoptionPolicy = "Adopt"
	// AdoptionIgnore leaves them alone.
	AdoptionIgnore AdoptionPolicy = "Ignore"
)

// ForeignSnapshots is Ignore or Fallback.
// +kubebuilder:validation:Enum=Ignore;Fallback
type ForeignSnapshots string

// What becomes of snapshots of other clusters.
const (
	// ForeignIgnore makes no rows for them.
	ForeignIgnore ForeignSnapshots = "Ignore"
	// ForeignFallback makes rows for them too.
	ForeignFallback ForeignSnapshots = "Fallback"
)

// CatalogSpec says what becomes of snapshots that are in the repository and were not made by a Snapshot of this cluster.
type CatalogSpec struct {
	// adoption says whether found snapshots that fit a policy become Snapshots of that policy.
	// +optional
	Adoption AdoptionPolicy `json:"adoption,omitempty"`
	// foreignSnapshots says whether snapshots of other clusters get rows here. Fallback needs identityDefaults.cluster.
	// +optional
	ForeignSnapshots ForeignSnapshots `json:"foreignSnapshots,omitempty"`
	// fallbackNamespace takes the rows that belong to no namespace of this cluster; for a ClusterRepository only.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	FallbackNamespace string `json:"fallbackNamespace,omitempty"`
	// periodicRefresh lists the repository every refreshInterval; without it only at the first connect and when the
	// annotation kopiur.home-operations.com/catalog-scan-requested-at asks for it.
	// +optional
	PeriodicRefresh bool `json:"periodicRefresh,omitempty"`
	// refreshInterval between two listings, at least 30s.
	// +kubebuilder:default="1h"
	// +optional
	RefreshInterval Duration `json:"refreshInterval,omitempty"`
	// retain bounds the rows; the snapshots themselves stay in the repository.
	// +optional
	Retain *CatalogRetain `json:"retain,omitempty"`
}

// CatalogRetain bounds the rows of found snapshots.
type CatalogRetain struct {
	// perIdentity is how many of the newest snapshots of each identity get a row; 0 makes none.
	// +kubebuilder:validation:Minimum=0
	// +optional
	PerIdentity *int32 `json:"perIdentity,omitempty"`
	// maxAgeDays is how old a snapshot with a row may be.
	// +kubebuilder:validation:Minimum=1
	// +optional
	MaxAgeDays *int32 `json:"maxAgeDays,omitempty"`
}

// ConcurrencySpec bounds the movers that use a repository at once.
type ConcurrencySpec struct {
	// maxConcurrentJobs of backups, restores and replications from this repository; unlimited where it is left out or 0.
	// Restores count but never wait; maintenance, verification and deletions are not counted.
	// +kubebuilder:validation:Minimum=0
	// +optional
	MaxConcurrentJobs int32 `json:"maxConcurrentJobs,omitempty"`
}

// DeletionProtection holds back deletions that come in great numbers.
type DeletionProtection struct {
	// threshold is how many pending deletions that are not Kopiur's own hold all of them, until the annotation
	// kopiur.home-operations.com/allow-mass-deletion lets them go. 0 switches the protection off.
	// +kubebuilder:default=10
	// +kubebuilder:validation:Minimum=0
	// +optional
	Threshold *int32 `json:"threshold,omitempty"`
}

// HealthSpec says what is watched, and what is done about it.
type HealthSpec struct {
	// indexBlobWarnThreshold of index blobs turns the condition IndexBlobHealth to False; 0 switches it off.
	// +kubebuilder:default=1000
	// +kubebuilder:validation:Minimum=0
	// +optional
	IndexBlobWarnThreshold *int32 `json:"indexBlobWarnThreshold,omitempty"`
	// probe connects from time to time, so that a store that is lost is noticed before the next backup.
	// +optional
	Probe *HealthProbe `json:"probe,omitempty"`
}

// ProbeFailureAction is Degrade or Alert.
// +kubebuilder:validation:Enum=Degrade;Alert
type ProbeFailureAction string

// What failed probes do.
const (
	// ProbeDegrade parks all who use the repository until a probe succeeds.
	ProbeDegrade ProbeFailureAction = "Degrade"
	// ProbeAlert sets the condition BackendReachable to False and parks nobody.
	ProbeAlert ProbeFailureAction = "Alert"
)

// HealthProbe connects from time to time.
type HealthProbe struct {
	// enabled switches the probe on.
	// +kubebuilder:default=true
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
	// interval between two probes, at least 30s.
	// +kubebuilder:default="30m"
	// +optional
	Interval Duration `json:"interval,omitempty"`
	// failureThreshold is how many failures in a row it takes.
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=1
	// +optional
	FailureThreshold *int32 `json:"failureThreshold,omitempty"`
	// onFailure Degrade parks all who use the repository; Alert only says so.
	// +kubebuilder:default=Degrade
	// +optional
	OnFailure ProbeFailureAction `json:"onFailure,omitempty"`
}

// IdentityDefaults name the snapshots of policies that do not name them themselves. Expressions are CEL and give a
// string; they know namespace, policyName, labels, annotations and cluster.
type IdentityDefaults struct {
	// cluster tells this cluster's snapshots from those of others that share the repository; it becomes part of the
	// hostname. A DNS label of at most 32 characters.
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="size(self) == 0 || self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="cluster must be a DNS label: lower case letters, digits and -, without dots"
	// +optional
	Cluster string `json:"cluster,omitempty"`
	// hostnameExpr gives the hostname.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	HostnameExpr string `json:"hostnameExpr,omitempty"`
	// usernameExpr gives the username.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	UsernameExpr string `json:"usernameExpr,omitempty"`
}

// ScheduleDefaults apply to all that is scheduled for a repository and names no value of its own.
type ScheduleDefaults struct {
	// timezone by its IANA name, such as Europe/Berlin; UTC where it is left out.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Timezone string `json:"timezone,omitempty"`
	// jitter delays each run by up to that much, at most 24h.
	// +optional
	Jitter Duration `json:"jitter,omitempty"`
}

// TakeoverPolicy says what is done about a maintenance lease that somebody else holds.
// +kubebuilder:validation:Enum=Never;PromptCondition;Force
type TakeoverPolicy string

// Takeover policies.
const (
	// TakeoverNever leaves the maintenance to the holder.
	TakeoverNever TakeoverPolicy = "Never"
	// TakeoverPromptCondition leaves it to the holder, and a condition asks you to decide.
	TakeoverPromptCondition TakeoverPolicy = "PromptCondition"
	// TakeoverForce takes the lease over.
	TakeoverForce TakeoverPolicy = "Force"
)

// MaintenanceSchedule says when quick and full maintenance run.
type MaintenanceSchedule struct {
	// quick maintenance keeps the indexes small.
	Quick CronSpec `json:"quick"`
	// full maintenance also gives storage back. It takes the place of a quick run that is due at the same time.
	Full CronSpec `json:"full"`
	// timezone of both, where they name none of their own.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Timezone string `json:"timezone,omitempty"`
}

// RepositoryMaintenance shapes the Maintenance that Kopiur creates for a repository.
type RepositoryMaintenance struct {
	// enabled lets Kopiur create it. Yours is used in its place in any case.
	// +kubebuilder:default=true
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
	// schedule of the runs; quick every six hours and full at three in the morning where it is left out.
	// +optional
	Schedule *MaintenanceSchedule `json:"schedule,omitempty"`
	// mover shapes the movers of the runs.
	// +optional
	Mover *MoverSpec `json:"mover,omitempty"`
	// failurePolicy of the runs.
	// +optional
	FailurePolicy *FailurePolicy `json:"failurePolicy,omitempty"`
	// takeoverPolicy says what is done about a lease that somebody else holds: Never where it is left out.
	// +optional
	TakeoverPolicy TakeoverPolicy `json:"takeoverPolicy,omitempty"`
	// namespace of the Maintenance and its movers, the home namespace where it is left out; for a ClusterRepository only.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Namespace string `json:"namespace,omitempty"`
}
