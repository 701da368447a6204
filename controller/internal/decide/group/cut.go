// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package group

import (
	"slices"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/staging"
)

// Cut is what is to be cut at one instant, and with what.
type Cut struct {
	// Claims, sorted by their names.
	Claims []Claim
	// ClassName is the policy's volumeSnapshotClassName. A VolumeGroupSnapshotClass of that name is the one that is meant.
	ClassName string
	Classes   []staging.SnapshotClass
}

// Claim is one claim to cut.
type Claim struct {
	Name string
	// Missing: it does not exist, or is on its way out. Bound: it has a volume.
	Missing, Bound bool
	// Driver of its volume, "" where that is none of CSI.
	Driver string
	// Label is the name of the group that it is being cut with.
	Label string
}

// class is the one that cuts all claims, or the reason why none does.
func (c Cut) class() (string, *Verdict) {
	no := func(v Verdict) (string, *Verdict) { return "", &v }
	driver := ""
	for i, claim := range c.Claims {
		switch {
		case claim.Missing:
			return no(refused(kopiurv1.ReasonSourcePVCMissing, "claim %s, which is to be cut with the others of this run, does not exist: create it, or take it out of the policy and start another run", claim.Name))
		case !claim.Bound:
			return no(refused(kopiurv1.ReasonWaitingForGroupSnapshot, "claim %s, which is to be cut with the others of this run, is not bound to a volume yet; kubectl describe pvc says why", claim.Name))
		case claim.Driver == "":
			return no(refused(kopiurv1.ReasonSourceNotCSIProvisioned, "the volume of claim %s does not belong to a CSI driver, so it cannot be cut with the others: move the data to a CSI volume, %s", claim.Name, orNone))
		case i > 0 && claim.Driver != driver:
			return no(refused(kopiurv1.ReasonGroupSnapshotUnsupported,
				"claim %s is of driver %s and claim %s of %s, and no driver cuts volumes of another: make a policy for each, %s", c.Claims[0].Name, driver, claim.Name, claim.Driver, orNone))
		}
		driver = claim.Driver
	}
	var fit []staging.SnapshotClass
	for _, class := range c.Classes {
		if class.Driver == driver {
			fit = append(fit, class)
		}
	}
	if len(fit) == 0 {
		return no(refused(kopiurv1.ReasonNoVolumeGroupSnapshotClass,
			"no VolumeGroupSnapshotClass belongs to driver %s: create one if the driver supports group snapshots, %s", driver, orNone))
	}
	for _, pick := range []func(staging.SnapshotClass) bool{
		func(k staging.SnapshotClass) bool { return c.ClassName != "" && k.Name == c.ClassName },
		func(k staging.SnapshotClass) bool { return k.Default },
		func(staging.SnapshotClass) bool { return true },
	} {
		picked := slices.DeleteFunc(slices.Clone(fit), func(k staging.SnapshotClass) bool { return !pick(k) })
		switch len(picked) {
		case 0:
			continue
		case 1:
			return picked[0].Name, nil
		}
		break
	}
	return no(refused(kopiurv1.ReasonNoVolumeGroupSnapshotClass,
		"driver %s has several VolumeGroupSnapshotClasses and not one default%s: mark one as the default, or write the name of one into volumeSnapshotClassName", driver, staging.Known(fit)))
}
