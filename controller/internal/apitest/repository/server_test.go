// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package repository_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
	"github.com/kopiur/kopiur/controller/internal/testenv"
	"github.com/kopiur/kopiur/controller/setup"
)

func serving(o *setup.Options) {
	testenv.OnlyWatches(o)
	o.ServerImage = "localhost/kopiur/ui:test"
}

// ui are the objects of a repository's web UI.
type ui struct {
	deployment  *appsv1.Deployment
	service     *corev1.Service
	auth, creds *corev1.Secret
}

func uiOf(r *repository, namespace string) ui {
	at := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: namespace, Name: name} }
	name := r.GetName()
	return ui{
		&appsv1.Deployment{ObjectMeta: at(moverjob.ServerName(name))}, &corev1.Service{ObjectMeta: at(moverjob.ServerName(name))},
		&corev1.Secret{ObjectMeta: at(moverjob.ServerAuthSecret(name))}, &corev1.Secret{ObjectMeta: at(moverjob.ServerCredentials(name))},
	}
}

// says waits for the reason of condition ServerAvailable.
func (r *repository) says(t *testing.T, env *testenv.Env, reason string) metav1.Condition {
	t.Helper()
	var out metav1.Condition
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		env.GetC(c, r.Object)
		out = testenv.Condition(r.status.Conditions, kopiurv1.ConditionServerAvailable)
		require.Equal(c, reason, out.Reason, out.Message)
	}, testenv.Wait, testenv.Tick)
	return out
}

// answers plays the Deployment's controller: the pods of its latest generation answer.
func answers(t *testing.T, env *testenv.Env, d *appsv1.Deployment) {
	t.Helper()
	env.Get(d)
	base := d.DeepCopy() // the controller may write the Deployment at any time
	d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1}
	require.NoError(t, env.Client.Status().Patch(t.Context(), d, client.MergeFrom(base)))
}

func gone(t *testing.T, env *testenv.Env, objs ...client.Object) {
	t.Helper()
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		for _, o := range objs {
			err := env.Client.Get(t.Context(), client.ObjectKeyFromObject(o), o)
			assert.True(c, apierrors.IsNotFound(err), "%T %s is left", o, o.GetName())
		}
	}, testenv.Wait, testenv.Tick)
}

// served starts the controller and waits for a repository with a web UI.
func served(t *testing.T, env *testenv.Env, r *repository) (ui, string) {
	t.Helper()
	namespace := env.Namespace
	if _, cluster := r.Object.(*kopiurv1.ClusterRepository); cluster {
		namespace = env.AddNamespace()
		r.spec.Server.Namespace = namespace
	}
	env.Create(r.Object)
	env.StartController(serving)
	r.says(t, env, kopiurv1.ReasonServerStarting)
	u := uiOf(r, namespace)
	env.Get(u.deployment)
	env.Get(u.service)
	return u, namespace
}

