// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

type policySpecs = func(*kopiurv1.SnapshotPolicySpec)

// web is a policy in namespace apps that has nothing wrong, as the API server stores it.
func web(changes ...policySpecs) *kopiurv1.SnapshotPolicy {
	p := &kopiurv1.SnapshotPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "web"}}
	p.Spec = kopiurv1.SnapshotPolicySpec{
		Repository:            &kopiurv1.RepositoryRef{Name: "nas", Kind: kopiurv1.KindRepository},
		Sources:               []kopiurv1.Source{{PVC: &kopiurv1.LocalRef{Name: "data"}}},
		CopyMethod:            kopiurv1.CopySnapshot,
		GroupBy:               kopiurv1.GroupByVolumeGroupSnapshot,
		DefaultDeletionPolicy: kopiurv1.DeletionDelete,
		Deletion:              &kopiurv1.PolicyDeletion{OnPolicyDelete: kopiurv1.CascadeRetain},
	}
	for _, change := range changes {
		change(&p.Spec)
	}
	for i := range p.Spec.Sources {
		s := &p.Spec.Sources[i]
		if s.ReadOnly == nil {
			s.ReadOnly = new(true)
		}
		if s.SourcePathStrategy == "" {
			s.SourcePathStrategy = kopiurv1.SourcePathPVCName
		}
	}
	return p
}

func of(s ...kopiurv1.Source) policySpecs {
	return func(p *kopiurv1.SnapshotPolicySpec) { p.Sources = s }
}

func toward(refs ...kopiurv1.RepositoryRef) policySpecs {
	return func(p *kopiurv1.SnapshotPolicySpec) { p.Repository, p.Repositories = nil, refs }
}

func by(m kopiurv1.CopyMethod) policySpecs {
	return func(p *kopiurv1.SnapshotPolicySpec) { p.CopyMethod = m }
}

func staged(s kopiurv1.Staging) policySpecs {
	return func(p *kopiurv1.SnapshotPolicySpec) { p.Staging = &s }
}

func movedBy(m kopiurv1.MoverSpec) policySpecs {
	return func(p *kopiurv1.SnapshotPolicySpec) { p.Mover = &m }
}

func before(h ...kopiurv1.Hook) policySpecs {
	return func(p *kopiurv1.SnapshotPolicySpec) { p.Hooks = &kopiurv1.Hooks{BeforeSnapshot: h} }
}

func verified(v kopiurv1.Verification) policySpecs {
	return func(p *kopiurv1.SnapshotPolicySpec) { p.Verification = &v }
}

func keeping(r kopiurv1.Retention) policySpecs {
	return func(p *kopiurv1.SnapshotPolicySpec) { p.Retention = &r }
}

func checked(c ...kopiurv1.PreflightCheck) policySpecs {
	return func(p *kopiurv1.SnapshotPolicySpec) { p.Preflight = &kopiurv1.Preflight{Checks: c} }
}

func claim(name string, change ...func(*kopiurv1.Source)) kopiurv1.Source {
	s := kopiurv1.Source{PVC: &kopiurv1.LocalRef{Name: name}}
	for _, f := range change {
		f(&s)
	}
	return s
}

func filedUnder(path string) func(*kopiurv1.Source) {
	return func(s *kopiurv1.Source) { s.SourcePathOverride = path }
}

func canWrite(s *kopiurv1.Source) { s.ReadOnly = new(false) }

func published(s *kopiurv1.Source) {
	s.PVCPublicationReadOnly, s.AcknowledgeReadWritePublication = new(false), true
}

func labelled(labels map[string]string, namespaces ...string) kopiurv1.Source {
	s := kopiurv1.PVCSelector{}
	if labels != nil {
		s.LabelSelector = &metav1.LabelSelector{MatchLabels: labels}
	}
	if namespaces != nil {
		s.NamespaceSelector = &kopiurv1.NamespaceSelector{MatchNames: namespaces}
	}
	return kopiurv1.Source{PVCSelector: &s}
}

func export(path string, change ...func(*kopiurv1.Source)) kopiurv1.Source {
	s := kopiurv1.Source{NFS: &kopiurv1.NFSVolume{Server: "nas.local", Path: path}}
	for _, f := range change {
		f(&s)
	}
	return s
}

