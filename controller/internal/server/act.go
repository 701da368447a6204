// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	decide "github.com/kopiur/kopiur/controller/internal/decide/server"
	"github.com/kopiur/kopiur/controller/internal/loop"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
	"github.com/kopiur/kopiur/controller/internal/projection"
)

// children are the objects that were made for one web UI, wherever they are.
type children struct {
	deployments []appsv1.Deployment
	services    []corev1.Service
	secrets     []metav1.PartialObjectMetadata
}

func (o Of) children(ctx context.Context, from client.Reader) (children, error) {
	var out children
	ours := client.MatchingLabels{
		kopiurv1.LabelManagedBy: kopiurv1.ManagedByValue, kopiurv1.LabelComponent: kopiurv1.ComponentServer, kopiurv1.LabelOwnerUID: string(o.Repo.UID),
	}
	var deployments appsv1.DeploymentList
	if err := from.List(ctx, &deployments, ours); err != nil {
		return out, fmt.Errorf("list Deployments of the web UI: %w", err)
	}
	var services corev1.ServiceList
	if err := from.List(ctx, &services, ours); err != nil {
		return out, fmt.Errorf("list Services of the web UI: %w", err)
	}
	secrets := &metav1.PartialObjectMetadataList{}
	secrets.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	if err := from.List(ctx, secrets, ours); err != nil {
		return out, fmt.Errorf("list Secrets of the web UI: %w", err)
	}
	return children{deployments.Items, services.Items, secrets.Items}, nil
}

// all lists them as objects that can be deleted.
func (c children) all() []client.Object {
	var out []client.Object
	for i := range c.deployments {
		out = append(out, &c.deployments[i])
	}
	for i := range c.services {
		out = append(out, &c.services[i])
	}
	for i := range c.secrets {
		m := &c.secrets[i]
		out = append(out, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: m.Namespace, Name: m.Name, UID: m.UID, DeletionTimestamp: m.DeletionTimestamp}})
	}
	return out
}

func (o Of) act(ctx context.Context, w world, v decide.Verdict) error {
	sc := &w
	return loop.Run(ctx, sc,
		loop.Step("take away what is not wanted", func(ctx context.Context, w *world) error { return o.clear(ctx, w, v) }),
		loop.Step("copy the credentials", func(ctx context.Context, w *world) error { return o.copyCredentials(ctx, w, v) }),
		loop.Step("make the password", func(ctx context.Context, w *world) error { return o.password(ctx, w, v) }),
		loop.Step("make the Service", func(ctx context.Context, w *world) error { return o.apply(ctx, w, v, w.service) }),
		loop.Step("make the Deployment", func(ctx context.Context, w *world) error { return o.apply(ctx, w, v, w.deployment) }),
	)
}

// clear deletes what was made and is not wanted any more: all of it without spec.server, else what is elsewhere or under
// another name, and Secrets that nothing mounts.
func (o Of) clear(ctx context.Context, w *world, v decide.Verdict) error {
	if !v.Gone && !v.Serve {
		return nil // what stands in the way changes nothing
	}
	wanted := map[string]bool{}
	if !v.Gone {
		name, s := moverjob.ServerName(o.Repo.Ref.Name), o.Repo.Spec.Server
		wanted[name] = true
		wanted[moverjob.ServerAuthSecret(o.Repo.Ref.Name)] = moverjob.ServerAuthMode(s) == kopiurv1.ServerAuthGenerate
		wanted[moverjob.ServerCredentials(o.Repo.Ref.Name)] = o.copied()
	}
	for _, obj := range w.have.all() {
		if wanted[obj.GetName()] && obj.GetNamespace() == w.input.Namespace {
			continue
		}
		if err := o.remove(ctx, obj); err != nil {
			return err
		}
	}
	return nil
}

func (o Of) remove(ctx context.Context, obj client.Object) error {
	if obj.GetDeletionTimestamp() != nil {
		return nil
	}
	uid := obj.GetUID()
	err := o.Client.Delete(ctx, obj, client.Preconditions{UID: &uid}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("delete %T %s/%s: %w", obj, obj.GetNamespace(), obj.GetName(), err)
	}
	return nil
}

