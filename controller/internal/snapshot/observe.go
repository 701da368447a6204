// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"context"
	"fmt"
	"slices"

	vsv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/contents"
	"github.com/kopiur/kopiur/controller/internal/decide/mapper"
	"github.com/kopiur/kopiur/controller/internal/decide/plan"
	"github.com/kopiur/kopiur/controller/internal/decide/policy"
	"github.com/kopiur/kopiur/controller/internal/decide/staging"
	"github.com/kopiur/kopiur/controller/internal/gates"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
	"github.com/kopiur/kopiur/controller/internal/projection"
	"github.com/kopiur/kopiur/controller/internal/workload"
)

// annotationDefaultClass marks the class a driver's snapshots get by default.
const annotationDefaultClass = "snapshot.storage.kubernetes.io/is-default-class"

// get reads an object that may be absent.
func get[T client.Object](ctx context.Context, c client.Reader, key client.ObjectKey, into T) (T, bool, error) {
	err := c.Get(ctx, key, into)
	switch {
	case err == nil:
		return into, true, nil
	case apierrors.IsNotFound(err):
		return into, false, nil
	default:
		return into, false, fmt.Errorf("get %T %s: %w", into, key, err)
	}
}

// world reads everything that the caches hold. A finished Snapshot needs its Job and its copy, and nothing else.
func (r *Reconciler) world(ctx context.Context, s *kopiurv1.Snapshot) (plan.World, error) {
	w := plan.World{Snapshot: s, Image: r.MoverImage, PullPolicy: r.PullPolicy, ClusterLimit: r.MaxConcurrentJobs, ServerTime: r.ServerClock.Now()}
	if s.DeletionTimestamp != nil {
		return w, nil
	}
	attempt, _ := plan.Current(s)
	var err error
	if w.Job, err = moverjob.Fetch(ctx, r.Client, s.Namespace, plan.JobName(s, attempt), s.UID); err != nil {
		return w, fmt.Errorf("observe: %w", err)
	}
	over := s.Status.Phase.Terminal() && !plan.Reopens(s)
	if over { // at rest, nothing is asked of the API server (acceptance E-4)
		w.Pods, err = moverjob.Pods(ctx, r.Client, w.Job)
	} else {
		w.Pods, err = moverjob.Evidence(ctx, r.Client, r.Live, w.Job)
	}
	if err != nil {
		return w, fmt.Errorf("observe: %w", err)
	}
	if w.OtherPods, err = r.otherPods(ctx, s, w.Job); err != nil {
		return w, err
	}
	if st := s.Status.Staged; st != nil && st.PVCName != "" {
		if claim, ok, err := get(ctx, r.Client, client.ObjectKey{Namespace: s.Namespace, Name: st.PVCName}, &corev1.PersistentVolumeClaim{}); err != nil {
			return w, err
		} else if ok {
			w.StagedClaim = claim
		}
	}
	if over {
		err = r.pinReferents(ctx, &w)
		return w, err
	}
	err = r.referents(ctx, &w)
	return w, err
}

// pinReferents reads what pinning a finished snapshot takes. The policy may be gone by now; the repository is the one that
// was recorded.
func (r *Reconciler) pinReferents(ctx context.Context, w *plan.World) error {
	s := w.Snapshot
	if !plan.Pinnable(s) {
		return nil
	}
	var err error
	if w.PinJobs, err = r.pinJobs(ctx, s); err != nil || len(w.PinJobs) > 0 || !plan.PinDue(s) {
		return err
	}
	if ref := s.Spec.PolicyRef; ref != nil {
		pol, ok, err := get(ctx, r.Client, client.ObjectKey{Namespace: s.Namespace, Name: ref.Name}, &kopiurv1.SnapshotPolicy{})
		if err != nil {
			return err
		}
		if ok {
			w.Policy = pol
		}
	}
	ref := plan.RepositoryOf(s, w.Policy)
	if res := s.Status.Resolved; res != nil && res.Repository != nil {
		ref = new(res.Repository.In(s.Namespace))
	}
	if ref == nil {
		return nil
	}
	return r.repository(ctx, w, *ref)
}

