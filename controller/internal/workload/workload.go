// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package workload is about the application beside a mover: whose user the mover takes over, and which node holds the
// volume that both of them mount. Backups and restores ask the same questions.
package workload

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

// Donor is the container whose user and groups a mover takes over.
type Donor struct {
	Pod, Container string
	Layer          moverjob.Layer
}

// FindDonor looks among the pods of a namespace for the running one, the first by name, that is meant. claim is the one
// whose consumer may be asked for. missing says what was not found.
func FindDonor(pods []corev1.Pod, from kopiurv1.InheritSecurityContextFrom, claim string) (donor *Donor, missing string) {
	var match func(p *corev1.Pod) bool
	var name, mounted string
	switch {
	case from.WorkloadSelector != nil:
		selector, err := metav1.LabelSelectorAsSelector(&from.WorkloadSelector.PodSelector)
		if err != nil {
			selector = labels.Nothing()
		}
		name, missing = from.WorkloadSelector.Container, "no running pod matches "+selector.String()
		match = func(p *corev1.Pod) bool { return !selector.Empty() && selector.Matches(labels.Set(p.Labels)) }
	case from.PVCConsumer != nil && claim == "":
		return nil, "the source is no claim that a pod could mount"
	case from.PVCConsumer != nil:
		name, mounted, missing = from.PVCConsumer.Container, claim, "no running pod mounts claim "+claim
		match = func(p *corev1.Pod) bool { return Mounts(p.Spec, claim) }
	default:
		return nil, "no pod is asked for"
	}
	var found []*corev1.Pod
	for i := range pods {
		if p := &pods[i]; p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil && match(p) {
			found = append(found, p)
		}
	}
	slices.SortFunc(found, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	for _, p := range found {
		if c := containerOf(p, name, mounted); c != nil {
			return &Donor{Pod: p.Name, Container: c.Name, Layer: layerOf(p, c)}, ""
		}
		missing = fmt.Sprintf("pod %s has no container %s", p.Name, name)
	}
	return nil, missing
}

// containerOf is the named container, the one that mounts the claim, or the first.
func containerOf(p *corev1.Pod, name, claim string) *corev1.Container {
	volume := ""
	for _, v := range p.Spec.Volumes {
		if claim != "" && v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == claim {
			volume = v.Name
		}
	}
	for i := range p.Spec.Containers {
		c := &p.Spec.Containers[i]
		switch {
		case name != "":
			if c.Name == name {
				return c
			}
		case claim == "" || slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == volume }):
			return c
		}
	}
	if name == "" && len(p.Spec.Containers) > 0 {
		return &p.Spec.Containers[0]
	}
	return nil
}

// layerOf is user and groups of a container, as its spec says, and where that leaves the user to the image, as its node
// found out (acceptance F-6).
func layerOf(p *corev1.Pod, c *corev1.Container) moverjob.Layer {
	container, pod := &corev1.SecurityContext{}, &corev1.PodSecurityContext{}
	if ps := p.Spec.SecurityContext; ps != nil {
		container.RunAsUser, container.RunAsGroup = ps.RunAsUser, ps.RunAsGroup
		pod.FSGroup, pod.SupplementalGroups = ps.FSGroup, ps.SupplementalGroups
	}
	if cs := c.SecurityContext; cs != nil {
		container.RunAsUser = cmp.Or(cs.RunAsUser, container.RunAsUser)
		container.RunAsGroup = cmp.Or(cs.RunAsGroup, container.RunAsGroup)
	}
	for i := range p.Status.ContainerStatuses {
		st := &p.Status.ContainerStatuses[i]
		if st.Name != c.Name || st.User == nil || st.User.Linux == nil {
			continue
		}
		if container.RunAsUser == nil {
			container.RunAsUser = &st.User.Linux.UID
		}
		if container.RunAsGroup == nil {
			container.RunAsGroup = &st.User.Linux.GID
		}
	}
	return moverjob.Layer{Container: container, Pod: pod}
}

// Recorded is the layer of user and groups that a backup ran as, nil where none were recorded.
func Recorded(r *kopiurv1.Recorded) *moverjob.Layer {
	if r == nil || r.UID == nil && r.GID == nil {
		return nil
	}
	return &moverjob.Layer{
		Container: &corev1.SecurityContext{RunAsUser: r.UID, RunAsGroup: r.GID},
		Pod:       &corev1.PodSecurityContext{FSGroup: r.FSGroup},
	}
}

// Holder is the pod that holds a claim's volume on a node: one that was sent there and has not ended.
func Holder(pods []corev1.Pod, claim string) *corev1.Pod {
	for i := range pods {
		if p := &pods[i]; p.Spec.NodeName != "" && !Ended(p) && Mounts(p.Spec, claim) {
			return p
		}
	}
	return nil
}

// OneNode reports whether all that use a claim have to be on one node.
func OneNode(c *corev1.PersistentVolumeClaim) bool {
	shared := slices.ContainsFunc(c.Spec.AccessModes, func(m corev1.PersistentVolumeAccessMode) bool {
		return m == corev1.ReadWriteMany || m == corev1.ReadOnlyMany
	})
	return !shared && slices.Contains(c.Spec.AccessModes, corev1.ReadWriteOnce)
}

// Colocation is the mode of a repository.
func Colocation(r moverjob.Repository) kopiurv1.ColocationMode {
	if d := r.Spec.MoverDefaults; d != nil && d.SourceColocation != nil && d.SourceColocation.Mode != "" {
		return d.SourceColocation.Mode
	}
	return kopiurv1.ColocationAuto
}

// Mounts reports whether a pod has a claim among its volumes.
func Mounts(p corev1.PodSpec, claim string) bool {
	return slices.ContainsFunc(p.Volumes, func(v corev1.Volume) bool {
		return v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == claim
	})
}

// Ended reports whether a pod runs no more, and never will.
func Ended(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}
