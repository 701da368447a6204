// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package moverjob

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
)

const (
	// ServerOperation is the operation of the web UI.
	ServerOperation = "ui"
	// DefaultServerPort of its Service, and the port of its pod in any case.
	DefaultServerPort int32 = 51515
	// DefaultServerUser goes with a generated password.
	DefaultServerUser = "kopia"
	// ServerUsernameKey is where a generated Secret has the name to log in with.
	ServerUsernameKey = "username"
	// ServerPasswordKey is where a generated Secret has the password.
	ServerPasswordKey = "password"

	serverPortName = "http"
	serverAuth     = "ui-auth"
	// serverGrace lets those who are downloading end.
	serverGrace int64 = 15
)

// ServerRequest is all that a web UI is made from.
type ServerRequest struct {
	// Request has the repository, its owner, the namespace and the images; its operation is the web UI's own.
	Request
	// Credentials is the version of what it mounts: with another one it starts anew.
	Credentials string
	// Stopped: there is to be no pod.
	Stopped bool
}

var serviceName = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)

// ServerName is the name of Deployment and Service, and how the Secrets' begin: the repository's and -kopia-ui. A name that
// a Service cannot have is made one, and told from others by a digest.
func ServerName(repository string) string {
	const suffix, most = "-kopia-ui", 63 - len("-repo-creds")
	if name := repository + suffix; len(name) <= most && serviceName.MatchString(name) {
		return name
	}
	sum := sha256.Sum256([]byte(repository))
	tail := "-" + hex.EncodeToString(sum[:4]) + suffix
	name := "r-" + strings.ReplaceAll(repository, ".", "-")
	return strings.TrimRight(name[:min(len(name), most-len(tail))], "-") + tail
}

// ServerAuthSecret is the name of the generated Secret.
func ServerAuthSecret(repository string) string { return ServerName(repository) + "-auth" }

// ServerCredentials is the name of the copy of the repository's Secrets.
func ServerCredentials(repository string) string { return ServerName(repository) + "-repo-creds" }

// ServerNamespace is where the web UI of a repository runs.
func ServerNamespace(r Repository) string {
	if s := r.Spec.Server; s != nil && s.Namespace != "" {
		return s.Namespace
	}
	return r.HomeNamespace
}

// ServerReadOnly reports whether the web UI may only read.
func ServerReadOnly(s kopiurv1.RepositorySpec) bool {
	return s.Mode == kopiurv1.ModeReadOnly || s.Server != nil && s.Server.ReadOnly != nil && *s.Server.ReadOnly
}

// ServerAuthMode is how people log in.
func ServerAuthMode(s *kopiurv1.ServerSpec) kopiurv1.ServerAuthMode {
	switch a := s.Auth; {
	case a != nil && a.SecretRef != nil:
		return kopiurv1.ServerAuthSecretRef
	case a != nil && a.Insecure != nil:
		return kopiurv1.ServerAuthInsecure
	default:
		return kopiurv1.ServerAuthGenerate
	}
}

// ServerUser is the user of a generated Secret.
func ServerUser(s *kopiurv1.ServerSpec) string {
	if a := s.Auth; a != nil && a.Generate != nil && a.Generate.Username != "" {
		return a.Generate.Username
	}
	return DefaultServerUser
}

// ServerLabels are on everything of one web UI; a cluster-wide repository is told from one of the namespace by its UID.
func ServerLabels(r Repository) map[string]string {
	out := map[string]string{
		kopiurv1.LabelManagedBy: kopiurv1.ManagedByValue, kopiurv1.LabelComponent: kopiurv1.ComponentServer,
		kopiurv1.LabelAppName: kopiurv1.ServerAppName, kopiurv1.LabelAppInstance: kopiurv1.LabelValue(r.Ref.Name),
		kopiurv1.LabelOwnerUID: string(r.UID),
	}
	if r.Ref.KindOrDefault() == kopiurv1.KindClusterRepository {
		out[kopiurv1.LabelClusterRepository] = kopiurv1.LabelValue(r.Ref.Name)
		out[kopiurv1.LabelClusterRepositoryUID] = string(r.UID)
	}
	return out
}

