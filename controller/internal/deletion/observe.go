// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/breaker"
	"github.com/kopiur/kopiur/controller/internal/decide/deletion"
	"github.com/kopiur/kopiur/controller/internal/decide/mapper"
	"github.com/kopiur/kopiur/controller/internal/deps"
	"github.com/kopiur/kopiur/controller/internal/gates"
	"github.com/kopiur/kopiur/controller/internal/index"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

// +kubebuilder:rbac:groups=kopiur.home-operations.com,resources=snapshots;snapshotpolicies;snapshotschedules;repositories;clusterrepositories,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,verbs=get
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get;list;watch;create;delete

// Observer reads what bears on stored data.
type Observer struct{ deps.Deps }

// Look is one observation. What is read live is read once, however many Snapshots ask.
type Look struct {
	o    Observer
	live bool
	seen map[string]found
}

type found struct {
	obj      client.Object
	presence deletion.Presence
}

// Cached starts an observation of the caches, which prove nothing.
func (o Observer) Cached() *Look { return &Look{o: o, seen: map[string]found{}} }

// Live starts an observation past the caches.
func (o Observer) Live() *Look { return &Look{o: o, live: true, seen: map[string]found{}} }

func (l *Look) reader() client.Reader {
	if l.live {
		return l.o.Deps.Live
	}
	return l.o.Client
}

// find reads one object. An error means that nothing is known of it.
func (l *Look) find(ctx context.Context, key client.ObjectKey, into client.Object) (client.Object, deletion.Presence, error) {
	name := fmt.Sprintf("%T/%s/%s", into, into.GetObjectKind().GroupVersionKind().Kind, key)
	if f, ok := l.seen[name]; ok {
		return f.obj, f.presence, nil
	}
	f := found{obj: into, presence: deletion.Present}
	switch err := l.reader().Get(ctx, key, into); {
	case apierrors.IsNotFound(err):
		f = found{presence: deletion.Gone}
	case err != nil:
		return nil, deletion.Unknown, fmt.Errorf("get %T %s: %w", into, key, err)
	case into.GetDeletionTimestamp() != nil:
		f.presence = deletion.Gone
	}
	l.seen[name] = f
	return f.obj, f.presence, nil
}

// Facts are those of one Snapshot. The repository is nil unless it is there.
func (l *Look) Facts(ctx context.Context, s *kopiurv1.Snapshot) (deletion.Facts, *moverjob.Repository, error) {
	f := deletion.Facts{Snapshot: s, Live: l.live, Policy: deletion.None, Schedule: deletion.None, Repository: deletion.None}
	var err error
	if f.Kind, err = l.Kind(ctx, "snapshots"); err != nil {
		return f, nil, err
	}
	if f.Namespace, err = l.Namespace(ctx, s.Namespace); err != nil {
		return f, nil, err
	}
	if err := l.policy(ctx, s, &f); err != nil {
		return f, nil, err
	}
	if err := l.schedule(ctx, s, &f); err != nil {
		return f, nil, err
	}
	repo, err := l.repository(ctx, s, &f)
	return f, repo, err
}

// Namespace is gone also while it is being deleted.
func (l *Look) Namespace(ctx context.Context, name string) (deletion.Presence, error) {
	_, p, err := l.find(ctx, client.ObjectKey{Name: name}, index.Metadata(mapper.KindNamespace))
	return p, err
}

// Kind reads the definition of one of our kinds, of which there is no cache. Where that is not allowed, Kopiur was
// installed for some namespaces only, and nothing can be said.
func (l *Look) Kind(ctx context.Context, plural string) (deletion.Presence, error) {
	if !l.live {
		return deletion.Present, nil
	}
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	_, p, err := l.find(ctx, client.ObjectKey{Name: plural + "." + kopiurv1.GroupName}, m)
	if apierrors.IsForbidden(err) {
		return deletion.None, nil
	}
	return p, err
}

func (l *Look) policy(ctx context.Context, s *kopiurv1.Snapshot, f *deletion.Facts) error {
	if s.Spec.PolicyRef == nil {
		return nil
	}
	ref := s.Spec.PolicyRef.In(s.Namespace)
	obj, presence, err := l.find(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, &kopiurv1.SnapshotPolicy{})
	if err != nil {
		return err
	}
	f.Policy = presence
	if p, ok := obj.(*kopiurv1.SnapshotPolicy); ok && presence == deletion.Present {
		f.PolicyDefault = p.Spec.DefaultDeletionPolicy
	}
	return nil
}

// schedule is gone also where another one has its name: what was made anew did not make this Snapshot (acceptance D-1).
func (l *Look) schedule(ctx context.Context, s *kopiurv1.Snapshot, f *deletion.Facts) error {
	name, uid := mapper.ScheduleOf(s)
	if name == "" {
		return nil
	}
	obj, presence, err := l.find(ctx, client.ObjectKey{Namespace: s.Namespace, Name: name}, &kopiurv1.SnapshotSchedule{})
	if err != nil {
		return err
	}
	f.Schedule = presence
	if presence == deletion.Present && uid != "" && string(obj.GetUID()) != uid {
		f.Schedule = deletion.Gone
	}
	return nil
}

