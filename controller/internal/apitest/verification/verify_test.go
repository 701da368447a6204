// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package verification_test

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// verifying plays verifications with play, and lets all other movers succeed.
func verifying(play func(testenv.Call) testenv.Play) func(testenv.Call) testenv.Play {
	return func(c testenv.Call) testenv.Play {
		if c.Spec.Operation.Verify == nil {
			return testenv.Succeed(c)
		}
		return play(c)
	}
}

// I-5: TestVerifiedAtItsTime: nothing runs at once, nothing before there is a snapshot, and then each tier once a night.
func TestVerifiedAtItsTime(t *testing.T) {
	t.Parallel()
	v := quick()
	v.Deep = deep().Deep
	v.VerifyFilesPercent = 10
	l := newLab(t, v)
	l.StartController(l.clock.Decisions)
	l.pinned()
	assert.Equal(t, kopiurv1.ReasonVerificationPending, condition(l.policy, kopiurv1.ConditionVerified).Reason)
	l.night()
	l.verified(metav1.ConditionUnknown, kopiurv1.ReasonWaitingForFirstSnapshot)
	assert.Empty(t, l.runs(), "there is nothing to verify")
	assert.Empty(t, l.policy.Status.LastVerified)

	l.backup("web")
	l.verified(metav1.ConditionTrue, kopiurv1.ReasonVerified)
	l.settled()
	assert.Len(t, l.runs(), 2, "each tier once, although the night is over")
	assert.Len(t, l.policy.Status.VerificationStamps, 2)
	assert.NotEmpty(t, l.policy.Status.LastVerified)
	assert.Empty(t, l.policy.Status.Verification, "there is one repository")
	for _, c := range l.runs() {
		assert.Equal(t, []work.Identity{{Username: "web", Hostname: l.Namespace, Path: "/pvc/data"}}, c.Spec.Operation.Verify.Identities)
		if q := c.Spec.Operation.Verify.Quick; q != nil {
			assert.Equal(t, int64(10), q.FilesPercent)
		}
	}
	l.event("Normal", kopiurv1.ReasonVerified)
	l.Quiet(l.policy, time.Second)

	l.night()
	require.EventuallyWithT(t, func(c *assert.CollectT) { assert.Len(c, l.runs(), 4) }, testenv.Wait, testenv.Tick)
	l.settled()
	for _, r := range l.policy.Status.VerificationRuns {
		assert.Equal(t, kopiurv1.VerificationSucceeded, r.Outcome)
		assert.Positive(t, r.Files)
	}
}

// TestAFailingCheck: the mover is content and the user's program is not. The policy says so, with the end of its log, and
// nothing of what was restored stays; backups go on.
func TestAFailingCheck(t *testing.T) {
	t.Parallel()
	v := deep()
	v.Deep.Check = &kopiurv1.DeepCheck{Image: "postgres:17", Command: []string{"pg_checksums", "--check", "-D", "/scratch"}}
	l := newLab(t, v)
	hold := make(chan struct{})
	l.Mover(verifying(func(c testenv.Call) testenv.Play {
		p := testenv.Succeed(c)
		p.Check, p.CheckHold = 3, hold
		p.Log = []work.Event{{Type: work.EventLog, Level: "error", Message: "page 7 is corrupt"}}
		return p
	}))
	l.StartController(l.clock.Decisions)
	l.backup("web")
	l.pinned()
	l.night()
	require.EventuallyWithT(t, func(c *assert.CollectT) { require.Len(c, l.jobs(l.Namespace), 1) }, testenv.Wait, testenv.Tick)
	job := l.jobs(l.Namespace)[0]
	require.NotNil(t, ephemeral(job.Spec.Template.Spec))
	assert.Equal(t, "1Gi", ephemeral(job.Spec.Template.Spec).Spec.Resources.Requests.Storage().String())
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		require.Len(c, l.runs(), 1)
		l.GetC(c, l.policy)
		require.Equal(c, job.Name, l.policy.Status.VerificationRuns[0].Job)
	}, testenv.Wait, testenv.Tick)
	l.Quiet(l.policy, time.Second) // the mover's success is not the answer
	close(hold)
	got := l.verified(metav1.ConditionFalse, kopiurv1.ReasonVerificationCheckFailed)
	assert.Contains(t, got.Message, "exit code 3")
	l.settled()
	run := l.policy.Status.VerificationRuns[0]
	assert.Equal(t, kopiurv1.VerificationFailed, run.Outcome)
	assert.Contains(t, run.LogTail, "page 7 is corrupt")
	assert.Empty(t, l.policy.Status.LastVerified)
	assert.Empty(t, l.jobs(l.Namespace))
	assert.Equal(t, metav1.ConditionTrue, condition(l.policy, kopiurv1.ConditionReady).Status, "backups go on")
	l.event("Warning", kopiurv1.ReasonVerificationCheckFailed)
	const name = "kopiur_snapshot_verification_failed"
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		require.NoError(c, testutil.GatherAndCompare(l.Gauges(), strings.NewReader(
			"# HELP "+name+" 1 where the last answer of a verification was that stored data is missing, damaged or not as expected; 0 where it was not.\n# TYPE "+name+" gauge\n"+
				name+`{namespace="`+l.Namespace+`",policy="web",repository="Repository `+l.Namespace+`/nas",tier="deep"} 1`+"\n"), name))
	}, testenv.Wait, testenv.Tick)

	l.Mover(testenv.Succeed)
	l.night()
	l.verified(metav1.ConditionTrue, kopiurv1.ReasonVerified)
	l.settled()
	assert.Zero(t, l.policy.Status.VerificationRuns[0].ConsecutiveFailures)
	assert.Empty(t, l.policy.Status.VerificationRuns[0].LogTail)
}

