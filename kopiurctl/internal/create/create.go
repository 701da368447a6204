// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package create makes the objects that a command asks for, so that the command can be repeated.
package create

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	nameRules "k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kopiur/kopiur/kopiurctl/internal/cli"
	"github.com/kopiur/kopiur/kopiurctl/internal/follow"
	"github.com/kopiur/kopiur/kopiurctl/internal/printer"
)

// Wish says how objects of a kind are made.
type Wish[T client.Object] struct {
	// Kind is its name.
	Kind string
	// Named is set where the user gave the name.
	Named  bool
	DryRun bool
	// New makes an empty one.
	New func() T
	// Differences names what is there of something else than was asked for.
	Differences func(there, asked T) []string
}

// Ensure creates an object. With a name that the user gave, one that is there already and asks for the same is taken: the
// answer to an earlier attempt may have been lost.
func (w Wish[T]) Ensure(ctx context.Context, c *cli.Cluster, asked T) (*follow.One[T], error) {
	var opts []client.CreateOption
	if w.DryRun {
		opts = append(opts, client.DryRunAll)
	}
	base, obj := asked.GetName(), copyOf(asked)
	// Two who ask within one second get different names; more than a few of them are no coincidence.
	const most = 5
	for i := 2; ; i++ {
		err := c.Create(ctx, obj, opts...)
		switch {
		case err == nil:
			return &follow.One[T]{Object: obj, Name: obj.GetName()}, nil
		case apierrors.IsAlreadyExists(err) && !w.Named && i <= most:
			obj = copyOf(asked)
			obj.SetName(fmt.Sprintf("%s-%d", base, i))
		case apierrors.IsAlreadyExists(err) && w.Named:
			return w.adopt(ctx, c, asked)
		case cli.CodeOf(err) == cli.Timeout || ctx.Err() != nil:
			return nil, cli.Timeoutf("create %s %s: %w; it may have been created all the same: repeat with --name %s to find out", w.Kind, obj.GetName(), err, base)
		default:
			return nil, fmt.Errorf("create %s %s: %w", w.Kind, obj.GetName(), err)
		}
	}
}

func (w Wish[T]) adopt(ctx context.Context, c *cli.Cluster, asked T) (*follow.One[T], error) {
	obj, name := w.New(), asked.GetName()
	if err := c.Get(ctx, client.ObjectKeyFromObject(asked), obj); err != nil {
		return nil, fmt.Errorf("read %s %s, which exists: %w", w.Kind, name, err)
	}
	if obj.GetDeletionTimestamp() != nil {
		return nil, cli.Failedf("%s %s exists and is being deleted: choose another --name", w.Kind, name)
	}
	if differ := w.Differences(obj, asked); len(differ) > 0 {
		return nil, cli.Failedf("%s %s exists and was made with another %s: choose another --name", w.Kind, name, strings.Join(differ, ", "))
	}
	return &follow.One[T]{Object: obj, Name: name, Existed: true}, nil
}

// Answer says what was made, where nobody waits for more.
func (w Wish[T]) Answer(env *cli.Env, c *cli.Cluster, format cli.Output, all []*follow.One[T]) error {
	if format.Machine() {
		return printer.Objects(env.Out, format, c.Scheme(), false, printer.Each(follow.Left(all))...)
	}
	for _, m := range all {
		what := "created"
		switch {
		case m.Existed:
			what = "exists already"
		case w.DryRun:
			what = "created (dry run)"
		}
		if err := printer.Done(env.Out, c.Scheme(), m.Object, what); err != nil {
			return err
		}
	}
	return nil
}

func copyOf[T client.Object](obj T) T {
	out, ok := obj.DeepCopyObject().(T)
	if !ok {
		panic("a copy is of the type that it was copied from")
	}
	return out
}

// Now is the time by the cluster's clock, or by ours as long as the cluster has not said anything.
func Now(env *cli.Env, c *cli.Cluster) time.Time {
	if now, ok := c.Now(); ok {
		return now
	}
	return env.Clock.Now()
}

// Name of an object that was given none: what it is about and the time, which sorts as it happened.
func Name(about string, now time.Time) string {
	const longest = 40
	if len(about) > longest {
		about = strings.TrimRight(about[:longest], "-.")
	}
	return about + now.UTC().Format("-20060102-150405")
}

// CheckName refuses what is no name of an object.
func CheckName(name string) error {
	if wrong := nameRules.IsDNS1123Subdomain(name); len(wrong) > 0 {
		return cli.Usagef("--name %s is no name of an object: write at most 253 small letters, digits, - and ., with a letter or digit at both ends", name)
	}
	return nil
}
