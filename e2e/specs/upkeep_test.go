// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package specs

import (
	"strings"
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

// I-6, C-6: TestMaintenance: every repository has a Maintenance, which rests until its time, and runs when somebody asks: a
// real mover maintains the real repository, under the repository's own name and not its pod's.
func TestMaintenance(t *testing.T) {
	t.Parallel()
	e := framework.New(t)
	ns := e.Namespace(t, nil)
	e.FilesystemRepository(t, ns)
	e.Create(t, framework.PVC(ns, "data", framework.ClassImmediate, "1Gi"))
	e.RunApp(t, ns, "data", framework.AppOptions{}, "write", "/data/file", "x")
	s := framework.Snapshot(ns, "one", "app")
	e.Create(t, framework.Policy(ns, "app", "data", kopiurv1.CopyDirect), s)
	e.WaitReady(t, s)

	m := &kopiurv1.Maintenance{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "repo"}}
	e.WaitReady(t, m)
	assert.Nil(t, m.Status.ManualRun, "nobody has asked yet")

	code, stdout, stderr := kopiurctl(t, ns, "maintenance", "run", "--repository", "repo", "--full", "--wait", "--timeout", "3m")
	require.Zero(t, code, stderr)
	assert.Contains(t, stdout, "were given back")
	e.WaitCondition(t, m, kopiurv1.ConditionReady, metav1.ConditionTrue, kopiurv1.ReasonMaintained)
	e.WaitCondition(t, m, kopiurv1.ConditionLeaseOwned, metav1.ConditionTrue, kopiurv1.ReasonLeaseOwned)
	st := m.Status
	assert.Equal(t, kopiurv1.RunSucceeded, st.ManualRun.Phase)
	assert.NotEmpty(t, st.ManualRun.CompletedAt)
	assert.Equal(t, "kopiur@kopiur-"+ns+"-repo", st.Ownership.Owner)
	require.NotNil(t, st.Full)
	assert.NotEmpty(t, st.Full.LastHandledAt)
	assert.NotEmpty(t, st.Full.LastRunAt)
	assert.NotNil(t, st.Full.LastContentReclaimedBytes)
	next, err := time.Parse(time.RFC3339, st.Full.NextScheduledAt)
	require.NoError(t, err)
	last, err := time.Parse(time.RFC3339, st.Full.LastHandledAt)
	require.NoError(t, err)
	assert.True(t, next.After(last), "the schedule goes on from there")

	// What is maintained still restores.
	e.Create(t, framework.PVC(ns, "copy", framework.ClassImmediate, "1Gi"))
	r := framework.RestoreInto(ns, "back", "one", "copy")
	e.Create(t, r)
	e.WaitReady(t, r)
	assert.Equal(t, "x", e.RunApp(t, ns, "copy", framework.AppOptions{}, "cat", "/data/file"))
}

