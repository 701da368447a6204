// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package moverjob_test

import (
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func repo(backend kopiurv1.Backend) moverjob.Repository {
	r := &kopiurv1.Repository{}
	r.Name, r.Namespace, r.UID = "nas", "apps", "repo-uid"
	r.Spec.Backend = backend
	r.Spec.Encryption.PasswordSecretRef = kopiurv1.SecretKeyRef{Name: "nas-password"}
	r.Status.UniqueID = "0011"
	return moverjob.FromRepository(r)
}

func onPVC() kopiurv1.Backend {
	return kopiurv1.Backend{Filesystem: &kopiurv1.FilesystemBackend{Path: "/repository", Volume: &kopiurv1.RepositoryVolume{PVC: &kopiurv1.LocalRef{Name: "repo-claim"}}}}
}

func onS3() kopiurv1.Backend {
	return kopiurv1.Backend{S3: &kopiurv1.S3Backend{
		Bucket: "backups", Prefix: "apps/", Endpoint: "s3.example.org:9000",
		TLS:  &kopiurv1.S3TLS{CABundleRef: &kopiurv1.CABundleRef{ConfigMapName: "ca"}},
		Auth: &kopiurv1.BackendAuth{SecretRef: &kopiurv1.SecretRef{Name: "s3-keys"}},
	}}
}

func onRclone() kopiurv1.Backend {
	return kopiurv1.Backend{Rclone: &kopiurv1.RcloneBackend{
		RemotePath: "nas:backups", ConfigSecretRef: &kopiurv1.SecretRef{Name: "rclone"}, StartupTimeout: "90s",
	}}
}

// others are the backends beside filesystem and s3, with all of their fields.
func others() map[string]kopiurv1.Backend {
	keys := &kopiurv1.BackendAuth{SecretRef: &kopiurv1.SecretRef{Name: "keys"}}
	identity := &kopiurv1.BackendAuth{WorkloadIdentity: &kopiurv1.WorkloadIdentity{ServiceAccountName: "cloud"}}
	return map[string]kopiurv1.Backend{
		"azure":           {Azure: &kopiurv1.AzureBackend{Container: "backups", Prefix: "apps/", StorageDomain: "blob.core.usgovcloudapi.net", Auth: keys}},
		"azure-identity":  {Azure: &kopiurv1.AzureBackend{Container: "backups", StorageAccount: "acme", Auth: identity}},
		"gcs":             {GCS: &kopiurv1.GCSBackend{Bucket: "backups", Prefix: "apps/", Auth: keys}},
		"gcs-identity":    {GCS: &kopiurv1.GCSBackend{Bucket: "backups", Auth: identity}},
		"s3-identity":     {S3: &kopiurv1.S3Backend{Bucket: "backups", Region: "eu-1", Auth: identity}},
		"b2":              {B2: &kopiurv1.B2Backend{Bucket: "backups", Prefix: "apps/", Auth: keys}},
		"sftp":            {SFTP: &kopiurv1.SFTPBackend{Host: "nas.example.org", Port: 2222, Path: "/backups", Username: "kopia", Auth: keys}},
		"webdav":          {WebDAV: &kopiurv1.WebDAVBackend{URL: "https://nas.example.org/backups", Auth: keys}},
		"webdav-everyone": {WebDAV: &kopiurv1.WebDAVBackend{URL: "https://nas.example.org/backups"}},
		"rclone":          onRclone(),
		"gdrive":          {GDrive: &kopiurv1.GDriveBackend{FolderID: "1aBcD", CredentialsSecretRef: &kopiurv1.SecretRef{Name: "keys"}}},
	}
}

// TestBackendGolden keeps of each backend's pod what the backend decides: who it runs as, what it mounts, what it is told.
func TestBackendGolden(t *testing.T) {
	t.Parallel()
	for name, b := range others() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			job, err := moverjob.Build(snapshotRequest(b))
			require.NoError(t, err)
			pod := job.Spec.Template.Spec
			var told struct {
				Repository struct {
					Backend work.Backend `json:"backend"`
				} `json:"repository"`
			}
			require.NoError(t, yaml.Unmarshal([]byte(pod.Containers[0].Env[0].Value), &told))
			golden(t, "backend-"+name, map[string]any{
				"labels": job.Spec.Template.Labels, "serviceAccountName": pod.ServiceAccountName, "image": pod.Containers[0].Image,
				"automountServiceAccountToken": pod.AutomountServiceAccountToken,
				"backend":                      told.Repository.Backend, "volumes": pod.Volumes, "volumeMounts": pod.Containers[0].VolumeMounts,
			})
		})
	}
}

