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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/e2e/framework"
)

// D-5: TestHistoryOfTheCommandLine lets kopia's own command line fill a repository, then shows it to Kopiur. What is under
// the policy's identity becomes the policy's, the rest are rows, and a claim is restored from one of each, byte for byte.
func TestHistoryOfTheCommandLine(t *testing.T) {
	t.Parallel()
	e := framework.New(t)
	ns := e.Namespace(t, framework.Privileged())
	e.Create(t, framework.PVC(ns, "data", framework.ClassImmediate, "1Gi"))
	e.RunApp(t, ns, "data", framework.AppOptions{}, "fill", "--seed", "11", "--files", "100", "/data")
	before := e.List(t, ns, "data")
	endpoint := e.S3Server(t, ns)
	own, other := "app@"+ns+":/pvc/data", "root@laptop:/home"
	e.Kopia(t, ns, "data",
		[]string{
			"repository", "create", "s3", "--bucket", framework.Bucket, "--prefix", "apps/", "--endpoint", endpoint, "--region", "us-east-1", "--disable-tls",
			"--access-key", framework.S3AccessKey, "--secret-access-key", framework.S3SecretKey,
		},
		[]string{"snapshot", "create", "/data", "--override-source", own},
		[]string{"snapshot", "create", "/data", "--override-source", other, "--description", "by hand"},
		[]string{"snapshot", "create", "/data", "--override-source", own},
	)
	repo := framework.Repository(ns, "repo", framework.OnS3(endpoint, framework.Bucket))
	repo.Spec.Create = &kopiurv1.CreateSpec{Enabled: new(false)}
	p := framework.Policy(ns, "app", "data", kopiurv1.CopyDirect)
	p.Spec.Mover = framework.PrivilegedMover()
	e.Create(t, framework.PasswordSecret(ns, "password", framework.Password), repo, p)
	e.WaitReady(t, repo)
	e.WaitCondition(t, p, kopiurv1.ConditionHistoryAdopted, metav1.ConditionTrue, kopiurv1.ReasonHistoryAdopted)

	var adopted, found []kopiurv1.Snapshot
	e.Eventually(t, "rows and adopted Snapshots", func(ctx context.Context) string {
		var list kopiurv1.SnapshotList
		if err := e.Client.List(ctx, &list, client.InNamespace(ns)); err != nil {
			return err.Error()
		}
		adopted, found = nil, nil
		for _, s := range list.Items {
			switch s.Status.Phase {
			case kopiurv1.SnapshotSucceeded:
				adopted = append(adopted, s)
			case kopiurv1.SnapshotDiscovered:
				found = append(found, s)
			default:
				return fmt.Sprintf("%s is %s", s.Name, s.Status.Phase)
			}
		}
		if len(adopted) != 2 || len(found) != 1 {
			return fmt.Sprintf("%d are adopted and %d discovered", len(adopted), len(found))
		}
		return ""
	})
	assert.Equal(t, own, adopted[0].Status.Snapshot.Identity.String())
	assert.Equal(t, kopiurv1.OriginAdopted, adopted[0].Status.Origin)
	assert.Equal(t, other, found[0].Status.Snapshot.Identity.String())
	assert.Equal(t, "by hand", found[0].Status.Snapshot.Description)

	for i, from := range []string{adopted[0].Name, found[0].Name} {
		r := framework.RestoreInto(ns, fmt.Sprint("from-", i), from, "")
		target := fmt.Sprint("restored-", i)
		r.Spec.Target = kopiurv1.RestoreTarget{PVC: &kopiurv1.TargetPVC{Name: target, Capacity: "1Gi", StorageClassName: framework.ClassImmediate}}
		r.Spec.Mover = framework.PrivilegedMover()
		e.Create(t, r)
		e.WaitReady(t, r)
		require.Equal(t, kopiurv1.RestoreCompleted, r.Status.Phase)
		assert.Equal(t, before, e.List(t, ns, target), "every byte, mode, owner, time and link target")
	}
}
