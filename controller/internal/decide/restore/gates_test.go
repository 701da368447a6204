// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package restore_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/decide/restore"
	"github.com/kopiur/kopiur/controller/internal/gates"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

// TestGates holds what stands between a Restore and its first mover, in the order in which it is met.
func TestGates(t *testing.T) {
	t.Parallel()
	closed := func(reason, message string) gates.Verdict { return gates.Verdict{Reason: reason, Message: message} }
	for name, tc := range map[string]struct {
		world      restore.World
		wantState  restore.State
		wantPhase  kopiurv1.RestorePhase
		wantReason string
		wantFalse  string
		wantIn     string
	}{
		"a source that says nothing is refused": {
			fromPolicy(spec(func(s *kopiurv1.RestoreSpec) { s.Source = kopiurv1.RestoreSource{} })),
			restore.Stalled, kopiurv1.RestoreFailed, kopiurv1.ReasonInvalidSpec, "", "spec.source",
		},
		"a target that says nothing is refused": {
			fromPolicy(spec(func(s *kopiurv1.RestoreSpec) { s.Target = kopiurv1.RestoreTarget{} })),
			restore.Stalled, kopiurv1.RestoreFailed, kopiurv1.ReasonInvalidSpec, "", "spec.target",
		},
		"an identity does not say where it is": {
			fromIdentity(spec(func(s *kopiurv1.RestoreSpec) { s.Repository = nil })),
			restore.Stalled, kopiurv1.RestoreFailed, kopiurv1.ReasonInvalidSpec, "", "spec.repository",
		},
		"a repository of others is not read by naming it": {
			fromIdentity(func(w *restore.World) {
				w.Repository.Allowed = &kopiurv1.AllowedNamespaces{List: []string{"theirs"}}
			}),
			restore.Stalled, kopiurv1.RestoreFailed, kopiurv1.ReasonNamespaceNotAllowed, kopiurv1.ConditionRepositoryReady, "does not allow this namespace",
		},
		"a populator that copies a workload's user is refused": {
			fromPolicy(spec(func(s *kopiurv1.RestoreSpec) {
				s.Target = kopiurv1.RestoreTarget{Populator: &kopiurv1.PopulatorTarget{}}
				s.Mover = &kopiurv1.MoverSpec{InheritSecurityContextFrom: &kopiurv1.InheritSecurityContextFrom{WorkloadSelector: &kopiurv1.WorkloadSelector{}}}
			})),
			restore.Stalled, kopiurv1.RestoreFailed, kopiurv1.ReasonInvalidSpec, "", "inheritSecurityContextFrom",
		},
		"a claim of another namespace is refused": {
			fromPolicy(spec(func(s *kopiurv1.RestoreSpec) {
				s.Target = kopiurv1.RestoreTarget{PVCRef: &kopiurv1.TargetPVCRef{Name: "data", Namespace: "other"}}
			})),
			restore.Stalled, kopiurv1.RestoreFailed, kopiurv1.ReasonInvalidSpec, "", "target.pvcRef.namespace",
		},
		"a wait timeout in days is refused": {
			fromPolicy(waitTimeout("2d")),
			restore.Stalled, kopiurv1.RestoreFailed, kopiurv1.ReasonInvalidSpec, "", "policy.waitTimeout",
		},
		"a negative offset is refused": {
			fromPolicy(spec(func(s *kopiurv1.RestoreSpec) { s.Source.FromPolicy.Offset = -1 })),
			restore.Stalled, kopiurv1.RestoreFailed, kopiurv1.ReasonInvalidSpec, "", "offset",
		},
		"a claim of no size is refused": {
			fromPolicy(spec(func(s *kopiurv1.RestoreSpec) { s.Target.PVC.Capacity = "0" })),
			restore.Stalled, kopiurv1.RestoreFailed, kopiurv1.ReasonInvalidSpec, "", "target.pvc.capacity",
		},
		"a claim whose size was left out is refused": {
			fromPolicy(spec(func(s *kopiurv1.RestoreSpec) { s.Target.PVC.Capacity = "" })),
			restore.Stalled, kopiurv1.RestoreFailed, kopiurv1.ReasonInvalidSpec, "", "target.pvc.capacity",
		},
		"a claim whose size is no amount is refused": {
			fromPolicy(spec(func(s *kopiurv1.RestoreSpec) { s.Target.PVC.Capacity = "ten" })),
			restore.Stalled, kopiurv1.RestoreFailed, kopiurv1.ReasonInvalidSpec, "", "target.pvc.capacity",
		},
		"a claim that nobody may write is refused": {
			fromPolicy(spec(func(s *kopiurv1.RestoreSpec) {
				s.Target.PVC.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadOnlyMany}
			})),
			restore.Stalled, kopiurv1.RestoreFailed, kopiurv1.ReasonInvalidSpec, "", "accessModes",
		},
		"a policy that is missing is waited for": {
			fromPolicy(func(w *restore.World) { w.Policy = nil }),
			restore.Progressing, kopiurv1.RestorePending, kopiurv1.ReasonRestoreReferentMissing, kopiurv1.ConditionReferentAvailable, "SnapshotPolicy apps/db does not exist",
		},
		"a Snapshot that is missing is waited for, also where a missing snapshot fails": {
			fromSnapshot(onMissing(kopiurv1.OnMissingFail), func(w *restore.World) { w.Snapshot = nil }),
			restore.Progressing, kopiurv1.RestorePending, kopiurv1.ReasonRestoreReferentMissing, kopiurv1.ConditionReferentAvailable, "Snapshot apps/monday does not exist",
		},
		"a Snapshot that is missing is no absence to continue from": {
			fromSnapshot(onMissing(kopiurv1.OnMissingContinue), func(w *restore.World) { w.Snapshot = nil }),
			restore.Progressing, kopiurv1.RestorePending, kopiurv1.ReasonRestoreReferentMissing, kopiurv1.ConditionReferentAvailable, "",
		},
		"a repository that is missing is waited for": {
			fromPolicy(func(w *restore.World) { w.Repository = nil }),
			restore.Progressing, kopiurv1.RestorePending, kopiurv1.ReasonMissingDependency, kopiurv1.ConditionRepositoryReady, "Repository apps/nas does not exist",
		},
		"a repository that is not Ready is waited for": {
			fromPolicy(func(w *restore.World) { w.Repository.Status.Phase = kopiurv1.RepositoryDegraded }),
			restore.Progressing, kopiurv1.RestorePending, kopiurv1.ReasonRepositoryNotReady, kopiurv1.ConditionRepositoryReady, "Degraded",
		},
		"a cluster repository that does not allow the namespace refuses": {
			fromPolicy(func(w *restore.World) {
				w.Repository.Allowed = &kopiurv1.AllowedNamespaces{List: []string{"other"}}
			}),
			restore.Stalled, kopiurv1.RestoreFailed, kopiurv1.ReasonNamespaceNotAllowed, kopiurv1.ConditionRepositoryReady, "allowedNamespaces",
		},
		"a repository claim that is missing here is named": {
			fromPolicy(func(w *restore.World) {
				w.Volume = closed(kopiurv1.ReasonRepositoryVolumeNotReachable, "claim store")
			}),
			restore.Progressing, kopiurv1.RestorePending, kopiurv1.ReasonRepositoryVolumeNotReachable, kopiurv1.ConditionRepositoryReady, "claim store",
		},
		"a Secret that is missing is waited for": {
			fromPolicy(func(w *restore.World) {
				w.Credentials = gates.Credentials{Verdict: closed(kopiurv1.ReasonMissingCredentialsSecret, "Secret apps/password does not exist")}
			}),
			restore.Progressing, kopiurv1.RestorePending, kopiurv1.ReasonMissingCredentialsSecret, kopiurv1.ConditionCredentialsAvailable, "Secret apps/password",
		},
		"a foreign claim is refused": {
			fromSnapshot(claim("")),
			restore.Stalled, kopiurv1.RestoreFailed, kopiurv1.ReasonTargetPVCExists, kopiurv1.ConditionTargetAvailable, "it is not touched",
		},
		"a claim of another Restore is foreign": {
			fromSnapshot(claim("uid-2")),
			restore.Stalled, kopiurv1.RestoreFailed, kopiurv1.ReasonTargetPVCExists, kopiurv1.ConditionTargetAvailable, "",
		},
		"a claim to restore into that is missing is waited for": {
			fromSnapshot(existing),
			restore.Progressing, kopiurv1.RestorePending, kopiurv1.ReasonTargetPVCMissing, kopiurv1.ConditionTargetAvailable, "claim data does not exist",
		},
		"a claim that is being deleted is not written": {
			fromSnapshot(existing, claim(""), func(w *restore.World) { w.Claim.DeletionTimestamp = &metav1.Time{Time: now} }),
			restore.Progressing, kopiurv1.RestorePending, kopiurv1.ReasonTargetPVCMissing, kopiurv1.ConditionTargetAvailable, "being deleted",
		},
		"another Restore writes into the claim": {
			fromSnapshot(existing, claim(""), func(w *restore.World) { w.Writers = []string{"job v-other-1"} }),
			restore.Progressing, kopiurv1.RestorePending, kopiurv1.ReasonPVCInUse, kopiurv1.ConditionTargetAvailable, "by another Restore (job v-other-1)",
		},
		"a ReadWriteOncePod claim in use cannot be mounted": {
			fromSnapshot(existing, claim("", corev1.ReadWriteOncePod), func(w *restore.World) { w.Users = []string{"pod db-0"} }),
			restore.Progressing, kopiurv1.RestorePending, kopiurv1.ReasonPVCInUse, kopiurv1.ConditionTargetAvailable, "in use by pod db-0",
		},
		"a claim in use is not touched where the spec says so": {
			fromSnapshot(existing, spec(func(s *kopiurv1.RestoreSpec) { s.Target.PVCRef.IfInUse = kopiurv1.InUseRefuse }),
				claim("", corev1.ReadWriteOnce), func(w *restore.World) { w.Users = []string{"pod db-0"} }),
			restore.Progressing, kopiurv1.RestorePending, kopiurv1.ReasonPVCInUse, kopiurv1.ConditionTargetAvailable, "ifInUse is Refuse",
		},
		"a privileged mover needs the namespace's consent": {
			fromSnapshot(spec(func(s *kopiurv1.RestoreSpec) { s.Mover = &kopiurv1.MoverSpec{PrivilegedMode: new(true)} })),
			restore.Progressing, kopiurv1.RestorePending, kopiurv1.ReasonPrivilegedMoverNotPermitted, kopiurv1.ConditionMoverPermitted, "privileged-movers=true",
		},
		"a pod of an earlier attempt is waited for": {
			fromSnapshot(func(w *restore.World) { w.Strays = []string{"v-back-1"} }),
			restore.Progressing, kopiurv1.RestorePending, kopiurv1.ReasonMoverStarting, "", "pod v-back-1 of an earlier attempt",
		},
		"the repository's own claim is no target": {
			fromSnapshot(existing, claim(""), func(w *restore.World) {
				w.Repository.Spec.Backend = kopiurv1.Backend{Filesystem: &kopiurv1.FilesystemBackend{
					Path: "/repo", Volume: &kopiurv1.RepositoryVolume{PVC: &kopiurv1.LocalRef{Name: "data"}},
				}}
			}),
			restore.Stalled, kopiurv1.RestoreFailed, kopiurv1.ReasonInvalidSpec, "", "would overwrite the backups",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := restore.Decide(tc.world, now)
			assert.Equal(t, tc.wantReason, p.Reason, p.Message)
			assert.Equal(t, tc.wantState, p.State)
			assert.Equal(t, tc.wantPhase, p.Status.Phase)
			assert.Contains(t, p.Message, tc.wantIn)
			if tc.wantFalse != "" {
				assert.Equal(t, metav1.ConditionFalse, find(p, tc.wantFalse).Status, tc.wantFalse)
			}
			assert.Nil(t, p.Job)
			assert.Nil(t, p.Claim, "an empty claim that waits for its mover looks like a restored one")
			assert.Nil(t, p.Status.Failure, "no mover ran, so that it is looked at again at every turn")

			once := then(tc.world, p)
			twice := then(once, restore.Decide(once, now.Add(time.Hour)))
			assertSameStatus(t, once.Restore.Status, twice.Restore.Status, "an hour later nothing is written")
		})
	}
}

