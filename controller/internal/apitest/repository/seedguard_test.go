// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package repository_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/testenv"
	"github.com/kopiur/kopiur/controller/setup"
)

// fromOld seeds from repository "old", which exists and is Ready soon.
func fromOld(edit ...func(*kopiurv1.Repository)) (func(*kopiurv1.Repository), *kopiurv1.Repository) {
	old := &kopiurv1.Repository{ObjectMeta: metav1.ObjectMeta{Name: "old"}}
	old.Spec.Backend.S3 = &kopiurv1.S3Backend{Bucket: "old"}
	old.Spec.Encryption.PasswordSecretRef.Name = "password"
	for _, f := range edit {
		f(old)
	}
	return func(r *kopiurv1.Repository) {
		r.Spec.Seed.From = kopiurv1.SeedSource{Repository: &kopiurv1.RepositoryRef{Name: "old"}}
	}, old
}

// ends is a seed that ends like this until it is one from another bucket.
func ends(code work.Code, message string, r *work.SeedResult) func(testenv.Call) testenv.Play {
	return func(c testenv.Call) testenv.Play {
		p := testenv.Succeed(c)
		if o := c.Spec.Operation.Seed; o.Blob != nil && o.Blob.Source.S3.Bucket == "corrected" {
			p.Result.Seed = &work.SeedResult{UniqueID: seededID, SnapshotCount: 3}
			return p
		}
		p.Result.Code, p.Result.Message, p.Result.Seed = code, message, r
		return p
	}
}

// TestWhatASeedIsRefusedFor: nothing is seeded, nothing is created in its place, and it is not tried again and again. The
// event says why, and it goes on once the spec is corrected (B-10, K-8).
func TestWhatASeedIsRefusedFor(t *testing.T) {
	t.Parallel()
	elsewhere := func(l *seedLab) { l.Change(l.repo, func() { l.repo.Spec.Seed.From.Backend.S3.Bucket = "corrected" }) }
	here, sameBucket := fromOld(func(old *kopiurv1.Repository) { old.Spec.Backend.S3.Bucket = "nas" })
	cloud, withKeys := fromOld(func(old *kopiurv1.Repository) {
		old.Spec.Backend.S3.Auth = &kopiurv1.BackendAuth{SecretRef: &kopiurv1.SecretRef{Name: "keys"}}
	})
	for name, tc := range map[string]struct {
		edit    func(*kopiurv1.Repository)
		old     *kopiurv1.Repository
		play    func(testenv.Call) testenv.Play
		reason  string
		says    string
		seeds   int
		correct func(*seedLab)
	}{
		"a source that is where it is itself": {
			edit: here, old: sameBucket, reason: kopiurv1.ReasonSeedSourceAuthConflict, says: "is stored in the place that is to be seeded: name another",
			correct: func(l *seedLab) { l.Change(l.repo, func() { l.repo.Spec.Backend.S3.Bucket = "elsewhere" }) },
		},
		"keys of one side that would be used for the other": {
			edit: func(r *kopiurv1.Repository) {
				cloud(r)
				r.Spec.Backend.S3.Auth = &kopiurv1.BackendAuth{WorkloadIdentity: &kopiurv1.WorkloadIdentity{ServiceAccountName: "cloud"}}
			},
			old: withKeys, reason: kopiurv1.ReasonSeedSourceAuthConflict, says: "spec.seed.from.repository",
			correct: func(l *seedLab) {
				l.Change(l.repo, func() {
					l.repo.Spec.Backend.S3.Auth = &kopiurv1.BackendAuth{SecretRef: &kopiurv1.SecretRef{Name: "keys"}}
				})
			},
		},
		"an empty repository that is there already": {
			play:   ends(work.CodeOK, "", &work.SeedResult{UniqueID: seededID, AlreadyInitialized: true}),
			reason: kopiurv1.ReasonAlreadyInitialized, says: "a repository is there already, without any snapshot", seeds: 1, correct: elsewhere,
		},
		"a source that is not there": {
			play:   ends(work.CodeNotFound, "at the source: the store does not know the location", nil),
			reason: kopiurv1.ReasonSeedSourceNotFound, says: "does not exist: correct spec.seed.from", seeds: 1, correct: elsewhere,
		},
		"a source that cannot be read": {
			play:   ends(work.CodeVerificationFailed, "at the source: a blob is damaged", &work.SeedResult{UniqueID: seededID}),
			reason: kopiurv1.ReasonSeedIncomplete, says: "is no repository for anybody", seeds: 1, correct: elsewhere,
		},
		"a mover that knows no seeds": {
			play:   ends(work.CodeInvalidSpec, `json: unknown field "seed"`, nil),
			reason: kopiurv1.ReasonMoverImageTooOldForSeed, says: "from one release", seeds: 1, correct: elsewhere,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			edits := []func(*kopiurv1.Repository){}
			if tc.edit != nil {
				edits = append(edits, tc.edit)
			}
			l := newSeedLab(t, edits...)
			l.plays(tc.play)
			l.Create(
				testenv.Secret("keys", map[string]string{"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}),
				&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "cloud"}},
			)
			if tc.old != nil {
				l.Create(tc.old)
			}
			l.StartController()
			l.until(kopiurv1.RepositoryFailed, metav1.ConditionFalse, tc.reason)
			assert.Contains(t, testenv.Condition(l.repo.Status.Conditions, kopiurv1.ConditionSeeded).Message, tc.says)
			assert.Equal(t, metav1.ConditionTrue, testenv.Condition(l.repo.Status.Conditions, kopiurv1.ConditionStalled).Status)
			assert.Empty(t, l.repo.Status.UniqueID)
			l.Quiet(l.repo, time.Second)
			assert.Len(t, l.CallsOf("seed"), tc.seeds)
			connects := 0
			if tc.old != nil {
				connects = 1 // the source's own
			}
			assert.Len(t, l.CallsOf("bootstrap"), connects, "nothing connects, and so nothing is created in its place")

			tc.correct(l)
			l.until(kopiurv1.RepositoryReady, metav1.ConditionTrue, kopiurv1.ReasonSeeded)
			assert.Equal(t, seededID, l.repo.Status.UniqueID)
			assert.Len(t, l.CallsOf("seed"), tc.seeds+1)
		})
	}
}

