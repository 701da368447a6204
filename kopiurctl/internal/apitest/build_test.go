// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package apitest

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// Builders of what a namespace in use has.

func condition(kind string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: message, ObservedGeneration: 1,
		LastTransitionTime: metav1.Date(2026, 3, 5, 8, 0, 0, 0, standing{}.Now().Location()),
	}
}

func repositorySpec() kopiurv1.RepositorySpec {
	return kopiurv1.RepositorySpec{
		Backend: kopiurv1.Backend{Filesystem: &kopiurv1.FilesystemBackend{
			Path: "/repository", Volume: &kopiurv1.RepositoryVolume{PVC: &kopiurv1.LocalRef{Name: "backups"}},
		}},
		Encryption: kopiurv1.Encryption{PasswordSecretRef: kopiurv1.SecretKeyRef{Name: "password", Namespace: ""}},
	}
}

func repository(name string) *kopiurv1.Repository {
	return &kopiurv1.Repository{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: repositorySpec(),
		Status: kopiurv1.RepositoryStatus{
			Phase: kopiurv1.RepositoryReady, Backend: "filesystem", ObservedGeneration: 1,
			Conditions:   []metav1.Condition{condition(kopiurv1.ConditionReady, metav1.ConditionTrue, kopiurv1.ReasonReachable, "connected")},
			StorageStats: &kopiurv1.StorageStats{SnapshotCount: 12, TotalSizeBytes: 3 << 30, IndexBlobCount: 7},
			Health:       &kopiurv1.RepositoryHealth{LastHealthyAt: "2026-03-05T08:45:00Z"},
		},
	}
}

func claimSource(name string) kopiurv1.Source {
	return kopiurv1.Source{PVC: &kopiurv1.LocalRef{Name: name}}
}

func policy(name, repository string, sources ...kopiurv1.Source) *kopiurv1.SnapshotPolicy {
	if len(sources) == 0 {
		sources = []kopiurv1.Source{claimSource("data")}
	}
	return &kopiurv1.SnapshotPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: kopiurv1.SnapshotPolicySpec{
			Repository: &kopiurv1.RepositoryRef{Name: repository}, Sources: sources,
		},
		Status: kopiurv1.SnapshotPolicyStatus{
			Conditions: []metav1.Condition{condition(kopiurv1.ConditionReady, metav1.ConditionTrue, "Reconciled", "in effect")},
		},
	}
}

func snapshot(name, policy string) *kopiurv1.Snapshot {
	return &kopiurv1.Snapshot{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       kopiurv1.SnapshotSpec{PolicyRef: &kopiurv1.PolicyRef{Name: policy}},
	}
}

// succeeded gives a Snapshot the status of a backup that was made at a time.
func succeeded(s *kopiurv1.Snapshot, at string) *kopiurv1.Snapshot {
	s.Status.Phase = kopiurv1.SnapshotSucceeded
	s.Status.Origin = kopiurv1.OriginManual
	s.Status.ObservedGeneration = 1
	s.Status.Conditions = []metav1.Condition{condition(kopiurv1.ConditionReady, metav1.ConditionTrue, "Succeeded", "stored 1,204 files")}
	s.Status.Timing = &kopiurv1.Timing{StartTime: at, EndTime: at, DurationSeconds: 83}
	s.Status.Stats = &kopiurv1.SnapshotStats{SizeBytes: 1288490188, BytesNew: 52428800, BytesUploaded: 31457280, Files: 1204}
	s.Status.Snapshot = &kopiurv1.StoredSnapshot{
		KopiaSnapshotID: "k0123456789abcdef", Identity: kopiurv1.Identity{Username: "data", Hostname: "shop", SourcePath: "/pvc/data"},
	}
	return s
}

// failed gives a Snapshot the status of one whose mover found no way in.
func failed(s *kopiurv1.Snapshot) *kopiurv1.Snapshot {
	const message = "the repository refuses the password: correct key KOPIA_PASSWORD of Secret password"
	s.Status.Phase = kopiurv1.SnapshotFailed
	s.Status.Conditions = []metav1.Condition{condition(kopiurv1.ConditionReady, metav1.ConditionFalse, "AuthFailure", message)}
	s.Status.Failure = &kopiurv1.Failure{KopiaErrorClass: "AuthFailure", Message: message}
	s.Status.Timing = &kopiurv1.Timing{StartTime: "2026-03-05T08:30:00Z", EndTime: "2026-03-05T08:30:04Z", DurationSeconds: 4}
	return s
}

func claim(name string, labels map[string]string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
		// Nothing binds claims here.
		Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound},
	}
}
