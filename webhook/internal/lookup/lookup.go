// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// Only what a check reads. A Snapshot is never held: there are too many, and the one question about them is asked rarely.
//
// +kubebuilder:rbac:groups=kopiur.home-operations.com,resources=repositories;clusterrepositories;snapshotpolicies,verbs=get;list;watch
// +kubebuilder:rbac:groups=kopiur.home-operations.com,resources=snapshots,verbs=list
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch

const (
	// patience bounds one request: the API server waits for our answer meanwhile.
	patience = 2 * time.Second
	// fieldRepository indexes policies by the repositories they name.
	fieldRepository = "repository"
)

// errNotReady says that the cache has not been filled yet.
var errNotReady = errors.New("the webhook has not read them yet")

// Cache finds objects.
type Cache struct {
	cache   cache.Cache
	live    client.Reader
	synced  map[string]func() bool
	ordered []string
}

// New makes a Cache. It can be asked before it is started, and while it fills.
func New(ctx context.Context, cfg *rest.Config) (*Cache, error) {
	s := runtime.NewScheme()
	// These cannot fail but by a fault of the build.
	utilruntime.Must(corev1.AddToScheme(s))
	utilruntime.Must(kopiurv1.AddToScheme(s))
	live, err := client.New(cfg, client.Options{Scheme: s})
	if err != nil {
		return nil, fmt.Errorf("make the client of lookups: %w", err)
	}
	c, err := cache.New(cfg, cache.Options{
		Scheme:                      s,
		ReaderFailOnMissingInformer: true,
		ByObject: map[client.Object]cache.ByObject{
			&kopiurv1.SnapshotPolicy{}:    {Transform: trimPolicy},
			&kopiurv1.Repository{}:        {Transform: trimRepository},
			&kopiurv1.ClusterRepository{}: {Transform: trimRepository},
			namespaceMetadata():           {Transform: trimMeta},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("make the cache of lookups: %w", err)
	}
	if err := c.IndexField(ctx, &kopiurv1.SnapshotPolicy{}, fieldRepository, repositoriesOf); err != nil {
		return nil, fmt.Errorf("index policies by repository: %w", err)
	}
	out := &Cache{cache: c, live: live, synced: map[string]func() bool{}}
	for name, o := range map[string]client.Object{
		"SnapshotPolicies": &kopiurv1.SnapshotPolicy{}, "Repositories": &kopiurv1.Repository{},
		"ClusterRepositories": &kopiurv1.ClusterRepository{}, "Namespaces": namespaceMetadata(),
	} {
		informer, err := c.GetInformer(ctx, o, cache.BlockUntilSynced(false))
		if err != nil {
			return nil, fmt.Errorf("watch %s: %w", name, err)
		}
		out.synced[name] = informer.HasSynced
		out.ordered = append(out.ordered, name)
	}
	slices.Sort(out.ordered)
	return out, nil
}

// Start fills the cache and keeps it until the context ends.
func (c *Cache) Start(ctx context.Context) error { return c.cache.Start(ctx) }

// Missing names the kinds that are not in the cache yet, "" when all are.
func (c *Cache) Missing() string {
	var out []string
	for _, name := range c.ordered {
		if !c.synced[name]() {
			out = append(out, name)
		}
	}
	if len(out) == 0 {
		return ""
	}
	return "not read yet: " + strings.Join(out, ", ")
}

// Policy finds a policy, nil where there is none.
func (c *Cache) Policy(ctx context.Context, namespace, name string) (*kopiurv1.SnapshotPolicy, error) {
	return find(ctx, c, "SnapshotPolicies", namespace, name, &kopiurv1.SnapshotPolicy{})
}

// Repository finds a namespaced repository, nil where there is none.
func (c *Cache) Repository(ctx context.Context, namespace, name string) (*kopiurv1.Repository, error) {
	return find(ctx, c, "Repositories", namespace, name, &kopiurv1.Repository{})
}

// ClusterRepository finds a cluster-scoped repository, nil where there is none.
func (c *Cache) ClusterRepository(ctx context.Context, name string) (*kopiurv1.ClusterRepository, error) {
	return find(ctx, c, "ClusterRepositories", "", name, &kopiurv1.ClusterRepository{})
}

// NamespaceLabels are a namespace's labels. An object is being written there, so that it exists.
func (c *Cache) NamespaceLabels(ctx context.Context, name string) (map[string]string, error) {
	ns, err := find(ctx, c, "Namespaces", "", name, namespaceMetadata())
	if err != nil {
		return nil, err
	}
	if ns == nil {
		return nil, fmt.Errorf("namespace %s was not found", name)
	}
	return ns.Labels, nil
}

// PoliciesOf are the policies that name a repository, given with its namespace filled in. They are read from the cache
// alone: nothing else knows which they are.
func (c *Cache) PoliciesOf(ctx context.Context, ref kopiurv1.RepositoryRef) ([]kopiurv1.SnapshotPolicy, error) {
	if !c.synced["SnapshotPolicies"]() {
		return nil, fmt.Errorf("find the policies of %s: %w", ref, errNotReady)
	}
	var list kopiurv1.SnapshotPolicyList
	if err := c.cache.List(ctx, &list, client.MatchingFields{fieldRepository: ref.String()}); err != nil {
		return nil, fmt.Errorf("find the policies of %s: %w", ref, err)
	}
	return list.Items, nil
}

// HasSnapshots reports whether a policy has any Snapshot, by one request for at most one.
func (c *Cache) HasSnapshots(ctx context.Context, namespace, policy string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kopiurv1.GroupVersion.WithKind("SnapshotList"))
	err := c.live.List(ctx, list, client.InNamespace(namespace), client.Limit(1),
		client.MatchingLabels{kopiurv1.LabelConfig: kopiurv1.LabelValue(policy)})
	if err != nil {
		return false, fmt.Errorf("find the Snapshots of policy %s/%s: %w", namespace, policy, err)
	}
	return len(list.Items) > 0, nil
}

// find looks in the cache and, for what is not there, asks the API server: the cache may be behind, and what was applied
// together arrives together.
func find[T client.Object](ctx context.Context, c *Cache, kind, namespace, name string, into T) (T, error) {
	var none T
	key := client.ObjectKey{Namespace: namespace, Name: name}
	if c.synced[kind]() {
		if err := c.cache.Get(ctx, key, into); err == nil {
			return into, nil
		}
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := c.live.Get(ctx, key, into)
	if apierrors.IsNotFound(err) {
		return none, nil
	}
	if err != nil {
		return none, fmt.Errorf("read %s of %s: %w", key, kind, err)
	}
	return into, nil
}

func namespaceMetadata() *metav1.PartialObjectMetadata {
	o := &metav1.PartialObjectMetadata{}
	o.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	return o
}
