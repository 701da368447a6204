// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/mover/internal/op/browse"
)

// newBrowseCmd asks the session that a mover beside this program keeps open.
func newBrowseCmd(p Process) *cobra.Command {
	var (
		req                   work.BrowseRequest
		socket, action, start string
		plain                 bool
	)
	cmd := &cobra.Command{
		Use: "browse list|cat|download|end [PATH]", Short: "Look into a snapshot, in a container with an open session", Args: cobra.RangeArgs(1, 2),
		Long: "Browse brings one question to the session that a mover in this container keeps open. The answer is a stream of\n" +
			"frames that ends with a status, so that whoever reads it through the API server knows whether all of it came;\n" +
			"with --plain it is what people expect: lines of JSON, bytes, a tar archive.",
		ValidArgs: []string{"list", "cat", "download", "end"},
		RunE: func(cmd *cobra.Command, args []string) error {
			action = args[0]
			req.Action = work.BrowseAction(action)
			if len(args) > 1 {
				req.Path = args[1]
			}
			if start != "" {
				t, err := time.Parse(time.RFC3339Nano, start)
				if err != nil {
					return fmt.Errorf("--start-time: %w", err)
				}
				req.StartTime = &t
			}
			st, err := browse.Ask(cmd.Context(), socket, req, plain, p.Stdout, p.Clock)
			if err != nil {
				return err //nolint:wrapcheck // a sentence for the user already
			}
			if st.ExitCode != 0 {
				_, _ = fmt.Fprintln(p.Stderr, "mover:", st.Message)
				return exitError(st.ExitCode)
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&req.SnapshotID, "snapshot", "", "manifest id of the snapshot")
	f.StringVar(&req.Identity.Username, "username", "", "with --hostname, --source-path and --start-time: finds it again where its id has changed")
	f.StringVar(&req.Identity.Hostname, "hostname", "", "see --username")
	f.StringVar(&req.Identity.Path, "source-path", "", "see --username")
	f.StringVar(&start, "start-time", "", "see --username; RFC 3339")
	f.IntVar(&req.Limit, "limit", 0, "entries of a list at most; 0 is all of them")
	f.StringVar(&req.After, "after", "", "begin a list behind this name")
	f.BoolVar(&plain, "plain", false, "for people: without frames")
	f.StringVar(&socket, "socket", work.BrowseSocket, "socket of the session")
	return cmd
}
