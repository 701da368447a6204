// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package maintenance_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/decide/maintenance"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

func cluster(r *moverjob.Repository) {
	r.Spec.IdentityDefaults = &kopiurv1.IdentityDefaults{Cluster: "east"}
}

func offsite(r *moverjob.Repository) {
	r.Ref = kopiurv1.RepositoryRef{Name: "offsite", Kind: kopiurv1.KindClusterRepository}
	r.HomeNamespace = "kopiur-system"
}

// K-6, C-6, H-1: TestOwners: who a Maintenance is to kopia depends on its name and the cluster's, never on a pod.
func TestOwners(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		repo  *moverjob.Repository
		owner string
		host  string
	}{
		"a Repository":                       {nas(), "kopiur/apps/nas", "kopiur-apps-nas"},
		"a ClusterRepository":                {nas(offsite), "kopiur/clusterrepository/offsite", "kopiur-cluster-offsite"},
		"a Repository of a named cluster":    {nas(cluster), "kopiur/east/apps/nas", "kopiur.east.apps.nas"},
		"a ClusterRepository of one as well": {nas(offsite, cluster), "kopiur/east/clusterrepository/offsite", "kopiur.east.clusterrepository.offsite"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tc.owner, maintenance.OwnerName(*tc.repo))
			user, host := maintenance.Client(*tc.repo, tc.owner)
			assert.Equal(t, "kopiur", user)
			assert.Equal(t, tc.host, host)
			// The same name means the same client to every repository object.
			_, other := maintenance.Client(*nas(func(r *moverjob.Repository) { r.Ref.Name = "else" }), tc.owner)
			assert.Equal(t, tc.host, other)
		})
	}
	user, host := maintenance.Client(*nas(), "root@laptop")
	assert.Equal(t, "root@laptop", user+"@"+host)
	_, host = maintenance.Client(*nas(), "upkeep")
	assert.Equal(t, "upkeep", host)
}

// C-7: TestRule: names of one's own are oneself; anybody only with Force.
func TestRule(t *testing.T) {
	t.Parallel()
	own := kopiurv1.MaintenanceOwnership{Owner: "kopiur/apps/nas", OwnerAliases: []string{"root@laptop", "kopiur/old/nas", "kopiur/apps/nas"}}
	assert.Equal(t, &work.OwnerRule{Aliases: []string{"root@laptop", "kopiur@kopiur-old-nas"}}, maintenance.Rule(*nas(), own, nil))
	assert.Equal(t, &work.OwnerRule{Aliases: []string{"kopiur@kopiur-apps-nas"}}, maintenance.Rule(*nas(), kopiurv1.MaintenanceOwnership{Owner: "upkeep"}, nil),
		"the repository's own client is no stranger")
	assert.True(t, maintenance.Rule(*nas(), kopiurv1.MaintenanceOwnership{Owner: "o", TakeoverPolicy: kopiurv1.TakeoverForce}, nil).Anyone)

	east := kopiurv1.MaintenanceOwnership{Owner: "kopiur/east/apps/nas"}
	before := &kopiurv1.MaintenanceOwner{Owner: "kopiur@kopiur-apps-nas", ClaimedAt: fullSlot}
	assert.Equal(t, []string{"kopiur@kopiur-apps-nas"}, maintenance.Rule(*nas(cluster), east, before).Aliases,
		"a cluster that gets a name goes on with what it has")
	before.ClaimedAt = ""
	assert.Empty(t, maintenance.Rule(*nas(cluster), east, before).Aliases, "a stranger that was merely seen stays a stranger (H-1)")
}

// K-6: TestTaking: between a Lease and its Job nobody takes the Lease for abandoned.
func TestTaking(t *testing.T) {
	t.Parallel()
	written := func(at time.Time) *coordinationv1.Lease {
		return &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{RenewTime: new(metav1.NewMicroTime(at))}}
	}
	for name, tc := range map[string]struct {
		lease *coordinationv1.Lease
		want  bool
	}{
		"just written":                      {written(now.Add(-time.Second)), true},
		"by a clock that is a little ahead": {written(now.Add(time.Second)), true},
		"long ago":                          {written(now.Add(-time.Minute)), false},
		"far ahead, which no clock that is right says":   {written(now.Add(time.Hour)), false},
		"by somebody who does not say when, by hand say": {&coordinationv1.Lease{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tc.want, maintenance.Taking(tc.lease, now))
		})
	}
}

