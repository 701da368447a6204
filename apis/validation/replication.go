// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation/field"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// noWorkload is why a replication's mover takes over nobody's user: it reads repositories, no volume.
var noWorkload = inherit{never: "a replication reads repositories and no volume, so there is nobody whose user it could need"}

// RepositoryReplication checks a RepositoryReplication.
func RepositoryReplication(o *kopiurv1.RepositoryReplication) Findings {
	at, s, seed := field.NewPath("spec"), &o.Spec, o.Namespace+"/"+o.Name
	f := labelName(field.NewPath("metadata", "name"), o.Name)
	f.Merge(RunRequest(o.Annotations))
	f.Merge(repositoryRef(at.Child("sourceRef"), s.SourceRef))
	f.Merge(backend(at.Child("destination"), s.Destination, secretsFrom{namespace: o.Namespace, whose: "the replication's namespace"}))
	f.Merge(cronSpec(at.Child("schedule"), s.Schedule, seed))
	f.Merge(mover(at.Child("mover"), s.Mover, noWorkload))
	if s.Sync != nil {
		f.Merge(blobSync(at.Child("sync"), *s.Sync))
	}
	if v := s.Verify; v != nil {
		at := at.Child("verify")
		f.Merge(cronSpec(at.Child("schedule"), v.Schedule, seed))
		if v.VerifyFilesPercent < 0 || v.VerifyFilesPercent > 100 {
			f.invalid(at.Child("verifyFilesPercent"), v.VerifyFilesPercent, "write 0 to 100")
		}
	}
	return f
}

func blobSync(at *field.Path, s kopiurv1.BlobSync) Findings {
	f := parallel(at.Child("parallel"), s.Parallel)
	for _, n := range []struct {
		field string
		value int64
	}{
		{"maxDownloadSpeedBytesPerSecond", s.MaxDownloadSpeedBytesPerSecond},
		{"maxUploadSpeedBytesPerSecond", s.MaxUploadSpeedBytesPerSecond},
	} {
		if n.value < 0 {
			f.invalid(at.Child(n.field), n.value, "write 0 or more; 0 is no limit")
		}
	}
	return f
}

// parallel checks how much is done at once; nil is one that was left out.
func parallel(at *field.Path, n *int32) Findings {
	f := atLeastOne(at, n)
	if n != nil && *n > maxParallel {
		f.invalid(at, *n, "write at most %d", maxParallel)
	}
	return f
}

// RepositoryReplicationOf checks a RepositoryReplication against the repository that it copies.
func RepositoryReplicationOf(o *kopiurv1.RepositoryReplication, source kopiurv1.RepositorySpec) Findings {
	var f Findings
	at := field.NewPath("spec", "destination")
	if SameLocation(source.Backend, o.Spec.Destination) {
		f.forbidden(at, "it is where %s is stored itself: write another place", o.Spec.SourceRef.In(o.Namespace))
	}
	f.Merge(MixedAuth(at.Child(o.Spec.Destination.Name(), "auth"), source.Backend, o.Spec.Destination))
	return f
}

// RepositoryReplicationDestination checks a RepositoryReplication among the others. Two sources in one place overwrite
// each other.
func RepositoryReplicationDestination(o *kopiurv1.RepositoryReplication, others []kopiurv1.RepositoryReplication) Findings {
	var f Findings
	at := field.NewPath("spec", "destination")
	mine := o.Spec.SourceRef.In(o.Namespace)
	for i := range others {
		other := &others[i]
		if other.Namespace == o.Namespace && other.Name == o.Name || !SamePlace(o, other) {
			continue
		}
		if theirs := other.Spec.SourceRef.In(other.Namespace); theirs != mine {
			f.forbidden(at, "RepositoryReplication %s/%s copies %s to the same place, and each would overwrite the other's copy: write another place",
				other.Namespace, other.Name, theirs)
			continue
		}
		f.warn(at, "RepositoryReplication %s/%s copies the same repository to the same place", other.Namespace, other.Name)
	}
	return f
}

// SamePlace compares two destinations.
func SamePlace(a, b *kopiurv1.RepositoryReplication) bool {
	p := Destination(a)
	return p != "" && p == Destination(b)
}

// Destination is where a replication copies to, as a text that is the same for each that copies there. A claim of the same
// name in another namespace is another claim.
func Destination(o *kopiurv1.RepositoryReplication) string {
	l := Location(o.Spec.Destination)
	if fs := o.Spec.Destination.Filesystem; l != "" && fs != nil && fs.Volume != nil && fs.Volume.PVC != nil {
		l += "\x00" + o.Namespace
	}
	return l
}

