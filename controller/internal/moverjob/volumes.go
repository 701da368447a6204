// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package moverjob

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
)

// TargetVolume is the name of the volume that a restore writes into.
const TargetVolume = "target"

// ScratchVolume is the name of the volume that a deep verification restores into.
const ScratchVolume = "scratch"

// tmpDir is the only writable folder of a mover besides cache, work folder and target.
const tmpDir = "/tmp"

// mountList collects volumes and refuses mounts that would hide one another.
type mountList struct {
	volumes []corev1.Volume
	mounts  []corev1.VolumeMount
	devices []corev1.VolumeDevice
	what    []string
	err     error
}

func (l *mountList) add(what, name, path string, readOnly bool, source corev1.VolumeSource) {
	for i, m := range l.mounts {
		if l.err == nil && nested(m.MountPath, path) {
			l.err = fmt.Errorf("%s at %s and %s at %s would hide one another: choose another path", what, path, l.what[i], m.MountPath)
		}
	}
	l.volumes = append(l.volumes, corev1.Volume{Name: name, VolumeSource: source})
	l.mounts = append(l.mounts, corev1.VolumeMount{Name: name, MountPath: path, ReadOnly: readOnly})
	l.what = append(l.what, what)
}

// mount adds a claim, as a folder or as a device.
func (l *mountList) mount(what, name string, m Mount) {
	volume := claim(m.Claim, m.ReadOnly && !m.PublishReadWrite)
	if m.NFS != nil {
		volume = corev1.VolumeSource{NFS: &corev1.NFSVolumeSource{Server: m.NFS.Server, Path: m.NFS.Path, ReadOnly: m.ReadOnly}}
	}
	if m.Block {
		l.volumes = append(l.volumes, corev1.Volume{Name: name, VolumeSource: volume})
		l.devices = append(l.devices, corev1.VolumeDevice{Name: name, DevicePath: m.Path})
		return
	}
	l.add(what, name, m.Path, m.ReadOnly, volume)
}

func nested(a, b string) bool {
	a, b = strings.TrimRight(a, "/")+"/", strings.TrimRight(b, "/")+"/"
	return strings.HasPrefix(a, b) || strings.HasPrefix(b, a)
}

// volumesOf lists every volume of the pod. Secrets are mounted whole and optional: a missing key or Secret is then named
// by the mover in a result instead of wedging the pod.
func volumesOf(r Request, cache corev1.VolumeSource) (mountList, error) {
	var l mountList
	secretMode := int32(0o440)
	if r.publishesReadWrite() {
		secretMode = 0o444 // there is no group by which the mover could read them
	}
	emptyDir := func(size *resource.Quantity, medium corev1.StorageMedium) corev1.VolumeSource {
		return corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: size, Medium: medium}}
	}
	l.repository(r, secretMode)
	// kopia's connection file holds the store's keys in clear: memory only. The rest of the room is for the pieces of content
	// that a restore has under way, which kopia would sync to a disk one by one.
	l.add("the work folder", "work", work.WorkDir, false, emptyDir(new(resource.MustParse("64Mi")), corev1.StorageMediumMemory))
	tmp := corev1.StorageMediumDefault
	if slices.ContainsFunc(r.backends(), func(b kopiurv1.Backend) bool { return b.Rclone != nil }) {
		tmp = corev1.StorageMediumMemory // rclone.conf lies there, with the remote's keys in it
	}
	l.add("the temporary folder", "tmp", tmpDir, false, emptyDir(new(resource.MustParse("256Mi")), tmp))
	l.add("the cache", "cache", work.CacheDir, false, cache)
	repositoryVolumes(&l, r)
	if m := r.Source; m != nil {
		if m.Claim != "" && m.Claim == r.Repository.Needs().Claim {
			return l, fmt.Errorf("claim %s holds the repository itself: it cannot be its own source", m.Claim)
		}
		l.mount("the source", "source", *m)
	}
	if m := r.Target; m != nil {
		if m.Claim == r.Repository.Needs().Claim {
			return l, fmt.Errorf("claim %s holds the repository itself: restoring into it would overwrite the backups", m.Claim)
		}
		l.mount("the target", TargetVolume, *m)
	}
	if s := r.Scratch; s != nil {
		l.add("the scratch volume", ScratchVolume, work.ScratchDir, false, s.source(r))
	}
	return l, l.err
}