func dumpTo(file string, change ...func(*kopiurv1.Source)) kopiurv1.Source {
	s := kopiurv1.Source{Stream: &kopiurv1.StreamSource{FileName: file, WorkloadExec: kopiurv1.WorkloadExec{PodSelector: app, Command: []string{"pg_dump", "app"}}}}
	for _, f := range change {
		f(&s)
	}
	return s
}

func TestSnapshotPolicy(t *testing.T) {
	t.Parallel()
	mine := map[string]string{"backup": "yes"}
	own := kopiurv1.RepositoryRef{Name: "nas"}
	for name, tc := range map[string]struct {
		spec              []policySpecs
		wantErr, wantWarn string
	}{
		"one claim":                         {},
		"several claims":                    {spec: []policySpecs{of(claim("data"), claim("cache"))}},
		"several repositories":              {spec: []policySpecs{toward(own, kopiurv1.RepositoryRef{Name: "nas", Kind: kopiurv1.KindClusterRepository})}},
		"no repository":                     {spec: []policySpecs{toward()}, wantErr: "spec: Required value: write exactly one of repository, repositories"},
		"both forms of repositories":        {spec: []policySpecs{func(s *kopiurv1.SnapshotPolicySpec) { s.Repositories = []kopiurv1.RepositoryRef{own} }}, wantErr: "keep exactly one of repository, repositories"},
		"one repository twice":              {spec: []policySpecs{toward(own, kopiurv1.RepositoryRef{Name: "nas", Namespace: "apps"})}, wantErr: "spec.repositories[1]: Forbidden: it is the same as spec.repositories[0]"},
		"nine repositories":                 {spec: []policySpecs{toward(make([]kopiurv1.RepositoryRef, 9)...)}, wantErr: "spec.repositories: Too many"},
		"hooks around several repositories": {spec: []policySpecs{toward(own), before(kopiurv1.Hook{HTTPRequest: &kopiurv1.HTTPHook{URL: "https://app/freeze"}})}, wantErr: "spec.repositories: Forbidden: hooks would run once for each"},
		"empty hooks around them":           {spec: []policySpecs{toward(own), before()}},
		"a ClusterRepository of a namespace": {spec: []policySpecs{func(s *kopiurv1.SnapshotPolicySpec) {
			s.Repository = &kopiurv1.RepositoryRef{Name: "nas", Kind: kopiurv1.KindClusterRepository, Namespace: "apps"}
		}}, wantErr: "spec.repository.namespace: Forbidden"},
		"nothing":                         {spec: []policySpecs{of()}, wantErr: "spec.sources: Required value: write at least one source"},
		"a source of nothing":             {spec: []policySpecs{of(kopiurv1.Source{})}, wantErr: "spec.sources[0]: Required value: write exactly one of pvc, pvcSelector, nfs, stream"},
		"a source of two things":          {spec: []policySpecs{of(claim("data", func(s *kopiurv1.Source) { s.NFS = export("/a").NFS }))}, wantErr: "spec.sources[0]: Forbidden: pvc and nfs are set"},
		"a claim that cannot be":          {spec: []policySpecs{of(claim("Data"))}, wantErr: "spec.sources[0].pvc.name: Invalid value"},
		"claims by their labels":          {spec: []policySpecs{of(labelled(mine))}},
		"all claims":                      {spec: []policySpecs{of(labelled(nil, "apps"))}},
		"claims of another namespace":     {spec: []policySpecs{of(labelled(mine, "apps", "db"))}, wantErr: `spec.sources[0].pvcSelector.namespaceSelector.matchNames[1]: Invalid value: "db": a mover mounts claims of its own namespace, apps`},
		"claims by impossible labels":     {spec: []policySpecs{of(labelled(map[string]string{"a b": "c"}))}, wantErr: "spec.sources[0].pvcSelector.labelSelector"},
		"selected claims under one path":  {spec: []policySpecs{of(kopiurv1.Source{PVCSelector: &kopiurv1.PVCSelector{}, SourcePathOverride: "/data"})}, wantErr: "spec.sources[0].sourcePathOverride: Forbidden"},
		"one selector twice":              {spec: []policySpecs{of(labelled(mine), labelled(mine))}, wantErr: "spec.sources[1].pvcSelector: Forbidden: it selects the claims of spec.sources[0] too"},
		"two selectors":                   {spec: []policySpecs{of(labelled(mine), labelled(map[string]string{"backup": "often"}))}},
		"all claims and one of them":      {spec: []policySpecs{of(claim("data"), labelled(nil))}, wantErr: "spec.sources[1].pvcSelector: Forbidden: it selects the claims of spec.sources[0] too"},
		"all claims and some of them":     {spec: []policySpecs{of(labelled(nil), labelled(mine))}, wantErr: "spec.sources[0].pvcSelector: Forbidden"},
		"an export":                       {spec: []policySpecs{of(export("/export/media"))}},
		"a writable export":               {spec: []policySpecs{of(export("/export/media", canWrite))}, wantErr: "spec.sources[0].readOnly: Forbidden: an export is always mounted read-only"},
		"an export that is not absolute":  {spec: []policySpecs{of(export("media"))}, wantErr: "spec.sources[0].nfs.path: Invalid value"},
		"an export named as claims are":   {spec: []policySpecs{of(export("/media", func(s *kopiurv1.Source) { s.SourcePathStrategy = kopiurv1.SourcePathPVCNamespacedName }))}, wantWarn: "spec.sources[0].sourcePathStrategy: it names the paths of claims"},
		"an export and a group":           {spec: []policySpecs{of(export("/media")), movedBy(inPod(corev1.PodSecurityContext{FSGroup: new(int64(1000))}))}, wantWarn: "spec.mover.podSecurityContext.fsGroup: an NFS server goes by uid"},
		"an export, a group and a user":   {spec: []policySpecs{of(export("/media")), movedBy(inPod(corev1.PodSecurityContext{RunAsUser: new(int64(1000)), FSGroup: new(int64(1000))}))}},
		"a stream":                        {spec: []policySpecs{of(dumpTo("db.sql"))}},
		"a stream and a claim":            {spec: []policySpecs{of(dumpTo("db.sql"), claim("data"))}, wantErr: "spec.sources[0].stream: Forbidden: it must be the only source"},
		"a stream into a folder":          {spec: []policySpecs{of(dumpTo("dumps/db.sql"))}, wantErr: "spec.sources[0].stream.fileName: Invalid value"},
		"a writable stream":               {spec: []policySpecs{of(dumpTo("db.sql", canWrite))}, wantErr: "spec.sources[0].readOnly: Forbidden: a stream has no volume"},
		"a cloned stream":                 {spec: []policySpecs{of(dumpTo("db.sql")), by(kopiurv1.CopyClone)}, wantErr: "spec.copyMethod: Forbidden: a stream has no volume"},
		"a stream of a class":             {spec: []policySpecs{of(dumpTo("db.sql")), func(s *kopiurv1.SnapshotPolicySpec) { s.VolumeSnapshotClassName = "fast" }}, wantErr: "spec.volumeSnapshotClassName: Forbidden"},
		"a staged stream":                 {spec: []policySpecs{of(dumpTo("db.sql")), staged(kopiurv1.Staging{StorageClassName: "fast"})}, wantErr: "spec.staging: Forbidden"},
		"a stream by its consumer":        {spec: []policySpecs{of(dumpTo("db.sql")), movedBy(inheriting(kopiurv1.InheritSecurityContextFrom{PVCConsumer: &kopiurv1.PVCConsumer{}}))}, wantErr: "spec.mover.inheritSecurityContextFrom.pvcConsumer: Forbidden"},
		"a claim by its consumer":         {spec: []policySpecs{movedBy(inheriting(kopiurv1.InheritSecurityContextFrom{PVCConsumer: &kopiurv1.PVCConsumer{}}))}},
		"a path that is not absolute":     {spec: []policySpecs{of(claim("data", filedUnder("data")))}, wantErr: "spec.sources[0].sourcePathOverride: Invalid value: \"data\": write an absolute path"},
		"two claims under one path":       {spec: []policySpecs{of(claim("data"), claim("more", filedUnder("/pvc/data")))}, wantErr: "spec.sources[1]: Forbidden: its snapshots are filed under /pvc/data, as those of spec.sources[0] are"},
		"a writable copy":                 {spec: []policySpecs{of(claim("data", canWrite))}},
		"a writable live volume":          {spec: []policySpecs{of(claim("data", canWrite)), by(kopiurv1.CopyDirect)}, wantErr: "acknowledgeLiveMutation: true"},
		"one that was acknowledged":       {spec: []policySpecs{of(claim("data", canWrite, func(s *kopiurv1.Source) { s.AcknowledgeLiveMutation = true })), by(kopiurv1.CopyDirect)}},
		"a writable copy that is not":     {spec: []policySpecs{of(claim("data", canWrite)), staged(kopiurv1.Staging{AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadOnlyMany}})}, wantErr: "spec.staging.accessModes has ReadOnlyMany"},
		"a published live volume":         {spec: []policySpecs{of(claim("data", published)), by(kopiurv1.CopyDirect)}},
		"a published copy":                {spec: []policySpecs{of(claim("data", published))}, wantErr: "it is for copyMethod: Direct"},
		"a published export":              {spec: []policySpecs{of(export("/media", published)), by(kopiurv1.CopyDirect)}, wantErr: "it is for a claim that pvc names"},
		"published and not acknowledged":  {spec: []policySpecs{of(claim("data", func(s *kopiurv1.Source) { s.PVCPublicationReadOnly = new(false) })), by(kopiurv1.CopyDirect)}, wantErr: "spec.sources[0].acknowledgeReadWritePublication: Required value"},
		"published with a group":          {spec: []policySpecs{of(claim("data", published)), by(kopiurv1.CopyDirect), movedBy(inPod(corev1.PodSecurityContext{FSGroup: new(int64(1000))}))}, wantErr: "spec.mover.podSecurityContext.fsGroup: Forbidden"},
		"published and writable":          {spec: []policySpecs{of(claim("data", published, canWrite, func(s *kopiurv1.Source) { s.AcknowledgeLiveMutation = true })), by(kopiurv1.CopyDirect)}, wantErr: "and readOnly is false"},
		"published read-only as ever":     {spec: []policySpecs{of(claim("data", func(s *kopiurv1.Source) { s.PVCPublicationReadOnly = new(true) }))}},
		"a copy of another class":         {spec: []policySpecs{staged(kopiurv1.Staging{StorageClassName: "fast", AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadOnlyMany}, Timeout: "0"})}},
		"a class of no copy":              {spec: []policySpecs{by(kopiurv1.CopyDirect), staged(kopiurv1.Staging{StorageClassName: "fast"})}, wantErr: "spec.staging: Forbidden: storageClassName and accessModes shape a staged copy, and copyMethod: Direct makes none"},
		"a timeout of no copy":            {spec: []policySpecs{by(kopiurv1.CopyDirect), staged(kopiurv1.Staging{Timeout: "0"})}},
		"a class of selected claims":      {spec: []policySpecs{of(labelled(mine)), staged(kopiurv1.Staging{StorageClassName: "fast"})}, wantErr: "spec.staging: Forbidden"},
		"a class of an export":            {spec: []policySpecs{of(export("/media")), staged(kopiurv1.Staging{StorageClassName: "fast"})}, wantErr: "none is made of an NFS export"},
		"a timeout that is none":          {spec: []policySpecs{staged(kopiurv1.Staging{Timeout: "soon"})}, wantErr: "spec.staging.timeout: Invalid value"},
		"an access mode twice":            {spec: []policySpecs{staged(kopiurv1.Staging{AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce, corev1.ReadWriteOnce}})}, wantErr: "spec.staging.accessModes[1]: Duplicate value"},
		"a snapshot class of no snapshot": {spec: []policySpecs{by(kopiurv1.CopyClone), func(s *kopiurv1.SnapshotPolicySpec) { s.VolumeSnapshotClassName = "fast" }}, wantWarn: "spec.volumeSnapshotClassName: it has no effect with copyMethod: Clone"},
		"live volumes at one instant":     {spec: []policySpecs{by(kopiurv1.CopyDirect), of(claim("data"), claim("cache"))}, wantWarn: "spec.groupBy: copyMethod: Direct cannot cut several claims at one instant"},
		"live volumes one by one":         {spec: []policySpecs{by(kopiurv1.CopyDirect), of(claim("data"), claim("cache")), func(s *kopiurv1.SnapshotPolicySpec) { s.GroupBy = kopiurv1.GroupByNone }}},
		"an identity": {spec: []policySpecs{func(s *kopiurv1.SnapshotPolicySpec) {
			s.Identity = &kopiurv1.PolicyIdentity{Username: "root", Hostname: "old.example.org"}
		}}},
		"an identity of two parts":       {spec: []policySpecs{func(s *kopiurv1.SnapshotPolicySpec) { s.Identity = &kopiurv1.PolicyIdentity{Username: "root@old"} }}, wantErr: "spec.identity.username: Invalid value: \"root@old\": write it without @"},
		"an identity with a path":        {spec: []policySpecs{func(s *kopiurv1.SnapshotPolicySpec) { s.Identity = &kopiurv1.PolicyIdentity{Hostname: "old:/data"} }}, wantErr: "spec.identity.hostname: Invalid value"},
		"a retention":                    {spec: []policySpecs{keeping(kopiurv1.Retention{KeepDaily: new(int32(7)), KeepLatest: new(int32(0))})}},
		"a retention that keeps nothing": {spec: []policySpecs{keeping(kopiurv1.Retention{KeepDaily: new(int32(0))})}, wantErr: "spec.retention: Forbidden: it keeps nothing"},
		"an empty retention":             {spec: []policySpecs{keeping(kopiurv1.Retention{})}, wantErr: "spec.retention: Forbidden: it keeps nothing"},
		"a compressor": {spec: []policySpecs{func(s *kopiurv1.SnapshotPolicySpec) {
			s.Compression = &kopiurv1.Compression{Compressor: "zstd-better-compression", NeverCompress: []string{".jpg"}}
		}}},
		"a compressor that kopia lacks": {spec: []policySpecs{func(s *kopiurv1.SnapshotPolicySpec) { s.Compression = &kopiurv1.Compression{Compressor: "brotli"} }}, wantErr: "spec.compression.compressor: Unsupported value: \"brotli\": supported values: \"none\""},
		"an ending without its dot": {spec: []policySpecs{func(s *kopiurv1.SnapshotPolicySpec) {
			s.Compression = &kopiurv1.Compression{NeverCompress: []string{"jpg"}}
		}}, wantWarn: "spec.compression.neverCompress[0]"},
		"two rules in one": {spec: []policySpecs{func(s *kopiurv1.SnapshotPolicySpec) { s.Files = &kopiurv1.Files{IgnoreRules: []string{"*.tmp\n*.log"}} }}, wantErr: "spec.files.ignoreRules[0]: Invalid value"},
		"to fail fast and to go on": {spec: []policySpecs{func(s *kopiurv1.SnapshotPolicySpec) {
			s.ErrorHandling = &kopiurv1.ErrorHandling{FailFast: true, IgnoreFileErrors: true}
		}}, wantWarn: "spec.errorHandling.failFast"},
		"a nightly verification":                 {spec: []policySpecs{verified(kopiurv1.Verification{Quick: &kopiurv1.QuickVerification{Schedule: &kopiurv1.CronSpec{Cron: "H 4 * * *"}}, VerifyFilesPercent: 5})}},
		"a verification at no time":              {spec: []policySpecs{verified(kopiurv1.Verification{Quick: &kopiurv1.QuickVerification{}})}, wantErr: "spec.verification.quick.schedule: Required value: write verification.quick.schedule.cron"},
		"a verification of nothing":              {spec: []policySpecs{verified(kopiurv1.Verification{VerifyFilesPercent: 10})}, wantWarn: "spec.verification: nothing is verified"},
		"more than all files":                    {spec: []policySpecs{verified(kopiurv1.Verification{Quick: &kopiurv1.QuickVerification{Schedule: &kopiurv1.CronSpec{Cron: "0 4 * * *"}}, VerifyFilesPercent: 255})}, wantWarn: "spec.verification.verifyFilesPercent: 100 are all files"},
		"a share of files for deep verification": {spec: []policySpecs{verified(kopiurv1.Verification{Deep: &kopiurv1.DeepVerification{Schedule: kopiurv1.CronSpec{Cron: "0 4 * * 0"}}, VerifyFilesPercent: 5})}, wantWarn: "it is for quick verification"},
		"a deep verification with a check":       {spec: []policySpecs{verified(kopiurv1.Verification{Deep: &kopiurv1.DeepVerification{Schedule: kopiurv1.CronSpec{Cron: "0 4 * * 0"}, Capacity: "50Gi", StorageClassName: "fast", Check: &kopiurv1.DeepCheck{Image: "postgres:18", Command: []string{"pg_verifybackup"}, Timeout: "1h"}}})}},
		"a deep verification does not inherit": {
			spec: []policySpecs{
				movedBy(kopiurv1.MoverSpec{InheritSecurityContextFrom: &kopiurv1.InheritSecurityContextFrom{PVCConsumer: &kopiurv1.PVCConsumer{}}}),
				verified(kopiurv1.Verification{Deep: &kopiurv1.DeepVerification{Schedule: kopiurv1.CronSpec{Cron: "0 4 * * 0"}}}),
			},
			wantWarn: "spec.verification.deep: it does not take over the user of mover.inheritSecurityContextFrom",
		},
		"a check without an image":          {spec: []policySpecs{verified(kopiurv1.Verification{Deep: &kopiurv1.DeepVerification{Schedule: kopiurv1.CronSpec{Cron: "0 4 * * 0"}, Check: &kopiurv1.DeepCheck{}}})}, wantErr: "spec.verification.deep.check.image: Required value"},
		"a scratch volume of no size":       {spec: []policySpecs{verified(kopiurv1.Verification{Deep: &kopiurv1.DeepVerification{Schedule: kopiurv1.CronSpec{Cron: "0 4 * * 0"}, Capacity: "big"}})}, wantErr: "spec.verification.deep.capacity: Invalid value"},
		"a deep verification at no hour":    {spec: []policySpecs{verified(kopiurv1.Verification{Deep: &kopiurv1.DeepVerification{Schedule: kopiurv1.CronSpec{Cron: "0 25 * * 0"}}})}, wantErr: "spec.verification.deep.schedule.cron: Invalid value"},
		"an expression for both tiers":      {spec: []policySpecs{verified(kopiurv1.Verification{Quick: &kopiurv1.QuickVerification{Schedule: &kopiurv1.CronSpec{Cron: "0 4 * * *"}}, Deep: &kopiurv1.DeepVerification{Schedule: kopiurv1.CronSpec{Cron: "0 4 * * 0"}}, SuccessExpr: "stats.errors == 0 && (tier == 'quick' || restored.files > 0)"})}},
		"an expression for deep alone":      {spec: []policySpecs{verified(kopiurv1.Verification{Quick: &kopiurv1.QuickVerification{Schedule: &kopiurv1.CronSpec{Cron: "0 4 * * *"}}, SuccessExpr: "restored.files > 0"})}, wantErr: "spec.verification.successExpr: Invalid value"},
		"an expression that gives a number": {spec: []policySpecs{verified(kopiurv1.Verification{Quick: &kopiurv1.QuickVerification{Schedule: &kopiurv1.CronSpec{Cron: "0 4 * * *"}}, SuccessExpr: "stats.files"})}, wantErr: "spec.verification.successExpr: Invalid value: \"stats.files\": expression gives int, not bool"},
		"a check of the source":             {spec: []policySpecs{checked(kopiurv1.PreflightCheck{Name: "quiet", Expr: "origin == 'manual' || size(pods) == 0", Message: "stop the application first"})}},
		"a check of what there is not":      {spec: []policySpecs{checked(kopiurv1.PreflightCheck{Name: "quiet", Expr: "pod.ready"})}, wantErr: "spec.preflight.checks[0].expr: Invalid value: \"pod.ready\""},
		"a check of a claim where there is none": {spec: []policySpecs{checked(kopiurv1.PreflightCheck{Name: "quiet", Expr: "size(pods) == 0"}), func(s *kopiurv1.SnapshotPolicySpec) {
			s.Sources = []kopiurv1.Source{{NFS: &kopiurv1.NFSVolume{Server: "nas", Path: "/export"}}}
		}}, wantErr: "spec.preflight.checks[0].expr: Invalid value: \"size(pods) == 0\": none of the sources is a claim"},
		"one check twice":                      {spec: []policySpecs{checked(kopiurv1.PreflightCheck{Name: "free", Expr: "true"}, kopiurv1.PreflightCheck{Name: "free", Expr: "true"})}, wantErr: "spec.preflight.checks[1].name: Duplicate value: \"free\""},
		"a check without a name":               {spec: []policySpecs{checked(kopiurv1.PreflightCheck{Expr: "true"})}, wantErr: "spec.preflight.checks[0].name: Required value"},
		"a check that is waited for, for days": {spec: []policySpecs{func(s *kopiurv1.SnapshotPolicySpec) { s.Preflight = &kopiurv1.Preflight{Timeout: "2d"} }}, wantErr: "spec.preflight.timeout: Invalid value"},
		"a mover with a mistake":               {spec: []policySpecs{movedBy(caching(kopiurv1.CacheSpec{Capacity: "much"}))}, wantErr: "spec.mover.cache.capacity: Invalid value"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			matches(t, SnapshotPolicy(web(tc.spec...)), tc.wantErr, tc.wantWarn)
		})
	}
}

