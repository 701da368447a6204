// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package maintenance_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/decide/maintenance"
	"github.com/kopiur/kopiur/controller/internal/gates"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

var (
	now       = time.Date(2026, 3, 5, 9, 0, 0, 0, time.UTC)
	quickSlot = "2026-03-05T06:00:00Z"
	fullSlot  = "2026-03-05T03:00:00Z"
	nextQuick = "2026-03-05T12:00:00Z"
	nextFull  = "2026-03-06T03:00:00Z"
	soon      = "2026-03-05T09:30:00Z"
	asked     = "2026-03-05T08:59:00Z"
)

type change = func(*maintenance.World)

// given is a Maintenance that is at rest, of a repository that is Ready.
func given(changes ...change) maintenance.World {
	m := &kopiurv1.Maintenance{ObjectMeta: metav1.ObjectMeta{Name: "nas", Namespace: "apps", UID: "u"}}
	m.Spec.Repository = kopiurv1.RepositoryRef{Name: "nas"}
	m.Spec.Schedule = kopiurv1.MaintenanceSchedule{Quick: kopiurv1.CronSpec{Cron: "0 */6 * * *"}, Full: kopiurv1.CronSpec{Cron: "0 3 * * *"}}
	m.Spec.Ownership.Owner = "kopiur/apps/nas"
	m.Status.Quick = &kopiurv1.MaintenanceRunStatus{NextScheduledAt: nextQuick, Schedule: "0 */6 * * * UTC"}
	m.Status.Full = &kopiurv1.MaintenanceRunStatus{NextScheduledAt: nextFull, Schedule: "0 3 * * * UTC"}
	w := maintenance.World{Maintenance: m, Repository: nas(), Allowed: true}
	w.Repository.Status.Phase, w.Repository.Status.UniqueID = kopiurv1.RepositoryReady, "id"
	for _, f := range changes {
		f(&w)
	}
	return w
}

func nas(change ...func(*moverjob.Repository)) *moverjob.Repository {
	r := &moverjob.Repository{Ref: kopiurv1.RepositoryRef{Name: "nas", Namespace: "apps", Kind: kopiurv1.KindRepository}, UID: "r", HomeNamespace: "apps"}
	r.Spec.Backend.S3 = &kopiurv1.S3Backend{Bucket: "b"}
	r.Spec.Encryption.PasswordSecretRef.Name = "password"
	for _, f := range change {
		f(r)
	}
	return r
}

func quickDue(w *maintenance.World) { w.Maintenance.Status.Quick.NextScheduledAt = quickSlot }
func fullDue(w *maintenance.World)  { w.Maintenance.Status.Full.NextScheduledAt = fullSlot }

func requested(mode string) change {
	return func(w *maintenance.World) {
		w.Maintenance.Annotations = map[string]string{kopiurv1.AnnotationRunRequested: asked, kopiurv1.AnnotationRunMode: mode}
	}
}

func policy(p kopiurv1.TakeoverPolicy) change {
	return func(w *maintenance.World) { w.Maintenance.Spec.Ownership.TakeoverPolicy = p }
}

func degraded(reason string) change {
	return func(w *maintenance.World) {
		w.Repository.Status.Phase = kopiurv1.RepositoryDegraded
		w.Repository.Status.Conditions = []metav1.Condition{{Type: kopiurv1.ConditionReady, Status: metav1.ConditionFalse, Reason: reason}}
	}
}

