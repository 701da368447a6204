// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"context"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/decide/catalog"
	"github.com/kopiur/kopiur/controller/internal/decide/connect"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

// listings are those in progress. They live in memory only: after a restart a listing begins anew.
type listings struct {
	mu sync.Mutex
	of map[types.UID]*listing
}

// listing of one repository. Only one reconcile of a repository runs at a time.
type listing struct {
	// name tells whose it is once the object is gone.
	name types.NamespacedName
	// pages that have come; nil before the first Job.
	pages *catalog.Listing
	// read is the Job whose pages were read last.
	read types.UID
	// job was started with token as the value of the annotation: what was written later wants another look.
	job, token string
	// recorded is what was last written. The cache may be behind it, and would have all listed again.
	recorded *kopiurv1.CatalogStatus
	// idle counts Jobs in a row that brought it no further.
	idle      int32
	notBefore time.Time
	// plan is set once the last page has come; done counts the rows that were dealt with.
	plan     *catalog.Plan
	done     int
	unplaced int64
}

func (l *listings) get(s subject) *listing {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of == nil {
		l.of = map[types.UID]*listing{}
	}
	uid := s.obj.GetUID()
	if l.of[uid] == nil {
		l.of[uid] = &listing{name: types.NamespacedName{Namespace: s.obj.GetNamespace(), Name: s.obj.GetName()}}
	}
	return l.of[uid]
}

// forget ends those of an object that is gone.
func (l *listings) forget(name types.NamespacedName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for uid, one := range l.of {
		if one.name == name {
			delete(l.of, uid)
		}
	}
}

// end drops what was gathered.
func (l *listing) end() { *l = listing{name: l.name, read: l.read, recorded: l.recorded} }

// status is what is known of the last listing.
func (l *listing) status(cached *kopiurv1.CatalogStatus) *kopiurv1.CatalogStatus {
	if l.recorded != nil && (cached == nil || cached.LastRefreshAt < l.recorded.LastRefreshAt) {
		return l.recorded
	}
	return cached
}

// observeListing reads the pages of a Job that has ended, and says whether another one is to list.
func (r *Reconciler) observeListing(ctx context.Context, s subject, w *world) error {
	w.listing = r.listings.get(s)
	r.readPages(ctx, s, w)
	token := s.obj.GetAnnotations()[kopiurv1.AnnotationCatalogScanRequestedAt]
	asked, err := r.askedByPolicies(ctx, s)
	if err != nil {
		return err
	}
	l := w.listing
	status := l.status(s.status.Catalog)
	begun := l.pages != nil && !l.pages.Complete()
	after, due := catalog.Due(catalog.Ask{
		Spec: s.repo.Spec.Catalog, Status: status, Generation: s.obj.GetGeneration(), Token: token, PolicyAsked: asked,
		Begun: begun, Busy: l.pages != nil && l.pages.Complete(), NotBefore: l.notBefore,
	}, r.Clock.Now())
	w.input.Listing = connect.Listing{Due: due, In: after}
	if begun {
		w.input.Listing.From = l.pages.After()
	}
	if catalog.Requested(token, status) {
		w.input.Listing.Token = token
	}
	return nil
}

// readPages takes what the Job in flight has listed, once. What cannot be read counts as missing: the next Job lists it.
func (r *Reconciler) readPages(ctx context.Context, s subject, w *world) {
	l, job := w.listing, w.flying
	if job == nil || l.read == job.UID || w.input.Flight == nil {
		return
	}
	o := w.input.Flight.Outcome
	if o.State != moverjob.Finished || o.Result == nil || o.Result.Code != work.CodeOK || o.Result.Bootstrap == nil {
		return
	}
	asked, ok := askedFor(job)
	if !ok {
		return // it was a mere look
	}
	l.read = job.UID
	if l.pages == nil || l.pages.Complete() {
		token := ""
		if l.job == job.Name {
			token = l.token
		}
		l.end()
		l.pages = catalog.NewListing(s.obj.GetGeneration(), token)
	}
	if l.pages.After() != asked.After {
		return // made by a process that is no more, whose pages went with it
	}
	got := o.Result.Bootstrap.Catalog
	further := false
	if got != nil {
		l.pages.Begin()
		if got.Pages > 0 {
			if err := moverjob.ReadPages(ctx, r.Logs, job.Namespace, o.PodName, l.pages.Take); err != nil {
				logf.FromContext(ctx).Info("Listing a part of the repository again", "reason", err.Error())
			}
		}
		further = l.pages.End(*got, o.Result.Bootstrap.Unreadable)
	}
	if further {
		l.idle, l.notBefore = 0, time.Time{}
		return
	}
	l.idle++
	l.notBefore = r.Clock.Now().Add(connect.Ladder(l.idle))
}

// askedFor is what a connect Job was to list.
func askedFor(job *batchv1.Job) (work.Catalog, bool) {
	spec := moverjob.Told(job)
	if spec == nil || spec.Operation.Bootstrap == nil || spec.Operation.Bootstrap.Catalog == nil {
		return work.Catalog{}, false
	}
	return *spec.Operation.Bootstrap.Catalog, true
}
