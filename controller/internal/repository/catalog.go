// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/catalog"
	"github.com/kopiur/kopiur/controller/internal/decide/mapper"
	"github.com/kopiur/kopiur/controller/internal/decide/policy"
	"github.com/kopiur/kopiur/controller/internal/index"
	"github.com/kopiur/kopiur/controller/internal/loop"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

// +kubebuilder:rbac:groups=kopiur.home-operations.com,resources=snapshots,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=kopiur.home-operations.com,resources=snapshots/status,verbs=patch
// +kubebuilder:rbac:groups=kopiur.home-operations.com,resources=snapshotpolicies,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch

const (
	// rowsPerTurn is how many rows one reconcile deals with: others wait, and so does a change of this one.
	rowsPerTurn = 100
	// nextTurn is when a repository with many rows goes on.
	nextTurn = 50 * time.Millisecond
	// actionList is what Kopiur does in events about the catalog.
	actionList = "List"
)

// askedByPolicies is when a policy of this repository last asked for a listing.
func (r *Reconciler) askedByPolicies(ctx context.Context, s subject) (time.Time, error) {
	policies, err := r.policies(ctx, s)
	var newest time.Time
	for i := range policies {
		if a := policies[i].Status.Adoption; a != nil {
			if at, err := time.Parse(time.RFC3339, a.ScanRequestedAt); err == nil && at.After(newest) {
				newest = at
			}
		}
	}
	return newest, err
}

// policies that use this repository. They belong to the cache.
func (r *Reconciler) policies(ctx context.Context, s subject) ([]kopiurv1.SnapshotPolicy, error) {
	var list kopiurv1.SnapshotPolicyList
	if err := r.Client.List(ctx, &list, client.MatchingFields{mapper.FieldRepository: mapper.Repository(s.repo.Ref)}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the policies of %s: %w", s.repo.Ref, err)
	}
	return list.Items, nil
}

// catalog makes and removes rows by a listing that is complete, some at a time, and records it when all are done. Where
// there are any, the connect that listed is recorded first: a repository is Ready before its rows are there, and rows that
// cannot be made do not keep it from that.
func (r *Reconciler) catalog(ctx context.Context, p *loop.Patcher, sc *scope) error {
	l := sc.w.listing
	if l.pages == nil || !l.pages.Complete() || sc.plan.Start {
		return nil
	}
	if l.plan == nil {
		if err := r.planRows(ctx, sc.s, l); err != nil {
			return err
		}
	}
	n := len(l.plan.Write) + len(l.plan.Delete)
	if n > 0 && sc.w.input.Flight != nil {
		return nil
	}
	if err := r.rows(ctx, sc.s.repo, l); err != nil {
		return err
	}
	if l.done < n {
		sc.plan.After = nextTurn
		return nil
	}
	r.recordCatalog(p, sc)
	return nil
}

func (r *Reconciler) planRows(ctx context.Context, s subject, l *listing) error {
	w, err := r.catalogWorld(ctx, s)
	if err != nil {
		return err
	}
	l.plan = new(catalog.Decide(l.pages, w))
	l.unplaced = l.plan.Status.UnplacedSnapshotCount
	if n := len(l.plan.Write) + len(l.plan.Delete); n > 0 {
		logf.FromContext(ctx).Info("Changing the rows of found snapshots", "write", len(l.plan.Write), "delete", len(l.plan.Delete), "snapshots", l.pages.Len())
	}
	return nil
}

// recordCatalog says what the listing found.
func (r *Reconciler) recordCatalog(p *loop.Patcher, sc *scope) {
	l := sc.w.listing
	was := l.status(sc.plan.Status.Catalog)
	status := l.plan.Status
	status.UnplacedSnapshotCount = l.unplaced
	status.LastRefreshAt, status.Generation = r.Clock.Now().UTC().Format(time.RFC3339), l.pages.Generation
	if was != nil {
		status.ScanRequestAttemptAt, status.ScanRequestHonored = was.ScanRequestAttemptAt, was.ScanRequestHonored
	}
	if l.pages.Token != "" {
		status.ScanRequestHonored = l.pages.Token
	}
	if n := status.UnplacedSnapshotCount; n > 0 && (was == nil || was.UnplacedSnapshotCount != n) {
		p.Emit(loop.Warning(kopiurv1.ReasonDiscoveredSnapshotUnplaced, actionList,
			"%d snapshots in the repository have no row, those of %s among them: no namespace of that name may use the repository; create or allow it, or set spec.catalog.fallbackNamespace", n, l.plan.Unplaced))
	}
	sc.plan.Status.Catalog = &status
	// Only when it is stored: a listing that was not recorded would be made again.
	p.Count(func() {
		l.recorded = &status
		l.end()
	})
}

// catalogWorld reads what a listing is held against, all from the caches.
func (r *Reconciler) catalogWorld(ctx context.Context, s subject) (catalog.World, error) {
	w := catalog.World{Repository: s.repo, Policies: map[kopiurv1.Identity]*kopiurv1.SnapshotPolicy{}, Now: r.Clock.Now()}
	var all kopiurv1.SnapshotList
	if err := r.Client.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return w, fmt.Errorf("list snapshots: %w", err)
	}
	for i := range all.Items {
		one := &all.Items[i]
		ref := mapper.PinnedRepository(one)
		open := !one.Status.Phase.Terminal() && !catalog.IsRow(one)
		mine := one.Labels[kopiurv1.LabelRepositoryUID] == string(s.repo.UID)
		if open || mine || ref != nil && *ref == s.repo.Ref {
			w.Snapshots = append(w.Snapshots, one)
		}
	}
	policies, err := r.policies(ctx, s)
	if err != nil {
		return w, err
	}
	rule, fault := policy.Rule(s.repo.Ref, s.repo.Spec.IdentityDefaults)
	for i := range policies {
		if fault.Found() {
			break
		}
		for _, id := range policy.Files(&policies[i], rule) {
			w.Policies[id] = &policies[i]
		}
	}
	w.Namespace = r.namespaces(ctx, s)
	return w, nil
}