// golden holds a document against testdata.
func golden(t *testing.T, name string, doc any) {
	t.Helper()
	got, err := yaml.Marshal(doc)
	require.NoError(t, err)
	path := filepath.Join("testdata", name+".golden.yaml")
	if *update {
		require.NoError(t, os.WriteFile(path, got, 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(want), string(got), "the mover's pod changed: run go test -update and review the diff")
}

func TestImageWithRclone(t *testing.T) {
	t.Parallel()
	for mover, want := range map[string]string{
		"registry.example.com:5000/kopiur/mover:0.1.0": "registry.example.com:5000/kopiur/mover:0.1.0-rclone",
		"registry.example.com:5000/kopiur/mover":       "registry.example.com:5000/kopiur/mover:latest-rclone",
	} {
		req := snapshotRequest(onRclone())
		req.Image = moverjob.Images{Mover: mover}
		job, err := moverjob.Build(req)
		require.NoError(t, err)
		assert.Equal(t, want, job.Spec.Template.Spec.Containers[0].Image)
	}
	req := snapshotRequest(onRclone())
	req.Image = moverjob.Images{Mover: "mover@sha256:0011", Rclone: "mover@sha256:2233"}
	job, err := moverjob.Build(req)
	require.NoError(t, err)
	assert.Equal(t, "mover@sha256:2233", job.Spec.Template.Spec.Containers[0].Image)
}

func snapshotRequest(backend kopiurv1.Backend, layers ...*kopiurv1.MoverSpec) moverjob.Request {
	s := &kopiurv1.Snapshot{}
	s.Name, s.Namespace, s.UID = "before-upgrade", "apps", "snap-uid"
	return moverjob.Request{
		Owner: s, GVK: kopiurv1.GroupVersion.WithKind("Snapshot"), Letter: "s", Attempt: "1",
		Namespace: "apps", Image: moverjob.Images{Mover: "localhost/kopiur/mover:dev", Stream: "localhost/kopiur/controller:dev"}, Repository: repo(backend), Layers: layers,
		Operation: work.Operation{Snapshot: &work.Snapshot{Identity: work.Identity{Username: "web", Hostname: "apps", Path: "/pvc/data"}, Path: "/pvc/data"}},
		Source:    &moverjob.Mount{Claim: "before-upgrade-src", Path: "/pvc/data", ReadOnly: true},
	}
}

// G-2, J-9: TestBuildGolden keeps the whole Job reviewable. The NFS rows are all that can be shown of NFS where the kernel has none.
func TestBuildGolden(t *testing.T) {
	t.Parallel()
	restore := snapshotRequest(onS3())
	restore.Source, restore.Target = nil, &moverjob.Mount{Claim: "data", Path: work.TargetDir}
	restore.Letter = "v"
	restore.Operation = work.Operation{Restore: &work.Restore{SnapshotID: "aabb", TargetPath: work.TargetDir}}
	nfs := onPVC()
	nfs.Filesystem.Volume = &kopiurv1.RepositoryVolume{NFS: &kopiurv1.NFSVolume{Server: "nas.local", Path: "/export/backups"}}
	bare := onPVC()
	bare.Filesystem.Volume = nil
	block := snapshotRequest(onS3())
	block.Source = &moverjob.Mount{Claim: "before-upgrade-src", Path: work.SourceDevice, ReadOnly: true, Block: true}
	block.Operation.Snapshot.Path, block.Operation.Snapshot.DevicePath = "", work.SourceDevice
	ontoBlock := restore
	ontoBlock.Target = &moverjob.Mount{Claim: "data", Path: work.TargetDevice, Block: true}
	ontoBlock.Operation = work.Operation{Restore: &work.Restore{SnapshotID: "aabb", DevicePath: work.TargetDevice}}
	published := snapshotRequest(onS3(), &kopiurv1.MoverSpec{PodSecurityContext: &corev1.PodSecurityContext{FSGroup: new(int64(1000))}})
	published.Source.PublishReadWrite, published.Operation.Snapshot.MustBeReadOnly = true, true
	export := snapshotRequest(onS3())
	export.Source = &moverjob.Mount{NFS: &kopiurv1.NFSVolume{Server: "nas.local", Path: "/volume1/photos"}, Path: "/volume1/photos", ReadOnly: true}
	export.Operation.Snapshot.Path, export.Operation.Snapshot.Identity.Path = "/volume1/photos", "/volume1/photos"
	dump := kopiurv1.WorkloadExec{
		PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}, MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "role", Operator: metav1.LabelSelectorOpIn, Values: []string{"primary"}}}},
		Container:   "postgres", Command: []string{"pg_dump", "--format=custom", "shop"}, Timeout: "30m",
	}
	stream := snapshotRequest(onS3())
	stream.Source, stream.As, stream.Stream = nil, "snapshot", &dump
	stream.Operation = work.Operation{StreamSnapshot: &work.StreamSnapshot{Identity: work.Identity{Username: "db", Hostname: "apps", Path: "/stream/shop.dump"}, FileName: "shop.dump"}}
	load := restore
	load.Target, load.Stream = nil, &kopiurv1.WorkloadExec{PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}, Command: []string{"pg_restore", "--dbname=shop"}}
	load.Operation = work.Operation{StreamRestore: &work.StreamRestore{SnapshotID: "aabb", FileName: "shop.dump"}}
	kept := snapshotRequest(onS3(), &kopiurv1.MoverSpec{Cache: &kopiurv1.CacheSpec{Mode: kopiurv1.CachePersistent, Capacity: "8Gi", StorageClassName: "fast"}})
	kept.CacheClaim = "kopiur-cache-web"
	for name, req := range map[string]moverjob.Request{
		"snapshot-kept-cache":           kept,
		"snapshot-cache-of-a-class":     snapshotRequest(onS3(), &kopiurv1.MoverSpec{Cache: &kopiurv1.CacheSpec{Capacity: "8Gi", StorageClassName: "fast"}}),
		"snapshot-stream":               stream,
		"restore-stream":                load,
		"snapshot-block":                block,
		"restore-block":                 ontoBlock,
		"snapshot-published-read-write": published,
		"snapshot-of-nfs":               export,
		"snapshot-filesystem-pvc":       snapshotRequest(onPVC()),
		"snapshot-filesystem-nfs":       snapshotRequest(nfs),
		"snapshot-filesystem-bare-path": snapshotRequest(bare),
		"snapshot-s3-privileged":        snapshotRequest(onS3(), &kopiurv1.MoverSpec{PrivilegedMode: new(true), Cache: &kopiurv1.CacheSpec{Capacity: "2Gi"}}),
		"restore-s3":                    restore,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			job, err := moverjob.Build(req)
			require.NoError(t, err)
			golden(t, name, job)
		})
	}
}

