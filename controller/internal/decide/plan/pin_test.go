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
	"github.com/kopiur/kopiur/controller/internal/gates"
)

// kept is a Snapshot whose data is stored as k1.
func kept(w *plan.World) {
	recorded(kopiurv1.SnapshotSucceeded)(w)
	st := &w.Snapshot.Status
	st.Snapshot = &kopiurv1.StoredSnapshot{KopiaSnapshotID: "k1", Identity: kopiurv1.Identity{Username: "web", Hostname: "apps", SourcePath: "/pvc/data"}}
	st.Timing = &kopiurv1.Timing{StartTime: "2026-03-05T01:00:00Z", EndTime: "2026-03-05T01:10:00Z"}
}

func wanted(w *plan.World) { w.Snapshot.Spec.Pin = true }

func isPinned(w *plan.World) { w.Snapshot.Status.Pinned = new(true) }

// pinJob is one whose mover has ended with this result, or works where it is nil.
func pinJob(target string, r *work.Result) func(*plan.World) {
	return func(w *plan.World) {
		j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "pin", CreationTimestamp: metav1.NewTime(now), Annotations: map[string]string{kopiurv1.AnnotationPinTarget: target}}}
		pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p-1", CreationTimestamp: metav1.NewTime(now)}}
		pod.Status.Phase = corev1.PodRunning
		state := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
		if r != nil {
			text, _ := work.EncodeResult(*r)
			state = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: int32(r.Code.ExitCode()), Message: string(text)}}
			pod.Status.Phase = corev1.PodSucceeded
		}
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "mover", State: state}}
		w.PinJobs = []plan.JobPods{{Job: j, Pods: []corev1.Pod{pod}}}
	}
}

// lost is a Job that has ended and whose pods are gone.
func lost(w *plan.World) {
	j := &w.PinJobs[0]
	j.Pods = nil
	j.Job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
}

func did(id string, pinned bool) *work.Result {
	return &work.Result{Operation: "pin", Code: work.CodeOK, Pin: &work.PinResult{SnapshotID: id, Pinned: pinned, Changed: true}}
}

