// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshotreplication

import (
	"errors"
	"fmt"
	"reflect"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/kopiur/kopiur/apis/retention"
	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

const (
	// operation of the mover.
	operation = "migrate"
	// letter starts the names of its Jobs.
	letter = "c"
)

// Operation is what the Jobs are labelled with.
const Operation = operation

// deadlineSeconds is how long a part may take: the first run of a large repository takes days.
const deadlineSeconds = int64(7 * 24 * 3600)

// JobName of the present part of a run.
func JobName(o *kopiurv1.SnapshotReplication, t kopiurv1.SnapshotReplicationTurn) string {
	return moverjob.Name(letter, o.Name, o.UID, operation, attempt(t))
}

func attempt(t kopiurv1.SnapshotReplicationTurn) string {
	return fmt.Sprintf("%s/%s/%d/%d", t.Trigger, t.Slot, t.Attempt, t.Part)
}

// Build makes the Job of a part.
func Build(w World, t kopiurv1.SnapshotReplicationTurn) (*batchv1.Job, error) {
	if w.Source == nil || w.Destination == nil {
		return nil, errors.New("build replication job: a repository does not exist")
	}
	o := w.Replication
	m := &work.Migrate{Selection: Selection(o), ReportPresent: true, Cursor: work.Cursor(t.Cursor)}
	peer := &moverjob.Peer{Side: moverjob.Destination, Repository: *w.Destination}
	if s := o.Spec.Selection; s != nil {
		m.LatestOnly = s.LatestOnly
	}
	if p := o.Spec.Pruning; p != nil {
		m.Keep = retention.Keep(p.Retention)
	}
	if g := o.Spec.Migrate; g != nil {
		if g.Parallel != nil {
			m.Parallel = int(*g.Parallel)
		}
		m.Policies = work.MigratePolicies(g.Policies)
		if g.Throttle != nil {
			peer.OwnThrottle, peer.Throttle = g.Throttle.Source, g.Throttle.Destination
		}
	}
	job, err := moverjob.Build(moverjob.Request{
		Owner: o, GVK: kopiurv1.GroupVersion.WithKind("SnapshotReplication"), Letter: letter, Attempt: attempt(t), Namespace: o.Namespace,
		Image: w.Image, PullPolicy: w.PullPolicy, Repository: *w.Source, Peer: peer,
		Operation: work.Operation{Migrate: m}, Layers: []*kopiurv1.MoverSpec{o.Spec.Mover}, CacheClaim: w.CacheClaim, DefaultDeadlineSeconds: deadlineSeconds,
		Labels: map[string]string{kopiurv1.LabelReplication: kopiurv1.LabelValue(o.Name)},
	})
	if err != nil {
		return nil, fmt.Errorf("replicate snapshots: %w", err)
	}
	job.Annotations = map[string]string{kopiurv1.AnnotationReplicationSlot: t.Slot}
	job.Labels[kopiurv1.LabelComponent] = kopiurv1.ComponentReplication
	job.Spec.Template.Labels[kopiurv1.LabelComponent] = kopiurv1.ComponentReplication
	return job, nil
}

// Terms are what a Job copies, from where and to where; what it tells means nothing beyond them. They are nil for a Job
// that cannot be read.
type Terms struct {
	From, To  string
	Selection work.Selection
}

// TermsOf a Job.
func TermsOf(job *batchv1.Job) *Terms {
	spec := moverjob.Told(job)
	if spec == nil || spec.Operation.Migrate == nil {
		return nil
	}
	return &Terms{From: spec.Repository.Name, To: spec.Operation.Migrate.Destination.Name, Selection: spec.Operation.Migrate.Selection}
}

// edited reports whether the Job was made from another spec than that of now, or from nobody knows which.
func (d *decision) edited() bool {
	o := d.Replication
	now := &Terms{From: o.Spec.SourceRef.In(o.Namespace).String(), To: o.Spec.DestinationRef.In(o.Namespace).String(), Selection: Selection(o)}
	return !reflect.DeepEqual(TermsOf(d.Job), now)
}

// Selection is spec.selection as a mover is told it.
func Selection(o *kopiurv1.SnapshotReplication) work.Selection {
	var out work.Selection
	if o.Spec.Selection == nil || o.Spec.Selection.Identities == nil {
		return out
	}
	globs := func(in []kopiurv1.IdentityPattern) []work.IdentityGlob {
		var out []work.IdentityGlob
		for _, p := range in {
			out = append(out, work.IdentityGlob{Username: p.Username, Hostname: p.Hostname, SourcePath: p.SourcePath})
		}
		return out
	}
	ids := o.Spec.Selection.Identities
	return work.Selection{Include: globs(ids.Include), Exclude: globs(ids.Exclude)}
}

func selects(o *kopiurv1.SnapshotReplication) bool {
	s := Selection(o)
	return len(s.Include)+len(s.Exclude) > 0
}

// Prunes reports whether copies are to be deleted at all.
func Prunes(o *kopiurv1.SnapshotReplication) bool {
	p := o.Spec.Pruning
	return p != nil && (p.MirrorSource != nil || p.Retention != nil)
}
