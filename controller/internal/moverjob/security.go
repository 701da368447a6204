// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package moverjob

import (
	corev1 "k8s.io/api/core/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// moverUID is the uid, gid and fsGroup of a mover that nobody asked to be somebody else. Filesystem repositories are
// shared by movers of many uids through this group.
const moverUID int64 = 65532

// Layer is one layer of security settings.
type Layer struct {
	Container  *corev1.SecurityContext
	Pod        *corev1.PodSecurityContext
	Privileged *bool
}

// DefaultsLayer is the weakest layer: the repository's moverDefaults.
func DefaultsLayer(d *kopiurv1.MoverDefaults) Layer {
	if d == nil {
		return Layer{}
	}
	return Layer{Container: d.SecurityContext, Pod: d.PodSecurityContext}
}

// SpecLayer is the layer of a policy, Snapshot or Restore.
func SpecLayer(m *kopiurv1.MoverSpec) Layer {
	if m == nil {
		return Layer{}
	}
	return Layer{Container: m.SecurityContext, Pod: m.PodSecurityContext, Privileged: m.PrivilegedMode}
}

// LayersOf are all layers of a mover, weakest first: the repository's, what is inherited, and those of policy and run.
func LayersOf(r Repository, inherited *Layer, specs ...*kopiurv1.MoverSpec) []Layer {
	out := []Layer{DefaultsLayer(r.Spec.MoverDefaults)}
	if inherited != nil {
		out = append(out, *inherited)
	}
	for _, m := range specs {
		out = append(out, SpecLayer(m))
	}
	return out
}

// Names reports whether a layer says which user a mover runs as.
func (l Layer) Names() bool {
	return (l.Privileged != nil && *l.Privileged) || l.UID() != nil
}

// UID that a layer asks for, nil where it asks for none. What the container says wins.
func (l Layer) UID() *int64 {
	if l.Container != nil && l.Container.RunAsUser != nil {
		return l.Container.RunAsUser
	}
	if l.Pod != nil {
		return l.Pod.RunAsUser
	}
	return nil
}

// Security is the merged outcome.
type Security struct {
	Container corev1.SecurityContext
	Pod       corev1.PodSecurityContext
}

// backupCapabilities let root read every file and nothing more; restoreCapabilities let it create files of any owner and
// mode. There are no ambient capabilities in Kubernetes, so all of them need uid 0.
var (
	backupCapabilities  = []corev1.Capability{"DAC_READ_SEARCH"}
	restoreCapabilities = []corev1.Capability{"CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID"}
)

// Merge lays the layers, weakest first, over the hardened base, field by field. A layer that does not mention dropped
// capabilities, seccomp or privilege escalation never loses them. sharedRepository is set for pods that mount a
// filesystem repository: they all need the group that its files belong to, so a group somebody else asked for becomes a
// supplemental one.
func Merge(writes, sharedRepository bool, layers ...Layer) Security {
	var privileged bool
	podUID := false
	for _, l := range layers {
		if l.Privileged != nil {
			privileged = *l.Privileged
		}
		podUID = podUID || (l.Pod != nil && l.Pod.RunAsUser != nil)
	}
	s := Security{
		Container: corev1.SecurityContext{
			RunAsNonRoot:             new(true),
			AllowPrivilegeEscalation: new(false),
			ReadOnlyRootFilesystem:   new(true),
			Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			SeccompProfile:           &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
		Pod: corev1.PodSecurityContext{
			FSGroup:             new(moverUID),
			FSGroupChangePolicy: new(corev1.FSGroupChangeOnRootMismatch),
			SeccompProfile:      &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
	}
	switch {
	case privileged:
		s.Container.RunAsUser, s.Container.RunAsGroup, s.Container.RunAsNonRoot = new(int64(0)), new(int64(0)), new(false)
		s.Container.Capabilities.Add = backupCapabilities
		if writes {
			s.Container.Capabilities.Add = restoreCapabilities
		}
	case !podUID:
		// A uid on the container would win over the one that a layer set on the pod.
		s.Container.RunAsUser, s.Container.RunAsGroup = new(moverUID), new(moverUID)
	}
	for _, l := range layers {
		mergeContainer(&s.Container, l.Container)
		mergePod(&s.Pod, l.Pod)
	}
	rootWithoutSayingSo(&s, layers)
	if g := s.Pod.FSGroup; sharedRepository && g != nil && *g != moverUID {
		s.Pod.SupplementalGroups = append(s.Pod.SupplementalGroups, *g)
		s.Pod.FSGroup = new(moverUID)
	}
	return s
}

// DropFSGroup takes the group away that the kubelet would apply to volumes. One that somebody asked for stays a group of
// the mover's.
func (s *Security) DropFSGroup() {
	if g := s.Pod.FSGroup; g != nil && *g != moverUID {
		s.Pod.SupplementalGroups = append(s.Pod.SupplementalGroups, *g)
	}
	s.Pod.FSGroup, s.Pod.FSGroupChangePolicy = nil, nil
}

// rootWithoutSayingSo clears the base's runAsNonRoot where a layer asks for uid 0 and no layer insists on non-root: the
// kubelet would refuse such a container. That it is root is the privilege gate's business.
func rootWithoutSayingSo(s *Security, layers []Layer) {
	for _, l := range layers {
		if (l.Container != nil && l.Container.RunAsNonRoot != nil) || (l.Pod != nil && l.Pod.RunAsNonRoot != nil) {
			return
		}
	}
	uid := s.Container.RunAsUser
	if uid == nil {
		uid = s.Pod.RunAsUser
	}
	if uid != nil && *uid == 0 {
		s.Container.RunAsNonRoot = new(false)
	}
}

func over[T any](dst **T, src *T) {
	if src != nil {
		*dst = src
	}
}

func mergeContainer(dst, src *corev1.SecurityContext) {
	if src == nil {
		return
	}
	over(&dst.RunAsUser, src.RunAsUser)
	over(&dst.RunAsGroup, src.RunAsGroup)
	over(&dst.RunAsNonRoot, src.RunAsNonRoot)
	over(&dst.Privileged, src.Privileged)
	over(&dst.AllowPrivilegeEscalation, src.AllowPrivilegeEscalation)
	over(&dst.ReadOnlyRootFilesystem, src.ReadOnlyRootFilesystem)
	over(&dst.SELinuxOptions, src.SELinuxOptions)
	over(&dst.SeccompProfile, src.SeccompProfile)
	over(&dst.AppArmorProfile, src.AppArmorProfile)
	over(&dst.ProcMount, src.ProcMount)
	over(&dst.WindowsOptions, src.WindowsOptions)
	if c := src.Capabilities; c != nil {
		merged := corev1.Capabilities{}
		if dst.Capabilities != nil {
			merged = *dst.Capabilities
		}
		if c.Drop != nil {
			merged.Drop = c.Drop
		}
		if c.Add != nil {
			merged.Add = c.Add
		}
		dst.Capabilities = &merged
	}
}

func mergePod(dst, src *corev1.PodSecurityContext) {
	if src == nil {
		return
	}
	over(&dst.RunAsUser, src.RunAsUser)
	over(&dst.RunAsGroup, src.RunAsGroup)
	over(&dst.RunAsNonRoot, src.RunAsNonRoot)
	over(&dst.FSGroup, src.FSGroup)
	over(&dst.FSGroupChangePolicy, src.FSGroupChangePolicy)
	over(&dst.SELinuxOptions, src.SELinuxOptions)
	over(&dst.SELinuxChangePolicy, src.SELinuxChangePolicy)
	over(&dst.SeccompProfile, src.SeccompProfile)
	over(&dst.AppArmorProfile, src.AppArmorProfile)
	over(&dst.SupplementalGroupsPolicy, src.SupplementalGroupsPolicy)
	over(&dst.WindowsOptions, src.WindowsOptions)
	if src.SupplementalGroups != nil {
		dst.SupplementalGroups = append([]int64(nil), src.SupplementalGroups...)
	}
	if src.Sysctls != nil {
		dst.Sysctls = src.Sysctls
	}
}

// Behind is the security context of a program that a user puts behind a mover: the mover's user and groups and the hardened
// base, without the mover's capabilities, and over it what the user asks for. What that amounts to is for the privilege
// gate to judge.
func Behind(mover, asked *corev1.SecurityContext) *corev1.SecurityContext {
	s := Security{Container: *mover.DeepCopy()}
	s.Container.Capabilities = &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}
	mergeContainer(&s.Container, asked)
	rootWithoutSayingSo(&s, []Layer{{Container: asked}})
	return &s.Container
}