func TestSnapshotPolicyMetadata(t *testing.T) {
	t.Parallel()
	t.Run("a name that is no label", func(t *testing.T) {
		t.Parallel()
		p := web()
		p.Name = strings.Repeat("a", 64)
		matches(t, SnapshotPolicy(p), "metadata.name: Invalid value", "")
	})
	t.Run("an acknowledgement without a time", func(t *testing.T) {
		t.Parallel()
		p := web()
		p.Annotations = map[string]string{kopiurv1.AnnotationAcknowledgeEmptyStart: "yes"}
		matches(t, SnapshotPolicy(p), "metadata.annotations[kopiur.home-operations.com/acknowledge-empty-start]: Invalid value", "")
	})
}

func TestSnapshotPolicyUpdate(t *testing.T) {
	t.Parallel()
	matches(t, SnapshotPolicyUpdate(web(), web()), "", "")
	matches(t, SnapshotPolicyUpdate(web(toward(kopiurv1.RepositoryRef{Name: "offsite"}, kopiurv1.RepositoryRef{Name: "nas"})), web()), "", "")
	matches(t, SnapshotPolicyUpdate(web(toward(kopiurv1.RepositoryRef{Name: "offsite"})), web()), "", "spec: Repository apps/nas takes no further snapshots")
}

