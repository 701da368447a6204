// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package staging

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// SnapshotClass is what matters of a VolumeSnapshotClass.
type SnapshotClass struct {
	Name, Driver string
	Default      bool
}

// StorageClass is what matters of a StorageClass.
type StorageClass struct {
	Name, Driver         string
	WaitForFirstConsumer bool
}

// Input is what Choose looks at.
type Input struct {
	Method kopiurv1.CopyMethod
	// SnapshotClassName and Staging are the policy's wishes.
	SnapshotClassName string
	Staging           *kopiurv1.Staging
	Claim             *corev1.PersistentVolumeClaim
	// Volume is the one the claim is bound to, nil where it is not.
	Volume *corev1.PersistentVolume
	// SnapshotAPI reports whether the cluster serves snapshot.storage.k8s.io/v1 VolumeSnapshots.
	SnapshotAPI     bool
	SnapshotClasses []SnapshotClass
	// Grouped: the VolumeSnapshot is one of a group's, which has a class of its own.
	Grouped bool
	// SourceClass and StagedClass are the StorageClasses of the source and of the staged claim, nil where there is none.
	SourceClass, StagedClass *StorageClass
}

// Choice is how the source is staged.
type Choice struct {
	Method kopiurv1.CopyMethod
	// SnapshotClass of the VolumeSnapshot; empty for a clone and in a group.
	SnapshotClass string
	// Group is the VolumeGroupSnapshot that the claim was cut with, Snapshot its VolumeSnapshot; empty where it is cut for
	// itself.
	Group, Snapshot string
	// StorageClass of the staged claim.
	StorageClass string
	AccessModes  []corev1.PersistentVolumeAccessMode
	// WaitForFirstConsumer: the staged claim is bound only once the mover's pod is scheduled.
	WaitForFirstConsumer bool
}

// Refusal says why a source cannot be staged as things are, and what to change.
type Refusal struct{ Reason, Message string }

