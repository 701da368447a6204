// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package specs

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/e2e/framework"
)

const recoveryPage = "../../docs/how-to/disaster-recovery.md"

// recovered are the claims of the page.
var recovered = []string{"files", "database"}

// page has the manifests of the how-to for a namespace, and makes the Secrets that they name.
func page(t *testing.T, e *framework.Env, ns, endpoint string) map[string]*unstructured.Unstructured {
	t.Helper()
	objects := framework.Manifests(t, recoveryPage, map[string]string{
		"namespace: shop":          "namespace: " + ns,
		"endpoint: s3.example.com": "endpoint: " + endpoint,
		"bucket: new-bucket":       "bucket: " + framework.Bucket,
		"bucket: mirror":           "bucket: " + framework.Bucket,
		"storageClassName: shared": "storageClassName: " + framework.ClassImmediate,
		"storageClassName: fast":   "storageClassName: " + framework.ClassWFFC,
		// Its turn must not come while the test runs.
		`cron: "H 2 * * *"`: fmt.Sprintf(`cron: "H %d * * *"`, time.Now().UTC().Add(12*time.Hour).Hour()),
	})
	for key, stores := range map[string][][]string{
		"Repository/nas":       {{"spec", "backend"}},
		"Repository/nas-again": {{"spec", "backend"}, {"spec", "seed", "from", "backend"}},
	} {
		for _, at := range stores {
			require.NoError(t, unstructured.SetNestedField(objects[key].Object, true, append(at, "s3", "tls", "disableTls")...))
		}
	}
	e.Create(t, framework.PasswordSecret(ns, "nas-password", framework.Password), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "nas-keys"},
		StringData: map[string]string{work.KeyAWSAccessKeyID: framework.S3AccessKey, work.KeyAWSSecretAccessKey: framework.S3SecretKey},
	})
	return objects
}

// TestDisasterRecovery: an application is backed up, and everything of it and of Kopiur is deleted but the bucket. In
// another namespace, which shares nothing with the first but the bucket, the page's manifests are applied, the last ones
// first. Its claims are filled byte for byte before its pod starts, the history is adopted and goes on; and when the Restore
// is made again nothing of what is bound is touched (B-1, B-3, B-8, B-11, F-7).
func TestDisasterRecovery(t *testing.T) {
	t.Parallel()
	e := framework.New(t)
	store, old := e.Namespace(t, nil), e.Namespace(t, nil)
	endpoint := e.S3Server(t, store)
	before := untilTheDisaster(t, e, old, endpoint)

	ns := e.Namespace(t, nil)
	objects := page(t, e, ns, endpoint)
	order := []string{
		"SnapshotSchedule/nightly", "PersistentVolumeClaim/database", "PersistentVolumeClaim/files", "Restore/shop", "SnapshotPolicy/shop", "Repository/nas",
	}
	require.Len(t, objects, len(order)+1, "all but nas-again")
	for _, key := range order {
		require.NotNil(t, objects[key], key)
		e.Create(t, objects[key])
	}
	app := user(t, e, ns, recovered)
	e.WaitReady(t, &kopiurv1.Repository{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "nas"}})
	p := &kopiurv1.SnapshotPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "shop"}}
	e.WaitCondition(t, p, kopiurv1.ConditionHistoryAdopted, metav1.ConditionTrue, kopiurv1.ReasonHistoryAdopted)
	r := &kopiurv1.Restore{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "shop"}}
	e.WaitReady(t, r)
	assert.Equal(t, kopiurv1.RestoreCompleted, r.Status.Phase)
	reached(t, e, app, corev1.PodRunning)
	assertUntouched := func(why string) {
		t.Helper()
		after := e.Lists(t, ns, recovered...)
		for _, claim := range recovered {
			assert.Equal(t, mine(before[claim]), mine(after[claim]), "%s: every byte, mode, owner and time of %s", why, claim)
		}
	}
	assertUntouched("filled")
	goesOn(t, e, ns)

	volumes := map[string]string{}
	for _, claim := range recovered {
		assert.Equal(t, kopiurv1.ClaimPopulated, r.Status.Claims[claim].Phase, claim)
		volumes[claim] = e.Volume(t, ns, claim).Name
	}
	movers := e.RecordJobs(t, ns, map[string]string{kopiurv1.LabelManagedBy: kopiurv1.ManagedByValue})
	require.NoError(t, e.Client.Delete(t.Context(), r))
	e.WaitGone(t, r)
	e.Create(t, framework.Manifests(t, recoveryPage, map[string]string{"namespace: shop": "namespace: " + ns})["Restore/shop"])
	e.WaitReady(t, r)
	for _, claim := range recovered {
		assert.Equal(t, kopiurv1.ReasonTargetAlreadyBound, r.Status.Claims[claim].Reason, claim)
		assert.Equal(t, volumes[claim], e.Volume(t, ns, claim).Name, claim)
	}
	for _, job := range movers() {
		assert.NotEqual(t, string(r.UID), job.Labels[kopiurv1.LabelOwnerUID], "nothing was asked and nothing was written: %s", job.Name)
	}
	uid := app.UID
	require.NoError(t, e.Client.Get(t.Context(), client.ObjectKeyFromObject(app), app))
	assert.Equal(t, uid, app.UID)
	assert.Equal(t, corev1.PodRunning, app.Status.Phase)
	assertUntouched("the Restore was made again")

	again(t, e, objects["Repository/nas-again"])
	from := framework.RestoreInto(ns, "from-the-copy", "", "")
	from.Spec.Repository = &kopiurv1.RepositoryRef{Name: "nas-again"}
	from.Spec.Source = kopiurv1.RestoreSource{Identity: &kopiurv1.FromIdentity{Username: "shop", Hostname: "shop", SourcePath: "/pvc/database", Offset: 1}}
	from.Spec.Target = kopiurv1.RestoreTarget{PVC: &kopiurv1.TargetPVC{Name: "copy", Capacity: "1Gi", StorageClassName: framework.ClassImmediate}}
	from.Spec.Mover = framework.UIDMover(1000)
	e.Create(t, from)
	e.WaitReady(t, from)
	assert.Equal(t, mine(before["database"]), mine(e.List(t, ns, "copy")), "what the old cluster had stored last, from the copy")
}