// TestTurnOf: a run that is under way is followed to its end, whatever is edited meanwhile.
func TestTurnOf(t *testing.T) {
	t.Parallel()
	made := func(w maintenance.World, turn maintenance.Turn) *batchv1.Job {
		job, err := maintenance.Build(w, turn, now, moverjob.Images{Mover: "mover"}, "")
		require.NoError(t, err)
		return job
	}
	for name, turn := range map[string]maintenance.Turn{
		"a run of the schedule":       {Mode: full, At: fullSlot},
		"a run that was asked for":    {Mode: quick, At: asked, Manual: true},
		"one of the same time, asked": {Mode: full, At: fullSlot, Manual: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := given() // nothing is due any more
			job := made(w, turn)
			_, found := maintenance.TurnOf(w.Maintenance, job, now)
			assert.False(t, found, "its outcome is recorded")
			w.Maintenance.Status.Job = &kopiurv1.JobStatus{Name: job.Name}
			got, found := maintenance.TurnOf(w.Maintenance, job, now)
			assert.True(t, found)
			assert.Equal(t, turn, got)
		})
	}
	w := given(fullDue)
	got, found := maintenance.TurnOf(w.Maintenance, made(w, maintenance.Turn{Mode: full, At: fullSlot}), now)
	assert.True(t, found, "a Job that was made and not written down is found by its name")
	assert.Equal(t, fullSlot, got.At)
}

func TestBuild(t *testing.T) {
	t.Parallel()
	w := given(func(w *maintenance.World) { w.Maintenance.Spec.Ownership.Owner = "kopiur/ops/upkeep" })
	turn := maintenance.Turn{Mode: full, At: fullSlot}
	job, err := maintenance.Build(w, turn, now, moverjob.Images{Mover: "mover"}, "")
	require.NoError(t, err)
	assert.Equal(t, maintenance.JobName(w.Maintenance, turn), job.Name)
	assert.Equal(t, "nas", job.Labels[kopiurv1.LabelMaintenance])
	assert.Equal(t, kopiurv1.ComponentMaintenance, job.Labels[kopiurv1.LabelComponent])
	assert.Equal(t, fullSlot, job.Annotations[kopiurv1.AnnotationMaintenanceSlot])
	spec, err := work.DecodeSpec(job.Spec.Template.Spec.Containers[0].Env[0].Value)
	require.NoError(t, err)
	assert.Equal(t, "kopiur-ops-upkeep", spec.Repository.Hostname)
	assert.Equal(t, int64(86400), spec.Operation.Maintain.FullIntervalSeconds)
	assert.NotEqual(t, job.Name, maintenance.JobName(w.Maintenance, maintenance.Turn{Mode: full, At: fullSlot, Manual: true}))
}

func TestChild(t *testing.T) {
	t.Parallel()
	owner := metav1.OwnerReference{Name: "nas"}
	m := maintenance.Child(*nas(), owner)
	assert.Equal(t, "apps/nas", m.Namespace+"/"+m.Name)
	assert.Equal(t, "0 */6 * * *", m.Spec.Schedule.Quick.Cron)
	assert.Equal(t, kopiurv1.Duration("30m"), m.Spec.Schedule.Quick.Jitter)
	assert.Equal(t, kopiurv1.TakeoverNever, m.Spec.Ownership.TakeoverPolicy)
	assert.Nil(t, maintenance.Child(*nas(func(r *moverjob.Repository) {
		r.Spec.Maintenance = &kopiurv1.RepositoryMaintenance{Enabled: new(false)}
	}), owner))
	assert.Nil(t, maintenance.Child(*nas(func(r *moverjob.Repository) { r.Spec.Mode = kopiurv1.ModeReadOnly }), owner))
	m = maintenance.Child(*nas(offsite, func(r *moverjob.Repository) {
		r.ProjectionAllowed = true
		r.Spec.Maintenance = &kopiurv1.RepositoryMaintenance{Namespace: "ops", TakeoverPolicy: kopiurv1.TakeoverForce}
	}), owner)
	assert.Equal(t, "ops", m.Namespace)
	assert.True(t, m.Spec.CredentialProjection.Enabled)
	assert.Equal(t, kopiurv1.TakeoverForce, m.Spec.Ownership.TakeoverPolicy)
}

func TestLeaseName(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "kopiur-maintenance-ba7816bf8f01cfea", maintenance.LeaseName("abc"))
}
