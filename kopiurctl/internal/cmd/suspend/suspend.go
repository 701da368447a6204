// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package suspend holds the verbs suspend and resume.
package suspend

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kopiur/kopiur/apis/validation"
	"github.com/kopiur/kopiur/kopiurctl/internal/cli"
	"github.com/kopiur/kopiur/kopiurctl/internal/complete"
	"github.com/kopiur/kopiur/kopiurctl/internal/find"
	"github.com/kopiur/kopiur/kopiurctl/internal/printer"
)

// verb is suspend or resume.
type verb struct {
	env *cli.Env
	on  bool
	// done is how the answer calls it.
	done string
}

// New makes the verb suspend.
func New(env *cli.Env) *cobra.Command {
	return command(&verb{env: env, on: true, done: "suspended"}, "suspend", "Start no new work for an object", `Start no new work for an object, until it is resumed. What runs goes on.

A suspended policy makes its Snapshots wait, a suspended schedule makes none, a suspended repository is not connected to
and not maintained, a suspended replication does not copy.`)
}

// NewResume makes the verb resume.
func NewResume(env *cli.Env) *cobra.Command {
	return command(&verb{env: env, done: "resumed"}, "resume", "Let an object go on that was suspended", `Let an object go on that was suspended.`)
}

func command(v *verb, name, short, long string) *cobra.Command {
	return &cobra.Command{
		Use: name + " KIND NAME", Short: short,
		Long:    long + "\n\nKIND is one of " + strings.Join(words(), ", ") + ".",
		Example: "  kopiurctl " + name + " policy data\n  kopiurctl " + name + " cluster-repository offsite",
		Args:    cli.Exactly("KIND", "NAME"),
		RunE:    func(cmd *cobra.Command, args []string) error { return v.run(cmd.Context(), args[0], args[1]) },
		ValidArgsFunction: complete.Args(complete.Fixed(words()...), func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			var out []string
			for _, k := range kindsOf(args[0]) {
				names, _ := complete.Names(v.env, k.list)(cmd, args, word)
				out = append(out, names...)
			}
			return out, cobra.ShellCompDirectiveNoFileComp
		}),
	}
}

func (v *verb) run(ctx context.Context, word, name string) error {
	format, err := v.env.Format()
	if err != nil {
		return err
	}
	if err := v.env.OneNamespace(); err != nil {
		return err
	}
	of := kindsOf(word)
	if len(of) == 0 {
		hint := "write one of " + strings.Join(words(), ", ")
		if near := validation.Nearest(word, words()); near != "" {
			hint = "did you mean " + near + "?"
		}
		return cli.Usagef("KIND %s is not known: %s", word, hint)
	}
	c, err := v.env.Connect()
	if err != nil {
		return err
	}
	k, obj, err := get(ctx, c, of, name)
	if err != nil {
		return err
	}
	what := v.done
	if k.suspended(obj) == v.on {
		what += " already"
	} else if err := v.set(ctx, c, k, obj); err != nil {
		return err
	}
	if format.Machine() {
		return printer.Objects(v.env.Out, format, c.Scheme(), false, obj)
	}
	return printer.Done(v.env.Out, c.Scheme(), obj, what)
}

// get finds the object among the kinds that a word stands for.
func get(ctx context.Context, c *cli.Cluster, of []kind, name string) (kind, client.Object, error) {
	var found []kind
	var objects []client.Object
	for _, k := range of {
		obj := k.object()
		err := c.Get(ctx, k.key(c.Namespace, name), obj)
		switch {
		case err == nil:
			found, objects = append(found, k), append(objects, obj)
		case !apierrors.IsNotFound(err) || cli.NotInstalled(err):
			return kind{}, nil, fmt.Errorf("read %s %s: %w", k.name, name, err)
		}
	}
	switch len(found) {
	case 1:
		return found[0], objects[0], nil
	case 0:
		k := of[0]
		return kind{}, nil, find.Missing(ctx, c, k.key(c.Namespace, name), k.name, k.list())
	default:
		var alternatives []string
		for _, k := range found {
			alternatives = append(alternatives, k.word)
		}
		return kind{}, nil, cli.Usagef("there are several replications %s: write %s in the place of KIND", name, strings.Join(alternatives, " or "))
	}
}

// set writes the one field. Taking it away is resuming: it then is as if it had never been there.
func (v *verb) set(ctx context.Context, c *cli.Cluster, k kind, obj client.Object) error {
	updated, ok := obj.DeepCopyObject().(client.Object)
	if !ok {
		return cli.Failedf("%s is no object", obj.GetName())
	}
	k.set(updated, v.on)
	found := validation.Settled(validation.Object(updated), validation.Object(obj))
	found.Merge(validation.Update(updated, obj))
	if err := cli.Invalid(found.Errors, nil); err != nil {
		return err
	}
	value := "null"
	if v.on {
		value = "true"
	}
	patch := fmt.Sprintf(k.patch, value)
	if err := c.Patch(ctx, obj, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		return fmt.Errorf("change %s %s: %w", k.name, obj.GetName(), err)
	}
	return nil
}

func words() []string {
	var out []string
	for _, k := range kinds {
		if !slices.Contains(out, k.group) {
			out = append(out, k.group)
		}
	}
	return out
}

// kindsOf are the kinds that a word stands for: a replication may be one of two.
func kindsOf(word string) []kind {
	var out []kind
	for _, k := range kinds {
		if k.group == word || k.word == word || strings.EqualFold(k.name, word) {
			out = append(out, k)
		}
	}
	return out
}
