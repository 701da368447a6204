// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package snapshotschedule_test drives schedules against a real API server.
package snapshotschedule_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// Needs the API server of KOPIUR_TEST_KUBECONFIG.
func TestMain(m *testing.M) { os.Exit(testenv.Main(m)) }

// lab is one test's namespace with a repository, a policy and an hourly schedule.
type lab struct {
	*testenv.Env
	t          *testing.T
	time       *testenv.Time
	repository *kopiurv1.Repository
	policy     *kopiurv1.SnapshotPolicy
	schedule   *kopiurv1.SnapshotSchedule
}

func newLab(t *testing.T) *lab {
	t.Helper()
	l := &lab{Env: testenv.New(t), t: t}
	l.time = l.NewTime()
	l.repository = &kopiurv1.Repository{ObjectMeta: metav1.ObjectMeta{Name: "nas"}, Spec: kopiurv1.RepositorySpec{
		Backend:    kopiurv1.Backend{S3: &kopiurv1.S3Backend{Bucket: "backups"}},
		Encryption: kopiurv1.Encryption{PasswordSecretRef: kopiurv1.SecretKeyRef{Name: "password"}},
	}}
	l.policy = l.newPolicy("web")
	l.schedule = &kopiurv1.SnapshotSchedule{ObjectMeta: metav1.ObjectMeta{Name: "hourly"}, Spec: kopiurv1.SnapshotScheduleSpec{
		PolicyRef: &kopiurv1.PolicyRef{Name: "web"},
		Schedule:  kopiurv1.ScheduleSpec{CronSpec: kopiurv1.CronSpec{Cron: "0 * * * *"}},
	}}
	return l
}

func (l *lab) newPolicy(name string) *kopiurv1.SnapshotPolicy {
	return &kopiurv1.SnapshotPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: kopiurv1.SnapshotPolicySpec{
		Repository: &kopiurv1.RepositoryRef{Name: "nas"}, CopyMethod: kopiurv1.CopyDirect,
		Sources: []kopiurv1.Source{{PVC: &kopiurv1.LocalRef{Name: "data"}}},
	}}
}

// start makes everything, the schedule last, and a controller that goes by the lab's clock.
func (l *lab) start() *testenv.Controller {
	l.t.Helper()
	l.Create(testenv.Secret("password", map[string]string{"KOPIA_PASSWORD": "x"}), testenv.Claim("data"), l.repository, l.policy)
	c := l.StartController(l.time.Decisions)
	l.connected()
	l.Create(l.schedule)
	return c
}

func (l *lab) connected() {
	l.t.Helper()
	require.EventuallyWithT(l.t, func(c *assert.CollectT) {
		l.GetC(c, l.repository)
		assert.Equal(c, kopiurv1.RepositoryReady, l.repository.Status.Phase)
	}, testenv.Wait, testenv.Tick)
}

// says waits for the schedule's own words.
func (l *lab) says(kind string, status metav1.ConditionStatus, reason string) metav1.Condition {
	l.t.Helper()
	var got metav1.Condition
	require.EventuallyWithT(l.t, func(c *assert.CollectT) {
		l.GetC(c, l.schedule)
		found := meta.FindStatusCondition(l.schedule.Status.Conditions, kind)
		if !assert.NotNil(c, found, "%+v", l.schedule.Status) {
			return
		}
		got = *found
		assert.Equal(c, status, got.Status, "%s", got.Message)
		assert.Equal(c, reason, got.Reason, "%s", got.Message)
		assert.Equal(c, l.schedule.Generation, got.ObservedGeneration)
	}, testenv.Wait, testenv.Tick)
	return got
}

// pinned waits for a next run that lies ahead, and gives its time.
func (l *lab) pinned() time.Time {
	l.t.Helper()
	var at time.Time
	require.EventuallyWithT(l.t, func(c *assert.CollectT) {
		l.GetC(c, l.schedule)
		if !assert.NotNil(c, l.schedule.Status.NextSchedule, "%+v", l.schedule.Status) {
			return
		}
		var err error
		at, err = time.Parse(time.RFC3339, l.schedule.Status.NextSchedule.At)
		require.NoError(c, err)
		assert.True(c, at.After(l.time.Now()))
	}, testenv.Wait, testenv.Tick)
	return at
}

// toNext lets the time pass until the next run is due, and waits until that was seen to.
func (l *lab) toNext() time.Time {
	l.t.Helper()
	at := l.pinned()
	l.time.Step(at.Sub(l.time.Now()))
	require.EventuallyWithT(l.t, func(c *assert.CollectT) {
		l.GetC(c, l.schedule)
		if assert.NotNil(c, l.schedule.Status.NextSchedule) {
			assert.NotEqual(c, at.Format(time.RFC3339), l.schedule.Status.NextSchedule.At)
		}
	}, testenv.Wait, testenv.Tick)
	return at
}

// snapshots of the namespace, oldest slot first.
func (l *lab) snapshots() []kopiurv1.Snapshot {
	l.t.Helper()
	var list kopiurv1.SnapshotList
	require.NoError(l.t, l.Client.List(l.t.Context(), &list, client.InNamespace(l.Namespace)))
	slices.SortFunc(list.Items, func(a, b kopiurv1.Snapshot) int {
		return strings.Compare(slot(&a)+a.Name, slot(&b)+b.Name)
	})
	return list.Items
}

func slot(s *kopiurv1.Snapshot) string { return s.Annotations[kopiurv1.AnnotationScheduleSlot] }

// arrive waits until there are n Snapshots and all of them are in a phase.
func (l *lab) arrive(n int, phase kopiurv1.SnapshotPhase) []kopiurv1.Snapshot {
	l.t.Helper()
	var list []kopiurv1.Snapshot
	require.EventuallyWithT(l.t, func(c *assert.CollectT) {
		list = l.snapshots()
		if !assert.Len(c, list, n) {
			return
		}
		for i := range list {
			assert.Equal(c, phase, list[i].Status.Phase, "%s: %+v", list[i].Name, list[i].Status.Conditions)
		}
	}, testenv.Wait, testenv.Tick)
	return list
}

// recorded waits until the end of the last run is in the schedule's status.
func (l *lab) recorded(success bool) {
	l.t.Helper()
	require.EventuallyWithT(l.t, func(c *assert.CollectT) {
		l.GetC(c, l.schedule)
		st := l.schedule.Status
		of := st.LastSuccessfulSchedule
		if !success {
			of = st.LastFailedSchedule
		}
		if assert.NotNil(c, of) {
			assert.Equal(c, st.LastSchedule.Slot, of.Slot)
		}
	}, testenv.Wait, testenv.Tick)
}
