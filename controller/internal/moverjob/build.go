// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package moverjob

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
)

const (
	// Container is the name of the mover's container.
	Container = "mover"

	defaultBackoffLimit int32 = 2
	// terminationGrace is what a mover gets between SIGTERM and SIGKILL to save and flush what it has.
	terminationGrace = int64(work.TerminationGrace / time.Second)
	// DefaultTTL is how long a finished Job stays once its result is recorded.
	DefaultTTL int32 = 3600
	// DefaultStartupDeadline is how long a pod may take to run.
	DefaultStartupDeadline = 5 * time.Minute
)

// Mount is a claim in the mover's namespace, or an NFS export, and where the mover sees it.
type Mount struct {
	Claim    string
	NFS      *kopiurv1.NFSVolume
	Path     string
	ReadOnly bool
	// Block: the claim is a device without a file system, and Path is where the device is.
	Block bool
	// PublishReadWrite attaches the volume so that it could be written to, and mounts it read-only all the same. The pod has
	// no fsGroup then, which the kubelet would apply to the application's files.
	PublishReadWrite bool
}

// Scratch is a volume for what is looked at and thrown away: a claim of the pod's own where it has a size, which goes with
// the pod; else a folder of the node.
type Scratch struct {
	Size *resource.Quantity
	// StorageClass of the claim; the cluster's default where it is empty.
	StorageClass string
}

// Request is all that a mover Job is made from.
type Request struct {
	// Owner gets the owner reference; GVK is its kind.
	Owner metav1.Object
	GVK   schema.GroupVersionKind
	// For is the object that the work is done for, where that is not the owner, which has to be in the Job's namespace: it
	// gives the name, the request's id and the label by which the Job is found.
	For metav1.Object
	// Letter starts the Job's name: r for repositories, s for snapshots, q for resolutions, v for restores.
	Letter string
	// Attempt tells one Job of the owner's operation from the next.
	Attempt    string
	Namespace  string
	Image      Images
	PullPolicy corev1.PullPolicy
	Repository Repository
	Operation  work.Operation
	// Peer is the other one of two repositories, or nil. The Job mounts both, and Operation is told about the peer.
	Peer *Peer
	// Inherited is what the mover takes over from the application's pod; it lies between the repository's moverDefaults and
	// Layers. Nil inherits nothing.
	Inherited *Layer
	// Layers are the mover settings above the repository's moverDefaults, weakest first. Nil layers are passed over.
	Layers        []*kopiurv1.MoverSpec
	FailurePolicy *kopiurv1.FailurePolicy
	// DefaultDeadlineSeconds applies where the failure policy names none; zero means two days.
	DefaultDeadlineSeconds int64
	Source                 *Mount
	Target                 *Mount
	// Scratch is a volume that lives as long as the pod, for what is restored only to be looked at.
	Scratch *Scratch
	// CacheClaim is the claim of a cache that outlives the mover; where it is empty the cache goes with the pod.
	CacheClaim string
	// Stream is the command of a stream, run by a helper beside the mover.
	Stream *kopiurv1.WorkloadExec
	// As names the operation in the Job's name; empty takes the operation's own.
	As string
	// Labels are added to Job and pod.
	Labels map[string]string
}

