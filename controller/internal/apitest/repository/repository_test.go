// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package repository_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/loop"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

func condition(list []metav1.Condition, kind string) *metav1.Condition {
	for i := range list {
		if list[i].Type == kind {
			return &list[i]
		}
	}
	return nil
}

func TestANewRepositoryIsCreatedAndPinned(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	env.Create(secrets()...)
	r := nas()
	env.Create(r)
	env.StartController()
	expect(t, env, r, kopiurv1.RepositoryReady, kopiurv1.ReasonReachable)

	assert.Equal(t, "00112233445566778899aabbccddeeff", r.Status.UniqueID)
	assert.Equal(t, "s3", r.Status.Backend)
	assert.Equal(t, int64(2), r.Status.Health.ConnectSeconds, "measured by the mover")
	assert.Equal(t, int64(2), r.Status.StorageStats.IndexBlobCount)
	assert.NotEmpty(t, r.Status.Job.FinishedAt)
	assert.True(t, loop.IsTrue(r.Status.Conditions, kopiurv1.ConditionBackendReachable))
	assert.True(t, loop.IsTrue(r.Status.Conditions, kopiurv1.ConditionBootstrapped))
	require.Len(t, env.Calls(), 1)
	call := env.Calls()[0]
	assert.NotNil(t, call.Spec.Operation.Bootstrap.Create)
	assert.Equal(t, int64(120), call.Spec.Deadline.HardSeconds)

	var password, keys corev1.Secret
	require.NoError(t, env.Client.Get(t.Context(), client.ObjectKey{Namespace: env.Namespace, Name: "password"}, &password))
	require.NoError(t, env.Client.Get(t.Context(), client.ObjectKey{Namespace: env.Namespace, Name: "keys"}, &keys))
	assert.Equal(t, password.ResourceVersion+","+keys.ResourceVersion, r.Status.ResolvedCredentialVersion)

	require.EventuallyWithT(t, func(c *assert.CollectT) {
		list := jobs(t, env, env.Namespace)
		require.Len(c, list, 1)
		assert.NotNil(c, list[0].Spec.TTLSecondsAfterFinished, "set once the status is written")
		assert.Contains(c, events(t, env), "Normal/Reachable")
	}, testenv.Wait, testenv.Tick)

	// The id goes with every later attempt, and creation is over for good.
	env.Annotate(r, kopiurv1.AnnotationReverifyRequestedAt, time.Now().UTC().Format(time.RFC3339))
	require.EventuallyWithT(t, func(c *assert.CollectT) { assert.Len(c, env.Calls(), 2) }, testenv.Wait, testenv.Tick)
	again := env.Calls()[1].Spec
	assert.Equal(t, r.Status.UniqueID, again.Repository.ExpectedUniqueID)
	assert.Nil(t, again.Operation.Bootstrap.Create)
}

// E-5.
func TestNothingIsWrittenAtRest(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	env.Create(secrets()...)
	r := nas()
	env.Create(r)
	env.StartController()
	expect(t, env, r, kopiurv1.RepositoryReady, kopiurv1.ReasonReachable)
	version := r.ResourceVersion
	// Wake it a few times: with a Secret that nobody names, and with a label.
	env.Create(testenv.Secret("unrelated", nil))
	env.Label(r, "touched", "once")
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		env.GetC(c, r)
		assert.NotEqual(c, version, r.ResourceVersion)
	}, testenv.Wait, testenv.Tick)
	env.Quiet(r, 2*time.Second)
	assert.Len(t, env.Calls(), 1)
}

func TestAMissingSecretIsNamedAndItsArrivalHeals(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	r := nas()
	env.Create(r, secrets()[1])
	env.StartController()
	expect(t, env, r, kopiurv1.RepositoryPending, kopiurv1.ReasonMissingCredentialsSecret)
	creds := condition(r.Status.Conditions, kopiurv1.ConditionCredentialsAvailable)
	assert.Equal(t, metav1.ConditionFalse, creds.Status)
	assert.Contains(t, creds.Message, env.Namespace+"/password")
	assert.Empty(t, env.Calls())

	// Its own next turn is an hour away: only the watch can do this in time.
	env.Create(secrets()[0])
	expect(t, env, r, kopiurv1.RepositoryReady, kopiurv1.ReasonReachable)
}

