// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshotpolicy

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/catalog"
	"github.com/kopiur/kopiur/controller/internal/decide/mapper"
	"github.com/kopiur/kopiur/controller/internal/decide/policy"
	"github.com/kopiur/kopiur/controller/internal/loop"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

// cacheLag is more than one cache is behind another.
const cacheLag = 5 * time.Second

// actionAdopt is what Kopiur does in events about adoption.
const actionAdopt = "Adopt"

// discoveries passes rows of what was found, once they have a status.
func discoveries() predicate.Predicate {
	is := func(o client.Object) bool {
		s, ok := o.(*kopiurv1.Snapshot)
		return ok && s.Status.Phase == kopiurv1.SnapshotDiscovered && catalog.IsRow(s)
	}
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return is(e.Object) },
		UpdateFunc: func(e event.UpdateEvent) bool { return is(e.ObjectNew) && !is(e.ObjectOld) },
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	}
}

// taking is one turn of a policy over what was found in its repositories.
type taking struct {
	was  kopiurv1.PolicyAdoptionStatus
	now  kopiurv1.PolicyAdoptionStatus
	took int
	// skipped are those that stay rows, because retention would delete their objects at once.
	skipped int
	// had are the Snapshots of the policy.
	had []kopiurv1.Snapshot
	// after is when to look again.
	after time.Duration
	// on is true where any of the repositories lets it adopt; own are its identities there, others what belongs to nobody.
	on     bool
	own    []kopiurv1.Identity
	others map[kopiurv1.Identity]int64
}

// adopt takes over what was found under the policy's identities, some at a time. What it does to a row is one write; the
// status of the policy follows and says how far it has come, so that a turn that is cut short is done again. It returns
// when to look again.
func (r *Reconciler) adopt(ctx context.Context, obj *kopiurv1.SnapshotPolicy, p *loop.Patcher, v policy.Verdict, seen []policy.Seen) (time.Duration, error) {
	t := &taking{others: map[kopiurv1.Identity]int64{}}
	if a := obj.Status.Adoption; a != nil {
		t.was = *a.DeepCopy()
	}
	t.now = t.was
	t.now.Through = maps.Clone(t.was.Through)
	t.now.LastScanUnmatched = 0
	if v.Stalled.Found() {
		// Nobody knows whose the snapshots are while the identity is in dispute.
		p.Carry(kopiurv1.ConditionHistoryAdopted)
		return 0, nil
	}
	had, err := r.had(ctx, obj, t)
	if err != nil {
		return 0, err
	}
	t.now.LastScanMatched = had
	for i := range seen {
		if err := r.adoptFrom(ctx, obj, v, seen[i], i, t); err != nil {
			return 0, err
		}
	}
	t.now.TotalAdopted = max(t.was.TotalAdopted+int64(t.took), had)
	if t.took > 0 {
		t.now.LastAdoptedCount, t.now.LastAdoptionAt = int64(t.took), r.Clock.Now().UTC().Format(time.RFC3339)
		logf.FromContext(ctx).Info("Adopting snapshots", "count", t.took)
	}
	t.now.SkippedByRetention += int64(t.skipped)
	if !t.on {
		t.now.Through, t.now.SkippedByRetention = nil, 0 // switched on again, it begins anew
	}
	r.sayAdoption(p, v, t)
	if obj.Status.Adoption != nil || !empty(t.now) {
		obj.Status.Adoption = &t.now
	}
	return t.after, nil
}

// had counts what the policy has taken over and still has. Where that is more than the status knows of, a turn was cut
// short, and how new those are is remembered now.
func (r *Reconciler) had(ctx context.Context, obj *kopiurv1.SnapshotPolicy, t *taking) (int64, error) {
	var list kopiurv1.SnapshotList
	key := mapper.Named(obj.Namespace, obj.Name)
	if err := r.Client.List(ctx, &list, client.MatchingFields{mapper.FieldPolicy: key}, client.UnsafeDisableDeepCopy); err != nil {
		return 0, fmt.Errorf("list the snapshots of policy %s: %w", key, err)
	}
	t.had = list.Items
	n, newest := int64(0), map[string]string{}
	for i := range list.Items {
		s := &list.Items[i]
		if s.Labels[kopiurv1.LabelOrigin] != kopiurv1.OriginAdopted || s.Status.Snapshot == nil || s.Status.Timing == nil {
			continue
		}
		n++
		key := catalog.ThroughKey(types.UID(s.Labels[kopiurv1.LabelRepositoryUID]), s.Status.Snapshot.Identity.SourcePath)
		newest[key] = max(newest[key], s.Status.Timing.StartTime)
	}
	if n > t.was.TotalAdopted {
		for key, at := range newest {
			t.remember(key, at)
		}
	}
	return n, nil
}

func (t *taking) remember(key, at string) {
	if t.now.Through == nil {
		t.now.Through = map[string]string{}
	}
	t.now.Through[key] = max(t.now.Through[key], at)
}

func empty(a kopiurv1.PolicyAdoptionStatus) bool {
	return a.TotalAdopted == 0 && a.LastScanMatched == 0 && a.LastScanUnmatched == 0 && a.ScanRequestedAt == "" && len(a.Through) == 0
}

