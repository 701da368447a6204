// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	vsv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// maxWrites is what one backup with a copy takes at most, with room for statuses that follow slow storage.
const maxWrites = 24

var errKilled = errors.New("the controller was killed")

// mortal lets a controller do a number of writes for a Snapshot and then none.
type mortal struct {
	mu   sync.Mutex
	left int
	died bool
	die  chan struct{}
	did  []string
}

// may counts one write. Those of other kinds do not count: they are not what is killed here.
func (m *mortal) may(verb string, obj client.Object) error {
	switch o := obj.(type) {
	case *unstructured.Unstructured: // a VolumeGroupSnapshot or its content
	case *kopiurv1.Snapshot, *vsv1.VolumeSnapshot, *vsv1.VolumeSnapshotContent, *corev1.PersistentVolumeClaim, *corev1.PersistentVolume, *corev1.Pod:
	case *batchv1.Job:
		if !strings.HasPrefix(o.Name, "s-") {
			return nil
		}
	default:
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.left == 0 {
		if !m.died {
			m.died = true
			close(m.die)
		}
		return errKilled
	}
	m.left--
	m.did = append(m.did, fmt.Sprintf("%s %T", verb, obj))
	return nil
}

func (m *mortal) wrap(c client.Client) client.Client {
	wc, ok := c.(client.WithWatch)
	if !ok {
		wc = watchless{c}
	}
	return interceptor.NewClient(wc, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			if err := m.may("create", obj); err != nil {
				return err
			}
			return c.Create(ctx, obj, opts...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
			if err := m.may("delete", obj); err != nil {
				return err
			}
			return c.Delete(ctx, obj, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			if err := m.may("patch", obj); err != nil {
				return err
			}
			return c.Patch(ctx, obj, patch, opts...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			if err := m.may("patch "+sub, obj); err != nil {
				return err
			}
			return c.SubResource(sub).Patch(ctx, obj, patch, opts...)
		},
	})
}

// watchless satisfies the interceptor; nothing watches through the manager's client.
type watchless struct{ client.Client }

func (watchless) Watch(context.Context, client.ObjectList, ...client.ListOption) (watch.Interface, error) {
	return nil, errors.New("the manager's client does not watch")
}

// TestKilledBetweenAnyTwoWrites kills the controller after every number of its writes. A fresh one converges to one Job,
// one VolumeSnapshot, one success and no leak (D5, C-14).
func TestKilledBetweenAnyTwoWrites(t *testing.T) {
	t.Parallel()
	for _, n := range killPoints {
		t.Run(fmt.Sprintf("after %d writes", n), func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.policy.Spec.CopyMethod = kopiurv1.CopySnapshot
			l.base()
			st := l.withStorage(storagev1.VolumeBindingImmediate)
			st.snapshotClass()
			st.set(func() { st.retain = true })

			m := &mortal{left: n, die: make(chan struct{})}
			l.WrapClient(m.wrap)
			first := l.StartController()
			l.ready()
			l.Create(l.snapshot)
			l.live(m)
			first.Stop()
			l.WrapClient(func(c client.Client) client.Client { return c })
			l.StartController()
			l.succeeds()
			l.nothingStaged()

			m.mu.Lock()
			t.Logf("the first controller did: %s", strings.Join(m.did, ", "))
			m.mu.Unlock()
			assert.Len(t, l.runs(), 1, "one mover")
			assert.Len(t, l.jobs(), 1, "one Job")
			assert.Equal(t, int32(1), l.snapshot.Status.Job.Attempts)
			assert.Len(t, st.seen(), 1, "one VolumeSnapshot")
			l.atRest()
		})
	}
}

// ready waits for the policy, so that the writes that count are those of the backup.
func (l *lab) ready() {
	l.t.Helper()
	require.EventuallyWithT(l.t, func(c *assert.CollectT) {
		l.GetC(c, l.policy)
		assert.Equal(c, metav1.ConditionTrue, policyCondition(l.policy, kopiurv1.ConditionReady).Status)
	}, testenv.Wait, testenv.Tick)
}

// live waits for the controller's death, or for the end of the backup if it lives through all its writes.
func (l *lab) live(m *mortal) {
	l.t.Helper()
	require.EventuallyWithT(l.t, func(c *assert.CollectT) {
		select {
		case <-m.die:
			return
		default:
		}
		l.GetC(c, l.snapshot)
		assert.Equal(c, kopiurv1.SnapshotSucceeded, l.snapshot.Status.Phase)
		assert.Nil(c, l.snapshot.Status.Staged)
		assert.NotEmpty(c, l.snapshot.Labels[kopiurv1.LabelSnapshotID])
	}, testenv.Wait, testenv.Tick)
}

// TestWritesOfOneBackup fails where a backup takes more writes than killPoints know of.
func TestWritesOfOneBackup(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.policy.Spec.CopyMethod = kopiurv1.CopySnapshot
	l.base()
	st := l.withStorage(storagev1.VolumeBindingImmediate)
	st.snapshotClass()
	st.set(func() { st.retain = true })
	m := &mortal{left: 1000, die: make(chan struct{})}
	l.WrapClient(m.wrap)
	l.StartController()
	l.ready()
	l.Create(l.snapshot)
	l.succeeds()
	l.nothingStaged()
	m.mu.Lock()
	defer m.mu.Unlock()
	t.Logf("%d writes: %s", len(m.did), strings.Join(m.did, ", "))
	require.LessOrEqual(t, len(m.did), maxWrites, "a backup became more talkative, or killPoints are too few")
	var jobs int
	for _, d := range m.did {
		if d == "create *v1.Job" {
			jobs++
		}
	}
	assert.Equal(t, 1, jobs)
}
