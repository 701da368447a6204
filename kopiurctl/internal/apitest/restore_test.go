// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package apitest

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/kopiurctl/internal/cli"
)

const tick = 10 * time.Millisecond

func (w *world) restores() []kopiurv1.Restore {
	w.t.Helper()
	var list kopiurv1.RestoreList
	require.NoError(w.t, w.client.List(w.t.Context(), &list, client.InNamespace(w.namespace)))
	return list.Items
}

func restoreSpec(snapshot string) kopiurv1.RestoreSpec {
	return kopiurv1.RestoreSpec{
		Source: kopiurv1.RestoreSource{SnapshotRef: &kopiurv1.ObjectRef{Name: snapshot}},
		Target: kopiurv1.RestoreTarget{PVCRef: &kopiurv1.TargetPVCRef{Name: "data"}},
	}
}

// completed gives a Restore the status of one that has restored all.
func completed(r *kopiurv1.Restore) {
	r.Status.Phase = kopiurv1.RestoreCompleted
	r.Status.ObservedGeneration = 1
	r.Status.Resolved = &kopiurv1.RestoreResolved{
		Resolution: kopiurv1.ResolutionSnapshot, KopiaSnapshotID: "k0123456789abcdef", StartTime: "2026-03-05T08:30:00Z",
		Identity: &kopiurv1.Identity{Username: "data", Hostname: "shop", SourcePath: "/pvc/data"},
	}
	r.Status.Progress = &kopiurv1.RestoreProgress{BytesRestored: 1288490188, FilesRestored: 1204}
	r.Status.Timing = &kopiurv1.Timing{StartTime: "2026-03-05T08:58:00Z", EndTime: "2026-03-05T08:58:41Z", DurationSeconds: 41}
	r.Status.Conditions = []metav1.Condition{condition(kopiurv1.ConditionReady, metav1.ConditionTrue, kopiurv1.ReasonRestoreSucceeded, "restored 1,204 files")}
}

// stored is a Snapshot of a size that was begun at a time.
func stored(name, policy, at string, bytes, files int64) *kopiurv1.Snapshot {
	s := succeeded(snapshot(name, policy), at)
	s.Spec.Repository = &kopiurv1.RepositoryRef{Name: "nas"}
	s.Status.Stats.SizeBytes, s.Status.Stats.Files = bytes, files
	return s
}

