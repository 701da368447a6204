// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package validation_test

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kopiur/kopiur/apis/testing/schemagen"
	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/validation"
)

// worn takes fields away from an object and empties others, as an older schema or another client may have left them.
func worn(r *rand.Rand, v any, odds int) any {
	switch t := v.(type) {
	case map[string]any:
		for k, c := range t {
			switch r.IntN(odds) {
			case 0:
				delete(t, k)
			case 1:
				t[k] = nil
			default:
				t[k] = worn(r, c, odds)
			}
		}
	case []any:
		if r.IntN(odds) == 0 {
			return []any{}
		}
		for i, c := range t {
			t[i] = worn(r, c, odds)
		}
	}
	return v
}

// Whatever is stored can be judged: by itself, as a change of something else, and among others.
func FuzzValidationNeverPanics(f *testing.F) {
	schemas, err := schemagen.Read(os.DirFS("../../charts/kopiur/crds"))
	require.NoError(f, err)
	scheme := runtime.NewScheme()
	require.NoError(f, kopiurv1.AddToScheme(scheme))
	for seed := range uint64(12) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 2))
		g := &schemagen.Generator{Rand: rand.New(rand.NewPCG(seed, 1)), Optional: 10 + int(seed%80)}
		made := func(kind string) runtime.Object {
			s := schemas[kind]
			raw, err := json.Marshal(map[string]any{
				"metadata": map[string]any{"name": "a", "namespace": []string{"", "b"}[r.IntN(2)], "annotations": map[string]string{
					kopiurv1.AnnotationRunRequested: "x", kopiurv1.AnnotationAllowMassDeletion: "y",
				}},
				"spec": worn(r, g.Value(s.Property("spec")), 4+r.IntN(40)), "status": worn(r, g.Value(s.Property("status")), 30),
			})
			require.NoError(t, err)
			o, err := scheme.New(kopiurv1.GroupVersion.WithKind(kind))
			require.NoError(t, err)
			if err := utiljson.Unmarshal(raw, o); err != nil {
				t.Logf("%s: %v", kind, err)
			}
			return o
		}
		for kind := range schemas {
			a, b := made(kind), made(kind)
			for _, e := range validation.Object(a).Errors {
				require.NotEmpty(t, e.Field)
				require.NotEmpty(t, e.Detail, "%s", e.Field)
			}
			validation.Update(a, b)
			validation.Guard(a)
			validation.NotYetSupported(a)
		}
		p, q := made("SnapshotPolicy").(*kopiurv1.SnapshotPolicy), made("SnapshotPolicy").(*kopiurv1.SnapshotPolicy)
		q.Name = "q"
		repo := made("Repository").(*kopiurv1.Repository)
		other := made("ClusterRepository").(*kopiurv1.ClusterRepository)
		validation.IdentityCollision(p, repo.Spec.IdentityDefaults, []kopiurv1.SnapshotPolicy{*q, *p})
		validation.IdentityChange(p, q, repo.Spec.IdentityDefaults)
		validation.RepositoryIdentityChange(repo.Spec.IdentityDefaults, other.Spec.IdentityDefaults, nil, []kopiurv1.SnapshotPolicy{*q, *p})
		validation.MoverUser(p, repo.Spec.MoverDefaults)
		validation.WithExtraArgs(p.Spec)
		validation.SnapshotOfPolicy(made("Snapshot").(*kopiurv1.Snapshot), p)
		validation.RestoreOfPolicy(made("Restore").(*kopiurv1.Restore), p)
		validation.NamespaceAllowed(nil, other, "a", nil)
		rr, rs := made("RepositoryReplication").(*kopiurv1.RepositoryReplication), made("RepositoryReplication").(*kopiurv1.RepositoryReplication)
		rs.Name = "s"
		validation.RepositoryReplicationOf(rr, repo.Spec)
		validation.RepositoryReplicationDestination(rr, []kopiurv1.RepositoryReplication{*rs})
		validation.SnapshotReplicationOf(made("SnapshotReplication").(*kopiurv1.SnapshotReplication), repo.Spec, other.Spec.RepositorySpec)
		validation.MaintenanceOwner(made("Maintenance").(*kopiurv1.Maintenance), []kopiurv1.Maintenance{*made("Maintenance").(*kopiurv1.Maintenance)})
		validation.MassDeletionAck(repo.Annotations, time.Now())
	})
}
