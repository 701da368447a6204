// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package moverjob_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

// What the repository asks of nodes stays; each of its alternatives is narrowed. What it is made from is not changed.
func TestSendTo(t *testing.T) {
	t.Parallel()
	zones := &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
		{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "zone", Operator: corev1.NodeSelectorOpIn, Values: []string{"a"}}}},
		{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "zone", Operator: corev1.NodeSelectorOpIn, Values: []string{"b"}}}},
	}}}}
	own := []corev1.Toleration{{Key: "own"}}
	job := &batchv1.Job{}
	job.Spec.Template.Spec.Affinity, job.Spec.Template.Spec.Tolerations = zones, own[:1:1]
	moverjob.SendTo(job, "node-1", []corev1.Toleration{{Key: "holder"}})
	for _, term := range job.Spec.Template.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		assert.Equal(t, []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{"node-1"}}}, term.MatchFields)
		assert.Len(t, term.MatchExpressions, 1)
	}
	assert.Len(t, job.Spec.Template.Spec.Tolerations, 2)
	assert.Empty(t, zones.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchFields)
	assert.Len(t, own, 1)
}
