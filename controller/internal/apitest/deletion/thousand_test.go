// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build soak

package deletion_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// TestAThousandGoInFiveJobs measures budget C11: a policy takes a thousand Snapshots along. All of them are held; after
// the acknowledgement they go in at most five Jobs, within two minutes. The seconds are printed and not asserted.
func TestAThousandGoInFiveJobs(t *testing.T) {
	const n = 1000
	l := newLab(t)
	l.policy.Spec.Deletion = &kopiurv1.PolicyDeletion{OnPolicyDelete: kopiurv1.CascadeDelete}
	l.base()
	l.stored(n)
	// By the machine's clock: one that is moved by hand is slow with a thousand Snapshots waiting for it.
	l.StartController()
	l.connected()
	count := func(c *assert.CollectT) (left, held int) {
		var all kopiurv1.SnapshotList
		require.NoError(c, l.Client.List(t.Context(), &all, client.InNamespace(l.Namespace)))
		for i := range all.Items {
			if condition(&all.Items[i], kopiurv1.ConditionDeletionHeld).Status == "True" {
				held++
			}
		}
		return len(all.Items), held
	}
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		l.GetC(c, l.policy)
		assert.Contains(c, l.policy.Finalizers, kopiurv1.FinalizerPolicy)
	}, testenv.Wait, testenv.Tick)

	begin := time.Now()
	require.NoError(t, l.Client.Delete(t.Context(), l.policy))
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		_, held := count(c)
		assert.Equal(c, n, held)
	}, 5*time.Minute, time.Second)
	allHeld := time.Since(begin)
	assert.Empty(t, l.deletions())

	begin = time.Now()
	l.Annotate(l.repository, kopiurv1.AnnotationAllowMassDeletion, begin.UTC().Format(time.RFC3339))
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		left, _ := count(c)
		assert.Zero(c, left)
	}, 5*time.Minute, 200*time.Millisecond)
	t.Logf("C11: %d Snapshots held after %.1f s; gone %.1f s after the acknowledgement, in %d Jobs",
		n, allHeld.Seconds(), time.Since(begin).Seconds(), len(l.deletions()))
	assert.LessOrEqual(t, len(l.deletions()), 5)
	assert.Len(t, l.deleted(), n)
}
