// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Command reference prints docs/reference/kopiurctl.md; make generate runs it.
package main

import (
	"os"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"github.com/kopiur/kopiur/kopiurctl/internal/cli"
	"github.com/kopiur/kopiur/kopiurctl/internal/cmd"
	"github.com/kopiur/kopiur/kopiurctl/internal/reference"
)

func main() {
	env := &cli.Env{
		IOStreams: genericiooptions.NewTestIOStreamsDiscard(), Clock: clock.RealClock{}, Program: "kopiurctl",
	}
	if _, err := os.Stdout.WriteString(reference.Page(cmd.New(env))); err != nil {
		os.Exit(1)
	}
}
