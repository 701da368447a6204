// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package restore_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

var errKilled = errors.New("the process was killed")

// mortal is a client whose process is killed after so many writes about Restores: the last one reaches the API server,
// its answer reaches nobody, and nothing is written any more. It keeps a record of what was written.
type mortal struct {
	client.Client

	mu     sync.Mutex
	left   int // below zero: immortal
	writes []string
}

func newMortal(writes int) *mortal { return &mortal{left: writes} }

func (m *mortal) wrap(c client.Client) client.Client {
	m.Client = c
	return m
}

func (m *mortal) did(obj client.Object, verb string, do func() error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	ours := true
	switch obj.(type) {
	case *kopiurv1.Repository, *kopiurv1.ClusterRepository, *kopiurv1.SnapshotPolicy, *kopiurv1.Snapshot:
		ours = false // other reconcilers are not on trial here
	}
	if !ours {
		return do()
	}
	if m.left == 0 {
		return errKilled
	}
	err := do()
	m.writes = append(m.writes, fmt.Sprintf("%s %T %s", verb, obj, obj.GetName()))
	m.left--
	if m.left == 0 {
		return errKilled
	}
	return err
}

func (m *mortal) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	return m.did(obj, "create", func() error { return m.Client.Create(ctx, obj, opts...) })
}

func (m *mortal) Update(ctx context.Context, obj client.Object, opts ...client.UpdateOption) error {
	return m.did(obj, "update", func() error { return m.Client.Update(ctx, obj, opts...) })
}

func (m *mortal) Patch(ctx context.Context, obj client.Object, p client.Patch, opts ...client.PatchOption) error {
	return m.did(obj, "patch", func() error { return m.Client.Patch(ctx, obj, p, opts...) })
}

func (m *mortal) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	return m.did(obj, "delete", func() error { return m.Client.Delete(ctx, obj, opts...) })
}

func (m *mortal) DeleteAllOf(ctx context.Context, obj client.Object, opts ...client.DeleteAllOfOption) error {
	return m.did(obj, "deletecollection", func() error { return m.Client.DeleteAllOf(ctx, obj, opts...) })
}

func (m *mortal) Status() client.SubResourceWriter { return mortalStatus{m.Client.Status(), m} }

type mortalStatus struct {
	client.SubResourceWriter
	m *mortal
}

func (s mortalStatus) Patch(ctx context.Context, obj client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
	return s.m.did(obj, "patch status", func() error { return s.SubResourceWriter.Patch(ctx, obj, p, opts...) })
}

func (m *mortal) killed() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.left == 0
}

func (m *mortal) written() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.writes)
}

// TestKilledAfterEveryWrite kills the controller after each of its writes in turn. A fresh one always comes to the same
// end: one question, one restore, one claim, which nobody deleted (K-7, product decision "results are durable").
func TestKilledAfterEveryWrite(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*kopiurv1.RestoreSpec){"from a policy": fromPolicy, "from a Snapshot": func(*kopiurv1.RestoreSpec) {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			undisturbed := newWorld(t)
			undisturbed.begin().Stop()
			count := newMortal(-1)
			undisturbed.WrapClient(count.wrap)
			undisturbed.StartController()
			r := undisturbed.restore(change)
			undisturbed.untilReady(r)
			undisturbed.untilRetired(r)
			total := len(count.written())
			t.Logf("undisturbed: %q", count.written())
			require.Greater(t, total, 4)

			for n := 1; n <= total; n++ {
				if !killPoint(n) {
					continue
				}
				t.Run(fmt.Sprintf("after write %d", n), func(t *testing.T) {
					t.Parallel()
					w := newWorld(t)
					w.begin().Stop() // only the Restore is left to do
					m := newMortal(n)
					w.WrapClient(m.wrap)
					first := w.StartController()
					r := w.restore(change)
					// Two runs may differ by a write, so the last kill points may lie behind the end.
					require.Eventually(t, func() bool { return m.killed() || w.ended(r) }, testenv.Wait, testenv.Tick)
					first.Stop()

					second := newMortal(-1)
					w.WrapClient(second.wrap)
					w.StartController()
					w.untilReady(r)
					w.untilRetired(r)
					w.rests(r)

					assert.Len(t, w.CallsOf("restore"), 1, "one restore")
					if r.Spec.Source.FromPolicy != nil {
						assert.Len(t, w.CallsOf("resolve"), 1, "one question")
					}
					for _, write := range slices.Concat(m.written(), second.written()) {
						assert.NotRegexp(t, `^(update|patch|delete|deletecollection) \*v1\.PersistentVolumeClaim`, write, "the claim is the user's")
					}
					var pvc corev1.PersistentVolumeClaim
					require.NoError(t, w.Client.Get(t.Context(), client.ObjectKey{Namespace: w.Namespace, Name: "data-new"}, &pvc))
					assert.Equal(t, string(r.UID), pvc.Labels[kopiurv1.LabelOwnerUID])
				})
			}
		})
	}
}

// ended reports whether a Restore is ready and nothing is left to do about its Jobs.
func (w *world) ended(r *kopiurv1.Restore) bool {
	if err := w.Client.Get(w.T.Context(), client.ObjectKeyFromObject(r), r); err != nil || r.Status.Phase != kopiurv1.RestoreCompleted {
		return false
	}
	for _, j := range w.jobsOf(r) {
		if j.Spec.TTLSecondsAfterFinished == nil {
			return false
		}
	}
	return true
}

// untilRetired waits until every Job of a Restore may go.
func (w *world) untilRetired(r *kopiurv1.Restore) {
	w.T.Helper()
	require.EventuallyWithT(w.T, func(c *assert.CollectT) {
		for _, j := range w.jobsOf(r) {
			assert.NotNil(c, j.Spec.TTLSecondsAfterFinished, j.Name)
		}
	}, testenv.Wait, testenv.Tick)
}
