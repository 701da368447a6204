// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// AllowedNamespaces says who may use a ClusterRepository: exactly one of its fields is set.
// +kubebuilder:validation:XValidation:rule="(has(self.list) ? 1 : 0) + (has(self.selector) ? 1 : 0) + (has(self.all) ? 1 : 0) == 1",message="allowedNamespaces must have exactly one of list, selector, all"
type AllowedNamespaces struct {
	// list of namespace names.
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MaxLength=63
	// +listType=set
	// +optional
	List []string `json:"list,omitempty"`
	// selector over the labels of namespaces. An empty selector allows none.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	// all allows every namespace; it must be true.
	// +kubebuilder:validation:XValidation:rule="self",message="all must be true; list or selector allow less"
	// +optional
	All *bool `json:"all,omitempty"`
}

// ClusterRepositorySpec is a repository that many namespaces use.
// +kubebuilder:validation:XValidation:rule="!has(self.server) || (has(self.server.__namespace__) && size(self.server.__namespace__) > 0)",message="server.namespace is required on a ClusterRepository: it says where the server runs"
type ClusterRepositorySpec struct {
	RepositorySpec `json:",inline"`
	// allowedNamespaces may use this repository in their policies and restores.
	AllowedNamespaces AllowedNamespaces `json:"allowedNamespaces"`
	// credentialProjection says whether the Secrets may be copied into the namespaces that use this repository.
	// +optional
	CredentialProjection *ProjectionGate `json:"credentialProjection,omitempty"`
}

// ProjectionGate is the repository owner's word about copies of the Secrets.
type ProjectionGate struct {
	// allowed permits a copy for those who ask for one with credentialProjection.enabled.
	// +optional
	Allowed bool `json:"allowed,omitempty"`
}

// ClusterRepository is a kopia repository in reach of many namespaces.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || size(self.metadata.name) <= 63",optionalOldSelf=true,message="metadata.name must have at most 63 characters: it is the value of a label"
// +kubebuilder:resource:path=clusterrepositories,scope=Cluster,shortName=kopiacrepo,categories=kopiur
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Backend",type=string,JSONPath=`.status.backend`
// +kubebuilder:printcolumn:name="Namespaces",type=string,JSONPath=`.spec.allowedNamespaces`
// +kubebuilder:printcolumn:name="Server",type=string,JSONPath=`.status.server.endpoint`
// +kubebuilder:printcolumn:name="IndexBlobs",type=integer,JSONPath=`.status.storageStats.indexBlobCount`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ClusterRepository struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what you ask for.
	Spec ClusterRepositorySpec `json:"spec"`
	// status is what Kopiur found.
	// +optional
	Status RepositoryStatus `json:"status,omitempty"`
}

// ClusterRepositoryList is a list of cluster repositories.
//
// +kubebuilder:object:root=true
type ClusterRepositoryList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ClusterRepository `json:"items"`
}
