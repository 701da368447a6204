// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kopiur/kopiur/apis/session"
	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	decide "github.com/kopiur/kopiur/controller/internal/decide/session"
	"github.com/kopiur/kopiur/controller/internal/gates"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

var (
	now = time.Date(2026, 3, 5, 9, 0, 0, 0, time.UTC)
	nas = kopiurv1.RepositoryRef{Kind: kopiurv1.KindRepository, Namespace: "apps", Name: "nas"}
)

type option func(*decide.World)

// given is a session that was asked for a minute ago, in front of open gates.
func given(opts ...option) decide.World {
	request := session.Request{Repository: nas, TTL: 15 * time.Minute}
	cm := request.ConfigMap("web")
	cm.UID, cm.CreationTimestamp = "0011", metav1.NewTime(now.Add(-time.Minute))
	w := decide.World{
		ConfigMap: cm, Request: request, Image: moverjob.Images{Mover: "mover"},
		Repository: &moverjob.Repository{
			Ref: nas, UID: "2233", HomeNamespace: "apps",
			Spec: kopiurv1.RepositorySpec{
				Backend:    kopiurv1.Backend{S3: &kopiurv1.S3Backend{Bucket: "backups"}},
				Encryption: kopiurv1.Encryption{PasswordSecretRef: kopiurv1.SecretKeyRef{Name: "password"}},
			},
			Status: kopiurv1.RepositoryStatus{Phase: kopiurv1.RepositoryReady, UniqueID: "4455"},
		},
		Credentials: gates.Credentials{Verdict: gates.Verdict{Open: true}}, Volume: gates.Verdict{Open: true},
		Outcome: moverjob.Outcome{State: moverjob.Absent, Terminal: true},
	}
	for _, o := range opts {
		o(&w)
	}
	return w
}

func aged(d time.Duration) option {
	return func(w *decide.World) { w.ConfigMap.CreationTimestamp = metav1.NewTime(now.Add(-d)) }
}

// answered is what the controller wrote some time ago.
func answered(state session.State, ago time.Duration) option {
	return func(w *decide.World) {
		w.ConfigMap.Annotations = map[string]string{}
		a := session.Answer{State: state, Reason: "Because", Message: "because", Since: now.Add(-ago)}
		for k, v := range a.Annotations() {
			if v != nil {
				w.ConfigMap.Annotations[k] = *v
			}
		}
	}
}

// has a Job that amounts to this.
func has(o moverjob.Outcome) option {
	return func(w *decide.World) { w.Job, w.Outcome = &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "job"}}, o }
}

func finished(code work.Code, message string) option {
	return has(moverjob.Outcome{State: moverjob.Finished, Terminal: true, Result: &work.Result{Code: code, Message: message}})
}

func closed(reason string) gates.Verdict { return gates.Verdict{Reason: reason, Message: "because"} }

