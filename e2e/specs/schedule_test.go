// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package specs

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/e2e/framework"
)

// TestScheduleAndRetention: a schedule runs at once and then when its minute comes, and the policy's retention deletes what
// it does not keep: the object, and what is in the repository.
func TestScheduleAndRetention(t *testing.T) {
	t.Parallel()
	e := framework.New(t)
	ns := e.Namespace(t, nil)
	e.FilesystemRepository(t, ns)
	e.Create(t, framework.PVC(ns, "data", framework.ClassImmediate, "1Gi"))
	e.RunApp(t, ns, "data", framework.AppOptions{}, "write", "/data/file", "x")
	p := framework.Policy(ns, "app", "data", kopiurv1.CopyDirect)
	p.Spec.Retention = &kopiurv1.Retention{KeepLatest: new(int32(2))}
	first := framework.Snapshot(ns, "by-hand", "app")
	e.Create(t, p, first)
	e.WaitReady(t, first)

	schedule := &kopiurv1.SnapshotSchedule{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "minutely"}}
	schedule.Spec.PolicyRef = &kopiurv1.PolicyRef{Name: "app"}
	schedule.Spec.Schedule = kopiurv1.ScheduleSpec{CronSpec: kopiurv1.CronSpec{Cron: "* * * * *"}, RunOnCreate: true}
	e.Create(t, schedule)
	slots := func(ctx context.Context) ([]kopiurv1.Snapshot, error) {
		var list kopiurv1.SnapshotList
		err := e.Client.List(ctx, &list, client.InNamespace(ns), client.MatchingLabels{kopiurv1.LabelSchedule: schedule.Name})
		return list.Items, err
	}
	e.Eventually(t, "a run at once and one at its minute", func(ctx context.Context) string {
		list, err := slots(ctx)
		if err != nil {
			return err.Error()
		}
		done := 0
		for i := range list {
			if list[i].Status.Phase == kopiurv1.SnapshotSucceeded {
				done++
			}
		}
		if done < 2 {
			return fmt.Sprintf("%d of %d have succeeded", done, len(list))
		}
		return ""
	})
	require.NoError(t, e.Client.Patch(t.Context(), schedule, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"schedule":{"suspend":true}}}`))))

	e.WaitGone(t, first)
	var kept []kopiurv1.Snapshot
	e.Eventually(t, "the two newest to be left", func(ctx context.Context) string {
		var err error
		if kept, err = slots(ctx); err != nil {
			return err.Error()
		}
		for i := range kept {
			if kept[i].Status.Phase != kopiurv1.SnapshotSucceeded || kept[i].DeletionTimestamp != nil {
				return kept[i].Name + " is " + string(kept[i].Status.Phase)
			}
		}
		if len(kept) != 2 {
			return fmt.Sprintf("%d are there", len(kept))
		}
		return ""
	})
	turns := map[string]bool{}
	for i := range kept {
		assert.Equal(t, kopiurv1.OriginScheduled, kept[i].Status.Origin)
		slot, err := time.Parse(time.RFC3339, kept[i].Annotations[kopiurv1.AnnotationScheduleSlot])
		require.NoError(t, err)
		turns[slot.String()] = true
	}
	assert.Len(t, turns, 2, "each turn once")
	require.NoError(t, e.Client.Get(t.Context(), client.ObjectKeyFromObject(schedule), schedule))
	assert.Zero(t, schedule.Status.ConsecutiveFailures)
	require.NotNil(t, schedule.Status.LastSuccessfulSchedule)
	e.WaitEvent(t, p, corev1.EventTypeNormal, kopiurv1.ReasonPruned)
	stored(t, e, ns, "app", 2)
}

// stored proves how many complete snapshots of a policy the repository holds: asked for the one before the oldest, it
// answers how many it has. A policy with history never continues with an empty volume, so the Restore fails (K-1).
func stored(t *testing.T, e *framework.Env, ns, policy string, n int) {
	t.Helper()
	r := framework.RestoreInto(ns, "before-the-oldest", "", "data")
	r.Spec.Source = kopiurv1.RestoreSource{FromPolicy: &kopiurv1.FromPolicy{Name: policy, Offset: int64(n)}}
	e.Create(t, r)
	e.WaitCondition(t, r, kopiurv1.ConditionStalled, metav1.ConditionTrue, "")
	assert.Contains(t, framework.Condition(r, kopiurv1.ConditionResolved).Message, fmt.Sprintf("has %d snapshot", n))
}