// TestWhenARunStarts: at its time or when somebody asks, never at once (J-12), and never behind a closed gate.
func TestWhenARunStarts(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		world  maintenance.World
		mode   kopiurv1.MaintenanceMode
		manual bool
		reason string
	}{
		"a new Maintenance is not overdue (J-12)": {given(func(w *maintenance.World) { w.Maintenance.Status = kopiurv1.MaintenanceStatus{} }), "", false, kopiurv1.ReasonMaintenanceScheduled},
		"before its time it rests":                {given(), "", false, kopiurv1.ReasonMaintenanceScheduled},
		"quick at its time":                       {given(quickDue), kopiurv1.MaintenanceQuick, false, kopiurv1.ReasonMaintenanceScheduled},
		"full takes the place of quick":           {given(quickDue, fullDue), kopiurv1.MaintenanceFull, false, kopiurv1.ReasonMaintenanceScheduled},
		"what was asked for goes first":           {given(fullDue, requested("quick")), kopiurv1.MaintenanceQuick, true, kopiurv1.ReasonMaintenanceScheduled},
		"asked for without a mode, it is quick":   {given(requested("")), kopiurv1.MaintenanceQuick, true, kopiurv1.ReasonMaintenanceScheduled},
		"what was asked for once is done once": {given(requested("full"), func(w *maintenance.World) {
			w.Maintenance.Status.ManualRun = &kopiurv1.MaintenanceManualRun{ManualRun: kopiurv1.ManualRun{RequestedAt: asked, Phase: kopiurv1.RunSucceeded}}
		}), "", false, kopiurv1.ReasonMaintenanceScheduled},
		"a request that cannot be read asks for nothing":    {given(requested("thorough")), "", false, kopiurv1.ReasonMaintenanceScheduled},
		"slowness never holds it back (C-3)":                {given(quickDue, degraded(kopiurv1.ReasonProbeDeadlineExceeded)), kopiurv1.MaintenanceQuick, false, kopiurv1.ReasonMaintenanceScheduled},
		"an outage does":                                    {given(quickDue, degraded(kopiurv1.ReasonBackendUnreachable)), "", false, kopiurv1.ReasonRepositoryNotReady},
		"a read-only repository is never written to":        {given(quickDue, func(w *maintenance.World) { w.Repository.Spec.Mode = kopiurv1.ModeReadOnly }), "", false, kopiurv1.ReasonRepositoryReadOnly},
		"nor a suspended one":                               {given(fullDue, func(w *maintenance.World) { w.Repository.Spec.Suspend = true }), "", false, kopiurv1.ReasonRepositoryNotReady},
		"a repository that does not exist is waited for":    {given(fullDue, func(w *maintenance.World) { w.Repository = nil }), "", false, kopiurv1.ReasonMissingDependency},
		"a namespace that may not use it maintains nothing": {given(fullDue, func(w *maintenance.World) { w.Allowed = false }), "", false, kopiurv1.ReasonNamespaceNotAllowed},
		"a missing Secret is named": {given(quickDue, func(w *maintenance.World) {
			w.Gates = []gates.Verdict{{Reason: kopiurv1.ReasonMissingCredentialsSecret}}
		}), "", false, kopiurv1.ReasonMissingCredentialsSecret},
		"two of one store never overlap (K-6)": {given(fullDue, func(w *maintenance.World) { w.Held = "Job else/m-nas" }), "", false, kopiurv1.ReasonMaintenanceWaiting},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := maintenance.Decide(tc.world, now)
			assert.Equal(t, tc.reason, p.Reason, p.Message)
			assert.Positive(t, p.After)
			if tc.mode == "" {
				require.Nil(t, p.Start)
				assert.Nil(t, p.Status.Job)
				return
			}
			require.NotNil(t, p.Start)
			assert.Equal(t, tc.mode, p.Start.Mode)
			assert.Equal(t, tc.manual, p.Start.Manual)
			assert.NotEmpty(t, p.Status.Job.Name)
		})
	}
}

func job(mode kopiurv1.MaintenanceMode, manual bool, o moverjob.Outcome) change {
	return func(w *maintenance.World) {
		w.Job, w.Outcome = &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "m-nas-1"}}, o
		w.Turn = maintenance.Turn{Mode: mode, Manual: manual, At: asked}
	}
}

func ended(code work.Code, m *work.MaintainResult) moverjob.Outcome {
	return moverjob.Outcome{State: moverjob.Finished, Result: &work.Result{Code: code, Message: "the mover's words", Maintain: m, EndTime: now.Add(-time.Minute)}}
}

func ours(changes ...func(*work.MaintainResult)) *work.MaintainResult {
	m := &work.MaintainResult{Owner: "kopiur@kopiur-apps-nas", ReclaimedBytes: 7, ReclaimedBlobs: 2, IndexBlobCount: 3}
	for _, f := range changes {
		f(m)
	}
	return m
}

const (
	quick = kopiurv1.MaintenanceQuick
	full  = kopiurv1.MaintenanceFull
)