// repository reads a repository and whether what its movers mount is in the Snapshot's namespace.
func (r *Reconciler) repository(ctx context.Context, w *plan.World, ref kopiurv1.RepositoryRef) error {
	repo, err := moverjob.Load(ctx, r.Client, ref, r.OperatorNamespace)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("observe: %w", err)
	}
	w.Repository = &repo
	creds, err := projection.Check(ctx, r.Client, w.Repository, w.Snapshot.Namespace, plan.ProjectionOf(w.Snapshot, w.Policy), r.Projection)
	if err != nil {
		return fmt.Errorf("observe: %w", err)
	}
	w.Credentials = creds.Verdict
	if w.RepositoryVolume, err = gates.CheckVolume(ctx, r.Client, repo, w.Snapshot.Namespace); err != nil {
		return fmt.Errorf("observe: %w", err)
	}
	return nil
}

// referents reads what the Snapshot names, directly and through its policy.
func (r *Reconciler) referents(ctx context.Context, w *plan.World) error {
	s := w.Snapshot
	if s.Spec.PolicyRef == nil {
		return nil
	}
	pol, ok, err := get(ctx, r.Client, client.ObjectKey{Namespace: s.Namespace, Name: s.Spec.PolicyRef.Name}, &kopiurv1.SnapshotPolicy{})
	if err != nil || !ok {
		return err
	}
	w.Policy = pol
	ref := plan.RepositoryOf(s, pol)
	if ref == nil {
		return nil
	}
	if err := r.repository(ctx, w, *ref); err != nil {
		return err
	}
	if w.Repository != nil {
		if err := r.kin(ctx, w); err != nil {
			return err
		}
	}
	source := plan.SourceOf(s, pol)
	if source.PVC == nil {
		return nil
	}
	claim, ok, err := get(ctx, r.Client, client.ObjectKey{Namespace: s.Namespace, Name: source.PVC.Name}, &corev1.PersistentVolumeClaim{})
	if err != nil || !ok {
		return err
	}
	w.Source = claim
	return nil
}

// kin reads the policies of the same repository, what this one has stored there, and whether it is about to begin with an
// empty volume, all from the cache.
func (r *Reconciler) kin(ctx context.Context, w *plan.World) error {
	var policies kopiurv1.SnapshotPolicyList
	if err := r.Client.List(ctx, &policies, client.MatchingFields{mapper.FieldRepository: mapper.Repository(w.Repository.Ref)}, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list the policies of %s: %w", w.Repository.Ref, err)
	}
	w.Others, w.Selected = policies.Items, policy.Selected{}
	for i := range w.Others {
		o := &w.Others[i]
		if !policy.Selects(o) || o.Namespace == w.Policy.Namespace && o.Name == w.Policy.Name {
			continue
		}
		var claims corev1.PersistentVolumeClaimList
		if err := r.Client.List(ctx, &claims, client.InNamespace(o.Namespace), client.UnsafeDisableDeepCopy); err != nil {
			return fmt.Errorf("list the claims of namespace %s: %w", o.Namespace, err)
		}
		w.Selected.SelectedBy(o, claims.Items)
	}
	var snapshots kopiurv1.SnapshotList
	key := mapper.Named(w.Policy.Namespace, w.Policy.Name)
	if err := r.Client.List(ctx, &snapshots, client.MatchingFields{mapper.FieldPolicy: key}, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list the snapshots of policy %s: %w", key, err)
	}
	w.History = policy.HistoryOf(w.Policy, w.Repository.Ref, snapshots.Items)
	return r.emptyStart(ctx, w, snapshots.Items)
}

