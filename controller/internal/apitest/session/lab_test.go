// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package session_test drives sessions in which somebody looks into backups, against a real API server.
package session_test

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kopiur/kopiur/apis/session"
	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/testenv"
	"github.com/kopiur/kopiur/controller/setup"
)

// Needs the API server of KOPIUR_TEST_KUBECONFIG.
func TestMain(m *testing.M) { os.Exit(testenv.Main(m)) }

const ttl = 15 * time.Minute

// lab is one repository, and movers that keep sessions until the test lets them go.
type lab struct {
	*testenv.Env

	t    *testing.T
	time *testenv.Time
	repo *kopiurv1.Repository
	// idle ends the sessions.
	idle chan struct{}
}

func newLab(t *testing.T, edit ...func(*kopiurv1.Repository)) *lab {
	t.Helper()
	l := &lab{Env: testenv.New(t), t: t, idle: make(chan struct{})}
	l.time = l.NewTime()
	l.play(testenv.Succeed)
	l.repo = &kopiurv1.Repository{ObjectMeta: metav1.ObjectMeta{Name: "nas"}}
	l.repo.Spec.Backend = kopiurv1.Backend{S3: &kopiurv1.S3Backend{Bucket: "backups"}}
	l.repo.Spec.Encryption.PasswordSecretRef.Name = "password"
	for _, f := range edit {
		f(l.repo)
	}
	l.Create(testenv.Secret("password", map[string]string{"KOPIA_PASSWORD": "x"}), l.repo)
	return l
}

// play is what movers do, but that those of sessions last until they are let go.
func (l *lab) play(play func(testenv.Call) testenv.Play) {
	l.Mover(func(c testenv.Call) testenv.Play {
		p := play(c)
		if c.Spec.Operation.Browse != nil && p.Result.Browse != nil {
			p.Hold = l.idle
		}
		return p
	})
}

// begin starts a controller that reads all times from the test's clock.
func (l *lab) begin(change ...func(*setup.Options)) *testenv.Controller {
	l.t.Helper()
	return l.StartController(append([]func(*setup.Options){l.time.Decisions, func(o *setup.Options) { o.ServerClock = l.time }}, change...)...)
}

// ready waits for the repository.
func (l *lab) ready(repo client.Object, status *kopiurv1.RepositoryStatus) {
	l.t.Helper()
	require.EventuallyWithT(l.t, func(c *assert.CollectT) {
		l.GetC(c, repo)
		assert.Equal(c, kopiurv1.RepositoryReady, status.Phase)
	}, testenv.Wait, testenv.Tick)
}

// ask is what kopiurctl does first.
func (l *lab) ask(ref kopiurv1.RepositoryRef) *corev1.ConfigMap {
	l.t.Helper()
	cm := session.Request{Repository: ref, TTL: ttl}.ConfigMap(l.Namespace)
	l.Create(cm)
	return cm
}

func (l *lab) ref() kopiurv1.RepositoryRef {
	return kopiurv1.RepositoryRef{Name: l.repo.Name}.In(l.Namespace)
}

// until waits for a state.
func (l *lab) until(cm *corev1.ConfigMap, state session.State) session.Answer {
	l.t.Helper()
	require.EventuallyWithT(l.t, func(c *assert.CollectT) {
		l.GetC(c, cm)
		assert.Equal(c, state, session.Read(cm).State, "%v", cm.Annotations)
	}, testenv.Wait, testenv.Tick)
	return session.Read(cm)
}

// refused asks, and says with which reason that was refused: "" where it was not. One that was is taken away, for the next
// question: the controller may not have seen yet what has changed.
func (l *lab) refused(ref kopiurv1.RepositoryRef) string {
	l.t.Helper()
	cm := l.ask(ref)
	require.EventuallyWithT(l.t, func(c *assert.CollectT) {
		l.GetC(c, cm)
		assert.NotEqual(c, session.Unseen, session.Read(cm).State)
	}, testenv.Wait, testenv.Tick)
	a := session.Read(cm)
	if a.State != session.Refused {
		return ""
	}
	require.NoError(l.t, l.Client.Delete(l.t.Context(), cm))
	return a.Reason
}

// gone waits until nothing is left of a session.
func (l *lab) gone(cm *corev1.ConfigMap) {
	l.t.Helper()
	require.EventuallyWithT(l.t, func(c *assert.CollectT) {
		err := l.Client.Get(l.t.Context(), client.ObjectKeyFromObject(cm), &corev1.ConfigMap{})
		assert.True(c, apierrors.IsNotFound(err), "the ConfigMap: %v", err)
		assert.Empty(c, l.jobs(c))
		var pods corev1.PodList
		require.NoError(c, l.Client.List(l.t.Context(), &pods, client.InNamespace(l.Namespace), client.MatchingLabels{kopiurv1.LabelSession: kopiurv1.SessionBrowse}))
		assert.Empty(c, pods.Items)
	}, testenv.Wait, testenv.Tick)
}

// jobs of sessions.
func (l *lab) jobs(t require.TestingT) []batchv1.Job {
	var list batchv1.JobList
	require.NoError(t, l.Client.List(l.t.Context(), &list, client.InNamespace(l.Namespace), client.MatchingLabels{kopiurv1.LabelSession: kopiurv1.SessionBrowse}))
	return list.Items
}

// told waits until describing the ConfigMap shows all of these.
func (l *lab) told(cm *corev1.ConfigMap, words ...string) {
	l.t.Helper()
	require.EventuallyWithT(l.t, func(c *assert.CollectT) {
		text := l.Describe(c, cm)
		for _, w := range words {
			assert.Contains(c, text, w)
		}
	}, testenv.Wait, testenv.Tick)
}