func TestMoverUser(t *testing.T) {
	t.Parallel()
	const warning = "spec.mover: movers run as uid 65532"
	user := &corev1.SecurityContext{RunAsUser: new(int64(1000))}
	for name, tc := range map[string]struct {
		policy   *kopiurv1.SnapshotPolicy
		defaults *kopiurv1.MoverDefaults
		want     string
	}{
		"nobody names a user":          {web(), nil, warning},
		"the repository names none":    {web(), &kopiurv1.MoverDefaults{}, warning},
		"the repository names one":     {web(), &kopiurv1.MoverDefaults{SecurityContext: user}, ""},
		"the policy names one":         {web(movedBy(kopiurv1.MoverSpec{SecurityContext: user})), nil, ""},
		"the policy's pod names one":   {web(movedBy(inPod(corev1.PodSecurityContext{RunAsUser: new(int64(1000))}))), nil, ""},
		"the policy takes one over":    {web(movedBy(inheriting(kopiurv1.InheritSecurityContextFrom{PVCConsumer: &kopiurv1.PVCConsumer{}}))), nil, ""},
		"the policy is privileged":     {web(movedBy(privileged(kopiurv1.MoverSpec{}))), nil, ""},
		"the policy is not privileged": {web(movedBy(kopiurv1.MoverSpec{PrivilegedMode: new(false)})), nil, warning},
		"a stream reads no files":      {web(of(dumpTo("db.sql"))), nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			matches(t, MoverUser(tc.policy, tc.defaults), "", tc.want)
		})
	}
}

