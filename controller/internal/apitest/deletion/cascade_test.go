// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

func schedule() *kopiurv1.SnapshotSchedule {
	s := &kopiurv1.SnapshotSchedule{ObjectMeta: metav1.ObjectMeta{Name: "nightly"}}
	s.Spec.PolicyRef = &kopiurv1.PolicyRef{Name: "web"}
	s.Spec.Schedule.Cron = "0 2 * * *"
	return s
}

// madeBy makes Snapshots those of a schedule.
func madeBy(o *kopiurv1.SnapshotSchedule, then kopiurv1.CascadePolicy) func(int, *kopiurv1.Snapshot) {
	return func(_ int, s *kopiurv1.Snapshot) {
		s.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: kopiurv1.GroupVersion.String(), Kind: "SnapshotSchedule", Name: o.Name, UID: o.UID,
		}}
		s.Labels = map[string]string{kopiurv1.LabelSchedule: o.Name, kopiurv1.LabelOrigin: kopiurv1.OriginScheduled}
		s.Spec.OnScheduleDelete, s.Status.Origin = then, kopiurv1.OriginScheduled
	}
}

// TestARemovedScheduleDeletesNoData: the objects go with it, the data stays. A schedule that is made anew under the same
// name is another one (D-1).
func TestARemovedScheduleDeletesNoData(t *testing.T) {
	t.Parallel()
	for name, anew := range map[string]bool{"for good": false, "and made anew": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.base()
			s := schedule()
			l.Create(s)
			list := l.stored(50, madeBy(s, ""))
			l.run()
			require.NoError(t, l.Client.Delete(t.Context(), s))
			if anew {
				l.Create(schedule())
			}
			l.remove(list...) // what the garbage collector does
			l.gone(list...)
			l.untouched()
		})
	}
}

// TestAScheduleThatTakesItsDataAlong says so on each Snapshot, and is held like anybody.
func TestAScheduleThatTakesItsDataAlong(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.base()
	s := schedule()
	s.Spec.Deletion = &kopiurv1.ScheduleDeletion{OnScheduleDelete: kopiurv1.CascadeDelete} // or it would be taken back on its Snapshots
	l.Create(s)
	list := l.stored(12, madeBy(s, kopiurv1.CascadeDelete))
	l.run()
	require.NoError(t, l.Client.Delete(t.Context(), s))
	l.remove(list...)
	l.held(list...)
	l.untouched()
	l.acknowledge()
	l.gone(list...)
	assert.Len(t, l.deleted(), 12)
}

// TestARemovedPolicyLeavesDataAndObjects, and its Snapshots can be deleted afterwards: their data stays unless they say
// otherwise themselves. Nothing hangs (D-4).
func TestARemovedPolicyLeavesDataAndObjects(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.base()
	list := l.stored(3, func(i int, s *kopiurv1.Snapshot) {
		if i == 2 {
			s.Spec.DeletionPolicy = kopiurv1.DeletionDelete
		}
	})
	l.run()
	require.NoError(t, l.Client.Delete(t.Context(), l.policy))
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		assert.True(c, apierrors.IsNotFound(l.Client.Get(t.Context(), client.ObjectKeyFromObject(l.policy), l.policy)), "it is not held up")
	}, testenv.Wait, testenv.Tick)
	for _, s := range list {
		l.Get(s)
		assert.Nil(t, s.DeletionTimestamp)
	}
	l.remove(list...)
	l.gone(list[:2]...)
	l.waits(kopiurv1.ConditionReady, metav1.ConditionFalse, kopiurv1.ReasonDeletionQueued, list[2])
	l.quiet()
	l.gone(list[2])
	require.Len(t, l.deleted(), 1)
	assert.Equal(t, "k002", l.deleted()[0].SnapshotID)
}