// TestDamageAndOutage: damage is a failure; a store that does not answer is none, does not hide the damage, and is asked
// again after an hour.
func TestDamageAndOutage(t *testing.T) {
	t.Parallel()
	l := newLab(t, quick())
	l.Mover(verifying(func(c testenv.Call) testenv.Play {
		return testenv.Fail(c, work.CodeRepositoryUnavailable, "dial tcp 10.0.0.1:9000: i/o timeout")
	}))
	l.StartController(l.clock.Decisions)
	l.backup("web")
	l.pinned()
	l.night()
	l.verified(metav1.ConditionUnknown, kopiurv1.ReasonVerificationUnproven)
	l.event("Warning", kopiurv1.ReasonVerificationUnproven)
	nas := nas()
	nas.Namespace = l.Namespace
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		l.GetC(c, nas)
		require.NotEmpty(c, nas.Annotations[kopiurv1.AnnotationReverifyRequestedAt], "the repository is asked to look")
	}, testenv.Wait, testenv.Tick)

	l.Mover(verifying(func(c testenv.Call) testenv.Play {
		p := testenv.Fail(c, work.CodeVerificationFailed, "1 files or folders of 2 snapshots are damaged")
		p.Result.Verify = &work.VerifyResult{Tier: work.TierQuick, Snapshots: 2, Files: 6, Errors: 1, Faults: []work.EntryFault{{Path: "web@apps:/pvc/data/a", Reason: "blob is missing"}}}
		return p
	}))
	l.clock.Step(time.Hour)
	got := l.verified(metav1.ConditionFalse, kopiurv1.ReasonVerificationFailed)
	assert.Contains(t, got.Message, "web@apps:/pvc/data/a: blob is missing")
	l.settled()
	assert.Equal(t, int64(1), l.policy.Status.VerificationRuns[0].Errors)

	l.Mover(verifying(func(c testenv.Call) testenv.Play { return testenv.Fail(c, work.CodeRepositoryUnavailable, "down") }))
	was := l.policy.Status.VerificationRuns[0].ConsecutiveFailures
	l.night()
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		l.GetC(c, l.policy)
		require.Equal(c, was+1, l.policy.Status.VerificationRuns[0].ConsecutiveFailures)
	}, testenv.Wait, testenv.Tick)
	l.verified(metav1.ConditionFalse, kopiurv1.ReasonVerificationFailed)
}

// TestANightWithoutTheStore: behind an open breaker nothing is started, and afterwards there is one run for all the nights
// that were missed (C-1).
func TestANightWithoutTheStore(t *testing.T) {
	t.Parallel()
	l := newLab(t, quick())
	l.StartController(l.clock.Decisions)
	l.backup("web")
	l.pinned()
	nas := nas()
	nas.Namespace = l.Namespace
	l.Change(nas, func() { nas.Spec.Suspend = true })
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		l.GetC(c, l.policy)
		require.Equal(c, kopiurv1.ReasonRepositoryNotReady, condition(l.policy, kopiurv1.ConditionReady).Reason)
	}, testenv.Wait, testenv.Tick)
	for range 3 {
		l.night()
		l.verified(metav1.ConditionUnknown, kopiurv1.ReasonRepositoryNotReady)
	}
	assert.Empty(t, l.runs())
	l.Change(nas, func() { nas.Spec.Suspend = false })
	l.verified(metav1.ConditionTrue, kopiurv1.ReasonVerified)
	l.settled()
	next, err := time.Parse(time.RFC3339, l.policy.Status.VerificationRuns[0].NextScheduledAt)
	require.NoError(t, err)
	assert.True(t, next.After(l.clock.Now()), "the nights that were missed are over")
	assert.Len(t, l.runs(), 1)
}

