// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package snapshotreplication_test drives SnapshotReplications against a real API server.
package snapshotreplication_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// Needs the API server of KOPIUR_TEST_KUBECONFIG.
func TestMain(m *testing.M) { os.Exit(testenv.Main(m)) }

var web = work.Identity{Username: "web", Hostname: "apps", Path: "/pvc/data"}

// world is two repositories, as their movers see them.
type world struct {
	mu             sync.Mutex
	source, copies map[time.Time]work.CopyRecord
	n              int
	// failed snapshots cannot be read; loseLog hides what the movers say; perPart bounds what one tells.
	failed  int64
	loseLog bool
	perPart int
	hold    chan struct{}
	code    work.Code
}

func newWorld(snapshots int) *world {
	w := &world{source: map[time.Time]work.CopyRecord{}, copies: map[time.Time]work.CopyRecord{}, perPart: 10000}
	w.add(snapshots)
	return w
}

// add stores snapshots in the source, one an hour.
func (w *world) add(n int, edit ...func(*work.CopyRecord)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for range n {
		w.n++
		at := time.Date(2026, 3, 1, w.n, 0, 0, 789, time.UTC)
		r := work.CopyRecord{SourceID: fmt.Sprintf("s%03d", w.n), Identity: web, StartTime: at, EndTime: at.Add(time.Minute), SizeBytes: 10, FileCount: 2}
		for _, f := range edit {
			f(&r)
		}
		w.source[at] = r
	}
}

// dropOldest removes snapshots from the source, as another client would.
func (w *world) dropOldest(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, at := range sorted(w.source)[:n] {
		delete(w.source, at)
	}
}

func sorted(m map[time.Time]work.CopyRecord) []time.Time {
	var out []time.Time
	for at := range m {
		out = append(out, at)
	}
	slices.SortFunc(out, time.Time.Compare)
	return out
}

func (w *world) play(c testenv.Call) testenv.Play {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := testenv.Succeed(c)
	switch op := c.Spec.Operation; {
	case op.Bootstrap != nil && c.Spec.Repository.ExpectedUniqueID == "":
		p.Result.Bootstrap.UniqueID = fmt.Sprintf("%032x", len(c.Spec.Repository.Name))
	case op.Delete != nil:
		for _, m := range op.Delete.Members {
			for at := range w.copies {
				if at.Truncate(time.Second).Equal(m.Start.UTC()) {
					delete(w.copies, at)
				}
			}
		}
	case op.Migrate != nil:
		p.Hold = w.hold
		w.migrate(&p, c.Spec.RequestID, *op.Migrate)
	}
	return p
}

// migrate copies as a mover does, and tells of it in pages of three.
func (w *world) migrate(p *testenv.Play, by string, m work.Migrate) {
	res := &work.MigrateResult{UniqueID: "x", Failed: w.failed}
	p.Result.Migrate = res
	if w.code != "" {
		p.Result.Code, p.Result.Migrate = w.code, nil
		return
	}
	if w.failed > 0 {
		p.Result.Code, p.Result.Message = work.CodeVerificationFailed, "some snapshots cannot be read at the source"
	}
	var ends []time.Time
	times := sorted(w.source)
	slices.Reverse(times)
	for _, at := range times {
		ends = append(ends, w.source[at].EndTime)
	}
	worth := make([]bool, len(times))
	for i := range worth {
		worth[i] = true
	}
	if m.Keep != nil {
		worth = m.Keep.Of(ends)
	}
	var told []work.CopyRecord
	for i, at := range slices.Backward(times) {
		r := w.source[at]
		if !m.Selection.Selects(r.Identity) {
			continue
		}
		res.IdentitiesSelected = 1
		c, there := w.copies[at]
		switch {
		case there:
			res.AlreadyPresent++
			c.Present = true
		case !worth[i]:
			res.NotKept++
			continue
		default:
			c = r
			c.SnapshotID, c.By = "c"+r.SourceID, by
			w.copies[at] = c
			res.SnapshotsCopied++
		}
		if from, err := time.Parse(time.RFC3339Nano, string(m.Cursor)); err == nil && at.Before(from) {
			continue
		}
		told = append(told, c)
	}
	if len(told) > w.perPart {
		told = told[:w.perPart]
		res.Cursor = work.Cursor(told[len(told)-1].StartTime.Format(time.RFC3339Nano))
	}
	for page := range slices.Chunk(told, 3) {
		res.Pages++
		if !w.loseLog {
			p.Log = append(p.Log, work.Event{Type: work.EventPage, Page: &work.Page{Number: res.Pages, Copies: page}})
		}
	}
}

func (w *world) stored() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.copies)
}

