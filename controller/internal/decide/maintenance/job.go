// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"errors"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

// deadlineSeconds of a run where nobody says otherwise: a day.
const deadlineSeconds = int64(24 * time.Hour / time.Second)

// TurnOf is the turn whose outcome a Job still has to give: one that is due, or the one that the status names, though its
// schedule or its request was edited since.
func TurnOf(m *kopiurv1.Maintenance, job *batchv1.Job, now time.Time) (Turn, bool) {
	for _, t := range Turns(m, now) {
		if JobName(m, t) == job.Name {
			return t, true
		}
	}
	if m.Status.Job == nil || m.Status.Job.Name != job.Name {
		return Turn{}, false
	}
	t := Turn{Mode: kopiurv1.MaintenanceMode(job.Annotations[kopiurv1.AnnotationRunMode]), At: job.Annotations[kopiurv1.AnnotationMaintenanceSlot]}
	t.Manual = JobName(m, t) != job.Name
	return t, JobName(m, t) == job.Name
}

// Build makes the Job of a turn.
func Build(w World, t Turn, now time.Time, image moverjob.Images, pull corev1.PullPolicy) (*batchv1.Job, error) {
	if w.Repository == nil {
		return nil, errors.New("build maintenance job: the repository does not exist")
	}
	m := w.Maintenance
	r, err := rulesOf(w)
	if err != nil {
		return nil, err
	}
	repo := *w.Repository
	repo.Client.Username, repo.Client.Hostname = Client(*w.Repository, m.Spec.Ownership.Owner)
	job, err := moverjob.Build(moverjob.Request{
		Owner: m, GVK: kopiurv1.GroupVersion.WithKind("Maintenance"), Letter: letter, Attempt: t.Attempt(),
		Namespace: m.Namespace, Image: image, PullPolicy: pull, Repository: repo,
		Operation: work.Operation{Maintain: &work.Maintain{
			Mode: work.MaintenanceMode(t.Mode), Owner: Rule(*w.Repository, m.Spec.Ownership, m.Status.Ownership),
			FullIntervalSeconds: int64(r.full.Interval(now) / time.Second),
		}},
		Inherited: w.Inherited, CacheClaim: w.CacheClaim,
		Layers: []*kopiurv1.MoverSpec{m.Spec.Mover}, FailurePolicy: m.Spec.FailurePolicy, DefaultDeadlineSeconds: deadlineSeconds,
		Labels: map[string]string{kopiurv1.LabelMaintenance: kopiurv1.LabelValue(m.Name)},
	})
	if err != nil {
		return nil, fmt.Errorf("maintain %s: %w", w.Repository.Ref, err)
	}
	job.Annotations = map[string]string{kopiurv1.AnnotationMaintenanceSlot: t.At, kopiurv1.AnnotationRunMode: string(t.Mode)}
	job.Labels[kopiurv1.LabelComponent] = kopiurv1.ComponentMaintenance
	job.Spec.Template.Labels[kopiurv1.LabelComponent] = kopiurv1.ComponentMaintenance
	return job, nil
}
