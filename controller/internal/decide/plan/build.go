// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/validation"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/decide/policy"
	"github.com/kopiur/kopiur/controller/internal/decide/staging"
	"github.com/kopiur/kopiur/controller/internal/keptcache"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

// GVK of the owner of everything that is made for a Snapshot.
var GVK = kopiurv1.GroupVersion.WithKind("Snapshot")

// RepositoryOf is the one repository that a Snapshot goes to: the one it names, or the only one that its policy has. It is
// nil where the policy has several and the Snapshot does not say which.
func RepositoryOf(s *kopiurv1.Snapshot, p *kopiurv1.SnapshotPolicy) *kopiurv1.RepositoryRef {
	if s.Spec.Repository != nil {
		return new(s.Spec.Repository.In(s.Namespace))
	}
	if p == nil {
		return nil
	}
	if refs := p.RepositoryRefs(); len(refs) == 1 {
		return &refs[0]
	}
	return nil
}

// IdentityOf is what a Snapshot is filed under. Policy and repository must exist.
func IdentityOf(w World) (kopiurv1.Identity, policy.Fault) {
	rule, fault := policy.Rule(w.Repository.Ref, w.Repository.Spec.IdentityDefaults)
	if fault.Found() {
		return kopiurv1.Identity{}, fault
	}
	return policy.Identity(w.Policy, w.Repository.Ref, rule, SourceOf(w.Snapshot, w.Policy).Path(w.Snapshot.Namespace))
}

// ResolvedOf is what a Snapshot stands for. It is stored before a copy is made, and again when the mover starts: the
// policy may be edited at any time.
func ResolvedOf(s *kopiurv1.Snapshot, p *kopiurv1.SnapshotPolicy) kopiurv1.SnapshotResolved {
	source := SourceOf(s, p)
	out := kopiurv1.SnapshotResolved{Repository: RepositoryOf(s, p), Sources: []kopiurv1.ResolvedSource{{SourcePath: source.Path(s.Namespace)}}}
	if out.DeletionPolicy = p.Spec.DefaultDeletionPolicy; out.DeletionPolicy == "" {
		out.DeletionPolicy = kopiurv1.DeletionDelete // the policy's own default
	}
	if c := p.Spec.CredentialProjection; c != nil && c.Enabled {
		out.CredentialProjection = c.DeepCopy() // stored data must be deleted when the policy is gone
	}
	if source.PVC != nil {
		out.Sources[0].PVC = s.Namespace + "/" + source.PVC.Name
	}
	return out
}

// ProjectionOf is whether a Snapshot's movers want copies of credentials: as its policy says, and once that is gone, as it
// said.
func ProjectionOf(s *kopiurv1.Snapshot, p *kopiurv1.SnapshotPolicy) *kopiurv1.CredentialProjection {
	if p != nil {
		return p.Spec.CredentialProjection
	}
	if r := s.Status.Resolved; r != nil {
		return r.CredentialProjection
	}
	return nil
}

// Origin of a Snapshot that a mover makes.
func Origin(s *kopiurv1.Snapshot) string {
	if s.Labels[kopiurv1.LabelOrigin] == kopiurv1.OriginScheduled {
		return kopiurv1.OriginScheduled
	}
	return kopiurv1.OriginManual
}

// Labels of a Snapshot by which it is found again.
func Labels(s *kopiurv1.Snapshot, p *kopiurv1.SnapshotPolicy, r *moverjob.Repository) map[string]string {
	return map[string]string{
		kopiurv1.LabelConfig:        kopiurv1.LabelValue(p.Name),
		kopiurv1.LabelPolicy:        kopiurv1.LabelValue(p.Name),
		kopiurv1.LabelOrigin:        Origin(s),
		kopiurv1.LabelRepositoryUID: string(r.UID),
	}
}

// Layers are the mover settings above the repository's, weakest first.
func Layers(s *kopiurv1.Snapshot, p *kopiurv1.SnapshotPolicy) []*kopiurv1.MoverSpec {
	if p == nil {
		return []*kopiurv1.MoverSpec{s.Spec.Mover}
	}
	return []*kopiurv1.MoverSpec{p.Spec.Mover, s.Spec.Mover}
}

// KeptCacheOf is the claim that a backup's cache is to be kept in, nil where it goes with the pod. A pod without fsGroup could
// not write to one.
func KeptCacheOf(w World) *keptcache.Wish {
	c := moverjob.KeepsCache(*w.Repository, Layers(w.Snapshot, w.Policy)...)
	if c == nil || SourceOf(w.Snapshot, w.Policy).PublishesReadWrite() {
		return nil
	}
	return new(keptcache.OfPolicy(w.Policy, *w.Repository, *c))
}

