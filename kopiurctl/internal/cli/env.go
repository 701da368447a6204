// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/utils/clock"
)

// Output is how an answer is written.
type Output string

// Outputs.
const (
	Table Output = "table"
	Wide  Output = "wide"
	YAML  Output = "yaml"
	JSON  Output = "json"
	Name  Output = "name"
)

// Outputs lists them in the order of the manual.
func Outputs() []string {
	return []string{string(Table), string(Wide), string(YAML), string(JSON), string(Name)}
}

// Machine reports whether a program reads the answer.
func (o Output) Machine() bool { return o == YAML || o == JSON || o == Name }

// Flags are the global ones.
type Flags struct {
	Kubeconfig, Context, Namespace string
	AllNamespaces                  bool
	Output                         string
	Verbosity                      int
}

// AddTo adds the global flags.
func (f *Flags) AddTo(set *pflag.FlagSet) {
	set.StringVar(&f.Kubeconfig, "kubeconfig", "", "file with the cluster's address and your credentials (default $KUBECONFIG, then ~/.kube/config)")
	set.StringVar(&f.Context, "context", "", "context of the kubeconfig to use instead of its current one")
	set.StringVarP(&f.Namespace, "namespace", "n", "", "namespace to work in (default that of the context)")
	set.BoolVarP(&f.AllNamespaces, "all-namespaces", "A", false, "look at all namespaces; for verbs that list")
	set.StringVarP(&f.Output, "output", "o", string(Table), "how the answer is written: "+strings.Join(Outputs(), ", "))
	set.IntVarP(&f.Verbosity, "verbosity", "v", 0, "how much is said about the requests on stderr: 6 names each, 8 shows bodies")
}

// Env is what a verb runs in.
type Env struct {
	genericiooptions.IOStreams
	Flags
	Clock   clock.WithTicker
	Version string
	// Attended is set where somebody can be asked.
	Attended bool
	// Width of the terminal behind stderr; nil where there is none.
	Width func() int
	// Program as it was called: kopiurctl, or kubectl kopiur.
	Program string
}

// Format is the wanted output.
func (e *Env) Format() (Output, error) {
	if !slices.Contains(Outputs(), e.Output) {
		return "", Usagef("--output %s is not known: write one of %s", e.Output, strings.Join(Outputs(), ", "))
	}
	return Output(e.Output), nil
}

// Say writes a line of the conversation to stderr. What comes from the cluster cannot play with the terminal.
func (e *Env) Say(format string, args ...any) {
	fmt.Fprintln(e.ErrOut, printers.EscapeTerminal(fmt.Sprintf(format, args...)))
}

// OneNamespace refuses -A, for verbs that work on one object.
func (e *Env) OneNamespace() error {
	if e.AllNamespaces {
		return Usagef("--all-namespaces is for verbs that list: write --namespace with the one that is meant")
	}
	return nil
}
