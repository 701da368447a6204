// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package restore_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/decide/restore"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

// intoCommand makes the target a command in a pod that runs, in a namespace that allows it.
func intoCommand(w *restore.World) {
	w.Restore.Spec.Target = kopiurv1.RestoreTarget{StreamExec: &kopiurv1.StreamTarget{FileName: "shop.dump", WorkloadExec: kopiurv1.WorkloadExec{
		PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}, Command: []string{"pg_restore"},
	}}}
	w.Image.Stream = "controller:test"
	w.NamespaceAnnotations = map[string]string{kopiurv1.AnnotationStreamExecMovers: "true"}
	w.Neighbours = []corev1.Pod{{
		ObjectMeta: metav1.ObjectMeta{Name: "db-0", Labels: map[string]string{"app": "db"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "db"}}}, Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}}
}

func sent(code work.Code, message string, r work.StreamRestoreResult) change {
	return result(work.Result{Operation: "streamRestore", Code: code, Message: message, StreamRestore: &r})
}

// jobless takes the Job away, after it was said how far it was.
func jobless(reason string) change {
	return func(w *restore.World) {
		w.Job, w.Outcome = nil, moverjob.Outcome{State: moverjob.Absent, Terminal: true}
		put(&w.Restore.Status, metav1.Condition{Type: kopiurv1.ConditionReconciling, Status: metav1.ConditionTrue, Reason: reason})
	}
}

func TestIntoACommand(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		w      restore.World
		state  restore.State
		phase  kopiurv1.RestorePhase
		reason string
		says   string
		job    bool
	}{
		"all gates are open": {fromSnapshot(intoCommand), restore.Progressing, kopiurv1.RestoreRestoring, kopiurv1.ReasonMoverStarting, "starting the mover", true},
		"the namespace does not allow it": {
			fromSnapshot(intoCommand, func(w *restore.World) { w.NamespaceAnnotations = nil }),
			restore.Progressing, kopiurv1.RestorePending, kopiurv1.ReasonStreamExecNotPermitted, "stream-exec-movers=true", false,
		},
		"no pod runs": {
			fromSnapshot(intoCommand, func(w *restore.World) { w.Neighbours = nil }),
			restore.Progressing, kopiurv1.RestorePending, kopiurv1.ReasonWorkloadNotFound, "no running pod matches app=db", false,
		},
		"the command took all of it": {
			fromSnapshot(intoCommand, sent(work.CodeOK, "", work.StreamRestoreResult{SnapshotID: "k1", SizeBytes: 9, BytesDelivered: 9, Delivered: true})),
			restore.Ready, kopiurv1.RestoreCompleted, kopiurv1.ReasonRestoreSucceeded, "the command took all 9 bytes of shop.dump and ended with 0", false,
		},
		"what it took is another file than the spec names by now": {
			fromSnapshot(intoCommand, sent(work.CodeOK, "", work.StreamRestoreResult{SnapshotID: "k1", SizeBytes: 9, BytesDelivered: 9, Delivered: true}), func(w *restore.World) {
				w.Restore.Generation, w.Restore.Spec.Target.StreamExec.FileName = 2, "blog.dump"
			}),
			restore.Progressing, kopiurv1.RestorePending, kopiurv1.ReasonReopened, "shop.dump", false,
		},
		"a claim is meant by now": {
			fromSnapshot(intoCommand, sent(work.CodeOK, "", work.StreamRestoreResult{SnapshotID: "k1", SizeBytes: 9, BytesDelivered: 9, Delivered: true}), existing, func(w *restore.World) {
				w.Restore.Generation = 2
			}),
			restore.Progressing, kopiurv1.RestorePending, kopiurv1.ReasonReopened, "claim data", false,
		},
		"a success that was not acknowledged is none": {
			fromSnapshot(intoCommand, sent(work.CodeOK, "", work.StreamRestoreResult{SnapshotID: "k1", SizeBytes: 9, BytesDelivered: 8})),
			restore.Stalled, kopiurv1.RestoreFailed, kopiurv1.ReasonRestoreFailed, "", false,
		},
		"the command took a part of it": {
			fromSnapshot(intoCommand, sent(work.CodeUnknown, "the consumer took 4 of 9 bytes", work.StreamRestoreResult{SnapshotID: "k1", SizeBytes: 9, BytesDelivered: 4})),
			restore.Stalled, kopiurv1.RestoreFailed, kopiurv1.ReasonRestoreFailed, "took 4 of 9 bytes", false,
		},
		"the result is lost": {
			fromSnapshot(intoCommand, outcome(moverjob.Outcome{State: moverjob.ResultLost, Terminal: true})),
			restore.Stalled, kopiurv1.RestoreFailed, kopiurv1.ReasonResultLost, "nobody knows how much of the file the command took", false,
		},
		"its Job was deleted while the command took it": {
			fromSnapshot(intoCommand, outcome(moverjob.Outcome{State: moverjob.Running}), jobless(kopiurv1.ReasonMoverRunning)),
			restore.Stalled, kopiurv1.RestoreFailed, kopiurv1.ReasonResultLost, "nobody knows how much of the file the command took", false,
		},
		"its Job was not made yet": {
			fromSnapshot(intoCommand, outcome(moverjob.Outcome{State: moverjob.Waiting}), jobless(kopiurv1.ReasonMoverStarting)),
			restore.Progressing, kopiurv1.RestoreRestoring, kopiurv1.ReasonMoverStarting, "starting the mover", true,
		},
		"there is no snapshot, and that was to be gone on with": {
			fromPolicy(intoCommand, status(func(s *kopiurv1.RestoreStatus) {
				s.Resolved = &kopiurv1.RestoreResolved{Resolution: kopiurv1.ResolutionNoSnapshot}
			}), func(w *restore.World) { w.NamespaceAnnotations, w.Neighbours = nil, nil }),
			restore.Ready, kopiurv1.RestoreCompleted, kopiurv1.ReasonNoSnapshotContinue, "the command was left as it is", false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := restore.Decide(tc.w, now)
			assert.Equal(t, tc.state, p.State, p.Message)
			assert.Equal(t, tc.phase, p.Status.Phase)
			assert.Equal(t, tc.reason, p.Reason)
			assert.Contains(t, p.Message, tc.says)
			assert.Nil(t, p.Claim)
			require.Equal(t, tc.job, p.Job != nil)
			if p.Job == nil {
				return
			}
			op := workOf(p.Job).Operation.StreamRestore
			require.NotNil(t, op)
			assert.Equal(t, "k1", op.SnapshotID)
			assert.Equal(t, "shop.dump", op.FileName)
			assert.Equal(t, moverjob.StreamServiceAccount, p.Job.Spec.Template.Spec.ServiceAccountName)
		})
	}
}

// TestWhatACommandTookIsNotSentAgain: new credentials are no wish to send it twice.
func TestWhatACommandTookIsNotSentAgain(t *testing.T) {
	t.Parallel()
	w := fromSnapshot(intoCommand, sent(work.CodeUnknown, "the consumer took 4 of 9 bytes", work.StreamRestoreResult{SnapshotID: "k1", SizeBytes: 9, BytesDelivered: 4}))
	w.Restore.Status = restore.Decide(w, now).Status
	w.Credentials.Version = "2"
	assert.True(t, restore.Holds(w))
	w.Restore.Generation = 2
	assert.False(t, restore.Holds(w), "an edit is one")
}
