// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package verification_test drives verifications of policies against a real API server.
package verification_test

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// Needs the API server of KOPIUR_TEST_KUBECONFIG.
func TestMain(m *testing.M) { os.Exit(testenv.Main(m)) }

// lab is one test's namespace with a policy that is verified every night.
type lab struct {
	*testenv.Env

	t      *testing.T
	clock  *testenv.Time
	policy *kopiurv1.SnapshotPolicy
}

var nightly = kopiurv1.CronSpec{Cron: "0 3 * * *"}

func nas() *kopiurv1.Repository {
	r := &kopiurv1.Repository{ObjectMeta: metav1.ObjectMeta{Name: "nas"}}
	r.Spec.Backend.S3 = &kopiurv1.S3Backend{Bucket: "backups"}
	r.Spec.Encryption.PasswordSecretRef.Name = "password"
	return r
}

func policyOf(name string, v kopiurv1.Verification) *kopiurv1.SnapshotPolicy {
	p := &kopiurv1.SnapshotPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}
	p.Spec.Repository = &kopiurv1.RepositoryRef{Name: "nas"}
	p.Spec.Sources = []kopiurv1.Source{{PVC: &kopiurv1.LocalRef{Name: "data"}}}
	p.Spec.CopyMethod = kopiurv1.CopyDirect
	p.Spec.Verification = &v
	return p
}

func quick() kopiurv1.Verification {
	return kopiurv1.Verification{Quick: &kopiurv1.QuickVerification{Schedule: &nightly}}
}

func deep() kopiurv1.Verification {
	return kopiurv1.Verification{Deep: &kopiurv1.DeepVerification{Schedule: nightly, Capacity: "1Gi"}}
}

// newLab makes all that a backup of the policy needs.
func newLab(t *testing.T, v kopiurv1.Verification) *lab {
	t.Helper()
	l := &lab{Env: testenv.New(t), t: t, policy: policyOf("web", v)}
	l.clock = l.NewTime()
	l.Create(testenv.Secret("password", map[string]string{"KOPIA_PASSWORD": "x"}), testenv.Claim("data"), nas(), l.policy)
	return l
}

// backup makes the policy's first snapshot.
func (l *lab) backup(policy string) {
	l.t.Helper()
	s := &kopiurv1.Snapshot{ObjectMeta: metav1.ObjectMeta{Name: policy + "-first"}, Spec: kopiurv1.SnapshotSpec{
		PolicyRef: &kopiurv1.PolicyRef{Name: policy},
		// Tests move the clock, and the API server dates its pods by another.
		FailurePolicy: &kopiurv1.FailurePolicy{PodStartupDeadlineSeconds: new(int64(10_000_000))},
	}}
	l.Create(s)
	require.EventuallyWithT(l.t, func(c *assert.CollectT) {
		l.GetC(c, s)
		require.Equal(c, kopiurv1.SnapshotSucceeded, s.Status.Phase, "%+v", s.Status.Conditions)
	}, testenv.Wait, testenv.Tick)
}

func condition(p *kopiurv1.SnapshotPolicy, kind string) metav1.Condition {
	return testenv.Condition(p.Status.Conditions, kind)
}

// verified waits for the condition Verified.
func (l *lab) verified(status metav1.ConditionStatus, reason string) metav1.Condition {
	l.t.Helper()
	var got metav1.Condition
	require.EventuallyWithT(l.t, func(c *assert.CollectT) {
		l.GetC(c, l.policy)
		got = condition(l.policy, kopiurv1.ConditionVerified)
		require.Equal(c, status, got.Status, "%+v %+v", got, l.policy.Status.VerificationRuns)
		require.Equal(c, reason, got.Reason, got.Message)
	}, testenv.Wait, testenv.Tick)
	return got
}

// pinned waits until all lines know when they are due.
func (l *lab) pinned() {
	l.t.Helper()
	require.EventuallyWithT(l.t, func(c *assert.CollectT) {
		l.GetC(c, l.policy)
		require.NotEmpty(c, l.policy.Status.VerificationRuns)
		for _, r := range l.policy.Status.VerificationRuns {
			require.NotEmpty(c, r.NextScheduledAt)
		}
	}, testenv.Wait, testenv.Tick)
}

// night lets a day pass.
func (l *lab) night() { l.clock.Step(24 * time.Hour) }

// runs are the verifications that movers were started for.
func (l *lab) runs() []testenv.Call {
	var out []testenv.Call
	for _, c := range l.Calls() {
		if c.Spec.Operation.Verify != nil {
			out = append(out, c)
		}
	}
	return out
}

// settled waits until no verification is under way and those that restored something are gone.
func (l *lab) settled() {
	l.t.Helper()
	require.EventuallyWithT(l.t, func(c *assert.CollectT) {
		for _, ns := range l.namespaces() {
			for _, j := range l.jobs(ns) {
				require.NotNil(c, j.Spec.TTLSecondsAfterFinished, "%s goes by itself", j.Name)
				for _, v := range j.Spec.Template.Spec.Volumes {
					require.NotEqual(c, "scratch", v.Name, "what was restored is gone at once")
				}
			}
		}
		l.GetC(c, l.policy)
		for _, r := range l.policy.Status.VerificationRuns {
			require.Empty(c, r.Job)
		}
	}, testenv.Wait, testenv.Tick)
}

func (l *lab) namespaces() []string {
	seen := map[string]bool{l.Namespace: true}
	out := []string{l.Namespace}
	for _, c := range l.runs() {
		if !seen[c.Namespace] {
			seen[c.Namespace] = true
			out = append(out, c.Namespace)
		}
	}
	return out
}

func (l *lab) jobs(namespace string) []batchv1.Job {
	l.t.Helper()
	var list batchv1.JobList
	require.NoError(l.t, l.Client.List(l.t.Context(), &list, client.InNamespace(namespace), client.MatchingLabels{kopiurv1.LabelOperation: "verify"}))
	return list.Items
}

// event waits for one about the policy.
func (l *lab) event(kind, reason string) {
	l.t.Helper()
	reader, err := client.New(l.Config, client.Options{}) // the controller's own scheme has no events
	require.NoError(l.t, err)
	require.EventuallyWithT(l.t, func(c *assert.CollectT) {
		var list eventsv1.EventList
		require.NoError(c, reader.List(l.t.Context(), &list, client.InNamespace(l.Namespace)))
		var got []string
		for i := range list.Items {
			if e := &list.Items[i]; e.Regarding.Name == l.policy.Name {
				got = append(got, e.Type+"/"+e.Reason)
			}
		}
		require.Contains(c, got, kind+"/"+reason)
	}, testenv.Wait, testenv.Tick)
}

// ephemeral is the claim template of a deep verification's pod.
func ephemeral(pod corev1.PodSpec) *corev1.PersistentVolumeClaimTemplate {
	for _, v := range pod.Volumes {
		if v.Name == "scratch" && v.Ephemeral != nil {
			return v.Ephemeral.VolumeClaimTemplate
		}
	}
	return nil
}
