// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/decide/plan"
	"github.com/kopiur/kopiur/controller/internal/decide/staging"
	"github.com/kopiur/kopiur/controller/internal/gates"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

var now = time.Date(2026, 3, 5, 2, 0, 0, 0, time.UTC)

const driver = "csi.example.org"

// world is one in which a Direct backup may start, but for what change does.
func world(change ...func(*plan.World)) plan.World {
	s := &kopiurv1.Snapshot{ObjectMeta: metav1.ObjectMeta{Name: "one", Namespace: "apps", UID: "uid", Generation: 1}}
	s.Spec.PolicyRef = &kopiurv1.PolicyRef{Name: "web"}
	p := &kopiurv1.SnapshotPolicy{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "apps"}}
	p.Spec.Repository = &kopiurv1.RepositoryRef{Name: "nas"}
	p.Spec.Sources = []kopiurv1.Source{{PVC: &kopiurv1.LocalRef{Name: "data"}}}
	p.Spec.CopyMethod = kopiurv1.CopyDirect
	repo := moverjob.Repository{
		Ref: kopiurv1.RepositoryRef{Name: "nas", Kind: kopiurv1.KindRepository, Namespace: "apps"},
		Spec: kopiurv1.RepositorySpec{
			Backend:    kopiurv1.Backend{S3: &kopiurv1.S3Backend{Bucket: "b"}},
			Encryption: kopiurv1.Encryption{PasswordSecretRef: kopiurv1.SecretKeyRef{Name: "password"}},
			// Its own tests turn it on.
			MoverDefaults: &kopiurv1.MoverDefaults{SourceColocation: &kopiurv1.SourceColocation{Mode: kopiurv1.ColocationDisabled}},
		},
	}
	repo.Status.Phase = kopiurv1.RepositoryReady
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data", Namespace: "apps"}}
	claim.Spec.StorageClassName = new("fast")
	claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	w := plan.World{
		Snapshot: s, Policy: p, Repository: &repo, Source: claim, Image: moverjob.Images{Mover: "mover:test"},
		Credentials: gates.Verdict{Open: true, Reason: kopiurv1.ReasonCredentialsFound}, RepositoryVolume: gates.Verdict{Open: true},
	}
	for _, f := range change {
		f(&w)
	}
	return w
}

// copying is a policy that copies, in a cluster that can, with everything looked up.
func copying(w *plan.World) {
	w.Policy.Spec.CopyMethod = kopiurv1.CopySnapshot
	w.Asked |= plan.AskVolume | plan.AskVolumeSnapshot | plan.AskClaimEvent
	w.Volume = staging.Input{
		SnapshotAPI:     true,
		SnapshotClasses: []staging.SnapshotClass{{Name: "snaps", Driver: driver}},
		SourceClass:     &staging.StorageClass{Name: "fast", Driver: driver},
		StagedClass:     &staging.StorageClass{Name: "fast", Driver: driver},
		Volume: &corev1.PersistentVolume{Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: corev1.PersistentVolumeSource{
			CSI: &corev1.CSIPersistentVolumeSource{Driver: driver},
		}}},
	}
}

// begun is a copy whose intent is stored.
func begun(change ...func(*kopiurv1.Staged)) func(*plan.World) {
	return func(w *plan.World) {
		copying(w)
		w.Snapshot.Status.Staged = &kopiurv1.Staged{
			CopyMethod: kopiurv1.CopySnapshot, VolumeSnapshotName: "one-snap", PVCName: "one-src", StorageClassName: "fast", StagingTimeoutSeconds: 600,
		}
		for _, f := range change {
			f(w.Snapshot.Status.Staged)
		}
	}
}

func cut(isReady bool, age time.Duration) func(*plan.World) {
	return func(w *plan.World) {
		w.VolumeSnapshot = &staging.Snapshot{Name: "one-snap", UID: "vs", Owner: "uid", Ready: isReady, Created: now.Add(-age)}
	}
}

func copied(phase corev1.PersistentVolumeClaimPhase, age time.Duration) func(*plan.World) {
	return func(w *plan.World) {
		w.StagedClaim = &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
			Name: "one-src", CreationTimestamp: metav1.NewTime(now.Add(-age)),
			OwnerReferences: []metav1.OwnerReference{{UID: "uid", Controller: new(true)}},
		}}
		w.StagedClaim.Status.Phase = phase
	}
}

// job puts the Job of an attempt there; started also says so in the status.
func job(attempt int32, age time.Duration) func(*plan.World) {
	return func(w *plan.World) {
		w.Job = &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
			Name: plan.JobName(w.Snapshot, attempt), Namespace: "apps", UID: "job", CreationTimestamp: metav1.NewTime(now.Add(-age)),
		}}
		w.Job.Status.StartTime = new(metav1.NewTime(now.Add(-age)))
	}
}

func told(attempt int32) func(*plan.World) {
	return func(w *plan.World) {
		w.Snapshot.Status.Job = &kopiurv1.JobStatus{Name: plan.JobName(w.Snapshot, attempt), Attempts: attempt}
		w.Snapshot.Status.Phase = kopiurv1.SnapshotRunning
	}
}

func ended(kinds ...batchv1.JobConditionType) func(*plan.World) {
	return func(w *plan.World) {
		for _, k := range kinds {
			w.Job.Status.Conditions = append(w.Job.Status.Conditions, batchv1.JobCondition{Type: k, Status: corev1.ConditionTrue})
		}
	}
}

