// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// mirrored is a RepositoryReplication in namespace apps that has nothing wrong.
func mirrored(changes ...func(*kopiurv1.RepositoryReplication)) *kopiurv1.RepositoryReplication {
	r := &kopiurv1.RepositoryReplication{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "offsite"}}
	r.Spec.SourceRef.Name = "nas"
	r.Spec.Destination = inS3(func(s *kopiurv1.S3Backend) { s.Bucket = "offsite" })
	r.Spec.Schedule.Cron = "0 4 * * *"
	for _, change := range changes {
		change(r)
	}
	return r
}

type mirrors = func(*kopiurv1.RepositoryReplication)

func into(b kopiurv1.Backend) mirrors {
	return func(r *kopiurv1.RepositoryReplication) { r.Spec.Destination = b }
}

func synced(s kopiurv1.BlobSync) mirrors {
	return func(r *kopiurv1.RepositoryReplication) { r.Spec.Sync = &s }
}

func TestRepositoryReplication(t *testing.T) {
	t.Parallel()
	verified := func(v kopiurv1.ReplicationVerify) mirrors {
		return func(r *kopiurv1.RepositoryReplication) { r.Spec.Verify = &v }
	}
	for name, tc := range map[string]struct {
		replication        *kopiurv1.RepositoryReplication
		wantErr, wantWarns string
	}{
		"a usual one passes":                        {mirrored(), "", ""},
		"to Azure passes":                           {mirrored(into(inAzure("mybackups", secretKeys("azure")))), "", ""},
		"to GCS passes":                             {mirrored(into(kopiurv1.Backend{GCS: &kopiurv1.GCSBackend{Bucket: "offsite", Auth: workloadIdentity("sa")}})), "", ""},
		"to a claim passes":                         {mirrored(into(onClaim("mirror"))), "", ""},
		"to an NFS export passes":                   {mirrored(into(onNFS("nas.local", "/mirror"))), "", ""},
		"to an SSH server passes":                   {mirrored(into(overSFTP(func(*kopiurv1.SFTPBackend) {}))), "", ""},
		"to nowhere is refused":                     {mirrored(into(kopiurv1.Backend{})), "spec.destination: Required value: write exactly one of s3", ""},
		"the destination is checked like a backend": {mirrored(into(atEndpoint("http://minio:9000", false))), "spec.destination.s3.endpoint: Invalid value", ""},
		"https:// before the endpoint is dropped":   {mirrored(into(atEndpoint("https://minio:9000", false))), "", "spec.destination.s3.endpoint: the scheme is dropped"},
		"its Secret lies in its own namespace":      {mirrored(into(inS3(func(s *kopiurv1.S3Backend) { s.Auth.SecretRef.Namespace = "vault" }))), `spec.destination.s3.auth.secretRef.namespace: Invalid value: "vault": movers mount Secrets from apps, the replication's namespace: put the Secret there`, ""},
		"a source needs a name":                     {mirrored(func(r *kopiurv1.RepositoryReplication) { r.Spec.SourceRef.Name = "" }), "spec.sourceRef.name: Required", ""},
		"a schedule has five fields":                {mirrored(func(r *kopiurv1.RepositoryReplication) { r.Spec.Schedule.Cron = "0 0 4 * * *" }), "spec.schedule.cron: Invalid value", ""},
		"a jitter of days is refused":               {mirrored(func(r *kopiurv1.RepositoryReplication) { r.Spec.Schedule.Jitter = "48h" }), "spec.schedule.jitter: Invalid value: \"48h\"", ""},
		"the name becomes a label":                  {mirrored(func(r *kopiurv1.RepositoryReplication) { r.Name = strings.Repeat("a", 64) }), "metadata.name: Invalid value", ""},
		"sync settings pass":                        {mirrored(synced(kopiurv1.BlobSync{Parallel: new(int32(16)), DeleteExtra: true, MustExist: true, Times: new(false), MaxUploadSpeedBytesPerSecond: 1 << 20})), "", ""},
		"no copy at a time is refused":              {mirrored(synced(kopiurv1.BlobSync{Parallel: new(int32(0))})), "spec.sync.parallel: Invalid value: 0", ""},
		"a thousand copies at a time are refused":   {mirrored(synced(kopiurv1.BlobSync{Parallel: new(int32(1000))})), "spec.sync.parallel: Invalid value: 1000: write at most 256", ""},
		"a negative speed is refused":               {mirrored(synced(kopiurv1.BlobSync{MaxDownloadSpeedBytesPerSecond: -1})), "spec.sync.maxDownloadSpeedBytesPerSecond: Invalid value: -1", ""},
		"a proof on a schedule passes":              {mirrored(verified(kopiurv1.ReplicationVerify{Schedule: kopiurv1.CronSpec{Cron: "0 5 * * 0"}, VerifyFilesPercent: 10})), "", ""},
		"a proof needs a schedule":                  {mirrored(verified(kopiurv1.ReplicationVerify{})), "spec.verify.schedule.cron: Required", ""},
		"more than all files are refused":           {mirrored(verified(kopiurv1.ReplicationVerify{Schedule: kopiurv1.CronSpec{Cron: "0 5 * * 0"}, VerifyFilesPercent: 101})), "spec.verify.verifyFilesPercent: Invalid value: 101", ""},
		"there is nobody whose user is needed": {mirrored(func(r *kopiurv1.RepositoryReplication) {
			r.Spec.Mover = &kopiurv1.MoverSpec{InheritSecurityContextFrom: &kopiurv1.InheritSecurityContextFrom{Snapshot: &kopiurv1.InheritFromSnapshot{}}}
		}), "spec.mover.inheritSecurityContextFrom: Forbidden: a replication reads repositories", ""},
		"a run may be asked for":     {mirrored(func(r *kopiurv1.RepositoryReplication) { r.Annotations = requested("2026-03-05T09:00:00Z", "") }), "", ""},
		"a run today is no time":     {mirrored(func(r *kopiurv1.RepositoryReplication) { r.Annotations = requested("today", "") }), "run-requested]: Invalid value: \"today\"", ""},
		"a replication has no modes": {mirrored(func(r *kopiurv1.RepositoryReplication) { r.Annotations = requested("2026-03-05T09:00:00Z", "full") }), "", "only a Maintenance has modes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			matches(t, RepositoryReplication(tc.replication), tc.wantErr, tc.wantWarns)
		})
	}
}

