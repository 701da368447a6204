// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// maxName is what a name may have that becomes the value of a label.
const maxName = 63

// present checks a text that must not be empty; fix says what to write.
func present(at *field.Path, s, fix string) Findings {
	var f Findings
	if s == "" {
		f.required(at, "%s", fix)
	}
	return f
}

// name checks the name of an object that does not have to exist yet. A name that no object can have is a mistake that
// would otherwise be waited for.
func name(at *field.Path, s string) Findings {
	var f Findings
	switch {
	case s == "":
		f.required(at, "write the name of the object")
	case len(validation.IsDNS1123Subdomain(s)) > 0:
		f.invalid(at, s, "no object can have this name: write lower case letters, digits, - and .")
	}
	return f
}

// labelName is name for those that become the value of a label.
func labelName(at *field.Path, s string) Findings {
	f := name(at, s)
	if len(s) > maxName {
		f.invalid(at, s, "write at most %d characters: the name is the value of a label", maxName)
	}
	return f
}

// namespace checks a namespace's name; "" is one that was left out.
func namespace(at *field.Path, s string) Findings {
	var f Findings
	if s != "" && len(validation.IsDNS1123Label(s)) > 0 {
		f.invalid(at, s, "no namespace can have this name: write lower case letters, digits and -, at most 63 characters")
	}
	return f
}

// dataKey checks a key below data of a Secret or ConfigMap; "" is one that was left out.
func dataKey(at *field.Path, s string) Findings {
	var f Findings
	if s != "" && len(validation.IsConfigMapKey(s)) > 0 {
		f.invalid(at, s, "no Secret or ConfigMap can have this key: write letters, digits, -, _ and .")
	}
	return f
}

// repositoryRef checks a reference to a repository.
func repositoryRef(at *field.Path, r kopiurv1.RepositoryRef) Findings {
	f := labelName(at.Child("name"), r.Name)
	f.Merge(namespace(at.Child("namespace"), r.Namespace))
	if r.KindOrDefault() == kopiurv1.KindClusterRepository && r.Namespace != "" {
		f.forbidden(at.Child("namespace"), "a ClusterRepository has no namespace: leave it out, or write kind: Repository")
	}
	return f
}

// variant is one field of a union.
type variant struct {
	name string
	set  bool
}

// oneOf checks a union: exactly one of its variants is set.
func oneOf(at *field.Path, variants ...variant) Findings {
	var f Findings
	var have, all []string
	for _, v := range variants {
		all = append(all, v.name)
		if v.set {
			have = append(have, v.name)
		}
	}
	switch len(have) {
	case 0:
		f.required(at, "write exactly one of %s", strings.Join(all, ", "))
	case 1:
	default:
		f.forbidden(at, "%s are set: keep exactly one of %s", strings.Join(have, " and "), strings.Join(all, ", "))
	}
	return f
}