// copyCredentials keeps the copy that the server mounts where it is not at the repository's home.
func (o Of) copyCredentials(ctx context.Context, w *world, v decide.Verdict) error {
	if !v.Serve || !o.copied() {
		return nil
	}
	labels := moverjob.ServerLabels(o.Repo)
	labels[kopiurv1.LabelServerCredentials] = moverjob.Digest(w.request.Credentials)
	name := moverjob.ServerCredentials(o.Repo.Ref.Name)
	have := w.secret(name)
	if have != nil && have.Labels[kopiurv1.LabelServerCredentials] == labels[kopiurv1.LabelServerCredentials] {
		return nil
	}
	data, found, err := projection.Collect(ctx, o.Live, o.Repo)
	if err != nil {
		return err //nolint:wrapcheck // says what it did
	}
	if !found.Open {
		return nil // gone since it was looked for: the next turn says so
	}
	want := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.input.Namespace, Name: name, Labels: labels, OwnerReferences: moverjob.ServerOwners(o.Repo)},
		Data:       data,
	}
	if have == nil {
		return o.create(ctx, want)
	}
	// The whole of it is written: what was taken from the original goes from the copy.
	base := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: want.Namespace, Name: name}}
	if err := o.Live.Get(ctx, client.ObjectKeyFromObject(want), base); err != nil {
		return fmt.Errorf("read the copied credentials: %w", err)
	}
	updated := base.DeepCopy()
	updated.Labels, updated.Data = labels, data
	if err := o.Client.Patch(ctx, updated, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("copy the credentials: %w", err)
	}
	return nil
}

func (w *world) secret(name string) *metav1.PartialObjectMetadata {
	for i := range w.have.secrets {
		if m := &w.have.secrets[i]; m.Name == name && m.Namespace == w.input.Namespace {
			return m
		}
	}
	return nil
}

// password makes the Secret with the generated one, once. Its password is never changed: it is in people's heads.
func (o Of) password(ctx context.Context, w *world, v decide.Verdict) error {
	if !v.Serve || moverjob.ServerAuthMode(o.Repo.Spec.Server) != kopiurv1.ServerAuthGenerate {
		return nil
	}
	name, user := moverjob.ServerAuthSecret(o.Repo.Ref.Name), moverjob.ServerUser(o.Repo.Spec.Server)
	labels := moverjob.ServerLabels(o.Repo)
	labels[kopiurv1.LabelServerUser] = moverjob.Digest(user)
	have := w.secret(name)
	switch {
	case have == nil:
		return o.create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.input.Namespace, Name: name, Labels: labels, OwnerReferences: moverjob.ServerOwners(o.Repo)},
			Type:       corev1.SecretTypeOpaque,
			Data:       map[string][]byte{moverjob.ServerUsernameKey: []byte(user), moverjob.ServerPasswordKey: []byte(rand.Text())},
		})
	case have.Labels[kopiurv1.LabelServerUser] != labels[kopiurv1.LabelServerUser]:
		base := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: have.Namespace, Name: name}}
		updated := base.DeepCopy()
		updated.Labels, updated.Data = labels, map[string][]byte{moverjob.ServerUsernameKey: []byte(user)}
		if err := o.Client.Patch(ctx, updated, client.MergeFrom(base)); err != nil {
			return fmt.Errorf("change the user in Secret %s/%s: %w", have.Namespace, name, err)
		}
	}
	return nil
}

// create makes an object whose name is fixed. One of that name that is ours was made by a process that ended before its
// caches had it; one that is not is left alone.
func (o Of) create(ctx context.Context, obj client.Object) error {
	err := o.Client.Create(ctx, obj)
	if err == nil {
		return nil
	}
	what := strings.TrimPrefix(fmt.Sprintf("%T", obj), "*v1.")
	if !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create %s %s/%s: %w", what, obj.GetNamespace(), obj.GetName(), err)
	}
	have, ok := obj.DeepCopyObject().(client.Object)
	if !ok {
		return err
	}
	if err := o.Live.Get(ctx, client.ObjectKeyFromObject(obj), have); err != nil {
		return fmt.Errorf("get %s %s/%s: %w", what, obj.GetNamespace(), obj.GetName(), err)
	}
	if o.ours(have) {
		return nil
	}
	return standsInTheWay(fmt.Sprintf("%s %s/%s", what, obj.GetNamespace(), obj.GetName()))
}

