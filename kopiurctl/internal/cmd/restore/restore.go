// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package restore brings data back.
package restore

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/kopiurctl/internal/cli"
	"github.com/kopiur/kopiur/kopiurctl/internal/complete"
	"github.com/kopiur/kopiur/kopiurctl/internal/create"
	"github.com/kopiur/kopiur/kopiurctl/internal/find"
)

type options struct {
	env *cli.Env

	// Where from.
	snapshot, snapshotNamespace           string
	policy, policyNamespace               string
	identity, snapshotID                  string
	sourcePath, asOf                      string
	offset                                int64
	repository                            find.Wanted
	path, onMissing, waitTimeout          string
	toPVC, createPVC, size, storageClass  string
	accessModes                           []string
	populator                             bool
	enableFileDeletion, ignorePermissions bool
	atomically, projection                bool
	name                                  string

	// set tells which flags were given.
	set func(flag string) bool

	dryRun, wait, logs bool
	timeout            time.Duration
}

// New makes the verb restore.
func New(env *cli.Env) *cobra.Command {
	o := &options{env: env}
	cmd := &cobra.Command{
		Use: "restore", Short: "Restore a snapshot into a claim",
		Long: `Create a Restore: of one Snapshot, of the newest one of a SnapshotPolicy, or of what is filed under a kopia identity.

It goes into a claim that exists (--to-pvc), into a new one (--create-pvc), or into every claim that names the Restore as
its data source (--populator). A new claim without --size is made large enough for what the snapshot holds. In a claim
that exists, files of the snapshot replace those of the same names; the others stay, unless --enable-file-deletion says
otherwise. Stop the application first.

With --wait, follow it to its end; the exit code is 0 only if it completed. What was begun goes on if you stop waiting.
With --name the command can be repeated: what exists already as asked for is taken.`,
		Example: `  kopiurctl restore --from-snapshot before-upgrade --create-pvc data-restored --wait
  kopiurctl restore --from-policy data --as-of 2026-03-05T09:00:00Z --to-pvc data --wait
  kopiurctl restore --from-policy data --path etc/app.conf --create-pvc look --size 1Gi
  kopiurctl restore --identity data@shop:/pvc/data --repository nas --create-pvc data-restored --size 20Gi`,
		Args: cli.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.set = cmd.Flags().Changed
			return o.run(cmd.Context())
		},
	}
	o.sourceFlags(cmd)
	o.targetFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&o.name, "name", "", "name of the Restore (default that of the source, and the time)")
	f.BoolVar(&o.dryRun, "dry-run", false, "let the cluster check it, and create nothing")
	f.BoolVar(&o.wait, "wait", false, "wait for the end, and show how far it is")
	f.BoolVar(&o.logs, "logs", false, "wait for the end, and show what the mover logs")
	f.DurationVar(&o.timeout, "timeout", 30*time.Minute, "how long to wait; 0 is for ever")
	return cmd
}

func (o *options) sourceFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.snapshot, "from-snapshot", "", "restore this Snapshot")
	f.StringVar(&o.snapshotNamespace, "snapshot-namespace", "", "namespace of --from-snapshot, if it is another one")
	f.StringVar(&o.policy, "from-policy", "", "restore the newest snapshot of this SnapshotPolicy")
	f.StringVar(&o.policyNamespace, "policy-namespace", "", "namespace of --from-policy, if it is another one")
	f.StringVar(&o.identity, "identity", "", "restore what is filed under `USER@HOST[:PATH]` in --repository, whoever stored it")
	f.StringVar(&o.snapshotID, "snapshot-id", "", "with --identity: the snapshot with this kopia id")
	f.StringVar(&o.sourcePath, "source-path", "", "with --from-policy: which of its sources, as the path that it is filed under")
	f.StringVar(&o.asOf, "as-of", "", "newest snapshot that was begun at this time or before, like 2026-03-05T09:00:00Z")
	f.Int64Var(&o.offset, "offset", 0, "pass over this many of the newest")
	o.repository.AddTo(f, "read from this repository; needed with --identity")
	f.StringVar(&o.path, "path", "", "restore only this file or folder of the snapshot")
	f.StringVar(&o.onMissing, "on-missing-snapshot", "", "what to do if the repository has no such snapshot: Fail, Continue (default Fail, with --from-policy Continue)")
	f.StringVar(&o.waitTimeout, "wait-timeout", "", "how long the Restore waits for a snapshot to appear, like 10m")
	f.BoolVar(&o.projection, "credential-projection", false, "copy the Secrets of a ClusterRepository into this namespace for the run")
	complete.Flag(cmd, "from-snapshot", complete.Names(o.env, func() client.ObjectList { return &kopiurv1.SnapshotList{} }))
	complete.Flag(cmd, "from-policy", complete.Names(o.env, func() client.ObjectList { return &kopiurv1.SnapshotPolicyList{} }))
	complete.Flag(cmd, "snapshot-namespace", complete.Namespaces(o.env))
	complete.Flag(cmd, "policy-namespace", complete.Namespaces(o.env))
	complete.Flag(cmd, "on-missing-snapshot", complete.Fixed(onMissing...))
	complete.Repository(cmd, o.env, &o.repository)
}

func (o *options) targetFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.toPVC, "to-pvc", "", "restore into this claim, which exists")
	f.StringVar(&o.createPVC, "create-pvc", "", "restore into a new claim of this name")
	f.StringVar(&o.size, "size", "", "size of --create-pvc, like 10Gi (default what the snapshot needs)")
	f.StringVar(&o.storageClass, "storage-class", "", "storage class of --create-pvc (default that of the cluster)")
	f.StringSliceVar(&o.accessModes, "access-mode", nil, "access mode of --create-pvc: RWO, RWX, RWOP (default RWO)")
	f.BoolVar(&o.populator, "populator", false, "fill every claim whose dataSourceRef names the Restore")
	f.BoolVar(&o.enableFileDeletion, "enable-file-deletion", false, "delete what is in the claim and not in the snapshot")
	f.BoolVar(&o.ignorePermissions, "ignore-permission-errors", true, "complete although owners or modes could not be set")
	f.BoolVar(&o.atomically, "write-files-atomically", true, "write files beside their places and rename them")
	claims := complete.Names(o.env, func() client.ObjectList { return &corev1.PersistentVolumeClaimList{} })
	complete.Flag(cmd, "to-pvc", claims)
	complete.Flag(cmd, "access-mode", complete.Fixed("RWO", "RWX", "RWOP"))
}

func (o *options) run(ctx context.Context) error {
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
	o.announce()
	made, err := o.wish().Ensure(ctx, cluster, want)
	if err != nil {
		return err
	}
	if o.wait {
		return o.follow(ctx, cluster, format, made)
	}
	return o.wish().Answer(o.env, cluster, format, list(made))
}

func (o *options) wish() create.Wish[*kopiurv1.Restore] {
	return create.Wish[*kopiurv1.Restore]{
		Kind: "Restore", Named: o.name != "", DryRun: o.dryRun, New: Kind().New, Differences: o.differences,
	}
}
