// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// wrong is a client whose cache answers wrongly about some objects.
type wrong struct {
	client.Client
	on    *atomic.Bool
	about func(obj client.Object, key client.ObjectKey) bool
	// stale is what it still has; nil where it has nothing yet.
	stale func(obj client.Object)
}

func (w *wrong) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if !w.on.Load() || !w.about(obj, key) {
		return w.Client.Get(ctx, key, obj, opts...)
	}
	if w.stale == nil {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "cold"}, key.Name)
	}
	w.stale(obj)
	return nil
}

// TestAColdCacheKeepsNoDataByMistake: policy, schedule and repository seem to be gone, and are not. The data is deleted as
// it should be, not orphaned.
func TestAColdCacheKeepsNoDataByMistake(t *testing.T) {
	t.Parallel()
	for name, about := range map[string]func(obj client.Object) bool{
		"of policies":  func(obj client.Object) bool { _, ok := obj.(*kopiurv1.SnapshotPolicy); return ok },
		"of schedules": func(obj client.Object) bool { _, ok := obj.(*kopiurv1.SnapshotSchedule); return ok },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.base()
			s := schedule()
			l.Create(s)
			list := l.stored(2, madeBy(s, ""))
			on := &atomic.Bool{}
			l.WrapClient(func(c client.Client) client.Client {
				return &wrong{Client: c, on: on, about: func(obj client.Object, _ client.ObjectKey) bool { return about(obj) }}
			})
			l.run()
			on.Store(true)
			l.remove(list...)
			l.waits(kopiurv1.ConditionReady, metav1.ConditionFalse, kopiurv1.ReasonDeletionQueued, list...)
			l.quiet()
			l.gone(list...)
			assert.Len(t, l.deleted(), 2)
		})
	}
}

// TestAStaleCacheDeletesNothing: policy, schedule, namespace or repository seem to be there, and are gone. A word that was
// spoken a moment ago counts, too.
func TestAStaleCacheDeletesNothing(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		about func(obj client.Object) bool
		end   func(l *lab, s *kopiurv1.SnapshotSchedule)
	}{
		"of policies": {
			func(obj client.Object) bool { _, ok := obj.(*kopiurv1.SnapshotPolicy); return ok },
			func(l *lab, _ *kopiurv1.SnapshotSchedule) {
				require.NoError(l.t, l.Client.Delete(l.t.Context(), l.policy))
			},
		},
		"of schedules": {
			func(obj client.Object) bool { _, ok := obj.(*kopiurv1.SnapshotSchedule); return ok },
			func(l *lab, s *kopiurv1.SnapshotSchedule) { require.NoError(l.t, l.Client.Delete(l.t.Context(), s)) },
		},
		"of namespaces": {
			func(obj client.Object) bool {
				m, ok := obj.(*metav1.PartialObjectMetadata)
				return ok && m.Kind == "Namespace"
			},
			func(l *lab, _ *kopiurv1.SnapshotSchedule) { l.end(l.Namespace) },
		},
		"of repositories": {
			func(obj client.Object) bool { _, ok := obj.(*kopiurv1.Repository); return ok },
			func(l *lab, _ *kopiurv1.SnapshotSchedule) {
				require.NoError(l.t, l.Client.Delete(l.t.Context(), l.repository))
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.base()
			s := schedule()
			l.Create(s)
			list := l.stored(2, madeBy(s, ""))
			on := &atomic.Bool{}
			l.WrapClient(func(c client.Client) client.Client {
				return &wrong{
					Client: c, on: on, about: func(obj client.Object, _ client.ObjectKey) bool { return tc.about(obj) },
					stale: func(obj client.Object) {
						switch o := obj.(type) {
						case *kopiurv1.SnapshotPolicy:
							l.policy.DeepCopyInto(o)
						case *kopiurv1.SnapshotSchedule:
							s.DeepCopyInto(o)
						case *kopiurv1.Repository:
							l.repository.DeepCopyInto(o)
						case *metav1.PartialObjectMetadata:
							o.Name = l.Namespace
						}
					},
				}
			})
			l.run()
			l.Get(l.policy)
			l.Get(l.repository)
			on.Store(true)
			tc.end(l, s)
			l.remove(list...)
			require.EventuallyWithT(t, func(c *assert.CollectT) {
				l.quiet() // it would fire
				for _, s := range list {
					assert.True(c, apierrors.IsNotFound(l.Client.Get(t.Context(), client.ObjectKeyFromObject(s), s)), describe(s))
				}
			}, testenv.Wait, testenv.Tick)
			assert.Empty(t, l.deletions(), "what is gone is asked for past the cache before anything is deleted")
		})
	}
}

