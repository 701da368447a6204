// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"fmt"

	vsv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/mapper"
	"github.com/kopiur/kopiur/controller/internal/decide/plan"
	"github.com/kopiur/kopiur/controller/internal/deletion"
	"github.com/kopiur/kopiur/controller/internal/deps"
	"github.com/kopiur/kopiur/controller/internal/hooks"
	"github.com/kopiur/kopiur/controller/internal/index"
	"github.com/kopiur/kopiur/controller/internal/streamaccess"
)

// Setup adds the reconciler to a manager.
func Setup(mgr ctrl.Manager, d deps.Deps) error {
	r := &Reconciler{Deps: d, Mapper: mgr.GetRESTMapper(), hooks: &hooks.Runner{Client: d.Client, Live: d.Live, Config: mgr.GetConfig()}, streams: &streamaccess.Granter{Client: d.Client, Live: d.Live, Role: d.StreamRole}}
	c := mgr.GetClient()
	wake := handler.EnqueueRequestsFromMapFunc
	b := ctrl.NewControllerManagedBy(mgr).
		For(&kopiurv1.Snapshot{}, builder.WithPredicates(index.AskedFor())).
		// A status that we wrote wakes us as well: the turn after it retires the Job and removes the copy.
		Watches(&kopiurv1.Snapshot{}, index.Afterwards()).
		Watches(&batchv1.Job{}, index.Coalesced(index.JobOwner(plan.GVK))).
		Watches(&batchv1.Job{}, r.freed()).
		Watches(&kopiurv1.Snapshot{}, r.freed()).
		Watches(&corev1.Pod{}, index.Coalesced(index.PodOwnerByUID(c, plan.GVK))).
		// A staged claim wakes its Snapshot, any claim those that wait for one.
		Watches(&corev1.PersistentVolumeClaim{}, index.Coalesced(index.JobOwner(plan.GVK))).
		Watches(&corev1.PersistentVolumeClaim{}, wake(index.Core(c, mapper.KindSnapshot, mapper.KindClaim))).
		// Those of a run whose claims are cut together wait for the one that cuts.
		Watches(&kopiurv1.Snapshot{}, index.Coalesced(index.RunOfMaker(c))).
		Watches(&kopiurv1.SnapshotPolicy{}, wake(index.Policies(c, mapper.KindSnapshot))).
		Watches(&kopiurv1.Repository{}, wake(index.Repositories(c, mapper.KindSnapshot))).
		Watches(&kopiurv1.ClusterRepository{}, wake(index.Repositories(c, mapper.KindSnapshot))).
		// Jobs that delete the data of many Snapshots, and what decides about it.
		Watches(&batchv1.Job{}, index.Coalesced(deletion.MembersOf)).
		Watches(&corev1.Pod{}, index.Coalesced(deletion.MembersOfPod(c)), builder.WithPredicates(deletion.PodEnded())).
		Watches(&kopiurv1.SnapshotSchedule{}, wake(index.Schedules(c)), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WithOptions(r.ControllerOptions())
	for _, core := range []string{mapper.KindSecret, mapper.KindConfigMap, mapper.KindServiceAccount, mapper.KindNamespace} {
		b = b.WatchesMetadata(index.Metadata(core), wake(index.Core(c, mapper.KindSnapshot, core)))
	}
	ctl, err := b.Build(r)
	if err != nil {
		return fmt.Errorf("add the reconciler of Snapshot: %w", err)
	}
	d.Groups.Wakes(ctl, index.RunOfGroup(c), index.Coalesced)
	r.watchStaged = func() error {
		vs, err := snapshotCache(mgr, d.WatchNamespaces)
		if err != nil {
			return err
		}
		if err := mgr.Add(vs); err != nil {
			return fmt.Errorf("start the cache of VolumeSnapshots: %w", err)
		}
		h := index.Coalesced(index.JobOwner(plan.GVK))
		if err := ctl.Watch(volumeSnapshots{source.Kind[client.Object](vs, &vsv1.VolumeSnapshot{}, h)}); err != nil {
			return fmt.Errorf("watch VolumeSnapshots: %w", err)
		}
		return nil
	}
	return nil
}

// volumeSnapshots is a source that can be logged: controller-runtime puts one that is added late into its log as it is.
type volumeSnapshots struct{ source.Source }

// MarshalText names it in the log.
func (volumeSnapshots) MarshalText() ([]byte, error) {
	return []byte("kind source: VolumeSnapshot"), nil
}

// snapshotCache holds our VolumeSnapshots and nothing else. It is one of its own, because the manager's would refuse to
// start in a cluster without the kind.
func snapshotCache(mgr ctrl.Manager, namespaces []string) (cache.Cache, error) {
	opts := cache.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(),
		DefaultLabelSelector: labels.SelectorFromSet(labels.Set{kopiurv1.LabelManagedBy: kopiurv1.ManagedByValue}),
		DefaultTransform:     cache.TransformStripManagedFields(),
	}
	if len(namespaces) > 0 {
		opts.DefaultNamespaces = map[string]cache.Config{}
		for _, ns := range namespaces {
			opts.DefaultNamespaces[ns] = cache.Config{}
		}
	}
	c, err := cache.New(mgr.GetConfig(), opts)
	if err != nil {
		return nil, fmt.Errorf("make the cache of VolumeSnapshots: %w", err)
	}
	return c, nil
}
