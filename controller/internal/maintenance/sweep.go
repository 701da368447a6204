// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/loop"
)

// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,verbs=list;delete,namespace=kopiur-system

// sweeps is the time between two sweeps.
const sweeps = 6 * time.Hour

// Sweeper deletes the Leases of stores that nobody maintains any more.
type Sweeper struct {
	Client client.Client
	// Live reads past the cache, which holds no Leases.
	Live  client.Reader
	Clock clock.WithTicker
	// Namespace of the operator, where the Leases lie.
	Namespace string
}

// Start sweeps until the context ends. It is a manager's runnable.
func (s *Sweeper) Start(ctx context.Context) error {
	return loop.Every(ctx, s.Clock, sweeps, "Leases that nobody holds", s.Sweep) //nolint:wrapcheck // it ends with the context
}

// NeedLeaderElection keeps standbys from sweeping.
func (s *Sweeper) NeedLeaderElection() bool { return true }

// Sweep deletes the Leases whose Job and pods are gone, and says how many. Whoever wants to maintain the store would take
// such a Lease all the same; of a repository that is gone nobody ever does.
func (s *Sweeper) Sweep(ctx context.Context) (int, error) {
	var list coordinationv1.LeaseList
	if err := s.Live.List(ctx, &list, client.InNamespace(s.Namespace), client.MatchingLabels{
		kopiurv1.LabelManagedBy: kopiurv1.ManagedByValue, kopiurv1.LabelComponent: kopiurv1.ComponentMaintenance,
	}); err != nil {
		return 0, fmt.Errorf("list leases: %w", err)
	}
	n := 0
	for i := range list.Items {
		l := &list.Items[i]
		held, err := holds(ctx, s.Live, l, s.Clock.Now())
		if err != nil {
			return n, err
		}
		if held || l.DeletionTimestamp != nil {
			continue
		}
		// By its version: one that was taken meanwhile is held again.
		err = s.Client.Delete(ctx, l, client.Preconditions{UID: &l.UID, ResourceVersion: &l.ResourceVersion})
		switch {
		case err == nil:
			n++
		case !apierrors.IsNotFound(err) && !apierrors.IsConflict(err):
			return n, fmt.Errorf("delete lease %s/%s: %w", l.Namespace, l.Name, err)
		}
	}
	return n, nil
}
