// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// copying checks how the copy that a mover reads is made.
func copying(at *field.Path, s *kopiurv1.SnapshotPolicySpec) Findings {
	var f Findings
	class := at.Child("volumeSnapshotClassName")
	if c := s.VolumeSnapshotClassName; c != "" {
		f.Merge(name(class, c))
		if s.CopyMethod == kopiurv1.CopyClone || s.CopyMethod == kopiurv1.CopyDirect {
			f.warn(class, "it has no effect with copyMethod: %s", s.CopyMethod)
		}
	}
	if st := s.Staging; st != nil {
		f.Merge(staging(at.Child("staging"), *st, s))
	}
	claims := 0
	for _, src := range s.Sources {
		switch {
		case src.PVC != nil:
			claims++
		case src.PVCSelector != nil:
			claims += 2 // some number of them
		}
	}
	if claims > 1 && s.GroupBy == kopiurv1.GroupByVolumeGroupSnapshot && (s.CopyMethod == kopiurv1.CopyClone || s.CopyMethod == kopiurv1.CopyDirect) {
		f.warn(at.Child("groupBy"), "copyMethod: %s cannot cut several claims at one instant, and runs of more than one are refused: write groupBy: None to cut each for itself", s.CopyMethod)
	}
	return f
}

func staging(at *field.Path, st kopiurv1.Staging, s *kopiurv1.SnapshotPolicySpec) Findings {
	f := duration(at.Child("timeout"), st.Timeout, 0)
	if st.StorageClassName != "" {
		f.Merge(name(at.Child("storageClassName"), st.StorageClassName))
	}
	seen := map[corev1.PersistentVolumeAccessMode]bool{}
	for i, m := range st.AccessModes {
		if seen[m] {
			f.Errors = append(f.Errors, field.Duplicate(at.Child("accessModes").Index(i), m))
		}
		seen[m] = true
	}
	if st.StorageClassName == "" && len(st.AccessModes) == 0 {
		return f
	}
	const fix = "storageClassName and accessModes shape a staged copy, and %s: remove them"
	switch {
	case s.CopyMethod == kopiurv1.CopyDirect:
		f.forbidden(at, "storageClassName and accessModes shape a staged copy, and copyMethod: Direct makes none: remove them, or write copyMethod: Snapshot or Clone")
	case slices.ContainsFunc(s.Sources, func(s kopiurv1.Source) bool { return s.NFS != nil }):
		f.forbidden(at, fix, "none is made of an NFS export")
	case slices.ContainsFunc(s.Sources, func(s kopiurv1.Source) bool { return s.Stream != nil }):
		f.forbidden(at, fix, "none is made of a stream")
	case slices.ContainsFunc(s.Sources, func(s kopiurv1.Source) bool { return s.PVCSelector != nil }):
		f.forbidden(at, fix, "what fits one claim that a selector finds may not fit the next")
	}
	return f
}

// writable checks readOnly: false, which lets the kubelet change groups and modes of what is backed up.
func writable(at *field.Path, s kopiurv1.Source, p *kopiurv1.SnapshotPolicySpec) Findings {
	var f Findings
	if s.ReadOnlyOrDefault() {
		return f
	}
	at = at.Child("readOnly")
	switch {
	case s.NFS != nil:
		f.forbidden(at, "an export is always mounted read-only, and the kubelet changes no groups there: remove it")
	case s.Stream != nil:
		f.forbidden(at, "a stream has no volume: remove it")
	case p.Staging != nil && slices.Contains(p.Staging.AccessModes, corev1.ReadOnlyMany):
		f.forbidden(at, "spec.staging.accessModes has ReadOnlyMany, and such a copy cannot be written to: remove one of them")
	case p.CopyMethod == kopiurv1.CopyDirect && !s.AcknowledgeLiveMutation:
		f.forbidden(at, "with copyMethod: Direct the kubelet would change the groups of the application's files: remove it, write copyMethod: Snapshot or Clone, or accept that with acknowledgeLiveMutation: true")
	}
	return f
}

// publication checks pvcPublicationReadOnly: false. The volume could be written to then, so nothing must try to.
func publication(at *field.Path, s kopiurv1.Source, p *kopiurv1.SnapshotPolicySpec) Findings {
	var f Findings
	if s.PVCPublicationReadOnly == nil || *s.PVCPublicationReadOnly {
		return f
	}
	at, parent := at.Child("pvcPublicationReadOnly"), at
	if s.PVC == nil {
		f.forbidden(at, "it is for a claim that pvc names: remove it")
	}
	if p.CopyMethod != kopiurv1.CopyDirect {
		f.forbidden(at, "it is for copyMethod: Direct: a copy can be attached in any way; remove it")
	}
	if !s.AcknowledgeReadWritePublication {
		f.required(parent.Child("acknowledgeReadWritePublication"), "write true: the volume is attached so that it could be written to, and only the mover's mount keeps it from that")
	}
	if !s.ReadOnlyOrDefault() {
		f.forbidden(at, "the mover mounts the claim read-only here, and readOnly is false: remove one of them")
	}
	if m := p.Mover; m != nil && m.PodSecurityContext != nil && m.PodSecurityContext.FSGroup != nil {
		f.forbidden(field.NewPath("spec", "mover", "podSecurityContext", "fsGroup"), "with pvcPublicationReadOnly: false the kubelet would change the groups of the application's files: remove it, or write the group into supplementalGroups")
	}
	return f
}

// Publication checks claims that are published read-write against the repository that the pod works with: nothing may make
// the kubelet change groups on the volumes of that pod, as it would on the application's files too.
func Publication(p *kopiurv1.SnapshotPolicy, r kopiurv1.RepositorySpec) Findings {
	var f Findings
	for i, s := range p.Spec.Sources {
		if s.PVCPublicationReadOnly == nil || *s.PVCPublicationReadOnly {
			continue
		}
		at := field.NewPath("spec", "sources").Index(i).Child("pvcPublicationReadOnly")
		if fs := r.Backend.Filesystem; fs != nil && fs.Volume != nil && fs.Volume.PVC != nil {
			f.forbidden(at, "the repository is on claim %s, which needs an fsGroup, and the kubelet would change the groups of the application's files: "+
				"write copyMethod: Snapshot, or use a repository that is on no claim", fs.Volume.PVC.Name)
		}
		if d := r.MoverDefaults; d != nil && d.PodSecurityContext != nil && d.PodSecurityContext.FSGroup != nil {
			f.forbidden(at, "the repository's moverDefaults.podSecurityContext.fsGroup would change the groups of the application's files: "+
				"write copyMethod: Snapshot, or take the fsGroup out of moverDefaults")
		}
	}
	return f
}
