// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package moverjob

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// SendTo lets a Job's pod run on one node only, and tolerate what the pod that holds the volume there tolerates. By the
// node's name and not its hostname label: that may be another.
func SendTo(job *batchv1.Job, node string, tolerations []corev1.Toleration) {
	pod := &job.Spec.Template.Spec
	affinity := &corev1.Affinity{}
	if pod.Affinity != nil {
		affinity = pod.Affinity.DeepCopy()
	}
	if affinity.NodeAffinity == nil {
		affinity.NodeAffinity = &corev1.NodeAffinity{}
	}
	required := affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	if required == nil || len(required.NodeSelectorTerms) == 0 {
		required = &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{}}}
	}
	for i := range required.NodeSelectorTerms {
		// Terms are alternatives, so each of them gets it.
		t := &required.NodeSelectorTerms[i]
		t.MatchFields = append(t.MatchFields, corev1.NodeSelectorRequirement{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{node}})
	}
	affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = required
	pod.Affinity = affinity
	pod.Tolerations = append(append([]corev1.Toleration(nil), pod.Tolerations...), tolerations...)
}