// again makes a repository that begins as a copy of the first.
func again(t *testing.T, e *framework.Env, manifest *unstructured.Unstructured) {
	t.Helper()
	e.Create(t, manifest)
	r := &kopiurv1.Repository{ObjectMeta: metav1.ObjectMeta{Namespace: manifest.GetNamespace(), Name: manifest.GetName()}}
	e.WaitReady(t, r)
	assert.Equal(t, kopiurv1.ReasonSeeded, framework.Condition(r, kopiurv1.ConditionSeeded).Reason)
	first := &kopiurv1.Repository{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: "nas"}}
	e.WaitReady(t, first)
	assert.Equal(t, first.Status.UniqueID, r.Status.UniqueID, "it is the same repository in another place")
	require.NotNil(t, r.Status.Seed)
	assert.Equal(t, int64(5), r.Status.Seed.SnapshotCount, "three of the old cluster, two of this one")
}

// untilTheDisaster runs the application, backs it up, changes its database in place, backs that up, and deletes everything. It
// returns what was in the claims.
func untilTheDisaster(t *testing.T, e *framework.Env, ns, endpoint string) map[string][]framework.Entry {
	t.Helper()
	objects := page(t, e, ns, endpoint)
	// Once it had to be made.
	require.NoError(t, unstructured.SetNestedField(objects["Repository/nas"].Object, true, "spec", "create", "enabled"))
	e.Create(t, objects["Repository/nas"], objects["SnapshotPolicy/shop"])
	shop := framework.AppOptions{UID: new(int64(1000))}
	for i, claim := range recovered {
		e.Create(t, framework.PVC(ns, claim, framework.ClassImmediate, "1Gi"))
		e.RunApp(t, ns, claim, shop, "fill", "--seed", strconv.Itoa(31+i), "--files", "80", "--sparse", "1048576", "/data/mine")
	}
	run := func(name, text string) {
		p := script(ns, name, "database", false, text)
		p.Spec.Containers[0].SecurityContext.RunAsUser, p.Spec.Containers[0].SecurityContext.RunAsGroup = shop.UID, shop.UID
		reach(t, e, p, corev1.PodSucceeded)
	}
	backUp := func(name string, source int32) {
		s := framework.Snapshot(ns, name, "shop")
		s.Spec.Source = &kopiurv1.SnapshotSource{SourceIndex: source, Target: &kopiurv1.SnapshotTarget{PVC: kopiurv1.NamespacedRef{Name: recovered[source], Namespace: ns}}}
		e.Create(t, s)
		e.WaitReady(t, s)
	}
	run("first-pages", "head -c 16777216 /dev/urandom >/data/mine/pages.db; sync")
	backUp("files-1", 0)
	backUp("database-1", 1)
	run("later-pages", "head -c 262144 /dev/urandom 1<>/data/mine/pages.db; sync")
	backUp("database-2", 1)
	before := e.Lists(t, ns, recovered...)
	gone := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}
	require.NoError(t, e.Client.Delete(t.Context(), gone))
	e.WaitGone(t, gone)
	return before
}

// goesOn proves that the three snapshots of before are the policy's, and that its new ones continue them.
func goesOn(t *testing.T, e *framework.Env, ns string) {
	t.Helper()
	var adopted, made []kopiurv1.Snapshot
	e.Eventually(t, "the history, and a new backup of each claim", func(ctx context.Context) string {
		var list kopiurv1.SnapshotList
		if err := e.Client.List(ctx, &list, client.InNamespace(ns)); err != nil {
			return err.Error()
		}
		adopted, made = nil, nil
		var seen []string
		for _, s := range list.Items {
			seen = append(seen, s.Name+"="+string(s.Status.Phase))
			switch {
			case s.Status.Phase != kopiurv1.SnapshotSucceeded:
			case s.Status.Origin == kopiurv1.OriginAdopted:
				adopted = append(adopted, s)
			case s.Status.Origin == kopiurv1.OriginScheduled:
				made = append(made, s)
			}
		}
		if len(adopted) != 3 || len(made) != 2 {
			return fmt.Sprint(seen)
		}
		return ""
	})
	history := map[string]int{}
	for _, s := range adopted {
		history[s.Status.Snapshot.Identity.String()]++
		require.NotNil(t, s.Status.Recorded, s.Name)
		assert.Equal(t, new(int64(1000)), s.Status.Recorded.UID, "whom its backup ran as is in the repository")
	}
	assert.Equal(t, map[string]int{"shop@shop:/pvc/files": 1, "shop@shop:/pvc/database": 2}, history)
	for _, s := range made {
		assert.Positive(t, history[s.Status.Snapshot.Identity.String()], s.Name)
		assert.Positive(t, s.Status.Stats.FilesUnchanged, "%s: what was restored is what was stored", s.Name)
		assert.Zero(t, s.Status.Stats.FilesNew+s.Status.Stats.FilesModified, s.Name)
	}
}
