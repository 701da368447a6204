// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshotreplication_test

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	decide "github.com/kopiur/kopiur/controller/internal/decide/snapshotreplication"
	"github.com/kopiur/kopiur/controller/internal/gates"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

// now is a Thursday; the next turn of the fixture is at three in the morning.
var now = time.Date(2026, 3, 5, 12, 0, 0, 0, time.UTC)

const (
	next   = "2026-03-06T03:00:00Z"
	passed = "2026-03-05T03:00:00Z"
	asked  = "2026-03-05T11:59:00Z"
)

type change func(*decide.World)

func repository(name, id string) *moverjob.Repository {
	r := &kopiurv1.Repository{}
	r.Name, r.Namespace, r.UID = name, "apps", "uid-of-"+"x"
	r.Spec.Backend.S3 = &kopiurv1.S3Backend{Bucket: name}
	r.Spec.Encryption.PasswordSecretRef.Name = name + "-password"
	r.Status.Phase, r.Status.UniqueID = kopiurv1.RepositoryReady, id
	out := moverjob.FromRepository(r)
	return &out
}

// given is a replication from nas to away, every night.
func given(changes ...change) decide.World {
	o := &kopiurv1.SnapshotReplication{}
	o.Name, o.Namespace, o.UID, o.Generation = "offsite", "apps", "u-1", 1
	o.Spec.SourceRef.Name, o.Spec.DestinationRef.Name = "nas", "away"
	o.Spec.Schedule.Cron = "0 3 * * *"
	o.Status.ObservedGeneration = 1
	w := decide.World{
		Replication: o, Source: repository("nas", "0011"), Destination: repository("away", "22ff"), CredentialVersion: "1;2",
		Outcome: moverjob.Outcome{State: moverjob.Absent, Terminal: true}, Image: moverjob.Images{Mover: "mover"},
		Gates: []decide.Gate{{Condition: kopiurv1.ConditionCredentialsAvailable, Verdict: gates.Verdict{Open: true, Reason: "Succeeded"}}},
	}
	for _, f := range changes {
		f(&w)
	}
	tells(&w)
	return w
}

// tells gives a Job the pod that the world's own would have.
func tells(w *decide.World) {
	if w.Job == nil || w.Source == nil || w.Destination == nil || len(w.Job.Spec.Template.Spec.Containers) > 0 {
		return
	}
	if job, err := decide.Build(*w, *w.Replication.Status.Run); err == nil {
		w.Job.Spec = job.Spec
	}
}

// edited changes the spec while the mover is at work.
func edited(f func(*kopiurv1.SnapshotReplicationSpec)) change {
	return func(w *decide.World) {
		tells(w)
		w.Replication.Generation++
		f(&w.Replication.Spec)
	}
}

// rule is how the fixture's schedule reads in a status.
const rule = "0 3 * * * UTC"

func pin(at string) change {
	return func(w *decide.World) { w.Replication.Status.NextScheduledAt, w.Replication.Status.Schedule = at, rule }
}

func annotated(value string) change {
	return func(w *decide.World) {
		w.Replication.Annotations = map[string]string{kopiurv1.AnnotationRunRequested: value}
	}
}

func suspended(w *decide.World) { w.Replication.Spec.Suspend = true }

func running(trigger kopiurv1.ReplicationTrigger, slot string) change {
	return func(w *decide.World) {
		st := &w.Replication.Status
		st.Run = &kopiurv1.SnapshotReplicationTurn{Slot: slot, Trigger: trigger, Part: 1}
		st.Job = &kopiurv1.JobStatus{Name: decide.JobName(w.Replication, *st.Run)}
		if trigger == kopiurv1.TriggerManual {
			st.ManualRun = &kopiurv1.ManualRun{RequestedAt: slot, Phase: kopiurv1.RunRunning}
		}
		w.Job = &batchv1.Job{}
		w.Job.Name, w.Job.UID = st.Job.Name, "job"
		w.Outcome = moverjob.Outcome{State: moverjob.Running}
	}
}

// result ends the mover.
func result(code work.Code, m *work.MigrateResult) change {
	return func(w *decide.World) {
		w.Outcome = moverjob.Outcome{State: moverjob.Finished, Terminal: true, Result: &work.Result{
			Operation: "migrate", Code: code, Message: "as the mover says", EndTime: now.Add(-time.Minute), Migrate: m,
		}}
		w.Records.Rows, w.Records.Whole = true, true
	}
}

func copied(n int64) *work.MigrateResult {
	return &work.MigrateResult{UniqueID: "22ff", IdentitiesSelected: 2, SnapshotsCopied: n, AlreadyPresent: 4, Pages: 1}
}

var web = work.Identity{Username: "web", Hostname: "apps", Path: "/pvc/data"}

// record of the n-th snapshot, one an hour.
func record(n int, edit ...func(*work.CopyRecord)) work.CopyRecord {
	at := time.Date(2026, 3, 1, n, 0, 0, 789, time.UTC)
	r := work.CopyRecord{
		SourceID: fmt.Sprintf("s%02d", n), SnapshotID: fmt.Sprintf("c%02d", n), Identity: web, StartTime: at, EndTime: at.Add(time.Minute), SizeBytes: 10, FileCount: 2, By: "u-1",
	}
	for _, f := range edit {
		f(&r)
	}
	return r
}

func records(from, to int) []work.CopyRecord {
	var out []work.CopyRecord
	for n := from; n < to; n++ {
		out = append(out, record(n))
	}
	return out
}

// rows are the Snapshots of copies.
func rows(w decide.World, list []work.CopyRecord) []*kopiurv1.Snapshot {
	var out []*kopiurv1.Snapshot
	for _, r := range list {
		s := decide.Row(w, r, now)
		s.UID = "uid"
		out = append(out, s)
	}
	return out
}
