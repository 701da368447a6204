// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cmd puts the verbs together to one command line.
package cmd

import (
	"context"
	"flag"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/klog/v2"

	"github.com/kopiur/kopiur/kopiurctl/internal/cli"
	"github.com/kopiur/kopiur/kopiurctl/internal/cmd/ackdeletion"
	"github.com/kopiur/kopiur/kopiurctl/internal/cmd/browse"
	"github.com/kopiur/kopiur/kopiurctl/internal/cmd/logs"
	"github.com/kopiur/kopiur/kopiurctl/internal/cmd/restore"
	"github.com/kopiur/kopiur/kopiurctl/internal/cmd/retention"
	"github.com/kopiur/kopiur/kopiurctl/internal/cmd/run"
	"github.com/kopiur/kopiur/kopiurctl/internal/cmd/session"
	"github.com/kopiur/kopiur/kopiurctl/internal/cmd/snapshot"
	"github.com/kopiur/kopiur/kopiurctl/internal/cmd/snapshots"
	"github.com/kopiur/kopiur/kopiurctl/internal/cmd/status"
	"github.com/kopiur/kopiur/kopiurctl/internal/cmd/suspend"
	"github.com/kopiur/kopiur/kopiurctl/internal/complete"
)

const long = `kopiurctl asks the operator for backups and restores, and shows what it does. It creates and changes Kopiur's
objects and nothing else: whatever it does, a manifest can do. To look into a backup it asks the operator by a ConfigMap.

stdout has the answer, stderr the conversation. Called kubectl-kopiur and in PATH, it is a plugin: kubectl kopiur status.`

// New makes the whole command line.
func New(env *cli.Env) *cobra.Command {
	root := &cobra.Command{
		Use: "kopiurctl", Short: "Backups and restores of Kubernetes volumes with Kopiur", Long: long,
		Version:      env.Version,
		Annotations:  map[string]string{cobra.CommandDisplayNameAnnotation: env.Program},
		SilenceUsage: true, SilenceErrors: true,
		PersistentPreRunE: func(*cobra.Command, []string) error {
			return verbose(env.Verbosity)
		},
		Args: cobra.ArbitraryArgs, RunE: cli.Group,
	}
	env.AddTo(root.PersistentFlags())
	complete.Flag(root, "namespace", complete.Namespaces(env))
	complete.Flag(root, "context", complete.Contexts(env))
	complete.Flag(root, "output", complete.Fixed(cli.Outputs()...))
	root.SetIn(env.In)
	root.SetOut(env.Out)
	root.SetErr(env.ErrOut)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return cli.Usagef("%w: see %s --help", err, c.CommandPath())
	})
	root.AddCommand(
		snapshot.New(env), snapshots.New(env), ackdeletion.New(env), suspend.New(env), suspend.NewResume(env), status.New(env),
		retention.New(env), restore.New(env), logs.New(env), run.NewMaintenance(env), run.NewReplication(env),
		browse.NewLs(env), browse.NewCat(env), browse.NewDownload(env), session.New(env),
	)
	return root
}

// verbose sets how much client-go says about requests.
func verbose(level int) error {
	fs := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(fs)
	if err := fs.Set("v", strconv.Itoa(level)); err != nil {
		return cli.Usagef("--verbosity: %w", err)
	}
	return nil
}

// Run runs one command line and gives the exit code.
func Run(ctx context.Context, env *cli.Env, name string, args []string) cli.Code {
	env.Program = name
	if plugin, ok := strings.CutPrefix(name, "kubectl-"); ok {
		env.Program = "kubectl " + strings.TrimSuffix(plugin, ".exe")
	}
	root := New(env) //nolint:contextcheck // cobra hands the context to each verb
	root.SetArgs(args)
	_, err := root.ExecuteContextC(ctx)
	if err == nil {
		return cli.OK
	}
	fmt.Fprintln(env.ErrOut, "error: "+printers.EscapeTerminal(cli.Sentence(err)))
	return cli.CodeOf(err)
}
