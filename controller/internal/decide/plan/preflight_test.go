// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/plan"
	"github.com/kopiur/kopiur/controller/internal/decide/slots"
)

// checks gives the policy checks, and a world in which all facts were looked up.
func checks(exprs ...string) func(*plan.World) {
	return func(w *plan.World) {
		w.Policy.Spec.Preflight = &kopiurv1.Preflight{}
		for i, e := range exprs {
			w.Policy.Spec.Preflight.Checks = append(w.Policy.Spec.Preflight.Checks, kopiurv1.PreflightCheck{Name: string(rune('a' + i)), Expr: e})
		}
		w.Asked |= plan.AskNamespace | plan.AskPods
		w.Namespace = &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"tier": "gold"}}}
		w.Repository.Status.StorageStats = &kopiurv1.StorageStats{SnapshotCount: 7, TotalSizeBytes: 1 << 30, IndexBlobCount: 5}
		db := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "db-0", Labels: map[string]string{"app": "db"}}}
		db.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
		db.Status.Phase = corev1.PodRunning
		db.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		w.Neighbours = []corev1.Pod{db, {ObjectMeta: metav1.ObjectMeta{Name: "other"}}}
	}
}

func waited(d time.Duration) func(*plan.World) {
	return func(w *plan.World) { w.Snapshot.Status.PreflightSince = now.Add(-d).Format(time.RFC3339) }
}

func TestPreflight(t *testing.T) {
	t.Parallel()
	const wait, pendingPhase = plan.Wait, kopiurv1.SnapshotPending
	const failed = kopiurv1.ReasonPreflightFailed
	for name, tc := range map[string]row{
		"all variables are collected": {world(checks(
			`namespace == "apps" && policyName == "web" && origin == "manual"`, `namespaceLabels["tier"] == "gold"`,
			`repository.name == "nas" && repository.kind == "Repository" && repository.phase == "Ready" && repository.snapshots == 7 && repository.bytes == 1073741824 && repository.indexBlobs == 5`,
			`pvc.name == "data" && pvc.storageClassName == "fast" && pvc.volumeMode == "Filesystem" && pvc.bytes == 1073741824 && "ReadWriteOnce" in pvc.accessModes`,
			`pods.size() == 1 && pods[0].name == "db-0" && pods[0].labels["app"] == "db" && pods[0].ready && pods[0].phase == "Running"`,
		)), plan.Start, pendingPhase, "", "", 0, ""},
		"the first that is false is named":                {world(checks(`true`, `pods.exists(p, p.labels["app"] == "web")`)), wait, pendingPhase, failed, `check b`, 30 * time.Second, ""},
		"its message is the user's own":                   {world(checks(`false`), func(w *plan.World) { w.Policy.Spec.Preflight.Checks[0].Message = "start the database" }), wait, pendingPhase, failed, "check a: start the database", 30 * time.Second, ""},
		"what is not known is waited for":                 {world(checks(`pvc.bytes > 0`), func(w *plan.World) { w.Source = nil }), wait, pendingPhase, kopiurv1.ReasonWaitingForPreflightData, "pvc is not known", 30 * time.Second, ""},
		"none is not zero":                                {world(checks(`repository.bytes < 10`), func(w *plan.World) { w.Repository.Status.StorageStats = nil }), wait, pendingPhase, kopiurv1.ReasonWaitingForPreflightData, "repository is not known", 30 * time.Second, ""},
		"a wait ends with the timeout":                    {world(checks(`false`), waited(10*time.Minute)), plan.Fail, kopiurv1.SnapshotFailed, failed, "given up after 10m0s (preflight.timeout)", 0, plan.OpPrepare},
		"shortly before it, the rest is what is left":     {world(checks(`false`), waited(10*time.Minute-5*time.Second)), wait, pendingPhase, failed, "check a", 5 * time.Second, ""},
		"a timeout of 0 waits for ever":                   {world(checks(`false`), waited(1000*time.Hour), func(w *plan.World) { w.Policy.Spec.Preflight.Timeout = "0" }), wait, pendingPhase, failed, "", 30 * time.Second, ""},
		"a Snapshot that is tried again has all its time": {world(checks(`false`), waited(time.Hour), failedIn(plan.OpPrepare), changed), wait, pendingPhase, failed, "", 30 * time.Second, ""},
		"once a copy is begun nobody checks any more":     {world(begun(), checks(`false`), cut(true, time.Minute), copied(corev1.ClaimBound, 0)), plan.Start, pendingPhase, "", "", 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := check(t, tc)
			assert.Equal(t, p.Action == plan.Wait, p.Preflight)
		})
	}
	forget := func(w *plan.World) { w.Asked = 0 }
	assert.Equal(t, plan.AskPods, plan.Decide(world(checks(`pods.size() > 0`), forget), now).Ask)
	assert.Equal(t, plan.AskNamespace, plan.Decide(world(checks(`"a" in namespaceAnnotations`), forget), now).Ask)
	assert.Zero(t, plan.Decide(world(checks(`pvc.bytes > 0`), forget), now).Ask, "a claim is in the cache")
}

func TestSlot(t *testing.T) {
	t.Parallel()
	limited := func(w *plan.World) { w.ClusterLimit = 2 }
	assert.Equal(t, plan.AskSlot, plan.Decide(world(limited), now).Ask)
	assert.Zero(t, plan.Decide(world(), now).Ask, "without limits nobody counts")
	verdict := func(v slots.Verdict) func(*plan.World) {
		return func(w *plan.World) { w.Asked, w.Slot = plan.AskSlot, v }
	}
	check(t, row{world(limited, verdict(slots.Verdict{Admitted: true})), plan.Start, kopiurv1.SnapshotPending, "", "", 0, ""})
	p := check(t, row{world(limited, verdict(slots.Verdict{State: slots.Queued, Message: "next"})), plan.Wait, kopiurv1.SnapshotPending, kopiurv1.ReasonWaitingForSlot, "next", 0, ""})
	assert.Equal(t, kopiurv1.ConditionRepositorySlotAvailable, p.Conditions[len(p.Conditions)-1].Type)
	p = check(t, row{world(limited, verdict(slots.Verdict{State: slots.Parked, Message: "next"})), plan.Wait, kopiurv1.SnapshotPending, kopiurv1.ReasonWaitingForSlot, "next", 0, ""})
	assert.NotEqual(t, kopiurv1.ConditionRepositorySlotAvailable, p.Conditions[len(p.Conditions)-1].Type, "it is not the repository's slot that it waits for")
}

// K-2: a source that turned from many files to few is not silently a success.
func TestShrunkK2(t *testing.T) {
	t.Parallel()
	files := func(n int64) *kopiurv1.SnapshotStats { return &kopiurv1.SnapshotStats{Files: n} }
	for name, tc := range map[string]struct {
		before, after *kopiurv1.SnapshotStats
		want          bool
	}{
		"the first snapshot":            {nil, files(0), false},
		"a few files to none":           {files(1), files(0), true},
		"many to a tenth":               {files(100), files(10), true},
		"many to a little more":         {files(100), files(11), false},
		"few to one":                    {files(99), files(1), false},
		"an empty source that stays so": {files(0), files(0), false},
		"a source that grows":           {files(10), files(1000), false},
		"a result without numbers":      {files(10), nil, false},
		"a thousand to none":            {files(1000), files(0), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := plan.Shrunk(tc.before, tc.after)
			assert.Equal(t, tc.want, c != nil)
		})
	}
}
