// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kopiur/kopiur/apis/session"
	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/testenv"
	"github.com/kopiur/kopiur/controller/setup"
)

// A session opens, says in which pod to ask, and is gone with all that belongs to it when nobody asks any more. A controller
// that starts meanwhile finds nothing to do.
func TestASessionOpensAndEnds(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	first := l.begin()
	l.ready(l.repo, &l.repo.Status)
	cm := l.ask(l.ref())
	a := l.until(cm, session.Open)
	assert.Equal(t, kopiurv1.ReasonSessionOpen, a.Reason)
	assert.NotEmpty(t, a.Pod)
	l.told(cm, "SessionOpen", "MoverStarting", "closed when none comes for 15m0s")

	jobs := l.jobs(t)
	require.Len(t, jobs, 1)
	assert.True(t, metav1.IsControlledBy(&jobs[0], cm), "deleting the ConfigMap ends the session")
	calls := l.CallsOf("browse")
	require.Len(t, calls, 1)
	assert.Equal(t, a.Pod, calls[0].Pod)
	assert.Equal(t, int64(ttl/time.Second), calls[0].Spec.Operation.Browse.SessionSeconds)

	first.Stop()
	l.begin()
	l.Quiet(cm, time.Second)
	close(l.idle)
	l.gone(cm)
	assert.Len(t, l.CallsOf("browse"), 1)
}

// What stands in the way of any mover stands in the way of a session, and describing its ConfigMap says what it is.
func TestASessionThatIsRefused(t *testing.T) {
	t.Parallel()
	namespace := func(l *lab) *corev1.Namespace {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: l.Namespace}}
	}
	for name, tc := range map[string]struct {
		// edit the repository before it is made, consent before and take back after it was connected to.
		edit    func(*kopiurv1.Repository)
		consent bool
		cm      func(*corev1.ConfigMap)
		reason  string
		says    string
	}{
		"a suspended repository": {
			edit: func(r *kopiurv1.Repository) { r.Spec.Suspend = true }, reason: kopiurv1.ReasonRepositoryNotReady, says: "is suspended",
		},
		"a repository that does not exist": {
			cm: func(cm *corev1.ConfigMap) {
				other := session.Request{Repository: kopiurv1.RepositoryRef{Kind: kopiurv1.KindClusterRepository, Name: "nobodys"}, TTL: ttl}.ConfigMap(cm.Namespace)
				cm.Name, cm.Data = other.Name, other.Data
			}, reason: kopiurv1.ReasonMissingDependency, says: "ClusterRepository nobodys does not exist",
		},
		"a ConfigMap that was made by hand": {
			cm: func(cm *corev1.ConfigMap) { cm.Data["ttl"] = "never" }, reason: kopiurv1.ReasonInvalidSpec, says: "ttl",
		},
		"root, and a consent that was taken back": {
			edit: func(r *kopiurv1.Repository) {
				r.Spec.MoverDefaults = &kopiurv1.MoverDefaults{SecurityContext: &corev1.SecurityContext{RunAsUser: new(int64(0))}}
			}, consent: true, reason: kopiurv1.ReasonPrivilegedMoverNotPermitted, says: kopiurv1.AnnotationPrivilegedMovers,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var edits []func(*kopiurv1.Repository)
			if tc.edit != nil {
				edits = append(edits, tc.edit)
			}
			l := newLab(t, edits...)
			if tc.consent {
				l.Annotate(namespace(l), kopiurv1.AnnotationPrivilegedMovers, "true")
			}
			l.begin()
			if !l.repo.Spec.Suspend {
				l.ready(l.repo, &l.repo.Status)
			}
			l.Annotate(namespace(l), kopiurv1.AnnotationPrivilegedMovers, "false")
			cm := session.Request{Repository: l.ref(), TTL: ttl}.ConfigMap(l.Namespace)
			if tc.cm != nil {
				tc.cm(cm)
			}
			l.Create(cm)
			a := l.until(cm, session.Refused)
			assert.Equal(t, tc.reason, a.Reason)
			assert.Contains(t, a.Message, tc.says)
			l.told(cm, "Warning "+a.Reason, a.Message)
			assert.Empty(t, l.jobs(t), "nothing was made")
			l.time.Step(session.Kept + time.Second)
			l.gone(cm)
			assert.Empty(t, l.CallsOf("browse"))
		})
	}
}

