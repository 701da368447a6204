// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package status shows how backups stand.
package status

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/kopiurctl/internal/cli"
	"github.com/kopiur/kopiur/kopiurctl/internal/complete"
	"github.com/kopiur/kopiur/kopiurctl/internal/find"
	"github.com/kopiur/kopiur/kopiurctl/internal/printer"
)

type options struct {
	env              *cli.Env
	repository, kind string
}

// New makes the verb status.
func New(env *cli.Env) *cobra.Command {
	o := &options{env: env}
	cmd := &cobra.Command{
		Use: "status", Short: "Show repositories, policies, schedules, and what runs",
		Long: `Show how backups stand in a namespace, or with -A in all: its repositories and the ClusterRepositories that it uses,
its policies with their last good backup, its schedules, and the backups that are not over. What needs attention has a
message. For programs, the answer is a List of these objects.`,
		Example: `  kopiurctl status
  kopiurctl status -A --repository offsite --repository-kind ClusterRepository`,
		Args: cli.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	f := cmd.Flags()
	f.StringVar(&o.repository, "repository", "", "only this repository and what uses it")
	f.StringVar(&o.kind, "repository-kind", string(kopiurv1.KindRepository), "kind of --repository: Repository or ClusterRepository")
	complete.Flag(cmd, "repository", complete.Repositories(env, &o.kind))
	complete.Flag(cmd, "repository-kind", complete.Fixed(string(kopiurv1.KindRepository), string(kopiurv1.KindClusterRepository)))
	return cmd
}

func (o *options) run(ctx context.Context) error {
	format, err := o.env.Format()
	if err != nil {
		return err
	}
	kind := kopiurv1.RepositoryKind(o.kind)
	switch {
	case kind != kopiurv1.KindRepository && kind != kopiurv1.KindClusterRepository:
		return cli.Usagef("--repository-kind %s is not known: write Repository or ClusterRepository", kind)
	case o.repository == "" && kind != kopiurv1.KindRepository:
		return cli.Usagef("--repository is missing: write the name of the ClusterRepository")
	}
	c, err := o.env.Connect()
	if err != nil {
		return err
	}
	namespace := c.Namespace
	if o.env.AllNamespaces {
		namespace = ""
	}
	v, err := observe(ctx, c, namespace)
	if err != nil {
		return err
	}
	if o.repository != "" {
		repo, err := find.Repository(ctx, c, kopiurv1.RepositoryRef{Name: o.repository, Kind: kind}.In(c.Namespace))
		if err != nil {
			return err
		}
		v.narrow(repo)
	}
	if format.Machine() {
		return printer.Objects(o.env.Out, format, c.Scheme(), true, v.objects()...)
	}
	if len(v.objects()) == 0 {
		where := "in any namespace"
		if namespace != "" {
			where = "in namespace " + namespace
		}
		o.env.Say("there is nothing of Kopiur's %s: begin with a Repository and a SnapshotPolicy", where)
		return nil
	}
	return v.print(o.env)
}

// view is what is shown.
type view struct {
	repositories []find.Repo
	policies     []kopiurv1.SnapshotPolicy
	schedules    []kopiurv1.SnapshotSchedule
	snapshots    []kopiurv1.Snapshot
	relations    find.Relations
}

func observe(ctx context.Context, c *cli.Cluster, namespace string) (*view, error) {
	v := &view{}
	var repositories kopiurv1.RepositoryList
	if err := c.List(ctx, &repositories, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("list Repositories: %w", err)
	}
	for i := range repositories.Items {
		v.repositories = append(v.repositories, find.OfNamespace(&repositories.Items[i]))
	}
	var err error
	if v.policies, err = find.Policies(ctx, c, namespace); err != nil {
		return nil, err
	}
	v.relations = find.Relate(v.policies)
	var schedules kopiurv1.SnapshotScheduleList
	if err := c.List(ctx, &schedules, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("list SnapshotSchedules: %w", err)
	}
	v.schedules = schedules.Items
	if v.snapshots, err = find.Snapshots(ctx, c, namespace); err != nil {
		return nil, err
	}
	// Who works in a namespace often may not see what belongs to the whole cluster.
	var cluster kopiurv1.ClusterRepositoryList
	err = c.List(ctx, &cluster)
	switch {
	case cli.CodeOf(err) == cli.Forbidden:
		if v.usesClusterRepositories() {
			c.Warn("you may not see ClusterRepositories: they are not shown")
		}
	case err != nil:
		return nil, fmt.Errorf("list ClusterRepositories: %w", err)
	}
	for i := range cluster.Items {
		repo := find.OfCluster(&cluster.Items[i])
		if namespace == "" || v.uses(repo.Ref) {
			v.repositories = append(v.repositories, repo)
		}
	}
	return v, nil
}

func (v *view) usesClusterRepositories() bool {
	for i := range v.policies {
		for _, r := range v.policies[i].RepositoryRefs() {
			if r.Kind == kopiurv1.KindClusterRepository {
				return true
			}
		}
	}
	return false
}

// narrow leaves one repository and what uses it.
func (v *view) narrow(repo find.Repo) {
	v.repositories = []find.Repo{repo}
	kept := map[client.ObjectKey]bool{}
	var policies []kopiurv1.SnapshotPolicy
	for _, p := range v.policies {
		if policyUses(&p, repo.Ref) {
			policies = append(policies, p)
			kept[client.ObjectKeyFromObject(&p)] = true
		}
	}
	var schedules []kopiurv1.SnapshotSchedule
	for _, s := range v.schedules {
		if ref := s.Spec.PolicyRef; ref != nil && kept[client.ObjectKey{Namespace: s.Namespace, Name: ref.Name}] {
			schedules = append(schedules, s)
		}
	}
	var snapshots []kopiurv1.Snapshot
	for _, s := range v.snapshots {
		if v.relations.In(&s, repo.Ref) {
			snapshots = append(snapshots, s)
		}
	}
	v.policies, v.schedules, v.snapshots = policies, schedules, snapshots
}

func (v *view) uses(ref kopiurv1.RepositoryRef) bool {
	for i := range v.policies {
		if policyUses(&v.policies[i], ref) {
			return true
		}
	}
	for i := range v.snapshots {
		if v.relations.In(&v.snapshots[i], ref) {
			return true
		}
	}
	return false
}

func policyUses(p *kopiurv1.SnapshotPolicy, ref kopiurv1.RepositoryRef) bool {
	return slices.Contains(p.RepositoryRefs(), ref)
}

// objects for programs: what the tables are about.
func (v *view) objects() []client.Object {
	var out []client.Object
	for _, r := range v.repositories {
		out = append(out, r.Object)
	}
	for i := range v.policies {
		out = append(out, &v.policies[i])
	}
	for i := range v.schedules {
		out = append(out, &v.schedules[i])
	}
	for _, s := range v.open() {
		out = append(out, s)
	}
	return out
}

// open are the Snapshots that are not over.
func (v *view) open() []*kopiurv1.Snapshot {
	var out []*kopiurv1.Snapshot
	for i := range v.snapshots {
		if s := &v.snapshots[i]; s.DeletionTimestamp == nil && !s.Status.Phase.Terminal() {
			out = append(out, s)
		}
	}
	return out
}
