// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"cmp"
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/validation"
	"github.com/kopiur/kopiur/kopiurctl/internal/cli"
	"github.com/kopiur/kopiur/kopiurctl/internal/create"
	"github.com/kopiur/kopiur/kopiurctl/internal/find"
)

// flagOf names the flag behind a field.
var flagOf = map[string]string{
	"metadata.name":                       "--name",
	"spec.source.snapshotRef.name":        "--from-snapshot",
	"spec.source.snapshotRef.namespace":   "--snapshot-namespace",
	"spec.source.fromPolicy.name":         "--from-policy",
	"spec.source.fromPolicy.namespace":    "--policy-namespace",
	"spec.source.fromPolicy.asOf":         "--as-of",
	"spec.source.fromPolicy.offset":       "--offset",
	"spec.source.fromPolicy.sourcePath":   "--source-path",
	"spec.source.identity.username":       "--identity",
	"spec.source.identity.hostname":       "--identity",
	"spec.source.identity.sourcePath":     "--identity",
	"spec.source.identity.snapshotID":     "--snapshot-id",
	"spec.source.identity.asOf":           "--as-of",
	"spec.source.identity.offset":         "--offset",
	"spec.repository":                     "--repository",
	"spec.repository.name":                "--repository",
	"spec.repository.namespace":           "--repository-namespace",
	"spec.target.pvc.name":                "--create-pvc",
	"spec.target.pvc.capacity":            "--size",
	"spec.target.pvc.storageClassName":    "--storage-class",
	"spec.target.pvc.accessModes":         "--access-mode",
	"spec.target.pvcRef.name":             "--to-pvc",
	"spec.subPath":                        "--path",
	"spec.policy.onMissingSnapshot":       "--on-missing-snapshot",
	"spec.policy.waitTimeout":             "--wait-timeout",
	"spec.options.enableFileDeletion":     "--enable-file-deletion",
	"spec.credentialProjection":           "--credential-projection",
	"spec.credentialProjection.enabled":   "--credential-projection",
	"spec.options.ignorePermissionErrors": "--ignore-permission-errors",
	"spec.options.writeFilesAtomically":   "--write-files-atomically",
}

// plan makes the Restore, and holds it against the rules of admission and what is there: what would only fail is not
// sent.
func (o *options) plan(ctx context.Context, c *cli.Cluster) (*kopiurv1.Restore, error) {
	r, err := o.build(c)
	if err != nil {
		return nil, err
	}
	known, err := o.known(ctx, c, r)
	if err != nil {
		return nil, err
	}
	if err := o.target(ctx, c, r); err != nil {
		return nil, err
	}
	if p := r.Spec.Target.PVC; p != nil && p.Capacity == "" {
		if err := o.measure(ctx, c, r, known); err != nil {
			return nil, err
		}
	}
	found := validation.Restore(r)
	if known.policy != nil {
		found.Merge(validation.RestoreOfPolicy(r, known.policy))
	}
	if err := cli.Invalid(found.Errors, flagOf); err != nil {
		return nil, err
	}
	for _, w := range found.Warnings {
		c.Warn(w)
	}
	return r, nil
}

func (o *options) build(c *cli.Cluster) (*kopiurv1.Restore, error) {
	source, err := o.source()
	if err != nil {
		return nil, err
	}
	ref, err := o.repository.Reference(c.Namespace)
	if err != nil {
		return nil, err
	}
	if ref != nil && o.repository.Namespace == "" {
		ref.Namespace = "" // the Restore's own needs no mention
	}
	r := &kopiurv1.Restore{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: o.name},
		Spec:       kopiurv1.RestoreSpec{Source: source, Repository: ref, SubPath: o.path},
	}
	if r.Name == "" {
		r.Name = create.Name(cmp.Or(o.snapshot, o.policy, "restore"), create.Now(o.env, c))
	}
	switch t := &r.Spec.Target; {
	case o.populator:
		t.Populator = &kopiurv1.PopulatorTarget{}
	case o.toPVC != "":
		t.PVCRef = &kopiurv1.TargetPVCRef{Name: o.toPVC}
	default:
		t.PVC = &kopiurv1.TargetPVC{Name: o.createPVC, Capacity: kopiurv1.Quantity(o.size), StorageClassName: o.storageClass}
		for _, m := range o.accessModes {
			t.PVC.AccessModes = append(t.PVC.AccessModes, modes[m])
		}
	}
	if o.onMissing != "" || o.waitTimeout != "" {
		r.Spec.Policy = &kopiurv1.RestorePolicy{
			OnMissingSnapshot: kopiurv1.OnMissingSnapshot(o.onMissing), WaitTimeout: kopiurv1.Duration(o.waitTimeout),
		}
	}
	r.Spec.Options = o.settings()
	if o.set("credential-projection") {
		r.Spec.CredentialProjection = &kopiurv1.CredentialProjection{Enabled: o.projection}
	}
	return r, nil
}

