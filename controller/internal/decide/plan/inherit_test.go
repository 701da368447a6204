// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/plan"
)

// neighbour is a running pod of the application that mounts the claim in its second container.
func neighbour(change ...func(*corev1.Pod)) func(*plan.World) {
	return func(w *plan.World) {
		w.Asked |= plan.AskPods | plan.AskAttachment
		p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "db-0", Namespace: "apps", Labels: map[string]string{"app": "db"}}}
		p.Spec.NodeName = "node-1"
		p.Spec.Tolerations = []corev1.Toleration{{Key: "db", Operator: corev1.TolerationOpExists}}
		p.Spec.Containers = []corev1.Container{{Name: "sidecar"}, {
			Name: "db", SecurityContext: &corev1.SecurityContext{RunAsUser: new(int64(999)), RunAsGroup: new(int64(998))},
			VolumeMounts: []corev1.VolumeMount{{Name: "files"}},
		}}
		p.Spec.SecurityContext = &corev1.PodSecurityContext{FSGroup: new(int64(997)), SupplementalGroups: []int64{50}}
		p.Spec.Volumes = []corev1.Volume{{Name: "files", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
		p.Status.Phase = corev1.PodRunning
		for _, f := range change {
			f(&p)
		}
		w.Neighbours = append(w.Neighbours, p)
	}
}

func consumer(w *plan.World) {
	w.Asked |= plan.AskPods
	w.Policy.Spec.Mover = &kopiurv1.MoverSpec{InheritSecurityContextFrom: &kopiurv1.InheritSecurityContextFrom{PVCConsumer: &kopiurv1.PVCConsumer{}}}
}

func workload(container string) func(*plan.World) {
	return func(w *plan.World) {
		w.Asked |= plan.AskPods
		w.Policy.Spec.Mover = &kopiurv1.MoverSpec{InheritSecurityContextFrom: &kopiurv1.InheritSecurityContextFrom{WorkloadSelector: &kopiurv1.WorkloadSelector{
			PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}, Container: container,
		}}}
	}
}

func named(w *plan.World) {
	w.Policy.Spec.Mover.SecurityContext = &corev1.SecurityContext{RunAsUser: new(int64(1000))}
}

// unsaid leaves the user to the image.
func unsaid(p *corev1.Pod) {
	p.Spec.SecurityContext = nil
	for i := range p.Spec.Containers {
		p.Spec.Containers[i].SecurityContext = nil
	}
}

func conditionOf(p plan.Plan, kind string) metav1.Condition {
	for _, c := range p.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return metav1.Condition{}
}

// F-6, F-7, J-2: whose user the mover runs as, and what the status says about it.
func TestInheritF6F7J2(t *testing.T) {
	t.Parallel()
	stopped := func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }
	defaults := func(w *plan.World) {
		w.Repository.Spec.MoverDefaults.SecurityContext = &corev1.SecurityContext{RunAsUser: new(int64(3000))}
	}
	before := func(w *plan.World) {
		told(1)(w)
		w.Asked |= plan.AskJob
		w.Snapshot.Status.Recorded = &kopiurv1.Recorded{Schema: 1, Src: kopiurv1.RecordedInherited, UID: new(int64(999)), GID: new(int64(998)), FSGroup: new(int64(997))}
	}
	const other int64 = 65532
	for name, tc := range map[string]struct {
		w        plan.World
		uid, gid int64
		src      string
		resolved string
		unusual  string
	}{
		"the container that mounts the claim":         {world(consumer, neighbour()), 999, 998, "inherited", kopiurv1.ReasonInheritApplied, ""},
		"the named container of a workload":           {world(workload("db"), neighbour()), 999, 998, "inherited", kopiurv1.ReasonInheritApplied, ""},
		"what the policy says wins":                   {world(consumer, named, neighbour()), 1000, 998, "explicit", kopiurv1.ReasonInheritApplied, kopiurv1.ReasonInheritOverridden},
		"the pod wins over the repository's defaults": {world(consumer, defaults, neighbour()), 999, 998, "inherited", kopiurv1.ReasonInheritApplied, ""},
		"a user that only the image names, as the node found it": {world(consumer, neighbour(unsaid, func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "db", User: &corev1.ContainerUser{Linux: &corev1.LinuxContainerUser{UID: 70, GID: 71}}}}
		})), 70, 71, "inherited", kopiurv1.ReasonInheritApplied, ""},
		"a user that nobody knows":                       {world(consumer, neighbour(unsaid)), other, other, "defaults", kopiurv1.ReasonInheritApplied, kopiurv1.ReasonInheritPinnedNoUID},
		"no pod, and the policy names a user":            {world(consumer, named), 1000, other, "explicit", "", kopiurv1.ReasonInheritFallback},
		"no pod, and the repository does":                {world(consumer, defaults), 3000, other, "explicit", "", kopiurv1.ReasonInheritFallback},
		"no pod any more, and an attempt before knew it": {world(consumer, before), 999, 998, "inherited", kopiurv1.ReasonInheritApplied, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := plan.Decide(tc.w, now)
			require.Equal(t, plan.Start, p.Action, p.Message)
			require.NotNil(t, p.Recorded.UID)
			assert.Equal(t, tc.uid, *p.Recorded.UID)
			assert.Equal(t, tc.gid, *p.Recorded.GID)
			assert.Equal(t, tc.src, p.Recorded.Src)
			assert.Equal(t, tc.uid, *p.Job.Spec.Template.Spec.Containers[0].SecurityContext.RunAsUser)
			assert.Equal(t, tc.resolved, conditionOf(p, kopiurv1.ConditionSecurityContextResolved).Reason)
			assert.Equal(t, tc.unusual, conditionOf(p, kopiurv1.ConditionSecurityContextInherited).Reason)
			compatible := conditionOf(p, kopiurv1.ConditionSecurityContextCompatible)
			if tc.unusual == kopiurv1.ReasonInheritPinnedNoUID {
				assert.Equal(t, metav1.ConditionUnknown, compatible.Status, "never a guessed True")
			} else {
				assert.Empty(t, compatible.Type)
			}
		})
	}

	for name, w := range map[string]plan.World{
		"a workload at zero":                     world(workload("")),
		"one whose pod has ended":                world(workload(""), neighbour(stopped)),
		"one whose pod goes away":                world(consumer, neighbour(func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.NewTime(now)) })),
		"a container that its pod does not have": world(workload("web"), neighbour()),
		"a pod of another application":           world(workload(""), neighbour(func(p *corev1.Pod) { p.Labels = nil })),
		"a pod that mounts another claim":        world(consumer, neighbour(func(p *corev1.Pod) { p.Spec.Volumes = nil })),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := check(t, row{w, plan.Wait, kopiurv1.SnapshotPending, kopiurv1.ReasonInheritSourceMissing, "or set mover.securityContext.runAsUser", time.Minute, ""})
			assert.Equal(t, metav1.ConditionFalse, conditionOf(p, kopiurv1.ConditionSecurityContextResolved).Status)
		})
	}

	// A root pod makes a root mover, which takes the namespace's consent like any other.
	root := plan.Decide(world(consumer, neighbour(func(p *corev1.Pod) { p.Spec.Containers[1].SecurityContext.RunAsUser = new(int64(0)) }), func(w *plan.World) { w.Asked |= plan.AskNamespace }), now)
	assert.Equal(t, kopiurv1.ReasonPrivilegedMoverNotPermitted, root.Reason)
	assert.Equal(t, plan.AskPods, plan.Decide(world(consumer, func(w *plan.World) { w.Asked = 0 }), now).Ask)
}

