// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/testenv"
	"github.com/kopiur/kopiur/controller/setup"
)

// Needs the API server of KOPIUR_TEST_KUBECONFIG.
func TestMain(m *testing.M) { os.Exit(testenv.Main(m)) }

// start of the first snapshot of every lab.
var start = time.Date(2026, 3, 5, 2, 0, 0, 0, time.UTC)

// lab is one test's repository with a policy and snapshots that were stored long ago.
type lab struct {
	*testenv.Env
	t *testing.T
	// time is what controllers decide and rest by, server what they compare the API server's timestamps with.
	time, server *testenv.Time
	password     *corev1.Secret
	repository   *kopiurv1.Repository
	policy       *kopiurv1.SnapshotPolicy
}

func newLab(t *testing.T) *lab {
	t.Helper()
	env := testenv.New(t)
	l := &lab{Env: env, t: t, time: env.NewTime(), server: env.NewTime(), password: testenv.Secret("password", map[string]string{"KOPIA_PASSWORD": "x"})}
	l.repository = &kopiurv1.Repository{ObjectMeta: metav1.ObjectMeta{Name: "nas"}, Spec: kopiurv1.RepositorySpec{
		Backend:    kopiurv1.Backend{S3: &kopiurv1.S3Backend{Bucket: "backups"}},
		Encryption: kopiurv1.Encryption{PasswordSecretRef: kopiurv1.SecretKeyRef{Name: "password"}},
	}}
	l.policy = &kopiurv1.SnapshotPolicy{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: kopiurv1.SnapshotPolicySpec{
		Repository: &kopiurv1.RepositoryRef{Name: "nas"}, CopyMethod: kopiurv1.CopyDirect,
		Sources: []kopiurv1.Source{{PVC: &kopiurv1.LocalRef{Name: "data"}}},
	}}
	return l
}

// base makes password, repository and policy.
func (l *lab) base() {
	l.t.Helper()
	l.Create(l.password, l.repository, l.policy)
}

// run starts a controller that goes by the lab's clock.
func (l *lab) run() *testenv.Controller {
	l.t.Helper()
	c := l.StartController(l.clocks)
	l.connected()
	return c
}

func (l *lab) clocks(o *setup.Options) {
	l.time.Decisions(o)
	o.ServerClock = l.server
}

func (l *lab) connected() {
	l.t.Helper()
	require.EventuallyWithT(l.t, func(c *assert.CollectT) {
		l.GetC(c, l.repository)
		assert.Equal(c, kopiurv1.RepositoryReady, l.repository.Status.Phase)
	}, testenv.Wait, testenv.Tick)
}

// stored makes n Snapshots that are in the repository. Call it before run: they have no status for a moment.
func (l *lab) stored(n int, edit ...func(i int, s *kopiurv1.Snapshot)) []*kopiurv1.Snapshot {
	l.t.Helper()
	out := make([]*kopiurv1.Snapshot, n)
	for i := range out {
		s := &kopiurv1.Snapshot{ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("s%03d", i), Finalizers: []string{kopiurv1.FinalizerSnapshot},
		}}
		s.Spec.PolicyRef = &kopiurv1.PolicyRef{Name: "web"}
		at := start.Add(time.Duration(i) * time.Hour)
		st := kopiurv1.SnapshotStatus{
			Phase: kopiurv1.SnapshotSucceeded, Origin: kopiurv1.OriginManual,
			Snapshot: &kopiurv1.StoredSnapshot{
				KopiaSnapshotID: fmt.Sprintf("k%03d", i),
				Identity:        kopiurv1.Identity{Username: "web", Hostname: l.Namespace, SourcePath: "/pvc/data"},
			},
			Timing:   &kopiurv1.Timing{StartTime: at.Format(time.RFC3339), EndTime: at.Add(time.Minute).Format(time.RFC3339)},
			Resolved: &kopiurv1.SnapshotResolved{Repository: &kopiurv1.RepositoryRef{Kind: kopiurv1.KindRepository, Name: "nas", Namespace: l.Namespace}, DeletionPolicy: kopiurv1.DeletionDelete},
		}
		s.Status = st
		for _, f := range edit {
			f(i, s)
		}
		st = s.Status
		l.Create(s)
		s.Status = st
		require.NoError(l.t, l.Client.Status().Update(l.t.Context(), s))
		out[i] = s
	}
	return out
}

