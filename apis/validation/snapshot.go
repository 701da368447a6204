// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation/field"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// Bounds of what is stored with a snapshot.
const (
	mostTags           = 10
	longestTag         = 63
	longestTagValue    = 256
	longestDescription = 1024
	// ownTags is how the tags begin by which Kopiur finds its snapshots.
	ownTags = "kopiur"
)

// Snapshot checks a Snapshot.
func Snapshot(s *kopiurv1.Snapshot) Findings {
	at := field.NewPath("spec")
	spec := &s.Spec
	f := snapshotOrigin(at, s)
	if ref := spec.PolicyRef; ref != nil {
		f.Merge(ownPolicy(at.Child("policyRef"), *ref, s.Namespace))
	}
	if ref := spec.Repository; ref != nil {
		f.Merge(repositoryRef(at.Child("repository"), *ref))
	}
	if src := spec.Source; src != nil {
		f.Merge(snapshotSource(at.Child("source"), *src, s.Namespace))
	}
	f.Merge(tags(at.Child("tags"), spec.Tags))
	if n := utf8.RuneCountInString(spec.Description); n > longestDescription {
		f.Errors = append(f.Errors, field.TooLong(at.Child("description"), "", longestDescription))
	}
	f.Merge(failurePolicy(at.Child("failurePolicy"), spec.FailurePolicy))
	f.Merge(mover(at.Child("mover"), spec.Mover, inherit{consumer: true}))
	return f
}

// originOf is where a Snapshot comes from, as far as it says so itself.
func originOf(s *kopiurv1.Snapshot) string {
	if s.Status.Origin != "" {
		return s.Status.Origin
	}
	return s.Labels[kopiurv1.LabelOrigin]
}

// snapshotOrigin checks what depends on where a Snapshot comes from. One that was found stands for data that somebody
// else stored: deleting its object must never delete that.
func snapshotOrigin(at *field.Path, s *kopiurv1.Snapshot) Findings {
	var f Findings
	switch originOf(s) {
	case kopiurv1.OriginDiscovered:
		const why = "the snapshot was found in the repository and is not this object's to delete"
		if p := s.Spec.DeletionPolicy; p != "" && p != kopiurv1.DeletionRetain {
			f.invalid(at.Child("deletionPolicy"), p, "%s: write Retain, or leave it out", why)
		}
		if s.Spec.OnScheduleDelete != "" {
			f.forbidden(at.Child("onScheduleDelete"), "%s: leave it out", why)
		}
	case kopiurv1.OriginAdopted, kopiurv1.OriginReplicated:
	default:
		if s.Spec.PolicyRef == nil {
			f.required(at.Child("policyRef"), "write the name of the SnapshotPolicy that says what to back up")
		}
	}
	return f
}

// ownPolicy checks a reference to a SnapshotPolicy of the same namespace.
func ownPolicy(at *field.Path, r kopiurv1.PolicyRef, own string) Findings {
	f := labelName(at.Child("name"), r.Name)
	if r.Namespace != "" && own != "" && r.Namespace != own {
		f.invalid(at.Child("namespace"), r.Namespace, "only policies of its own namespace, %s, can be used: leave it out", own)
	}
	return f
}

func snapshotSource(at *field.Path, s kopiurv1.SnapshotSource, own string) Findings {
	var f Findings
	if s.SourceIndex < 0 {
		f.invalid(at.Child("sourceIndex"), s.SourceIndex, "write the place of the source in the policy, counted from 0")
	}
	if t := s.Target; t != nil {
		at := at.Child("target", "pvc")
		f.Merge(name(at.Child("name"), t.PVC.Name))
		f.Merge(ownNamespace(at.Child("namespace"), t.PVC.Namespace, own))
	}
	if g := s.Group; g != nil {
		at := at.Child("group")
		f.Merge(name(at.Child("volumeGroupSnapshotName"), g.VolumeGroupSnapshotName))
		f.Merge(ownNamespace(at.Child("namespace"), g.Namespace, own))
	}
	return f
}

// ownNamespace checks a namespace that has to be own, which is "" in a manifest that leaves it to kubectl.
func ownNamespace(at *field.Path, ns, own string) Findings {
	var f Findings
	if own != "" && ns != own {
		f.invalid(at, ns, "a mover mounts volumes of its own namespace: write %s", own)
	}
	return f
}

