// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

var app = metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}

func inheriting(i kopiurv1.InheritSecurityContextFrom) kopiurv1.MoverSpec {
	return kopiurv1.MoverSpec{InheritSecurityContextFrom: &i}
}

func caching(c kopiurv1.CacheSpec) kopiurv1.MoverSpec { return kopiurv1.MoverSpec{Cache: &c} }

func in(c corev1.SecurityContext) kopiurv1.MoverSpec { return kopiurv1.MoverSpec{SecurityContext: &c} }

func inPod(p corev1.PodSecurityContext) kopiurv1.MoverSpec {
	return kopiurv1.MoverSpec{PodSecurityContext: &p}
}

func needing(r kopiurv1.Resources) kopiurv1.MoverSpec { return kopiurv1.MoverSpec{Resources: &r} }

func privileged(m kopiurv1.MoverSpec) kopiurv1.MoverSpec {
	m.PrivilegedMode = new(true)
	return m
}

func TestMover(t *testing.T) {
	t.Parallel()
	var (
		workload = kopiurv1.InheritSecurityContextFrom{WorkloadSelector: &kopiurv1.WorkloadSelector{PodSelector: app}}
		consumer = kopiurv1.InheritSecurityContextFrom{PVCConsumer: &kopiurv1.PVCConsumer{}}
		snapshot = kopiurv1.InheritSecurityContextFrom{Snapshot: &kopiurv1.InheritFromSnapshot{}}
		backup   = inherit{consumer: true}
		restore  = inherit{snapshot: true}
		populate = inherit{snapshot: true, populator: true}
	)
	type quantities = map[corev1.ResourceName]kopiurv1.Quantity
	for name, tc := range map[string]struct {
		mover             kopiurv1.MoverSpec
		may               inherit
		wantErr, wantWarn string
	}{
		"a workload's user for a backup":         {mover: inheriting(workload), may: backup},
		"a workload's user for a restore":        {mover: inheriting(workload), may: restore},
		"the consumer's user for a backup":       {mover: inheriting(consumer), may: backup},
		"the recorded user for a restore":        {mover: inheriting(snapshot), may: restore},
		"the recorded user for a populator":      {mover: inheriting(snapshot), may: populate},
		"the consumer's user for a restore":      {mover: inheriting(consumer), may: restore, wantErr: "at.inheritSecurityContextFrom.pvcConsumer: Forbidden"},
		"the recorded user for a backup":         {mover: inheriting(snapshot), may: backup, wantErr: "at.inheritSecurityContextFrom.snapshot: Forbidden"},
		"a workload's user for a populator":      {mover: inheriting(workload), may: populate, wantErr: "write snapshot: {}"},
		"anybody's user where there is nobody":   {mover: inheriting(workload), may: inherit{never: "a replication mounts no volume"}, wantErr: "a replication mounts no volume"},
		"from nobody":                            {mover: inheriting(kopiurv1.InheritSecurityContextFrom{}), may: backup, wantErr: "workloadSelector"},
		"from two":                               {mover: inheriting(kopiurv1.InheritSecurityContextFrom{WorkloadSelector: workload.WorkloadSelector, PVCConsumer: consumer.PVCConsumer}), may: backup, wantErr: "keep exactly one"},
		"from any pod":                           {mover: inheriting(kopiurv1.InheritSecurityContextFrom{WorkloadSelector: &kopiurv1.WorkloadSelector{}}), may: backup, wantErr: "at.inheritSecurityContextFrom.workloadSelector.podSelector: Required value"},
		"from a container that cannot be":        {mover: inheriting(kopiurv1.InheritSecurityContextFrom{WorkloadSelector: &kopiurv1.WorkloadSelector{PodSelector: app, Container: "Main"}}), may: backup, wantErr: "workloadSelector.container: Invalid value"},
		"a cache of ten gigabytes":               {mover: caching(kopiurv1.CacheSpec{Capacity: "10Gi"})},
		"a cache of no size":                     {mover: caching(kopiurv1.CacheSpec{Capacity: "much"}), wantErr: "at.cache.capacity: Invalid value"},
		"a tiny cache":                           {mover: caching(kopiurv1.CacheSpec{Capacity: "1Mi"}), wantWarn: "too small"},
		"a tiny cache with limits of its own":    {mover: caching(kopiurv1.CacheSpec{Capacity: "100Mi", ContentCacheSizeMB: 40, MetadataCacheSizeMB: 20})},
		"limits beyond the volume":               {mover: caching(kopiurv1.CacheSpec{Capacity: "5Gi", ContentCacheSizeMB: 5000, MetadataCacheSizeMB: 500}), wantWarn: "the volume can fill up"},
		"an ordinary user":                       {mover: in(corev1.SecurityContext{RunAsUser: new(int64(1000)), RunAsGroup: new(int64(1000))})},
		"root":                                   {mover: in(corev1.SecurityContext{RunAsUser: new(int64(0))})},
		"root that must not be root":             {mover: in(corev1.SecurityContext{RunAsUser: new(int64(0)), RunAsNonRoot: new(true)}), wantErr: "at.securityContext.runAsNonRoot: Forbidden"},
		"root of the pod that must not be root":  {mover: inPod(corev1.PodSecurityContext{RunAsUser: new(int64(0)), RunAsNonRoot: new(true)}), wantErr: "remove one of them"},
		"a user that cannot be":                  {mover: in(corev1.SecurityContext{RunAsUser: new(int64(-1))}), wantErr: "at.securityContext.runAsUser: Invalid value: -1: write a number from 0"},
		"a group that cannot be":                 {mover: inPod(corev1.PodSecurityContext{SupplementalGroups: []int64{1, 1 << 40}}), wantErr: "at.podSecurityContext.supplementalGroups[1]: Invalid value"},
		"all privileges":                         {mover: in(corev1.SecurityContext{Privileged: new(true), AllowPrivilegeEscalation: new(true)})},
		"all privileges but that to gain them":   {mover: in(corev1.SecurityContext{Privileged: new(true)}), wantErr: "write that beside it"},
		"administration without escalation":      {mover: in(corev1.SecurityContext{Capabilities: &corev1.Capabilities{Add: []corev1.Capability{"CAP_SYS_ADMIN"}}}), wantErr: "at.securityContext.capabilities.add: Forbidden"},
		"Windows":                                {mover: in(corev1.SecurityContext{WindowsOptions: &corev1.WindowsSecurityContextOptions{}}), wantErr: "movers run on Linux"},
		"privileged mode":                        {mover: privileged(kopiurv1.MoverSpec{})},
		"privileged mode for somebody else":      {mover: privileged(in(corev1.SecurityContext{RunAsUser: new(int64(1000))})), wantWarn: "no effect with runAsUser 1000"},
		"privileged mode for somebody unknown":   {mover: privileged(inheriting(workload)), may: backup, wantWarn: "another user than root"},
		"a privileged restore as somebody else":  {mover: privileged(inheriting(snapshot)), may: restore, wantWarn: "runs as root with it"},
		"privileged mode that must not be root":  {mover: privileged(in(corev1.SecurityContext{RunAsNonRoot: new(true)})), wantErr: "at.privilegedMode: Forbidden"},
		"requests within limits":                 {mover: needing(kopiurv1.Resources{Requests: quantities{"memory": "512Mi"}, Limits: quantities{"memory": "1Gi"}})},
		"requests beyond limits":                 {mover: needing(kopiurv1.Resources{Requests: quantities{"memory": "2Gi"}, Limits: quantities{"memory": "1Gi"}}), wantErr: "at.resources.requests[memory]: Invalid value: \"2Gi\": write at most the limit, 1Gi"},
		"a limit that is no amount":              {mover: needing(kopiurv1.Resources{Limits: quantities{"cpu": "fast"}}), wantErr: "at.resources.limits[cpu]: Invalid value"},
		"a claim of a resource":                  {mover: needing(kopiurv1.Resources{Claims: []corev1.ResourceClaim{{Name: "gpu"}}}), wantErr: "at.resources.claims: Forbidden"},
		"a Job that is kept for less than ever":  {mover: kopiurv1.MoverSpec{TTLSecondsAfterFinished: new(int32(-1))}, wantErr: "ttlSecondsAfterFinished"},
		"everything at once that has no mistake": {mover: kopiurv1.MoverSpec{Cache: &kopiurv1.CacheSpec{Mode: kopiurv1.CachePersistent, Capacity: "8Gi", StorageClassName: "fast"}, SecurityContext: &corev1.SecurityContext{RunAsUser: new(int64(1000))}, PodSecurityContext: &corev1.PodSecurityContext{FSGroup: new(int64(1000))}, TTLSecondsAfterFinished: new(int32(60))}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			matches(t, mover(field.NewPath("at"), &tc.mover, tc.may), tc.wantErr, tc.wantWarn)
		})
	}
}
