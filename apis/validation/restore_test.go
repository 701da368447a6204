// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// back is a Restore in namespace apps that has nothing wrong.
func back(changes ...func(*kopiurv1.RestoreSpec)) *kopiurv1.Restore {
	r := &kopiurv1.Restore{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "back"}}
	r.Spec.Source.SnapshotRef = &kopiurv1.ObjectRef{Name: "monday"}
	r.Spec.Target.PVC = &kopiurv1.TargetPVC{Name: "data-new", Capacity: "10Gi"}
	for _, change := range changes {
		change(&r.Spec)
	}
	return r
}

type restores = func(*kopiurv1.RestoreSpec)

func ofPolicy(p kopiurv1.FromPolicy) restores {
	return func(s *kopiurv1.RestoreSpec) { s.Source = kopiurv1.RestoreSource{FromPolicy: &p} }
}

// ofIdentity reads an identity's snapshots from a repository that is named.
func ofIdentity(change func(*kopiurv1.FromIdentity)) restores {
	return func(s *kopiurv1.RestoreSpec) {
		i := kopiurv1.FromIdentity{Username: "db", Hostname: "apps", SourcePath: "/pvc/data"}
		change(&i)
		s.Source = kopiurv1.RestoreSource{Identity: &i}
		s.Repository = &kopiurv1.RepositoryRef{Name: "nas"}
	}
}

func newClaim(change func(*kopiurv1.TargetPVC)) restores {
	return func(s *kopiurv1.RestoreSpec) { change(s.Target.PVC) }
}

func intoClaim(r kopiurv1.TargetPVCRef) restores {
	return func(s *kopiurv1.RestoreSpec) { s.Target = kopiurv1.RestoreTarget{PVCRef: &r} }
}

func populating(s *kopiurv1.RestoreSpec) {
	s.Target = kopiurv1.RestoreTarget{Populator: &kopiurv1.PopulatorTarget{}}
}

func streaming(change func(*kopiurv1.StreamTarget)) restores {
	return func(s *kopiurv1.RestoreSpec) {
		t := kopiurv1.StreamTarget{FileName: "db.sql", WorkloadExec: kopiurv1.WorkloadExec{
			PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}, Command: []string{"psql", "app"},
		}}
		change(&t)
		s.Target = kopiurv1.RestoreTarget{StreamExec: &t}
	}
}

func unchanged[T any](*T) {}

func optional(o kopiurv1.RestoreOptions) restores {
	return func(s *kopiurv1.RestoreSpec) { s.Options = &o }
}

func takingOver(i kopiurv1.InheritSecurityContextFrom) restores {
	return func(s *kopiurv1.RestoreSpec) { s.Mover = &kopiurv1.MoverSpec{InheritSecurityContextFrom: &i} }
}

func waiting(wait kopiurv1.Duration, deadline int64) restores {
	return func(s *kopiurv1.RestoreSpec) {
		s.Policy = &kopiurv1.RestorePolicy{WaitTimeout: wait}
		if deadline != 0 {
			s.FailurePolicy = &kopiurv1.FailurePolicy{ActiveDeadlineSeconds: &deadline}
		}
	}
}

func part(path string) restores { return func(s *kopiurv1.RestoreSpec) { s.SubPath = path } }

func projected(ref kopiurv1.RepositoryRef) restores {
	return func(s *kopiurv1.RestoreSpec) {
		s.Repository, s.CredentialProjection = &ref, &kopiurv1.CredentialProjection{Enabled: true}
	}
}

