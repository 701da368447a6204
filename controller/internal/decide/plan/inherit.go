// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
	"github.com/kopiur/kopiur/controller/internal/workload"
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
	claim := ""
	if pvc := SourceOf(g.w.Snapshot, g.w.Policy).PVC; pvc != nil {
		claim = pvc.Name
	}
	donor, missing := workload.FindDonor(g.w.Neighbours, *from, claim)
	layers := moverjob.LayersOf(*g.w.Repository, nil, Layers(g.w.Snapshot, g.w.Policy)...)
	switch {
	case donor != nil:
		g.w.Inherited = &donor.Layer
		g.pass(resolved, kopiurv1.ReasonInheritApplied, "user and groups are those of container %s of pod %s", donor.Container, donor.Pod)
		g.unusual(donor.Pod, donor.Layer)
	case g.recorded():
		g.pass(resolved, kopiurv1.ReasonInheritApplied, "user and groups are those of the attempt before")
	case slices.ContainsFunc(layers, moverjob.Layer.Names):
		g.p.Conditions = append(g.p.Conditions, condition(kopiurv1.ConditionSecurityContextInherited, false, kopiurv1.ReasonInheritFallback,
			missing+"; the user that policy or repository name is used"))
	default:
		g.hold(resolved, kopiurv1.ReasonInheritSourceMissing, neighbourRecheck,
			"%s, and neither policy nor repository names a user: start it, or set mover.securityContext.runAsUser", missing)
	}
}

// recorded takes over what an earlier attempt of this run took over: its pod may be gone by now.
func (g *walk) recorded() bool {
	r := g.w.Snapshot.Status.Recorded
	if r == nil || r.Src != kopiurv1.RecordedInherited || g.p.Reopened {
		return false
	}
	g.w.Inherited = workload.Recorded(r)
	return g.w.Inherited != nil
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