func TestBuildKeepsSecretsOutOfTheEnvironment(t *testing.T) {
	t.Parallel()
	job, err := moverjob.Build(snapshotRequest(onS3()))
	require.NoError(t, err)
	pod := job.Spec.Template.Spec
	for _, e := range pod.Containers[0].Env {
		assert.Nil(t, e.ValueFrom, "%s: credentials are files", e.Name)
	}
	assert.False(t, *pod.AutomountServiceAccountToken)
	for _, v := range pod.Volumes {
		if v.Secret != nil {
			assert.True(t, *v.Secret.Optional, "a missing key must be named by the mover, not wedge the pod")
			assert.Empty(t, v.Secret.Items)
		}
	}
}

func TestBuildDropsTheSchemeOfAnEndpoint(t *testing.T) {
	t.Parallel()
	backend := onS3()
	backend.S3.Endpoint = "https://s3.example.org:9000"
	written, err := moverjob.Build(snapshotRequest(backend))
	require.NoError(t, err)
	plain, err := moverjob.Build(snapshotRequest(onS3()))
	require.NoError(t, err)
	assert.Equal(t, plain, written, "kopia takes host:port only")
}

func TestBuildRefuses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(*moverjob.Request)
		want   string
	}{
		"rclone with an image that has no tag to find the other by": {func(r *moverjob.Request) {
			r.Repository = repo(onRclone())
			r.Image.Mover = "localhost/kopiur/mover@sha256:0011"
		}, "mover.rcloneImage"},
		"the repository's own claim as source": {func(r *moverjob.Request) { r.Source.Claim = "repo-claim" }, "cannot be its own source"},
		"the repository's own claim as target": {func(r *moverjob.Request) {
			r.Source, r.Target = nil, &moverjob.Mount{Claim: "repo-claim", Path: "/restore"}
		}, "would overwrite the backups"},
		"a repository mounted over the source": {func(r *moverjob.Request) { r.Repository.Spec.Backend.Filesystem.Path = "/pvc" }, "would hide one another"},
		"a repository mounted over the cache":  {func(r *moverjob.Request) { r.Repository.Spec.Backend.Filesystem.Path = "/var/cache/kopia/x" }, "would hide one another"},
		"no operation":                         {func(r *moverjob.Request) { r.Operation = work.Operation{} }, "exactly one operation"},
		"a spec over the limit":                {func(r *moverjob.Request) { r.Operation.Snapshot.Description = strings.Repeat("x", 100<<10) }, "operation.snapshot.description"},
		"a cache whose size is no amount": {func(r *moverjob.Request) {
			r.Layers = []*kopiurv1.MoverSpec{{Cache: &kopiurv1.CacheSpec{Capacity: "ten"}}}
		}, "mover.cache.capacity"},
		"a limit that is no amount": {func(r *moverjob.Request) {
			r.Repository.Spec.MoverDefaults = &kopiurv1.MoverDefaults{Resources: &kopiurv1.Resources{Limits: map[corev1.ResourceName]kopiurv1.Quantity{"memory": "512MB"}}}
		}, "moverDefaults.resources.limits.memory"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := snapshotRequest(onPVC())
			tc.change(&req)
			_, err := moverjob.Build(req)
			require.ErrorContains(t, err, tc.want)
		})
	}
}