func TestRestoreSource(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		restore            *kopiurv1.Restore
		wantErr, wantWarns string
	}{
		"a snapshot into a new claim passes":          {back(), "", ""},
		"a snapshot of another namespace passes":      {back(func(s *kopiurv1.RestoreSpec) { s.Source.SnapshotRef.Namespace = "other" }), "", ""},
		"no source is refused":                        {back(func(s *kopiurv1.RestoreSpec) { s.Source = kopiurv1.RestoreSource{} }), "spec.source: Required value: write exactly one of snapshotRef, fromPolicy, identity", ""},
		"two sources are refused":                     {back(func(s *kopiurv1.RestoreSpec) { s.Source.FromPolicy = &kopiurv1.FromPolicy{Name: "db"} }), "spec.source: Forbidden: snapshotRef and fromPolicy are set", ""},
		"a name that no Snapshot has is refused":      {back(func(s *kopiurv1.RestoreSpec) { s.Source.SnapshotRef.Name = "Monday!" }), `spec.source.snapshotRef.name: Invalid value: "Monday!"`, ""},
		"a namespace that cannot be is refused":       {back(func(s *kopiurv1.RestoreSpec) { s.Source.SnapshotRef.Namespace = "a/b" }), "spec.source.snapshotRef.namespace: Invalid value", ""},
		"a policy's newest passes":                    {back(ofPolicy(kopiurv1.FromPolicy{Name: "db"})), "", ""},
		"a policy's snapshot at a time passes":        {back(ofPolicy(kopiurv1.FromPolicy{Name: "db", AsOf: "2026-03-05T09:00:00+01:00", Offset: 2, SourcePath: "/pvc/data"})), "", ""},
		"a policy without a name is refused":          {back(ofPolicy(kopiurv1.FromPolicy{})), "spec.source.fromPolicy.name: Required", ""},
		"a day is no time":                            {back(ofPolicy(kopiurv1.FromPolicy{Name: "db", AsOf: "2026-03-05"})), `spec.source.fromPolicy.asOf: Invalid value: "2026-03-05": write an RFC 3339 time`, ""},
		"a time without a zone is refused":            {back(ofPolicy(kopiurv1.FromPolicy{Name: "db", AsOf: "2026-03-05T09:00:00"})), "with its zone", ""},
		"a negative offset is refused":                {back(ofPolicy(kopiurv1.FromPolicy{Name: "db", Offset: -1})), "spec.source.fromPolicy.offset: Invalid value: -1: write 0 for the newest", ""},
		"a path over two lines is refused":            {back(ofPolicy(kopiurv1.FromPolicy{Name: "db", SourcePath: "/pvc/data\n"})), "spec.source.fromPolicy.sourcePath: Invalid value", ""},
		"an identity passes with its repository":      {back(ofIdentity(unchanged)), "", ""},
		"an identity needs the repository":            {back(ofIdentity(unchanged), func(s *kopiurv1.RestoreSpec) { s.Repository = nil }), "spec.repository: Required value: write the repository that holds the snapshots", ""},
		"an identity at a time passes":                {back(ofIdentity(func(i *kopiurv1.FromIdentity) { i.AsOf, i.Offset = "2026-03-05T09:00:00Z", 1 })), "", ""},
		"one snapshot by its id passes":               {back(ofIdentity(func(i *kopiurv1.FromIdentity) { i.SnapshotID, i.SourcePath = "k2f0", "" })), "", ""},
		"an id and a time contradict each other":      {back(ofIdentity(func(i *kopiurv1.FromIdentity) { i.SnapshotID, i.AsOf = "k2f0", "2026-03-05T09:00:00Z" })), "spec.source.identity.snapshotID: Forbidden: it names one snapshot, asOf and offset pick another", ""},
		"an id and an offset contradict each other":   {back(ofIdentity(func(i *kopiurv1.FromIdentity) { i.SnapshotID, i.Offset = "k2f0", 1 })), "keep one or the other", ""},
		"an identity without a path may be ambiguous": {back(ofIdentity(func(i *kopiurv1.FromIdentity) { i.SourcePath = "" })), "", "snapshots of more than one path"},
		"a populator takes the path of each claim":    {back(ofIdentity(func(i *kopiurv1.FromIdentity) { i.SourcePath = "" }), populating), "", ""},
		"an identity written in one is refused":       {back(ofIdentity(func(i *kopiurv1.FromIdentity) { i.Username = "db@apps" })), `spec.source.identity.username: Invalid value: "db@apps": write it without @`, ""},
		"a host with a path is refused":               {back(ofIdentity(func(i *kopiurv1.FromIdentity) { i.Hostname = "apps:/pvc/data" })), "spec.source.identity.hostname: Invalid value", ""},
		"an identity has a host":                      {back(ofIdentity(func(i *kopiurv1.FromIdentity) { i.Hostname = "" })), "spec.source.identity.hostname: Required value", ""},
		"a repository may replace the snapshot's own": {back(func(s *kopiurv1.RestoreSpec) {
			s.Repository = &kopiurv1.RepositoryRef{Name: "mirror", Kind: kopiurv1.KindClusterRepository}
		}), "", ""},
		"a ClusterRepository has no namespace": {back(func(s *kopiurv1.RestoreSpec) {
			s.Repository = &kopiurv1.RepositoryRef{Name: "mirror", Kind: kopiurv1.KindClusterRepository, Namespace: "apps"}
		}), "spec.repository.namespace: Forbidden", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			matches(t, Restore(tc.restore), tc.wantErr, tc.wantWarns)
		})
	}
}

