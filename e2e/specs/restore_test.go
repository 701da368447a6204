// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package specs

import (
	"context"
	"strconv"
	"strings"
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

// C-14: TestALargeRestoreGoesOn restores many files and a large one that is mostly a hole, and deletes the mover's pod in the
// middle. The next pod goes on from there and counts what it found; in the end all is there byte for byte, and the hole is
// one again.
func TestALargeRestoreGoesOn(t *testing.T) {
	t.Parallel()
	e := framework.New(t)
	ns := e.Namespace(t, framework.Privileged())
	e.Create(t, framework.PVC(ns, "data", framework.ClassImmediate, "20Gi"))
	e.RunApp(t, ns, "data", framework.AppOptions{}, "fill", "--seed", "21", "--files", manyFiles, "--largest", "2048", "--sparse", strconv.Itoa(sparseBytes), "/data/tree")
	repo := framework.Repository(ns, "repo", framework.OnClaim("repo"))
	repo.Spec.MoverDefaults = &kopiurv1.MoverDefaults{Throttle: &kopiurv1.Throttle{DownloadBytesPerSecond: readPerSec}}
	p := framework.Policy(ns, "app", "data", kopiurv1.CopyDirect)
	p.Spec.Mover = framework.PrivilegedMover()
	s := framework.Snapshot(ns, "one", "app")
	e.Create(t, framework.PVC(ns, "repo", framework.ClassImmediate, "20Gi"), framework.PasswordSecret(ns, "password", framework.Password), repo, p, s)
	e.WaitReady(t, s)

	r := framework.RestoreInto(ns, "back", "one", "")
	r.Spec.Target = kopiurv1.RestoreTarget{PVC: &kopiurv1.TargetPVC{Name: "restored", Capacity: "20Gi", StorageClassName: framework.ClassImmediate}}
	r.Spec.Mover = framework.PrivilegedMover()
	r.Spec.Options = &kopiurv1.RestoreOptions{WriteSparseFiles: new(true)}
	e.Create(t, r)
	e.Eventually(t, "files to be restored", func(ctx context.Context) string {
		if err := e.Client.Get(ctx, client.ObjectKeyFromObject(r), r); err != nil {
			return err.Error()
		}
		if r.Status.Progress == nil || r.Status.Progress.FilesRestored == 0 {
			return "none yet, phase " + string(r.Status.Phase)
		}
		return ""
	})
	require.Equal(t, kopiurv1.RestoreRestoring, r.Status.Phase, "caught in the middle")
	pod := moverPod(t, e, r, corev1.PodRunning)
	require.NoError(t, e.Client.Delete(t.Context(), pod, client.GracePeriodSeconds(0)))

	e.WaitReady(t, r)
	assert.Equal(t, int32(1), r.Status.Job.Attempts, "another pod of the same Job")
	assert.Regexp(t, `; \d+ more were there already$`, framework.Condition(r, kopiurv1.ConditionReady).Message)
	assert.Less(t, r.Status.Progress.FilesRestored, s.Status.Stats.FilesNew, "what the first pod had written was not written again")
	both := map[string]string{"/data": "data", "/restored": "restored"}
	e.RunAppWith(t, ns, both, framework.AppOptions{}, "compare", "/data/tree", "/restored/tree")
	sizes := strings.Fields(e.RunAppWith(t, ns, both, framework.AppOptions{}, "allocated", "/data/tree/sparse", "/restored/tree/sparse"))
	require.Len(t, sizes, 2)
	for _, size := range sizes {
		allocated, err := strconv.Atoi(size)
		require.NoError(t, err)
		assert.Less(t, allocated, 1<<20, "of %v", sizes)
	}
}

// K-7: TestATargetThatIsFull restores more than a volume has room for: into a claim of the user, in which the file
// that would have been replaced stays as it is, and into one that a Restore is to fill, which gets no volume until it was made again large enough. Both are told why.
func TestATargetThatIsFull(t *testing.T) {
	t.Parallel()
	e := framework.New(t)
	ns := e.Namespace(t, nil)
	e.FilesystemRepository(t, ns)
	e.Create(t, framework.PVC(ns, "data", framework.ClassImmediate, "1Gi"), framework.PVC(ns, "tight", framework.ClassLimited, "8Mi"))
	reach(t, e, script(ns, "fill", "data", false, "head -c 16777216 /dev/urandom >/data/large; echo x >/data/small"), corev1.PodSucceeded)
	e.RunApp(t, ns, "tight", framework.AppOptions{}, "write", "/data/large", "mine")
	before := framework.Contents(e.List(t, ns, "data"))
	s := framework.Snapshot(ns, "one", "app")
	e.Create(t, framework.Policy(ns, "app", "data", kopiurv1.CopyDirect), s)
	e.WaitReady(t, s)

	once := &kopiurv1.FailurePolicy{BackoffLimit: new(int32(0))}
	into := framework.RestoreInto(ns, "into", "one", "tight")
	fill := framework.RestoreInto(ns, "fill", "one", "")
	fill.Spec.Target = kopiurv1.RestoreTarget{Populator: &kopiurv1.PopulatorTarget{}}
	into.Spec.FailurePolicy, fill.Spec.FailurePolicy = once, once
	claim := framework.FilledBy(framework.PVC(ns, "fresh", framework.ClassLimited, "8Mi"), fill.Name)
	e.Create(t, into, fill, claim)
	for r, says := range map[*kopiurv1.Restore]string{
		into: "claim tight has no room for snapshot " + s.Status.Snapshot.KopiaSnapshotID,
		fill: "claim fresh is too small for snapshot " + s.Status.Snapshot.KopiaSnapshotID,
	} {
		e.WaitCondition(t, r, kopiurv1.ConditionStalled, metav1.ConditionTrue, kopiurv1.ReasonRestoreFailed)
		assert.Equal(t, kopiurv1.RestoreFailed, r.Status.Phase)
		assert.Equal(t, string(work.CodeNoSpace), r.Status.Failure.KopiaErrorClass)
		assert.Contains(t, framework.Condition(r, kopiurv1.ConditionReady).Message, says)
		e.WaitEvent(t, r, corev1.EventTypeWarning, kopiurv1.ReasonRestoreFailed)
	}
	e.WaitEvent(t, claim, corev1.EventTypeWarning, kopiurv1.ReasonRestoreFailed)
	require.NoError(t, e.Client.Get(t.Context(), client.ObjectKeyFromObject(claim), claim))
	assert.Equal(t, corev1.ClaimPending, claim.Status.Phase)
	assert.Empty(t, claim.Spec.VolumeName, "not half full")
	assert.Equal(t, "mine", e.RunApp(t, ns, "tight", framework.AppOptions{}, "cat", "/data/large"), "what does not fit takes no file's place")

	part := framework.RestoreInto(ns, "part", "one", "tight")
	part.Spec.SubPath = "small"
	e.Create(t, part)
	e.WaitReady(t, part)
	assert.Equal(t, "x\n", e.RunApp(t, ns, "tight", framework.AppOptions{}, "cat", "/data/small"), "for one file of it there is room")

	require.NoError(t, e.Client.Delete(t.Context(), claim))
	e.WaitGone(t, claim)
	e.Create(t, framework.FilledBy(framework.PVC(ns, "fresh", framework.ClassLimited, "32Mi"), fill.Name))
	e.WaitReady(t, fill)
	assert.Equal(t, kopiurv1.RestoreCompleted, fill.Status.Phase)
	assert.Equal(t, before, framework.Contents(e.List(t, ns, "fresh")))
}
