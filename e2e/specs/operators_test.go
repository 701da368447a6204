// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package specs

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/e2e/framework"
)

// operator runs a controller that sees one namespace and nothing of the others, until the test ends.
func operator(t *testing.T, e *framework.Env, namespace string) {
	t.Helper()
	from := controller()
	require.NoError(t, e.Client.Get(t.Context(), client.ObjectKeyFromObject(from), from))
	labels := map[string]string{"operator-of": namespace}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: from.Namespace, Name: "operator-" + namespace}}
	d.Spec = appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: *from.Spec.Template.DeepCopy()}
	d.Spec.Template.Labels = labels
	d.Spec.Template.Spec.TerminationGracePeriodSeconds = new(int64(0))
	d.Spec.Template.Spec.Containers[0].Args = []string{"--leader-elect=false", "--watch-namespaces=" + namespace}
	e.Create(t, d)
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if err := e.Client.Delete(ctx, d, client.PropagationPolicy(metav1.DeletePropagationForeground)); err != nil {
			t.Errorf("delete the operator of %s: %v", namespace, err)
		}
	})
	e.Eventually(t, "the operator of "+namespace, func(ctx context.Context) string {
		if err := e.Client.Get(ctx, client.ObjectKeyFromObject(d), d); err != nil {
			return err.Error()
		}
		if d.Status.ReadyReplicas == 0 {
			return "it is not ready"
		}
		return ""
	})
}

// H-1: TestTwoOperatorsOnOneRepository: two controllers that know nothing of each other store into one place in a bucket,
// each under the name of its cluster. Retention deletes each one's own, neither shows or takes over what is the other's,
// and both can restore what they have stored. Not parallel: it stops the controller that all others use.
func TestTwoOperatorsOnOneRepository(t *testing.T) {
	e := framework.New(t)
	home := e.Namespace(t, nil)
	endpoint := e.S3Server(t, home)
	t.Cleanup(func() {
		again := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":1}}`))
		if err := e.Client.Patch(context.WithoutCancel(t.Context()), controller(), again); err != nil {
			t.Errorf("start the controller again: %v", err)
		}
	})
	controllerDeployment(t, e, 0)

	type cluster struct {
		ns, name string
		repo     *kopiurv1.Repository
		policy   *kopiurv1.SnapshotPolicy
	}
	var clusters []*cluster
	for _, name := range []string{"east", "west"} {
		c := &cluster{ns: e.Namespace(t, nil), name: name}
		operator(t, e, c.ns)
		c.repo = framework.Repository(c.ns, "repo", framework.OnS3(endpoint, framework.Bucket))
		c.repo.Spec.IdentityDefaults = &kopiurv1.IdentityDefaults{Cluster: name}
		c.policy = framework.Policy(c.ns, "app", "data", kopiurv1.CopyDirect)
		c.policy.Spec.Retention = &kopiurv1.Retention{KeepLatest: new(int32(1))}
		keys := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: c.ns, Name: "s3-keys"}, StringData: map[string]string{
			work.KeyAWSAccessKeyID: framework.S3AccessKey, work.KeyAWSSecretAccessKey: framework.S3SecretKey,
		}}
		e.Create(t, keys, framework.PasswordSecret(c.ns, "password", framework.Password), framework.PVC(c.ns, "data", framework.ClassImmediate, "1Gi"),
			framework.PVC(c.ns, "copy", framework.ClassImmediate, "1Gi"), c.repo, c.policy)
		e.RunApp(t, c.ns, "data", framework.AppOptions{}, "write", "/data/name", name)
		e.WaitReady(t, c.repo)
		clusters = append(clusters, c)
	}
	assert.Equal(t, clusters[0].repo.Status.UniqueID, clusters[1].repo.Status.UniqueID, "it is one repository")

	for _, run := range []string{"one", "two"} {
		var list []*kopiurv1.Snapshot
		for _, c := range clusters {
			list = append(list, framework.Snapshot(c.ns, run, "app"))
			e.Create(t, list[len(list)-1])
		}
		for i, s := range list {
			e.WaitReady(t, s)
			assert.Equal(t, clusters[i].ns+"."+clusters[i].name, s.Status.Snapshot.Identity.Hostname)
		}
	}
	for _, c := range clusters {
		e.WaitGone(t, framework.Snapshot(c.ns, "one", "app"))
	}

	for _, c := range clusters {
		base := c.repo.DeepCopy()
		c.repo.Annotations = map[string]string{kopiurv1.AnnotationCatalogScanRequestedAt: "now"}
		require.NoError(t, e.Client.Patch(t.Context(), c.repo, client.MergeFrom(base)))
	}
	for i, c := range clusters {
		e.Eventually(t, "a listing for "+c.name, func(ctx context.Context) string {
			if err := e.Client.Get(ctx, client.ObjectKeyFromObject(c.repo), c.repo); err != nil {
				return err.Error()
			}
			if st := c.repo.Status.Catalog; st == nil || st.ScanRequestHonored != "now" {
				return fmt.Sprintf("%+v", st)
			}
			return ""
		})
		assert.Equal(t, int64(1), c.repo.Status.Catalog.ForeignSnapshotCount, "the other's newest, whose first its own operator has pruned")
		assert.Zero(t, c.repo.Status.Catalog.DiscoveredBackupCount)
		var list kopiurv1.SnapshotList
		require.NoError(t, e.Client.List(t.Context(), &list, client.InNamespace(c.ns)))
		require.Len(t, list.Items, 1, "no rows")
		assert.Equal(t, "two", list.Items[0].Name)
		require.NoError(t, e.Client.Get(t.Context(), client.ObjectKeyFromObject(c.policy), c.policy))
		if a := c.policy.Status.Adoption; a != nil {
			assert.Zero(t, a.TotalAdopted)
		}
		back := framework.RestoreInto(c.ns, "back", "", "copy")
		back.Spec.Source = kopiurv1.RestoreSource{FromPolicy: &kopiurv1.FromPolicy{Name: "app"}}
		e.Create(t, back)
		e.WaitReady(t, back)
		assert.Equal(t, c.name, e.RunApp(t, c.ns, "copy", framework.AppOptions{}, "cat", "/data/name"))
		stored(t, e, clusters[i].ns, "app", 1)
	}
}
