// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/decide/breaker"
	"github.com/kopiur/kopiur/controller/internal/decide/deletion"
	"github.com/kopiur/kopiur/controller/internal/gates"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

type setting func(*deletion.World)

func world(settings ...setting) deletion.World {
	w := deletion.World{Facts: facts(), Gate: gates.Verdict{Open: true}}
	for _, s := range settings {
		s(&w)
	}
	return w
}

func with(changes ...change) setting {
	return func(w *deletion.World) {
		for _, c := range changes {
			c(&w.Facts)
		}
	}
}

func batch(o moverjob.Outcome) setting {
	return func(w *deletion.World) {
		w.Batch = &deletion.Batch{Name: "snapdel-nas-1", UID: "job-1", Index: 1, Outcome: o}
	}
}

func finished(code work.Code, letters string) moverjob.Outcome {
	r := &work.Result{Operation: "delete", Code: code, Message: "as the mover said"}
	if letters != "" {
		r.Delete = &work.DeleteResult{Outcomes: work.DeleteOutcomes(letters)}
	}
	return moverjob.Outcome{State: moverjob.Finished, Result: r, Terminal: true}
}

func open(w *deletion.World) {
	w.Breaker = breaker.Decide(breaker.Input{Repository: "Repository apps/nas", Threshold: 1, Pending: []breaker.Member{{DeletedAt: noon}}})
}

func failedBefore(job types.UID, n int32, at time.Time) setting {
	return func(w *deletion.World) {
		w.Facts.Snapshot.Status.Deletion = &kopiurv1.DeletionStatus{
			Job: "snapdel-nas-1", JobUID: string(job), Attempts: n, FailedAt: at.Format(time.RFC3339),
			Failure: kopiurv1.Failure{KopiaErrorClass: "RepositoryUnavailable", Message: "the store is down", RetryRecommended: true},
		}
	}
}

func deletedAt(at time.Time) change {
	return func(f *deletion.Facts) { f.Snapshot.DeletionTimestamp = &metav1.Time{Time: at} }
}

func stored(s *kopiurv1.StoredSnapshot) setting {
	return func(w *deletion.World) { w.Facts.Snapshot.Status.Snapshot = s }
}

func phase(p kopiurv1.SnapshotPhase) setting {
	return func(w *deletion.World) { w.Facts.Snapshot.Status.Phase = p }
}