// otherPods names pods of this Snapshot that do not belong to job and have not ended.
func (r *Reconciler) otherPods(ctx context.Context, s *kopiurv1.Snapshot, job *batchv1.Job) ([]string, error) {
	var pods corev1.PodList
	if err := r.Client.List(ctx, &pods, client.InNamespace(s.Namespace), client.MatchingLabels{
		kopiurv1.LabelManagedBy: kopiurv1.ManagedByValue,
		kopiurv1.LabelOwnerUID:  string(s.UID),
	}); err != nil {
		return nil, fmt.Errorf("list movers of snapshot %s/%s: %w", s.Namespace, s.Name, err)
	}
	var out []string
	for i := range pods.Items {
		p := &pods.Items[i]
		ended := p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
		if !ended && (job == nil || !metav1.IsControlledBy(p, job)) {
			out = append(out, p.Name)
		}
	}
	slices.Sort(out)
	return out, nil
}

// look reads one fact past the caches.
func (r *Reconciler) look(ctx context.Context, w *plan.World, ask plan.Ask) error {
	s := w.Snapshot
	switch ask {
	case plan.AskNamespace:
		ns, err := gates.Namespace(ctx, r.Live, s.Namespace)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("observe: %w", err)
		}
		if err == nil {
			w.Namespace = ns
		}
	case plan.AskJob:
		attempt, _ := plan.Current(s)
		job, ok, err := get(ctx, r.Live, client.ObjectKey{Namespace: s.Namespace, Name: plan.JobName(s, attempt)}, &batchv1.Job{})
		if err != nil {
			return err
		}
		if ok && metav1.IsControlledBy(job, s) {
			// Its pods are those of the cache: none yet, or they bring the next turn.
			w.Job = job
		}
	case plan.AskUsers:
		users, err := r.users(ctx, s.Namespace, w.Source.Name)
		if err != nil {
			return err
		}
		w.Users = users
	case plan.AskVolume:
		return r.lookAtVolume(ctx, w)
	case plan.AskVolumeSnapshot:
		return r.lookAtVolumeSnapshot(ctx, w)
	case plan.AskPods:
		pods, err := workload.Neighbours(ctx, r.Live, s.Namespace)
		if err != nil {
			return fmt.Errorf("observe: %w", err)
		}
		w.Neighbours = pods
	case plan.AskAttachment:
		node, err := workload.Attached(ctx, r.Live, w.Source.Spec.VolumeName)
		if err != nil {
			return fmt.Errorf("observe: %w", err)
		}
		w.Attached = node
	case plan.AskSlot:
		v, err := r.pool.admit(ctx, r.Client, *w)
		if err != nil {
			return fmt.Errorf("observe: %w", err)
		}
		w.Slot = v
	case plan.AskCache:
		v, err := r.caches.Take(ctx, r.Client, *plan.KeptCacheOf(*w), s.UID, r.Clock.Now())
		if err != nil {
			return fmt.Errorf("observe: %w", err)
		}
		w.Cache = v
	case plan.AskGroup:
		return r.lookAtGroup(ctx, w)
	case plan.AskClaimEvent:
		if w.StagedClaim != nil {
			w.ClaimEvent = r.newestWarning(ctx, w.StagedClaim)
		}
	}
	return nil
}

// users names running pods, other than movers, that use a claim.
func (r *Reconciler) users(ctx context.Context, namespace, claim string) ([]string, error) {
	pods, err := workload.Neighbours(ctx, r.Live, namespace)
	if err != nil {
		return nil, fmt.Errorf("observe: %w", err)
	}
	var out []string
	for i := range pods {
		if p := &pods[i]; !workload.Ended(p) && workload.Mounts(p.Spec, claim) {
			out = append(out, p.Name)
		}
	}
	slices.Sort(out)
	return out, nil
}

