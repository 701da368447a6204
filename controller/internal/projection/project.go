// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package projection copies the credentials of a ClusterRepository into the namespaces whose movers need them, where both
// its owner and the consumer ask for that, and takes the copies away again. There is one per repository and namespace,
// whatever the number of runs (acceptance E-1).
//
// It is the one package that reads the bodies of Secrets.
package projection

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/gates"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch;create;patch;delete

// Wanted reports whether the credentials of a repository have to be copied for its movers to run in a namespace. Those of
// a Repository never are: nobody but its own namespace has been asked.
func Wanted(r moverjob.Repository, namespace string, consumer *kopiurv1.CredentialProjection) bool {
	return consumer != nil && consumer.Enabled && r.Ref.KindOrDefault() == kopiurv1.KindClusterRepository && r.HomeNamespace != namespace
}

// Refusal says which of the others that have to agree does not; the zero value is none.
func Refusal(r moverjob.Repository, installed bool) string {
	switch {
	case !r.ProjectionAllowed:
		return fmt.Sprintf("%s does not allow its credentials to be copied: its owner sets spec.credentialProjection.allowed", r.Ref)
	case !installed:
		return "this installation copies no credentials: set features.credentialProjection.enabled of the chart"
	default:
		return ""
	}
}

// Check looks for what the movers of a repository mount in a namespace: there, or at the repository's home where all sides
// agree that it is copied from there, which is noted in r. Where one of them does not, Secrets made by hand will do. It
// reads names only.
func Check(ctx context.Context, c client.Reader, r *moverjob.Repository, namespace string, consumer *kopiurv1.CredentialProjection, installed bool) (gates.Credentials, error) {
	wanted, refusal := Wanted(*r, namespace, consumer), Refusal(*r, installed)
	at := namespace
	if wanted && refusal == "" {
		at, r.Projected = r.HomeNamespace, Name(*r)
	}
	creds, err := gates.CheckCredentials(ctx, c, *r, at)
	if err != nil {
		return gates.Credentials{}, err //nolint:wrapcheck // says what and where
	}
	switch {
	case wanted && refusal != "" && !creds.Open:
		creds.Verdict = gates.Verdict{Reason: kopiurv1.ReasonBlockedOnGrant, Message: refusal + "; or create them here: " + creds.Message}
	case wanted && refusal == "" && creds.Open:
		creds.Reason, creds.Message = kopiurv1.ReasonProjected, "the credentials of "+r.Ref.String()+" are copied for each run"
	}
	return creds, nil
}

// CheckAllowed is Check for those that the allowedNamespaces of a ClusterRepository do not gate, such as replications and
// seeds: into a namespace that may not use the repository nothing is copied. Who has its Secrets there by other ways does
// not need the owner's leave.
func CheckAllowed(ctx context.Context, c, live client.Reader, r *moverjob.Repository, namespace string, consumer *kopiurv1.CredentialProjection, installed bool) (gates.Credentials, error) {
	creds, err := Check(ctx, c, r, namespace, consumer, installed)
	if err != nil || r.Projected == "" || r.Allowed == nil {
		return creds, err
	}
	var labels map[string]string
	if r.Allowed.Selector != nil {
		ns, err := gates.Namespace(ctx, live, namespace)
		if err != nil {
			return gates.Credentials{}, err //nolint:wrapcheck // says what and where
		}
		labels = ns.Labels
	}
	if r.Allowed.Allows(namespace, labels) {
		return creds, nil
	}
	r.Projected = ""
	if creds, err = gates.CheckCredentials(ctx, c, *r, namespace); err == nil && !creds.Open {
		creds.Verdict = gates.Verdict{Reason: kopiurv1.ReasonBlockedOnGrant, Message: fmt.Sprintf(
			"%s does not allow namespace %s, and its credentials are not copied there: its owner adds it to spec.allowedNamespaces; or create them here: %s", r.Ref, namespace, creds.Message)}
	}
	return creds, err //nolint:wrapcheck // says what and where
}

// Before makes the copy before a Job that mounts it. A repository that Check has noted nothing in needs none.
func Before(ctx context.Context, live client.Reader, c client.Client, r *moverjob.Repository, namespace string, now time.Time) (gates.Verdict, error) {
	if r == nil || r.Projected == "" {
		return gates.Verdict{Open: true}, nil
	}
	return Ensure(ctx, live, c, *r, namespace, now)
}

// Name of the copy.
func Name(r moverjob.Repository) string {
	return "kopiur-creds-" + moverjob.Name("c", r.Ref.Name, r.UID, "credentials", "")[2:]
}

