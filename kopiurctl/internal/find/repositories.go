// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package find

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// Repo is a repository of either kind.
type Repo struct {
	// Object is the Repository or ClusterRepository.
	Object client.Object
	Ref    kopiurv1.RepositoryRef
	Spec   *kopiurv1.RepositorySpec
	Status *kopiurv1.RepositoryStatus
}

// Repository reads the repository that a complete reference names.
func Repository(ctx context.Context, c client.Client, ref kopiurv1.RepositoryRef) (Repo, error) {
	key := client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}
	if ref.KindOrDefault() == kopiurv1.KindClusterRepository {
		r := &kopiurv1.ClusterRepository{}
		if err := Get(ctx, c, key, r, "ClusterRepository", &kopiurv1.ClusterRepositoryList{}); err != nil {
			return Repo{}, err
		}
		return OfCluster(r), nil
	}
	r := &kopiurv1.Repository{}
	if err := Get(ctx, c, key, r, "Repository", &kopiurv1.RepositoryList{}); err != nil {
		return Repo{}, err
	}
	return OfNamespace(r), nil
}

// OfNamespace wraps a Repository.
func OfNamespace(r *kopiurv1.Repository) Repo {
	return Repo{
		Object: r, Ref: kopiurv1.RepositoryRef{Name: r.Name}.In(r.Namespace), Spec: &r.Spec, Status: &r.Status,
	}
}

// OfCluster wraps a ClusterRepository.
func OfCluster(r *kopiurv1.ClusterRepository) Repo {
	return Repo{
		Object: r, Ref: kopiurv1.RepositoryRef{Name: r.Name, Kind: kopiurv1.KindClusterRepository},
		Spec: &r.Spec.RepositorySpec, Status: &r.Status,
	}
}
