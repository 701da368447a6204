// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/mapper"
	decide "github.com/kopiur/kopiur/controller/internal/decide/restore"
	"github.com/kopiur/kopiur/controller/internal/gates"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
	"github.com/kopiur/kopiur/controller/internal/projection"
	"github.com/kopiur/kopiur/controller/internal/workload"
)

// observeClaims reads what a populator has to do with each claim that names it. A claim that is filled costs no request.
func (r *Reconciler) observeClaims(ctx context.Context, w *decide.World) error {
	if err := r.observeSource(ctx, w); err != nil {
		return err
	}
	claims, err := r.claimsOf(ctx, w.Restore)
	if err != nil {
		return err
	}
	strays, err := r.straysByClaim(ctx, w.Restore)
	if err != nil {
		return err
	}
	known := map[kopiurv1.RepositoryRef]decide.ClaimWorld{}
	starts := false
	for i := range claims {
		c := &claims[i]
		as := c.As(w.Restore)
		if err := r.observeClaimJob(ctx, c, as, strays[c.UID]); err != nil {
			return err
		}
		if c.Bound() && c.Filled() {
			continue
		}
		if err := r.observeVolume(ctx, c); err != nil {
			return err
		}
		if err := r.observeClaimRepository(ctx, *w, c, as, known); err != nil {
			return err
		}
		sub := decide.World{Restore: as, Credentials: c.Credentials, Outcome: c.Outcome, Job: c.Job, Snapshot: w.Snapshot}
		if decide.InFlight(as) && c.Job != nil {
			r.observeLog(ctx, &sub)
			c.Tail = sub.Tail
			if err := r.observeStored(ctx, w, c.Outcome); err != nil {
				return err
			}
			continue
		}
		if c.Claim == nil || c.Bound() || decide.Holds(sub) {
			continue
		}
		starts = true
		if err := r.observeRecorded(ctx, &sub); err != nil {
			return err
		}
		c.Recorded = sub.Recorded
		if err := r.observeClass(ctx, c); err != nil {
			return err
		}
	}
	w.Claims = claims
	if !starts {
		return nil
	}
	ns, err := gates.Namespace(ctx, r.Live, w.Restore.Namespace)
	if err != nil {
		return err //nolint:wrapcheck // says what and where
	}
	w.NamespaceLabels, w.NamespaceAnnotations = ns.Labels, ns.Annotations
	return nil
}

// claimsOf pairs claims, records and helper claims by the claims' UIDs. What is left of claims that are gone comes before
// those of now.
func (r *Reconciler) claimsOf(ctx context.Context, obj *kopiurv1.Restore) ([]decide.ClaimWorld, error) {
	live, err := r.claimsNaming(ctx, client.ObjectKeyFromObject(obj))
	if err != nil {
		return nil, err
	}
	primes, err := r.primesOf(ctx, client.ObjectKeyFromObject(obj))
	if err != nil {
		return nil, err
	}
	by := map[types.UID]*decide.ClaimWorld{}
	at := func(uid types.UID, name string) *decide.ClaimWorld {
		if by[uid] == nil {
			by[uid] = &decide.ClaimWorld{Name: name, UID: uid}
		}
		return by[uid]
	}
	for i := range live {
		at(live[i].UID, live[i].Name).Claim = &live[i]
	}
	for name, rec := range obj.Status.Claims {
		at(types.UID(rec.UID), name).Record = rec.DeepCopy()
	}
	for i := range primes {
		p := &primes[i]
		name := p.Name
		if len(p.OwnerReferences) > 0 {
			name = p.OwnerReferences[0].Name
		}
		at(types.UID(p.Labels[kopiurv1.LabelClaimUID]), name).Prime = p
	}
	out := make([]decide.ClaimWorld, 0, len(by))
	for _, c := range by {
		if c.Claim != nil && c.Prime == nil {
			// A claim of the helper's name that is not ours has to be seen all the same.
			var pvc corev1.PersistentVolumeClaim
			found, err := r.get(ctx, kopiurv1.ObjectRef{Name: decide.PrimeName(c.UID), Namespace: obj.Namespace}, &pvc)
			if err != nil {
				return nil, err
			}
			if found {
				c.Prime = &pvc
			}
		}
		out = append(out, *c)
	}
	slices.SortFunc(out, func(a, b decide.ClaimWorld) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), order(a)-order(b), cmp.Compare(a.UID, b.UID))
	})
	return out, nil
}

func order(c decide.ClaimWorld) int {
	if c.Claim == nil {
		return 0
	}
	return 1
}

// claimsNaming are the claims whose data source a Restore is.
func (r *Reconciler) claimsNaming(ctx context.Context, key client.ObjectKey) ([]corev1.PersistentVolumeClaim, error) {
	var list corev1.PersistentVolumeClaimList
	if err := r.Client.List(ctx, &list, client.InNamespace(key.Namespace), client.MatchingFields{mapper.FieldDataSource: mapper.Named(key.Namespace, key.Name)}); err != nil {
		return nil, fmt.Errorf("list the claims of restore %s: %w", key, err)
	}
	return list.Items, nil
}

