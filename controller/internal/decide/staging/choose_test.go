// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package staging_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/staging"
)

const driver = "ebs.csi.example.org"

func source() *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "data", Namespace: "apps"},
		Spec:       corev1.PersistentVolumeClaimSpec{StorageClassName: new("fast"), AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}},
	}
}

// bound is a claim on a CSI volume in a cluster that can do everything.
func bound(change ...func(*staging.Input)) staging.Input {
	in := staging.Input{
		Method: kopiurv1.CopySnapshot, Claim: source(), SnapshotAPI: true,
		Volume: &corev1.PersistentVolume{Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: corev1.PersistentVolumeSource{
			CSI: &corev1.CSIPersistentVolumeSource{Driver: driver},
		}}},
		SourceClass:     &staging.StorageClass{Name: "fast", Driver: driver},
		StagedClass:     &staging.StorageClass{Name: "fast", Driver: driver},
		SnapshotClasses: []staging.SnapshotClass{{Name: "snaps", Driver: driver}, {Name: "other", Driver: "nfs.csi.example.org", Default: true}},
	}
	for _, f := range change {
		f(&in)
	}
	return in
}

func TestChoose(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		in   staging.Input
		want staging.Choice
	}{
		"the only class of the driver is taken, a default of another driver is not": {
			bound(), staging.Choice{Method: kopiurv1.CopySnapshot, SnapshotClass: "snaps", StorageClass: "fast", AccessModes: source().Spec.AccessModes},
		},
		"the driver's default wins over its others": {
			bound(func(in *staging.Input) {
				in.SnapshotClasses = append(in.SnapshotClasses, staging.SnapshotClass{Name: "daily", Driver: driver, Default: true})
			}),
			staging.Choice{Method: kopiurv1.CopySnapshot, SnapshotClass: "daily", StorageClass: "fast", AccessModes: source().Spec.AccessModes},
		},
		"a class that is named wins over the default": {
			bound(func(in *staging.Input) {
				in.SnapshotClasses = append(in.SnapshotClasses, staging.SnapshotClass{Name: "daily", Driver: driver, Default: true})
				in.SnapshotClassName = "snaps"
			}),
			staging.Choice{Method: kopiurv1.CopySnapshot, SnapshotClass: "snaps", StorageClass: "fast", AccessModes: source().Spec.AccessModes},
		},
		"a clone needs neither the snapshot API nor its classes": {
			bound(func(in *staging.Input) {
				in.Method, in.SnapshotAPI, in.SnapshotClasses = kopiurv1.CopyClone, false, nil
			}),
			staging.Choice{Method: kopiurv1.CopyClone, StorageClass: "fast", AccessModes: source().Spec.AccessModes},
		},
		"in a group the class is the group's": {
			bound(func(in *staging.Input) { in.Grouped, in.SnapshotClasses = true, nil }),
			staging.Choice{Method: kopiurv1.CopySnapshot, StorageClass: "fast", AccessModes: source().Spec.AccessModes},
		},
		"the policy may give the copy another class and other access modes": {
			bound(func(in *staging.Input) {
				in.Staging = &kopiurv1.Staging{StorageClassName: "shallow", AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadOnlyMany}}
				in.StagedClass = &staging.StorageClass{Name: "shallow", Driver: driver, WaitForFirstConsumer: true}
			}),
			staging.Choice{Method: kopiurv1.CopySnapshot, SnapshotClass: "snaps", StorageClass: "shallow", WaitForFirstConsumer: true, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadOnlyMany}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, refusal := staging.Choose(tc.in)
			require.Nil(t, refusal)
			assert.Equal(t, tc.want, got)
		})
	}
}

