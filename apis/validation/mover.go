// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// inherit says which variants of inheritSecurityContextFrom make sense for a mover.
type inherit struct {
	// consumer: there is a claim to back up, and so a pod that mounts it.
	consumer bool
	// snapshot: there is a backup with a recorded user.
	snapshot bool
	// populator: a claim waits for its data, and its workload for the claim.
	populator bool
	// never says why no variant makes sense; "" where one does.
	never string
}

// mover checks the settings of one recipe's mover; nil passes.
func mover(at *field.Path, m *kopiurv1.MoverSpec, may inherit) Findings {
	var f Findings
	if m == nil {
		return f
	}
	f.Merge(resources(at.Child("resources"), m.Resources))
	f.Merge(cache(at.Child("cache"), m.Cache))
	f.Merge(security(at, m.SecurityContext, m.PodSecurityContext))
	f.Merge(privilegedMode(at, *m, may))
	f.Merge(inheritance(at.Child("inheritSecurityContextFrom"), m.InheritSecurityContextFrom, may))
	f.Merge(notNegative(at.Child("ttlSecondsAfterFinished"), m.TTLSecondsAfterFinished))
	return f
}

func inheritance(at *field.Path, i *kopiurv1.InheritSecurityContextFrom, may inherit) Findings {
	var f Findings
	switch {
	case i == nil:
		return f
	case may.never != "":
		f.forbidden(at, "%s: write securityContext and podSecurityContext", may.never)
		return f
	case i.WorkloadSelector == nil && i.PVCConsumer == nil && i.Snapshot == nil:
		f.required(at, "say from where: workloadSelector.podSelector selects the pod whose user the mover takes over")
		return f
	}
	f.Merge(oneOf(at, variant{"workloadSelector", i.WorkloadSelector != nil}, variant{"pvcConsumer", i.PVCConsumer != nil}, variant{"snapshot", i.Snapshot != nil}))
	if may.populator && (i.WorkloadSelector != nil || i.PVCConsumer != nil) {
		f.forbidden(at, "no pod uses the claim before it has its data: write snapshot: {}, or securityContext and podSecurityContext")
		return f
	}
	if i.PVCConsumer != nil && !may.consumer {
		f.forbidden(at.Child("pvcConsumer"), "there is no claim to back up here: write workloadSelector")
	}
	if i.Snapshot != nil && !may.snapshot {
		f.forbidden(at.Child("snapshot"), "only a restore knows a backup with a recorded user: write workloadSelector")
	}
	if w := i.WorkloadSelector; w != nil {
		f.Merge(podSelector(at.Child("workloadSelector", "podSelector"), w.PodSelector))
		f.Merge(containerName(at.Child("workloadSelector", "container"), w.Container))
	}
	return f
}

// moverDefaults checks what shapes every mover of a repository; nil passes.
func moverDefaults(at *field.Path, d *kopiurv1.MoverDefaults) Findings {
	var f Findings
	if d == nil {
		return f
	}
	f.Merge(resources(at.Child("resources"), d.Resources))
	f.Merge(cache(at.Child("cache"), d.Cache))
	f.Merge(security(at, d.SecurityContext, d.PodSecurityContext))
	if d.Scratch != nil {
		f.Merge(quantity(at.Child("scratch", "capacity"), d.Scratch.Capacity))
	}
	f.Merge(labelMap(at.Child("nodeSelector"), d.NodeSelector))
	f.Merge(notNegative(at.Child("ttlSecondsAfterFinished"), d.TTLSecondsAfterFinished))
	f.Merge(throttle(at.Child("throttle"), d.Throttle))
	f.Merge(labelMap(at.Child("podLabels"), d.PodLabels))
	f.Merge(annotationMap(at.Child("podAnnotations"), d.PodAnnotations))
	for _, m := range []struct {
		field string
		keys  map[string]string
	}{{"podLabels", d.PodLabels}, {"podAnnotations", d.PodAnnotations}} {
		for _, k := range slices.Sorted(maps.Keys(m.keys)) {
			if strings.HasPrefix(k, kopiurv1.GroupName+"/") || k == kopiurv1.LabelManagedBy {
				f.forbidden(at.Child(m.field).Key(k), "Kopiur finds its own Jobs by this key: choose another")
			}
		}
	}
	return f
}

// smallestCache is the least that a cache volume is used for: kopia's two caches have 64Mi each, in 80 % of it.
var smallestCache = resource.MustParse("160Mi")