// primesOf are the helper claims that were made for a Restore of this name.
func (r *Reconciler) primesOf(ctx context.Context, key client.ObjectKey) ([]corev1.PersistentVolumeClaim, error) {
	var list corev1.PersistentVolumeClaimList
	if err := r.Client.List(ctx, &list, client.InNamespace(key.Namespace), client.MatchingLabels{
		kopiurv1.LabelManagedBy: kopiurv1.ManagedByValue,
		kopiurv1.LabelOperation: kopiurv1.OperationRestorePopulate,
	}); err != nil {
		return nil, fmt.Errorf("list the helper claims of restore %s: %w", key, err)
	}
	return slices.DeleteFunc(list.Items, func(c corev1.PersistentVolumeClaim) bool {
		return c.Annotations[kopiurv1.AnnotationRestore] != key.Name
	}), nil
}

func (r *Reconciler) straysByClaim(ctx context.Context, obj *kopiurv1.Restore) (map[types.UID][]*corev1.Pod, error) {
	var pods corev1.PodList
	if err := r.Client.List(ctx, &pods, client.InNamespace(obj.Namespace), client.MatchingLabels{
		kopiurv1.LabelManagedBy: kopiurv1.ManagedByValue,
		kopiurv1.LabelOwnerUID:  string(obj.UID),
	}); err != nil {
		return nil, fmt.Errorf("list the movers of restore %s/%s: %w", obj.Namespace, obj.Name, err)
	}
	out := map[types.UID][]*corev1.Pod{}
	for i := range pods.Items {
		if p := &pods.Items[i]; !workload.Ended(p) {
			uid := types.UID(p.Labels[kopiurv1.LabelClaimUID])
			out[uid] = append(out[uid], p)
		}
	}
	return out, nil
}

func (r *Reconciler) observeClaimJob(ctx context.Context, c *decide.ClaimWorld, as *kopiurv1.Restore, pods []*corev1.Pod) error {
	sub := decide.World{Restore: as, Outcome: moverjob.Outcome{State: moverjob.Absent, Terminal: true}}
	if err := r.observeJob(ctx, &sub); err != nil {
		return err
	}
	c.Job, c.Outcome = sub.Job, sub.Outcome
	for _, p := range pods {
		if c.Job == nil || p.Labels[batchv1.JobNameLabel] != c.Job.Name {
			c.Strays = append(c.Strays, p.Name)
		}
	}
	slices.Sort(c.Strays)
	return nil
}

// observeVolume reads the volume that was, or is to be, handed over. It is read live: who owns it decides about data.
func (r *Reconciler) observeVolume(ctx context.Context, c *decide.ClaimWorld) error {
	name := ""
	if c.Record != nil {
		name = c.Record.Volume
	}
	if c.Prime != nil {
		c.PrimeAge = r.ServerClock.Now().Sub(c.Prime.CreationTimestamp.Time)
		name = cmp.Or(name, c.Prime.Spec.VolumeName)
	}
	if name == "" {
		return nil
	}
	var pv corev1.PersistentVolume
	err := r.Live.Get(ctx, client.ObjectKey{Name: name}, &pv)
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("get volume %s: %w", name, err)
	}
	if err == nil {
		c.Volume = &pv
	}
	return nil
}

func (r *Reconciler) observeClass(ctx context.Context, c *decide.ClaimWorld) error {
	class := c.Claim.Spec.StorageClassName
	if class == nil || *class == "" || c.Prime != nil && c.Prime.Spec.VolumeName != "" {
		return nil
	}
	var sc storagev1.StorageClass
	err := r.Live.Get(ctx, client.ObjectKey{Name: *class}, &sc)
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("get StorageClass %s: %w", *class, err)
	}
	if err == nil {
		c.Class = &sc
	}
	return nil
}

// observeClaimRepository reads the repository that a claim's snapshot lies in: the one that is pinned, or else the one that
// the source leads to now.
func (r *Reconciler) observeClaimRepository(ctx context.Context, w decide.World, c *decide.ClaimWorld, as *kopiurv1.Restore, known map[kopiurv1.RepositoryRef]decide.ClaimWorld) error {
	c.Mounts = gates.Verdict{Open: true}
	ref := decide.RepositoryRef(as, w.Snapshot, w.Policy)
	if ref == nil {
		return nil
	}
	seen, ok := known[*ref]
	if !ok {
		seen.Mounts = gates.Verdict{Open: true}
		repo, err := moverjob.Load(ctx, r.Client, *ref, r.OperatorNamespace)
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return err //nolint:wrapcheck // says what and where
		default:
			seen.Repository = &repo
			if seen.Credentials, err = projection.Check(ctx, r.Client, seen.Repository, as.Namespace, as.Spec.CredentialProjection, r.Projection); err != nil {
				return err //nolint:wrapcheck // says what and where
			}
			if seen.Mounts, err = gates.CheckVolume(ctx, r.Client, repo, as.Namespace); err != nil {
				return err //nolint:wrapcheck // says what and where
			}
		}
		known[*ref] = seen
	}
	c.Repository, c.Credentials, c.Mounts = seen.Repository, seen.Credentials, seen.Mounts
	return nil
}