func TestUsersLabelsNeverReplaceOurs(t *testing.T) {
	t.Parallel()
	req := snapshotRequest(onPVC())
	req.Repository.Spec.MoverDefaults = &kopiurv1.MoverDefaults{PodLabels: map[string]string{kopiurv1.LabelManagedBy: "me", "team": "a"}}
	job, err := moverjob.Build(req)
	require.NoError(t, err)
	assert.Equal(t, kopiurv1.ManagedByValue, job.Labels[kopiurv1.LabelManagedBy])
	assert.Equal(t, "a", job.Spec.Template.Labels["team"])
}

func TestName(t *testing.T) {
	t.Parallel()
	a := moverjob.Name("s", "before-upgrade", "u", "snapshot", "1")
	assert.Equal(t, a, moverjob.Name("s", "before-upgrade", "u", "snapshot", "1"), "the same attempt is the same Job")
	for _, other := range []string{
		moverjob.Name("s", "before-upgrade", "u", "snapshot", "2"),
		moverjob.Name("s", "before-upgrade", "v", "snapshot", "1"),
		moverjob.Name("s", "before-upgrade", "u", "resolve", "1"),
	} {
		assert.NotEqual(t, a, other)
	}
	long := moverjob.Name("s", strings.Repeat("a.", 100), "u", "snapshot", "1")
	assert.LessOrEqual(t, len(long), 63)
	assert.NotContains(t, long, ".", "the Job controller makes a label of it")
}

func TestDeadlinesStandBehindOneAnother(t *testing.T) {
	t.Parallel()
	req := snapshotRequest(onPVC())
	req.FailurePolicy = &kopiurv1.FailurePolicy{ActiveDeadlineSeconds: new(int64(600)), BackoffLimit: new(int32(0))}
	job, err := moverjob.Build(req)
	require.NoError(t, err)
	assert.Equal(t, int64(720), *job.Spec.ActiveDeadlineSeconds)
	assert.Equal(t, int32(0), *job.Spec.BackoffLimit)
	spec, err := work.DecodeSpec(job.Spec.Template.Spec.Containers[0].Env[0].Value)
	require.NoError(t, err)
	assert.Equal(t, int64(600), spec.Deadline.HardSeconds)
	assert.Less(t, spec.Deadline.SoftSeconds, spec.Deadline.HardSeconds)

	// "For ever" must not become "at once".
	endless := &kopiurv1.FailurePolicy{ActiveDeadlineSeconds: new(int64(math.MaxInt64)), PodStartupDeadlineSeconds: new(int64(math.MaxInt64))}
	req.FailurePolicy = endless
	job, err = moverjob.Build(req)
	require.NoError(t, err)
	assert.Positive(t, *job.Spec.ActiveDeadlineSeconds)
	assert.Positive(t, moverjob.StartupDeadline(endless))
}