func TestASecretWithoutTheKey(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	env.Mover(failing(work.CodeMissingCredentials, "Secret password has no key KOPIA_PASSWORD"))
	env.Create(secrets()...)
	r := nas()
	env.Create(r)
	env.StartController()
	expect(t, env, r, kopiurv1.RepositoryPending, kopiurv1.ReasonMissingCredentialsSecret)
	creds := condition(r.Status.Conditions, kopiurv1.ConditionCredentialsAvailable)
	assert.Equal(t, metav1.ConditionFalse, creds.Status)
	assert.Contains(t, creds.Message, "KOPIA_PASSWORD")
	env.Quiet(r, time.Second)
	assert.Len(t, env.Calls(), 1, "it is not tried again with the same Secret")

	env.Mover(testenv.Succeed)
	env.Touch(secrets()[0])
	expect(t, env, r, kopiurv1.RepositoryReady, kopiurv1.ReasonReachable)
}

func TestAWrongPasswordParksUntilTheSecretIsCorrected(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	env.Mover(failing(work.CodeAuthFailure, "the password does not open the repository"))
	env.Create(secrets()...)
	r := nas()
	env.Create(r)
	env.StartController()
	expect(t, env, r, kopiurv1.RepositoryFailed, "AuthFailure")
	assert.Equal(t, "AuthFailure", r.Status.Failure.KopiaErrorClass)
	assert.False(t, r.Status.Failure.RetryRecommended)
	assert.Contains(t, condition(r.Status.Conditions, kopiurv1.ConditionStalled).Message, "Secret password, key KOPIA_PASSWORD")
	env.Quiet(r, time.Second)
	assert.Len(t, env.Calls(), 1, "parked: the store is left alone")
	assert.Contains(t, events(t, env), "Warning/AuthFailure")

	env.Mover(testenv.Succeed)
	env.Touch(secrets()[0])
	expect(t, env, r, kopiurv1.RepositoryReady, kopiurv1.ReasonReachable)
	assert.Nil(t, r.Status.Failure)
	assert.Len(t, env.Calls(), 2)
}

func TestASpecChangeReopensAFailedRepository(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	env.Mover(failing(work.CodeNotFound, "no such bucket"))
	env.Create(secrets()...)
	r := nas()
	env.Create(r)
	env.StartController()
	expect(t, env, r, kopiurv1.RepositoryFailed, "NotFound")
	assert.Contains(t, condition(r.Status.Conditions, kopiurv1.ConditionReady).Message, "bucket backups")
	env.Mover(testenv.Succeed)
	env.Change(r, func() { r.Spec.Backend.S3.Bucket = "backups-2" })
	expect(t, env, r, kopiurv1.RepositoryReady, kopiurv1.ReasonReachable)
}

func TestOutcomes(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		play      func(testenv.Call) testenv.Play
		phase     kopiurv1.RepositoryPhase
		reason    string
		reachable metav1.ConditionStatus
	}{
		"a store that does not answer degrades": {failing(work.CodeRepositoryUnavailable, "dial tcp"), kopiurv1.RepositoryDegraded, kopiurv1.ReasonBackendUnreachable, metav1.ConditionFalse},
		"a slow store is not an outage":         {failing(work.CodeSlow, "still opening"), kopiurv1.RepositoryDegraded, kopiurv1.ReasonBootstrapDeadlineExceeded, metav1.ConditionUnknown},
		"something else in the location":        {failing(work.CodeLocationOccupied, "found x"), kopiurv1.RepositoryFailed, kopiurv1.ReasonLocationOccupied, metav1.ConditionTrue},
		"nothing there and creation forbidden":  {failing(work.CodeRepositoryNotInitialized, "empty"), kopiurv1.RepositoryFailed, kopiurv1.ReasonRepositoryNotInitialized, metav1.ConditionTrue},
		"refused credentials":                   {failing(work.CodeAccessDenied, "403"), kopiurv1.RepositoryFailed, "AccessDenied", metav1.ConditionTrue},
		"a mover that the kernel killed": {func(testenv.Call) testenv.Play {
			return testenv.Play{Message: new(""), ExitCode: new(int32(137))}
		}, kopiurv1.RepositoryInitializing, kopiurv1.ReasonBootstrapJobFailed, ""},
		"a Job that its deadline killed": {func(testenv.Call) testenv.Play {
			return testenv.Play{DeadlineKilled: true}
		}, kopiurv1.RepositoryDegraded, kopiurv1.ReasonBootstrapDeadlineExceeded, metav1.ConditionUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := testenv.New(t)
			env.Mover(tc.play)
			env.Create(secrets()...)
			r := nas()
			env.Create(r)
			env.StartController()
			expect(t, env, r, tc.phase, tc.reason)
			if c := condition(r.Status.Conditions, kopiurv1.ConditionBackendReachable); tc.reachable != "" {
				require.NotNil(t, c)
				assert.Equal(t, tc.reachable, c.Status)
			} else {
				assert.Nil(t, c)
			}
			assert.NotNil(t, r.Status.Failure)
			assert.Empty(t, r.Status.UniqueID)
			env.Quiet(r, time.Second)
		})
	}
}

