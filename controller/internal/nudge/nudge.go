// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package nudge asks a repository's reconciler for a look at the store when a mover of somebody else could not reach it.
//
// It is a question and no verdict: one mover's network says little about the others', so that only the repository's own
// connects open its breaker. Whoever asks within a minute of another asks for nothing new.
package nudge

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/loop"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

// +kubebuilder:rbac:groups=kopiur.home-operations.com,resources=repositories;clusterrepositories,verbs=get;list;watch;patch

// every is the least time between two questions about one repository.
const every = time.Minute

// Due reports whether an outcome is worth a look at the repository, which was last asked about at the time in asked.
func Due(o moverjob.Outcome, phase kopiurv1.RepositoryPhase, asked string, now time.Time) bool {
	if o.Result == nil || o.Result.Code != work.CodeRepositoryUnavailable || phase != kopiurv1.RepositoryReady {
		return false // one that is not Ready is being looked at already
	}
	last, err := time.Parse(time.RFC3339, asked)
	return err != nil || last.After(now.Add(every)) || now.Sub(last) >= every
}

// After looks at what became of a mover and asks where that is due. It never fails: the repository's own probe finds out
// as well, later.
func After(ctx context.Context, env loop.Env, repo *moverjob.Repository, o moverjob.Outcome) {
	if repo == nil || !Due(o, repo.Status.Phase, "", env.Clock.Now()) {
		return
	}
	if err := ask(ctx, env, repo, o); err != nil {
		logf.FromContext(ctx).Info("Leaving a repository to its own probe", "repository", repo.Ref.String(), "reason", err.Error())
	}
}

func ask(ctx context.Context, env loop.Env, repo *moverjob.Repository, o moverjob.Outcome) error {
	var obj client.Object = &kopiurv1.Repository{}
	if repo.Ref.KindOrDefault() == kopiurv1.KindClusterRepository {
		obj = &kopiurv1.ClusterRepository{}
	}
	key := client.ObjectKey{Namespace: repo.Ref.Namespace, Name: repo.Ref.Name}
	if err := env.Client.Get(ctx, key, obj); err != nil {
		return fmt.Errorf("get %s: %w", repo.Ref, err)
	}
	now := env.Clock.Now()
	if !Due(o, repo.Status.Phase, obj.GetAnnotations()[kopiurv1.AnnotationReverifyRequestedAt], now) {
		return nil
	}
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, kopiurv1.AnnotationReverifyRequestedAt, now.UTC().Format(time.RFC3339))
	if err := env.Client.Patch(ctx, obj, client.RawPatch(types.MergePatchType, patch)); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("annotate %s: %w", repo.Ref, err)
	}
	logf.FromContext(ctx).V(1).Info("Asking for a look at the store", "repository", klog.KRef(key.Namespace, key.Name))
	return nil
}
