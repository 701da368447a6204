// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package moverjob

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
)

// Repository is a repository of either kind, as everything that runs movers sees it.
type Repository struct {
	// Ref has kind and namespace filled in.
	Ref  kopiurv1.RepositoryRef
	UID  types.UID
	Spec kopiurv1.RepositorySpec
	// Status is what its reconciler last wrote.
	Status kopiurv1.RepositoryStatus
	// HomeNamespace is where its Secrets lie and its own Jobs run.
	HomeNamespace string
	// Annotations of the object.
	Annotations map[string]string
	// Allowed is set for a ClusterRepository only.
	Allowed *kopiurv1.AllowedNamespaces
	// ProjectionAllowed: the owner of a ClusterRepository lets its credentials be copied.
	ProjectionAllowed bool
	// Projected is the Secret that holds a copy of all that its movers mount, "" where they mount the originals.
	Projected string
	// Client is who a mover is to kopia, where it is not the repository's own client.
	Client Client
	// AllowIdentityChange: its owner wrote that policies may go on under another identity.
	AllowIdentityChange bool
}

// FromRepository wraps a Repository.
func FromRepository(r *kopiurv1.Repository) Repository {
	return Repository{
		Ref:           kopiurv1.RepositoryRef{Name: r.Name, Kind: kopiurv1.KindRepository, Namespace: r.Namespace},
		UID:           r.UID,
		Spec:          r.Spec,
		Status:        r.Status,
		HomeNamespace: r.Namespace,
		Annotations:   r.Annotations,

		AllowIdentityChange: r.Annotations[kopiurv1.AnnotationAllowIdentityChange] != "",
	}
}

// FromClusterRepository wraps a ClusterRepository.
func FromClusterRepository(r *kopiurv1.ClusterRepository, operatorNamespace string) Repository {
	return Repository{
		Ref:           kopiurv1.RepositoryRef{Name: r.Name, Kind: kopiurv1.KindClusterRepository},
		UID:           r.UID,
		Spec:          r.Spec.RepositorySpec,
		Status:        r.Status,
		HomeNamespace: r.Spec.HomeNamespace("", operatorNamespace),
		Annotations:   r.Annotations,
		Allowed:       &r.Spec.AllowedNamespaces,

		ProjectionAllowed: r.Spec.CredentialProjection != nil && r.Spec.CredentialProjection.Allowed,

		AllowIdentityChange: r.Annotations[kopiurv1.AnnotationAllowIdentityChange] != "",
	}
}

// Load reads the repository that ref (already filled in, see RepositoryRef.In) names. A missing one is a NotFound error.
func Load(ctx context.Context, c client.Reader, ref kopiurv1.RepositoryRef, operatorNamespace string) (Repository, error) {
	if ref.KindOrDefault() == kopiurv1.KindClusterRepository {
		var r kopiurv1.ClusterRepository
		if err := c.Get(ctx, client.ObjectKey{Name: ref.Name}, &r); err != nil {
			return Repository{}, fmt.Errorf("get %s: %w", ref, err)
		}
		return FromClusterRepository(&r, operatorNamespace), nil
	}
	var r kopiurv1.Repository
	if err := c.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, &r); err != nil {
		return Repository{}, fmt.Errorf("get %s: %w", ref, err)
	}
	return FromRepository(&r), nil
}

// Needs names what has to exist in the namespace where a mover of this repository runs.
type Needs struct {
	Secrets        []string
	ConfigMaps     []string
	Claim          string
	ServiceAccount string
}

// Needs lists what a mover of this repository mounts. The password's Secret comes first: its version leads
// status.resolvedCredentialVersion.
func (r Repository) Needs() Needs {
	n := Needs{Secrets: []string{r.Spec.Encryption.PasswordSecretRef.Name}, ServiceAccount: r.Spec.Backend.ServiceAccount()}
	if s := r.Spec.Backend.SecretName(); s != "" && s != n.Secrets[0] {
		n.Secrets = append(n.Secrets, s)
	}
	if ca := r.Spec.Backend.CAConfigMap(); ca != nil {
		n.ConfigMaps = append(n.ConfigMaps, ca.ConfigMapName)
	}
	if fs := r.Spec.Backend.Filesystem; fs != nil && fs.Volume != nil && fs.Volume.PVC != nil {
		n.Claim = fs.Volume.PVC.Name
	}
	return n
}

// Client is a user at a host, to kopia.
type Client struct{ Username, Hostname string }

// Cluster is the name that a repository's policies have in common in this cluster, "" where it has none.
func Cluster(r Repository) string {
	if d := r.Spec.IdentityDefaults; d != nil {
		return d.Cluster
	}
	return ""
}

// Owner is the client identity of every connection to this repository. It must not depend on the pod: kopia's
// maintenance owner is user@host, and a new host per pod means nobody ever owns the maintenance (K-6, C-6).
//
// Where the cluster has a name, it is a part of it: a repository of the same name in another cluster, on the same store,
// must not take itself for this one.
func (r Repository) Owner() (username, hostname string) {
	kind := r.Ref.Namespace
	cluster := Cluster(r)
	switch {
	case cluster != "" && kind == "":
		return "kopiur", "kopiur." + cluster + ".clusterrepository." + r.Ref.Name
	case cluster != "":
		return "kopiur", "kopiur." + cluster + "." + kind + "." + r.Ref.Name
	case kind == "":
		return "kopiur", "kopiur-cluster-" + r.Ref.Name
	default:
		return "kopiur", "kopiur-" + kind + "-" + r.Ref.Name
	}
}

// work is the repository as its mover is told.
func (r Repository) work(cache work.Cache) work.Repository {
	user, host := r.Owner()
	if r.Client.Username != "" {
		user, host = r.Client.Username, r.Client.Hostname
	}
	out := work.Repository{
		Name:             r.Ref.String(),
		PasswordKey:      r.Spec.Encryption.PasswordSecretRef.KeyOrDefault(work.DefaultPasswordKey),
		Username:         user,
		Hostname:         host,
		ExpectedUniqueID: r.Status.UniqueID,
		ReadOnly:         r.Spec.Mode == kopiurv1.ModeReadOnly,
		Cache:            cache,
	}
	if d := r.Spec.MoverDefaults; d != nil && d.Throttle != nil {
		t := work.Throttle(*d.Throttle)
		out.Throttle = &t
	}
	out.Backend = backendOf(r.Spec.Backend)
	return out
}