// RecordedOf is whom the mover runs as. A group that somebody asked for is the mover's also where its pod must not have it as
// the fsGroup, and a restore that runs as the backup did needs it to give files to that group.
func RecordedOf(w World) kopiurv1.Recorded {
	r := w.Repository
	layers := moverjob.LayersOf(*r, w.Inherited, Layers(w.Snapshot, w.Policy)...)
	sec := moverjob.Merge(false, false, layers...)
	out := kopiurv1.Recorded{Schema: work.RecordedSchema, Src: kopiurv1.RecordedDefaults, UID: sec.Pod.RunAsUser, GID: sec.Pod.RunAsGroup, FSGroup: sec.Pod.FSGroup}
	// What the container says wins over the pod.
	if sec.Container.RunAsUser != nil {
		out.UID = sec.Container.RunAsUser
	}
	if sec.Container.RunAsGroup != nil {
		out.GID = sec.Container.RunAsGroup
	}
	for _, l := range layers {
		if l.Names() {
			out.Src = kopiurv1.RecordedExplicit
		}
	}
	if in := w.Inherited; in != nil && in.UID() != nil && out.UID != nil && *out.UID == *in.UID() {
		out.Src = kopiurv1.RecordedInherited
	}
	return out
}

// build makes the Job of an attempt. A staged claim is named before it exists: its name derives from the Snapshot's.
func build(w World, attempt int32) (*batchv1.Job, error) {
	s, p := w.Snapshot, w.Policy
	tags, err := tagsOf(w)
	if err != nil {
		return nil, err
	}
	id, fault := IdentityOf(w)
	if fault.Found() {
		return nil, errors.New(fault.Message)
	}
	spec := validation.WithExtraArgs(p.Spec)
	if source := SourceOf(s, p); source.Stream != nil {
		return buildStream(w, attempt, *source.Stream, id, tags)
	}
	mount := sourceMount(w, id.SourcePath)
	op := work.Snapshot{
		Identity:       work.Identity{Username: id.Username, Hostname: id.Hostname, Path: id.SourcePath},
		MustBeReadOnly: mount.PublishReadWrite,
		Description:    s.Spec.Description,
		Tags:           tags,
		Pinned:         s.Spec.Pin,
		Policy:         workPolicy(spec),
		FailFast:       spec.ErrorHandling != nil && spec.ErrorHandling.FailFast,
		UploadLimitMB:  uploadLimit(spec),
	}
	if mount.Block {
		op.DevicePath = mount.Path
	} else {
		op.Path = mount.Path
	}
	job, err := moverjob.Build(moverjob.Request{
		Owner: s, GVK: GVK, Letter: "s", Attempt: attemptKey(attempt),
		Namespace: s.Namespace, Image: w.Image, PullPolicy: w.PullPolicy,
		Repository:    *w.Repository,
		Operation:     work.Operation{Snapshot: &op},
		Inherited:     w.Inherited,
		Layers:        Layers(s, p),
		FailurePolicy: s.Spec.FailurePolicy,
		Source:        &mount,
		CacheClaim:    w.Cache.Claim,
		Labels:        map[string]string{kopiurv1.LabelPolicy: kopiurv1.LabelValue(p.Name)},
	})
	if err != nil {
		return nil, fmt.Errorf("snapshot %s/%s: %w", s.Namespace, s.Name, err)
	}
	return job, nil
}

// buildStream makes the Job that stores what a command writes.
func buildStream(w World, attempt int32, source kopiurv1.StreamSource, id kopiurv1.Identity, tags map[string]string) (*batchv1.Job, error) {
	s, p := w.Snapshot, w.Policy
	job, err := moverjob.Build(moverjob.Request{
		Owner: s, GVK: GVK, Letter: "s", Attempt: attemptKey(attempt), As: OpSnapshot,
		Namespace: s.Namespace, Image: w.Image, PullPolicy: w.PullPolicy,
		Repository: *w.Repository,
		Operation: work.Operation{StreamSnapshot: &work.StreamSnapshot{
			Identity:    work.Identity{Username: id.Username, Hostname: id.Hostname, Path: id.SourcePath},
			FileName:    source.FileName,
			Description: s.Spec.Description,
			Tags:        tags,
			Pinned:      s.Spec.Pin,
			Compression: workPolicy(validation.WithExtraArgs(p.Spec)).Compression,
		}},
		Inherited:     w.Inherited,
		Layers:        Layers(s, p),
		FailurePolicy: s.Spec.FailurePolicy,
		Stream:        &source.WorkloadExec,
		CacheClaim:    w.Cache.Claim,
		Labels:        map[string]string{kopiurv1.LabelPolicy: kopiurv1.LabelValue(p.Name)},
	})
	if err != nil {
		return nil, fmt.Errorf("snapshot %s/%s: %w", s.Namespace, s.Name, err)
	}
	return job, nil
}