func TestExtraArgs(t *testing.T) {
	t.Parallel()
	with := func(args ...string) policySpecs {
		return func(s *kopiurv1.SnapshotPolicySpec) { s.ExtraArgs = args }
	}
	for name, tc := range map[string]struct {
		spec    []policySpecs
		wantErr string
		want    kopiurv1.Upload
		fast    bool
	}{
		"readers":                      {spec: []policySpecs{with("--parallel=8")}, want: kopiurv1.Upload{MaxParallelFileReads: 8}},
		"in two words":                 {spec: []policySpecs{with("--parallel", "8", "--fail-fast")}, want: kopiurv1.Upload{MaxParallelFileReads: 8}, fast: true},
		"a limit":                      {spec: []policySpecs{with("--upload-limit-mb=500")}, want: kopiurv1.Upload{LimitMB: 500}},
		"to fail fast":                 {spec: []policySpecs{with("--fail-fast")}, fast: true},
		"not to fail fast":             {spec: []policySpecs{with("--no-fail-fast")}},
		"to fail fast, with a value":   {spec: []policySpecs{with("--fail-fast=true")}, fast: true},
		"beside a field":               {spec: []policySpecs{with("--parallel=8"), func(s *kopiurv1.SnapshotPolicySpec) { s.Upload = &kopiurv1.Upload{LimitMB: 3} }}, want: kopiurv1.Upload{MaxParallelFileReads: 8, LimitMB: 3}},
		"readers twice":                {spec: []policySpecs{with("--parallel=8", "--parallel=9")}, wantErr: "spec.extraArgs[1]: Forbidden: --parallel is given twice"},
		"readers as a field too":       {spec: []policySpecs{with("--parallel=8"), func(s *kopiurv1.SnapshotPolicySpec) { s.Upload = &kopiurv1.Upload{MaxParallelFileReads: 4} }}, wantErr: "--parallel stands for spec.upload.maxParallelFileReads, which is set"},
		"readers without a number":     {spec: []policySpecs{with("--parallel")}, wantErr: "write --parallel= and a number from 1 to 256, or better spec.upload.maxParallelFileReads"},
		"many readers":                 {spec: []policySpecs{with("--parallel=many")}, wantErr: "spec.extraArgs[0]: Invalid value: \"--parallel=many\""},
		"a description":                {spec: []policySpecs{with("--description=x")}, wantErr: "--description is not taken here: write the Snapshot's spec.description"},
		"the password":                 {spec: []policySpecs{with("--password=x")}, wantErr: "--password is not taken here: of kopia's flags only"},
		"the opposite of a number":     {spec: []policySpecs{with("--no-parallel")}, wantErr: "--no-parallel is not taken here"},
		"one dash":                     {spec: []policySpecs{with("-p")}, wantErr: "write a flag with two dashes"},
		"a word":                       {spec: []policySpecs{with("parallel=8")}, wantErr: "write a flag with two dashes"},
		"a value that is left over":    {spec: []policySpecs{with("--fail-fast", "yes")}, wantErr: "spec.extraArgs[1]: Invalid value: \"yes\""},
		"nothing":                      {spec: []policySpecs{with()}},
		"to fail fast, perhaps":        {spec: []policySpecs{with("--fail-fast=perhaps")}, wantErr: "write --fail-fast without a value"},
		"to ignore what is the same":   {spec: []policySpecs{with("--force-hash=10")}, wantErr: "--force-hash is not taken here"},
		"a limit below zero, and more": {spec: []policySpecs{with("--upload-limit-mb=-1")}, wantErr: "a number from 0 to"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := web(tc.spec...)
			matches(t, SnapshotPolicy(p), tc.wantErr, "")
			was := p.DeepCopy()
			got := WithExtraArgs(p.Spec)
			assert.Equal(t, was, p, "the policy itself is not touched")
			if tc.wantErr != "" {
				return
			}
			assert.Empty(t, got.ExtraArgs)
			if tc.want == (kopiurv1.Upload{}) {
				tc.want = *upload(&got)
			}
			assert.Equal(t, tc.want, *upload(&got))
			assert.Equal(t, tc.fast, got.ErrorHandling != nil && got.ErrorHandling.FailFast)
		})
	}
}
