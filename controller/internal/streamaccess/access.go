// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package streamaccess lets the helper of one stream run commands in the pods of its namespace, for as long as its Job is
// needed. The right is a RoleBinding of the run's own, which its Snapshot or Restore owns: it goes when the run ends, and
// with its owner if nobody is there to see that.
package streamaccess

import (
	"context"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/gates"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

// What the role holds the controller must hold as well, or it could not grant it.
// +kubebuilder:rbac:groups="",resources=pods,verbs=list
// +kubebuilder:rbac:groups="",resources=pods/exec,verbs=create
// +kubebuilder:rbac:groups="",resources=serviceaccounts,verbs=create
// +kubebuilder:rbac:groups=rbac.authorization.k8s.io,resources=rolebindings,verbs=get;create;delete

// DefaultRole is the ClusterRole of the chart that holds what a helper may.
const DefaultRole = "kopiur-stream-mover"

// Granter grants the role to runs and takes it back.
type Granter struct {
	Client client.Client
	// Live reads past the cache, in which RoleBindings are not.
	Live client.Reader
	// Role is the ClusterRole's name.
	Role string
}

// Streams reports whether a Job is one of a stream.
func Streams(job *batchv1.Job) bool {
	return job != nil && slices.ContainsFunc(job.Spec.Template.Spec.Containers, func(c corev1.Container) bool { return c.Name == moverjob.StreamContainer })
}

// Grant lets the helper of a Job that is about to be made do its work. A Job without one needs nothing. What has the name
// already and is something else closes the gate: it is not ours to change.
func (g *Granter) Grant(ctx context.Context, job *batchv1.Job) (gates.Verdict, error) {
	open := gates.Verdict{Open: true}
	if !Streams(job) {
		return open, nil
	}
	sa := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{
		Name: moverjob.StreamServiceAccount, Namespace: job.Namespace, Labels: map[string]string{kopiurv1.LabelManagedBy: kopiurv1.ManagedByValue},
	}, AutomountServiceAccountToken: new(false)}
	// One that is there already may be the user's, with pull secrets of its own.
	if err := g.Client.Create(ctx, sa); err != nil && !apierrors.IsAlreadyExists(err) {
		return gates.Verdict{}, fmt.Errorf("create ServiceAccount %s/%s: %w", sa.Namespace, sa.Name, err)
	}
	want := g.binding(job)
	err := g.Client.Create(ctx, want.DeepCopy())
	if err == nil {
		return open, nil
	}
	if !apierrors.IsAlreadyExists(err) {
		return gates.Verdict{}, fmt.Errorf("create RoleBinding %s/%s: %w", want.Namespace, want.Name, err)
	}
	var is rbacv1.RoleBinding
	switch err := g.Live.Get(ctx, client.ObjectKeyFromObject(want), &is); {
	case err != nil:
		return gates.Verdict{}, fmt.Errorf("get RoleBinding %s/%s: %w", want.Namespace, want.Name, err)
	case !equality.Semantic.DeepEqual(is.RoleRef, want.RoleRef) || !equality.Semantic.DeepEqual(is.Subjects, want.Subjects):
		return gates.Verdict{Reason: kopiurv1.ReasonJobNameTaken, Message: "RoleBinding " + want.Name + " belongs to somebody else and is not touched: delete or rename it"}, nil
	}
	return open, nil
}

// Withdraw takes back what the helper of a Job was granted.
func (g *Granter) Withdraw(ctx context.Context, job *batchv1.Job) error {
	if !Streams(job) {
		return nil
	}
	b := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: job.Name, Namespace: job.Namespace}}
	if err := g.Client.Delete(ctx, b); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete RoleBinding %s/%s: %w", b.Namespace, b.Name, err)
	}
	return nil
}

func (g *Granter) binding(job *batchv1.Job) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{
			Name: job.Name, Namespace: job.Namespace, OwnerReferences: job.OwnerReferences,
			Labels: map[string]string{
				kopiurv1.LabelManagedBy: kopiurv1.ManagedByValue,
				kopiurv1.LabelComponent: kopiurv1.ComponentMover,
				kopiurv1.LabelOwnerUID:  job.Labels[kopiurv1.LabelOwnerUID],
			},
		},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: g.Role},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: moverjob.StreamServiceAccount, Namespace: job.Namespace}},
	}
}