func TestSnapshotRef(t *testing.T) {
	t.Parallel()
	phase := func(p kopiurv1.SnapshotPhase) change {
		return func(w *restore.World) { w.Snapshot.Status.Phase, w.Snapshot.Status.Snapshot = p, nil }
	}
	failedWith := func(class string) change {
		return func(w *restore.World) {
			phase(kopiurv1.SnapshotFailed)(w)
			w.Snapshot.Status.Job = &kopiurv1.JobStatus{Name: "s-monday-1"}
			w.Snapshot.Status.Failure = &kopiurv1.Failure{KopiaErrorClass: class}
		}
	}
	for name, tc := range map[string]struct {
		world      restore.World
		wantReason string
		wantPin    kopiurv1.RestoreResolution
		wantIn     string
	}{
		"one that succeeded is restored":                     {fromSnapshot(), kopiurv1.ReasonMoverStarting, kopiurv1.ResolutionSnapshot, ""},
		"an incomplete one that is named is restored":        {fromSnapshot(func(w *restore.World) { w.Snapshot.Status.Phase = kopiurv1.SnapshotFailed }), kopiurv1.ReasonMoverStarting, kopiurv1.ResolutionSnapshot, ""},
		"one without a phase is waited for":                  {fromSnapshot(phase("")), kopiurv1.ReasonWaitingForSnapshot, "", "to finish"},
		"one that is pending is waited for":                  {fromSnapshot(phase(kopiurv1.SnapshotPending)), kopiurv1.ReasonWaitingForSnapshot, "", ""},
		"one that runs is waited for, whatever is missing":   {fromSnapshot(onMissing(kopiurv1.OnMissingContinue), phase(kopiurv1.SnapshotRunning)), kopiurv1.ReasonWaitingForSnapshot, "", ""},
		"one that failed and stored nothing fails":           {fromSnapshot(failedWith("AuthFailure")), kopiurv1.ReasonNoSnapshot, "", "stored nothing"},
		"the last word of a mover is no proof of an absence": {fromSnapshot(onMissing(kopiurv1.OnMissingContinue), failedWith("AuthFailure")), kopiurv1.ReasonNoSnapshot, "", "may have stored something"},
		"a store that did not answer proves none either":     {fromSnapshot(onMissing(kopiurv1.OnMissingContinue), failedWith("RepositoryUnavailable")), kopiurv1.ReasonNoSnapshot, "", "fromPolicy"},
		"one that failed before any mover stored nothing":    {fromSnapshot(onMissing(kopiurv1.OnMissingContinue), phase(kopiurv1.SnapshotFailed)), kopiurv1.ReasonNoSnapshotContinue, kopiurv1.ResolutionNoSnapshot, ""},
		"one whose mover was lost may have stored something": {fromSnapshot(onMissing(kopiurv1.OnMissingContinue), failedWith("Lost")), kopiurv1.ReasonNoSnapshot, "", "may have stored something"},
		"one whose mover was killed may have as well":        {fromSnapshot(onMissing(kopiurv1.OnMissingContinue), failedWith(kopiurv1.ReasonDeadlineKilled)), kopiurv1.ReasonNoSnapshot, "", "fromPolicy"},
		"one that is unchanged has its data in another":      {fromSnapshot(onMissing(kopiurv1.OnMissingContinue), phase(kopiurv1.SnapshotUnchanged)), kopiurv1.ReasonNoSnapshot, "", "equalled the snapshot before it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := restore.Decide(tc.world, now)
			assert.Equal(t, tc.wantReason, p.Reason, p.Message)
			assert.Contains(t, p.Message, tc.wantIn)
			var got kopiurv1.RestoreResolution
			if p.Status.Resolved != nil {
				got = p.Status.Resolved.Resolution
			}
			assert.Equal(t, tc.wantPin, got)
			if p.Status.Phase == kopiurv1.RestoreFailed {
				require.NotNil(t, p.Status.Failure)
				assert.True(t, restore.Holds(then(tc.world, p)), "a failure is final until something changes")
			}
		})
	}
	t.Run("waiting ends with the timeout, and is no absence even then", func(t *testing.T) {
		t.Parallel()
		w := fromSnapshot(waitTimeout("10m"), onMissing(kopiurv1.OnMissingContinue), phase(kopiurv1.SnapshotRunning))
		p := restore.Decide(w, now)
		assert.Equal(t, at(0), p.Status.WaitStartedAt)
		assert.Equal(t, 10*time.Minute, p.After)
		p = restore.Decide(then(w, p), now.Add(10*time.Minute))
		assert.Equal(t, kopiurv1.ReasonNoSnapshot, p.Reason)
		assert.Nil(t, p.Status.Resolved)
	})
	t.Run("spec.repository replaces the snapshot's own", func(t *testing.T) {
		t.Parallel()
		w := fromSnapshot(spec(func(s *kopiurv1.RestoreSpec) {
			s.Repository = &kopiurv1.RepositoryRef{Name: "mirror", Kind: kopiurv1.KindClusterRepository}
		}))
		assert.Equal(t, "ClusterRepository mirror", restore.RepositoryRef(w.Restore, w.Snapshot, nil).String())
		w.Restore.Spec.Repository = nil
		assert.Equal(t, "Repository apps/nas", restore.RepositoryRef(w.Restore, w.Snapshot, nil).String())
		w.Snapshot.Status.Resolved, w.Snapshot.Spec.Repository = nil, &kopiurv1.RepositoryRef{Name: "pinned"}
		assert.Equal(t, "Repository apps/pinned", restore.RepositoryRef(w.Restore, w.Snapshot, nil).String())
		w.Snapshot.Spec.Repository = nil
		assert.Nil(t, restore.RepositoryRef(w.Restore, w.Snapshot, nil))
		assert.Equal(t, kopiurv1.ReasonMissingDependency, restore.Decide(w, now).Reason)
	})
}