func cache(at *field.Path, c *kopiurv1.CacheSpec) Findings {
	var f Findings
	if c == nil {
		return f
	}
	capacity := at.Child("capacity")
	f.Merge(quantity(capacity, c.Capacity))
	const mega = 1 << 20
	q, err := c.Capacity.Parse()
	switch byHand := (c.ContentCacheSizeMB + c.MetadataCacheSizeMB) * mega; {
	case err != nil || q.Sign() <= 0:
	case byHand > q.Value():
		f.warn(capacity, "contentCacheSizeMb and metadataCacheSizeMb are more than %s together, so the volume can fill up: raise it, or leave them out", c.Capacity)
	case q.Cmp(smallestCache) < 0 && byHand == 0:
		f.warn(capacity, "%s is too small to be of use, and movers go without a cache: write at least %s", c.Capacity, smallestCache.String())
	}
	for _, n := range []struct {
		field string
		value int64
	}{{"contentCacheSizeMb", c.ContentCacheSizeMB}, {"metadataCacheSizeMb", c.MetadataCacheSizeMB}} {
		if n.value < 0 {
			f.invalid(at.Child(n.field), n.value, "write 0 or more; 0 derives it from capacity")
		}
	}
	return f
}

// resources checks that Kubernetes will read them.
func resources(at *field.Path, r *kopiurv1.Resources) Findings {
	var f Findings
	if r == nil {
		return f
	}
	for _, name := range slices.Sorted(maps.Keys(r.Limits)) {
		f.Merge(quantity(at.Child("limits").Key(string(name)), r.Limits[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Requests)) {
		at := at.Child("requests").Key(string(name))
		f.Merge(quantity(at, r.Requests[name]))
		request, err1 := r.Requests[name].Parse()
		limit, err2 := r.Limits[name].Parse()
		if err1 == nil && err2 == nil && request.Cmp(limit) > 0 {
			f.invalid(at, string(r.Requests[name]), "write at most the limit, %s", r.Limits[name])
		}
	}
	if len(r.Claims) > 0 {
		f.forbidden(at.Child("claims"), "movers have no resource claims: remove it")
	}
	return f
}

// quantity checks an amount; one that is left out passes.
func quantity(at *field.Path, q kopiurv1.Quantity) Findings {
	var f Findings
	if q == "" {
		return f
	}
	v, err := q.Parse()
	switch {
	case err != nil:
		f.invalid(at, string(q), "write an amount like 512Mi, 10Gi or 500m")
	case v.Sign() < 0:
		f.invalid(at, string(q), "write 0 or more")
	}
	return f
}

func throttle(at *field.Path, t *kopiurv1.Throttle) Findings {
	var f Findings
	if t == nil {
		return f
	}
	for _, n := range []struct {
		field string
		value int64
	}{
		{"uploadBytesPerSecond", t.UploadBytesPerSecond},
		{"downloadBytesPerSecond", t.DownloadBytesPerSecond},
		{"readOpsPerSecond", t.ReadOpsPerSecond},
		{"writeOpsPerSecond", t.WriteOpsPerSecond},
	} {
		if n.value < 0 {
			f.invalid(at.Child(n.field), n.value, "write 0 or more; 0 is no limit")
		}
	}
	return f
}

// failurePolicy checks the bounds of a Job; nil passes.
func failurePolicy(at *field.Path, p *kopiurv1.FailurePolicy) Findings {
	var f Findings
	if p == nil {
		return f
	}
	f.Merge(notNegative(at.Child("backoffLimit"), p.BackoffLimit))
	for _, n := range []struct {
		field string
		value *int64
	}{{"activeDeadlineSeconds", p.ActiveDeadlineSeconds}, {"podStartupDeadlineSeconds", p.PodStartupDeadlineSeconds}} {
		if n.value != nil && *n.value < 1 {
			f.invalid(at.Child(n.field), *n.value, "write 1 or more, or leave it out")
		}
	}
	return f
}

func notNegative(at *field.Path, n *int32) Findings {
	var f Findings
	if n != nil && *n < 0 {
		f.invalid(at, *n, "write 0 or more")
	}
	return f
}

func atLeastOne(at *field.Path, n *int32) Findings {
	var f Findings
	if n != nil && *n < 1 {
		f.invalid(at, *n, "write 1 or more, or leave it out")
	}
	return f
}

// labelMap checks keys and values that pods and nodes have to carry: the Jobs would be refused otherwise.
func labelMap(at *field.Path, m map[string]string) Findings {
	f := annotationMap(at, m)
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if len(validation.IsValidLabelValue(m[k])) > 0 {
			f.invalid(at.Key(k), m[k], "no label can have this value: write at most 63 letters, digits, -, _ and ., with a letter or digit at both ends")
		}
	}
	return f
}

// annotationMap checks keys alone.
func annotationMap(at *field.Path, m map[string]string) Findings {
	var f Findings
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if len(validation.IsQualifiedName(strings.ToLower(k))) > 0 {
			f.invalid(at, k, "no object can have this key: write name or domain/name")
		}
	}
	return f
}