// SnapshotReplication checks a SnapshotReplication.
func SnapshotReplication(o *kopiurv1.SnapshotReplication) Findings {
	at, s := field.NewPath("spec"), &o.Spec
	f := labelName(field.NewPath("metadata", "name"), o.Name)
	f.Merge(RunRequest(o.Annotations))
	f.Merge(repositoryRef(at.Child("sourceRef"), s.SourceRef))
	f.Merge(repositoryRef(at.Child("destinationRef"), s.DestinationRef))
	if s.SourceRef.Name != "" && s.SourceRef.In(o.Namespace) == s.DestinationRef.In(o.Namespace) {
		f.forbidden(at.Child("destinationRef"), "it is the source itself: name another repository")
	}
	f.Merge(cronSpec(at.Child("schedule"), s.Schedule, o.Namespace+"/"+o.Name))
	if s.Selection != nil && s.Selection.Identities != nil {
		f.Merge(identityPatterns(at.Child("selection", "identities"), *s.Selection.Identities))
	}
	f.Merge(migrate(at.Child("migrate"), s.Migrate))
	f.Merge(pruning(at.Child("pruning"), s.Pruning))
	f.Merge(mover(at.Child("mover"), s.Mover, noWorkload))
	if s.SourceRef.KindOrDefault() == s.DestinationRef.KindOrDefault() {
		f.Merge(projection(at.Child("credentialProjection"), s.CredentialProjection, s.SourceRef))
	}
	return f
}

// SnapshotReplicationOf checks a SnapshotReplication against its two repositories.
func SnapshotReplicationOf(o *kopiurv1.SnapshotReplication, source, destination kopiurv1.RepositorySpec) Findings {
	var f Findings
	at := field.NewPath("spec", "destinationRef")
	src, dst := o.Spec.SourceRef.In(o.Namespace), o.Spec.DestinationRef.In(o.Namespace)
	if SameLocation(source.Backend, destination.Backend) {
		f.forbidden(at, "%s and %s are stored in the same place: name another repository", src, dst)
	}
	f.Merge(MixedAuth(at, source.Backend, destination.Backend))
	if destination.Mode == kopiurv1.ModeReadOnly {
		f.warn(at, "%s has mode ReadOnly: nothing is copied before it is ReadWrite", dst)
	}
	return f
}

func migrate(at *field.Path, m *kopiurv1.Migrate) Findings {
	var f Findings
	if m == nil {
		return f
	}
	f.Merge(parallel(at.Child("parallel"), m.Parallel))
	switch m.Policies {
	case "", kopiurv1.MigratePoliciesNone, kopiurv1.MigratePoliciesCopy, kopiurv1.MigratePoliciesCopyOverwrite:
	default:
		f.invalid(at.Child("policies"), string(m.Policies), "write none, copy or copyOverwrite")
	}
	if t := m.Throttle; t != nil {
		f.Merge(throttle(at.Child("throttle", "source"), t.Source))
		f.Merge(throttle(at.Child("throttle", "destination"), t.Destination))
	}
	return f
}

func pruning(at *field.Path, p *kopiurv1.ReplicationPruning) Findings {
	var f Findings
	if p == nil {
		return f
	}
	f.Merge(oneOf(at, variant{"none", p.None != nil}, variant{"mirrorSource", p.MirrorSource != nil}, variant{"retention", p.Retention != nil}))
	f.Merge(retention(at.Child("retention"), p.Retention))
	return f
}

func identityPatterns(at *field.Path, s kopiurv1.IdentitySelection) Findings {
	var f Findings
	for i, p := range s.Include {
		f.Merge(identityPattern(at.Child("include").Index(i), p))
	}
	for i, p := range s.Exclude {
		at := at.Child("exclude").Index(i)
		f.Merge(identityPattern(at, p))
		if p != (kopiurv1.IdentityPattern{}) && strings.Trim(p.Username+p.Hostname+p.SourcePath, "*") == "" {
			f.invalid(at, p.Username+"@"+p.Hostname+":"+p.SourcePath, "it excludes every identity, so that nothing would be copied: narrow it, or set suspend")
		}
	}
	return f
}

// identityPattern checks a pattern of globs. Each is that of the whole value, so what no value has can never match.
func identityPattern(at *field.Path, p kopiurv1.IdentityPattern) Findings {
	var f Findings
	if p == (kopiurv1.IdentityPattern{}) {
		f.required(at, "write at least one of username, hostname, sourcePath; leave the list out to select everything")
	}
	for _, part := range []struct{ field, value string }{{"username", p.Username}, {"hostname", p.Hostname}} {
		at := at.Child(part.field)
		if strings.ContainsAny(part.value, "@:") || strings.ContainsFunc(part.value, unicode.IsSpace) {
			f.invalid(at, part.value, "no %s has @, : or a space: username, hostname and sourcePath are fields of their own", part.field)
		}
		f.Merge(glob(at, part.value))
	}
	f.Merge(glob(at.Child("sourcePath"), p.SourcePath))
	return f
}

func glob(at *field.Path, s string) Findings {
	f := printable(at, s)
	if strings.Contains(s, ".*") || strings.HasPrefix(s, "^") || strings.HasSuffix(s, "$") {
		f.warn(at, "it looks like a regular expression; it is a glob of the whole value: * stands for any characters, ? for one, all else for itself")
	}
	return f
}
