// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package reference writes the manual's page about the command line from the command line itself.
package reference

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kopiur/kopiur/kopiurctl/internal/cli"
)

const head = `# kopiurctl

<!-- Generated from the program by make generate. Do not edit. -->

%s

## Exit codes

Scripts may depend on them; they never change.

| code | means |
|---|---|
`

// Page is the whole page.
func Page(root *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, head, root.Long)
	for _, c := range cli.Codes() {
		fmt.Fprintf(&b, "| %s | %s |\n", c[0], c[1])
	}
	b.WriteString("\n## Flags of every verb\n\n")
	flags(&b, root.PersistentFlags())
	b.WriteString(completion)
	verbs(&b, root)
	return b.String()
}

const completion = `
## Completion

` + "`kopiurctl completion bash|zsh|fish|powershell`" + ` prints a script that completes verbs, flags, and the names of your
objects. For the plugin, put a program ` + "`kubectl_complete-kopiur`" + ` into PATH that runs ` + "`kubectl-kopiur __complete \"$@\"`" + `.
`

func verbs(b *strings.Builder, parent *cobra.Command) {
	for _, c := range parent.Commands() {
		if !c.IsAvailableCommand() || c.Name() == "completion" || c.Name() == "help" {
			continue
		}
		if c.HasAvailableSubCommands() {
			verbs(b, c)
			continue
		}
		fmt.Fprintf(b, "\n## %s\n\n```text\n%s\n```\n\n", c.CommandPath(), c.UseLine())
		text := c.Long
		if text == "" {
			text = c.Short + "."
		}
		b.WriteString(text + "\n")
		if c.HasAvailableLocalFlags() {
			b.WriteString("\n")
			flags(b, c.LocalNonPersistentFlags())
		}
		if c.Example != "" {
			fmt.Fprintf(b, "\n```sh\n%s\n```\n", unindent(c.Example))
		}
	}
}

func flags(b *strings.Builder, set *pflag.FlagSet) {
	b.WriteString("| flag | default | what |\n|---|---|---|\n")
	set.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" || f.Name == "version" {
			return
		}
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		value, usage := pflag.UnquoteUsage(f)
		if value != "" {
			name += " " + value
		}
		def := f.DefValue
		if def == "[]" || def == "false" {
			def = ""
		}
		if def != "" {
			def = "`" + def + "`"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", name, def, strings.ReplaceAll(usage, "|", `\|`))
	})
}

func unindent(s string) string {
	var out []string
	for line := range strings.SplitSeq(s, "\n") {
		out = append(out, strings.TrimPrefix(line, "  "))
	}
	return strings.Join(out, "\n")
}
