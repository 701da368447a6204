// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// security checks what Kubernetes would refuse only when the mover is started. What needs the Namespace's consent is
// no error here: the controller asks for it.
func security(at *field.Path, c *corev1.SecurityContext, p *corev1.PodSecurityContext) Findings {
	var f Findings
	container, pod := at.Child("securityContext"), at.Child("podSecurityContext")
	if c != nil {
		f.Merge(id(container.Child("runAsUser"), c.RunAsUser))
		f.Merge(id(container.Child("runAsGroup"), c.RunAsGroup))
		if c.WindowsOptions != nil {
			f.forbidden(container.Child("windowsOptions"), "movers run on Linux: remove it")
		}
		f.Merge(escalation(container, *c))
	}
	if p != nil {
		f.Merge(id(pod.Child("runAsUser"), p.RunAsUser))
		f.Merge(id(pod.Child("runAsGroup"), p.RunAsGroup))
		f.Merge(id(pod.Child("fsGroup"), p.FSGroup))
		for i := range p.SupplementalGroups {
			f.Merge(id(pod.Child("supplementalGroups").Index(i), &p.SupplementalGroups[i]))
		}
		if p.WindowsOptions != nil {
			f.forbidden(pod.Child("windowsOptions"), "movers run on Linux: remove it")
		}
	}
	if uid := uidOf(c, p); uid != nil && *uid == 0 && runAsNonRoot(c, p) {
		f.forbidden(container.Child("runAsNonRoot"), "it forbids the uid 0 that runAsUser asks for: remove one of them")
	}
	return f
}

// escalation checks the settings that include the right to gain more. The movers' base takes that right away.
func escalation(at *field.Path, c corev1.SecurityContext) Findings {
	var f Findings
	if c.AllowPrivilegeEscalation != nil && *c.AllowPrivilegeEscalation {
		return f
	}
	const fix = "Kubernetes refuses it without allowPrivilegeEscalation: true, which movers do not have by themselves: write that beside it, or remove it"
	if c.Privileged != nil && *c.Privileged {
		f.forbidden(at.Child("privileged"), fix)
	}
	if c.Capabilities != nil && slices.Contains(c.Capabilities.Add, "CAP_SYS_ADMIN") {
		f.forbidden(at.Child("capabilities", "add"), "CAP_SYS_ADMIN: "+fix)
	}
	return f
}

func id(at *field.Path, v *int64) Findings {
	var f Findings
	if v != nil && (*v < 0 || *v > math.MaxInt32) {
		f.invalid(at, *v, "write a number from 0 to %d", math.MaxInt32)
	}
	return f
}

// uidOf is the uid that the contexts ask for, nil where they ask for none. What the container says wins.
func uidOf(c *corev1.SecurityContext, p *corev1.PodSecurityContext) *int64 {
	if c != nil && c.RunAsUser != nil {
		return c.RunAsUser
	}
	if p != nil {
		return p.RunAsUser
	}
	return nil
}

func runAsNonRoot(c *corev1.SecurityContext, p *corev1.PodSecurityContext) bool {
	if c != nil && c.RunAsNonRoot != nil {
		return *c.RunAsNonRoot
	}
	return p != nil && p.RunAsNonRoot != nil && *p.RunAsNonRoot
}

// privilegedMode checks what takes the privilege away again: the capabilities that it gives work for root alone.
func privilegedMode(at *field.Path, m kopiurv1.MoverSpec, may inherit) Findings {
	var f Findings
	if m.PrivilegedMode == nil || !*m.PrivilegedMode {
		return f
	}
	at = at.Child("privilegedMode")
	switch uid := uidOf(m.SecurityContext, m.PodSecurityContext); {
	case uid != nil && *uid != 0:
		f.warn(at, "it has no effect with runAsUser %d, because only root can use the capabilities that it gives: remove one of them", *uid)
	case uid == nil && runAsNonRoot(m.SecurityContext, m.PodSecurityContext):
		f.forbidden(at, "it runs the mover as root, and runAsNonRoot: true forbids that: remove one of them")
	case m.InheritSecurityContextFrom != nil && may.snapshot:
		// Acceptance F-2: as anybody else it could not give files to their owners, and would find that out half-way.
		f.warn(at, "a restore runs as root with it, and inheritSecurityContextFrom has no effect: remove one of them")
	case m.InheritSecurityContextFrom != nil:
		f.warn(at, "it has no effect where inheritSecurityContextFrom leads to another user than root: remove one of them")
	}
	return f
}
