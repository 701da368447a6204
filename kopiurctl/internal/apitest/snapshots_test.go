// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package apitest

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/kopiurctl/internal/cli"
)

// inUse fills a namespace with one Snapshot of every kind.
func inUse(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	pending := snapshot("data-now", "data")
	pending.Status.Phase = kopiurv1.SnapshotPending
	pending.Status.Conditions = []metav1.Condition{condition(kopiurv1.ConditionReady, metav1.ConditionFalse, kopiurv1.ReasonRepositoryNotReady, "waits for Repository nas to be Ready")}
	scheduled := succeeded(snapshot("data-0400", "data"), "2026-03-05T04:00:00Z")
	scheduled.Status.Origin = kopiurv1.OriginScheduled
	scheduled.Spec.Pin = true
	found := succeeded(&kopiurv1.Snapshot{
		ObjectMeta: metav1.ObjectMeta{Name: "nas-disc-0f3a", Labels: map[string]string{kopiurv1.LabelOrigin: kopiurv1.OriginDiscovered}},
		Spec:       kopiurv1.SnapshotSpec{Repository: &kopiurv1.RepositoryRef{Name: "nas"}},
	}, "2026-02-20T09:00:00Z")
	found.Status.Phase, found.Status.Origin = kopiurv1.SnapshotDiscovered, kopiurv1.OriginDiscovered
	elsewhere := succeeded(snapshot("db-1", "db"), "2026-03-04T09:00:00Z")
	elsewhere.Status.Resolved = &kopiurv1.SnapshotResolved{Repository: &kopiurv1.RepositoryRef{Name: "offsite", Kind: kopiurv1.KindClusterRepository}}
	w.create(repository("nas"), policy("data", "nas"), policy("db", "nas"), pending, scheduled, failed(snapshot("data-0830", "data")), found, elsewhere)
	return w
}

func TestSnapshotsList(t *testing.T) {
	t.Parallel()
	w := inUse(t)
	for name, args := range map[string][]string{
		"table":         nil,
		"wide":          {"-o", "wide"},
		"names":         {"-o", "name"},
		"of-a-policy":   {"--policy", "data"},
		"of-an-origin":  {"--origin", "discovered"},
		"of-a-cluster":  {"--repository", "offsite", "--repository-kind", "ClusterRepository"},
		"of-repository": {"--repository", "nas"},
		// Faults.
		"policy-unknown":       {"--policy", "dta"},
		"repository-unknown":   {"--repository", "nass"},
		"origin-unknown":       {"--origin", "manuel"},
		"kind-unknown":         {"--repository", "nas", "--repository-kind", "Bucket"},
		"output-unknown":       {"-o", "jsn"},
		"nothing-matches":      {"--origin", "replicated"},
		"argument-too-many":    {"data"},
		"namespace-of-cluster": {"--repository", "offsite", "--repository-kind", "ClusterRepository", "--repository-namespace", "x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := w.run(append([]string{"snapshots", "list"}, args...)...)
			r.t = t
			r.golden("snapshots-list-" + name)
		})
	}
}

// What programs read is what the API server has: our own types decode it, and nothing of it is lost.
func TestSnapshotsListRoundTrips(t *testing.T) {
	t.Parallel()
	w := inUse(t)
	for _, format := range []string{"json", "yaml"} {
		r := w.run("snapshots", "list", "-o", format)
		require.Equal(t, cli.OK, r.code, r.stderr)
		var list struct {
			metav1.TypeMeta `json:",inline"`
			metav1.ListMeta `json:"metadata"`
			Items           []kopiurv1.Snapshot `json:"items"`
		}
		require.NoError(t, yaml.UnmarshalStrict([]byte(r.stdout), &list))
		assert.Equal(t, metav1.TypeMeta{APIVersion: "v1", Kind: "List"}, list.TypeMeta)
		require.Len(t, list.Items, 5)
		for i := range list.Items {
			got := &list.Items[i]
			assert.Equal(t, metav1.TypeMeta{APIVersion: kopiurv1.GroupVersion.String(), Kind: "Snapshot"}, got.TypeMeta)
			var stored kopiurv1.Snapshot
			stored.Namespace, stored.Name = w.namespace, got.Name
			w.get(&stored)
			stored.TypeMeta, stored.ManagedFields = got.TypeMeta, nil
			assert.Equal(t, &stored, got)
		}
	}
	r := w.run("snapshots", "list", "-o", "json", "--origin", "replicated")
	assert.Equal(t, cli.OK, r.code)
	assert.JSONEq(t, `{"apiVersion":"v1","kind":"List","metadata":{},"items":[]}`, r.stdout, "a list without items is one, too")
}

func TestSnapshotsListOfAllNamespaces(t *testing.T) {
	t.Parallel()
	w := inUse(t)
	r := w.run("snapshots", "list", "-A", "--policy", "data")
	assert.Equal(t, cli.OK, r.code, r.stderr)
	assert.Regexp(t, `^NAMESPACE +NAME +PHASE`, r.stdout)
	assert.Regexp(t, `(?m)^`+w.namespace+` +data-0400 +Succeeded +scheduled +data +nas`, r.stdout)
}

// More Snapshots than one answer of the API server holds are read page by page.
func TestSnapshotsListIsPaged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const many = 501
	for i := range many {
		s := snapshot("s", "data")
		s.Namespace, s.Name = w.namespace, "s-"+string(rune('a'+i%26))+"-"+strconv.Itoa(i)
		require.NoError(t, w.client.Create(t.Context(), s))
	}
	r := w.run("snapshots", "list", "-o", "name")
	assert.Equal(t, cli.OK, r.code, r.stderr)
	assert.Len(t, lines(r.stdout), many)
}

func TestForbidden(t *testing.T) {
	t.Parallel()
	w := inUse(t)
	w.as("mallory").run("snapshots", "list").golden("forbidden-list")
}
