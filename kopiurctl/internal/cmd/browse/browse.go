// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package browse looks into backups: it lists what is in them, and fetches files and folders.
package browse

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	wire "github.com/kopiur/kopiur/apis/session"
	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/kopiurctl/internal/cli"
	"github.com/kopiur/kopiur/kopiurctl/internal/complete"
	"github.com/kopiur/kopiur/kopiurctl/internal/session"
)

// about is what the help of each verb says about sessions.
const about = `

The repository is opened by a mover in the Snapshot's namespace, which takes some seconds, and stays open for the next
question until none has come for --session-ttl. kopiurctl session end ends it before.`

// options of all verbs here.
type options struct {
	env          *cli.Env
	ttl, timeout time.Duration
	// asked reports whether --session-ttl was written.
	asked func() bool
}

func (o *options) addTo(cmd *cobra.Command) {
	f := cmd.Flags()
	f.DurationVar(&o.ttl, "session-ttl", wire.DefaultTTL, "how long the repository stays open without a question")
	o.asked = func() bool { return f.Changed("session-ttl") }
	f.DurationVar(&o.timeout, "timeout", 5*time.Minute, "how long to wait until the repository is open; 0 is for ever")
	cmd.ValidArgsFunction = complete.Args(complete.Names(o.env, func() client.ObjectList { return &kopiurv1.SnapshotList{} }))
}

// arguments are a Snapshot and perhaps a path.
func arguments(c *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return cli.Usagef("SNAPSHOT is missing: write %s", c.UseLine())
	case len(args) > 2:
		return cli.Usagef("%s is one argument too many: write %s", args[2], c.UseLine())
	default:
		return nil
	}
}

func pathOf(args []string) string {
	if len(args) > 1 {
		return args[1]
	}
	return ""
}

// client checks the flags and connects.
func (o *options) client() (*session.Client, error) {
	if err := wire.Check(o.ttl); err != nil {
		return nil, cli.Usagef("--session-ttl: %w", err)
	}
	if o.timeout < 0 {
		return nil, cli.Usagef("--timeout: write a positive time, or 0 to wait for ever")
	}
	if err := o.env.OneNamespace(); err != nil {
		return nil, err
	}
	c, err := o.env.Connect()
	if err != nil {
		return nil, err
	}
	return &session.Client{Env: o.env, Cluster: c, TTL: o.ttl, Asked: o.asked(), Timeout: o.timeout}, nil
}

// plain refuses --output, for verbs whose answer is what was stored.
func (o *options) plain() error {
	if o.env.Output != string(cli.Table) {
		return cli.Usagef("--output: the answer is what was stored, and nothing else: leave it out")
	}
	return nil
}

// explained names the role that lets people do this.
func explained(c *session.Client, err error) error {
	if cli.CodeOf(err) != cli.Forbidden {
		return err
	}
	return fmt.Errorf("%w (looking into backups takes the ClusterRole kopiur-browse of Kopiur's chart, bound in namespace %s)", err, c.Cluster.Namespace)
}

// look finds the Snapshot and does something with it.
func (o *options) look(ctx context.Context, name string, do func(context.Context, *session.Client, session.Snapshot) error) error {
	c, err := o.client()
	if err != nil {
		return err
	}
	s, err := c.Snapshot(ctx, name)
	if err == nil {
		err = do(ctx, c, s)
	}
	return explained(c, err)
}
