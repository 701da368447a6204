// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshotpolicy

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kopiur/kopiur/apis/retention"
	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/mapper"
	"github.com/kopiur/kopiur/controller/internal/decide/policy"
	"github.com/kopiur/kopiur/controller/internal/loop"
	"github.com/kopiur/kopiur/controller/internal/prune"
)

// actionRetain is what Kopiur does in events about retention.
const actionRetain = "Retain"

// pruneRetry is when a deletion that was refused is tried again.
const pruneRetry = time.Minute

// retain deletes the Snapshots that the policy's retention has no use for, oldest first, and counts them. It deletes nothing
// while the policy is suspended or at fault, or a repository cannot be written to: what would then be thinned out is the
// history that somebody may be about to need. It returns when to go on, zero where there is nothing more to do.
// What cannot be deleted is told and tried again, and keeps nothing else from being recorded.
func (r *Reconciler) retain(ctx context.Context, obj *kopiurv1.SnapshotPolicy, p *loop.Patcher, v policy.Verdict) (time.Duration, error) {
	if obj.Spec.Suspend || v.Stalled.Found() || v.Waiting.Found() {
		return 0, nil
	}
	var list kopiurv1.SnapshotList
	key := mapper.Named(obj.Namespace, obj.Name)
	if err := r.Client.List(ctx, &list, client.MatchingFields{mapper.FieldPolicy: key}, client.UnsafeDisableDeepCopy); err != nil {
		return 0, fmt.Errorf("list the snapshots of policy %s: %w", key, err)
	}
	verdicts := retention.Of(obj, list.Items)
	doomed := retention.Doomed(verdicts)
	if err := r.unstamp(ctx, list.Items, doomed); err != nil {
		return retry(ctx, p, err)
	}
	if len(doomed) == 0 {
		return 0, nil
	}
	there, err := r.newestAreThere(ctx, verdicts)
	if err != nil {
		return retry(ctx, p, err)
	}
	var gone []*kopiurv1.Snapshot
	for _, s := range toDelete(verdicts, there, perTurn) {
		if err := prune.Delete(ctx, r.Client, s, kopiurv1.PrunedByRetention); err != nil {
			r.pruned(obj, p, gone)
			return retry(ctx, p, err)
		}
		gone = append(gone, s)
	}
	r.pruned(obj, p, gone)
	if len(gone) < len(doomed) {
		return time.Second, nil
	}
	return 0, nil
}

// newestAreThere asks, past the cache, whether the newest snapshot of each source is still there: a cache that is behind
// must not cost the last one.
func (r *Reconciler) newestAreThere(ctx context.Context, verdicts []retention.Verdict) (map[string]bool, error) {
	doomed := map[string]bool{}
	for _, v := range verdicts {
		doomed[v.Bucket] = doomed[v.Bucket] || !v.Keep
	}
	out := map[string]bool{}
	for _, v := range verdicts {
		if _, asked := out[v.Bucket]; asked || !doomed[v.Bucket] {
			continue
		}
		var s kopiurv1.Snapshot
		err := r.Live.Get(ctx, client.ObjectKeyFromObject(v.Snapshot), &s)
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("get snapshot %s/%s: %w", v.Snapshot.Namespace, v.Snapshot.Name, err)
		}
		out[v.Bucket] = err == nil && s.UID == v.Snapshot.UID && s.DeletionTimestamp == nil && s.Status.Phase == kopiurv1.SnapshotSucceeded
	}
	return out, nil
}

// toDelete are the oldest that go, no more than limit, of those sources whose newest snapshot is there.
func toDelete(verdicts []retention.Verdict, there map[string]bool, limit int) []*kopiurv1.Snapshot {
	sure := slices.DeleteFunc(slices.Clone(verdicts), func(v retention.Verdict) bool { return !there[v.Bucket] })
	doomed := retention.Doomed(sure)
	return doomed[:min(len(doomed), limit)]
}

// unstamp takes the mark off what was about to be deleted when the rules, or a pin, changed.
func (r *Reconciler) unstamp(ctx context.Context, snapshots []kopiurv1.Snapshot, doomed []*kopiurv1.Snapshot) error {
	for i := range snapshots {
		s := &snapshots[i]
		if s.Annotations[kopiurv1.AnnotationPrunedBy] != kopiurv1.PrunedByRetention || s.DeletionTimestamp != nil || slices.Contains(doomed, s) {
			continue
		}
		if err := prune.Unstamp(ctx, r.Client, s); err != nil {
			return err //nolint:wrapcheck // says what it did
		}
	}
	return nil
}

// pruned records what was deleted, oldest first.
func (r *Reconciler) pruned(obj *kopiurv1.SnapshotPolicy, p *loop.Patcher, gone []*kopiurv1.Snapshot) {
	n := len(gone)
	if n == 0 {
		return
	}
	st := obj.Status.Retention
	if st == nil {
		st = &kopiurv1.PolicyRetentionStatus{}
		obj.Status.Retention = st
	}
	st.LastPruneAt, st.LastPruneDeleted = r.Clock.Now().UTC().Format(time.RFC3339), int64(n)
	st.ActiveSnapshotCount = max(st.ActiveSnapshotCount-int64(n), 0)
	if n == 1 {
		p.Emit(loop.Normal(kopiurv1.ReasonPruned, actionRetain, "Deleted Snapshot %s, which no rule of spec.retention keeps", gone[0].Name))
	} else {
		p.Emit(loop.Normal(kopiurv1.ReasonPruned, actionRetain, "Deleted %d Snapshots that no rule of spec.retention keeps, %s and later ones", n, gone[0].Name))
	}
}

// retry comes back for what failed. A conflict only means that something has changed meanwhile.
func retry(ctx context.Context, p *loop.Patcher, err error) (time.Duration, error) {
	if apierrors.IsConflict(err) {
		return time.Second, nil
	}
	logf.FromContext(ctx).Error(err, "Retention goes on later")
	if !loop.IsTransport(err) {
		p.Emit(loop.Warning(kopiurv1.ReasonPruneFailed, actionRetain, "Cannot delete what spec.retention does not keep: %s", err))
	}
	return pruneRetry, nil
}