// TestNode: who reads a live ReadWriteOnce volume goes to the node that holds it.
func TestNode(t *testing.T) {
	t.Parallel()
	mode := func(m kopiurv1.ColocationMode) func(*plan.World) {
		return func(w *plan.World) {
			w.Repository.Spec.MoverDefaults.SourceColocation.Mode = m
			w.Asked |= plan.AskPods | plan.AskAttachment
		}
	}
	attached := func(w *plan.World) { w.Attached = "node-2" }
	shared := func(w *plan.World) {
		w.Source.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}
	}
	elsewhere := func(p *corev1.Pod) { p.Spec.Volumes = nil }
	for name, tc := range map[string]struct {
		w    plan.World
		node string
	}{
		"the node of the pod that uses it, with its tolerations": {world(mode(kopiurv1.ColocationAuto), neighbour()), "node-1"},
		"Auto is the default":                              {world(mode(""), neighbour()), "node-1"},
		"a pod that is still starting holds it as well":    {world(mode(""), neighbour(func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending })), "node-1"},
		"the node it is attached to, where no pod uses it": {world(mode(""), attached), "node-2"},
		"the pod that uses it wins":                        {world(mode(""), attached, neighbour()), "node-1"},
		"pods of other claims do not matter":               {world(mode(""), neighbour(elsewhere)), ""},
		"nobody holds it: anywhere":                        {world(mode("")), ""},
		"a shared volume: anywhere":                        {world(mode(""), shared, neighbour()), ""},
		"a copy: anywhere":                                 {world(begun(), mode(""), neighbour(), cut(true, 0), copied(corev1.ClaimBound, 0)), ""},
		"Disabled: anywhere":                               {world(mode(kopiurv1.ColocationDisabled), neighbour()), ""},
		"Required, and it is known":                        {world(mode(kopiurv1.ColocationRequired), neighbour()), "node-1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := plan.Decide(tc.w, now)
			require.Equal(t, plan.Start, p.Action, p.Message)
			pod := p.Job.Spec.Template.Spec
			if tc.node == "" {
				assert.Nil(t, pod.Affinity)
				return
			}
			term := pod.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0]
			assert.Equal(t, []string{tc.node}, term.MatchFields[0].Values)
			if tc.node == "node-1" {
				assert.Equal(t, "db", pod.Tolerations[0].Key)
			}
		})
	}
	check(t, row{world(mode(kopiurv1.ColocationRequired)), plan.Wait, kopiurv1.SnapshotPending, kopiurv1.ReasonSourceNodeUnknown, "start the application, or set the mode to Auto", time.Minute, ""})
	forget := func(w *plan.World) { w.Asked = 0 }
	assert.Equal(t, plan.AskPods, plan.Decide(world(mode(""), forget), now).Ask)
	assert.Equal(t, plan.AskAttachment, plan.Decide(world(mode(""), func(w *plan.World) { w.Asked = plan.AskPods }), now).Ask)
}