func (w *world) set(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

// lab is one replication from nas to away.
type lab struct {
	*testenv.Env
	t     *testing.T
	world *world
	clock *testenv.Time
	repl  *kopiurv1.SnapshotReplication
}

func repositoryOf(name string, b kopiurv1.Backend) *kopiurv1.Repository {
	r := &kopiurv1.Repository{ObjectMeta: metav1.ObjectMeta{Name: name}}
	r.Spec.Backend, r.Spec.Encryption.PasswordSecretRef.Name = b, "password"
	return r
}

func bucket(name string) kopiurv1.Backend {
	return kopiurv1.Backend{S3: &kopiurv1.S3Backend{Bucket: name}}
}

func newLab(t *testing.T, w *world, edit ...func(*kopiurv1.SnapshotReplication)) *lab {
	t.Helper()
	l := &lab{Env: testenv.New(t), t: t, world: w}
	l.clock = l.NewTime()
	l.Mover(w.play)
	l.repl = &kopiurv1.SnapshotReplication{ObjectMeta: metav1.ObjectMeta{Name: "offsite"}}
	l.repl.Spec.SourceRef.Name, l.repl.Spec.DestinationRef.Name = "nas", "away"
	l.repl.Spec.Schedule.Cron = "0 3 * * *"
	for _, f := range edit {
		f(l.repl)
	}
	l.Create(testenv.Secret("password", map[string]string{"KOPIA_PASSWORD": "x"}), repositoryOf("nas", bucket("nas")), repositoryOf("away", bucket("away")), l.repl)
	t.Cleanup(l.explain)
	return l
}

func (l *lab) explain() {
	if !l.t.Failed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = l.Client.Get(ctx, client.ObjectKeyFromObject(l.repl), l.repl)
	b, _ := json.Marshal(l.repl.Status)
	l.t.Logf("the replication: %s", b)
}

// run asks for a run and waits for its end.
func (l *lab) run(at string) kopiurv1.SnapshotReplicationStatus {
	l.t.Helper()
	l.Annotate(l.repl, kopiurv1.AnnotationRunRequested, at)
	l.status(func(c *assert.CollectT, st kopiurv1.SnapshotReplicationStatus) {
		require.NotNil(c, st.ManualRun)
		require.Equal(c, at, st.ManualRun.RequestedAt)
		require.NotEmpty(c, st.ManualRun.CompletedAt)
		require.Nil(c, st.Run)
	})
	return l.repl.Status
}

func (l *lab) status(check func(*assert.CollectT, kopiurv1.SnapshotReplicationStatus)) {
	l.t.Helper()
	require.EventuallyWithT(l.t, func(c *assert.CollectT) {
		l.GetC(c, l.repl)
		check(c, l.repl.Status)
	}, testenv.Wait, testenv.Tick)
}

// copies are the Snapshots of copies that are not going.
func (l *lab) copies() []kopiurv1.Snapshot {
	l.t.Helper()
	var list kopiurv1.SnapshotList
	require.NoError(l.t, l.Client.List(l.t.Context(), &list, client.InNamespace(l.Namespace), client.MatchingLabels{kopiurv1.LabelOrigin: kopiurv1.OriginReplicated}))
	out := slices.DeleteFunc(list.Items, func(s kopiurv1.Snapshot) bool { return s.DeletionTimestamp != nil })
	slices.SortFunc(out, func(a, b kopiurv1.Snapshot) int { return startOf(a).Compare(startOf(b)) })
	return out
}

func startOf(s kopiurv1.Snapshot) time.Time {
	if s.Status.CopiedFrom == nil {
		return time.Time{}
	}
	at, _ := time.Parse(time.RFC3339Nano, s.Status.CopiedFrom.StartTime)
	return at
}

// told waits until there are so many, all of which say what they are, and have the finalizer.
func (l *lab) told(n int) []kopiurv1.Snapshot {
	l.t.Helper()
	var out []kopiurv1.Snapshot
	require.EventuallyWithT(l.t, func(c *assert.CollectT) {
		out = l.copies()
		require.Len(c, out, n)
		for _, s := range out {
			require.Equal(c, kopiurv1.SnapshotSucceeded, s.Status.Phase)
			require.Contains(c, s.Finalizers, kopiurv1.FinalizerSnapshot)
		}
	}, testenv.Wait, testenv.Tick)
	return out
}

func (l *lab) jobs() []batchv1.Job {
	l.t.Helper()
	var list batchv1.JobList
	require.NoError(l.t, l.Client.List(l.t.Context(), &list, client.InNamespace(l.Namespace), client.MatchingLabels{kopiurv1.LabelOperation: "migrate"}))
	return list.Items
}

func mirror(r *kopiurv1.SnapshotReplication) {
	r.Spec.Pruning = &kopiurv1.ReplicationPruning{MirrorSource: &kopiurv1.PruneMirrorSource{}}
}

func keep(n int32) func(*kopiurv1.SnapshotReplication) {
	return func(r *kopiurv1.SnapshotReplication) {
		r.Spec.Pruning = &kopiurv1.ReplicationPruning{Retention: &kopiurv1.Retention{KeepLatest: &n}}
	}
}
