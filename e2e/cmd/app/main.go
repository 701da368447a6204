// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Command app is the workload of end-to-end tests: one static program for images without anything else in them. It
// fills volumes with files of all kinds, describes what a volume holds, and compares.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

const usage = `usage: testapp VERB ARGUMENT...
  fill [--seed N] [--files N] [--largest BYTES] [--sparse BYTES] DIR   make a tree of files of every kind, the same for the same seed
  wipe DIR                            remove everything in a folder
  manifest DIR                        describe a tree: one JSON object per line, sorted by path
  allocated FILE...                   print how many bytes the file system spends on each
  compare [--ignore FIELD,...] A B    compare two trees or manifests (files, - for standard input); exit code 1 if they differ
  write [--append] FILE CONTENT       write a file, and the folders that lead to it
  cat FILE                            print a file
  lockstep FIRST SECOND               count in both until told to end: the second file never before the first
  http-get [--timeout DURATION] URL   print what a server answers; exit code 1 unless it is a 2xx
  http-serve ADDRESS DIR              serve a folder
  webdav-serve ADDRESS DIR            serve a folder for reading and writing, to $APP_USER with $APP_PASSWORD
  sftp-serve ADDRESS                  serve files by SSH, as $APP_HOST_KEY, to $APP_USER with the key of $APP_AUTHORIZED_KEY
  wait-for FILE DURATION              wait until a file exists
  echo TEXT...                        print
  exit CODE                           end with this exit code
  sleep [DURATION]                    wait for that long, or until told to end
`

// exitError asks for an exit code without a message.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// app is what verbs work with.
type app struct {
	in  io.Reader
	out io.Writer
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	err := app{in: os.Stdin, out: os.Stdout}.run(ctx, os.Args[1:])
	stop()
	os.Exit(exitCode(err))
}

func exitCode(err error) int {
	var code exitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &code):
		return int(code)
	}
	fmt.Fprintln(os.Stderr, "testapp:", err)
	return 1
}

func (a app) run(ctx context.Context, args []string) error {
	verbs := map[string]func(context.Context, []string) error{
		"fill": a.fill, "wipe": a.wipe, "manifest": a.manifest, "allocated": a.allocated, "compare": a.compare,
		"write": a.write, "cat": a.cat, "lockstep": a.lockstep, "http-get": a.httpGet, "http-serve": a.httpServe,
		"webdav-serve": a.davServe, "sftp-serve": a.sftpServe,
		"wait-for": a.waitFor, "echo": a.echo, "exit": a.exit, "sleep": a.sleep,
	}
	if len(args) > 0 {
		if verb, found := verbs[args[0]]; found {
			return verb(ctx, args[1:])
		}
	}
	fmt.Fprint(os.Stderr, usage)
	return exitError(2)
}

// want checks the number of a verb's arguments.
func want(args []string, names ...string) error {
	if len(args) != len(names) {
		return fmt.Errorf("want %v, got %d arguments", names, len(args))
	}
	return nil
}