// The owner of a ClusterRepository says from where it is looked into, and whether its credentials are copied there.
func TestASessionOfASharedRepository(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	home := l.AddNamespace()
	l.Create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: "shared"}, StringData: map[string]string{"KOPIA_PASSWORD": "x"}})
	shared := &kopiurv1.ClusterRepository{ObjectMeta: metav1.ObjectMeta{Name: "shared-" + l.Namespace}}
	shared.Spec.Backend = kopiurv1.Backend{S3: &kopiurv1.S3Backend{Bucket: "shared"}}
	shared.Spec.Encryption.PasswordSecretRef = kopiurv1.SecretKeyRef{Name: "shared", Namespace: home}
	shared.Spec.AllowedNamespaces = kopiurv1.AllowedNamespaces{List: []string{home}}
	shared.Spec.CredentialProjection = &kopiurv1.ProjectionGate{Allowed: false}
	l.Create(shared)
	l.begin(func(o *setup.Options) { o.CredentialProjection = true })
	l.ready(shared, &shared.Status)
	ref := kopiurv1.RepositoryRef{Kind: kopiurv1.KindClusterRepository, Name: shared.Name}
	assert.Equal(t, kopiurv1.ReasonNamespaceNotAllowed, l.refused(ref))
	l.Change(shared, func() { shared.Spec.AllowedNamespaces = kopiurv1.AllowedNamespaces{All: new(true)} })
	require.Eventually(t, func() bool { return l.refused(ref) == kopiurv1.ReasonBlockedOnGrant }, testenv.Wait, testenv.Tick)
	l.Change(shared, func() { shared.Spec.CredentialProjection.Allowed = true })
	require.Eventually(t, func() bool { return l.refused(ref) == "" }, testenv.Wait, testenv.Tick)
	cm := session.Request{Repository: ref, TTL: ttl}.ConfigMap(l.Namespace)
	l.until(cm, session.Open)
	jobs := l.jobs(t)
	require.Len(t, jobs, 1)
	copied := ""
	for _, v := range jobs[0].Spec.Template.Spec.Volumes {
		if v.Secret != nil {
			copied = v.Secret.SecretName
		}
	}
	var secret corev1.Secret
	require.NoError(t, l.Client.Get(t.Context(), client.ObjectKey{Namespace: l.Namespace, Name: copied}, &secret))
	assert.Equal(t, kopiurv1.ComponentCredentials, secret.Labels[kopiurv1.LabelComponent])
	close(l.idle)
	l.gone(cm)
}

// A mover that cannot open the repository says why, in one attempt.
func TestASessionThatFails(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.play(func(c testenv.Call) testenv.Play {
		if c.Spec.Operation.Browse == nil {
			return testenv.Succeed(c)
		}
		p := testenv.Fail(c, work.CodeRepositoryUnavailable, "the store does not answer")
		p.Result.Browse = nil
		return p
	})
	l.begin()
	l.ready(l.repo, &l.repo.Status)
	cm := l.ask(l.ref())
	a := l.until(cm, session.Failed)
	assert.Equal(t, kopiurv1.ReasonSessionFailed, a.Reason)
	assert.Contains(t, a.Message, "the store does not answer")
	l.told(cm, "Warning SessionFailed", "the store does not answer")
	assert.Len(t, l.CallsOf("browse"), 1)
	assert.Len(t, l.jobs(t), 1, "its log can be read")
	l.time.Step(session.Kept + time.Second)
	l.gone(cm)
}

// No session gets older than all do, whoever asks.
func TestASessionHasAnAge(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.begin()
	l.ready(l.repo, &l.repo.Status)
	cm := l.ask(l.ref())
	l.until(cm, session.Open)
	l.time.Step(session.MaxAge + time.Minute)
	l.gone(cm)
}

// A Job that was deleted by hand is not made again behind the back of whoever did that.
func TestAJobThatWasDeleted(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.begin()
	l.ready(l.repo, &l.repo.Status)
	cm := l.ask(l.ref())
	l.until(cm, session.Open)
	jobs := l.jobs(t)
	require.Len(t, jobs, 1)
	require.NoError(t, l.Client.Delete(t.Context(), &jobs[0], client.PropagationPolicy(metav1.DeletePropagationBackground)))
	l.gone(cm)
	assert.Len(t, l.CallsOf("browse"), 1)
}

// Killed after any of its writes, a controller leaves what the next one brings to the same end: one mover, and nothing left.
func TestKilledAfterEveryWrite(t *testing.T) {
	t.Parallel()
	const most = 8 // the Job, two answers, the end of the Job, that of the ConfigMap; and what the repository makes of a mover
	for _, n := range testenv.KillPoints(most, 1, 2, 3, 4, 5) {
		t.Run(fmt.Sprintf("write %d", n), func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			before := l.begin()
			l.ready(l.repo, &l.repo.Status)
			before.Stop() // only the session is left to do
			kill := l.KillAfter(n)
			first := l.begin()
			cm := l.ask(l.ref())
			released := false
			release := func() bool { // reports whether the session has come to its end
				err := l.Client.Get(t.Context(), client.ObjectKeyFromObject(cm), cm)
				if err == nil && session.Read(cm).State == session.Open && !released {
					released = true
					close(l.idle)
				}
				return client.IgnoreNotFound(err) == nil && err != nil
			}
			require.Eventually(t, func() bool {
				select {
				case <-kill.Dead():
					return true
				default:
					return release()
				}
			}, testenv.Wait, testenv.Tick, "%v", kill.Writes())
			first.Stop()
			kill.Survives(t, n, most)
			l.Spare()
			l.begin()
			require.Eventually(t, release, testenv.Wait, testenv.Tick)
			l.gone(cm)
			assert.Len(t, l.CallsOf("browse"), 1, "after %v", kill.Writes())
		})
	}
}
