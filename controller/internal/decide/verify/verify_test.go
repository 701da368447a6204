// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package verify_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/decide/verify"
	"github.com/kopiur/kopiur/controller/internal/gates"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

var (
	nas  = kopiurv1.RepositoryRef{Name: "nas", Kind: kopiurv1.KindRepository, Namespace: "apps"}
	now  = time.Date(2026, 3, 5, 9, 0, 0, 0, time.UTC)
	slot = "2026-03-05T03:00:00Z"
	next = "2026-03-06T03:00:00Z"
	soon = "2026-03-05T10:00:00Z"
)

type change = func(*verify.World)

// given is a line of a policy in apps whose nightly turn of today is due and may start.
func given(tier kopiurv1.VerificationTier, changes ...change) verify.World {
	p := &kopiurv1.SnapshotPolicy{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "apps", UID: "u"}}
	p.Spec.Repository = &kopiurv1.RepositoryRef{Name: "nas"}
	nightly := kopiurv1.CronSpec{Cron: "0 3 * * *"}
	p.Spec.Verification = &kopiurv1.Verification{
		Quick: &kopiurv1.QuickVerification{Schedule: &nightly}, Deep: &kopiurv1.DeepVerification{Schedule: nightly},
	}
	p.Status.VerificationRuns = []kopiurv1.VerificationRun{{
		Tier: tier, Repository: nas, VerificationState: kopiurv1.VerificationState{NextScheduledAt: slot, Schedule: "0 3 * * * UTC"},
	}}
	repo := &moverjob.Repository{Ref: nas, UID: "r", HomeNamespace: "apps"}
	repo.Status.Phase = kopiurv1.RepositoryReady
	repo.Spec.Backend.S3 = &kopiurv1.S3Backend{Bucket: "b"}
	repo.Spec.Encryption.PasswordSecretRef.Name = "password"
	w := verify.World{
		Policy: p, Tier: tier, Ref: nas, Repository: repo, Allowed: true, History: true,
		Identities: []kopiurv1.Identity{{Username: "web", Hostname: "apps", SourcePath: "/pvc/data"}},
	}
	for _, f := range changes {
		f(&w)
	}
	return w
}

func run(f func(*kopiurv1.VerificationRun)) change {
	return func(w *verify.World) { f(&w.Policy.Status.VerificationRuns[0]) }
}

func pinned(at string) change {
	return run(func(r *kopiurv1.VerificationRun) { r.NextScheduledAt = at })
}

func was(o kopiurv1.VerificationOutcome, reason string) change {
	return run(func(r *kopiurv1.VerificationRun) {
		r.Outcome, r.Reason, r.Message, r.ConsecutiveFailures, r.LastRunAt = o, reason, "before", 1, slot
	})
}

func job(o moverjob.Outcome) change {
	return func(w *verify.World) {
		w.Job, w.Outcome = &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "p-web-1"}}, o
	}
}

func result(code work.Code, changes ...func(*work.VerifyResult)) change {
	v := &work.VerifyResult{Snapshots: 2, Files: 10, Bytes: 100}
	for _, f := range changes {
		f(v)
	}
	return job(moverjob.Outcome{State: moverjob.Finished, Result: &work.Result{Code: code, Message: "the mover's words", Verify: v, EndTime: now.Add(-time.Minute)}})
}

func expression(s string) change {
	return func(w *verify.World) { w.Policy.Spec.Verification.SuccessExpr = s }
}

func checked(c verify.Check) change {
	return func(w *verify.World) {
		w.Policy.Spec.Verification.Deep.Check = &kopiurv1.DeepCheck{Image: "check"}
		w.Check = c
	}
}

func phase(p kopiurv1.RepositoryPhase) change {
	return func(w *verify.World) { w.Repository.Status.Phase = p }
}

