// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package mapper

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/validation"
)

// Kinds of core objects that ours wait for.
const (
	KindSecret         = "Secret"
	KindConfigMap      = "ConfigMap"
	KindServiceAccount = "ServiceAccount"
	KindClaim          = "PersistentVolumeClaim"
	KindNamespace      = "Namespace"
)

// Object is the key of a core object.
func Object(kind, namespace, name string) string { return kind + "/" + namespace + "/" + name }

// anyIn is the key of "any object of this kind in the namespace", for those that wait and do not say what for.
func anyIn(kind, namespace string) string { return kind + "/" + namespace }

// Repository is the key of a repository. ref has to be filled in (RepositoryRef.In).
func Repository(ref kopiurv1.RepositoryRef) string {
	return string(ref.KindOrDefault()) + "/" + ref.Namespace + "/" + ref.Name
}

// Named is the key of a namespaced object of a kind that follows from the index.
func Named(namespace, name string) string { return namespace + "/" + name }

// RepositoryNeeds are the core objects that a repository's own movers use. objectNamespace is empty for a
// ClusterRepository.
func RepositoryNeeds(s kopiurv1.RepositorySpec, objectNamespace, operatorNamespace string) []string {
	home := s.HomeNamespace(objectNamespace, operatorNamespace)
	keys := []string{Object(KindSecret, home, s.Encryption.PasswordSecretRef.Name)}
	if n := s.Backend.SecretName(); n != "" && n != s.Encryption.PasswordSecretRef.Name {
		keys = append(keys, Object(KindSecret, home, n))
	}
	if ca := s.Backend.CAConfigMap(); ca != nil {
		keys = append(keys, Object(KindConfigMap, home, ca.ConfigMapName))
	}
	if n := s.Backend.ServiceAccount(); n != "" {
		keys = append(keys, Object(KindServiceAccount, home, n))
	}
	if seed := s.Seed; seed != nil && seed.From.Backend != nil {
		if n := seed.From.Backend.SecretName(); n != "" {
			keys = append(keys, Object(KindSecret, home, n))
		}
		if ca := seed.From.Backend.CAConfigMap(); ca != nil {
			keys = append(keys, Object(KindConfigMap, home, ca.ConfigMapName))
		}
	}
	fs := s.Backend.Filesystem
	switch {
	case fs == nil:
	case fs.Volume == nil:
		// A path of the node needs the namespace's permission.
		keys = append(keys, anyIn(KindNamespace, home))
	case fs.Volume.PVC != nil:
		keys = append(keys, Object(KindClaim, home, fs.Volume.PVC.Name))
	}
	if d := s.MoverDefaults; d != nil && (d.SecurityContext != nil || d.PodSecurityContext != nil) {
		keys = append(keys, anyIn(KindNamespace, home))
	}
	for _, key := range serverNeeds(s, home) {
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// serverNeeds are those of the web UI, which may be in another namespace.
func serverNeeds(s kopiurv1.RepositorySpec, home string) []string {
	if s.Server == nil {
		return nil
	}
	at := cmp.Or(s.Server.Namespace, home)
	var keys []string
	if a := s.Server.Auth; a != nil && a.SecretRef != nil {
		keys = append(keys, Object(KindSecret, at, a.SecretRef.Name))
	}
	fs := s.Backend.Filesystem
	switch {
	case fs == nil:
	case fs.Volume == nil:
		keys = append(keys, anyIn(KindNamespace, at))
	case fs.Volume.PVC != nil:
		keys = append(keys, Object(KindClaim, at, fs.Volume.PVC.Name))
	}
	if s.MoverDefaults != nil || s.Server.SecurityContext != nil || s.Server.PodSecurityContext != nil {
		keys = append(keys, anyIn(KindNamespace, at))
	}
	return keys
}

// RepositoryAiling is the UID of a repository whose last connects did not succeed. To the others the success of a mover
// is no news, and thousands of them a day would wake them for nothing.
func RepositoryAiling(s kopiurv1.RepositoryStatus, uid types.UID) []string {
	if s.Job == nil || s.Job.Failures == 0 {
		return nil
	}
	return []string{string(uid)}
}

// RepositoryUID is the UID of a repository that may still be created: its next mover waits for the end of the last one's
// pod.
func RepositoryUID(s kopiurv1.RepositoryStatus, uid types.UID) []string {
	if s.UniqueID != "" {
		return nil
	}
	return []string{string(uid)}
}

// PolicyRepository are the repositories of a policy.
func PolicyRepository(p *kopiurv1.SnapshotPolicy) []string {
	var keys []string
	for _, ref := range p.RepositoryRefs() {
		keys = append(keys, Repository(ref))
	}
	return keys
}

// PolicyAwaits is a policy's Namespace: its labels say whether a ClusterRepository may be used from there, and may say
// otherwise tomorrow.
func PolicyAwaits(p *kopiurv1.SnapshotPolicy) []string {
	return []string{anyIn(KindNamespace, p.Namespace)}
}

// FoundIn is the key of all that was found in a repository, FoundAs of what is filed there under one identity.
func FoundIn(ref kopiurv1.RepositoryRef) string { return Repository(ref) }

// FoundAs is FoundIn for one identity.
func FoundAs(ref kopiurv1.RepositoryRef, id kopiurv1.Identity) string {
	return Repository(ref) + "\x00" + id.String()
}

// SnapshotFound are the keys of a Snapshot that only shows what was found.
func SnapshotFound(s *kopiurv1.Snapshot) []string {
	ref := PinnedRepository(s)
	if s.Status.Phase != kopiurv1.SnapshotDiscovered || ref == nil || s.Status.Snapshot == nil {
		return nil
	}
	return []string{FoundIn(*ref), FoundAs(*ref, s.Status.Snapshot.Identity)}
}

// PolicyFiles are the repositories and identities that a policy's snapshots are filed under, as its status says.
func PolicyFiles(p *kopiurv1.SnapshotPolicy) []string {
	r := p.Status.Resolved
	if r == nil {
		return nil
	}
	var out []string
	add := func(ref kopiurv1.RepositoryRef, id *kopiurv1.Identity) {
		for i := range r.Sources {
			if id != nil {
				full := *id
				full.SourcePath = r.Sources[i].SourcePath
				out = append(out, FoundAs(ref, full))
			}
		}
	}
	if sole := p.SoleRepository(); sole != nil {
		add(*sole, r.Identity)
	}
	for _, one := range r.Repositories {
		add(one.Repository.In(p.Namespace), one.Identity)
	}
	return out
}

// PolicyClaims are the claims that a policy backs up: those it names, and for one that selects, any of its namespace.
func PolicyClaims(p *kopiurv1.SnapshotPolicy) []string {
	var keys []string
	for i := range p.Spec.Sources {
		if pvc := p.Spec.Sources[i].PVC; pvc != nil {
			keys = append(keys, Named(p.Namespace, pvc.Name))
		}
	}
	if slices.ContainsFunc(p.Spec.Sources, func(s kopiurv1.Source) bool { return s.PVCSelector != nil }) {
		keys = append(keys, anyIn(KindClaim, p.Namespace))
	}
	return keys
}

// SnapshotPolicyOf is the policy of a Snapshot, finished or not.
func SnapshotPolicyOf(s *kopiurv1.Snapshot) []string {
	if s.Spec.PolicyRef == nil {
		return nil
	}
	ref := s.Spec.PolicyRef.In(s.Namespace)
	return []string{Named(ref.Namespace, ref.Name)}
}

// OpenSnapshotPolicyOf is the policy of a Snapshot that may still change: a finished one is a record, and waking ten
// thousand of them for every edit of a policy would cost as many reconciles.
func OpenSnapshotPolicyOf(s *kopiurv1.Snapshot) []string {
	if !snapshotOpen(s) {
		return nil
	}
	return SnapshotPolicyOf(s)
}

// SnapshotAwaits are the kinds that an unfinished Snapshot waits for, with its namespace.
func SnapshotAwaits(s *kopiurv1.Snapshot) []string {
	if !snapshotOpen(s) {
		return nil
	}
	return awaits(s.Status.Conditions, s.Namespace, s.Status.Phase == kopiurv1.SnapshotFailed)
}

// SchedulePolicyOf is the policy that a schedule names; one that selects may mean any of its namespace.
func SchedulePolicyOf(s *kopiurv1.SnapshotSchedule) []string {
	switch {
	case s.Spec.PolicyRef != nil:
		ref := s.Spec.PolicyRef.In(s.Namespace)
		return []string{Named(ref.Namespace, ref.Name)}
	case s.Spec.PolicySelector != nil:
		return []string{selects(s.Namespace)}
	default:
		return nil
	}
}

// selects is the key of the schedules that select among the policies of a namespace. No policy is called that.
func selects(namespace string) string { return namespace + "/*" }

// SnapshotScheduleOf is the schedule that made a Snapshot.
func SnapshotScheduleOf(s *kopiurv1.Snapshot) []string {
	if name, _ := ScheduleOf(s); name != "" {
		return []string{Named(s.Namespace, name)}
	}
	return nil
}

// Unfinished is the one key of FieldUnfinished.
const Unfinished = "yes"

// SnapshotUnfinished files the Snapshots whose run is not over: those that are counted where runs are limited.
func SnapshotUnfinished(s *kopiurv1.Snapshot) []string {
	if s.Status.Phase.Terminal() || s.Status.Phase == kopiurv1.SnapshotDeleting {
		return nil
	}
	return []string{Unfinished}
}

// SnapshotUID is the UID of a Snapshot whose movers still matter: it is not finished, or its copy waits for their end.
func SnapshotUID(s *kopiurv1.Snapshot) []string {
	if !snapshotOpen(s) && s.Status.Staged == nil {
		return nil
	}
	return []string{string(s.UID)}
}

// snapshotOpen reports whether a Snapshot may still change by itself. A failed one may, unless a mover has reported: it
// is reopened when its cause goes away.
func snapshotOpen(s *kopiurv1.Snapshot) bool {
	return !s.Status.Phase.Terminal() || (s.Status.Phase == kopiurv1.SnapshotFailed && s.Status.Timing == nil)
}

// RestorePolicyOf is the policy that a Restore's source names.
func RestorePolicyOf(r *kopiurv1.Restore) []string {
	f := r.Spec.Source.FromPolicy
	if f == nil {
		return nil
	}
	ref := kopiurv1.ObjectRef{Name: f.Name, Namespace: f.Namespace}.In(r.Namespace)
	return []string{Named(ref.Namespace, ref.Name)}
}

// RestoreSnapshotOf is the Snapshot that a Restore's source names.
func RestoreSnapshotOf(r *kopiurv1.Restore) []string {
	if r.Spec.Source.SnapshotRef == nil {
		return nil
	}
	ref := r.Spec.Source.SnapshotRef.In(r.Namespace)
	return []string{Named(ref.Namespace, ref.Name)}
}

// RestoreRepositoryOf is the repository of a Restore that is not completed: the one it resolved to, or the one it names.
func RestoreRepositoryOf(r *kopiurv1.Restore) []string {
	if r.Status.Phase == kopiurv1.RestoreCompleted {
		return nil
	}
	switch {
	case r.Status.Resolved != nil && r.Status.Resolved.Repository != nil:
		return []string{Repository(r.Status.Resolved.Repository.In(r.Namespace))}
	case r.Spec.Repository != nil:
		return []string{Repository(r.Spec.Repository.In(r.Namespace))}
	default:
		return []string{anyRepository}
	}
}

// anyRepository is the key of the Restores whose repository follows from what their source names. They are few, and
// only until they have resolved it.
const anyRepository = "*"

// MaintenanceRepository is the repository that a Maintenance looks after.
func MaintenanceRepository(m *kopiurv1.Maintenance) []string {
	return []string{Repository(m.Spec.Repository.In(m.Namespace))}
}

// MaintenanceAwaits are the kinds that a Maintenance waits for, with its namespace.
func MaintenanceAwaits(m *kopiurv1.Maintenance) []string {
	return awaits(m.Status.Conditions, m.Namespace, m.Status.Failure != nil)
}

// ReplicationRepository is the repository that a RepositoryReplication copies.
func ReplicationRepository(r *kopiurv1.RepositoryReplication) []string {
	return []string{Repository(r.Spec.SourceRef.In(r.Namespace))}
}

// ReplicationDestination is where a RepositoryReplication copies to.
func ReplicationDestination(r *kopiurv1.RepositoryReplication) []string {
	if d := validation.Destination(r); d != "" {
		return []string{d}
	}
	return nil
}

// ReplicationAwaits are the kinds that a RepositoryReplication waits for, with its namespace. One that failed is tried
// again when its credentials change.
func ReplicationAwaits(r *kopiurv1.RepositoryReplication) []string {
	return awaits(r.Status.Conditions, r.Namespace, r.Status.Failure != nil)
}

// RestoreAwaits are the kinds that a Restore waits for, with its namespace. Failed ones are among them: they reopen when
// their credentials change.
func RestoreAwaits(r *kopiurv1.Restore) []string {
	if r.Status.Phase == kopiurv1.RestoreCompleted {
		return nil
	}
	return awaits(r.Status.Conditions, r.Namespace, r.Status.Phase == kopiurv1.RestoreFailed)
}

// awaited maps a condition that is False to the kinds whose change may turn it.
var awaited = map[string][]string{
	kopiurv1.ConditionCredentialsAvailable: {KindSecret, KindConfigMap, KindServiceAccount, KindClaim},
	kopiurv1.ConditionMoverPermitted:       {KindNamespace},
	kopiurv1.ConditionRepositoryReady:      {KindNamespace, KindClaim},
	kopiurv1.ConditionSourcePVCAvailable:   {KindClaim},
	kopiurv1.ConditionSourceStaged:         {KindClaim},
	kopiurv1.ConditionTargetAvailable:      {KindClaim},
}

func awaits(conditions []metav1.Condition, namespace string, failed bool) []string {
	set := map[string]bool{}
	for i := range conditions {
		if conditions[i].Status != metav1.ConditionFalse {
			continue
		}
		for _, kind := range awaited[conditions[i].Type] {
			set[kind] = true
		}
	}
	if failed {
		set[KindSecret], set[KindConfigMap] = true, true
	}
	var keys []string
	for _, kind := range []string{KindSecret, KindConfigMap, KindServiceAccount, KindClaim, KindNamespace} {
		if set[kind] {
			keys = append(keys, anyIn(kind, namespace))
		}
	}
	return keys
}

// SnapshotReplicationRepositories are the two of a SnapshotReplication.
func SnapshotReplicationRepositories(r *kopiurv1.SnapshotReplication) []string {
	return []string{Repository(r.Spec.SourceRef.In(r.Namespace)), Repository(r.Spec.DestinationRef.In(r.Namespace))}
}

// SnapshotReplicationAwaits are the kinds that a SnapshotReplication waits for, with its namespace. One whose last run
// failed is tried again when its credentials change.
func SnapshotReplicationAwaits(r *kopiurv1.SnapshotReplication) []string {
	return awaits(r.Status.Conditions, r.Namespace, r.Status.Phase == kopiurv1.ReplicationFailed)
}

// SeedSource is the repository that another one is to be filled from. namespace is that of the one to be filled.
func SeedSource(s kopiurv1.RepositorySpec, st kopiurv1.RepositoryStatus, namespace string) []string {
	if s.Seed == nil || s.Seed.From.Repository == nil || st.UniqueID != "" {
		return nil
	}
	return []string{Repository(s.Seed.From.Repository.In(namespace))}
}
