// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package apitest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/kopiurctl/internal/cli"
)

// incident deletes many Snapshots of a repository, and holds them as the controller does.
func incident(t *testing.T) (*world, *kopiurv1.Repository) {
	t.Helper()
	w := newWorld(t)
	nas := repository("nas")
	nas.Status.Conditions = append(nas.Status.Conditions, condition(kopiurv1.ConditionMassDeletionHeld, metav1.ConditionTrue, kopiurv1.ReasonThresholdExceeded, "held"))
	w.create(nas, policy("data", "nas"), policy("db", "nas"))
	for i := range 5 {
		w.hold(succeeded(snapshot(fmt.Sprintf("data-%d", i), "data"), fmt.Sprintf("2026-03-0%dT04:00:00Z", i+1)))
	}
	db := succeeded(snapshot("db-1", "db"), "2026-02-01T04:00:00Z")
	db.Annotations = map[string]string{kopiurv1.AnnotationPrunedBy: kopiurv1.PrunedByPolicyCascade}
	w.hold(db)
	pruned := succeeded(snapshot("db-0", "db"), "2026-01-01T04:00:00Z")
	pruned.Annotations = map[string]string{kopiurv1.AnnotationPrunedBy: kopiurv1.PrunedByRetention}
	w.hold(pruned)
	return w, nas
}

// hold creates a Snapshot and deletes it; its finalizer keeps it, and its status says that it is held.
func (w *world) hold(s *kopiurv1.Snapshot) {
	w.t.Helper()
	s.Finalizers = []string{kopiurv1.FinalizerSnapshot}
	s.Status.Conditions = append(s.Status.Conditions, condition(kopiurv1.ConditionDeletionHeld, metav1.ConditionTrue, kopiurv1.ReasonMassDeletionBreaker, "10 deletions are pending"))
	w.create(s)
	require.NoError(w.t, w.client.Delete(w.t.Context(), s))
	w.t.Cleanup(func() {
		// There is no controller to finish it.
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = w.client.Patch(ctx, s, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
	})
	w.get(s)
}

// times replaces what the API server's clock said.
func (w *world) times(prefix string) []string {
	w.t.Helper()
	var out []string
	for i := range w.snapshotsOf() {
		s := &w.snapshotsOf()[i]
		if s.DeletionTimestamp == nil {
			continue
		}
		at := s.DeletionTimestamp.UTC()
		out = append(out, at.Format("2006-01-02 15:04:05Z"), prefix+" 00:00:00Z", at.Format(time.RFC3339), prefix+"T00:00:00Z")
	}
	return out
}

func ackOf(w *world, r *kopiurv1.Repository) string {
	w.get(r)
	return r.Annotations[kopiurv1.AnnotationAllowMassDeletion]
}

// I-10: TestAckDeletion covers what was shown and nothing later, by the API server's clock.
func TestAckDeletion(t *testing.T) {
	t.Parallel()
	w, nas := incident(t)
	times := w.times("2026-03-05")

	w.run("ack-deletion", "nas").golden("ack-nobody-to-ask", times...)
	assert.Empty(t, ackOf(w, nas))

	w.attended, w.in = true, "no\n"
	w.run("ack-deletion", "nas").golden("ack-declined", times...)
	w.in = "y\n"
	assert.Equal(t, cli.Failed, w.run("ack-deletion", "nas").code, "only a clear yes is one")
	w.in = ""
	assert.Equal(t, cli.Failed, w.run("ack-deletion", "nas").code, "the end of stdin is no yes")
	assert.Empty(t, ackOf(w, nas))

	w.in = "yes\n"
	w.run("ack-deletion", "nas").golden("ack-accepted", times...)
	newest := time.Time{}
	for _, s := range w.snapshotsOf() {
		if s.DeletionTimestamp != nil && s.DeletionTimestamp.After(newest) && s.Name != "db-0" {
			newest = s.DeletionTimestamp.Time
		}
	}
	require.Equal(t, newest.UTC().Format(time.RFC3339), ackOf(w, nas), "it covers the last deletion that was shown, by the API server's clock")

	w.attended = false
	w.run("ack-deletion", "nas").golden("ack-repeated", times...)
	version := nas.ResourceVersion
	w.get(nas)
	assert.Equal(t, version, nas.ResourceVersion, "the same is not written again")
}

// I-10: a wave that comes after the look is not let go with it.
func TestAckDeletionDoesNotCoverALaterWave(t *testing.T) {
	t.Parallel()
	w, nas := incident(t)
	r := w.run("ack-deletion", "nas", "--yes", "-o", "name")
	require.Equal(t, cli.OK, r.code, r.stderr)
	assert.Equal(t, "repository.kopiur.home-operations.com/nas\n", r.stdout)
	ack, err := time.Parse(time.RFC3339, ackOf(w, nas))
	require.NoError(t, err)
	// The API server's clock counts in seconds.
	later := succeeded(snapshot("later", "data"), "2026-03-05T04:00:00Z")
	require.Eventually(t, func() bool {
		probe := snapshot("", "data")
		probe.Namespace, probe.GenerateName = w.namespace, "probe-"
		return w.client.Create(t.Context(), probe, client.DryRunAll) == nil && probe.CreationTimestamp.After(ack)
	}, patience, 50*time.Millisecond)
	w.hold(later)
	assert.True(t, later.DeletionTimestamp.After(ack))
	r = w.run("ack-deletion", "nas", "--yes")
	require.Equal(t, cli.OK, r.code, r.stderr)
	assert.Equal(t, later.DeletionTimestamp.UTC().Format(time.RFC3339), ackOf(w, nas))
}

func TestAckDeletionOfNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(repository("nas"))
	w.run("ack-deletion", "nas", "--yes").golden("ack-nothing")
	w.run("ack-deletion", "nsa", "--yes").golden("ack-unknown")
	w.run("ack-deletion").golden("ack-no-name")
	w.run("ack-deletion", "nas", "-A").golden("ack-all-namespaces")
	w.as("mallory").run("ack-deletion", "nas", "--yes").golden("ack-forbidden")
}

func TestAckDeletionOfAClusterRepository(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	name := "offsite-" + w.namespace
	w.clusterRepository(name)
	s := succeeded(snapshot("one", "data"), "2026-03-01T04:00:00Z")
	s.Status.Resolved = &kopiurv1.SnapshotResolved{Repository: &kopiurv1.RepositoryRef{Name: name, Kind: kopiurv1.KindClusterRepository}}
	w.hold(s)
	r := w.run("ack-deletion", name, "--cluster", "--yes")
	assert.Equal(t, cli.OK, r.code, r.stderr)
	assert.Contains(t, r.stderr, "ClusterRepository "+name+" holds 1 deletion (")
	assert.Contains(t, r.stdout, "clusterrepository.kopiur.home-operations.com/"+name+" acknowledged up to 20")
	assert.Equal(t, cli.NotFound, w.run("ack-deletion", name, "--yes").code, "without --cluster it is a Repository")
}

// Whoever may not look everywhere is told that there may be more.
func TestAckDeletionOfOneNamespace(t *testing.T) {
	t.Parallel()
	w, _ := incident(t)
	user := "dave-" + w.namespace
	w.allow(user, []string{"get", "list", "patch"}, "repositories", "snapshots", "snapshotpolicies")
	r := w.as(user).run("ack-deletion", "nas", "--yes")
	assert.Equal(t, cli.OK, r.code, r.stderr)
	assert.Contains(t, r.stderr, "warning: you may not see all namespaces")
	assert.Contains(t, r.stderr, "holds 6 deletions")
}