// I-5: TestWhenARunStarts: at its time, once there is something to verify, and never instead of a gate.
func TestWhenARunStarts(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		world  verify.World
		start  bool
		reason string
		next   string
	}{
		"a new line waits for its first time": {given("quick", pinned("")), false, "", next},
		"a line before its time rests":        {given("quick", pinned(next)), false, "", next},
		"a line whose time has come starts":   {given("quick"), true, "", slot},
		"one that was missed for a month starts once": {
			given("deep", pinned("2026-02-05T03:00:00Z")), true, "", "2026-02-05T03:00:00Z",
		},
		"an edited schedule begins anew": {
			given("quick", run(func(r *kopiurv1.VerificationRun) { r.Schedule = "0 9 * * * UTC" })), false, "", next,
		},
		"the repository's time zone is an edit too": {given("quick", func(w *verify.World) {
			w.Repository.Spec.ScheduleDefaults = &kopiurv1.ScheduleDefaults{Timezone: "Europe/Berlin"}
		}), false, "", "2026-03-06T02:00:00Z"},
		"before the first backup it waits (I-5)":            {given("quick", func(w *verify.World) { w.History = false }), false, kopiurv1.ReasonWaitingForFirstSnapshot, slot},
		"a repository behind an open breaker is left alone": {given("quick", phase(kopiurv1.RepositoryDegraded)), false, kopiurv1.ReasonRepositoryNotReady, slot},
		"a repository that does not exist is waited for":    {given("quick", func(w *verify.World) { w.Repository = nil }), false, kopiurv1.ReasonMissingDependency, slot},
		"a namespace that may not use it does not verify":   {given("quick", func(w *verify.World) { w.Allowed = false }), false, kopiurv1.ReasonNamespaceNotAllowed, slot},
		"a suspended policy starts nothing":                 {given("deep", func(w *verify.World) { w.Policy.Spec.Suspend = true }), false, kopiurv1.ReasonSuspended, slot},
		"an unknown identity verifies nothing":              {given("deep", func(w *verify.World) { w.Identities = nil }), false, kopiurv1.ReasonIdentityUnresolved, slot},
		"a missing Secret is named": {given("deep", func(w *verify.World) {
			w.Gates = []gates.Verdict{{Open: true}, {Reason: kopiurv1.ReasonMissingCredentialsSecret}}
		}), false, kopiurv1.ReasonMissingCredentialsSecret, slot},
		"another verification of the repository goes first": {given("deep", func(w *verify.World) { w.Busy = "Job apps/p-other" }), false, kopiurv1.ReasonVerificationWaiting, slot},
		"a cron that is none is named":                      {given("quick", func(w *verify.World) { w.Policy.Spec.Verification.Quick.Schedule.Cron = "@daily" }), false, kopiurv1.ReasonInvalidSchedule, ""},
		"a read-only repository is verified like any other": {given("quick", func(w *verify.World) { w.Repository.Spec.Mode = kopiurv1.ModeReadOnly }), true, "", slot},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := verify.Decide(tc.world, now)
			assert.Equal(t, tc.start, p.Start)
			assert.Equal(t, tc.reason, p.Waiting.Reason)
			assert.Equal(t, tc.next, p.Run.NextScheduledAt)
			assert.False(t, p.Recorded)
			assert.Equal(t, tc.start, p.Run.Job != "")
			if tc.reason != kopiurv1.ReasonInvalidSchedule {
				assert.Positive(t, p.After, "it looks again by itself")
			}
		})
	}
}

