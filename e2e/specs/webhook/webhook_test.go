// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package webhook

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/e2e/framework"
)

const (
	system = "kopiur-system"
	name   = "kopiur-webhook"
)

func deployment(t *testing.T, e *framework.Env) *appsv1.Deployment {
	t.Helper()
	d := &appsv1.Deployment{}
	require.NoError(t, e.Client.Get(t.Context(), client.ObjectKey{Namespace: system, Name: name}, d), "the webhook is part of every installation under test")
	return d
}

// scale changes the number of replicas and waits until no other pod is left.
func scale(t *testing.T, e *framework.Env, replicas int32) {
	t.Helper()
	d := deployment(t, e)
	before := d.DeepCopy()
	d.Spec.Replicas = &replicas
	require.NoError(t, e.Client.Patch(t.Context(), d, client.MergeFrom(before)))
	e.Eventually(t, fmt.Sprintf("%d webhooks", replicas), func(ctx context.Context) string {
		var pods corev1.PodList
		if err := e.Client.List(ctx, &pods, client.InNamespace(system), client.MatchingLabels{"app.kubernetes.io/component": "webhook"}); err != nil {
			return err.Error()
		}
		ready := 0
		for _, p := range pods.Items {
			for _, c := range p.Status.Conditions {
				if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
					ready++
				}
			}
		}
		if len(pods.Items) != int(replicas) || ready != int(replicas) {
			return fmt.Sprintf("%d pods, %d ready", len(pods.Items), ready)
		}
		return ""
	})
}

// answers waits until the webhook answers.
func answers(t *testing.T, e *framework.Env, ns string) {
	t.Helper()
	e.Eventually(t, "the webhook to answer", func(ctx context.Context) string {
		if err := e.Client.Create(ctx, framework.Repository(ns, "probe", framework.OnClaim("repo")), client.DryRunAll); err != nil {
			return err.Error()
		}
		return ""
	})
}

