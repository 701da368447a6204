// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// nas is a Repository in namespace apps that has nothing wrong.
func nas(changes ...func(*kopiurv1.RepositorySpec)) *kopiurv1.Repository {
	r := &kopiurv1.Repository{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "nas"}}
	r.Spec.Backend = inS3(func(*kopiurv1.S3Backend) {})
	r.Spec.Encryption.PasswordSecretRef = kopiurv1.SecretKeyRef{Name: "password"}
	for _, change := range changes {
		change(&r.Spec)
	}
	return r
}

type specs = func(*kopiurv1.RepositorySpec)

func readOnly(s *kopiurv1.RepositorySpec) { s.Mode = kopiurv1.ModeReadOnly }

func inCluster(name string) specs {
	return func(s *kopiurv1.RepositorySpec) { s.IdentityDefaults = &kopiurv1.IdentityDefaults{Cluster: name} }
}

func listing(c kopiurv1.CatalogSpec) specs {
	return func(s *kopiurv1.RepositorySpec) { s.Catalog = &c }
}

func probing(p kopiurv1.HealthProbe) specs {
	return func(s *kopiurv1.RepositorySpec) { s.Health = &kopiurv1.HealthSpec{Probe: &p} }
}

func maintained(m kopiurv1.RepositoryMaintenance) specs {
	return func(s *kopiurv1.RepositorySpec) { s.Maintenance = &m }
}

func runs(quick, full string) kopiurv1.RepositoryMaintenance {
	return kopiurv1.RepositoryMaintenance{Schedule: &kopiurv1.MaintenanceSchedule{Quick: kopiurv1.CronSpec{Cron: quick}, Full: kopiurv1.CronSpec{Cron: full}}}
}

func scheduled(timezone string, jitter kopiurv1.Duration) specs {
	return func(s *kopiurv1.RepositorySpec) {
		s.ScheduleDefaults = &kopiurv1.ScheduleDefaults{Timezone: timezone, Jitter: jitter}
	}
}

func withEpoch(e kopiurv1.EpochParameters) specs {
	return func(s *kopiurv1.RepositorySpec) { s.Parameters = &kopiurv1.ParametersSpec{Epoch: &e} }
}

func locking(b kopiurv1.BlobRetention) specs {
	return func(s *kopiurv1.RepositorySpec) { s.Parameters = &kopiurv1.ParametersSpec{BlobRetention: &b} }
}

func seeded(d kopiurv1.SeedSpec) specs {
	return func(s *kopiurv1.RepositorySpec) { s.Seed = &d }
}

func serving(v kopiurv1.ServerSpec) specs {
	return func(s *kopiurv1.RepositorySpec) { s.Server = &v }
}

func served(a kopiurv1.ServerAuth) specs { return serving(kopiurv1.ServerSpec{Auth: &a}) }

func moved(d kopiurv1.MoverDefaults) specs {
	return func(s *kopiurv1.RepositorySpec) { s.MoverDefaults = &d }
}

func created(c kopiurv1.CreateSpec) specs {
	return func(s *kopiurv1.RepositorySpec) { s.Create = &c }
}

func fromBackend(b kopiurv1.Backend) kopiurv1.SeedSource { return kopiurv1.SeedSource{Backend: &b} }

func fromRepository(r kopiurv1.RepositoryRef) kopiurv1.SeedSource {
	return kopiurv1.SeedSource{Repository: &r}
}

func days(n int32) *kopiurv1.CatalogRetain { return &kopiurv1.CatalogRetain{MaxAgeDays: &n} }

