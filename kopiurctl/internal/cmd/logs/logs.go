// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package logs shows what movers have logged.
package logs

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/printers"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kopiur/kopiur/kopiurctl/internal/cli"
	"github.com/kopiur/kopiur/kopiurctl/internal/cmd/restore"
	"github.com/kopiur/kopiur/kopiurctl/internal/cmd/snapshot"
	"github.com/kopiur/kopiur/kopiurctl/internal/complete"
	"github.com/kopiur/kopiur/kopiurctl/internal/find"
	"github.com/kopiur/kopiur/kopiurctl/internal/follow"
	"github.com/kopiur/kopiur/kopiurctl/internal/moverlog"
	"github.com/kopiur/kopiur/kopiurctl/internal/progress"
)

// again is the time between two looks for the next mover.
const again = time.Second

type options struct {
	env              *cli.Env
	follow, previous bool
	tail             int
}

// New makes the verb logs.
func New(env *cli.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "logs", Short: "Show what a mover has logged", Args: cobra.ArbitraryArgs, RunE: cli.Group,
	}
	add(cmd, env, "snapshot", "Show what the movers of a Snapshot have logged", snapshot.Kind())
	add(cmd, env, "restore", "Show what the movers of a Restore have logged", restore.Kind())
	return cmd
}

func add[T client.Object](parent *cobra.Command, env *cli.Env, word, short string, kind follow.Kind[T]) {
	o := &options{env: env}
	cmd := &cobra.Command{
		Use: word + " NAME", Short: short,
		Long: short + `: of the newest attempt, or with --previous the one before it.

Where the mover's pod is gone, it is the end of the log that the status has kept.`,
		Example: "  kopiurctl logs " + word + " data-20260305-090000\n  kopiurctl logs " + word + " data-20260305-090000 -f --tail 20",
		Args:    cli.Exactly("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return run(cmd.Context(), o, kind, args[0])
		},
		ValidArgsFunction: complete.Args(complete.Names(env, kind.List)),
	}
	f := cmd.Flags()
	f.BoolVarP(&o.follow, "follow", "f", false, "go on until the end, over all attempts")
	f.IntVar(&o.tail, "tail", -1, "only so many of the last lines; -1 is all")
	f.BoolVar(&o.previous, "previous", false, "the attempt before the newest one")
	parent.AddCommand(cmd)
}

func run[T client.Object](ctx context.Context, o *options, kind follow.Kind[T], name string) error {
	switch {
	case o.tail < -1:
		return cli.Usagef("--tail %d: write the number of lines, or -1 for all", o.tail)
	case o.follow && o.previous:
		return cli.Usagef("--follow and --previous do not go together: the attempt before is over")
	case o.env.Output != string(cli.Table):
		return cli.Usagef("--output: a log is text, and nothing else: leave it out")
	}
	if err := o.env.OneNamespace(); err != nil {
		return err
	}
	c, err := o.env.Connect()
	if err != nil {
		return err
	}
	obj := kind.New()
	key := client.ObjectKey{Namespace: c.Namespace, Name: name}
	if err := find.Get(ctx, c, key, obj, kind.Name, kind.List()); err != nil {
		return err
	}
	pods, err := moverlog.Pods(ctx, c, c.Namespace, obj.GetUID())
	if err != nil {
		return err
	}
	if o.follow {
		return onward(ctx, o, c, kind, obj, pods)
	}
	return o.show(ctx, c, about{kind.Name, name, progress.Text(kind.State(obj)), kind.LogTail(obj)}, pods)
}

// about is whose log it is.
type about struct{ kind, name, state, tail string }

// show prints the log of one attempt as it is now.
func (o *options) show(ctx context.Context, c *cli.Cluster, a about, pods []corev1.Pod) error {
	back := 1
	if o.previous {
		back = 2
		if len(pods) < back {
			return cli.NotFoundf("%s %s has no pod of an attempt before the newest one", a.kind, a.name)
		}
	}
	if len(pods) >= back {
		lines, ok, err := moverlog.Read(ctx, c, &pods[len(pods)-back])
		if err != nil {
			return err
		}
		if ok {
			o.print(lines)
			return nil
		}
	}
	switch {
	case o.previous:
		return cli.NotFoundf("the log of the attempt before is gone with its pod")
	case a.tail != "":
		o.env.Say("the mover's pod is gone; this is the end of its log, as %s %s has kept it", a.kind, a.name)
		o.print(moverlog.Lines(strings.NewReader(a.tail)))
		return nil
	default:
		return cli.NotFoundf("%s %s has no log: %s", a.kind, a.name, a.state)
	}
}

// onward prints the logs of the newest attempt and those after it, until the object has ended.
func onward[T client.Object](ctx context.Context, o *options, c *cli.Cluster, kind follow.Kind[T], obj T, pods []corev1.Pod) error {
	key := client.ObjectKeyFromObject(obj)
	lines, read := 0, map[types.UID]bool{}
	for i := range len(pods) - 1 {
		read[pods[i].UID] = true // attempts before the newest one
	}
	for {
		over := kind.Over(obj)
		for i := range pods {
			if read[pods[i].UID] {
				continue
			}
			read[pods[i].UID] = true
			n, err := o.stream(ctx, c, &pods[i], lines == 0)
			if err != nil {
				return err
			}
			lines += n
		}
		if over {
			if lines > 0 {
				return nil
			}
			return o.show(ctx, c, about{kind.Name, obj.GetName(), progress.Text(kind.State(obj)), kind.LogTail(obj)}, nil)
		}
		timer := o.env.Clock.NewTimer(again)
		select {
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("follow the log: %w", context.Cause(ctx))
		case <-timer.C():
		}
		obj = kind.New()
		if err := c.Get(ctx, key, obj); err != nil {
			return fmt.Errorf("read %s %s: %w", kind.Name, key.Name, err)
		}
		var err error
		if pods, err = moverlog.Pods(ctx, c, c.Namespace, obj.GetUID()); err != nil {
			return err
		}
	}
}

// stream prints a pod's log to its end, and answers how many lines it had. Of the first one --tail decides where it begins.
func (o *options) stream(ctx context.Context, c *cli.Cluster, pod *corev1.Pod, first bool) (int, error) {
	behind := 0
	if first && o.tail >= 0 {
		lines, ok, err := moverlog.Read(ctx, c, pod)
		if err != nil || !ok {
			return 0, err
		}
		o.print(lines)
		behind = len(lines)
	}
	n := behind
	err := moverlog.Stream(ctx, c, pod, behind, func(format string, args ...any) {
		n++
		o.line(fmt.Sprintf(format, args...))
	})
	return n, err
}

func (o *options) print(lines []string) {
	if o.tail >= 0 && len(lines) > o.tail {
		lines = lines[len(lines)-o.tail:]
	}
	for _, l := range lines {
		o.line(l)
	}
}

// line writes one line. What movers log comes from file names too, which may hold anything.
func (o *options) line(text string) {
	fmt.Fprintln(o.env.Out, printers.EscapeTerminal(text))
}
