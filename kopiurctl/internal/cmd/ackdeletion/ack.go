// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ackdeletion lets held deletions go.
package ackdeletion

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/validation"
	"github.com/kopiur/kopiur/kopiurctl/internal/cli"
	"github.com/kopiur/kopiur/kopiurctl/internal/complete"
	"github.com/kopiur/kopiur/kopiurctl/internal/find"
	"github.com/kopiur/kopiur/kopiurctl/internal/held"
	"github.com/kopiur/kopiur/kopiurctl/internal/printer"
)

type options struct {
	env          *cli.Env
	cluster, yes bool
}

// New makes the verb ack-deletion.
func New(env *cli.Env) *cobra.Command {
	o := &options{env: env}
	cmd := &cobra.Command{
		Use: "ack-deletion REPOSITORY", Short: "Let held deletions go, after showing them",
		Long: `When many Snapshots of a repository are deleted at once, Kopiur holds all of these deletions until somebody has
looked. This shows what is held: how many, of which policies, how old, and what deleted them as far as that can be told.
Then it asks, and lets exactly these go. What is deleted later is counted anew.

The stored data is deleted then, for good. To keep the data of one, annotate its Snapshot with
kopiur.home-operations.com/skip-snapshot-cleanup before.`,
		Example: `  kopiurctl ack-deletion nas
  kopiurctl ack-deletion offsite --cluster --yes`,
		Args: cli.Exactly("REPOSITORY"),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args[0]) },
	}
	cmd.Flags().BoolVar(&o.cluster, "cluster", false, "REPOSITORY is a ClusterRepository")
	cmd.Flags().BoolVar(&o.yes, "yes", false, "do not ask; needed where nobody can be asked")
	cmd.ValidArgsFunction = complete.Args(func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		kind := string(kopiurv1.KindRepository)
		if o.cluster {
			kind = string(kopiurv1.KindClusterRepository)
		}
		return complete.Repositories(env, &kind)(cmd, args, word)
	})
	return cmd
}

func (o *options) run(ctx context.Context, name string) error {
	format, err := o.env.Format()
	if err != nil {
		return err
	}
	if err := o.env.OneNamespace(); err != nil {
		return err
	}
	c, err := o.env.Connect()
	if err != nil {
		return err
	}
	ref := kopiurv1.RepositoryRef{Name: name, Kind: kopiurv1.KindRepository}.In(c.Namespace)
	if o.cluster {
		ref = kopiurv1.RepositoryRef{Name: name, Kind: kopiurv1.KindClusterRepository}
	}
	repo, err := find.Repository(ctx, c, ref)
	if err != nil {
		return err
	}
	w, err := o.observe(ctx, c, ref)
	if err != nil {
		return err
	}
	if len(w.held) == 0 {
		o.env.Say("%s holds no deletions: there is nothing to acknowledge", ref)
		return o.answer(c, format, repo.Object, "unchanged")
	}
	if err := o.show(repo, w); err != nil {
		return err
	}
	ack := held.Acknowledge(repo.Object.GetAnnotations()[kopiurv1.AnnotationAllowMassDeletion], repo.Status.DeletionAck, held.Newest(w.held), w.listed)
	if ack.Covered {
		o.env.Say("They are acknowledged already, and go on as soon as the controller has seen it.")
		return o.answer(c, format, repo.Object, "unchanged")
	}
	if err := o.confirm(len(w.held)); err != nil {
		return err
	}
	if err := acknowledge(ctx, c, repo.Object, ack.Value, w.listed); err != nil {
		return err
	}
	return o.answer(c, format, repo.Object, "acknowledged up to "+ack.Value)
}

// seen is what was found, and the API server's time then.
type seen struct {
	held   []*kopiurv1.Snapshot
	world  held.World
	listed time.Time
}

