// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package apitest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/validation"
)

// causes are the fields that an answer names, with its messages.
func causes(t *testing.T, err error) map[string]string {
	t.Helper()
	var status apierrors.APIStatus
	require.ErrorAs(t, err, &status)
	require.True(t, apierrors.IsInvalid(err), "%v", err)
	out := map[string]string{}
	for _, c := range status.Status().Details.Causes {
		out[c.Field] = c.Message
	}
	return out
}

// What a user gets to read who applies something wrong.
func TestRefusal(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.call(e.start())
	e.admits()
	m := object(e, "wrong", &kopiurv1.Maintenance{})
	m.Spec.Repository = kopiurv1.RepositoryRef{Name: "nas"}
	m.Spec.Ownership.Owner = "kopiur"
	m.Spec.Schedule = kopiurv1.MaintenanceSchedule{Quick: kopiurv1.CronSpec{Cron: "61 * * * *"}, Full: kopiurv1.CronSpec{Cron: "0 3 * * *"}, Timezone: "Mars/Olympus"}
	m.Annotations = map[string]string{kopiurv1.AnnotationRunRequested: "yes"}
	err := e.try(m)
	got := causes(t, err)
	assert.Len(t, got, 3, "every error at once: %v", err)
	assert.Contains(t, got["spec.schedule.quick.cron"], `Invalid value: "61 * * * *"`)
	assert.Contains(t, got["spec.schedule.timezone"], `Invalid value: "Mars/Olympus"`)
	assert.Contains(t, got["metadata.annotations[kopiur.home-operations.com/run-requested]"], "write an RFC 3339 time")
	require.ErrorContains(t, err, `admission webhook "validate.kopiur.home-operations.com" denied the request: Maintenance.kopiur.home-operations.com "wrong" is invalid:`)

	// What is asked for and not carried out yet is let in, and said.
	m.Spec.Schedule.Quick.Cron, m.Spec.Schedule.Timezone, m.Annotations = "0 * * * *", "", nil
	e.warnings.take()
	require.NoError(t, e.try(m))
	if len(validation.NotYetSupported(m)) > 0 {
		assert.Contains(t, join(e.warnings.take()), "does not maintain repositories")
	}

	// What only the present time says.
	r := e.repository("late")
	r.Annotations = map[string]string{kopiurv1.AnnotationAllowMassDeletion: "2099-01-01T00:00:00Z"}
	require.ErrorContains(t, e.try(r), "it lies in the future")
}

// A webhook that is down stops changes of what it would look at, and nothing else.
func TestWhileTheWebhookIsDown(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	replica := e.start()
	e.call(replica)
	e.admits()
	ctx := t.Context()
	r := e.repository("kept")
	r.Finalizers = []string{kopiurv1.FinalizerSnapshot}
	e.create(r)
	replica.stop()

	change := func(what string, f func(*kopiurv1.Repository)) error {
		got := r.DeepCopy()
		require.NoError(t, e.client.Get(ctx, client.ObjectKeyFromObject(r), got), what)
		before := got.DeepCopy()
		f(got)
		return e.client.Patch(ctx, got, client.MergeFrom(before))
	}
	const down = `failed calling webhook "validate.kopiur.home-operations.com"`
	require.ErrorContains(t, change("a spec", func(r *kopiurv1.Repository) { r.Spec.Suspend = true }), down)
	require.ErrorContains(t, change("our annotation", func(r *kopiurv1.Repository) {
		r.Annotations = map[string]string{kopiurv1.AnnotationAllowMassDeletion: "2026-03-05T09:00:00Z"}
	}), down)
	require.ErrorContains(t, e.client.Create(ctx, e.repository("new")), down)

	require.NoError(t, change("a label", func(r *kopiurv1.Repository) { r.Labels["team"] = "shop" }))
	require.NoError(t, change("somebody's annotation", func(r *kopiurv1.Repository) { r.Annotations = map[string]string{"example.com/note": "x"} }))
	status := r.DeepCopy()
	require.NoError(t, e.client.Get(ctx, client.ObjectKeyFromObject(r), status))
	status.Status.Phase = kopiurv1.RepositoryReady
	require.NoError(t, e.client.Status().Update(ctx, status))
	require.NoError(t, e.client.Delete(ctx, status))
	require.NoError(t, change("a finalizer", func(r *kopiurv1.Repository) { r.Finalizers = nil }))
	require.True(t, apierrors.IsNotFound(e.client.Get(ctx, client.ObjectKeyFromObject(r), status)), "it is gone")

	// The controller's own writes wait for nobody.
	controller := e.as("system:serviceaccount:kopiur-system:kopiur-controller")
	s := object(e, "scheduled", &kopiurv1.Snapshot{Spec: kopiurv1.SnapshotSpec{PolicyRef: &kopiurv1.PolicyRef{Name: "data"}}})
	require.NoError(t, controller.Create(ctx, s))
	require.NoError(t, controller.Delete(ctx, s))
}

