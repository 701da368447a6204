// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package specs

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/e2e/framework"
)

// startApp runs the test application as an ordinary user, with the claim mounted, until the test ends.
func startApp(t *testing.T, e *framework.Env, ns, claim string, uid int64) {
	t.Helper()
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "app", Labels: map[string]string{"app": "shop"}}}
	p.Spec.Containers = []corev1.Container{{
		Name: "app", Image: e.Image("testapp"), ImagePullPolicy: corev1.PullIfNotPresent, Args: []string{"sleep"},
		SecurityContext: &corev1.SecurityContext{RunAsUser: &uid, RunAsGroup: &uid},
		VolumeMounts:    []corev1.VolumeMount{{Name: "data", MountPath: "/data"}},
	}}
	p.Spec.SecurityContext = &corev1.PodSecurityContext{FSGroup: &uid}
	p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}}}
	e.Create(t, p)
	e.Eventually(t, "the application to run", func(ctx context.Context) string {
		if err := e.Client.Get(ctx, client.ObjectKeyFromObject(p), p); err != nil {
			return err.Error()
		}
		if p.Status.Phase == corev1.PodRunning {
			return ""
		}
		return string(p.Status.Phase)
	})
}

func command(argv ...string) kopiurv1.Hook {
	return kopiurv1.Hook{WorkloadExec: &kopiurv1.ExecHook{PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": "shop"}}, Command: argv}}
}

// TestHooksInAWorkload: commands run in the application's pod, before and after; what the first wrote is in the backup, what
// the second wrote is not; the mover runs as the application does, on its node (F-7).
func TestHooksInAWorkload(t *testing.T) {
	t.Parallel()
	e := framework.New(t)
	ns := e.Namespace(t, nil)
	e.FilesystemRepository(t, ns)
	e.Create(t, framework.PVC(ns, "data", framework.ClassImmediate, "1Gi"))
	startApp(t, e, ns, "data", 1234)
	p := framework.Policy(ns, "shop", "data", kopiurv1.CopyDirect)
	p.Spec.Mover = &kopiurv1.MoverSpec{InheritSecurityContextFrom: &kopiurv1.InheritSecurityContextFrom{PVCConsumer: &kopiurv1.PVCConsumer{}}}
	p.Spec.Hooks = &kopiurv1.Hooks{
		BeforeSnapshot: []kopiurv1.Hook{command("/testapp", "write", "/data/frozen", "yes")},
		AfterSnapshot:  []kopiurv1.Hook{command("/testapp", "write", "/data/thawed", "yes")},
	}
	s := framework.Snapshot(ns, "one", "shop")
	e.Create(t, p, s)
	e.WaitReady(t, s)
	assert.Equal(t, metav1.ConditionTrue, framework.Condition(s, kopiurv1.ConditionHooksSucceeded).Status)
	require.NotNil(t, s.Status.Recorded)
	assert.Equal(t, kopiurv1.RecordedInherited, s.Status.Recorded.Src)
	assert.Equal(t, int64(1234), *s.Status.Recorded.UID)
	app := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "app"}}
	require.NoError(t, e.Client.Get(t.Context(), client.ObjectKeyFromObject(app), app))
	jobs := e.Jobs(t, ns, jobsOf(s))
	require.Len(t, jobs, 1)
	require.NotNil(t, jobs[0].Spec.Template.Spec.Affinity, "a volume for one node is read on the node that holds it")
	terms := jobs[0].Spec.Template.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	require.Len(t, terms, 1)
	require.Len(t, terms[0].MatchFields, 1)
	assert.Equal(t, []string{app.Spec.NodeName}, terms[0].MatchFields[0].Values)

	e.Create(t, framework.PVC(ns, "copy", framework.ClassImmediate, "1Gi"))
	r := framework.RestoreInto(ns, "back", "one", "copy")
	e.Create(t, r)
	e.WaitReady(t, r)
	var names []string
	for _, entry := range e.List(t, ns, "copy") {
		names = append(names, entry.Path)
	}
	assert.Contains(t, names, "frozen")
	assert.NotContains(t, names, "thawed")

	// A command that fails ends the run, with what it said in an event and its exit code in the condition.
	bad := framework.Policy(ns, "bad", "data", kopiurv1.CopyDirect)
	bad.Spec.Hooks = &kopiurv1.Hooks{BeforeSnapshot: []kopiurv1.Hook{command("/testapp", "exit", "7")}}
	two := framework.Snapshot(ns, "two", "bad")
	e.Create(t, bad, two)
	e.WaitCondition(t, two, kopiurv1.ConditionStalled, metav1.ConditionTrue, kopiurv1.ReasonPreHookFailed)
	assert.Contains(t, framework.Condition(two, kopiurv1.ConditionStalled).Message, "exit code 7")
}
