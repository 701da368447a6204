// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// secretsFrom says where the movers of an object mount its Secrets from. A pod mounts Secrets of its own namespace only:
// another namespace at a reference would be passed over, and a Secret of the same name and other content be used.
type secretsFrom struct {
	// namespace of the mount; "" where it is not known here.
	namespace string
	// whose namespace that is, for a sentence.
	whose string
	// explicit asks for a namespace at every Secret: copies are made of them, and that needs to know where from.
	explicit bool
	// cluster: the object has no namespace of its own, so that a Secret without one is worth a warning.
	cluster bool
}

// secretRef checks a reference to a whole Secret.
func secretRef(at *field.Path, r kopiurv1.SecretRef, from secretsFrom) Findings {
	f := name(at.Child("name"), r.Name)
	f.Merge(from.check(at.Child("namespace"), r.Namespace))
	return f
}

func (s secretsFrom) check(at *field.Path, ns string) Findings {
	f := namespace(at, ns)
	switch {
	case ns == "" && s.explicit:
		f.required(at, "write the namespace of the Secret: copies of it are allowed by credentialProjection.allowed, and they need to know where from")
	case ns == "" && s.cluster && s.namespace != "":
		f.warn(at, "it is left out, so the Secret is looked for in %s, %s; write it down", s.namespace, s.whose)
	case ns == "" && s.cluster:
		f.warn(at, "it is left out, so the Secret is looked for in %s; write it down", s.whose)
	case ns != "" && s.namespace != "" && ns != s.namespace:
		f.invalid(at, ns, "movers mount Secrets from %s, %s: put the Secret there", s.namespace, s.whose)
	}
	return f
}

// auth checks the credentials of a cloud's store. Without any, the mover's own environment has them.
func auth(at *field.Path, a *kopiurv1.BackendAuth, from secretsFrom) Findings {
	var f Findings
	if a == nil {
		return f
	}
	if a.SecretRef != nil && a.WorkloadIdentity != nil {
		f.forbidden(at, "secretRef and workloadIdentity are set: keep one of them")
	}
	if a.SecretRef != nil {
		f.Merge(secretRef(at.Child("secretRef"), *a.SecretRef, from))
	}
	if w := a.WorkloadIdentity; w != nil {
		f.Merge(name(at.Child("workloadIdentity", "serviceAccountName"), w.ServiceAccountName))
	}
	return f
}

// secretAuth checks the credentials of a store that knows no workload identity.
func secretAuth(at *field.Path, a *kopiurv1.BackendAuth, from secretsFrom) Findings {
	var f Findings
	if a == nil {
		return f
	}
	if a.WorkloadIdentity != nil {
		f.forbidden(at.Child("workloadIdentity"), "it works with s3, azure and gcs only: write auth.secretRef")
	}
	if a.SecretRef != nil {
		f.Merge(secretRef(at.Child("secretRef"), *a.SecretRef, from))
	}
	return f
}
