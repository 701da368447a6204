// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/mapper"
	"github.com/kopiur/kopiur/controller/internal/loop"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

// letter starts the names of Jobs of this package.
const letter = "r"

// bootstrap is the mover's operation.
const bootstrap = "bootstrap"

// subject is a repository of either kind.
type subject struct {
	obj    client.Object
	status *kopiurv1.RepositoryStatus
	repo   moverjob.Repository
}

// kind is what tells the two reconcilers apart.
type kind struct {
	name mapper.Kind
	new  func() client.Object
	wrap func(obj client.Object, operatorNamespace string) subject
}

func (k kind) gvk() schema.GroupVersionKind { return kopiurv1.GroupVersion.WithKind(string(k.name)) }

// kinds of repositories.
func kinds() []kind {
	return []kind{
		{
			name: mapper.KindRepository,
			new:  func() client.Object { return &kopiurv1.Repository{} },
			wrap: func(obj client.Object, _ string) subject {
				r := obj.(*kopiurv1.Repository) //nolint:forcetypeassert // made by new
				return subject{obj: r, status: &r.Status, repo: moverjob.FromRepository(r)}
			},
		},
		{
			name: mapper.KindClusterRepository,
			new:  func() client.Object { return &kopiurv1.ClusterRepository{} },
			wrap: func(obj client.Object, operatorNamespace string) subject {
				r := obj.(*kopiurv1.ClusterRepository) //nolint:forcetypeassert // made by new
				return subject{obj: r, status: &r.Status, repo: moverjob.FromClusterRepository(r, operatorNamespace)}
			},
		},
	}
}

// attempt is what tells one Job of this repository from the next: with other inputs it is another Job.
func (s subject) attempt(credentials string, n int32) string {
	return fmt.Sprintf("%d/%s/%d", s.obj.GetGeneration(), credentials, n)
}

// jobName is the name of the n-th attempt with the present generation and these credentials.
func (s subject) jobName(credentials string, n int32) string {
	return moverjob.Name(letter, s.obj.GetName(), s.obj.GetUID(), bootstrap, s.attempt(credentials, n))
}

func (s subject) patcher(env loop.Env) *loop.Patcher {
	return loop.NewPatcher(env, s.obj, &s.status.Conditions, &s.status.ObservedGeneration)
}
