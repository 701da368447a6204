// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/decide/plan"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

var id = kopiurv1.Identity{Username: "web", Hostname: "apps", SourcePath: "/pvc/data"}

func find(list []metav1.Condition, kind string) *metav1.Condition {
	for i := range list {
		if list[i].Type == kind {
			return &list[i]
		}
	}
	return nil
}

func TestResult(t *testing.T) {
	t.Parallel()
	stored := work.SnapshotResult{SnapshotID: "k1", SizeBytes: 10, FileCount: 3, FilesNew: 2, StartTime: now, EndTime: now.Add(9 * time.Second)}
	with := func(change func(*work.SnapshotResult)) *work.SnapshotResult {
		s := stored
		change(&s)
		return &s
	}
	for name, tc := range map[string]struct {
		result *work.Result
		phase  kopiurv1.SnapshotPhase
		reason string
		says   string
		id     string
		class  string
		// compatible is the status of SecurityContextCompatible, "" where the condition is absent.
		compatible metav1.ConditionStatus
	}{
		"a success": {&work.Result{Code: work.CodeOK, Snapshot: &stored}, kopiurv1.SnapshotSucceeded, kopiurv1.ReasonSnapshotSucceeded, "stored as k1", "k1", "", ""},
		"a success that was found": {
			&work.Result{Code: work.CodeOK, Snapshot: with(func(s *work.SnapshotResult) { s.Found = true })}, kopiurv1.SnapshotSucceeded, kopiurv1.ReasonSnapshotSucceeded, "", "k1", "", "",
		},
		"a success with tolerated faults (F-6)": {
			&work.Result{Code: work.CodeOK, Snapshot: with(func(s *work.SnapshotResult) {
				s.FilesFailed, s.Unstored = 2, &work.Unstored{Ignored: 2}
			})}, kopiurv1.SnapshotSucceeded, kopiurv1.ReasonSnapshotSucceeded, "", "k1", "", metav1.ConditionFalse,
		},
		"a success that left out what kopia does not store": {
			&work.Result{Code: work.CodeOK, Snapshot: with(func(s *work.SnapshotResult) { s.Unstored = &work.Unstored{Unsupported: map[string]int64{"fifo": 1}} })},
			kopiurv1.SnapshotSucceeded, kopiurv1.ReasonSnapshotSucceeded, "", "k1", "", "",
		},
		"nothing new": {
			&work.Result{Code: work.CodeOK, Snapshot: &work.SnapshotResult{Unchanged: true}}, kopiurv1.SnapshotUnchanged, kopiurv1.ReasonSnapshotUnchanged, "nothing was stored", "", "", "",
		},
		"incomplete and saved (K-4)": {
			&work.Result{Code: work.CodePermissionDenied, Message: "1 of 3 entries", Snapshot: with(func(s *work.SnapshotResult) {
				s.FilesFailed, s.Unstored = 1, &work.Unstored{Unreadable: 1}
			})}, kopiurv1.SnapshotFailed, kopiurv1.ReasonSnapshotIncompleteUnreadableEntries, "stored as k1", "k1", "PermissionDenied", metav1.ConditionFalse,
		},
		"the root cannot be read": {
			&work.Result{Code: work.CodePermissionDenied, Message: "uid 65532 may not read /pvc/data"}, kopiurv1.SnapshotFailed, kopiurv1.ReasonSnapshotFailed, "uid 65532", "", "PermissionDenied", metav1.ConditionFalse,
		},
		"a wrong password": {
			&work.Result{Code: work.CodeAuthFailure, Message: "the password is wrong"}, kopiurv1.SnapshotFailed, kopiurv1.ReasonSnapshotFailed, "the password is wrong", "", "AuthFailure", "",
		},
		"a failure without words":              {&work.Result{Code: work.CodeUnknown}, kopiurv1.SnapshotFailed, kopiurv1.ReasonSnapshotFailed, "Unknown", "", "Unknown", ""},
		"a success that names nothing is none": {&work.Result{Code: work.CodeOK}, kopiurv1.SnapshotFailed, kopiurv1.ReasonSnapshotFailed, "different versions", "", "Unknown", ""},
		"no result at all":                     {nil, kopiurv1.SnapshotFailed, kopiurv1.ReasonSnapshotFailed, "without a result", "", "Lost", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := plan.Result(id, "why", moverjob.Outcome{State: moverjob.Finished, Result: tc.result})
			assert.Equal(t, tc.phase, got.Phase)
			assert.Equal(t, tc.reason, got.Reason)
			assert.Contains(t, got.Message, tc.says)
			created := find(got.Conditions, kopiurv1.ConditionSnapshotCreated)
			require.NotNil(t, created)
			if tc.id == "" {
				assert.Nil(t, got.Snapshot)
				assert.Equal(t, metav1.ConditionFalse, created.Status)
			} else {
				assert.Equal(t, &kopiurv1.StoredSnapshot{KopiaSnapshotID: tc.id, Identity: id, Description: "why"}, got.Snapshot)
				assert.Equal(t, metav1.ConditionTrue, created.Status)
			}
			if tc.class == "" {
				assert.Nil(t, got.Failure)
			} else {
				require.NotNil(t, got.Failure)
				assert.Equal(t, tc.class, got.Failure.KopiaErrorClass)
				assert.Equal(t, plan.OpSnapshot, got.Failure.Op)
			}
			var status metav1.ConditionStatus
			if c := find(got.Conditions, kopiurv1.ConditionSecurityContextCompatible); c != nil {
				status = c.Status
			}
			assert.Equal(t, tc.compatible, status)
			assert.NotEqual(t, metav1.ConditionTrue, status, "nobody knows that")
		})
	}
}