// TestWhatARunProves: success, damage, and no answer are three outcomes.
func TestWhatARunProves(t *testing.T) {
	t.Parallel()
	deep := func(v *work.VerifyResult) {
		v.Restored = &work.VerifiedRestore{Files: 10, Bytes: 100, ChecksumMatches: true}
	}
	for name, tc := range map[string]struct {
		world   verify.World
		outcome kopiurv1.VerificationOutcome
		reason  string
		message string
		next    string
		fails   int32
	}{
		"all was there": {given("quick", result(work.CodeOK)), kopiurv1.VerificationSucceeded, kopiurv1.ReasonVerified, "2 snapshots with 10 files", next, 0},
		"a success ends a row of failures": {
			given("quick", was(kopiurv1.VerificationFailed, kopiurv1.ReasonVerificationFailed), result(work.CodeOK)),
			kopiurv1.VerificationSucceeded, kopiurv1.ReasonVerified, "2 snapshots", next, 0,
		},
		"damage is a failure, and the first path is named": {given("quick", result(work.CodeVerificationFailed, func(v *work.VerifyResult) {
			v.Errors, v.Faults = 1, []work.EntryFault{{Path: "/pvc/data/a", Reason: "missing"}}
		})), kopiurv1.VerificationFailed, kopiurv1.ReasonVerificationFailed, "the first is /pvc/data/a: missing", next, 1},
		"a store that does not answer proves nothing, and is asked again in an hour": {
			given("quick", result(work.CodeRepositoryUnavailable)), kopiurv1.VerificationUnproven, kopiurv1.ReasonVerificationUnproven, "RepositoryUnavailable", soon, 1,
		},
		"an outage does not make known damage look better": {
			given("quick", was(kopiurv1.VerificationFailed, kopiurv1.ReasonVerificationFailed), result(work.CodeRepositoryUnavailable)),
			kopiurv1.VerificationFailed, kopiurv1.ReasonVerificationFailed, "before", soon, 2,
		},
		"nothing to verify is no failure (I-5)": {given("quick", result(work.CodeNotFound)), "", kopiurv1.ReasonWaitingForFirstSnapshot, "the mover's words", next, 0},
		"a scratch volume that cannot be written has a name": {
			given("deep", result(work.CodeScratchNotWritable)), kopiurv1.VerificationUnproven, kopiurv1.ReasonScratchNotWritable, "the mover's words", soon, 1,
		},
		"a pod that does not start proves nothing": {
			given("deep", job(moverjob.Outcome{State: moverjob.Wedged, Message: "ImagePullBackOff"})), kopiurv1.VerificationUnproven, kopiurv1.ReasonVerificationUnproven, "its pod did not start: ImagePullBackOff", soon, 1,
		},
		"a lost result proves nothing":  {given("deep", job(moverjob.Outcome{State: moverjob.ResultLost})), kopiurv1.VerificationUnproven, kopiurv1.ReasonVerificationUnproven, "lost", soon, 1},
		"time that was up is no damage": {given("deep", job(moverjob.Outcome{State: moverjob.DeadlineKilled})), kopiurv1.VerificationUnproven, kopiurv1.ReasonVerificationUnproven, "its time was up", soon, 1},
		"an expression that holds":      {given("quick", result(work.CodeOK), expression("stats.files == 10")), kopiurv1.VerificationSucceeded, kopiurv1.ReasonVerified, "10 files", next, 0},
		"an expression about what the run does not know fails, and never passes": {
			given("quick", result(work.CodeOK), expression("snapshot.identity != ''")), kopiurv1.VerificationFailed, kopiurv1.ReasonVerificationRejected, "snapshot is not known", next, 1,
		},
		"an expression that does not hold rejects": {
			given("quick", result(work.CodeOK), expression("stats.files > 1000")), kopiurv1.VerificationFailed, kopiurv1.ReasonVerificationRejected, "stats.files > 1000", next, 1,
		},
		"an expression about a restore is known by the deep tier": {
			given("deep", result(work.CodeOK, deep), expression("restored.checksumMatches && restored.files == 10")), kopiurv1.VerificationSucceeded, kopiurv1.ReasonVerified, "was restored: 10 files", next, 0,
		},
		"a check that passed": {given("deep", result(work.CodeOK, deep), checked(verify.Check{State: verify.CheckPassed})), kopiurv1.VerificationSucceeded, kopiurv1.ReasonVerified, "was restored", next, 0},
		"a check that did not": {
			given("deep", result(work.CodeOK, deep), checked(verify.Check{State: verify.CheckFailed, Message: "exit code 3"})),
			kopiurv1.VerificationFailed, kopiurv1.ReasonVerificationCheckFailed, "did not accept it: exit code 3", next, 1,
		},
		"a check that never ran proves nothing": {
			given("deep", result(work.CodeOK, deep), checked(verify.Check{State: verify.CheckLost, Message: "gone"})),
			kopiurv1.VerificationUnproven, kopiurv1.ReasonVerificationUnproven, "came to no answer: gone", soon, 1,
		},
		"damage is damage whatever the check": {
			given("deep", result(work.CodeVerificationFailed, deep), checked(verify.Check{State: verify.CheckWaiting})),
			kopiurv1.VerificationFailed, kopiurv1.ReasonVerificationFailed, "the mover's words", next, 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := verify.Decide(tc.world, now)
			require.True(t, p.Recorded)
			assert.Equal(t, tc.outcome, p.Run.Outcome)
			assert.Equal(t, tc.reason, p.Run.Reason)
			assert.Contains(t, p.Run.Message, tc.message)
			assert.Equal(t, tc.next, p.Run.NextScheduledAt)
			assert.Equal(t, slot, p.Run.LastHandledAt)
			assert.Equal(t, tc.fails, p.Run.ConsecutiveFailures)
			assert.Equal(t, tc.outcome == kopiurv1.VerificationSucceeded, p.Stamp != "", "only a success has a stamp")
			assert.Empty(t, p.Run.Job)
			assert.False(t, p.Start)
		})
	}
}

func TestARunUnderWayIsLeftAlone(t *testing.T) {
	t.Parallel()
	for name, w := range map[string]verify.World{
		"while its pod waits": given("quick", job(moverjob.Outcome{State: moverjob.Waiting, Recheck: time.Second})),
		"while it runs":       given("quick", job(moverjob.Outcome{State: moverjob.Running})),
		"while the check runs, though the mover has succeeded": given("deep", result(work.CodeOK), checked(verify.Check{State: verify.CheckRunning, Recheck: time.Minute})),
		"also of a policy that was suspended":                  given("quick", job(moverjob.Outcome{State: moverjob.Running}), func(w *verify.World) { w.Policy.Spec.Suspend = true }),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := verify.Decide(w, now)
			assert.False(t, p.Recorded || p.Start)
			assert.Equal(t, "p-web-1", p.Run.Job)
			assert.Equal(t, slot, p.Run.NextScheduledAt, "the turn is pinned until its end is recorded")
			assert.Positive(t, p.After)
		})
	}
}