func TestRepositoryReplicationOf(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		destination, source kopiurv1.Backend
		want                string
	}{
		"another bucket passes":                     {inS3(func(s *kopiurv1.S3Backend) { s.Bucket = "offsite" }), inS3(unchanged), ""},
		"another kind of store passes":              {onClaim("mirror"), inS3(unchanged), ""},
		"the repository's own place is refused":     {inS3(unchanged), inS3(unchanged), "spec.destination: Forbidden: it is where Repository apps/nas is stored itself"},
		"so it is with other keys":                  {inS3(func(s *kopiurv1.S3Backend) { s.Auth = secretKeys("other") }), inS3(unchanged), "stored itself"},
		"so it is with the scheme before it":        {atEndpoint("https://s3.example.org", false), atEndpoint("s3.example.org", false), "stored itself"},
		"another folder of the bucket passes":       {inS3(func(s *kopiurv1.S3Backend) { s.Prefix = "mirror/" }), inS3(unchanged), ""},
		"the claim itself under another path":       {kopiurv1.Backend{Filesystem: &kopiurv1.FilesystemBackend{Path: "/mirror", Volume: onClaim("c").Filesystem.Volume}}, onClaim("c"), "stored itself"},
		"keys here and an identity there":           {inS3(func(s *kopiurv1.S3Backend) { s.Bucket, s.Auth = "offsite", workloadIdentity("sa") }), inS3(unchanged), "spec.destination.s3.auth: Forbidden: one pod works with both sides"},
		"an identity of one cloud, keys of another": {kopiurv1.Backend{GCS: &kopiurv1.GCSBackend{Bucket: "b", Auth: workloadIdentity("sa")}}, inS3(unchanged), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			matches(t, RepositoryReplicationOf(mirrored(into(tc.destination)), kopiurv1.RepositorySpec{Backend: tc.source}), tc.want, "")
		})
	}
}

