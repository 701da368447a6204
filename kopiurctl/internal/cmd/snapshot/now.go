// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package snapshot makes backups.
package snapshot

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/kopiurctl/internal/cli"
	"github.com/kopiur/kopiur/kopiurctl/internal/complete"
)

// New makes the verb snapshot.
func New(env *cli.Env) *cobra.Command {
	cmd := &cobra.Command{Use: "snapshot", Short: "Make backups", Args: cobra.ArbitraryArgs, RunE: cli.Group}
	cmd.AddCommand(newNow(env))
	return cmd
}

type nowOptions struct {
	env *cli.Env

	policy, name, description, deletionPolicy string
	tags                                      []string
	pin                                       bool
	backoffLimit                              int32
	activeDeadlineSeconds                     int64
	// set holds the flags that were given.
	set func(flag string) bool

	dryRun, wait, logs bool
	timeout            time.Duration
}

func newNow(env *cli.Env) *cobra.Command {
	o := &nowOptions{env: env}
	cmd := &cobra.Command{
		Use: "now --policy POLICY", Short: "Back up what a policy says, now",
		Long: `Create a Snapshot of a SnapshotPolicy: one for each of its sources, the claims that it selects, and its repositories.

With --wait, follow it to its end; the exit code is 0 only if it succeeded, or found that nothing has changed. What was
begun goes on if you stop waiting. With --name the command can be repeated: what exists already as asked for is taken.
Without, each call makes another Snapshot.`,
		Example: `  kopiurctl snapshot now --policy data --wait
  kopiurctl snapshot now --policy data --name before-upgrade --pin --tag ticket=4711 --wait --logs`,
		Args: cli.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.set = cmd.Flags().Changed
			return o.run(cmd.Context())
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.policy, "policy", "", "SnapshotPolicy that says what is backed up, where to and how")
	f.StringVar(&o.name, "name", "", "name of the Snapshot (default the policy's, and the time)")
	f.StringArrayVar(&o.tags, "tag", nil, "stored with the snapshot, as `KEY=VALUE`; may be repeated")
	f.StringVar(&o.description, "description", "", "stored with the snapshot")
	f.StringVar(&o.deletionPolicy, "deletion-policy", "", "what becomes of the data when the Snapshot is deleted: Delete, Retain, Orphan (default as the policy says)")
	f.BoolVar(&o.pin, "pin", false, "keep it whatever retention says")
	f.Int32Var(&o.backoffLimit, "backoff-limit", 0, "how often a failed mover is tried again (default as the policy says)")
	f.Int64Var(&o.activeDeadlineSeconds, "active-deadline-seconds", 0, "how long the run may take (default as the policy says)")
	f.BoolVar(&o.dryRun, "dry-run", false, "let the cluster check it, and create nothing")
	f.BoolVar(&o.wait, "wait", false, "wait for the end, and show how far it is")
	f.BoolVar(&o.logs, "logs", false, "wait for the end, and show what the mover logs")
	f.DurationVar(&o.timeout, "timeout", 30*time.Minute, "how long to wait; 0 is for ever")
	complete.Flag(cmd, "policy", complete.Names(env, func() client.ObjectList { return &kopiurv1.SnapshotPolicyList{} }))
	complete.Flag(cmd, "deletion-policy", complete.Fixed(deletionPolicies...))
	return cmd
}

func (o *nowOptions) run(ctx context.Context) error {
	format, err := o.env.Format()
	if err != nil {
		return err
	}
	if err := o.check(); err != nil {
		return err
	}
	cluster, err := o.env.Connect()
	if err != nil {
		return err
	}
	want, err := o.plan(ctx, cluster)
	if err != nil {
		return err
	}
	made, err := o.create(ctx, cluster, want)
	if err != nil {
		return err
	}
	if o.wait {
		return o.follow(ctx, cluster, format, made)
	}
	return o.wish().Answer(o.env, cluster, format, made)
}
