// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package verify_test

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
	"github.com/kopiur/kopiur/controller/internal/decide/verify"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

func build(t *testing.T, w verify.World) *batchv1.Job {
	t.Helper()
	job, err := verify.Build(w, verify.Of(w.Policy, w.Tier, w.Ref), moverjob.Images{Mover: "mover"}, "")
	require.NoError(t, err)
	return job
}

func specOf(t *testing.T, c corev1.Container) work.Verify {
	t.Helper()
	s, err := work.DecodeSpec(c.Env[0].Value)
	require.NoError(t, err)
	return *s.Operation.Verify
}

func TestAQuickVerificationRunsAtHome(t *testing.T) {
	t.Parallel()
	w := given("quick", func(w *verify.World) {
		w.Repository.HomeNamespace = "kopiur-system"
		w.Policy.Spec.Verification.VerifyFilesPercent = 5
		w.Policy.Spec.Verification.Quick.MaxErrors = 3
		w.Policy.Spec.Mover = &kopiurv1.MoverSpec{PrivilegedMode: new(true)}
	})
	job := build(t, w)
	assert.Equal(t, "kopiur-system", job.Namespace)
	assert.Equal(t, "Repository", job.OwnerReferences[0].Kind, "an owner is in the namespace of what it owns")
	assert.Equal(t, "u", job.Labels[kopiurv1.LabelOwnerUID])
	assert.Equal(t, "web", job.Labels[kopiurv1.LabelVerify])
	assert.Equal(t, "apps/web", job.Annotations[kopiurv1.AnnotationVerifyPolicy])
	assert.Equal(t, slot, job.Annotations[kopiurv1.AnnotationVerifySlot])
	assert.NotNil(t, job.Spec.TTLSecondsAfterFinished, "it does not go with the policy, so it goes by itself")
	pod := job.Spec.Template.Spec
	assert.Empty(t, moverjob.Privileges(pod), "a policy has no say in the privileges of another namespace")
	v := specOf(t, pod.Containers[0])
	assert.Equal(t, []work.Identity{{Username: "web", Hostname: "apps", Path: "/pvc/data"}}, v.Identities)
	assert.Equal(t, &work.QuickVerify{FilesPercent: 5, MaxErrors: 3}, v.Quick)
	assert.Equal(t, verify.JobName(w.Policy, verify.Of(w.Policy, "quick", nas)), job.Name)
	assert.NotEqual(t, job.Name, build(t, given("deep")).Name)
	assert.NotEqual(t, job.Name, build(t, given("quick", pinned(next))).Name, "each turn has a name of its own")
}

func TestADeepVerificationRestoresIntoAVolumeOfItsPod(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change change
		size   string
		class  string
	}{
		"a folder of the node where nobody gives a size": {func(*verify.World) {}, "", ""},
		"of the repository's size": {func(w *verify.World) {
			w.Repository.Spec.MoverDefaults = &kopiurv1.MoverDefaults{Scratch: &kopiurv1.Scratch{Capacity: "2Gi", StorageClassName: "fast"}}
		}, "2Gi", "fast"},
		"of the policy's, which wins": {func(w *verify.World) {
			w.Repository.Spec.MoverDefaults = &kopiurv1.MoverDefaults{Scratch: &kopiurv1.Scratch{Capacity: "2Gi", StorageClassName: "fast"}}
			w.Policy.Spec.Verification.Deep.Capacity, w.Policy.Spec.Verification.Deep.StorageClassName = "3Gi", "slow"
		}, "3Gi", "slow"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			job := build(t, given("deep", tc.change))
			assert.Equal(t, "apps", job.Namespace, "what is restored is the policy's")
			assert.Equal(t, "SnapshotPolicy", job.OwnerReferences[0].Kind)
			assert.Zero(t, *job.Spec.BackoffLimit)
			assert.Nil(t, job.Spec.TTLSecondsAfterFinished)
			pod := job.Spec.Template.Spec
			v := specOf(t, pod.Containers[0])
			assert.Equal(t, &work.DeepVerify{ScratchPath: "/scratch"}, v.Deep)
			scratch := pod.Volumes[len(pod.Volumes)-1]
			require.Equal(t, "scratch", scratch.Name)
			if tc.size == "" {
				assert.NotNil(t, scratch.EmptyDir)
				return
			}
			claim := scratch.Ephemeral.VolumeClaimTemplate
			assert.Equal(t, tc.size, claim.Spec.Resources.Requests.Storage().String())
			assert.Equal(t, tc.class, *claim.Spec.StorageClassName)
			assert.Equal(t, kopiurv1.ManagedByValue, claim.Labels[kopiurv1.LabelManagedBy])
		})
	}
	_, err := verify.Build(given("deep", func(w *verify.World) { w.Policy.Spec.Verification.Deep.Capacity = "much" }), kopiurv1.VerificationRun{}, moverjob.Images{Mover: "m"}, "")
	assert.ErrorContains(t, err, "verification.deep.capacity")
}