func TestASuccessIsRecorded(t *testing.T) {
	t.Parallel()
	waits := func(m *work.MaintainResult) {
		m.Waiting = &work.Reclaim{Bytes: 400, At: now.Add(48 * time.Hour), Message: "400 bytes wait for a second cycle"}
	}
	p := maintenance.Decide(given(quickDue, fullDue, job(full, false, ended(work.CodeOK, ours(waits)))), now)
	require.True(t, p.Recorded)
	assert.Equal(t, maintenance.Ready, p.Verdict)
	assert.Equal(t, kopiurv1.ReasonMaintained, p.Reason)
	f, q := p.Status.Full, p.Status.Quick
	assert.Equal(t, "2026-03-05T08:59:00Z", f.LastRunAt)
	assert.Equal(t, fullSlot, f.LastHandledAt)
	assert.Equal(t, nextFull, f.NextScheduledAt)
	assert.Equal(t, int64(7), *f.LastContentReclaimedBytes)
	assert.Equal(t, "2026-03-07T09:00:00Z", f.ReclaimableAt)
	assert.Contains(t, f.Message, "400 bytes wait for a second cycle")
	assert.Equal(t, quickSlot, q.LastHandledAt, "a full run is a quick one as well")
	assert.Equal(t, nextQuick, q.NextScheduledAt)
	assert.Empty(t, q.LastRunAt)
	assert.Equal(t, &kopiurv1.MaintenanceOwner{Owner: "kopiur@kopiur-apps-nas", ClaimedAt: "2026-03-05T09:00:00Z"}, p.Status.Ownership)
	assert.Nil(t, p.Status.Job)
	require.Len(t, p.Conditions, 1)
	assert.Equal(t, kopiurv1.ReasonLeaseOwned, p.Conditions[0].Reason)

	later := given(func(w *maintenance.World) { w.Maintenance.Status = p.Status })
	assert.Equal(t, p.Status, maintenance.Decide(later, now.Add(time.Minute)).Status, "and nothing changes until the next turn")
}

// I-6: TestAManualRunEnds in the status, whatever became of it, and the schedule begins anew behind it.
func TestAManualRunEnds(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		outcome moverjob.Outcome
		phase   kopiurv1.RunPhase
	}{
		"succeeded": {ended(work.CodeOK, ours()), kopiurv1.RunSucceeded},
		"failed":    {ended(work.CodeRepositoryUnavailable, nil), kopiurv1.RunFailed},
		"left to another owner": {
			ended(work.CodeLeaseHeldByOther, &work.MaintainResult{Owner: "root@laptop"}), kopiurv1.RunFailed,
		},
		"that never started": {moverjob.Outcome{State: moverjob.Wedged}, kopiurv1.RunFailed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := maintenance.Decide(given(requested("full"), job(full, true, tc.outcome)), now)
			require.True(t, p.Recorded)
			assert.Equal(t, tc.phase, p.Status.ManualRun.Phase)
			assert.Equal(t, asked, p.Status.ManualRun.RequestedAt)
			assert.Equal(t, full, p.Status.ManualRun.Mode)
			assert.NotEmpty(t, p.Status.ManualRun.CompletedAt)
			assert.Equal(t, nextQuick, p.Status.Quick.NextScheduledAt)
		})
	}
	another := func(w *maintenance.World) { w.Turn.At = quickSlot }
	p := maintenance.Decide(given(requested("full"), job(quick, true, ended(work.CodeOK, ours())), another), now)
	assert.True(t, p.Recorded)
	assert.Equal(t, kopiurv1.RunPending, p.Status.ManualRun.Phase, "an earlier request's end is not that of the present one")
	assert.Empty(t, p.Status.ManualRun.CompletedAt)
	p = maintenance.Decide(given(requested("full"), job(full, true, moverjob.Outcome{State: moverjob.Running})), now)
	assert.Equal(t, kopiurv1.RunRunning, p.Status.ManualRun.Phase)
	assert.False(t, p.Recorded)
}

// C-7, H-1: TestAYieldIsDealtWith: the turn does not come back, and nobody claims that the repository was maintained.
func TestAYieldIsDealtWith(t *testing.T) {
	t.Parallel()
	yield := job(quick, false, ended(work.CodeLeaseHeldByOther, &work.MaintainResult{Owner: "root@laptop"}))
	for name, tc := range map[string]struct {
		policy  kopiurv1.TakeoverPolicy
		verdict maintenance.Verdict
		reason  string
		lease   string
	}{
		"Never leaves it to the holder": {kopiurv1.TakeoverNever, maintenance.Ready, kopiurv1.ReasonMaintenanceYielding, kopiurv1.ReasonLeaseHeldByOther},
		"PromptCondition asks":          {kopiurv1.TakeoverPromptCondition, maintenance.Stalled, kopiurv1.ReasonLeaseTakeoverPrompt, kopiurv1.ReasonLeaseTakeoverPrompt},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := maintenance.Decide(given(quickDue, policy(tc.policy), yield), now)
			assert.Equal(t, tc.verdict, p.Verdict)
			assert.Equal(t, tc.reason, p.Reason)
			assert.Contains(t, p.Message, "root@laptop")
			assert.Equal(t, quickSlot, p.Status.Quick.LastHandledAt)
			assert.Empty(t, p.Status.Quick.LastRunAt)
			assert.Zero(t, p.Status.Quick.ConsecutiveFailures)
			assert.Equal(t, nextQuick, p.Status.Quick.NextScheduledAt, "a handled turn never comes back")
			assert.Equal(t, &kopiurv1.MaintenanceOwner{Owner: "root@laptop"}, p.Status.Ownership)
			require.Len(t, p.Conditions, 1)
			assert.Equal(t, metav1.ConditionFalse, p.Conditions[0].Status)
			assert.Equal(t, tc.lease, p.Conditions[0].Reason)
		})
	}
}