// TestServer: the life of a web UI, from the first connect to the end of spec.server. Nothing but watches wakes it.
func TestServer(t *testing.T) {
	t.Parallel()
	bothKinds(t, func(t *testing.T, env *testenv.Env, r *repository) {
		t.Helper()
		r.spec.Server = &kopiurv1.ServerSpec{}
		u, namespace := served(t, env, r)
		_, cluster := r.Object.(*kopiurv1.ClusterRepository)
		env.Get(u.auth)
		assert.Equal(t, "kopia", string(u.auth.Data["username"]))
		password := string(u.auth.Data["password"])
		assert.Greater(t, len(password), 20)
		assert.Equal(t, "localhost/kopiur/ui:test", u.deployment.Spec.Template.Spec.Containers[0].Image)
		assert.Equal(t, appsv1.RecreateDeploymentStrategyType, u.deployment.Spec.Strategy.Type)
		assert.Equal(t, map[string]string{
			"app.kubernetes.io/name": "kopiur-server", "app.kubernetes.io/instance": r.GetName(), kopiurv1.LabelOwnerUID: string(r.GetUID()),
		}, u.service.Spec.Selector)
		assert.Equal(t, cluster, len(u.deployment.OwnerReferences) == 0)
		if cluster {
			env.Get(u.creds)
			assert.Equal(t, map[string][]byte{"KOPIA_PASSWORD": []byte("correct horse"), "AWS_ACCESS_KEY_ID": []byte("a"), "AWS_SECRET_ACCESS_KEY": []byte("b")}, u.creds.Data)
			assert.Contains(t, r.GetFinalizers(), kopiurv1.FinalizerServer)
		}

		answers(t, env, u.deployment)
		r.says(t, env, kopiurv1.ReasonServerAvailable)
		assert.Equal(t, &kopiurv1.ServerStatus{
			Endpoint: moverjob.ServerName(r.GetName()) + "." + namespace + ".svc:51515", Namespace: namespace, AuthMode: kopiurv1.ServerAuthGenerate,
			GeneratedSecretRef: &kopiurv1.SecretRef{Name: u.auth.Name, Namespace: namespace},
		}, r.status.Server)

		// Another user and port, read-only: the password stays.
		env.Change(r.Object, func() {
			r.spec.Server.ReadOnly = new(true)
			r.spec.Server.Auth = &kopiurv1.ServerAuth{Generate: &kopiurv1.ServerGenerate{Username: "admin"}}
			r.spec.Server.Service = &kopiurv1.ServerService{Type: corev1.ServiceTypeNodePort, Port: new(int32(80)), Annotations: map[string]string{"example.org/a": "1"}}
		})
		require.EventuallyWithT(t, func(c *assert.CollectT) {
			env.GetC(c, u.deployment)
			env.GetC(c, u.service)
			env.GetC(c, u.auth)
			assert.Contains(c, u.deployment.Spec.Template.Spec.Containers[0].Env[0].Value, `"readOnly":true`)
			assert.Equal(c, int32(80), u.service.Spec.Ports[0].Port)
			assert.Equal(c, "admin", string(u.auth.Data["username"]))
		}, testenv.Wait, testenv.Tick)
		assert.Equal(t, password, string(u.auth.Data["password"]), "it is in people's heads")
		port := u.service.Spec.Ports[0].NodePort
		assert.NotZero(t, port)

		// What others write on the Service stays; an annotation that is taken away goes; so does nothing that was given out.
		env.Annotate(u.service, "cloud.example.org/ip", "192.0.2.1")
		env.Change(r.Object, func() { r.spec.Server.Service.Annotations = nil })
		require.EventuallyWithT(t, func(c *assert.CollectT) {
			env.GetC(c, u.service)
			assert.NotContains(c, u.service.Annotations, "example.org/a")
			assert.Equal(c, "192.0.2.1", u.service.Annotations["cloud.example.org/ip"])
			assert.Equal(c, port, u.service.Spec.Ports[0].NodePort)
		}, testenv.Wait, testenv.Tick)

		// New credentials of the repository start it anew.
		before := u.deployment.Spec.Template.Annotations[kopiurv1.AnnotationServerCredentials]
		r.touch(env, "keys")
		require.EventuallyWithT(t, func(c *assert.CollectT) {
			env.GetC(c, u.deployment)
			assert.NotEqual(c, before, u.deployment.Spec.Template.Annotations[kopiurv1.AnnotationServerCredentials])
		}, testenv.Wait, testenv.Tick)

		// What is deleted by hand comes again.
		require.NoError(t, env.Client.Delete(t.Context(), u.service))
		require.EventuallyWithT(t, func(c *assert.CollectT) { env.GetC(c, uiOf(r, namespace).service) }, testenv.Wait, testenv.Tick)

		// Suspended it is stopped.
		env.Change(r.Object, func() { r.spec.Suspend = true })
		r.says(t, env, kopiurv1.ReasonSuspended)
		require.EventuallyWithT(t, func(c *assert.CollectT) {
			env.GetC(c, u.deployment)
			assert.Zero(c, *u.deployment.Spec.Replicas)
		}, testenv.Wait, testenv.Tick)

		// Without spec.server nothing is left.
		env.Change(r.Object, func() { r.spec.Server = nil })
		gone(t, env, u.deployment, u.service, u.auth, u.creds)
		require.EventuallyWithT(t, func(c *assert.CollectT) {
			env.GetC(c, r.Object)
			assert.Nil(c, r.status.Server)
			assert.Empty(c, testenv.Condition(r.status.Conditions, kopiurv1.ConditionServerAvailable))
			assert.NotContains(c, r.GetFinalizers(), kopiurv1.FinalizerServer)
		}, testenv.Wait, testenv.Tick)
	})
}

// A ClusterRepository that is deleted takes its web UI away first, which is in another namespace; so does one whose server
// moves.
func TestServerOfAClusterRepositoryGoesWithIt(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	elsewhere := env.AddNamespace()
	env.Create(secrets()...)
	cr := offsite(env)
	r := &repository{Object: cr, spec: &cr.Spec.RepositorySpec, status: &cr.Status, home: env.Namespace}
	r.spec.Server = &kopiurv1.ServerSpec{}
	u, _ := served(t, env, r)
	env.Change(cr, func() { r.spec.Server.Namespace = elsewhere })
	gone(t, env, u.deployment, u.service, u.auth, u.creds)
	u = uiOf(r, elsewhere)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		env.GetC(c, u.deployment)
		env.GetC(c, u.service)
		env.GetC(c, u.auth)
		env.GetC(c, u.creds)
	}, testenv.Wait, testenv.Tick)
	require.NoError(t, env.Client.Delete(t.Context(), cr))
	gone(t, env, cr, u.deployment, u.service, u.auth, u.creds)
}

