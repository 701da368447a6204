// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/kopiurctl/internal/cli"
	"github.com/kopiur/kopiur/kopiurctl/internal/complete"
	"github.com/kopiur/kopiur/kopiurctl/internal/find"
	"github.com/kopiur/kopiur/kopiurctl/internal/printer"
)

// Kinds of replications, as --kind has them.
const (
	ofRepositories = "repository"
	ofSnapshots    = "snapshot"
)

type replicationOptions struct {
	options

	kind string
}

// NewReplication makes the verb replication.
func NewReplication(env *cli.Env) *cobra.Command {
	cmd := &cobra.Command{Use: "replication", Short: "Copy repositories and snapshots", Args: cobra.ArbitraryArgs, RunE: cli.Group}
	o := &replicationOptions{options: options{env: env}}
	run := &cobra.Command{
		Use: "run NAME", Short: "Copy now",
		Long: `Ask a RepositoryReplication or a SnapshotReplication for a copy outside its schedule. The schedule goes on from there.`,
		Example: `  kopiurctl replication run offsite --wait
  kopiurctl replication run offsite --kind snapshot`,
		Args: cli.Exactly("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(cmd.Flags()); err != nil {
				return err
			}
			return o.run(cmd.Context(), args[0])
		},
		ValidArgsFunction: complete.Args(func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			var out []string
			for _, list := range []func() client.ObjectList{
				func() client.ObjectList { return &kopiurv1.RepositoryReplicationList{} },
				func() client.ObjectList { return &kopiurv1.SnapshotReplicationList{} },
			} {
				names, _ := complete.Names(env, list)(cmd, args, word)
				out = append(out, names...)
			}
			return out, cobra.ShellCompDirectiveNoFileComp
		}),
	}
	run.Flags().StringVar(&o.kind, "kind", "", "repository or snapshot, where there are two of the name (default the one that there is)")
	o.addTo(run.Flags())
	complete.Flag(run, "kind", complete.Fixed(ofRepositories, ofSnapshots))
	cmd.AddCommand(run)
	return cmd
}

func (o *replicationOptions) run(ctx context.Context, name string) error {
	if o.kind != "" && o.kind != ofRepositories && o.kind != ofSnapshots {
		return cli.Usagef("--kind %s is not known: write %s or %s", o.kind, ofRepositories, ofSnapshots)
	}
	c, err := o.env.Connect()
	if err != nil {
		return err
	}
	var found []subject
	key := client.ObjectKey{Namespace: c.Namespace, Name: name}
	if o.kind != ofSnapshots {
		r := &kopiurv1.RepositoryReplication{}
		if found, err = get(ctx, c, key, r, found, repositories(r)); err != nil {
			return err
		}
	}
	if o.kind != ofRepositories {
		r := &kopiurv1.SnapshotReplication{}
		if found, err = get(ctx, c, key, r, found, snapshots(r)); err != nil {
			return err
		}
	}
	switch len(found) {
	case 1:
		return o.ask(ctx, c, found[0], "")
	case 2:
		return cli.Usagef("there is a RepositoryReplication and a SnapshotReplication %s: write --kind %s or --kind %s", name, ofRepositories, ofSnapshots)
	}
	if o.kind == ofSnapshots {
		return find.Missing(ctx, c, key, "SnapshotReplication", &kopiurv1.SnapshotReplicationList{})
	}
	return find.Missing(ctx, c, key, "RepositoryReplication", &kopiurv1.RepositoryReplicationList{})
}

func get(ctx context.Context, c *cli.Cluster, key client.ObjectKey, obj client.Object, found []subject, s subject) ([]subject, error) {
	err := c.Get(ctx, key, obj)
	switch {
	case err == nil:
		return append(found, s), nil
	case apierrors.IsNotFound(err) && !cli.NotInstalled(err):
		return found, nil
	default:
		return nil, fmt.Errorf("read %s %s: %w", s.kind, key.Name, err)
	}
}

func repositories(r *kopiurv1.RepositoryReplication) subject {
	return subject{
		Object: r, kind: "RepositoryReplication", work: "copied", suspended: func() bool { return r.Spec.Suspend },
		status: func() state {
			out := state{run: r.Status.ManualRun, conditions: r.Status.Conditions, failure: r.Status.Failure}
			if n, size := r.Status.LastReplicatedBlobs, r.Status.LastReplicatedBytes; n != nil && size != nil {
				out.outcome = fmt.Sprintf("%d blobs, %s", *n, printer.Bytes(*size))
			}
			return out
		},
	}
}

func snapshots(r *kopiurv1.SnapshotReplication) subject {
	return subject{
		Object: r, kind: "SnapshotReplication", work: "copied", suspended: func() bool { return r.Spec.Suspend },
		status: func() state {
			out := state{run: r.Status.ManualRun, conditions: r.Status.Conditions, failure: r.Status.Failure}
			if l := r.Status.LastRun; l != nil {
				parts := []string{fmt.Sprintf("%d snapshots", l.SnapshotsCopied), fmt.Sprintf("%d were there already", l.AlreadyPresent)}
				if l.Pruned > 0 {
					parts = append(parts, fmt.Sprintf("%d pruned", l.Pruned))
				}
				out.outcome = strings.Join(parts, ", ")
			}
			return out
		},
	}
}