// F-2, F-5.
func TestMerge(t *testing.T) {
	t.Parallel()
	uid := func(n int64) *int64 { return &n }
	for name, tc := range map[string]struct {
		shared bool
		layers []moverjob.Layer
		check  func(*testing.T, moverjob.Security)
	}{
		"nothing asked for is the hardened base": {false, nil, func(t *testing.T, s moverjob.Security) {
			assert.True(t, *s.Container.RunAsNonRoot)
			assert.Equal(t, int64(65532), *s.Container.RunAsUser)
			assert.Equal(t, []corev1.Capability{"ALL"}, s.Container.Capabilities.Drop)
		}},
		"a layer that sets only a uid keeps drop, seccomp and no escalation": {false, []moverjob.Layer{{Container: &corev1.SecurityContext{RunAsUser: uid(1000)}}}, func(t *testing.T, s moverjob.Security) {
			assert.Equal(t, int64(1000), *s.Container.RunAsUser)
			assert.Equal(t, []corev1.Capability{"ALL"}, s.Container.Capabilities.Drop)
			assert.Equal(t, corev1.SeccompProfileTypeRuntimeDefault, s.Container.SeccompProfile.Type)
			assert.False(t, *s.Container.AllowPrivilegeEscalation)
		}},
		"added capabilities keep the dropped ones": {false, []moverjob.Layer{{Container: &corev1.SecurityContext{Capabilities: &corev1.Capabilities{Add: []corev1.Capability{"CHOWN"}}}}}, func(t *testing.T, s moverjob.Security) {
			assert.Equal(t, []corev1.Capability{"ALL"}, s.Container.Capabilities.Drop)
			assert.Equal(t, []corev1.Capability{"CHOWN"}, s.Container.Capabilities.Add)
		}},
		"a uid on the pod is not hidden by one on the container": {false, []moverjob.Layer{{Pod: &corev1.PodSecurityContext{RunAsUser: uid(1000)}}}, func(t *testing.T, s moverjob.Security) {
			assert.Nil(t, s.Container.RunAsUser)
			assert.Equal(t, int64(1000), *s.Pod.RunAsUser)
		}},
		"the strongest layer wins field by field": {false, []moverjob.Layer{{Container: &corev1.SecurityContext{RunAsUser: uid(1), RunAsGroup: uid(1)}}, {Container: &corev1.SecurityContext{RunAsUser: uid(2)}}}, func(t *testing.T, s moverjob.Security) {
			assert.Equal(t, int64(2), *s.Container.RunAsUser)
			assert.Equal(t, int64(1), *s.Container.RunAsGroup)
		}},
		"a group of the user's becomes supplemental beside a shared repository": {true, []moverjob.Layer{{Pod: &corev1.PodSecurityContext{FSGroup: uid(3000)}}}, func(t *testing.T, s moverjob.Security) {
			assert.Equal(t, int64(65532), *s.Pod.FSGroup)
			assert.Contains(t, s.Pod.SupplementalGroups, int64(3000))
		}},
		"and stays the fsGroup elsewhere": {false, []moverjob.Layer{{Pod: &corev1.PodSecurityContext{FSGroup: uid(3000)}}}, func(t *testing.T, s moverjob.Security) {
			assert.Equal(t, int64(3000), *s.Pod.FSGroup)
		}},
		"an explicit root is not contradicted by the base": {false, []moverjob.Layer{{Container: &corev1.SecurityContext{RunAsUser: uid(0)}}}, func(t *testing.T, s moverjob.Security) {
			assert.False(t, *s.Container.RunAsNonRoot)
		}},
		"a root that insists on non-root stays contradictory": {false, []moverjob.Layer{{Container: &corev1.SecurityContext{RunAsUser: uid(0), RunAsNonRoot: new(true)}}}, func(t *testing.T, s moverjob.Security) {
			assert.True(t, *s.Container.RunAsNonRoot)
		}},
		"privileged mode reads everything and nothing more": {false, []moverjob.Layer{{Privileged: new(true)}}, func(t *testing.T, s moverjob.Security) {
			assert.Equal(t, int64(0), *s.Container.RunAsUser)
			assert.Equal(t, []corev1.Capability{"DAC_READ_SEARCH"}, s.Container.Capabilities.Add)
			assert.Equal(t, []corev1.Capability{"ALL"}, s.Container.Capabilities.Drop)
		}},
		"a stronger layer may take privileged mode back": {false, []moverjob.Layer{{Privileged: new(true)}, {Privileged: new(false)}}, func(t *testing.T, s moverjob.Security) {
			assert.True(t, *s.Container.RunAsNonRoot)
			assert.Empty(t, s.Container.Capabilities.Add)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.check(t, moverjob.Merge(false, tc.shared, tc.layers...))
		})
	}
}