// TestASpecThatIsEditedWhileASeedRuns: its Job goes first, and the next waits until the pod has ended as well: two movers that
// both find the place empty would both begin there.
func TestASpecThatIsEditedWhileASeedRuns(t *testing.T) {
	t.Parallel()
	l := newSeedLab(t)
	hold := make(chan struct{})
	defer close(hold)
	l.plays(func(c testenv.Call) testenv.Play {
		p := testenv.Succeed(c)
		p.Result.Seed = &work.SeedResult{UniqueID: seededID, SnapshotCount: 3}
		if c.Spec.Operation.Seed.Blob.Source.S3.Bucket == "mirror" {
			p.Hold = hold
		}
		return p
	})
	l.StartController()
	require.EventuallyWithT(t, func(c *assert.CollectT) { require.Len(c, l.CallsOf("seed"), 1) }, testenv.Wait, testenv.Tick)
	// A node that is slow to end what runs on it.
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: l.Namespace, Name: l.CallsOf("seed")[0].Pod}}
	l.Get(pod)
	l.Change(pod, func() { pod.Finalizers = []string{"test.kopiur.test/slow"} })
	l.Change(l.repo, func() { l.repo.Spec.Seed.From.Backend.S3.Bucket = "corrected" })
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		l.GetC(c, l.repo)
		require.Contains(c, testenv.Condition(l.repo.Status.Conditions, kopiurv1.ConditionSeeded).Message, "waiting for the end of pod "+l.Namespace+"/"+pod.Name)
	}, testenv.Wait, testenv.Tick)
	l.Quiet(l.repo, time.Second)
	assert.Len(t, l.CallsOf("seed"), 1)

	l.Get(pod)
	require.NotNil(t, pod.DeletionTimestamp)
	base := pod.DeepCopy()
	pod.Finalizers = nil
	require.NoError(t, l.Client.Patch(t.Context(), pod, client.MergeFrom(base)))
	l.until(kopiurv1.RepositoryReady, metav1.ConditionTrue, kopiurv1.ReasonSeeded)
	seeds := l.CallsOf("seed")
	require.Len(t, seeds, 2)
	assert.Equal(t, "corrected", seeds[1].Spec.Operation.Seed.Blob.Source.S3.Bucket)
}

// TestASeedCopiesNoCredentialsThatTheNamespaceMayNotHave: else whoever can make a Repository had all that a
// ClusterRepository holds, which its owner has not let the namespace use.
func TestASeedCopiesNoCredentialsThatTheNamespaceMayNotHave(t *testing.T) {
	t.Parallel()
	l := newSeedLab(t, func(r *kopiurv1.Repository) {
		r.Spec.Seed.CredentialProjection = &kopiurv1.CredentialProjection{Enabled: true}
		r.Spec.Suspend = true // until its source is there
	})
	home := l.AddNamespace()
	password := testenv.Secret("shared", map[string]string{"KOPIA_PASSWORD": "x"})
	password.Namespace = home
	cluster := &kopiurv1.ClusterRepository{ObjectMeta: metav1.ObjectMeta{Name: "shared-" + l.Namespace}}
	cluster.Spec.Backend.S3 = &kopiurv1.S3Backend{Bucket: "shared"}
	cluster.Spec.Encryption.PasswordSecretRef = kopiurv1.SecretKeyRef{Name: "shared", Namespace: home}
	cluster.Spec.AllowedNamespaces.List = []string{home}
	cluster.Spec.CredentialProjection = &kopiurv1.ProjectionGate{Allowed: true}
	l.Create(password, cluster)
	l.Change(l.repo, func() {
		l.repo.Spec.Suspend = false
		l.repo.Spec.Seed.From = kopiurv1.SeedSource{Repository: &kopiurv1.RepositoryRef{Name: cluster.Name, Kind: kopiurv1.KindClusterRepository}}
	})
	l.StartController(func(o *setup.Options) { o.CredentialProjection = true })
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		l.GetC(c, l.repo)
		seeded := testenv.Condition(l.repo.Status.Conditions, kopiurv1.ConditionSeeded)
		require.Equal(c, kopiurv1.ReasonWaitingForSeedSource, seeded.Reason)
		require.Contains(c, seeded.Message, "spec.allowedNamespaces")
	}, testenv.Wait, testenv.Tick)
	assert.NotContains(t, l.operations(), "seed")
	var copies corev1.SecretList
	require.NoError(t, l.Client.List(t.Context(), &copies, client.InNamespace(l.Namespace), client.MatchingLabels{kopiurv1.LabelComponent: kopiurv1.ComponentCredentials}))
	assert.Empty(t, copies.Items)

	l.Change(cluster, func() { cluster.Spec.AllowedNamespaces.List = []string{l.Namespace} })
	l.until(kopiurv1.RepositoryReady, metav1.ConditionTrue, kopiurv1.ReasonSeeded)
}
