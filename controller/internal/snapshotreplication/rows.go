// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshotreplication

import (
	"context"
	"fmt"
	"reflect"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/decide/mapper"
	decide "github.com/kopiur/kopiur/controller/internal/decide/snapshotreplication"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
	"github.com/kopiur/kopiur/controller/internal/prune"
)

// perTurn is how many Snapshots one reconcile deals with: others wait, and so does a change of this one.
const perTurn = 100

// runs are those in progress. They live in memory only: after a restart what earlier parts told is not known any more.
type runs struct {
	mu sync.Mutex
	of map[types.UID]*gathered
}

// gathered is what the movers of one run told. Only one reconcile of an object runs at a time.
type gathered struct {
	name types.NamespacedName
	run  string
	// read is the Job whose pages were read last, part its number, terms what it was told to copy.
	read  types.UID
	part  int32
	terms *decide.Terms
	// whole: no page of the parts so far is missing.
	whole   bool
	records []work.CopyRecord
	// fresh are those of the present part; missing of them have no Snapshot yet, where planned.
	fresh, missing []work.CopyRecord
	planned        bool
	overlap        string
	// doomed copies, where judged, by the spec of a generation; pruned counts those that went.
	judged bool
	by     int64
	doomed []*kopiurv1.Snapshot
	held   string
	pruned int64
}

func (r *runs) get(obj *kopiurv1.SnapshotReplication) *gathered {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of == nil {
		r.of = map[types.UID]*gathered{}
	}
	run := ""
	if t := obj.Status.Run; t != nil {
		run = string(t.Trigger) + "/" + t.Slot
	}
	g := r.of[obj.UID]
	if g == nil || g.run != run {
		g = &gathered{name: client.ObjectKeyFromObject(obj), run: run}
		r.of[obj.UID] = g
	}
	return g
}

// forget drops those of an object that is gone.
func (r *runs) forget(name types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for uid, g := range r.of {
		if g.name == name {
			delete(r.of, uid)
		}
	}
}

// gather reads what the mover of the present part told, once, and says how far it has come.
func (r *Reconciler) gather(ctx context.Context, w *decide.World, g *gathered) error {
	o := w.Outcome
	if o.State != moverjob.Finished || o.Result == nil || o.Result.Migrate == nil || w.Source == nil || w.Destination == nil {
		return nil
	}
	turn := w.Replication.Status.Run
	if g.read != w.Job.UID {
		pages, got := 0, []work.CopyRecord{}
		if o.Result.Migrate.Pages > 0 {
			err := moverjob.ReadPages(ctx, r.Logs, w.Job.Namespace, o.PodName, func(p work.Page) bool {
				if p.Number != pages+1 {
					return false // what comes after a gap may be told again
				}
				pages, got = p.Number, append(got, p.Copies...)
				return true
			})
			if err != nil {
				logf.FromContext(ctx).Info("Leaving copies without a Snapshot until the next run", "reason", err.Error())
			}
		}
		terms := decide.TermsOf(w.Job)
		follows := turn.Part == 1 || g.read != "" && g.whole && g.part == turn.Part-1 && reflect.DeepEqual(g.terms, terms)
		if turn.Part == 1 {
			g.records = nil
		}
		g.read, g.part, g.terms, g.whole = w.Job.UID, turn.Part, terms, follows && pages == o.Result.Migrate.Pages
		g.fresh, g.records = got, append(g.records, got...)
		g.planned, g.judged = false, false
	}
	if !g.planned {
		if err := r.planRows(ctx, *w, g); err != nil {
			return err
		}
	}
	w.Records = decide.Records{Rows: len(g.missing) == 0, Whole: g.whole, Overlap: g.overlap, Pruned: g.pruned}
	last := o.Result.Code == work.CodeOK && o.Result.Migrate.Cursor == ""
	if w.Records.Rows && last && (!g.judged || g.by != w.Replication.Generation) {
		all, err := r.snapshots(ctx, *w)
		if err != nil {
			return err
		}
		g.doomed, g.held = decide.Doomed(*w, g.records, g.whole, all)
		g.judged, g.by = true, w.Replication.Generation
	}
	w.Records.Doomed, w.Records.Held = int64(len(g.doomed)), g.held
	return nil
}

func (r *Reconciler) planRows(ctx context.Context, w decide.World, g *gathered) error {
	all, err := r.snapshots(ctx, w)
	if err != nil {
		return err
	}
	missing, overlap := decide.Missing(w, g.fresh, all)
	if overlap == "" {
		if overlap, err = r.overlap(ctx, w, g.fresh); err != nil {
			return err
		}
	}
	g.missing, g.planned = missing, true
	if overlap != "" {
		g.overlap = overlap
	}
	return nil
}