func TestDecide(t *testing.T) {
	t.Parallel()
	shared := func(allowed ...string) option {
		return func(w *decide.World) { w.Repository.Allowed = &kopiurv1.AllowedNamespaces{List: allowed} }
	}
	phase := func(p kopiurv1.RepositoryPhase, reason string) option {
		return func(w *decide.World) {
			w.Repository.Status.Phase = p
			w.Repository.Status.Conditions = []metav1.Condition{{Type: kopiurv1.ConditionReady, Status: metav1.ConditionFalse, Reason: reason}}
		}
	}
	rooted := func(w *decide.World) {
		w.Repository.Spec.MoverDefaults = &kopiurv1.MoverDefaults{SecurityContext: &corev1.SecurityContext{RunAsUser: new(int64(0))}}
	}
	for name, tc := range map[string]struct {
		in     decide.World
		state  session.State
		reason string
		says   string
		starts bool
		over   bool
		reaps  bool
		after  time.Duration
	}{
		"with open gates its Job is made": {
			given(), session.Starting, kopiurv1.ReasonMoverStarting, "pod starts", true, false, false, moverjob.DefaultStartupDeadline,
		},
		"a repository that is slow can be looked into": {
			given(phase(kopiurv1.RepositoryDegraded, kopiurv1.ReasonProbeDeadlineExceeded)), session.Starting, kopiurv1.ReasonMoverStarting, "", true, false, false, moverjob.DefaultStartupDeadline,
		},
		"a repository that is out of reach is said to be so": {
			given(phase(kopiurv1.RepositoryDegraded, kopiurv1.ReasonBackendUnreachable)), session.Refused, kopiurv1.ReasonRepositoryNotReady, "Repository apps/nas is Degraded", false, false, false, session.Kept,
		},
		"a suspended repository is not connected to": {
			given(func(w *decide.World) { w.Repository.Spec.Suspend = true }), session.Refused, kopiurv1.ReasonRepositoryNotReady, "is suspended", false, false, false, session.Kept,
		},
		"a repository that does not exist": {
			given(func(w *decide.World) { w.Repository = nil }), session.Refused, kopiurv1.ReasonMissingDependency, "Repository apps/nas does not exist", false, false, false, session.Kept,
		},
		"a read-only repository is read": {
			given(func(w *decide.World) { w.Repository.Spec.Mode = kopiurv1.ModeReadOnly }), session.Starting, kopiurv1.ReasonMoverStarting, "", true, false, false, moverjob.DefaultStartupDeadline,
		},
		"a shared repository that allows the namespace": {
			given(shared("web")), session.Starting, kopiurv1.ReasonMoverStarting, "", true, false, false, moverjob.DefaultStartupDeadline,
		},
		"a shared repository that does not": {
			given(shared("db")), session.Refused, kopiurv1.ReasonNamespaceNotAllowed, "spec.allowedNamespaces", false, false, false, session.Kept,
		},
		"its volume is not here": {
			given(func(w *decide.World) { w.Volume = closed("NoVolume") }), session.Refused, "NoVolume", "because", false, false, false, session.Kept,
		},
		"its Secrets are not here": {
			given(func(w *decide.World) { w.Credentials.Verdict = closed("NoSecret") }), session.Refused, "NoSecret", "because", false, false, false, session.Kept,
		},
		"the namespace has not consented to root": {
			given(rooted), session.Refused, kopiurv1.ReasonPrivilegedMoverNotPermitted, kopiurv1.AnnotationPrivilegedMovers, false, false, false, session.Kept,
		},
		"the namespace has consented": {
			given(rooted, func(w *decide.World) {
				w.NamespaceAnnotations = map[string]string{kopiurv1.AnnotationPrivilegedMovers: "true"}
			}), session.Starting, kopiurv1.ReasonMoverStarting, "", true, false, false, moverjob.DefaultStartupDeadline,
		},
		"a ConfigMap that nobody understands": {
			given(func(w *decide.World) { w.Refusal = "no question" }), session.Refused, kopiurv1.ReasonInvalidSpec, "no question", false, false, false, session.Kept,
		},
		"a mover that cannot be made": {
			given(func(w *decide.World) {
				w.Image.Mover, w.Repository.Spec.Backend = "mover@sha256:00", kopiurv1.Backend{Rclone: &kopiurv1.RcloneBackend{}}
			}), session.Refused, kopiurv1.ReasonInvalidSpec, "rclone", false, false, false, session.Kept,
		},
		"a pod that starts": {
			given(answered(session.Starting, 0), has(moverjob.Outcome{State: moverjob.Waiting, Starting: true, Message: "pod x is starting", Recheck: 20 * time.Second})),
			session.Starting, kopiurv1.ReasonMoverStarting, "the mover's pod starts", false, false, false, 20 * time.Second,
		},
		"a pod that has a reason not to": {
			given(answered(session.Starting, 0), has(moverjob.Outcome{State: moverjob.Waiting, Message: "pod x: ImagePullBackOff"})),
			session.Starting, kopiurv1.ReasonMoverStarting, "ImagePullBackOff", false, false, false, 0,
		},
		"a Job of a controller that was killed behind it": {
			given(has(moverjob.Outcome{State: moverjob.Waiting, Starting: true, Recheck: time.Second})), session.Starting, kopiurv1.ReasonMoverStarting, "", false, false, false, time.Second,
		},
		"a pod that runs": {
			given(answered(session.Starting, 0), has(moverjob.Outcome{State: moverjob.Running, PodName: "p"})),
			session.Open, kopiurv1.ReasonSessionOpen, "closed when none comes for 15m0s", false, false, false, session.MaxAge - time.Minute,
		},
		"a pod that never came": {
			given(answered(session.Starting, 0), has(moverjob.Outcome{State: moverjob.Wedged, Message: "Unschedulable"})),
			session.Failed, kopiurv1.ReasonMoverPodWedged, "Unschedulable", false, false, true, session.Kept,
		},
		"a pod whose node is lost": {
			given(answered(session.Open, time.Hour), has(moverjob.Outcome{State: moverjob.NodeLost, Message: "the node"})),
			session.Failed, kopiurv1.ReasonNodeLost, "the node", false, false, true, session.Kept,
		},
		"a mover that could not open the repository": {
			given(answered(session.Starting, 0), finished(work.CodeAuthFailure, "wrong password")),
			session.Failed, kopiurv1.ReasonSessionFailed, "AuthFailure: wrong password", false, false, false, session.Kept,
		},
		"a mover that has ended as it should": {given(answered(session.Open, 0), finished(work.CodeOK, "")), session.Open, "Because", "nobody asked", false, true, true, 0},
		"a mover whose result is lost":        {given(answered(session.Open, 0), has(moverjob.Outcome{State: moverjob.ResultLost, Message: "gone"})), session.Open, "Because", "gone", false, true, true, 0},
		"a Job that reached its deadline":     {given(answered(session.Open, 0), has(moverjob.Outcome{State: moverjob.DeadlineKilled, Message: "deadline"})), session.Open, "Because", "deadline", false, true, true, 0},
		"a Job that was deleted":              {given(answered(session.Open, 0)), session.Open, "Because", "its Job was deleted", false, true, false, 0},
		"a Job that was deleted early":        {given(answered(session.Starting, 0)), session.Starting, "Because", "its Job was deleted", false, true, false, 0},
		"the age at which all end": {
			given(aged(session.MaxAge), answered(session.Open, time.Hour), has(moverjob.Outcome{State: moverjob.Running, PodName: "p"})), session.Open, "Because", "8h0m0s old", false, true, true, 0,
		},
		"one that was asked for while no controller ran": {given(aged(session.MaxAge)), session.Unseen, "", "8h0m0s old", false, true, false, 0},
		"one that was refused can be read about":         {given(answered(session.Refused, 4*time.Minute)), session.Refused, "Because", "because", false, false, false, 6 * time.Minute},
		"and not for ever":                               {given(answered(session.Refused, session.Kept)), session.Refused, "Because", "refused", false, true, false, 0},
		"one that was refused in the future is odd":      {given(answered(session.Refused, -time.Hour)), session.Refused, "Because", "refused", false, true, false, 0},
		"what has failed stays for its log": {
			given(answered(session.Failed, time.Minute), finished(work.CodeAuthFailure, "x")), session.Failed, "Because", "because", false, false, false, 9 * time.Minute,
		},
		"unless its pod could still come to life": {
			given(answered(session.Failed, time.Minute), has(moverjob.Outcome{State: moverjob.Wedged})), session.Failed, "Because", "because", false, false, true, 9 * time.Minute,
		},
		"a failure goes with its Job": {given(answered(session.Failed, session.Kept), finished(work.CodeAuthFailure, "x")), session.Failed, "Because", "a failure", false, true, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := decide.Decide(tc.in, now)
			assert.Equal(t, tc.state, got.Answer.State)
			assert.Equal(t, tc.reason, got.Answer.Reason)
			if tc.over {
				assert.Contains(t, got.Words, tc.says)
			} else {
				assert.Contains(t, got.Answer.Message, tc.says)
				assert.NotZero(t, got.Answer.Since)
			}
			assert.Equal(t, tc.starts, got.Job != nil)
			assert.Equal(t, tc.over, got.Over)
			assert.Equal(t, tc.reaps, got.Reap != nil)
			assert.Equal(t, tc.after, got.After)
			assert.Equal(t, got, decide.Decide(tc.in, now), "deciding twice is deciding once")
		})
	}
}