// K-8.
func TestAVanishedRepositoryIsNeverCreatedAgain(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	env.Create(secrets()...)
	r := nas()
	env.Create(r)
	env.StartController()
	expect(t, env, r, kopiurv1.RepositoryReady, kopiurv1.ReasonReachable)
	// Before the id was pinned there may have been two attempts: a Secret may reach the cache after the first.
	before := len(env.Calls())
	env.Mover(failing(work.CodeRepositoryVanished, "the store is empty"))
	env.Touch(secrets()[0])
	expect(t, env, r, kopiurv1.RepositoryFailed, kopiurv1.ReasonRepositoryVanished)
	assert.NotEmpty(t, r.Status.UniqueID, "the id stays, so that it stays forbidden")
	require.Greater(t, len(env.Calls()), before)
	for _, c := range env.Calls()[before:] {
		assert.Nil(t, c.Spec.Operation.Bootstrap.Create)
	}
}

func TestSuspend(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	env.Create(secrets()...)
	r := nas()
	r.Spec.Suspend = true
	env.Create(r)
	env.StartController()
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		env.GetC(c, r)
		assert.True(c, loop.IsTrue(r.Status.Conditions, kopiurv1.ConditionSuspended))
	}, testenv.Wait, testenv.Tick)
	assert.Empty(t, env.Calls())
	env.Change(r, func() { r.Spec.Suspend = false })
	expect(t, env, r, kopiurv1.RepositoryReady, kopiurv1.ReasonReachable)
	assert.Nil(t, condition(r.Status.Conditions, kopiurv1.ConditionSuspended))
	env.Change(r, func() { r.Spec.Suspend = true })
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		env.GetC(c, r)
		assert.True(c, loop.IsTrue(r.Status.Conditions, kopiurv1.ConditionSuspended))
		assert.Equal(c, kopiurv1.RepositoryReady, r.Status.Phase, "it is as ready as it was")
		assert.True(c, loop.IsTrue(r.Status.Conditions, kopiurv1.ConditionReady))
	}, testenv.Wait, testenv.Tick)
}

func TestAForeignJobOfTheSameNameIsNotTouched(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	list := secrets()
	env.Create(list...)
	r := nas()
	env.Create(r)
	attempt := fmt.Sprintf("1/%s,%s/1", list[0].GetResourceVersion(), list[1].GetResourceVersion())
	foreign := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: moverjob.Name("r", r.Name, r.UID, "bootstrap", attempt)}}
	foreign.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	foreign.Spec.Template.Spec.Containers = []corev1.Container{{Name: "c", Image: "i"}}
	env.Create(foreign)
	env.StartController()
	expect(t, env, r, kopiurv1.RepositoryFailed, kopiurv1.ReasonJobNameTaken)
	assert.Contains(t, condition(r.Status.Conditions, kopiurv1.ConditionStalled).Message, foreign.Name)
	env.Get(foreign)
	assert.Nil(t, foreign.DeletionTimestamp)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		assert.Contains(c, events(t, env), "Warning/JobNameTaken")
	}, testenv.Wait, testenv.Tick)
}

func TestAFilesystemRepositoryWaitsForItsClaim(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	env.Create(secrets()[0])
	r := nas()
	r.Spec.Backend = kopiurv1.Backend{Filesystem: &kopiurv1.FilesystemBackend{Path: "/repository", Volume: &kopiurv1.RepositoryVolume{PVC: &kopiurv1.LocalRef{Name: "share"}}}}
	env.Create(r)
	env.StartController()
	expect(t, env, r, kopiurv1.RepositoryPending, kopiurv1.ReasonRepositoryVolumeNotReachable)
	assert.Contains(t, condition(r.Status.Conditions, kopiurv1.ConditionReady).Message, "share")
	env.Create(testenv.Claim("share"))
	expect(t, env, r, kopiurv1.RepositoryReady, kopiurv1.ReasonReachable)
}

func TestAPathOfTheNodeNeedsConsent(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	env.Create(secrets()[0])
	r := nas()
	r.Spec.Backend = kopiurv1.Backend{Filesystem: &kopiurv1.FilesystemBackend{Path: "/mnt/backups"}}
	env.Create(r)
	env.StartController()
	expect(t, env, r, kopiurv1.RepositoryPending, kopiurv1.ReasonPrivilegedMoverNotPermitted)
	assert.True(t, loop.IsFalse(r.Status.Conditions, kopiurv1.ConditionMoverPermitted))
	env.Annotate(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: env.Namespace}}, kopiurv1.AnnotationPrivilegedMovers, "true")
	expect(t, env, r, kopiurv1.RepositoryReady, kopiurv1.ReasonReachable)
}
