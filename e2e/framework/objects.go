// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
)

// Password is the repository password of all specs. It must never appear in any output.
const Password = "correct-horse-battery-staple-7"

func meta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

// PasswordSecret holds the repository password.
func PasswordSecret(namespace, name, password string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: meta(namespace, name), StringData: map[string]string{work.DefaultPasswordKey: password}}
}

// Repository is a repository with its password in Secret "password".
func Repository(namespace, name string, backend kopiurv1.Backend) *kopiurv1.Repository {
	r := &kopiurv1.Repository{ObjectMeta: meta(namespace, name)}
	r.Spec.Backend = backend
	r.Spec.Encryption.PasswordSecretRef = kopiurv1.SecretKeyRef{Name: "password"}
	return r
}

// OnClaim is a filesystem backend on a claim.
func OnClaim(claim string) kopiurv1.Backend {
	return kopiurv1.Backend{Filesystem: &kopiurv1.FilesystemBackend{
		Path: "/repository", Volume: &kopiurv1.RepositoryVolume{PVC: &kopiurv1.LocalRef{Name: claim}},
	}}
}

// FilesystemRepository makes claim, Secret and Repository, and waits until it is ready.
func (e *Env) FilesystemRepository(t *testing.T, namespace string) *kopiurv1.Repository {
	t.Helper()
	r := Repository(namespace, "repo", OnClaim("repo"))
	e.Create(t, PVC(namespace, "repo", ClassImmediate, "2Gi"), PasswordSecret(namespace, "password", Password), r)
	e.WaitReady(t, r)
	return r
}

// Policy backs up one claim into repository "repo".
func Policy(namespace, name, claim string, method kopiurv1.CopyMethod) *kopiurv1.SnapshotPolicy {
	p := &kopiurv1.SnapshotPolicy{ObjectMeta: meta(namespace, name)}
	p.Spec.Repository = &kopiurv1.RepositoryRef{Name: "repo"}
	p.Spec.CopyMethod = method
	p.Spec.Sources = []kopiurv1.Source{{PVC: &kopiurv1.LocalRef{Name: claim}}}
	return p
}

// PrivilegedMover is a mover that reads or restores files of any owner.
func PrivilegedMover() *kopiurv1.MoverSpec { return &kopiurv1.MoverSpec{PrivilegedMode: new(true)} }

// UIDMover is a mover that runs as an ordinary user.
func UIDMover(uid int64) *kopiurv1.MoverSpec {
	return &kopiurv1.MoverSpec{SecurityContext: &corev1.SecurityContext{RunAsUser: &uid, RunAsGroup: &uid}}
}

// Snapshot is one backup by a policy.
func Snapshot(namespace, name, policy string) *kopiurv1.Snapshot {
	s := &kopiurv1.Snapshot{ObjectMeta: meta(namespace, name)}
	s.Spec.PolicyRef = &kopiurv1.PolicyRef{Name: policy}
	return s
}

// RestoreInto restores a Snapshot into a claim that exists.
func RestoreInto(namespace, name, snapshot, claim string) *kopiurv1.Restore {
	r := &kopiurv1.Restore{ObjectMeta: meta(namespace, name)}
	r.Spec.Source.SnapshotRef = &kopiurv1.ObjectRef{Name: snapshot}
	r.Spec.Target.PVCRef = &kopiurv1.TargetPVCRef{Name: claim}
	return r
}
