// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package mapper

import kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"

// Fields of the indexes, one name per meaning.
const (
	// FieldNeeds is on repositories: the core objects that their own movers use.
	FieldNeeds = "kopiur.needs"
	// FieldAiling is on repositories whose last connects did not succeed: their UID.
	FieldAiling = "kopiur.ailing"
	// FieldRepository is on policies, Restores, Maintenances, replications, and on repositories that are to be seeded: their
	// source.
	FieldRepository = "kopiur.repository"
	// FieldPolicy is on Snapshots, Restores and schedules.
	FieldPolicy = "kopiur.policy"
	// FieldOpenPolicy is on Snapshots that may still change.
	FieldOpenPolicy = "kopiur.openPolicy"
	// FieldSnapshot is on Restores.
	FieldSnapshot = "kopiur.snapshot"
	// FieldSchedule is on Snapshots: the schedule that made them.
	FieldSchedule = "kopiur.schedule"
	// FieldClaim is on policies: the claims they back up. Only the policies that select are woken by a claim.
	FieldClaim = "kopiur.claim"
	// FieldAwaits is on Snapshots, Restores, policies, Maintenances and replications: what they wait for.
	FieldAwaits = "kopiur.awaits"
	// FieldFound is on Snapshots that only show what was found: their repository, and with it the identity.
	FieldFound = "kopiur.found"
	// FieldFiles is on policies: the repository and identity that their snapshots are filed under.
	FieldFiles = "kopiur.files"
	// FieldUnfinished is on Snapshots whose run is not over.
	FieldUnfinished = "kopiur.unfinished"
	// FieldDataSource is on claims: the Restore that is to fill them.
	FieldDataSource = "kopiur.dataSource"
	// FieldDestination is on RepositoryReplications: where they copy to.
	FieldDestination = "kopiur.destination"
	// FieldUID is on Snapshots that may still change, or whose copy is not gone yet, and on repositories that may still be
	// created.
	FieldUID = "kopiur.uid"
)

// Kind is one of ours.
type Kind string

// Kinds that can be woken.
const (
	KindRepository        Kind = "Repository"
	KindClusterRepository Kind = "ClusterRepository"
	KindSnapshotPolicy    Kind = "SnapshotPolicy"
	KindSnapshot          Kind = "Snapshot"
	KindRestore           Kind = "Restore"
	KindSnapshotSchedule  Kind = "SnapshotSchedule"
	KindMaintenance       Kind = "Maintenance"

	KindRepositoryReplication Kind = "RepositoryReplication"
	KindSnapshotReplication   Kind = "SnapshotReplication"
)

// Lookup asks one index: which objects of Kind have Value in Field? Via, where it is set, asks on with every answer.
type Lookup struct {
	Kind         Kind
	Field, Value string
	// Via is the field of the woken kind that holds the answers' names: the answers themselves are not woken.
	Via Kind
}

// OfCore are the lookups for a changed Secret, ConfigMap, ServiceAccount, claim or Namespace, for one kind of ours.
func OfCore(woken Kind, kind, namespace, name string) []Lookup {
	if kind == KindNamespace {
		namespace, name = name, ""
	}
	switch woken {
	case KindRepository, KindClusterRepository:
		if name == "" {
			return []Lookup{{Kind: woken, Field: FieldNeeds, Value: anyIn(kind, namespace)}}
		}
		return []Lookup{{Kind: woken, Field: FieldNeeds, Value: Object(kind, namespace, name)}}
	case KindSnapshotPolicy:
		switch kind {
		case KindClaim:
			return []Lookup{{Kind: woken, Field: FieldClaim, Value: anyIn(kind, namespace)}}
		case KindNamespace:
			return []Lookup{{Kind: woken, Field: FieldAwaits, Value: anyIn(kind, namespace)}}
		default:
			return nil
		}
	case KindSnapshotReplication, KindMaintenance, KindRepositoryReplication:
		return []Lookup{{Kind: woken, Field: FieldAwaits, Value: anyIn(kind, namespace)}}
	case KindSnapshot, KindRestore:
		out := []Lookup{{Kind: woken, Field: FieldAwaits, Value: anyIn(kind, namespace)}}
		if woken == KindSnapshot && kind == KindNamespace {
			out = append(out, Deleting(DeletingIn(namespace)))
		}
		return out
	default:
		return nil
	}
}