func pod(phase corev1.PodPhase, state corev1.ContainerState) func(*plan.World) {
	return func(w *plan.World) {
		p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pod", CreationTimestamp: w.Job.CreationTimestamp}}
		p.Status.Phase = phase
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: moverjob.Container, State: state}}
		w.Pods = append(w.Pods, p)
	}
}

func running(w *plan.World) {
	pod(corev1.PodRunning, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})(w)
}

func pending(w *plan.World) {
	pod(corev1.PodPending, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}})(w)
}

func reported(r work.Result) func(*plan.World) {
	text, err := work.EncodeResult(r)
	if err != nil {
		panic(err)
	}
	return pod(corev1.PodSucceeded, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: int32(r.Code.ExitCode()), Message: string(text),
	}})
}

func ok() work.Result {
	return work.Result{Operation: "snapshot", Code: work.CodeOK, Snapshot: &work.SnapshotResult{SnapshotID: "k1"}}
}

func recorded(phase kopiurv1.SnapshotPhase) func(*plan.World) {
	return func(w *plan.World) { w.Snapshot.Status.Phase, w.Snapshot.Status.ObservedGeneration = phase, 1 }
}

func failedIn(op string) func(*plan.World) {
	return func(w *plan.World) {
		recorded(kopiurv1.SnapshotFailed)(w)
		w.Snapshot.Status.Failure = &kopiurv1.Failure{KopiaErrorClass: "x", Op: op}
	}
}

func changed(w *plan.World) { w.Snapshot.Generation = 2 }

func was(kind string, age time.Duration) func(*plan.World) {
	return func(w *plan.World) {
		w.Snapshot.Status.Conditions = []metav1.Condition{{Type: kind, Status: metav1.ConditionFalse, LastTransitionTime: metav1.NewTime(now.Add(-age))}}
	}
}

// several makes the policy one of two repositories.
func several(w *plan.World) {
	w.Policy.Spec.Repository, w.Policy.Spec.Repositories = nil, []kopiurv1.RepositoryRef{{Name: "nas"}, {Name: "offsite"}}
}

// selecting makes the policy one that selects the claim, which the Snapshot names.
func selecting(w *plan.World) {
	w.Policy.Spec.Sources = []kopiurv1.Source{{PVCSelector: &kopiurv1.PVCSelector{LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"backup": "yes"}}}}}
	w.Source.Labels = map[string]string{"backup": "yes"}
	w.Snapshot.Spec.Source = &kopiurv1.SnapshotSource{Target: &kopiurv1.SnapshotTarget{PVC: kopiurv1.NamespacedRef{Name: "data", Namespace: "apps"}}}
}

// specOf is what the mover of a Job is told.
func specOf(t *testing.T, job *batchv1.Job) work.Spec {
	t.Helper()
	require.NotNil(t, job)
	for _, e := range job.Spec.Template.Spec.Containers[0].Env {
		if e.Name == work.EnvSpec {
			spec, err := work.DecodeSpec(e.Value)
			require.NoError(t, err)
			return spec
		}
	}
	require.Fail(t, "the Job has no work spec")
	return work.Spec{}
}

// blocks makes the claim one without a file system.
func blocks(w *plan.World) { w.Source.Spec.VolumeMode = new(corev1.PersistentVolumeBlock) }

// published attaches the claim so that it could be written to.
func published(w *plan.World) {
	src := &w.Policy.Spec.Sources[0]
	src.PVCPublicationReadOnly, src.AcknowledgeReadWritePublication = new(false), true
}

// exported makes the source an NFS export.
func exported(w *plan.World) {
	w.Policy.Spec.Sources = []kopiurv1.Source{{NFS: &kopiurv1.NFSVolume{Server: "nas.local", Path: "/volume1/photos"}}}
	w.Source = nil
}

// streaming makes the source the output of a command in a pod that runs, in a namespace that allows it.
func streaming(w *plan.World) {
	w.Policy.Spec.CopyMethod = kopiurv1.CopySnapshot
	w.Policy.Spec.Sources = []kopiurv1.Source{{Stream: &kopiurv1.StreamSource{FileName: "shop.dump", WorkloadExec: kopiurv1.WorkloadExec{
		PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}, Command: []string{"pg_dump", "shop"},
	}}}}
	w.Source, w.Image.Stream = nil, "controller:test"
	w.Asked |= plan.AskPods | plan.AskNamespace
	w.Neighbours = []corev1.Pod{
		{ObjectMeta: metav1.ObjectMeta{Name: "db-0", Labels: map[string]string{"app": "db"}}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "db"}}}, Status: corev1.PodStatus{Phase: corev1.PodRunning}},
		{ObjectMeta: metav1.ObjectMeta{Name: "db-old", Labels: map[string]string{"app": "db"}}, Status: corev1.PodStatus{Phase: corev1.PodSucceeded}},
		{ObjectMeta: metav1.ObjectMeta{Name: "web-0", Labels: map[string]string{"app": "web"}}, Status: corev1.PodStatus{Phase: corev1.PodRunning}},
	}
	w.Namespace = &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "apps", Annotations: map[string]string{kopiurv1.AnnotationStreamExecMovers: "true"}}}
}