func TestChooseRefuses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(*staging.Input)
		reason string
		says   string
		// direct: the message points to copyMethod Direct.
		direct bool
	}{
		"a source that does not exist": {func(in *staging.Input) { in.Claim = nil }, kopiurv1.ReasonSourcePVCMissing, "does not exist", false},
		"a cluster without the snapshot API": {
			func(in *staging.Input) { in.SnapshotAPI = false }, kopiurv1.ReasonSnapshotStackMissing, "install the CSI snapshot CRDs", true,
		},
		"a volume that is not CSI": {
			func(in *staging.Input) { in.Volume.Spec.CSI = nil }, kopiurv1.ReasonSourceNotCSIProvisioned, "does not belong to a CSI driver", true,
		},
		"a claim that waits for its first pod": {
			func(in *staging.Input) {
				in.Volume, in.SourceClass = nil, &staging.StorageClass{Name: "lazy", WaitForFirstConsumer: true}
			}, kopiurv1.ReasonWaitingForVolumeSnapshot, "StorageClass lazy waits for the first pod", false,
		},
		"a claim that is not bound": {func(in *staging.Input) { in.Volume = nil }, kopiurv1.ReasonWaitingForVolumeSnapshot, "not bound to a volume yet", false},
		"no class of the driver": {
			func(in *staging.Input) { in.SnapshotClasses = in.SnapshotClasses[1:] }, kopiurv1.ReasonNoVolumeSnapshotClass, "no VolumeSnapshotClass belongs to driver " + driver, true,
		},
		"several classes and no default": {
			func(in *staging.Input) {
				in.SnapshotClasses = append(in.SnapshotClasses, staging.SnapshotClass{Name: "daily", Driver: driver})
			}, kopiurv1.ReasonNoVolumeSnapshotClass, "(there are: daily, snaps)", false,
		},
		"several defaults": {
			func(in *staging.Input) {
				in.SnapshotClasses = []staging.SnapshotClass{{Name: "b", Driver: driver, Default: true}, {Name: "a", Driver: driver, Default: true}}
			}, kopiurv1.ReasonNoVolumeSnapshotClass, "several default VolumeSnapshotClasses (there are: a, b)", false,
		},
		"a named class that does not exist": {
			func(in *staging.Input) { in.SnapshotClassName = "gone" }, kopiurv1.ReasonNoVolumeSnapshotClass, "VolumeSnapshotClass gone does not exist (there are: snaps)", true,
		},
		"a named class of another driver": {
			func(in *staging.Input) { in.SnapshotClassName = "other" }, kopiurv1.ReasonNoVolumeSnapshotClass, "belongs to driver nfs.csi.example.org", true,
		},
		"a staged class that does not exist": {
			func(in *staging.Input) {
				in.Staging, in.StagedClass = &kopiurv1.Staging{StorageClassName: "gone"}, nil
			}, kopiurv1.ReasonStagedClassNotFound, "StorageClass gone, named by staging.storageClassName", false,
		},
		"the source's own class is gone": {func(in *staging.Input) { in.StagedClass = nil }, kopiurv1.ReasonStagedClassNotFound, "does not exist any more", true},
		"a source without a class": {
			func(in *staging.Input) { in.Claim.Spec.StorageClassName, in.StagedClass = nil, nil }, kopiurv1.ReasonStagedClassNotFound, "no StorageClass to make its copy with", true,
		},
		"a staged class of another driver": {
			func(in *staging.Input) { in.StagedClass.Driver = "nfs" }, kopiurv1.ReasonStagedClassMismatch, "belongs to driver nfs", false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, refusal := staging.Choose(bound(tc.change))
			require.NotNil(t, refusal)
			assert.Equal(t, tc.reason, refusal.Reason)
			assert.Contains(t, refusal.Message, tc.says)
			if tc.direct {
				assert.Contains(t, refusal.Message, "copyMethod: Direct", "the way out is named")
			}
		})
	}
}

func TestABlankClassIsNoClass(t *testing.T) {
	t.Parallel()
	got, refusal := staging.Choose(bound(func(in *staging.Input) { in.SnapshotClassName = "" }))
	require.Nil(t, refusal)
	assert.Equal(t, "snaps", got.SnapshotClass)
}

func TestNames(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "one-src", staging.ClaimName("one"))
	assert.Equal(t, "one-snap", staging.SnapshotName("one"))
	long := "a-schedule-with-a-name-that-somebody-thought-about-for-a-long-time-20260305"
	for _, n := range []string{staging.ClaimName(long), staging.SnapshotName(long)} {
		assert.LessOrEqual(t, len(n), 63)
	}
	assert.NotEqual(t, staging.ClaimName(long), staging.ClaimName(long+"0"), "what begins alike stays apart")
}
