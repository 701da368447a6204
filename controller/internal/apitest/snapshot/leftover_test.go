// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/leftover"
)

// E-2: the ConfigMaps of an earlier operator go, once they are days old. What a repository names, a pod mounts or somebody
// else made stays.
func TestLeftConfigMapsAreSweptE2(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	ours := map[string]string{kopiurv1.LabelManagedBy: kopiurv1.ManagedByValue}
	for name, labels := range map[string]map[string]string{
		"work-1": ours, "work-2": ours, "ca": ours, "mounted": ours, "in-a-variable": ours, "of-another": {kopiurv1.LabelManagedBy: "Helm"}, "unlabelled": nil,
	} {
		l.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Data: map[string]string{"a": "b"}})
	}
	l.repository.Spec.Backend.S3.TLS = &kopiurv1.S3TLS{CABundleRef: &kopiurv1.CABundleRef{ConfigMapName: "ca"}}
	user := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "user"}, Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: "c", Image: "i", EnvFrom: []corev1.EnvFromSource{{
			ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "in-a-variable"}},
		}}}},
		Volumes: []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{
			ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "mounted"}},
		}}},
	}}
	l.Create(l.password, l.repository, user)
	sweep := func(after time.Duration) int {
		s := &leftover.Sweeper{Client: l.Permitted(), Live: l.Permitted(), Clock: testclock.NewFakeClock(user.CreationTimestamp.Add(after)), Namespaces: []string{l.Namespace}}
		n, err := s.Sweep(t.Context())
		require.NoError(t, err)
		return n
	}
	assert.Zero(t, sweep(48*time.Hour), "an earlier operator may still be at work")
	assert.Equal(t, 2, sweep(96*time.Hour))
	assert.Zero(t, sweep(96*time.Hour))
	var list corev1.ConfigMapList
	require.NoError(t, l.Client.List(t.Context(), &list, client.InNamespace(l.Namespace)))
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	assert.Subset(t, names, []string{"ca", "mounted", "in-a-variable", "of-another", "unlabelled"})
	assert.NotContains(t, names, "work-1")
	assert.NotContains(t, names, "work-2")
}
