// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/kopiurctl/internal/cli"
	"github.com/kopiur/kopiur/kopiurctl/internal/create"
	"github.com/kopiur/kopiur/kopiurctl/internal/follow"
)

// wish says how the Snapshots are made.
func (o *nowOptions) wish() create.Wish[*kopiurv1.Snapshot] {
	return create.Wish[*kopiurv1.Snapshot]{
		Kind: "Snapshot", Named: o.name != "", DryRun: o.dryRun, New: Kind().New, Differences: differences,
	}
}

func (o *nowOptions) create(ctx context.Context, c *cli.Cluster, want []*kopiurv1.Snapshot) ([]*follow.One[*kopiurv1.Snapshot], error) {
	var out []*follow.One[*kopiurv1.Snapshot]
	for _, s := range want {
		m, err := o.wish().Ensure(ctx, c, s)
		if err != nil {
			if len(out) > 0 {
				o.env.Say("%d of %d Snapshots were created before; they go on", len(out), len(want))
			}
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

// differences names the flags by which what is there is not what is asked for.
func differences(a, b *kopiurv1.Snapshot) []string {
	var out []string
	same := equality.Semantic.DeepEqual
	x, y := &a.Spec, &b.Spec
	for _, c := range []struct {
		flag string
		same bool
	}{
		{"--policy", same(x.PolicyRef, y.PolicyRef)},
		{"source", same(x.Source, y.Source)},
		{"repository", same(in(x.Repository, a.Namespace), in(y.Repository, a.Namespace))},
		{"--deletion-policy", x.DeletionPolicy == y.DeletionPolicy},
		{"--pin", x.Pin == y.Pin},
		{"--tag", len(x.Tags)+len(y.Tags) == 0 || same(x.Tags, y.Tags)},
		{"--description", x.Description == y.Description},
		{"--backoff-limit or --active-deadline-seconds", same(x.FailurePolicy, y.FailurePolicy)},
	} {
		if !c.same {
			out = append(out, c.flag)
		}
	}
	return out
}

func in(r *kopiurv1.RepositoryRef, namespace string) kopiurv1.RepositoryRef {
	if r == nil {
		return kopiurv1.RepositoryRef{}
	}
	return r.In(namespace)
}
