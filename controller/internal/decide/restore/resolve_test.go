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

// TestResolutionK1 is acceptance case K-1: only a proven absence may leave a volume empty.
func TestResolutionK1(t *testing.T) {
	t.Parallel()
	const pinnedNone, pinnedID = kopiurv1.ResolutionNoSnapshot, kopiurv1.ResolutionSnapshot
	for name, tc := range map[string]struct {
		world      restore.World
		wantPhase  kopiurv1.RestorePhase
		wantReason string
		wantPin    kopiurv1.RestoreResolution
		wantIn     string
	}{
		"an unreachable store is no absence": {
			fromPolicy(failed("resolve", work.CodeRepositoryUnavailable, "the store did not answer")),
			kopiurv1.RestoreResolving, kopiurv1.ReasonResolutionUnknown, "", "RepositoryUnavailable: the store did not answer. The repository is asked again",
		},
		"a wrong password is no absence": {
			fromPolicy(failed("resolve", work.CodeAuthFailure, "the password is wrong")),
			kopiurv1.RestoreResolving, kopiurv1.ReasonResolutionUnknown, "", "AuthFailure",
		},
		"a bucket that is missing is no absence": {
			fromPolicy(failed("resolve", work.CodeNotFound, "bucket b does not exist")),
			kopiurv1.RestoreResolving, kopiurv1.ReasonResolutionUnknown, "", "NotFound",
		},
		"a repository that vanished is no absence": {
			fromPolicy(failed("resolve", work.CodeRepositoryVanished, "another repository is there")),
			kopiurv1.RestoreResolving, kopiurv1.ReasonResolutionUnknown, "", "RepositoryVanished",
		},
		"a mover that answers unknown is no absence": {
			fromPolicy(answer(work.ResolveResult{Resolution: work.ResolutionUnknown})),
			kopiurv1.RestoreResolving, kopiurv1.ReasonResolutionUnknown, "", "asked again",
		},
		"a mover that answers nothing is no absence": {
			fromPolicy(result(work.Result{Operation: "resolve", Code: work.CodeOK})),
			kopiurv1.RestoreResolving, kopiurv1.ReasonResolutionUnknown, "", "not understood",
		},
		"a find without an id is no find": {
			fromPolicy(answer(work.ResolveResult{Resolution: work.ResolutionFound})),
			kopiurv1.RestoreResolving, kopiurv1.ReasonResolutionUnknown, "", "not understood",
		},
		"an answer that is lost is no absence": {
			fromPolicy(outcome(moverjob.Outcome{State: moverjob.ResultLost, Terminal: true, Message: "the pod is gone"})),
			kopiurv1.RestoreResolving, kopiurv1.ReasonResolutionUnknown, "", "the pod is gone",
		},
		"a mover that was killed by its deadline is no absence": {
			fromPolicy(outcome(moverjob.Outcome{State: moverjob.DeadlineKilled, Terminal: true, Message: "deadline"})),
			kopiurv1.RestoreResolving, kopiurv1.ReasonResolutionUnknown, "", "DeadlineKilled",
		},
		"a mover that never started is no absence": {
			fromPolicy(outcome(moverjob.Outcome{State: moverjob.Wedged, Message: "ImagePullBackOff"})),
			kopiurv1.RestoreResolving, kopiurv1.ReasonResolutionUnknown, "", "MoverPodWedged: ImagePullBackOff",
		},
		"a malformed asOf is refused before anything is asked": {
			fromPolicy(asOf("yesterday")),
			kopiurv1.RestoreFailed, kopiurv1.ReasonInvalidSpec, "", `asOf: Invalid value: "yesterday"`,
		},
		"a date without a time is a malformed asOf": {
			fromPolicy(asOf("2026-03-05")),
			kopiurv1.RestoreFailed, kopiurv1.ReasonInvalidSpec, "", "RFC 3339",
		},
		"a find is pinned": {
			fromPolicy(found),
			kopiurv1.RestoreResolving, kopiurv1.ReasonResolved, pinnedID, "snapshot k9",
		},
		"a proven absence continues where nothing else is said": {
			fromPolicy(absent),
			kopiurv1.RestoreResolving, kopiurv1.ReasonNoSnapshotContinue, pinnedNone, "db@apps:/pvc/data",
		},
		"a proven absence fails where it is told to": {
			fromPolicy(onMissing(kopiurv1.OnMissingFail), absent),
			kopiurv1.RestoreFailed, kopiurv1.ReasonNoSnapshot, "", "the repository has no snapshot of db@apps:/pvc/data",
		},
		"snapshots that only asOf leaves out are no absence": {
			fromPolicy(asOf("2020-01-01T00:00:00Z"), answer(work.ResolveResult{Resolution: work.ResolutionAbsent, Candidates: 3})),
			kopiurv1.RestoreFailed, kopiurv1.ReasonNoSnapshot, "", "has 3 snapshots, and none of them fits asOf",
		},
		"a path that the policy does not have is not believed to be empty": {
			fromPolicy(spec(func(s *kopiurv1.RestoreSpec) { s.Source.FromPolicy.SourcePath = "/pvc/dta" }), absent),
			kopiurv1.RestoreFailed, kopiurv1.ReasonNoSnapshot, "", "may be mistyped",
		},
		"a policy with a backup is not believed to have none (B-10)": {
			fromPolicy(func(w *restore.World) { w.Policy.Status.LastSuccessfulSnapshot = at(-24 * time.Hour) }, absent),
			kopiurv1.RestoreFailed, kopiurv1.ReasonNoSnapshot, "", "may not be the repository it was",
		},
		"nor is one path of several that a Snapshot was stored of": {
			fromPolicy(twoSources, func(w *restore.World) { w.Stored = map[string]string{"/pvc/data": "apps/monday"} }, absent),
			kopiurv1.RestoreFailed, kopiurv1.ReasonNoSnapshot, "", "Snapshot apps/monday says that it is stored",
		},
		"a new path of a policy that backs up others is empty": {
			fromPolicy(twoSources, func(w *restore.World) {
				w.Policy.Status.LastSuccessfulSnapshot, w.Stored = at(-24*time.Hour), map[string]string{"/pvc/more": "apps/monday"}
			}, absent),
			kopiurv1.RestoreResolving, kopiurv1.ReasonNoSnapshotContinue, pinnedNone, "",
		},
		"an absence inside the wait window is waited out": {
			fromPolicy(waitTimeout("10m"), absent),
			kopiurv1.RestoreResolving, kopiurv1.ReasonWaitingForSnapshot, "", "until policy.waitTimeout (10m0s) is over",
		},
		"an absence after the wait window continues": {
			fromPolicy(waitTimeout("30s"), absent),
			kopiurv1.RestoreResolving, kopiurv1.ReasonNoSnapshotContinue, pinnedNone, "",
		},
		"an absence after the wait window fails where it is told to": {
			fromPolicy(waitTimeout("30s"), onMissing(kopiurv1.OnMissingFail), absent),
			kopiurv1.RestoreFailed, kopiurv1.ReasonNoSnapshot, "", "",
		},
		"an unknown after the wait window is still unknown": {
			fromPolicy(waitTimeout("30s"), failed("resolve", work.CodeRepositoryUnavailable, "down")),
			kopiurv1.RestoreResolving, kopiurv1.ReasonResolutionUnknown, "", "down",
		},
		"an answer to a question that was edited meanwhile is thrown away": {
			fromPolicy(absent, asOf("2026-01-01T00:00:00Z")),
			kopiurv1.RestoreResolving, kopiurv1.ReasonResolving, "", "changed while the repository was asked",
		},
		"an answer from a repository that the policy left meanwhile is thrown away": {
			fromPolicy(absent, func(w *restore.World) { w.Policy.Spec.Repository.Name = "other" }),
			kopiurv1.RestoreResolving, kopiurv1.ReasonResolving, "", "changed",
		},
		"an answer is thrown away when its policy is gone": {
			fromPolicy(absent, func(w *restore.World) { w.Policy = nil }),
			kopiurv1.RestoreResolving, kopiurv1.ReasonResolving, "", "changed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := restore.Decide(tc.world, now)
			assert.Equal(t, tc.wantReason, p.Reason, p.Message)
			assert.Equal(t, tc.wantPhase, p.Status.Phase)
			assert.Contains(t, p.Message, tc.wantIn)
			var got kopiurv1.RestoreResolution
			if p.Status.Resolved != nil {
				got = p.Status.Resolved.Resolution
			}
			assert.Equal(t, tc.wantPin, got)
			assert.Nil(t, p.Job, "nothing is started in the turn that reads an answer")
			assert.Nil(t, p.Claim, "nothing is made before the decision is stored")
		})
	}
}

