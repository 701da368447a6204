// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kopiur/kopiur/apis/session"
	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	decide "github.com/kopiur/kopiur/controller/internal/decide/session"
	"github.com/kopiur/kopiur/controller/internal/gates"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
	"github.com/kopiur/kopiur/controller/internal/projection"
)

// observe reads what the decision needs, and no more: an open session costs a look at its Job in the cache.
func (r *Reconciler) observe(ctx context.Context, cm *corev1.ConfigMap) (decide.World, error) {
	w := decide.World{ConfigMap: cm, Image: r.MoverImage, PullPolicy: r.PullPolicy, Volume: gates.Verdict{Open: true}}
	var err error
	if w.Request, err = session.Parse(cm); err != nil {
		w.Refusal = err.Error()
	}
	if w.Job, err = r.job(ctx, cm); err != nil {
		return w, err
	}
	pods, err := moverjob.Evidence(ctx, r.Client, r.Live, w.Job)
	if err != nil {
		return w, err //nolint:wrapcheck // says what and where
	}
	w.Outcome = moverjob.Decide(w.Job, pods, moverjob.DefaultStartupDeadline, r.ServerClock.Now())
	state := session.Read(cm).State
	if w.Refusal != "" || state.Final() {
		return w, nil
	}
	repo, err := moverjob.Load(ctx, r.Client, w.Request.Repository, r.OperatorNamespace)
	switch {
	case apierrors.IsNotFound(err):
		return w, nil
	case err != nil:
		return w, err //nolint:wrapcheck // says what and where
	}
	w.Repository = &repo
	if w.Job != nil || state != session.Unseen {
		return w, nil
	}
	err = r.observeGates(ctx, &w)
	return w, err
}

// job looks for the session's Job: where the answer says that there was one, past the cache too, which may not have seen it.
func (r *Reconciler) job(ctx context.Context, cm *corev1.ConfigMap) (*batchv1.Job, error) {
	name := decide.JobName(cm)
	job, err := moverjob.Fetch(ctx, r.Client, cm.Namespace, name, cm.UID)
	if err != nil || job != nil || session.Read(cm).State == session.Unseen {
		return job, err //nolint:wrapcheck // says what and where
	}
	return moverjob.Fetch(ctx, r.Live, cm.Namespace, name, cm.UID) //nolint:wrapcheck // says what and where
}

// observeGates reads what has to hold before a mover may start, consent live. Credentials that lie here by hand will do;
// where there are none, whoever asks for a session asks for a copy as well, and the repository's owner says whether.
func (r *Reconciler) observeGates(ctx context.Context, w *decide.World) error {
	namespace := w.ConfigMap.Namespace
	ns, err := gates.Namespace(ctx, r.Live, namespace)
	if err != nil {
		return err //nolint:wrapcheck // says what and where
	}
	w.NamespaceLabels, w.NamespaceAnnotations = ns.Labels, ns.Annotations
	if w.Volume, err = gates.CheckVolume(ctx, r.Client, *w.Repository, namespace); err != nil {
		return err //nolint:wrapcheck // says what and where
	}
	if w.Credentials, err = gates.CheckCredentials(ctx, r.Client, *w.Repository, namespace); err != nil || w.Credentials.Open {
		return err //nolint:wrapcheck // says what and where
	}
	w.Credentials, err = projection.Check(ctx, r.Client, w.Repository, namespace, &kopiurv1.CredentialProjection{Enabled: true}, r.Projection)
	return err //nolint:wrapcheck // says what and where
}