// What is wrong with a command line, or names what is not there, is said before anything is created.
func TestRestoreRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	unmeasured := succeeded(snapshot("unmeasured", "data"), "2026-03-04T08:30:00Z")
	unmeasured.Status.Stats = nil
	w.create(repository("nas"), policy("data", "nas"), succeeded(snapshot("one", "data"), "2026-03-05T08:30:00Z"), claim("data", nil), unmeasured)
	snap, into := []string{"--from-snapshot", "one"}, []string{"--to-pvc", "data"}
	for name, args := range map[string][]string{
		"nothing":              nil,
		"no-target":            snap,
		"two-sources":          append([]string{"--from-policy", "data", "--from-snapshot", "one"}, into...),
		"two-targets":          {"--from-snapshot", "one", "--to-pvc", "data", "--create-pvc", "x"},
		"snapshot-unknown":     append([]string{"--from-snapshot", "on"}, into...),
		"policy-unknown":       append([]string{"--from-policy", "dta"}, into...),
		"claim-unknown":        {"--from-snapshot", "one", "--to-pvc", "dta"},
		"claim-exists":         {"--from-snapshot", "one", "--create-pvc", "data"},
		"identity":             append([]string{"--identity", "data", "--repository", "nas"}, into...),
		"identity-repository":  append([]string{"--identity", "data@shop:/pvc/data"}, into...),
		"repository-unknown":   append([]string{"--identity", "data@shop:/pvc/data", "--repository", "nsa"}, into...),
		"id-and-as-of":         append([]string{"--identity", "data@shop:/x", "--repository", "nas", "--snapshot-id", "k1", "--offset", "1"}, into...),
		"as-of":                append([]string{"--from-policy", "data", "--as-of", "yesterday"}, into...),
		"as-of-of-a-snapshot":  append([]string{"--as-of", "2026-03-05T09:00:00Z"}, append(snap, into...)...),
		"offset":               append([]string{"--from-policy", "data", "--offset", "-1"}, into...),
		"size-of-existing":     {"--from-snapshot", "one", "--to-pvc", "data", "--size", "1Gi"},
		"size":                 {"--from-snapshot", "one", "--create-pvc", "x", "--size", "big"},
		"size-unknown":         {"--from-snapshot", "unmeasured", "--create-pvc", "x"},
		"access-mode":          {"--from-snapshot", "one", "--create-pvc", "x", "--access-mode", "ROX"},
		"path-and-deletion":    append([]string{"--from-snapshot", "one", "--path", "etc", "--enable-file-deletion"}, into...),
		"path-up":              append([]string{"--from-snapshot", "one", "--path", "../etc"}, into...),
		"on-missing":           append([]string{"--from-snapshot", "one", "--on-missing-snapshot", "Skip"}, into...),
		"wait-timeout":         append([]string{"--from-snapshot", "one", "--wait-timeout", "soon"}, into...),
		"wait-for-a-populator": {"--from-snapshot", "one", "--populator", "--wait"},
		"timeout-alone":        append([]string{"--from-snapshot", "one", "--timeout", "1m"}, into...),
		"dry-run-and-wait":     append([]string{"--from-snapshot", "one", "--dry-run", "--wait"}, into...),
		"name":                 append([]string{"--from-snapshot", "one", "--name", "Back"}, into...),
		"all-namespaces":       append([]string{"--from-snapshot", "one", "-A"}, into...),
	} {
		w.run(append([]string{"restore"}, args...)...).golden("restore-refuses-" + name)
	}
	assert.Empty(t, w.restores(), "nothing was created")
}

// All flags end in the fields that they are named after.
func TestRestoreCreates(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(repository("nas"), policy("data", "nas"), claim("data", nil), stored("one", "data", "2026-03-05T08:30:00Z", 5<<30, 10))
	get := func(name string) kopiurv1.RestoreSpec {
		r := &kopiurv1.Restore{}
		require.NoError(t, w.client.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, r))
		return r.Spec
	}

	args := []string{
		"restore", "--name", "in-place", "--from-policy", "data", "--as-of", "2026-03-05T09:00:00Z", "--offset", "1", "--source-path", "/pvc/data",
		"--to-pvc", "data", "--path", "etc/app.conf", "--ignore-permission-errors=false", "--write-files-atomically=false",
		"--on-missing-snapshot", "Fail", "--wait-timeout", "10m",
	}
	w.run(args...).golden("restore-in-place")
	assert.Equal(t, kopiurv1.RestoreSpec{
		Source: kopiurv1.RestoreSource{FromPolicy: &kopiurv1.FromPolicy{Name: "data", AsOf: "2026-03-05T09:00:00Z", Offset: 1, SourcePath: "/pvc/data"}},
		Target: kopiurv1.RestoreTarget{PVCRef: &kopiurv1.TargetPVCRef{Name: "data"}}, SubPath: "etc/app.conf",
		Policy:  &kopiurv1.RestorePolicy{OnMissingSnapshot: kopiurv1.OnMissingFail, WaitTimeout: "10m"},
		Options: &kopiurv1.RestoreOptions{IgnorePermissionErrors: new(false), WriteFilesAtomically: new(false)},
	}, get("in-place"))
	w.run(args...).golden("restore-repeated")
	w.run("restore", "--name", "in-place", "--from-snapshot", "one", "--to-pvc", "data").golden("restore-name-taken")

	w.run("restore", "--name", "whole", "--from-snapshot", "one", "--to-pvc", "data", "--enable-file-deletion").golden("restore-deletes")
	assert.Equal(t, &kopiurv1.RestoreOptions{EnableFileDeletion: new(true)}, get("whole").Options)

	w.run("restore", "--name", "new", "--identity", "data@shop:/pvc/data", "--repository", "nas", "--snapshot-id", "k0123456789abcdef",
		"--create-pvc", "again", "--size", "7Gi", "--storage-class", "fast", "--access-mode", "RWX", "--credential-projection").golden("restore-identity")
	assert.Equal(t, kopiurv1.RestoreSpec{
		Source:     kopiurv1.RestoreSource{Identity: &kopiurv1.FromIdentity{Username: "data", Hostname: "shop", SourcePath: "/pvc/data", SnapshotID: "k0123456789abcdef"}},
		Repository: &kopiurv1.RepositoryRef{Name: "nas", Kind: kopiurv1.KindRepository},
		Target: kopiurv1.RestoreTarget{PVC: &kopiurv1.TargetPVC{
			Name: "again", Capacity: "7Gi", StorageClassName: "fast", AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany},
		}},
		CredentialProjection: &kopiurv1.CredentialProjection{Enabled: true},
	}, get("new"))

	w.run("restore", "--name", "gitops", "--from-policy", "data", "--populator").golden("restore-populator")
	assert.NotNil(t, get("gitops").Target.Populator)
	assert.Len(t, w.restores(), 4)

	r := w.run("restore", "--from-snapshot", "one", "--to-pvc", "data", "--dry-run", "-o", "json")
	require.Equal(t, cli.OK, r.code, r.stderr)
	var got kopiurv1.Restore
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &got))
	assert.Regexp(t, `^one-\d{8}-\d{6}$`, got.Name)
	assert.Len(t, w.restores(), 4, "a dry run creates nothing")
}

