// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package connect_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/validation"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/decide/connect"
	"github.com/kopiur/kopiur/controller/internal/gates"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

var now = time.Date(2026, 3, 5, 9, 0, 0, 0, time.UTC)

func ago(d time.Duration) string { return now.Add(-d).Format(time.RFC3339) }

type option func(*connect.Input)

// given is a repository whose gates are open and that was never looked at.
func given(opts ...option) connect.Input {
	open := gates.Verdict{Open: true, Reason: kopiurv1.ReasonCredentialsFound, Message: "all Secrets exist"}
	in := connect.Input{
		Spec: kopiurv1.RepositorySpec{
			Backend:    kopiurv1.Backend{S3: &kopiurv1.S3Backend{Bucket: "backups", Endpoint: "s3.example.org"}},
			Encryption: kopiurv1.Encryption{PasswordSecretRef: kopiurv1.SecretKeyRef{Name: "password"}},
		},
		Generation: 1,
		Creds:      gates.Credentials{Verdict: open, Version: "5,6"},
		Volume:     gates.Verdict{Open: true}, Permitted: gates.Verdict{Open: true},
	}
	for _, o := range opts {
		o(&in)
	}
	return in
}

// was is what the last attempt, with the present inputs, left behind some time ago.
func was(phase kopiurv1.RepositoryPhase, since time.Duration, failures int32) option {
	return func(in *connect.Input) {
		in.SameInputs = true
		in.Status = kopiurv1.RepositoryStatus{
			Phase: phase, ObservedGeneration: 1, ResolvedCredentialVersion: "5,6",
			Job:    &kopiurv1.ConnectJob{Name: "r-nas-1", Attempts: 3, FinishedAt: ago(since), Failures: failures},
			Health: &kopiurv1.RepositoryHealth{ConsecutiveProbeFailures: failures, FirstFailureAt: ago(since)},
		}
		if phase == kopiurv1.RepositoryReady {
			in.Status.UniqueID = "aa"
		}
	}
}

func changed(in *connect.Input)   { in.SameInputs = false }
func newSpec(in *connect.Input)   { in.SameInputs, in.Generation = false, 2 }
func suspended(in *connect.Input) { in.Spec.Suspend = true }
func lackedKey(in *connect.Input) {
	in.Status.Failure = &kopiurv1.Failure{KopiaErrorClass: string(work.CodeMissingCredentials)}
}

func noVolume(in *connect.Input) {
	in.Volume = gates.Verdict{Reason: kopiurv1.ReasonRepositoryVolumeNotReachable, Message: "claim share"}
}

func noConsent(in *connect.Input) {
	in.Permitted = gates.Verdict{Reason: kopiurv1.ReasonPrivilegedMoverNotPermitted, Message: "annotate"}
}

func impossible(in *connect.Input) {
	in.Refusal = validation.Refusal{Reason: kopiurv1.ReasonInvalidSpec, Message: "a volume would hide another"}
}

func onAzure(in *connect.Input) {
	in.Spec.Backend = kopiurv1.Backend{Azure: &kopiurv1.AzureBackend{Container: "backups"}}
	in.Refusal = validation.Refusal{Reason: kopiurv1.ReasonNotYetSupported, Message: "spec.backend.azure"}
}
func pinned(in *connect.Input) { in.Status.UniqueID = "aa" }

func noSecret(in *connect.Input) {
	in.Creds = gates.Credentials{Verdict: gates.Verdict{Reason: kopiurv1.ReasonMissingCredentialsSecret, Message: "Secret apps/password does not exist"}}
	in.SameInputs = false
}

func lingering(in *connect.Input) { in.Lingering = "apps/r-nas-0-1" }

func kills(n int32) option {
	return func(in *connect.Input) { in.Status.Job.DeadlineKills = n }
}