func TestRepository(t *testing.T) {
	t.Parallel()
	other := inS3(func(s *kopiurv1.S3Backend) { s.Bucket = "old-backups" })
	period := func(d kopiurv1.Duration) *kopiurv1.RetentionPeriod { return &kopiurv1.RetentionPeriod{Period: d} }
	for name, tc := range map[string]struct {
		spec               specs
		wantErr, wantWarns string
	}{
		"the least that works passes": {func(*kopiurv1.RepositorySpec) {}, "", ""},

		"the password needs a Secret":                            {func(s *kopiurv1.RepositorySpec) { s.Encryption = kopiurv1.Encryption{} }, "spec.encryption.passwordSecretRef.name: Required", ""},
		"the password's key is one that Secrets have":            {func(s *kopiurv1.RepositorySpec) { s.Encryption.PasswordSecretRef.Key = "my key" }, "spec.encryption.passwordSecretRef.key: Invalid value", ""},
		"the password's Secret is in the Repository's namespace": {func(s *kopiurv1.RepositorySpec) { s.Encryption.PasswordSecretRef.Namespace = "vault" }, "spec.encryption.passwordSecretRef.namespace: Invalid value: \"vault\": movers mount Secrets from apps", ""},

		"what kopia knows passes":                 {created(kopiurv1.CreateSpec{Splitter: "FIXED-4M", Hash: "BLAKE3-256", Encryption: "CHACHA20-POLY1305-HMAC-SHA256"}), "", ""},
		"an unknown splitter is refused":          {created(kopiurv1.CreateSpec{Splitter: "DYNAMIC-16M"}), "spec.create.splitter: Invalid value: \"DYNAMIC-16M\": kopia knows DYNAMIC, ", ""},
		"an unknown hash is refused":              {created(kopiurv1.CreateSpec{Hash: "blake3"}), "spec.create.hash: Invalid value: \"blake3\": kopia knows BLAKE2B-256, ", ""},
		"an unknown encryption is refused":        {created(kopiurv1.CreateSpec{Encryption: "AES256"}), "spec.create.encryption: Invalid value: \"AES256\"", ""},
		"an unknown error correction":             {created(kopiurv1.CreateSpec{ECC: &kopiurv1.ECCSpec{Algorithm: "RS", OverheadPercent: 1}}), "spec.create.ecc.algorithm: Invalid value: \"RS\"", ""},
		"error correction has a share":            {created(kopiurv1.CreateSpec{ECC: &kopiurv1.ECCSpec{OverheadPercent: 101}}), "spec.create.ecc.overheadPercent: Invalid value: 101", ""},
		"error correction without a share is off": {created(kopiurv1.CreateSpec{ECC: &kopiurv1.ECCSpec{Algorithm: "REED-SOLOMON-CRC32"}}), "", "no error correction is stored"},
		"a startup deadline of the connect Job is not used": {func(s *kopiurv1.RepositorySpec) {
			s.Bootstrap = &kopiurv1.BootstrapSpec{FailurePolicy: &kopiurv1.FailurePolicy{PodStartupDeadlineSeconds: new(int64(60))}}
		}, "", "podStartupDeadlineSeconds: it is not used"},

		"a listing every 30 seconds passes":              {listing(kopiurv1.CatalogSpec{RefreshInterval: "30s"}), "", ""},
		"a listing more often is refused":                {listing(kopiurv1.CatalogSpec{RefreshInterval: "29"}), "spec.catalog.refreshInterval: Invalid value: \"29\": write at least 30s", ""},
		"a listing every so many days is not a duration": {listing(kopiurv1.CatalogSpec{RefreshInterval: "1d"}), "days are not a unit", ""},
		"foreign snapshots need the cluster's name":      {listing(kopiurv1.CatalogSpec{ForeignSnapshots: kopiurv1.ForeignFallback}), "spec.identityDefaults.cluster: Required value: catalog.foreignSnapshots: Fallback", ""},
		"a Repository has no fallback namespace":         {listing(kopiurv1.CatalogSpec{FallbackNamespace: "found"}), "spec.catalog.fallbackNamespace: Forbidden", ""},
		"rows of no identity pass":                       {listing(kopiurv1.CatalogSpec{Retain: &kopiurv1.CatalogRetain{PerIdentity: new(int32(0))}}), "", ""},
		"rows of less than a day are refused":            {listing(kopiurv1.CatalogSpec{Retain: days(0)}), "spec.catalog.retain.maxAgeDays: Invalid value: 0", ""},

		"fewer than no jobs are refused": {func(s *kopiurv1.RepositorySpec) { s.Concurrency = &kopiurv1.ConcurrencySpec{MaxConcurrentJobs: -1} }, "spec.concurrency.maxConcurrentJobs: Invalid value", ""},
		"a threshold of 0 is off": {func(s *kopiurv1.RepositorySpec) {
			s.DeletionProtection = &kopiurv1.DeletionProtection{Threshold: new(int32(0))}
		}, "", ""},
		"a negative threshold is refused": {func(s *kopiurv1.RepositorySpec) {
			s.DeletionProtection = &kopiurv1.DeletionProtection{Threshold: new(int32(-1))}
		}, "spec.deletionProtection.threshold: Invalid value: -1", ""},
		"a negative number of index blobs is refused": {func(s *kopiurv1.RepositorySpec) {
			s.Health = &kopiurv1.HealthSpec{IndexBlobWarnThreshold: new(int32(-1))}
		}, "spec.health.indexBlobWarnThreshold: Invalid value: -1", ""},
		"a probe every 30 seconds passes":        {probing(kopiurv1.HealthProbe{Interval: "30s"}), "", ""},
		"a probe more often is refused":          {probing(kopiurv1.HealthProbe{Interval: "10s"}), "spec.health.probe.interval: Invalid value: \"10s\": write at least 30s", ""},
		"a probe that may never fail is refused": {probing(kopiurv1.HealthProbe{FailureThreshold: new(int32(0))}), "spec.health.probe.failureThreshold: Invalid value: 0", ""},

		"a cluster's name passes":         {inCluster("home-1"), "", ""},
		"a cluster's name has no dots":    {inCluster("home.example"), "spec.identityDefaults.cluster: Invalid value: \"home.example\": write lower case letters, digits and -, without dots", ""},
		"a cluster's name is a short one": {inCluster(strings.Repeat("a", 33)), "write at most 32 characters", ""},

		"a Repository's maintenance has its namespace": {maintained(kopiurv1.RepositoryMaintenance{Namespace: "ops"}), "spec.maintenance.namespace: Forbidden", ""},
		"maintenance at the usual hours passes":        {maintained(runs("0 */6 * * *", "0 3 * * *")), "", ""},
		"maintenance at hours of its own name passes":  {maintained(runs("H */6 * * *", "H H * * *")), "", ""},
		"maintenance with four fields is refused":      {maintained(runs("0 */6 * * *", "0 3 * *")), "spec.maintenance.schedule.full.cron: Invalid value: \"0 3 * *\"", ""},
		"maintenance needs both hours":                 {maintained(runs("", "0 3 * * *")), "spec.maintenance.schedule.quick.cron: Required", ""},
		"maintenance in no time zone is refused": {maintained(kopiurv1.RepositoryMaintenance{Schedule: &kopiurv1.MaintenanceSchedule{
			Quick: kopiurv1.CronSpec{Cron: "0 */6 * * *"}, Full: kopiurv1.CronSpec{Cron: "0 3 * * *"}, Timezone: "Berlin",
		}}), "spec.maintenance.schedule.timezone: Invalid value: \"Berlin\"", ""},
		"defaults of schedules pass":            {scheduled("Europe/Berlin", "30m"), "", ""},
		"defaults in no time zone are refused":  {scheduled("CEST", ""), "spec.scheduleDefaults.timezone: Invalid value: \"CEST\"", ""},
		"defaults spread over days are refused": {scheduled("", "25h"), "spec.scheduleDefaults.jitter: Invalid value: \"25h\": write at most 24h", ""},
		"maintenance has no claim's consumer": {maintained(kopiurv1.RepositoryMaintenance{Mover: &kopiurv1.MoverSpec{
			InheritSecurityContextFrom: &kopiurv1.InheritSecurityContextFrom{PVCConsumer: &kopiurv1.PVCConsumer{}},
		}}), "spec.maintenance.mover.inheritSecurityContextFrom.pvcConsumer: Forbidden", ""},
		"maintenance has no backup's user": {maintained(kopiurv1.RepositoryMaintenance{Mover: &kopiurv1.MoverSpec{
			InheritSecurityContextFrom: &kopiurv1.InheritSecurityContextFrom{Snapshot: &kopiurv1.InheritFromSnapshot{}},
		}}), "spec.maintenance.mover.inheritSecurityContextFrom.snapshot: Forbidden", ""},
		"to inherit from nothing names workloadSelector": {maintained(kopiurv1.RepositoryMaintenance{Mover: &kopiurv1.MoverSpec{
			InheritSecurityContextFrom: &kopiurv1.InheritSecurityContextFrom{},
		}}), "workloadSelector.podSelector selects the pod", ""},
		"an empty selector would pick any pod": {maintained(kopiurv1.RepositoryMaintenance{Mover: &kopiurv1.MoverSpec{
			InheritSecurityContextFrom: &kopiurv1.InheritSecurityContextFrom{WorkloadSelector: &kopiurv1.WorkloadSelector{}},
		}}), "an empty selector would pick any pod", ""},

		"labels of our own are refused":             {moved(kopiurv1.MoverDefaults{PodLabels: map[string]string{"kopiur.home-operations.com/op": "x"}}), "spec.moverDefaults.podLabels[kopiur.home-operations.com/op]: Forbidden", ""},
		"so is managed-by as an annotation":         {moved(kopiurv1.MoverDefaults{PodAnnotations: map[string]string{"app.kubernetes.io/managed-by": "x"}}), "spec.moverDefaults.podAnnotations[app.kubernetes.io/managed-by]: Forbidden", ""},
		"labels of others pass":                     {moved(kopiurv1.MoverDefaults{PodLabels: map[string]string{"sidecar.istio.io/inject": "false"}}), "", ""},
		"a label that no pod can have is refused":   {moved(kopiurv1.MoverDefaults{PodLabels: map[string]string{"team": "a b"}}), "spec.moverDefaults.podLabels[team]: Invalid value: \"a b\"", ""},
		"a key that no pod can have is refused":     {moved(kopiurv1.MoverDefaults{PodAnnotations: map[string]string{"a b": "x"}}), "no object can have this key", ""},
		"a node's label too":                        {moved(kopiurv1.MoverDefaults{NodeSelector: map[string]string{"zone": "a/b"}}), "spec.moverDefaults.nodeSelector[zone]", ""},
		"a tiny cache is warned of":                 {moved(kopiurv1.MoverDefaults{Cache: &kopiurv1.CacheSpec{Capacity: "1Mi"}}), "", "spec.moverDefaults.cache.capacity: 1Mi is too small"},
		"a cache of a useful size passes":           {moved(kopiurv1.MoverDefaults{Cache: &kopiurv1.CacheSpec{Capacity: "160Mi"}}), "", ""},
		"a cache of a size that is none is refused": {moved(kopiurv1.MoverDefaults{Cache: &kopiurv1.CacheSpec{Capacity: "4 GB"}}), "spec.moverDefaults.cache.capacity: Invalid value: \"4 GB\"", ""},
		"a negative cache is refused":               {moved(kopiurv1.MoverDefaults{Cache: &kopiurv1.CacheSpec{Capacity: "-1Gi"}}), "write 0 or more", ""},
		"a negative limit of a cache is refused":    {moved(kopiurv1.MoverDefaults{Cache: &kopiurv1.CacheSpec{MetadataCacheSizeMB: -1}}), "spec.moverDefaults.cache.metadataCacheSizeMb: Invalid value", ""},
		"resources are amounts":                     {moved(kopiurv1.MoverDefaults{Resources: &kopiurv1.Resources{Limits: map[corev1.ResourceName]kopiurv1.Quantity{"memory": "lots"}}}), "spec.moverDefaults.resources.limits[memory]: Invalid value: \"lots\"", ""},
		"scratch is an amount":                      {moved(kopiurv1.MoverDefaults{Scratch: &kopiurv1.Scratch{Capacity: "big"}}), "spec.moverDefaults.scratch.capacity", ""},
		"a negative throttle is refused":            {moved(kopiurv1.MoverDefaults{Throttle: &kopiurv1.Throttle{ReadOpsPerSecond: -1}}), "spec.moverDefaults.throttle.readOpsPerSecond", ""},

		"an epoch of kopia's own values passes":    {withEpoch(kopiurv1.EpochParameters{MinDuration: "24h", RefreshFrequency: "20m"}), "", ""},
		"an epoch of three refreshes passes":       {withEpoch(kopiurv1.EpochParameters{MinDuration: "1h"}), "", ""},
		"an epoch of fewer is refused":             {withEpoch(kopiurv1.EpochParameters{MinDuration: "59m"}), "spec.parameters.epoch.minDuration: Invalid value: \"59m\": write at least 1h: three times refreshFrequency, which is 20m", ""},
		"a refresh that is too slow is refused":    {withEpoch(kopiurv1.EpochParameters{RefreshFrequency: "9h"}), "spec.parameters.epoch.refreshFrequency: Invalid value: \"9h\": write at most 8h: a third of minDuration, which is 24h", ""},
		"a refresh of centuries is refused":        {withEpoch(kopiurv1.EpochParameters{RefreshFrequency: "1500000h"}), "spec.parameters.epoch.refreshFrequency: Invalid value: \"1500000h\": write at most 8h", ""},
		"an epoch shorter than kopia takes":        {withEpoch(kopiurv1.EpochParameters{MinDuration: "5m", RefreshFrequency: "1m"}), "write at least 10m", ""},
		"an epoch that ends with every blob":       {withEpoch(kopiurv1.EpochParameters{AdvanceOnCount: new(int32(1))}), "spec.parameters.epoch.advanceOnCount: Invalid value: 1: write 10 or more", ""},
		"an epoch that ends at no size":            {withEpoch(kopiurv1.EpochParameters{AdvanceOnSizeMiB: new(int32(0))}), "spec.parameters.epoch.advanceOnSizeMiB", ""},
		"parameters of nothing pass":               {func(s *kopiurv1.RepositorySpec) { readOnly(s); s.Parameters = &kopiurv1.ParametersSpec{} }, "", ""},
		"parameters of a ReadOnly one are refused": {func(s *kopiurv1.RepositorySpec) { readOnly(s); withEpoch(kopiurv1.EpochParameters{})(s) }, "spec.parameters: Forbidden: they are written to the repository, and mode is ReadOnly", ""},
		"a lock of a day passes":                   {locking(kopiurv1.BlobRetention{Governance: period("24h")}), "", ""},
		"a lock of less is refused":                {locking(kopiurv1.BlobRetention{Governance: period("23h")}), "spec.parameters.blobRetention.governance.period: Invalid value: \"23h\": write at least 24h", ""},
		"a lock has a length":                      {locking(kopiurv1.BlobRetention{Governance: period("")}), "spec.parameters.blobRetention.governance.period: Required", ""},
		"a lock that nobody can undo is warned of": {locking(kopiurv1.BlobRetention{Compliance: period("720h")}), "", "nobody can delete"},
		"two locks are refused":                    {locking(kopiurv1.BlobRetention{Governance: period("24h"), Disabled: new(true)}), "governance and disabled are set", ""},
		"a lock that is not disabled is left out":  {locking(kopiurv1.BlobRetention{Disabled: new(false)}), "spec.parameters.blobRetention.disabled: Invalid value: false", ""},
		"folders lock nothing": {func(s *kopiurv1.RepositorySpec) {
			s.Backend = onClaim("backups")
			locking(kopiurv1.BlobRetention{Governance: period("24h")})(s)
		}, "only s3, azure and gcs lock objects", ""},

		"a seed of blobs passes":                           {seeded(kopiurv1.SeedSpec{From: fromBackend(other), Sync: &kopiurv1.SeedSync{Parallel: new(int32(4))}}), "", ""},
		"a seed of snapshots passes":                       {seeded(kopiurv1.SeedSpec{From: fromRepository(kopiurv1.RepositoryRef{Name: "old"}), Migrate: &kopiurv1.SeedMigrate{LatestOnly: true}}), "", ""},
		"a seed of nothing is refused":                     {seeded(kopiurv1.SeedSpec{}), "spec.seed.from: Required value: write exactly one of backend, repository", ""},
		"a seed's backend is checked like any":             {seeded(kopiurv1.SeedSpec{From: fromBackend(kopiurv1.Backend{B2: &kopiurv1.B2Backend{Bucket: "old"}})}), "spec.seed.from.backend.b2.auth.secretRef: Required", ""},
		"a seed's endpoint too":                            {seeded(kopiurv1.SeedSpec{From: fromBackend(atEndpoint("https://old.example.org", false))}), "", "spec.seed.from.backend.s3.endpoint: the scheme is dropped"},
		"a seed from the same place is refused":            {seeded(kopiurv1.SeedSpec{From: fromBackend(inS3(func(*kopiurv1.S3Backend) {}))}), "it is the place of the repository itself", ""},
		"a seed with keys beside an identity":              {seeded(kopiurv1.SeedSpec{From: fromBackend(inS3(func(s *kopiurv1.S3Backend) { s.Bucket, s.Auth = "old", workloadIdentity("sa") }))}), "secretRef on both", ""},
		"a seed from itself is refused":                    {seeded(kopiurv1.SeedSpec{From: fromRepository(kopiurv1.RepositoryRef{Name: "nas", Namespace: "apps"})}), "it is the repository itself", ""},
		"a seed from its namesake elsewhere passes":        {seeded(kopiurv1.SeedSpec{From: fromRepository(kopiurv1.RepositoryRef{Name: "nas", Namespace: "old"})}), "", ""},
		"a seed from a ClusterRepository has no namespace": {seeded(kopiurv1.SeedSpec{From: fromRepository(kopiurv1.RepositoryRef{Kind: kopiurv1.KindClusterRepository, Name: "nas", Namespace: "apps"})}), "a ClusterRepository has no namespace", ""},
		"sync goes with a backend":                         {seeded(kopiurv1.SeedSpec{From: fromRepository(kopiurv1.RepositoryRef{Name: "old"}), Sync: &kopiurv1.SeedSync{}}), "spec.seed.sync: Forbidden: it goes with from.backend", ""},
		"migrate goes with a repository":                   {seeded(kopiurv1.SeedSpec{From: fromBackend(other), Migrate: &kopiurv1.SeedMigrate{}}), "spec.seed.migrate: Forbidden: it goes with from.repository", ""},
		"no copies at once are refused":                    {seeded(kopiurv1.SeedSpec{From: fromBackend(other), Sync: &kopiurv1.SeedSync{Parallel: new(int32(0))}}), "spec.seed.sync.parallel: Invalid value: 0", ""},
		"a negative speed is refused":                      {seeded(kopiurv1.SeedSpec{From: fromBackend(other), Sync: &kopiurv1.SeedSync{MaxUploadSpeedBytesPerSecond: -1}}), "spec.seed.sync.maxUploadSpeedBytesPerSecond", ""},
		"a ReadOnly one is not seeded":                     {func(s *kopiurv1.RepositorySpec) { readOnly(s); seeded(kopiurv1.SeedSpec{From: fromBackend(other)})(s) }, "spec.seed: Forbidden", ""},

		"a server with nothing more passes":           {serving(kopiurv1.ServerSpec{}), "", ""},
		"a Repository's server is in its namespace":   {serving(kopiurv1.ServerSpec{Namespace: "web"}), "spec.server.namespace: Forbidden", ""},
		"a server of a ReadOnly one may leave it out": {func(s *kopiurv1.RepositorySpec) { readOnly(s); s.Server = &kopiurv1.ServerSpec{} }, "", ""},
		"a server of a ReadOnly one writes nothing":   {func(s *kopiurv1.RepositorySpec) { readOnly(s); s.Server = &kopiurv1.ServerSpec{ReadOnly: new(false)} }, "spec.server.readOnly: Invalid value: false", ""},
		"a server of a ReadWrite one may":             {serving(kopiurv1.ServerSpec{ReadOnly: new(false)}), "", ""},
		"a generated password passes":                 {served(kopiurv1.ServerAuth{Generate: &kopiurv1.ServerGenerate{}}), "", ""},
		"auth of nothing is refused":                  {served(kopiurv1.ServerAuth{}), "spec.server.auth: Required value: write exactly one of generate, secretRef, insecure", ""},
		"no password needs an acknowledgement":        {served(kopiurv1.ServerAuth{Insecure: &kopiurv1.ServerInsecure{}}), "spec.server.auth.insecure.acknowledgeInsecure: Invalid value: false", ""},
		"no password is warned of":                    {served(kopiurv1.ServerAuth{Insecure: &kopiurv1.ServerInsecure{AcknowledgeInsecure: true}}), "", "everybody who reaches the server"},
		"a password of yours needs both keys":         {served(kopiurv1.ServerAuth{SecretRef: &kopiurv1.ServerSecretRef{Name: "ui", UsernameKey: "user"}}), "spec.server.auth.secretRef.passwordKey: Required", ""},
		"a port of 0 is refused":                      {serving(kopiurv1.ServerSpec{Service: &kopiurv1.ServerService{Port: new(int32(0))}}), "spec.server.service.port: Invalid value: 0", ""},
		"the server's resources are amounts":          {serving(kopiurv1.ServerSpec{Resources: &kopiurv1.Resources{Requests: map[corev1.ResourceName]kopiurv1.Quantity{"cpu": "much"}}}), "spec.server.resources.requests[cpu]", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			matches(t, Repository(nas(tc.spec)), tc.wantErr, tc.wantWarns)
		})
	}
}