func TestPrivileges(t *testing.T) {
	t.Parallel()
	sec := func(sc corev1.SecurityContext) []*kopiurv1.MoverSpec {
		return []*kopiurv1.MoverSpec{{SecurityContext: &sc}}
	}
	bare := onPVC()
	bare.Filesystem.Volume = nil
	for name, tc := range map[string]struct {
		backend kopiurv1.Backend
		layers  []*kopiurv1.MoverSpec
		want    string
	}{
		"a hardened mover needs no consent":       {onPVC(), nil, ""},
		"an ordinary uid needs no consent":        {onPVC(), sec(corev1.SecurityContext{RunAsUser: new(int64(1000))}), ""},
		"root does":                               {onPVC(), sec(corev1.SecurityContext{RunAsUser: new(int64(0))}), "uid 0"},
		"runAsNonRoot false does":                 {onPVC(), sec(corev1.SecurityContext{RunAsUser: nil, RunAsNonRoot: new(false)}), "runAsNonRoot: false"},
		"privileged does":                         {onPVC(), sec(corev1.SecurityContext{Privileged: new(true)}), "privileged: true"},
		"escalation does":                         {onPVC(), sec(corev1.SecurityContext{AllowPrivilegeEscalation: new(true)}), "allowPrivilegeEscalation"},
		"an added capability does":                {onPVC(), sec(corev1.SecurityContext{Capabilities: &corev1.Capabilities{Add: []corev1.Capability{"CHOWN"}}}), "capability CHOWN"},
		"dropping less than ALL does":             {onPVC(), sec(corev1.SecurityContext{Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"MKNOD"}}}), "drop without ALL"},
		"seccomp Unconfined does":                 {onPVC(), sec(corev1.SecurityContext{SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeUnconfined}}), "seccomp Unconfined"},
		"a repository on a path of the node does": {bare, nil, "hostPath volume /repository"},
		"privileged mode does":                    {onPVC(), []*kopiurv1.MoverSpec{{PrivilegedMode: new(true)}}, "uid 0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			job, err := moverjob.Build(snapshotRequest(tc.backend, tc.layers...))
			require.NoError(t, err)
			got := strings.Join(moverjob.Privileges(job.Spec.Template.Spec), "; ")
			if tc.want == "" {
				assert.Empty(t, got)
				return
			}
			assert.Contains(t, got, tc.want)
		})
	}
	assert.False(t, moverjob.Permitted(nil))
	assert.False(t, moverjob.Permitted(map[string]string{kopiurv1.AnnotationPrivilegedMovers: "yes"}))
	assert.True(t, moverjob.Permitted(map[string]string{kopiurv1.AnnotationPrivilegedMovers: "true"}))
}

func TestBaseline(t *testing.T) {
	t.Parallel()
	with := func(f func(*corev1.PodSpec)) corev1.PodSpec {
		p := corev1.PodSpec{Containers: []corev1.Container{{Name: "dump", SecurityContext: &corev1.SecurityContext{}}}}
		f(&p)
		return p
	}
	for name, tc := range map[string]struct {
		pod  corev1.PodSpec
		want []string
	}{
		"a pod that says nothing":  {corev1.PodSpec{Containers: []corev1.Container{{Name: "dump"}}}, nil},
		"root is the image's word": {with(func(p *corev1.PodSpec) { p.Containers[0].SecurityContext.RunAsUser = new(int64(0)) }), nil},
		"the host's network":       {with(func(p *corev1.PodSpec) { p.HostNetwork = true }), []string{"host namespaces"}},
		"a folder of the host": {with(func(p *corev1.PodSpec) {
			p.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}}}
		}), []string{"hostPath volume /"}},
		"a port of the host": {with(func(p *corev1.PodSpec) { p.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 22}} }), []string{"host port 22"}},
		"privileged":         {with(func(p *corev1.PodSpec) { p.Containers[0].SecurityContext.Privileged = new(true) }), []string{"privileged: true"}},
		"capabilities": {with(func(p *corev1.PodSpec) {
			p.Containers[0].SecurityContext.Capabilities = &corev1.Capabilities{Add: []corev1.Capability{"SYS_ADMIN"}}
		}), []string{"capability SYS_ADMIN"}},
		"no seccomp": {with(func(p *corev1.PodSpec) {
			p.Containers[0].SecurityContext.SeccompProfile = &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeUnconfined}
		}), []string{"seccomp Unconfined"}},
		"also in an init container": {corev1.PodSpec{InitContainers: []corev1.Container{{SecurityContext: &corev1.SecurityContext{Privileged: new(true)}}}}, []string{"privileged: true"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tc.want, moverjob.Baseline(tc.pod))
		})
	}
}

