// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

// neighbourRecheck is how often the pods of others, which are not watched, are looked at again.
const neighbourRecheck = time.Minute

// inheritance is the strongest layer's, nil where none inherits.
func inheritance(w World) *kopiurv1.InheritSecurityContextFrom {
	var out *kopiurv1.InheritSecurityContextFrom
	for _, m := range Layers(w.Snapshot, w.Policy) {
		if m != nil && m.InheritSecurityContextFrom != nil {
			out = m.InheritSecurityContextFrom
		}
	}
	return out
}

// inherit takes over user and groups of the application's pod. Without such a pod, what policy or repository name is used;
// where they name nobody the run waits (acceptance J-2): as Kopiur's own user it would read half of the files.
func (g *walk) inherit() {
	from := inheritance(g.w)
	if from == nil || (from.WorkloadSelector == nil && from.PVCConsumer == nil) || g.ask(AskPods) {
		return
	}
	const resolved = kopiurv1.ConditionSecurityContextResolved
	pod, container, what := g.donor(*from)
	layers := moverjob.LayersOf(*g.w.Repository, nil, Layers(g.w.Snapshot, g.w.Policy)...)
	switch {
	case pod != nil:
		layer := layerOf(pod, container)
		g.w.Inherited = &layer
		g.pass(resolved, kopiurv1.ReasonInheritApplied, "user and groups are those of container %s of pod %s", container.Name, pod.Name)
		g.unusual(pod.Name, layer)
	case g.recorded():
		g.pass(resolved, kopiurv1.ReasonInheritApplied, "user and groups are those of the attempt before")
	case slices.ContainsFunc(layers, moverjob.Layer.Names):
		g.p.Conditions = append(g.p.Conditions, condition(kopiurv1.ConditionSecurityContextInherited, false, kopiurv1.ReasonInheritFallback,
			what+"; the user that policy or repository name is used"))
	default:
		g.hold(resolved, kopiurv1.ReasonInheritSourceMissing, neighbourRecheck,
			"%s, and neither policy nor repository names a user: start it, or set mover.securityContext.runAsUser", what)
	}
}

// recorded takes over what an earlier attempt of this run took over: its pod may be gone by now.
func (g *walk) recorded() bool {
	r := g.w.Snapshot.Status.Recorded
	if r == nil || r.Src != kopiurv1.RecordedInherited || g.p.Reopened {
		return false
	}
	g.w.Inherited = &moverjob.Layer{
		Container: &corev1.SecurityContext{RunAsUser: r.UID, RunAsGroup: r.GID},
		Pod:       &corev1.PodSecurityContext{FSGroup: r.FSGroup},
	}
	return true
}

// unusual says where the mover does not run as the pod does.
func (g *walk) unusual(pod string, layer moverjob.Layer) {
	const kind = kopiurv1.ConditionSecurityContextInherited
	stronger := (*int64)(nil)
	for _, m := range Layers(g.w.Snapshot, g.w.Policy) {
		if uid := moverjob.SpecLayer(m).UID(); uid != nil {
			stronger = uid
		}
	}
	switch own := layer.UID(); {
	case own == nil && stronger == nil:
		message := fmt.Sprintf("pod %s names no user, and its node does not say which one its image has: set mover.securityContext.runAsUser", pod)
		g.p.Conditions = append(g.p.Conditions, condition(kind, false, kopiurv1.ReasonInheritPinnedNoUID, message),
			metav1.Condition{Type: kopiurv1.ConditionSecurityContextCompatible, Status: metav1.ConditionUnknown, Reason: kopiurv1.ReasonInheritPinnedNoUID, Message: message})
	case stronger != nil && (own == nil || *own != *stronger):
		g.p.Conditions = append(g.p.Conditions, condition(kind, false, kopiurv1.ReasonInheritOverridden,
			fmt.Sprintf("the mover runs as uid %d, as policy or Snapshot say, and not as pod %s does", *stronger, pod)))
	}
}

// donor finds the running pod, the first by name, and its container. what says what was not found.
func (g *walk) donor(from kopiurv1.InheritSecurityContextFrom) (pod *corev1.Pod, container *corev1.Container, what string) {
	claim := SourceOf(g.w.Snapshot, g.w.Policy).PVC
	var match func(p *corev1.Pod) bool
	var name string
	switch {
	case from.WorkloadSelector != nil:
		selector, err := metav1.LabelSelectorAsSelector(&from.WorkloadSelector.PodSelector)
		if err != nil {
			selector = labels.Nothing()
		}
		name, what = from.WorkloadSelector.Container, "no running pod matches "+selector.String()
		match = func(p *corev1.Pod) bool { return !selector.Empty() && selector.Matches(labels.Set(p.Labels)) }
	case claim == nil:
		name, what = from.PVCConsumer.Container, "the source is no claim that a pod could mount"
		match = func(*corev1.Pod) bool { return false }
	default:
		name, what = from.PVCConsumer.Container, "no running pod mounts claim "+claim.Name
		match = func(p *corev1.Pod) bool { return mountsClaim(p, claim.Name) }
	}
	var found []*corev1.Pod
	for i := range g.w.Neighbours {
		if p := &g.w.Neighbours[i]; p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil && match(p) {
			found = append(found, p)
		}
	}
	slices.SortFunc(found, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	for _, p := range found {
		if c := containerOf(p, name, from.PVCConsumer != nil, claim); c != nil {
			return p, c, ""
		}
		what = fmt.Sprintf("pod %s has no container %s", p.Name, name)
	}
	return nil, nil, what
}

// containerOf is the named container, the one that mounts the claim, or the first.
func containerOf(p *corev1.Pod, name string, mounting bool, claim *kopiurv1.LocalRef) *corev1.Container {
	volume := ""
	for _, v := range p.Spec.Volumes {
		if claim != nil && v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == claim.Name {
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
		case !mounting || slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == volume }):
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