func asked(at time.Time, honoured string) option {
	return func(in *connect.Input) {
		in.ReverifyAt, in.Status.LastReverifyAt = at.Format(time.RFC3339), honoured
	}
}

func listing(due bool, in time.Duration) option {
	return func(i *connect.Input) { i.Listing = connect.Listing{Due: due, In: in, From: "c7", Token: "monday"} }
}

// TestAConnectListsWhereThatIsDue: there is no Job for listings alone.
func TestAConnectListsWhereThatIsDue(t *testing.T) {
	t.Parallel()
	p := connect.Decide(given(listing(true, 0)), now)
	require.True(t, p.Start)
	assert.Equal(t, &work.Catalog{After: "c7"}, p.List)
	assert.Equal(t, now.Format(time.RFC3339), p.Status.Catalog.ScanRequestAttemptAt)
	p = connect.Decide(given(listing(false, time.Minute)), now)
	require.True(t, p.Start)
	assert.Nil(t, p.List, "a look is a look")
}

func deadline(seconds int64) option {
	return func(in *connect.Input) {
		in.Spec.Bootstrap = &kopiurv1.BootstrapSpec{FailurePolicy: &kopiurv1.FailurePolicy{ActiveDeadlineSeconds: &seconds}}
	}
}

func TestWhenAnAttemptStarts(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		in        connect.Input
		wantStart bool
		wantPhase kopiurv1.RepositoryPhase
		wantAfter time.Duration
	}{
		"a new repository at once":                             {given(), true, kopiurv1.RepositoryInitializing, 0},
		"not while its Secret is missing":                      {given(noSecret), false, kopiurv1.RepositoryPending, 0},
		"not while its claim is missing":                       {given(noVolume), false, kopiurv1.RepositoryPending, 0},
		"not without the namespace's consent":                  {given(noConsent), false, kopiurv1.RepositoryPending, 0},
		"not where no Job can be made":                         {given(impossible), false, kopiurv1.RepositoryFailed, 0},
		"not on a backend that no mover knows":                 {given(onAzure), false, kopiurv1.RepositoryFailed, 0},
		"not while suspended":                                  {given(suspended), false, kopiurv1.RepositoryPending, 0},
		"a ready one with a new spec is looked at":             {given(was(kopiurv1.RepositoryReady, time.Hour, 0), newSpec), true, kopiurv1.RepositoryInitializing, 0},
		"a ready one with new credentials stays ready":         {given(was(kopiurv1.RepositoryReady, time.Hour, 0), changed), true, kopiurv1.RepositoryReady, 0},
		"a failed one is parked":                               {given(was(kopiurv1.RepositoryFailed, time.Minute, 1)), false, kopiurv1.RepositoryFailed, 29 * time.Minute},
		"a failed one is tried again every half hour":          {given(was(kopiurv1.RepositoryFailed, 30*time.Minute, 1)), true, kopiurv1.RepositoryFailed, 0},
		"a failed one with new credentials at once":            {given(was(kopiurv1.RepositoryFailed, time.Second, 1), changed), true, kopiurv1.RepositoryInitializing, 0},
		"a failed one with a new spec at once":                 {given(was(kopiurv1.RepositoryFailed, time.Second, 1), newSpec), true, kopiurv1.RepositoryInitializing, 0},
		"a failed one whose Secret went away says so":          {given(was(kopiurv1.RepositoryFailed, time.Second, 1), noSecret), false, kopiurv1.RepositoryPending, 0},
		"a degraded one after two minutes":                     {given(was(kopiurv1.RepositoryDegraded, 30*time.Second, 1)), false, kopiurv1.RepositoryDegraded, 90 * time.Second},
		"then after four":                                      {given(was(kopiurv1.RepositoryDegraded, 2*time.Minute, 2)), false, kopiurv1.RepositoryDegraded, 2 * time.Minute},
		"and in the end every thirty":                          {given(was(kopiurv1.RepositoryDegraded, 0, 40)), false, kopiurv1.RepositoryDegraded, 30 * time.Minute},
		"a degraded one stays so while it is tried":            {given(was(kopiurv1.RepositoryDegraded, time.Hour, 5)), true, kopiurv1.RepositoryDegraded, 0},
		"one that lacked a key waits for the Secret":           {given(was(kopiurv1.RepositoryPending, time.Hour, 0), lackedKey), false, kopiurv1.RepositoryPending, 0},
		"one that waited for a gate goes on":                   {given(was(kopiurv1.RepositoryPending, time.Second, 0)), true, kopiurv1.RepositoryInitializing, 0},
		"not beside an older pod that may create it":           {given(lingering), false, kopiurv1.RepositoryInitializing, 5 * time.Second},
		"beside an older pod once its id is pinned":            {given(lingering, pinned), true, kopiurv1.RepositoryInitializing, 0},
		"when somebody asks":                                   {given(was(kopiurv1.RepositoryReady, time.Minute, 0), asked(now, "")), true, kopiurv1.RepositoryReady, 0},
		"but once for each request":                            {given(was(kopiurv1.RepositoryReady, 10*time.Minute, 0), asked(now.Add(-time.Hour), ago(time.Hour))), false, kopiurv1.RepositoryReady, 20 * time.Minute},
		"and once a minute":                                    {given(was(kopiurv1.RepositoryReady, 0, 0), asked(now, ago(20*time.Second))), false, kopiurv1.RepositoryReady, 40 * time.Second},
		"a request from a far future is none":                  {given(was(kopiurv1.RepositoryReady, 0, 0), asked(now.Add(time.Hour), "")), false, kopiurv1.RepositoryReady, 30 * time.Minute},
		"a request shortens the rest of a degraded one":        {given(was(kopiurv1.RepositoryDegraded, 0, 9), asked(now, ago(50*time.Second))), false, kopiurv1.RepositoryDegraded, 10 * time.Second},
		"when the snapshots are to be listed":                  {given(was(kopiurv1.RepositoryReady, time.Minute, 0), listing(true, 0)), true, kopiurv1.RepositoryReady, 0},
		"or will be":                                           {given(was(kopiurv1.RepositoryReady, 0, 0), listing(false, time.Minute)), false, kopiurv1.RepositoryReady, time.Minute},
		"but not before a failed look's rest is over":          {given(was(kopiurv1.RepositoryReady, 0, 1), listing(true, 0)), false, kopiurv1.RepositoryReady, 2 * time.Minute},
		"nor is a failed one looked at for it":                 {given(was(kopiurv1.RepositoryFailed, 0, 1), listing(true, 0)), false, kopiurv1.RepositoryFailed, 30 * time.Minute},
		"a status time that cannot be read counts as long ago": {given(was(kopiurv1.RepositoryDegraded, 0, 1), func(in *connect.Input) { in.Status.Job.FinishedAt = "yesterday" }), true, kopiurv1.RepositoryDegraded, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := connect.Decide(tc.in, now)
			assert.Equal(t, tc.wantStart, p.Start)
			assert.Equal(t, tc.wantPhase, p.Status.Phase)
			assert.Equal(t, tc.wantAfter, p.After)
			if p.Verdict != connect.Keep {
				assert.NotEmpty(t, p.Message, "every verdict explains itself")
			}
		})
	}
}

