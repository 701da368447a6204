// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshotschedule_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/testenv"
	"github.com/kopiur/kopiur/controller/setup"
)

// TestPoliciesBySelector: a run is one Snapshot of each, and labels decide at the moment it is made.
func TestPoliciesBySelector(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.schedule.Spec.PolicyRef = nil
	l.schedule.Spec.PolicySelector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "gold"}}
	l.start()
	l.says(kopiurv1.ConditionReady, metav1.ConditionFalse, kopiurv1.ReasonNoPolicySelected)
	l.Label(l.policy, "tier", "gold")
	l.says(kopiurv1.ConditionReady, metav1.ConditionTrue, kopiurv1.ReasonScheduled)
	db := l.newPolicy("db")
	db.Labels, db.Spec.Sources[0].SourcePathOverride = map[string]string{"tier": "gold"}, "/db"
	l.Create(db)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		l.GetC(c, db)
		assert.Equal(c, metav1.ConditionTrue, testenv.Condition(db.Status.Conditions, kopiurv1.ConditionReady).Status)
	}, testenv.Wait, testenv.Tick)
	l.toNext()
	list := l.arrive(2, kopiurv1.SnapshotSucceeded)
	assert.Equal(t, "db", list[0].Spec.PolicyRef.Name)
	assert.Equal(t, "web", list[1].Spec.PolicyRef.Name)
	l.recorded(true)
	assert.Nil(t, l.schedule.Status.LastSchedule.SnapshotRef, "it is more than one")
}

// TestAPolicyThatComesLater gets what is owed, woken by nothing but its arrival.
func TestAPolicyThatComesLater(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.Create(testenv.Secret("password", map[string]string{"KOPIA_PASSWORD": "x"}), testenv.Claim("data"), l.repository)
	l.schedule.Spec.Schedule.RunOnCreate = true
	l.StartController(testenv.OnlyWatches)
	l.Create(l.schedule)
	got := l.says(kopiurv1.ConditionReady, metav1.ConditionFalse, kopiurv1.ReasonMissingDependency)
	assert.Contains(t, got.Message, "SnapshotPolicy "+l.Namespace+"/web does not exist")
	l.Create(l.policy)
	l.arrive(1, kopiurv1.SnapshotSucceeded)
}

// TestARunGoesToEachRepositoryH3: one slot of a policy with two repositories is two Snapshots, each of its own repository.
func TestARunGoesToEachRepositoryH3(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	offsite := l.repository.DeepCopy()
	offsite.Name, offsite.Spec.Backend.S3.Bucket = "offsite", "offsite"
	l.policy.Spec.Repository = nil
	l.policy.Spec.Repositories = []kopiurv1.RepositoryRef{{Name: "nas"}, {Name: "offsite"}}
	l.Create(offsite)
	l.start()
	l.says(kopiurv1.ConditionReady, metav1.ConditionTrue, kopiurv1.ReasonScheduled)
	l.toNext()
	list := l.arrive(2, kopiurv1.SnapshotSucceeded)
	var to, slots []string
	for i := range list {
		to = append(to, list[i].Spec.Repository.Name)
		slots = append(slots, list[i].Annotations[kopiurv1.AnnotationScheduleSlot])
	}
	assert.ElementsMatch(t, []string{"nas", "offsite"}, to)
	assert.Equal(t, slots[0], slots[1])
	l.recorded(true)
}

