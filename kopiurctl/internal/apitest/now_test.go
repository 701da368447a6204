// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package apitest

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/kopiurctl/internal/cli"
)

// snapshotsOf lists what is in the namespace.
func (w *world) snapshotsOf() []kopiurv1.Snapshot {
	w.t.Helper()
	var list kopiurv1.SnapshotList
	require.NoError(w.t, w.client.List(w.t.Context(), &list, client.InNamespace(w.namespace)))
	return list.Items
}

// What is wrong with a command line is said before anything is sent.
func TestSnapshotNowRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(repository("nas"), policy("data", "nas"), policy("none", "nas", kopiurv1.Source{PVCSelector: &kopiurv1.PVCSelector{
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"backup": "yes"}},
	}}))
	mistakes := map[string][]string{
		"no-policy":         nil,
		"policy-unknown":    {"--policy", "dta"},
		"tag-without-value": {"--policy", "data", "--tag", "ticket"},
		"tag-twice":         {"--policy", "data", "--tag", "a=1", "--tag", "a=2"},
		"tag-of-ours":       {"--policy", "data", "--tag", "kopiur-request=1"},
		"tag-with-colon":    {"--policy", "data", "--tag", "a:b=1"},
		"deletion-policy":   {"--policy", "data", "--deletion-policy", "Keep"},
		"backoff-limit":     {"--policy", "data", "--backoff-limit", "-1"},
		"deadline":          {"--policy", "data", "--active-deadline-seconds", "0"},
		"name":              {"--policy", "data", "--name", "Before_Upgrade"},
		"all-namespaces":    {"--policy", "data", "-A"},
		"timeout-alone":     {"--policy", "data", "--timeout", "1m"},
		"timeout-negative":  {"--policy", "data", "--wait", "--timeout", "-1m"},
		"dry-run-and-wait":  {"--policy", "data", "--dry-run", "--wait"},
		"number":            {"--policy", "data", "--backoff-limit", "many"},
		"no-claim-selected": {"--policy", "none"},
		"verb":              {"--polcy", "data"},
	}
	for name, args := range mistakes {
		w.run(append([]string{"snapshot", "now"}, args...)...).golden("now-refuses-" + name)
	}
	assert.Empty(t, w.snapshotsOf(), "nothing was created")
}

func TestSnapshotNow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(policy("data", "nas"))
	r := w.run("snapshot", "now", "--policy", "data", "--name", "before-upgrade", "--pin", "--tag", "ticket=4711", "--tag", "note=a=b",
		"--description", "before the upgrade", "--deletion-policy", "Retain", "--backoff-limit", "0", "--active-deadline-seconds", "600")
	r.golden("now-created")
	made := snapshot("before-upgrade", "")
	made.Namespace = w.namespace
	w.get(made)
	assert.Equal(t, kopiurv1.SnapshotSpec{
		PolicyRef: &kopiurv1.PolicyRef{Name: "data"}, Pin: true, Tags: map[string]string{"ticket": "4711", "note": "a=b"},
		Description: "before the upgrade", DeletionPolicy: kopiurv1.DeletionRetain,
		FailurePolicy: &kopiurv1.FailurePolicy{BackoffLimit: new(int32(0)), ActiveDeadlineSeconds: new(int64(600))},
	}, made.Spec)
	assert.Equal(t, map[string]string{kopiurv1.LabelConfig: "data", kopiurv1.LabelPolicy: "data"}, made.Labels)
	assert.Equal(t, "kopiurctl", made.ManagedFields[0].Manager)

	again := w.run("snapshot", "now", "--policy", "data", "--name", "before-upgrade", "--pin", "--tag", "ticket=4711", "--tag", "note=a=b",
		"--description", "before the upgrade", "--deletion-policy", "Retain", "--backoff-limit", "0", "--active-deadline-seconds", "600")
	again.golden("now-repeated")
	w.run("snapshot", "now", "--policy", "data", "--name", "before-upgrade", "--description", "another").golden("now-name-taken")
	assert.Len(t, w.snapshotsOf(), 1)
}

