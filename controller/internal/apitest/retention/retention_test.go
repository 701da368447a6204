// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package retention_test drives the retention of policies against a real API server.
package retention_test

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/testenv"
	"github.com/kopiur/kopiur/controller/setup"
)

// Needs the API server of KOPIUR_TEST_KUBECONFIG.
func TestMain(m *testing.M) { os.Exit(testenv.Main(m)) }

// lab is one test's repository with a policy that keeps the newest two snapshots.
type lab struct {
	*testenv.Env
	t *testing.T
	// time is what controllers decide and rest by, server what they compare the API server's timestamps with.
	time, server *testenv.Time
	repository   *kopiurv1.Repository
	policy       *kopiurv1.SnapshotPolicy
}

func newLab(t *testing.T) *lab {
	t.Helper()
	l := &lab{Env: testenv.New(t), t: t}
	l.time, l.server = l.NewTime(), l.NewTime()
	l.repository = &kopiurv1.Repository{ObjectMeta: metav1.ObjectMeta{Name: "nas"}, Spec: kopiurv1.RepositorySpec{
		Backend:    kopiurv1.Backend{S3: &kopiurv1.S3Backend{Bucket: "backups"}},
		Encryption: kopiurv1.Encryption{PasswordSecretRef: kopiurv1.SecretKeyRef{Name: "password"}},
		// Every deletion that is not our own is held.
		DeletionProtection: &kopiurv1.DeletionProtection{Threshold: new(int32(1))},
	}}
	l.policy = &kopiurv1.SnapshotPolicy{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: kopiurv1.SnapshotPolicySpec{
		Repository: &kopiurv1.RepositoryRef{Name: "nas"}, CopyMethod: kopiurv1.CopyDirect,
		Sources:   []kopiurv1.Source{{PVC: &kopiurv1.LocalRef{Name: "data"}}},
		Retention: &kopiurv1.Retention{KeepLatest: new(int32(2))},
	}}
	return l
}

// stored makes n Snapshots that are in the repository, s000 the oldest.
func (l *lab) stored(n int, edit ...func(i int, s *kopiurv1.Snapshot)) []*kopiurv1.Snapshot {
	l.t.Helper()
	start := time.Date(2026, 3, 5, 2, 0, 0, 0, time.UTC)
	out := make([]*kopiurv1.Snapshot, n)
	for i := range out {
		s := &kopiurv1.Snapshot{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("s%03d", i), Finalizers: []string{kopiurv1.FinalizerSnapshot}}}
		s.Spec.PolicyRef = &kopiurv1.PolicyRef{Name: "web"}
		at := start.Add(time.Duration(i) * time.Hour)
		s.Status = kopiurv1.SnapshotStatus{
			Phase: kopiurv1.SnapshotSucceeded, Origin: kopiurv1.OriginScheduled,
			Snapshot: &kopiurv1.StoredSnapshot{KopiaSnapshotID: fmt.Sprintf("k%03d", i), Identity: kopiurv1.Identity{Username: "web", Hostname: l.Namespace, SourcePath: "/pvc/data"}},
			Timing:   &kopiurv1.Timing{StartTime: at.Format(time.RFC3339), EndTime: at.Add(time.Minute).Format(time.RFC3339)},
			Resolved: &kopiurv1.SnapshotResolved{Repository: &kopiurv1.RepositoryRef{Kind: kopiurv1.KindRepository, Name: "nas", Namespace: l.Namespace}, DeletionPolicy: kopiurv1.DeletionDelete},
		}
		for _, f := range edit {
			f(i, s)
		}
		st := s.Status
		l.Create(s)
		s.Status = st
		require.NoError(l.t, l.Client.Status().Update(l.t.Context(), s))
		out[i] = s
	}
	return out
}

func (l *lab) start() {
	l.t.Helper()
	l.Create(testenv.Secret("password", map[string]string{"KOPIA_PASSWORD": "x"}), testenv.Claim("data"), l.repository, l.policy)
	l.StartController(func(o *setup.Options) {
		l.time.Decisions(o)
		o.ServerClock = l.server
	})
}

// left waits until these are the Snapshots that stay, lets the time pass that deletions are gathered for, and waits until
// the others are gone.
func (l *lab) left(names ...string) {
	l.t.Helper()
	require.EventuallyWithT(l.t, func(c *assert.CollectT) {
		assert.Equal(c, names, l.staying())
	}, testenv.Wait, testenv.Tick)
	l.server.Step(11 * time.Second)
	l.time.Step(11 * time.Second)
	require.EventuallyWithT(l.t, func(c *assert.CollectT) {
		assert.Equal(c, names, l.names())
	}, testenv.Wait, testenv.Tick)
}

// staying are the Snapshots that are not on their way out.
func (l *lab) staying() []string {
	l.t.Helper()
	var list kopiurv1.SnapshotList
	require.NoError(l.t, l.Client.List(l.t.Context(), &list, client.InNamespace(l.Namespace)))
	var out []string
	for _, s := range list.Items {
		if s.DeletionTimestamp == nil {
			out = append(out, s.Name)
		}
	}
	slices.Sort(out)
	return out
}

func (l *lab) names() []string {
	l.t.Helper()
	var list kopiurv1.SnapshotList
	require.NoError(l.t, l.Client.List(l.t.Context(), &list, client.InNamespace(l.Namespace)))
	var out []string
	for _, s := range list.Items {
		out = append(out, s.Name)
	}
	slices.Sort(out)
	return out
}