func TestPolicyOfSeveral(t *testing.T) {
	t.Parallel()
	t.Run("of several repositories only the user can choose", func(t *testing.T) {
		t.Parallel()
		w := fromPolicy()
		w.Policy.Spec.Repository, w.Policy.Spec.Repositories = nil, []kopiurv1.RepositoryRef{{Name: "nas"}, {Name: "offsite"}}
		w.Repository = nil
		assert.Nil(t, restore.RepositoryRef(w.Restore, nil, w.Policy))
		assert.Contains(t, restore.Decide(w, now).Message, "set spec.repository")
	})
	t.Run("of claims that a selector finds, too", func(t *testing.T) {
		t.Parallel()
		w := fromPolicy()
		w.Policy.Spec.Sources = append(w.Policy.Spec.Sources, kopiurv1.Source{PVCSelector: &kopiurv1.PVCSelector{}})
		assert.Equal(t, kopiurv1.ReasonSourcePathAmbiguous, restore.Decide(w, now).Reason)
	})
}

func TestTarget(t *testing.T) {
	t.Parallel()
	t.Run("a new claim is the user's from its first moment", func(t *testing.T) {
		t.Parallel()
		p := restore.Decide(fromSnapshot(spec(func(s *kopiurv1.RestoreSpec) { s.Target.PVC.StorageClassName = "fast" })), now)
		require.NotNil(t, p.Claim)
		require.NotNil(t, p.Job, "a claim that waits for its first consumer is bound by the mover's pod")
		assert.Empty(t, p.Claim.OwnerReferences, "deleting the Restore must not delete the data (K-7)")
		assert.Equal(t, map[string]string{
			kopiurv1.LabelManagedBy: "kopiur", kopiurv1.LabelOperation: "restore-target", kopiurv1.LabelOwnerUID: "uid-1",
		}, p.Claim.Labels)
		assert.Equal(t, []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, p.Claim.Spec.AccessModes)
		assert.Equal(t, "fast", *p.Claim.Spec.StorageClassName)
		assert.Equal(t, resource.MustParse("1Gi"), p.Claim.Spec.Resources.Requests[corev1.ResourceStorage])
	})
	t.Run("a claim that we made before we were killed is gone on with", func(t *testing.T) {
		t.Parallel()
		p := restore.Decide(fromSnapshot(claim("uid-1")), now)
		assert.Nil(t, p.Claim)
		assert.NotNil(t, p.Job)
	})
	t.Run("a projection of credentials that is switched off asks for nothing", func(t *testing.T) {
		t.Parallel()
		p := restore.Decide(fromSnapshot(spec(func(s *kopiurv1.RestoreSpec) { s.CredentialProjection = &kopiurv1.CredentialProjection{} })), now)
		assert.NotNil(t, p.Job)
	})
	t.Run("a part of the snapshot is restored, and not all of it", func(t *testing.T) {
		t.Parallel()
		p := restore.Decide(fromSnapshot(spec(func(s *kopiurv1.RestoreSpec) { s.SubPath = "etc/app.conf" })), now)
		require.NotNil(t, p.Job)
		assert.Equal(t, "etc/app.conf", workOf(p.Job).Operation.Restore.SubPath)
	})
	t.Run("a claim in use is restored into, and its pod named", func(t *testing.T) {
		t.Parallel()
		p := restore.Decide(fromSnapshot(existing, claim("", corev1.ReadWriteOnce), func(w *restore.World) { w.Users = []string{"pod db-0"} }), now)
		require.NotNil(t, p.Job)
		c := find(p, kopiurv1.ConditionTargetAvailable)
		assert.Equal(t, metav1.ConditionTrue, c.Status)
		assert.Equal(t, kopiurv1.ReasonTargetInUse, c.Reason)
		assert.Contains(t, c.Message, "pod db-0")
	})
	t.Run("without data to write, nobody is in the way", func(t *testing.T) {
		t.Parallel()
		w := fromSnapshot(existing, claim("", corev1.ReadWriteOncePod), pinned(""), status(func(s *kopiurv1.RestoreStatus) { s.Resolved.Resolution = kopiurv1.ResolutionNoSnapshot }))
		w.Users = []string{"pod db-0"}
		p := restore.Decide(w, now)
		assert.Equal(t, kopiurv1.RestoreCompleted, p.Status.Phase)
		assert.Nil(t, p.Job)
	})
	t.Run("the mover mounts the target and nothing else of the user", func(t *testing.T) {
		t.Parallel()
		p := restore.Decide(fromSnapshot(existing, claim("", corev1.ReadWriteOnce)), now)
		require.NotNil(t, p.Job)
		assert.Equal(t, work.TargetDir, workOf(p.Job).Operation.Restore.TargetPath)
		var claims []string
		for _, v := range p.Job.Spec.Template.Spec.Volumes {
			if v.PersistentVolumeClaim != nil {
				claims = append(claims, v.PersistentVolumeClaim.ClaimName)
			}
		}
		assert.Equal(t, []string{"data"}, claims)
		assert.Empty(t, moverjob.Privileges(p.Job.Spec.Template.Spec))
	})
}