// Without a name each call makes another Snapshot, named after policy and time.
func TestSnapshotNowNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(policy("data", "nas"))
	for range 3 {
		r := w.run("snapshot", "now", "--policy", "data", "-o", "name")
		require.Equal(t, cli.OK, r.code, r.stderr)
		assert.Regexp(t, `^snapshot\.kopiur\.home-operations\.com/data-\d{8}-\d{6}(-\d)?\n$`, r.stdout)
	}
	assert.Len(t, w.snapshotsOf(), 3)
	r := w.run("snapshot", "now", "--policy", "data", "--dry-run", "-o", "json")
	require.Equal(t, cli.OK, r.code, r.stderr)
	var s kopiurv1.Snapshot
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &s))
	assert.Equal(t, "Snapshot", s.Kind)
	assert.Equal(t, "data", s.Spec.PolicyRef.Name)
	assert.Len(t, w.snapshotsOf(), 3, "a dry run creates nothing")
}

// A policy with several sources, selected claims or repositories stands for one Snapshot of each.
func TestSnapshotNowOfSeveral(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	both := policy("both", "nas", claimSource("db"), kopiurv1.Source{PVCSelector: &kopiurv1.PVCSelector{
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"backup": "yes"}},
	}})
	both.Spec.Repository = nil
	both.Spec.Repositories = []kopiurv1.RepositoryRef{{Name: "nas"}, {Name: "offsite", Kind: kopiurv1.KindClusterRepository}}
	ours := map[string]string{"backup": "yes", kopiurv1.LabelManagedBy: kopiurv1.ManagedByValue}
	w.create(both, claim("web", map[string]string{"backup": "yes"}), claim("cache", nil), claim("web-src", ours))
	w.run("snapshot", "now", "--policy", "both", "--name", "all").golden("now-several")
	for _, s := range w.snapshotsOf() {
		if strings.HasPrefix(s.Name, "all-web-repo-offsite-") {
			assert.Equal(t, kopiurv1.KindClusterRepository, s.Spec.Repository.Kind)
			assert.Equal(t, int32(1), s.Spec.Source.SourceIndex)
			assert.Equal(t, kopiurv1.NamespacedRef{Name: "web", Namespace: w.namespace}, s.Spec.Source.Target.PVC)
		}
	}
	w.run("snapshot", "now", "--policy", "both", "--name", "all").golden("now-several-repeated")
	assert.Len(t, w.snapshotsOf(), 4)
}

func TestSnapshotNowForbidden(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(policy("data", "nas"))
	bob := w.as("bob-" + w.namespace)
	name := []string{"bob-" + w.namespace, "bob"}
	bob.run("snapshot", "now", "--policy", "data").golden("now-forbidden", name...)
	w.allow("bob-"+w.namespace, []string{"get", "list"}, "snapshotpolicies")
	bob.run("snapshot", "now", "--policy", "data", "--name", "x").golden("now-forbidden-create", name...)
	assert.Empty(t, w.snapshotsOf())
}

// A suspended policy is no mistake, and worth knowing.
func TestSnapshotNowOfASuspendedPolicy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := policy("data", "nas")
	p.Spec.Suspend = true
	w.create(p)
	w.run("snapshot", "now", "--policy", "data", "--name", "x").golden("now-suspended")
}

func TestExitCodesOfAnUnreachableCluster(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.run("snapshots", "list", "--kubeconfig", "/does/not/exist")
	assert.Equal(t, cli.Usage, r.code)
	assert.Regexp(t, regexp.QuoteMeta("/does/not/exist"), r.stderr)
	r = w.run("snapshots", "list", "--context", "elsewhere")
	assert.Equal(t, cli.Usage, r.code)
	assert.Contains(t, r.stderr, "elsewhere")
}