func TestResultDetails(t *testing.T) {
	t.Parallel()
	r := &work.Result{Operation: "snapshot", Code: work.CodeOK, StartTime: now.Add(-time.Hour), EndTime: now.Add(time.Hour), Snapshot: &work.SnapshotResult{
		SnapshotID: "k1", StartTime: now, EndTime: now.Add(90 * time.Second),
		SizeBytes: 1, FileCount: 2, BytesNew: 3, FilesNew: 4, FilesModified: 5, FilesUnchanged: 6, FilesFailed: 7, BytesUploaded: 8,
		Unstored: &work.Unstored{Unreadable: 1, Ignored: 2, UnsupportedNames: 3, Unsupported: map[string]int64{"socket": 4}},
	}}
	for range work.MaxPaths + 5 {
		r.Snapshot.Unstored.Paths = append(r.Snapshot.Unstored.Paths, work.EntryFault{Path: "p", UID: 1, Mode: "m", Reason: "r"})
	}
	got := plan.Result(id, "", moverjob.Outcome{Result: r})
	assert.Equal(t, &kopiurv1.SnapshotStats{
		SizeBytes: 1, Files: 2, BytesNew: 3, FilesNew: 4, FilesModified: 5, FilesUnchanged: 6, FilesFailed: 7, BytesUploaded: 8,
	}, got.Stats)
	assert.Equal(t, &kopiurv1.Timing{StartTime: "2026-03-05T02:00:00Z", EndTime: "2026-03-05T02:01:30Z", DurationSeconds: 90}, got.Timing, "the snapshot's own times: restores go by them")
	require.NotNil(t, got.Unstored)
	assert.Len(t, got.Unstored.Paths, work.MaxPaths)
	assert.Equal(t, kopiurv1.EntryFault{Path: "p", UID: 1, Mode: "m", Reason: "r"}, got.Unstored.Paths[0])
	assert.Equal(t, map[string]int64{"socket": 4}, got.Unstored.Unsupported)

	assert.Nil(t, got.Pinned, "which a pin Job still has to answer for, where it is wanted")
	r.Snapshot.Pinned = true
	got = plan.Result(id, "", moverjob.Outcome{Result: r})
	assert.Equal(t, new(true), got.Pinned)
	assert.Equal(t, kopiurv1.ReasonPinned, find(got.Conditions, kopiurv1.ConditionPinned).Reason)
	missing := plan.Result(id, "", moverjob.Outcome{Result: &work.Result{Code: work.CodeMissingCredentials, Message: "key KOPIA_PASSWORD is missing"}})
	c := find(missing.Conditions, kopiurv1.ConditionCredentialsAvailable)
	require.NotNil(t, c)
	assert.Equal(t, kopiurv1.ReasonMissingCredentialsSecret, c.Reason)
	assert.Contains(t, c.Message, "KOPIA_PASSWORD")
}

func TestRecorded(t *testing.T) {
	t.Parallel()
	uid := func(n int64) *kopiurv1.MoverSpec {
		m := &kopiurv1.MoverSpec{}
		m.SecurityContext = &corev1.SecurityContext{RunAsUser: &n}
		return m
	}
	onPod := &kopiurv1.MoverSpec{PodSecurityContext: &corev1.PodSecurityContext{RunAsUser: new(int64(1000)), FSGroup: new(int64(2000))}}
	for name, tc := range map[string]struct {
		change func(*plan.World)
		want   kopiurv1.Recorded
	}{
		"nobody said anything": {func(*plan.World) {}, kopiurv1.Recorded{Schema: 1, Src: "defaults", UID: new(int64(65532)), GID: new(int64(65532)), FSGroup: new(int64(65532))}},
		"the policy names a uid": {
			func(w *plan.World) { w.Policy.Spec.Mover = uid(1000) }, kopiurv1.Recorded{Schema: 1, Src: "explicit", UID: new(int64(1000)), GID: new(int64(65532)), FSGroup: new(int64(65532))},
		},
		"the Snapshot wins over it": {
			func(w *plan.World) { w.Policy.Spec.Mover, w.Snapshot.Spec.Mover = uid(1000), uid(0) }, kopiurv1.Recorded{Schema: 1, Src: "explicit", UID: new(int64(0)), GID: new(int64(65532)), FSGroup: new(int64(65532))},
		},
		"a uid of the pod is nobody else's": {
			func(w *plan.World) { w.Policy.Spec.Mover = onPod }, kopiurv1.Recorded{Schema: 1, Src: "explicit", UID: new(int64(1000)), FSGroup: new(int64(2000))},
		},
		"the pod has the group of a repository on a volume": {
			func(w *plan.World) {
				w.Policy.Spec.Mover = onPod
				w.Repository.Spec.Backend = kopiurv1.Backend{Filesystem: &kopiurv1.FilesystemBackend{Path: "/repository"}}
			}, kopiurv1.Recorded{Schema: 1, Src: "explicit", UID: new(int64(1000)), FSGroup: new(int64(2000))},
		},
		"privileged": {
			func(w *plan.World) { w.Policy.Spec.Mover = &kopiurv1.MoverSpec{PrivilegedMode: new(true)} }, kopiurv1.Recorded{Schema: 1, Src: "explicit", UID: new(int64(0)), GID: new(int64(0)), FSGroup: new(int64(65532))},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := world(tc.change)
			assert.Equal(t, tc.want, plan.RecordedOf(w))
		})
	}
}