// K-8.
func TestWhatAnAttemptGets(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		in           connect.Input
		wantDeadline int64
		wantAttempt  int32
	}{
		"two minutes at first":                     {given(), 120, 1},
		"what the spec says":                       {given(deadline(600)), 600, 1},
		"twice as long after a deadline kill":      {given(was(kopiurv1.RepositoryDegraded, time.Hour, 1), kills(1)), 240, 4},
		"up to half an hour":                       {given(was(kopiurv1.RepositoryDegraded, time.Hour, 9), kills(9)), 1800, 4},
		"or more where the spec says more":         {given(was(kopiurv1.RepositoryDegraded, time.Hour, 9), kills(9), deadline(3600)), 3600, 4},
		"with other settings the doubling is over": {given(was(kopiurv1.RepositoryDegraded, time.Hour, 9), kills(9), newSpec), 120, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := connect.Decide(tc.in, now)
			require.True(t, p.Start)
			assert.Equal(t, tc.wantDeadline, p.DeadlineSeconds)
			assert.Equal(t, tc.wantAttempt, p.Status.Job.Attempts)
			assert.Empty(t, p.Status.Job.FinishedAt)
			assert.Equal(t, "5,6", p.Status.ResolvedCredentialVersion)
		})
	}
}

func TestARequestIsHonouredOnce(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]time.Time{"of the past": now.Add(-time.Minute), "of a clock that is ahead": now.Add(2 * time.Minute)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := given(was(kopiurv1.RepositoryReady, time.Minute, 0), asked(at, ""))
			p := connect.Decide(in, now)
			require.True(t, p.Start)
			in.Status.LastReverifyAt = p.Status.LastReverifyAt
			assert.False(t, connect.Decide(in, now.Add(4*time.Minute)).Start)
		})
	}
}

