// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"slices"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation/field"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// Maintenance checks a Maintenance.
func Maintenance(o *kopiurv1.Maintenance) Findings {
	at, s := field.NewPath("spec"), &o.Spec
	f := labelName(field.NewPath("metadata", "name"), o.Name)
	f.Merge(RunRequest(o.Annotations, string(kopiurv1.MaintenanceQuick), string(kopiurv1.MaintenanceFull)))
	f.Merge(repositoryRef(at.Child("repository"), s.Repository))
	f.Merge(maintenanceSchedule(at.Child("schedule"), s.Schedule, o.Namespace+"/"+o.Name))
	f.Merge(ownership(at.Child("ownership"), s.Ownership))
	f.Merge(mover(at.Child("mover"), s.Mover, inherit{}))
	f.Merge(failurePolicy(at.Child("failurePolicy"), s.FailurePolicy))
	f.Merge(projection(at.Child("credentialProjection"), s.CredentialProjection, s.Repository))
	return f
}

// MaintenanceOwner checks a Maintenance among the others. Two of one name take themselves for one and run at once, which
// deletes what the other is about to need (K-6).
func MaintenanceOwner(o *kopiurv1.Maintenance, others []kopiurv1.Maintenance) Findings {
	var f Findings
	at := field.NewPath("spec", "ownership")
	mine, names := o.Spec.Repository.In(o.Namespace), ownerNames(o)
	for i := range others {
		other := &others[i]
		if other.Namespace == o.Namespace && other.Name == o.Name || other.Spec.Repository.In(other.Namespace) != mine {
			continue
		}
		theirs := ownerNames(other)
		if i := slices.IndexFunc(names, func(n string) bool { return slices.Contains(theirs, n) }); i >= 0 {
			which := at.Child("owner")
			if i > 0 {
				which = at.Child("ownerAliases").Index(i - 1)
			}
			f.invalid(which, names[i], "Maintenance %s/%s of the same repository has this name too, and both would run at once: choose another, or keep one Maintenance",
				other.Namespace, other.Name)
		}
	}
	return f
}

func ownerNames(o *kopiurv1.Maintenance) []string {
	return append([]string{o.Spec.Ownership.Owner}, o.Spec.Ownership.OwnerAliases...)
}

// maintenanceSchedule checks when quick and full maintenance run.
func maintenanceSchedule(at *field.Path, s kopiurv1.MaintenanceSchedule, seed string) Findings {
	f := cronSpec(at.Child("quick"), s.Quick, seed)
	f.Merge(cronSpec(at.Child("full"), s.Full, seed))
	f.Merge(timezone(at.Child("timezone"), s.Timezone))
	return f
}

func ownership(at *field.Path, o kopiurv1.MaintenanceOwnership) Findings {
	f := ownerName(at.Child("owner"), o.Owner)
	for i, alias := range o.OwnerAliases {
		at := at.Child("ownerAliases").Index(i)
		f.Merge(ownerName(at, alias))
		if alias == o.Owner || slices.Contains(o.OwnerAliases[:i], alias) {
			f.warn(at, "it is there already: leave it out")
		}
	}
	switch o.TakeoverPolicy {
	case "", kopiurv1.TakeoverNever, kopiurv1.TakeoverPromptCondition:
	case kopiurv1.TakeoverForce:
		f.warn(at.Child("takeoverPolicy"), "it takes the maintenance from whoever has it, also from one that is at work: set it back to Never once it is yours")
	default:
		f.invalid(at.Child("takeoverPolicy"), string(o.TakeoverPolicy), "write Never, PromptCondition or Force")
	}
	return f
}

// ownerName checks a name that is registered in the repository, such as kopiur/media/nas or user@host.
func ownerName(at *field.Path, s string) Findings {
	f := present(at, s, "write a name of its own for this Maintenance, such as kopiur/<namespace>/<repository>")
	if strings.ContainsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) ||
		strings.HasPrefix(s, "/") || strings.HasSuffix(s, "/") || strings.Contains(s, "//") {
		f.invalid(at, s, "write it like kopiur/<namespace>/<repository>: no spaces, and no empty part between slashes")
	}
	return f
}
