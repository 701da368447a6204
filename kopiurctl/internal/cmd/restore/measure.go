// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/kopiurctl/internal/cli"
	"github.com/kopiur/kopiur/kopiurctl/internal/find"
	"github.com/kopiur/kopiur/kopiurctl/internal/printer"
)

// measure gives the new claim the size that the snapshot needs. Which one it is the mover decides, by what the repository
// has then; here it is the one that the objects show.
func (o *options) measure(ctx context.Context, c *cli.Cluster, r *kopiurv1.Restore, k known) error {
	s := k.snapshot
	if s == nil {
		namespace := c.Namespace
		if k.policy != nil {
			namespace = k.policy.Namespace
		}
		all, err := find.Snapshots(ctx, c, namespace)
		if err != nil {
			return fmt.Errorf("find out how large the claim has to be (--size says it): %w", err)
		}
		s = pick(r, k.policy, all)
	}
	if s == nil || s.Status.Stats == nil || s.Status.Snapshot == nil {
		return cli.Usagef("--size is missing, and no Snapshot object here tells how large the snapshot is: write a size like 10Gi")
	}
	size := Capacity(s.Status.Stats.SizeBytes, s.Status.Stats.Files)
	r.Spec.Target.PVC.Capacity = kopiurv1.Quantity(size.String())
	o.env.Say("claim %s gets %s: Snapshot %s holds %s in %d files", o.createPVC, size.String(), s.Name,
		printer.Bytes(s.Status.Stats.SizeBytes), s.Status.Stats.Files)
	return nil
}

// pick finds the Snapshot that the source of a Restore means, nil where there is none.
func pick(r *kopiurv1.Restore, p *kopiurv1.SnapshotPolicy, all []kopiurv1.Snapshot) *kopiurv1.Snapshot {
	var refs []kopiurv1.RepositoryRef
	switch {
	case r.Spec.Repository != nil:
		refs = []kopiurv1.RepositoryRef{r.Spec.Repository.In(r.Namespace)}
	case p != nil:
		refs = p.RepositoryRefs()
	}
	var asOf string
	var offset int64
	wanted := func(*kopiurv1.Snapshot) bool { return true }
	switch src := r.Spec.Source; {
	case src.FromPolicy != nil:
		from := src.FromPolicy
		asOf, offset = from.AsOf, from.Offset
		wanted = func(s *kopiurv1.Snapshot) bool {
			return find.PolicyOf(s) == from.Name && (from.SourcePath == "" || s.Status.Snapshot.Identity.SourcePath == from.SourcePath)
		}
	case src.Identity != nil:
		from := src.Identity
		asOf, offset = from.AsOf, from.Offset
		wanted = func(s *kopiurv1.Snapshot) bool {
			id := s.Status.Snapshot.Identity
			return id.Username == from.Username && id.Hostname == from.Hostname &&
				(from.SourcePath == "" || id.SourcePath == from.SourcePath) &&
				(from.SnapshotID == "" || s.Status.Snapshot.KopiaSnapshotID == from.SnapshotID)
		}
	}
	limit, err := time.Parse(time.RFC3339, asOf)
	if asOf != "" && err != nil {
		return nil
	}
	relations := find.Relations{}
	if p != nil {
		relations = find.Relate([]kopiurv1.SnapshotPolicy{*p})
	}
	var fit []*kopiurv1.Snapshot
	for i := range all {
		s := &all[i]
		if s.Status.Snapshot == nil || s.Status.Phase == kopiurv1.SnapshotFailed || !wanted(s) {
			continue
		}
		if !slices.ContainsFunc(relations.Repositories(s), func(r kopiurv1.RepositoryRef) bool { return slices.Contains(refs, r) }) {
			continue
		}
		if asOf != "" && started(s).After(limit) {
			continue
		}
		fit = append(fit, s)
	}
	if offset < 0 || int64(len(fit)) <= offset {
		return nil
	}
	slices.SortStableFunc(fit, func(a, b *kopiurv1.Snapshot) int { return started(b).Compare(started(a)) })
	return fit[offset]
}

func started(s *kopiurv1.Snapshot) time.Time {
	if s.Status.Timing == nil {
		return time.Time{}
	}
	return printer.Time(s.Status.Timing.StartTime)
}

// Capacity is the size of a claim that holds so many bytes in so many files. A small file takes a block of 4 KiB, and
// common file systems have one inode for 16 KiB; a tenth more is for the file system itself. Drivers count in GiB.
func Capacity(bytes, files int64) resource.Quantity {
	const gib = 1 << 30
	bytes, files = max(0, bytes), max(0, files)
	need := max(float64(bytes)+float64(files)*(4<<10), float64(files)*(16<<10)) * 1.1
	// Beyond this, an int64 ends.
	const most = 7 << 60
	if need > most {
		need = most
	}
	n := max(1, (int64(need)+gib-1)/gib)
	return *resource.NewQuantity(n*gib, resource.BinarySI)
}