// IsBlock reports whether the first of some claims that is there is a device without a file system. A copy is of the kind
// of its source, and may outlive it.
func IsBlock(claims ...*corev1.PersistentVolumeClaim) bool {
	for _, c := range claims {
		if c != nil {
			return c.Spec.VolumeMode != nil && *c.Spec.VolumeMode == corev1.PersistentVolumeBlock
		}
	}
	return false
}

func (s Scratch) source(r Request) corev1.VolumeSource {
	if s.Size == nil {
		return corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
	}
	return ephemeral(r, *s.Size, s.StorageClass)
}

// ephemeral is a claim of the pod's own, which goes with it.
func ephemeral(r Request, size resource.Quantity, class string) corev1.VolumeSource {
	spec := corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: size}},
	}
	if class != "" {
		spec.StorageClassName = &class
	}
	return corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{
			kopiurv1.LabelManagedBy: kopiurv1.ManagedByValue, kopiurv1.LabelComponent: kopiurv1.ComponentMover,
			kopiurv1.LabelOwnerUID: string(r.subject().GetUID()),
		}},
		Spec: spec,
	}}}
}

// claim mounts a claim. readOnly is set at the volume too: the kubelet would otherwise apply the pod's fsGroup to it.
func claim(name string, readOnly bool) corev1.VolumeSource {
	return corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name, ReadOnly: readOnly}}
}

// side is one repository, its files in folders of their own where there are two.
type side struct {
	repository Repository
	// prefix of the names of its volumes and of what they are called.
	prefix, what string
	// root is where its Secrets are, folder where it is itself, if it is on a volume.
	root, folder string
	// bare: a store that has no password of its own.
	bare bool
}

func (r Request) sides() []side {
	path := func(b kopiurv1.Backend) string {
		if b.Filesystem == nil {
			return ""
		}
		return b.Filesystem.Path
	}
	if r.Peer == nil {
		return []side{{repository: r.Repository, root: repositorySecrets, folder: path(r.Repository.Spec.Backend)}}
	}
	of := func(repo Repository, s Side, bare bool) side {
		return side{repository: repo, prefix: string(s) + "-", what: string(s) + "'s ", root: s.secrets(), folder: s.folder(), bare: bare}
	}
	return []side{of(r.Repository, r.Peer.Side.other(), false), of(r.Peer.Repository, r.Peer.Side, r.Peer.Store)}
}

// repositorySecrets holds the folders of the Secrets of the only repository.
const repositorySecrets = "/run/kopiur/repository"

// repository mounts the Secrets and CA bundles.
func (l *mountList) repository(r Request, mode int32) {
	for _, s := range r.sides() {
		spec := s.repository.Spec
		secret := func(name string) corev1.VolumeSource {
			if s.repository.Projected != "" {
				name = s.repository.Projected
			}
			return corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name, Optional: new(true), DefaultMode: new(mode)}}
		}
		if !s.bare {
			l.add("the "+s.what+"password Secret", s.prefix+"password", s.root+"/"+work.SecretsPassword, true, secret(spec.Encryption.PasswordSecretRef.Name))
		}
		if name := spec.Backend.SecretName(); name != "" {
			l.add("the "+s.what+"credential Secret", s.prefix+"auth", s.root+"/"+work.SecretsAuth, true, secret(name))
		}
		ca := spec.Backend.CAConfigMap()
		switch {
		case ca == nil:
		case s.repository.Projected != "":
			l.add("the "+s.what+"CA bundle", s.prefix+"ca", s.root+"/"+work.SecretsCA, true, secret(""))
		default:
			l.add("the "+s.what+"CA bundle", s.prefix+"ca", s.root+"/"+work.SecretsCA, true, corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
				LocalObjectReference: corev1.LocalObjectReference{Name: ca.ConfigMapName}, Optional: new(true),
			}})
		}
	}
}

func repositoryVolumes(l *mountList, r Request) {
	for _, s := range r.sides() {
		fs := s.repository.Spec.Backend.Filesystem
		if fs == nil {
			continue
		}
		var source corev1.VolumeSource
		switch v := fs.Volume; {
		case v == nil:
			// Directory, not DirectoryOrCreate: a missing mount must not become an empty folder that looks like a new store.
			source.HostPath = &corev1.HostPathVolumeSource{Path: fs.Path, Type: new(corev1.HostPathDirectory)}
		case v.PVC != nil:
			source = claim(v.PVC.Name, false)
		case v.NFS != nil:
			source.NFS = &corev1.NFSVolumeSource{Server: v.NFS.Server, Path: v.NFS.Path}
		}
		l.add("the "+s.what+"repository", s.prefix+"repository", s.folder, false, source)
	}
}