// TestWorkSpec reads back what the mover is told.
func TestWorkSpec(t *testing.T) {
	t.Parallel()
	w := world(func(w *plan.World) {
		w.Snapshot.Spec.Tags = map[string]string{"team": "a"}
		w.Policy.Spec.Identity = &kopiurv1.PolicyIdentity{Hostname: "old-host"}
		w.Policy.Spec.Sources[0].SourcePathOverride = "/data"
		w.Policy.Spec.Upload = &kopiurv1.Upload{LimitMB: 100}
		w.Policy.Spec.ExtraArgs = []string{"--parallel=4"}
		w.Policy.Spec.ErrorHandling = &kopiurv1.ErrorHandling{IgnoreFileErrors: true, FailFast: true}
		w.Policy.Spec.Compression = &kopiurv1.Compression{Compressor: "zstd"}
		w.Policy.Spec.Files = &kopiurv1.Files{IgnoreRules: []string{"*.tmp"}, IgnoreIdenticalSnapshots: true}
	})
	p := plan.Decide(w, now)
	require.Equal(t, plan.Start, p.Action)
	container := p.Job.Spec.Template.Spec.Containers[0]
	spec, err := work.DecodeSpec(container.Env[0].Value)
	require.NoError(t, err)
	assert.Equal(t, "uid", spec.RequestID, "the tag by which a rerun finds what was stored is the same for every attempt")
	op := spec.Operation.Snapshot
	assert.Equal(t, work.Identity{Username: "web", Hostname: "old-host", Path: "/data"}, op.Identity)
	assert.Equal(t, "/data", op.Path)
	assert.Equal(t, map[string]string{"team": "a", work.TagConfig: "web", work.TagMeta: `{"schema":1,"uid":65532,"gid":65532,"fsGroup":65532,"src":"defaults"}`}, op.Tags)
	assert.True(t, op.FailFast)
	assert.Equal(t, int64(100), op.UploadLimitMB)
	assert.Equal(t, work.SnapshotPolicy{Compression: "zstd", IgnoreRules: []string{"*.tmp"}, IgnoreIdentical: true, IgnoreFileErrors: true, MaxParallelFileReads: 4}, op.Policy)
}

// TestMountPath: a recorded path that cannot be a mount point is only a name.
func TestMountPath(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/data": "/data", "/data/": "/data", "/": work.SourceDir, "/a:b": work.SourceDir, "/a/../b": work.SourceDir,
		"/etc/app": "/etc/app", "/var/lib/app": "/var/lib/app", "/movers": "/movers", "/run/app": "/run/app",
		"/etc": work.SourceDir, "/dev": work.SourceDir, "//dev": work.SourceDir, "/proc/1": work.SourceDir, "/mover": work.SourceDir,
		"/tmp/x": work.SourceDir, "/var": work.SourceDir, "/var/cache/kopia/": work.SourceDir, "/run": work.SourceDir,
	} {
		w := world(func(w *plan.World) { w.Policy.Spec.Sources[0].SourcePathOverride = path })
		p := plan.Decide(w, now)
		require.Equal(t, plan.Start, p.Action, path)
		spec, err := work.DecodeSpec(p.Job.Spec.Template.Spec.Containers[0].Env[0].Value)
		require.NoError(t, err)
		assert.Equal(t, path, spec.Operation.Snapshot.Identity.Path)
		assert.Equal(t, want, spec.Operation.Snapshot.Path)
	}
}

func TestAltered(t *testing.T) {
	t.Parallel()
	w := world()
	rec := plan.RecordedOf(w)
	assert.Nil(t, plan.Altered(w.Snapshot, w.Policy, rec))
	w.Policy.Spec.Sources[0].ReadOnly = new(false)
	c := plan.Altered(w.Snapshot, w.Policy, rec)
	require.NotNil(t, c)
	assert.Contains(t, c.Message, "group 65532")
	assert.Nil(t, plan.Altered(w.Snapshot, w.Policy, kopiurv1.Recorded{}), "no group was applied")
}
