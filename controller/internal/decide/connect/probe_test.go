// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package connect_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/decide/connect"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

func probing(p kopiurv1.HealthProbe) option {
	return func(in *connect.Input) { in.Spec.Health = &kopiurv1.HealthSpec{Probe: &p} }
}

func others(d time.Duration) option {
	return func(in *connect.Input) { in.OthersSucceededAt = now.Add(-d) }
}

func threshold(n int32) kopiurv1.HealthProbe { return kopiurv1.HealthProbe{FailureThreshold: &n} }

// C-5, C-9: when a repository that is well is looked at.
func TestWhenAProbeStarts(t *testing.T) {
	t.Parallel()
	ready := func(since time.Duration) option { return was(kopiurv1.RepositoryReady, since, 0) }
	for name, tc := range map[string]struct {
		in        connect.Input
		wantStart bool
		wantAfter time.Duration
	}{
		"half an hour after the end of the last look": {given(ready(30 * time.Minute)), true, 0},
		"not before":                {given(ready(29 * time.Minute)), false, time.Minute},
		"as often as the spec says": {given(ready(5*time.Minute), probing(kopiurv1.HealthProbe{Interval: "5m"})), true, 0},
		"no more often than admission would have allowed":    {given(ready(10*time.Second), probing(kopiurv1.HealthProbe{Interval: "1s"})), false, 20 * time.Second},
		"an interval that cannot be read is the usual one":   {given(ready(29*time.Minute), probing(kopiurv1.HealthProbe{Interval: "often"})), false, time.Minute},
		"never where it is switched off":                     {given(ready(300*time.Hour), probing(kopiurv1.HealthProbe{Enabled: new(false)})), false, 0},
		"not while suspended":                                {given(ready(time.Hour), suspended), false, 0},
		"not where another mover has just succeeded":         {given(ready(time.Hour), others(time.Minute)), false, 29 * time.Minute},
		"but where the last of them is long ago":             {given(ready(time.Hour), others(31*time.Minute)), true, 0},
		"and every six hours, so that numbers do not age":    {given(ready(6*time.Hour), others(time.Minute)), true, 0},
		"or as rarely as the spec says":                      {given(ready(6*time.Hour), others(time.Minute), probing(kopiurv1.HealthProbe{Interval: "24h"})), false, 18 * time.Hour},
		"after a failure it is tried again on the ladder":    {given(was(kopiurv1.RepositoryReady, 2*time.Minute, 1)), true, 0},
		"the ladder holds where probes are switched off":     {given(was(kopiurv1.RepositoryReady, time.Minute, 1), probing(kopiurv1.HealthProbe{Enabled: new(false)})), false, time.Minute},
		"a degraded one is tried on the ladder and not more": {given(was(kopiurv1.RepositoryDegraded, 29*time.Minute, 9)), false, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := connect.Decide(tc.in, now)
			assert.Equal(t, tc.wantStart, p.Start)
			assert.Equal(t, tc.wantAfter, p.After)
			assert.Equal(t, tc.in.Status.Phase, p.Status.Phase, "a look changes nothing before it has an answer")
			if p.Start {
				assert.True(t, p.Probe, "one pod, because the ladder tries again")
				assert.Equal(t, now.Format(time.RFC3339), p.Status.Health.ProbeAttemptAt)
			}
		})
	}
}

