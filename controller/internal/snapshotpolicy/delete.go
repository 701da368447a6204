// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshotpolicy

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	decide "github.com/kopiur/kopiur/controller/internal/decide/deletion"
	"github.com/kopiur/kopiur/controller/internal/deletion"
	"github.com/kopiur/kopiur/controller/internal/loop"
)

// +kubebuilder:rbac:groups=kopiur.home-operations.com,resources=snapshotpolicies,verbs=patch
// +kubebuilder:rbac:groups=kopiur.home-operations.com,resources=snapshots,verbs=get;list;patch;delete

const (
	// page of a list that has to be complete.
	page = 500
	// perTurn is how many Snapshots one turn takes: a reconcile has its time, and others wait.
	perTurn = 200
)

// guard keeps the finalizer on a policy that takes its Snapshots along, and on no other: what needs nothing to be done is
// not held up by a controller that does not run.
func (r *Reconciler) guard(ctx context.Context, p *kopiurv1.SnapshotPolicy) error {
	wants := p.Spec.Deletion != nil && p.Spec.Deletion.OnPolicyDelete == kopiurv1.CascadeDelete
	if has := slices.Contains(p.Finalizers, kopiurv1.FinalizerPolicy); has == wants {
		return nil
	}
	return r.setFinalizer(ctx, p, wants)
}

func (r *Reconciler) setFinalizer(ctx context.Context, p *kopiurv1.SnapshotPolicy, on bool) error {
	base := p.DeepCopy()
	p.Finalizers = slices.DeleteFunc(p.Finalizers, func(f string) bool { return f == kopiurv1.FinalizerPolicy })
	if on {
		p.Finalizers = append(p.Finalizers, kopiurv1.FinalizerPolicy)
	}
	err := r.Client.Patch(ctx, p, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{}))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("set the finalizer of policy %s/%s: %w", p.Namespace, p.Name, err)
	}
	return nil
}

// cascade deletes the Snapshots of a policy that is being deleted and says onPolicyDelete: Delete. It writes the policy's
// wish on each of them first: when their data is looked at, the policy is gone. Only Snapshots whose data the policy's
// own rules would delete are taken; the others stay, as objects and as data.
// It reports whether there are more than one turn takes.
func (r *Reconciler) cascade(ctx context.Context, p *kopiurv1.SnapshotPolicy) (more bool, err error) {
	if !slices.Contains(p.Finalizers, kopiurv1.FinalizerPolicy) {
		return false, nil
	}
	// Its last word, which may be younger than the cache: somebody may just have taken it back.
	var last kopiurv1.SnapshotPolicy
	err = r.Live.Get(ctx, client.ObjectKeyFromObject(p), &last)
	switch {
	case apierrors.IsNotFound(err) || err == nil && last.UID != p.UID:
		return false, nil
	case err != nil:
		return false, fmt.Errorf("get policy %s/%s: %w", p.Namespace, p.Name, err)
	}
	meant, err := r.meant(ctx, &last)
	if err != nil {
		return false, err
	}
	if meant {
		n, err := r.takeAlong(ctx, &last)
		if err != nil {
			return false, err
		}
		logf.FromContext(ctx).Info("Deleting the snapshots of a deleted policy", "count", n)
		if n >= perTurn {
			return true, nil
		}
	}
	return false, r.setFinalizer(ctx, p, false)
}

// meant reports whether the deletion of the policy was meant for its Snapshots. Where the namespace or the definition of
// the kind goes, the policy goes for another reason, and Snapshots have rules of their own for that.
func (r *Reconciler) meant(ctx context.Context, p *kopiurv1.SnapshotPolicy) (bool, error) {
	if p.Spec.Deletion == nil || p.Spec.Deletion.OnPolicyDelete != kopiurv1.CascadeDelete {
		return false, nil
	}
	look := deletion.Observer{Deps: r.Deps}.Live()
	for _, plural := range []string{"snapshotpolicies", "snapshots"} {
		kind, err := look.Kind(ctx, plural)
		if err != nil {
			return false, fmt.Errorf("observe: %w", err)
		}
		if kind == decide.Gone {
			return false, nil
		}
	}
	namespace, err := look.Namespace(ctx, p.Namespace)
	if err != nil {
		return false, fmt.Errorf("observe: %w", err)
	}
	return namespace == decide.Present, nil
}

// takeAlong works on a complete list, past the cache: a Snapshot that it misses would keep its data for good.
func (r *Reconciler) takeAlong(ctx context.Context, p *kopiurv1.SnapshotPolicy) (int, error) {
	found, err := r.foundToTake(ctx, p)
	if err != nil {
		return 0, err
	}
	err = loop.Each(ctx, len(found), func(ctx context.Context, i int) error { return r.take(ctx, &found[i]) })
	return len(found), err //nolint:wrapcheck // says what it did
}

// foundToTake are as many Snapshots as one turn takes.
func (r *Reconciler) foundToTake(ctx context.Context, p *kopiurv1.SnapshotPolicy) ([]kopiurv1.Snapshot, error) {
	var out []kopiurv1.Snapshot
	for next := ""; ; {
		var list kopiurv1.SnapshotList
		if err := r.Live.List(ctx, &list, client.InNamespace(p.Namespace), client.Limit(page), client.Continue(next)); err != nil {
			return nil, fmt.Errorf("list the snapshots of policy %s/%s: %w", p.Namespace, p.Name, err)
		}
		for i := range list.Items {
			if !taken(&list.Items[i], p) {
				continue
			}
			if out = append(out, list.Items[i]); len(out) == perTurn {
				return out, nil
			}
		}
		if next = list.Continue; next == "" {
			return out, nil
		}
	}
}

// taken reports whether a policy takes a Snapshot along.
func taken(s *kopiurv1.Snapshot, p *kopiurv1.SnapshotPolicy) bool {
	if s.Spec.PolicyRef == nil || s.Spec.PolicyRef.Name != p.Name || s.DeletionTimestamp != nil {
		return false
	}
	v := decide.Decide(decide.Facts{
		Snapshot: s, Policy: decide.Present, PolicyDefault: p.Spec.DefaultDeletionPolicy, Schedule: decide.None,
		Kind: decide.Present, Namespace: decide.Present, Repository: decide.Present, Live: true,
	})
	return v.Policy == kopiurv1.DeletionDelete && !decide.Adopted(s)
}

func (r *Reconciler) take(ctx context.Context, s *kopiurv1.Snapshot) error {
	if s.Annotations[kopiurv1.AnnotationPrunedBy] != kopiurv1.PrunedByPolicyCascade {
		base := s.DeepCopy()
		if s.Annotations == nil {
			s.Annotations = map[string]string{}
		}
		s.Annotations[kopiurv1.AnnotationPrunedBy] = kopiurv1.PrunedByPolicyCascade
		err := r.Client.Patch(ctx, s, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{}))
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("mark snapshot %s/%s: %w", s.Namespace, s.Name, err)
		}
	}
	err := r.Client.Delete(ctx, s, client.Preconditions{UID: &s.UID, ResourceVersion: &s.ResourceVersion})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete snapshot %s/%s: %w", s.Namespace, s.Name, err)
	}
	return nil
}