func TestRepositoryReplicationDestination(t *testing.T) {
	t.Parallel()
	second := func(r *kopiurv1.RepositoryReplication) { r.Name = "second" }
	abroad := func(r *kopiurv1.RepositoryReplication) { r.Namespace = "other" }
	photos := func(r *kopiurv1.RepositoryReplication) { r.Spec.SourceRef.Name = "photos" }
	for name, tc := range map[string]struct {
		one, other         *kopiurv1.RepositoryReplication
		wantErr, wantWarns string
	}{
		"itself is no other":                        {mirrored(), mirrored(photos), "", ""},
		"two places pass":                           {mirrored(), mirrored(second, photos, into(onClaim("mirror"))), "", ""},
		"two repositories in one place are refused": {mirrored(), mirrored(second, photos), "spec.destination: Forbidden: RepositoryReplication apps/second copies Repository apps/photos to the same place", ""},
		"one repository twice is no use":            {mirrored(), mirrored(second), "", "RepositoryReplication apps/second copies the same repository to the same place"},
		"a Repository of another namespace":         {mirrored(), mirrored(abroad), "copies Repository other/nas to the same place", ""},
		"a claim of another namespace is another":   {mirrored(into(onClaim("mirror"))), mirrored(abroad, into(onClaim("mirror"))), "", ""},
		"a claim of this namespace is the same":     {mirrored(into(onClaim("mirror"))), mirrored(second, photos, into(onClaim("mirror"))), "each would overwrite the other's copy", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			matches(t, RepositoryReplicationDestination(tc.one, []kopiurv1.RepositoryReplication{*tc.other}), tc.wantErr, tc.wantWarns)
		})
	}
}

// copied is a SnapshotReplication in namespace apps that has nothing wrong.
func copied(changes ...func(*kopiurv1.SnapshotReplicationSpec)) *kopiurv1.SnapshotReplication {
	r := &kopiurv1.SnapshotReplication{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "offsite"}}
	r.Spec.SourceRef.Name = "nas"
	r.Spec.DestinationRef = kopiurv1.RepositoryRef{Name: "offsite", Kind: kopiurv1.KindClusterRepository}
	r.Spec.Schedule.Cron = "30 4 * * *"
	for _, change := range changes {
		change(&r.Spec)
	}
	return r
}

type copies = func(*kopiurv1.SnapshotReplicationSpec)

func including(p ...kopiurv1.IdentityPattern) copies {
	return func(s *kopiurv1.SnapshotReplicationSpec) {
		s.Selection = &kopiurv1.SnapshotSelection{Identities: &kopiurv1.IdentitySelection{Include: p}}
	}
}

func excluding(p ...kopiurv1.IdentityPattern) copies {
	return func(s *kopiurv1.SnapshotReplicationSpec) {
		s.Selection = &kopiurv1.SnapshotSelection{Identities: &kopiurv1.IdentitySelection{Exclude: p}}
	}
}

func pruned(p kopiurv1.ReplicationPruning) copies {
	return func(s *kopiurv1.SnapshotReplicationSpec) { s.Pruning = &p }
}

func migrated(m kopiurv1.Migrate) copies {
	return func(s *kopiurv1.SnapshotReplicationSpec) { s.Migrate = &m }
}