// hammer asks for an admission again and again until it is stopped. Not one may fail.
func hammer(t *testing.T, e *framework.Env, ns string) (stop func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	n := 0
	running.Go(func() {
		for ctx.Err() == nil {
			if err := e.Client.Create(ctx, framework.Repository(ns, "hammer", framework.OnClaim("repo")), client.DryRunAll); err != nil && ctx.Err() == nil {
				t.Errorf("request %d: %v", n, err)
			}
			n++
			select {
			case <-ctx.Done():
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return func() int {
		cancel()
		running.Wait()
		return n
	}
}

func TestAWrongManifestIsRefusedWithASentence(t *testing.T) {
	e := framework.New(t)
	ns := e.Namespace(t, nil)
	scale(t, e, 1)
	answers(t, e, ns)
	p := framework.Policy(ns, "data", "data", kopiurv1.CopySnapshot)
	p.Spec.Sources[0].SourcePathOverride = "relative"
	p.Spec.Preflight = &kopiurv1.Preflight{Timeout: "1d"}
	err := e.Client.Create(t.Context(), p)
	require.True(t, apierrors.IsInvalid(err), "%v", err)
	var status apierrors.APIStatus
	require.ErrorAs(t, err, &status)
	var fields []string
	for _, c := range status.Status().Details.Causes {
		fields = append(fields, c.Field)
		assert.NotEmpty(t, c.Message)
	}
	assert.Contains(t, fields, "spec.sources[0].sourcePathOverride")
	assert.Contains(t, fields, "spec.preflight.timeout")
}

// A Snapshot gets the labels of its policy, wherever it was written.
func TestASnapshotIsLabelled(t *testing.T) {
	e := framework.New(t)
	ns := e.Namespace(t, nil)
	scale(t, e, 1)
	answers(t, e, ns)
	s := &kopiurv1.Snapshot{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "data-1"}, Spec: kopiurv1.SnapshotSpec{PolicyRef: &kopiurv1.PolicyRef{Name: "data"}}}
	e.Create(t, s)
	assert.Equal(t, "data", s.Labels[kopiurv1.LabelConfig])
}

// While the webhook is down, what runs goes on and what goes can go.
func TestDown(t *testing.T) {
	e := framework.New(t)
	ns := e.Namespace(t, nil)
	r := e.FilesystemRepository(t, ns)
	scale(t, e, 0)
	// Not a clean-up: the test's context is over by then.
	defer func() {
		scale(t, e, 1)
		answers(t, e, ns)
	}()
	err := e.Client.Create(t.Context(), framework.Repository(ns, "new", framework.OnClaim("repo")))
	require.ErrorContains(t, err, `failed calling webhook "validate.kopiur.home-operations.com"`)
	before := r.DeepCopy()
	r.Spec.Suspend = true
	require.ErrorContains(t, e.Client.Patch(t.Context(), r, client.MergeFrom(before)), "failed calling webhook")

	// The controller's own status writes: a Secret that goes is noticed and its return, too.
	secret := &corev1.Secret{}
	require.NoError(t, e.Client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "password"}, secret))
	require.NoError(t, e.Client.Delete(t.Context(), secret))
	e.WaitCondition(t, r, kopiurv1.ConditionCredentialsAvailable, metav1.ConditionFalse, "")
	e.Create(t, framework.PasswordSecret(ns, "password", framework.Password))
	e.WaitCondition(t, r, kopiurv1.ConditionCredentialsAvailable, metav1.ConditionTrue, "")

	require.NoError(t, e.Client.Get(t.Context(), client.ObjectKeyFromObject(r), r))
	before = r.DeepCopy()
	r.Finalizers = append(r.Finalizers, "example.com/keep")
	r.Labels = map[string]string{"team": "shop"}
	require.NoError(t, e.Client.Patch(t.Context(), r, client.MergeFrom(before)), "labels and finalizers")
	require.NoError(t, e.Client.Delete(t.Context(), r))
	before = r.DeepCopy()
	r.Finalizers = nil
	require.NoError(t, e.Client.Patch(t.Context(), r, client.MergeFrom(before)))
	e.Eventually(t, "the repository to go", func(ctx context.Context) string {
		if err := e.Client.Get(ctx, client.ObjectKeyFromObject(r), r); !apierrors.IsNotFound(err) {
			return fmt.Sprintf("still there: %v", err)
		}
		return ""
	})
}

// A new version takes over from the old one, with one replica and with two, and no request is refused meanwhile.
func TestRestart(t *testing.T) {
	e := framework.New(t)
	ns := e.Namespace(t, nil)
	for _, replicas := range []int32{1, 2} {
		scale(t, e, replicas)
		answers(t, e, ns)
		stop := hammer(t, e, ns)
		d := deployment(t, e)
		before := d.DeepCopy()
		if d.Spec.Template.Annotations == nil {
			d.Spec.Template.Annotations = map[string]string{}
		}
		d.Spec.Template.Annotations["kopiur.test/restarted"] = time.Now().Format(time.RFC3339Nano)
		require.NoError(t, e.Client.Patch(t.Context(), d, client.MergeFrom(before)))
		e.Eventually(t, "the new pods", func(ctx context.Context) string {
			if err := e.Client.Get(ctx, client.ObjectKeyFromObject(d), d); err != nil {
				return err.Error()
			}
			if s := d.Status; s.ObservedGeneration < d.Generation || s.UpdatedReplicas != replicas || s.Replicas != replicas || s.AvailableReplicas != replicas {
				return fmt.Sprintf("%d updated of %d, %d available", s.UpdatedReplicas, s.Replicas, s.AvailableReplicas)
			}
			return ""
		})
		scale(t, e, replicas) // until the old pods are gone
		assert.Greater(t, stop(), 10, "requests were made")
	}
	scale(t, e, 1)
}

// The certificate's Secret and what the configurations trust come back by themselves.
func TestCertificateHeals(t *testing.T) {
	e := framework.New(t)
	ns := e.Namespace(t, nil)
	scale(t, e, 1)
	answers(t, e, ns)
	key := client.ObjectKey{Namespace: system, Name: name + "-tls"}
	old := &corev1.Secret{}
	require.NoError(t, e.Client.Get(t.Context(), key, old))
	assert.NotEmpty(t, old.Annotations[kopiurv1.AnnotationWebhookCertNotAfter])

	stop := hammer(t, e, ns)
	require.NoError(t, e.Client.Delete(t.Context(), old.DeepCopy()))
	e.Eventually(t, "another Secret", func(ctx context.Context) string {
		s := &corev1.Secret{}
		if err := e.Client.Get(ctx, key, s); err != nil {
			return err.Error()
		}
		if bytes.Equal(s.Data["ca.key"], old.Data["ca.key"]) {
			return "the same key"
		}
		return ""
	})
	framework.Pause(t.Context())
	assert.Greater(t, stop(), 10, "requests were made")

	// After the Secret went while nobody was there to notice.
	require.NoError(t, e.Client.Get(t.Context(), key, old))
	scale(t, e, 0)
	require.NoError(t, e.Client.Delete(t.Context(), old))
	scale(t, e, 1)
	answers(t, e, ns)

	c := &admissionv1.ValidatingWebhookConfiguration{}
	require.NoError(t, e.Client.Get(t.Context(), client.ObjectKey{Name: name}, c))
	c.Webhooks[0].ClientConfig.CABundle = nil
	require.NoError(t, e.Client.Update(t.Context(), c))
	scale(t, e, 1)
	answers(t, e, ns)
}
