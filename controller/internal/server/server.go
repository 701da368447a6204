// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package server keeps the web UI of a repository as its spec says: a Deployment, the Service that leads to it, a Secret
// with a generated password, and where a ClusterRepository's server is not at home a copy of its credentials. What is
// decided is decided in decide/server; the reconcilers of repositories call this, and write what it answers.
package server

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	decide "github.com/kopiur/kopiur/controller/internal/decide/server"
	"github.com/kopiur/kopiur/controller/internal/deps"
	"github.com/kopiur/kopiur/controller/internal/gates"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=services,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch;create;patch;delete

// Of is the web UI of one repository.
type Of struct {
	deps.Deps
	Owner client.Object
	GVK   schema.GroupVersionKind
	Repo  moverjob.Repository
}

// copied reports whether the server mounts a copy of the credentials.
func (o Of) copied() bool {
	return o.Repo.Spec.Server != nil && moverjob.ServerNamespace(o.Repo) != o.Repo.HomeNamespace
}

// world is what was read.
type world struct {
	input      decide.Input
	request    moverjob.ServerRequest
	deployment *appsv1.Deployment
	service    *corev1.Service
	have       children
}

// Ensure brings the web UI to what the spec says, and answers what is to be said about it.
func (o Of) Ensure(ctx context.Context) (decide.Verdict, error) {
	w, err := o.observe(ctx)
	if err != nil {
		return decide.Verdict{}, fmt.Errorf("observe the web UI: %w", err)
	}
	v := decide.Decide(w.input)
	err = o.act(ctx, w, v)
	if stands, ok := errors.AsType[standsInTheWay](err); ok {
		w.input.Taken = string(stands)
		return decide.Decide(w.input), nil
	}
	if err != nil {
		return decide.Verdict{}, fmt.Errorf("keep the web UI: %w", err)
	}
	return v, nil
}

// standsInTheWay names an object of somebody else that was met under a name that is needed.
type standsInTheWay string

func (s standsInTheWay) Error() string { return string(s) + " belongs to somebody else" }

func (o Of) observe(ctx context.Context) (world, error) {
	repo := o.Repo
	w := world{input: decide.Input{
		Repository: repo, Enabled: o.ServerImage != "",
		Creds: gates.Verdict{Open: true}, Volume: gates.Verdict{Open: true}, Auth: gates.Verdict{Open: true}, Permitted: gates.Verdict{Open: true},
	}}
	if o.ServerImage == "" {
		return w, nil // its kinds are not watched either
	}
	var err error
	if w.have, err = o.children(ctx, o.Client); err != nil {
		return world{}, err
	}
	if repo.Spec.Server == nil {
		return w, nil
	}
	w.input.Namespace = moverjob.ServerNamespace(repo)
	if err := o.observeGates(ctx, &w); err != nil {
		return world{}, err
	}
	if err := o.template(ctx, &w); err != nil {
		return world{}, err
	}
	err = o.observeObjects(ctx, &w)
	return w, err
}

func (o Of) observeGates(ctx context.Context, w *world) error {
	ns, home := w.input.Namespace, o.Repo.HomeNamespace
	creds, err := gates.CheckCredentials(ctx, o.Client, o.Repo, home)
	if err != nil {
		return err //nolint:wrapcheck // says what and where
	}
	w.input.Creds = creds.Verdict
	if w.input.Volume, err = gates.CheckVolume(ctx, o.Client, o.Repo, ns); err != nil {
		return err //nolint:wrapcheck // says what and where
	}
	if name := o.Repo.Needs().Claim; name != "" && w.input.Volume.Open {
		w.input.Claim = &corev1.PersistentVolumeClaim{}
		if err := o.Client.Get(ctx, client.ObjectKey{Namespace: ns, Name: name}, w.input.Claim); err != nil {
			return fmt.Errorf("get claim %s/%s: %w", ns, name, err)
		}
	}
	if a := o.Repo.Spec.Server.Auth; a != nil && a.SecretRef != nil {
		found, err := o.secret(ctx, a.SecretRef.Name)
		if err != nil {
			return err
		}
		if found == nil {
			w.input.Auth = gates.Verdict{Reason: kopiurv1.ReasonMissingCredentialsSecret, Message: fmt.Sprintf(
				"Secret %s/%s does not exist, and spec.server.auth.secretRef names it: create it with the keys %s and %s", ns, a.SecretRef.Name, a.SecretRef.UsernameKey, a.SecretRef.PasswordKey)}
		}
	}
	w.request = moverjob.ServerRequest{
		Request: moverjob.Request{
			Owner: o.Owner, GVK: o.GVK, Letter: "u", Attempt: "0", Namespace: ns,
			Image: moverjob.Images{Mover: o.ServerImage}, PullPolicy: o.PullPolicy, Repository: o.Repo,
		},
		Credentials: creds.Version, Stopped: o.Repo.Spec.Suspend,
	}
	if o.copied() {
		w.request.Repository.Projected = moverjob.ServerCredentials(o.Repo.Ref.Name)
	}
	return nil
}