func TestRepositoryWithoutItsNamespaceYet(t *testing.T) {
	t.Parallel()
	r := nas(func(s *kopiurv1.RepositorySpec) { s.Encryption.PasswordSecretRef.Namespace = "apps" })
	r.Namespace = ""
	matches(t, Repository(r), "", "")
}

func TestRepositoryNames(t *testing.T) {
	t.Parallel()
	r := nas()
	r.Name = strings.Repeat("a", 64)
	matches(t, Repository(r), "metadata.name: Invalid value", "")
}

// offsite is a ClusterRepository that has nothing wrong.
func offsite(changes ...func(*kopiurv1.ClusterRepositorySpec)) *kopiurv1.ClusterRepository {
	r := &kopiurv1.ClusterRepository{ObjectMeta: metav1.ObjectMeta{Name: "offsite"}}
	r.Spec.Backend = inS3(func(s *kopiurv1.S3Backend) { s.Auth.SecretRef.Namespace = "backup" })
	r.Spec.Encryption.PasswordSecretRef = kopiurv1.SecretKeyRef{Name: "password", Namespace: "backup"}
	r.Spec.AllowedNamespaces.All = new(true)
	for _, change := range changes {
		change(&r.Spec)
	}
	return r
}

func TestClusterRepository(t *testing.T) {
	t.Parallel()
	allowing := func(a kopiurv1.AllowedNamespaces) func(*kopiurv1.ClusterRepositorySpec) {
		return func(s *kopiurv1.ClusterRepositorySpec) { s.AllowedNamespaces = a }
	}
	selecting := func(s metav1.LabelSelector) func(*kopiurv1.ClusterRepositorySpec) {
		return allowing(kopiurv1.AllowedNamespaces{Selector: &s})
	}
	type spec = func(*kopiurv1.ClusterRepositorySpec)
	projected := func(s *kopiurv1.ClusterRepositorySpec) {
		s.CredentialProjection = &kopiurv1.ProjectionGate{Allowed: true}
	}
	for name, tc := range map[string]struct {
		spec               spec
		wantErr, wantWarns string
	}{
		"the least that works passes":     {func(*kopiurv1.ClusterRepositorySpec) {}, "", ""},
		"every namespace passes":          {allowing(kopiurv1.AllowedNamespaces{All: new(true)}), "", ""},
		"all is true or not there":        {allowing(kopiurv1.AllowedNamespaces{All: new(false)}), "spec.allowedNamespaces.all: Invalid value: false: write true", ""},
		"a list passes":                   {allowing(kopiurv1.AllowedNamespaces{List: []string{"apps", "media"}}), "", ""},
		"a list of what is no namespace":  {allowing(kopiurv1.AllowedNamespaces{List: []string{"apps", "My_Apps"}}), "spec.allowedNamespaces.list[1]: Invalid value: \"My_Apps\"", ""},
		"a list with a gap":               {allowing(kopiurv1.AllowedNamespaces{List: []string{""}}), "spec.allowedNamespaces.list[0]: Required", ""},
		"an empty list allows nobody":     {allowing(kopiurv1.AllowedNamespaces{List: []string{}}), "", "no namespace may use the repository"},
		"a selector passes":               {selecting(metav1.LabelSelector{MatchLabels: map[string]string{"backup": "yes"}}), "", ""},
		"an empty selector allows nobody": {selecting(metav1.LabelSelector{}), "", "write all: true for every namespace"},
		"a selector that cannot be read":  {selecting(metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Is"}}}), "spec.allowedNamespaces.selector: Invalid value", ""},
		"nobody at all is refused":        {allowing(kopiurv1.AllowedNamespaces{}), "spec.allowedNamespaces: Required value: write exactly one of list, selector, all", ""},
		"two ways at once are refused":    {allowing(kopiurv1.AllowedNamespaces{All: new(true), List: []string{"apps"}}), "list and all are set", ""},

		"a password's Secret without a namespace is the operator's": {func(s *kopiurv1.ClusterRepositorySpec) { s.Encryption.PasswordSecretRef.Namespace = "" }, "", "spec.encryption.passwordSecretRef.namespace: it is left out, so the Secret is looked for in the operator's namespace"},
		"a store's Secret without a namespace is in the home":       {func(s *kopiurv1.ClusterRepositorySpec) { s.Backend.S3.Auth.SecretRef.Namespace = "" }, "", "spec.backend.s3.auth.secretRef.namespace: it is left out, so the Secret is looked for in backup"},
		"a store's Secret elsewhere is refused":                     {func(s *kopiurv1.ClusterRepositorySpec) { s.Backend.S3.Auth.SecretRef.Namespace = "vault" }, "movers mount Secrets from backup, the namespace of the password's Secret: put the Secret there", ""},
		"copies need to know where from":                            {func(s *kopiurv1.ClusterRepositorySpec) { projected(s); s.Backend.S3.Auth.SecretRef.Namespace = "" }, "spec.backend.s3.auth.secretRef.namespace: Required value", ""},
		"copies of Secrets with a namespace pass":                   {projected, "", ""},

		"a fallback namespace passes": {func(s *kopiurv1.ClusterRepositorySpec) {
			inCluster("home")(&s.RepositorySpec)
			listing(kopiurv1.CatalogSpec{ForeignSnapshots: kopiurv1.ForeignFallback, FallbackNamespace: "found"})(&s.RepositorySpec)
		}, "", ""},
		"foreign snapshots without a place": {func(s *kopiurv1.ClusterRepositorySpec) {
			inCluster("home")(&s.RepositorySpec)
			listing(kopiurv1.CatalogSpec{ForeignSnapshots: kopiurv1.ForeignFallback})(&s.RepositorySpec)
		}, "", "spec.catalog.fallbackNamespace: it is left out"},
		"a fallback namespace that is none": {func(s *kopiurv1.ClusterRepositorySpec) {
			listing(kopiurv1.CatalogSpec{FallbackNamespace: "a.b"})(&s.RepositorySpec)
		}, "spec.catalog.fallbackNamespace: Invalid value", ""},
		"maintenance at home passes": {func(s *kopiurv1.ClusterRepositorySpec) {
			maintained(kopiurv1.RepositoryMaintenance{Namespace: "backup"})(&s.RepositorySpec)
		}, "", ""},
		"maintenance elsewhere needs copies": {func(s *kopiurv1.ClusterRepositorySpec) {
			maintained(kopiurv1.RepositoryMaintenance{Namespace: "ops"})(&s.RepositorySpec)
		}, "", "its movers mount the repository's Secrets from ops"},
		"maintenance elsewhere with copies": {func(s *kopiurv1.ClusterRepositorySpec) {
			projected(s)
			maintained(kopiurv1.RepositoryMaintenance{Namespace: "ops"})(&s.RepositorySpec)
		}, "", ""},
		"a server needs a namespace":       {func(s *kopiurv1.ClusterRepositorySpec) { s.Server = &kopiurv1.ServerSpec{} }, "spec.server.namespace: Required", ""},
		"a server with a namespace passes": {func(s *kopiurv1.ClusterRepositorySpec) { s.Server = &kopiurv1.ServerSpec{Namespace: "web"} }, "", ""},
		"a seed from itself is refused": {func(s *kopiurv1.ClusterRepositorySpec) {
			seeded(kopiurv1.SeedSpec{From: fromRepository(kopiurv1.RepositoryRef{Kind: kopiurv1.KindClusterRepository, Name: "offsite"})})(&s.RepositorySpec)
		}, "it is the repository itself", ""},
		"a seed from a Repository somewhere": {func(s *kopiurv1.ClusterRepositorySpec) {
			seeded(kopiurv1.SeedSpec{From: fromRepository(kopiurv1.RepositoryRef{Name: "offsite"})})(&s.RepositorySpec)
		}, "spec.seed.from.repository.namespace: Required value: write the namespace of the Repository, or kind: ClusterRepository", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			matches(t, ClusterRepository(offsite(tc.spec)), tc.wantErr, tc.wantWarns)
		})
	}
}

func TestRepositoryUpdate(t *testing.T) {
	t.Parallel()
	full := kopiurv1.CreateSpec{Splitter: "DYNAMIC-4M-BUZHASH", Hash: "BLAKE3-256", Encryption: "AES256-GCM-HMAC-SHA256", ECC: &kopiurv1.ECCSpec{OverheadPercent: 2}}
	with := func(change func(*kopiurv1.CreateSpec)) kopiurv1.CreateSpec {
		c := *full.DeepCopy()
		change(&c)
		return c
	}
	for name, tc := range map[string]struct {
		old, updated specs
		want         string
	}{
		"nothing changes":                   {created(full), created(full), ""},
		"another splitter":                  {created(full), created(with(func(c *kopiurv1.CreateSpec) { c.Splitter = "FIXED-4M" })), "spec.create.splitter: Invalid value: \"FIXED-4M\": it was DYNAMIC-4M-BUZHASH when the repository was created"},
		"another hash":                      {created(full), created(with(func(c *kopiurv1.CreateSpec) { c.Hash = "BLAKE2B-256" })), "spec.create.hash: Invalid value"},
		"another encryption":                {created(full), created(with(func(c *kopiurv1.CreateSpec) { c.Encryption = "CHACHA20-POLY1305-HMAC-SHA256" })), "spec.create.encryption: Invalid value"},
		"another error correction":          {created(full), created(with(func(c *kopiurv1.CreateSpec) { c.ECC.OverheadPercent = 3 })), "spec.create.ecc: Forbidden"},
		"values are added":                  {created(kopiurv1.CreateSpec{Enabled: new(true)}), created(full), ""},
		"values are left out":               {created(full), created(kopiurv1.CreateSpec{Enabled: new(true)}), ""},
		"create is added":                   {func(*kopiurv1.RepositorySpec) {}, created(full), ""},
		"create is left out":                {created(full), func(*kopiurv1.RepositorySpec) {}, ""},
		"creation is forbidden later":       {created(with(func(c *kopiurv1.CreateSpec) { c.Enabled = new(true) })), created(with(func(c *kopiurv1.CreateSpec) { c.Enabled = new(false) })), ""},
		"the password comes from elsewhere": {func(*kopiurv1.RepositorySpec) {}, func(s *kopiurv1.RepositorySpec) { s.Encryption.PasswordSecretRef.Name = "renamed" }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			matches(t, RepositoryUpdate(nas(tc.updated), nas(tc.old)), tc.want, "")
			one, two := offsite(), offsite()
			tc.updated(&one.Spec.RepositorySpec)
			tc.old(&two.Spec.RepositorySpec)
			matches(t, ClusterRepositoryUpdate(one, two), tc.want, "")
		})
	}
}

func TestFindingsErr(t *testing.T) {
	t.Parallel()
	require.NoError(t, Repository(nas()).Err())
	require.ErrorContains(t, Repository(nas(serving(kopiurv1.ServerSpec{Namespace: "web"}))).Err(), "spec.server.namespace")
}
