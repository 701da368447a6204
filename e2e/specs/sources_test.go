// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package specs

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kopiur/kopiur/apis/expand"
	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/e2e/framework"
)

// script is a pod that runs a shell script with a claim, as a folder at /data or as a device at /dev/disk.
func script(ns, name, claim string, block bool, text string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Labels: map[string]string{"app": name}}}
	c := corev1.Container{Name: "app", ImagePullPolicy: corev1.PullIfNotPresent, Command: []string{"sh", "-c", text}, SecurityContext: &corev1.SecurityContext{RunAsUser: new(int64(0))}}
	if block {
		c.VolumeDevices = []corev1.VolumeDevice{{Name: "data", DevicePath: "/dev/disk"}}
	} else {
		c.VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
	}
	p.Spec.RestartPolicy, p.Spec.Containers = corev1.RestartPolicyNever, []corev1.Container{c}
	p.Spec.TerminationGracePeriodSeconds = new(int64(0))
	p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}}}
	return p
}

// reach makes a pod, waits for its phase and returns what it printed.
func reach(t *testing.T, e *framework.Env, p *corev1.Pod, phase corev1.PodPhase) string {
	t.Helper()
	p.Spec.Containers[0].Image = e.Image("testapp")
	e.Create(t, p)
	reached(t, e, p, phase)
	out, err := e.Logs(t.Context(), p.Namespace, p.Name, "app")
	require.NoError(t, err)
	return strings.TrimSpace(out)
}

// reached waits for a pod's phase.
func reached(t *testing.T, e *framework.Env, p *corev1.Pod, phase corev1.PodPhase) {
	t.Helper()
	e.Eventually(t, "pod "+p.Name+" to be "+string(phase), func(ctx context.Context) string {
		if err := e.Client.Get(ctx, client.ObjectKeyFromObject(p), p); err != nil {
			return err.Error()
		}
		if p.Status.Phase == phase {
			return ""
		}
		return string(p.Status.Phase)
	})
}

func inPod(app string, argv ...string) kopiurv1.WorkloadExec {
	return kopiurv1.WorkloadExec{PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}, Command: argv, Timeout: "2m"}
}

// TestStreamThereAndBack: more than 8 MiB that do not compress, out of one command and into another, byte for byte. What
// did not end well is not stored.
func TestStreamThereAndBack(t *testing.T) {
	t.Parallel()
	e := framework.New(t)
	ns := e.Namespace(t, map[string]string{kopiurv1.AnnotationStreamExecMovers: "true"})
	e.FilesystemRepository(t, ns)
	e.Create(t, framework.PVC(ns, "data", framework.ClassImmediate, "1Gi"))
	reach(t, e, script(ns, "db", "data", false, "head -c 9437184 /dev/urandom >/data/payload; exec sleep 3600"), corev1.PodRunning)

	stream := func(name string, argv ...string) *kopiurv1.Snapshot {
		p := framework.Policy(ns, name, "", kopiurv1.CopyDirect)
		p.Spec.Sources = []kopiurv1.Source{{Stream: &kopiurv1.StreamSource{FileName: "dump", WorkloadExec: inPod("db", argv...)}}}
		s := framework.Snapshot(ns, name, name)
		s.Spec.FailurePolicy = &kopiurv1.FailurePolicy{BackoffLimit: new(int32(0))}
		e.Create(t, p, s)
		return s
	}
	good := stream("good", "cat", "/data/payload")
	failing := stream("failing", "sh", "-c", "head -c 1000000 /dev/urandom; echo no space left >&2; exit 3")
	e.WaitReady(t, good)
	assert.Equal(t, int64(9437184), good.Status.Stats.SizeBytes)
	e.WaitCondition(t, failing, kopiurv1.ConditionStalled, metav1.ConditionTrue, kopiurv1.ReasonSnapshotFailed)
	assert.Contains(t, framework.Condition(failing, kopiurv1.ConditionStalled).Message, "exit code 3; nothing was stored")
	assert.Contains(t, failing.Status.LogTail, "no space left")
	assert.Nil(t, failing.Status.Snapshot)

	send := func(name string, timeout kopiurv1.Duration, argv ...string) *kopiurv1.Restore {
		r := framework.RestoreInto(ns, name, "good", "")
		r.Spec.Target = kopiurv1.RestoreTarget{StreamExec: &kopiurv1.StreamTarget{FileName: "dump", WorkloadExec: inPod("db", argv...)}}
		r.Spec.Target.StreamExec.WorkloadExec.Timeout = timeout
		e.Create(t, r)
		return r
	}
	back := send("back", "2m", "tee", "/data/copy")
	e.WaitReady(t, back)
	// A runtime may not say that such a command has ended while its input is full: then its time has to pass.
	lazy := send("lazy", "15s", "head", "-c", "1000")
	e.WaitCondition(t, lazy, kopiurv1.ConditionStalled, metav1.ConditionTrue, kopiurv1.ReasonRestoreFailed)
	sums := map[string]string{}
	for _, entry := range e.List(t, ns, "data") {
		sums[entry.Path] = entry.SHA256
	}
	require.NotEmpty(t, sums["payload"])
	assert.Equal(t, sums["payload"], sums["copy"])

	// A producer that goes away without a word.
	gone := stream("gone", "sh", "-c", "head -c 1000000 /dev/urandom; exec sleep 3600")
	e.Eventually(t, "the producer to be at work", func(ctx context.Context) string {
		if err := e.Client.Get(ctx, client.ObjectKeyFromObject(gone), gone); err != nil {
			return err.Error()
		}
		if gone.Status.Progress != nil && gone.Status.Progress.BytesProcessed > 0 {
			return ""
		}
		return "nothing was read yet, phase " + string(gone.Status.Phase)
	})
	require.NoError(t, e.Client.Delete(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "db"}}, client.GracePeriodSeconds(0)))
	e.WaitCondition(t, gone, kopiurv1.ConditionStalled, metav1.ConditionTrue, kopiurv1.ReasonSnapshotFailed)
	assert.Contains(t, framework.Condition(gone, kopiurv1.ConditionStalled).Message, "nothing was stored")
	assert.Nil(t, gone.Status.Snapshot)

	e.Eventually(t, "every right to be taken back", func(ctx context.Context) string {
		var list rbacv1.RoleBindingList
		if err := e.Client.List(ctx, &list, client.InNamespace(ns), client.MatchingLabels{kopiurv1.LabelManagedBy: kopiurv1.ManagedByValue}); err != nil {
			return err.Error()
		}
		var names []string
		for i := range list.Items {
			names = append(names, list.Items[i].Name)
		}
		return strings.Join(names, ", ")
	})
}

