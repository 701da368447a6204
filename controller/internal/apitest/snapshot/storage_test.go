// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot_test

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	vsv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// snapshotCRDs are those of the CSI snapshotter, as the harness has fetched them.
func snapshotCRDs() envtest.CRDInstallOptions {
	dir := os.Getenv("KOPIUR_SNAPSHOT_CRDS")
	if dir == "" {
		dir = filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "snapshot-crds")
	}
	return envtest.CRDInstallOptions{Paths: []string{dir}, ErrorIfPathMissing: true, MaxTime: testenv.Wait}
}

var installOnce sync.Once

// storage plays the snapshot controller, the provisioner, the volume controller and their finalizers in one namespace.
// Its driver is the test's own, so that tests in parallel do not see each other's classes.
type storage struct {
	l      *lab
	driver string
	class  *storagev1.StorageClass

	mu sync.Mutex
	// ready and bind say whether VolumeSnapshots become ready and claims are bound; failure is what the driver complains
	// about meanwhile.
	ready, bind bool
	failure     string
	restoreSize resource.Quantity
	// retain is the policy of contents and volumes.
	retain bool
	// gone are the kinds of staged objects in the order they went.
	gone []string
	// snapshots are the UIDs of all VolumeSnapshots there ever were.
	snapshots map[types.UID]bool
	groups    groups
}

// seen are the UIDs of all VolumeSnapshots that there ever were.
func (s *storage) seen() map[types.UID]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.snapshots)
}

// withStorage installs the snapshot API, a StorageClass and the source claim with its volume, and starts to play.
func (l *lab) withStorage(mode storagev1.VolumeBindingMode) *storage {
	l.t.Helper()
	installOnce.Do(func() {
		_, err := envtest.InstallCRDs(l.Config, snapshotCRDs())
		require.NoError(l.t, err)
	})
	s := &storage{l: l, driver: l.Namespace + ".csi.test", ready: true, bind: true, restoreSize: resource.MustParse("1Gi"), snapshots: map[types.UID]bool{}}
	s.class = &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: l.Namespace}, Provisioner: s.driver, VolumeBindingMode: &mode,
	}
	l.Create(s.class)
	l.cleanup(s.class)
	src := claim("data")
	src.Spec.StorageClassName, src.Spec.VolumeMode = new(s.class.Name), l.source.Spec.VolumeMode
	l.Create(src)
	s.bindClaim(l.t.Context(), src)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(testenv.Tick)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				s.step(ctx)
			}
		}
	}()
	l.t.Cleanup(func() { cancel(); <-done })
	return s
}

func (l *lab) cleanup(obj client.Object) {
	l.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		obj.SetFinalizers(nil)
		_ = l.Client.Patch(ctx, obj, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
		_ = l.Client.Delete(ctx, obj)
	})
}

// snapshotClass adds a VolumeSnapshotClass of the driver.
func (s *storage) snapshotClass() {
	s.l.t.Helper()
	c := &vsv1.VolumeSnapshotClass{ObjectMeta: metav1.ObjectMeta{Name: s.l.Namespace}, Driver: s.driver, DeletionPolicy: vsv1.VolumeSnapshotContentDelete}
	s.l.Create(c)
	s.l.cleanup(c)
}

func (s *storage) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// step does what is due. Its errors are those of a race with the controller: the next step sees what came of it.
func (s *storage) step(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stepGroups(ctx)
	var snapshots vsv1.VolumeSnapshotList
	if s.l.Client.List(ctx, &snapshots, client.InNamespace(s.l.Namespace)) == nil {
		for i := range snapshots.Items {
			s.snapshots[snapshots.Items[i].UID] = true
			s.stepSnapshot(ctx, &snapshots.Items[i])
		}
	}
	var claims corev1.PersistentVolumeClaimList
	if s.l.Client.List(ctx, &claims, client.InNamespace(s.l.Namespace)) == nil {
		for i := range claims.Items {
			s.stepClaim(ctx, &claims.Items[i])
		}
	}
}

