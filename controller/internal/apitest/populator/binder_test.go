// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package populator_test

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

const selectedNode = "volume.kubernetes.io/selected-node"

// binder plays provisioner, volume controller and the protection of claims for the claims of one namespace: an API server
// alone binds nothing.
type binder struct {
	env   *testenv.Env
	class *storagev1.StorageClass
	// paused provisions nothing, unbinding binds nothing that was handed over.
	paused, unbinding atomic.Bool
}

func startBinder(env *testenv.Env, mode storagev1.VolumeBindingMode) *binder {
	env.T.Helper()
	b := &binder{env: env, class: &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: "class-" + env.Namespace}, Provisioner: "test.kopiur.test", VolumeBindingMode: &mode,
	}}
	require.NoError(env.T, env.Client.Create(env.T.Context(), b.class))
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
				if err := b.turn(ctx); err != nil && ctx.Err() == nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
					env.T.Errorf("play the volume controller: %v", err)
				}
			}
		}
	}()
	env.T.Cleanup(func() {
		cancel()
		<-done
		end, stop := context.WithTimeout(context.Background(), 10*time.Second)
		defer stop()
		_ = env.Client.Delete(end, b.class)
		for _, pv := range b.volumes(end) {
			_ = b.removeVolume(end, &pv)
		}
	})
	return b
}

func (b *binder) volumes(ctx context.Context) []corev1.PersistentVolume {
	var list corev1.PersistentVolumeList
	_ = b.env.Client.List(ctx, &list, client.MatchingLabels{testenv.LabelTest: b.env.Namespace})
	return list.Items
}

func (b *binder) turn(ctx context.Context) error {
	var claims corev1.PersistentVolumeClaimList
	if err := b.env.Client.List(ctx, &claims, client.InNamespace(b.env.Namespace)); err != nil {
		return err
	}
	volumes := b.volumes(ctx)
	var errs []error
	there := map[types.UID]bool{}
	for i := range claims.Items {
		c := &claims.Items[i]
		there[c.UID] = true
		errs = append(errs, b.claim(ctx, c, volumes))
	}
	for i := range volumes {
		pv := &volumes[i]
		// Deleted with its claim, unless it is to be kept.
		if !there[pv.Spec.ClaimRef.UID] && pv.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete {
			errs = append(errs, b.removeVolume(ctx, pv))
		}
	}
	return errors.Join(errs...)
}

func (b *binder) claim(ctx context.Context, c *corev1.PersistentVolumeClaim, volumes []corev1.PersistentVolume) error {
	ours := c.Labels[kopiurv1.LabelOperation] == kopiurv1.OperationRestorePopulate
	switch {
	case c.DeletionTimestamp != nil:
		return b.patch(ctx, c, func() { c.Finalizers = nil })
	case c.Spec.VolumeName != "":
		if c.Status.Phase == corev1.ClaimBound {
			return nil
		}
		base := c.DeepCopy()
		c.Status.Phase = corev1.ClaimBound
		return b.env.Client.Status().Patch(ctx, c, client.MergeFrom(base))
	}
	for i := range volumes {
		if volumes[i].Spec.ClaimRef.UID == c.UID && (ours || !b.unbinding.Load()) {
			return b.patch(ctx, c, func() { c.Spec.VolumeName = volumes[i].Name })
		}
	}
	late := *b.class.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer && c.Annotations[selectedNode] == ""
	if !ours || late || b.paused.Load() {
		return nil
	}
	pv := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "pv-" + string(c.UID), Labels: map[string]string{testenv.LabelTest: b.env.Namespace}},
		Spec: corev1.PersistentVolumeSpec{
			AccessModes: c.Spec.AccessModes, Capacity: c.Spec.Resources.Requests, StorageClassName: b.class.Name,
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
			PersistentVolumeSource:        corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/nowhere"}},
			ClaimRef:                      &corev1.ObjectReference{APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: c.Namespace, Name: c.Name, UID: c.UID, ResourceVersion: c.ResourceVersion},
		},
	}
	if err := b.env.Client.Create(ctx, pv); !apierrors.IsAlreadyExists(err) {
		return err
	}
	return nil
}

func (b *binder) patch(ctx context.Context, obj client.Object, change func()) error {
	base := obj.DeepCopyObject().(client.Object) //nolint:forcetypeassert // a copy has the type of its original
	change()
	return b.env.Client.Patch(ctx, obj, client.MergeFrom(base))
}

func (b *binder) removeVolume(ctx context.Context, pv *corev1.PersistentVolume) error {
	if err := b.env.Client.Delete(ctx, pv); err != nil {
		return client.IgnoreNotFound(err)
	}
	return client.IgnoreNotFound(b.patch(ctx, pv, func() { pv.Finalizers = nil }))
}
