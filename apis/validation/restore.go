// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// Restore checks a Restore.
func Restore(o *kopiurv1.Restore) Findings {
	at, s := field.NewPath("spec"), &o.Spec
	f := restoreSource(at.Child("source"), s)
	f.Merge(restoreTarget(at.Child("target"), s, o.Namespace))
	if s.Repository != nil {
		f.Merge(repositoryRef(at.Child("repository"), *s.Repository))
	}
	f.Merge(subPath(at.Child("subPath"), s))
	f.Merge(restorePolicy(at, s))
	f.Merge(restoreOptions(at.Child("options"), s))
	f.Merge(restoreMover(at.Child("mover"), s))
	f.Merge(failurePolicy(at.Child("failurePolicy"), s.FailurePolicy))
	if s.Repository != nil {
		f.Merge(projection(at.Child("credentialProjection"), s.CredentialProjection, *s.Repository))
	}
	return f
}

// RestoreUpdate checks what a change to a Restore does.
func RestoreUpdate(updated, old *kopiurv1.Restore) Findings {
	var f Findings
	if old.Status.Phase == kopiurv1.RestoreCompleted && updated.Generation != old.Generation {
		f.warn(field.NewPath("spec"), "this Restore is complete and does not run again: create another one")
	}
	return f
}

// RestoreOfPolicy checks a Restore against the policy that its source names.
func RestoreOfPolicy(o *kopiurv1.Restore, p *kopiurv1.SnapshotPolicy) Findings {
	var f Findings
	from := o.Spec.Source.FromPolicy
	if from == nil {
		return f
	}
	if refs := p.RepositoryRefs(); len(refs) > 1 && o.Spec.Repository == nil {
		f.required(field.NewPath("spec", "repository"), "SnapshotPolicy %s backs up to several repositories: write which one to read, such as %s", p.Name, refs[0].In(p.Namespace))
	}
	if from.SourcePath != "" || o.Spec.Target.Populator != nil {
		return f
	}
	if paths := literalPaths(p); len(paths) > 1 {
		f.warn(field.NewPath("spec", "source", "fromPolicy", "sourcePath"),
			"SnapshotPolicy %s has several sources, and without a sourcePath such as %s nothing is restored", p.Name, paths[0])
	}
	return f
}

// literalPaths are the source paths that a policy spells out. Those of a selector are known only when it is asked.
func literalPaths(p *kopiurv1.SnapshotPolicy) []string {
	var out []string
	seen := map[string]bool{}
	for i := range p.Spec.Sources {
		s := p.Spec.Sources[i]
		if path := s.Path(p.Namespace); path != "" && !seen[path] {
			seen[path] = true
			out = append(out, path)
		}
	}
	return out
}

func restoreSource(at *field.Path, s *kopiurv1.RestoreSpec) Findings {
	src := s.Source
	f := oneOf(at, variant{"snapshotRef", src.SnapshotRef != nil}, variant{"fromPolicy", src.FromPolicy != nil}, variant{"identity", src.Identity != nil})
	if r := src.SnapshotRef; r != nil {
		at := at.Child("snapshotRef")
		f.Merge(name(at.Child("name"), r.Name))
		f.Merge(namespace(at.Child("namespace"), r.Namespace))
	}
	if p := src.FromPolicy; p != nil {
		at := at.Child("fromPolicy")
		f.Merge(labelName(at.Child("name"), p.Name))
		f.Merge(namespace(at.Child("namespace"), p.Namespace))
		f.Merge(moment(at, p.AsOf, p.Offset))
		f.Merge(printable(at.Child("sourcePath"), p.SourcePath))
	}
	if i := src.Identity; i != nil {
		f.Merge(fromIdentity(at.Child("identity"), *i, s))
	}
	return f
}

