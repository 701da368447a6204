// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// failed waits until Snapshots have recorded a failure, and until the Job that failed is gone.
func (l *lab) failed(attempts int32, list ...*kopiurv1.Snapshot) {
	l.t.Helper()
	require.EventuallyWithT(l.t, func(c *assert.CollectT) {
		for _, s := range list {
			l.GetC(c, s)
			if assert.NotNil(c, s.Status.Deletion, describe(s)) {
				assert.Equal(c, attempts, s.Status.Deletion.Attempts)
			}
			assert.Equal(c, kopiurv1.ReasonDeletionFailed, condition(s, kopiurv1.ConditionReady).Reason)
		}
		assert.Empty(c, l.jobs(), "a Job that failed is removed once all its members have recorded it")
	}, testenv.Wait, testenv.Tick)
}

// TestAFailedJobIsRecordedAndTriedAgain under the same name, after two minutes and then after four. Object lock is such a
// failure (D-11).
func TestAFailedJobIsRecordedAndTriedAgain(t *testing.T) {
	t.Parallel()
	for name, play := range map[string]func(c testenv.Call) testenv.Play{
		"object lock": func(c testenv.Call) testenv.Play {
			return testenv.Fail(c, work.CodeLocked, "the store refuses to delete blobs that object lock still protects")
		},
		"a result that was lost": func(c testenv.Call) testenv.Play {
			p := testenv.Succeed(c)
			p.PodGone = true
			return p
		},
		"a deadline": func(testenv.Call) testenv.Play { return testenv.Play{DeadlineKilled: true} },
		"a success that names nobody": func(c testenv.Call) testenv.Play {
			p := testenv.Succeed(c)
			p.Result.Delete = nil
			return p
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.base()
			list := l.stored(3)
			jobs := map[string]bool{}
			broken := true
			l.onDelete(func(c testenv.Call, _ int) testenv.Play {
				jobs[c.Job] = true
				if broken {
					return play(c)
				}
				return testenv.Succeed(c)
			})
			l.run()
			l.remove(list...)
			l.waits(kopiurv1.ConditionReady, metav1.ConditionFalse, kopiurv1.ReasonDeletionQueued, list...)
			l.quiet()
			l.failed(1, list...)
			n := len(l.deletions())
			l.time.Step(90 * time.Second)
			assert.Len(t, l.deletions(), n, "not before two minutes")
			l.time.Step(31 * time.Second)
			l.failed(2, list...)
			l.time.Step(3 * time.Minute)
			l.failed(2, list...)
			l.Mover(func(c testenv.Call) testenv.Play {
				if c.Spec.Operation.Delete != nil {
					jobs[c.Job] = true
				}
				return testenv.Succeed(c)
			})
			l.time.Step(61 * time.Second)
			l.gone(list...)
			assert.Len(t, jobs, 1, "the same members, the same name")
		})
	}
}

// TestWhatTheMoverRefusesStays, and says how to let go. It holds nobody up.
func TestWhatTheMoverRefusesStays(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.base()
	list := l.stored(3)
	l.onDelete(func(c testenv.Call, _ int) testenv.Play {
		p := testenv.Succeed(c)
		var letters strings.Builder
		for _, m := range c.Spec.Operation.Delete.Members {
			if m.ID == "k001" {
				letters.WriteString(string(work.DeleteRefused))
			} else {
				letters.WriteString(string(work.DeleteDone))
			}
		}
		p.Result.Code, p.Result.Message = work.CodeSnapshotMismatch, "1 of 3 snapshots were not deleted"
		p.Result.Delete = &work.DeleteResult{Deleted: 2, Refused: 1, Outcomes: work.DeleteOutcomes(letters.String())}
		return p
	})
	l.run()
	l.remove(list...)
	l.waits(kopiurv1.ConditionReady, metav1.ConditionFalse, kopiurv1.ReasonDeletionQueued, list...)
	l.quiet()
	l.failed(1, list[1])
	assert.Equal(t, metav1.ConditionTrue, condition(list[1], kopiurv1.ConditionStalled).Status)
	assert.Contains(t, condition(list[1], kopiurv1.ConditionStalled).Message, kopiurv1.AnnotationSkipSnapshotCleanup)
	l.gone(list[0], list[2])
	l.Annotate(list[1], kopiurv1.AnnotationSkipSnapshotCleanup, "")
	l.gone(list[1])
	assert.Len(t, l.deletions(), 1)
}

// TestARepositoryThatIsDown is not asked again and again: deletions wait until it is Ready.
func TestARepositoryThatIsDown(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.base()
	list := l.stored(2)
	l.run()
	l.Change(l.repository, func() { l.repository.Spec.Mode = kopiurv1.ModeReadOnly })
	l.remove(list...)
	l.waits(kopiurv1.ConditionReady, metav1.ConditionFalse, kopiurv1.ReasonRepositoryReadOnly, list...)
	l.untouched()
	l.Change(l.repository, func() { l.repository.Spec.Mode = kopiurv1.ModeReadWrite })
	l.quiet()
	l.gone(list...)
}

// TestASuspendedRepositoryStillDeletes: suspending stops new work, and never what was deleted before.
func TestASuspendedRepositoryStillDeletes(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.base()
	list := l.stored(1)
	l.run()
	l.Change(l.repository, func() { l.repository.Spec.Suspend = true })
	l.remove(list...)
	l.waits(kopiurv1.ConditionReady, metav1.ConditionFalse, kopiurv1.ReasonDeletionQueued, list...)
	l.quiet()
	l.gone(list...)
	assert.Len(t, l.deleted(), 1)
}
