// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Parse reads a Duration: Go's h, m, s and ms, or bare seconds. Days are not a unit, because their length depends on
// who asks. An empty value is def.
func (d Duration) Parse(def time.Duration) (time.Duration, error) {
	s := strings.TrimSpace(string(d))
	if s == "" {
		return def, nil
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		if n < 0 || n > int64(100*365*24*time.Hour/time.Second) {
			return 0, fmt.Errorf("duration %q is out of range", s)
		}
		return time.Duration(n) * time.Second, nil
	}
	v, err := time.ParseDuration(s)
	if err != nil || v < 0 {
		return 0, fmt.Errorf("duration %q is not understood: write it like 90s, 10m or 1h30m", s)
	}
	return v, nil
}

// KindOrDefault is the reference's kind, Repository where it is left out.
func (r RepositoryRef) KindOrDefault() RepositoryKind {
	if r.Kind == "" {
		return KindRepository
	}
	return r.Kind
}

// In fills in kind and namespace as seen from an object in namespace ns. Watches and reconcilers both use it, so that
// they cannot disagree about what a reference means.
func (r RepositoryRef) In(ns string) RepositoryRef {
	r.Kind = r.KindOrDefault()
	switch {
	case r.Kind == KindClusterRepository:
		r.Namespace = ""
	case r.Namespace == "":
		r.Namespace = ns
	}
	return r
}

// String names the repository for people: "Repository apps/nas", "ClusterRepository offsite".
func (r RepositoryRef) String() string {
	if r.Namespace == "" {
		return string(r.KindOrDefault()) + " " + r.Name
	}
	return string(r.KindOrDefault()) + " " + r.Namespace + "/" + r.Name
}

// In fills in the namespace as seen from an object in namespace ns.
func (r ObjectRef) In(ns string) ObjectRef {
	if r.Namespace == "" {
		r.Namespace = ns
	}
	return r
}

// In fills in the namespace as seen from an object in namespace ns.
func (r PolicyRef) In(ns string) ObjectRef { return ObjectRef(r).In(ns) }

// KeyOrDefault is the key, or def where it is left out.
func (r SecretKeyRef) KeyOrDefault(def string) string {
	if r.Key == "" {
		return def
	}
	return r.Key
}

// CreateEnabled reports whether a missing repository may be created: by default yes.
func (s RepositorySpec) CreateEnabled() bool {
	return s.Create == nil || s.Create.Enabled == nil || *s.Create.Enabled
}

// HomeNamespace is where a repository's Secrets lie and its own Jobs run (product decision "home namespace"): the
// Repository's namespace, or for a ClusterRepository (objectNamespace "") that of its password Secret, else the
// operator's.
func (s RepositorySpec) HomeNamespace(objectNamespace, operatorNamespace string) string {
	switch {
	case objectNamespace != "":
		return objectNamespace
	case s.Encryption.PasswordSecretRef.Namespace != "":
		return s.Encryption.PasswordSecretRef.Namespace
	default:
		return operatorNamespace
	}
}

// ReadOnlyOrDefault reports whether a source is mounted read-only: by default yes.
func (s Source) ReadOnlyOrDefault() bool { return s.ReadOnly == nil || *s.ReadOnly }

// PublishesReadWrite reports whether a source's claim is attached so that it could be written to.
func (s Source) PublishesReadWrite() bool {
	return s.PVCPublicationReadOnly != nil && !*s.PVCPublicationReadOnly
}

// Path is the path a source's snapshots are filed under, "" where it depends on the claim that a selector finds.
func (s Source) Path(namespace string) string {
	switch {
	case s.SourcePathOverride != "":
		return s.SourcePathOverride
	case s.PVC != nil:
		return s.ClaimPath(namespace, s.PVC.Name)
	case s.NFS != nil:
		return s.NFS.Path
	case s.Stream != nil:
		return "/stream/" + s.Stream.FileName
	default:
		return ""
	}
}

// ClaimPath is the path one claim's snapshots are filed under unless the source says otherwise.
func (s Source) ClaimPath(namespace, name string) string {
	if s.SourcePathStrategy == SourcePathPVCNamespacedName {
		return "/pvc/" + namespace + "/" + name
	}
	return "/pvc/" + name
}

// RepositoryRefs are the policy's repositories, filled in as seen from its namespace. Watches and reconcilers use it.
func (p *SnapshotPolicy) RepositoryRefs() []RepositoryRef {
	var out []RepositoryRef
	if r := p.Spec.Repository; r != nil {
		out = append(out, r.In(p.Namespace))
	}
	for _, r := range p.Spec.Repositories {
		out = append(out, r.In(p.Namespace))
	}
	return out
}

// SoleRepository is the policy's repository where it has one and not several, nil otherwise.
func (p *SnapshotPolicy) SoleRepository() *RepositoryRef {
	if p.Spec.Repository == nil || len(p.Spec.Repositories) > 0 {
		return nil
	}
	return new(p.Spec.Repository.In(p.Namespace))
}

// String writes an identity as kopia does.
func (i Identity) String() string { return i.Username + "@" + i.Hostname + ":" + i.SourcePath }

// Terminal reports whether the mover of a Snapshot has given its final result, so that no other run will follow.
func (p SnapshotPhase) Terminal() bool {
	switch p {
	case SnapshotSucceeded, SnapshotFailed, SnapshotUnchanged, SnapshotDiscovered:
		return true
	default:
		return false
	}
}

// Terminal reports whether a Restore is over.
func (p RestorePhase) Terminal() bool { return p == RestoreCompleted || p == RestoreFailed }

// maxLabelValue is the most that Kubernetes takes.
const maxLabelValue = 63

// LabelValue is a name as the value of a label. A name may be four times as long as a label's value; a long one is cut
// and marked with its own hash, so that two that begin alike stay apart.
func LabelValue(name string) string {
	if len(name) <= maxLabelValue {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	tail := "-" + hex.EncodeToString(sum[:4])
	return strings.TrimRight(name[:maxLabelValue-len(tail)], "-.") + tail
}