func (l *Look) repository(ctx context.Context, s *kopiurv1.Snapshot, f *deletion.Facts) (*moverjob.Repository, error) {
	ref := mapper.PinnedRepository(s)
	if ref == nil {
		return nil, nil
	}
	f.RepositoryName = ref.String()
	repo, presence, err := l.Repository(ctx, *ref)
	if err != nil {
		return nil, err
	}
	f.Repository = presence
	if presence != deletion.Present {
		return nil, nil
	}
	f.OnNamespaceDelete = repo.Spec.OnNamespaceDelete
	f.AtHome = repo.HomeNamespace == s.Namespace
	return repo, nil
}

// Repository reads the repository that ref, filled in, names. It is nil unless it is there.
func (l *Look) Repository(ctx context.Context, ref kopiurv1.RepositoryRef) (*moverjob.Repository, deletion.Presence, error) {
	key := client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}
	var into client.Object = &kopiurv1.Repository{}
	if ref.KindOrDefault() == kopiurv1.KindClusterRepository {
		into = &kopiurv1.ClusterRepository{}
	}
	obj, presence, err := l.find(ctx, key, into)
	if err != nil || presence != deletion.Present {
		return nil, presence, err
	}
	var repo moverjob.Repository
	switch o := obj.(type) {
	case *kopiurv1.Repository:
		repo = moverjob.FromRepository(o)
	case *kopiurv1.ClusterRepository:
		repo = moverjob.FromClusterRepository(o, l.o.OperatorNamespace)
	}
	return &repo, presence, nil
}

// Pending are the Snapshots that are being deleted and lie, or may lie, in a repository. They belong to the cache and
// must not be changed.
func Pending(ctx context.Context, c client.Reader, ref kopiurv1.RepositoryRef) ([]kopiurv1.Snapshot, error) {
	values := []string{mapper.DeletingFrom(ref)}
	var policies kopiurv1.SnapshotPolicyList
	if err := c.List(ctx, &policies, client.MatchingFields{mapper.FieldRepository: mapper.Repository(ref)}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the policies of %s: %w", ref, err)
	}
	for i := range policies.Items {
		values = append(values, mapper.DeletingUnpinned(policies.Items[i].Namespace, policies.Items[i].Name))
	}
	var out []kopiurv1.Snapshot
	for _, v := range values {
		var list kopiurv1.SnapshotList
		if err := c.List(ctx, &list, client.MatchingFields{mapper.FieldDeleting: v}, client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("list pending deletions from %s: %w", ref, err)
		}
		out = append(out, list.Items...)
	}
	return out, nil
}

// Breaker judges the pending deletions from a repository.
func Breaker(repo moverjob.Repository, pending []kopiurv1.Snapshot) breaker.Verdict {
	value := repo.Annotations[kopiurv1.AnnotationAllowMassDeletion]
	in := breaker.Input{
		Repository: repo.Ref.String(), Threshold: breaker.Threshold(repo.Spec.DeletionProtection),
		Ack: breaker.InEffect(value, repo.Status.DeletionAck),
	}
	if a := repo.Status.DeletionAck; value != "" && in.Ack.IsZero() && a != nil && a.Value == value {
		in.AckFault = "it lay in the future when it was written; write the present time"
	}
	for i := range pending {
		if deletion.Counts(&pending[i]) {
			in.Pending = append(in.Pending, deletion.MemberOf(&pending[i]))
		}
	}
	return breaker.Decide(in)
}

// Gate says whether a Job can delete from a repository now. A suspended one passes: suspending stops new work, and what
// was deleted before does not wait for it.
func (o Observer) Gate(ctx context.Context, repo moverjob.Repository) (gates.Verdict, error) {
	shut := func(reason, format string, args ...any) (gates.Verdict, error) {
		return gates.Verdict{Reason: reason, Message: fmt.Sprintf(format, args...)}, nil
	}
	if repo.Spec.Mode == kopiurv1.ModeReadOnly {
		return shut(kopiurv1.ReasonRepositoryReadOnly, "%s has mode ReadOnly", repo.Ref)
	}
	if repo.Status.Phase != kopiurv1.RepositoryReady {
		return shut(kopiurv1.ReasonRepositoryNotReady, "%s is not Ready; its own conditions say why", repo.Ref)
	}
	creds, err := gates.CheckCredentials(ctx, o.Client, repo, repo.HomeNamespace)
	if err != nil {
		return gates.Verdict{}, fmt.Errorf("observe: %w", err)
	}
	if !creds.Open {
		return creds.Verdict, nil
	}
	volume, err := gates.CheckVolume(ctx, o.Client, repo, repo.HomeNamespace)
	if err != nil {
		return gates.Verdict{}, fmt.Errorf("observe: %w", err)
	}
	if !volume.Open {
		return volume, nil
	}
	job, err := build(o.Deps, repo, []kopiurv1.Snapshot{{}})
	if err != nil {
		return shut(kopiurv1.ReasonInvalidSpec, "%s", err)
	}
	return o.permitted(ctx, job)
}

// permitted asks for the consent of the repository's namespace, live, where the Job needs it.
func (o Observer) permitted(ctx context.Context, job *batchv1.Job) (gates.Verdict, error) {
	pod := job.Spec.Template.Spec
	if v := gates.Privileges(pod, job.Namespace, nil); v.Open {
		return v, nil
	}
	ns, err := gates.Namespace(ctx, o.Deps.Live, job.Namespace)
	if client.IgnoreNotFound(err) != nil {
		return gates.Verdict{}, fmt.Errorf("observe: %w", err)
	}
	var annotations map[string]string
	if err == nil {
		annotations = ns.Annotations
	}
	return gates.Privileges(pod, job.Namespace, annotations), nil
}
