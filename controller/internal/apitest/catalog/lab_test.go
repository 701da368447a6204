// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package catalog_test drives what becomes of found snapshots against a real API server.
package catalog_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// Needs the API server of KOPIUR_TEST_KUBECONFIG.
func TestMain(m *testing.M) { os.Exit(testenv.Main(m)) }

// dawn is when the first snapshot of every store was made.
var dawn = time.Date(2025, 3, 5, 2, 0, 0, 0, time.UTC)

// store is a repository that movers of one or several operators list and write to.
type store struct {
	mu      sync.Mutex
	entries []work.CatalogEntry
	// perPage and perMover bound what is listed at a time; lose drops one page of the mover with this number.
	perPage, perMover, lose int
	movers                  int
}

func newStore() *store { return &store{perPage: 50, perMover: 1000} }

// add stores n snapshots of an identity, an hour apart, as the kopia CLI would. It returns their ids.
func (s *store) add(id kopiurv1.Identity, n int, edit ...func(*work.CatalogEntry)) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ids []string
	for range n {
		at := dawn.Add(time.Duration(len(s.entries)) * time.Hour)
		e := work.CatalogEntry{
			SnapshotID: fmt.Sprintf("%032x", len(s.entries)+1), Identity: work.Identity{Username: id.Username, Hostname: id.Hostname, Path: id.SourcePath},
			StartTime: at.Add(123456 * time.Microsecond), EndTime: at.Add(time.Minute), SizeBytes: 4096, FileCount: 3,
		}
		for _, f := range edit {
			f(&e)
		}
		s.entries = append(s.entries, e)
		ids = append(ids, e.SnapshotID)
	}
	return ids
}

// drop removes snapshots, as another client would.
func (s *store) drop(ids ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entries = slices.DeleteFunc(s.entries, func(e work.CatalogEntry) bool { return slices.Contains(ids, e.SnapshotID) })
}

func (s *store) ids() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, e := range s.entries {
		out = append(out, e.SnapshotID)
	}
	return out
}

// play is every mover of it.
func (s *store) play(c testenv.Call) testenv.Play {
	p := testenv.Succeed(c)
	switch op := c.Spec.Operation; {
	case op.Bootstrap != nil && op.Bootstrap.Catalog != nil:
		p.Log, p.Result.Bootstrap.Catalog = s.list(op.Bootstrap.Catalog.After)
	case op.Snapshot != nil:
		s.mu.Lock()
		s.entries = append(s.entries, work.CatalogEntry{
			SnapshotID: p.Result.Snapshot.SnapshotID, Identity: op.Snapshot.Identity, StartTime: p.Result.Snapshot.StartTime,
			EndTime: p.Result.Snapshot.EndTime, Tags: map[string]string{work.TagRequest: c.Spec.RequestID},
		})
		s.mu.Unlock()
	case op.Delete != nil:
		for _, m := range op.Delete.Members {
			s.drop(m.ID)
		}
	}
	return p
}

// list is what a mover says: pages, of which one may be lost on the way.
func (s *store) list(after work.Cursor) ([]work.Event, *work.CatalogResult) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.movers++
	from, _ := time.Parse(time.RFC3339Nano, string(after))
	res := &work.CatalogResult{}
	log := []work.Event{{Type: work.EventLog, Level: "info", Message: "Listing"}}
	var page work.Page
	cursor := func() work.Cursor {
		return work.Cursor(page.Snapshots[len(page.Snapshots)-1].StartTime.Format(time.RFC3339Nano))
	}
	flush := func() {
		if len(page.Snapshots) == 0 {
			return
		}
		page.Number, page.Cursor = res.Pages+1, cursor()
		res.Pages, res.Entries = page.Number, res.Entries+int64(len(page.Snapshots))
		if s.lose != s.movers || page.Number != 2 {
			log = append(log, work.Event{Type: work.EventPage, Page: new(page)})
		}
		page = work.Page{}
	}
	sorted := slices.SortedFunc(slices.Values(s.entries), func(a, b work.CatalogEntry) int { return a.StartTime.Compare(b.StartTime) })
	for _, e := range sorted {
		if e.StartTime.Before(from) {
			continue
		}
		if int(res.Entries)+len(page.Snapshots) == s.perMover {
			res.Next = cursor()
			flush()
			return log, res
		}
		if page.Snapshots = append(page.Snapshots, e); len(page.Snapshots) == s.perPage {
			flush()
			if int(res.Entries) == s.perMover {
				res.Next = work.Cursor(e.StartTime.Format(time.RFC3339Nano))
				return log, res
			}
		}
	}
	flush()
	return log, res
}

