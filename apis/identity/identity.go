// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package identity says what a policy's snapshots are filed under in a repository: username@hostname:path.
//
// The policy's spec.identity comes first, then the repository's identityDefaults, then the policy's name at its namespace
// (at namespace.cluster, where the repository names the cluster). Two policies of one identity and path would take each
// other's snapshots for their own, and a policy whose identity changes finds none of its own again; so both are looked at
// before anything is stored, with what is here.
package identity

import (
	"fmt"

	"github.com/kopiur/kopiur/apis/expr"
	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// Rule is a repository's identityDefaults, compiled. The zero value is that of a repository that has none.
type Rule struct {
	cluster            string
	username, hostname *expr.Identity
}

// FieldError is what is wrong with one field of identityDefaults.
type FieldError struct {
	Field string
	Err   error
}

// Error names the field.
func (e *FieldError) Error() string { return fmt.Sprintf("identityDefaults.%s: %s", e.Field, e.Err) }

// Unwrap is the fault itself.
func (e *FieldError) Unwrap() error { return e.Err }

// Compile reads identityDefaults; nil and empty expressions are none. Its errors are FieldErrors.
func Compile(d *kopiurv1.IdentityDefaults) (Rule, error) {
	if d == nil {
		return Rule{}, nil
	}
	r := Rule{cluster: d.Cluster}
	for _, e := range []struct {
		field, text string
		into        **expr.Identity
	}{{"usernameExpr", d.UsernameExpr, &r.username}, {"hostnameExpr", d.HostnameExpr, &r.hostname}} {
		if e.text == "" {
			continue
		}
		compiled, err := expr.CompileIdentity(e.text)
		if err != nil {
			return Rule{}, &FieldError{Field: e.field, Err: err}
		}
		*e.into = compiled
	}
	return r, nil
}

// Of is what the policy's snapshots of one source path are filed under. It fails where an expression gives nothing for
// this policy, such as for a label that it does not have.
func (r Rule) Of(p *kopiurv1.SnapshotPolicy, path string) (kopiurv1.Identity, error) {
	id := kopiurv1.Identity{Username: p.Name, Hostname: p.Namespace, SourcePath: path}
	if r.cluster != "" {
		id.Hostname = p.Namespace + "." + r.cluster
	}
	own := p.Spec.Identity
	if own == nil {
		own = &kopiurv1.PolicyIdentity{}
	}
	in := expr.IdentityInput{
		Namespace: p.Namespace, PolicyName: p.Name, Cluster: r.cluster,
		// Not nil: an object without labels is known to have none.
		Labels: orEmpty(p.Labels), Annotations: orEmpty(p.Annotations),
	}
	for _, part := range []struct {
		field string
		own   string
		expr  *expr.Identity
		into  *string
	}{{"usernameExpr", own.Username, r.username, &id.Username}, {"hostnameExpr", own.Hostname, r.hostname, &id.Hostname}} {
		switch {
		case part.own != "":
			*part.into = part.own
		case part.expr != nil:
			text, err := part.expr.Eval(in)
			if err != nil {
				return kopiurv1.Identity{}, &FieldError{Field: part.field, Err: err}
			}
			*part.into = text
		}
	}
	return id, nil
}

func orEmpty(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}
