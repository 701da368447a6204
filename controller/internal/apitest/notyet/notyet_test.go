// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package notyet_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// Needs the API server of KOPIUR_TEST_KUBECONFIG.
func TestMain(m *testing.M) { os.Exit(testenv.Main(m)) }

var daily = kopiurv1.CronSpec{Cron: "0 3 * * *"}

func mirror(name string, suspend bool) *kopiurv1.RepositoryReplication {
	return &kopiurv1.RepositoryReplication{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: kopiurv1.RepositoryReplicationSpec{
		SourceRef:   kopiurv1.RepositoryRef{Name: "nas"},
		Destination: kopiurv1.Backend{S3: &kopiurv1.S3Backend{Bucket: "offsite"}},
		Schedule:    daily, Suspend: suspend,
	}}
}

// subject is an object of one of the kinds.
type subject struct {
	obj        client.Object
	conditions *[]metav1.Condition
	generation *int64
}

func subjects(suffix string, suspend bool) map[string]subject {
	r := mirror("r"+suffix, suspend)
	return map[string]subject{
		"RepositoryReplication": {r, &r.Status.Conditions, &r.Status.ObservedGeneration},
	}
}

func untilStalled(t *testing.T, env *testenv.Env, s subject) {
	t.Helper()
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		require.NoError(c, env.Client.Get(t.Context(), client.ObjectKeyFromObject(s.obj), s.obj))
		assert.Equal(c, s.obj.GetGeneration(), *s.generation)
		for kind, want := range map[string]metav1.ConditionStatus{
			kopiurv1.ConditionReady: metav1.ConditionFalse, kopiurv1.ConditionReconciling: metav1.ConditionFalse,
			kopiurv1.ConditionStalled: metav1.ConditionTrue,
		} {
			cond := meta.FindStatusCondition(*s.conditions, kind)
			require.NotNil(c, cond, kind)
			assert.Equal(c, want, cond.Status, kind)
			assert.Equal(c, kopiurv1.ReasonNotYetSupported, cond.Reason)
			assert.Equal(c, s.obj.GetGeneration(), cond.ObservedGeneration)
			assert.Contains(c, cond.Message, "this version of Kopiur does not")
			assert.Contains(c, cond.Message, "until it does", "the message says what to do in its place")
		}
	}, testenv.Wait, testenv.Tick)
}

// TestKindsThatAreNotCarriedOutSaySo: an object that nothing works on must not look like one that works.
func TestKindsThatAreNotCarriedOutSaySo(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	old, live := subjects("-old", false), subjects("-live", false)
	for kind, s := range old {
		env.Create(s.obj)
		// Another version of Kopiur, which carries the kind out, left a verdict.
		base := s.obj.DeepCopyObject().(client.Object) //nolint:forcetypeassert // a copy has the type of its original
		*s.conditions = []metav1.Condition{{
			Type: kopiurv1.ConditionReady, Status: metav1.ConditionTrue, Reason: "Succeeded", Message: "all is well",
			LastTransitionTime: metav1.Now(),
		}}
		require.NoError(t, env.Client.Status().Patch(t.Context(), s.obj, client.MergeFrom(base)), kind)
		env.Create(live[kind].obj)
	}
	c := env.StartController()
	versions := map[string]string{}
	for kind := range old {
		untilStalled(t, env, old[kind])
		untilStalled(t, env, live[kind])
		assert.Nil(t, meta.FindStatusCondition(*live[kind].conditions, kopiurv1.ConditionSuspended))
		versions[kind] = live[kind].obj.GetResourceVersion()
	}
	untilWarned(t, env, live)

	t.Log("a controller that starts again writes nothing that is said already")
	c.Stop()
	env.StartController()
	for kind, s := range subjects("-late", false) {
		env.Create(s.obj)
		untilStalled(t, env, s) // it comes after the others in the queue
		env.Get(live[kind].obj)
		assert.Equal(t, versions[kind], live[kind].obj.GetResourceVersion(), kind)
	}
}

func untilWarned(t *testing.T, env *testenv.Env, of map[string]subject) {
	t.Helper()
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		var list corev1.EventList
		require.NoError(c, env.Client.List(t.Context(), &list, client.InNamespace(env.Namespace)))
		warned := map[string]bool{}
		for _, e := range list.Items {
			if e.Type == corev1.EventTypeWarning && e.Reason == kopiurv1.ReasonNotYetSupported {
				warned[e.InvolvedObject.Kind+"/"+e.InvolvedObject.Name] = true
			}
		}
		for kind, s := range of {
			assert.True(c, warned[kind+"/"+s.obj.GetName()], "%s in %v", kind, warned)
		}
	}, testenv.Wait, testenv.Tick)
}

func TestSuspendedOnesSaySoToo(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	all := subjects("", true)
	for _, s := range all {
		env.Create(s.obj)
	}
	env.StartController()
	for kind, s := range all {
		untilStalled(t, env, s)
		assert.True(t, meta.IsStatusConditionTrue(*s.conditions, kopiurv1.ConditionSuspended), kind)

		base := s.obj.DeepCopyObject().(client.Object) //nolint:forcetypeassert // a copy has the type of its original
		if o, ok := s.obj.(*kopiurv1.RepositoryReplication); ok {
			o.Spec.Suspend = false
		}
		require.NoError(t, env.Client.Patch(t.Context(), s.obj, client.MergeFrom(base)))
		untilStalled(t, env, s)
		assert.Nil(t, meta.FindStatusCondition(*s.conditions, kopiurv1.ConditionSuspended), kind)
	}
}