// settings hold what was said, and nothing else: the defaults are the API's.
func (o *options) settings() *kopiurv1.RestoreOptions {
	var out *kopiurv1.RestoreOptions
	for _, s := range []struct {
		flag  string
		value *bool
		field func(*kopiurv1.RestoreOptions) **bool
	}{
		{"enable-file-deletion", &o.enableFileDeletion, func(r *kopiurv1.RestoreOptions) **bool { return &r.EnableFileDeletion }},
		{"ignore-permission-errors", &o.ignorePermissions, func(r *kopiurv1.RestoreOptions) **bool { return &r.IgnorePermissionErrors }},
		{"write-files-atomically", &o.atomically, func(r *kopiurv1.RestoreOptions) **bool { return &r.WriteFilesAtomically }},
	} {
		if !o.set(s.flag) {
			continue
		}
		if out == nil {
			out = &kopiurv1.RestoreOptions{}
		}
		*s.field(out) = s.value
	}
	return out
}

// known is what the source names and what is there.
type known struct {
	snapshot *kopiurv1.Snapshot
	policy   *kopiurv1.SnapshotPolicy
}

// known reads what the source names. A name with a typo must not become a Restore that waits for it.
func (o *options) known(ctx context.Context, c *cli.Cluster, r *kopiurv1.Restore) (known, error) {
	var out known
	if ref := r.Spec.Repository; ref != nil {
		if _, err := find.Repository(ctx, c, ref.In(c.Namespace)); err != nil && cli.CodeOf(err) != cli.Forbidden {
			return out, err
		}
	}
	switch src := r.Spec.Source; {
	case src.SnapshotRef != nil:
		out.snapshot = &kopiurv1.Snapshot{}
		key := client.ObjectKey{Namespace: cmp.Or(src.SnapshotRef.Namespace, c.Namespace), Name: src.SnapshotRef.Name}
		return out, find.Get(ctx, c, key, out.snapshot, "Snapshot", &kopiurv1.SnapshotList{})
	case src.FromPolicy != nil:
		out.policy = &kopiurv1.SnapshotPolicy{}
		key := client.ObjectKey{Namespace: cmp.Or(src.FromPolicy.Namespace, c.Namespace), Name: src.FromPolicy.Name}
		return out, find.Get(ctx, c, key, out.policy, "SnapshotPolicy", &kopiurv1.SnapshotPolicyList{})
	default:
		return out, nil
	}
}

// target looks whether the claim is there, or is not.
func (o *options) target(ctx context.Context, c *cli.Cluster, r *kopiurv1.Restore) error {
	claim := &corev1.PersistentVolumeClaim{}
	switch {
	case o.populator:
		return nil
	case o.toPVC != "":
		key := client.ObjectKey{Namespace: c.Namespace, Name: o.toPVC}
		return find.Get(ctx, c, key, claim, "PersistentVolumeClaim", &corev1.PersistentVolumeClaimList{})
	}
	if o.name != "" {
		// A command that is repeated finds the claim of the first time.
		if err := c.Get(ctx, client.ObjectKeyFromObject(r), &kopiurv1.Restore{}); err == nil {
			return nil
		}
	}
	err := c.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: o.createPVC}, claim)
	switch {
	case err == nil:
		return cli.Failedf("there is a claim %s: choose another name for the new one, or write --to-pvc to restore into that", o.createPVC)
	case apierrors.IsNotFound(err), cli.CodeOf(err) == cli.Forbidden:
		return nil // whoever may not look leaves that to the Restore, which does not touch a claim that exists either
	default:
		return err
	}
}

// announce says what becomes of a claim that has data, before it does.
func (o *options) announce() {
	if o.toPVC == "" || o.dryRun {
		return
	}
	what := "the others stay"
	if o.enableFileDeletion {
		what = "what is not in the snapshot is deleted"
	}
	o.env.Say("files in claim %s are replaced by those of the snapshot; %s", o.toPVC, what)
}

// differences names the flags by which what is there is not what is asked for. The size of a claim that was measured may
// have changed with what the newest snapshot is.
func (o *options) differences(a, b *kopiurv1.Restore) []string {
	var out []string
	same := equality.Semantic.DeepEqual
	x, y := a.Spec.DeepCopy(), b.Spec.DeepCopy()
	if o.size == "" && x.Target.PVC != nil && y.Target.PVC != nil {
		x.Target.PVC.Capacity = y.Target.PVC.Capacity
	}
	ref := func(r *kopiurv1.RepositoryRef, namespace string) kopiurv1.RepositoryRef {
		if r == nil {
			return kopiurv1.RepositoryRef{}
		}
		return r.In(namespace)
	}
	for _, c := range []struct {
		flag string
		same bool
	}{
		{"source", same(x.Source, y.Source)},
		{"target", same(x.Target, y.Target)},
		{"--repository", ref(x.Repository, a.Namespace) == ref(y.Repository, b.Namespace)},
		{"--path", x.SubPath == y.SubPath},
		{"--on-missing-snapshot or --wait-timeout", same(x.Policy, y.Policy)},
		{"option", same(x.Options, y.Options)},
		{"--credential-projection", same(x.CredentialProjection, y.CredentialProjection)},
	} {
		if !c.same {
			out = append(out, c.flag)
		}
	}
	return out
}