// namespaces answers from the cache; what it does not know of is not there. The labels that a ClusterRepository selects
// by are among what it keeps.
func (r *Reconciler) namespaces(ctx context.Context, s subject) func(string) (exists, allowed bool) {
	type answer struct{ exists, allowed bool }
	known := map[string]answer{}
	return func(name string) (bool, bool) {
		a, ok := known[name]
		if !ok {
			ns := index.Metadata(mapper.KindNamespace)
			watched := len(r.WatchNamespaces) == 0 || slices.Contains(r.WatchNamespaces, name)
			if err := r.Client.Get(ctx, client.ObjectKey{Name: name}, ns); name != "" && watched && err == nil && ns.DeletionTimestamp == nil {
				a = answer{true, s.repo.Allowed.Allows(name, ns.Labels)}
			}
			known[name] = a
		}
		return a.exists, a.allowed
	}
}

// rows does the next of them.
func (r *Reconciler) rows(ctx context.Context, repo moverjob.Repository, l *listing) error {
	for range rowsPerTurn {
		switch i := l.done; {
		case i < len(l.plan.Write):
			row := l.plan.Write[i]
			if err := r.writeRow(ctx, l, catalog.Row(repo, row.Entry, row.Namespace, r.Clock.Now())); err != nil {
				return err
			}
		case i < len(l.plan.Write)+len(l.plan.Delete):
			if err := r.deleteRow(ctx, l.plan.Delete[i-len(l.plan.Write)]); err != nil {
				return err
			}
		default:
			return nil
		}
		l.done++
	}
	return nil
}

// writeRow creates a row and its first status, or brings one up to date. One that a policy has taken over meanwhile, or
// that is somebody else's, is left alone.
func (r *Reconciler) writeRow(ctx context.Context, l *listing, want *kopiurv1.Snapshot) error {
	row := want.DeepCopy()
	err := r.Client.Create(ctx, row)
	switch {
	case err == nil:
	case apierrors.IsAlreadyExists(err):
		return r.renewRow(ctx, want)
	case apierrors.IsNotFound(err), apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		l.unplaced++ // its namespace went meanwhile
		return nil
	default:
		return fmt.Errorf("create row %s/%s: %w", want.Namespace, want.Name, err)
	}
	return r.tellRow(ctx, row, want)
}

func (r *Reconciler) renewRow(ctx context.Context, want *kopiurv1.Snapshot) error {
	var have kopiurv1.Snapshot
	// Past the cache: it may not have seen yet what a process before this one has made.
	switch err := r.Live.Get(ctx, client.ObjectKeyFromObject(want), &have); {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("get row %s/%s: %w", want.Namespace, want.Name, err)
	}
	if !catalog.IsRow(&have) || have.DeletionTimestamp != nil || have.Labels[kopiurv1.LabelRepositoryUID] != want.Labels[kopiurv1.LabelRepositoryUID] {
		return nil
	}
	if !catalog.Stale(&have, want) {
		return nil
	}
	if id := want.Labels[kopiurv1.LabelSnapshotID]; have.Labels[kopiurv1.LabelSnapshotID] != id {
		base := have.DeepCopy()
		have.Labels[kopiurv1.LabelSnapshotID] = id
		if err := r.Client.Patch(ctx, &have, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})); err != nil {
			return passed(err, "label row", want)
		}
	}
	return r.tellRow(ctx, &have, want)
}

// tellRow writes the status that a row is to have. What is stored must still be the row that was looked at.
func (r *Reconciler) tellRow(ctx context.Context, row, want *kopiurv1.Snapshot) error {
	base := row.DeepCopy()
	row.Status = *want.Status.DeepCopy()
	err := r.Client.Status().Patch(ctx, row, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{}))
	return passed(err, "write the status of row", want)
}

// deleteRow removes what is still the row that was looked at.
func (r *Reconciler) deleteRow(ctx context.Context, row *kopiurv1.Snapshot) error {
	version := row.ResourceVersion
	err := r.Client.Delete(ctx, row.DeepCopy(), client.Preconditions{UID: &row.UID, ResourceVersion: &version})
	return passed(err, "delete row", row)
}

// passed passes over a row that has changed or gone: the next listing looks at it again.
func passed(err error, what string, row *kopiurv1.Snapshot) error {
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return fmt.Errorf("%s %s/%s: %w", what, row.Namespace, row.Name, err)
}

// repositoriesOf wakes the repositories of a policy.
func repositoriesOf(kind kopiurv1.RepositoryKind) func(context.Context, client.Object) []ctrl.Request {
	return func(_ context.Context, obj client.Object) []ctrl.Request {
		p, ok := obj.(*kopiurv1.SnapshotPolicy)
		if !ok {
			return nil
		}
		var out []ctrl.Request
		for _, ref := range p.RepositoryRefs() {
			if ref.Kind == kind {
				out = append(out, ctrl.Request{NamespacedName: client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}})
			}
		}
		return out
	}
}

// asking passes policies that have asked for a listing.
func asking() predicate.Predicate {
	at := func(o client.Object) string {
		if p, ok := o.(*kopiurv1.SnapshotPolicy); ok && p.Status.Adoption != nil {
			return p.Status.Adoption.ScanRequestedAt
		}
		return ""
	}
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool { return at(e.ObjectOld) != at(e.ObjectNew) },
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	}
}
