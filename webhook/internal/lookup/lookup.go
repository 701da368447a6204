// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// Only what a check reads. A Snapshot is never held: there are too many, and the one question about them is asked rarely.
//
// +kubebuilder:rbac:groups=kopiur.home-operations.com,resources=repositories;clusterrepositories;snapshotpolicies;maintenances;repositoryreplications,verbs=get;list;watch
// +kubebuilder:rbac:groups=kopiur.home-operations.com,resources=snapshots,verbs=list
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch

// fieldRepository indexes policies by the repositories they name.
const fieldRepository = "repository"

// Kinds that are watched, as messages name them.
const (
	policies            = "SnapshotPolicies"
	repositories        = "Repositories"
	clusterRepositories = "ClusterRepositories"
	maintenances        = "Maintenances"
	replications        = "RepositoryReplications"
	namespaces          = "Namespaces"
)

// watched is what the cache holds of each.
func watched() map[string]struct {
	object    client.Object
	transform toolscache.TransformFunc
} {
	return map[string]struct {
		object    client.Object
		transform toolscache.TransformFunc
	}{
		policies:            {&kopiurv1.SnapshotPolicy{}, trimPolicy},
		repositories:        {&kopiurv1.Repository{}, trim},
		clusterRepositories: {&kopiurv1.ClusterRepository{}, trim},
		maintenances:        {&kopiurv1.Maintenance{}, trim},
		replications:        {&kopiurv1.RepositoryReplication{}, trim},
		namespaces:          {namespaceMetadata(), trimNamespace},
	}
}

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
	kinds := watched()
	byObject := map[client.Object]cache.ByObject{}
	for _, k := range kinds {
		byObject[k.object] = cache.ByObject{Transform: k.transform}
	}
	c, err := cache.New(cfg, cache.Options{Scheme: s, ReaderFailOnMissingInformer: true, ByObject: byObject})
	if err != nil {
		return nil, fmt.Errorf("make the cache of lookups: %w", err)
	}
	if err := c.IndexField(ctx, &kopiurv1.SnapshotPolicy{}, fieldRepository, repositoriesOf); err != nil {
		return nil, fmt.Errorf("index policies by repository: %w", err)
	}
	out := &Cache{cache: c, live: live, synced: map[string]func() bool{}}
	for name, k := range kinds {
		informer, err := c.GetInformer(ctx, k.object, cache.BlockUntilSynced(false))
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
	return find(ctx, c, policies, namespace, name, &kopiurv1.SnapshotPolicy{})
}

// Repository finds a namespaced repository, nil where there is none.
func (c *Cache) Repository(ctx context.Context, namespace, name string) (*kopiurv1.Repository, error) {
	return find(ctx, c, repositories, namespace, name, &kopiurv1.Repository{})
}

// ClusterRepository finds a cluster-scoped repository, nil where there is none.
func (c *Cache) ClusterRepository(ctx context.Context, name string) (*kopiurv1.ClusterRepository, error) {
	return find(ctx, c, clusterRepositories, "", name, &kopiurv1.ClusterRepository{})
}

// NamespaceLabels are a namespace's labels. An object is being written there, so that it exists.
func (c *Cache) NamespaceLabels(ctx context.Context, name string) (map[string]string, error) {
	ns, err := find(ctx, c, namespaces, "", name, namespaceMetadata())
	if err != nil {
		return nil, err
	}
	if ns == nil {
		return nil, fmt.Errorf("namespace %s was not found", name)
	}
	return ns.Labels, nil
}

// PoliciesOf are the policies that name a repository, given with its namespace filled in.
func (c *Cache) PoliciesOf(ctx context.Context, ref kopiurv1.RepositoryRef) ([]kopiurv1.SnapshotPolicy, error) {
	var list kopiurv1.SnapshotPolicyList
	err := c.list(ctx, policies, &list, client.MatchingFields{fieldRepository: ref.String()})
	return list.Items, err
}

// Maintenances are all there are.
func (c *Cache) Maintenances(ctx context.Context) ([]kopiurv1.Maintenance, error) {
	var list kopiurv1.MaintenanceList
	err := c.list(ctx, maintenances, &list)
	return list.Items, err
}

// RepositoryReplications are all there are.
func (c *Cache) RepositoryReplications(ctx context.Context) ([]kopiurv1.RepositoryReplication, error) {
	var list kopiurv1.RepositoryReplicationList
	err := c.list(ctx, replications, &list)
	return list.Items, err
}

// list reads from the cache alone: a list of everything is nothing to ask an API server while it waits.
func (c *Cache) list(ctx context.Context, kind string, into client.ObjectList, opts ...client.ListOption) error {
	if !c.synced[kind]() {
		return fmt.Errorf("list %s: %w", kind, errNotReady)
	}
	// What is found is looked at and never changed, so that it need not be copied.
	if err := c.cache.List(ctx, into, append(opts, client.UnsafeDisableDeepCopy)...); err != nil {
		return fmt.Errorf("list %s: %w", kind, err)
	}
	return nil
}

// HasHistory reports whether anything was stored for a policy: by its own record, else by one request for one Snapshot.
func (c *Cache) HasHistory(ctx context.Context, p *kopiurv1.SnapshotPolicy) (bool, error) {
	if p.Status.LastSuccessfulSnapshot != "" {
		return true, nil
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kopiurv1.GroupVersion.WithKind("SnapshotList"))
	err := c.live.List(ctx, list, client.InNamespace(p.Namespace), client.Limit(1),
		client.MatchingLabels{kopiurv1.LabelConfig: kopiurv1.LabelValue(p.Name)}, client.HasLabels{kopiurv1.LabelSnapshotID})
	if err != nil {
		return false, fmt.Errorf("look for Snapshots of SnapshotPolicy %s/%s: %w", p.Namespace, p.Name, err)
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
	err := c.live.Get(ctx, key, into)
	if apierrors.IsNotFound(err) {
		return none, nil
	}
	if err != nil {
		return none, fmt.Errorf("find %s among the %s: %w", strings.TrimPrefix(key.String(), "/"), kind, err)
	}
	return into, nil
}

func namespaceMetadata() *metav1.PartialObjectMetadata {
	o := &metav1.PartialObjectMetadata{}
	o.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	return o
}
