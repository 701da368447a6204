// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/decide/deletion"
	"github.com/kopiur/kopiur/controller/internal/deps"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

const (
	// letter starts the names of these Jobs; the rest is the repository's name and a hash of the set of members.
	letter = "snapdel"
	// deadline of one Job: 200 look-ups and one write.
	deadline = int64(time.Hour / time.Second)
)

// Member is what the annotation of a Job says of one Snapshot. It is the record of what was deleted for whom.
type Member struct {
	Namespace  string    `json:"namespace"`
	Name       string    `json:"name"`
	UID        types.UID `json:"uid"`
	SnapshotID string    `json:"snapshotID,omitempty"`
}

// Members of a Job, in the order of its work. Nothing can be said of a Job whose annotation was changed.
func Members(job *batchv1.Job) []Member {
	var out []Member
	if err := json.Unmarshal([]byte(job.Annotations[kopiurv1.AnnotationDeleteMembers]), &out); err != nil {
		return nil
	}
	return out
}

// build makes the Job that deletes the data of these Snapshots.
func build(d deps.Deps, repo moverjob.Repository, snapshots []kopiurv1.Snapshot) (*batchv1.Job, error) {
	keys := make([]work.SnapshotKey, len(snapshots))
	members := make([]Member, len(snapshots))
	set := make([]deletion.Candidate, len(snapshots))
	for i := range snapshots {
		s := &snapshots[i]
		keys[i] = deletion.KeyOf(s)
		set[i] = deletion.CandidateOf(s)
		members[i] = Member{Namespace: s.Namespace, Name: s.Name, UID: s.UID, SnapshotID: keys[i].SnapshotID}
	}
	owner := &metav1.PartialObjectMetadata{}
	owner.Name, owner.UID = repo.Ref.Name, repo.UID
	job, err := moverjob.Build(moverjob.Request{
		Owner: owner, GVK: kopiurv1.GroupVersion.WithKind(string(repo.Ref.KindOrDefault())), Letter: letter,
		Attempt: deletion.SetName(set), Namespace: repo.HomeNamespace, Image: d.MoverImage, PullPolicy: d.PullPolicy,
		Repository: repo, Operation: work.Operation{Delete: work.NewDelete(keys)}, DefaultDeadlineSeconds: deadline,
	})
	if err != nil {
		return nil, fmt.Errorf("delete from %s: %w", repo.Ref, err)
	}
	list, err := json.Marshal(members)
	if err != nil {
		return nil, fmt.Errorf("delete from %s: name the members: %w", repo.Ref, err)
	}
	job.Annotations = map[string]string{kopiurv1.AnnotationDeleteMembers: string(list)}
	job.Labels[kopiurv1.LabelOperation] = kopiurv1.OperationSnapshotDelete
	job.Spec.Template.Labels[kopiurv1.LabelOperation] = kopiurv1.OperationSnapshotDelete
	return job, nil
}

// buildFitting takes fewer Snapshots where their names do not fit into one work spec. The rest goes with the next Job.
func buildFitting(d deps.Deps, repo moverjob.Repository, snapshots []kopiurv1.Snapshot) (*batchv1.Job, error) {
	for {
		job, err := build(d, repo, snapshots)
		if !errors.Is(err, work.ErrTooLarge) || len(snapshots) < 2 {
			return job, err
		}
		snapshots = snapshots[:len(snapshots)/2]
	}
}

// ours selects the Jobs that delete from a repository.
func ours(repo types.UID) client.MatchingLabels {
	return client.MatchingLabels{
		kopiurv1.LabelManagedBy: kopiurv1.ManagedByValue,
		kopiurv1.LabelOperation: kopiurv1.OperationSnapshotDelete,
		kopiurv1.LabelOwnerUID:  string(repo),
	}
}

// jobs that delete from a repository.
func jobs(ctx context.Context, c client.Reader, repo moverjob.Repository) ([]batchv1.Job, error) {
	var list batchv1.JobList
	if err := c.List(ctx, &list, client.InNamespace(repo.HomeNamespace), ours(repo.UID)); err != nil {
		return nil, fmt.Errorf("list the jobs that delete from %s: %w", repo.Ref, err)
	}
	return list.Items, nil
}

// outcome of a Job by these of its pods.
func (o Observer) outcome(job *batchv1.Job, pods []corev1.Pod) moverjob.Outcome {
	return moverjob.Decide(job, pods, moverjob.DefaultStartupDeadline, o.ServerClock.Now())
}

// evidence is what a Snapshot goes by. One that has learnt how a Job ended asks nobody again.
func (o Observer) evidence(ctx context.Context, s *kopiurv1.Snapshot, job *batchv1.Job) ([]corev1.Pod, error) {
	if d := s.Status.Deletion; d != nil && d.JobUID == string(job.UID) {
		return moverjob.Pods(ctx, o.Client, job) //nolint:wrapcheck // says what it read
	}
	return moverjob.Evidence(ctx, o.Client, o.Deps.Live, job) //nolint:wrapcheck // says what it read
}

// Batch is the Job that deletes the data of a Snapshot, nil where there is none. Of several, which only a crash between
// two leaders can leave, it is one that is not recorded yet.
func (o Observer) Batch(ctx context.Context, repo moverjob.Repository, s *kopiurv1.Snapshot) (*deletion.Batch, error) {
	list, err := jobs(ctx, o.Client, repo)
	if err != nil {
		return nil, err
	}
	var best *deletion.Batch
	for i := range list {
		job := &list[i]
		if job.DeletionTimestamp != nil {
			continue
		}
		for n, m := range Members(job) {
			if m.UID != s.UID {
				continue
			}
			pods, err := o.evidence(ctx, s, job)
			if err != nil {
				return nil, err
			}
			b := &deletion.Batch{Name: job.Name, UID: job.UID, Index: n, Outcome: o.outcome(job, pods)}
			if d := s.Status.Deletion; best == nil || d != nil && d.JobUID == string(best.UID) {
				best = b
			}
		}
	}
	return best, nil
}
