// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package year_test

import (
	"slices"
	"strings"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// objects are all that there are in the namespace, of whatever kind, but for events, which the API server forgets.
func (y *year) objects() map[types.UID]*metav1.PartialObjectMetadata {
	y.t.Helper()
	d, err := discovery.NewDiscoveryClientForConfig(y.Config)
	require.NoError(y.t, err)
	lists, err := d.ServerPreferredNamespacedResources()
	require.NoError(y.t, err)
	out := map[types.UID]*metav1.PartialObjectMetadata{}
	for _, l := range lists {
		gv, err := schema.ParseGroupVersion(l.GroupVersion)
		require.NoError(y.t, err)
		for _, r := range l.APIResources {
			if !slices.Contains(r.Verbs, "list") || r.Kind == "Event" || strings.Contains(r.Name, "/") {
				continue
			}
			var list metav1.PartialObjectMetadataList
			list.SetGroupVersionKind(gv.WithKind(r.Kind + "List"))
			err := y.Client.List(y.t.Context(), &list, client.InNamespace(y.Namespace))
			if apierrors.IsMethodNotSupported(err) || apierrors.IsNotFound(err) {
				continue
			}
			require.NoError(y.t, err, "%s %s", gv, r.Kind)
			for i := range list.Items {
				o := &list.Items[i]
				o.SetGroupVersionKind(gv.WithKind(r.Kind))
				out[o.UID] = o
			}
		}
	}
	return out
}

// nothingLeaks waits for the last deletions, and then finds of everything that was made since then the owner it goes with,
// or what removes it: the time to live of a Job, the schedule's and the policy's rules for Snapshots.
func (y *year) nothingLeaks(before map[types.UID]*metav1.PartialObjectMetadata) {
	y.t.Helper()
	require.EventuallyWithT(y.t, func(c *assert.CollectT) {
		var snapshots kopiurv1.SnapshotList
		require.NoError(c, y.Client.List(y.t.Context(), &snapshots, client.InNamespace(y.Namespace)))
		for i := range snapshots.Items {
			assert.Nil(c, snapshots.Items[i].DeletionTimestamp, "%s waits for its deletion", snapshots.Items[i].Name)
		}
		var jobs batchv1.JobList
		require.NoError(c, y.Client.List(y.t.Context(), &jobs, client.InNamespace(y.Namespace)))
		for i := range jobs.Items {
			assert.NotNil(c, jobs.Items[i].Spec.TTLSecondsAfterFinished, "Job %s is neither removed nor retired", jobs.Items[i].Name)
		}
	}, 2*testenv.Wait, testenv.Tick)
	y.sweep()
	require.EventuallyWithT(y.t, func(c *assert.CollectT) {
		now := y.objects()
		found := map[string]int{}
		for uid, o := range now {
			if before[uid] != nil {
				continue
			}
			found[o.Kind]++
			owned := slices.ContainsFunc(o.OwnerReferences, func(r metav1.OwnerReference) bool { return now[r.UID] != nil })
			assert.True(c, owned, "%s %s has no owner, and nothing removes it", o.Kind, o.Name)
		}
		kept := 0
		for _, l := range y.lines {
			kept += len(l.kept)
		}
		assert.Equal(c, map[string]int{"Snapshot": kept}, found, "what is left of the year is what retention keeps")
	}, testenv.Wait, testenv.Tick)
}
