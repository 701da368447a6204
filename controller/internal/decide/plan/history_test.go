// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/decide/plan"
)

// emptied is a volume that a Restore left empty an hour ago.
func emptied(w *plan.World) {
	w.EmptyStart = &plan.EmptyStart{Restore: "data", At: now.Add(-time.Hour)}
}

// answered is the Job that asked, ended so long ago, with this result.
func answered(age time.Duration, r work.Result) func(*plan.World) {
	return func(w *plan.World) {
		emptied(w)
		at := metav1.NewTime(now.Add(-age))
		job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: plan.QuestionName(w.Snapshot), Namespace: "apps", UID: "question", CreationTimestamp: at}}
		kind := batchv1.JobComplete
		if r.Code != work.CodeOK {
			kind = batchv1.JobFailed
		}
		job.Status.Conditions = []batchv1.JobCondition{{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: at}}
		text, err := work.EncodeResult(r)
		if err != nil {
			panic(err)
		}
		pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "question-1"}}
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "mover", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Message: string(text)}}}}
		w.Question = plan.JobPods{Job: job, Pods: []corev1.Pod{pod}}
	}
}

func resolution(r work.Resolution) work.Result {
	out := work.Result{Operation: "resolve", Code: work.CodeOK, Resolve: &work.ResolveResult{Resolution: r}}
	if r == work.ResolutionFound {
		out.Resolve.SnapshotID, out.Resolve.StartTime, out.Resolve.Candidates = "kold", now.AddDate(0, 0, -3), 41
	}
	return out
}

func annotated(value string) func(*plan.World) {
	return func(w *plan.World) {
		w.Policy.Annotations = map[string]string{kopiurv1.AnnotationAcknowledgeEmptyStart: value}
	}
}

// K-1: after a start from nothing, the first backup waits until the repository has said that there is nothing still.
func TestHistoryK1(t *testing.T) {
	t.Parallel()
	down := work.Result{Operation: "resolve", Code: work.CodeRepositoryUnavailable, Message: "no route"}
	found := answered(time.Minute, resolution(work.ResolutionFound))
	for name, tc := range map[string]struct {
		world  plan.World
		action plan.Action
		reason string
	}{
		"no Restore has left the volume empty":                       {world(), plan.Start, ""},
		"the repository is asked first":                              {world(emptied), plan.Inquire, kopiurv1.ReasonResolving},
		"it has nothing still":                                       {world(answered(time.Minute, resolution(work.ResolutionAbsent))), plan.Start, ""},
		"it has older snapshots":                                     {world(found), plan.Wait, kopiurv1.ReasonOlderHistoryFound},
		"it does not know":                                           {world(answered(time.Second, resolution(work.ResolutionUnknown))), plan.Wait, kopiurv1.ReasonResolutionUnknown},
		"it did not answer":                                          {world(answered(time.Second, down)), plan.Wait, kopiurv1.ReasonResolutionUnknown},
		"it did not answer, and is asked again after a while":        {world(answered(time.Minute, down)), plan.Inquire, kopiurv1.ReasonResolutionUnknown},
		"somebody has said that it is meant":                         {world(found, annotated(now.Format(time.RFC3339))), plan.Start, ""},
		"somebody has said so before the empty start":                {world(found, annotated(now.Add(-2*time.Hour).Format(time.RFC3339))), plan.Wait, kopiurv1.ReasonOlderHistoryFound},
		"somebody has said so for the future":                        {world(found, annotated(now.Add(time.Hour).Format(time.RFC3339))), plan.Wait, kopiurv1.ReasonOlderHistoryFound},
		"somebody has said something that is no time":                {world(found, annotated("yes")), plan.Wait, kopiurv1.ReasonInvalidSpec},
		"a repository that is not ready is waited for before asking": {world(emptied, func(w *plan.World) { w.Repository.Status.Phase = kopiurv1.RepositoryDegraded }), plan.Wait, kopiurv1.ReasonRepositoryNotReady},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := plan.Decide(tc.world, now)
			require.Zero(t, p.Ask)
			assert.Equal(t, tc.action, p.Action, "%s: %s", p.Reason, p.Message)
			assert.Equal(t, tc.reason, p.Reason, p.Message)
			conflict := conditionOf(p, kopiurv1.ConditionHistoryConflict)
			assert.Equal(t, tc.reason == kopiurv1.ReasonOlderHistoryFound, conflict.Status == metav1.ConditionTrue)
		})
	}

	p := plan.Decide(world(found), now)
	assert.Equal(t, "Restore data found no snapshot and left the volume empty, and Repository apps/nas has 41 of web@apps:/pvc/data, "+
		"with an older one of 2026-03-02T02:00:00Z among them. Nothing is stored beside them until you decide: restore one, or annotate "+
		"SnapshotPolicy web with kopiur.home-operations.com/acknowledge-empty-start=<the present time>", p.Message)
	q := plan.Decide(world(emptied), now).Job
	require.NotNil(t, q)
	spec, err := work.DecodeSpec(q.Spec.Template.Spec.Containers[0].Env[0].Value)
	require.NoError(t, err)
	assert.Equal(t, &work.Resolve{Identity: work.Identity{Username: "web", Hostname: "apps", Path: "/pvc/data"}, AsOf: new(now.Add(-time.Hour))}, spec.Operation.Resolve)
	assert.Equal(t, plan.QuestionName(world().Snapshot), q.Name)

	held := world(emptied)
	held.Snapshot.Status.Conditions = []metav1.Condition{{Type: kopiurv1.ConditionHistoryConflict, Status: metav1.ConditionTrue, Reason: kopiurv1.ReasonOlderHistoryFound, Message: "as before"}}
	again := plan.Decide(held, now)
	assert.Equal(t, plan.Inquire, again.Action, "the Job went with its time")
	assert.Equal(t, "as before", again.Message, "and until it answers, the hold stands")
}

