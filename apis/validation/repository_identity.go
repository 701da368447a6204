// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"errors"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kopiur/kopiur/apis/identity"
	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// longestCluster leaves room for the namespace, with which it makes a hostname.
const longestCluster = 32

func identityDefaults(at *field.Path, d *kopiurv1.IdentityDefaults) Findings {
	var f Findings
	if d == nil {
		return f
	}
	switch cluster := at.Child("cluster"); {
	case d.Cluster == "":
	case len(validation.IsDNS1123Label(d.Cluster)) > 0:
		f.invalid(cluster, d.Cluster, "write lower case letters, digits and -, without dots")
	case len(d.Cluster) > longestCluster:
		f.invalid(cluster, d.Cluster, "write at most %d characters", longestCluster)
	}
	for _, e := range []struct {
		one  kopiurv1.IdentityDefaults
		text string
	}{
		{kopiurv1.IdentityDefaults{UsernameExpr: d.UsernameExpr}, d.UsernameExpr},
		{kopiurv1.IdentityDefaults{HostnameExpr: d.HostnameExpr}, d.HostnameExpr},
	} {
		_, err := identity.Compile(&e.one)
		if fault := (*identity.FieldError)(nil); errors.As(err, &fault) {
			f.invalid(at.Child(fault.Field), e.text, "%s", fault.Err)
		}
	}
	return f
}

// namedAtMost is how many policies a message names.
const namedAtMost = 3

// RepositoryIdentityChange checks what a change of identityDefaults does to policies that have snapshots in the
// repository: filed under another identity, further snapshots begin a history of their own, and neither retention nor a
// restore finds the old ones. The annotation allow-identity-change of the changed object says that this is meant.
func RepositoryIdentityChange(updated, old *kopiurv1.IdentityDefaults, annotations map[string]string, withHistory []kopiurv1.SnapshotPolicy) Findings {
	var f Findings
	after, err := identity.Compile(updated)
	if err != nil {
		return f // identityDefaults is refused for itself
	}
	before, err := identity.Compile(old)
	if err != nil || annotations[kopiurv1.AnnotationAllowIdentityChange] != "" {
		return f
	}
	var moved []string
	for i := range withHistory {
		p := &withHistory[i]
		was, err := before.Of(p, "")
		if err != nil {
			continue // nothing can have been filed under it
		}
		who := "SnapshotPolicy " + p.Namespace + "/" + p.Name
		switch is, err := after.Of(p, ""); {
		case err != nil:
			moved = append(moved, who+" (from "+whoAt(was)+" to nothing: "+err.Error()+")")
		case is != was:
			moved = append(moved, who+" (from "+whoAt(was)+" to "+whoAt(is)+")")
		}
	}
	if len(moved) == 0 {
		return f
	}
	more := ""
	if n := len(moved) - namedAtMost; n > 0 {
		moved, more = moved[:namedAtMost], ", and more"
	}
	f.forbidden(field.NewPath("spec", "identityDefaults"),
		"policies have snapshots in the repository and would file further ones under another identity, where nothing finds the old ones: %s%s. "+
			"Set spec.identity in them to keep it, or annotate this object with %s if it is meant",
		strings.Join(moved, ", "), more, kopiurv1.AnnotationAllowIdentityChange)
	return f
}

// whoAt is an identity without a path.
func whoAt(i kopiurv1.Identity) string { return i.Username + "@" + i.Hostname }
