// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package browse

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/kopiurctl/internal/cli"
	"github.com/kopiur/kopiur/kopiurctl/internal/printer"
	"github.com/kopiur/kopiur/kopiurctl/internal/session"
	"github.com/kopiur/kopiur/kopiurctl/internal/unpack"
)

// NewCat makes the verb cat.
func NewCat(env *cli.Env) *cobra.Command {
	o := &options{env: env}
	cmd := &cobra.Command{
		Use: "cat SNAPSHOT PATH", Short: "Write a file of a backup to stdout",
		Long: `Write the bytes of the file PATH of a Snapshot to stdout. Where they did not all come, the exit code says so: stdout has the
beginning of the file then.` + about,
		Example: `  kopiurctl cat data-20260305-090000 config/app.yaml | diff - app.yaml`,
		Args:    cli.Exactly("SNAPSHOT", "PATH"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.cat(cmd.Context(), args[0], args[1])
		},
	}
	o.addTo(cmd)
	return cmd
}

func (o *options) cat(ctx context.Context, name, file string) error {
	if err := o.plain(); err != nil {
		return err
	}
	return o.look(ctx, name, func(ctx context.Context, c *session.Client, s session.Snapshot) error {
		s.Request.Action, s.Request.Path = work.BrowseCat, file
		err := c.Ask(ctx, s, func(answer io.Reader) error {
			_, err := io.Copy(o.env.Out, work.NewDataReader(answer))
			return err //nolint:wrapcheck // the stream's own words
		})
		if refused, ok := errors.AsType[*session.Refusal](err); ok && refused.Code == work.CodeNotFound {
			return o.noFile(ctx, c, s, name, file, err)
		}
		return err //nolint:wrapcheck // a sentence already
	})
}

// noFile finds out what is at a path that is no file.
func (o *options) noFile(ctx context.Context, c *session.Client, s session.Snapshot, name, file string, cause error) error {
	entries, err := list(ctx, c, s, path.Dir("/"+file))
	if err != nil {
		return cause
	}
	for _, e := range entries {
		switch {
		case e.Name != path.Base(file):
		case e.Type == "directory":
			return cli.Failedf("%s is a folder: list it with %s ls %s %s, or fetch it with download", file, o.env.Program, name, file)
		case e.Type == "symlink":
			return cli.Failedf("%s is a link to %s, and links are not followed: write where it leads", file, e.LinkTarget)
		}
	}
	return cause
}

type downloadOptions struct {
	options

	to    string
	force bool
}

// NewDownload makes the verb download.
func NewDownload(env *cli.Env) *cobra.Command {
	o := &downloadOptions{options: options{env: env}}
	cmd := &cobra.Command{
		Use: "download SNAPSHOT [PATH]", Short: "Fetch a file or folder of a backup",
		Long: `Fetch the file or folder PATH of a Snapshot, or all that is in it, to this machine. Modes and times are kept, and links as
links; owners are not, nor what lets a program run as its owner.

What a folder holds goes into --to, and a file goes there under its own name. Without --to a folder is made in the current
one, with the name of PATH or of the Snapshot. Nothing gets its name before all of it has come, and nothing that is there
is replaced, unless --force says so.` + about,
		Example: `  kopiurctl download data-20260305-090000 config --to ./config-of-march
  kopiurctl download data-20260305-090000 config/app.yaml`,
		Args: arguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.download(cmd.Context(), args[0], pathOf(args))
		},
	}
	o.addTo(cmd)
	f := cmd.Flags()
	f.StringVar(&o.to, "to", "", "folder to put it in; it is made where it does not exist")
	f.BoolVar(&o.force, "force", false, "replace files that are there")
	if err := cmd.MarkFlagDirname("to"); err != nil {
		panic(err) // there is no such flag: no build with that fault gets past a test
	}
	return cmd
}

func (o *downloadOptions) download(ctx context.Context, name, from string) error {
	if err := o.plain(); err != nil {
		return err
	}
	folder := path.Base(path.Clean("/" + from))
	if folder == "/" {
		folder = name
	}
	return o.look(ctx, name, func(ctx context.Context, c *session.Client, s session.Snapshot) error {
		var got unpack.Result
		s.Request.Action, s.Request.Path = work.BrowseDownload, from
		err := c.Ask(ctx, s, func(answer io.Reader) (err error) {
			got, err = unpack.From(work.NewDataReader(answer), unpack.Place{Dir: o.to, Folder: folder, Force: o.force})
			return err //nolint:wrapcheck // a sentence already
		})
		switch {
		case errors.Is(err, unpack.ErrExists):
			return cli.Failedf("%w: nothing was changed; choose another folder with --to, or write --force to replace files", err)
		case err != nil:
			return err //nolint:wrapcheck // a sentence already
		}
		o.env.Say("downloaded %s to %s", counts(got), got.Path)
		return nil
	})
}

func counts(r unpack.Result) string {
	var out []string
	for _, c := range []struct {
		n    int64
		word string
	}{{r.Files, "file"}, {r.Folders, "folder"}, {r.Links, "link"}} {
		switch c.n {
		case 0:
		case 1:
			out = append(out, "1 "+c.word)
		default:
			out = append(out, fmt.Sprintf("%d %ss", c.n, c.word))
		}
	}
	return strings.Join(append(out, printer.Bytes(r.Bytes)), ", ")
}