// K-1: which backup is the first after an empty start.
func TestEmptyStartOf(t *testing.T) {
	t.Parallel()
	at := now.Add(-time.Hour).Truncate(time.Second)
	id := kopiurv1.Identity{Username: "web", Hostname: "apps", SourcePath: "/pvc/data"}
	restore := func(change ...func(*kopiurv1.RestoreResolved)) []kopiurv1.Restore {
		r := kopiurv1.Restore{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "data"}}
		r.Status.Resolved = &kopiurv1.RestoreResolved{
			Resolution: kopiurv1.ResolutionNoSnapshot, Identity: &id, Repository: &kopiurv1.RepositoryRef{Name: "nas"}, PinnedAt: at.Format(time.RFC3339),
		}
		for _, f := range change {
			f(r.Status.Resolved)
		}
		return []kopiurv1.Restore{r}
	}
	populated := func(list []kopiurv1.Restore) []kopiurv1.Restore {
		s := &list[0].Status
		s.Claims, s.Resolved = map[string]kopiurv1.RestoreClaim{"other": {}, "data": {Resolved: s.Resolved}}, nil
		return list
	}
	stored := kopiurv1.Snapshot{Status: kopiurv1.SnapshotStatus{Phase: kopiurv1.SnapshotFailed, Snapshot: &kopiurv1.StoredSnapshot{Identity: id}}}
	for name, tc := range map[string]struct {
		world     plan.World
		restores  []kopiurv1.Restore
		snapshots []kopiurv1.Snapshot
		want      *plan.EmptyStart
	}{
		"no Restore":                                    {world(), nil, nil, nil},
		"a Restore that found nothing":                  {world(), restore(), nil, &plan.EmptyStart{Restore: "data", At: at}},
		"a populator that gave a claim an empty volume": {world(), populated(restore()), nil, &plan.EmptyStart{Restore: "data", At: at}},
		"one that is not decided yet":                   {world(), []kopiurv1.Restore{{}}, nil, nil},
		"one that found something":                      {world(), restore(func(r *kopiurv1.RestoreResolved) { r.Resolution = kopiurv1.ResolutionSnapshot }), nil, nil},
		"one of another identity":                       {world(), restore(func(r *kopiurv1.RestoreResolved) { r.Identity = &kopiurv1.Identity{Username: "db"} }), nil, nil},
		"one from another repository":                   {world(), restore(func(r *kopiurv1.RestoreResolved) { r.Repository.Name = "offsite" }), nil, nil},
		"something was stored since":                    {world(), restore(), []kopiurv1.Snapshot{stored}, nil},
		"the policy remembers that it was":              {world(func(w *plan.World) { w.History.Latest = &id }), restore(), nil, nil},
		"something was stored for another":              {world(), restore(), []kopiurv1.Snapshot{{Status: kopiurv1.SnapshotStatus{Snapshot: &kopiurv1.StoredSnapshot{}}}}, &plan.EmptyStart{Restore: "data", At: at}},
		"a Snapshot that has stored nothing":            {world(), restore(), []kopiurv1.Snapshot{{}}, &plan.EmptyStart{Restore: "data", At: at}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := plan.EmptyStartOf(tc.world, tc.restores, tc.snapshots)
			if tc.want == nil {
				assert.Nil(t, got)
				return
			}
			require.NotNil(t, got)
			assert.Equal(t, tc.want.Restore, got.Restore)
			assert.True(t, tc.want.At.Equal(got.At))
		})
	}
}