// TestARequestIsHonouredOnceAcrossACrash: the Job was made, and the process ended before its status said so.
func TestARequestIsHonouredOnceAcrossACrash(t *testing.T) {
	t.Parallel()
	in := given(was(kopiurv1.RepositoryReady, time.Minute, 0), asked(now, ""), state(moverjob.Running))
	p := connect.Decide(in, now)
	require.Equal(t, "r-nas-2", p.Status.Job.Name)
	done := given(success("aa"), asked(now, ""))
	done.Status = p.Status
	p = connect.Decide(done, now.Add(time.Minute))
	next := given(asked(now, p.Status.LastReverifyAt))
	next.SameInputs, next.Status = true, p.Status
	assert.False(t, connect.Decide(next, now.Add(2*time.Minute)).Start)
}

// ended is the present attempt's Job with this outcome.
func ended(o moverjob.Outcome) option {
	return func(in *connect.Input) {
		in.SameInputs = true
		in.Flight = &connect.Flight{Name: "r-nas-2", Attempt: 4, Outcome: o}
	}
}

func result(code work.Code) option {
	return ended(moverjob.Outcome{State: moverjob.Finished, Terminal: true, Result: &work.Result{Operation: "bootstrap", Code: code, Message: "read tcp 10.0.0.1:40123: tmp-7f3a"}})
}

func success(id string) option {
	return ended(moverjob.Outcome{State: moverjob.Finished, Terminal: true, Result: &work.Result{Code: work.CodeOK, Bootstrap: &work.BootstrapResult{UniqueID: id, ConnectSeconds: 0.2, TotalBytes: 5 << 30}}})
}

func state(s moverjob.State) option { return ended(moverjob.Outcome{State: s, Message: "as it says"}) }

