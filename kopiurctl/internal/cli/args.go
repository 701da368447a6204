// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/kopiur/kopiur/apis/validation"
)

// Group is what a command does that only holds others.
func Group(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return c.Help()
	}
	var verbs []string
	for _, v := range c.Commands() {
		if v.IsAvailableCommand() {
			verbs = append(verbs, v.Name())
		}
	}
	if near := validation.Nearest(args[0], verbs); near != "" {
		return Usagef("%s has no verb %s: did you mean %s?", c.CommandPath(), args[0], near)
	}
	return Usagef("%s has no verb %s: there are %s", c.CommandPath(), args[0], strings.Join(verbs, ", "))
}

// Exactly wants one argument for each of the names.
func Exactly(names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return Usagef("%s is missing: write %s", names[len(args)], c.UseLine())
		case len(args) > len(names):
			return Usagef("%s is one argument too many: write %s", args[len(names)], c.UseLine())
		default:
			return nil
		}
	}
}