func TestUnknownIsAskedAgain(t *testing.T) {
	t.Parallel()
	w := fromPolicy(failed("resolve", work.CodeRepositoryUnavailable, "down"))
	first := restore.Decide(w, now)
	assert.Equal(t, 30*time.Second, first.After)
	require.NotEmpty(t, first.Status.Job.EndedAt)

	w = then(w, first)
	resting := restore.Decide(w, now.Add(10*time.Second))
	assert.Nil(t, resting.Job, "an answer rests")
	assert.Equal(t, 20*time.Second, resting.After)
	assert.Equal(t, kopiurv1.ReasonResolutionUnknown, resting.Reason, "and says what it waits for")
	assert.NotNil(t, resting.Retire, "its Job may go")
	assert.Equal(t, first.Message, resting.Message, "in the same words (J-6)")
	assertSameStatus(t, w.Restore.Status, then(w, resting).Restore.Status, "at rest nothing is written (E-5)")

	again := restore.Decide(w, now.Add(30*time.Second))
	require.NotNil(t, again.Job)
	assert.NotEqual(t, w.Job.Name, again.Job.Name, "another attempt is another Job")
	assert.EqualValues(t, 2, again.Status.Job.Attempts)
	assert.True(t, again.Intent)

	for why, wake := range map[string]change{
		"a changed Secret": func(w *restore.World) { w.Credentials.Version = "2" },
		"an edited spec":   func(w *restore.World) { w.Restore.Generation = 2 },
		"a repository reached since": func(w *restore.World) {
			w.Repository.Status.Health = &kopiurv1.RepositoryHealth{LastHealthyAt: at(time.Second)}
		},
		"a backup made since": func(w *restore.World) { w.Policy.Status.LastSuccessfulSnapshot = at(time.Second) },
	} {
		w := then(fromPolicy(failed("resolve", work.CodeRepositoryUnavailable, "down")), first)
		wake(&w)
		assert.NotNil(t, restore.Decide(w, now.Add(10*time.Second)).Job, "%s ends the rest", why)
	}
}

