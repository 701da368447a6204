// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/kopiurctl/internal/cli"
	"github.com/kopiur/kopiur/kopiurctl/internal/printer"
)

// made is a Snapshot, nil once it is gone, and whether it was there before.
type made struct {
	*kopiurv1.Snapshot
	name    string
	existed bool
}

func (o *nowOptions) create(ctx context.Context, c *cli.Cluster, want []*kopiurv1.Snapshot) ([]made, error) {
	var out []made
	for _, s := range want {
		m, err := o.ensure(ctx, c, s)
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

// ensure creates a Snapshot. With a name that the user gave, one that is there already and asks for the same is taken:
// the answer to an earlier attempt may have been lost.
func (o *nowOptions) ensure(ctx context.Context, c *cli.Cluster, s *kopiurv1.Snapshot) (made, error) {
	var opts []client.CreateOption
	if o.dryRun {
		opts = append(opts, client.DryRunAll)
	}
	asked := s.DeepCopy()
	base := s.Name
	// Two who ask within one second get different names; more than a few of them are no coincidence.
	const most = 5
	for i := 2; ; i++ {
		err := c.Create(ctx, s, opts...)
		switch {
		case err == nil:
			return made{Snapshot: s, name: s.Name}, nil
		case apierrors.IsAlreadyExists(err) && o.name == "" && i <= most:
			s = asked.DeepCopy()
			s.Name = fmt.Sprintf("%s-%d", base, i)
		case apierrors.IsAlreadyExists(err) && o.name != "":
			return o.adopt(ctx, c, asked)
		case cli.CodeOf(err) == cli.Timeout || ctx.Err() != nil:
			return made{}, cli.Timeoutf("create Snapshot %s: %w; it may have been created all the same: repeat with --name %s to find out", s.Name, err, base)
		default:
			return made{}, fmt.Errorf("create Snapshot %s: %w", s.Name, err)
		}
	}
}

func (o *nowOptions) adopt(ctx context.Context, c *cli.Cluster, asked *kopiurv1.Snapshot) (made, error) {
	s := &kopiurv1.Snapshot{}
	if err := c.Get(ctx, client.ObjectKeyFromObject(asked), s); err != nil {
		return made{}, fmt.Errorf("read Snapshot %s, which exists: %w", asked.Name, err)
	}
	if s.DeletionTimestamp != nil {
		return made{}, cli.Failedf("Snapshot %s exists and is being deleted: choose another --name", s.Name)
	}
	if differ := differences(s, asked); len(differ) > 0 {
		return made{}, cli.Failedf("Snapshot %s exists and was made with another %s: choose another --name", s.Name, strings.Join(differ, ", "))
	}
	return made{Snapshot: s, name: s.Name, existed: true}, nil
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

// answer says what was made, where nobody waits for more.
func (o *nowOptions) answer(c *cli.Cluster, format cli.Output, all []made) error {
	if format.Machine() {
		return printer.Objects(o.env.Out, format, c.Scheme(), false, objects(all)...)
	}
	for _, m := range all {
		what := "created"
		switch {
		case m.existed:
			what = "exists already"
		case o.dryRun:
			what = "created (dry run)"
		}
		if err := printer.Done(o.env.Out, c.Scheme(), m.Snapshot, what); err != nil {
			return err
		}
	}
	return nil
}

func objects(all []made) []client.Object {
	var out []client.Object
	for _, m := range all {
		out = append(out, m.Snapshot)
	}
	return out
}
