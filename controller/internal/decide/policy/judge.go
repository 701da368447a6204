// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kopiur/kopiur/apis/expand"
	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/validation"
	"github.com/kopiur/kopiur/controller/internal/gates"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

// Seen is one of a policy's repositories.
type Seen struct {
	Ref kopiurv1.RepositoryRef
	// Repository is nil where it does not exist, Allowed whether it takes snapshots of the policy's namespace.
	Repository *moverjob.Repository
	Allowed    bool
	// Others are the policies that use it, this one among them, Selected the paths that their selectors find.
	Others   []kopiurv1.SnapshotPolicy
	Selected Selected
	History  History
}

// Verdict is what a policy's status says.
type Verdict struct {
	Resolved kopiurv1.PolicyResolved
	// Summary names the repositories for people.
	Summary string
	// LastSuccess is the newest end of a run, Count how many snapshots there are.
	LastSuccess string
	Count       int64
	// Stalled is a fault of the policy; it stays until somebody acts.
	Stalled Fault
	// Waiting is for a repository.
	Waiting Fault
	// Empty: the policy's selectors find nothing. It is waited for.
	Empty Fault
	// Together: its runs cover several claims that are to be cut at one instant. Ungroupable says why they cannot be.
	Together    bool
	Ungroupable Fault
	// Idle are its selectors that find nothing, where others do.
	Idle []string
}

// Judge says whether snapshots of a policy can be made, and under which identities. claims are those of its namespace. It
// is total. groups reports whether the cluster serves VolumeGroupSnapshots; it is only asked where they are needed.
func Judge(p *kopiurv1.SnapshotPolicy, claims []corev1.PersistentVolumeClaim, seen []Seen, groups bool) Verdict {
	v := Verdict{LastSuccess: p.Status.LastSuccessfulSnapshot, Idle: expand.Idle(p, claims)}
	sources, refusal := Sources(p, claims)
	v.Resolved.Sources, v.Together = sources, Together(p, claims)
	switch {
	case refusal != nil && refusal.Reason == kopiurv1.ReasonGroupSnapshotUnsupported:
		v.Ungroupable = Fault{Reason: refusal.Reason, Message: refusal.Message}
	case v.Together && !groups:
		v.Ungroupable = Fault{
			Reason: kopiurv1.ReasonGroupSnapshotUnsupported,
			Message: "its runs cover several claims that are to be cut at one instant, and this cluster does not serve VolumeGroupSnapshots (groupsnapshot.storage.k8s.io): " +
				"install their CRDs and a snapshot controller that knows them, or write groupBy: None where each claim may be cut for itself",
		}
	}
	var names []string
	for _, s := range seen {
		names = append(names, s.Ref.String())
		v.Count += s.History.Count
		// It never goes back when a Snapshot is pruned: the backup was made.
		v.LastSuccess = max(v.LastSuccess, s.History.LastEnd)
	}
	v.Summary = strings.Join(names, ", ")
	if refusal := validation.Guard(p); refusal.Refused() {
		v.Stalled = Fault{Reason: refusal.Reason, Message: refusal.Message}
	}
	switch {
	case refusal == nil || v.Stalled.Found():
	case refusal.Reason == kopiurv1.ReasonNoClaimsSelected:
		v.Empty = Fault{Reason: refusal.Reason, Message: refusal.Message}
	default:
		v.Stalled = Fault{Reason: refusal.Reason, Message: refusal.Message}
	}
	several := len(p.Spec.Repositories) > 0
	for _, s := range seen {
		id, fault := judgeOne(p, s, v.Resolved.Sources)
		if fault.Found() {
			// What the snapshots lie under stays on record: it is what the next edit is held against.
			if was := Remembered(p, s.Ref); was != nil {
				id = was
			}
			if !v.Stalled.Found() {
				v.Stalled = named(several, s.Ref, fault)
			}
		}
		if several {
			v.Resolved.Repositories = append(v.Resolved.Repositories, kopiurv1.ResolvedRepository{Repository: s.Ref, Identity: id})
		} else {
			v.Resolved.Identity = id
		}
		if g := gates.Repository(s.Ref.String(), s.Repository, s.Allowed); !g.Open && !v.Waiting.Found() {
			v.Waiting = Fault{Reason: g.Reason, Message: g.Message}
		} else if g.Open && !v.Waiting.Found() {
			if w := gates.Writable(*s.Repository); !w.Open {
				v.Waiting = Fault{Reason: w.Reason, Message: w.Message}
			}
		}
	}
	return v
}

// Together reports whether the runs of a policy cover several claims that are to be cut at one instant.
func Together(p *kopiurv1.SnapshotPolicy, claims []corev1.PersistentVolumeClaim) bool {
	members, refusal := expand.Members(p, claims)
	if refusal != nil {
		return refusal.Reason == kopiurv1.ReasonGroupSnapshotUnsupported
	}
	return len(expand.Together(p, members)) > 0
}

// named puts the repository in front of a fault where there are several.
func named(several bool, ref kopiurv1.RepositoryRef, f Fault) Fault {
	if several {
		f.Message = ref.String() + ": " + f.Message
	}
	return f
}

// judgeOne is the identity in one repository, without a path, nil while the repository does not exist.
func judgeOne(p *kopiurv1.SnapshotPolicy, s Seen, sources []kopiurv1.ResolvedSource) (*kopiurv1.Identity, Fault) {
	if s.Repository == nil {
		return Remembered(p, s.Ref), Fault{}
	}
	rule, fault := Rule(s.Ref, s.Repository.Spec.IdentityDefaults)
	if fault.Found() {
		return nil, fault
	}
	id, fault := Identity(p, s.Ref, rule, "")
	if fault.Found() {
		return nil, fault
	}
	var paths []string
	for _, src := range sources {
		paths = append(paths, src.SourcePath)
	}
	if fault := Collides(p, s.Ref, rule, id, paths, s.Others, s.Selected); fault.Found() {
		return &id, fault
	}
	allowed := s.Repository.AllowIdentityChange || p.Annotations[kopiurv1.AnnotationAllowIdentityChange] != ""
	if fault := Forked(s.History, id, "", allowed); fault.Found() {
		return nil, fault
	}
	for _, src := range sources {
		full := id
		full.SourcePath = src.SourcePath
		if fault := Forked(s.History, full, src.PVC, allowed); fault.Found() {
			return nil, fault
		}
	}
	return &id, Fault{}
}
