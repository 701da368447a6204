// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package replication

import (
	"cmp"
	"errors"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

// Replica is the copy as a repository: the source in another place, which nobody writes to. Its Secrets lie in the
// replication's namespace, as the source's have to where its mover runs.
func Replica(o *kopiurv1.RepositoryReplication, source moverjob.Repository) moverjob.Repository {
	out := source
	out.Ref = reference(o)
	out.UID, out.HomeNamespace, out.Projected, out.Allowed = o.UID, o.Namespace, "", nil
	out.Spec.Backend, out.Spec.Mode = o.Spec.Destination, kopiurv1.ModeReadOnly
	return out
}

// reference names the copy in messages.
func reference(o *kopiurv1.RepositoryReplication) kopiurv1.RepositoryRef {
	return kopiurv1.RepositoryRef{Kind: "RepositoryReplication", Namespace: o.Namespace, Name: o.Name}
}

// Build makes the Job of a turn.
func Build(w World, t Turn, image moverjob.Images, pull corev1.PullPolicy) (*batchv1.Job, error) {
	if w.Source == nil {
		return nil, errors.New("build replication job: the source does not exist")
	}
	o := w.Replication
	s := o.Spec.Sync
	if s == nil {
		s = &kopiurv1.BlobSync{}
	}
	op := &work.Replicate{DeleteExtra: s.DeleteExtra, MustExist: s.MustExist, Times: s.Times == nil || *s.Times, Update: s.Update}
	if s.Parallel != nil {
		op.Parallel = int(*s.Parallel)
	}
	from, to := throttles(*w.Source, *s)
	store := moverjob.Repository{}
	store.Spec.Backend = o.Spec.Destination
	job, err := moverjob.Build(moverjob.Request{
		Owner: o, GVK: kopiurv1.GroupVersion.WithKind("RepositoryReplication"), Letter: letter, Attempt: t.Attempt(),
		Namespace: o.Namespace, Image: image, PullPolicy: pull, Repository: *w.Source, Operation: work.Operation{Replicate: op},
		Peer:   &moverjob.Peer{Side: moverjob.Destination, Repository: store, Store: true, OwnThrottle: from, Throttle: to},
		Layers: []*kopiurv1.MoverSpec{o.Spec.Mover}, CacheClaim: w.CacheClaim,
		Labels: map[string]string{kopiurv1.LabelReplication: kopiurv1.LabelValue(o.Name)},
	})
	if err != nil {
		return nil, fmt.Errorf("copy %s: %w", w.Source.Ref, err)
	}
	job.Annotations = map[string]string{kopiurv1.AnnotationReplicationSlot: t.At}
	job.Labels[kopiurv1.LabelComponent] = kopiurv1.ComponentReplication
	job.Spec.Template.Labels[kopiurv1.LabelComponent] = kopiurv1.ComponentReplication
	return job, nil
}

// throttles are the limits of both connections: the source's moverDefaults hold for each, and what sync says takes the
// place of the one that it names.
func throttles(source moverjob.Repository, s kopiurv1.BlobSync) (from, to *kopiurv1.Throttle) {
	var base kopiurv1.Throttle
	if d := source.Spec.MoverDefaults; d != nil && d.Throttle != nil {
		base = *d.Throttle
	}
	f, t := base, base
	f.DownloadBytesPerSecond = cmp.Or(s.MaxDownloadSpeedBytesPerSecond, base.DownloadBytesPerSecond)
	t.UploadBytesPerSecond = cmp.Or(s.MaxUploadSpeedBytesPerSecond, base.UploadBytesPerSecond)
	of := func(x kopiurv1.Throttle) *kopiurv1.Throttle {
		if x == (kopiurv1.Throttle{}) {
			return nil
		}
		return &x
	}
	return of(f), of(t)
}