func TestSummary(t *testing.T) {
	t.Parallel()
	plan := func(o kopiurv1.VerificationOutcome, reason string, waiting gates.Verdict) verify.Plan {
		return verify.Plan{Run: kopiurv1.VerificationRun{Tier: "quick", Repository: nas, VerificationState: kopiurv1.VerificationState{
			Outcome: o, Reason: reason, Message: "m", NextScheduledAt: slot,
		}}, Waiting: waiting}
	}
	open := gates.Verdict{Open: true}
	good := plan(kopiurv1.VerificationSucceeded, kopiurv1.ReasonVerified, open)
	for name, tc := range map[string]struct {
		plans  []verify.Plan
		status metav1.ConditionStatus
		reason string
	}{
		"all are good":         {[]verify.Plan{good, good}, metav1.ConditionTrue, kopiurv1.ReasonVerified},
		"one has not run yet":  {[]verify.Plan{good, plan("", "", open)}, metav1.ConditionUnknown, kopiurv1.ReasonVerificationPending},
		"one has no answer":    {[]verify.Plan{plan(kopiurv1.VerificationUnproven, kopiurv1.ReasonVerificationUnproven, open), good}, metav1.ConditionUnknown, kopiurv1.ReasonVerificationUnproven},
		"one is kept from it":  {[]verify.Plan{good, plan(kopiurv1.VerificationSucceeded, "", gates.Verdict{Reason: kopiurv1.ReasonRepositoryNotReady})}, metav1.ConditionUnknown, kopiurv1.ReasonRepositoryNotReady},
		"one waits its turn":   {[]verify.Plan{plan(kopiurv1.VerificationSucceeded, "", gates.Verdict{Reason: kopiurv1.ReasonVerificationWaiting})}, metav1.ConditionTrue, kopiurv1.ReasonVerified},
		"damage outweighs all": {[]verify.Plan{plan(kopiurv1.VerificationUnproven, "", open), plan(kopiurv1.VerificationFailed, kopiurv1.ReasonVerificationFailed, gates.Verdict{Reason: kopiurv1.ReasonRepositoryNotReady})}, metav1.ConditionFalse, kopiurv1.ReasonVerificationFailed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := verify.Summary(tc.plans)
			assert.Equal(t, tc.status, got.Status)
			assert.Equal(t, tc.reason, got.Reason)
			assert.Contains(t, got.Message, "quick verification of Repository apps/nas: ")
		})
	}
}

// TestRecord: what was verified longest ago is what a policy of several repositories can say.
func TestRecord(t *testing.T) {
	t.Parallel()
	offsite := kopiurv1.RepositoryRef{Name: "offsite", Kind: kopiurv1.KindClusterRepository}
	plan := func(tier kopiurv1.VerificationTier, ref kopiurv1.RepositoryRef, stamp string) verify.Plan {
		return verify.Plan{Run: kopiurv1.VerificationRun{Tier: tier, Repository: ref}, Stamp: stamp}
	}
	st := &kopiurv1.SnapshotPolicyStatus{VerificationStamps: map[string]string{"quick/Repository/apps/gone": slot}}
	verify.Record(st, []kopiurv1.RepositoryRef{nas}, []verify.Plan{plan("quick", nas, slot), plan("deep", nas, soon)})
	assert.Equal(t, soon, st.LastVerified)
	assert.Empty(t, st.Verification, "one repository is no list")
	assert.Equal(t, map[string]string{"quick/Repository/apps/nas": slot, "deep/Repository/apps/nas": soon}, st.VerificationStamps)
	assert.Len(t, st.VerificationRuns, 2)

	verify.Record(st, []kopiurv1.RepositoryRef{nas, offsite}, []verify.Plan{plan("quick", nas, ""), plan("quick", offsite, "")})
	assert.Empty(t, st.LastVerified, "one of them never was")
	verify.Record(st, []kopiurv1.RepositoryRef{nas, offsite}, []verify.Plan{plan("quick", nas, ""), plan("quick", offsite, slot)})
	assert.Equal(t, slot, st.LastVerified)
	assert.Equal(t, []kopiurv1.RepositoryVerified{{Repository: nas, LastVerified: soon}, {Repository: offsite, LastVerified: slot}}, st.Verification)

	verify.Record(st, []kopiurv1.RepositoryRef{offsite}, nil)
	assert.Equal(t, map[string]string{"quick/ClusterRepository//offsite": slot}, st.VerificationStamps)
}