func TestRestoreTarget(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		restore            *kopiurv1.Restore
		wantErr, wantWarns string
	}{
		"no target is refused":                             {back(func(s *kopiurv1.RestoreSpec) { s.Target = kopiurv1.RestoreTarget{} }), "spec.target: Required value: write exactly one of pvc, pvcRef, populator, streamExec", ""},
		"two targets are refused":                          {back(func(s *kopiurv1.RestoreSpec) { s.Target.Populator = &kopiurv1.PopulatorTarget{} }), "spec.target: Forbidden: pvc and populator are set", ""},
		"a new claim needs a name":                         {back(newClaim(func(p *kopiurv1.TargetPVC) { p.Name = "" })), "spec.target.pvc.name: Required", ""},
		"a new claim needs a size":                         {back(newClaim(func(p *kopiurv1.TargetPVC) { p.Capacity = "" })), "spec.target.pvc.capacity: Required value: write the size of the new claim, such as 10Gi", ""},
		"a size of nothing is refused":                     {back(newClaim(func(p *kopiurv1.TargetPVC) { p.Capacity = "0Gi" })), `spec.target.pvc.capacity: Invalid value: "0Gi": write more than 0`, ""},
		"a negative size is refused":                       {back(newClaim(func(p *kopiurv1.TargetPVC) { p.Capacity = "-1Gi" })), "spec.target.pvc.capacity: Invalid value", ""},
		"a size with a unit of disks is refused":           {back(newClaim(func(p *kopiurv1.TargetPVC) { p.Capacity = "10GB" })), `spec.target.pvc.capacity: Invalid value: "10GB": write an amount like`, ""},
		"a size in bytes passes":                           {back(newClaim(func(p *kopiurv1.TargetPVC) { p.Capacity = "10737418240" })), "", ""},
		"a class that cannot be is refused":                {back(newClaim(func(p *kopiurv1.TargetPVC) { p.StorageClassName = "fast disk" })), "spec.target.pvc.storageClassName: Invalid value", ""},
		"the usual access modes pass":                      {back(newClaim(func(p *kopiurv1.TargetPVC) { p.AccessModes = modes("ReadWriteOnce", "ReadOnlyMany") })), "", ""},
		"a claim that nobody may write is refused":         {back(newClaim(func(p *kopiurv1.TargetPVC) { p.AccessModes = modes("ReadOnlyMany") })), "nobody could write to the claim", ""},
		"an access mode in short is refused":               {back(newClaim(func(p *kopiurv1.TargetPVC) { p.AccessModes = modes("RWO") })), `spec.target.pvc.accessModes[0]: Invalid value: "RWO"`, ""},
		"ReadWriteOncePod stands alone":                    {back(newClaim(func(p *kopiurv1.TargetPVC) { p.AccessModes = modes("ReadWriteOncePod", "ReadWriteOnce") })), "ReadWriteOncePod stands alone", ""},
		"ReadWriteOncePod alone passes":                    {back(newClaim(func(p *kopiurv1.TargetPVC) { p.AccessModes = modes("ReadWriteOncePod") })), "", ""},
		"an existing claim passes":                         {back(intoClaim(kopiurv1.TargetPVCRef{Name: "data", IfInUse: kopiurv1.InUseRefuse})), "", ""},
		"its own namespace may be spelled out":             {back(intoClaim(kopiurv1.TargetPVCRef{Name: "data", Namespace: "apps"})), "", ""},
		"a claim of another namespace is refused":          {back(intoClaim(kopiurv1.TargetPVCRef{Name: "data", Namespace: "other"})), `spec.target.pvcRef.namespace: Invalid value: "other": a mover mounts claims of its own namespace only: create the Restore in other`, ""},
		"an existing claim needs a name":                   {back(intoClaim(kopiurv1.TargetPVCRef{})), "spec.target.pvcRef.name: Required", ""},
		"what to do about users is one of two":             {back(intoClaim(kopiurv1.TargetPVCRef{Name: "data", IfInUse: "Ignore"})), "spec.target.pvcRef.ifInUse: Invalid value: \"Ignore\": write Warn or Refuse", ""},
		"a populator passes":                               {back(populating), "", ""},
		"a stream passes":                                  {back(streaming(unchanged)), "", ""},
		"a stream's file is a single name":                 {back(streaming(func(s *kopiurv1.StreamTarget) { s.FileName = "dumps/db.sql" })), "spec.target.streamExec.fileName: Invalid value", ""},
		"a stream needs a file":                            {back(streaming(func(s *kopiurv1.StreamTarget) { s.FileName = "" })), "spec.target.streamExec.fileName: Required", ""},
		"a stream into any pod is refused":                 {back(streaming(func(s *kopiurv1.StreamTarget) { s.WorkloadExec.PodSelector = metav1.LabelSelector{} })), "spec.target.streamExec.workloadExec.podSelector: Required", ""},
		"a stream needs a command":                         {back(streaming(func(s *kopiurv1.StreamTarget) { s.WorkloadExec.Command = nil })), "spec.target.streamExec.workloadExec.command: Required", ""},
		"a stream's command is no line of a shell":         {back(streaming(func(s *kopiurv1.StreamTarget) { s.WorkloadExec.Command = []string{"psql app < /dev/stdin"} })), "no shell is involved", ""},
		"a part of a snapshot passes":                      {back(part("etc/app.conf")), "", ""},
		"a part with an odd name passes":                   {back(part("etc/..conf/a b")), "", ""},
		"an absolute part is refused":                      {back(part("/etc/app.conf")), `spec.subPath: Invalid value: "/etc/app.conf": write it relative to the top of the snapshot: etc/app.conf`, ""},
		"a part that climbs is refused":                    {back(part("etc/../../root")), `spec.subPath: Invalid value: "etc/../../root": write it without ..`, ""},
		"the top is no part":                               {back(part("/")), "leave it out for all of the snapshot", ""},
		"a part may not cost all the rest":                 {back(part("etc"), optional(kopiurv1.RestoreOptions{EnableFileDeletion: new(true)})), "spec.options.enableFileDeletion: Forbidden: with subPath it would delete all of the volume but that part", ""},
		"a stream names its file already":                  {back(streaming(unchanged), part("dumps")), "spec.subPath: Forbidden: target.streamExec.fileName names the file already", ""},
		"copies of a ClusterRepository's Secrets pass":     {back(projected(kopiurv1.RepositoryRef{Name: "nas", Kind: kopiurv1.KindClusterRepository})), "", ""},
		"copies of a Repository's Secrets are not made":    {back(projected(kopiurv1.RepositoryRef{Name: "nas"})), "", "Secrets of a Repository are never copied"},
		"copies may be wished for without naming the repo": {back(func(s *kopiurv1.RestoreSpec) { s.CredentialProjection = &kopiurv1.CredentialProjection{Enabled: true} }), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			matches(t, Restore(tc.restore), tc.wantErr, tc.wantWarns)
		})
	}
}