func TestTheCheckSeesWhatWasRestoredAndNoSecrets(t *testing.T) {
	t.Parallel()
	job := build(t, given("deep", func(w *verify.World) {
		w.Policy.Spec.Mover = &kopiurv1.MoverSpec{PrivilegedMode: new(true)}
		w.Policy.Spec.Verification.Deep.Check = &kopiurv1.DeepCheck{Image: "postgres:17", Command: []string{"pg_verifybackup", "/scratch"}, Timeout: "5m"}
	}))
	pod := job.Spec.Template.Spec
	require.Len(t, pod.InitContainers, 1)
	require.Len(t, pod.Containers, 1)
	mover, check := pod.InitContainers[0], pod.Containers[0]
	assert.True(t, specOf(t, mover).Deep.Keep)
	assert.Equal(t, []corev1.VolumeMount{{Name: "scratch", MountPath: "/scratch", SubPath: "kopiur-restored", ReadOnly: true}}, check.VolumeMounts)
	assert.False(t, *pod.AutomountServiceAccountToken)
	assert.Empty(t, check.Env)
	assert.Equal(t, mover.SecurityContext.RunAsUser, check.SecurityContext.RunAsUser, "it reads what the mover wrote")
	assert.NotEmpty(t, mover.SecurityContext.Capabilities.Add)
	assert.Empty(t, check.SecurityContext.Capabilities.Add, "and has none of its capabilities")
	last := job.Spec.PodFailurePolicy.Rules[len(job.Spec.PodFailurePolicy.Rules)-1]
	assert.Equal(t, batchv1.PodFailurePolicyActionFailJob, last.Action)
	assert.Equal(t, "check", *last.OnExitCodes.ContainerName)
	assert.Equal(t, int64(24*3600+120+300+300), *job.Spec.ActiveDeadlineSeconds)

	asks := build(t, given("deep", func(w *verify.World) {
		w.Policy.Spec.Verification.Deep.Check = &kopiurv1.DeepCheck{Image: "i", SecurityContext: &corev1.SecurityContext{RunAsUser: new(int64(0))}}
	}))
	assert.Contains(t, moverjob.Privileges(asks.Spec.Template.Spec), "uid 0", "what it asks for is for the namespace to permit")
	assert.Empty(t, moverjob.Privileges(build(t, given("deep", checked(verify.Check{}))).Spec.Template.Spec))
}

func TestClassIgnored(t *testing.T) {
	t.Parallel()
	w := given("deep")
	d := w.Policy.Spec.Verification.Deep
	assert.False(t, verify.ClassIgnored(w.Policy, []*moverjob.Repository{w.Repository}))
	d.StorageClassName = "fast"
	assert.True(t, verify.ClassIgnored(w.Policy, []*moverjob.Repository{w.Repository}))
	assert.False(t, verify.ClassIgnored(w.Policy, []*moverjob.Repository{nil}), "nobody knows yet")
	w.Repository.Spec.MoverDefaults = &kopiurv1.MoverDefaults{Scratch: &kopiurv1.Scratch{Capacity: "1Gi"}}
	assert.False(t, verify.ClassIgnored(w.Policy, []*moverjob.Repository{w.Repository}))
}

func TestCheckOf(t *testing.T) {
	t.Parallel()
	const timeout = 10 * time.Minute
	pod := func(phase corev1.PodPhase, state *corev1.ContainerState, moverEnded time.Time) []corev1.Pod {
		p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pod"}, Status: corev1.PodStatus{Phase: phase}}
		if !moverEnded.IsZero() {
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "mover", State: corev1.ContainerState{
				Terminated: &corev1.ContainerStateTerminated{FinishedAt: metav1.NewTime(moverEnded)},
			}}}
		}
		if state != nil {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "check", State: *state}}
		}
		return []corev1.Pod{p}
	}
	since := func(d time.Duration) *corev1.ContainerState {
		return &corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(now.Add(-d))}}
	}
	exited := func(code int32, reason string) *corev1.ContainerState {
		return &corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason}}
	}
	pulls := &corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "no such image"}}
	for name, tc := range map[string]struct {
		pods    []corev1.Pod
		over    bool
		want    verify.CheckState
		message string
	}{
		"no pod yet":                   {nil, false, verify.CheckWaiting, ""},
		"no pod any more":              {nil, true, verify.CheckLost, "gone"},
		"the mover is at work":         {pod(corev1.PodRunning, nil, time.Time{}), false, verify.CheckWaiting, ""},
		"it runs":                      {pod(corev1.PodRunning, since(time.Minute), now), false, verify.CheckRunning, ""},
		"it runs too long":             {pod(corev1.PodRunning, since(timeout), now), false, verify.CheckFailed, "within 10m0s"},
		"it passed":                    {pod(corev1.PodSucceeded, exited(0, "Completed"), now), true, verify.CheckPassed, ""},
		"it failed":                    {pod(corev1.PodFailed, exited(3, "Error"), now), true, verify.CheckFailed, "exit code 3"},
		"it was killed for its memory": {pod(corev1.PodFailed, exited(137, "OOMKilled"), now), true, verify.CheckFailed, "OOMKilled, exit code 137"},
		"its image is on its way":      {pod(corev1.PodPending, pulls, now), false, verify.CheckWaiting, ""},
		"its image never comes":        {pod(corev1.PodPending, pulls, now.Add(-time.Hour)), false, verify.CheckLost, "ImagePullBackOff: no such image"},
		"the pod was evicted before":   {pod(corev1.PodFailed, &corev1.ContainerState{}, now), true, verify.CheckLost, "ended before it ran"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := verify.CheckOf(tc.pods, tc.over, timeout, now)
			assert.Equal(t, tc.want, got.State)
			assert.Contains(t, got.Message, tc.message)
			if tc.want == verify.CheckWaiting || tc.want == verify.CheckRunning {
				assert.Positive(t, got.Recheck)
			}
		})
	}
}
