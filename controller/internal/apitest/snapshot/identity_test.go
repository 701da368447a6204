// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// stalls waits for a policy to be Stalled for a reason.
func (l *lab) stalls(reason string) metav1.Condition {
	l.t.Helper()
	var got metav1.Condition
	require.EventuallyWithT(l.t, func(c *assert.CollectT) {
		l.GetC(c, l.policy)
		got = policyCondition(l.policy, kopiurv1.ConditionStalled)
		assert.Equal(c, metav1.ConditionTrue, got.Status)
		assert.Equal(c, reason, got.Reason)
	}, testenv.Wait, testenv.Tick)
	return got
}

// H-2: an edit of a label alone, which no generation tells of, is caught before anything is filed under another identity,
// and undoing it or a word from a person lets the next Snapshot go on.
func TestALabelThatForksTheHistory(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.repository.Spec.IdentityDefaults = &kopiurv1.IdentityDefaults{
		Cluster: "east", UsernameExpr: `"team" in labels ? labels["team"] : policyName`, HostnameExpr: `namespace + "." + cluster`,
	}
	l.policy.Labels = map[string]string{"team": "blue"}
	l.create()
	l.StartController()
	l.succeeds()
	assert.Equal(t, kopiurv1.Identity{Username: "blue", Hostname: l.Namespace + ".east", SourcePath: "/pvc/data"}, l.snapshot.Status.Snapshot.Identity)

	l.Label(l.policy, "team", "red")
	assert.Contains(t, l.stalls(kopiurv1.ReasonIdentityChanged).Message, "has snapshots as blue@"+l.Namespace+".east")
	assert.Equal(t, "blue", l.policy.Status.Resolved.Identity.Username, "what the snapshots lie under stays on record")
	first := l.snapshot
	l.snapshot = &kopiurv1.Snapshot{ObjectMeta: metav1.ObjectMeta{Name: "two"}, Spec: *first.Spec.DeepCopy()}
	l.Create(l.snapshot)
	l.waits(kopiurv1.ConditionReady, metav1.ConditionFalse, kopiurv1.ReasonIdentityChanged)
	assert.Empty(t, l.jobs())
	l.atRest()

	l.Label(l.policy, "team", "blue")
	l.succeeds()

	l.Label(l.policy, "team", "red")
	l.stalls(kopiurv1.ReasonIdentityChanged)
	l.Annotate(l.policy, kopiurv1.AnnotationAllowIdentityChange, "moved to the red team")
	l.snapshot = &kopiurv1.Snapshot{ObjectMeta: metav1.ObjectMeta{Name: "three"}, Spec: *first.Spec.DeepCopy()}
	l.Create(l.snapshot)
	l.succeeds()
	assert.Equal(t, "red", l.snapshot.Status.Snapshot.Identity.Username)
}

// H-3: a policy of two repositories, each with rules of its own; a Snapshot goes to the one that it names.
func TestOnePolicyTwoRepositories(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	offsite := l.repository.DeepCopy()
	offsite.Name, offsite.Spec.Backend.S3.Bucket = "offsite", "offsite"
	offsite.Spec.IdentityDefaults = &kopiurv1.IdentityDefaults{Cluster: "east"}
	l.policy.Spec.Repository, l.policy.Spec.Repositories = nil, []kopiurv1.RepositoryRef{{Name: "nas"}, {Name: "offsite"}}
	unsaid := l.snapshot.DeepCopy()
	unsaid.Name = "unsaid"
	l.snapshot.Spec.Repository = &kopiurv1.RepositoryRef{Name: "offsite"}
	l.create()
	l.StartController()
	c := l.waits(kopiurv1.ConditionRepositoryReady, metav1.ConditionFalse, kopiurv1.ReasonMissingDependency)
	assert.Contains(t, c.Message, "/offsite does not exist")
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		l.GetC(c, l.policy)
		bad := policyCondition(l.policy, kopiurv1.ConditionRepositoriesReady)
		assert.Equal(c, metav1.ConditionFalse, bad.Status)
		assert.Contains(c, bad.Message, "/offsite does not exist")
	}, testenv.Wait, testenv.Tick)
	l.Create(offsite)
	l.succeeds()
	assert.Equal(t, "offsite", l.snapshot.Status.Resolved.Repository.Name)
	assert.Equal(t, l.Namespace+".east", l.snapshot.Status.Snapshot.Identity.Hostname)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		l.GetC(c, l.policy)
		st := l.policy.Status
		require.NotNil(c, st.Resolved)
		assert.Nil(c, st.Resolved.Identity)
		if assert.Len(c, st.Resolved.Repositories, 2) && assert.NotNil(c, st.Resolved.Repositories[1].Identity) {
			assert.Equal(c, l.Namespace, st.Resolved.Repositories[0].Identity.Hostname)
			assert.Equal(c, l.Namespace+".east", st.Resolved.Repositories[1].Identity.Hostname)
		}
		if assert.NotNil(c, st.Retention) {
			assert.Equal(c, int64(1), st.Retention.ActiveSnapshotCount)
		}
		assert.Equal(c, kopiurv1.ReasonPolicyReady, policyCondition(l.policy, kopiurv1.ConditionReady).Reason)
	}, testenv.Wait, testenv.Tick)

	l.snapshot = unsaid
	l.Create(l.snapshot)
	s := l.waits(kopiurv1.ConditionStalled, metav1.ConditionTrue, kopiurv1.ReasonInvalidSpec)
	assert.Contains(t, s.Message, "has several repositories: write one of")
}