// ServerOwners is the owner of a Repository's web UI. That of a ClusterRepository is in another namespace, by the rules of
// which a finalizer takes it away.
func ServerOwners(r Repository) []metav1.OwnerReference {
	if r.Ref.KindOrDefault() == kopiurv1.KindClusterRepository {
		return nil
	}
	return []metav1.OwnerReference{{
		APIVersion: kopiurv1.GroupVersion.String(), Kind: string(kopiurv1.KindRepository), Name: r.Ref.Name, UID: r.UID, Controller: new(true),
	}}
}

func (r ServerRequest) ui() work.UI {
	s := r.Repository.Spec.Server
	out := work.UI{ReadOnly: ServerReadOnly(r.Repository.Spec), Title: r.Repository.Ref.Name}
	switch ServerAuthMode(s) {
	case kopiurv1.ServerAuthInsecure:
		out.AcknowledgeInsecure = s.Auth.Insecure.AcknowledgeInsecure
	case kopiurv1.ServerAuthSecretRef:
		out.UsernameKey, out.PasswordKey = s.Auth.SecretRef.UsernameKey, s.Auth.SecretRef.PasswordKey
	default:
		out.UsernameKey, out.PasswordKey = ServerUsernameKey, ServerPasswordKey
	}
	return out
}

// BuildServer makes the Deployment of a web UI. Its pod is a mover's, with what a mover mounts and how it is secured, under
// another program that does not end.
func BuildServer(r ServerRequest) (*appsv1.Deployment, error) {
	s, repo := r.Repository.Spec.Server, r.Repository
	if repo.Spec.Backend.Rclone != nil {
		return nil, errors.New("the image of the web UI has no rclone in it, and the backend rclone needs it: take spec.server away")
	}
	ui := r.ui()
	r.Operation = work.Operation{UI: &ui}
	r.Layers = []*kopiurv1.MoverSpec{{Resources: s.Resources, SecurityContext: s.SecurityContext, PodSecurityContext: s.PodSecurityContext}}
	job, err := Build(r.Request)
	if err != nil {
		return nil, fmt.Errorf("build web UI: %w", err)
	}
	template := job.Spec.Template
	labels := ServerLabels(repo)
	template.Labels = maps.Clone(template.Labels)
	maps.Copy(template.Labels, labels)
	template.Annotations = maps.Clone(template.Annotations)
	if template.Annotations == nil {
		template.Annotations = map[string]string{}
	}
	template.Annotations[kopiurv1.AnnotationServerCredentials] = Digest(r.Credentials)
	r.serve(&template.Spec)

	selector := map[string]string{}
	for _, l := range []string{kopiurv1.LabelAppName, kopiurv1.LabelAppInstance, kopiurv1.LabelOwnerUID} {
		selector[l] = labels[l]
	}
	replicas := int32(1)
	if r.Stopped {
		replicas = 0
	}
	out := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{
			Name: ServerName(repo.Ref.Name), Namespace: r.Namespace, Labels: labels, OwnerReferences: ServerOwners(repo),
		},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(replicas), RevisionHistoryLimit: new(int32(1)),
			// Two servers of one repository would lead people to caches of different age.
			Strategy: appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType},
			Selector: &metav1.LabelSelector{MatchLabels: selector},
			Template: template,
		},
	}
	return out, stamp(&out.ObjectMeta, out.Spec)
}