// K-3, J-4, J-5: one pin Job at a time, its answer recorded with the new id, then consumed.
func TestPinK3J4J5(t *testing.T) {
	t.Parallel()
	refused := func(age time.Duration) func(*plan.World) {
		return func(w *plan.World) {
			w.Snapshot.Status.Conditions = []metav1.Condition{{Type: kopiurv1.ConditionPinned, Status: metav1.ConditionFalse, Reason: kopiurv1.ReasonPinJobFailed, LastTransitionTime: metav1.NewTime(now.Add(-age))}}
		}
	}
	for name, tc := range map[string]struct {
		w      plan.World
		action plan.Action
		reason string
	}{
		"nothing is wanted, nothing is done":                     {world(kept), plan.Rest, ""},
		"pinned as wanted":                                       {world(kept, wanted, isPinned), plan.Rest, ""},
		"wanted: a Job is made":                                  {world(kept, wanted), plan.PinStart, kopiurv1.ReasonPinJobRunning},
		"not wanted any more":                                    {world(kept, isPinned), plan.PinStart, kopiurv1.ReasonPinJobRunning},
		"a failed run has nothing to pin":                        {world(kept, wanted, recorded(kopiurv1.SnapshotFailed)), plan.Rest, ""},
		"a Job works":                                            {world(kept, wanted, pinJob("true", nil)), plan.PinWait, kopiurv1.ReasonPinJobRunning},
		"a toggle waits for the Job before it":                   {world(kept, pinJob("true", nil)), plan.PinWait, kopiurv1.ReasonPinJobRunning},
		"its answer is recorded":                                 {world(kept, wanted, pinJob("true", did("k2", true))), plan.PinRecord, kopiurv1.ReasonPinned},
		"also where it is not wanted any more":                   {world(kept, pinJob("true", did("k2", true))), plan.PinRecord, kopiurv1.ReasonPinned},
		"an answer that was recorded is consumed":                {world(kept, wanted, isPinned, pinJob("true", did("k1", true))), plan.Reap, ""},
		"nor is one lost whose pods went first":                  {world(kept, wanted, isPinned, pinJob("true", nil), lost), plan.Reap, ""},
		"one that was lost before it was recorded is a failure":  {world(kept, wanted, pinJob("true", nil), lost), plan.PinFail, kopiurv1.ReasonPinJobFailed},
		"it is no answer to the next toggle":                     {world(kept, isPinned, pinJob("true", did("k1", true))), plan.Reap, ""},
		"an unpinning is recorded":                               {world(kept, isPinned, pinJob("false", did("k3", false))), plan.PinRecord, kopiurv1.ReasonUnpinned},
		"a failure is told, and its Job goes":                    {world(kept, wanted, pinJob("true", &work.Result{Operation: "pin", Code: work.CodeNotFound, Message: "no such snapshot"})), plan.PinFail, kopiurv1.ReasonPinJobFailed},
		"a success that names nothing is a failure":              {world(kept, wanted, pinJob("true", &work.Result{Operation: "pin", Code: work.CodeOK})), plan.PinFail, kopiurv1.ReasonPinJobFailed},
		"it is left alone for a while":                           {world(kept, wanted, refused(9*time.Minute)), plan.PinWait, kopiurv1.ReasonPinJobFailed},
		"and tried again":                                        {world(kept, wanted, refused(10*time.Minute)), plan.PinStart, kopiurv1.ReasonPinJobRunning},
		"a repository that is not Ready is waited for":           {world(kept, wanted, func(w *plan.World) { w.Repository.Status.Phase = kopiurv1.RepositoryDegraded }), plan.PinWait, kopiurv1.ReasonRepositoryNotReady},
		"one that is gone too":                                   {world(kept, wanted, func(w *plan.World) { w.Repository = nil }), plan.PinWait, kopiurv1.ReasonMissingDependency},
		"one that is read-only too":                              {world(kept, wanted, func(w *plan.World) { w.Repository.Spec.Mode = kopiurv1.ModeReadOnly }), plan.PinWait, kopiurv1.ReasonRepositoryReadOnly},
		"a missing Secret too":                                   {world(kept, wanted, func(w *plan.World) { w.Credentials = gates.Verdict{Reason: kopiurv1.ReasonMissingCredentialsSecret} }), plan.PinWait, kopiurv1.ReasonMissingCredentialsSecret},
		"the policy need not exist any more":                     {world(kept, wanted, func(w *plan.World) { w.Policy = nil }), plan.PinStart, kopiurv1.ReasonPinJobRunning},
		"the privileges of the policy's mover are not asked for": {world(kept, wanted, func(w *plan.World) { w.Policy.Spec.Mover = &kopiurv1.MoverSpec{PrivilegedMode: new(true)} }), plan.PinStart, kopiurv1.ReasonPinJobRunning},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := plan.Decide(tc.w, now)
			require.Zero(t, p.Ask)
			assert.Equal(t, tc.action, p.Action)
			if tc.reason == "" {
				assert.Empty(t, p.Conditions)
				return
			}
			require.Len(t, p.Conditions, 1)
			assert.Equal(t, kopiurv1.ConditionPinned, p.Conditions[0].Type)
			assert.Equal(t, tc.reason, p.Conditions[0].Reason)
			assert.Empty(t, p.Phase, "a finished Snapshot keeps its phase")
		})
	}
}

// J-5: the Job of a toggle has a name that no other toggle of the Snapshot has.
func TestPinJobsHaveNamesOfTheirOwnJ5(t *testing.T) {
	t.Parallel()
	first := plan.Decide(world(kept, wanted), now).Job
	second := plan.Decide(world(kept, isPinned, func(w *plan.World) { w.Snapshot.Status.Snapshot.KopiaSnapshotID = "k2" }), now).Job
	third := plan.Decide(world(kept, wanted, func(w *plan.World) { w.Snapshot.Status.Snapshot.KopiaSnapshotID = "k3" }), now).Job
	assert.NotEqual(t, first.Name, second.Name)
	assert.NotEqual(t, first.Name, third.Name)
	assert.Equal(t, "true", first.Annotations[kopiurv1.AnnotationPinTarget])
	assert.Equal(t, first.Name, plan.Decide(world(kept, wanted), now).Job.Name, "the same toggle after a crash is the same Job")
}
