// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
)

// scope is what tells the two kinds of repositories apart.
type scope struct {
	cluster bool
	// namespace of a Repository; "" before the API server has filled it in.
	namespace string
	// name of the repository.
	name string
	// home namespace of a ClusterRepository; "" is the operator's, which is not known here.
	home string
	// projected: copies of a ClusterRepository's Secrets are allowed.
	projected bool
}

// Repository checks a Repository.
func Repository(o *kopiurv1.Repository) Findings {
	f := labelName(field.NewPath("metadata", "name"), o.Name)
	f.Merge(repositoryAnnotations(o.Annotations))
	f.Merge(repositorySpec(&o.Spec, scope{namespace: o.Namespace, name: o.Name}))
	return f
}

// ClusterRepository checks a ClusterRepository.
func ClusterRepository(o *kopiurv1.ClusterRepository) Findings {
	f := labelName(field.NewPath("metadata", "name"), o.Name)
	f.Merge(repositoryAnnotations(o.Annotations))
	s := scope{cluster: true, name: o.Name, home: o.Spec.Encryption.PasswordSecretRef.Namespace}
	if p := o.Spec.CredentialProjection; p != nil {
		s.projected = p.Allowed
	}
	f.Merge(repositorySpec(&o.Spec.RepositorySpec, s))
	f.Merge(allowedNamespaces(field.NewPath("spec", "allowedNamespaces"), o.Spec.AllowedNamespaces))
	return f
}

func repositorySpec(s *kopiurv1.RepositorySpec, in scope) Findings {
	at := field.NewPath("spec")
	f := backend(at.Child("backend"), s.Backend, in.secrets())
	f.Merge(password(at.Child("encryption", "passwordSecretRef"), s.Encryption.PasswordSecretRef, in))
	f.Merge(create(at.Child("create"), s.Create))
	if b := s.Bootstrap; b != nil {
		at := at.Child("bootstrap", "failurePolicy")
		f.Merge(failurePolicy(at, b.FailurePolicy))
		if p := b.FailurePolicy; p != nil && p.PodStartupDeadlineSeconds != nil {
			f.warn(at.Child("podStartupDeadlineSeconds"), "it is not used: activeDeadlineSeconds bounds the whole of a connect")
		}
	}
	f.Merge(catalog(at.Child("catalog"), s, in))
	if c := s.Concurrency; c != nil {
		f.Merge(notNegative(at.Child("concurrency", "maxConcurrentJobs"), &c.MaxConcurrentJobs))
	}
	if d := s.DeletionProtection; d != nil && d.Threshold != nil && *d.Threshold < 0 {
		f.invalid(at.Child("deletionProtection", "threshold"), *d.Threshold, "write 1 or more, or 0 to switch the protection off")
	}
	f.Merge(health(at.Child("health"), s.Health))
	f.Merge(identityDefaults(at.Child("identityDefaults"), s.IdentityDefaults))
	f.Merge(maintenance(at.Child("maintenance"), s.Maintenance, in))
	f.Merge(moverDefaults(at.Child("moverDefaults"), s.MoverDefaults))
	f.Merge(parameters(at.Child("parameters"), s))
	f.Merge(scheduleDefaults(at.Child("scheduleDefaults"), s.ScheduleDefaults))
	f.Merge(seed(at.Child("seed"), s, in))
	f.Merge(server(at.Child("server"), s, in))
	return f
}

// secrets is where the movers of the repository itself mount from: its home.
func (s scope) secrets() secretsFrom {
	if !s.cluster {
		return secretsFrom{namespace: s.namespace, whose: "the Repository's namespace"}
	}
	whose := "the namespace of the password's Secret"
	if s.home == "" {
		whose = "the operator's namespace"
	}
	return secretsFrom{namespace: s.home, whose: whose, explicit: s.projected, cluster: true}
}

// password checks the reference that decides where a ClusterRepository is at home.
func password(at *field.Path, r kopiurv1.SecretKeyRef, in scope) Findings {
	f := name(at.Child("name"), r.Name)
	f.Merge(dataKey(at.Child("key"), r.Key))
	f.Merge(in.secrets().check(at.Child("namespace"), r.Namespace))
	return f
}

// create checks names that a repository would be written with for good.
func create(at *field.Path, c *kopiurv1.CreateSpec) Findings {
	var f Findings
	if c == nil {
		return f
	}
	f.Merge(oneOfNames(at.Child("splitter"), c.Splitter, work.Splitters))
	f.Merge(oneOfNames(at.Child("hash"), c.Hash, work.Hashes))
	f.Merge(oneOfNames(at.Child("encryption"), c.Encryption, work.Encryptions))
	if c.ECC == nil {
		return f
	}
	at = at.Child("ecc")
	f.Merge(oneOfNames(at.Child("algorithm"), c.ECC.Algorithm, work.ECCs))
	overhead := at.Child("overheadPercent")
	switch e := c.ECC; {
	case e.OverheadPercent < 0 || e.OverheadPercent > 100:
		f.invalid(overhead, e.OverheadPercent, "write a share of storage from 0 to 100; 0 is off")
	case e.Algorithm != "" && e.OverheadPercent == 0:
		f.warn(overhead, "it is 0, so no error correction is stored; write 1 or more")
	}
	return f
}

// oneOfNames checks a name that kopia has to know; "" is one that was left out.
func oneOfNames(at *field.Path, s string, known []string) Findings {
	var f Findings
	if s != "" && !slices.Contains(known, s) {
		f.invalid(at, s, "kopia knows %s", strings.Join(known, ", "))
	}
	return f
}

// allowedNamespaces checks who may use a ClusterRepository. What allows nobody is no error: it is how access is taken
// away, but it is seldom meant.
func allowedNamespaces(at *field.Path, a kopiurv1.AllowedNamespaces) Findings {
	f := oneOf(at, variant{"list", a.List != nil}, variant{"selector", a.Selector != nil}, variant{"all", a.All != nil})
	if a.All != nil && !*a.All {
		f.invalid(at.Child("all"), *a.All, "write true, or list or selector to allow less")
	}
	for i, ns := range a.List {
		if ns == "" {
			f.required(at.Child("list").Index(i), "write the name of a namespace")
		}
		f.Merge(namespace(at.Child("list").Index(i), ns))
	}
	if a.List != nil && len(a.List) == 0 {
		f.warn(at.Child("list"), "it is empty, so no namespace may use the repository")
	}
	if s := a.Selector; s != nil {
		f.Merge(selector(at.Child("selector"), *s))
		if len(s.MatchLabels) == 0 && len(s.MatchExpressions) == 0 {
			f.warn(at.Child("selector"), "it is empty, so no namespace may use the repository; write all: true for every namespace")
		}
	}
	return f
}
