// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package volumegroup reads and writes VolumeGroupSnapshots in whichever version the cluster serves, and watches them once
// it serves any.
package volumegroup

import (
	"context"
	"fmt"
	"slices"
	"sync"

	vsv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/contents"
	"github.com/kopiur/kopiur/controller/internal/decide/group"
	"github.com/kopiur/kopiur/controller/internal/decide/staging"
)

const (
	// GroupName of the API.
	GroupName = "groupsnapshot.storage.k8s.io"
	// Kind of a group.
	Kind        = "VolumeGroupSnapshot"
	kindContent = "VolumeGroupSnapshotContent"
	kindClass   = "VolumeGroupSnapshotClass"
	// annotationDefaultClass marks the class a driver's groups get by default.
	annotationDefaultClass = "groupsnapshot.storage.kubernetes.io/is-default-class"
)

// versions of the API, the newest first. What is read and written here is the same in all of them.
var versions = []string{"v1", "v1beta2", "v1beta1"}

// API is the cluster's API of group snapshots, which it may not have, or have later.
type API struct {
	mapper meta.RESTMapper
	live   client.Reader
	client client.Client
	late   func() (informers, error)
	// namespaces limits what is watched; all where it is empty.
	namespaces []string

	mu      sync.Mutex
	version string
	watched bool
	wake    []watcher
}

// Version is the newest version that the cluster serves, "" where it serves none.
func (a *API) Version() (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.served()
}

func (a *API) served() (string, error) {
	if a.version != "" {
		return a.version, nil // one that is taken away again is looked for by the next process
	}
	for _, v := range versions {
		_, err := a.mapper.RESTMapping(schema.GroupKind{Group: GroupName, Kind: Kind}, v)
		switch {
		case err == nil:
			a.version = v
			return v, nil
		case !meta.IsNoMatchError(err):
			return "", fmt.Errorf("look for the VolumeGroupSnapshot API: %w", err)
		}
	}
	return "", nil
}

func (a *API) kind(kind string) (*unstructured.Unstructured, error) {
	v, err := a.Version()
	if err != nil {
		return nil, err
	}
	return object(v, kind), nil
}

func object(version, kind string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(schema.GroupVersionKind{Group: GroupName, Version: version, Kind: kind})
	return u
}

// Get reads a VolumeGroupSnapshot, nil where there is none.
func (a *API) Get(ctx context.Context, key client.ObjectKey) (*group.Group, error) {
	u, err := a.kind(Kind)
	if err != nil {
		return nil, err
	}
	err = a.live.Get(ctx, key, u)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil //nolint:nilnil // absent is an answer
	case err != nil:
		return nil, fmt.Errorf("get VolumeGroupSnapshot %s: %w", key, err)
	}
	return groupOf(u), nil
}

// groupOf reads what matters. A field of another type than the API's is as good as absent.
func groupOf(u *unstructured.Unstructured) *group.Group {
	l := u.GetLabels()
	g := &group.Group{
		Name: u.GetName(), UID: u.GetUID(), Created: u.GetCreationTimestamp().Time, Deleting: u.GetDeletionTimestamp() != nil,
		Maker: types.UID(l[kopiurv1.LabelOwnerUID]),
	}
	// Ours are deleted when nothing needs them: all that New writes has to be there.
	g.Ours = l[kopiurv1.LabelManagedBy] == kopiurv1.ManagedByValue && l[kopiurv1.LabelGroup] == g.Name && g.Maker != ""
	g.Content, _, _ = unstructured.NestedString(u.Object, "status", "boundVolumeGroupSnapshotContentName")
	g.Error, _, _ = unstructured.NestedString(u.Object, "status", "error", "message")
	ready, _, _ := unstructured.NestedBool(u.Object, "status", "readyToUse")
	// Ready without a content is a status that somebody else wrote: there is nothing to restore from.
	g.Ready = ready && g.Content != ""
	return g
}

// Classes lists the VolumeGroupSnapshotClasses.
func (a *API) Classes(ctx context.Context) ([]staging.SnapshotClass, error) {
	of, err := a.kind(kindClass + "List")
	if err != nil {
		return nil, err
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(of.GroupVersionKind())
	if err := a.live.List(ctx, list); err != nil {
		return nil, fmt.Errorf("list VolumeGroupSnapshotClasses: %w", err)
	}
	var out []staging.SnapshotClass
	for i := range list.Items {
		u := &list.Items[i]
		driver, _, _ := unstructured.NestedString(u.Object, "driver")
		out = append(out, staging.SnapshotClass{Name: u.GetName(), Driver: driver, Default: u.GetAnnotations()[annotationDefaultClass] == "true"})
	}
	return out, nil
}

// Members are the VolumeSnapshots of a group.
func (a *API) Members(ctx context.Context, namespace string, g group.Group) ([]vsv1.VolumeSnapshot, error) {
	var list vsv1.VolumeSnapshotList
	if err := a.live.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("list the VolumeSnapshots of VolumeGroupSnapshot %s/%s: %w", namespace, g.Name, err)
	}
	return slices.DeleteFunc(list.Items, func(vs vsv1.VolumeSnapshot) bool {
		return !slices.ContainsFunc(vs.OwnerReferences, func(ref metav1.OwnerReference) bool { return ref.UID == g.UID })
	}), nil
}

// New is a VolumeGroupSnapshot that has not been created: it selects the claims that have its label.
func (a *API) New(obj metav1.ObjectMeta, class string) (*unstructured.Unstructured, error) {
	u, err := a.kind(Kind)
	if err != nil {
		return nil, err
	}
	u.SetNamespace(obj.Namespace)
	u.SetName(obj.Name)
	u.SetLabels(obj.Labels)
	u.Object["spec"] = map[string]any{
		"volumeGroupSnapshotClassName": class,
		"source":                       map[string]any{"selector": map[string]any{"matchLabels": map[string]any{kopiurv1.LabelGroup: obj.Name}}},
	}
	return u, nil
}

// Delete removes the very group that was looked at.
func (a *API) Delete(ctx context.Context, namespace string, g group.Group) error {
	u, err := a.kind(Kind)
	if err != nil {
		return err
	}
	u.SetNamespace(namespace)
	u.SetName(g.Name)
	err = a.client.Delete(ctx, u, client.Preconditions{UID: &g.UID})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("delete VolumeGroupSnapshot %s/%s: %w", namespace, g.Name, err)
	}
	return nil
}

// Release lets the content of a group go with it, whatever its class says (acceptance A-2). One that an administrator
// brought along is kept.
func (a *API) Release(ctx context.Context, g group.Group) error {
	u, err := a.kind(kindContent)
	if err != nil {
		return err
	}
	if err := a.live.Get(ctx, client.ObjectKey{Name: g.Content}, u); err != nil {
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("get VolumeGroupSnapshotContent %s: %w", g.Content, err)
	}
	policy, _, _ := unstructured.NestedString(u.Object, "spec", "deletionPolicy")
	uid, _, _ := unstructured.NestedString(u.Object, "spec", "volumeGroupSnapshotRef", "uid")
	_, dynamic, _ := unstructured.NestedSlice(u.Object, "spec", "source", "volumeHandles")
	if policy != string(vsv1.VolumeSnapshotContentRetain) || !dynamic || types.UID(uid) != g.UID {
		return nil
	}
	if err := a.client.Patch(ctx, u, client.RawPatch(types.MergePatchType, []byte(contents.Released))); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("release VolumeGroupSnapshotContent %s: %w", g.Content, err)
	}
	return nil
}
