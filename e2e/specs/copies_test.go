// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package specs

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/e2e/framework"
)

// H-3, I-6, J-11: TestCopiesOfSnapshots makes a repository of the snapshots of another one (spec.seed.from.repository), with a
// password of its own, and keeps it up with a SnapshotReplication: what came with the seed is not copied again, what is new
// has a Snapshot that names its original. Both kinds of copies come back byte for byte once the first repository is gone.
func TestCopiesOfSnapshots(t *testing.T) {
	t.Parallel()
	e := framework.New(t)
	ns := e.Namespace(t, nil)
	old := e.FilesystemRepository(t, ns)
	e.Create(t, framework.PVC(ns, "data", framework.ClassImmediate, "1Gi"), framework.Policy(ns, "app", "data", kopiurv1.CopyDirect))
	states := map[string][]framework.Entry{}
	backUp := func(name string) *kopiurv1.Snapshot {
		e.RunApp(t, ns, "data", framework.AppOptions{}, "write", "/data/ledger/"+name, "the state of "+name)
		states[name] = framework.Contents(e.List(t, ns, "data"))
		s := framework.Snapshot(ns, name, "app")
		e.Create(t, s)
		e.WaitReady(t, s)
		return s
	}
	first := backUp("first")

	r := framework.Repository(ns, "new", framework.OnClaim("new"))
	r.Spec.Encryption.PasswordSecretRef.Name = "other"
	r.Spec.Seed = &kopiurv1.SeedSpec{From: kopiurv1.SeedSource{Repository: &kopiurv1.RepositoryRef{Name: "repo"}}}
	e.Create(t, framework.PVC(ns, "new", framework.ClassImmediate, "2Gi"), framework.PasswordSecret(ns, "other", "another-password-42"), r)
	e.WaitReady(t, r)
	assert.Equal(t, kopiurv1.ReasonSeeded, framework.Condition(r, kopiurv1.ConditionSeeded).Reason)
	assert.NotEqual(t, old.Status.UniqueID, r.Status.UniqueID, "it is a repository of its own")
	require.NotNil(t, r.Status.Seed)
	assert.Equal(t, kopiurv1.SeedByMigrate, r.Status.Seed.Mode)
	assert.Equal(t, int64(1), r.Status.Seed.SnapshotsCopied)

	second := backUp("second")
	repl := &kopiurv1.SnapshotReplication{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "copies"}}
	repl.Spec.SourceRef, repl.Spec.DestinationRef = kopiurv1.RepositoryRef{Name: "repo"}, kopiurv1.RepositoryRef{Name: "new"}
	repl.Spec.Schedule = kopiurv1.CronSpec{Cron: "0 5 1 1 *"}
	e.Create(t, repl)
	ask := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, kopiurv1.AnnotationRunRequested, time.Now().UTC().Format(time.RFC3339))
	require.NoError(t, e.Client.Patch(t.Context(), repl, client.RawPatch(types.MergePatchType, []byte(ask))))
	e.Eventually(t, "the copy that was asked for", func(ctx context.Context) string {
		if err := e.Client.Get(ctx, client.ObjectKeyFromObject(repl), repl); err != nil {
			return err.Error()
		}
		if m := repl.Status.ManualRun; m == nil || m.Phase != kopiurv1.RunSucceeded {
			return fmt.Sprintf("%+v %+v", m, repl.Status.Conditions)
		}
		return ""
	})
	assert.NotEmpty(t, repl.Status.ManualRun.CompletedAt)
	require.NotNil(t, repl.Status.LastRun)
	assert.Equal(t, int64(1), repl.Status.LastRun.SnapshotsCopied)
	assert.Equal(t, int64(1), repl.Status.LastRun.AlreadyPresent, "it came with the seed")
	var copied *kopiurv1.Snapshot
	e.Eventually(t, "the copy's Snapshot", func(ctx context.Context) string {
		var list kopiurv1.SnapshotList
		if err := e.Client.List(ctx, &list, client.InNamespace(ns), client.MatchingLabels{kopiurv1.LabelOrigin: kopiurv1.OriginReplicated}); err != nil {
			return err.Error()
		}
		for i := range list.Items {
			if c := list.Items[i].Status.CopiedFrom; c != nil && c.SourceManifestID == second.Status.Snapshot.KopiaSnapshotID {
				copied = &list.Items[i]
				return ""
			}
		}
		return fmt.Sprintf("%d Snapshots", len(list.Items))
	})
	assert.Equal(t, "repo", copied.Status.CopiedFrom.Repository.Name)

	require.NoError(t, e.Client.Delete(t.Context(), repl))
	require.NoError(t, e.Client.Delete(t.Context(), old))
	e.WaitGone(t, repl)
	id := first.Status.Snapshot.Identity
	bySeed := framework.RestoreInto(ns, "by-seed", "", "")
	bySeed.Spec.Repository = &kopiurv1.RepositoryRef{Name: "new"}
	bySeed.Spec.Source = kopiurv1.RestoreSource{Identity: &kopiurv1.FromIdentity{Username: id.Username, Hostname: id.Hostname, SourcePath: id.SourcePath, Offset: 1}}
	byCopy := framework.RestoreInto(ns, "by-copy", copied.Name, "")
	for r, state := range map[*kopiurv1.Restore]string{bySeed: "first", byCopy: "second"} {
		r.Spec.Target = kopiurv1.RestoreTarget{PVC: &kopiurv1.TargetPVC{Name: r.Name, Capacity: "1Gi", StorageClassName: framework.ClassImmediate}}
		e.Create(t, r)
		e.WaitReady(t, r)
		assert.Equal(t, states[state], framework.Contents(e.List(t, ns, r.Name)), r.Name)
	}
}