// overlap looks for a policy that files its own snapshots under an identity that was copied.
func (r *Reconciler) overlap(ctx context.Context, w decide.World, records []work.CopyRecord) (string, error) {
	seen := map[kopiurv1.Identity]bool{}
	for _, rec := range records {
		id := decide.KeyOf(rec).Identity
		if seen[id] {
			continue
		}
		seen[id] = true
		var list kopiurv1.SnapshotPolicyList
		key := client.MatchingFields{mapper.FieldFiles: mapper.FoundAs(w.Destination.Ref, id)}
		if err := r.Client.List(ctx, &list, key, client.UnsafeDisableDeepCopy); err != nil {
			return "", fmt.Errorf("list the policies of %s: %w", w.Destination.Ref, err)
		}
		if len(list.Items) > 0 {
			return "SnapshotPolicy " + list.Items[0].Namespace + "/" + list.Items[0].Name, nil
		}
	}
	return "", nil
}

// snapshots are those in the destination. They belong to the cache.
func (r *Reconciler) snapshots(ctx context.Context, w decide.World) ([]*kopiurv1.Snapshot, error) {
	var all kopiurv1.SnapshotList
	if err := r.Client.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list snapshots: %w", err)
	}
	var out []*kopiurv1.Snapshot
	for i := range all.Items {
		if at := mapper.PinnedRepository(&all.Items[i]); at != nil && *at == w.Destination.Ref {
			out = append(out, &all.Items[i])
		}
	}
	return out, nil
}

// makeRows makes the next Snapshots.
func (r *Reconciler) makeRows(ctx context.Context, w decide.World, g *gathered) error {
	for range perTurn {
		if len(g.missing) == 0 {
			return nil
		}
		if err := r.makeRow(ctx, decide.Row(w, g.missing[0], r.Clock.Now())); err != nil {
			return err
		}
		g.missing = g.missing[1:]
	}
	return nil
}

// makeRow creates a Snapshot and writes its first status. One of that name that has a status is there already.
func (r *Reconciler) makeRow(ctx context.Context, want *kopiurv1.Snapshot) error {
	row := want.DeepCopy()
	err := r.Client.Create(ctx, row)
	switch {
	case apierrors.IsAlreadyExists(err):
		// Past the cache: a process before this one may have made it a moment ago.
		switch err := r.Live.Get(ctx, client.ObjectKeyFromObject(want), row); {
		case apierrors.IsNotFound(err):
			return nil
		case err != nil:
			return fmt.Errorf("get snapshot %s/%s: %w", want.Namespace, want.Name, err)
		}
		if !decide.IsUntold(row) || row.DeletionTimestamp != nil {
			return nil
		}
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return nil
	case err != nil:
		return fmt.Errorf("create snapshot %s/%s: %w", want.Namespace, want.Name, err)
	}
	base := row.DeepCopy()
	row.Status = *want.Status.DeepCopy()
	err = r.Client.Status().Patch(ctx, row, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{}))
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("write the status of snapshot %s/%s: %w", want.Namespace, want.Name, err)
	}
	return nil
}

// pruneCopies deletes the next Snapshots. What goes by rules of the replication's own is Kopiur's doing; what goes because
// somebody deleted the original is theirs, and is held where it is too much at once. One that has changed since it was
// looked at is looked at again.
func (r *Reconciler) pruneCopies(ctx context.Context, w decide.World, g *gathered) error {
	byRule := w.Replication.Spec.Pruning.Retention != nil
	for range perTurn {
		if len(g.doomed) == 0 {
			return nil
		}
		s := g.doomed[0]
		var err error
		if byRule {
			err = prune.Delete(ctx, r.Client, s, kopiurv1.PrunedByReplicationRetention)
		} else {
			version := s.ResourceVersion
			err = r.Client.Delete(ctx, s.DeepCopy(), client.Preconditions{UID: &s.UID, ResourceVersion: &version})
		}
		switch {
		case err == nil:
			g.pruned++
		case apierrors.IsConflict(err):
			g.judged = false // by an old copy of it
			return nil
		case apierrors.IsNotFound(err):
		default:
			return fmt.Errorf("delete the copy %s/%s: %w", s.Namespace, s.Name, err)
		}
		g.doomed = g.doomed[1:]
	}
	return nil
}
