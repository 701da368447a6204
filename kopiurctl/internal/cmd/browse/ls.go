// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package browse

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/printers"
	"sigs.k8s.io/yaml"

	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/kopiurctl/internal/cli"
	"github.com/kopiur/kopiur/kopiurctl/internal/printer"
	"github.com/kopiur/kopiur/kopiurctl/internal/session"
)

// NewLs makes the verb ls.
func NewLs(env *cli.Env) *cobra.Command {
	o := &options{env: env}
	cmd := &cobra.Command{
		Use: "ls SNAPSHOT [PATH]", Short: "List what is in a backup",
		Long: `List the folder PATH of a Snapshot as ls -l does, or what lies at its top. The size of a folder is that of all it holds.` + about,
		Example: `  kopiurctl ls data-20260305-090000
  kopiurctl ls data-20260305-090000 config/nginx -o json`,
		Args: arguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.ls(cmd.Context(), args[0], pathOf(args))
		},
	}
	o.addTo(cmd)
	return cmd
}

func (o *options) ls(ctx context.Context, name, path string) error {
	format, err := o.env.Format()
	if err != nil {
		return err
	}
	return o.look(ctx, name, func(ctx context.Context, c *session.Client, s session.Snapshot) error {
		entries, err := list(ctx, c, s, path)
		if err != nil {
			return err
		}
		return o.print(format, entries)
	})
}

// list asks for all entries.
func list(ctx context.Context, c *session.Client, s session.Snapshot, path string) ([]work.BrowseEntry, error) {
	var out []work.BrowseEntry
	s.Request.Action, s.Request.Path = work.BrowseList, path
	err := c.Ask(ctx, s, func(answer io.Reader) error {
		out = []work.BrowseEntry{}
		return work.ReadBrowsePages(answer, func(p work.BrowsePage) error {
			out = append(out, p.Entries...)
			return nil
		})
	})
	return out, err //nolint:wrapcheck // a sentence already
}

var columns = []printer.Column[work.BrowseEntry]{
	{Name: "MODE", Of: mode},
	{Name: "OWNER", Of: func(e work.BrowseEntry) string { return fmt.Sprintf("%d:%d", e.UID, e.GID) }},
	{Name: "SIZE", Of: func(e work.BrowseEntry) string { return printer.Bytes(e.Size) }},
	{Name: "FILES", Wide: true, Of: files},
	{Name: "MODIFIED", Of: func(e work.BrowseEntry) string { return e.ModTime.UTC().Format(time.RFC3339) }},
	{Name: "NAME", Of: shown},
}

// mode writes a mode as ls does. Go's own begins with one letter for each bit that ls shows among the nine others.
func mode(e work.BrowseEntry) string {
	const nine = 9
	if len(e.Mode) <= nine {
		return e.Mode
	}
	special, out := e.Mode[:len(e.Mode)-nine], []byte("-"+e.Mode[len(e.Mode)-nine:])
	switch e.Type {
	case "directory":
		out[0] = 'd'
	case "symlink":
		out[0] = 'l'
	}
	for _, bit := range []struct {
		letter, with, without byte
		at                    int
	}{{'u', 's', 'S', 3}, {'g', 's', 'S', 6}, {'t', 't', 'T', 9}} {
		switch {
		case strings.IndexByte(special, bit.letter) < 0:
		case out[bit.at] == 'x':
			out[bit.at] = bit.with
		default:
			out[bit.at] = bit.without
		}
	}
	return string(out)
}

func files(e work.BrowseEntry) string {
	if e.Type != "directory" {
		return "1"
	}
	return strconv.FormatInt(e.Files, 10)
}

// shown is a name as ls -F shows it: a folder with its slash, a link with where it leads.
func shown(e work.BrowseEntry) string {
	switch e.Type {
	case "directory":
		return e.Name + "/"
	case "symlink":
		return e.Name + " -> " + e.LinkTarget
	default:
		return e.Name
	}
}

func (o *options) print(format cli.Output, entries []work.BrowseEntry) error {
	switch format {
	case cli.Name:
		for _, e := range entries {
			fmt.Fprintln(o.env.Out, printers.EscapeTerminal(e.Name))
		}
		return nil
	case cli.JSON, cli.YAML:
		listed := struct {
			Entries []work.BrowseEntry `json:"entries"`
		}{entries}
		b, err := json.MarshalIndent(listed, "", "    ")
		if err == nil && format == cli.YAML {
			b, err = yaml.JSONToYAML(b)
		}
		if err != nil {
			return fmt.Errorf("write the list: %w", err)
		}
		if format == cli.JSON {
			b = append(b, '\n')
		}
		_, err = o.env.Out.Write(b)
		return err //nolint:wrapcheck // stdout
	default:
		if len(entries) == 0 {
			o.env.Say("the folder is empty")
		}
		return printer.Table(o.env.Out, format == cli.Wide, columns, entries)
	}
}