// C-1: the breaker: what failures in a row do to a repository that is in use.
func TestBreaker(t *testing.T) {
	t.Parallel()
	failed := func(n int32) option { return was(kopiurv1.RepositoryReady, time.Hour, n) }
	down := result(work.CodeRepositoryUnavailable)
	for name, tc := range map[string]struct {
		in           connect.Input
		wantPhase    kopiurv1.RepositoryPhase
		wantTripped  bool
		wantFailures int32
		wantReach    metav1.ConditionStatus
	}{
		"one failure parks nobody":                         {given(failed(0), down), kopiurv1.RepositoryReady, false, 1, metav1.ConditionFalse},
		"nor do two":                                       {given(failed(1), down), kopiurv1.RepositoryReady, false, 2, metav1.ConditionFalse},
		"three park all":                                   {given(failed(2), down), kopiurv1.RepositoryDegraded, true, 3, metav1.ConditionFalse},
		"or as many as the spec says":                      {given(failed(0), down, probing(threshold(1))), kopiurv1.RepositoryDegraded, true, 1, metav1.ConditionFalse},
		"a threshold of none is one":                       {given(failed(0), down, probing(threshold(0))), kopiurv1.RepositoryDegraded, true, 1, metav1.ConditionFalse},
		"none ever where failures only alert":              {given(failed(90), down, probing(kopiurv1.HealthProbe{OnFailure: kopiurv1.ProbeAlert})), kopiurv1.RepositoryReady, false, 91, metav1.ConditionFalse},
		"a parked one stays so":                            {given(was(kopiurv1.RepositoryDegraded, time.Hour, 3), down), kopiurv1.RepositoryDegraded, false, 4, metav1.ConditionFalse},
		"slow is no failure of the store":                  {given(failed(2), result(work.CodeSlow)), kopiurv1.RepositoryReady, false, 2, metav1.ConditionUnknown},
		"a deadline kill is none either":                   {given(failed(2), state(moverjob.DeadlineKilled)), kopiurv1.RepositoryReady, false, 2, metav1.ConditionUnknown},
		"a pod that does not start is none":                {given(failed(2), state(moverjob.Wedged)), kopiurv1.RepositoryReady, false, 2, ""},
		"nor is one whose node is lost":                    {given(failed(2), state(moverjob.NodeLost)), kopiurv1.RepositoryReady, false, 2, ""},
		"nor a crash":                                      {given(failed(2), result(work.CodeLost)), kopiurv1.RepositoryReady, false, 2, ""},
		"any success closes":                               {given(was(kopiurv1.RepositoryDegraded, time.Hour, 40), success("aa")), kopiurv1.RepositoryReady, false, 0, metav1.ConditionTrue},
		"a wrong password waits for no threshold":          {given(failed(0), result(work.CodeAuthFailure)), kopiurv1.RepositoryFailed, false, 1, metav1.ConditionTrue},
		"nor does a store that was wiped":                  {given(failed(0), result(work.CodeRepositoryVanished)), kopiurv1.RepositoryFailed, false, 1, metav1.ConditionTrue},
		"with other settings nothing is known to be ready": {given(failed(0), down, otherSpec), kopiurv1.RepositoryDegraded, false, 1, metav1.ConditionFalse},
		"with other credentials it is":                     {given(failed(0), down, changed), kopiurv1.RepositoryReady, false, 1, metav1.ConditionFalse},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.in.Status.UniqueID = "aa"
			p := connect.Decide(tc.in, now)
			assert.Equal(t, tc.wantPhase, p.Status.Phase)
			assert.Equal(t, tc.wantTripped, p.Tripped)
			assert.Equal(t, tc.wantFailures, p.Status.Health.ConsecutiveProbeFailures)
			assert.Equal(t, tc.wantReach, reach(p))
			assert.Empty(t, p.Status.Health.ProbeAttemptAt, "the look is over")
			if tc.wantPhase == kopiurv1.RepositoryReady && p.Verdict != connect.Ready {
				assert.Equal(t, connect.Keep, p.Verdict, "who uses it sees no change")
			}
		})
	}
}

// otherSpec: the attempt was made from a spec that the status does not speak of yet.
func otherSpec(in *connect.Input) { in.SameInputs, in.Generation = false, 2 }