// template builds the objects, and asks for the Namespace's consent where the pod needs it.
func (o Of) template(ctx context.Context, w *world) error {
	var refusal error
	if w.deployment, refusal = moverjob.BuildServer(w.request); refusal == nil {
		w.service, refusal = moverjob.BuildService(w.request.Repository)
	}
	if refusal != nil {
		w.input.Refusal = refusal.Error()
		return nil //nolint:nilerr // it is told in the condition
	}
	pod := w.deployment.Spec.Template.Spec
	if w.input.Permitted = gates.Privileges(pod, w.input.Namespace, nil); w.input.Permitted.Open {
		return nil
	}
	ns, err := gates.Namespace(ctx, o.Live, w.input.Namespace)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err //nolint:wrapcheck // says what and where
	}
	w.input.Permitted = gates.Privileges(pod, w.input.Namespace, ns.Annotations)
	return nil
}

// observeObjects finds what is there under the names that are needed, ours or not.
func (o Of) observeObjects(ctx context.Context, w *world) error {
	name := moverjob.ServerName(o.Repo.Ref.Name)
	for i := range w.have.deployments {
		if d := &w.have.deployments[i]; d.Namespace == w.input.Namespace && d.Name == name {
			w.input.Deployment = d
		}
	}
	for _, s := range []string{moverjob.ServerAuthSecret(o.Repo.Ref.Name), moverjob.ServerCredentials(o.Repo.Ref.Name)} {
		found, err := o.secret(ctx, s)
		if err != nil {
			return err
		}
		if found != nil && !o.ours(found) {
			w.input.Taken = "Secret " + w.input.Namespace + "/" + s
		}
	}
	return o.lastWords(ctx, w)
}

// lastWords is what the server's pod said when it ended last.
func (o Of) lastWords(ctx context.Context, w *world) error {
	var pods corev1.PodList
	ours := client.MatchingLabels{kopiurv1.LabelOwnerUID: string(o.Repo.UID), kopiurv1.LabelComponent: kopiurv1.ComponentServer}
	if err := o.Client.List(ctx, &pods, client.InNamespace(w.input.Namespace), ours); err != nil {
		return fmt.Errorf("list the server's pods: %w", err)
	}
	for i := range pods.Items {
		for _, c := range pods.Items[i].Status.ContainerStatuses {
			for _, t := range []*corev1.ContainerStateTerminated{c.State.Terminated, c.LastTerminationState.Terminated} {
				if t == nil || t.ExitCode == 0 {
					continue
				}
				w.input.LastWords = fmt.Sprintf("exit code %d", t.ExitCode)
				if r, err := work.DecodeResult(t.Message); err == nil && r.Message != "" {
					w.input.LastWords = r.Message
				}
			}
		}
	}
	return nil
}

// secret looks for one beside the server, by its metadata.
func (o Of) secret(ctx context.Context, name string) (*metav1.PartialObjectMetadata, error) {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	ns := moverjob.ServerNamespace(o.Repo)
	err := o.Client.Get(ctx, client.ObjectKey{Namespace: ns, Name: name}, m)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get Secret %s/%s: %w", ns, name, err)
	}
	return m, nil
}

func (o Of) ours(obj metav1.Object) bool {
	l := obj.GetLabels()
	return l[kopiurv1.LabelManagedBy] == kopiurv1.ManagedByValue && l[kopiurv1.LabelComponent] == kopiurv1.ComponentServer && l[kopiurv1.LabelOwnerUID] == string(o.Repo.UID)
}