// What stands in the way is said, and nothing is made.
func TestServerIsNotMade(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		prepare func(env *testenv.Env, r *repository)
		options func(*setup.Options)
		reason  string
		message string
	}{
		"where the installation serves none": {
			func(*testenv.Env, *repository) {}, testenv.OnlyWatches, kopiurv1.ReasonServerNotEnabled, "features.kopiaUi.enabled",
		},
		"without the Secret that it names": {
			func(_ *testenv.Env, r *repository) {
				r.spec.Server.Auth = &kopiurv1.ServerAuth{SecretRef: &kopiurv1.ServerSecretRef{Name: "people", UsernameKey: "user", PasswordKey: "pass"}}
			}, serving, kopiurv1.ReasonMissingCredentialsSecret, "with the keys user and pass",
		},
		"beside a claim of one node": {
			func(env *testenv.Env, r *repository) {
				env.Create(testenv.Claim("share"))
				r.spec.Backend = kopiurv1.Backend{Filesystem: &kopiurv1.FilesystemBackend{Path: "/r", Volume: &kopiurv1.RepositoryVolume{PVC: &kopiurv1.LocalRef{Name: "share"}}}}
			}, serving, kopiurv1.ReasonServerVolumeNotShared, "ReadWriteMany",
		},
		"as root without the namespace's consent": {
			func(_ *testenv.Env, r *repository) {
				r.spec.Server.SecurityContext = &corev1.SecurityContext{RunAsUser: new(int64(0))}
			}, serving, kopiurv1.ReasonPrivilegedMoverNotPermitted, "uid 0",
		},
		"over a Service of somebody else": {
			func(env *testenv.Env, _ *repository) {
				env.Create(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "nas-kopia-ui"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 1}}}})
			}, serving, kopiurv1.ReasonServerNameTaken, "Service",
		},
		"over a Secret of somebody else": {
			func(env *testenv.Env, _ *repository) {
				env.Create(testenv.Secret("nas-kopia-ui-auth", map[string]string{"password": "mine"}))
			}, serving, kopiurv1.ReasonServerNameTaken, "nas-kopia-ui-auth",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := testenv.New(t)
			env.Create(secrets()...)
			n := nas()
			n.Spec.Server = &kopiurv1.ServerSpec{}
			r := &repository{Object: n, spec: &n.Spec, status: &n.Status, home: env.Namespace}
			tc.prepare(env, r)
			env.Create(n)
			env.StartController(tc.options)
			got := r.says(t, env, tc.reason)
			assert.Equal(t, metav1.ConditionFalse, got.Status)
			assert.Contains(t, got.Message, tc.message)
			r.expect(t, env, kopiurv1.RepositoryReady, kopiurv1.ReasonReachable)
			err := env.Client.Get(t.Context(), client.ObjectKey{Namespace: env.Namespace, Name: "nas-kopia-ui"}, &appsv1.Deployment{})
			assert.True(t, apierrors.IsNotFound(err))
			if name == "over a Secret of somebody else" {
				s := testenv.Secret("nas-kopia-ui-auth", nil)
				s.Namespace = env.Namespace
				env.Get(s)
				assert.Equal(t, "mine", string(s.Data["password"]))
			}
		})
	}
}

// The Secret that it names wakes it, once it is there.
func TestServerWithAPasswordOfYours(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	env.Create(secrets()...)
	n := nas()
	n.Spec.Server = &kopiurv1.ServerSpec{Auth: &kopiurv1.ServerAuth{SecretRef: &kopiurv1.ServerSecretRef{Name: "people", UsernameKey: "user", PasswordKey: "pass"}}}
	r := &repository{Object: n, spec: &n.Spec, status: &n.Status, home: env.Namespace}
	env.Create(n)
	env.StartController(serving)
	r.says(t, env, kopiurv1.ReasonMissingCredentialsSecret)
	env.Create(testenv.Secret("people", map[string]string{"user": "ann", "pass": "x"}))
	r.says(t, env, kopiurv1.ReasonServerStarting)
	u := uiOf(r, env.Namespace)
	env.Get(u.deployment)
	assert.Contains(t, u.deployment.Spec.Template.Spec.Containers[0].Env[0].Value, `"usernameKey":"user","passwordKey":"pass"`)
	gone(t, env, u.auth)

	// Its pod says what is wrong when it ends.
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "ui-1", Labels: u.deployment.Spec.Template.Labels},
		Spec:       u.deployment.Spec.Template.Spec,
	}
	env.Create(pod)
	said, err := work.EncodeResult(work.Result{Operation: "ui", Code: work.CodeAuthFailure, Message: "the repository refuses the password"})
	require.NoError(t, err)
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "ui", LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: 20, Message: string(said),
	}}}}
	require.NoError(t, env.Client.Status().Update(t.Context(), pod))
	assert.Contains(t, r.says(t, env, kopiurv1.ReasonServerFailed).Message, "the repository refuses the password")
}