func (s *storage) stepSnapshot(ctx context.Context, vs *vsv1.VolumeSnapshot) {
	switch {
	case len(vs.Finalizers) == 0 && vs.DeletionTimestamp == nil:
		// As the snapshot controller does, so that a deletion can be seen.
		s.patch(ctx, vs, `{"metadata":{"finalizers":["snapshot.storage.kubernetes.io/test"]}}`)
	case vs.DeletionTimestamp != nil:
		s.gone = append(s.gone, "VolumeSnapshot")
		s.patch(ctx, vs, `{"metadata":{"finalizers":null}}`)
	case s.failure != "":
		base := vs.DeepCopy()
		vs.Status = &vsv1.VolumeSnapshotStatus{ReadyToUse: new(false), Error: &vsv1.VolumeSnapshotError{Message: &s.failure}}
		_ = s.l.Client.Status().Patch(ctx, vs, client.MergeFrom(base))
	case s.ready && (vs.Status == nil || vs.Status.ReadyToUse == nil || !*vs.Status.ReadyToUse):
		content := &vsv1.VolumeSnapshotContent{
			ObjectMeta: metav1.ObjectMeta{Name: "snapcontent-" + string(vs.UID)},
			Spec: vsv1.VolumeSnapshotContentSpec{
				VolumeSnapshotRef: corev1.ObjectReference{Kind: "VolumeSnapshot", Namespace: vs.Namespace, Name: vs.Name, UID: vs.UID},
				DeletionPolicy:    s.policy(), Driver: s.driver, Source: vsv1.VolumeSnapshotContentSource{VolumeHandle: new("handle")},
			},
		}
		if s.l.Client.Create(ctx, content) == nil {
			s.l.cleanup(content)
		}
		base := vs.DeepCopy()
		vs.Status = &vsv1.VolumeSnapshotStatus{ReadyToUse: new(true), BoundVolumeSnapshotContentName: &content.Name, RestoreSize: &s.restoreSize}
		_ = s.l.Client.Status().Patch(ctx, vs, client.MergeFrom(base))
	}
}

func (s *storage) stepClaim(ctx context.Context, c *corev1.PersistentVolumeClaim) {
	switch {
	case c.DeletionTimestamp != nil:
		// As the protection controller does: a pod that names the claim holds it, also one that has ended.
		var pods corev1.PodList
		if s.l.Client.List(ctx, &pods, client.InNamespace(c.Namespace)) != nil {
			return
		}
		for i := range pods.Items {
			// As the kubelet does: a deletion whose request was cut short in the server leaves a pod that is only marked.
			if p := &pods.Items[i]; p.DeletionTimestamp != nil && names(*p, c.Name) {
				_ = s.l.Client.Delete(ctx, p, client.GracePeriodSeconds(0))
			}
		}
		if slices.ContainsFunc(pods.Items, func(p corev1.Pod) bool { return names(p, c.Name) }) {
			return
		}
		if len(c.Finalizers) > 0 {
			s.gone = append(s.gone, "PersistentVolumeClaim")
		}
		s.patch(ctx, c, `{"metadata":{"finalizers":null}}`)
	case c.Spec.VolumeName == "" && s.bind && c.Spec.StorageClassName != nil && *c.Spec.StorageClassName == s.class.Name:
		s.bindClaim(ctx, c)
	}
}

func names(p corev1.Pod, claim string) bool {
	return slices.ContainsFunc(p.Spec.Volumes, func(v corev1.Volume) bool {
		return v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == claim
	})
}