// TestAPolicyThatTakesItsDataAlong writes its wish on each Snapshot and does not wait for them: they know what to do when
// it is gone. Those that it would not delete one by one stay. All of it is held.
func TestAPolicyThatTakesItsDataAlong(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.policy.Spec.Deletion = &kopiurv1.PolicyDeletion{OnPolicyDelete: kopiurv1.CascadeDelete}
	l.base()
	list := l.stored(14, func(i int, s *kopiurv1.Snapshot) {
		switch i {
		case 0:
			s.Spec.DeletionPolicy = kopiurv1.DeletionRetain
		case 1:
			s.Status.Origin = kopiurv1.OriginAdopted
		}
	})
	stay, along := list[:2], list[2:]
	l.run()
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		l.GetC(c, l.policy)
		assert.Contains(c, l.policy.Finalizers, kopiurv1.FinalizerPolicy)
	}, testenv.Wait, testenv.Tick)
	require.NoError(t, l.Client.Delete(t.Context(), l.policy))
	l.held(along...)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		assert.True(c, apierrors.IsNotFound(l.Client.Get(t.Context(), client.ObjectKeyFromObject(l.policy), l.policy)))
	}, testenv.Wait, testenv.Tick)
	for _, s := range along {
		assert.Equal(t, kopiurv1.PrunedByPolicyCascade, s.Annotations[kopiurv1.AnnotationPrunedBy])
	}
	for _, s := range stay {
		l.Get(s)
		assert.Nil(t, s.DeletionTimestamp)
	}
	l.untouched()
	l.acknowledge()
	l.gone(along...)
	assert.Len(t, l.deleted(), 12)
}

// TestAPolicyThatChangedItsMind has no finalizer and takes nothing along.
func TestAPolicyThatChangedItsMind(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.policy.Spec.Deletion = &kopiurv1.PolicyDeletion{OnPolicyDelete: kopiurv1.CascadeDelete}
	l.base()
	list := l.stored(1)
	l.run()
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		l.GetC(c, l.policy)
		assert.Contains(c, l.policy.Finalizers, kopiurv1.FinalizerPolicy)
	}, testenv.Wait, testenv.Tick)
	l.Change(l.policy, func() { l.policy.Spec.Deletion.OnPolicyDelete = kopiurv1.CascadeRetain })
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		l.GetC(c, l.policy)
		assert.NotContains(c, l.policy.Finalizers, kopiurv1.FinalizerPolicy)
	}, testenv.Wait, testenv.Tick)
	require.NoError(t, l.Client.Delete(t.Context(), l.policy))
	l.Get(list[0])
	assert.Nil(t, list[0].DeletionTimestamp)
}

// end makes a namespace terminate. There is no controller here that empties it: the test does, in its own order.
func (l *lab) end(namespace string) {
	l.t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	require.NoError(l.t, l.Client.Delete(l.t.Context(), ns))
}

// TestANamespaceThatEnds neither hangs nor deletes stored data, whatever goes first (D-9).
func TestANamespaceThatEnds(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]func(l *lab) []client.Object{
		"Snapshots first":         func(*lab) []client.Object { return nil },
		"Secrets first":           func(l *lab) []client.Object { return []client.Object{l.password} },
		"policies first":          func(l *lab) []client.Object { return []client.Object{l.policy} },
		"repositories first":      func(l *lab) []client.Object { return []client.Object{l.repository} },
		"everything else first":   func(l *lab) []client.Object { return []client.Object{l.password, l.policy, l.repository} },
		"a policy with a wish":    func(l *lab) []client.Object { return []client.Object{l.policy} },
		"onNamespaceDelete there": func(*lab) []client.Object { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			switch name {
			case "a policy with a wish":
				l.policy.Spec.Deletion = &kopiurv1.PolicyDeletion{OnPolicyDelete: kopiurv1.CascadeDelete}
			case "onNamespaceDelete there":
				// Nothing can be started in the namespace any more.
				l.repository.Spec.OnNamespaceDelete = kopiurv1.NamespaceDelete
			}
			l.base()
			list := l.stored(12, func(i int, s *kopiurv1.Snapshot) {
				if i%2 == 0 {
					s.Spec.DeletionPolicy = kopiurv1.DeletionDelete
				}
			})
			l.run()
			l.end(l.Namespace)
			for _, obj := range first(l) {
				require.NoError(t, l.Client.Delete(t.Context(), obj))
			}
			l.remove(list...)
			l.gone(list...)
			l.untouched()
			l.remove() // the policy's finalizer is gone as well
			require.EventuallyWithT(t, func(c *assert.CollectT) {
				_ = l.Client.Delete(t.Context(), l.policy)
				assert.True(c, apierrors.IsNotFound(l.Client.Get(t.Context(), client.ObjectKeyFromObject(l.policy), l.policy)))
			}, testenv.Wait, testenv.Tick)
		})
	}
}