// Any success closes the breaker: that of a backup which had begun before the outage as well.
func TestAnotherMoversSuccessCloses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		in        connect.Input
		want      bool
		wantAfter time.Duration
	}{
		"a degraded one":                           {given(was(kopiurv1.RepositoryDegraded, 5*time.Minute, 4), others(time.Minute)), true, 29 * time.Minute},
		"a ready one whose last look failed":       {given(was(kopiurv1.RepositoryReady, 5*time.Minute, 1), others(time.Minute)), true, 29 * time.Minute},
		"one that is not probed":                   {given(was(kopiurv1.RepositoryReady, 5*time.Minute, 1), others(time.Minute), probing(kopiurv1.HealthProbe{Enabled: new(false)})), true, 0},
		"not a success from before the failure":    {given(was(kopiurv1.RepositoryDegraded, 5*time.Minute, 4), others(6*time.Minute)), false, 11 * time.Minute},
		"not one with other credentials":           {given(was(kopiurv1.RepositoryDegraded, 5*time.Minute, 4), others(time.Minute), changed), false, 0},
		"not a failed one, whose verdict is final": {given(was(kopiurv1.RepositoryFailed, 5*time.Minute, 4), others(time.Minute)), false, 25 * time.Minute},
		"nothing to close, nothing said":           {given(was(kopiurv1.RepositoryReady, 5*time.Minute, 0), others(time.Minute)), false, 29 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.in.Status.UniqueID = "aa"
			p := connect.Decide(tc.in, now)
			assert.Equal(t, tc.wantAfter, p.After)
			assert.Equal(t, tc.want, p.Verdict == connect.Ready)
			if !tc.want {
				return
			}
			assert.False(t, p.Start, "it costs nothing")
			assert.Equal(t, kopiurv1.RepositoryReady, p.Status.Phase)
			assert.Zero(t, p.Status.Health.ConsecutiveProbeFailures)
			assert.Zero(t, p.Status.Job.Failures)
			assert.Equal(t, metav1.ConditionTrue, reach(p))
		})
	}
}

// TestFlapping: a store that fails two times of three for ever is never called lost.
func TestFlapping(t *testing.T) {
	t.Parallel()
	s := given(was(kopiurv1.RepositoryReady, time.Hour, 0)).Status
	at := now
	for i := range 300 {
		o := result(work.CodeRepositoryUnavailable)
		if i%3 == 2 {
			o = success("aa")
		}
		in := given(o)
		in.Status = s
		p := connect.Decide(in, at)
		require.Equal(t, kopiurv1.RepositoryReady, p.Status.Phase, "after %d looks", i)
		s, at = p.Status, at.Add(p.After)
	}
}

// C-3, C-4: a store that answers too late gets more time at each turn, and what it was seen to need is remembered.
func TestASlowStoreIsNeverParked(t *testing.T) {
	t.Parallel()
	s := given(was(kopiurv1.RepositoryReady, time.Hour, 0)).Status
	at := now
	var deadlines []int64
	for range 8 {
		in := given()
		in.SameInputs, in.Status = true, s
		p := connect.Decide(in, at)
		require.True(t, p.Start)
		deadlines = append(deadlines, p.DeadlineSeconds)
		in = given(state(moverjob.DeadlineKilled))
		in.Status = p.Status
		p = connect.Decide(in, at)
		require.Equal(t, kopiurv1.RepositoryReady, p.Status.Phase)
		require.Zero(t, p.Status.Health.ConsecutiveProbeFailures)
		s, at = p.Status, at.Add(p.After)
	}
	assert.Equal(t, []int64{120, 240, 480, 960, 1800, 1800, 1800, 1800}, deadlines)

	in := given(ended(moverjob.Outcome{State: moverjob.Finished, Result: &work.Result{Code: work.CodeOK, Bootstrap: &work.BootstrapResult{UniqueID: "aa", ConnectSeconds: 253}}}))
	in.Status = s
	p := connect.Decide(in, at)
	require.Equal(t, int64(253), p.Status.Health.ConnectSeconds)
	in = given()
	in.SameInputs, in.Status = true, p.Status
	next := connect.Decide(in, at.Add(p.After))
	require.True(t, next.Start)
	assert.Equal(t, int64(3*253), next.DeadlineSeconds, "the next look has the time that the last one took, and twice that to spare")
}