// bindClaim gives a claim a volume of the driver.
func (s *storage) bindClaim(ctx context.Context, c *corev1.PersistentVolumeClaim) {
	reclaim := corev1.PersistentVolumeReclaimDelete
	if s.retain {
		reclaim = corev1.PersistentVolumeReclaimRetain
	}
	pv := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "pvc-" + string(c.UID)},
		Spec: corev1.PersistentVolumeSpec{
			AccessModes: c.Spec.AccessModes, Capacity: c.Spec.Resources.Requests, StorageClassName: s.class.Name,
			PersistentVolumeReclaimPolicy: reclaim,
			ClaimRef:                      &corev1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: c.Namespace, Name: c.Name, UID: c.UID},
			PersistentVolumeSource:        corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: s.driver, VolumeHandle: string(c.UID)}},
		},
	}
	if s.l.Client.Create(ctx, pv) == nil {
		s.l.cleanup(pv)
	}
	s.patch(ctx, c, `{"spec":{"volumeName":"`+pv.Name+`"}}`)
	base := c.DeepCopy()
	c.Status.Phase, c.Status.Capacity, c.Status.AccessModes = corev1.ClaimBound, c.Spec.Resources.Requests, c.Spec.AccessModes
	_ = s.l.Client.Status().Patch(ctx, c, client.MergeFrom(base))
}

func (s *storage) patch(ctx context.Context, obj client.Object, merge string) {
	_ = s.l.Client.Patch(ctx, obj, client.RawPatch(types.MergePatchType, []byte(merge)))
}

// order is in which order the kinds of staged objects went, each once.
func (s *storage) order() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Compact(slices.Clone(s.gone))
}

func (l *lab) staged() (*corev1.PersistentVolumeClaim, bool) {
	l.t.Helper()
	var c corev1.PersistentVolumeClaim
	err := l.Client.Get(l.t.Context(), client.ObjectKey{Namespace: l.Namespace, Name: "one-src"}, &c)
	require.NoError(l.t, client.IgnoreNotFound(err))
	return &c, err == nil
}

// nothingStaged proves that no copy is left in the namespace.
func (l *lab) nothingStaged() {
	l.t.Helper()
	require.EventuallyWithT(l.t, func(c *assert.CollectT) {
		var claims corev1.PersistentVolumeClaimList
		require.NoError(c, l.Client.List(l.t.Context(), &claims, client.InNamespace(l.Namespace), client.HasLabels{kopiurv1.LabelOwnerUID}))
		assert.Empty(c, claims.Items)
		var snapshots vsv1.VolumeSnapshotList
		require.NoError(c, l.Client.List(l.t.Context(), &snapshots, client.InNamespace(l.Namespace)))
		assert.Empty(c, snapshots.Items)
	}, testenv.Wait, testenv.Tick)
}