// Build makes the Job. It fails on what the mover could never run with, and names the field; such an error does not
// pass by itself.
func Build(r Request) (*batchv1.Job, error) {
	op := r.Operation.Name()
	if op == "" {
		return nil, errors.New("build mover job: exactly one operation must be set")
	}
	image, err := r.Image.of(r.backends()...)
	if err != nil {
		return nil, fmt.Errorf("build mover job: %w", err)
	}
	cache, limits, err := cacheOf(r)
	if err != nil {
		return nil, fmt.Errorf("build mover job: %w", err)
	}
	resources, err := resourcesOf(r)
	if err != nil {
		return nil, fmt.Errorf("build mover job: %w", err)
	}
	account, err := r.serviceAccount()
	if err != nil {
		return nil, fmt.Errorf("build mover job: %w", err)
	}
	deadline := deadlineOf(r)
	spec := work.Spec{
		RequestID:  string(r.subject().GetUID()),
		Repository: r.told(limits),
		Deadline:   deadline,
		Operation:  r.withPeer(limits),
	}
	text, err := work.EncodeSpec(spec)
	if err != nil {
		return nil, fmt.Errorf("build mover job: %w", err)
	}
	vols, err := volumesOf(r, cache)
	if err != nil {
		return nil, fmt.Errorf("build mover job: %w", err)
	}
	security := Merge(r.Target != nil || r.Scratch != nil, r.onFilesystem(), LayersOf(r.Repository, r.Inherited, r.Layers...)...)
	if r.publishesReadWrite() {
		security.DropFSGroup()
	}

	labels := labelsOf(r, op)
	d := r.Repository.Spec.MoverDefaults
	if d == nil {
		d = &kopiurv1.MoverDefaults{}
	}
	pod := corev1.PodSpec{
		RestartPolicy:                 corev1.RestartPolicyNever,
		AutomountServiceAccountToken:  new(false),
		ServiceAccountName:            account,
		EnableServiceLinks:            new(false),
		TerminationGracePeriodSeconds: new(terminationGrace),
		SecurityContext:               &security.Pod,
		NodeSelector:                  d.NodeSelector,
		Tolerations:                   d.Tolerations,
		Affinity:                      d.Affinity,
		Volumes:                       vols.volumes,
		Containers: []corev1.Container{{
			Name:                     Container,
			Image:                    image,
			ImagePullPolicy:          r.PullPolicy,
			Args:                     []string{"run"},
			Env:                      []corev1.EnvVar{{Name: work.EnvSpec, Value: text}, {Name: "TMPDIR", Value: tmpDir}, {Name: "HOME", Value: tmpDir}},
			Resources:                resources,
			SecurityContext:          &security.Container,
			TerminationMessagePath:   work.TerminationPath,
			TerminationMessagePolicy: corev1.TerminationMessageReadFile,
			VolumeMounts:             vols.mounts,
			VolumeDevices:            vols.devices,
		}},
	}
	if err := addStream(r, &pod, deadline); err != nil {
		return nil, fmt.Errorf("build mover job: %w", err)
	}
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Name:            Name(r.Letter, r.subject().GetName(), r.subject().GetUID(), cmp.Or(r.As, op), r.Attempt),
			Namespace:       r.Namespace,
			Labels:          labels,
			OwnerReferences: []metav1.OwnerReference{ownerRef(r)},
		},
		Spec: batchv1.JobSpec{
			Parallelism:           new(int32(1)),
			Completions:           new(int32(1)),
			BackoffLimit:          new(backoffOf(r)),
			ActiveDeadlineSeconds: new(deadline.HardSeconds + int64(work.JobGrace/time.Second)),
			// A second pod starts only when the first is gone for good: two movers of one snapshot must never run.
			PodReplacementPolicy: new(batchv1.Failed),
			PodFailurePolicy:     failurePolicy(onlyOnce(r)),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: d.PodAnnotations},
				Spec:       pod,
			},
		},
	}, nil
}

func (r Request) publishesReadWrite() bool { return r.Source != nil && r.Source.PublishReadWrite }

// subject is the object that the work is done for.
func (r Request) subject() metav1.Object {
	if r.For != nil {
		return r.For
	}
	return r.Owner
}

// ownerRef leaves out blockOwnerDeletion: clusters that enforce it would ask for the right to update finalizers of our
// kinds, and nothing here needs the owner to outlive its Jobs.
func ownerRef(r Request) metav1.OwnerReference {
	version, kind := r.GVK.ToAPIVersionAndKind()
	return metav1.OwnerReference{APIVersion: version, Kind: kind, Name: r.Owner.GetName(), UID: r.Owner.GetUID(), Controller: new(true)}
}

