// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package restore_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/decide/restore"
	"github.com/kopiur/kopiur/controller/internal/gates"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

var now = time.Date(2026, 3, 5, 9, 0, 0, 0, time.UTC)

func at(d time.Duration) string { return now.Add(d).Format(time.RFC3339) }

type change func(*restore.World)

// fromPolicy is a Restore of a policy's newest snapshot into a new claim, with all gates open and nothing done yet.
func fromPolicy(changes ...change) restore.World {
	w := restore.World{
		Restore: &kopiurv1.Restore{
			ObjectMeta: metav1.ObjectMeta{Name: "back", Namespace: "apps", UID: "uid-1", Generation: 1},
			Spec: kopiurv1.RestoreSpec{
				Source: kopiurv1.RestoreSource{FromPolicy: &kopiurv1.FromPolicy{Name: "db"}},
				Target: kopiurv1.RestoreTarget{PVC: &kopiurv1.TargetPVC{Name: "data-new", Capacity: "1Gi"}},
			},
		},
		Policy: &kopiurv1.SnapshotPolicy{
			ObjectMeta: metav1.ObjectMeta{Name: "db", Namespace: "apps"},
			Spec: kopiurv1.SnapshotPolicySpec{
				Repository: &kopiurv1.RepositoryRef{Name: "nas"},
				Sources:    []kopiurv1.Source{{PVC: &kopiurv1.LocalRef{Name: "data"}}},
			},
		},
		Repository: &moverjob.Repository{
			Ref: kopiurv1.RepositoryRef{Name: "nas", Kind: kopiurv1.KindRepository, Namespace: "apps"},
			Spec: kopiurv1.RepositorySpec{
				Encryption: kopiurv1.Encryption{PasswordSecretRef: kopiurv1.SecretKeyRef{Name: "password"}},
				Backend:    kopiurv1.Backend{S3: &kopiurv1.S3Backend{Bucket: "b"}},
			},
			Status: kopiurv1.RepositoryStatus{Phase: kopiurv1.RepositoryReady},
		},
		Credentials: gates.Credentials{Verdict: gates.Verdict{Open: true, Reason: kopiurv1.ReasonCredentialsFound}, Version: "1"},
		Volume:      gates.Verdict{Open: true},
		Outcome:     moverjob.Outcome{State: moverjob.Absent, Terminal: true},
		Image:       moverjob.Images{Mover: "mover:test"},
	}
	for _, c := range changes {
		c(&w)
	}
	return w
}

// fromIdentity is the same for what is filed under an identity, whoever made it.
func fromIdentity(changes ...change) restore.World {
	return fromPolicy(append([]change{func(w *restore.World) {
		w.Restore.Spec.Source = kopiurv1.RestoreSource{Identity: &kopiurv1.FromIdentity{Username: "db", Hostname: "apps", SourcePath: "/pvc/data"}}
		w.Restore.Spec.Repository = &kopiurv1.RepositoryRef{Name: "nas"}
		w.Policy = nil
	}}, changes...)...)
}

func identity(f func(*kopiurv1.FromIdentity)) change {
	return spec(func(s *kopiurv1.RestoreSpec) { f(s.Source.Identity) })
}

// fromSnapshot is the same for a Snapshot that succeeded.
func fromSnapshot(changes ...change) restore.World {
	return fromPolicy(append([]change{func(w *restore.World) {
		w.Restore.Spec.Source = kopiurv1.RestoreSource{SnapshotRef: &kopiurv1.ObjectRef{Name: "monday"}}
		w.Policy = nil
		w.Snapshot = &kopiurv1.Snapshot{
			ObjectMeta: metav1.ObjectMeta{Name: "monday", Namespace: "apps"},
			Status: kopiurv1.SnapshotStatus{
				Phase: kopiurv1.SnapshotSucceeded,
				Snapshot: &kopiurv1.StoredSnapshot{
					KopiaSnapshotID: "k1", Identity: kopiurv1.Identity{Username: "db", Hostname: "apps", SourcePath: "/pvc/data"},
				},
				Timing:   &kopiurv1.Timing{StartTime: "2026-03-02T02:00:00Z"},
				Resolved: &kopiurv1.SnapshotResolved{Repository: &kopiurv1.RepositoryRef{Name: "nas", Kind: kopiurv1.KindRepository, Namespace: "apps"}},
			},
		}
	}}, changes...)...)
}

func spec(f func(*kopiurv1.RestoreSpec)) change {
	return func(w *restore.World) { f(&w.Restore.Spec) }
}

func status(f func(*kopiurv1.RestoreStatus)) change {
	return func(w *restore.World) { f(&w.Restore.Status) }
}

func asOf(s string) change {
	return spec(func(s2 *kopiurv1.RestoreSpec) { s2.Source.FromPolicy.AsOf = s })
}

func onMissing(o kopiurv1.OnMissingSnapshot) change {
	return spec(func(s *kopiurv1.RestoreSpec) {
		if s.Policy == nil {
			s.Policy = &kopiurv1.RestorePolicy{}
		}
		s.Policy.OnMissingSnapshot = o
	})
}

func waitTimeout(d kopiurv1.Duration) change {
	return spec(func(s *kopiurv1.RestoreSpec) {
		if s.Policy == nil {
			s.Policy = &kopiurv1.RestorePolicy{}
		}
		s.Policy.WaitTimeout = d
	})
}

