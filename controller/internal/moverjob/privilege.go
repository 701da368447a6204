// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package moverjob

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// Privileges lists, in plain words, everything about a mover's pod that needs the Namespace's consent. An empty list
// needs none. It reads the finished pod, not the settings it was made from, so that no layer can slip past it.
func Privileges(pod corev1.PodSpec) []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	ps := pod.SecurityContext
	if ps == nil {
		ps = &corev1.PodSecurityContext{}
	}
	if pod.HostNetwork || pod.HostPID || pod.HostIPC {
		add("host namespaces")
	}
	for _, v := range pod.Volumes {
		if v.HostPath != nil {
			add("hostPath volume %s", v.HostPath.Path)
		}
	}
	if len(ps.Sysctls) > 0 {
		add("sysctls")
	}
	if c := ps.SeccompProfile; c != nil && c.Type == corev1.SeccompProfileTypeUnconfined {
		add("seccomp Unconfined on the pod")
	}
	for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
		out = append(out, containerPrivileges(c, ps)...)
	}
	return out
}

func containerPrivileges(c corev1.Container, ps *corev1.PodSecurityContext) []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	sc := c.SecurityContext
	if sc == nil {
		return []string{"no security context on container " + c.Name}
	}
	uid, nonRoot := sc.RunAsUser, sc.RunAsNonRoot
	if uid == nil {
		uid = ps.RunAsUser
	}
	if nonRoot == nil {
		nonRoot = ps.RunAsNonRoot
	}
	switch {
	case uid != nil && *uid == 0:
		add("uid 0")
	case nonRoot == nil || !*nonRoot:
		add("runAsNonRoot: false")
	}
	if sc.Privileged != nil && *sc.Privileged {
		add("privileged: true")
	}
	if sc.AllowPrivilegeEscalation == nil || *sc.AllowPrivilegeEscalation {
		add("allowPrivilegeEscalation: true")
	}
	if sc.ProcMount != nil && *sc.ProcMount != corev1.DefaultProcMount {
		add("procMount %s", *sc.ProcMount)
	}
	if caps := sc.Capabilities; caps == nil || !slices.Contains(caps.Drop, "ALL") {
		add("capabilities.drop without ALL")
	}
	if sc.Capabilities != nil {
		for _, a := range sc.Capabilities.Add {
			add("capability %s", a)
		}
	}
	if p := sc.SeccompProfile; p == nil || p.Type == corev1.SeccompProfileTypeUnconfined {
		add("seccomp Unconfined")
	}
	return out
}

// Permitted reports whether a Namespace with these annotations consents to privileged movers. Only the exact word counts.
func Permitted(annotations map[string]string) bool {
	return annotations[kopiurv1.AnnotationPrivilegedMovers] == "true"
}

// Baseline lists what a pod that a user wrote asks for beyond what any pod may have: the right to write a policy must not
// be the right to more than that. What the pod leaves out is the cluster's business.
func Baseline(pod corev1.PodSpec) []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if pod.HostNetwork || pod.HostPID || pod.HostIPC {
		add("host namespaces")
	}
	for _, v := range pod.Volumes {
		if v.HostPath != nil {
			add("hostPath volume %s", v.HostPath.Path)
		}
	}
	if ps := pod.SecurityContext; ps != nil {
		if len(ps.Sysctls) > 0 {
			add("sysctls")
		}
		if c := ps.SeccompProfile; c != nil && c.Type == corev1.SeccompProfileTypeUnconfined {
			add("seccomp Unconfined on the pod")
		}
	}
	for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
		for _, p := range c.Ports {
			if p.HostPort != 0 {
				add("host port %d", p.HostPort)
			}
		}
		sc := c.SecurityContext
		if sc == nil {
			continue
		}
		if sc.Privileged != nil && *sc.Privileged {
			add("privileged: true")
		}
		if sc.ProcMount != nil && *sc.ProcMount != corev1.DefaultProcMount {
			add("procMount %s", *sc.ProcMount)
		}
		if sc.Capabilities != nil {
			for _, a := range sc.Capabilities.Add {
				add("capability %s", a)
			}
		}
		if p := sc.SeccompProfile; p != nil && p.Type == corev1.SeccompProfileTypeUnconfined {
			add("seccomp Unconfined")
		}
	}
	return out
}
