// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// seed checks what a new repository is filled from.
func seed(at *field.Path, s *kopiurv1.RepositorySpec, in scope) Findings {
	var f Findings
	c := s.Seed
	if c == nil {
		return f
	}
	if s.Mode == kopiurv1.ModeReadOnly {
		f.forbidden(at, "it is written to the repository, and mode is ReadOnly: leave it out")
	}
	from := at.Child("from")
	f.Merge(oneOf(from, variant{"backend", c.From.Backend != nil}, variant{"repository", c.From.Repository != nil}))
	if b := c.From.Backend; b != nil {
		f.Merge(backend(from.Child("backend"), *b, in.secrets()))
		f.Merge(MixedAuth(from.Child("backend"), *b, s.Backend))
		if SameLocation(*b, s.Backend) {
			f.forbidden(from.Child("backend"), "it is the place of the repository itself: name another, or leave seed out")
		}
	}
	if r := c.From.Repository; r != nil {
		f.Merge(repositoryRef(from.Child("repository"), *r))
		f.Merge(notItself(from.Child("repository"), *r, in))
	}
	f.Merge(failurePolicy(at.Child("failurePolicy"), c.FailurePolicy))
	if y := c.Sync; y != nil {
		f.Merge(seedSync(at.Child("sync"), *y, c.From))
	}
	if m := c.Migrate; m != nil {
		at := at.Child("migrate")
		if c.From.Repository == nil && c.From.Backend != nil {
			f.forbidden(at, "it goes with from.repository; with from.backend write sync")
		}
		f.Merge(atLeastOne(at.Child("parallel"), m.Parallel))
		if t := m.Throttle; t != nil {
			f.Merge(throttle(at.Child("throttle", "source"), t.Source))
			f.Merge(throttle(at.Child("throttle", "destination"), t.Destination))
		}
	}
	return f
}

func seedSync(at *field.Path, y kopiurv1.SeedSync, from kopiurv1.SeedSource) Findings {
	var f Findings
	if from.Backend == nil && from.Repository != nil {
		f.forbidden(at, "it goes with from.backend; with from.repository write migrate")
	}
	f.Merge(atLeastOne(at.Child("parallel"), y.Parallel))
	for _, n := range []struct {
		field string
		value int64
	}{
		{"maxDownloadSpeedBytesPerSecond", y.MaxDownloadSpeedBytesPerSecond},
		{"maxUploadSpeedBytesPerSecond", y.MaxUploadSpeedBytesPerSecond},
	} {
		if n.value < 0 {
			f.invalid(at.Child(n.field), n.value, "write 0 or more; 0 is no limit")
		}
	}
	return f
}

// notItself refuses a repository that names itself.
func notItself(at *field.Path, r kopiurv1.RepositoryRef, in scope) Findings {
	var f Findings
	r = r.In(in.namespace)
	self := r.Name == in.name && in.name != "" && (r.Kind == kopiurv1.KindClusterRepository) == in.cluster
	if self && (in.cluster || r.Namespace == in.namespace) {
		f.forbidden(at, "it is the repository itself: name another, or leave seed out")
	}
	if in.cluster && r.Kind == kopiurv1.KindRepository && r.Namespace == "" {
		f.required(at.Child("namespace"), "write the namespace of the Repository, or kind: ClusterRepository")
	}
	return f
}