func fromIdentity(at *field.Path, i kopiurv1.FromIdentity, s *kopiurv1.RestoreSpec) Findings {
	f := identityPart(at.Child("username"), i.Username)
	f.Merge(identityPart(at.Child("hostname"), i.Hostname))
	f.Merge(printable(at.Child("sourcePath"), i.SourcePath))
	f.Merge(printable(at.Child("snapshotID"), i.SnapshotID))
	f.Merge(moment(at, i.AsOf, i.Offset))
	if i.SnapshotID != "" && (i.AsOf != "" || i.Offset != 0) {
		f.forbidden(at.Child("snapshotID"), "it names one snapshot, asOf and offset pick another: keep one or the other")
	}
	if i.SnapshotID == "" && i.SourcePath == "" && s.Target.Populator == nil {
		f.warn(at.Child("sourcePath"), "without it nothing is restored where the identity has snapshots of more than one path")
	}
	if s.Repository == nil {
		f.required(field.NewPath("spec", "repository"), "write the repository that holds the snapshots: an identity does not say where they are")
	}
	return f
}

// moment checks the two fields that pick a snapshot by its time.
func moment(at *field.Path, asOf string, offset int64) Findings {
	var f Findings
	if asOf != "" {
		if _, err := time.Parse(time.RFC3339, asOf); err != nil {
			f.invalid(at.Child("asOf"), asOf, "write an RFC 3339 time with its zone, such as 2026-03-05T09:00:00Z")
		}
	}
	if offset < 0 {
		f.invalid(at.Child("offset"), offset, "write 0 for the newest, 1 for the one before it, and so on")
	}
	return f
}

func subPath(at *field.Path, s *kopiurv1.RestoreSpec) Findings {
	var f Findings
	if s.SubPath == "" {
		return f
	}
	if s.Target.StreamExec != nil {
		f.forbidden(at, "target.streamExec.fileName names the file already: leave subPath out")
	}
	if o := s.Options; o != nil && o.EnableFileDeletion != nil && *o.EnableFileDeletion {
		f.forbidden(field.NewPath("spec", "options", "enableFileDeletion"),
			"with subPath it would delete all of the volume but that part: leave it out, or restore into a new claim")
	}
	f.Merge(below(at, s.SubPath))
	return f
}

func restorePolicy(at *field.Path, s *kopiurv1.RestoreSpec) Findings {
	var f Findings
	if s.Policy == nil {
		return f
	}
	timeout := at.Child("policy", "waitTimeout")
	f.Merge(duration(timeout, s.Policy.WaitTimeout, 0))
	if len(f.Errors) > 0 || s.FailurePolicy == nil || s.FailurePolicy.ActiveDeadlineSeconds == nil {
		return f
	}
	wait, _ := s.Policy.WaitTimeout.Parse(0)
	if seconds := *s.FailurePolicy.ActiveDeadlineSeconds; seconds > 0 && int64(wait/time.Second) >= seconds {
		f.invalid(timeout, s.Policy.WaitTimeout, "write less than failurePolicy.activeDeadlineSeconds (%d), which bounds the waiting too", seconds)
	}
	return f
}

// restoreMover allows what makes sense where nothing is backed up: there is no claim whose consumer could be looked at.
func restoreMover(at *field.Path, s *kopiurv1.RestoreSpec) Findings {
	f := mover(at, s.Mover, inherit{snapshot: true})
	if m := s.Mover; m != nil && m.Cache != nil && m.Cache.Mode == kopiurv1.CachePersistent {
		f.warn(at.Child("cache", "mode"), "a restore reads everything once, and its cache goes with its pod: leave mode out")
	}
	if m := s.Mover; s.Target.Populator != nil && m != nil && m.InheritSecurityContextFrom != nil && m.InheritSecurityContextFrom.WorkloadSelector != nil {
		f.forbidden(at.Child("inheritSecurityContextFrom", "workloadSelector"),
			"no workload runs while its claim is being filled: write snapshot: {}, or securityContext and podSecurityContext")
	}
	return f
}

// projection checks a wish for copies of Secrets, which are made of a ClusterRepository's only.
func projection(at *field.Path, p *kopiurv1.CredentialProjection, r kopiurv1.RepositoryRef) Findings {
	var f Findings
	if p != nil && p.Enabled && r.KindOrDefault() == kopiurv1.KindRepository {
		f.warn(at.Child("enabled"), "Secrets of a Repository are never copied, those of a ClusterRepository are: movers use the Secrets of their own namespace")
	}
	return f
}
