// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// sources checks what a policy backs up.
func sources(at *field.Path, p *kopiurv1.SnapshotPolicy) Findings {
	var f Findings
	if len(p.Spec.Sources) == 0 {
		f.required(at, "write at least one source, such as - pvc: {name: data}")
	}
	for i, s := range p.Spec.Sources {
		f.Merge(source(at.Index(i), s, p))
	}
	f.Merge(filedTwice(at, p))
	f.Merge(selectedTwice(at, p.Spec.Sources))
	return f
}

func source(at *field.Path, s kopiurv1.Source, p *kopiurv1.SnapshotPolicy) Findings {
	f := oneOf(at, variant{"pvc", s.PVC != nil}, variant{"pvcSelector", s.PVCSelector != nil}, variant{"nfs", s.NFS != nil}, variant{"stream", s.Stream != nil})
	if s.PVC != nil {
		f.Merge(name(at.Child("pvc", "name"), s.PVC.Name))
	}
	if s.PVCSelector != nil {
		f.Merge(pvcSelector(at, s, p.Namespace))
	}
	if s.NFS != nil {
		f.Merge(nfs(at.Child("nfs"), *s.NFS))
	}
	if s.Stream != nil {
		f.Merge(stream(at, s, p))
	}
	f.Merge(writable(at, s, &p.Spec))
	f.Merge(publication(at, s, &p.Spec))
	f.Merge(sourcePath(at.Child("sourcePathOverride"), s.SourcePathOverride))
	if (s.NFS != nil || s.Stream != nil) && s.SourcePathStrategy == kopiurv1.SourcePathPVCNamespacedName {
		f.warn(at.Child("sourcePathStrategy"), "it names the paths of claims, and has no effect here; write sourcePathOverride")
	}
	return f
}

func pvcSelector(at *field.Path, s kopiurv1.Source, own string) Findings {
	if s.SourcePathOverride != "" {
		var f Findings
		f.forbidden(at.Child("sourcePathOverride"), "all claims that the selector finds would be filed under it: leave it out, or name one claim with pvc")
		return f
	}
	at = at.Child("pvcSelector")
	var f Findings
	if l := s.PVCSelector.LabelSelector; l != nil {
		f.Merge(selector(at.Child("labelSelector"), *l))
	}
	if n := s.PVCSelector.NamespaceSelector; n != nil {
		for i, ns := range n.MatchNames {
			if own != "" && ns != own {
				f.invalid(at.Child("namespaceSelector", "matchNames").Index(i), ns, "a mover mounts claims of its own namespace, %s: write a policy in each namespace", own)
			}
		}
	}
	return f
}

// stream checks the output of a command. All settings that speak of volumes mean nothing to it.
func stream(at *field.Path, s kopiurv1.Source, p *kopiurv1.SnapshotPolicy) Findings {
	f := fileName(at.Child("stream", "fileName"), s.Stream.FileName)
	f.Merge(workloadExec(at.Child("stream", "workloadExec"), s.Stream.WorkloadExec))
	if len(p.Spec.Sources) > 1 {
		f.forbidden(at.Child("stream"), "it must be the only source: write a policy of its own for it")
	}
	spec := field.NewPath("spec")
	for _, c := range []struct {
		at  *field.Path
		set bool
	}{
		{at.Child("acknowledgeLiveMutation"), s.AcknowledgeLiveMutation},
		{spec.Child("volumeSnapshotClassName"), p.Spec.VolumeSnapshotClassName != ""},
		{spec.Child("copyMethod"), p.Spec.CopyMethod == kopiurv1.CopyClone},
	} {
		if c.set {
			f.forbidden(c.at, "a stream has no volume: remove it")
		}
	}
	return f
}

// filedTwice finds sources whose snapshots nobody could tell apart.
func filedTwice(at *field.Path, p *kopiurv1.SnapshotPolicy) Findings {
	var f Findings
	seen := map[string]int{}
	for i, s := range p.Spec.Sources {
		path := s.Path(p.Namespace)
		if path == "" {
			continue
		}
		if first, twice := seen[path]; twice {
			f.forbidden(at.Index(i), "its snapshots are filed under %s, as those of %s are: write another sourcePathOverride", path, at.Index(first))
			continue
		}
		seen[path] = i
	}
	return f
}

// selectedTwice finds selectors that are bound to find the same claims. Others may overlap all the same; that shows only
// when they are asked.
func selectedTwice(at *field.Path, sources []kopiurv1.Source) Findings {
	var f Findings
	for i, s := range sources {
		if s.PVCSelector == nil {
			continue
		}
		for j, o := range sources {
			same := o.PVCSelector != nil && j < i && equality.Semantic.DeepEqual(o.PVCSelector.LabelSelector, s.PVCSelector.LabelSelector)
			all := everything(s) && j != i && (o.PVC != nil || o.PVCSelector != nil && (!everything(o) || j < i))
			if same || all {
				f.forbidden(at.Index(i).Child("pvcSelector"), "it selects the claims of %s too, and each would be backed up twice: select by labels that only some of them have", at.Index(j))
				break
			}
		}
	}
	return f
}

// everything reports whether a source selects every claim.
func everything(s kopiurv1.Source) bool {
	l := s.PVCSelector.LabelSelector
	return l == nil || len(l.MatchLabels)+len(l.MatchExpressions) == 0
}

// sourcePath checks a path that snapshots are filed under; "" is one that was left out.
func sourcePath(at *field.Path, s string) Findings {
	var f Findings
	switch {
	case s == "":
	case !strings.HasPrefix(s, "/"):
		f.invalid(at, s, "write an absolute path, such as /data")
	case strings.ContainsFunc(s, unicode.IsControl):
		f.invalid(at, s, "write it without control characters")
	}
	return f
}
