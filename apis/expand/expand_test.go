// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package expand_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kopiur/kopiur/apis/expand"
	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/validation"
)

func claims(n int) []corev1.PersistentVolumeClaim {
	out := []corev1.PersistentVolumeClaim{
		{ObjectMeta: metav1.ObjectMeta{Name: "ours", Labels: map[string]string{kopiurv1.LabelManagedBy: kopiurv1.ManagedByValue}}},
		{ObjectMeta: metav1.ObjectMeta{Name: "going", DeletionTimestamp: &metav1.Time{}, Labels: map[string]string{"tier": "db"}}},
		{ObjectMeta: metav1.ObjectMeta{Name: "unused", Labels: map[string]string{"tier": "db"}}, Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending}},
		{ObjectMeta: metav1.ObjectMeta{Name: "elsewhere", Namespace: "other", Labels: map[string]string{"tier": "db"}}},
	}
	for i := range n {
		out = append(out, corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("claim-%d", i), Labels: map[string]string{"tier": "db"}}})
	}
	return out
}

func sum(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:4])
}

func TestRun(t *testing.T) {
	t.Parallel()
	pvc := func(name string) kopiurv1.Source { return kopiurv1.Source{PVC: &kopiurv1.LocalRef{Name: name}} }
	selects := func(tier string) kopiurv1.Source {
		return kopiurv1.Source{PVCSelector: &kopiurv1.PVCSelector{LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"tier": tier}}}}
	}
	all := kopiurv1.Source{PVCSelector: &kopiurv1.PVCSelector{}}
	long := strings.Repeat("x", 60)
	for name, tc := range map[string]struct {
		sources      []kopiurv1.Source
		repositories []string
		claims       int
		model        string
		want         []string
		copies       kopiurv1.CopyMethod
		fault        string
	}{
		"one claim is one Snapshot of the given name":    {sources: []kopiurv1.Source{pvc("data")}, want: []string{"run"}},
		"a name that is given is not cut":                {sources: []kopiurv1.Source{pvc("data")}, model: long + "abcdefgh", want: []string{long + "abcdefgh"}},
		"each source is one":                             {sources: []kopiurv1.Source{pvc("a"), {NFS: &kopiurv1.NFSVolume{}}}, want: []string{"run-a", "run-source1"}},
		"the same claim twice under one path is a fault": {sources: []kopiurv1.Source{pvc("a"), pvc("a")}, fault: "sources 0 and 1 of SnapshotPolicy data both stand for claim a"},
		"the same claim under two paths is two":          {sources: []kopiurv1.Source{pvc("a"), {PVC: &kopiurv1.LocalRef{Name: "a"}, SourcePathOverride: "/else"}}, want: []string{"run-a", "run-a-2"}},
		"a claim that is named and selected is a fault":  {sources: []kopiurv1.Source{pvc("claim-1"), selects("db")}, claims: 2, fault: "sources 0 and 1 of SnapshotPolicy data both stand for claim claim-1"},
		"selectors that overlap are a fault, whatever the paths": {sources: []kopiurv1.Source{selects("db"), {
			PVCSelector: selects("db").PVCSelector, SourcePathStrategy: kopiurv1.SourcePathPVCNamespacedName,
		}}, claims: 1, fault: "both stand for claim claim-0"},
		"a selector that selects nothing does not stop the others": {sources: []kopiurv1.Source{pvc("a"), selects("web")}, claims: 2, want: []string{"run-a"}},
		"each claim that is selected is one, also a sole one":      {sources: []kopiurv1.Source{selects("db")}, claims: 1, want: []string{"run-claim-0"}},
		"an empty selector means all but ours":                     {sources: []kopiurv1.Source{all}, claims: 2, want: []string{"run-claim-0", "run-claim-1"}},
		"each repository is one":                                   {sources: []kopiurv1.Source{pvc("a")}, repositories: []string{"nas", "offsite"}, want: []string{"run-repo-nas-" + sum("Repository nas"), "run-repo-offsite-" + sum("Repository offsite")}},
		"long names stay names of labels":                          {sources: []kopiurv1.Source{pvc("a"), pvc("b")}, model: long, want: []string{kopiurv1.LabelValue(long + "-a"), kopiurv1.LabelValue(long + "-b")}},
		"a selector that selects nothing is a fault":               {sources: []kopiurv1.Source{selects("web")}, claims: 2, fault: "source 0 selects no claim of namespace shop: label the claims"},
		"claims that cannot be cut at one instant are a fault":     {sources: []kopiurv1.Source{pvc("a"), pvc("b")}, copies: kopiurv1.CopyDirect, fault: "copyMethod: Direct cannot do that"},
		"also where they are selected":                             {sources: []kopiurv1.Source{selects("db")}, claims: 2, copies: kopiurv1.CopyClone, fault: "stands for 2 claims that are to be cut at one instant"},
		"one claim needs no instant in common with another":        {sources: []kopiurv1.Source{selects("db")}, claims: 1, copies: kopiurv1.CopyClone, want: []string{"run-claim-0"}},
		"more than the cap are none":                               {sources: []kopiurv1.Source{all}, claims: 201, repositories: []string{"a", "b"}, fault: "at most 400"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &kopiurv1.SnapshotPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "data"}}
			p.Spec.Sources, p.Spec.CopyMethod = tc.sources, tc.copies
			if tc.repositories == nil {
				p.Spec.Repository = &kopiurv1.RepositoryRef{Name: "nas"}
			}
			for _, r := range tc.repositories {
				p.Spec.Repositories = append(p.Spec.Repositories, kopiurv1.RepositoryRef{Name: r})
			}
			if tc.model == "" {
				tc.model = "run"
			}
			model := &kopiurv1.Snapshot{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: tc.model}}
			model.Spec.PolicyRef = &kopiurv1.PolicyRef{Name: "data"}
			got, refusal := expand.Run(p, model, claims(tc.claims))
			if tc.fault != "" {
				require.NotNil(t, refusal)
				require.ErrorContains(t, refusal, tc.fault)
				assert.NotEmpty(t, refusal.Reason)
				assert.Empty(t, got, "nothing partial is started")
				return
			}
			require.Nil(t, refusal)
			again, _ := expand.Run(p, model, claims(tc.claims))
			assert.Equal(t, got, again, "a run that was cut short goes on under the same names")
			var names []string
			for _, s := range got {
				names = append(names, s.Name)
				assert.Empty(t, validation.SnapshotOfPolicy(s, p).Errors, "admission takes what is made")
				assert.Empty(t, validation.Snapshot(s).Errors)
			}
			assert.Equal(t, tc.want, names)
		})
	}
}

