// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package expand

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// Member is one thing that a run backs up.
type Member struct {
	// Index of the source in the policy.
	Index int
	// Claim in the policy's namespace, "" for a source that is none.
	Claim string
	// Path that its snapshots are filed under.
	Path string
	// selected: the claim was found by a selector and has to be named.
	selected bool
}

// source is what a Snapshot of this member says.
func (m Member) source(p *kopiurv1.SnapshotPolicy) *kopiurv1.SnapshotSource {
	out := &kopiurv1.SnapshotSource{SourceIndex: int32(m.Index)} //nolint:gosec // a policy has at most 100
	if m.selected {
		out.Target = &kopiurv1.SnapshotTarget{PVC: kopiurv1.NamespacedRef{Name: m.Claim, Namespace: p.Namespace}}
	}
	return out
}

func (m Member) name() string {
	if m.Claim != "" {
		return m.Claim
	}
	return fmt.Sprintf("source%d", m.Index)
}

// Members lists what a run of a policy covers, in the order of its sources and of the names of the claims. It refuses a
// policy of which no run could be made: one that stands for nothing, for too many, or for the same claim twice.
func Members(p *kopiurv1.SnapshotPolicy, claims []corev1.PersistentVolumeClaim) ([]Member, *Refusal) {
	var out []Member
	for i, src := range p.Spec.Sources {
		switch {
		case src.PVC != nil:
			out = append(out, Member{Index: i, Claim: src.PVC.Name, Path: src.Path(p.Namespace)})
		case src.PVCSelector == nil:
			out = append(out, Member{Index: i, Path: src.Path(p.Namespace)})
		default:
			names, _, err := selected(p, src, claims)
			if err != nil {
				return nil, refuse(kopiurv1.ReasonInvalidSpec, "source %d of SnapshotPolicy %s: %s", i, p.Name, err)
			}
			for _, name := range names {
				out = append(out, Member{Index: i, Claim: name, Path: src.ClaimPath(p.Namespace, name), selected: true})
			}
		}
	}
	repositories := len(p.RepositoryRefs())
	switch n := len(out) * repositories; {
	case repositories == 0:
		return nil, refuse(kopiurv1.ReasonInvalidSpec, "SnapshotPolicy %s names no repository: set its spec.repository", p.Name)
	case n == 0:
		return nil, refuse(kopiurv1.ReasonNoClaimsSelected, "SnapshotPolicy %s stands for nothing: %s", p.Name, strings.Join(Idle(p, claims), "; "))
	case n > Most:
		return nil, refuse(kopiurv1.ReasonFanoutCapped, "SnapshotPolicy %s stands for %d Snapshots in one run, and at most %d are made: narrow its selector, or make several policies of it", p.Name, n, Most)
	}
	if refusal := twice(p, out); refusal != nil {
		return nil, refusal
	}
	if claims := Together(p, out); len(claims) > 0 && p.Spec.CopyMethod != "" && p.Spec.CopyMethod != kopiurv1.CopySnapshot {
		return nil, refuse(kopiurv1.ReasonGroupSnapshotUnsupported,
			"SnapshotPolicy %s stands for %d claims that are to be cut at one instant, and copyMethod: %s cannot do that: write copyMethod: Snapshot, or groupBy: None where each may be cut for itself",
			p.Name, len(claims), p.Spec.CopyMethod)
	}
	return out, nil
}

// Together names the claims of a run that are to be cut at one instant, sorted: none where there is only one, or where
// groupBy says that each is cut for itself.
func Together(p *kopiurv1.SnapshotPolicy, members []Member) []string {
	if p.Spec.GroupBy == kopiurv1.GroupByNone {
		return nil
	}
	var claims []string
	for _, m := range members {
		if m.Claim != "" {
			claims = append(claims, m.Claim)
		}
	}
	slices.Sort(claims)
	if claims = slices.Compact(claims); len(claims) < 2 {
		return nil
	}
	return claims
}

// Idle says which sources of a policy select nothing, and why. The others are backed up all the same.
func Idle(p *kopiurv1.SnapshotPolicy, claims []corev1.PersistentVolumeClaim) []string {
	var out []string
	for i, src := range p.Spec.Sources {
		if src.PVCSelector == nil {
			continue
		}
		names, waiting, err := selected(p, src, claims)
		switch {
		case err != nil || len(names) > 0:
		case len(waiting) > 0:
			out = append(out, fmt.Sprintf("source %d selects no claim of namespace %s that has a volume: claim %s waits for the first pod that uses it", i, p.Namespace, strings.Join(waiting, ", ")))
		default:
			out = append(out, fmt.Sprintf("source %d selects no claim of namespace %s: label the claims that are meant, or correct the selector", i, p.Namespace))
		}
	}
	return out
}

// selected names the claims of one source, and those that it means and that have no volume yet: there is nothing in them,
// and a mover that mounts one would be the pod its volume is made for.
func selected(p *kopiurv1.SnapshotPolicy, src kopiurv1.Source, claims []corev1.PersistentVolumeClaim) (names, waiting []string, err error) {
	match, err := matcher(*src.PVCSelector)
	if err != nil {
		return nil, nil, err
	}
	for i := range claims {
		c := &claims[i]
		switch {
		case c.Namespace != "" && c.Namespace != p.Namespace || !match(c):
		case c.Status.Phase == corev1.ClaimPending:
			waiting = append(waiting, c.Name)
		default:
			names = append(names, c.Name)
		}
	}
	slices.Sort(names)
	slices.Sort(waiting)
	return names, waiting, nil
}

// Selects reports whether a source with a selector means a claim: none that Kopiur made, and none on its way out.
func Selects(s kopiurv1.Source, c *corev1.PersistentVolumeClaim) bool {
	if s.PVCSelector == nil {
		return false
	}
	match, err := matcher(*s.PVCSelector)
	return err == nil && match(c)
}

func matcher(sel kopiurv1.PVCSelector) (func(c *corev1.PersistentVolumeClaim) bool, error) {
	match := labels.Everything()
	if sel.LabelSelector != nil {
		var err error
		if match, err = metav1.LabelSelectorAsSelector(sel.LabelSelector); err != nil {
			return nil, fmt.Errorf("read its labelSelector: %w", err)
		}
	}
	return func(c *corev1.PersistentVolumeClaim) bool {
		return c.Labels[kopiurv1.LabelManagedBy] != kopiurv1.ManagedByValue && c.DeletionTimestamp == nil && match.Matches(labels.Set(c.Labels))
	}, nil
}

// twice refuses a run in which two Snapshots would be filed under the same path: each would take the other's for its own
// predecessor, and retention would thin out both as one. A claim that two sources find is refused as well.
func twice(p *kopiurv1.SnapshotPolicy, members []Member) *Refusal {
	paths, claims := map[string]Member{}, map[string]Member{}
	for _, m := range members {
		first, overlap := paths[m.Path]
		if o, ok := claims[m.Claim]; ok && m.Claim != "" && (o.selected || m.selected) {
			first, overlap = o, true
		}
		if overlap {
			return refuse(kopiurv1.ReasonSourcesOverlap,
				"sources %d and %d of SnapshotPolicy %s both stand for %s: select by labels that only some claims have, or write another sourcePathOverride",
				first.Index, m.Index, p.Name, m)
		}
		paths[m.Path], claims[m.Claim] = m, m
	}
	return nil
}

// String names a member for people.
func (m Member) String() string {
	if m.Claim != "" {
		return "claim " + m.Claim
	}
	return m.Path
}