func refuse(reason, format string, args ...any) *Refusal {
	return &Refusal{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// orDirect ends every refusal that another copy method would solve.
const orDirect = "or set copyMethod: Direct to read the live volume"

// Choose picks the classes. A Refusal passes by itself once the cluster or the policy is changed.
func Choose(in Input) (Choice, *Refusal) {
	if in.Claim == nil {
		return Choice{}, refuse(kopiurv1.ReasonSourcePVCMissing, "the claim to stage does not exist")
	}
	if in.Method == kopiurv1.CopySnapshot && !in.SnapshotAPI {
		return Choice{}, refuse(kopiurv1.ReasonSnapshotStackMissing,
			"this cluster does not serve VolumeSnapshots (snapshot.storage.k8s.io/v1): install the CSI snapshot CRDs and the snapshot controller, use copyMethod: Clone where the driver can clone, %s", orDirect)
	}
	driver, refusal := driverOf(in)
	if refusal != nil {
		return Choice{}, refusal
	}
	c := Choice{Method: in.Method, AccessModes: in.Claim.Spec.AccessModes}
	if in.Staging != nil && len(in.Staging.AccessModes) > 0 {
		c.AccessModes = in.Staging.AccessModes
	}
	if refusal := stagedClass(in, driver, &c); refusal != nil {
		return Choice{}, refusal
	}
	if in.Method == kopiurv1.CopySnapshot && !in.Grouped {
		name, refusal := snapshotClass(in, driver)
		if refusal != nil {
			return Choice{}, refusal
		}
		c.SnapshotClass = name
	}
	return c, nil
}

// driverOf is the CSI driver of the source volume. The volume itself is asked, not its class: a class may be gone or may
// have been re-created with another driver since.
func driverOf(in Input) (string, *Refusal) {
	switch {
	case in.Volume == nil && in.SourceClass != nil && in.SourceClass.WaitForFirstConsumer:
		return "", refuse(kopiurv1.ReasonWaitingForVolumeSnapshot,
			"claim %s has no volume yet: its StorageClass %s waits for the first pod that uses it. Start the application; there is nothing to back up before that", in.Claim.Name, in.SourceClass.Name)
	case in.Volume == nil:
		return "", refuse(kopiurv1.ReasonWaitingForVolumeSnapshot, "claim %s is not bound to a volume yet; kubectl describe pvc says why", in.Claim.Name)
	case in.Volume.Spec.CSI == nil || in.Volume.Spec.CSI.Driver == "":
		return "", refuse(kopiurv1.ReasonSourceNotCSIProvisioned,
			"volume %s of claim %s does not belong to a CSI driver, so it cannot be copied: move the data to a CSI volume, %s", in.Volume.Name, in.Claim.Name, orDirect)
	}
	return in.Volume.Spec.CSI.Driver, nil
}

// stagedClass settles the class of the staged claim. It has to be of the source's driver: no other can read its snapshots.
func stagedClass(in Input, driver string, c *Choice) *Refusal {
	want, override := StagedClassName(in.Staging, in.Claim), in.Staging != nil && in.Staging.StorageClassName != ""
	switch {
	case want == "":
		return refuse(kopiurv1.ReasonStagedClassNotFound,
			"claim %s has no StorageClass to make its copy with: set staging.storageClassName to a class of driver %s, %s", in.Claim.Name, driver, orDirect)
	case in.StagedClass == nil && override:
		return refuse(kopiurv1.ReasonStagedClassNotFound, "StorageClass %s, named by staging.storageClassName, does not exist: name a class of driver %s", want, driver)
	case in.StagedClass == nil:
		return refuse(kopiurv1.ReasonStagedClassNotFound,
			"StorageClass %s of claim %s does not exist any more: set staging.storageClassName to a class of driver %s, %s", want, in.Claim.Name, driver, orDirect)
	case in.StagedClass.Driver != driver:
		return refuse(kopiurv1.ReasonStagedClassMismatch,
			"StorageClass %s belongs to driver %s and the volume of claim %s to %s: set staging.storageClassName to a class of driver %s", want, in.StagedClass.Driver, in.Claim.Name, driver, driver)
	}
	c.StorageClass, c.WaitForFirstConsumer = in.StagedClass.Name, in.StagedClass.WaitForFirstConsumer
	return nil
}

// StagedClassName is the class that the staged claim is to have, "" where neither policy nor claim names one.
func StagedClassName(s *kopiurv1.Staging, claim *corev1.PersistentVolumeClaim) string {
	if s != nil && s.StorageClassName != "" {
		return s.StorageClassName
	}
	if claim == nil || claim.Spec.StorageClassName == nil {
		return ""
	}
	return *claim.Spec.StorageClassName
}

// snapshotClass is the explicit class, else the driver's default, else its only one. An empty name is no name.
func snapshotClass(in Input, driver string) (string, *Refusal) {
	var fit []SnapshotClass
	for _, c := range in.SnapshotClasses {
		if c.Name == in.SnapshotClassName && in.SnapshotClassName != "" {
			if c.Driver != driver {
				return "", refuse(kopiurv1.ReasonNoVolumeSnapshotClass,
					"VolumeSnapshotClass %s belongs to driver %s and the volume of claim %s to %s: name a class of driver %s in volumeSnapshotClassName, %s", c.Name, c.Driver, in.Claim.Name, driver, driver, orDirect)
			}
			return c.Name, nil
		}
		if c.Driver == driver {
			fit = append(fit, c)
		}
	}
	if in.SnapshotClassName != "" {
		return "", refuse(kopiurv1.ReasonNoVolumeSnapshotClass,
			"VolumeSnapshotClass %s does not exist%s: correct volumeSnapshotClassName, %s", in.SnapshotClassName, Known(fit), orDirect)
	}
	if len(fit) == 0 {
		return "", refuse(kopiurv1.ReasonNoVolumeSnapshotClass,
			"no VolumeSnapshotClass belongs to driver %s of claim %s: create one if the driver supports snapshots, %s", driver, in.Claim.Name, orDirect)
	}
	defaults := slices.DeleteFunc(slices.Clone(fit), func(c SnapshotClass) bool { return !c.Default })
	switch {
	case len(defaults) == 1:
		return defaults[0].Name, nil
	case len(defaults) > 1:
		return "", refuse(kopiurv1.ReasonNoVolumeSnapshotClass,
			"driver %s has several default VolumeSnapshotClasses%s: name one in volumeSnapshotClassName", driver, Known(defaults))
	case len(fit) == 1:
		return fit[0].Name, nil
	default:
		return "", refuse(kopiurv1.ReasonNoVolumeSnapshotClass,
			"driver %s has several VolumeSnapshotClasses and none is the default%s: name one in volumeSnapshotClassName", driver, Known(fit))
	}
}

// Known lists classes for the end of a refusal.
func Known(classes []SnapshotClass) string {
	if len(classes) == 0 {
		return ""
	}
	names := make([]string, 0, len(classes))
	for _, c := range classes {
		names = append(names, c.Name)
	}
	slices.Sort(names)
	return " (there are: " + strings.Join(names, ", ") + ")"
}
