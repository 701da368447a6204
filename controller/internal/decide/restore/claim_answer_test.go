// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package restore_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/decide/restore"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

// A volume with a part that is not asked for any more is no claim's: it is filled anew.
func TestAClaimWhoseSubPathWasEdited(t *testing.T) {
	t.Parallel()
	w := populator(decided, helper)
	start := restore.Decide(w, now)
	require.NotNil(t, start.Claims[0].Plan.Job)
	c := &w.Claims[0]
	c.Record, c.Job = start.Claims[0].Record, start.Claims[0].Plan.Job
	c.Outcome = moverjob.Outcome{State: moverjob.Finished, Terminal: true, Result: &work.Result{
		APIVersion: work.APIVersion, Operation: "restore", Code: work.CodeOK, Restore: &work.RestoreResult{SnapshotID: "k9", FilesRestored: 3},
	}}
	w.Restore.Generation, w.Restore.Spec.SubPath = 2, "etc"
	p := restore.Decide(w, now).Claims[0]
	assert.Equal(t, kopiurv1.ClaimPending, p.Record.Phase)
	assert.Equal(t, kopiurv1.ReasonReopened, p.Record.Reason)
	assert.Equal(t, c.Job, p.Plan.Reap, "the helper claim cannot go before its pod")
	assert.Equal(t, c.Prime, p.Drop)
	assert.Nil(t, p.Handover)
}

// A policy that selects has no paths of its own, and knows all the same what it has stored.
func TestAClaimThatWasBackedUpIsNotBelievedToBeEmptyK1(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		stored string
		reason string
		phase  kopiurv1.ClaimPhase
	}{
		"it was":          {"/pvc/data", kopiurv1.ReasonNoSnapshot, kopiurv1.ClaimFailed},
		"another one was": {"/pvc/other", kopiurv1.ReasonNoSnapshotContinue, kopiurv1.ClaimResolving},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := populator()
			w.Policy.Spec.Sources = []kopiurv1.Source{{PVCSelector: &kopiurv1.PVCSelector{}}}
			w.Policy.Status.LastSuccessfulSnapshot = at(-24 * time.Hour)
			w.Stored = map[string]string{tc.stored: "apps/monday"}
			start := restore.Decide(w, now)
			require.NotNil(t, start.Claims[0].Plan.Job)
			c := &w.Claims[0]
			c.Record, c.Job = start.Claims[0].Record, start.Claims[0].Plan.Job
			c.Outcome = moverjob.Outcome{State: moverjob.Finished, Terminal: true, Result: &work.Result{
				APIVersion: work.APIVersion, Operation: "resolve", Code: work.CodeOK, Resolve: &work.ResolveResult{Resolution: work.ResolutionAbsent},
			}}
			p := restore.Decide(w, now).Claims[0]
			assert.Equal(t, tc.reason, p.Record.Reason, p.Record.Message)
			assert.Equal(t, tc.phase, p.Record.Phase)
		})
	}
}
