// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package retention shows what retention does before it does it.
package retention

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kopiur/kopiur/apis/retention"
	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/kopiurctl/internal/cli"
	"github.com/kopiur/kopiur/kopiurctl/internal/complete"
	"github.com/kopiur/kopiur/kopiurctl/internal/find"
	"github.com/kopiur/kopiur/kopiurctl/internal/printer"
)

// New makes the verb retention.
func New(env *cli.Env) *cobra.Command {
	cmd := &cobra.Command{Use: "retention", Short: "Look at what is kept", Args: cobra.ArbitraryArgs, RunE: cli.Group}
	cmd.AddCommand(newPreview(env))
	return cmd
}

type previewOptions struct {
	env    *cli.Env
	policy string
}

func newPreview(env *cli.Env) *cobra.Command {
	o := &previewOptions{env: env}
	cmd := &cobra.Command{
		Use: "preview", Short: "Show what the next prune deletes, and why everything else stays",
		Long: `Show, for each stored snapshot of a policy, whether retention keeps it and why. Those that go are deleted when the next
snapshot of the policy succeeds, or when its retention is edited; a policy that is suspended deletes nothing.

With -o json or yaml it gives the Snapshots that go.`,
		Example: `  kopiurctl retention preview --policy data
  kopiurctl retention preview -A`,
		Args: cli.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	cmd.Flags().StringVar(&o.policy, "policy", "", "only those of this SnapshotPolicy")
	complete.Flag(cmd, "policy", complete.Names(env, func() client.ObjectList { return &kopiurv1.SnapshotPolicyList{} }))
	return cmd
}

func (o *previewOptions) run(ctx context.Context) error {
	format, err := o.env.Format()
	if err != nil {
		return err
	}
	cluster, err := o.env.Connect()
	if err != nil {
		return err
	}
	namespace := cluster.Namespace
	if o.env.AllNamespaces {
		namespace = ""
	}
	policies, err := o.policies(ctx, cluster, namespace)
	if err != nil {
		return err
	}
	all, err := find.Snapshots(ctx, cluster, namespace)
	if err != nil {
		return err
	}
	var rows []retention.Verdict
	for i := range policies {
		rows = append(rows, retention.Of(&policies[i], all)...)
	}
	if format.Machine() {
		var objects []client.Object
		for _, s := range retention.Doomed(rows) {
			objects = append(objects, s)
		}
		return printer.Objects(o.env.Out, format, cluster.Scheme(), true, objects...)
	}
	if len(rows) == 0 {
		o.env.Say("there are no stored snapshots that retention has a say in")
	}
	return printer.Table(o.env.Out, format == cli.Wide, columns(o.env.AllNamespaces), rows)
}

// policies that are asked for, in the order of their names.
func (o *previewOptions) policies(ctx context.Context, c *cli.Cluster, namespace string) ([]kopiurv1.SnapshotPolicy, error) {
	if o.policy == "" {
		list, err := find.Policies(ctx, c, namespace)
		slices.SortFunc(list, func(a, b kopiurv1.SnapshotPolicy) int {
			return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
		})
		return list, err
	}
	if namespace == "" {
		return nil, cli.Usagef("--policy: a policy is in one namespace: leave out -A, or --policy")
	}
	var p kopiurv1.SnapshotPolicy
	if err := find.Get(ctx, c, client.ObjectKey{Namespace: namespace, Name: o.policy}, &p, "SnapshotPolicy", &kopiurv1.SnapshotPolicyList{}); err != nil {
		return nil, err
	}
	return []kopiurv1.SnapshotPolicy{p}, nil
}

func columns(namespaces bool) []printer.Column[retention.Verdict] {
	col := func(name string, text func(v retention.Verdict) string) printer.Column[retention.Verdict] {
		return printer.Column[retention.Verdict]{Name: name, Of: text}
	}
	var out []printer.Column[retention.Verdict]
	if namespaces {
		out = append(out, col("NAMESPACE", func(v retention.Verdict) string { return v.Snapshot.Namespace }))
	}
	return append(out,
		col("POLICY", func(v retention.Verdict) string { return find.PolicyOf(v.Snapshot) }),
		col("SNAPSHOT", func(v retention.Verdict) string { return v.Snapshot.Name }),
		col("ENDED", func(v retention.Verdict) string { return v.End.Format("2006-01-02 15:04Z") }),
		col("RETENTION", func(v retention.Verdict) string {
			if v.Keep {
				return "keeps"
			}
			return "deletes"
		}),
		col("WHY", func(v retention.Verdict) string { return strings.Join(v.Why, "; ") }),
	)
}