// withoutSnapshots takes the APIs of snapshots away, and waits until they are gone: one on its way out would take along what
// is installed meanwhile.
func (l *lab) withoutSnapshots() {
	l.t.Helper()
	// What a killed test has left would keep its kind.
	var left vsv1.VolumeSnapshotList
	if l.Client.List(l.t.Context(), &left) == nil {
		for i := range left.Items {
			_ = l.Client.Patch(l.t.Context(), &left.Items[i], client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
		}
	}
	require.NoError(l.t, envtest.UninstallCRDs(l.Config, snapshotCRDs()))
	require.EventuallyWithT(l.t, func(c *assert.CollectT) {
		var list metav1.PartialObjectMetadataList
		list.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinitionList"})
		require.NoError(c, l.Client.List(l.t.Context(), &list))
		for i := range list.Items {
			assert.NotContains(c, list.Items[i].Name, "snapshot.storage.k8s.io")
		}
	}, testenv.Wait, testenv.Tick)
}

// TestACopyNeedsTheSnapshotAPI is not parallel: it takes the API away before the others install it.
//
//nolint:paralleltest // see above
func TestACopyNeedsTheSnapshotAPI(t *testing.T) {
	l := newLab(t)
	l.withoutSnapshots()
	l.policy.Spec.CopyMethod = kopiurv1.CopySnapshot
	l.base()
	l.Create(claim("data"), l.snapshot)
	l.StartController()
	c := l.waits(kopiurv1.ConditionSourceStaged, metav1.ConditionFalse, kopiurv1.ReasonSnapshotStackMissing)
	assert.Contains(t, c.Message, "copyMethod: Direct", "the way out is named")
	assert.Empty(t, l.jobs(), "and never taken silently")
	assert.Equal(t, kopiurv1.SnapshotPending, l.snapshot.Status.Phase)

	// The way out, taken by the user.
	l.Change(l.policy, func() { l.policy.Spec.CopyMethod = kopiurv1.CopyDirect })
	l.succeeds()
}

// TestGroupsNeedTheirAPI is not parallel: the API of groups comes while the controller runs, before the others install it.
// Until then nothing of the run is made, and nothing is cut at several instants instead.
//
//nolint:paralleltest // see above
func TestGroupsNeedTheirAPI(t *testing.T) {
	all := snapshotCRDs()
	some := all
	found, err := filepath.Glob(filepath.Join(all.Paths[0], "snapshot.storage.k8s.io_*.yaml"))
	require.NoError(t, err)
	require.Len(t, found, 3)
	some.Paths = found
	installOnce.Do(func() {}) // all of it is installed below
	l := newLab(t)
	t.Cleanup(func() {
		_, err := envtest.InstallCRDs(l.Config, snapshotCRDs())
		assert.NoError(t, err, "the others need them")
	})
	l.withoutSnapshots()
	_, err = envtest.InstallCRDs(l.Config, some)
	require.NoError(t, err)
	st := l.together()
	l.StartController()
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		l.GetC(c, l.policy)
		for _, kind := range []string{kopiurv1.ConditionGroupSnapshotSupported, kopiurv1.ConditionReady} {
			got := policyCondition(l.policy, kind)
			assert.Equal(c, metav1.ConditionFalse, got.Status)
			assert.Equal(c, kopiurv1.ReasonGroupSnapshotUnsupported, got.Reason)
			assert.Contains(c, got.Message, "groupBy: None", "the way out is named")
		}
	}, testenv.Wait, testenv.Tick)
	// One claim is cut at one instant whatever the cluster can do, also where a selector happens to find one.
	two := l.policy.Spec.Sources
	yes := map[string]string{"backup": "yes"}
	l.Label(l.pvc("data"), "backup", "yes")
	for _, one := range []kopiurv1.Source{two[0], {PVCSelector: &kopiurv1.PVCSelector{LabelSelector: &metav1.LabelSelector{MatchLabels: yes}}}} {
		l.Change(l.policy, func() { l.policy.Spec.Sources = []kopiurv1.Source{one} })
		l.policyReady(metav1.ConditionTrue, kopiurv1.ReasonPolicyReady, "can be made")
		assert.Empty(t, policyCondition(l.policy, kopiurv1.ConditionGroupSnapshotSupported).Status)
	}
	l.Label(l.pvc("wal"), "backup", "yes")
	l.policyReady(metav1.ConditionFalse, kopiurv1.ReasonGroupSnapshotUnsupported, "groupBy: None")
	l.Label(l.pvc("wal"), "backup", "no")
	l.policyReady(metav1.ConditionTrue, kopiurv1.ReasonPolicyReady, "can be made")
	l.Change(l.policy, func() { l.policy.Spec.Sources = two })
	l.policyReady(metav1.ConditionFalse, kopiurv1.ReasonGroupSnapshotUnsupported, "groupBy: None")

	run := l.run("nightly")
	for _, s := range run {
		l.snapshot = s
		c := l.waits(kopiurv1.ConditionSourceStaged, metav1.ConditionFalse, kopiurv1.ReasonGroupSnapshotUnsupported)
		assert.Contains(t, c.Message, "does not serve VolumeGroupSnapshots")
	}
	assert.Empty(t, st.seen(), "nothing is cut")

	_, err = envtest.InstallCRDs(l.Config, all)
	require.NoError(t, err)
	st.groupClass()
	l.Touch(l.policy) // it would look again in five minutes
	l.policyReady(metav1.ConditionTrue, kopiurv1.ReasonPolicyReady, "can be made")
	assert.Equal(t, metav1.ConditionTrue, policyCondition(l.policy, kopiurv1.ConditionGroupSnapshotSupported).Status)
	for _, s := range run {
		l.Touch(s) // it would look again in a minute
		l.snapshot = s
		l.succeeds()
	}
	assert.Equal(t, []cut{{name: "nightly-web", claims: []string{"data", "wal"}}}, st.made())
	l.groupless()
}
