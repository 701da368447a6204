// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kopiur/kopiur/apis/expr"
	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/workload"
)

const (
	// defaultPreflight is how long a run waits for its checks.
	defaultPreflight = 10 * time.Minute
	// preflightRecheck is how often they are made again: pods of others are not watched.
	preflightRecheck = 30 * time.Second
)

// preflight passes once all the policy's checks are true.
func (g *walk) preflight() {
	p := g.w.Policy.Spec.Preflight
	if p == nil || g.begun() {
		return
	}
	for _, c := range p.Checks {
		check, err := expr.CompilePreflight(c.Expr)
		if err != nil {
			continue // the guard of the policy has refused it
		}
		uses := check.Uses()
		if slices.Contains(uses, "namespaceLabels") || slices.Contains(uses, "namespaceAnnotations") {
			if g.ask(AskNamespace) {
				return
			}
		}
		if slices.Contains(uses, "pods") && g.w.Source != nil && g.ask(AskPods) {
			return
		}
		ok, err := check.Eval(g.preflightInput())
		unknown := (*expr.UnknownError)(nil)
		switch {
		case errors.As(err, &unknown):
			g.unready(p, kopiurv1.ReasonWaitingForPreflightData, "check "+c.Name+": "+unknown.Error())
		case err != nil:
			g.unready(p, kopiurv1.ReasonPreflightFailed, "check "+c.Name+": "+err.Error())
		case !ok && c.Message != "":
			g.unready(p, kopiurv1.ReasonPreflightFailed, "check "+c.Name+": "+c.Message)
		case !ok:
			g.unready(p, kopiurv1.ReasonPreflightFailed, "check "+c.Name+" is false: "+c.Expr)
		default:
			continue
		}
		return
	}
}

// unready waits for the checks, at most for the policy's timeout.
func (g *walk) unready(p *kopiurv1.Preflight, reason, message string) {
	timeout, err := p.Timeout.Parse(defaultPreflight)
	if err != nil {
		timeout = defaultPreflight
	}
	after := preflightRecheck
	if since, err := time.Parse(time.RFC3339, g.w.Snapshot.Status.PreflightSince); err == nil && timeout > 0 && !g.p.Reopened {
		left := timeout - g.now.Sub(since)
		if left <= 0 {
			g.fail("", OpPrepare, reason, "%s; given up after %s (preflight.timeout)", message, timeout)
			return
		}
		after = min(after, left)
	}
	g.hold("", reason, after, "%s", message)
	g.p.Preflight = true
}

// preflightInput is all that a check can look at.
func (g *walk) preflightInput() expr.PreflightInput {
	pol, r, s := g.w.Policy, g.w.Repository, g.w.Snapshot
	in := expr.PreflightInput{
		Namespace: s.Namespace, PolicyName: pol.Name, Labels: orEmpty(pol.Labels), Annotations: orEmpty(pol.Annotations),
		Origin: Origin(s), NamespaceLabels: map[string]string{}, NamespaceAnnotations: map[string]string{},
	}
	if d := r.Spec.IdentityDefaults; d != nil {
		in.Cluster = d.Cluster
	}
	if ns := g.w.Namespace; ns != nil {
		in.NamespaceLabels, in.NamespaceAnnotations = orEmpty(ns.Labels), orEmpty(ns.Annotations)
	}
	// A repository that was never looked into has no numbers, and none is not zero.
	if st := r.Status.StorageStats; st != nil {
		in.Repository = &expr.Repository{
			Name: r.Ref.Name, Kind: string(r.Ref.KindOrDefault()), Phase: string(r.Status.Phase),
			Snapshots: st.SnapshotCount, Bytes: st.TotalSizeBytes, IndexBlobs: st.IndexBlobCount,
		}
	}
	c := g.w.Source
	if c == nil {
		return in
	}
	in.PVC = claimInput(c)
	in.Pods = []expr.Pod{}
	for i := range g.w.Neighbours {
		if p := &g.w.Neighbours[i]; workload.Mounts(p.Spec, c.Name) {
			in.Pods = append(in.Pods, expr.Pod{Name: p.Name, Labels: orEmpty(p.Labels), Phase: string(p.Status.Phase), Ready: podReady(p)})
		}
	}
	return in
}

func claimInput(c *corev1.PersistentVolumeClaim) *expr.PVC {
	out := &expr.PVC{
		Name: c.Name, Labels: orEmpty(c.Labels), Annotations: orEmpty(c.Annotations), Phase: string(c.Status.Phase),
		VolumeMode: string(corev1.PersistentVolumeFilesystem), AccessModes: []string{},
	}
	if c.Spec.StorageClassName != nil {
		out.StorageClassName = *c.Spec.StorageClassName
	}
	if c.Spec.VolumeMode != nil {
		out.VolumeMode = string(*c.Spec.VolumeMode)
	}
	for _, m := range c.Spec.AccessModes {
		out.AccessModes = append(out.AccessModes, string(m))
	}
	size, ok := c.Status.Capacity[corev1.ResourceStorage]
	if !ok {
		size = c.Spec.Resources.Requests[corev1.ResourceStorage]
	}
	out.Bytes = size.Value()
	return out
}

func podReady(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func orEmpty(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}
