// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package connect

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// defaultIndexBlobs is where index blobs begin to be many.
const defaultIndexBlobs int32 = 1000

// indexBlobs compares what the last look has counted with the threshold of the present spec. It holds back nobody: the
// maintenance that would be held back is the cure (acceptance C-8).
func (p *Plan) indexBlobs(in Input) {
	threshold := defaultIndexBlobs
	if h := in.Spec.Health; h != nil && h.IndexBlobWarnThreshold != nil {
		threshold = *h.IndexBlobWarnThreshold
	}
	st := p.Status.StorageStats
	if threshold <= 0 || st == nil || st.LastObservedAt == "" {
		return
	}
	n := st.IndexBlobCount
	if n <= int64(threshold) {
		// Without the number: it changes with every backup, and is in status.storageStats.
		p.condition(kopiurv1.ConditionIndexBlobHealth, metav1.ConditionTrue, kopiurv1.ReasonIndexBlobsInBounds,
			fmt.Sprintf("there are at most %d index blobs", threshold))
		return
	}
	owner := "nobody"
	if o := p.Status.MaintenanceOwner; o != nil {
		owner = o.Owner
	}
	p.condition(kopiurv1.ConditionIndexBlobHealth, metav1.ConditionFalse, kopiurv1.ReasonTooManyIndexBlobs, fmt.Sprintf(
		"there are more than %d index blobs, and each makes every connect slower; status.storageStats.indexBlobCount has the number. See to it that maintenance runs: its owner is %s. "+
			"If it does and they still grow, shorten spec.parameters.epoch.minDuration or lower advanceOnCount", threshold, owner))
}
