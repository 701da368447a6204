// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package session ends the sessions in which backups are looked into.
package session

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	wire "github.com/kopiur/kopiur/apis/session"
	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/kopiurctl/internal/cli"
	"github.com/kopiur/kopiur/kopiurctl/internal/complete"
	"github.com/kopiur/kopiur/kopiurctl/internal/printer"
	"github.com/kopiur/kopiur/kopiurctl/internal/session"
)

// New makes the verb session.
func New(env *cli.Env) *cobra.Command {
	cmd := &cobra.Command{Use: "session", Short: "Close what ls, cat and download have opened", Args: cobra.ArbitraryArgs, RunE: cli.Group}
	cmd.AddCommand(&cobra.Command{
		Use: "end [SNAPSHOT]", Short: "End sessions before their time",
		Long: `End the session in which a Snapshot is looked into, or all sessions of the namespace: their ConfigMaps are deleted, and Jobs
and pods go with them. Sessions end by themselves when nobody asks any more.`,
		Example: `  kopiurctl session end
  kopiurctl session end data-20260305-090000`,
		Args:              cobra.MaximumNArgs(1),
		RunE:              func(cmd *cobra.Command, args []string) error { return end(cmd.Context(), env, args) },
		ValidArgsFunction: complete.Args(complete.Names(env, func() client.ObjectList { return &kopiurv1.SnapshotList{} })),
	})
	return cmd
}

func end(ctx context.Context, env *cli.Env, args []string) error {
	format, err := env.Format()
	if err != nil {
		return err
	}
	if err := env.OneNamespace(); err != nil {
		return err
	}
	c, err := env.Connect()
	if err != nil {
		return err
	}
	only := ""
	if len(args) > 0 {
		s, err := (&session.Client{Env: env, Cluster: c}).Snapshot(ctx, args[0])
		if err != nil {
			return err //nolint:wrapcheck // a sentence already
		}
		only = wire.Name(s.Repository)
	}
	var list corev1.ConfigMapList
	if err := c.List(ctx, &list, client.InNamespace(c.Namespace), client.MatchingLabels{kopiurv1.LabelSession: kopiurv1.SessionBrowse}); err != nil {
		return fmt.Errorf("list the sessions: %w", err)
	}
	var ended []client.Object
	for i := range list.Items {
		cm := &list.Items[i]
		if only != "" && cm.Name != only {
			continue
		}
		if err := session.End(ctx, c, cm); err != nil {
			return err //nolint:wrapcheck // a sentence already
		}
		ended = append(ended, cm)
		if !format.Machine() {
			if err := printer.Done(env.Out, c.Scheme(), cm, "ended"); err != nil {
				return err
			}
		}
	}
	if len(ended) == 0 {
		env.Say("no session is open")
	}
	if format.Machine() {
		return printer.Objects(env.Out, format, c.Scheme(), true, ended...)
	}
	return nil
}
