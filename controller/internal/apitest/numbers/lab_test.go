// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package numbers_test counts what the controller costs. With the tag bench it also measures how long things take, at the
// sizes of the budgets, and writes the rows that docs/performance.md shows.
package numbers_test

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// Needs the API server of KOPIUR_TEST_KUBECONFIG, and its audit log.
func TestMain(m *testing.M) { os.Exit(testenv.Main(m)) }

// workers is how many requests of a test's own are under way at a time.
const workers = 16

// lab is a repository with a policy in the test's namespace.
type lab struct {
	*testenv.Env
	t *testing.T
}

func newLab(t *testing.T) *lab {
	t.Helper()
	return &lab{Env: testenv.New(t), t: t}
}

// repository named name in a namespace, with its password. Nothing looks at it by itself: probes have their own price.
func (l *lab) repository(namespace, name string, edit ...func(*kopiurv1.Repository)) *kopiurv1.Repository {
	l.t.Helper()
	password := testenv.Secret(name+"-password", map[string]string{"KOPIA_PASSWORD": "x"})
	password.Namespace = namespace
	r := &kopiurv1.Repository{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: kopiurv1.RepositorySpec{
		Backend:    kopiurv1.Backend{S3: &kopiurv1.S3Backend{Bucket: "backups"}},
		Encryption: kopiurv1.Encryption{PasswordSecretRef: kopiurv1.SecretKeyRef{Name: password.Name}},
		Health:     &kopiurv1.HealthSpec{Probe: &kopiurv1.HealthProbe{Enabled: new(false)}},
	}}
	for _, f := range edit {
		f(r)
	}
	l.Create(password, r)
	return r
}

// policy named name of a repository in its namespace, for the claim data, which is made.
func (l *lab) policy(repo *kopiurv1.Repository, name string, edit ...func(*kopiurv1.SnapshotPolicy)) *kopiurv1.SnapshotPolicy {
	l.t.Helper()
	p := &kopiurv1.SnapshotPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: repo.Namespace, Name: name}, Spec: kopiurv1.SnapshotPolicySpec{
		Repository: &kopiurv1.RepositoryRef{Name: repo.Name, Namespace: repo.Namespace},
		Sources:    []kopiurv1.Source{{PVC: &kopiurv1.LocalRef{Name: "data"}}},
		CopyMethod: kopiurv1.CopyDirect,
	}}
	for _, f := range edit {
		f(p)
	}
	l.Create(p)
	return p
}

func (l *lab) claim(namespace string) {
	l.t.Helper()
	c := testenv.Claim("data")
	c.Namespace = namespace
	l.Create(c)
}

// stored makes n Snapshots of a policy that succeeded long ago.
func (l *lab) stored(p *kopiurv1.SnapshotPolicy, n int) {
	l.t.Helper()
	start := time.Date(2026, 3, 5, 2, 0, 0, 0, time.UTC)
	repo := p.Spec.Repository.In(p.Namespace)
	l.each(n, func(ctx context.Context, i int) error {
		at := start.Add(time.Duration(i) * time.Hour)
		s := &kopiurv1.Snapshot{ObjectMeta: metav1.ObjectMeta{
			Namespace: p.Namespace, Name: fmt.Sprintf("%s-%05d", p.Name, i), Finalizers: []string{kopiurv1.FinalizerSnapshot},
			Labels: map[string]string{kopiurv1.LabelConfig: p.Name, kopiurv1.LabelPolicy: p.Name, kopiurv1.LabelOrigin: kopiurv1.OriginManual, kopiurv1.LabelSnapshotID: fmt.Sprintf("k%05d", i)},
		}, Spec: kopiurv1.SnapshotSpec{PolicyRef: &kopiurv1.PolicyRef{Name: p.Name}}}
		status := kopiurv1.SnapshotStatus{
			Phase: kopiurv1.SnapshotSucceeded, Origin: kopiurv1.OriginManual, ObservedGeneration: 1,
			Snapshot: &kopiurv1.StoredSnapshot{
				KopiaSnapshotID: fmt.Sprintf("k%05d", i),
				Identity:        kopiurv1.Identity{Username: p.Name, Hostname: p.Namespace, SourcePath: "/pvc/data"},
			},
			Stats:      &kopiurv1.SnapshotStats{SizeBytes: 4096, Files: 3},
			Timing:     &kopiurv1.Timing{StartTime: at.Format(time.RFC3339), EndTime: at.Add(time.Minute).Format(time.RFC3339), DurationSeconds: 60},
			Resolved:   &kopiurv1.SnapshotResolved{Repository: &repo, DeletionPolicy: kopiurv1.DeletionDelete, Sources: []kopiurv1.ResolvedSource{{PVC: p.Namespace + "/data", SourcePath: "/pvc/data"}}},
			Conditions: ready(at),
		}
		s.Status = status
		if err := l.Client.Create(ctx, s); err != nil {
			return err
		}
		s.Status = status
		return l.Client.Status().Update(ctx, s)
	})
}

