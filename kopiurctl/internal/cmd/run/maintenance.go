// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/kopiurctl/internal/cli"
	"github.com/kopiur/kopiur/kopiurctl/internal/complete"
	"github.com/kopiur/kopiur/kopiurctl/internal/find"
)

type maintenanceOptions struct {
	options

	repository, kind string
	full             bool
}

// NewMaintenance makes the verb maintenance.
func NewMaintenance(env *cli.Env) *cobra.Command {
	cmd := &cobra.Command{Use: "maintenance", Short: "Maintain repositories", Args: cobra.ArbitraryArgs, RunE: cli.Group}
	o := &maintenanceOptions{options: options{env: env}}
	run := &cobra.Command{
		Use: "run", Short: "Maintain a repository now",
		Long: `Ask for a run of a repository's Maintenance, outside its schedule: a quick one, or with --full one that also gives back
the space of what was deleted. The schedule goes on from there.

Deleted data does not leave the store with the first full run: kopia waits until nothing can need it any more, a day and
several runs. status.full of the Maintenance says when.`,
		Example: `  kopiurctl maintenance run --repository nas --full --wait
  kopiurctl maintenance run --repository offsite --repository-kind ClusterRepository`,
		Args: cli.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.check(cmd.Flags()); err != nil {
				return err
			}
			return o.run(cmd.Context())
		},
	}
	f := run.Flags()
	f.StringVar(&o.repository, "repository", "", "repository to maintain (default the only one that is maintained in the namespace)")
	f.StringVar(&o.kind, "repository-kind", string(kopiurv1.KindRepository), "kind of --repository: Repository or ClusterRepository")
	f.BoolVar(&o.full, "full", false, "give back the space of deleted data too")
	o.addTo(f)
	complete.Flag(run, "repository", complete.Repositories(env, &o.kind))
	complete.Flag(run, "repository-kind", complete.Fixed(string(kopiurv1.KindRepository), string(kopiurv1.KindClusterRepository)))
	cmd.AddCommand(run)
	return cmd
}

func (o *maintenanceOptions) run(ctx context.Context) error {
	kind := kopiurv1.RepositoryKind(o.kind)
	switch {
	case kind != kopiurv1.KindRepository && kind != kopiurv1.KindClusterRepository:
		return cli.Usagef("--repository-kind %s is not known: write Repository or ClusterRepository", kind)
	case kind == kopiurv1.KindClusterRepository && o.repository == "":
		return cli.Usagef("--repository is missing: write the name of the ClusterRepository")
	}
	c, err := o.env.Connect()
	if err != nil {
		return err
	}
	m, err := o.find(ctx, c, kind)
	if err != nil {
		return err
	}
	mode := kopiurv1.MaintenanceQuick
	if o.full {
		mode = kopiurv1.MaintenanceFull
	}
	return o.ask(ctx, c, subject{
		Object: m, kind: "Maintenance", work: "maintained",
		status:    func() state { return maintained(m, mode) },
		suspended: func() bool { return false },
	}, mode)
}

func maintained(m *kopiurv1.Maintenance, mode kopiurv1.MaintenanceMode) state {
	out := state{conditions: m.Status.Conditions, failure: m.Status.Failure}
	if r := m.Status.ManualRun; r != nil {
		out.run = &r.ManualRun
	}
	of := m.Status.Quick
	if mode == kopiurv1.MaintenanceFull {
		of = m.Status.Full
	}
	if of != nil {
		out.outcome = strings.Join(strings.Fields(of.Message), " ")
	}
	return out
}

// find looks for the Maintenance of a repository: in the namespace first, and then, because somebody's own may lie
// anywhere, and that of a ClusterRepository lies in its home, in all.
func (o *maintenanceOptions) find(ctx context.Context, c *cli.Cluster, kind kopiurv1.RepositoryKind) (*kopiurv1.Maintenance, error) {
	var list kopiurv1.MaintenanceList
	if err := c.List(ctx, &list, client.InNamespace(c.Namespace)); err != nil {
		return nil, fmt.Errorf("list the Maintenances of namespace %s: %w", c.Namespace, err)
	}
	if o.repository == "" {
		return only(list.Items, c.Namespace)
	}
	ref := kopiurv1.RepositoryRef{Name: o.repository, Kind: kind}.In(c.Namespace)
	if m := of(list.Items, ref); m != nil {
		return m, nil
	}
	repo, err := find.Repository(ctx, c, ref)
	if cli.CodeOf(err) == cli.NotFound {
		return nil, err
	}
	if err := c.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("%s has no Maintenance in namespace %s; look for one in the others: %w", ref, c.Namespace, err)
	}
	if m := of(list.Items, ref); m != nil {
		return m, nil
	}
	hint := "its condition " + kopiurv1.ConditionMaintenanceConfigured + " says why"
	if repo.Spec != nil && repo.Spec.Mode == kopiurv1.ModeReadOnly {
		hint = "its mode is ReadOnly"
	}
	return nil, cli.NotFoundf("%s has no Maintenance: %s", ref, hint)
}

func of(all []kopiurv1.Maintenance, ref kopiurv1.RepositoryRef) *kopiurv1.Maintenance {
	i := slices.IndexFunc(all, func(m kopiurv1.Maintenance) bool {
		return m.DeletionTimestamp == nil && m.Spec.Repository.In(m.Namespace) == ref
	})
	if i < 0 {
		return nil
	}
	return &all[i]
}

func only(all []kopiurv1.Maintenance, namespace string) (*kopiurv1.Maintenance, error) {
	switch len(all) {
	case 1:
		return &all[0], nil
	case 0:
		return nil, cli.NotFoundf("no repository is maintained in namespace %s: write --repository, or another --namespace", namespace)
	}
	var names []string
	for _, m := range all {
		if name := m.Spec.Repository.Name; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return nil, cli.Usagef("--repository is missing: several are maintained in namespace %s: %s", namespace, strings.Join(names, ", "))
}