func TestRestsGrow(t *testing.T) {
	t.Parallel()
	w := fromPolicy(failed("resolve", work.CodeRepositoryUnavailable, "down"))
	want := []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 16 * time.Minute, 30 * time.Minute, 30 * time.Minute}
	for i, d := range want {
		w.Restore.Status.Job.Fruitless = int32(i)
		assert.Equal(t, d, restore.Decide(w, now).After)
	}
	w.Restore.Status.Job.Fruitless = 1 << 30
	assert.Equal(t, 30*time.Minute, restore.Decide(w, now).After)
}

func TestMissingKeyWaitsForTheSecret(t *testing.T) {
	t.Parallel()
	w := fromPolicy(failed("resolve", work.CodeMissingCredentials, "key KOPIA_PASSWORD is missing"))
	p := restore.Decide(w, now)
	assert.Equal(t, kopiurv1.ReasonMissingCredentialsSecret, find(p, kopiurv1.ConditionCredentialsAvailable).Reason)

	w = then(w, p)
	p = restore.Decide(w, now.Add(time.Hour))
	assert.Nil(t, p.Job, "time does not add a key")
	assert.Equal(t, kopiurv1.ReasonMissingCredentialsSecret, p.Reason)
	assert.Contains(t, p.Message, "KOPIA_PASSWORD")

	w.Credentials.Version = "2"
	assert.NotNil(t, restore.Decide(w, now.Add(time.Hour)).Job, "an edit of the Secret may")
}

func TestPinIsForGood(t *testing.T) {
	t.Parallel()
	t.Run("a snapshot that appears after an empty pin changes nothing (K-1)", func(t *testing.T) {
		t.Parallel()
		w := fromPolicy(absent)
		w = then(w, restore.Decide(w, now))
		require.Equal(t, kopiurv1.ResolutionNoSnapshot, w.Restore.Status.Resolved.Resolution)
		w.Policy.Status.LastSuccessfulSnapshot = at(time.Minute)

		p := restore.Decide(w, now.Add(time.Hour))
		require.NotNil(t, p.Claim, "the empty claim is made")
		assert.Nil(t, p.Job)
		assert.NotEqual(t, kopiurv1.RestoreCompleted, p.Status.Phase, "not complete before the claim is seen")
		w = then(w, p)
		p = restore.Decide(w, now.Add(time.Hour))
		assert.Equal(t, kopiurv1.RestoreCompleted, p.Status.Phase)
		assert.Equal(t, restore.Ready, p.State)
		assert.Equal(t, kopiurv1.ReasonNoSnapshotContinue, p.Reason)
		assert.Nil(t, p.Job)
	})
	t.Run("an edit of the source does not resolve again", func(t *testing.T) {
		t.Parallel()
		w := fromPolicy(found)
		w = then(w, restore.Decide(w, now))
		w.Restore.Spec.Source.FromPolicy.AsOf = "2001-01-01T00:00:00Z"
		w.Restore.Spec.Source.FromPolicy.Name = "gone"
		w.Restore.Generation = 2
		w.Policy = nil
		p := restore.Decide(w, now)
		require.NotNil(t, p.Job)
		assert.Equal(t, "k9", workOf(p.Job).Operation.Restore.SnapshotID)
	})
	t.Run("a failed run keeps it when it reopens", func(t *testing.T) {
		t.Parallel()
		w := fromSnapshot(failed("restore", work.CodePermissionDenied, "no"))
		w = then(w, restore.Decide(w, now))
		require.Equal(t, kopiurv1.RestoreFailed, w.Restore.Status.Phase)
		pin := *w.Restore.Status.Resolved
		w.Snapshot.Status.Snapshot.KopiaSnapshotID = "other"
		w.Restore.Generation = 2
		p := restore.Decide(w, now)
		assert.Equal(t, pin, *p.Status.Resolved)
		assert.NotNil(t, p.Job)
	})
	t.Run("one without a resolution but with an id is a snapshot", func(t *testing.T) {
		t.Parallel()
		w := fromSnapshot(pinned("old"), status(func(s *kopiurv1.RestoreStatus) { s.Resolved.Resolution = "" }))
		p := restore.Decide(w, now)
		require.NotNil(t, p.Job)
		assert.Equal(t, "old", workOf(p.Job).Operation.Restore.SnapshotID)
	})
}

