// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package moverjob_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

var now = time.Date(2026, 3, 5, 9, 0, 0, 0, time.UTC)

func job(conds ...batchv1.JobCondition) *batchv1.Job {
	j := &batchv1.Job{}
	j.Name, j.CreationTimestamp = "s-x", metav1.NewTime(now.Add(-time.Minute))
	j.Status.Conditions = conds
	return j
}

func cond(t batchv1.JobConditionType, reason string) batchv1.JobCondition {
	return batchv1.JobCondition{Type: t, Status: corev1.ConditionTrue, Reason: reason, Message: "the Job's words"}
}

func pod(name string, age time.Duration, state corev1.ContainerState) corev1.Pod {
	p := corev1.Pod{}
	p.Name, p.CreationTimestamp = name, metav1.NewTime(now.Add(-age))
	p.Status.Phase = corev1.PodPending
	switch {
	case state.Running != nil:
		p.Status.Phase = corev1.PodRunning
	case state.Terminated != nil && state.Terminated.ExitCode == 0:
		p.Status.Phase = corev1.PodSucceeded
	case state.Terminated != nil:
		p.Status.Phase = corev1.PodFailed
	}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: moverjob.Container, State: state}}
	return p
}

func ended(t *testing.T, code work.Code) corev1.ContainerState {
	t.Helper()
	b, err := work.EncodeResult(work.Result{Operation: "snapshot", Code: code, Message: "words"})
	require.NoError(t, err)
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: int32(code.ExitCode()), Message: string(b)}}
}

func TestDecide(t *testing.T) {
	t.Parallel()
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	killed := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled"}}
	waiting := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "no such image"}}
	leaving := pod("p", 20*time.Minute, running)
	leaving.DeletionTimestamp = new(metav1.NewTime(now.Add(-time.Minute)))
	hanging := pod("p", 60*time.Minute, running)
	hanging.DeletionTimestamp = new(metav1.NewTime(now.Add(-11 * time.Minute)))
	young := job()
	suspended := job()
	suspended.Spec.Suspend = new(true)
	resumed := job(cond(batchv1.JobSuspended, ""))
	resumed.CreationTimestamp, resumed.Status.StartTime = metav1.NewTime(now.Add(-72*time.Hour)), nil
	for name, tc := range map[string]struct {
		job       *batchv1.Job
		pods      []corev1.Pod
		wantState moverjob.State
		wantCode  work.Code
		wantWords string
	}{
		"no Job is absent":                                      {nil, nil, moverjob.Absent, "", ""},
		"a new Job without a pod is waited for":                 {young, nil, moverjob.Waiting, "", "no pod was created"},
		"a suspended Job is waited for without a deadline":      {suspended, nil, moverjob.Waiting, "", "suspended"},
		"and so is one that was let go after days":              {resumed, nil, moverjob.Waiting, "", "about to start"},
		"a running mover runs":                                  {job(), []corev1.Pod{pod("p", time.Minute, running)}, moverjob.Running, "", ""},
		"a success is final before the Job closes":              {job(), []corev1.Pod{pod("p", time.Minute, ended(t, work.CodeOK))}, moverjob.Finished, work.CodeOK, ""},
		"a permanent failure is final before the Job closes":    {job(), []corev1.Pod{pod("p", time.Minute, ended(t, work.CodeAuthFailure))}, moverjob.Finished, work.CodeAuthFailure, ""},
		"a retryable failure is the Job's to retry":             {job(), []corev1.Pod{pod("p", time.Minute, ended(t, work.CodeRepositoryUnavailable))}, moverjob.Waiting, "", "RepositoryUnavailable"},
		"and final when the Job gives up":                       {job(cond(batchv1.JobFailureTarget, batchv1.JobReasonBackoffLimitExceeded)), []corev1.Pod{pod("p", time.Minute, ended(t, work.CodeRepositoryUnavailable))}, moverjob.Finished, work.CodeRepositoryUnavailable, ""},
		"a retry that runs is what counts":                      {job(), []corev1.Pod{pod("a", 2*time.Minute, ended(t, work.CodeRepositoryUnavailable)), pod("b", time.Minute, running)}, moverjob.Running, "", ""},
		"a kill without a result is retried":                    {job(), []corev1.Pod{pod("p", time.Minute, killed)}, moverjob.Waiting, "", "OOMKilled"},
		"and lost when the Job gives up":                        {job(cond(batchv1.JobFailed, batchv1.JobReasonBackoffLimitExceeded)), []corev1.Pod{pod("p", time.Minute, killed)}, moverjob.Finished, work.CodeLost, "memory"},
		"a complete Job whose pod is gone lost its result":      {job(cond(batchv1.JobComplete, "")), nil, moverjob.ResultLost, "", "result"},
		"a failed Job whose pod is gone has the Job's words":    {job(cond(batchv1.JobFailed, "PodFailurePolicy")), nil, moverjob.Finished, work.CodeLost, "the Job's words"},
		"the last deadline has a name of its own":               {job(cond(batchv1.JobFailed, batchv1.JobReasonDeadlineExceeded)), nil, moverjob.DeadlineKilled, "", "deadline"},
		"a result that made it out before the deadline counts":  {job(cond(batchv1.JobFailed, batchv1.JobReasonDeadlineExceeded)), []corev1.Pod{pod("p", time.Minute, ended(t, work.CodeOK))}, moverjob.Finished, work.CodeOK, ""},
		"a pod that cannot start says why":                      {job(), []corev1.Pod{pod("p", time.Minute, waiting)}, moverjob.Waiting, "", "ImagePullBackOff"},
		"and is wedged after the startup deadline":              {job(), []corev1.Pod{pod("p", 5*time.Minute, waiting)}, moverjob.Wedged, "", "ImagePullBackOff"},
		"a pod that is being deleted is waited for":             {job(), []corev1.Pod{leaving}, moverjob.Waiting, "", "being deleted"},
		"a pod that never ends is on a lost node":               {job(), []corev1.Pod{hanging}, moverjob.NodeLost, "", "should have ended at " + now.Add(-11*time.Minute).UTC().Format(time.RFC3339)},
		"a success in an older pod beats a retryable newer one": {job(), []corev1.Pod{pod("a", 2*time.Minute, ended(t, work.CodeOK)), pod("b", time.Minute, ended(t, work.CodeCanceled))}, moverjob.Finished, work.CodeOK, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := moverjob.Decide(tc.job, tc.pods, 5*time.Minute, now)
			assert.Equal(t, tc.wantState, got.State)
			if tc.wantCode == "" {
				assert.Nil(t, got.Result)
				assert.Contains(t, got.Message, tc.wantWords)
				return
			}
			require.NotNil(t, got.Result)
			assert.Equal(t, tc.wantCode, got.Result.Code)
			assert.Contains(t, got.Result.Message, tc.wantWords)
		})
	}
}

