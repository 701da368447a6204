// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/plan"
)

func hooked(w *plan.World) {
	h := []kopiurv1.Hook{{HTTPRequest: &kopiurv1.HTTPHook{URL: "http://app/"}}}
	w.Policy.Spec.Hooks = &kopiurv1.Hooks{BeforeSnapshot: h, AfterSnapshot: h}
}

// books is what status.hooks says.
func books(started, completed, post string) func(*plan.World) {
	return func(w *plan.World) {
		w.Snapshot.Status.Hooks = &kopiurv1.HooksStatus{PreStartedAt: started, PreCompletedAt: completed, PostCompletedAt: post}
	}
}

func TestHooks(t *testing.T) {
	t.Parallel()
	const at = "2026-03-05T01:00:00Z"
	const pendingPhase, failedPhase = kopiurv1.SnapshotPending, kopiurv1.SnapshotFailed
	degraded := func(w *plan.World) { w.Repository.Status.Phase = kopiurv1.RepositoryDegraded }
	suspended := func(w *plan.World) { w.Policy.Spec.Suspend = true }
	for name, tc := range map[string]row{
		"the hooks come before the mover":                       {world(hooked), plan.Hook, pendingPhase, "", "", 0, ""},
		"and before the copy":                                   {world(copying, hooked), plan.Hook, pendingPhase, "", "", 0, ""},
		"and behind all other gates":                            {world(hooked, degraded), plan.Wait, pendingPhase, kopiurv1.ReasonRepositoryNotReady, "", 0, ""},
		"once they have run the mover starts":                   {world(hooked, books(at, at, "")), plan.Start, pendingPhase, "", "", 0, ""},
		"begun and not ended: they are not run again":           {world(hooked, books(at, "", "")), plan.Fail, failedPhase, kopiurv1.ReasonPreHookInterrupted, "create another Snapshot", 0, plan.OpPrepare},
		"a gate that closes behind them ends the run":           {world(hooked, books(at, at, ""), degraded), plan.Fail, failedPhase, kopiurv1.ReasonRepositoryNotReady, "the run ends instead of waiting", 0, plan.OpPrepare},
		"a policy that is suspended now is no gate for them":    {world(hooked, books(at, at, ""), suspended), plan.Start, pendingPhase, "", "", 0, ""},
		"a copy that is not ready is waited for":                {world(begun(), hooked, books(at, at, ""), cut(false, time.Minute)), plan.Wait, pendingPhase, kopiurv1.ReasonWaitingForVolumeSnapshot, "", 9 * time.Minute, ""},
		"one whose name is taken ends the run":                  {world(begun(), hooked, books(at, at, ""), cut(false, time.Minute), func(w *plan.World) { w.VolumeSnapshot.Owner = "another" }), plan.Fail, failedPhase, kopiurv1.ReasonStagingNameTaken, "the run ends instead of waiting", 0, plan.OpPrepare},
		"preflight checks are not made again":                   {world(hooked, checks("false"), books(at, at, "")), plan.Start, pendingPhase, "", "", 0, ""},
		"a Snapshot that is tried again runs them again":        {world(hooked, books(at, "", at), failedIn(plan.OpPrepare), changed), plan.Hook, pendingPhase, "", "", 0, ""},
		"hooks that were removed from the policy do not matter": {world(books(at, at, "")), plan.Start, pendingPhase, "", "", 0, ""},
		"another attempt does not freeze again":                 {world(hooked, books(at, at, ""), told(1), func(w *plan.World) { w.Asked |= plan.AskJob }), plan.Start, pendingPhase, "", "", 0, ""},
		"another attempt behind a closed gate ends the run":     {world(hooked, books(at, at, ""), told(1), degraded, func(w *plan.World) { w.Asked |= plan.AskJob }), plan.Fail, failedPhase, kopiurv1.ReasonRepositoryNotReady, "", 0, plan.OpPrepare},
		"the source that went away behind them ends it too":     {world(hooked, books(at, at, ""), func(w *plan.World) { w.Source = nil }), plan.Fail, failedPhase, kopiurv1.ReasonSourcePVCMissing, "", 0, plan.OpPrepare},
		"unless its copy is made":                               {world(begun(), hooked, books(at, at, ""), cut(true, time.Minute), copied(corev1.ClaimBound, 0), func(w *plan.World) { w.Source = nil }), plan.Start, pendingPhase, "", "", 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, tc)
		})
	}
}
