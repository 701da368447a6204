// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"context"
	"fmt"
	"maps"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/maintenance"
	"github.com/kopiur/kopiur/controller/internal/decide/mapper"
	"github.com/kopiur/kopiur/controller/internal/loop"
)

// +kubebuilder:rbac:groups=kopiur.home-operations.com,resources=maintenances,verbs=get;list;watch;create;patch;delete

// actionUpkeep is what Kopiur does in events about a repository's Maintenance.
const actionUpkeep = "ConfigureMaintenance"

// upkeep sees to it that a repository has one Maintenance: somebody's own where there is one, else the one that Kopiur
// makes, unless it was told not to. Two would each think that the other is in its way.
func (r *Reconciler) upkeep(ctx context.Context, p *loop.Patcher, s subject, uniqueID string) error {
	if uniqueID == "" {
		return nil // there is nothing to maintain yet
	}
	var list kopiurv1.MaintenanceList
	if err := r.Client.List(ctx, &list, client.MatchingFields{mapper.FieldRepository: mapper.Repository(s.repo.Ref)}); err != nil {
		return fmt.Errorf("list the maintenances of %s: %w", s.repo.Ref, err)
	}
	var ours []*kopiurv1.Maintenance
	theirs := ""
	for i := range list.Items {
		m := &list.Items[i]
		switch {
		case m.DeletionTimestamp != nil:
		case metav1.IsControlledBy(m, s.obj):
			ours = append(ours, m)
		case theirs == "":
			theirs = m.Namespace + "/" + m.Name
		}
	}
	version, kind := r.kind.gvk().ToAPIVersionAndKind()
	want := maintenance.Child(s.repo, metav1.OwnerReference{APIVersion: version, Kind: kind, Name: s.obj.GetName(), UID: s.obj.GetUID(), Controller: new(true)})
	if theirs != "" {
		want = nil
	}
	var have *kopiurv1.Maintenance
	for _, m := range ours {
		if want != nil && m.Namespace == want.Namespace && m.Name == want.Name {
			have = m
			continue
		}
		err := r.Client.Delete(ctx, m, client.Preconditions{UID: &m.UID})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete maintenance %s/%s: %w", m.Namespace, m.Name, err)
		}
	}
	c := kopiurv1.ConditionMaintenanceConfigured
	switch {
	case theirs != "":
		p.Conditions.True(c, kopiurv1.ReasonMaintenanceConfigured, "Maintenance %s takes care of it", theirs)
	case want == nil && s.repo.Spec.Mode == kopiurv1.ModeReadOnly:
		// Nothing is ever written to it.
	case want == nil:
		p.Conditions.False(c, kopiurv1.ReasonMaintenanceDisabled,
			"spec.maintenance.enabled is false and no Maintenance names this repository: deleted data is never given back, and every connect becomes slower")
		p.EmitChange(c, loop.Warning(kopiurv1.ReasonMaintenanceDisabled, actionUpkeep, "%s", p.Conditions.Get(c).Message))
	case have == nil:
		return r.employ(ctx, p, want)
	default:
		if err := r.instruct(ctx, have, want); err != nil {
			return err
		}
		p.Conditions.True(c, kopiurv1.ReasonMaintenanceConfigured, "Maintenance %s/%s takes care of it", have.Namespace, have.Name)
	}
	return nil
}

// employ makes the Maintenance.
func (r *Reconciler) employ(ctx context.Context, p *loop.Patcher, want *kopiurv1.Maintenance) error {
	c := kopiurv1.ConditionMaintenanceConfigured
	err := r.Client.Create(ctx, want)
	switch {
	case err == nil:
		p.Conditions.True(c, kopiurv1.ReasonMaintenanceConfigured, "Maintenance %s/%s takes care of it", want.Namespace, want.Name)
		return nil
	case apierrors.IsNotFound(err):
		p.Conditions.False(c, kopiurv1.ReasonMaintenanceNamespaceUnresolved, "namespace %s does not exist: create it, or correct spec.maintenance.namespace", want.Namespace)
	case apierrors.IsAlreadyExists(err):
		other, err := r.ofAnother(ctx, want)
		if err != nil {
			return err
		}
		if !other {
			// The cache has not seen it: its own event wakes the repository.
			p.Conditions.True(c, kopiurv1.ReasonMaintenanceConfigured, "Maintenance %s/%s takes care of it", want.Namespace, want.Name)
			return nil
		}
		p.Conditions.False(c, kopiurv1.ReasonMaintenanceApplyFailed, "Maintenance %s/%s is of another repository: rename it, or create one with another name for this repository", want.Namespace, want.Name)
	case apierrors.IsInvalid(err) || apierrors.IsForbidden(err):
		p.Conditions.False(c, kopiurv1.ReasonMaintenanceApplyFailed, "Maintenance %s/%s cannot be made: %s", want.Namespace, want.Name, err)
	default:
		return fmt.Errorf("create maintenance %s/%s: %w", want.Namespace, want.Name, err)
	}
	p.EmitChange(c, loop.Warning(p.Conditions.Get(c).Reason, actionUpkeep, "%s", p.Conditions.Get(c).Message))
	return nil
}

// ofAnother reports whether a Maintenance of this name is there and takes care of another repository. It asks past the
// cache.
func (r *Reconciler) ofAnother(ctx context.Context, want *kopiurv1.Maintenance) (bool, error) {
	var have kopiurv1.Maintenance
	err := r.Live.Get(ctx, client.ObjectKeyFromObject(want), &have)
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("get maintenance %s/%s: %w", want.Namespace, want.Name, err)
	default:
		return have.Spec.Repository.In(have.Namespace) != want.Spec.Repository.In(want.Namespace), nil
	}
}

// instruct brings the Maintenance up to date with the repository's spec.
func (r *Reconciler) instruct(ctx context.Context, have, want *kopiurv1.Maintenance) error {
	next := have.DeepCopy()
	next.Spec = want.Spec
	if next.Labels == nil {
		next.Labels = map[string]string{}
	}
	maps.Copy(next.Labels, want.Labels)
	if apiequality.Semantic.DeepEqual(have.Spec, next.Spec) && maps.Equal(have.Labels, next.Labels) {
		return nil
	}
	if err := r.Client.Patch(ctx, next, client.MergeFromWithOptions(have, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("bring maintenance %s/%s up to date: %w", have.Namespace, have.Name, err)
	}
	return nil
}

// maintained wakes the repository of a Maintenance.
func maintained(kind kopiurv1.RepositoryKind) handler.MapFunc {
	return func(_ context.Context, obj client.Object) []ctrl.Request {
		m, ok := obj.(*kopiurv1.Maintenance)
		if !ok {
			return nil
		}
		ref := m.Spec.Repository.In(m.Namespace)
		if ref.Kind != kind {
			return nil
		}
		return []ctrl.Request{{NamespacedName: types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}}}
	}
}
