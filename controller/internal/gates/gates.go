// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package gates

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

// Verdict is one gate's answer. A closed gate names its reason and what opens it.
type Verdict struct {
	Open            bool
	Reason, Message string
}

func open(reason, format string, args ...any) Verdict {
	return Verdict{Open: true, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

func closed(reason, format string, args ...any) Verdict {
	return Verdict{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// Repository reports whether a mover may use a repository now. name is how to call it; nil means that it does not
// exist. allowed is the verdict of AllowedNamespaces.Allows for the mover's namespace. Mode is not its business: a read-only
// repository restores.
func Repository(name string, r *moverjob.Repository, allowed bool) Verdict {
	switch {
	case r == nil:
		return closed(kopiurv1.ReasonMissingDependency, "%s does not exist", name)
	case !allowed:
		return closed(kopiurv1.ReasonNamespaceNotAllowed,
			"%s does not allow this namespace: its owner adds the namespace to spec.allowedNamespaces", r.Ref)
	case r.Spec.Suspend:
		return closed(kopiurv1.ReasonRepositoryNotReady, "%s is suspended", r.Ref)
	case r.Status.Phase != kopiurv1.RepositoryReady:
		phase := r.Status.Phase
		if phase == "" {
			phase = kopiurv1.RepositoryPending
		}
		return closed(kopiurv1.ReasonRepositoryNotReady, "%s is %s; its own conditions say why", r.Ref, phase)
	default:
		return open(kopiurv1.ReasonSucceeded, "%s is Ready", r.Ref)
	}
}

// Writable reports whether snapshots may be stored in a repository, whatever its state.
func Writable(r moverjob.Repository) Verdict {
	if r.Spec.Mode == kopiurv1.ModeReadOnly {
		return closed(kopiurv1.ReasonRepositoryReadOnly,
			"%s has mode ReadOnly and takes no snapshots: use another repository, or set its mode to ReadWrite", r.Ref)
	}
	return open(kopiurv1.ReasonSucceeded, "%s may be written", r.Ref)
}

// Maintenance reports whether a repository may be maintained now. It is the one use, with copying, that slowness does not
// hold back: a repository whose connects take too long needs nothing more than maintenance, and gets slower without it.
func Maintenance(name string, r *moverjob.Repository) Verdict {
	if r != nil {
		if w := Writable(*r); !w.Open {
			return w
		}
	}
	return Readable(name, r)
}

// Readable is Maintenance for what only reads: slow is not down, and a copy of a slow repository is worth having.
func Readable(name string, r *moverjob.Repository) Verdict {
	v := Repository(name, r, true)
	if r == nil || v.Open || r.Spec.Suspend || r.Status.Phase != kopiurv1.RepositoryDegraded || r.Status.UniqueID == "" {
		return v
	}
	for _, c := range r.Status.Conditions {
		if c.Type == kopiurv1.ConditionReady && (c.Reason == kopiurv1.ReasonBootstrapDeadlineExceeded || c.Reason == kopiurv1.ReasonProbeDeadlineExceeded) {
			return open(kopiurv1.ReasonSucceeded, "%s is slow, and not out of reach", r.Ref)
		}
	}
	return v
}

// Credentials is what a mover's mounts amount to.
type Credentials struct {
	Verdict
	// Version is opaque and compared by equality: the versions of all Secrets and CA bundles. It is empty while one of
	// them is missing.
	Version string
}

// +kubebuilder:rbac:groups="",resources=secrets;configmaps;serviceaccounts,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=persistentvolumeclaims,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch

// CheckCredentials looks for everything a mover of this repository mounts in the namespace where it runs, through the
// metadata-only caches. A missing thing closes the gate and is named; an error means that nothing is known.
func CheckCredentials(ctx context.Context, c client.Reader, r moverjob.Repository, namespace string) (Credentials, error) {
	needs := r.Needs()
	var missing, versions []string
	look := func(kind, name string) error {
		m := &metav1.PartialObjectMetadata{}
		m.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kind))
		err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, m)
		switch {
		case apierrors.IsNotFound(err):
			missing = append(missing, kind+" "+namespace+"/"+name)
			return nil
		case err != nil:
			return fmt.Errorf("get %s %s/%s: %w", kind, namespace, name, err)
		}
		versions = append(versions, m.ResourceVersion)
		return nil
	}
	for _, s := range needs.Secrets {
		if err := look("Secret", s); err != nil {
			return Credentials{}, err
		}
	}
	for _, s := range needs.ConfigMaps {
		if err := look("ConfigMap", s); err != nil {
			return Credentials{}, err
		}
	}
	if len(missing) > 0 {
		return Credentials{Verdict: closed(kopiurv1.ReasonMissingCredentialsSecret, "%s %s, and movers of %s mount it in this namespace",
			strings.Join(missing, " and "), doNotExist(len(missing)), r.Ref)}, nil
	}
	version := strings.Join(versions, ",")
	if sa := needs.ServiceAccount; sa != "" {
		if err := look("ServiceAccount", sa); err != nil {
			return Credentials{}, err
		}
		if len(missing) > 0 {
			return Credentials{Verdict: closed(kopiurv1.ReasonMissingServiceAccount,
				"ServiceAccount %s/%s does not exist, and the workload identity of %s names it", namespace, sa, r.Ref)}, nil
		}
	}
	return Credentials{Verdict: open(kopiurv1.ReasonCredentialsFound, "all Secrets exist"), Version: version}, nil
}

func doNotExist(n int) string {
	if n == 1 {
		return "does not exist"
	}
	return "do not exist"
}

// CheckVolume looks for the claim of a filesystem repository where the mover runs: people bind one claim per namespace
// to the same share. A repository without a claim passes.
func CheckVolume(ctx context.Context, c client.Reader, r moverjob.Repository, namespace string) (Verdict, error) {
	name := r.Needs().Claim
	if name == "" {
		return open(kopiurv1.ReasonSucceeded, "%s needs no claim", r.Ref), nil
	}
	var pvc corev1.PersistentVolumeClaim
	err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &pvc)
	switch {
	case apierrors.IsNotFound(err):
		return closed(kopiurv1.ReasonRepositoryVolumeNotReachable,
			"%s lies on claim %s, and namespace %s has none of that name: create one there that is bound to the same share",
			r.Ref, name, namespace), nil
	case err != nil:
		return Verdict{}, fmt.Errorf("get claim %s/%s: %w", namespace, name, err)
	}
	return open(kopiurv1.ReasonSucceeded, "claim %s exists", name), nil
}