// TestTheLastWordCounts: the annotation that keeps the data was written, and the cache has not seen it.
func TestTheLastWordCounts(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.base()
	list := l.stored(1)
	on := &atomic.Bool{}
	var old kopiurv1.Snapshot
	l.WrapClient(func(c client.Client) client.Client {
		return &stuck{wrong: wrong{
			Client: c, on: on,
			about: func(obj client.Object, _ client.ObjectKey) bool { _, ok := obj.(*kopiurv1.Snapshot); return ok },
			stale: func(obj client.Object) {
				if o, ok := obj.(*kopiurv1.Snapshot); ok {
					old.DeepCopyInto(o)
				}
			},
		}, old: &old}
	})
	l.run()
	l.remove(list...)
	l.waits(kopiurv1.ConditionReady, metav1.ConditionFalse, kopiurv1.ReasonDeletionQueued, list...)
	list[0].DeepCopyInto(&old)
	on.Store(true)
	l.Annotate(list[0], kopiurv1.AnnotationSkipSnapshotCleanup, "")
	for range 3 {
		l.quiet()
	}
	assert.Never(t, func() bool { return len(l.deletions()) > 0 }, testenv.Tick*20, testenv.Tick)
	on.Store(false)
	l.quiet()
	l.gone(list...)
	assert.Empty(t, l.deletions())
}

// stuck is a cache that shows one Snapshot as it was, also in lists.
type stuck struct {
	wrong
	old *kopiurv1.Snapshot
}

func (s *stuck) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if err := s.Client.List(ctx, list, opts...); err != nil || !s.on.Load() {
		return err
	}
	if l, ok := list.(*kopiurv1.SnapshotList); ok {
		for i := range l.Items {
			if l.Items[i].UID == s.old.UID {
				l.Items[i] = *s.old.DeepCopy()
			}
		}
	}
	return nil
}

// TestALateResultIsNotALostOne: Jobs have ended and their pods are not in the cache. What a backup stored is learnt, so that
// it can be deleted; and what a Job deleted is not deleted again.
func TestALateResultIsNotALostOne(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.base()
	hold := make(chan struct{})
	l.Mover(func(c testenv.Call) testenv.Play {
		p := testenv.Succeed(c)
		if c.Spec.Operation.Snapshot != nil {
			p.Hold = hold
		}
		return p
	})
	s := &kopiurv1.Snapshot{ObjectMeta: metav1.ObjectMeta{Name: "one"}, Spec: kopiurv1.SnapshotSpec{PolicyRef: &kopiurv1.PolicyRef{Name: "web"}}}
	l.Create(testenv.Claim("data"), s)
	first := l.run()
	l.waits(kopiurv1.ConditionReady, metav1.ConditionFalse, kopiurv1.ReasonMoverRunning, s)
	first.Stop()
	close(hold)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		var jobs batchv1.JobList
		require.NoError(c, l.Client.List(t.Context(), &jobs, client.InNamespace(l.Namespace), client.MatchingLabels{kopiurv1.LabelOwnerUID: string(s.UID)}))
		if assert.Len(c, jobs.Items, 1) {
			assert.NotNil(c, jobs.Items[0].Status.CompletionTime)
		}
	}, testenv.Wait, testenv.Tick)
	l.remove(s)
	l.LatePods()
	l.StartController(l.clocks)
	l.waits(kopiurv1.ConditionReady, metav1.ConditionFalse, kopiurv1.ReasonDeletionQueued, s)
	l.quiet()
	l.gone(s)
	require.Len(t, l.deletions(), 1)
	assert.Equal(t, "k"+string(s.UID), l.deleted()[0].SnapshotID)
}