func modes(names ...corev1.PersistentVolumeAccessMode) []corev1.PersistentVolumeAccessMode {
	return names
}

func TestRestoreSettings(t *testing.T) {
	t.Parallel()
	selected := kopiurv1.InheritSecurityContextFrom{WorkloadSelector: &kopiurv1.WorkloadSelector{PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}}}
	recorded := kopiurv1.InheritSecurityContextFrom{Snapshot: &kopiurv1.InheritFromSnapshot{}}
	for name, tc := range map[string]struct {
		restore            *kopiurv1.Restore
		wantErr, wantWarns string
	}{
		"no options pass": {back(optional(kopiurv1.RestoreOptions{})), "", ""},
		"all kopia's defaults spelled out pass": {back(optional(kopiurv1.RestoreOptions{
			EnableFileDeletion: new(false), OverwriteFiles: new(true), OverwriteDirectories: new(true), OverwriteSymlinks: new(true), Parallel: new(int32(8)),
		})), "", ""},
		"deleting what is extra passes":              {back(optional(kopiurv1.RestoreOptions{EnableFileDeletion: new(true)})), "", ""},
		"deleting what is extra and keeping files":   {back(optional(kopiurv1.RestoreOptions{EnableFileDeletion: new(true), OverwriteFiles: new(false)})), "spec.options.enableFileDeletion: Forbidden: it deletes what the snapshot has not, and overwriteFiles: false", ""},
		"deleting what is extra and keeping folders": {back(optional(kopiurv1.RestoreOptions{EnableFileDeletion: new(true), OverwriteDirectories: new(false)})), "overwriteDirectories: false", ""},
		"deleting what is extra and keeping links":   {back(optional(kopiurv1.RestoreOptions{EnableFileDeletion: new(true), OverwriteSymlinks: new(false)})), "overwriteSymlinks: false", ""},
		"comparing times that are never set":         {back(optional(kopiurv1.RestoreOptions{SkipExisting: new(true), SkipTimes: new(true)})), "", "spec.options.skipExisting: it compares times"},
		"no file at a time is refused":               {back(optional(kopiurv1.RestoreOptions{Parallel: new(int32(0))})), "spec.options.parallel: Invalid value: 0", ""},
		"a thousand files at a time are refused":     {back(optional(kopiurv1.RestoreOptions{Parallel: new(int32(1000))})), "write at most 256", ""},
		"a stream writes no files":                   {back(streaming(unchanged), optional(kopiurv1.RestoreOptions{SkipOwners: new(true)})), "", "spec.options.skipOwners: it is not used with target.streamExec"},
		"a stream is whole or not at all":            {back(streaming(unchanged), optional(kopiurv1.RestoreOptions{IgnoreErrors: new(true)})), "spec.options.ignoreErrors: Forbidden: half a file", ""},
		"a user from a workload passes":              {back(takingOver(selected)), "", ""},
		"a user from the backup passes":              {back(takingOver(recorded)), "", ""},
		"there is no claim whose consumer is asked":  {back(takingOver(kopiurv1.InheritSecurityContextFrom{PVCConsumer: &kopiurv1.PVCConsumer{}})), "spec.mover.inheritSecurityContextFrom.pvcConsumer: Forbidden", ""},
		"a populator may ask the backup":             {back(populating, takingOver(recorded)), "", ""},
		"a populator has no workload to ask":         {back(populating, takingOver(selected)), "spec.mover.inheritSecurityContextFrom.workloadSelector: Forbidden: no workload runs while its claim is being filled", ""},
		"a mover's resources are amounts": {back(func(s *kopiurv1.RestoreSpec) {
			s.Mover = &kopiurv1.MoverSpec{Resources: &kopiurv1.Resources{Limits: map[corev1.ResourceName]kopiurv1.Quantity{"memory": "1GB"}}}
		}), "spec.mover.resources.limits[memory]: Invalid value", ""},
		"a cache that is kept is of no use to a restore": {back(func(s *kopiurv1.RestoreSpec) {
			s.Mover = new(caching(kopiurv1.CacheSpec{Mode: kopiurv1.CachePersistent}))
		}), "", "spec.mover.cache.mode: a restore reads everything once"},
		"waiting for a snapshot passes":               {back(waiting("10m", 0)), "", ""},
		"waiting less than the deadline passes":       {back(waiting("10m", 3600)), "", ""},
		"waiting as long as the deadline is refused":  {back(waiting("1h", 3600)), `spec.policy.waitTimeout: Invalid value: "1h": write less than failurePolicy.activeDeadlineSeconds (3600)`, ""},
		"waiting longer than the deadline is refused": {back(waiting("7200", 3600)), "write less than", ""},
		"waiting for days in days is refused":         {back(waiting("2d", 0)), "spec.policy.waitTimeout: Invalid value: \"2d\"", ""},
		"a deadline of nothing is refused": {back(func(s *kopiurv1.RestoreSpec) {
			s.FailurePolicy = &kopiurv1.FailurePolicy{ActiveDeadlineSeconds: new(int64(0))}
		}), "spec.failurePolicy.activeDeadlineSeconds: Invalid value: 0", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			matches(t, Restore(tc.restore), tc.wantErr, tc.wantWarns)
		})
	}
}

