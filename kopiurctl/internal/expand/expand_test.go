// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package expand_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/validation"
	"github.com/kopiur/kopiur/kopiurctl/internal/expand"
)

func claims(n int) []corev1.PersistentVolumeClaim {
	out := []corev1.PersistentVolumeClaim{
		{ObjectMeta: metav1.ObjectMeta{Name: "ours", Labels: map[string]string{kopiurv1.LabelManagedBy: kopiurv1.ManagedByValue}}},
		{ObjectMeta: metav1.ObjectMeta{Name: "going", DeletionTimestamp: &metav1.Time{}}},
	}
	for i := range n {
		out = append(out, corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("claim-%d", i), Labels: map[string]string{"tier": "db"}}})
	}
	return out
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
		fault        string
	}{
		"one claim is one Snapshot of the given name":         {sources: []kopiurv1.Source{pvc("data")}, want: []string{"run"}},
		"a name that is given is not cut":                     {sources: []kopiurv1.Source{pvc("data")}, model: long + "abcdefgh", want: []string{long + "abcdefgh"}},
		"each source is one":                                  {sources: []kopiurv1.Source{pvc("a"), {NFS: &kopiurv1.NFSVolume{}}}, want: []string{"run-a", "run-source1"}},
		"the same claim twice is two":                         {sources: []kopiurv1.Source{pvc("a"), pvc("a")}, want: []string{"run-a", "run-a-2"}},
		"each claim that is selected is one, also a sole one": {sources: []kopiurv1.Source{selects("db")}, claims: 1, want: []string{"run-claim-0"}},
		"an empty selector means all but ours":                {sources: []kopiurv1.Source{all}, claims: 2, want: []string{"run-claim-0", "run-claim-1"}},
		"each repository is one":                              {sources: []kopiurv1.Source{pvc("a")}, repositories: []string{"nas", "offsite"}, want: []string{"run-nas", "run-offsite"}},
		"long names stay names of labels":                     {sources: []kopiurv1.Source{pvc("a"), pvc("b")}, model: long, want: []string{kopiurv1.LabelValue(long + "-a"), kopiurv1.LabelValue(long + "-b")}},
		"a selector that selects nothing is a fault":          {sources: []kopiurv1.Source{selects("web")}, claims: 2, fault: "selects no claim"},
		"more than the cap are none":                          {sources: []kopiurv1.Source{all}, claims: 201, repositories: []string{"a", "b"}, fault: "at most 400"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &kopiurv1.SnapshotPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "data"}}
			p.Spec.Sources = tc.sources
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
			got, err := expand.Run(p, model, claims(tc.claims))
			if tc.fault != "" {
				require.ErrorContains(t, err, tc.fault)
				assert.Empty(t, got)
				return
			}
			require.NoError(t, err)
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