// apply creates the Service or Deployment, or changes what is there where it was made from something else.
func (o Of) apply(ctx context.Context, w *world, v decide.Verdict, want client.Object) error {
	if !v.Serve {
		return nil
	}
	have := w.present(want)
	if have == nil {
		return o.create(ctx, want)
	}
	if have.GetDeletionTimestamp() != nil || have.GetAnnotations()[kopiurv1.AnnotationServerSpec] == want.GetAnnotations()[kopiurv1.AnnotationServerSpec] {
		return nil
	}
	updated, ok := have.DeepCopyObject().(client.Object)
	if !ok {
		return nil
	}
	updated.SetLabels(want.GetLabels())
	switch u := updated.(type) {
	case *appsv1.Deployment:
		from, _ := want.(*appsv1.Deployment)
		u.Annotations = merged(u.Annotations, from.Annotations)
		u.Spec = from.Spec
	case *corev1.Service:
		from, _ := want.(*corev1.Service)
		u.Annotations = merged(u.Annotations, from.Annotations)
		u.Spec.Type, u.Spec.Selector = from.Spec.Type, from.Spec.Selector
		// A node port that was given out stays.
		u.Spec.Ports[0].Port, u.Spec.Ports[0].TargetPort = from.Spec.Ports[0].Port, from.Spec.Ports[0].TargetPort
	}
	if err := o.Client.Patch(ctx, updated, client.MergeFrom(have)); err != nil {
		return fmt.Errorf("change %T %s/%s: %w", want, want.GetNamespace(), want.GetName(), err)
	}
	return nil
}

// present is what is there of an object, nil where there is nothing.
func (w *world) present(want client.Object) client.Object {
	for _, obj := range w.have.all() {
		if fmt.Sprintf("%T", obj) == fmt.Sprintf("%T", want) && obj.GetNamespace() == want.GetNamespace() && obj.GetName() == want.GetName() {
			return obj
		}
	}
	return nil
}

// merged takes away the annotations that were ours and lays the present ones over the rest, which are somebody else's.
func merged(have, want map[string]string) map[string]string {
	out := maps.Clone(have)
	if out == nil {
		out = map[string]string{}
	}
	for key := range strings.SplitSeq(have[kopiurv1.AnnotationServerAnnotations], ",") {
		delete(out, key)
	}
	maps.Copy(out, want)
	return out
}

// Guard keeps a ClusterRepository until the objects of its web UI are gone, which no garbage collector takes away, and lets
// it go then: once spec.server is gone, or the ClusterRepository itself is to. It is called before anything else; what it
// has changed is looked at by the next turn. left says what this installation may not delete.
func (o Of) Guard(ctx context.Context) (changed bool, left string, err error) {
	has := slices.Contains(o.Owner.GetFinalizers(), kopiurv1.FinalizerServer)
	wanted := o.Repo.Spec.Server != nil && o.Owner.GetDeletionTimestamp() == nil
	switch {
	case o.Repo.Ref.KindOrDefault() != kopiurv1.KindClusterRepository:
		return false, "", nil
	case wanted && !has && o.ServerImage != "":
		return true, "", o.finalizers(ctx, append(slices.Clone(o.Owner.GetFinalizers()), kopiurv1.FinalizerServer))
	case !wanted && has:
		left, err := o.release(ctx)
		return true, left, err
	default:
		return false, "", nil
	}
}

func (o Of) finalizers(ctx context.Context, list []string) error {
	base, ok := o.Owner.DeepCopyObject().(client.Object)
	if !ok {
		return nil
	}
	updated, ok := o.Owner.DeepCopyObject().(client.Object)
	if !ok {
		return nil
	}
	updated.SetFinalizers(list)
	if err := o.Client.Patch(ctx, updated, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("guard the web UI of ClusterRepository %s: %w", o.Owner.GetName(), err)
	}
	o.Writes.Did(o.Owner.GetUID(), base.GetResourceVersion(), updated.GetResourceVersion())
	return nil
}

// release deletes all of it, and the finalizer. It looks past the caches, which may not have seen the last thing that was
// made.
func (o Of) release(ctx context.Context) (left string, err error) {
	if o.ServerImage == "" {
		left = fmt.Sprintf("this installation serves no web UI any more and may not delete what is left of one: delete the objects with label %s=%s in namespace %s",
			kopiurv1.LabelOwnerUID, o.Repo.UID, o.namespace())
	} else {
		have, err := o.children(ctx, o.Live)
		if err != nil {
			return "", err
		}
		for _, obj := range have.all() {
			if err := o.remove(ctx, obj); err != nil {
				return "", err
			}
		}
	}
	return left, o.finalizers(ctx, slices.DeleteFunc(slices.Clone(o.Owner.GetFinalizers()), func(f string) bool { return f == kopiurv1.FinalizerServer }))
}

// namespace that the server was last known to run in.
func (o Of) namespace() string {
	if s := o.Repo.Status.Server; s != nil && s.Namespace != "" {
		return s.Namespace
	}
	return moverjob.ServerNamespace(o.Repo)
}
