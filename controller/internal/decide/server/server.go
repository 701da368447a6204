// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/gates"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

// Input is what is known about a repository and its web UI.
type Input struct {
	Repository moverjob.Repository
	// Namespace that it runs in.
	Namespace string
	// Enabled: this installation serves web UIs.
	Enabled bool
	// Refusal says why no server can be made from the spec, "" where one can.
	Refusal string
	// Taken names an object of somebody else that has a name which is needed, "" where none has.
	Taken string
	// Creds, Volume, Auth and Permitted are the gates in front of the server.
	Creds, Volume, Auth, Permitted gates.Verdict
	// Claim of a filesystem repository where the server runs, nil where there is none.
	Claim *corev1.PersistentVolumeClaim
	// Deployment as it is, nil where there is none.
	Deployment *appsv1.Deployment
	// LastWords of its pod, which has ended: "" where it has not.
	LastWords string
}

// Verdict is what is done and what is said.
type Verdict struct {
	// Serve: the objects are made, and made to be as the spec says.
	Serve bool
	// Stopped: without a pod.
	Stopped bool
	// Gone: nothing of it may be left.
	Gone bool
	// Available, Reason and Message are the condition; there is none without a reason.
	Available       bool
	Reason, Message string
	// Status is the repository's status.server.
	Status *kopiurv1.ServerStatus
}

// Decide is total.
func Decide(in Input) Verdict {
	s := in.Repository.Spec.Server
	if s == nil {
		return Verdict{Gone: true}
	}
	v := gate(in)
	if v.Serve && !v.Stopped {
		v.Available, v.Reason, v.Message = health(in)
	}
	if v.Serve || in.Deployment != nil {
		v.Status = status(in.Repository, in.Namespace)
	}
	return v
}

// gate finds the first thing that stands in the way.
func gate(in Input) Verdict {
	refuse := func(reason, format string, args ...any) Verdict {
		return Verdict{Reason: reason, Message: fmt.Sprintf(format, args...)}
	}
	repo := in.Repository
	switch {
	case !in.Enabled:
		return refuse(kopiurv1.ReasonServerNotEnabled, "this installation serves no web UI: set features.kopiaUi.enabled of the chart, or take spec.server away")
	case in.Refusal != "":
		return refuse(kopiurv1.ReasonInvalidSpec, "%s", in.Refusal)
	case in.Taken != "":
		return refuse(kopiurv1.ReasonServerNameTaken, "%s belongs to somebody else and is not touched: delete or rename it", in.Taken)
	case repo.Spec.Suspend:
		v := refuse(kopiurv1.ReasonSuspended, "the repository is suspended and not connected to: the web UI is stopped until spec.suspend is false")
		v.Serve, v.Stopped = in.Deployment != nil, true
		return v
	case repo.Status.UniqueID == "":
		return refuse(kopiurv1.ReasonRepositoryNotReady, "the web UI is served once the repository has been connected to; the other conditions say where that is")
	case !in.Volume.Open:
		return refuse(in.Volume.Reason, "%s", in.Volume.Message)
	case in.Claim != nil && !shared(in.Claim):
		return refuse(kopiurv1.ReasonServerVolumeNotShared,
			"claim %s/%s is mounted by one node at a time, and the web UI would keep it from movers on the others: use a claim with access mode ReadWriteMany, or an NFS volume",
			in.Claim.Namespace, in.Claim.Name)
	}
	for _, g := range []gates.Verdict{in.Creds, in.Auth, in.Permitted} {
		if !g.Open {
			return refuse(g.Reason, "%s", g.Message)
		}
	}
	return Verdict{Serve: true}
}

// shared reports whether pods on several nodes may write to a claim.
func shared(c *corev1.PersistentVolumeClaim) bool {
	return slices.Contains(c.Spec.AccessModes, corev1.ReadWriteMany)
}

// health is what the Deployment says.
func health(in Input) (available bool, reason, message string) {
	d := in.Deployment
	at := fmt.Sprintf("http://%s", endpoint(in.Repository, in.Namespace))
	switch {
	case d != nil && d.Status.ObservedGeneration == d.Generation && d.Status.UpdatedReplicas > 0 && d.Status.AvailableReplicas > 0:
		return true, kopiurv1.ReasonServerAvailable, "the web UI is served at " + at
	case in.LastWords != "":
		return false, kopiurv1.ReasonServerFailed, "the web UI has ended and is started again: " + in.LastWords
	default:
		return false, kopiurv1.ReasonServerStarting, fmt.Sprintf("the pod of Deployment %s/%s starts", in.Namespace, moverjob.ServerName(in.Repository.Ref.Name))
	}
}

func endpoint(r moverjob.Repository, namespace string) string {
	return fmt.Sprintf("%s.%s.svc:%d", moverjob.ServerName(r.Ref.Name), namespace, moverjob.ServerPort(r.Spec.Server))
}

func status(r moverjob.Repository, namespace string) *kopiurv1.ServerStatus {
	out := &kopiurv1.ServerStatus{
		Endpoint: endpoint(r, namespace), Namespace: namespace,
		AuthMode: moverjob.ServerAuthMode(r.Spec.Server), ReadOnly: moverjob.ServerReadOnly(r.Spec),
	}
	if out.AuthMode == kopiurv1.ServerAuthGenerate {
		out.GeneratedSecretRef = &kopiurv1.SecretRef{Name: moverjob.ServerAuthSecret(r.Ref.Name), Namespace: namespace}
	}
	return out
}