// J-6.
func TestWhatAnOutcomeMeans(t *testing.T) {
	t.Parallel()
	first := was(kopiurv1.RepositoryInitializing, time.Hour, 0)
	ready := was(kopiurv1.RepositoryReady, time.Hour, 0)
	for name, tc := range map[string]struct {
		in          connect.Input
		wantPhase   kopiurv1.RepositoryPhase
		wantVerdict connect.Verdict
		wantReason  string
		wantReach   metav1.ConditionStatus
	}{
		"success":                            {given(first, success("aa")), kopiurv1.RepositoryReady, connect.Ready, kopiurv1.ReasonReachable, metav1.ConditionTrue},
		"another repository in its place":    {given(ready, success("bb")), kopiurv1.RepositoryFailed, connect.Stalled, kopiurv1.ReasonRepositoryVanished, metav1.ConditionTrue},
		"a success without an id":            {given(first, success("")), kopiurv1.RepositoryInitializing, connect.Progressing, kopiurv1.ReasonBootstrapInternalInconsistency, ""},
		"no answer at first":                 {given(first, result(work.CodeRepositoryUnavailable)), kopiurv1.RepositoryDegraded, connect.Progressing, kopiurv1.ReasonBackendUnreachable, metav1.ConditionFalse},
		"no answer leaves a ready one ready": {given(ready, result(work.CodeRepositoryUnavailable)), kopiurv1.RepositoryReady, connect.Keep, kopiurv1.ReasonBackendUnreachable, metav1.ConditionFalse},
		"slow is not unreachable":            {given(ready, result(work.CodeSlow)), kopiurv1.RepositoryReady, connect.Keep, kopiurv1.ReasonProbeDeadlineExceeded, metav1.ConditionUnknown},
		"nor is a deadline of the mover":     {given(first, result(work.CodeDeadlineExceeded)), kopiurv1.RepositoryDegraded, connect.Progressing, kopiurv1.ReasonBootstrapDeadlineExceeded, metav1.ConditionUnknown},
		"nor one of the Job":                 {given(first, state(moverjob.DeadlineKilled)), kopiurv1.RepositoryDegraded, connect.Progressing, kopiurv1.ReasonBootstrapDeadlineExceeded, metav1.ConditionUnknown},
		"a wrong password":                   {given(first, result(work.CodeAuthFailure)), kopiurv1.RepositoryFailed, connect.Stalled, "AuthFailure", metav1.ConditionTrue},
		"refused credentials":                {given(first, result(work.CodeAccessDenied)), kopiurv1.RepositoryFailed, connect.Stalled, "AccessDenied", metav1.ConditionTrue},
		"a folder of somebody else's":        {given(first, result(work.CodePermissionDenied)), kopiurv1.RepositoryFailed, connect.Stalled, "PermissionDenied", metav1.ConditionTrue},
		"a missing bucket":                   {given(first, result(work.CodeNotFound)), kopiurv1.RepositoryFailed, connect.Stalled, "NotFound", metav1.ConditionFalse},
		"a missing key waits for the Secret": {given(first, result(work.CodeMissingCredentials)), kopiurv1.RepositoryPending, connect.Progressing, kopiurv1.ReasonMissingCredentialsSecret, ""},
		"nothing there":                      {given(first, result(work.CodeRepositoryNotInitialized)), kopiurv1.RepositoryFailed, connect.Stalled, kopiurv1.ReasonRepositoryNotInitialized, metav1.ConditionTrue},
		"vanished":                           {given(ready, result(work.CodeRepositoryVanished)), kopiurv1.RepositoryFailed, connect.Stalled, kopiurv1.ReasonRepositoryVanished, metav1.ConditionTrue},
		"something else there":               {given(first, result(work.CodeLocationOccupied)), kopiurv1.RepositoryFailed, connect.Stalled, kopiurv1.ReasonLocationOccupied, metav1.ConditionTrue},
		"a mover of another release":         {given(first, result(work.CodeInvalidSpec)), kopiurv1.RepositoryFailed, connect.Stalled, kopiurv1.ReasonInvalidSpec, ""},
		"a repository that lost data":        {given(first, result(work.CodeVerificationFailed)), kopiurv1.RepositoryFailed, connect.Stalled, "VerificationFailed", metav1.ConditionTrue},
		"a clock that is wrong":              {given(ready, result(work.CodeClockSkew)), kopiurv1.RepositoryReady, connect.Keep, "ClockSkew", ""},
		"what nobody knows":                  {given(first, result(work.CodeUnknown)), kopiurv1.RepositoryFailed, connect.Stalled, "Unknown", ""},
		"a code of a newer mover":            {given(first, result("Brandnew")), kopiurv1.RepositoryFailed, connect.Stalled, "Unknown", ""},
		"a lock leaves a ready one ready":    {given(ready, result(work.CodeLocked)), kopiurv1.RepositoryReady, connect.Keep, "Locked", ""},
		"a crash leaves a ready one ready":   {given(ready, result(work.CodeLost)), kopiurv1.RepositoryReady, connect.Keep, kopiurv1.ReasonBootstrapJobFailed, ""},
		"a crash at first is tried again":    {given(first, result(work.CodeLost)), kopiurv1.RepositoryInitializing, connect.Progressing, kopiurv1.ReasonBootstrapJobFailed, ""},
		"a pod that does not start":          {given(first, state(moverjob.Wedged)), kopiurv1.RepositoryInitializing, connect.Progressing, kopiurv1.ReasonMoverPodWedged, ""},
		"a Job that somebody deleted":        {given(first, state(moverjob.Absent)), kopiurv1.RepositoryInitializing, connect.Progressing, kopiurv1.ReasonBootstrapJobFailed, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := connect.Decide(tc.in, now)
			assert.False(t, p.Start)
			assert.Equal(t, tc.wantPhase, p.Status.Phase)
			assert.Equal(t, tc.wantVerdict, p.Verdict)
			assert.Equal(t, tc.wantReason, p.Reason)
			assert.Equal(t, tc.wantReach, reach(p))
			assert.Equal(t, now.Format(time.RFC3339), p.Status.Job.FinishedAt, "the outcome is recorded")
			if name != "a missing key waits for the Secret" { // there the mover's words are the key's name
				for _, c := range p.Conditions {
					assert.NotContains(t, c.Message, "tmp-7f3a", "a condition never repeats what changes from attempt to attempt")
				}
				assert.NotContains(t, p.Message, "10.0.0.1", "nor does the verdict")
			}
			if tc.wantVerdict != connect.Ready {
				assert.Equal(t, tc.in.Status.UniqueID, p.Status.UniqueID, "a pinned id is never changed")
			}
		})
	}
}