// TestStreamPod: whoever has the right to run commands has no Secret of the repository, and who has those has no right.
func TestStreamPod(t *testing.T) {
	t.Parallel()
	req := snapshotRequest(onS3())
	req.Source, req.As = nil, "snapshot"
	req.Stream = &kopiurv1.WorkloadExec{PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}, Command: []string{"dump"}}
	req.Operation = work.Operation{StreamSnapshot: &work.StreamSnapshot{FileName: "dump"}}
	plain, err := moverjob.Build(snapshotRequest(onS3()))
	require.NoError(t, err)
	job, err := moverjob.Build(req)
	require.NoError(t, err)
	assert.Equal(t, plain.Name, job.Name, "it is found without the policy")
	pod := job.Spec.Template.Spec
	assert.Equal(t, "kopiur-stream-mover", pod.ServiceAccountName)
	assert.False(t, *pod.AutomountServiceAccountToken)
	mounts := map[string][]string{}
	for _, c := range pod.Containers {
		for _, m := range c.VolumeMounts {
			mounts[c.Name] = append(mounts[c.Name], m.Name)
		}
	}
	assert.Equal(t, []string{"stream", "token"}, mounts[moverjob.StreamContainer])
	assert.Contains(t, mounts[moverjob.Container], "stream")
	assert.NotContains(t, mounts[moverjob.Container], "token")
	assert.Empty(t, moverjob.Privileges(pod), "the helper asks for nothing")
	for _, e := range pod.Containers[1].Env {
		c, err := work.DecodeStreamCommand(e.Value)
		require.NoError(t, err)
		assert.Equal(t, work.StreamCommand{
			APIVersion: work.APIVersion, Namespace: "apps", PodSelector: "app=db", Command: []string{"dump"},
			TimeoutSeconds: 3600, DeadlineSeconds: work.DefaultHardSeconds + 60,
		}, c)
	}

	req.Repository = repo(others()["s3-identity"])
	_, err = moverjob.Build(req)
	require.ErrorContains(t, err, "the pod of a stream runs as ServiceAccount kopiur-stream-mover")
	req.Repository, req.Image.Stream = repo(onS3()), ""
	_, err = moverjob.Build(req)
	require.ErrorContains(t, err, "KOPIUR_STREAM_IMAGE")
}

// TestASendIsTriedOnce: what a command was sent may have been applied.
func TestASendIsTriedOnce(t *testing.T) {
	t.Parallel()
	req := snapshotRequest(onS3())
	req.Source = nil
	req.Stream = &kopiurv1.WorkloadExec{PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}, Command: []string{"load"}}
	req.Operation = work.Operation{StreamRestore: &work.StreamRestore{SnapshotID: "k", FileName: "dump"}}
	job, err := moverjob.Build(req)
	require.NoError(t, err)
	assert.Zero(t, *job.Spec.BackoffLimit)
	for _, r := range job.Spec.PodFailurePolicy.Rules {
		assert.Equal(t, batchv1.PodFailurePolicyActionFailJob, r.Action, "an eviction as well")
	}
	req.FailurePolicy = &kopiurv1.FailurePolicy{BackoffLimit: new(int32(2))}
	job, err = moverjob.Build(req)
	require.NoError(t, err)
	assert.Equal(t, int32(2), *job.Spec.BackoffLimit, "somebody knows that it is harmless")
	assert.Len(t, job.Spec.PodFailurePolicy.Rules, 3)
}