// remove deletes Snapshots as kubectl does.
func (l *lab) remove(list ...*kopiurv1.Snapshot) {
	l.t.Helper()
	for _, s := range list {
		require.NoError(l.t, client.IgnoreNotFound(l.Client.Delete(l.t.Context(), s)))
	}
}

// quiet lets the time pass that a Job waits for more deletions.
func (l *lab) quiet() {
	l.server.Step(11 * time.Second)
	l.time.Step(11 * time.Second)
}

// gone waits for the end of Snapshots, and for that of the Jobs that deleted their data.
func (l *lab) gone(list ...*kopiurv1.Snapshot) {
	l.t.Helper()
	require.EventuallyWithT(l.t, func(c *assert.CollectT) {
		for _, s := range list {
			err := l.Client.Get(l.t.Context(), client.ObjectKeyFromObject(s), s)
			if !assert.True(c, apierrors.IsNotFound(err), "%s is still there: %v: %s", s.Name, err, describe(s)) {
				return
			}
		}
		for _, j := range l.jobs() {
			assert.Empty(c, j.Name, "a Job without members is removed")
		}
	}, testenv.Wait, testenv.Tick)
}

// describe is what kubectl describe would say.
func describe(s *kopiurv1.Snapshot) string {
	var out strings.Builder
	out.WriteString(string(s.Status.Phase))
	for _, c := range s.Status.Conditions {
		fmt.Fprintf(&out, "\n  %s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message)
	}
	return out.String()
}

// waits returns when Snapshots have a condition.
func (l *lab) waits(kind string, status metav1.ConditionStatus, reason string, list ...*kopiurv1.Snapshot) {
	l.t.Helper()
	require.EventuallyWithT(l.t, func(c *assert.CollectT) {
		for _, s := range list {
			l.GetC(c, s)
			got := meta.FindStatusCondition(s.Status.Conditions, kind)
			if assert.NotNil(c, got, "%s: %s", s.Name, describe(s)) {
				assert.Equal(c, status, got.Status, "%s: %s", s.Name, describe(s))
				assert.Equal(c, reason, got.Reason, "%s: %s", s.Name, describe(s))
			}
		}
	}, testenv.Wait, testenv.Tick)
}

// held waits for Snapshots to be held, and for their repository to say so.
func (l *lab) held(list ...*kopiurv1.Snapshot) {
	l.t.Helper()
	l.waits(kopiurv1.ConditionDeletionHeld, metav1.ConditionTrue, kopiurv1.ReasonMassDeletionBreaker, list...)
	l.repositorySays(metav1.ConditionTrue, kopiurv1.ReasonThresholdExceeded)
}

func (l *lab) repositorySays(status metav1.ConditionStatus, reason string) {
	l.t.Helper()
	require.EventuallyWithT(l.t, func(c *assert.CollectT) {
		l.GetC(c, l.repository)
		got := meta.FindStatusCondition(l.repository.Status.Conditions, kopiurv1.ConditionMassDeletionHeld)
		if assert.NotNil(c, got) {
			assert.Equal(c, status, got.Status)
			assert.Equal(c, reason, got.Reason)
		}
	}, testenv.Wait, testenv.Tick)
}

// acknowledge lets go what was deleted so far.
func (l *lab) acknowledge() {
	l.t.Helper()
	l.Annotate(l.repository, kopiurv1.AnnotationAllowMassDeletion, l.server.Now().UTC().Format(time.RFC3339))
}

// jobs that delete.
func (l *lab) jobs() []batchv1.Job {
	l.t.Helper()
	var list batchv1.JobList
	require.NoError(l.t, l.Client.List(l.t.Context(), &list, client.InNamespace(l.Namespace),
		client.MatchingLabels{kopiurv1.LabelOperation: kopiurv1.OperationSnapshotDelete}))
	return list.Items
}

// deletions are the movers that deleted, in order.
func (l *lab) deletions() []testenv.Call {
	l.t.Helper()
	var out []testenv.Call
	for _, c := range l.Calls() {
		if c.Spec.Operation.Delete != nil {
			out = append(out, c)
		}
	}
	return out
}

// deleted are the keys that movers were given.
func (l *lab) deleted() []work.SnapshotKey {
	l.t.Helper()
	var out []work.SnapshotKey
	for _, c := range l.deletions() {
		keys, err := c.Spec.Operation.Delete.Keys()
		require.NoError(l.t, err)
		out = append(out, keys...)
	}
	return out
}

// onDelete plays deletions and lets everything else succeed.
func (l *lab) onDelete(play func(c testenv.Call, n int) testenv.Play) {
	n := 0
	l.Mover(func(c testenv.Call) testenv.Play {
		if c.Spec.Operation.Delete == nil {
			return testenv.Succeed(c)
		}
		n++
		return play(c, n)
	})
}

// untouched proves that nothing was deleted, and that nothing is however long one waits.
func (l *lab) untouched() {
	l.t.Helper()
	l.untouchedBut(0)
}

// untouchedBut is untouched after n movers that were meant. For that time the API server's clock is past the wait for more
// deletions: what may be fired is.
func (l *lab) untouchedBut(n int) {
	l.t.Helper()
	l.server.Step(11 * time.Second)
	defer l.server.Step(-11 * time.Second)
	for range 4 {
		l.time.Step(time.Hour)
	}
	tick := time.NewTicker(testenv.Tick)
	defer tick.Stop()
	for range 10 {
		<-tick.C
		assert.Empty(l.t, l.jobs(), "a mover was started to delete something")
		assert.Len(l.t, l.deletions(), n)
	}
}

// ended waits for the end of a Snapshot's own mover.
func (l *lab) ended(s *kopiurv1.Snapshot) {
	l.t.Helper()
	require.EventuallyWithT(l.t, func(c *assert.CollectT) {
		var pods corev1.PodList
		require.NoError(c, l.Client.List(l.t.Context(), &pods, client.InNamespace(l.Namespace), client.MatchingLabels{kopiurv1.LabelOwnerUID: string(s.UID)}))
		if assert.Len(c, pods.Items, 1) {
			assert.Equal(c, corev1.PodSucceeded, pods.Items[0].Status.Phase)
		}
	}, testenv.Wait, testenv.Tick)
}

func condition(obj client.Object, kind string) metav1.Condition {
	var list []metav1.Condition
	switch o := obj.(type) {
	case *kopiurv1.Snapshot:
		list = o.Status.Conditions
	case *kopiurv1.Repository:
		list = o.Status.Conditions
	}
	return testenv.Condition(list, kind)
}

// stillHeld looks whether Snapshots are held still.
func (l *lab) stillHeld(list ...*kopiurv1.Snapshot) {
	l.t.Helper()
	l.waits(kopiurv1.ConditionDeletionHeld, metav1.ConditionTrue, kopiurv1.ReasonMassDeletionBreaker, list...)
}

// nextSecond waits until deletions get another time than an acknowledgement of now: the API server counts in seconds.
func (l *lab) nextSecond() {
	l.t.Helper()
	l.Get(l.repository)
	at, err := time.Parse(time.RFC3339, l.repository.Annotations[kopiurv1.AnnotationAllowMassDeletion])
	require.NoError(l.t, err)
	require.EventuallyWithT(l.t, func(c *assert.CollectT) {
		probe := testenv.Secret("", nil)
		probe.Namespace, probe.GenerateName = l.Namespace, "probe-"
		require.NoError(c, l.Client.Create(l.t.Context(), probe))
		assert.True(c, probe.CreationTimestamp.After(at))
	}, testenv.Wait, 300*time.Millisecond)
}