func tags(at *field.Path, m map[string]string) Findings {
	var f Findings
	if len(m) > mostTags {
		f.Errors = append(f.Errors, field.TooMany(at, len(m), mostTags))
	}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		at := at.Key(k)
		switch {
		case k == "":
			f.invalid(at, k, "write a name for the tag")
		case utf8.RuneCountInString(k) > longestTag:
			f.invalid(at, k, "write at most %d characters", longestTag)
		case strings.Contains(k, ":"):
			f.invalid(at, k, "write it without a colon, by which kopia ends the name of a tag")
		case strings.HasPrefix(k, ownTags):
			f.invalid(at, k, "tags that begin with %s are Kopiur's own: choose another name", ownTags)
		}
		if utf8.RuneCountInString(m[k]) > longestTagValue {
			f.invalid(at, m[k], "write at most %d characters", longestTagValue)
		}
	}
	return f
}

// SnapshotOfPolicy checks a Snapshot against the policy that it names: which of its sources and repositories is meant.
func SnapshotOfPolicy(s *kopiurv1.Snapshot, p *kopiurv1.SnapshotPolicy) Findings {
	at := field.NewPath("spec")
	if adopted(s) {
		return Findings{} // it was made without this policy, and nothing is made of it any more
	}
	f := repositoryOfPolicy(at.Child("repository"), s, p)
	at = at.Child("source")
	picked, n := 0, len(p.Spec.Sources)
	switch src := s.Spec.Source; {
	case n == 0:
		return f
	case src == nil && n > 1:
		f.required(at, "SnapshotPolicy %s has %d sources: write sourceIndex, one of 0 to %d", p.Name, n, n-1)
		return f
	case src == nil && p.Spec.Sources[0].PVCSelector != nil:
		f.required(at, "SnapshotPolicy %s selects claims: write sourceIndex: 0 and target.pvc with the name and namespace of one of them, or let a SnapshotSchedule make a Snapshot of each", p.Name)
		return f
	case src == nil:
		return f
	case int(src.SourceIndex) >= n:
		f.invalid(at.Child("sourceIndex"), src.SourceIndex, "SnapshotPolicy %s has %d sources, counted from 0", p.Name, n)
		return f
	default:
		picked = int(src.SourceIndex)
	}
	source, target := p.Spec.Sources[picked], at.Child("target")
	switch t := s.Spec.Source.Target; {
	case source.PVCSelector != nil && t == nil:
		f.required(target, "source %d of SnapshotPolicy %s selects claims: write pvc with the name and namespace of one of them", picked, p.Name)
	case t == nil || source.PVCSelector != nil:
	case source.PVC == nil:
		f.forbidden(target, "source %d of SnapshotPolicy %s is no claim: remove it", picked, p.Name)
	case t.PVC.Name != source.PVC.Name:
		f.invalid(target.Child("pvc", "name"), t.PVC.Name, "source %d of SnapshotPolicy %s is claim %s: correct sourceIndex, or remove target", picked, p.Name, source.PVC.Name)
	}
	if s.Spec.Source.Group != nil && source.PVC == nil && source.PVCSelector == nil {
		f.forbidden(at.Child("group"), "source %d of SnapshotPolicy %s is no claim, and only claims are cut together: remove it", picked, p.Name)
	}
	return f
}

func repositoryOfPolicy(at *field.Path, s *kopiurv1.Snapshot, p *kopiurv1.SnapshotPolicy) Findings {
	var f Findings
	refs := p.RepositoryRefs()
	var names []string
	for _, r := range refs {
		names = append(names, r.String())
	}
	switch pin := s.Spec.Repository; {
	case pin == nil && len(refs) > 1:
		f.required(at, "SnapshotPolicy %s has several repositories: write one of %s", p.Name, strings.Join(names, ", "))
	case pin != nil && len(refs) > 0 && !slices.Contains(refs, pin.In(s.Namespace)):
		f.invalid(at, pin.In(s.Namespace).String(), "SnapshotPolicy %s uses %s: write that, or leave it out", p.Name, strings.Join(names, ", "))
	}
	return f
}
