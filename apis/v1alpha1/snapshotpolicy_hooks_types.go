// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Hooks run around a snapshot, one after the other.
type Hooks struct {
	// beforeSnapshot runs before anything is copied. The run fails with its first hook that does, unless
	// that says continueOnFailure.
	// +kubebuilder:validation:MaxItems=50
	// +listType=atomic
	// +optional
	BeforeSnapshot []Hook `json:"beforeSnapshot,omitempty"`
	// afterSnapshot runs when the run has ended, also after a failure. One that was interrupted is run again, so it must
	// bear that.
	// +kubebuilder:validation:MaxItems=50
	// +listType=atomic
	// +optional
	AfterSnapshot []Hook `json:"afterSnapshot,omitempty"`
}

// Hook is one step: exactly one of its fields is set.
// +kubebuilder:validation:XValidation:rule="(has(self.workloadExec) ? 1 : 0) + (has(self.runJob) ? 1 : 0) + (has(self.httpRequest) ? 1 : 0) == 1",message="a hook must have exactly one of workloadExec, runJob, httpRequest"
type Hook struct {
	// workloadExec runs a command in a container of a running pod.
	// +optional
	WorkloadExec *ExecHook `json:"workloadExec,omitempty"`
	// runJob runs a Job in the policy's namespace and waits for its end.
	// +optional
	RunJob *JobHook `json:"runJob,omitempty"`
	// httpRequest sends a request and expects a status of 2xx.
	// +optional
	HTTPRequest *HTTPHook `json:"httpRequest,omitempty"`
}

// ExecHook runs a command in a container of a running pod.
type ExecHook struct {
	// podSelector must match exactly one running pod of the namespace. It must not be empty.
	PodSelector metav1.LabelSelector `json:"podSelector"`
	// container of the pod; its first where it is left out.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Container string `json:"container,omitempty"`
	// command and its arguments; no shell is involved unless you name one.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MaxLength=4096
	// +listType=atomic
	Command []string `json:"command"`
	// timeout of the command, 5m where it is left out.
	// +optional
	Timeout Duration `json:"timeout,omitempty"`
	// continueOnFailure goes on with the run where the command fails.
	// +optional
	ContinueOnFailure bool `json:"continueOnFailure,omitempty"`
}

// JobHook runs a Job.
type JobHook struct {
	// jobSpec is the spec of a batch/v1 Job. It is checked when the policy is applied and again when the Job is made. The
	// pod's restartPolicy is Never where it is left out.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	JobSpec runtime.RawExtension `json:"jobSpec"`
	// timeout of the Job, 5m where it is left out.
	// +optional
	Timeout Duration `json:"timeout,omitempty"`
	// continueOnFailure goes on with the run where the Job fails.
	// +optional
	ContinueOnFailure bool `json:"continueOnFailure,omitempty"`
}

// HTTPHook sends a request. All of it can be read by whoever may read the policy: use a runJob hook where a password is
// needed.
type HTTPHook struct {
	// url to send it to, http or https.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	URL string `json:"url"`
	// method of the request, POST where it is left out.
	// +kubebuilder:validation:MaxLength=16
	// +optional
	Method string `json:"method,omitempty"`
	// body of the request.
	// +kubebuilder:validation:MaxLength=65536
	// +optional
	Body string `json:"body,omitempty"`
	// headers of the request; each name at most once.
	// +kubebuilder:validation:MaxItems=50
	// +listType=atomic
	// +optional
	Headers []HTTPHeader `json:"headers,omitempty"`
	// timeout of the request, 5m where it is left out.
	// +optional
	Timeout Duration `json:"timeout,omitempty"`
	// continueOnFailure goes on with the run where the request fails.
	// +optional
	ContinueOnFailure bool `json:"continueOnFailure,omitempty"`
}

// HTTPHeader is one header of a request.
type HTTPHeader struct {
	// name of the header.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Name string `json:"name"`
	// value of the header, on one line.
	// +kubebuilder:validation:MaxLength=8192
	Value string `json:"value"`
}
