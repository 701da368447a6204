// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package restore_test

import (
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// shifted is the machine's clock, moved forward by the test.
type shifted struct{ offset atomic.Int64 }

func (s *shifted) Now() time.Time                  { return time.Now().Add(time.Duration(s.offset.Load())) }
func (s *shifted) Since(t time.Time) time.Duration { return s.Now().Sub(t) }
func (s *shifted) add(d time.Duration)             { s.offset.Add(int64(d)) }

// answer makes every resolve mover answer this; all others succeed.
func (w *world) answer(of func(testenv.Call) work.Resolution) {
	w.Mover(func(c testenv.Call) testenv.Play {
		p := testenv.Succeed(c)
		if c.Spec.Operation.Resolve == nil {
			return p
		}
		if a := of(c); a != work.ResolutionFound {
			p.Result.Resolve = &work.ResolveResult{Resolution: a}
		}
		return p
	})
}

// touch wakes the reconciler by a change that means nothing.
func (w *world) touch(obj client.Object) {
	w.T.Helper()
	w.update(obj, func() {
		a := obj.GetAnnotations()
		if a == nil {
			a = map[string]string{}
		}
		a["touched"] += "."
		obj.SetAnnotations(a)
	})
}

func (w *world) noClaim(name string) {
	w.T.Helper()
	var pvc corev1.PersistentVolumeClaim
	err := w.Client.Get(w.T.Context(), client.ObjectKey{Namespace: w.Namespace, Name: name}, &pvc)
	assert.True(w.T, apierrors.IsNotFound(err), "claim %s exists: %v", name, err)
}

// jobsOf are the mover Jobs of an object that exist.
func (w *world) jobsOf(obj client.Object) []batchv1.Job {
	w.T.Helper()
	var list batchv1.JobList
	require.NoError(w.T, w.Client.List(w.T.Context(), &list, client.InNamespace(w.Namespace), client.MatchingLabels{kopiurv1.LabelOwnerUID: string(obj.GetUID())}))
	return list.Items
}

// untilEvent waits for an event about a Restore.
func (w *world) untilEvent(r *kopiurv1.Restore, kind, reason string) {
	w.T.Helper()
	reader, err := client.New(w.Config, client.Options{}) // the controller's own scheme has no events
	require.NoError(w.T, err)
	require.EventuallyWithT(w.T, func(c *assert.CollectT) {
		var list eventsv1.EventList
		require.NoError(c, reader.List(w.T.Context(), &list, client.InNamespace(w.Namespace)))
		var got []string
		for i := range list.Items {
			if list.Items[i].Regarding.UID == r.UID {
				got = append(got, list.Items[i].Type+"/"+list.Items[i].Reason)
			}
		}
		assert.Contains(c, got, kind+"/"+reason)
	}, testenv.Wait, testenv.Tick)
}
