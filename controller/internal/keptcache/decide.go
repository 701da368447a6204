// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package keptcache

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

// prefix of the claims' names.
const prefix = "kopiur-cache-"

// Wish is a claim as its owner wants it.
type Wish struct {
	Owner           metav1.Object
	GVK             schema.GroupVersionKind
	Namespace, Name string
	// Repository whose blobs are cached.
	Repository types.UID
	Cache      moverjob.KeptCache
}

// OfPolicy is the claim of a policy's backups in one repository.
func OfPolicy(p *kopiurv1.SnapshotPolicy, repo moverjob.Repository, c moverjob.KeptCache) Wish {
	name := prefix + p.Name
	if len(p.RepositoryRefs()) > 1 {
		name += "-" + repo.Ref.Name + "-" + short(repo.Ref.String())
	}
	return Wish{Owner: p, GVK: kopiurv1.GroupVersion.WithKind("SnapshotPolicy"), Namespace: p.Namespace, Name: name, Repository: repo.UID, Cache: c}
}

// OfRepository is the claim of the looks at a repository. A policy may have the repository's name, so the claim's is longer.
func OfRepository(owner metav1.Object, gvk schema.GroupVersionKind, repo moverjob.Repository, c moverjob.KeptCache) Wish {
	return Wish{
		Owner: owner, GVK: gvk, Namespace: repo.HomeNamespace, Name: prefix + repo.Ref.Name + "-" + short("looks/"+repo.Ref.String()),
		Repository: repo.UID, Cache: c,
	}
}

// OfObject is the claim of the movers of an object that has no policy: a Maintenance or a replication.
func OfObject(owner metav1.Object, gvk schema.GroupVersionKind, repo moverjob.Repository, c moverjob.KeptCache) Wish {
	return Wish{
		Owner: owner, GVK: gvk, Namespace: owner.GetNamespace(), Name: prefix + owner.GetName() + "-" + short(gvk.Kind+"/"+owner.GetNamespace()+"/"+owner.GetName()),
		Repository: repo.UID, Cache: c,
	}
}

func short(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:4])
}

// Verdict says which claim a mover gets, if any, and what is to be done about it before.
type Verdict struct {
	// Claim to mount; "" is a cache that goes with the pod.
	Claim string
	// Create is the claim to make, Delete the one to remove.
	Create, Delete *corev1.PersistentVolumeClaim
	// Reason and Message tell of what somebody has to look at.
	Reason, Message string
}

// Decide is total. have is the claim of the wish's name, nil where there is none; busy names a mover that uses it.
func Decide(w Wish, have *corev1.PersistentVolumeClaim, busy string) Verdict {
	switch {
	case have == nil && busy != "":
		return Verdict{} // somebody is about to make it
	case have == nil:
		return Verdict{Claim: w.Name, Create: w.claim()}
	case !ours(w, have):
		return Verdict{
			Reason: kopiurv1.ReasonCacheClaimTaken,
			Message: fmt.Sprintf("claim %s/%s belongs to somebody else and is not touched: the cache goes with the mover's pod; "+
				"rename the claim, or set cache.mode to Ephemeral", w.Namespace, w.Name),
		}
	case have.DeletionTimestamp != nil || busy != "":
		return Verdict{}
	case have.Annotations[kopiurv1.AnnotationCacheOf] != w.mark():
		return Verdict{Delete: have}
	default:
		return Verdict{Claim: w.Name}
	}
}

func ours(w Wish, have *corev1.PersistentVolumeClaim) bool {
	ref := metav1.GetControllerOf(have)
	return have.Labels[kopiurv1.LabelManagedBy] == kopiurv1.ManagedByValue && ref != nil && ref.UID == w.Owner.GetUID()
}

// mark is what a claim was made for. It is compared as a whole: what a cluster makes of size and class is its own business.
func (w Wish) mark() string {
	return fmt.Sprintf("%s/%s/%s", w.Repository, w.Cache.Size.String(), w.Cache.StorageClass)
}

func (w Wish) claim() *corev1.PersistentVolumeClaim {
	version, kind := w.GVK.ToAPIVersionAndKind()
	out := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.Namespace, Name: w.Name,
			Labels: map[string]string{
				kopiurv1.LabelManagedBy: kopiurv1.ManagedByValue, kopiurv1.LabelComponent: kopiurv1.ComponentMover,
				kopiurv1.LabelRepositoryUID: string(w.Repository),
			},
			Annotations:     map[string]string{kopiurv1.AnnotationCacheOf: w.mark()},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: version, Kind: kind, Name: w.Owner.GetName(), UID: w.Owner.GetUID(), Controller: new(true)}},
		},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: w.Cache.Size}},
		},
	}
	if w.Cache.StorageClass != "" {
		out.Spec.StorageClassName = new(w.Cache.StorageClass)
	}
	return out
}
