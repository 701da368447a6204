// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshotreplication_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/loop"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

func (l *lab) eventuallyStored(n int) {
	l.t.Helper()
	require.EventuallyWithT(l.t, func(c *assert.CollectT) { require.Equal(c, n, l.world.stored()) }, testenv.Wait, testenv.Tick)
}

// TestMirrorSource: copies whose original is gone go, with their data, and nothing else does.
func TestMirrorSource(t *testing.T) {
	t.Parallel()
	w := newWorld(5)
	l := newLab(t, w, mirror)
	l.StartController(l.clock.Decisions)
	l.run(first)
	l.told(5)
	w.dropOldest(2)
	st := l.run(second)
	assert.Equal(t, int64(2), st.LastRun.Pruned)
	assert.Equal(t, metav1.ConditionTrue, testenv.Condition(st.Conditions, kopiurv1.ConditionPruned).Status)
	rows := l.told(3)
	assert.Equal(t, "s003", rows[0].Status.CopiedFrom.SourceManifestID)
	l.eventuallyStored(3)
}

// TestMirrorSourceIsHeld: many originals that went at once are somebody's mistake until a person says otherwise.
func TestMirrorSourceIsHeld(t *testing.T) {
	t.Parallel()
	w := newWorld(13)
	l := newLab(t, w, mirror)
	l.StartController(l.clock.Decisions)
	l.run(first)
	l.told(13)
	w.dropOldest(12)
	st := l.run(second)
	assert.Equal(t, int64(12), st.LastRun.Pruned)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		var list kopiurv1.SnapshotList
		require.NoError(c, l.Client.List(t.Context(), &list, client.InNamespace(l.Namespace), client.MatchingLabels{kopiurv1.LabelOrigin: kopiurv1.OriginReplicated}))
		held := 0
		for i := range list.Items {
			if loop.IsTrue(list.Items[i].Status.Conditions, kopiurv1.ConditionDeletionHeld) {
				held++
			}
		}
		require.Equal(c, 12, held)
	}, testenv.Wait, testenv.Tick)
	assert.Equal(t, 13, w.stored(), "the data is all there")
	st = l.run(third)
	assert.Zero(t, st.LastRun.SnapshotsCopied)
	assert.Zero(t, st.LastRun.Pruned, "what is held already is not counted again")
	assert.Equal(t, 13, w.stored())
}

// TestNothingIsPrunedByAListThatMayLackSomething (D-3): a mover that failed at something, one whose log was lost, and a
// source that holds nothing any more.
func TestNothingIsPrunedByAListThatMayLackSomething(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*world){
		"a snapshot that cannot be read": func(w *world) { w.failed = 1 },
		"a log that was lost":            func(w *world) { w.loseLog = true },
		"a source that is empty":         func(w *world) { w.source = map[time.Time]work.CopyRecord{} },
	} {
		for rule, pruning := range map[string]func(*kopiurv1.SnapshotReplication){"mirrorSource": mirror, "retention": keep(2)} {
			t.Run(name+", "+rule, func(t *testing.T) {
				t.Parallel()
				w := newWorld(4)
				l := newLab(t, w, func(r *kopiurv1.SnapshotReplication) {}) // the first run keeps all
				l.StartController(l.clock.Decisions)
				l.run(first)
				l.told(4)
				l.Change(l.repl, func() { pruning(l.repl) })
				w.dropOldest(2)
				w.set(func() { spoil(w) })
				st := l.run(second)
				assert.Zero(t, st.LastRun.Pruned)
				pruned := testenv.Condition(st.Conditions, kopiurv1.ConditionPruned)
				assert.Equal(t, metav1.ConditionFalse, pruned.Status, "%+v", pruned)
				assert.Equal(t, kopiurv1.ReasonPruningHeld, pruned.Reason)
				l.told(4)
				assert.Equal(t, 4, w.stored())
			})
		}
	}
}

// TestRetention: copies are thinned out by rules of their own, which is no mass deletion, and what went is not copied again
// although the source still has it.
func TestRetention(t *testing.T) {
	t.Parallel()
	w := newWorld(0)
	w.add(1, func(r *work.CopyRecord) { r.Pinned = true })
	w.add(14)
	l := newLab(t, w)
	l.StartController(l.clock.Decisions)
	l.run(first)
	rows := l.told(15)
	assert.True(t, rows[0].Spec.Pin)
	l.Change(l.repl, func() { keep(3)(l.repl) })
	st := l.run(second)
	assert.Equal(t, int64(11), st.LastRun.Pruned, "more than deletionProtection allows others")
	rows = l.told(4)
	assert.Equal(t, "s001", rows[0].Status.CopiedFrom.SourceManifestID, "pinned")
	assert.Equal(t, "s013", rows[1].Status.CopiedFrom.SourceManifestID)
	l.eventuallyStored(4)
	w.add(1)
	st = l.run(third)
	assert.Equal(t, int64(1), st.LastRun.SnapshotsCopied)
	assert.Equal(t, int64(1), st.LastRun.Pruned)
	rows = l.told(4)
	assert.Equal(t, "s016", rows[3].Status.CopiedFrom.SourceManifestID)
	l.eventuallyStored(4)
}

// TestNobodyElsesSnapshotsAreTouched (H-1): what others stored in the destination has no Snapshot of ours, and is never
// pruned.
func TestNobodyElsesSnapshotsAreTouched(t *testing.T) {
	t.Parallel()
	w := newWorld(3)
	for _, at := range sorted(w.source)[:2] {
		r := w.source[at]
		r.SnapshotID, r.By = "theirs"+r.SourceID, "another cluster's replication"
		w.copies[at] = r
	}
	l := newLab(t, w, keep(1))
	l.StartController(l.clock.Decisions)
	st := l.run(first)
	assert.Equal(t, int64(1), st.LastRun.SnapshotsCopied)
	assert.Equal(t, int64(2), st.LastRun.AlreadyPresent)
	assert.Zero(t, st.LastRun.Pruned)
	l.told(1)
	assert.Equal(t, 3, w.stored())
}

// TestPruningThatIsTakenBack: who sees copies go that were meant to stay takes spec.pruning away, and what was judged by it
// counts no more.
func TestPruningThatIsTakenBack(t *testing.T) {
	t.Parallel()
	const all = 104 // more than one turn deletes
	w := newWorld(all)
	l := newLab(t, w)
	l.StartController(l.clock.Decisions)
	l.run(first)
	l.told(all)
	l.Change(l.repl, func() { keep(1)(l.repl) })
	l.Annotate(l.repl, kopiurv1.AnnotationRunRequested, second)
	require.EventuallyWithT(t, func(c *assert.CollectT) { require.Less(c, len(l.copies()), all) }, testenv.Wait, testenv.Tick)
	l.Change(l.repl, func() { l.repl.Spec.Pruning = nil })
	l.status(func(c *assert.CollectT, st kopiurv1.SnapshotReplicationStatus) {
		require.Nil(c, st.Run)
		require.Equal(c, second, st.ManualRun.RequestedAt)
		require.Equal(c, kopiurv1.RunSucceeded, st.ManualRun.Phase)
	})
}
