// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package specs

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/e2e/framework"
)

// TestVerification: a restore into a scratch volume that the user's own program does not accept, and then does; and a
// repository that has lost its data behind everybody's back. Nothing that was restored is left.
func TestVerification(t *testing.T) {
	t.Parallel()
	e := framework.New(t)
	ns := e.Namespace(t, nil)
	e.FilesystemRepository(t, ns)
	e.Create(t, framework.PVC(ns, "data", framework.ClassImmediate, "1Gi"))
	e.RunApp(t, ns, "data", framework.AppOptions{}, "write", "/data/ledger/balance", "42")

	everyMinute := kopiurv1.CronSpec{Cron: "* * * * *"}
	p := framework.Policy(ns, "app", "data", kopiurv1.CopyDirect)
	p.Spec.Verification = &kopiurv1.Verification{
		Deep: &kopiurv1.DeepVerification{
			Schedule: everyMinute, Capacity: "1Gi", StorageClassName: framework.ClassImmediate,
			Check: &kopiurv1.DeepCheck{Image: e.Image("testapp"), Args: []string{"cat", "/scratch/ledger/missing"}},
		},
		SuccessExpr: "stats.errors == 0 && restored.files == 1",
	}
	s := framework.Snapshot(ns, "one", "app")
	e.Create(t, p, s)
	e.WaitReady(t, s)

	e.WaitCondition(t, p, kopiurv1.ConditionVerified, metav1.ConditionFalse, kopiurv1.ReasonVerificationCheckFailed)
	require.Len(t, p.Status.VerificationRuns, 1)
	assert.Contains(t, p.Status.VerificationRuns[0].LogTail, "/scratch/ledger/missing", "the end of its log is kept")
	assert.Empty(t, p.Status.LastVerified)
	assert.Equal(t, metav1.ConditionTrue, framework.Condition(p, kopiurv1.ConditionReady).Status, "backups go on")
	e.WaitEvent(t, p, corev1.EventTypeWarning, kopiurv1.ReasonVerificationCheckFailed)
	e.WaitMetric(t, `kopiur_snapshot_verification_failed{namespace="`+ns+`",policy="app",repository="Repository `+ns+`/repo",tier="deep"} 1`)

	change(t, e, p, func() { p.Spec.Verification.Deep.Check.Args = []string{"cat", "/scratch/ledger/balance"} })
	e.WaitCondition(t, p, kopiurv1.ConditionVerified, metav1.ConditionTrue, kopiurv1.ReasonVerified)
	assert.NotEmpty(t, p.Status.LastVerified)
	assert.Equal(t, int64(1), p.Status.VerificationRuns[0].Files)

	// All data blobs go. The indexes do not know.
	change(t, e, p, func() {
		p.Spec.Verification = &kopiurv1.Verification{Quick: &kopiurv1.QuickVerification{Schedule: &everyMinute}}
	})
	wiped := 0
	for _, entry := range e.List(t, ns, "repo") {
		// Packs of file contents begin with a p, and folders with what the blobs in them begin with.
		if entry.Type == "dir" && strings.HasPrefix(entry.Path, "p") && !strings.Contains(entry.Path, "/") {
			e.RunApp(t, ns, "repo", framework.AppOptions{}, "wipe", "/data/"+entry.Path)
			wiped++
		}
	}
	require.Positive(t, wiped)
	e.WaitCondition(t, p, kopiurv1.ConditionVerified, metav1.ConditionFalse, kopiurv1.ReasonVerificationFailed)
	assert.Positive(t, p.Status.VerificationRuns[0].Errors)
	assert.Contains(t, framework.Condition(p, kopiurv1.ConditionVerified).Message, "ledger/balance")

	e.Eventually(t, "the scratch volumes to go", func(ctx context.Context) string {
		var claims corev1.PersistentVolumeClaimList
		if err := e.Client.List(ctx, &claims, client.InNamespace(ns), client.MatchingLabels{kopiurv1.LabelOwnerUID: string(p.UID)}); err != nil {
			return err.Error()
		}
		if len(claims.Items) > 0 {
			return fmt.Sprintf("%d claims", len(claims.Items))
		}
		return ""
	})
}

// change edits a policy as it is now.
func change(t *testing.T, e *framework.Env, p *kopiurv1.SnapshotPolicy, edit func()) {
	t.Helper()
	require.NoError(t, e.Client.Get(t.Context(), client.ObjectKeyFromObject(p), p))
	base := p.DeepCopy()
	edit()
	require.NoError(t, e.Client.Patch(t.Context(), p, client.MergeFrom(base)))
}