// failurePolicy makes a permanent failure final at once, passes over evictions and counts the rest. Rules are tried in
// order.
func failurePolicy(once bool) *batchv1.PodFailurePolicy {
	if once {
		return &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
			Action:          batchv1.PodFailurePolicyActionFailJob,
			OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}},
		}}}
	}
	return &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{
		{
			Action:      batchv1.PodFailurePolicyActionFailJob,
			OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{ContainerName: new(Container), Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{work.ExitPermanent}},
		},
		{
			Action:          batchv1.PodFailurePolicyActionIgnore,
			OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}},
		},
		{
			Action:      batchv1.PodFailurePolicyActionCount,
			OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{ContainerName: new(Container), Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{2, work.ExitRetryable, 137, 143}},
		},
	}}
}

// onlyOnce reports whether no second pod may follow the first, unless somebody says how many: what is sent to a command
// may have been applied, in part or as a whole, and nobody here knows whether twice is harmless.
func onlyOnce(r Request) bool {
	return r.Operation.StreamRestore != nil && (r.FailurePolicy == nil || r.FailurePolicy.BackoffLimit == nil)
}

func labelsOf(r Request, op string) map[string]string {
	out := map[string]string{}
	if d := r.Repository.Spec.MoverDefaults; d != nil {
		maps.Copy(out, d.PodLabels)
	}
	maps.Copy(out, r.Labels)
	for _, b := range r.backends() {
		maps.Copy(out, identityLabels(b))
	}
	// Ours last: the watches and the sweep find Jobs by them.
	out[kopiurv1.LabelManagedBy] = kopiurv1.ManagedByValue
	out[kopiurv1.LabelComponent] = kopiurv1.ComponentMover
	out[kopiurv1.LabelOperation] = op
	out[kopiurv1.LabelOwnerUID] = string(r.subject().GetUID())
	// Whoever looks after the repository learns from the others' movers, and counts them.
	out[kopiurv1.LabelRepositoryUID] = string(r.Repository.UID)
	return out
}

func deadlineOf(r Request) work.Deadline {
	hard := r.DefaultDeadlineSeconds
	if p := r.FailurePolicy; p != nil && p.ActiveDeadlineSeconds != nil {
		hard = *p.ActiveDeadlineSeconds
	}
	return work.Deadline{HardSeconds: hard}.OrDefault()
}

func backoffOf(r Request) int32 {
	if p := r.FailurePolicy; p != nil && p.BackoffLimit != nil {
		return *p.BackoffLimit
	}
	if onlyOnce(r) {
		return 0
	}
	return defaultBackoffLimit
}

// TTL is how long the Job stays once its result is recorded. The strongest layer wins.
func TTL(repo Repository, layers ...*kopiurv1.MoverSpec) int32 {
	ttl := DefaultTTL
	if d := repo.Spec.MoverDefaults; d != nil && d.TTLSecondsAfterFinished != nil {
		ttl = *d.TTLSecondsAfterFinished
	}
	for _, m := range layers {
		if m != nil && m.TTLSecondsAfterFinished != nil {
			ttl = *m.TTLSecondsAfterFinished
		}
	}
	return ttl
}

// StartupDeadline is how long the mover's pod may take to run.
func StartupDeadline(p *kopiurv1.FailurePolicy) time.Duration {
	if p != nil && p.PodStartupDeadlineSeconds != nil {
		return time.Duration(min(*p.PodStartupDeadlineSeconds, work.MaxSeconds)) * time.Second
	}
	return DefaultStartupDeadline
}

// resourcesOf merges by whole lists: the strongest layer that sets resources wins. Without any the mover asks for what a
// small backup takes and has no limit, because a limit that is too low kills the run.
func resourcesOf(r Request) (corev1.ResourceRequirements, error) {
	set, field := (*kopiurv1.Resources)(nil), ""
	if d := r.Repository.Spec.MoverDefaults; d != nil && d.Resources != nil {
		set, field = d.Resources, "moverDefaults"
	}
	for _, m := range r.Layers {
		if m != nil && m.Resources != nil {
			set, field = m.Resources, "mover"
		}
	}
	if set == nil {
		return corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU:    resource.MustParse("50m"),
			corev1.ResourceMemory: resource.MustParse("128Mi"),
		}}, nil
	}
	out, err := set.Parse()
	if err != nil {
		return out, fmt.Errorf("%s.%w", field, err)
	}
	return out, nil
}
