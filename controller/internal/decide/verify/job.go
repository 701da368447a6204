// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"errors"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

const (
	// CheckContainer is the container of the user's program.
	CheckContainer = "check"
	// CheckDir is where it finds what was restored.
	CheckDir = "/scratch"
)

// Namespace is where the mover of a line runs. A quick verification reads nothing of the policy's own and runs at the
// repository's home. What a deep one restores is the policy's data, and its check the policy's program: they stay in the
// policy's namespace, where nobody gets to see more than before.
func Namespace(w World) string {
	if w.Tier == kopiurv1.VerificationQuick && w.Repository != nil {
		return w.Repository.HomeNamespace
	}
	return w.Policy.Namespace
}

// Build makes the Job of the turn that run pins.
func Build(w World, run kopiurv1.VerificationRun, image moverjob.Images, pull corev1.PullPolicy) (*batchv1.Job, error) {
	if w.Repository == nil {
		return nil, errors.New("build verification job: the repository does not exist")
	}
	r := moverjob.Request{
		Owner: w.Policy, GVK: kopiurv1.GroupVersion.WithKind("SnapshotPolicy"), Letter: letter, Attempt: attempt(run),
		Namespace: Namespace(w), Image: image, PullPolicy: pull, Repository: *w.Repository,
		Operation: work.Operation{Verify: operation(w)}, DefaultDeadlineSeconds: deadlineSeconds,
		Labels: map[string]string{
			kopiurv1.LabelVerify: kopiurv1.LabelValue(w.Policy.Name), kopiurv1.LabelVerifyRepository: kopiurv1.LabelValue(w.Ref.Name),
		},
	}
	if w.Tier == kopiurv1.VerificationDeep {
		// One attempt: each would have a volume of its own, and the next turn is an hour away.
		r.FailurePolicy = &kopiurv1.FailurePolicy{BackoffLimit: new(int32(0))}
		r.Layers = []*kopiurv1.MoverSpec{w.Policy.Spec.Mover}
		scratch, err := scratchOf(w)
		if err != nil {
			return nil, err
		}
		r.Scratch = scratch
	} else {
		owner := &metav1.PartialObjectMetadata{}
		owner.Name, owner.UID = w.Repository.Ref.Name, w.Repository.UID
		r.Owner, r.GVK, r.For = owner, kopiurv1.GroupVersion.WithKind(string(w.Repository.Ref.KindOrDefault())), w.Policy
	}
	job, err := moverjob.Build(r)
	if err != nil {
		return nil, fmt.Errorf("verify %s: %w", w.Ref, err)
	}
	if r.For != nil {
		// It does not go with the policy, so it goes by itself. A result that is lost for that is asked for again.
		job.Spec.TTLSecondsAfterFinished = new(moverjob.TTL(*w.Repository))
	}
	marks := map[string]string{kopiurv1.AnnotationVerifySlot: run.NextScheduledAt, kopiurv1.AnnotationVerifyPolicy: w.Policy.Namespace + "/" + w.Policy.Name}
	job.Annotations = marks
	job.Labels[kopiurv1.LabelComponent] = kopiurv1.ComponentVerify
	job.Spec.Template.Labels[kopiurv1.LabelComponent] = kopiurv1.ComponentVerify
	if HasCheck(w.Policy, w.Tier) {
		if err := addCheck(job, w.Policy); err != nil {
			return nil, err
		}
	}
	return job, nil
}

func operation(w World) *work.Verify {
	v := &work.Verify{}
	for _, id := range w.Identities {
		v.Identities = append(v.Identities, work.Identity{Username: id.Username, Hostname: id.Hostname, Path: id.SourcePath})
	}
	spec := w.Policy.Spec.Verification
	if w.Tier == kopiurv1.VerificationDeep {
		v.Deep = &work.DeepVerify{ScratchPath: work.ScratchDir, Parallel: int(spec.Deep.Parallel), Keep: spec.Deep.Check != nil}
		return v
	}
	q := spec.Quick
	v.Quick = &work.QuickVerify{
		FilesPercent: int64(spec.VerifyFilesPercent), Parallel: int(q.Parallel), FileParallelism: int(q.FileParallelism),
		FileQueueLength: int(q.FileQueueLength), MaxErrors: int(q.MaxErrors),
	}
	return v
}