func TestSnapshotReplication(t *testing.T) {
	t.Parallel()
	to := func(src, dst kopiurv1.RepositoryRef) copies {
		return func(s *kopiurv1.SnapshotReplicationSpec) { s.SourceRef, s.DestinationRef = src, dst }
	}
	type pattern = kopiurv1.IdentityPattern
	for name, tc := range map[string]struct {
		replication        *kopiurv1.SnapshotReplication
		wantErr, wantWarns string
	}{
		"a usual one passes":                     {copied(), "", ""},
		"the source itself is refused":           {copied(to(kopiurv1.RepositoryRef{Name: "nas"}, kopiurv1.RepositoryRef{Name: "nas", Namespace: "apps"})), "spec.destinationRef: Forbidden: it is the source itself", ""},
		"one ClusterRepository twice is refused": {copied(to(kopiurv1.RepositoryRef{Name: "a", Kind: "ClusterRepository"}, kopiurv1.RepositoryRef{Name: "a", Kind: "ClusterRepository"})), "it is the source itself", ""},
		"two kinds of one name are two":          {copied(to(kopiurv1.RepositoryRef{Name: "a"}, kopiurv1.RepositoryRef{Name: "a", Kind: "ClusterRepository"})), "", ""},
		"one name in two namespaces is two":      {copied(to(kopiurv1.RepositoryRef{Name: "a"}, kopiurv1.RepositoryRef{Name: "a", Namespace: "other"})), "", ""},
		"both need a name":                       {copied(to(kopiurv1.RepositoryRef{}, kopiurv1.RepositoryRef{})), "spec.destinationRef.name: Required", ""},
		"a schedule is needed":                   {copied(func(s *kopiurv1.SnapshotReplicationSpec) { s.Schedule.Cron = "" }), "spec.schedule.cron: Required", ""},
		"globs pass":                             {copied(including(pattern{Username: "db-*", Hostname: "prod?"}, pattern{SourcePath: "/pvc/*"})), "", ""},
		"a pattern of nothing is refused":        {copied(including(pattern{})), "spec.selection.identities.include[0]: Required value: write at least one of username, hostname, sourcePath", ""},
		"a pattern of nothing excludes nothing":  {copied(excluding(pattern{})), "spec.selection.identities.exclude[0]: Required", ""},
		"an identity in one field is refused":    {copied(including(pattern{Username: "db@apps"})), `spec.selection.identities.include[0].username: Invalid value: "db@apps": no username has @`, ""},
		"a host with a space is refused":         {copied(including(pattern{Hostname: "apps "})), "spec.selection.identities.include[0].hostname: Invalid value", ""},
		"a path with a space passes":             {copied(including(pattern{SourcePath: "/data/My Photos"})), "", ""},
		"a regular expression is warned of":      {copied(including(pattern{Username: "db.*"})), "", "it looks like a regular expression"},
		"an anchored one too":                    {copied(including(pattern{SourcePath: "^/pvc"})), "", "spec.selection.identities.include[0].sourcePath: it looks like a regular expression"},
		"excluding everything is refused":        {copied(excluding(pattern{Hostname: "*"})), "it excludes every identity", ""},
		"excluding some passes":                  {copied(excluding(pattern{Username: "*", Hostname: "test"})), "", ""},
		"only the newest passes":                 {copied(func(s *kopiurv1.SnapshotReplicationSpec) { s.Selection = &kopiurv1.SnapshotSelection{LatestOnly: true} }), "", ""},
		"settings of the copy pass":              {copied(migrated(kopiurv1.Migrate{Parallel: new(int32(4)), Policies: kopiurv1.MigratePoliciesCopy, Throttle: &kopiurv1.MigrateThrottle{Source: &kopiurv1.Throttle{DownloadBytesPerSecond: 1 << 20}}})), "", ""},
		"no snapshot at a time is refused":       {copied(migrated(kopiurv1.Migrate{Parallel: new(int32(0))})), "spec.migrate.parallel: Invalid value: 0", ""},
		"other policies are refused":             {copied(migrated(kopiurv1.Migrate{Policies: "all"})), "spec.migrate.policies: Invalid value: \"all\": write none, copy or copyOverwrite", ""},
		"a negative throttle is refused":         {copied(migrated(kopiurv1.Migrate{Throttle: &kopiurv1.MigrateThrottle{Destination: &kopiurv1.Throttle{UploadBytesPerSecond: -1}}})), "spec.migrate.throttle.destination.uploadBytesPerSecond: Invalid value", ""},
		"keeping every copy passes":              {copied(pruned(kopiurv1.ReplicationPruning{None: &kopiurv1.PruneNone{}})), "", ""},
		"following the source passes":            {copied(pruned(kopiurv1.ReplicationPruning{MirrorSource: &kopiurv1.PruneMirrorSource{}})), "", ""},
		"a rule of its own passes":               {copied(pruned(kopiurv1.ReplicationPruning{Retention: &kopiurv1.Retention{KeepDaily: new(int32(7))}})), "", ""},
		"a rule that keeps nothing is refused":   {copied(pruned(kopiurv1.ReplicationPruning{Retention: &kopiurv1.Retention{KeepDaily: new(int32(0))}})), "spec.pruning.retention: Forbidden: it keeps nothing, so that every snapshot would be deleted", ""},
		"a negative rule is refused":             {copied(pruned(kopiurv1.ReplicationPruning{Retention: &kopiurv1.Retention{KeepDaily: new(int32(-1))}})), "spec.pruning.retention.keepDaily: Invalid value: -1", ""},
		"a rule of nothing is refused":           {copied(pruned(kopiurv1.ReplicationPruning{Retention: &kopiurv1.Retention{}})), "it keeps nothing", ""},
		"pruning in no way is refused":           {copied(pruned(kopiurv1.ReplicationPruning{})), "spec.pruning: Required value: write exactly one of none, mirrorSource, retention", ""},
		"pruning in two ways is refused":         {copied(pruned(kopiurv1.ReplicationPruning{None: &kopiurv1.PruneNone{}, MirrorSource: &kopiurv1.PruneMirrorSource{}})), "spec.pruning: Forbidden: none and mirrorSource are set", ""},
		"there is nobody whose user is needed": {copied(func(s *kopiurv1.SnapshotReplicationSpec) {
			s.Mover = &kopiurv1.MoverSpec{InheritSecurityContextFrom: &kopiurv1.InheritSecurityContextFrom{PVCConsumer: &kopiurv1.PVCConsumer{}}}
		}), "spec.mover.inheritSecurityContextFrom: Forbidden", ""},
		"copies of Secrets for one of two pass": {copied(func(s *kopiurv1.SnapshotReplicationSpec) {
			s.CredentialProjection = &kopiurv1.CredentialProjection{Enabled: true}
		}), "", ""},
		"two Repositories have none to copy": {copied(to(kopiurv1.RepositoryRef{Name: "a"}, kopiurv1.RepositoryRef{Name: "b"}), func(s *kopiurv1.SnapshotReplicationSpec) {
			s.CredentialProjection = &kopiurv1.CredentialProjection{Enabled: true}
		}), "", "never copied"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			matches(t, SnapshotReplication(tc.replication), tc.wantErr, tc.wantWarns)
		})
	}
	long := copied()
	long.Name, long.Annotations = strings.Repeat("a", 64), requested("soon", "")
	errs, _ := texts(SnapshotReplication(long))
	assert.Contains(t, errs, "metadata.name: Invalid value")
	assert.Contains(t, errs, "run-requested]: Invalid value: \"soon\"")
}

