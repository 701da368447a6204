// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package moverjob

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kopiur/kopiur/apis/work"
)

// Told is what a Job's mover was told to do; nil without a Job, and where it cannot be read. A spec may have been edited since.
func Told(job *batchv1.Job) *work.Spec {
	if job == nil {
		return nil
	}
	return ToldPod(job.Spec.Template.Spec)
}

// ToldPod is Told of a pod, whose Job may be gone.
func ToldPod(pod corev1.PodSpec) *work.Spec {
	for _, c := range pod.Containers {
		for _, e := range c.Env {
			if c.Name != Container || e.Name != work.EnvSpec {
				continue
			}
			spec, err := work.DecodeSpec(e.Value)
			if err != nil {
				return nil
			}
			return &spec
		}
	}
	return nil
}
