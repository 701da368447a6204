// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package snapshots lists backups.
package snapshots

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/kopiurctl/internal/cli"
	"github.com/kopiur/kopiur/kopiurctl/internal/complete"
	"github.com/kopiur/kopiur/kopiurctl/internal/find"
	"github.com/kopiur/kopiur/kopiurctl/internal/printer"
)

// New makes the verb snapshots.
func New(env *cli.Env) *cobra.Command {
	cmd := &cobra.Command{Use: "snapshots", Short: "Look at backups", Args: cobra.ArbitraryArgs, RunE: cli.Group}
	cmd.AddCommand(newList(env))
	return cmd
}

type listOptions struct {
	env            *cli.Env
	policy, origin string
	repository     find.Wanted
}

func newList(env *cli.Env) *cobra.Command {
	o := &listOptions{env: env}
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List Snapshots, newest first",
		Long: `List the Snapshots of a namespace, or with -A of all, newest first. AGE is that of the data.

An object that Kopiur found in a repository has origin discovered; one that it copied there, replicated.`,
		Example: `  kopiurctl snapshots list --policy data
  kopiurctl snapshots list -A --repository offsite --repository-kind ClusterRepository -o wide`,
		Args: cli.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	f := cmd.Flags()
	f.StringVar(&o.policy, "policy", "", "only those of this SnapshotPolicy")
	f.StringVar(&o.origin, "origin", "", "only those of this origin: "+strings.Join(find.Origins(), ", "))
	o.repository.AddTo(f, "only those that are, or will be, in this repository")
	complete.Flag(cmd, "policy", complete.Names(env, func() client.ObjectList { return &kopiurv1.SnapshotPolicyList{} }))
	complete.Flag(cmd, "origin", complete.Fixed(find.Origins()...))
	complete.Repository(cmd, env, &o.repository)
	return cmd
}

// reference reads the flags about the repository; nil where none is asked for.
func (o *listOptions) reference(namespace string) (*kopiurv1.RepositoryRef, error) {
	ref, err := o.repository.Reference(namespace)
	if ref != nil && o.env.AllNamespaces && ref.Kind == kopiurv1.KindRepository && o.repository.Namespace == "" && o.env.Namespace == "" {
		return nil, cli.Usagef("--repository-namespace is missing: with -A, write the one that Repository %s is in", ref.Name)
	}
	return ref, err
}

func (o *listOptions) run(ctx context.Context) error {
	format, err := o.env.Format()
	if err != nil {
		return err
	}
	if o.origin != "" && !slices.Contains(find.Origins(), o.origin) {
		return cli.Usagef("--origin %s is not known: write one of %s", o.origin, strings.Join(find.Origins(), ", "))
	}
	cluster, err := o.env.Connect()
	if err != nil {
		return err
	}
	ref, err := o.reference(cluster.Namespace)
	if err != nil {
		return err
	}
	namespace := cluster.Namespace
	if o.env.AllNamespaces {
		namespace = ""
	}
	all, err := find.Snapshots(ctx, cluster, namespace)
	if err != nil {
		return err
	}
	relations, err := o.relations(ctx, cluster, namespace, all, ref != nil)
	if err != nil {
		return err
	}
	var rows []*kopiurv1.Snapshot
	for i := range all {
		s := &all[i]
		switch {
		case o.policy != "" && find.PolicyOf(s) != o.policy:
		case o.origin != "" && find.OriginOf(s) != o.origin:
		case ref != nil && !relations.In(s, *ref):
		default:
			rows = append(rows, s)
		}
	}
	if len(rows) == 0 {
		if err := o.explainNone(ctx, cluster, namespace, ref); err != nil {
			return err
		}
	}
	slices.SortStableFunc(rows, func(a, b *kopiurv1.Snapshot) int { return taken(b).Compare(taken(a)) })
	if format.Machine() {
		return printer.Objects(o.env.Out, format, cluster.Scheme(), true, printer.Each(rows)...)
	}
	return Print(o.env, rows, relations, o.env.AllNamespaces)
}

// relations reads the policies where a Snapshot's repository depends on them. Whoever may not see policies gets the rest.
func (o *listOptions) relations(ctx context.Context, c client.Client, namespace string, all []kopiurv1.Snapshot, needed bool) (find.Relations, error) {
	open := slices.ContainsFunc(all, func(s kopiurv1.Snapshot) bool { return len(find.Relations{}.Repositories(&s)) == 0 })
	if !open {
		return nil, nil
	}
	policies, err := find.Policies(ctx, c, namespace)
	if err != nil && (needed || cli.CodeOf(err) != cli.Forbidden) {
		return nil, err
	}
	return find.Relate(policies), nil
}

// explainNone says why there is nothing. A filter with a typo must not look like a policy without backups.
func (o *listOptions) explainNone(ctx context.Context, c client.Client, namespace string, ref *kopiurv1.RepositoryRef) error {
	if o.policy != "" && namespace != "" {
		key := client.ObjectKey{Namespace: namespace, Name: o.policy}
		if err := find.Get(ctx, c, key, &kopiurv1.SnapshotPolicy{}, "SnapshotPolicy", &kopiurv1.SnapshotPolicyList{}); cli.CodeOf(err) == cli.NotFound {
			return err
		}
	}
	if ref != nil {
		if _, err := find.Repository(ctx, c, *ref); cli.CodeOf(err) == cli.NotFound {
			return err
		}
	}
	where := "in any namespace"
	if namespace != "" {
		where = "in namespace " + namespace
	}
	which := ""
	if o.policy != "" || o.origin != "" || ref != nil {
		which = " that match"
	}
	o.env.Say("there are no Snapshots%s %s", which, where)
	return nil
}
