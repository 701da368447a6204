// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"

	"github.com/spf13/cobra"

	"github.com/kopiur/kopiur/e2e/cluster"
)

// images are what a cluster must be able to pull or hold for the end-to-end tests.
var images = []string{
	"localhost/kopiur/controller:dev", "localhost/kopiur/webhook:dev", "localhost/kopiur/mover:dev",
	"localhost/kopiur/testapp:dev", "localhost/kopiur/versitygw:dev", "localhost/kopiur/kopia:dev",
}

// flags are common to all verbs.
type flags struct {
	name         string
	controlPlane bool
}

func (f *flags) options(progress io.Writer) cluster.Options {
	return cluster.Options{Name: f.name, Progress: progress}
}

// find returns the cluster if it runs.
func (f *flags) find() (*cluster.Cluster, error) {
	c, err := cluster.Find(f.options(nil), f.controlPlane)
	if err == nil && !c.Running() {
		err = fmt.Errorf("cluster %s does not run; \"cluster up\" brings it up", f.name)
	}
	return c, err
}

func newCommand() *cobra.Command {
	f := &flags{}
	root := &cobra.Command{
		Use:           "cluster",
		Short:         "A real Kubernetes for tests, on a bare Linux machine",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.PersistentFlags().StringVar(&f.name, "name", cmp.Or(os.Getenv("KOPIUR_CLUSTER"), cluster.DefaultName),
		"which cluster; several can run side by side (KOPIUR_CLUSTER)")
	root.PersistentFlags().BoolVar(&f.controlPlane, "control-plane-only", false, "etcd and kube-apiserver on the host's loopback; needs no root")
	root.AddCommand(newUp(f), newDown(f), newStatus(f), newKubeconfig(f), newLoadImage(f), newExec(f))
	return root
}

func newUp(f *flags) *cobra.Command {
	var printEnv bool
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Bring the cluster up, building it first if need be",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out, progress := cmd.OutOrStdout(), cmd.ErrOrStderr()
			if path, found := cluster.External(); found && !f.controlPlane {
				fmt.Fprintf(progress, "KUBECONFIG is set: using that cluster (%s), none is brought up. It must be able to run these images:\n", path)
				for _, image := range images {
					fmt.Fprintln(progress, "  "+image)
				}
				return nil
			}
			up := cluster.Up
			if f.controlPlane {
				up = cluster.ControlPlane
			}
			c, err := up(cmd.Context(), f.options(progress))
			if err != nil {
				return err
			}
			if printEnv {
				return printEnvironment(out, c, f.controlPlane)
			}
			fmt.Fprintf(progress, "export KUBECONFIG=%s\n", c.Kubeconfig())
			return nil
		},
	}
	cmd.Flags().BoolVar(&printEnv, "print-env", false, "print NAME=VALUE lines for tests on standard output")
	return cmd
}

func printEnvironment(out io.Writer, c *cluster.Cluster, controlPlane bool) error {
	kubeconfig := "KUBECONFIG"
	if controlPlane {
		// Not KUBECONFIG: with that, helm and kubectl would find a cluster that runs nothing.
		kubeconfig = "KOPIUR_TEST_KUBECONFIG"
	}
	for _, line := range [][2]string{
		{kubeconfig, c.Kubeconfig()},
		{"KUBEBUILDER_ASSETS", c.Assets()},
		{"KOPIUR_TEST_PKI", c.PKI()},
		{"KOPIUR_TEST_AUDIT_LOG", c.AuditLog()},
		{"KOPIUR_SNAPSHOT_CRDS", c.SnapshotCRDs()},
	} {
		if _, err := fmt.Fprintf(out, "%s=%s\n", line[0], line[1]); err != nil {
			return err
		}
	}
	return nil
}

func newDown(f *flags) *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "End the cluster and remove everything but its logs",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := cluster.Find(f.options(cmd.ErrOrStderr()), f.controlPlane)
			if err != nil {
				return err
			}
			return c.Down(cmd.Context())
		},
	}
}

func newStatus(f *flags) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Tell whether the cluster runs and where its things are",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := cluster.Find(f.options(nil), f.controlPlane)
			if err != nil {
				return err
			}
			status, err := c.Status(cmd.Context())
			if err != nil {
				return err
			}
			if !asJSON {
				return status.Print(cmd.OutOrStdout())
			}
			encoder := json.NewEncoder(cmd.OutOrStdout())
			encoder.SetIndent("", "  ")
			return encoder.Encode(status)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func newKubeconfig(f *flags) *cobra.Command {
	return &cobra.Command{
		Use:   "kubeconfig",
		Short: "Print the path of an administrator's kubeconfig that works on the host",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if path, found := cluster.External(); found && !f.controlPlane {
				_, err := fmt.Fprintln(cmd.OutOrStdout(), path)
				return err
			}
			c, err := f.find()
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), c.Kubeconfig())
			return err
		},
	}
}

func newLoadImage(f *flags) *cobra.Command {
	return &cobra.Command{
		Use:   "load-image FILE...",
		Short: "Put image archives into the node's image store",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, files []string) error {
			if _, found := cluster.External(); found {
				return errors.New("KUBECONFIG names a cluster that this command did not make: push the archives to a registry that it pulls from " +
					"(hack/image push) and set the chart's image.registry, or load them with that cluster's own tool")
			}
			c, err := f.find()
			if err != nil {
				return err
			}
			return c.LoadImage(cmd.Context(), files...)
		},
	}
}

// execError marks an exit code that belongs to the command that was run in the box.
type execError struct{ error }

func (e execError) Unwrap() error { return e.error }

func isExec(err error) bool {
	var e execError
	return errors.As(err, &e)
}

func newExec(f *flags) *cobra.Command {
	var detach string
	cmd := &cobra.Command{
		Use:   "exec [--detach NAME] -- COMMAND [ARGUMENT...]",
		Short: "Run a command inside the box, with its kubectl and network; on the host if there is no box",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, found := cluster.External(); found && !f.controlPlane && detach == "" {
				return runHere(exec.CommandContext(cmd.Context(), args[0], args[1:]...))
			}
			c, err := f.find()
			if err != nil {
				return err
			}
			if detach != "" {
				return c.Start(cmd.Context(), detach, args...)
			}
			dir, err := os.Getwd()
			if err != nil {
				return err
			}
			return runHere(c.Command(cmd.Context(), dir, args...))
		},
	}
	cmd.Flags().StringVar(&detach, "detach", "", "leave the command running in the box under this name; its output goes to NAME.log")
	return cmd
}

// runHere runs a command with this program's own input and output.
func runHere(cmd *exec.Cmd) error {
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return execError{err}
	}
	return nil
}