// sourceMount is where the mover sees the source. A device is never written to, and neither is an export.
func sourceMount(w World, filedUnder string) moverjob.Mount {
	source := SourceOf(w.Snapshot, w.Policy)
	if source.NFS != nil {
		return moverjob.Mount{NFS: source.NFS, Path: mountPath(filedUnder), ReadOnly: true}
	}
	claim := source.PVC.Name
	if methodOf(w) != kopiurv1.CopyDirect {
		claim = staging.ClaimName(w.Snapshot.Name)
		if staged := w.Snapshot.Status.Staged; staged != nil && staged.PVCName != "" {
			claim = staged.PVCName
		}
	}
	if moverjob.IsBlock(w.Source, w.StagedClaim) {
		return moverjob.Mount{Claim: claim, Path: work.SourceDevice, ReadOnly: true, Block: true}
	}
	return moverjob.Mount{Claim: claim, Path: mountPath(filedUnder), ReadOnly: source.ReadOnlyOrDefault(), PublishReadWrite: source.PublishesReadWrite()}
}

// taken are paths that the mover has for itself: those of its runtime, its own executable and its volumes. A mount over
// one of them, or inside, ends with a pod that cannot start or whose result nobody can read.
var taken = []string{
	"/dev", "/proc", "/sys", "/etc/hosts", "/etc/hostname", "/etc/resolv.conf", "/mover", "/tmp",
	"/run/kopiur", "/run/secrets", "/var/run", work.CacheDir,
}

// mountPath is where the mover sees the source: at the path it is filed under, so that messages name files as the user
// knows them. A path that cannot be a mount point is only a name.
func mountPath(filedUnder string) string {
	clean := path.Clean(filedUnder)
	if clean == "/" || !strings.HasPrefix(clean, "/") || strings.Contains(clean, ":") || strings.Contains(filedUnder, "..") {
		return work.SourceDir
	}
	for _, t := range taken {
		if strings.HasPrefix(clean+"/", t+"/") || strings.HasPrefix(t, clean+"/") {
			return work.SourceDir
		}
	}
	return clean
}

func tagsOf(w World) (map[string]string, error) {
	rec := RecordedOf(w)
	meta, err := json.Marshal(work.RecordedMeta{Schema: int(rec.Schema), UID: rec.UID, GID: rec.GID, FSGroup: rec.FSGroup, Src: rec.Src})
	if err != nil {
		return nil, fmt.Errorf("encode recorded identity: %w", err)
	}
	tags := map[string]string{}
	maps.Copy(tags, w.Snapshot.Spec.Tags)
	// Ours last: what finds a policy's snapshots again is not the user's to change.
	tags[work.TagConfig] = w.Policy.Name
	tags[work.TagMeta] = string(meta)
	return tags, nil
}

func workPolicy(p kopiurv1.SnapshotPolicySpec) work.SnapshotPolicy {
	var out work.SnapshotPolicy
	if c := p.Compression; c != nil {
		out.Compression, out.NeverCompress = c.Compressor, c.NeverCompress
	}
	if f := p.Files; f != nil {
		out.IgnoreRules, out.IgnoreCacheDirs, out.IgnoreIdentical = f.IgnoreRules, f.IgnoreCacheDirs, f.IgnoreIdenticalSnapshots
	}
	if e := p.ErrorHandling; e != nil {
		out.IgnoreFileErrors, out.IgnoreDirErrors, out.IgnoreUnknownTypes = e.IgnoreFileErrors, e.IgnoreDirErrors, e.IgnoreUnknownTypes
	}
	if u := p.Upload; u != nil {
		out.MaxParallelFileReads = int(u.MaxParallelFileReads)
	}
	return out
}

func uploadLimit(p kopiurv1.SnapshotPolicySpec) int64 {
	if p.Upload == nil {
		return 0
	}
	return p.Upload.LimitMB
}

// StagingTimeout of each step; zero waits for ever. A value that cannot be read was refused before.
func StagingTimeout(p *kopiurv1.SnapshotPolicy) time.Duration {
	if p.Spec.Staging == nil {
		return staging.DefaultTimeout
	}
	d, err := p.Spec.Staging.Timeout.Parse(staging.DefaultTimeout)
	if err != nil {
		return staging.DefaultTimeout
	}
	return d
}

// Pin is what is stored about a copy before any of it is made. Retries use it again.
func Pin(s *kopiurv1.Snapshot, p *kopiurv1.SnapshotPolicy, c staging.Choice) kopiurv1.Staged {
	out := kopiurv1.Staged{
		CopyMethod: c.Method, PVCName: staging.ClaimName(s.Name), StorageClassName: c.StorageClass,
		WaitForFirstConsumer:  c.WaitForFirstConsumer,
		StagingTimeoutSeconds: int64(StagingTimeout(p) / time.Second),
	}
	if c.Method == kopiurv1.CopySnapshot {
		out.VolumeSnapshotName = staging.SnapshotName(s.Name)
	}
	if c.Group != "" {
		out.VolumeGroupSnapshotName, out.VolumeSnapshotName = c.Group, c.Snapshot
	}
	return out
}