// TestDefaultsOfRepositories are inherited when they are looked at, and an edit of theirs counts at once.
func TestDefaultsOfRepositories(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.repository.Spec.ScheduleDefaults = &kopiurv1.ScheduleDefaults{Timezone: "Asia/Kathmandu", Jitter: "10m"}
	offsite := l.repository.DeepCopy()
	offsite.Name, offsite.Spec.ScheduleDefaults = "offsite", nil
	l.policy.Spec.Repository = nil
	l.policy.Spec.Repositories = []kopiurv1.RepositoryRef{{Name: "nas"}, {Name: "offsite"}}
	l.Create(offsite)
	l.start()
	slotIn := func(zone string, minute int) {
		t.Helper()
		require.EventuallyWithT(t, func(c *assert.CollectT) {
			l.GetC(c, l.schedule)
			if n := l.schedule.Status.NextSchedule; assert.NotNil(c, n) {
				assert.Equal(c, zone, n.Timezone)
				at, err := time.Parse(time.RFC3339, n.Slot)
				require.NoError(c, err)
				assert.Equal(c, minute, at.Minute(), "UTC")
			}
		}, testenv.Wait, testenv.Tick)
	}
	slotIn("Asia/Kathmandu", 15)
	assert.Equal(t, "10m", l.schedule.Status.NextSchedule.Jitter)

	l.Change(offsite, func() { offsite.Spec.ScheduleDefaults = &kopiurv1.ScheduleDefaults{Timezone: "Asia/Tokyo"} })
	got := l.says(kopiurv1.ConditionTimezoneDefaultAmbiguous, metav1.ConditionTrue, kopiurv1.ReasonTimezoneDefaultAmbiguous)
	assert.Contains(t, got.Message, "Asia/Kathmandu (Repository "+l.Namespace+"/nas), Asia/Tokyo")
	slotIn("UTC", 0)

	l.Change(l.schedule, func() { l.schedule.Spec.Schedule.Timezone = "Asia/Kathmandu" })
	slotIn("Asia/Kathmandu", 15)
	l.says(kopiurv1.ConditionReady, metav1.ConditionTrue, kopiurv1.ReasonScheduled)
	assert.Empty(t, testenv.Condition(l.schedule.Status.Conditions, kopiurv1.ConditionTimezoneDefaultAmbiguous).Type)
}

// TestWhatCannotBeRead names the field and is put right by an edit.
func TestWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.schedule.Spec.Schedule.Cron = "61 * * * *"
	l.start()
	got := l.says(kopiurv1.ConditionStalled, metav1.ConditionTrue, kopiurv1.ReasonInvalidSchedule)
	assert.Contains(t, got.Message, "schedule.cron")
	assert.Nil(t, l.schedule.Status.NextSchedule)
	l.Change(l.schedule, func() { l.schedule.Spec.Schedule.Cron = "* * * * *" })
	l.says(kopiurv1.ConditionReady, metav1.ConditionTrue, kopiurv1.ReasonScheduled)
}

// TestKilledAfterEveryWrite: a run of three policies, with a controller that ends after each of its first writes. Each
// Snapshot is made once.
func TestKilledAfterEveryWrite(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 5; n++ {
		t.Run(fmt.Sprintf("after %d writes", n), func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.schedule.Spec.PolicyRef, l.schedule.Spec.PolicySelector = nil, &metav1.LabelSelector{}
			// Nothing else is to write while the schedule does.
			l.repository.Spec.Suspend = true
			for _, name := range []string{"db", "mail"} {
				p := l.newPolicy(name)
				p.Spec.Sources[0].SourcePathOverride = "/" + name
				l.Create(p)
			}
			l.Create(testenv.Secret("password", map[string]string{"KOPIA_PASSWORD": "x"}), testenv.Claim("data"), l.repository, l.policy, l.schedule)
			first := l.StartController(l.time.Decisions)
			at := l.pinned()
			for _, name := range []string{"db", "mail", "web"} {
				p := l.newPolicy(name)
				p.Namespace = l.Namespace
				require.EventuallyWithT(t, func(c *assert.CollectT) {
					l.GetC(c, p)
					assert.NotEmpty(c, p.Status.Conditions)
				}, testenv.Wait, testenv.Tick)
			}
			first.Stop()
			k := l.KillAfter(n)
			second := l.StartController(func(o *setup.Options) { l.time.Decisions(o) })
			l.time.Step(at.Sub(l.time.Now()))
			select {
			case <-k.Dead():
			case <-time.After(testenv.Wait):
				t.Fatal("it made no such number of writes")
			}
			second.Stop()
			l.Spare()
			l.StartController(l.time.Decisions)
			require.EventuallyWithT(t, func(c *assert.CollectT) {
				l.GetC(c, l.schedule)
				if assert.NotNil(c, l.schedule.Status.LastSchedule) {
					assert.Equal(c, at.Format(time.RFC3339), l.schedule.Status.LastSchedule.Slot)
				}
			}, testenv.Wait, testenv.Tick)
			list := l.snapshots()
			require.Len(t, list, 3, "%v", k.Writes())
			for i, name := range []string{"db", "mail", "web"} {
				assert.Equal(t, name, list[i].Spec.PolicyRef.Name)
				assert.Equal(t, at.Format(time.RFC3339), slot(&list[i]))
			}
		})
	}
}