// TestOneAtATime: policies whose time comes together follow each other in one repository.
func TestOneAtATime(t *testing.T) {
	t.Parallel()
	l := newLab(t, quick())
	names := []string{"web", "db", "mail"}
	for _, n := range names[1:] {
		p := policyOf(n, quick())
		p.Spec.Sources[0].PVC.Name = n
		l.Create(testenv.Claim(n), p)
	}
	gates := make(chan struct{})
	l.Mover(verifying(func(c testenv.Call) testenv.Play {
		p := testenv.Succeed(c)
		p.Hold = gates
		return p
	}))
	l.StartController(l.clock.Decisions)
	for _, n := range names {
		l.backup(n)
	}
	l.pinned()
	l.night()
	require.EventuallyWithT(t, func(c *assert.CollectT) { require.Len(c, l.runs(), 1) }, testenv.Wait, testenv.Tick)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		waiting := 0
		for _, n := range names {
			p := policyOf(n, quick())
			p.Namespace = l.Namespace
			l.GetC(c, p)
			for _, r := range p.Status.VerificationRuns {
				if r.Job == "" {
					waiting++
				}
			}
		}
		require.Equal(c, 2, waiting)
	}, testenv.Wait, testenv.Tick)
	assert.Len(t, l.runs(), 1, "the others wait for its end")
	close(gates)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		for _, n := range names {
			p := policyOf(n, quick())
			p.Namespace = l.Namespace
			l.GetC(c, p)
			require.NotEmpty(c, p.Status.LastVerified, n)
		}
	}, testenv.Wait, testenv.Tick)
	assert.Len(t, l.runs(), 3, "each once")
}

// TestVerifiedAtHome: what is only looked at is looked at where the ClusterRepository's Secrets are; what is restored stays
// with the policy.
func TestVerifiedAtHome(t *testing.T) {
	t.Parallel()
	l := &lab{Env: testenv.New(t), t: t}
	l.clock = l.NewTime()
	home := l.AddNamespace()
	r := &kopiurv1.ClusterRepository{ObjectMeta: metav1.ObjectMeta{Name: "offsite-" + l.Namespace}}
	r.Spec.RepositorySpec = nas().Spec
	r.Spec.Encryption.PasswordSecretRef.Namespace = home
	r.Spec.AllowedNamespaces.All = new(true)
	atHome := testenv.Secret("password", map[string]string{"KOPIA_PASSWORD": "x"})
	atHome.Namespace = home
	v := quick()
	v.Deep = deep().Deep
	l.policy = policyOf("web", v)
	l.policy.Spec.Repository = &kopiurv1.RepositoryRef{Name: r.Name, Kind: kopiurv1.KindClusterRepository}
	l.Create(atHome, testenv.Secret("password", map[string]string{"KOPIA_PASSWORD": "x"}), testenv.Claim("data"), r, l.policy)
	l.StartController(l.clock.Decisions)
	l.backup("web")
	l.pinned()
	l.night()
	l.verified(metav1.ConditionTrue, kopiurv1.ReasonVerified)
	l.settled()
	require.Len(t, l.runs(), 2)
	for _, c := range l.runs() {
		want := home
		if c.Spec.Operation.Verify.Deep != nil {
			want = l.Namespace
		}
		assert.Equal(t, want, c.Namespace)
	}
}

// TestAVerificationThatIsTakenAway: with its line goes its Job, also one that runs.
func TestAVerificationThatIsTakenAway(t *testing.T) {
	t.Parallel()
	l := newLab(t, deep())
	hold := make(chan struct{})
	defer close(hold)
	l.Mover(verifying(func(c testenv.Call) testenv.Play {
		p := testenv.Succeed(c)
		p.Hold = hold
		return p
	}))
	l.StartController(l.clock.Decisions)
	l.backup("web")
	l.pinned()
	l.night()
	require.EventuallyWithT(t, func(c *assert.CollectT) { require.Len(c, l.runs(), 1) }, testenv.Wait, testenv.Tick)
	l.Change(l.policy, func() { l.policy.Spec.Verification = nil })
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		l.GetC(c, l.policy)
		require.Empty(c, l.policy.Status.VerificationRuns)
		require.Empty(c, l.jobs(l.Namespace))
		require.Empty(c, condition(l.policy, kopiurv1.ConditionVerified).Type)
	}, testenv.Wait, testenv.Tick)
}
