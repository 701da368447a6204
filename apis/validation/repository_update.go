// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// RepositoryUpdate checks a change of a Repository. The reference to the password may change: kopia keeps the password
// itself, not where it came from.
func RepositoryUpdate(updated, old *kopiurv1.Repository) Findings {
	return createUpdate(updated.Spec.Create, old.Spec.Create)
}

// ClusterRepositoryUpdate checks a change of a ClusterRepository.
func ClusterRepositoryUpdate(updated, old *kopiurv1.ClusterRepository) Findings {
	return createUpdate(updated.Spec.Create, old.Spec.Create)
}

// createUpdate refuses another value for what a repository was created with. Adding one and leaving one out pass, so
// that an old client that does not know a field can still write the object.
func createUpdate(updated, old *kopiurv1.CreateSpec) Findings {
	var f Findings
	if updated == nil || old == nil {
		return f
	}
	at := field.NewPath("spec", "create")
	for _, c := range []struct{ field, updated, old string }{
		{"splitter", updated.Splitter, old.Splitter},
		{"hash", updated.Hash, old.Hash},
		{"encryption", updated.Encryption, old.Encryption},
	} {
		if c.updated != "" && c.old != "" && c.updated != c.old {
			f.invalid(at.Child(c.field), c.updated, "it was %s when the repository was created, and cannot change: write that, or leave it out", c.old)
		}
	}
	if updated.ECC != nil && old.ECC != nil && *updated.ECC != *old.ECC {
		f.forbidden(at.Child("ecc"), "it was fixed when the repository was created, and cannot change: write it as before, or leave it out")
	}
	return f
}