func reach(p connect.Plan) metav1.ConditionStatus {
	for _, c := range p.Conditions {
		if c.Type == kopiurv1.ConditionBackendReachable {
			return c.Status
		}
	}
	return ""
}

func TestAnAttemptInFlight(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		in        connect.Input
		wantPhase kopiurv1.RepositoryPhase
		want      string
	}{
		"runs":                           {given(state(moverjob.Running)), kopiurv1.RepositoryInitializing, "connecting to bucket backups, at s3.example.org"},
		"waits, and says for what":       {given(state(moverjob.Waiting)), kopiurv1.RepositoryInitializing, "as it says"},
		"goes on while suspended":        {given(state(moverjob.Running), suspended), kopiurv1.RepositoryInitializing, "connecting"},
		"hangs on a lost node":           {given(state(moverjob.NodeLost)), kopiurv1.RepositoryInitializing, "as it says"},
		"leaves a ready one ready":       {given(was(kopiurv1.RepositoryReady, time.Hour, 0), state(moverjob.Running)), kopiurv1.RepositoryReady, ""},
		"leaves a degraded one degraded": {given(was(kopiurv1.RepositoryDegraded, time.Hour, 2), state(moverjob.Running)), kopiurv1.RepositoryDegraded, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := connect.Decide(tc.in, now)
			assert.Equal(t, tc.wantPhase, p.Status.Phase)
			assert.Contains(t, p.Message, tc.want)
			assert.Equal(t, "r-nas-2", p.Status.Job.Name, "a Job that was made and not recorded is recorded now")
			assert.Equal(t, int32(4), p.Status.Job.Attempts)
			assert.Empty(t, p.Status.Job.FinishedAt)
		})
	}
}