// TestTogether: the claims of one run in one repository are one group, and the first Snapshot makes it.
func TestTogether(t *testing.T) {
	t.Parallel()
	pvc := func(name string) kopiurv1.Source { return kopiurv1.Source{PVC: &kopiurv1.LocalRef{Name: name}} }
	nfs := kopiurv1.Source{NFS: &kopiurv1.NFSVolume{Server: "s", Path: "/p"}}
	type member struct{ name, group, claims string }
	for name, tc := range map[string]struct {
		sources      []kopiurv1.Source
		repositories []string
		by           kopiurv1.GroupBy
		want         []member
	}{
		"one claim is cut for itself": {sources: []kopiurv1.Source{pvc("a")}, want: []member{{name: "run"}}},
		"one claim and what is none":  {sources: []kopiurv1.Source{pvc("a"), nfs}, want: []member{{name: "run-a"}, {name: "run-source1"}}},
		"two are cut together, what is none is not": {sources: []kopiurv1.Source{pvc("b"), nfs, pvc("a")}, want: []member{
			{"run-b", "run-data", "a,b"}, {name: "run-source1"}, {"run-a", "run-data", ""},
		}},
		"each is cut for itself where that was written": {sources: []kopiurv1.Source{pvc("a"), pvc("b")}, by: kopiurv1.GroupByNone, want: []member{{name: "run-a"}, {name: "run-b"}}},
		"each repository has a group of its own": {sources: []kopiurv1.Source{pvc("a"), pvc("b")}, repositories: []string{"nas", "off"}, want: []member{
			{"run-a-repo-nas-" + sum("Repository nas"), "run-data-repo-nas-" + sum("Repository nas"), "a,b"},
			{"run-a-repo-off-" + sum("Repository off"), "run-data-repo-off-" + sum("Repository off"), "a,b"},
			{"run-b-repo-nas-" + sum("Repository nas"), "run-data-repo-nas-" + sum("Repository nas"), ""},
			{"run-b-repo-off-" + sum("Repository off"), "run-data-repo-off-" + sum("Repository off"), ""},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &kopiurv1.SnapshotPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "data"}}
			p.Spec.Sources, p.Spec.GroupBy = tc.sources, tc.by
			if tc.repositories == nil {
				p.Spec.Repository = &kopiurv1.RepositoryRef{Name: "nas"}
			}
			for _, r := range tc.repositories {
				p.Spec.Repositories = append(p.Spec.Repositories, kopiurv1.RepositoryRef{Name: r})
			}
			model := &kopiurv1.Snapshot{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "run"}}
			list, refusal := expand.Run(p, model, nil)
			require.Nil(t, refusal)
			var got []member
			for _, s := range list {
				m := member{name: s.Name, group: s.Labels[kopiurv1.LabelGroup], claims: s.Annotations[kopiurv1.AnnotationGroupClaims]}
				if m.group != "" {
					assert.Equal(t, &kopiurv1.SnapshotGroup{Namespace: "shop", VolumeGroupSnapshotName: m.group}, s.Spec.Source.Group)
				} else if s.Spec.Source != nil {
					assert.Nil(t, s.Spec.Source.Group)
				}
				got = append(got, m)
			}
			assert.Equal(t, tc.want, got)
			assert.Nil(t, model.Labels, "the model is not changed")
		})
	}
}

func TestIdle(t *testing.T) {
	t.Parallel()
	p := &kopiurv1.SnapshotPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "data"}}
	for _, tier := range []string{"db", "web"} {
		p.Spec.Sources = append(p.Spec.Sources, kopiurv1.Source{PVCSelector: &kopiurv1.PVCSelector{LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"tier": tier}}}})
	}
	assert.Equal(t, []string{
		"source 0 selects no claim of namespace shop that has a volume: claim unused waits for the first pod that uses it",
		"source 1 selects no claim of namespace shop: label the claims that are meant, or correct the selector",
	}, expand.Idle(p, claims(0)))
	assert.Len(t, expand.Idle(p, claims(1)), 1)
}

func TestSelects(t *testing.T) {
	t.Parallel()
	source := kopiurv1.Source{PVCSelector: &kopiurv1.PVCSelector{LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "db"}}}}
	for _, c := range claims(1) {
		assert.Equal(t, c.Name == "claim-0" || c.Name == "unused" || c.Name == "elsewhere", expand.Selects(source, &c), c.Name)
	}
	assert.False(t, expand.Selects(kopiurv1.Source{PVC: &kopiurv1.LocalRef{Name: "claim-0"}}, &claims(1)[2]), "a source that names a claim selects none")
}
