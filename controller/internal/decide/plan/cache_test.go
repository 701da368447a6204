// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/plan"
	"github.com/kopiur/kopiur/controller/internal/keptcache"
)

// TestTheCacheIsAskedForLast: a claim is given to a run that starts, not to one that waits for something.
func TestTheCacheIsAskedForLast(t *testing.T) {
	t.Parallel()
	kept := func(w *plan.World) {
		w.Policy.Spec.Mover = &kopiurv1.MoverSpec{Cache: &kopiurv1.CacheSpec{Mode: kopiurv1.CachePersistent}}
	}
	asked := func(w *plan.World) {
		w.Asked |= plan.AskCache
		w.Cache = keptcache.Verdict{Claim: "kopiur-cache-web"}
	}
	assert.Equal(t, plan.AskCache, plan.Decide(world(kept), now).Ask)
	p := plan.Decide(world(kept, asked), now)
	require.Equal(t, plan.Start, p.Action)
	var mounted bool
	for _, v := range p.Job.Spec.Template.Spec.Volumes {
		mounted = mounted || v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == "kopiur-cache-web"
	}
	assert.True(t, mounted, "the Job that is started has it")
	assert.Zero(t, plan.Decide(world(), now).Ask, "nobody asks where nothing is kept")
	assert.Zero(t, plan.Decide(world(kept, func(w *plan.World) { w.Policy.Spec.Suspend = true }), now).Ask)
	wish := plan.KeptCacheOf(world(kept))
	require.NotNil(t, wish)
	assert.Nil(t, plan.KeptCacheOf(world(kept, func(w *plan.World) {
		w.Policy.Spec.Sources[0].PVCPublicationReadOnly = new(false)
	})), "a pod without fsGroup could not write to it")
}