func TestNext(t *testing.T) {
	t.Parallel()
	later := noon.Add(time.Minute)
	running := moverjob.Outcome{State: moverjob.Running}
	for name, tc := range map[string]struct {
		w           deletion.World
		want        deletion.Action
		wantReason  string
		wantOutcome string
	}{
		"one that is not being deleted":                   {world(with(func(f *deletion.Facts) { f.Snapshot.DeletionTimestamp = nil })), deletion.Rest, "", ""},
		"one that does not wait for us":                   {world(with(func(f *deletion.Facts) { f.Snapshot.Finalizers = nil })), deletion.Rest, "", ""},
		"absence in a cache is proven first":              {world(with(cached, policy(deletion.Gone))), deletion.Prove, "", ""},
		"what is not known is asked again":                {world(with(policy(deletion.Unknown))), deletion.Wait, kopiurv1.ReasonDeletionUndecided, ""},
		"Retain goes at once":                             {world(with(says(retain))), deletion.Release, kopiurv1.ReasonSnapshotRetained, deletion.OutcomeRetained},
		"Orphan goes at once":                             {world(with(says(orphan))), deletion.Release, kopiurv1.ReasonSnapshotOrphaned, deletion.OutcomeOrphaned},
		"Retain goes also during a hold":                  {world(with(says(retain)), open), deletion.Release, kopiurv1.ReasonSnapshotRetained, deletion.OutcomeRetained},
		"skip goes also during a hold":                    {world(with(skip), open), deletion.Release, kopiurv1.ReasonSnapshotOrphaned, deletion.OutcomeOrphaned},
		"a namespace that ends does not wait for a mover": {world(with(namespace(deletion.Gone)), batch(running)), deletion.Release, kopiurv1.ReasonSnapshotOrphaned, deletion.OutcomeOrphaned},
		"a deletion waits for its Job":                    {world(), deletion.Wait, kopiurv1.ReasonDeletionQueued, ""},
		"one whose turn has come waits for its Job":       {world(with(cached)), deletion.Wait, kopiurv1.ReasonDeletionQueued, ""},
		"one that no Job takes for a minute is proven":    {world(with(cached, deletedAt(noon.Add(-time.Minute)))), deletion.Prove, "", ""},
		"but not before one has had a minute since a hold": {world(with(cached, deletedAt(noon.Add(-time.Hour)), func(f *deletion.Facts) {
			f.Snapshot.Status.Conditions = []metav1.Condition{{Type: kopiurv1.ConditionDeletionHeld, Status: metav1.ConditionFalse, LastTransitionTime: metav1.NewTime(noon.Add(30 * time.Second))}}
		})), deletion.Wait, kopiurv1.ReasonDeletionQueued, ""},
		"one that waits for others need not be yet": {world(with(cached, deletedAt(later))), deletion.Wait, kopiurv1.ReasonDeletionQueued, ""},
		"it is held":                {world(open), deletion.Hold, kopiurv1.ReasonMassDeletionBreaker, ""},
		"Kopiur's own prune is not": {world(open, with(prunedBy(kopiurv1.PrunedByRetention))), deletion.Wait, kopiurv1.ReasonDeletionQueued, ""},
		"a cascade is":              {world(open, with(prunedBy(kopiurv1.PrunedByPolicyCascade))), deletion.Hold, kopiurv1.ReasonMassDeletionBreaker, ""},
		"it waits while the repository cannot be used": {world(func(w *deletion.World) {
			w.Gate = gates.Verdict{Reason: kopiurv1.ReasonRepositoryNotReady, Message: "it is Degraded"}
		}), deletion.Wait, kopiurv1.ReasonRepositoryNotReady, ""},
		"a hold is told before a repository that is down":         {world(open, func(w *deletion.World) { w.Gate = gates.Verdict{Reason: kopiurv1.ReasonRepositoryNotReady} }), deletion.Hold, kopiurv1.ReasonMassDeletionBreaker, ""},
		"nothing stored, nothing to delete":                       {world(stored(nil), phase(kopiurv1.SnapshotUnchanged)), deletion.Release, kopiurv1.ReasonSnapshotDeleted, deletion.OutcomeNothing},
		"and nothing to hold":                                     {world(stored(nil), phase(kopiurv1.SnapshotFailed), open), deletion.Release, kopiurv1.ReasonSnapshotDeleted, deletion.OutcomeNothing},
		"its own mover is stopped first":                          {world(stored(nil), phase(kopiurv1.SnapshotRunning), func(w *deletion.World) { w.Run.Job = true }), deletion.Stop, kopiurv1.ReasonStoppingMover, ""},
		"and its end awaited":                                     {world(stored(nil), phase(kopiurv1.SnapshotRunning), func(w *deletion.World) { w.Run.Pods = []string{"p"} }), deletion.Wait, kopiurv1.ReasonStoppingMover, ""},
		"what it stored at the last moment is learnt":             {world(stored(nil), phase(kopiurv1.SnapshotRunning), func(w *deletion.World) { w.Run.Stored = &work.SnapshotResult{SnapshotID: "k9"} }), deletion.Learn, kopiurv1.ReasonStoppingMover, ""},
		"what it stored is not forgotten because it still ends":   {world(stored(nil), phase(kopiurv1.SnapshotRunning), func(w *deletion.World) { w.Run.Job = true; w.Run.Stored = &work.SnapshotResult{SnapshotID: "k9"} }), deletion.Learn, kopiurv1.ReasonStoppingMover, ""},
		"Retain does not wait for its own mover":                  {world(with(says(retain)), stored(nil), func(w *deletion.World) { w.Run.Job = true }), deletion.Release, kopiurv1.ReasonSnapshotRetained, deletion.OutcomeRetained},
		"a Job that runs is followed":                             {world(batch(running)), deletion.Wait, kopiurv1.ReasonDeletionRunning, ""},
		"also when a hold begins meanwhile":                       {world(batch(running), open), deletion.Wait, kopiurv1.ReasonDeletionRunning, ""},
		"a Job that waits for a node is followed":                 {world(batch(moverjob.Outcome{State: moverjob.Waiting, Message: "cannot be scheduled"})), deletion.Wait, kopiurv1.ReasonDeletionRunning, ""},
		"a Job on a lost node is not given up":                    {world(batch(moverjob.Outcome{State: moverjob.NodeLost, Message: "node"})), deletion.Wait, kopiurv1.ReasonDeletionRunning, ""},
		"deleted":                                                 {world(batch(finished(work.CodeOK, "gdr"))), deletion.Release, kopiurv1.ReasonSnapshotDeleted, deletion.OutcomeDeleted},
		"gone already":                                            {world(batch(finished(work.CodeOK, "dgd"))), deletion.Release, kopiurv1.ReasonSnapshotDeleted, deletion.OutcomeGone},
		"deleted beside one that was refused":                     {world(batch(finished(work.CodeSnapshotMismatch, "rdr"))), deletion.Release, kopiurv1.ReasonSnapshotDeleted, deletion.OutcomeDeleted},
		"refused":                                                 {world(batch(finished(work.CodeSnapshotMismatch, "drd"))), deletion.Fail, kopiurv1.ReasonDeletionFailed, ""},
		"a success that does not speak of it is no success":       {world(batch(finished(work.CodeOK, "d"))), deletion.Fail, kopiurv1.ReasonDeletionFailed, ""},
		"a success that speaks of nobody is no success":           {world(batch(finished(work.CodeOK, ""))), deletion.Fail, kopiurv1.ReasonDeletionFailed, ""},
		"letters beside a failure prove nothing":                  {world(batch(finished(work.CodeRepositoryUnavailable, "ddd"))), deletion.Fail, kopiurv1.ReasonDeletionFailed, ""},
		"object lock is a failure that passes (D-11)":             {world(batch(finished(work.CodeLocked, ""))), deletion.Fail, kopiurv1.ReasonDeletionFailed, ""},
		"a result that was lost":                                  {world(batch(moverjob.Outcome{State: moverjob.ResultLost, Terminal: true})), deletion.Fail, kopiurv1.ReasonDeletionFailed, ""},
		"a result that may still come":                            {world(batch(moverjob.Outcome{State: moverjob.ResultLost})), deletion.Wait, kopiurv1.ReasonDeletionRunning, ""},
		"a pod that never started":                                {world(batch(moverjob.Outcome{State: moverjob.Wedged, Message: "no image"})), deletion.Fail, kopiurv1.ReasonDeletionFailed, ""},
		"a Job that its deadline ended":                           {world(batch(moverjob.Outcome{State: moverjob.DeadlineKilled})), deletion.Fail, kopiurv1.ReasonDeletionFailed, ""},
		"a failure is recorded once":                              {world(batch(finished(work.CodeLocked, "")), failedBefore("job-1", 1, later)), deletion.Wait, kopiurv1.ReasonDeletionFailed, ""},
		"a later Job of the same name is another one":             {world(batch(finished(work.CodeLocked, "")), failedBefore("job-0", 1, later)), deletion.Fail, kopiurv1.ReasonDeletionFailed, ""},
		"a failure is waited out":                                 {world(failedBefore("job-1", 1, later)), deletion.Wait, kopiurv1.ReasonDeletionFailed, ""},
		"and then it is tried again":                              {world(failedBefore("job-1", 1, later.Add(-2*time.Minute))), deletion.Wait, kopiurv1.ReasonDeletionQueued, ""},
		"a hold is told before a failure":                         {world(open, failedBefore("job-1", 1, later)), deletion.Hold, kopiurv1.ReasonMassDeletionBreaker, ""},
		"a second failure waits longer":                           {world(failedBefore("job-1", 2, later.Add(-3*time.Minute))), deletion.Wait, kopiurv1.ReasonDeletionFailed, ""},
		"a failure from the future does not stop it for ever":     {world(failedBefore("job-1", 1, later.AddDate(1, 0, 0))), deletion.Wait, kopiurv1.ReasonDeletionQueued, ""},
		"a Job whose member is released by hand is not looked at": {world(with(skip), batch(finished(work.CodeOK, "ddd"))), deletion.Release, kopiurv1.ReasonSnapshotOrphaned, deletion.OutcomeOrphaned},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := deletion.Next(tc.w, later, later)
			assert.Equal(t, tc.want, got.Action, "%+v", got)
			assert.Equal(t, tc.wantReason, got.Reason)
			assert.Equal(t, tc.wantOutcome, got.Outcome)
			if got.Action == deletion.Fail {
				assert.NotEmpty(t, got.Failure.KopiaErrorClass)
				assert.NotEmpty(t, got.Failure.Message)
			} else if got.Reason != "" {
				assert.NotEmpty(t, got.Message, "every verdict explains itself")
			}
		})
	}
}

