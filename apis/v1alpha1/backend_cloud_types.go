// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// S3Backend keeps the repository in a bucket.
// +kubebuilder:validation:XValidation:rule="!has(self.endpoint) || !self.endpoint.startsWith('http://') || (has(self.tls) && has(self.tls.disableTls) && self.tls.disableTls)",message="endpoint must not begin with http:// unless tls.disableTls is true: kopia speaks HTTPS without it"
type S3Backend struct {
	// bucket that holds the repository; it must exist.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Bucket string `json:"bucket"`
	// prefix of all object names, used as it stands: no slash is added.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Prefix string `json:"prefix,omitempty"`
	// endpoint as host or host:port; Amazon's where it is left out. A leading https:// is dropped.
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="size(self) == 0 || self.matches('^(https?://)?([^][/?#@:[:space:]]+|[[][0-9A-Fa-f:.]+[]])(:[0-9]{1,5})?$')",message="endpoint must be host or host:port, without a path; use prefix for a path below the bucket, and tls.disableTls for plain HTTP"
	// +optional
	Endpoint string `json:"endpoint,omitempty"`
	// region of the bucket.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Region string `json:"region,omitempty"`
	// tls settings of the connection.
	// +optional
	TLS *S3TLS `json:"tls,omitempty"`
	// auth to the store. Keys of the Secret: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN (optional).
	// +optional
	Auth *BackendAuth `json:"auth,omitempty"`
}

// S3TLS shapes the connection to an S3 endpoint.
type S3TLS struct {
	// caBundleRef names a ConfigMap with the CA certificates to trust.
	// +optional
	CABundleRef *CABundleRef `json:"caBundleRef,omitempty"`
	// disableTls speaks plain HTTP.
	// +optional
	DisableTLS bool `json:"disableTls,omitempty"`
	// insecureSkipVerify does not check the server's certificate.
	// +optional
	InsecureSkipVerify bool `json:"insecureSkipVerify,omitempty"`
}

// CABundleRef names a ConfigMap key with PEM certificates.
type CABundleRef struct {
	// configMapName of the ConfigMap, in the namespace of the credentials.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ConfigMapName string `json:"configMapName"`
	// key below data, ca.crt where it is left out.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Key string `json:"key,omitempty"`
}

// AzureBackend keeps the repository in a container.
// +kubebuilder:validation:XValidation:rule="!has(self.auth) || !has(self.auth.workloadIdentity) || (has(self.storageAccount) && size(self.storageAccount) > 0)",message="azure.storageAccount is required with auth.workloadIdentity: there is no Secret that could name it"
type AzureBackend struct {
	// container that holds the repository; it must exist.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Container string `json:"container"`
	// prefix of all blob names, used as it stands: no slash is added.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Prefix string `json:"prefix,omitempty"`
	// storageAccount that has the container; the Secret's key AZURE_STORAGE_ACCOUNT where it is left out.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	StorageAccount string `json:"storageAccount,omitempty"`
	// storageDomain of the cloud, blob.core.windows.net where it is left out.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	StorageDomain string `json:"storageDomain,omitempty"`
	// auth to the store. Keys of the Secret: AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN.
	// +optional
	Auth *BackendAuth `json:"auth,omitempty"`
}

// GCSBackend keeps the repository in a bucket.
type GCSBackend struct {
	// bucket that holds the repository; it must exist.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Bucket string `json:"bucket"`
	// prefix of all object names, used as it stands: no slash is added.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Prefix string `json:"prefix,omitempty"`
	// auth to the store. Key of the Secret: KOPIA_GCS_CREDENTIALS.
	// +optional
	Auth *BackendAuth `json:"auth,omitempty"`
}

// B2Backend keeps the repository in a bucket.
type B2Backend struct {
	// bucket that holds the repository; it must exist.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Bucket string `json:"bucket"`
	// prefix of all file names, used as it stands: no slash is added.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Prefix string `json:"prefix,omitempty"`
	// auth to the store, by secretRef. Keys of the Secret: B2_KEY_ID and B2_KEY.
	// +kubebuilder:validation:XValidation:rule="!has(self.workloadIdentity)",message="workloadIdentity works with s3, azure and gcs only; use auth.secretRef"
	// +optional
	Auth *BackendAuth `json:"auth,omitempty"`
}
