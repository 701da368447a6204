// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package specs

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/e2e/framework"
)

// TestControllerKilledAtFivePoints: a backup, a pin, a deletion, a restore and a hook are each at the point where their Job
// or their command was started, when the controller is killed. The movers work and end while nobody looks. The next
// controller learns of all of it: nothing is done twice, nothing is forgotten, and the application is thawed.
func TestControllerKilledAtFivePoints(t *testing.T) {
	e := framework.New(t)
	ns := e.Namespace(t, nil)
	e.FilesystemRepository(t, ns)
	for _, name := range []string{"data", "copy", "live"} {
		e.Create(t, framework.PVC(ns, name, framework.ClassImmediate, "1Gi"))
	}
	e.RunApp(t, ns, "data", framework.AppOptions{}, "write", "/data/file", "x")
	startApp(t, e, ns, "live", 1234)
	freezing := framework.Policy(ns, "freezing", "live", kopiurv1.CopyDirect)
	freezing.Spec.Hooks = &kopiurv1.Hooks{
		BeforeSnapshot: []kopiurv1.Hook{command("/testapp", "wait-for", "/data/never", "2m")},
		AfterSnapshot:  []kopiurv1.Hook{command("/testapp", "write", "/data/thawed", "yes")},
	}
	freezing.Spec.Hooks.BeforeSnapshot[0].WorkloadExec.Timeout = "3m"
	pinned, doomed, fresh, frozen := framework.Snapshot(ns, "pinned", "app"), framework.Snapshot(ns, "doomed", "app"),
		framework.Snapshot(ns, "fresh", "app"), framework.Snapshot(ns, "frozen", "freezing")
	e.Create(t, framework.Policy(ns, "app", "data", kopiurv1.CopyDirect), freezing, pinned, doomed)
	e.WaitReady(t, pinned)
	e.WaitReady(t, doomed)
	id := pinned.Status.Snapshot.KopiaSnapshotID

	e.Cordon(t, true) // no mover starts, and no controller either
	back := framework.RestoreInto(ns, "back", "pinned", "copy")
	e.Create(t, fresh, frozen, back)
	require.NoError(t, e.Client.Patch(t.Context(), pinned, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"pin":true}}`))))
	require.NoError(t, e.Client.Delete(t.Context(), doomed))
	jobs := map[string]*batchv1.Job{"a backup": nil, "a pin": nil, "a deletion": nil, "a restore": nil}
	labels := map[string]map[string]string{
		"a backup":   jobsOf(fresh),
		"a pin":      {kopiurv1.LabelOwnerUID: string(pinned.UID), kopiurv1.LabelOperation: "pin"},
		"a deletion": {kopiurv1.LabelOperation: kopiurv1.OperationSnapshotDelete},
		"a restore":  {kopiurv1.LabelOwnerUID: string(back.UID)},
	}
	for what := range jobs {
		e.Eventually(t, "the Job of "+what, func(context.Context) string {
			list := e.Jobs(t, ns, labels[what])
			if len(list) != 1 {
				return "there is none"
			}
			jobs[what] = &list[0]
			return ""
		})
	}
	e.Eventually(t, "a hook to run", func(ctx context.Context) string {
		if err := e.Client.Get(ctx, client.ObjectKeyFromObject(frozen), frozen); err != nil {
			return err.Error()
		}
		if h := frozen.Status.Hooks; h == nil || h.PreStartedAt == "" {
			return "none was started"
		}
		return ""
	})

	killController(t, e)
	e.Cordon(t, false)
	for what, job := range jobs {
		e.Eventually(t, what+" to end while nobody looks", func(ctx context.Context) string {
			if err := e.Client.Get(ctx, client.ObjectKeyFromObject(job), job); err != nil {
				return err.Error()
			}
			if job.Status.CompletionTime == nil {
				return "it goes on"
			}
			return ""
		})
	}
	controllerDeployment(t, e, 1)

	e.WaitReady(t, fresh)
	e.WaitReady(t, back)
	e.WaitCondition(t, pinned, kopiurv1.ConditionPinned, metav1.ConditionTrue, kopiurv1.ReasonPinned)
	assert.NotEqual(t, id, pinned.Status.Snapshot.KopiaSnapshotID, "pinning gave it another id")
	e.WaitGone(t, doomed)
	e.WaitCondition(t, frozen, kopiurv1.ConditionStalled, metav1.ConditionTrue, "")
	assert.Equal(t, kopiurv1.ReasonPreHookInterrupted, framework.Condition(frozen, kopiurv1.ConditionStalled).Reason)
	assert.Equal(t, "yes", e.RunApp(t, ns, "live", framework.AppOptions{}, "cat", "/data/thawed"))
	assert.Equal(t, "x", e.RunApp(t, ns, "copy", framework.AppOptions{}, "cat", "/data/file"))
	assert.Len(t, e.Jobs(t, ns, labels["a backup"]), 1)
	assert.Len(t, e.Jobs(t, ns, labels["a restore"]), 1)
	assert.Equal(t, int32(1), fresh.Status.Job.Attempts)
	third := framework.RestoreInto(ns, "third", "", "copy")
	third.Spec.Source = kopiurv1.RestoreSource{FromPolicy: &kopiurv1.FromPolicy{Name: "app", Offset: 2}}
	e.Create(t, third)
	e.WaitCondition(t, third, kopiurv1.ConditionStalled, metav1.ConditionTrue, "")
	assert.Contains(t, framework.Condition(third, kopiurv1.ConditionResolved).Message, "has 2 snapshots", "the pinned one and the fresh one")
}

// killController ends the leading controller at once, and lets no other follow.
func killController(t *testing.T, e *framework.Env) {
	t.Helper()
	t.Cleanup(func() {
		// Others need it even when this test fails half way.
		d := controller()
		_ = e.Client.Patch(context.WithoutCancel(t.Context()), d, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":1}}`)))
	})
	var leases coordinationv1.LeaseList
	require.NoError(t, e.Client.List(t.Context(), &leases, client.InNamespace(controller().Namespace)))
	d := controller()
	require.NoError(t, e.Client.Patch(t.Context(), d, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":0}}`))))
	for i := range leases.Items {
		if holder := leases.Items[i].Spec.HolderIdentity; holder != nil && *holder != "" {
			p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: *holder}}
			require.NoError(t, client.IgnoreNotFound(e.Client.Delete(t.Context(), p, client.GracePeriodSeconds(0))))
		}
	}
	controllerDeployment(t, e, 0)
}