func TestWhatIsRefusedIsStuckAndTriedAgain(t *testing.T) {
	t.Parallel()
	got := deletion.Next(world(batch(finished(work.CodeSnapshotMismatch, "drd"))), noon, noon)
	assert.False(t, got.Failure.RetryRecommended)
	w := world()
	w.Facts.Snapshot.Status.Deletion = deletion.Record(nil, *world(batch(finished(work.CodeOK, ""))).Batch, got.Failure, noon)
	p := deletion.Next(w, noon, noon)
	assert.True(t, p.Stuck)
	assert.Equal(t, 2*time.Minute, p.After)
	assert.Contains(t, p.Message, kopiurv1.AnnotationSkipSnapshotCleanup, "the way out is told")
	second := deletion.Record(w.Facts.Snapshot.Status.Deletion, *world(batch(finished(work.CodeOK, ""))).Batch, got.Failure, noon)
	assert.Equal(t, int32(2), second.Attempts)
}

func TestCounts(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		f    deletion.Facts
		want bool
	}{
		"a deletion that is pending counts":         {facts(), true},
		"one by Kopiur too; the breaker tells them": {facts(prunedBy(kopiurv1.PrunedByRetention)), true},
		"one that its policy may keep counts":       {facts(byDefault(retain)), true},
		"one that a cascade guard may keep counts":  {facts(schedule(deletion.Gone)), true},
		"one whose namespace ends counts":           {facts(namespace(deletion.Gone)), true},
		"one that is not deleted does not":          {facts(func(f *deletion.Facts) { f.Snapshot.DeletionTimestamp = nil }), false},
		"one that does not wait for us does not":    {facts(func(f *deletion.Facts) { f.Snapshot.Finalizers = []string{"others"} }), false},
		"one that says Retain does not":             {facts(says(retain)), false},
		"one that says Orphan does not":             {facts(says(orphan)), false},
		"a discovered row does not":                 {facts(origin(kopiurv1.OriginDiscovered)), false},
		"one with the skip annotation does not":     {facts(skip), false},
		"one that ended without storing anything":   {facts(func(f *deletion.Facts) { f.Snapshot.Status.Snapshot = nil }), false},
		"one whose mover may have stored something does": {facts(func(f *deletion.Facts) {
			f.Snapshot.Status.Snapshot, f.Snapshot.Status.Phase = nil, kopiurv1.SnapshotRunning
		}), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tc.want, deletion.Counts(tc.f.Snapshot))
		})
	}
}

