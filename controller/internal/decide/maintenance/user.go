// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/gates"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
	"github.com/kopiur/kopiur/controller/internal/workload"
)

// Inherits is where the mover of a Maintenance takes its user from, nil where from nowhere.
func Inherits(m *kopiurv1.Maintenance) *kopiurv1.InheritSecurityContextFrom {
	if m.Spec.Mover == nil || m.Spec.Mover.InheritSecurityContextFrom == nil || m.Spec.Mover.InheritSecurityContextFrom.WorkloadSelector == nil {
		return nil
	}
	return m.Spec.Mover.InheritSecurityContextFrom
}

// TakeOver finds whom the mover runs as among the pods of its namespace. Without such a pod, the user that Maintenance or
// repository name is used; where they name nobody the run waits: as Kopiur's own user it might not be let into the
// repository's files. The verdict is closed then, and tells of what is unusual where it has a reason.
func TakeOver(w World, pods []corev1.Pod) (*moverjob.Layer, gates.Verdict) {
	m := w.Maintenance
	from := Inherits(m)
	if from == nil || w.Repository == nil {
		return nil, gates.Verdict{Open: true}
	}
	donor, missing := workload.FindDonor(pods, *from, "")
	switch {
	case donor != nil:
		return &donor.Layer, unusual(*donor, moverjob.SpecLayer(m.Spec.Mover).UID())
	case slices.ContainsFunc(moverjob.LayersOf(*w.Repository, nil, m.Spec.Mover), moverjob.Layer.Names):
		return nil, gates.Verdict{Open: true, Reason: kopiurv1.ReasonInheritFallback, Message: missing + "; the user that Maintenance or repository name is used"}
	default:
		return nil, gates.Verdict{
			Reason:  kopiurv1.ReasonInheritSourceMissing,
			Message: missing + ", and neither Maintenance nor repository names a user: start it, or set mover.securityContext.runAsUser",
		}
	}
}

// unusual says where the mover does not run as the pod does.
func unusual(donor workload.Donor, named *int64) gates.Verdict {
	v := gates.Verdict{Open: true}
	switch own := donor.Layer.UID(); {
	case own == nil && named == nil:
		v.Reason = kopiurv1.ReasonInheritPinnedNoUID
		v.Message = fmt.Sprintf("pod %s names no user, and its node does not say which one its image has: set mover.securityContext.runAsUser", donor.Pod)
	case named != nil && (own == nil || *own != *named):
		v.Reason = kopiurv1.ReasonInheritOverridden
		v.Message = fmt.Sprintf("the mover runs as uid %d, as the Maintenance says, and not as pod %s does", *named, donor.Pod)
	}
	return v
}