// TestANamespaceThatMayTakeDataAlong: the repository is a ClusterRepository whose owner said onNamespaceDelete: Delete, and
// it has a namespace of its own to work in. What each Snapshot's run resolved decides where its policy is gone.
func TestANamespaceThatMayTakeDataAlong(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	home := l.AddNamespace()
	password := l.password.DeepCopy()
	password.Namespace = home
	r := &kopiurv1.ClusterRepository{ObjectMeta: metav1.ObjectMeta{Name: "c-" + l.Namespace}}
	r.Spec.RepositorySpec = l.repository.Spec
	r.Spec.Encryption.PasswordSecretRef.Namespace = home
	r.Spec.OnNamespaceDelete = kopiurv1.NamespaceDelete
	r.Spec.AllowedNamespaces.All = new(true)
	l.policy.Spec.Repository = &kopiurv1.RepositoryRef{Kind: kopiurv1.KindClusterRepository, Name: r.Name}
	l.Create(password, l.policy, r)
	list := l.stored(3, func(i int, s *kopiurv1.Snapshot) {
		s.Status.Resolved.Repository = l.policy.Spec.Repository
		if i == 2 {
			s.Status.Resolved.DeletionPolicy = kopiurv1.DeletionRetain
		}
	})
	l.StartController(l.clocks)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		l.GetC(c, r)
		assert.Equal(c, kopiurv1.RepositoryReady, r.Status.Phase)
	}, testenv.Wait, testenv.Tick)
	l.end(l.Namespace)
	require.NoError(t, l.Client.Delete(t.Context(), l.policy))
	l.remove(list...)
	l.gone(list[2])
	l.waits(kopiurv1.ConditionReady, metav1.ConditionFalse, kopiurv1.ReasonDeletionQueued, list[:2]...)
	l.quiet()
	l.gone(list...)
	require.Len(t, l.deletions(), 1)
	assert.Equal(t, home, l.deletions()[0].Namespace, "where the repository is at home")
	assert.Len(t, l.deleted(), 2)
}

// TestARepositoryThatIsGone leaves the data: nobody knows the way to it.
func TestARepositoryThatIsGone(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.base()
	list := l.stored(12)
	l.run()
	require.NoError(t, l.Client.Delete(t.Context(), l.repository))
	l.remove(list...)
	l.gone(list...)
	l.untouched()
}

// TestASecretThatIsGone is waited for by name: the namespace lives, so the data is wanted deleted. It goes on when the
// Secret is back, and a person can let the object go.
func TestASecretThatIsGone(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.base()
	list := l.stored(2)
	l.run()
	require.NoError(t, l.Client.Delete(t.Context(), l.password))
	l.remove(list...)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		for _, s := range list {
			l.GetC(c, s)
			assert.Contains(c, []string{kopiurv1.ReasonMissingCredentialsSecret, kopiurv1.ReasonRepositoryNotReady}, condition(s, kopiurv1.ConditionReady).Reason)
		}
	}, testenv.Wait, testenv.Tick)
	l.untouched()
	l.Annotate(list[0], kopiurv1.AnnotationSkipSnapshotCleanup, "")
	l.gone(list[0])
	l.Create(testenv.Secret("password", map[string]string{"KOPIA_PASSWORD": "x"}))
	l.quiet()
	l.gone(list[1])
	assert.Len(t, l.deleted(), 1)
}