func TestMemberOf(t *testing.T) {
	t.Parallel()
	s := facts(prunedBy(kopiurv1.PrunedByReplacedRun)).Snapshot
	assert.Equal(t, breaker.Member{DeletedAt: noon, Prune: true}, deletion.MemberOf(s))
	s.Annotations, s.Status.Conditions = nil, []metav1.Condition{{Type: kopiurv1.ConditionDeletionHeld, Status: metav1.ConditionTrue}}
	assert.Equal(t, breaker.Member{DeletedAt: noon, Held: true}, deletion.MemberOf(s))
	s.Status.Conditions[0].Status = metav1.ConditionFalse
	assert.False(t, deletion.MemberOf(s).Held, "one that was released does not latch")
}

func candidates(n int, at func(i int) time.Time) []deletion.Candidate {
	out := make([]deletion.Candidate, n)
	for i := range out {
		out[i] = deletion.Candidate{Namespace: "apps", Name: fmt.Sprint("s", i), UID: types.UID(fmt.Sprintf("uid-%04d", i)), DeletedAt: at(i)}
	}
	return out
}

func TestCompose(t *testing.T) {
	t.Parallel()
	same := func(int) time.Time { return noon }
	each := func(d time.Duration) func(int) time.Time {
		return func(i int) time.Time { return noon.Add(time.Duration(i) * d) }
	}
	failed := candidates(2, same)
	failed[0].Attempts, failed[0].FailedAt = 1, noon
	for name, tc := range map[string]struct {
		in       []deletion.Candidate
		now      time.Time
		want     int
		wantWait time.Duration
	}{
		"nobody":                                         {nil, noon, 0, 0},
		"one waits for others":                           {candidates(1, same), noon, 0, 10 * time.Second},
		"until nothing came for ten seconds":             {candidates(3, each(4*time.Second)), noon.Add(15 * time.Second), 0, 3 * time.Second},
		"then all go together":                           {candidates(3, each(4*time.Second)), noon.Add(18 * time.Second), 3, 0},
		"two hundred at most":                            {candidates(1000, same), noon.Add(time.Minute), 200, 0},
		"a full Job waits for the wave's end":            {candidates(1000, same), noon.Add(time.Second), 0, 9 * time.Second},
		"the first does not wait for ever":               {candidates(100, each(5*time.Second)), noon.Add(5 * time.Minute), 100, 0},
		"a clock that is behind waits little":            {candidates(1, same), noon.Add(-time.Hour), 0, 10 * time.Second},
		"one that failed does not hold others up":        {failed, noon.Add(time.Minute), 1, 0},
		"one that failed waits two minutes":              {failed[:1], noon.Add(time.Minute), 0, time.Minute},
		"and is tried again":                             {failed[:1], noon.Add(2 * time.Minute), 1, 0},
		"together with those that were deleted meantime": {failed, noon.Add(2 * time.Minute), 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, wait := deletion.Compose(tc.in, tc.now, tc.now)
			assert.Len(t, got, tc.want)
			assert.Equal(t, tc.wantWait, wait)
		})
	}
}

// The name of the set is the lock: whoever composes from the same facts makes the same Job.
func TestTheSameSetHasTheSameName(t *testing.T) {
	t.Parallel()
	in := candidates(300, func(i int) time.Time { return noon.Add(time.Duration(i%3) * time.Second) })
	first, _ := deletion.Compose(in, noon.Add(time.Minute), noon)
	require.Len(t, first, 200)
	slices.Reverse(in)
	second, _ := deletion.Compose(in, noon.Add(time.Hour), noon)
	assert.Equal(t, first, second, "the oldest first, in a fixed order")
	name := deletion.SetName(first)
	slices.Reverse(second)
	assert.Equal(t, name, deletion.SetName(second))
	assert.NotEqual(t, name, deletion.SetName(first[1:]))
}