// lookAtVolume reads the source's volume and the classes its copy could have.
func (r *Reconciler) lookAtVolume(ctx context.Context, w *plan.World) error {
	claim := w.Source
	if claim.Spec.VolumeName != "" && claim.Status.Phase == corev1.ClaimBound {
		pv, ok, err := get(ctx, r.Live, client.ObjectKey{Name: claim.Spec.VolumeName}, &corev1.PersistentVolume{})
		if err != nil {
			return err
		}
		if ok {
			w.Volume.Volume = pv
		}
	}
	own := staging.StagedClassName(nil, claim)
	var err error
	if w.Volume.SourceClass, err = r.storageClass(ctx, own); err != nil {
		return err
	}
	w.Volume.StagedClass = w.Volume.SourceClass
	if name := staging.StagedClassName(w.Policy.Spec.Staging, claim); name != own {
		if w.Volume.StagedClass, err = r.storageClass(ctx, name); err != nil {
			return err
		}
	}
	if w.Volume.SnapshotAPI, err = r.snapshotAPI(); err != nil || !w.Volume.SnapshotAPI {
		return err
	}
	var classes vsv1.VolumeSnapshotClassList
	if err := r.Live.List(ctx, &classes); err != nil {
		return fmt.Errorf("list VolumeSnapshotClasses: %w", err)
	}
	for i := range classes.Items {
		c := &classes.Items[i]
		w.Volume.SnapshotClasses = append(w.Volume.SnapshotClasses, staging.SnapshotClass{
			Name: c.Name, Driver: c.Driver, Default: c.Annotations[annotationDefaultClass] == "true",
		})
	}
	return nil
}

func (r *Reconciler) storageClass(ctx context.Context, name string) (*staging.StorageClass, error) {
	if name == "" {
		return nil, nil
	}
	sc, ok, err := get(ctx, r.Live, client.ObjectKey{Name: name}, &storagev1.StorageClass{})
	if err != nil || !ok {
		return nil, err
	}
	return &staging.StorageClass{
		Name: sc.Name, Driver: sc.Provisioner,
		WaitForFirstConsumer: sc.VolumeBindingMode != nil && *sc.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer,
	}, nil
}

// snapshotAPI reports whether the cluster serves VolumeSnapshots.
func (r *Reconciler) snapshotAPI() (bool, error) {
	_, err := r.Mapper.RESTMapping(vsv1.SchemeGroupVersion.WithKind("VolumeSnapshot").GroupKind(), vsv1.SchemeGroupVersion.Version)
	switch {
	case err == nil:
		return true, nil
	case meta.IsNoMatchError(err):
		return false, nil
	default:
		return false, fmt.Errorf("look for the VolumeSnapshot API: %w", err)
	}
}

func (r *Reconciler) lookAtVolumeSnapshot(ctx context.Context, w *plan.World) error {
	served, err := r.snapshotAPI()
	if err != nil || !served {
		return err
	}
	if err := r.ensureWatch(); err != nil {
		return err
	}
	name := staging.SnapshotName(w.Snapshot.Name)
	if st := w.Snapshot.Status.Staged; st != nil && st.VolumeSnapshotName != "" {
		name = st.VolumeSnapshotName
	}
	vs, ok, err := get(ctx, r.Live, client.ObjectKey{Namespace: w.Snapshot.Namespace, Name: name}, &vsv1.VolumeSnapshot{})
	if err != nil || !ok {
		return err
	}
	w.VolumeSnapshot = contents.SnapshotOf(vs)
	return nil
}

// newestWarning is what the provisioner last complained about. It helps people and decides nothing, so an error is no
// more than an empty answer.
func (r *Reconciler) newestWarning(ctx context.Context, claim *corev1.PersistentVolumeClaim) string {
	var events corev1.EventList
	if err := r.Live.List(ctx, &events, client.InNamespace(claim.Namespace), client.MatchingFields{
		"involvedObject.uid": string(claim.UID), "type": corev1.EventTypeWarning,
	}); err != nil {
		return ""
	}
	var newest *corev1.Event
	at := func(e *corev1.Event) metav1.Time {
		switch {
		case e.Series != nil:
			return metav1.NewTime(e.Series.LastObservedTime.Time)
		case !e.LastTimestamp.IsZero():
			return e.LastTimestamp
		case !e.EventTime.IsZero():
			return metav1.NewTime(e.EventTime.Time)
		default:
			return e.CreationTimestamp
		}
	}
	for i := range events.Items {
		if e := &events.Items[i]; newest == nil || at(newest).Time.Before(at(e).Time) {
			newest = e
		}
	}
	if newest == nil {
		return ""
	}
	return newest.Reason + ": " + newest.Message
}