// Ensure makes the copy, or brings it up to date. A closed verdict says what stands in its way; a Secret of that name that
// is not ours is never written to.
func Ensure(ctx context.Context, live client.Reader, c client.Client, r moverjob.Repository, namespace string, now time.Time) (gates.Verdict, error) {
	data, from, v, err := collect(ctx, live, r)
	if err != nil || !v.Open {
		return v, err
	}
	want := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name: Name(r), Namespace: namespace,
			Labels: map[string]string{
				kopiurv1.LabelManagedBy: kopiurv1.ManagedByValue, kopiurv1.LabelComponent: kopiurv1.ComponentCredentials,
				kopiurv1.LabelCredentialsScope: kopiurv1.CredentialsScopeClusterRepository, kopiurv1.LabelRepositoryUID: string(r.UID),
			},
			Annotations: map[string]string{kopiurv1.AnnotationProjectedFrom: from, kopiurv1.AnnotationProjectedAt: now.UTC().Format(time.RFC3339)},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: kopiurv1.GroupVersion.String(), Kind: string(kopiurv1.KindClusterRepository), Name: r.Ref.Name, UID: r.UID,
			}},
		},
		Data: data,
	}
	var have corev1.Secret
	err = live.Get(ctx, client.ObjectKeyFromObject(want), &have)
	switch {
	case apierrors.IsNotFound(err):
		if err := c.Create(ctx, want); err != nil {
			return gates.Verdict{}, fmt.Errorf("copy the credentials of %s: %w", r.Ref, err)
		}
	case err != nil:
		return gates.Verdict{}, fmt.Errorf("copy the credentials of %s: %w", r.Ref, err)
	case have.Labels[kopiurv1.LabelManagedBy] != kopiurv1.ManagedByValue || have.Labels[kopiurv1.LabelRepositoryUID] != string(r.UID):
		return gates.Verdict{Reason: kopiurv1.ReasonMissingCredentialsSecret, Message: fmt.Sprintf(
			"Secret %s/%s belongs to somebody else and is not written to: delete or rename it, the credentials of %s are copied to that name", namespace, want.Name, r.Ref)}, nil
	default:
		if err := refresh(ctx, c, &have, want); err != nil {
			return gates.Verdict{}, fmt.Errorf("copy the credentials of %s: %w", r.Ref, err)
		}
	}
	return gates.Verdict{Open: true, Reason: kopiurv1.ReasonProjected, Message: "the credentials of " + r.Ref.String() + " are copied"}, nil
}

// refresh writes what changed. The time alone is written as well: the sweep goes by it.
func refresh(ctx context.Context, c client.Client, have, want *corev1.Secret) error {
	base := have.DeepCopy()
	if have.Annotations == nil {
		have.Annotations = map[string]string{}
	}
	maps.Copy(have.Annotations, want.Annotations)
	have.Data = want.Data
	return c.Patch(ctx, have, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})) //nolint:wrapcheck // by the caller
}

// Collect reads all that the movers of a repository mount, for one Secret that holds a copy of it.
func Collect(ctx context.Context, live client.Reader, r moverjob.Repository) (map[string][]byte, gates.Verdict, error) {
	data, _, v, err := collect(ctx, live, r)
	return data, v, err
}

// collect reads the Secrets and the CA bundle at the repository's home. Of the password's Secret only the password is
// taken: what else lies there is nobody else's business.
func collect(ctx context.Context, live client.Reader, r moverjob.Repository) (data map[string][]byte, from string, v gates.Verdict, err error) {
	data = map[string][]byte{}
	home, spec := r.HomeNamespace, r.Spec
	var sources []string
	missing := func(kind, name string) gates.Verdict {
		return gates.Verdict{Reason: kopiurv1.ReasonMissingCredentialsSecret, Message: fmt.Sprintf("%s %s/%s does not exist, and the credentials of %s are copied from it", kind, home, name, r.Ref)}
	}
	take := func(what, key string, value []byte) string {
		if old, twice := data[key]; twice && !bytes.Equal(old, value) {
			return fmt.Sprintf("key %s of %s is in another of the repository's Secrets with another value, so that one copy cannot hold both: rename one of them", key, what)
		}
		data[key] = value
		return ""
	}
	password := spec.Encryption.PasswordSecretRef
	names := []string{password.Name}
	if s := spec.Backend.SecretName(); s != "" && s != password.Name {
		names = append(names, s)
	}
	for _, name := range names {
		var s corev1.Secret
		if err := live.Get(ctx, client.ObjectKey{Namespace: home, Name: name}, &s); apierrors.IsNotFound(err) {
			return nil, "", missing("Secret", name), nil
		} else if err != nil {
			return nil, "", gates.Verdict{}, fmt.Errorf("read the credentials of %s: %w", r.Ref, err)
		}
		sources = append(sources, "Secret "+home+"/"+name+"@"+s.ResourceVersion)
		for k, value := range s.Data {
			if name == password.Name && name != spec.Backend.SecretName() && k != password.KeyOrDefault(work.DefaultPasswordKey) {
				continue
			}
			if clash := take("Secret "+home+"/"+name, k, value); clash != "" {
				return nil, "", gates.Verdict{Reason: kopiurv1.ReasonMissingCredentialsSecret, Message: clash}, nil
			}
		}
	}
	if ca := spec.Backend.CAConfigMap(); ca != nil {
		var cm corev1.ConfigMap
		if err := live.Get(ctx, client.ObjectKey{Namespace: home, Name: ca.ConfigMapName}, &cm); apierrors.IsNotFound(err) {
			return nil, "", missing("ConfigMap", ca.ConfigMapName), nil
		} else if err != nil {
			return nil, "", gates.Verdict{}, fmt.Errorf("read the credentials of %s: %w", r.Ref, err)
		}
		key := ca.Key
		if key == "" {
			key = work.DefaultCAKey
		}
		sources = append(sources, "ConfigMap "+home+"/"+ca.ConfigMapName+"@"+cm.ResourceVersion)
		if clash := take("ConfigMap "+home+"/"+ca.ConfigMapName, key, []byte(cm.Data[key])); clash != "" {
			return nil, "", gates.Verdict{Reason: kopiurv1.ReasonMissingCredentialsSecret, Message: clash}, nil
		}
	}
	return data, strings.Join(sources, ","), gates.Verdict{Open: true}, nil
}
