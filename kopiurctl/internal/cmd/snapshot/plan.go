// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kopiur/kopiur/apis/expand"
	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/validation"
	"github.com/kopiur/kopiur/kopiurctl/internal/cli"
	"github.com/kopiur/kopiur/kopiurctl/internal/create"
	"github.com/kopiur/kopiur/kopiurctl/internal/find"
)

var deletionPolicies = []string{string(kopiurv1.DeletionDelete), string(kopiurv1.DeletionRetain), string(kopiurv1.DeletionOrphan)}

// flagOf names the flag behind a field.
var flagOf = map[string]string{
	"metadata.name":                            "--name",
	"spec.policyRef.name":                      "--policy",
	"spec.tags":                                "--tag",
	"spec.description":                         "--description",
	"spec.deletionPolicy":                      "--deletion-policy",
	"spec.failurePolicy.backoffLimit":          "--backoff-limit",
	"spec.failurePolicy.activeDeadlineSeconds": "--active-deadline-seconds",
}

// check looks at the flags alone.
func (o *nowOptions) check() error {
	o.wait = o.wait || o.logs
	switch {
	case o.policy == "":
		return cli.Usagef("--policy is missing: write the name of the SnapshotPolicy that says what to back up")
	case o.deletionPolicy != "" && !slices.Contains(deletionPolicies, o.deletionPolicy):
		return cli.Usagef("--deletion-policy %s is not known: write one of %s", o.deletionPolicy, strings.Join(deletionPolicies, ", "))
	case o.backoffLimit < 0 || o.backoffLimit > 100:
		return cli.Usagef("--backoff-limit %d: write 0 to 100", o.backoffLimit)
	case o.set("active-deadline-seconds") && o.activeDeadlineSeconds < 1:
		return cli.Usagef("--active-deadline-seconds %d: write 1 or more, or leave it out", o.activeDeadlineSeconds)
	case o.timeout < 0:
		return cli.Usagef("--timeout %s: write a time like 30m, or 0 to wait for ever", o.timeout)
	case o.set("timeout") && !o.wait:
		return cli.Usagef("--timeout is for --wait: add that, or leave it out")
	case o.dryRun && o.wait:
		return cli.Usagef("--dry-run creates nothing that could be waited for: leave out --wait and --logs")
	}
	if o.set("name") {
		if err := create.CheckName(o.name); err != nil {
			return err
		}
	}
	if err := o.env.OneNamespace(); err != nil {
		return err
	}
	_, err := o.tagMap()
	return err
}

func (o *nowOptions) tagMap() (map[string]string, error) {
	var out map[string]string
	for _, tag := range o.tags {
		k, v, ok := strings.Cut(tag, "=")
		_, twice := out[k]
		switch {
		case !ok:
			return nil, cli.Usagef("--tag %s has no value: write %s=VALUE", tag, tag)
		case twice:
			return nil, cli.Usagef("--tag %s is there twice: leave one of them out", k)
		case out == nil:
			out = map[string]string{}
		}
		out[k] = v
	}
	return out, nil
}

// plan makes the Snapshots to create, and holds them against the rules of admission: what it would refuse is not sent.
func (o *nowOptions) plan(ctx context.Context, c *cli.Cluster) ([]*kopiurv1.Snapshot, error) {
	p := &kopiurv1.SnapshotPolicy{}
	key := client.ObjectKey{Namespace: c.Namespace, Name: o.policy}
	if err := find.Get(ctx, c, key, p, "SnapshotPolicy", &kopiurv1.SnapshotPolicyList{}); err != nil {
		return nil, err
	}
	if p.Spec.Suspend {
		c.Warn(fmt.Sprintf("SnapshotPolicy %s is suspended: the backup waits until you run %s resume policy %s", p.Name, o.env.Program, p.Name))
	}
	var claims corev1.PersistentVolumeClaimList
	if slices.ContainsFunc(p.Spec.Sources, func(s kopiurv1.Source) bool { return s.PVCSelector != nil }) {
		if err := c.List(ctx, &claims, client.InNamespace(c.Namespace)); err != nil {
			return nil, fmt.Errorf("list the claims that SnapshotPolicy %s selects: %w", p.Name, err)
		}
	}
	model, err := o.model(c)
	if err != nil {
		return nil, err
	}
	out, refusal := expand.Run(p, model, claims.Items)
	if refusal != nil {
		return nil, cli.Failedf("%s", refusal.Message)
	}
	for _, idle := range expand.Idle(p, claims.Items) {
		c.Warn(idle)
	}
	for _, s := range out {
		found := validation.Snapshot(s)
		found.Merge(validation.SnapshotOfPolicy(s, p))
		if err := cli.Invalid(found.Errors, flagOf); err != nil {
			return nil, err
		}
		for _, w := range found.Warnings {
			c.Warn(w)
		}
	}
	return out, nil
}

// model is what the Snapshots have in common.
func (o *nowOptions) model(c *cli.Cluster) (*kopiurv1.Snapshot, error) {
	tags, err := o.tagMap()
	if err != nil {
		return nil, err
	}
	name := o.name
	if name == "" {
		name = create.Name(o.policy, create.Now(o.env, c))
	}
	label := kopiurv1.LabelValue(o.policy)
	s := &kopiurv1.Snapshot{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: c.Namespace, Name: name,
			Labels: map[string]string{kopiurv1.LabelConfig: label, kopiurv1.LabelPolicy: label},
		},
		Spec: kopiurv1.SnapshotSpec{
			PolicyRef: &kopiurv1.PolicyRef{Name: o.policy}, DeletionPolicy: kopiurv1.DeletionPolicy(o.deletionPolicy),
			Pin: o.pin, Tags: tags, Description: o.description,
		},
	}
	if o.set("backoff-limit") {
		s.Spec.FailurePolicy = &kopiurv1.FailurePolicy{BackoffLimit: &o.backoffLimit}
	}
	if o.set("active-deadline-seconds") {
		if s.Spec.FailurePolicy == nil {
			s.Spec.FailurePolicy = &kopiurv1.FailurePolicy{}
		}
		s.Spec.FailurePolicy.ActiveDeadlineSeconds = &o.activeDeadlineSeconds
	}
	return s, nil
}