func TestFailuresInARow(t *testing.T) {
	t.Parallel()
	var rests []string
	s := kopiurv1.RepositoryStatus{Phase: kopiurv1.RepositoryInitializing}
	at := now
	for range 6 {
		in := given(result(work.CodeRepositoryUnavailable))
		in.Status = s
		p := connect.Decide(in, at)
		rests = append(rests, p.After.String())
		s = p.Status
		at = at.Add(p.After)
	}
	assert.Equal(t, "2m0s 4m0s 8m0s 16m0s 30m0s 30m0s", strings.Join(rests, " "))
	assert.Equal(t, int32(6), s.Health.ConsecutiveProbeFailures)
	assert.Equal(t, now.Format(time.RFC3339), s.Health.FirstFailureAt)

	in := given(success("aa"))
	in.Status = s
	healed := connect.Decide(in, at).Status
	assert.Zero(t, healed.Health.ConsecutiveProbeFailures)
	assert.Empty(t, healed.Health.FirstFailureAt)
	assert.Nil(t, healed.Failure)
	assert.Equal(t, "5Gi", healed.StorageStats.TotalSize)
}

// TestAnything: whatever was observed, deciding is total, never touches a pinned id, never starts beside an attempt in
// flight, and never calls a repository Ready that no mover has reached.
func TestAnything(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	pick := func(of ...string) string { return of[random.IntN(len(of))] }
	for range 20_000 {
		in := given()
		id := pick("", "aa")
		n := int32(random.Uint32())
		in.Status = kopiurv1.RepositoryStatus{
			Phase: kopiurv1.RepositoryPhase(pick("", "Pending", "Initializing", "Ready", "Degraded", "Failed", "Unheard")), UniqueID: id,
			Job:    &kopiurv1.ConnectJob{Name: "j", Attempts: n, FinishedAt: pick("", "yesterday", ago(time.Duration(random.Int64N(1e14)))), DeadlineKills: n, Failures: n},
			Health: &kopiurv1.RepositoryHealth{ConsecutiveProbeFailures: n, ConnectSeconds: int64(random.Uint64())},
		}
		in.OthersSucceededAt = now.Add(-time.Duration(random.Int64N(1e14)))
		before := *in.Status.DeepCopy()
		in.SameInputs, in.Creds.Open, in.Spec.Suspend = random.IntN(2) == 0, random.IntN(4) > 0, random.IntN(8) == 0
		flight := random.IntN(2) == 0
		if flight {
			r := work.Result{Code: work.Code(pick("OK", "Slow", "AuthFailure", "RepositoryUnavailable", "Lost", "", "New"))}
			if r.Code == work.CodeOK && random.IntN(2) == 0 {
				r.Bootstrap = &work.BootstrapResult{UniqueID: pick("", "aa", "bb")}
			}
			in.Flight = &connect.Flight{Name: "j", Attempt: n, Outcome: moverjob.Outcome{
				State: moverjob.State(pick("Absent", "Waiting", "Running", "Finished", "ResultLost", "Wedged", "DeadlineKilled", "NodeLost", "")), Result: &r,
			}}
		}
		p := connect.Decide(in, now)
		require.True(t, id == "" || p.Status.UniqueID == id, "the pinned id became %q", p.Status.UniqueID)
		require.False(t, p.Start && flight, "two attempts at once")
		require.False(t, p.Verdict == connect.Ready && p.Status.UniqueID == "", "Ready without an id")
		require.GreaterOrEqual(t, p.After, time.Duration(0))
		require.Equal(t, before, in.Status, "what was observed is left as it was")
	}
}

// TestADeadlineIsNeverInThePast: a number that no timer holds means "for ever", not "at once".
func TestADeadlineIsNeverInThePast(t *testing.T) {
	t.Parallel()
	b := &kopiurv1.BootstrapSpec{FailurePolicy: &kopiurv1.FailurePolicy{ActiveDeadlineSeconds: new(int64(math.MaxInt64))}}
	for kills := range int32(4) {
		assert.Equal(t, work.MaxSeconds, connect.Deadline(b, 0, kills))
	}
}