func (o *options) observe(ctx context.Context, c *cli.Cluster, ref kopiurv1.RepositoryRef) (seen, error) {
	// Snapshots of any namespace may be in one repository.
	namespace := ""
	all, err := find.Snapshots(ctx, c, namespace)
	if cli.CodeOf(err) == cli.Forbidden {
		namespace = c.Namespace
		c.Warn("you may not see all namespaces: Snapshots of others than " + namespace + " that the repository holds are not shown")
		all, err = find.Snapshots(ctx, c, namespace)
	}
	if err != nil {
		return seen{}, err
	}
	listed, _ := c.Now()
	policies, err := find.Policies(ctx, c, namespace)
	if err != nil {
		return seen{}, err
	}
	out := seen{listed: listed}
	out.held = held.Of(all, find.Relate(policies), ref)
	var schedules kopiurv1.SnapshotScheduleList
	if err := c.List(ctx, &schedules, client.InNamespace(namespace)); err == nil {
		out.world.Schedules = map[types.UID]bool{}
		for i := range schedules.Items {
			out.world.Schedules[schedules.Items[i].UID] = schedules.Items[i].DeletionTimestamp == nil
		}
	}
	out.world.Ending = find.EndingNamespaces(ctx, c, out.held)
	return out, nil
}

// show says what is held, on stderr: it is no answer yet.
func (o *options) show(repo find.Repo, w seen) error {
	threshold := int32(10)
	if p := repo.Spec.DeletionProtection; p != nil && p.Threshold != nil {
		threshold = *p.Threshold
	}
	o.env.Say("%s holds %s (threshold %d), made from %s to %s. Nothing of their data was deleted yet.\n",
		repo.Ref, number(len(w.held), "deletion"), threshold, at(w.held[0].DeletionTimestamp.Time), at(held.Newest(w.held)))
	if err := printer.Table(o.env.ErrOut, false, []printer.Column[held.Group]{
		{Name: "POLICY", Of: func(g held.Group) string { return g.Name }},
		{Name: "HELD", Of: func(g held.Group) string { return fmt.Sprint(g.Count) }},
		{Name: "OLDEST BACKUP", Of: func(g held.Group) string { return at(g.Oldest) }},
		{Name: "NEWEST BACKUP", Of: func(g held.Group) string { return at(g.Newest) }},
	}, held.ByPolicy(w.held)); err != nil {
		return err
	}
	o.env.Say("")
	err := printer.Table(o.env.ErrOut, false, []printer.Column[held.Group]{
		{Name: "DELETED BY", Of: func(g held.Group) string { return g.Name }},
		{Name: "HELD", Of: func(g held.Group) string { return fmt.Sprint(g.Count) }},
	}, held.ByWhom(w.held, w.world))
	o.env.Say("")
	return err
}

func at(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }

func number(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// confirm asks. Only a clear yes is one.
func (o *options) confirm(n int) error {
	if o.yes {
		return nil
	}
	if !o.env.Attended {
		return cli.Usagef("nobody can be asked here: add --yes to delete the data of %s for good", number(n, "Snapshot"))
	}
	fmt.Fprintf(o.env.ErrOut, "Delete the data of %s for good? Type yes: ", number(n, "Snapshot"))
	answer, err := bufio.NewReader(o.env.In).ReadString('\n')
	if strings.TrimSpace(answer) == "yes" && err == nil {
		return nil
	}
	return cli.Failedf("nothing was acknowledged: all deletions stay held")
}

// acknowledge stamps the repository. The rules of admission are asked before.
func acknowledge(ctx context.Context, c *cli.Cluster, repo client.Object, value string, now time.Time) error {
	updated, ok := repo.DeepCopyObject().(client.Object)
	if !ok {
		return cli.Failedf("%s is no object", repo.GetName())
	}
	annotations := updated.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[kopiurv1.AnnotationAllowMassDeletion] = value
	updated.SetAnnotations(annotations)
	found := validation.Settled(validation.Object(updated), validation.Object(repo))
	found.Merge(validation.MassDeletionAck(annotations, now))
	if err := cli.Invalid(found.Errors, nil); err != nil {
		return err
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"annotations": map[string]string{kopiurv1.AnnotationAllowMassDeletion: value},
		// Another one of the same name holds other deletions.
		"uid": repo.GetUID(),
	}})
	if err != nil {
		return fmt.Errorf("write the acknowledgement: %w", err)
	}
	if err := c.Patch(ctx, repo, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return fmt.Errorf("acknowledge the deletions of %s: %w", repo.GetName(), err)
	}
	return nil
}

func (o *options) answer(c *cli.Cluster, format cli.Output, repo client.Object, what string) error {
	if format.Machine() {
		return printer.Objects(o.env.Out, format, c.Scheme(), false, repo)
	}
	return printer.Done(o.env.Out, c.Scheme(), repo, what)
}