// J-11, E-11: TestReplication copies a repository from one volume to another, which both say that they are at the same
// path, proves the copy, and restores from it when the original is gone.
func TestReplication(t *testing.T) {
	t.Parallel()
	e := framework.New(t)
	ns := e.Namespace(t, nil)
	source := e.FilesystemRepository(t, ns)
	e.Create(t, framework.PVC(ns, "data", framework.ClassImmediate, "1Gi"), framework.PVC(ns, "mirror", framework.ClassImmediate, "2Gi"))
	e.RunApp(t, ns, "data", framework.AppOptions{}, "write", "/data/ledger/balance", "42")
	e.RunApp(t, ns, "data", framework.AppOptions{}, "write", "/data/photos/one", "a picture")
	want := framework.Contents(e.List(t, ns, "data"))
	s := framework.Snapshot(ns, "one", "app")
	e.Create(t, framework.Policy(ns, "app", "data", kopiurv1.CopyDirect), s)
	e.WaitReady(t, s)

	repl := &kopiurv1.RepositoryReplication{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "mirror"}}
	repl.Spec.SourceRef = kopiurv1.RepositoryRef{Name: "repo"}
	repl.Spec.Destination = framework.OnClaim("mirror")
	repl.Spec.Schedule = kopiurv1.CronSpec{Cron: "0 5 1 1 *"}
	repl.Spec.Verify = &kopiurv1.ReplicationVerify{Schedule: kopiurv1.CronSpec{Cron: "* * * * *"}, VerifyFilesPercent: 100}
	repl.Spec.Mover = &kopiurv1.MoverSpec{Cache: &kopiurv1.CacheSpec{Mode: kopiurv1.CachePersistent, Capacity: "1Gi", StorageClassName: framework.ClassImmediate}}
	e.Create(t, repl)
	e.WaitCondition(t, repl, kopiurv1.ConditionReady, metav1.ConditionTrue, kopiurv1.ReasonReplicationScheduled)
	code, stdout, stderr := kopiurctl(t, ns, "replication", "run", "mirror", "--wait", "--timeout", "3m")
	require.Zero(t, code, stderr)
	assert.Regexp(t, `copied: \d+ blobs`, stdout)
	e.WaitCondition(t, repl, kopiurv1.ConditionReady, metav1.ConditionTrue, kopiurv1.ReasonReplicated)
	assert.Positive(t, *repl.Status.LastReplicatedBlobs)
	assert.Equal(t, *repl.Status.BlobsTotal, *repl.Status.LastReplicatedBlobs, "the first copy has everything to do")
	cache := keptCache(t, e, repl)
	proveCopy(t, e, repl)
	assert.Equal(t, cache, keptCache(t, e, repl), "it was made once")

	// The original goes, and its copy is a repository.
	copied := framework.Repository(ns, "copy", framework.OnClaim("mirror"))
	copied.Spec.Mode = kopiurv1.ModeReadOnly
	e.Create(t, copied)
	e.WaitReady(t, copied)
	assert.Equal(t, source.Status.UniqueID, copied.Status.UniqueID)
	require.NoError(t, e.Client.Delete(t.Context(), repl))
	e.WaitGone(t, repl)
	e.Create(t, framework.PVC(ns, "back", framework.ClassImmediate, "1Gi"))
	r := framework.RestoreInto(ns, "back", "one", "back")
	r.Spec.Repository = &kopiurv1.RepositoryRef{Name: "copy"}
	e.Create(t, r)
	e.WaitReady(t, r)
	assert.Equal(t, want, framework.Contents(e.List(t, ns, "back")))
}

// proveCopy: the copy is proven, what is cut off in it is found and said, and the next copy mends it.
func proveCopy(t *testing.T, e *framework.Env, repl *kopiurv1.RepositoryReplication) {
	t.Helper()
	ns := repl.Namespace
	e.WaitCondition(t, repl, kopiurv1.ConditionVerified, metav1.ConditionTrue, kopiurv1.ReasonVerified)
	assert.NotEmpty(t, repl.Status.LastVerified)
	assert.Equal(t, int64(1), repl.Status.Verification.Snapshots)
	assert.Contains(t, framework.Condition(repl, kopiurv1.ConditionVerified).Message, "the newest snapshot was restored: 2 files")

	cut := 0
	for _, entry := range e.List(t, ns, "mirror") {
		if entry.Type == "file" && strings.HasPrefix(entry.Path, "p") { // packs of file contents, and no other blobs
			e.RunApp(t, ns, "mirror", framework.AppOptions{}, "write", "/data/"+entry.Path, "x")
			cut++
		}
	}
	require.Positive(t, cut)
	e.WaitCondition(t, repl, kopiurv1.ConditionVerified, metav1.ConditionFalse, kopiurv1.ReasonVerificationFailed)
	assert.Contains(t, framework.Condition(repl, kopiurv1.ConditionVerified).Message, "is shorter than its index says")
	assert.Equal(t, metav1.ConditionTrue, framework.Condition(repl, kopiurv1.ConditionReady).Status, "copies go on")
	e.WaitEvent(t, repl, corev1.EventTypeWarning, kopiurv1.ReasonVerificationFailed)
	e.WaitMetric(t, `kopiur_repository_replication_verification_failed{name="`+repl.Name+`",namespace="`+ns+`"} 1`)

	code, _, stderr := kopiurctl(t, ns, "replication", "run", repl.Name, "--wait", "--timeout", "3m")
	require.Zero(t, code, stderr)
	e.WaitCondition(t, repl, kopiurv1.ConditionVerified, metav1.ConditionTrue, kopiurv1.ReasonVerified)
}

// keptCache is the UID of the claim in which an object keeps its movers' cache; a mover has had it if it is bound.
func keptCache(t *testing.T, e *framework.Env, owner client.Object) types.UID {
	t.Helper()
	var list corev1.PersistentVolumeClaimList
	require.NoError(t, e.Client.List(t.Context(), &list, client.InNamespace(owner.GetNamespace())))
	for i := range list.Items {
		if claim := &list.Items[i]; metav1.IsControlledBy(claim, owner) {
			assert.Equal(t, corev1.ClaimBound, claim.Status.Phase)
			return claim.UID
		}
	}
	require.Fail(t, "no claim is kept for "+owner.GetName())
	return ""
}
