// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// TestMassDeletionIsHeldUntilAcknowledged: fifty go at once and nothing is deleted, however long one waits, whoever
// restarts, and although the count falls. The acknowledgement lets go what was deleted before it, in one Job (D-1, D-2).
func TestMassDeletionIsHeldUntilAcknowledged(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.base()
	list := l.stored(62)
	wave, later := list[:50], list[50:]
	first := l.run()
	l.remove(wave...)
	l.held(wave...)
	assert.Equal(t, metav1.ConditionTrue, condition(wave[0], kopiurv1.ConditionStalled).Status, "it needs somebody")
	for _, part := range []string{"Repository " + l.Namespace + "/nas", kopiurv1.AnnotationAllowMassDeletion, kopiurv1.AnnotationSkipSnapshotCleanup} {
		assert.Contains(t, condition(wave[0], kopiurv1.ConditionReady).Message, part, "kubectl describe alone says what to do")
	}
	l.untouched()

	// The count falls below the threshold: what was held stays held.
	for _, s := range wave[5:] {
		l.Annotate(s, kopiurv1.AnnotationSkipSnapshotCleanup, "")
	}
	l.gone(wave[5:]...)
	first.Stop()
	l.run()
	l.held(wave[:5]...)
	l.untouched()

	l.acknowledge()
	l.gone(wave[:5]...)
	require.Len(t, l.deletions(), 1, "one Job, one connection")
	assert.Len(t, l.deleted(), 5)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		l.GetC(c, l.repository)
		assert.Equal(c, metav1.Condition{}, condition(l.repository, kopiurv1.ConditionMassDeletionHeld))
	}, testenv.Wait, testenv.Tick)

	// The acknowledgement stays on the repository, as it would in Git, and covers nothing that comes after it.
	l.nextSecond()
	l.remove(later...)
	l.held(later...)
	l.untouchedBut(1)
}

// TestNineGoAndATenthHoldsThem: what was not fired yet is counted again when it would be.
func TestNineGoAndATenthHoldsThem(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.base()
	list := l.stored(10)
	l.run()
	l.remove(list[:9]...)
	l.waits(kopiurv1.ConditionReady, metav1.ConditionFalse, kopiurv1.ReasonDeletionQueued, list[:9]...)
	l.remove(list[9])
	l.waits(kopiurv1.ConditionDeletionHeld, metav1.ConditionTrue, kopiurv1.ReasonMassDeletionBreaker, list[9])
	l.quiet()
	l.held(list...)
	l.untouched()
}

// TestTheThreshold is the repository's own; 0 is without protection.
func TestTheThreshold(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		threshold int32
		n         int
		held      bool
	}{
		"two hold":               {2, 2, true},
		"one does not":           {2, 1, false},
		"nought holds nothing":   {0, 12, false},
		"nine pass by the usual": {10, 9, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.repository.Spec.DeletionProtection = &kopiurv1.DeletionProtection{Threshold: &tc.threshold}
			l.base()
			list := l.stored(tc.n)
			l.run()
			l.remove(list...)
			if tc.held {
				l.held(list...)
				l.untouched()
				// Switching the protection off lets go.
				l.Change(l.repository, func() { l.repository.Spec.DeletionProtection.Threshold = new(int32(0)) })
			} else {
				l.waits(kopiurv1.ConditionReady, metav1.ConditionFalse, kopiurv1.ReasonDeletionQueued, list...)
			}
			l.quiet()
			l.gone(list...)
			assert.Len(t, l.deleted(), tc.n)
			assert.Len(t, l.deletions(), 1)
		})
	}
}

// TestKopiursOwnPrunesGoOnDuringAHold: they are neither counted nor held. A cascade is not among them.
func TestKopiursOwnPrunesGoOnDuringAHold(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.base()
	by := map[int]string{
		0: kopiurv1.PrunedByRetention, 1: kopiurv1.PrunedByFailedHistory, 2: kopiurv1.PrunedByReplicationRetention,
		3: kopiurv1.PrunedByReplacedRun, 4: kopiurv1.PrunedByPolicyCascade, 5: "somebody",
	}
	list := l.stored(20, func(i int, s *kopiurv1.Snapshot) {
		if v := by[i]; v != "" {
			s.Annotations = map[string]string{kopiurv1.AnnotationPrunedBy: v}
		}
	})
	// Before the controllers start: a stamp on a Snapshot that nobody deletes is taken away again by who would have set it.
	l.remove(list...)
	l.run()
	l.held(list[4:]...)
	l.quiet()
	l.gone(list[:4]...)
	assert.Len(t, l.deleted(), 4)
	l.held(list[4:]...)
	l.untouchedBut(1)
}

// TestAcknowledgements that have no effect (I-10): one that lies in the future, one that is no time, one from long ago,
// one that was taken back. One that lies a little ahead counts as of when it was seen.
func TestAcknowledgements(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		value      func(now time.Time) string
		wantReason string
		lets       bool
	}{
		"six minutes ahead":  {func(now time.Time) string { return now.Add(6 * time.Minute).Format(time.RFC3339) }, kopiurv1.ReasonInvalidMassDeletionAck, false},
		"no time":            {func(time.Time) string { return "true" }, kopiurv1.ReasonInvalidMassDeletionAck, false},
		"from long ago":      {func(now time.Time) string { return now.Add(-time.Hour).Format(time.RFC3339) }, kopiurv1.ReasonThresholdExceeded, false},
		"four minutes ahead": {func(now time.Time) string { return now.Add(4 * time.Minute).Format(time.RFC3339) }, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.base()
			list := l.stored(10)
			l.run()
			l.remove(list...)
			l.held(list...)
			value := tc.value(l.server.Now().UTC())
			l.Annotate(l.repository, kopiurv1.AnnotationAllowMassDeletion, value)
			if tc.lets {
				l.gone(list...)
				l.Get(l.repository)
				require.NotNil(t, l.repository.Status.DeletionAck)
				assert.Equal(t, value, l.repository.Status.DeletionAck.Value)
				at, err := time.Parse(time.RFC3339, l.repository.Status.DeletionAck.EffectiveAt)
				require.NoError(t, err)
				assert.WithinDuration(t, l.server.Now(), at, 2*time.Minute, "as of when it was first seen")
				assert.NotEqual(t, value, l.repository.Status.DeletionAck.EffectiveAt)
				return
			}
			l.repositorySays(metav1.ConditionTrue, tc.wantReason)
			l.untouched() // hours pass: one that lay in the future does not come to life
			l.stillHeld(list...)
		})
	}
}