func TestWaitWindow(t *testing.T) {
	t.Parallel()
	w := fromPolicy(waitTimeout("10m"))
	assert.Empty(t, w.Restore.Status.WaitStartedAt)
	w.Repository.Status.Phase = kopiurv1.RepositoryDegraded
	assert.Empty(t, restore.Decide(w, now).Status.WaitStartedAt, "the window opens when the repository can first be asked")
	w.Repository.Status.Phase = kopiurv1.RepositoryReady
	assert.Equal(t, at(0), restore.Decide(w, now).Status.WaitStartedAt)

	w = fromPolicy(waitTimeout("10m"), absent) // asked a minute ago
	p := restore.Decide(w, now)
	require.Equal(t, kopiurv1.ReasonWaitingForSnapshot, p.Reason)
	assert.Equal(t, at(-time.Minute), p.Status.WaitStartedAt)
	w = then(w, p)
	p = restore.Decide(w, now.Add(8*time.Minute+50*time.Second))
	require.NotNil(t, p.Job, "it is asked again before the window ends")

	w.Restore.Status.Job.Fruitless = 7 // rests of 30 minutes
	p = restore.Decide(w, now.Add(8*time.Minute))
	assert.Nil(t, p.Job)
	assert.Equal(t, time.Minute, p.After, "the end of the window ends the rest")
	assert.NotNil(t, restore.Decide(w, now.Add(9*time.Minute)).Job, "the last word is an answer given after the window")
}

func TestQuestion(t *testing.T) {
	t.Parallel()
	w := fromPolicy(asOf("2026-03-01T10:00:00+02:00"), spec(func(s *kopiurv1.RestoreSpec) {
		s.Source.FromPolicy.Offset = 2
		s.Mover = &kopiurv1.MoverSpec{PrivilegedMode: new(true)}
	}), func(w *restore.World) {
		w.Policy.Spec.Identity = &kopiurv1.PolicyIdentity{Username: "u", Hostname: "h"}
	})
	p := restore.Decide(w, now)
	require.NotNil(t, p.Job, "asking takes no privileges, whatever the restore takes: %s", p.Message)
	utc := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	assert.Equal(t, &work.Resolve{
		Identity: work.Identity{Username: "u", Hostname: "h", Path: "/pvc/data"}, AsOf: &utc, Offset: 2,
	}, workOf(p.Job).Operation.Resolve)
	assert.Empty(t, moverjob.Privileges(p.Job.Spec.Template.Spec))
	assert.EqualValues(t, 0, *p.Job.Spec.BackoffLimit)
	assert.Equal(t, byte('q'), p.Job.Name[0])
	assert.True(t, p.Intent)
	assert.Equal(t, "1", p.Status.ResolvedCredentialVersion)
}

func TestAmbiguousSourcePath(t *testing.T) {
	t.Parallel()
	two := func(w *restore.World) {
		w.Policy.Spec.Sources = append(w.Policy.Spec.Sources, kopiurv1.Source{PVC: &kopiurv1.LocalRef{Name: "logs"}})
	}
	p := restore.Decide(fromPolicy(two), now)
	assert.Equal(t, kopiurv1.ReasonSourcePathAmbiguous, p.Reason)
	assert.Equal(t, restore.Stalled, p.State)
	assert.Contains(t, p.Message, "/pvc/data, /pvc/logs")
	assert.Nil(t, p.Job, "the newest of all paths may be another volume's (J-1)")

	p = restore.Decide(fromPolicy(two, spec(func(s *kopiurv1.RestoreSpec) { s.Source.FromPolicy.SourcePath = "/pvc/logs" })), now)
	require.NotNil(t, p.Job)
	assert.Equal(t, "/pvc/logs", workOf(p.Job).Operation.Resolve.Identity.Path)
}

// twoSources makes the policy back up two claims, and the Restore name the first.
func twoSources(w *restore.World) {
	w.Policy.Spec.Sources = append(w.Policy.Spec.Sources, kopiurv1.Source{PVC: &kopiurv1.LocalRef{Name: "more"}})
	w.Restore.Spec.Source.FromPolicy.SourcePath = "/pvc/data"
}