// asked gives the world the Job that it would start itself, in the given state. It stands for a resolve or a restore.
func outcome(o moverjob.Outcome) change {
	return func(w *restore.World) {
		started := restore.Decide(*w, now.Add(-time.Minute))
		if started.Job == nil {
			panic("the world starts no Job: " + started.Reason + ": " + started.Message)
		}
		conditions := w.Restore.Status.Conditions
		w.Restore.Status = started.Status
		w.Restore.Status.Conditions = conditions
		for _, c := range started.Conditions {
			put(&w.Restore.Status, metav1.Condition{Type: c.Type, Status: c.Status, Reason: c.Reason, Message: c.Message})
		}
		w.Job, w.Outcome = started.Job, o
		w.Job.Status.StartTime = &metav1.Time{Time: now.Add(-time.Minute)}
		if started.Claim != nil {
			w.Claim = started.Claim
		}
	}
}

func result(r work.Result) change {
	r.APIVersion, r.StartTime, r.EndTime = work.APIVersion, now.Add(-time.Minute), now.Add(-time.Second)
	return outcome(moverjob.Outcome{State: moverjob.Finished, Result: &r, Terminal: true})
}

func answer(a work.ResolveResult) change {
	return result(work.Result{Operation: "resolve", Code: work.CodeOK, Resolve: &a})
}

var (
	absent = answer(work.ResolveResult{Resolution: work.ResolutionAbsent})
	found  = answer(work.ResolveResult{Resolution: work.ResolutionFound, SnapshotID: "k9", StartTime: now.Add(-time.Hour)})
)

func failed(op string, c work.Code, message string) change {
	return result(work.Result{Operation: op, Code: c, Message: message})
}

func wrote(r work.RestoreResult) change {
	if r.SnapshotID == "" {
		r.SnapshotID = "k1"
	}
	return result(work.Result{Operation: "restore", Code: work.CodeOK, Restore: &r})
}

// put replaces a condition.
func put(s *kopiurv1.RestoreStatus, c metav1.Condition) {
	s.Conditions = append(slices.DeleteFunc(s.Conditions, func(old metav1.Condition) bool { return old.Type == c.Type }), c)
}

// then carries a plan over into the world, as if everything in it had been done and time had passed.
func then(w restore.World, p restore.Plan) restore.World {
	r := w.Restore.DeepCopy()
	before := r.Status.Conditions
	r.Status = p.Status
	r.Status.ObservedGeneration = r.Generation
	for _, c := range before {
		if p.Keep || slices.Contains(p.Carry, c.Type) {
			r.Status.Conditions = append(r.Status.Conditions, c)
		}
	}
	for _, c := range p.Conditions {
		put(&r.Status, metav1.Condition{Type: c.Type, Status: c.Status, Reason: c.Reason, Message: c.Message})
	}
	sum := map[restore.State]string{restore.Ready: kopiurv1.ConditionReady, restore.Stalled: kopiurv1.ConditionStalled, restore.Progressing: kopiurv1.ConditionReconciling}
	if !p.Keep {
		put(&r.Status, metav1.Condition{Type: sum[p.State], Status: metav1.ConditionTrue, Reason: p.Reason, Message: p.Message})
	}
	w.Restore = r
	if p.Claim != nil {
		w.Claim = p.Claim
	}
	if p.Job != nil {
		w.Job, w.Outcome = p.Job, moverjob.Outcome{State: moverjob.Waiting}
	}
	return w
}

func pinned(id string) change {
	return status(func(s *kopiurv1.RestoreStatus) {
		s.Resolved = &kopiurv1.RestoreResolved{
			Resolution: kopiurv1.ResolutionSnapshot, KopiaSnapshotID: id,
			Repository: &kopiurv1.RepositoryRef{Name: "nas", Kind: kopiurv1.KindRepository, Namespace: "apps"},
		}
	})
}

func claim(owner string, modes ...corev1.PersistentVolumeAccessMode) change {
	return func(w *restore.World) {
		w.Claim = &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: restore.TargetClaim(w.Restore), Namespace: "apps"}}
		w.Claim.Spec.AccessModes = modes
		if owner != "" {
			w.Claim.Labels = map[string]string{kopiurv1.LabelOwnerUID: owner}
		}
	}
}

func existing(w *restore.World) {
	w.Restore.Spec.Target = kopiurv1.RestoreTarget{PVCRef: &kopiurv1.TargetPVCRef{Name: "data"}}
}

func find(p restore.Plan, kind string) restore.Condition {
	for _, c := range p.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return restore.Condition{}
}

func workOf(j *batchv1.Job) work.Spec {
	for _, e := range j.Spec.Template.Spec.Containers[0].Env {
		if e.Name == work.EnvSpec {
			s, err := work.DecodeSpec(e.Value)
			if err != nil {
				panic(err)
			}
			return s
		}
	}
	panic("no work spec")
}

// assertSameStatus compares as the patcher does: the order of conditions is no difference.
func assertSameStatus(t *testing.T, want, got kopiurv1.RestoreStatus, why string) {
	t.Helper()
	assert.ElementsMatch(t, want.Conditions, got.Conditions, why)
	want.Conditions, got.Conditions = nil, nil
	assert.Equal(t, want, got, why)
}