// TestSelectedClaims: each claim with the label is a Snapshot of its own, from a copy of its own.
func TestSelectedClaims(t *testing.T) {
	t.Parallel()
	e := framework.New(t)
	ns := e.Namespace(t, nil)
	e.FilesystemRepository(t, ns)
	for _, name := range []string{"db", "web", "cache"} {
		c := framework.PVC(ns, name, framework.ClassImmediate, "1Gi")
		if name != "cache" {
			c.Labels = map[string]string{"backup": "yes"}
		}
		e.Create(t, c)
		e.RunApp(t, ns, name, framework.AppOptions{}, "write", "/data/name", name)
	}
	p := framework.Policy(ns, "all", "", kopiurv1.CopySnapshot)
	p.Spec.Sources = []kopiurv1.Source{{PVCSelector: &kopiurv1.PVCSelector{LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"backup": "yes"}}}}}
	p.Spec.GroupBy = kopiurv1.GroupByNone
	p.Spec.Mover = framework.UIDMover(65532)
	e.Create(t, p)
	var claims corev1.PersistentVolumeClaimList
	require.NoError(t, e.Client.List(t.Context(), &claims, client.InNamespace(ns)))
	run, refusal := expand.Run(p, framework.Snapshot(ns, "run", "all"), claims.Items)
	require.Nil(t, refusal)
	require.Len(t, run, 2)
	for _, s := range run {
		e.Create(t, s)
	}
	for _, s := range run {
		e.WaitReady(t, s)
		assert.Equal(t, "/pvc/"+s.Spec.Source.Target.PVC.Name, s.Status.Snapshot.Identity.SourcePath)
	}
	e.Create(t, framework.PVC(ns, "copy", framework.ClassImmediate, "1Gi"))
	r := framework.RestoreInto(ns, "back", run[1].Name, "copy")
	e.Create(t, r)
	e.WaitReady(t, r)
	assert.Equal(t, run[1].Spec.Source.Target.PVC.Name, strings.TrimSpace(e.RunApp(t, ns, "copy", framework.AppOptions{}, "cat", "/data/name")), "no other claim's bytes")
}

// TestBlockClaim: a device, from a copy of it, onto another device.
func TestBlockClaim(t *testing.T) {
	t.Parallel()
	e := framework.New(t)
	ns := e.Namespace(t, map[string]string{kopiurv1.AnnotationPrivilegedMovers: "true"})
	e.FilesystemRepository(t, ns)
	for _, name := range []string{"disk", "copy"} {
		c := framework.PVC(ns, name, framework.ClassImmediate, "16Mi")
		c.Spec.VolumeMode = new(corev1.PersistentVolumeBlock)
		e.Create(t, c)
	}
	const sum = "head -c 16777216 /dev/disk | sha256sum"
	want := reach(t, e, script(ns, "fill", "disk", true, "head -c 3000000 /dev/urandom >/dev/disk; sync /dev/disk; "+sum), corev1.PodSucceeded)
	root := &kopiurv1.MoverSpec{SecurityContext: &corev1.SecurityContext{RunAsUser: new(int64(0)), RunAsNonRoot: new(false)}}
	p := framework.Policy(ns, "disk", "disk", kopiurv1.CopySnapshot)
	p.Spec.Mover = root
	s := framework.Snapshot(ns, "one", "disk")
	e.Create(t, p, s)
	e.WaitReady(t, s)
	e.WaitStagedGone(t, s)
	r := framework.RestoreInto(ns, "back", "one", "copy")
	r.Spec.Mover = root
	e.Create(t, r)
	e.WaitReady(t, r)
	assert.Equal(t, want, reach(t, e, script(ns, "look", "copy", true, sum), corev1.PodSucceeded))
}
