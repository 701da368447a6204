// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Command image makes container images from scratch without a container engine: one static binary, and folders of
// extra files if need be. The same inputs give the same digest on every machine.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
)

const usage = `usage:
  image build --name REF --binary FILE --entrypoint PATH --out FILE.tar [flags]   write an image archive
  image push --out FILE.tar REF [--insecure]                                      push an archive to a registry
Both print the image's digest. "image build -h" lists the flags.
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 0 {
		return fmt.Errorf("no verb given\n%s", usage)
	}
	switch args[0] {
	case "build":
		return runBuild(args[1:], out)
	case "push":
		return runPush(ctx, args[1:], out)
	default:
		return fmt.Errorf("unknown verb %q\n%s", args[0], usage)
	}
}

// list is a flag that can be given more than once.
type list []string

func (l *list) String() string         { return strings.Join(*l, " ") }
func (l *list) Set(value string) error { *l = append(*l, value); return nil }

func runBuild(args []string, out io.Writer) error {
	var s spec
	var file string
	flags := flag.NewFlagSet("image build", flag.ContinueOnError)
	flags.StringVar(&s.name, "name", "", "name and tag of the image")
	flags.StringVar(&s.binary, "binary", "", "static executable to put at the entrypoint's path")
	flags.StringVar(&s.entrypoint, "entrypoint", "", "absolute path of the executable in the image")
	flags.Var((*list)(&s.command), "cmd", "default argument; repeat for more")
	flags.StringVar(&s.user, "user", "", "UID:GID that the image runs as; root when empty")
	flags.Var((*list)(&s.env), "env", "NAME=VALUE; repeat for more")
	flags.Var((*list)(&s.labels), "label", "KEY=VALUE; repeat for more")
	flags.Var((*list)(&s.folders), "layer-dir", "folder whose content becomes a layer below the binary; repeat for more")
	flags.StringVar(&s.platform, "platform", "linux/"+runtime.GOARCH, "OS/ARCHITECTURE of the binary")
	flags.StringVar(&file, "out", "", "archive to write")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	digest, err := writeArchive(s, file)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, digest)
	return err
}

func runPush(ctx context.Context, args []string, out io.Writer) error {
	var file string
	var insecure bool
	flags := flag.NewFlagSet("image push", flag.ContinueOnError)
	flags.StringVar(&file, "out", "", "archive that build wrote")
	flags.BoolVar(&insecure, "insecure", false, "allow a registry without TLS")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return fmt.Errorf("want one reference to push to, got %d", flags.NArg())
	}
	digest, err := push(ctx, file, flags.Arg(0), insecure)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, digest)
	return err
}