func TestAFailureIsTriedAgain(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		outcome moverjob.Outcome
		verdict maintenance.Verdict
		class   string
	}{
		"an outage":           {ended(work.CodeRepositoryUnavailable, nil), maintenance.Progressing, "RepositoryUnavailable"},
		"a lost result":       {moverjob.Outcome{State: moverjob.ResultLost}, maintenance.Progressing, "Lost"},
		"time that was up":    {moverjob.Outcome{State: moverjob.DeadlineKilled}, maintenance.Progressing, kopiurv1.ReasonDeadlineKilled},
		"damage stops people": {ended(work.CodeVerificationFailed, nil), maintenance.Stalled, "VerificationFailed"},
		"a mover that says nothing of its work": {
			ended(work.CodeOK, nil), maintenance.Progressing, "Unknown",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := maintenance.Decide(given(quickDue, job(quick, false, tc.outcome)), now)
			assert.Equal(t, tc.verdict, p.Verdict)
			assert.Equal(t, kopiurv1.ReasonMaintenanceFailed, p.Reason)
			assert.Equal(t, tc.class, p.Status.Failure.KopiaErrorClass)
			assert.Equal(t, int32(1), p.Status.Quick.ConsecutiveFailures)
			assert.Equal(t, soon, p.Status.Quick.NextScheduledAt)
			assert.Equal(t, nextFull, p.Status.Full.NextScheduledAt)
		})
	}
	p := maintenance.Decide(given(quickDue, job(quick, false, moverjob.Outcome{State: moverjob.NodeLost, Message: "node a"})), now)
	assert.False(t, p.Recorded, "behind a lost node a mover may still be at work")
	assert.Nil(t, p.Start)
	assert.Equal(t, kopiurv1.ReasonNodeLost, p.Reason)
}

// Quick runs go on well where every full one fails, and give nothing back: that is no maintained repository.
func TestAQuickRunHidesNoFailureOfTheFullOnes(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		code    work.Code
		verdict maintenance.Verdict
	}{
		"an outage":           {work.CodeRepositoryUnavailable, maintenance.Progressing},
		"damage stops people": {work.CodeVerificationFailed, maintenance.Stalled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := given(fullDue, job(full, false, ended(tc.code, nil)))
			p := maintenance.Decide(w, now)
			require.NotNil(t, p.Status.Failure)

			w = given(quickDue, job(quick, false, ended(work.CodeOK, ours())))
			w.Maintenance.Status.Full, w.Maintenance.Status.Failure = p.Status.Full, p.Status.Failure
			p = maintenance.Decide(w, now)
			assert.Zero(t, p.Status.Quick.ConsecutiveFailures)
			assert.Equal(t, kopiurv1.ReasonMaintenanceFailed, p.Reason, p.Message)
			assert.Equal(t, tc.verdict, p.Verdict)

			w = given(quickDue, job(quick, false, ended(work.CodeLocked, nil)))
			w.Maintenance.Status = p.Status
			p = maintenance.Decide(w, now)
			assert.Equal(t, tc.verdict, p.Verdict, "of two failures the full run's is told")
			assert.Equal(t, string(tc.code), p.Status.Failure.KopiaErrorClass)
			assert.Equal(t, int32(1), p.Status.Quick.ConsecutiveFailures)

			w = given(fullDue, job(full, false, ended(work.CodeOK, ours())))
			w.Maintenance.Status.Quick, w.Maintenance.Status.Failure = p.Status.Quick, p.Status.Failure
			p = maintenance.Decide(w, now)
			assert.Nil(t, p.Status.Failure, "a full run does what a quick one does")
			assert.Equal(t, kopiurv1.ReasonMaintained, p.Reason)
		})
	}
}

func TestWhatCannotBeCarriedOut(t *testing.T) {
	t.Parallel()
	p := maintenance.Decide(given(func(w *maintenance.World) { w.Maintenance.Spec.Schedule.Full.Cron = "@daily" }), now)
	assert.Equal(t, maintenance.Stalled, p.Verdict)
	assert.Equal(t, kopiurv1.ReasonInvalidSchedule, p.Reason)
	assert.Contains(t, p.Message, "spec.schedule.full")
	p = maintenance.Decide(given(requested("thorough")), now)
	require.Len(t, p.Conditions, 1)
	assert.Equal(t, kopiurv1.ReasonInvalidRunRequest, p.Conditions[0].Reason)
}