// adoptFrom does it for the policy's i-th repository.
func (r *Reconciler) adoptFrom(ctx context.Context, obj *kopiurv1.SnapshotPolicy, v policy.Verdict, s policy.Seen, i int, t *taking) error {
	if s.Repository == nil || !s.Allowed {
		return nil
	}
	repo := *s.Repository
	if !catalog.Adopts(obj, repo.Spec) {
		return nil
	}
	t.on = true
	own := identities(v, i)
	t.own = append(t.own, own...)
	var rows []kopiurv1.Snapshot
	for _, id := range own {
		some, err := r.rows(ctx, mapper.FoundAs(s.Ref, id))
		if err != nil {
			return err
		}
		rows = append(rows, some...)
	}
	a := catalog.Adopt(obj, repo.UID, rows, t.had, perTurn)
	for _, row := range a.Take {
		if err := r.takeOver(ctx, obj, row); err != nil {
			return err
		}
	}
	t.took += len(a.Take)
	t.skipped += len(a.Skip)
	if a.More {
		t.after = nextTurn
	}
	t.now.LastScanMatched += a.Matched
	for key, at := range a.Through {
		t.remember(key, at)
	}
	r.wish(obj, repo, own, a, t)
	if a.Matched > 0 || v.LastSuccess != "" || t.now.TotalAdopted > 0 {
		return nil // it has a history: what else there is does not concern it
	}
	if t.after == 0 && catalog.Fresh(repo.Status.Catalog, r.Clock.Now()) {
		t.after = cacheLag // the caches do not move in step: the last rows may not be there yet
	}
	return r.strangers(ctx, obj, s, t)
}

// wish asks for a listing where the last one may not have shown what is this policy's.
func (r *Reconciler) wish(obj *kopiurv1.SnapshotPolicy, repo moverjob.Repository, own []kopiurv1.Identity, a catalog.Adoption, t *taking) {
	var names []string
	for _, id := range own {
		names = append(names, id.String())
	}
	asked := clip(strings.Join(names, ", "))
	if catalog.Wants(obj, repo.Spec, repo.Status.Catalog, asked, a, r.Clock.Now()) {
		t.now.ScanRequestedAt, t.now.ScanRequestedIdentity = catalog.AskAt(repo.Status.Catalog, r.Clock.Now()), asked
	}
}

// clip bounds what is remembered of many identities.
func clip(s string) string { return s[:min(len(s), 1024)] }

// strangers are the identities of a repository that have snapshots and belong to no policy.
func (r *Reconciler) strangers(ctx context.Context, obj *kopiurv1.SnapshotPolicy, s policy.Seen, t *taking) error {
	rows, err := r.rows(ctx, mapper.FoundIn(s.Ref))
	if err != nil {
		return err
	}
	taken := map[kopiurv1.Identity]bool{}
	if rule, fault := policy.Rule(s.Ref, s.Repository.Spec.IdentityDefaults); !fault.Found() {
		for i := range s.Others {
			if o := &s.Others[i]; o.UID != obj.UID {
				for _, id := range policy.Files(o, rule) {
					taken[id] = true
				}
			}
		}
	}
	for i := range rows {
		if st := rows[i].Status.Snapshot; catalog.IsRow(&rows[i]) && !taken[st.Identity] {
			t.others[st.Identity]++
			t.now.LastScanUnmatched++
		}
	}
	return nil
}

// rows lists what was found. They belong to the cache and must not be changed.
func (r *Reconciler) rows(ctx context.Context, key string) ([]kopiurv1.Snapshot, error) {
	var list kopiurv1.SnapshotList
	if err := r.Client.List(ctx, &list, client.MatchingFields{mapper.FieldFound: key}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list what was found: %w", err)
	}
	return list.Items, nil
}

// takeOver makes one row the policy's. One that has changed or gone meanwhile wakes the policy again.
func (r *Reconciler) takeOver(ctx context.Context, obj *kopiurv1.SnapshotPolicy, row *kopiurv1.Snapshot) error {
	mine := row.DeepCopy()
	catalog.TakeOver(mine, obj)
	err := r.Client.Patch(ctx, mine, client.MergeFromWithOptions(row, client.MergeFromWithOptimisticLock{}))
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("adopt snapshot %s/%s: %w", row.Namespace, row.Name, err)
	}
	return nil
}

// sayAdoption tells what was taken over, or that nothing was and what comes near. A policy of which there is nothing to
// say says nothing (acceptance I-4).
func (r *Reconciler) sayAdoption(p *loop.Patcher, v policy.Verdict, t *taking) {
	kind := kopiurv1.ConditionHistoryAdopted
	left := ""
	if n := t.now.SkippedByRetention; n > 0 {
		left = fmt.Sprintf("%d snapshots that were in the repository stay as they were found: spec.retention keeps none of them, and spec.defaultDeletionPolicy keeps their data, so that taking them over would change nothing", n)
	}
	if t.skipped > 0 {
		p.Emit(loop.Normal(kopiurv1.ReasonAdoptionSkippedByRetention, actionAdopt, "%s", left))
	}
	switch misses := catalog.Nearest(t.own, t.others); {
	case !t.on:
	case t.now.TotalAdopted > 0:
		text := fmt.Sprintf("%d snapshots that were in the repository are this policy's now", t.now.TotalAdopted)
		if left != "" {
			text += "; " + left
		}
		p.Conditions.True(kind, kopiurv1.ReasonHistoryAdopted, "%s", text)
		if t.took > 0 {
			p.Emit(loop.Normal(kopiurv1.ReasonHistoryAdopted, actionAdopt, "Took over %d snapshots that were in the repository", t.took))
		}
	case left != "":
		p.Conditions.False(kind, kopiurv1.ReasonAdoptionSkippedByRetention, "%s", left)
	case len(misses) > 0 && v.LastSuccess == "" && t.now.LastScanMatched == 0:
		p.Conditions.False(kind, kopiurv1.ReasonNoMatchingIdentity, "%s", catalog.Explain(misses))
		p.EmitChange(kind, loop.Normal(kopiurv1.ReasonNoMatchingIdentity, actionAdopt, "%s", catalog.Explain(misses)))
	}
}