// A state keeps the time it began at; another one begins now.
func TestSince(t *testing.T) {
	t.Parallel()
	running := moverjob.Outcome{State: moverjob.Running, PodName: "p"}
	assert.Equal(t, now, decide.Decide(given(answered(session.Starting, time.Minute), has(running)), now).Answer.Since)
	assert.Equal(t, now.Add(-time.Hour), decide.Decide(given(answered(session.Open, time.Hour), has(running)), now).Answer.Since)
	assert.Equal(t, "p", decide.Decide(given(has(running)), now).Answer.Pod)
}

// The Job reads and nothing else, belongs to the ConfigMap, is bounded three times over and takes no slot.
func TestTheJob(t *testing.T) {
	t.Parallel()
	w := given()
	job := decide.Decide(w, now).Job
	require.NotNil(t, job)
	assert.Equal(t, decide.JobName(w.ConfigMap), job.Name)
	assert.Equal(t, "web", job.Namespace)
	owner := metav1.GetControllerOf(job)
	require.NotNil(t, owner)
	assert.Equal(t, metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: w.ConfigMap.Name, UID: "0011", Controller: new(true)}, *owner)
	for k, v := range session.Labels(nas) {
		assert.Equal(t, v, job.Labels[k])
		assert.Equal(t, v, job.Spec.Template.Labels[k])
	}
	assert.Equal(t, int32(0), *job.Spec.BackoffLimit)
	assert.Equal(t, int64(session.MaxAge/time.Second)+120, *job.Spec.ActiveDeadlineSeconds)
	assert.False(t, *job.Spec.Template.Spec.AutomountServiceAccountToken)
	assert.False(t, gates.Occupies(job), "a session takes no slot of the repository")
	spec, err := work.DecodeSpec(job.Spec.Template.Spec.Containers[0].Env[0].Value)
	require.NoError(t, err)
	assert.Equal(t, &work.Browse{SessionSeconds: 900}, spec.Operation.Browse)
	assert.Equal(t, int64(session.MaxAge/time.Second), spec.Deadline.HardSeconds)
	assert.Equal(t, "4455", spec.Repository.ExpectedUniqueID, "nothing is ever created")
}
