// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package specs

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/e2e/framework"
)

// trip is one way through backup and restore.
type trip struct {
	method kopiurv1.CopyMethod
	class  string
	// backend makes a place for the repository; a claim where it is nil.
	backend func(t *testing.T, e *framework.Env, namespace string) kopiurv1.Backend
	// newClaim restores into a claim that the Restore creates; else into the wiped original.
	newClaim bool
	// fromPolicy restores the policy's newest snapshot; else the named one.
	fromPolicy bool
}

// F-1, F-2, F-5: TestRestoreProvesBackup fills a volume as root with files of many owners, backs it up, wipes it, restores it and
// compares every byte, mode, owner, time and link target (B-1 for direct targets, A-1, K-2).
func TestRestoreProvesBackup(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]trip{
		"a CSI snapshot to a filesystem repository":              {method: kopiurv1.CopySnapshot, class: framework.ClassImmediate},
		"a CSI clone to a filesystem repository":                 {method: kopiurv1.CopyClone, class: framework.ClassImmediate},
		"the live volume to a filesystem repository":             {method: kopiurv1.CopyDirect, class: framework.ClassImmediate, newClaim: true},
		"a CSI snapshot to S3":                                   {method: kopiurv1.CopySnapshot, class: framework.ClassImmediate, backend: onS3, newClaim: true, fromPolicy: true},
		"the live volume to WebDAV":                              {method: kopiurv1.CopyDirect, class: framework.ClassImmediate, backend: onWebDAV},
		"the live volume to an SSH server":                       {method: kopiurv1.CopyDirect, class: framework.ClassImmediate, backend: onSFTP},
		"the live volume to a store behind rclone":               {method: kopiurv1.CopyDirect, class: framework.ClassImmediate, backend: onRclone},
		"a CSI snapshot of a volume that waits for its consumer": {method: kopiurv1.CopySnapshot, class: framework.ClassWFFC, newClaim: true},
		"a CSI clone of a volume that waits for its consumer":    {method: kopiurv1.CopyClone, class: framework.ClassWFFC, newClaim: true},
		"the live volume that has waited for its consumer":       {method: kopiurv1.CopyDirect, class: framework.ClassWFFC},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			roundTrip(t, framework.New(t), tc)
		})
	}
}

func onS3(t *testing.T, e *framework.Env, namespace string) kopiurv1.Backend {
	t.Helper()
	return framework.OnS3(e.S3Server(t, namespace), framework.Bucket)
}

func onWebDAV(t *testing.T, e *framework.Env, namespace string) kopiurv1.Backend {
	t.Helper()
	return e.WebDAV(t, namespace)
}

func onSFTP(t *testing.T, e *framework.Env, namespace string) kopiurv1.Backend {
	t.Helper()
	return e.SFTP(t, namespace)
}

func onRclone(t *testing.T, e *framework.Env, namespace string) kopiurv1.Backend {
	t.Helper()
	return e.Rclone(t, namespace)
}

func roundTrip(t *testing.T, e *framework.Env, tc trip) {
	t.Helper()
	ns := e.Namespace(t, framework.Privileged())
	e.Create(t, framework.PVC(ns, "data", tc.class, "1Gi"))
	e.RunApp(t, ns, "data", framework.AppOptions{}, "fill", "--seed", "7", "--files", "300", "/data")
	before := e.List(t, ns, "data")

	if tc.backend != nil {
		r := framework.Repository(ns, "repo", tc.backend(t, e, ns))
		e.Create(t, framework.PasswordSecret(ns, "password", framework.Password), r)
		e.WaitReady(t, r)
	} else {
		e.FilesystemRepository(t, ns)
	}
	p := framework.Policy(ns, "app", "data", tc.method)
	p.Spec.Mover = framework.PrivilegedMover()
	s := framework.Snapshot(ns, "one", "app")
	e.Create(t, p, s)
	e.WaitReady(t, s)
	require.Equal(t, kopiurv1.SnapshotSucceeded, s.Status.Phase)
	require.NotNil(t, s.Status.Snapshot)
	assert.NotEmpty(t, s.Status.Snapshot.KopiaSnapshotID)
	assert.Positive(t, s.Status.Stats.SizeBytes)
	if tc.method != kopiurv1.CopyDirect {
		e.WaitStagedGone(t, s)
	}

	e.RunApp(t, ns, "data", framework.AppOptions{}, "wipe", "/data")
	r := framework.RestoreInto(ns, "one", "one", "data")
	r.Spec.Mover = framework.PrivilegedMover()
	target := "data"
	if tc.newClaim {
		target = "restored"
		r.Spec.Target = kopiurv1.RestoreTarget{PVC: &kopiurv1.TargetPVC{Name: target, Capacity: "1Gi", StorageClassName: tc.class}}
	}
	if tc.fromPolicy {
		r.Spec.Source = kopiurv1.RestoreSource{FromPolicy: &kopiurv1.FromPolicy{Name: "app"}}
	}
	e.Create(t, r)
	e.WaitReady(t, r)
	require.Equal(t, kopiurv1.RestoreCompleted, r.Status.Phase)
	assert.Equal(t, s.Status.Snapshot.KopiaSnapshotID, r.Status.Resolved.KopiaSnapshotID)

	after := e.List(t, ns, target)
	assert.Equal(t, before, after, "every byte, mode, owner, time and link target")
}

// F-4: TestUnprivilegedMover backs up and restores files that an ordinary uid owns, in a namespace that consents to nothing.
func TestUnprivilegedMover(t *testing.T) {
	t.Parallel()
	e := framework.New(t)
	ns := e.Namespace(t, nil)
	uid := int64(1000)
	e.Create(t, framework.PVC(ns, "data", framework.ClassImmediate, "1Gi"))
	e.RunApp(t, ns, "data", framework.AppOptions{UID: &uid}, "fill", "--seed", "8", "--files", "200", "/data/mine")
	before := e.List(t, ns, "data")
	e.FilesystemRepository(t, ns)
	p := framework.Policy(ns, "app", "data", kopiurv1.CopySnapshot)
	p.Spec.Mover = framework.UIDMover(uid)
	s := framework.Snapshot(ns, "one", "app")
	e.Create(t, p, s)
	e.WaitReady(t, s)

	r := framework.RestoreInto(ns, "one", "one", "")
	r.Spec.Target = kopiurv1.RestoreTarget{PVC: &kopiurv1.TargetPVC{Name: "restored", Capacity: "1Gi", StorageClassName: framework.ClassImmediate}}
	r.Spec.Mover = framework.UIDMover(uid)
	e.Create(t, r)
	e.WaitReady(t, r)
	assert.Equal(t, framework.Contents(before), framework.Contents(e.List(t, ns, "restored")))
}
