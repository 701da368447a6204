// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import corev1 "k8s.io/api/core/v1"

// ServerSpec runs kopia's web UI. It can read everything in the repository, and delete unless it is read-only.
type ServerSpec struct {
	// namespace the server runs in; required on a ClusterRepository, refused on a Repository.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// auth of the people who use it. A password is generated where it is left out.
	// +optional
	Auth *ServerAuth `json:"auth,omitempty"`
	// readOnly opens the repository for reading only; always so where the repository has mode ReadOnly.
	// +optional
	ReadOnly *bool `json:"readOnly,omitempty"`
	// service that leads to the server.
	// +optional
	Service *ServerService `json:"service,omitempty"`
	// resources of the server's container.
	// +optional
	Resources *Resources `json:"resources,omitempty"`
	// securityContext of the server's container.
	// +optional
	SecurityContext *corev1.SecurityContext `json:"securityContext,omitempty"`
	// podSecurityContext of the server's pod.
	// +optional
	PodSecurityContext *corev1.PodSecurityContext `json:"podSecurityContext,omitempty"`
}

// ServerAuth is how people log in: exactly one of its fields is set.
// +kubebuilder:validation:XValidation:rule="(has(self.generate) ? 1 : 0) + (has(self.secretRef) ? 1 : 0) + (has(self.insecure) ? 1 : 0) == 1",message="server.auth must have exactly one of generate, secretRef, insecure"
type ServerAuth struct {
	// generate makes a Secret with a password.
	// +optional
	Generate *ServerGenerate `json:"generate,omitempty"`
	// secretRef names a Secret of yours.
	// +optional
	SecretRef *ServerSecretRef `json:"secretRef,omitempty"`
	// insecure lets everybody in who reaches the server.
	// +optional
	Insecure *ServerInsecure `json:"insecure,omitempty"`
}

// ServerGenerate makes a Secret with a password.
type ServerGenerate struct {
	// username that goes with it, kopia where it is left out.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Username string `json:"username,omitempty"`
}

// ServerSecretRef names the Secret with username and password, in the namespace of the server.
type ServerSecretRef struct {
	// name of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// usernameKey below data.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	UsernameKey string `json:"usernameKey"`
	// passwordKey below data.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	PasswordKey string `json:"passwordKey"`
}

// ServerInsecure lets everybody in.
// +kubebuilder:validation:XValidation:rule="has(self.acknowledgeInsecure) && self.acknowledgeInsecure",message="server.auth.insecure.acknowledgeInsecure must be true: without a password everybody who reaches the server can read and delete backups"
type ServerInsecure struct {
	// acknowledgeInsecure must be true.
	// +kubebuilder:default=false
	// +optional
	AcknowledgeInsecure bool `json:"acknowledgeInsecure,omitempty"`
}

// ServerService is the Service that leads to the server.
type ServerService struct {
	// type of the Service.
	// +kubebuilder:validation:Enum=ClusterIP;NodePort;LoadBalancer
	// +kubebuilder:default=ClusterIP
	// +optional
	Type corev1.ServiceType `json:"type,omitempty"`
	// port of the Service.
	// +kubebuilder:default=51515
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +optional
	Port *int32 `json:"port,omitempty"`
	// annotations of the Service.
	// +kubebuilder:validation:MaxProperties=50
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}
