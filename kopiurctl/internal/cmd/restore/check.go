// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/kopiurctl/internal/cli"
	"github.com/kopiur/kopiur/kopiurctl/internal/create"
)

var onMissing = []string{string(kopiurv1.OnMissingFail), string(kopiurv1.OnMissingContinue)}

// modes that a claim which is written to can have, by their short names.
var modes = map[string]corev1.PersistentVolumeAccessMode{
	"RWO": corev1.ReadWriteOnce, "RWX": corev1.ReadWriteMany, "RWOP": corev1.ReadWriteOncePod,
}

// check looks at the flags alone.
func (o *options) check() error {
	o.wait = o.wait || o.logs
	if err := one(o.set, "where from", "from-snapshot", "from-policy", "identity"); err != nil {
		return err
	}
	if err := one(o.set, "where to", "to-pvc", "create-pvc", "populator"); err != nil {
		return err
	}
	for _, f := range []struct {
		flag string
		of   []string
	}{
		{"snapshot-namespace", []string{"from-snapshot"}},
		{"policy-namespace", []string{"from-policy"}},
		{"source-path", []string{"from-policy"}},
		{"snapshot-id", []string{"identity"}},
		{"as-of", []string{"from-policy", "identity"}},
		{"offset", []string{"from-policy", "identity"}},
		{"size", []string{"create-pvc"}},
		{"storage-class", []string{"create-pvc"}},
		{"access-mode", []string{"create-pvc"}},
		{"timeout", []string{"wait", "logs"}},
	} {
		if o.set(f.flag) && !slices.ContainsFunc(f.of, o.set) {
			return cli.Usagef("--%s is for --%s: add that, or leave it out", f.flag, strings.Join(f.of, " or --"))
		}
	}
	switch {
	case o.populator && o.wait:
		return cli.Usagef("--wait: a populator has no end, it fills claims whenever they are made: leave out --wait and --logs, and wait for the claims to be Bound")
	case o.onMissing != "" && !slices.Contains(onMissing, o.onMissing):
		return cli.Usagef("--on-missing-snapshot %s is not known: write one of %s", o.onMissing, strings.Join(onMissing, ", "))
	case o.timeout < 0:
		return cli.Usagef("--timeout %s: write a time like 30m, or 0 to wait for ever", o.timeout)
	case o.dryRun && o.wait:
		return cli.Usagef("--dry-run creates nothing that could be waited for: leave out --wait and --logs")
	case o.identity != "" && o.repository.Name == "":
		return cli.Usagef("--repository is missing: write the name of the one that holds the snapshots; an identity does not say")
	}
	for _, m := range o.accessModes {
		if _, known := modes[m]; !known {
			return cli.Usagef("--access-mode %s is not known: write RWO, RWX or RWOP", m)
		}
	}
	if _, err := o.source(); err != nil {
		return err
	}
	if o.set("name") {
		if err := create.CheckName(o.name); err != nil {
			return err
		}
	}
	return o.env.OneNamespace()
}

// one wants exactly one of some flags.
func one(set func(string) bool, what string, flags ...string) error {
	var given []string
	for _, f := range flags {
		if set(f) {
			given = append(given, "--"+f)
		}
	}
	switch len(given) {
	case 1:
		return nil
	case 0:
		return cli.Usagef("%s is missing: write one of --%s", what, strings.Join(flags, ", --"))
	default:
		return cli.Usagef("%s do not go together: keep one of them", strings.Join(given, " and "))
	}
}

// source is what the flags say about where from.
func (o *options) source() (kopiurv1.RestoreSource, error) {
	switch {
	case o.snapshot != "":
		return kopiurv1.RestoreSource{SnapshotRef: &kopiurv1.ObjectRef{Name: o.snapshot, Namespace: o.snapshotNamespace}}, nil
	case o.policy != "":
		return kopiurv1.RestoreSource{FromPolicy: &kopiurv1.FromPolicy{
			Name: o.policy, Namespace: o.policyNamespace, AsOf: o.asOf, Offset: o.offset, SourcePath: o.sourcePath,
		}}, nil
	}
	who, path, _ := strings.Cut(o.identity, ":")
	user, host, ok := strings.Cut(who, "@")
	if !ok || user == "" || host == "" {
		return kopiurv1.RestoreSource{}, cli.Usagef("--identity %s is none: write USER@HOST, or USER@HOST:PATH", o.identity)
	}
	return kopiurv1.RestoreSource{Identity: &kopiurv1.FromIdentity{
		Username: user, Hostname: host, SourcePath: path, SnapshotID: o.snapshotID, AsOf: o.asOf, Offset: o.offset,
	}}, nil
}
