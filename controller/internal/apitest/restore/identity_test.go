// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package restore_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/testenv"
)

// fromElsewhere restores what another cluster has filed in the repository.
func fromElsewhere(s *kopiurv1.RestoreSpec) {
	s.Source = kopiurv1.RestoreSource{Identity: &kopiurv1.FromIdentity{Username: "shop", Hostname: "apps.old", SourcePath: "/pvc/data", Offset: 1}}
	s.Repository = &kopiurv1.RepositoryRef{Name: "nas"}
}

func TestFromAnIdentity(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.begin()
	r := w.restore(fromElsewhere)
	w.untilReady(r)
	assert.Equal(t, "identity", r.Status.SourceKind)
	asked := w.CallsOf("resolve")
	require.Len(t, asked, 1)
	assert.Equal(t, &work.Resolve{Identity: work.Identity{Username: "shop", Hostname: "apps.old", Path: "/pvc/data"}, Offset: 1}, asked[0].Spec.Operation.Resolve)
	require.NotNil(t, r.Status.Resolved)
	assert.Equal(t, "kfound", r.Status.Resolved.KopiaSnapshotID)
	assert.Equal(t, &kopiurv1.Identity{Username: "shop", Hostname: "apps.old", SourcePath: "/pvc/data"}, r.Status.Resolved.Identity)
	assert.Equal(t, "kfound", w.CallsOf("restore")[0].Spec.Operation.Restore.SnapshotID)
	w.rests(r)
}

// K-1: the repository has nothing of the identity. Nothing is made of that unless the spec says Continue.
func TestFromAnIdentityThatIsAbsentK1(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.answer(func(testenv.Call) work.Resolution { return work.ResolutionAbsent })
	w.begin()
	r := w.restore(fromElsewhere)
	w.until(r, kopiurv1.ConditionStalled, metav1.ConditionTrue, kopiurv1.ReasonNoSnapshot)
	w.noClaim("data-new")
	w.untilEvent(r, corev1.EventTypeWarning, kopiurv1.ReasonNoSnapshot)
	w.rests(r)
	w.update(r, func() { r.Spec.Policy = &kopiurv1.RestorePolicy{OnMissingSnapshot: kopiurv1.OnMissingContinue} })
	w.until(r, kopiurv1.ConditionReady, metav1.ConditionTrue, kopiurv1.ReasonNoSnapshotContinue)
	assert.Equal(t, kopiurv1.ResolutionNoSnapshot, r.Status.Resolved.Resolution)
	assert.Empty(t, w.CallsOf("restore"))
}

// An identity is no way round the owner of a ClusterRepository, who says which namespaces may use it.
func TestAnIdentityDoesNotOpenAForeignRepository(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cluster := w.offsite(true)
	w.update(cluster, func() { cluster.Spec.AllowedNamespaces = kopiurv1.AllowedNamespaces{List: []string{"theirs"}} })
	w.StartController(projecting)
	w.untilConnected(w.Repository)
	r := w.restore(fromElsewhere, fromOffsite(cluster))
	w.until(r, kopiurv1.ConditionRepositoryReady, metav1.ConditionFalse, kopiurv1.ReasonNamespaceNotAllowed)
	assert.Equal(t, metav1.ConditionTrue, conditionOf(r, kopiurv1.ConditionStalled).Status)
	assert.Empty(t, w.jobsOf(r))
	assert.Empty(t, w.copies(), "its credentials do not come here either")
	w.update(cluster, func() { cluster.Spec.AllowedNamespaces.List = append(cluster.Spec.AllowedNamespaces.List, w.Namespace) })
	w.untilReady(r)
}
