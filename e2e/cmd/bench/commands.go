// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kopiur/kopiur/e2e/bench/data"
	"github.com/kopiur/kopiur/e2e/bench/host"
	"github.com/kopiur/kopiur/e2e/bench/latency"
	"github.com/kopiur/kopiur/e2e/bench/report"
	"github.com/kopiur/kopiur/e2e/bench/rows"
)

func newCommand() *cobra.Command {
	root := &cobra.Command{Use: "bench", Short: "Measure Kopiur against its budgets", SilenceUsage: true, SilenceErrors: true}
	root.AddCommand(newRun(), newList(), newData(), newController(), newPublish(), newLatency())
	return root
}

func newList() *cobra.Command {
	return &cobra.Command{Use: "list", Short: "Name the rows", Args: cobra.NoArgs, Run: func(cmd *cobra.Command, _ []string) {
		for _, r := range rows.All() {
			fmt.Fprintf(cmd.OutOrStdout(), "%-12s %s\n", r.ID, r.What)
		}
	}}
}

func newData() *cobra.Command {
	var full bool
	var many int
	cmd := &cobra.Command{
		Use: "data <set> <folder>", Short: "Make one of the data sets (D1 to D5, D5-dense, D8)", Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			sizes := data.Short()
			if full {
				sizes = data.Full(many)
			}
			spec, ok := sizes[data.Set(args[0])]
			if !ok {
				return fmt.Errorf("there is no data set %s", args[0]) //nolint:err113 // read by people
			}
			if err := data.Generate(args[1], spec); err != nil {
				return err //nolint:wrapcheck // names the set
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", args[1], spec)
			return err //nolint:wrapcheck // standard output is gone
		},
	}
	cmd.Flags().BoolVar(&full, "full", false, "the sizes that the budgets name")
	cmd.Flags().IntVar(&many, "many", 0, "how many files D1 has (0: 200,000)")
	return cmd
}

// newController makes a report of rows that the controller module has measured: its stand-ins for movers and kubelets are
// its own.
func newController() *cobra.Command {
	var from, out string
	var full bool
	var commands []string
	var took time.Duration
	cmd := &cobra.Command{
		Use: "controller", Short: "Print the table of rows about the controller, write report.json and report.md", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			list, err := report.ReadRows(from)
			if err != nil {
				return err //nolint:wrapcheck // says what failed
			}
			now := time.Now().UTC()
			r := &report.Report{Started: now.Add(-took), Took: took, Form: "short", Commands: commands, Rows: list, Machine: host.Machine(".")}
			if full {
				r.Form = "full"
			}
			r.Settings = []report.Fact{{Name: "API server", Value: "kube-apiserver and etcd without fsync on the same machine; controller, movers and users are one process"}}
			r.Sort()
			if err := write(out, r); err != nil {
				return err
			}
			_, err = fmt.Fprint(cmd.OutOrStdout(), r.Markdown())
			return err //nolint:wrapcheck // standard output is gone
		},
	}
	cmd.Flags().StringVar(&from, "rows", "out/bench/controller/rows.json", "the rows")
	cmd.Flags().StringVar(&out, "out", "out/bench/controller", "folder for the reports")
	cmd.Flags().BoolVar(&full, "full", false, "they were measured in full size")
	cmd.Flags().DurationVar(&took, "took", 0, "how long that took")
	cmd.Flags().StringArrayVar(&commands, "command", nil, "how the run was started, for the report")
	return cmd
}

func newPublish() *cobra.Command {
	var from []string
	var page, section string
	cmd := &cobra.Command{
		Use: "publish", Short: "Write the results of a run, or of several, into a page, between its markers", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			r := &report.Report{}
			for _, path := range from {
				next, err := report.Read(path)
				if err != nil {
					return err //nolint:wrapcheck // says what failed
				}
				r.Add(next)
			}
			text, err := os.ReadFile(page)
			if err != nil {
				return err //nolint:wrapcheck // names the path
			}
			out, err := report.Splice(string(text), report.Section(section), r.Markdown())
			if err != nil {
				return err //nolint:wrapcheck // says what failed
			}
			return os.WriteFile(page, []byte(out), 0o644) //nolint:wrapcheck // names the path
		},
	}
	cmd.Flags().StringSliceVar(&from, "from", []string{"out/bench/report.json"}, "the report of a run; a row of a later one takes the place of the same row before")
	cmd.Flags().StringVar(&page, "page", "docs/performance.md", "the page")
	cmd.Flags().StringVar(&section, "section", string(report.Mover), "where on the page: bench, or bench-controller for rows of the controller")
	return cmd
}

func newLatency() *cobra.Command {
	p := &latency.Proxy{Now: time.Now, Sleep: time.Sleep}
	cmd := &cobra.Command{
		Use: rows.LatencyVerb, Short: "Stand in front of a server as if it were far away", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := (&net.ListenConfig{}).Listen(cmd.Context(), "tcp", "127.0.0.1:0")
			if err != nil {
				return fmt.Errorf("listen: %w", err)
			}
			fmt.Fprintln(cmd.OutOrStdout(), l.Addr())
			return p.Serve(cmd.Context(), l) //nolint:wrapcheck // says what failed
		},
	}
	cmd.Flags().StringVar(&p.To, "to", "", "the server, host:port")
	cmd.Flags().DurationVar(&p.Delay, "delay", rows.Latency, "how much later what a client sends arrives")
	return cmd
}

func fields(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' })
}