// Privileges reports whether a pod may run in a Namespace with these annotations, read live: a cache may be old, and
// consent that was taken back is no consent.
func Privileges(pod corev1.PodSpec, namespace string, annotations map[string]string) Verdict {
	return Consent(moverjob.Privileges(pod), namespace, annotations)
}

// Consent is Privileges for what is known already.
func Consent(asked []string, namespace string, annotations map[string]string) Verdict {
	switch {
	case len(asked) == 0:
		return open(kopiurv1.ReasonPermitted, "the mover asks for no privileges")
	case moverjob.Permitted(annotations):
		return open(kopiurv1.ReasonPermitted, "namespace %s allows privileged movers", namespace)
	default:
		return closed(kopiurv1.ReasonPrivilegedMoverNotPermitted,
			"the mover asks for %s, and namespace %s does not allow that: annotate it with %s=true, or drop the privilege",
			strings.Join(asked, ", "), namespace, kopiurv1.AnnotationPrivilegedMovers)
	}
}

// Commands reports whether helpers of streams may run commands in the pods of a Namespace with these annotations, read
// live. A Namespace that could not be read has none: this gate fails closed.
func Commands(namespace string, annotations map[string]string) Verdict {
	if annotations[kopiurv1.AnnotationStreamExecMovers] != "true" {
		return closed(kopiurv1.ReasonStreamExecNotPermitted,
			"the mover is to run a command in a pod of namespace %s, which does not allow that: annotate it with %s=true", namespace, kopiurv1.AnnotationStreamExecMovers)
	}
	return open(kopiurv1.ReasonPermitted, "namespace %s allows commands in its pods", namespace)
}

// Workload looks for the one running pod in which a stream's command is to run. Of several, nobody can say which one has
// the data. Movers are none of them.
func Workload(e kopiurv1.WorkloadExec, pods []corev1.Pod) Verdict {
	selector, err := metav1.LabelSelectorAsSelector(&e.PodSelector)
	if err != nil || selector.Empty() {
		return closed(kopiurv1.ReasonInvalidSpec, "workloadExec.podSelector selects nothing")
	}
	var running []string
	for i := range pods {
		p := &pods[i]
		if p.Status.Phase != corev1.PodRunning || p.DeletionTimestamp != nil || !selector.Matches(labels.Set(p.Labels)) {
			continue
		}
		running = append(running, p.Name)
		if e.Container != "" && !slices.ContainsFunc(p.Spec.Containers, func(c corev1.Container) bool { return c.Name == e.Container }) {
			return closed(kopiurv1.ReasonWorkloadNotFound, "pod %s, in which the command is to run, has no container %s", p.Name, e.Container)
		}
	}
	switch len(running) {
	case 1:
		return open(kopiurv1.ReasonSucceeded, "the command runs in pod %s", running[0])
	case 0:
		return closed(kopiurv1.ReasonWorkloadNotFound, "no running pod matches %s, in which the command is to run: start it", selector)
	default:
		slices.Sort(running)
		return closed(kopiurv1.ReasonWorkloadNotFound, "%d running pods match %s (%s), and the command is to run in one: select it by labels that the others have not",
			len(running), selector, strings.Join(running[:min(3, len(running))], ", "))
	}
}

// Namespace reads a Namespace live: labels for allowedNamespaces, annotations for the privilege gate.
func Namespace(ctx context.Context, live client.Reader, name string) (*metav1.PartialObjectMetadata, error) {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if err := live.Get(ctx, client.ObjectKey{Name: name}, m); err != nil {
		return nil, fmt.Errorf("get namespace %s: %w", name, err)
	}
	return m, nil
}
