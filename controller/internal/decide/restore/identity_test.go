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

// TestIdentityQuestion: what the source names is what the repository is asked for, and nothing else.
func TestIdentityQuestion(t *testing.T) {
	t.Parallel()
	asked := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	whole := work.Identity{Username: "db", Hostname: "apps", Path: "/pvc/data"}
	for name, tc := range map[string]struct {
		change func(*kopiurv1.FromIdentity)
		want   work.Resolve
	}{
		"the newest":        {func(*kopiurv1.FromIdentity) {}, work.Resolve{Identity: whole}},
		"one before a time": {func(i *kopiurv1.FromIdentity) { i.AsOf, i.Offset = "2026-03-01T10:00:00+02:00", 1 }, work.Resolve{Identity: whole, AsOf: &asked, Offset: 1}},
		"one by its id":     {func(i *kopiurv1.FromIdentity) { i.SnapshotID = "k7" }, work.Resolve{Identity: whole, SnapshotID: "k7"}},
		"the only path, which the repository knows": {func(i *kopiurv1.FromIdentity) { i.SourcePath = "" }, work.Resolve{Identity: work.Identity{Username: "db", Hostname: "apps"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := restore.Decide(fromIdentity(identity(tc.change)), now)
			require.NotNil(t, p.Job, p.Message)
			assert.Equal(t, &tc.want, workOf(p.Job).Operation.Resolve)
			assert.Equal(t, "identity", p.Status.SourceKind)
			assert.True(t, p.Intent, "the attempt is known before its Job is made")
		})
	}
}

// TestIdentityAnswers: the three answers, and the two that mean that the source is not clear. Only a proven absence that
// somebody wants to go on with leaves the target empty (K-1).
func TestIdentityAnswers(t *testing.T) {
	t.Parallel()
	ambiguous := result(work.Result{
		Operation: "resolve", Code: work.CodeInvalidSpec, Message: "db@apps has snapshots of 2 source paths, such as /pvc/data, /pvc/logs",
		Resolve: &work.ResolveResult{Resolution: work.ResolutionUnknown, SourcePaths: 2},
	})
	another := result(work.Result{
		Operation: "resolve", Code: work.CodeSnapshotMismatch, Message: "snapshot k7 is filed under web@apps:/pvc/www, and another identity was asked for",
		Resolve: &work.ResolveResult{Resolution: work.ResolutionUnknown},
	})
	byID := identity(func(i *kopiurv1.FromIdentity) { i.SnapshotID = "k7" })
	for name, tc := range map[string]struct {
		world  restore.World
		phase  kopiurv1.RestorePhase
		reason string
		wantIn string
	}{
		"a find is pinned":                         {fromIdentity(found), kopiurv1.RestoreResolving, kopiurv1.ReasonResolved, "snapshot k9"},
		"an absence fails where nothing is said":   {fromIdentity(absent), kopiurv1.RestoreFailed, kopiurv1.ReasonNoSnapshot, "no snapshot of db@apps:/pvc/data"},
		"an absence continues where it is told to": {fromIdentity(onMissing(kopiurv1.OnMissingContinue), absent), kopiurv1.RestoreResolving, kopiurv1.ReasonNoSnapshotContinue, "left without data"},
		"an absence inside the wait window waits":  {fromIdentity(waitTimeout("10m"), absent), kopiurv1.RestoreResolving, kopiurv1.ReasonWaitingForSnapshot, "waitTimeout"},
		"a store that does not answer is asked again": {
			fromIdentity(onMissing(kopiurv1.OnMissingContinue), failed("resolve", work.CodeRepositoryUnavailable, "down")),
			kopiurv1.RestoreResolving, kopiurv1.ReasonResolutionUnknown, "nothing is written",
		},
		"a lost answer is asked for again": {
			fromIdentity(onMissing(kopiurv1.OnMissingContinue), outcome(moverjob.Outcome{State: moverjob.ResultLost, Terminal: true, Message: "the pod is gone"})),
			kopiurv1.RestoreResolving, kopiurv1.ReasonResolutionUnknown, "the pod is gone",
		},
		"an id that is gone is no empty volume, where the identity has others": {
			fromIdentity(byID, onMissing(kopiurv1.OnMissingContinue), answer(work.ResolveResult{Resolution: work.ResolutionAbsent, Candidates: 3})),
			kopiurv1.RestoreFailed, kopiurv1.ReasonNoSnapshot, "a pin gives a snapshot another id",
		},
		"a time before the first is no empty volume": {
			fromIdentity(identity(func(i *kopiurv1.FromIdentity) { i.AsOf = "2020-01-01T00:00:00Z" }), onMissing(kopiurv1.OnMissingContinue),
				answer(work.ResolveResult{Resolution: work.ResolutionAbsent, Candidates: 3})),
			kopiurv1.RestoreFailed, kopiurv1.ReasonNoSnapshot, "none of them fits asOf",
		},
		"several paths are not one":                        {fromIdentity(identity(func(i *kopiurv1.FromIdentity) { i.SourcePath = "" }), ambiguous), kopiurv1.RestoreFailed, kopiurv1.ReasonSourcePathAmbiguous, "set source.identity.sourcePath"},
		"the snapshot of another identity is not restored": {fromIdentity(byID, onMissing(kopiurv1.OnMissingContinue), another), kopiurv1.RestoreFailed, kopiurv1.ReasonNoSnapshot, "correct source.identity"},
		"an answer to a question that was edited meanwhile is thrown away": {
			fromIdentity(found, identity(func(i *kopiurv1.FromIdentity) { i.Hostname = "else" })), kopiurv1.RestoreResolving, kopiurv1.ReasonResolving, "changed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := restore.Decide(tc.world, now)
			assert.Equal(t, tc.phase, p.Status.Phase, p.Message)
			assert.Equal(t, tc.reason, p.Reason)
			assert.Contains(t, p.Message, tc.wantIn)
			assert.Nil(t, p.Claim, "nothing is made from an answer before it is stored")
			assert.Nil(t, p.Job)
			switch tc.reason {
			case kopiurv1.ReasonResolved, kopiurv1.ReasonNoSnapshotContinue:
				require.NotNil(t, p.Status.Resolved)
				assert.Equal(t, "nas", p.Status.Resolved.Repository.Name)
			default:
				assert.Nil(t, p.Status.Resolved)
			}
		})
	}
}

// TestIdentityPinKeepsWhatWasFound: the path that the repository filled in is what the snapshot is found again by.
func TestIdentityPinKeepsWhatWasFound(t *testing.T) {
	t.Parallel()
	w := fromIdentity(identity(func(i *kopiurv1.FromIdentity) { i.SourcePath = "" }), answer(work.ResolveResult{
		Resolution: work.ResolutionFound, SnapshotID: "k9", StartTime: now.Add(-time.Hour),
		Identity: &work.Identity{Username: "db", Hostname: "apps", Path: "/pvc/data"},
	}))
	p := restore.Decide(w, now)
	require.NotNil(t, p.Status.Resolved)
	assert.Equal(t, "/pvc/data", p.Status.Resolved.Identity.SourcePath)
	p = restore.Decide(then(w, p), now)
	require.NotNil(t, p.Job, p.Message)
	op := workOf(p.Job).Operation.Restore
	assert.Equal(t, "k9", op.SnapshotID)
	assert.Equal(t, "/pvc/data", op.Identity.Path)
	assert.True(t, op.StartTime.Equal(now.Add(-time.Hour)))
}
