// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"fmt"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// GetC reads obj again within an EventuallyWithT.
func (e *Env) GetC(c *assert.CollectT, obj client.Object) {
	require.NoError(c, e.Client.Get(e.T.Context(), client.ObjectKeyFromObject(obj), obj))
}

// Change reads obj, lets the test edit it and stores the difference.
func (e *Env) Change(obj client.Object, edit func()) {
	e.T.Helper()
	e.Get(obj)
	base := obj.DeepCopyObject().(client.Object) //nolint:forcetypeassert // a copy has the type of its original
	edit()
	require.NoError(e.T, e.Client.Patch(e.T.Context(), obj, client.MergeFrom(base)))
}

// Annotate sets one annotation.
func (e *Env) Annotate(obj client.Object, key, value string) { e.meta(obj, "annotations", key, value) }

// Label sets one label.
func (e *Env) Label(obj client.Object, key, value string) { e.meta(obj, "labels", key, value) }

func (e *Env) meta(obj client.Object, field, key, value string) {
	e.T.Helper()
	patch := fmt.Sprintf(`{"metadata":{%q:{%q:%q}}}`, field, key, value)
	require.NoError(e.T, e.Client.Patch(e.T.Context(), obj, client.RawPatch(types.MergePatchType, []byte(patch))))
}

// Touch gives an object of the test's namespace a new resourceVersion, as an edit of its content would.
func (e *Env) Touch(obj client.Object) {
	e.T.Helper()
	e.place(obj)
	e.Annotate(obj, LabelTest, "touched-"+random())
}

// Quiet fails the test if obj changes within d. It compares with what obj was when it was last read.
func (e *Env) Quiet(obj client.Object, d time.Duration) {
	e.T.Helper()
	version := obj.GetResourceVersion()
	deadline, tick := time.NewTimer(d), time.NewTicker(Tick)
	defer deadline.Stop()
	defer tick.Stop()
	for {
		select {
		case <-deadline.C:
			return
		case <-tick.C:
			e.Get(obj)
			require.Equal(e.T, version, obj.GetResourceVersion(), "a status that is written for nothing wakes its own reconciler")
		}
	}
}
