// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package specs

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/e2e/framework"
)

// D-1, D-2, I-10: TestMassDeletion: fifty backups are deleted at once, and the repository holds all of them: the oldest can
// still be restored. kopiurctl shows what is held and acknowledges it; one Job deletes them all, and they are gone.
func TestMassDeletion(t *testing.T) {
	t.Parallel()
	const n = 50
	e := framework.New(t)
	ns := e.Namespace(t, nil)
	r := framework.Repository(ns, "repo", framework.OnClaim("repo"))
	r.Spec.Concurrency = &kopiurv1.ConcurrencySpec{MaxConcurrentJobs: 8}
	e.Create(t, framework.PVC(ns, "repo", framework.ClassImmediate, "2Gi"), framework.PasswordSecret(ns, "password", framework.Password), r,
		framework.PVC(ns, "data", framework.ClassImmediate, "1Gi"), framework.PVC(ns, "copy", framework.ClassImmediate, "1Gi"))
	e.RunApp(t, ns, "data", framework.AppOptions{}, "write", "/data/file", "x")
	e.Create(t, framework.Policy(ns, "app", "data", kopiurv1.CopyDirect))
	list := make([]*kopiurv1.Snapshot, n)
	for i := range list {
		list[i] = framework.Snapshot(ns, fmt.Sprintf("s%02d", i), "app")
		e.Create(t, list[i])
	}
	for _, s := range list {
		e.WaitReady(t, s)
	}
	deleting := e.RecordJobs(t, ns, map[string]string{kopiurv1.LabelOperation: kopiurv1.OperationSnapshotDelete})

	require.NoError(t, e.Client.DeleteAllOf(t.Context(), &kopiurv1.Snapshot{}, client.InNamespace(ns)))
	for _, s := range list {
		e.WaitCondition(t, s, kopiurv1.ConditionDeletionHeld, metav1.ConditionTrue, kopiurv1.ReasonMassDeletionBreaker)
	}
	e.WaitCondition(t, r, kopiurv1.ConditionMassDeletionHeld, metav1.ConditionTrue, kopiurv1.ReasonThresholdExceeded)
	code, _, stderr := kopiurctl(t, ns, "ack-deletion", "repo")
	assert.Equal(t, 2, code, "nobody was asked, and nobody said yes")
	assert.Contains(t, stderr, "holds 50 deletions (threshold 10)")
	back := framework.RestoreInto(ns, "oldest", "", "copy")
	back.Spec.Source = kopiurv1.RestoreSource{FromPolicy: &kopiurv1.FromPolicy{Name: "app", Offset: n - 1}}
	e.Create(t, back)
	e.WaitReady(t, back)
	assert.Equal(t, "x", e.RunApp(t, ns, "copy", framework.AppOptions{}, "cat", "/data/file"))
	require.Empty(t, deleting(), "nothing was deleted before somebody had looked")

	code, stdout, stderr := kopiurctl(t, ns, "ack-deletion", "repo", "--yes")
	require.Zero(t, code, stderr)
	assert.Contains(t, stdout, "acknowledged up to")
	for _, s := range list {
		e.WaitGone(t, s)
	}
	jobs := deleting()
	require.Len(t, jobs, 1, "one Job, one connection")
	var members []any
	require.NoError(t, json.Unmarshal([]byte(jobs[0].Annotations[kopiurv1.AnnotationDeleteMembers]), &members))
	assert.Len(t, members, n)
	nothing := framework.RestoreInto(ns, "nothing", "", "copy")
	nothing.Spec.Source = kopiurv1.RestoreSource{FromPolicy: &kopiurv1.FromPolicy{Name: "app"}}
	e.Create(t, nothing)
	e.WaitCondition(t, nothing, kopiurv1.ConditionStalled, metav1.ConditionTrue, "")
	assert.Contains(t, framework.Condition(nothing, kopiurv1.ConditionResolved).Message, "the repository has no snapshot of app@"+ns)
	e.Eventually(t, "the hold to end", func(ctx context.Context) string {
		if err := e.Client.Get(ctx, client.ObjectKeyFromObject(r), r); err != nil {
			return err.Error()
		}
		if c := framework.Condition(r, kopiurv1.ConditionMassDeletionHeld); c.Status == metav1.ConditionTrue {
			return c.Message
		}
		return ""
	})
}

// D-9: TestNamespaceDeletion: a namespace goes with its policies, backups, Secrets and a backup that waits. Nothing hangs,
// and what it had stored in a ClusterRepository is still there for whoever names its identity.
func TestNamespaceDeletion(t *testing.T) {
	t.Parallel()
	e := framework.New(t)
	home, app := e.Namespace(t, nil), e.Namespace(t, nil)
	shared := clusterRepository(t, e, home)
	e.WaitReady(t, shared)
	use := func(ns, name string) *kopiurv1.SnapshotPolicy {
		p := framework.Policy(ns, name, "data", kopiurv1.CopyDirect)
		p.Spec.Repository = &kopiurv1.RepositoryRef{Kind: kopiurv1.KindClusterRepository, Name: shared.Name}
		return p
	}
	keys := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: app, Name: "s3-keys"}, StringData: map[string]string{
		work.KeyAWSAccessKeyID: framework.S3AccessKey, work.KeyAWSSecretAccessKey: framework.S3SecretKey,
	}}
	e.Create(t, keys, framework.PasswordSecret(app, "password", framework.Password), framework.PVC(app, "data", framework.ClassImmediate, "1Gi"))
	e.RunApp(t, app, "data", framework.AppOptions{}, "write", "/data/file", "still here")
	waits := use(app, "waits")
	waits.Spec.Sources[0].PVC.Name = "nowhere"
	one, two := framework.Snapshot(app, "one", "app"), framework.Snapshot(app, "two", "waits")
	e.Create(t, use(app, "app"), waits, one, two)
	e.WaitReady(t, one)
	e.WaitCondition(t, two, kopiurv1.ConditionSourcePVCAvailable, metav1.ConditionFalse, kopiurv1.ReasonSourcePVCMissing)
	deleting := e.RecordJobs(t, home, map[string]string{kopiurv1.LabelOperation: kopiurv1.OperationSnapshotDelete})

	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: app}}
	require.NoError(t, e.Client.Delete(t.Context(), ns))
	e.WaitGone(t, one, two, ns)

	heir := use(home, "heir")
	heir.Spec.Identity = &kopiurv1.PolicyIdentity{Username: "app", Hostname: app}
	back := framework.RestoreInto(home, "back", "", "copy")
	back.Spec.Source = kopiurv1.RestoreSource{FromPolicy: &kopiurv1.FromPolicy{Name: "heir"}}
	e.Create(t, framework.PVC(home, "copy", framework.ClassImmediate, "1Gi"), heir, back)
	e.WaitReady(t, back)
	assert.Equal(t, "still here", e.RunApp(t, home, "copy", framework.AppOptions{}, "cat", "/data/file"))
	assert.Empty(t, deleting())
}
