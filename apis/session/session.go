// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package session is how somebody who wants to look into a backup and the controller speak with each other: through one
// ConfigMap per repository in the namespace from which it is looked at. Its data are the question and never change; its
// annotations are the controller's answer; it owns the Job and pod that keep the repository open, so that deleting it ends
// the session.
package session

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
)

// How long sessions last.
const (
	// DefaultTTL and MinTTL are without a question.
	DefaultTTL = time.Duration(work.DefaultSessionSeconds) * time.Second
	MinTTL     = 10 * time.Second
	// MaxAge ends every session: a working day. It bounds the time without a question as well.
	MaxAge = 8 * time.Hour
	// Kept is how long one that was refused or has failed can be read about.
	Kept = 10 * time.Minute
)

// Keys of the ConfigMap.
const (
	keyKind      = "repositoryKind"
	keyNamespace = "repositoryNamespace"
	keyName      = "repositoryName"
	keyTTL       = "ttl"
)

// maxNamePart is how much of the repository's name the ConfigMap's shows: the names of Jobs and pods derive from it.
const maxNamePart = 24

// ErrInvalid says that a ConfigMap is no question.
var ErrInvalid = errors.New("the session's ConfigMap cannot be understood")

// Request is what is asked for.
type Request struct {
	// Repository has kind and namespace filled in.
	Repository kopiurv1.RepositoryRef
	// TTL is how long the session lasts without a question.
	TTL time.Duration
}

// Name of the ConfigMap: one for each repository, so that whoever asks second finds the session of the first.
func Name(ref kopiurv1.RepositoryRef) string {
	sum := sha256.Sum256([]byte(string(ref.KindOrDefault()) + "/" + ref.Namespace + "/" + ref.Name))
	part := strings.ReplaceAll(ref.Name, ".", "-")
	if len(part) > maxNamePart {
		part = strings.TrimRight(part[:maxNamePart], "-")
	}
	return "browse-" + part + "-" + hex.EncodeToString(sum[:4])
}

// Labels are on the ConfigMap, and on all that is made for it.
func Labels(ref kopiurv1.RepositoryRef) map[string]string {
	return map[string]string{
		kopiurv1.LabelManagedBy:         kopiurv1.ManagedByValue,
		kopiurv1.LabelComponent:         kopiurv1.ComponentMover,
		kopiurv1.LabelSession:           kopiurv1.SessionBrowse,
		kopiurv1.LabelSessionRepository: kopiurv1.LabelValue(string(ref.KindOrDefault()) + "-" + ref.Name),
	}
}

// ConfigMap puts a question.
func (r Request) ConfigMap(namespace string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: Name(r.Repository), Labels: Labels(r.Repository)},
		Immutable:  new(true),
		Data: map[string]string{
			keyKind: string(r.Repository.KindOrDefault()), keyNamespace: r.Repository.Namespace, keyName: r.Repository.Name, keyTTL: r.TTL.String(),
		},
	}
}

// Check reports whether a session may last so long without a question.
func Check(ttl time.Duration) error {
	if ttl < MinTTL || ttl > MaxAge {
		return fmt.Errorf("%s is no time for a session: write one from %s to %s", ttl, MinTTL, MaxAge)
	}
	return nil
}

// Parse reads the question of a ConfigMap. Its name has to be the one that derives from the repository: two ConfigMaps about
// one repository would be two sessions.
func Parse(cm *corev1.ConfigMap) (Request, error) {
	kind := kopiurv1.RepositoryKind(cm.Data[keyKind])
	ref := kopiurv1.RepositoryRef{Kind: kind, Namespace: cm.Data[keyNamespace], Name: cm.Data[keyName]}
	switch {
	case kind != kopiurv1.KindRepository && kind != kopiurv1.KindClusterRepository:
		return Request{}, fmt.Errorf("%w: %s is %q: write Repository or ClusterRepository", ErrInvalid, keyKind, kind)
	case ref.Name == "":
		return Request{}, fmt.Errorf("%w: %s is empty", ErrInvalid, keyName)
	case kind == kopiurv1.KindClusterRepository && ref.Namespace != "":
		return Request{}, fmt.Errorf("%w: %s is set, and a ClusterRepository is in no namespace", ErrInvalid, keyNamespace)
	case kind == kopiurv1.KindRepository && ref.Namespace == "":
		return Request{}, fmt.Errorf("%w: %s is empty", ErrInvalid, keyNamespace)
	case cm.Name != Name(ref):
		return Request{}, fmt.Errorf("%w: one about %s is named %s", ErrInvalid, ref, Name(ref))
	}
	ttl, err := time.ParseDuration(cm.Data[keyTTL])
	if err == nil {
		err = Check(ttl)
	}
	if err != nil {
		return Request{}, fmt.Errorf("%w: %s: %w", ErrInvalid, keyTTL, err)
	}
	return Request{Repository: ref, TTL: ttl}, nil
}
