// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// server checks the web UI.
func server(at *field.Path, s *kopiurv1.RepositorySpec, in scope) Findings {
	var f Findings
	c := s.Server
	if c == nil {
		return f
	}
	f.Merge(namespace(at.Child("namespace"), c.Namespace))
	switch {
	case in.cluster && c.Namespace == "":
		f.required(at.Child("namespace"), "write the namespace that the server runs in")
	case !in.cluster && c.Namespace != "":
		f.forbidden(at.Child("namespace"), "it is for a ClusterRepository only: a Repository's server runs in its own namespace")
	}
	if s.Mode == kopiurv1.ModeReadOnly && c.ReadOnly != nil && !*c.ReadOnly {
		f.invalid(at.Child("readOnly"), false, "mode is ReadOnly, and so is its server: leave it out, or write true")
	}
	f.Merge(serverAuth(at.Child("auth"), c.Auth))
	if v := c.Service; v != nil {
		at := at.Child("service")
		if p := v.Port; p != nil && (*p < 1 || *p > 65535) {
			f.invalid(at.Child("port"), *p, "write a port from 1 to 65535, or leave it out for 51515")
		}
		f.Merge(annotationMap(at.Child("annotations"), v.Annotations))
	}
	f.Merge(resources(at.Child("resources"), c.Resources))
	return f
}

func serverAuth(at *field.Path, a *kopiurv1.ServerAuth) Findings {
	var f Findings
	if a == nil {
		return f
	}
	f.Merge(oneOf(at, variant{"generate", a.Generate != nil}, variant{"secretRef", a.SecretRef != nil}, variant{"insecure", a.Insecure != nil}))
	if r := a.SecretRef; r != nil {
		at := at.Child("secretRef")
		f.Merge(name(at.Child("name"), r.Name))
		for _, k := range []struct{ field, key string }{{"usernameKey", r.UsernameKey}, {"passwordKey", r.PasswordKey}} {
			f.Merge(present(at.Child(k.field), k.key, "write the key below data of the Secret"))
			f.Merge(dataKey(at.Child(k.field), k.key))
		}
	}
	if i := a.Insecure; i != nil {
		at := at.Child("insecure", "acknowledgeInsecure")
		if !i.AcknowledgeInsecure {
			f.invalid(at, false, "write true if everybody who reaches the server may read and delete backups, or leave insecure out for a generated password")
		} else {
			f.warn(at, "everybody who reaches the server can read and delete backups")
		}
	}
	return f
}
