// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package numbers_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// TestNothingIsAskedForAtRest is the short form of budget C1 (acceptance E-3, E-4, E-5): whatever state objects have come
// to, at rest they cost no request. Time is moved over every heartbeat, and it is seen that each object was looked at.
func TestNothingIsAskedForAtRest(t *testing.T) { //nolint:paralleltest // it goes by what the whole process looks at
	l := newLab(t)
	ns := l.Namespace
	l.Mover(func(c testenv.Call) testenv.Play {
		if op := c.Spec.Operation.Snapshot; op != nil && op.Description == "fail" {
			return testenv.Fail(c, work.CodePermissionDenied, "the source cannot be read")
		}
		return testenv.Succeed(c)
	})
	l.claim(ns)
	nas := l.repository(ns, "nas")
	guarded := l.policy(nas, "guarded", func(p *kopiurv1.SnapshotPolicy) {
		p.Spec.Deletion = &kopiurv1.PolicyDeletion{OnPolicyDelete: kopiurv1.CascadeDelete}
	})
	web := l.policy(nas, "web")
	l.policy(nas, "suspended", func(p *kopiurv1.SnapshotPolicy) { p.Spec.Suspend = true })
	l.Create(&kopiurv1.SnapshotSchedule{ObjectMeta: metav1.ObjectMeta{Name: "yearly"}, Spec: kopiurv1.SnapshotScheduleSpec{
		PolicyRef: &kopiurv1.PolicyRef{Name: web.Name}, Schedule: kopiurv1.ScheduleSpec{CronSpec: kopiurv1.CronSpec{Cron: far(time.Now())}},
	}})
	lost := l.policy(&kopiurv1.Repository{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "lost"}}, "lost")
	l.stored(guarded, 30)

	clock := l.NewTime()
	asked := l.Audit()
	l.StartController(clock.Decisions)
	l.is(nas, kopiurv1.ConditionReady, metav1.ConditionTrue)
	l.is(web, kopiurv1.ConditionReady, metav1.ConditionTrue)

	snapshot := func(name string, edit func(*kopiurv1.Snapshot)) *kopiurv1.Snapshot {
		s := &kopiurv1.Snapshot{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: kopiurv1.SnapshotSpec{PolicyRef: &kopiurv1.PolicyRef{Name: "web"}}}
		edit(s)
		l.Create(s)
		return s
	}
	done := snapshot("done", func(*kopiurv1.Snapshot) {})
	pinned := snapshot("pinned", func(s *kopiurv1.Snapshot) { s.Spec.Pin = true })
	failed := snapshot("failed", func(s *kopiurv1.Snapshot) { s.Spec.Description = "fail" })
	waiting := snapshot("waiting", func(s *kopiurv1.Snapshot) { s.Spec.PolicyRef.Name = lost.Name })
	l.is(done, kopiurv1.ConditionReady, metav1.ConditionTrue)
	l.is(pinned, kopiurv1.ConditionPinned, metav1.ConditionTrue)
	l.is(failed, kopiurv1.ConditionStalled, metav1.ConditionTrue)
	l.is(waiting, kopiurv1.ConditionReconciling, metav1.ConditionTrue)
	restore := &kopiurv1.Restore{ObjectMeta: metav1.ObjectMeta{Name: "back"}, Spec: kopiurv1.RestoreSpec{
		Source: kopiurv1.RestoreSource{SnapshotRef: &kopiurv1.ObjectRef{Name: done.Name}},
		Target: kopiurv1.RestoreTarget{PVC: &kopiurv1.TargetPVC{Name: "data-new", Capacity: "1Gi"}},
	}}
	l.Create(restore)
	l.is(restore, kopiurv1.ConditionReady, metav1.ConditionTrue)
	// Twelve deletions are more than the repository's threshold: they are held.
	l.held(guarded, 12)
	l.still(asked, 5*time.Second)
	t.Logf("until everything was at rest: %s", testenv.Told(testenv.Tally(asked.Requests())))

	asked = l.Audit()
	snapshots := l.reconciled("Snapshot")
	for range 8 {
		clock.Step(15 * time.Minute) // the longest heartbeat is an hour
		l.still(l.Audit(), 1500*time.Millisecond)
	}
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		assert.GreaterOrEqual(c, l.reconciled("Snapshot")-snapshots, 34.0, "every Snapshot was looked at")
	}, testenv.Wait, testenv.Tick)
	var list []string
	for _, r := range asked.Requests() {
		list = append(list, r.String()+" "+r.Name)
	}
	assert.Empty(t, list, "in two hours at rest")
}

// far is a time of the year that is half a year away.
func far(now time.Time) string {
	return fmt.Sprintf("0 0 1 %d *", int(now.AddDate(0, 6, 0).Month()))
}

// held deletes Snapshots of a policy and waits until all of them are held.
func (l *lab) held(p *kopiurv1.SnapshotPolicy, n int) {
	l.t.Helper()
	var list kopiurv1.SnapshotList
	require.NoError(l.t, l.Client.List(l.t.Context(), &list, labelled(p)...))
	require.GreaterOrEqual(l.t, len(list.Items), n)
	for i := range n {
		require.NoError(l.t, l.Client.Delete(l.t.Context(), &list.Items[i]))
	}
	for i := range n {
		l.is(&list.Items[i], kopiurv1.ConditionDeletionHeld, metav1.ConditionTrue)
	}
}