// A new claim without a size gets what the snapshot needs that the flags mean.
func TestRestoreMeasures(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(repository("nas"), policy("data", "nas"), policy("other", "nas"))
	failedRun := failed(snapshot("broken", "data"))
	elsewhere := stored("copy", "data", "2026-03-05T10:00:00Z", 90<<30, 10)
	elsewhere.Spec.Repository = &kopiurv1.RepositoryRef{Name: "offsite"}
	w.create(
		stored("old", "data", "2026-03-03T08:30:00Z", 100<<20, 10), stored("mid", "data", "2026-03-04T08:30:00Z", 10<<30, 10),
		stored("new", "data", "2026-03-05T08:30:00Z", 2<<30, 1<<20), stored("foreign", "other", "2026-03-05T09:30:00Z", 80<<30, 10),
		failedRun, elsewhere,
	)
	for name, tc := range map[string]struct {
		args []string
		size string
	}{
		"a snapshot":               {[]string{"--from-snapshot", "mid"}, "12Gi"},
		"the newest":               {[]string{"--from-policy", "data"}, "18Gi"},
		"the one before":           {[]string{"--from-policy", "data", "--offset", "1"}, "12Gi"},
		"as of a time":             {[]string{"--from-policy", "data", "--as-of", "2026-03-04T00:00:00Z"}, "1Gi"},
		"another repository":       {[]string{"--from-policy", "data", "--repository", "nas", "--as-of", "2026-03-04T08:30:00Z"}, "12Gi"},
		"an identity, by its time": {[]string{"--identity", "data@shop:/pvc/data", "--repository", "nas", "--as-of", "2026-03-04T09:00:00Z"}, "12Gi"},
	} {
		r := w.run(append([]string{"restore", "--create-pvc", "back", "--dry-run", "-o", "json"}, tc.args...)...)
		require.Equal(t, cli.OK, r.code, r.stderr)
		var got kopiurv1.Restore
		require.NoError(t, json.Unmarshal([]byte(r.stdout), &got))
		assert.Equal(t, tc.size, string(got.Spec.Target.PVC.Capacity), name)
		assert.Contains(t, r.stderr, "claim back gets "+tc.size)
	}
	w.run("restore", "--from-policy", "data", "--offset", "3", "--create-pvc", "back").golden("restore-nothing-to-measure")
}