// ids that movers were told to delete, in any order.
func (l *lab) deleted() []string {
	l.t.Helper()
	var out []string
	for _, c := range l.Calls() {
		if c.Spec.Operation.Delete == nil {
			continue
		}
		keys, err := c.Spec.Operation.Delete.Keys()
		require.NoError(l.t, err)
		for _, k := range keys {
			out = append(out, k.SnapshotID)
		}
	}
	slices.Sort(out)
	return out
}

// ready waits for the policy's verdict of the present generation.
func (l *lab) ready(status metav1.ConditionStatus) {
	l.t.Helper()
	require.EventuallyWithT(l.t, func(c *assert.CollectT) {
		l.GetC(c, l.policy)
		for _, cond := range l.policy.Status.Conditions {
			if cond.Type == kopiurv1.ConditionReady {
				assert.Equal(c, status, cond.Status, cond.Message)
				assert.Equal(c, l.policy.Generation, cond.ObservedGeneration)
				return
			}
		}
		assert.Fail(c, "no verdict yet")
	}, testenv.Wait, testenv.Tick)
}

// TestRetentionPrunes what no rule keeps, with its data, while the repository holds everybody else's deletions; the status
// and an event say so. A pinned one, one that failed with some data stored (D-3) and one of another source stay.
func TestRetentionPrunes(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.stored(8, func(i int, s *kopiurv1.Snapshot) {
		switch i {
		case 0:
			s.Spec.Pin, s.Status.Pinned = true, new(true)
		case 1:
			s.Status.Snapshot.Identity.SourcePath = "/pvc/elsewhere"
		case 2, 7:
			s.Status.Phase, s.Status.Failure = kopiurv1.SnapshotFailed, &kopiurv1.Failure{KopiaErrorClass: "PermissionDenied", Message: "no"}
		}
	})
	l.start()
	l.left("s000", "s001", "s002", "s005", "s006", "s007")
	assert.Equal(t, []string{"k003", "k004"}, l.deleted())
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		l.GetC(c, l.policy)
		if r := l.policy.Status.Retention; assert.NotNil(c, r) {
			assert.Equal(c, int64(2), r.LastPruneDeleted)
			assert.Equal(c, int64(4), r.ActiveSnapshotCount)
			assert.NotEmpty(c, r.LastPruneAt)
		}
		var events corev1.EventList
		require.NoError(c, l.Client.List(t.Context(), &events, client.InNamespace(l.Namespace)))
		assert.True(c, slices.ContainsFunc(events.Items, func(e corev1.Event) bool {
			return e.Reason == kopiurv1.ReasonPruned && e.Type == corev1.EventTypeNormal
		}))
	}, testenv.Wait, testenv.Tick)

	t.Log("the next success pushes out the next")
	s := &kopiurv1.Snapshot{ObjectMeta: metav1.ObjectMeta{Name: "s009"}}
	s.Spec.PolicyRef = &kopiurv1.PolicyRef{Name: "web"}
	l.Create(s)
	l.left("s000", "s001", "s002", "s006", "s007", "s009")
	assert.Equal(t, []string{"k003", "k004", "k005"}, l.deleted())
	l.Get(l.policy)
	l.Quiet(l.policy, time.Second)
}

// TestWhatKeepsRetentionFromPruning: nothing is deleted, however long one waits, until that is put right.
func TestWhatKeepsRetentionFromPruning(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		set, lift func(l *lab)
	}{
		"a policy without retention": {
			func(l *lab) { l.policy.Spec.Retention = nil },
			func(l *lab) {
				l.Change(l.policy, func() { l.policy.Spec.Retention = &kopiurv1.Retention{KeepLatest: new(int32(2))} })
			},
		},
		"a policy that is suspended": {
			func(l *lab) { l.policy.Spec.Suspend = true },
			func(l *lab) { l.Change(l.policy, func() { l.policy.Spec.Suspend = false }) },
		},
		"a repository that takes nothing": {
			func(l *lab) { l.repository.Spec.Mode = kopiurv1.ModeReadOnly },
			func(l *lab) { l.Change(l.repository, func() { l.repository.Spec.Mode = kopiurv1.ModeReadWrite }) },
		},
		"an identity that has changed": {
			func(l *lab) { l.policy.Spec.Identity = &kopiurv1.PolicyIdentity{Username: "other"} },
			func(l *lab) { l.Change(l.policy, func() { l.policy.Spec.Identity = nil }) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			tc.set(l)
			l.stored(4)
			l.start()
			require.EventuallyWithT(t, func(c *assert.CollectT) {
				l.GetC(c, l.policy)
				if r := l.policy.Status.Retention; assert.NotNil(c, r, "it was looked at") {
					assert.Equal(c, int64(4), r.ActiveSnapshotCount)
				}
				l.GetC(c, l.repository)
				assert.Equal(c, kopiurv1.RepositoryReady, l.repository.Status.Phase)
			}, testenv.Wait, testenv.Tick)
			for range 3 {
				l.time.Step(time.Hour)
			}
			assert.Equal(t, []string{"s000", "s001", "s002", "s003"}, l.names())
			assert.Empty(t, l.deleted())
			tc.lift(l)
			l.left("s002", "s003")
		})
	}
}

// TestAMarkThatIsTakenBack: a controller that ended between mark and deletion, and a rule that was relaxed before the next.
func TestAMarkThatIsTakenBack(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	list := l.stored(2, func(_ int, s *kopiurv1.Snapshot) {
		s.Annotations = map[string]string{kopiurv1.AnnotationPrunedBy: kopiurv1.PrunedByRetention}
	})
	l.start()
	l.ready(metav1.ConditionTrue)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		for _, s := range list {
			l.GetC(c, s)
			assert.NotContains(c, s.Annotations, kopiurv1.AnnotationPrunedBy)
		}
	}, testenv.Wait, testenv.Tick)
}
