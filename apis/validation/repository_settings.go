// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// Floors. A listing or a probe opens the repository, which takes seconds and money.
const (
	shortestRefresh   = 30 * time.Second
	shortestProbe     = 30 * time.Second
	shortestRetention = 24 * time.Hour
)

func catalog(at *field.Path, s *kopiurv1.RepositorySpec, in scope) Findings {
	var f Findings
	c := s.Catalog
	if c == nil {
		return f
	}
	f.Merge(duration(at.Child("refreshInterval"), c.RefreshInterval, shortestRefresh))
	fallback := at.Child("fallbackNamespace")
	f.Merge(namespace(fallback, c.FallbackNamespace))
	switch wanted := c.ForeignSnapshots == kopiurv1.ForeignFallback; {
	case c.FallbackNamespace != "" && !in.cluster:
		f.forbidden(fallback, "it is for a ClusterRepository only: a Repository's rows are in its own namespace")
	case wanted && in.cluster && c.FallbackNamespace == "":
		f.warn(fallback, "it is left out, so snapshots that belong to no namespace of this cluster get no row")
	}
	if c.ForeignSnapshots == kopiurv1.ForeignFallback && (s.IdentityDefaults == nil || s.IdentityDefaults.Cluster == "") {
		f.required(field.NewPath("spec", "identityDefaults", "cluster"), "catalog.foreignSnapshots: Fallback tells snapshots of other clusters apart by it")
	}
	if r := c.Retain; r != nil {
		f.Merge(notNegative(at.Child("retain", "perIdentity"), r.PerIdentity))
		f.Merge(atLeastOne(at.Child("retain", "maxAgeDays"), r.MaxAgeDays))
	}
	return f
}

func health(at *field.Path, h *kopiurv1.HealthSpec) Findings {
	var f Findings
	if h == nil {
		return f
	}
	if n := h.IndexBlobWarnThreshold; n != nil && *n < 0 {
		f.invalid(at.Child("indexBlobWarnThreshold"), *n, "write 1 or more, or 0 to switch the warning off")
	}
	if p := h.Probe; p != nil {
		f.Merge(duration(at.Child("probe", "interval"), p.Interval, shortestProbe))
		f.Merge(atLeastOne(at.Child("probe", "failureThreshold"), p.FailureThreshold))
	}
	return f
}

func maintenance(at *field.Path, m *kopiurv1.RepositoryMaintenance, in scope) Findings {
	var f Findings
	if m == nil {
		return f
	}
	if m.Schedule != nil {
		f.Merge(maintenanceSchedule(at.Child("schedule"), *m.Schedule, in.namespace+"/"+in.name))
	}
	f.Merge(mover(at.Child("mover"), m.Mover, inherit{}))
	f.Merge(failurePolicy(at.Child("failurePolicy"), m.FailurePolicy))
	at = at.Child("namespace")
	f.Merge(namespace(at, m.Namespace))
	switch {
	case m.Namespace == "":
	case !in.cluster:
		f.forbidden(at, "it is for a ClusterRepository only: a Repository's maintenance runs in its own namespace")
	case m.Namespace != in.home && !in.projected:
		f.warn(at, "its movers mount the repository's Secrets from %s: allow copies with spec.credentialProjection.allowed, or put them there", m.Namespace)
	}
	return f
}

func scheduleDefaults(at *field.Path, d *kopiurv1.ScheduleDefaults) Findings {
	var f Findings
	if d == nil {
		return f
	}
	f.Merge(timezone(at.Child("timezone"), d.Timezone))
	f.Merge(jitter(at.Child("jitter"), d.Jitter))
	return f
}

// kopia's own values, by which a value that is left out is judged. It refuses the rest when it opens the repository.
const (
	defaultEpochDuration = 24 * time.Hour
	defaultEpochRefresh  = 20 * time.Minute
	shortestEpoch        = 10 * time.Minute
	refreshesInEpoch     = 3
)

func parameters(at *field.Path, s *kopiurv1.RepositorySpec) Findings {
	var f Findings
	p := s.Parameters
	if p == nil || p.Epoch == nil && p.BlobRetention == nil {
		return f
	}
	if s.Mode == kopiurv1.ModeReadOnly {
		f.forbidden(at, "they are written to the repository, and mode is ReadOnly: leave them out")
	}
	if e := p.Epoch; e != nil {
		f.Merge(epoch(at.Child("epoch"), *e))
	}
	if b := p.BlobRetention; b != nil {
		f.Merge(blobRetention(at.Child("blobRetention"), *b, s.Backend))
	}
	return f
}

func epoch(at *field.Path, e kopiurv1.EpochParameters) Findings {
	f := duration(at.Child("minDuration"), e.MinDuration, shortestEpoch)
	f.Merge(duration(at.Child("refreshFrequency"), e.RefreshFrequency, time.Second))
	least, err1 := e.MinDuration.Parse(defaultEpochDuration)
	refresh, err2 := e.RefreshFrequency.Parse(defaultEpochRefresh)
	if err1 == nil && err2 == nil && refresh > least/refreshesInEpoch && len(f.Errors) == 0 {
		if e.MinDuration != "" {
			f.invalid(at.Child("minDuration"), e.MinDuration, "write at least %s: three times refreshFrequency, which is %s", short(refreshesInEpoch*refresh), short(refresh))
		} else {
			f.invalid(at.Child("refreshFrequency"), e.RefreshFrequency, "write at most %s: a third of minDuration, which is %s", short(least/refreshesInEpoch), short(least))
		}
	}
	if n := e.AdvanceOnCount; n != nil && *n < 10 {
		f.invalid(at.Child("advanceOnCount"), *n, "write 10 or more")
	}
	f.Merge(atLeastOne(at.Child("advanceOnSizeMiB"), e.AdvanceOnSizeMiB))
	f.Merge(atLeastOne(at.Child("checkpointFrequency"), e.CheckpointFrequency))
	f.Merge(atLeastOne(at.Child("deleteParallelism"), e.DeleteParallelism))
	return f
}

func blobRetention(at *field.Path, b kopiurv1.BlobRetention, where kopiurv1.Backend) Findings {
	f := oneOf(at, variant{"governance", b.Governance != nil}, variant{"compliance", b.Compliance != nil}, variant{"disabled", b.Disabled != nil})
	for _, m := range []struct {
		field string
		lock  *kopiurv1.RetentionPeriod
	}{{"governance", b.Governance}, {"compliance", b.Compliance}} {
		if m.lock == nil {
			continue
		}
		period := at.Child(m.field, "period")
		f.Merge(present(period, string(m.lock.Period), "write how long objects are locked, at least 24h"))
		f.Merge(duration(period, m.lock.Period, shortestRetention))
		if where.S3 == nil && where.Azure == nil && where.GCS == nil {
			f.forbidden(at.Child(m.field), "only s3, azure and gcs lock objects: leave it out")
		}
	}
	if b.Compliance != nil {
		f.warn(at.Child("compliance"), "nobody can delete what is locked before its time, the account's owner neither; governance can be undone")
	}
	if b.Disabled != nil && !*b.Disabled {
		f.invalid(at.Child("disabled"), false, "write true, or leave blobRetention out to leave it alone")
	}
	return f
}