func TestRestoreUpdate(t *testing.T) {
	t.Parallel()
	old := back()
	old.Generation = 1
	done := old.DeepCopy()
	done.Status.Phase = kopiurv1.RestoreCompleted
	edited := func(r *kopiurv1.Restore) *kopiurv1.Restore {
		r = r.DeepCopy()
		r.Generation, r.Spec.SubPath = 2, "etc"
		return r
	}
	labelled := done.DeepCopy()
	labelled.Labels = map[string]string{"a": "b"}
	matches(t, RestoreUpdate(edited(old), old), "", "")
	matches(t, RestoreUpdate(edited(done), done), "", "this Restore is complete and does not run again")
	matches(t, RestoreUpdate(labelled, done), "", "")
}

func TestRestoreOfPolicy(t *testing.T) {
	t.Parallel()
	policy := func(repositories int, sources ...kopiurv1.Source) *kopiurv1.SnapshotPolicy {
		p := &kopiurv1.SnapshotPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "db"}}
		p.Spec.Repository = &kopiurv1.RepositoryRef{Name: "nas"}
		if repositories > 1 {
			p.Spec.Repository, p.Spec.Repositories = nil, []kopiurv1.RepositoryRef{{Name: "nas"}, {Name: "offsite"}}
		}
		p.Spec.Sources = sources
		return p
	}
	claim := func(name string) kopiurv1.Source { return kopiurv1.Source{PVC: &kopiurv1.LocalRef{Name: name}} }
	db := kopiurv1.FromPolicy{Name: "db"}
	for name, tc := range map[string]struct {
		restore            *kopiurv1.Restore
		policy             *kopiurv1.SnapshotPolicy
		wantErr, wantWarns string
	}{
		"one repository needs no name":             {back(ofPolicy(db)), policy(1, claim("a")), "", ""},
		"several repositories need one":            {back(ofPolicy(db)), policy(2, claim("a")), "spec.repository: Required value: SnapshotPolicy db backs up to several repositories: write which one to read, such as Repository apps/nas", ""},
		"several repositories and one named":       {back(ofPolicy(db), func(s *kopiurv1.RestoreSpec) { s.Repository = &kopiurv1.RepositoryRef{Name: "nas"} }), policy(2, claim("a")), "", ""},
		"a snapshot says itself where it is":       {back(), policy(2, claim("a"), claim("b")), "", ""},
		"several sources may be ambiguous":         {back(ofPolicy(db)), policy(1, claim("a"), claim("b")), "", "spec.source.fromPolicy.sourcePath: SnapshotPolicy db has several sources, and without a sourcePath such as /pvc/a"},
		"several sources and one named":            {back(ofPolicy(kopiurv1.FromPolicy{Name: "db", SourcePath: "/pvc/b"})), policy(1, claim("a"), claim("b")), "", ""},
		"a populator takes the path of each claim": {back(ofPolicy(db), populating), policy(1, claim("a"), claim("b")), "", ""},
		"two sources filed under one path are one": {back(ofPolicy(db)), policy(1, claim("a"), claim("a")), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			matches(t, RestoreOfPolicy(tc.restore, tc.policy), tc.wantErr, tc.wantWarns)
		})
	}
}