// scratchOf is the volume that the policy asks for, else the one of the repository.
func scratchOf(w World) (*moverjob.Scratch, error) {
	d := w.Policy.Spec.Verification.Deep
	return ScratchOf(w.Repository, d.Capacity, d.StorageClassName)
}

// ScratchOf is a volume of a size and class, which are those of the repository where they are left out. Without a size it
// is a folder of the node.
func ScratchOf(repo *moverjob.Repository, size kopiurv1.Quantity, class string) (*moverjob.Scratch, error) {
	field := "verification.deep.capacity"
	if m := repo.Spec.MoverDefaults; m != nil && m.Scratch != nil {
		if size == "" {
			size, field = m.Scratch.Capacity, "moverDefaults.scratch.capacity"
		}
		if class == "" {
			class = m.Scratch.StorageClassName
		}
	}
	if size == "" {
		return &moverjob.Scratch{}, nil
	}
	q, err := size.Parse()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", field, err)
	}
	return &moverjob.Scratch{Size: &q, StorageClass: class}, nil
}

// ClassIgnored reports a storage class without a size: an emptyDir has none.
func ClassIgnored(p *kopiurv1.SnapshotPolicy, repositories []*moverjob.Repository) bool {
	v := p.Spec.Verification
	if v == nil || v.Deep == nil || v.Deep.StorageClassName == "" || v.Deep.Capacity != "" {
		return false
	}
	for _, r := range repositories {
		if r == nil || r.Spec.MoverDefaults != nil && r.Spec.MoverDefaults.Scratch != nil && r.Spec.MoverDefaults.Scratch.Capacity != "" {
			return false
		}
	}
	return len(repositories) > 0
}

// addCheck puts the user's program behind the mover: in the same pod, so that both see one volume on one node, and the
// volume goes with the pod whatever happens. The mover's Secrets are mounted into the mover alone. The program runs as the
// mover does unless it says otherwise, because the mover made the files, but without the mover's capabilities.
func addCheck(job *batchv1.Job, p *kopiurv1.SnapshotPolicy) error {
	c := p.Spec.Verification.Deep.Check
	pod := &job.Spec.Template.Spec
	mover := pod.Containers[0]
	check := corev1.Container{
		Name: CheckContainer, Image: c.Image, Command: c.Command, Args: c.Args,
		SecurityContext: moverjob.Behind(mover.SecurityContext, c.SecurityContext),
		VolumeMounts: []corev1.VolumeMount{
			{Name: moverjob.ScratchVolume, MountPath: CheckDir, SubPath: work.ScratchData, ReadOnly: true},
		},
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
	if c.Resources != nil {
		resources, err := c.Resources.Parse()
		if err != nil {
			return fmt.Errorf("verification.deep.check.resources.%w", err)
		}
		check.Resources = resources
	}
	pod.InitContainers, pod.Containers = []corev1.Container{mover}, []corev1.Container{check}
	// Whatever it says is its last word.
	job.Spec.PodFailurePolicy.Rules = append(job.Spec.PodFailurePolicy.Rules, batchv1.PodFailurePolicyRule{
		Action: batchv1.PodFailurePolicyActionFailJob,
		OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
			ContainerName: new(CheckContainer), Operator: batchv1.PodFailurePolicyOnExitCodesOpNotIn, Values: []int32{0},
		},
	})
	*job.Spec.ActiveDeadlineSeconds += int64((CheckTimeout(p) + moverjob.DefaultStartupDeadline) / time.Second)
	return nil
}