func TestSnapshotReplicationOf(t *testing.T) {
	t.Parallel()
	spec := func(b kopiurv1.Backend) kopiurv1.RepositorySpec { return kopiurv1.RepositorySpec{Backend: b} }
	locked := spec(onClaim("c"))
	locked.Mode = kopiurv1.ModeReadOnly
	for name, tc := range map[string]struct {
		source, destination kopiurv1.RepositorySpec
		wantErr, wantWarns  string
	}{
		"two places pass":                   {spec(inS3(unchanged)), spec(onClaim("c")), "", ""},
		"one place is refused":              {spec(onClaim("c")), spec(onClaim("c")), "spec.destinationRef: Forbidden: Repository apps/nas and ClusterRepository offsite are stored in the same place", ""},
		"keys here and an identity there":   {spec(inS3(unchanged)), spec(inS3(func(s *kopiurv1.S3Backend) { s.Bucket, s.Auth = "b", workloadIdentity("sa") })), "secretRef on both, or workloadIdentity on both", ""},
		"two identities in one pod":         {spec(inS3(func(s *kopiurv1.S3Backend) { s.Auth = workloadIdentity("one") })), spec(kopiurv1.Backend{GCS: &kopiurv1.GCSBackend{Bucket: "b", Auth: workloadIdentity("two")}}), "one ServiceAccount", ""},
		"a ReadOnly destination may change": {spec(inS3(unchanged)), locked, "", "ClusterRepository offsite has mode ReadOnly: nothing is copied before it is ReadWrite"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			matches(t, SnapshotReplicationOf(copied(), tc.source, tc.destination), tc.wantErr, tc.wantWarns)
		})
	}
}

// TestEmptyObjects: what was stored under an older schema may lack everything. It is refused, and nobody panics.
func TestEmptyObjects(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]Findings{
		"Restore":               Restore(&kopiurv1.Restore{}),
		"Maintenance":           Maintenance(&kopiurv1.Maintenance{}),
		"RepositoryReplication": RepositoryReplication(&kopiurv1.RepositoryReplication{}),
		"SnapshotReplication":   SnapshotReplication(&kopiurv1.SnapshotReplication{}),
	} {
		assert.NotEmpty(t, f.Errors, name)
	}
	assert.Empty(t, MaintenanceOwner(&kopiurv1.Maintenance{}, nil).Errors)
	assert.Empty(t, RestoreOfPolicy(&kopiurv1.Restore{}, &kopiurv1.SnapshotPolicy{}).Errors)
	assert.Empty(t, RepositoryReplicationOf(&kopiurv1.RepositoryReplication{}, kopiurv1.RepositorySpec{}).Errors)
	assert.Empty(t, RepositoryReplicationDestination(&kopiurv1.RepositoryReplication{}, []kopiurv1.RepositoryReplication{{}}).Errors)
	assert.Empty(t, SnapshotReplicationOf(&kopiurv1.SnapshotReplication{}, kopiurv1.RepositorySpec{}, kopiurv1.RepositorySpec{}).Errors)
}
