// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion

import (
	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/loop"
)

func startedEvent(job string, n int) loop.Event {
	return loop.Normal(kopiurv1.ReasonDeletionRunning, actionDelete, "Started Job %s, which deletes %d snapshots", job, n)
}