// serve makes a mover's pod one of the web UI.
func (r ServerRequest) serve(pod *corev1.PodSpec) {
	pod.RestartPolicy = corev1.RestartPolicyAlways
	pod.TerminationGracePeriodSeconds = new(serverGrace)
	c := &pod.Containers[0]
	c.Name, c.Args = ServerOperation, nil
	c.Ports = []corev1.ContainerPort{{Name: serverPortName, ContainerPort: DefaultServerPort, Protocol: corev1.ProtocolTCP}}
	probe := corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/healthz", Port: intstr.FromString(serverPortName)}}
	c.ReadinessProbe = &corev1.Probe{ProbeHandler: probe, PeriodSeconds: 5, TimeoutSeconds: 5}
	// The program ends by itself if kopia's server does. What this finds is one that hangs.
	c.LivenessProbe = &corev1.Probe{ProbeHandler: probe, InitialDelaySeconds: 60, PeriodSeconds: 30, TimeoutSeconds: 10, FailureThreshold: 10}
	// Opening a repository may take minutes.
	c.StartupProbe = &corev1.Probe{ProbeHandler: probe, PeriodSeconds: 5, TimeoutSeconds: 5, FailureThreshold: 150}
	var secret string
	switch ServerAuthMode(r.Repository.Spec.Server) {
	case kopiurv1.ServerAuthInsecure:
		return
	case kopiurv1.ServerAuthSecretRef:
		secret = r.Repository.Spec.Server.Auth.SecretRef.Name
	default:
		secret = ServerAuthSecret(r.Repository.Ref.Name)
	}
	pod.Volumes = append(pod.Volumes, corev1.Volume{Name: serverAuth, VolumeSource: corev1.VolumeSource{
		Secret: &corev1.SecretVolumeSource{SecretName: secret, Optional: new(true), DefaultMode: new(int32(0o440))},
	}})
	c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: serverAuth, MountPath: work.UIAuthDir, ReadOnly: true})
}

// BuildService makes the Service that leads to it.
func BuildService(r Repository) (*corev1.Service, error) {
	v := r.Spec.Server.Service
	if v == nil {
		v = &kopiurv1.ServerService{}
	}
	kind, port := v.Type, ServerPort(r.Spec.Server)
	if kind == "" {
		kind = corev1.ServiceTypeClusterIP
	}
	labels := ServerLabels(r)
	selector := map[string]string{}
	for _, l := range []string{kopiurv1.LabelAppName, kopiurv1.LabelAppInstance, kopiurv1.LabelOwnerUID} {
		selector[l] = labels[l]
	}
	out := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Name: ServerName(r.Ref.Name), Namespace: ServerNamespace(r), Labels: labels, Annotations: maps.Clone(v.Annotations),
			OwnerReferences: ServerOwners(r),
		},
		Spec: corev1.ServiceSpec{
			Type: kind, Selector: selector,
			Ports: []corev1.ServicePort{{Name: serverPortName, Port: port, TargetPort: intstr.FromString(serverPortName), Protocol: corev1.ProtocolTCP}},
		},
	}
	err := stamp(&out.ObjectMeta, []any{out.Spec, v.Annotations})
	if keys := slices.Sorted(maps.Keys(v.Annotations)); len(keys) > 0 {
		out.Annotations[kopiurv1.AnnotationServerAnnotations] = strings.Join(keys, ",")
	}
	return out, err
}

// ServerPort of the Service.
func ServerPort(s *kopiurv1.ServerSpec) int32 {
	if s.Service != nil && s.Service.Port != nil {
		return *s.Service.Port
	}
	return DefaultServerPort
}

// stamp notes what an object is made from, by which a later look sees whether it has to be changed: the API server fills in
// defaults, and nobody else's additions are ours to take away.
func stamp(m *metav1.ObjectMeta, from any) error {
	b, err := json.Marshal(from)
	if err != nil {
		return fmt.Errorf("build web UI: %w", err)
	}
	if m.Annotations == nil {
		m.Annotations = map[string]string{}
	}
	m.Annotations[kopiurv1.AnnotationServerSpec] = Digest(string(b))
	return nil
}

// Digest of a text, short enough for a label.
func Digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}