func TestDecideNamesTheNextDeadline(t *testing.T) {
	t.Parallel()
	got := moverjob.Decide(job(), nil, 5*time.Minute, now)
	assert.Equal(t, 4*time.Minute, got.Recheck, "without it nothing would look again when no event comes")
	assert.False(t, got.Terminal)
	assert.True(t, moverjob.Decide(job(cond(batchv1.JobFailed, "")), nil, 0, now).Terminal)
	assert.False(t, moverjob.Decide(job(cond(batchv1.JobFailureTarget, "")), nil, 0, now).Terminal, "pods may still use the volumes")
}

// TestAStartingPodIsNoNews: the first steps of a pod are told as one, until it takes long or says what is wrong.
func TestAStartingPodIsNoNews(t *testing.T) {
	t.Parallel()
	young := func(age time.Duration) *batchv1.Job {
		j := job()
		j.CreationTimestamp = metav1.NewTime(now.Add(-age))
		return j
	}
	creating := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}
	stuck := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}
	for name, tc := range map[string]struct {
		job         *batchv1.Job
		pods        []corev1.Pod
		startup     time.Duration
		want        bool
		wantRecheck time.Duration
	}{
		"no pod yet":                           {young(10 * time.Second), nil, 5 * time.Minute, true, 20 * time.Second},
		"a pod that is being made":             {young(10 * time.Second), []corev1.Pod{pod("p", 5*time.Second, creating)}, 5 * time.Minute, true, 25 * time.Second},
		"no pod for a while":                   {young(30 * time.Second), nil, 5 * time.Minute, false, 270 * time.Second},
		"a pod that says what is wrong":        {young(10 * time.Second), []corev1.Pod{pod("p", 5*time.Second, stuck)}, 5 * time.Minute, false, 295 * time.Second},
		"a deadline that is nearer than that":  {young(2 * time.Second), nil, 5 * time.Second, true, 3 * time.Second},
		"and a pod that is late even for that": {young(5 * time.Second), nil, 5 * time.Second, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := moverjob.Decide(tc.job, tc.pods, tc.startup, now)
			assert.Equal(t, tc.want, got.Starting)
			assert.Equal(t, tc.wantRecheck, got.Recheck)
			assert.NotEmpty(t, got.Message, "whoever wants to tell can")
		})
	}
}

func TestParseTail(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 5, 8, 0, 0, 0, time.UTC)
	var b []byte
	for range 100 {
		line, err := work.EncodeEvent(work.Event{Type: work.EventLog, Time: at, Level: "info", Message: strings.Repeat("é", 60)})
		require.NoError(t, err)
		b = append(b, line...)
	}
	for n := range int64(3) {
		line, err := work.EncodeEvent(work.Event{Type: work.EventProgress, Time: at, Progress: &work.Progress{BytesProcessed: n}})
		require.NoError(t, err)
		b = append(b, line...)
	}
	b = append(b, "panic: boom\n\ngoroutine 1"...)
	got := moverjob.ParseTail(b)
	assert.Equal(t, int64(2), got.Progress.BytesProcessed, "the newest counts")
	assert.LessOrEqual(t, len(got.Text), 4<<10)
	assert.LessOrEqual(t, strings.Count(got.Text, "\n"), 50)
	assert.Contains(t, got.Text, "panic: boom")
	assert.Nil(t, moverjob.ParseTail(nil).StatusProgress())
}