// lab is one operator and its repository on a store.
type lab struct {
	*testenv.Env
	t          *testing.T
	store      *store
	repository *kopiurv1.Repository
}

// newLab makes a Repository on the store. The controller is started by the test.
func newLab(t *testing.T, s *store, edit ...func(*kopiurv1.Repository)) *lab {
	t.Helper()
	l := &lab{Env: testenv.New(t), t: t, store: s}
	l.Mover(s.play)
	l.repository = &kopiurv1.Repository{ObjectMeta: metav1.ObjectMeta{Name: "nas"}, Spec: kopiurv1.RepositorySpec{
		Backend:    kopiurv1.Backend{S3: &kopiurv1.S3Backend{Bucket: "backups"}},
		Encryption: kopiurv1.Encryption{PasswordSecretRef: kopiurv1.SecretKeyRef{Name: "password"}},
	}}
	for _, f := range edit {
		f(l.repository)
	}
	l.Create(testenv.Secret("password", map[string]string{"KOPIA_PASSWORD": "x"}), l.repository)
	t.Cleanup(l.explain)
	return l
}

// explain says after a failure how things stood.
func (l *lab) explain() {
	if !l.t.Failed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = l.Client.Get(ctx, client.ObjectKeyFromObject(l.repository), l.repository)
	b, _ := json.Marshal(l.repository.Status)
	l.t.Logf("the repository: %s", b)
	for _, c := range l.Calls() {
		l.t.Logf("mover %s: %+v", c.Job, c.Spec.Operation.Bootstrap)
	}
}

// identity is what a policy of this name files its snapshots under, for claim "data".
func (l *lab) identity(user string) kopiurv1.Identity {
	return kopiurv1.Identity{Username: user, Hostname: l.Namespace, SourcePath: "/pvc/data"}
}

func (l *lab) policy(name string, edit ...func(*kopiurv1.SnapshotPolicy)) *kopiurv1.SnapshotPolicy {
	p := &kopiurv1.SnapshotPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: kopiurv1.SnapshotPolicySpec{
		Repository: &kopiurv1.RepositoryRef{Name: "nas", Namespace: l.Namespace}, CopyMethod: kopiurv1.CopyDirect,
		Sources: []kopiurv1.Source{{PVC: &kopiurv1.LocalRef{Name: "data"}}},
	}}
	for _, f := range edit {
		f(p)
	}
	l.Create(p)
	return p
}

// listed waits until a listing is recorded that was asked for with this token; "" is the first one.
func (l *lab) listed(token string) *kopiurv1.CatalogStatus {
	l.t.Helper()
	require.EventuallyWithT(l.t, func(c *assert.CollectT) {
		l.GetC(c, l.repository)
		st := l.repository.Status.Catalog
		require.NotNil(c, st)
		require.NotEmpty(c, st.LastRefreshAt)
		require.Equal(c, token, st.ScanRequestHonored)
		require.Equal(c, l.repository.Generation, st.Generation)
	}, testenv.Wait, testenv.Tick)
	return l.repository.Status.Catalog
}

// again asks for a listing and waits for it.
func (l *lab) again(token string) *kopiurv1.CatalogStatus {
	l.t.Helper()
	l.Annotate(l.repository, kopiurv1.AnnotationCatalogScanRequestedAt, token)
	return l.listed(token)
}

// snapshots are all in a namespace, by origin.
func (l *lab) snapshots(origin string, namespace ...string) []kopiurv1.Snapshot {
	l.t.Helper()
	ns := l.Namespace
	if len(namespace) > 0 {
		ns = namespace[0]
	}
	var list kopiurv1.SnapshotList
	require.NoError(l.t, l.Client.List(l.t.Context(), &list, client.InNamespace(ns)))
	return slices.DeleteFunc(list.Items, func(s kopiurv1.Snapshot) bool { return s.Status.Origin != origin })
}

// eventually waits until so many Snapshots of an origin are there.
func (l *lab) eventually(origin string, n int, namespace ...string) []kopiurv1.Snapshot {
	l.t.Helper()
	var out []kopiurv1.Snapshot
	require.EventuallyWithT(l.t, func(c *assert.CollectT) {
		out = l.snapshots(origin, namespace...)
		require.Len(c, out, n)
	}, testenv.Wait, testenv.Tick)
	return out
}

// started counts the movers of an operation.
func (l *lab) started(operation string) int {
	n := 0
	for _, c := range l.Calls() {
		if c.Spec.Operation.Name() == operation {
			n++
		}
	}
	return n
}

func idsOf(list []kopiurv1.Snapshot) []string {
	var out []string
	for i := range list {
		out = append(out, list[i].Status.Snapshot.KopiaSnapshotID)
	}
	slices.SortFunc(out, strings.Compare)
	return out
}