func ready(at time.Time) []metav1.Condition {
	var out []metav1.Condition
	for kind, status := range map[string]metav1.ConditionStatus{
		kopiurv1.ConditionReady: metav1.ConditionTrue, kopiurv1.ConditionReconciling: metav1.ConditionFalse, kopiurv1.ConditionStalled: metav1.ConditionFalse,
	} {
		out = append(out, metav1.Condition{
			Type: kind, Status: status, Reason: kopiurv1.ReasonSnapshotSucceeded, Message: "stored", ObservedGeneration: 1, LastTransitionTime: metav1.NewTime(at),
		})
	}
	return out
}

// snapshots makes n Snapshots of a policy at once.
func (l *lab) snapshots(p *kopiurv1.SnapshotPolicy, prefix string, n int) []*kopiurv1.Snapshot {
	l.t.Helper()
	out := make([]*kopiurv1.Snapshot, n)
	l.each(n, func(ctx context.Context, i int) error {
		out[i] = &kopiurv1.Snapshot{
			ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: fmt.Sprintf("%s-%05d", prefix, i)},
			Spec:       kopiurv1.SnapshotSpec{PolicyRef: &kopiurv1.PolicyRef{Name: p.Name}},
		}
		return l.Client.Create(ctx, out[i])
	})
	return out
}

// each does something n times, some at a time.
func (l *lab) each(n int, do func(ctx context.Context, i int) error) {
	l.t.Helper()
	next := make(chan int)
	failed := make([]error, n)
	var running sync.WaitGroup
	for range min(workers, n) {
		running.Go(func() {
			for i := range next {
				failed[i] = do(l.t.Context(), i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	running.Wait()
	for _, err := range failed {
		require.NoError(l.t, err)
	}
}

// is waits for a condition of an object.
func (l *lab) is(obj client.Object, condition string, status metav1.ConditionStatus) {
	l.t.Helper()
	require.EventuallyWithT(l.t, func(c *assert.CollectT) {
		l.GetC(c, obj)
		var list []metav1.Condition
		switch o := obj.(type) {
		case *kopiurv1.Repository:
			list = o.Status.Conditions
		case *kopiurv1.SnapshotPolicy:
			list = o.Status.Conditions
		case *kopiurv1.Snapshot:
			list = o.Status.Conditions
		case *kopiurv1.Restore:
			list = o.Status.Conditions
		}
		for _, have := range list {
			if have.Type == condition {
				assert.Equal(c, status, have.Status, "%s: %s", have.Reason, have.Message)
				return
			}
		}
		assert.Fail(c, condition+" is not told yet")
	}, testenv.Wait, testenv.Tick)
}

// still waits until the controller asks for nothing any more and looks at nothing, for as long as anything of its own takes:
// what is gathered, what looks again in a second. On a busy machine it takes all of that longer to begin.
func (l *lab) still(a *testenv.Audit, rest time.Duration) {
	l.t.Helper()
	last, since := -1.0, time.Now()
	require.Eventually(l.t, func() bool {
		if n := float64(len(a.Requests())) + l.reconciled(""); n != last {
			last, since = n, time.Now()
		}
		return time.Since(since) > rest
	}, testenv.Wait, 100*time.Millisecond)
}

// reconciled is how often objects of a kind were looked at in this process, or of all.
func (l *lab) reconciled(kind string) (sum float64) {
	l.t.Helper()
	families, err := ctrlmetrics.Registry.Gather()
	require.NoError(l.t, err)
	for _, f := range families {
		if f.GetName() != "kopiur_controller_reconciliations_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			if kind == "" || m.GetLabel()[0].GetValue() == kind {
				sum += m.GetCounter().GetValue()
			}
		}
	}
	return sum
}

func labelled(p *kopiurv1.SnapshotPolicy) []client.ListOption {
	return []client.ListOption{client.InNamespace(p.Namespace), client.MatchingLabels{kopiurv1.LabelPolicy: p.Name}}
}