// OfRepository are the lookups for a changed repository.
func OfRepository(woken Kind, ref kopiurv1.RepositoryRef) []Lookup {
	key := Repository(ref)
	switch woken {
	case KindSnapshotPolicy, KindSnapshotReplication:
		return []Lookup{{Kind: woken, Field: FieldRepository, Value: key}}
	case KindSnapshot:
		return []Lookup{{Kind: KindSnapshotPolicy, Field: FieldRepository, Value: key, Via: KindSnapshot}, Deleting(DeletingFrom(ref))}
	case KindRestore:
		return []Lookup{
			{Kind: woken, Field: FieldRepository, Value: key},
			{Kind: woken, Field: FieldRepository, Value: anyRepository},
		}
	case KindSnapshotSchedule:
		return []Lookup{{Kind: KindSnapshotPolicy, Field: FieldRepository, Value: key, Via: KindSnapshotSchedule}}
	case KindMaintenance, KindRepositoryReplication:
		return []Lookup{{Kind: woken, Field: FieldRepository, Value: Repository(ref)}}
	case KindRepository, KindClusterRepository:
		return []Lookup{{Kind: woken, Field: FieldRepository, Value: key}}
	default:
		return nil
	}
}

// OfDestination are the lookups for a RepositoryReplication that came, went or was edited: of those to one place only the
// elder one goes on.
func OfDestination(r *kopiurv1.RepositoryReplication) []Lookup {
	var out []Lookup
	for _, d := range ReplicationDestination(r) {
		out = append(out, Lookup{Kind: KindRepositoryReplication, Field: FieldDestination, Value: d})
	}
	return out
}

// OfPolicy are the lookups for a changed policy.
func OfPolicy(woken Kind, namespace, name string) []Lookup {
	switch woken {
	case KindSnapshot:
		return []Lookup{{Kind: woken, Field: FieldOpenPolicy, Value: Named(namespace, name)}, Deleting(DeletingOfPolicy(namespace, name))}
	case KindRestore:
		return []Lookup{{Kind: woken, Field: FieldPolicy, Value: Named(namespace, name)}}
	case KindSnapshotSchedule:
		return []Lookup{
			{Kind: woken, Field: FieldPolicy, Value: Named(namespace, name)},
			{Kind: woken, Field: FieldPolicy, Value: selects(namespace)},
		}
	case KindRepository, KindClusterRepository, KindSnapshotPolicy, KindSnapshotReplication, KindMaintenance, KindRepositoryReplication:
		return nil
	default:
		return nil
	}
}

// OfRepositoryUID is the lookup for a mover's Job that succeeded: it has the label with its repository's UID.
func OfRepositoryUID(woken Kind, uid string) []Lookup {
	if (woken != KindRepository && woken != KindClusterRepository) || uid == "" {
		return nil
	}
	return []Lookup{{Kind: woken, Field: FieldAiling, Value: uid}}
}

// OfOwnerUID is the lookup for a pod whose Job is gone: it only has the label with its owner's UID.
func OfOwnerUID(woken Kind, uid string) []Lookup {
	if uid == "" {
		return nil
	}
	switch woken {
	case KindSnapshot, KindRepository, KindClusterRepository:
		return []Lookup{{Kind: woken, Field: FieldUID, Value: uid}}
	default:
		return nil
	}
}

// OfFound are the lookups for a Snapshot that shows what was found.
func OfFound(s *kopiurv1.Snapshot) []Lookup {
	ref := PinnedRepository(s)
	if ref == nil || s.Status.Snapshot == nil {
		return nil
	}
	return []Lookup{{Kind: KindSnapshotPolicy, Field: FieldFiles, Value: FoundAs(*ref, s.Status.Snapshot.Identity)}}
}

// OfSnapshot are the lookups for a changed Snapshot.
func OfSnapshot(woken Kind, s *kopiurv1.Snapshot) []Lookup {
	if woken != KindRestore {
		return nil
	}
	return []Lookup{{Kind: woken, Field: FieldSnapshot, Value: Named(s.Namespace, s.Name)}}
}