func TestRestoreWaits(t *testing.T) {
	t.Parallel()
	start := func(t *testing.T, args ...string) (*world, *call, *kopiurv1.Restore) {
		t.Helper()
		w := newWorld(t)
		w.create(claim("data", nil), stored("one", "data", "2026-03-05T08:30:00Z", 1<<30, 10))
		c := w.start(t.Context(), append([]string{"restore", "--from-snapshot", "one", "--to-pvc", "data", "--name", "back", "--wait"}, args...)...)
		c.says(t, "back  Pending")
		r := &kopiurv1.Restore{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "back"}}
		w.get(r)
		return w, c, r
	}
	end := func(t *testing.T, c *call, code cli.Code, name string) {
		t.Helper()
		got := c.wait()
		got.t = t
		assert.Equal(t, code, got.code, got.stderr)
		got.golden(name)
	}
	t.Run("to the end", func(t *testing.T) {
		t.Parallel()
		w, c, r := start(t)
		w.status(r, func() {
			r.Status.Phase = kopiurv1.RestoreResolving
			r.Status.Conditions = []metav1.Condition{condition(kopiurv1.ConditionReady, metav1.ConditionFalse, "Resolving", "asks the repository")}
		})
		c.says(t, "Resolving: asks")
		w.status(r, func() {
			r.Status.Phase = kopiurv1.RestoreRestoring
			r.Status.Progress = &kopiurv1.RestoreProgress{Progress: kopiurv1.Progress{BytesProcessed: 1 << 30, BytesTotal: 2 << 30, FilesProcessed: 7, FilesTotal: 10}}
		})
		c.says(t, "50 %")
		w.status(r, func() { completed(r) })
		end(t, c, cli.OK, "restore-wait")
	})
	t.Run("owners that could not be set are mentioned", func(t *testing.T) {
		t.Parallel()
		w, c, r := start(t)
		w.status(r, func() {
			completed(r)
			r.Status.Conditions = append(r.Status.Conditions,
				condition(kopiurv1.ConditionOwnershipApplied, metav1.ConditionFalse, "OwnershipLost", "12 entries belong to the mover, the first is etc/shadow: run it as uid 0"))
		})
		end(t, c, cli.OK, "restore-wait-owners")
	})
	t.Run("a completed restore of nothing says so", func(t *testing.T) {
		t.Parallel()
		w, c, r := start(t)
		w.status(r, func() {
			completed(r)
			r.Status.Resolved = &kopiurv1.RestoreResolved{Resolution: kopiurv1.ResolutionNoSnapshot}
			r.Status.Progress = nil
			r.Status.Conditions[0].Message = "the repository has no snapshot of data@shop:/pvc/data"
		})
		end(t, c, cli.OK, "restore-wait-nothing")
	})
	t.Run("a failure is a failure", func(t *testing.T) {
		t.Parallel()
		w, c, r := start(t, "--logs")
		w.status(r, func() {
			r.Status.Phase = kopiurv1.RestoreFailed
			r.Status.Failure = &kopiurv1.Failure{KopiaErrorClass: "Unknown", Message: "claim data is full"}
			r.Status.LogTail = "2026-03-05T08:58:41Z error no space left on device"
		})
		end(t, c, cli.Failed, "restore-wait-failed")
	})
}

func TestRestoreForbidden(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(claim("data", nil), stored("one", "data", "2026-03-05T08:30:00Z", 1<<30, 10))
	w.as("bob-"+w.namespace).run("restore", "--from-snapshot", "one", "--create-pvc", "x").golden("restore-forbidden", "bob-"+w.namespace, "bob")
	assert.Empty(t, w.restores())
}