// as is a client of somebody who may do anything.
func (e *env) as(user string) client.Client {
	e.t.Helper()
	cfg := rest.CopyConfig(e.config)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:masters"}}
	c, err := client.New(cfg, client.Options{Scheme: e.client.Scheme()})
	require.NoError(e.t, err)
	return c
}

// The removal of an annotation of ours is a change, too.
func TestARemovedAnnotationIsLookedAt(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	replica := e.start()
	e.call(replica)
	e.admits()
	r := e.repository("kept")
	r.Annotations = map[string]string{kopiurv1.AnnotationAllowMassDeletion: "2026-03-05T09:00:00Z"}
	e.create(r)
	replica.stop()
	before := r.DeepCopy()
	r.Annotations = nil
	require.ErrorContains(t, e.client.Patch(t.Context(), r, client.MergeFrom(before)), "failed calling webhook")
}

// I-7: what the webhook adds is no difference to whoever applies the manifest again.
//
//nolint:paralleltest // both ways apply the same object
func TestI7StampedLabelsAreNoDifference(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.call(e.start())
	e.admits()
	manifest := func() *kopiurv1.Snapshot {
		s := object(e, "data-1", &kopiurv1.Snapshot{Spec: kopiurv1.SnapshotSpec{PolicyRef: &kopiurv1.PolicyRef{Name: "data"}}})
		s.SetGroupVersionKind(kopiurv1.GroupVersion.WithKind("Snapshot"))
		return s
	}
	for name, apply := range map[string]func(*kopiurv1.Snapshot) error{
		"server-side": func(s *kopiurv1.Snapshot) error {
			return e.client.Patch(t.Context(), s, client.Apply, client.FieldOwner("flux")) //nolint:staticcheck // a typed object is what GitOps tools send
		},
		"client-side": func(s *kopiurv1.Snapshot) error {
			err := e.client.Create(t.Context(), s)
			if apierrors.IsAlreadyExists(err) {
				return e.client.Patch(t.Context(), s, client.Merge, client.FieldOwner("argocd"))
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			first := manifest()
			require.NoError(t, apply(first))
			assert.Equal(t, "data", first.Labels[kopiurv1.LabelConfig])
			assert.Equal(t, "data", first.Labels[kopiurv1.LabelPolicy])
			second := manifest()
			require.NoError(t, apply(second))
			assert.Equal(t, first.Labels, second.Labels)
			assert.Equal(t, first.ResourceVersion, second.ResourceVersion, "nothing was written")
			require.NoError(t, e.client.Delete(t.Context(), second))
		})
	}
}

// get asks a replica for a page of its health.
func (r *replica) get(ctx context.Context, path string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+r.health.String()+path, http.NoBody)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = errors.New(string(body))
	}
	return string(body), err
}

func TestReadiness(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	r := e.start()
	// Nobody has told API servers to call it yet, and it is ready to be called.
	e.eventually("readiness", func(ctx context.Context) error { _, err := r.get(ctx, "/readyz"); return err })
	for _, page := range []string{"/healthz", "/metrics"} {
		_, err := r.get(t.Context(), page)
		require.NoError(t, err, page)
	}
	s, err := e.secret(t.Context())
	require.NoError(t, err)
	assert.Equal(t, kopiurv1.ManagedByValue, s.Labels[kopiurv1.LabelManagedBy])
}

// What it may not do, it says; and what only lookups need, it waits for no longer than a moment.
func TestReadinessWithoutPermissions(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	clk := clocktesting.NewFakeClock(time.Now())
	e.clock = clk
	roles := []client.Object{
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: e.name + "-webhook-rbac"}},
		&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: e.name, Name: e.name + "-webhook-tls-rbac"}},
	}
	saved := &rbacv1.Role{}
	require.NoError(t, e.client.Get(t.Context(), client.ObjectKeyFromObject(roles[1]), saved))
	for _, role := range roles {
		require.NoError(t, e.client.Delete(t.Context(), role))
	}
	r := e.start()
	says := func(want string) {
		t.Helper()
		e.eventually(want, func(ctx context.Context) error {
			if _, err := r.get(ctx, "/readyz"); err == nil || !strings.Contains(err.Error(), want) {
				return fmt.Errorf("says %w", err)
			}
			return nil
		})
	}
	says(`cannot get resource "secrets"`)
	saved.ResourceVersion = ""
	require.NoError(t, e.client.Create(t.Context(), saved))
	e.eventually("a certificate", func(ctx context.Context) error {
		clk.Step(time.Second)
		_, err := e.secret(ctx)
		return err
	})
	e.eventually("readiness without lookups", func(ctx context.Context) error {
		clk.Step(15 * time.Second)
		_, err := r.get(ctx, "/readyz")
		return err
	})
}
