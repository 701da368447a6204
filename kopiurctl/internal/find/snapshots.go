// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package find

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// page is how many objects one answer holds. Ten thousand Snapshots in one would be hundreds of megabytes.
const page = 500

// Snapshots lists the Snapshots of a namespace, or of all where it is "", page by page.
func Snapshots(ctx context.Context, c client.Client, namespace string) ([]kopiurv1.Snapshot, error) {
	var out []kopiurv1.Snapshot
	token, again := "", false
	for {
		var list kopiurv1.SnapshotList
		err := c.List(ctx, &list, client.InNamespace(namespace), client.Limit(page), client.Continue(token))
		if apierrors.IsResourceExpired(err) && !again {
			// The list has changed for longer than the API server remembers: begin again, with an answer in one piece.
			out, token, again = nil, "", true
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("list Snapshots: %w", err)
		}
		out = append(out, list.Items...)
		if token = list.Continue; token == "" {
			return out, nil
		}
	}
}

// Policies lists the SnapshotPolicies of a namespace, or of all where it is "".
func Policies(ctx context.Context, c client.Client, namespace string) ([]kopiurv1.SnapshotPolicy, error) {
	var list kopiurv1.SnapshotPolicyList
	if err := c.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("list SnapshotPolicies: %w", err)
	}
	return list.Items, nil
}

// PolicyOf is the name of the policy that a Snapshot belongs to, "" where it belongs to none.
func PolicyOf(s *kopiurv1.Snapshot) string {
	if s.Spec.PolicyRef != nil {
		return s.Spec.PolicyRef.Name
	}
	return s.Labels[kopiurv1.LabelConfig]
}

// OriginOf is where a Snapshot comes from. Until the controller has seen it, its label tells, and without one somebody
// made it by hand.
func OriginOf(s *kopiurv1.Snapshot) string {
	switch {
	case s.Status.Origin != "":
		return s.Status.Origin
	case s.Labels[kopiurv1.LabelOrigin] != "":
		return s.Labels[kopiurv1.LabelOrigin]
	default:
		return kopiurv1.OriginManual
	}
}

// Origins lists all origins.
func Origins() []string {
	return []string{
		kopiurv1.OriginScheduled, kopiurv1.OriginManual, kopiurv1.OriginDiscovered, kopiurv1.OriginAdopted, kopiurv1.OriginReplicated,
	}
}

// Relations tell which repositories a Snapshot is, or may be, in.
type Relations map[client.ObjectKey]*kopiurv1.SnapshotPolicy

// Relate makes them from the policies.
func Relate(policies []kopiurv1.SnapshotPolicy) Relations {
	out := Relations{}
	for i := range policies {
		out[client.ObjectKeyFromObject(&policies[i])] = &policies[i]
	}
	return out
}

// Repositories of a Snapshot: the one that it is in, or as long as that is not settled each that its policy names.
func (r Relations) Repositories(s *kopiurv1.Snapshot) []kopiurv1.RepositoryRef {
	if res := s.Status.Resolved; res != nil && res.Repository != nil {
		return []kopiurv1.RepositoryRef{res.Repository.In(s.Namespace)}
	}
	if ref := s.Spec.Repository; ref != nil {
		return []kopiurv1.RepositoryRef{ref.In(s.Namespace)}
	}
	if p := r[client.ObjectKey{Namespace: s.Namespace, Name: PolicyOf(s)}]; p != nil {
		return p.RepositoryRefs()
	}
	return nil
}

// In reports whether a Snapshot is, or may be, in a repository.
func (r Relations) In(s *kopiurv1.Snapshot, ref kopiurv1.RepositoryRef) bool {
	return slices.Contains(r.Repositories(s), ref)
}
