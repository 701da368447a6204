// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshotreplication_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	decide "github.com/kopiur/kopiur/controller/internal/decide/snapshotreplication"
	"github.com/kopiur/kopiur/controller/internal/gates"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

func TestDecide(t *testing.T) {
	t.Parallel()
	closed := func(condition, reason string) change {
		return func(w *decide.World) {
			w.Gates = append(w.Gates, decide.Gate{Condition: condition, Verdict: gates.Verdict{Reason: reason, Message: "m"}})
		}
	}
	phase := func(of func(*decide.World) **moverjob.Repository, p kopiurv1.RepositoryPhase) change {
		return func(w *decide.World) { (*of(w)).Status.Phase = p }
	}
	src := func(w *decide.World) **moverjob.Repository { return &w.Source }
	dst := func(w *decide.World) **moverjob.Repository { return &w.Destination }
	failed := func(class string, retry bool) change {
		return func(w *decide.World) {
			st := &w.Replication.Status
			st.Phase, st.ResolvedCredentialVersion = kopiurv1.ReplicationFailed, "1;2"
			st.Failure = &kopiurv1.Failure{KopiaErrorClass: class, RetryRecommended: retry}
		}
	}
	const (
		schedule = kopiurv1.TriggerSchedule
		manual   = kopiurv1.TriggerManual
	)
	for name, tc := range map[string]struct {
		w      decide.World
		action decide.Action
		state  decide.State
		reason string
		phase  kopiurv1.ReplicationPhase
		slot   string
	}{
		"a new one waits for its first turn and does not run at once": {given(), decide.Rest, decide.Ready, "ReplicationScheduled", "Pending", ""},
		"before its turn it rests":                                    {given(pin(next)), decide.Rest, decide.Ready, "ReplicationScheduled", "Pending", ""},
		"when its turn has come it starts":                            {given(pin(passed)), decide.Start, decide.Progressing, "Replicating", "Replicating", passed},
		"a run that is asked for starts at once":                      {given(pin(next), annotated(asked)), decide.Start, decide.Progressing, "Replicating", "Replicating", asked},
		"a request that nobody can read starts nothing":               {given(pin(next), annotated("now")), decide.Rest, decide.Ready, "ReplicationScheduled", "Pending", ""},
		"and does not keep the schedule from running":                 {given(pin(passed), annotated("now")), decide.Start, decide.Progressing, "Replicating", "Replicating", passed},
		"suspended, it does not start":                                {given(pin(passed), suspended), decide.Rest, decide.Ready, "Suspended", "Suspended", ""},
		"suspended, it says that a run waits":                         {given(pin(next), suspended, annotated(asked)), decide.Rest, decide.Ready, "SuspendedWithPendingRun", "Suspended", ""},
		"a source that does not exist is waited for":                  {given(pin(passed), func(w *decide.World) { w.Source = nil }), decide.Rest, decide.Progressing, "WaitingForSourceRepository", "Pending", ""},
		"a source that is not Ready is waited for":                    {given(pin(passed), phase(src, kopiurv1.RepositoryDegraded)), decide.Rest, decide.Progressing, "WaitingForSourceRepository", "Pending", ""},
		"a destination that is not Ready is waited for":               {given(pin(passed), phase(dst, kopiurv1.RepositoryInitializing)), decide.Rest, decide.Progressing, "WaitingForDestinationRepository", "Pending", ""},
		"a read-only destination takes nothing":                       {given(pin(passed), func(w *decide.World) { w.Destination.Spec.Mode = kopiurv1.ModeReadOnly }), decide.Rest, decide.Stalled, "DestinationReadOnly", "Pending", ""},
		"a missing Secret is waited for":                              {given(pin(passed), closed(kopiurv1.ConditionCredentialsAvailable, "MissingCredentialsSecret")), decide.Rest, decide.Progressing, "MissingCredentialsSecret", "Pending", ""},
		"so is a slot":                                                {given(pin(passed), closed(kopiurv1.ConditionRepositorySlotAvailable, "WaitingForSlot")), decide.Rest, decide.Progressing, "WaitingForSlot", "Pending", ""},
		"two repositories in one place are refused": {
			given(pin(passed), func(w *decide.World) { w.Destination.Spec.Backend = w.Source.Spec.Backend }),
			decide.Rest, decide.Stalled, "InvalidSpec", "Failed", "",
		},
		"keys on one side and an identity on the other are refused": {given(pin(passed), func(w *decide.World) {
			w.Source.Spec.Backend.S3.Auth = &kopiurv1.BackendAuth{SecretRef: &kopiurv1.SecretRef{Name: "keys"}}
			w.Destination.Spec.Backend.S3.Auth = &kopiurv1.BackendAuth{WorkloadIdentity: &kopiurv1.WorkloadIdentity{ServiceAccountName: "cloud"}}
		}), decide.Rest, decide.Stalled, "InvalidSpec", "Failed", ""},
		"a schedule that cannot be read is refused": {
			given(func(w *decide.World) {
				w.Source.Spec.ScheduleDefaults = &kopiurv1.ScheduleDefaults{Timezone: "Moon/Base"}
			}),
			decide.Rest, decide.Stalled, "InvalidSchedule", "Failed", "",
		},

		"a run whose Job is not there gets it":                {given(running(schedule, passed), func(w *decide.World) { w.Job, w.Outcome.State = nil, moverjob.Absent }), decide.Start, decide.Progressing, "Replicating", "Replicating", passed},
		"but not while it is suspended":                       {given(running(schedule, passed), suspended, func(w *decide.World) { w.Job, w.Outcome.State = nil, moverjob.Absent }), decide.Rest, decide.Progressing, "Suspended", "Replicating", passed},
		"a mover at work is watched":                          {given(running(schedule, passed)), decide.Rest, decide.Progressing, "Replicating", "Replicating", passed},
		"also where it was suspended meanwhile":               {given(running(schedule, passed), suspended), decide.Rest, decide.Progressing, "Replicating", "Replicating", passed},
		"a request meanwhile waits for its end":               {given(running(schedule, passed), annotated(asked)), decide.Rest, decide.Progressing, "Replicating", "Replicating", passed},
		"one whose node is lost is waited for":                {given(running(schedule, passed), func(w *decide.World) { w.Outcome = moverjob.Outcome{State: moverjob.NodeLost, Message: "node gone"} }), decide.Rest, decide.Progressing, "NodeLost", "Replicating", passed},
		"what it told is recorded first":                      {given(running(schedule, passed), result(work.CodeOK, copied(3)), func(w *decide.World) { w.Records.Rows = false }), decide.Rows, decide.Progressing, "Replicating", "Replicating", passed},
		"also where it failed":                                {given(running(schedule, passed), result(work.CodeVerificationFailed, copied(3)), func(w *decide.World) { w.Records.Rows = false }), decide.Rows, decide.Progressing, "Replicating", "Replicating", passed},
		"copies that are not kept go before the end":          {given(running(schedule, passed), result(work.CodeOK, copied(3)), func(w *decide.World) { w.Records.Doomed = 2 }), decide.Prune, decide.Progressing, "Replicating", "Replicating", passed},
		"not where that is held":                              {given(running(schedule, passed), result(work.CodeOK, copied(3)), func(w *decide.World) { w.Records.Doomed, w.Records.Held = 2, "h" }), decide.Rest, decide.Ready, "Replicated", "Succeeded", ""},
		"and never after a failure":                           {given(running(schedule, passed), result(work.CodeVerificationFailed, copied(3)), func(w *decide.World) { w.Records.Doomed = 2 }), decide.Rest, decide.Stalled, "ReplicationFailed", "Failed", ""},
		"a success ends the run":                              {given(running(schedule, passed), result(work.CodeOK, copied(3))), decide.Rest, decide.Ready, "Replicated", "Succeeded", ""},
		"so does a failure that may pass":                     {given(running(schedule, passed), result(work.CodeRepositoryUnavailable, nil)), decide.Rest, decide.Progressing, "ReplicationFailed", "Failed", ""},
		"and a result that was lost":                          {given(running(schedule, passed), func(w *decide.World) { w.Outcome.State = moverjob.ResultLost }), decide.Rest, decide.Progressing, "ReplicationFailed", "Failed", ""},
		"a success that says nothing is a failure":            {given(running(schedule, passed), result(work.CodeOK, nil)), decide.Rest, decide.Stalled, "ReplicationFailed", "Failed", ""},
		"patterns that select nothing are told":               {given(running(schedule, passed), selecting("nobody"), result(work.CodeOK, &work.MigrateResult{})), decide.Rest, decide.Stalled, "NoIdentitiesMatched", "Failed", ""},
		"an empty source without patterns is none":            {given(running(schedule, passed), result(work.CodeOK, &work.MigrateResult{})), decide.Rest, decide.Ready, "Replicated", "Succeeded", ""},
		"after a failure for good it waits for the next turn": {given(pin(next), failed("AuthFailure", false)), decide.Rest, decide.Stalled, "ReplicationFailed", "Failed", ""},
		"but not where the credentials have changed":          {given(pin(next), failed("AuthFailure", false), func(w *decide.World) { w.CredentialVersion = "1;3" }), decide.Start, decide.Progressing, "Replicating", "Replicating", "2026-03-05T12:00:00Z"},
		"nor where it was edited":                             {given(pin(next), failed("AuthFailure", false), func(w *decide.World) { w.Replication.Generation = 2 }), decide.Start, decide.Progressing, "Replicating", "Replicating", "2026-03-05T12:00:00Z"},
		"a failure that may pass is not hurried by that":      {given(pin(next), failed("Locked", true), func(w *decide.World) { w.Replication.Generation = 2 }), decide.Rest, decide.Progressing, "ReplicationFailed", "Failed", ""},
		"a run that was made already is not made again": {given(pin(next), annotated(asked), func(w *decide.World) {
			w.Replication.Status.ManualRun = &kopiurv1.ManualRun{RequestedAt: asked, Phase: kopiurv1.RunSucceeded}
		}), decide.Rest, decide.Ready, "ReplicationScheduled", "Pending", ""},
		"another value asks again": {given(pin(next), annotated(asked), func(w *decide.World) {
			w.Replication.Status.ManualRun = &kopiurv1.ManualRun{RequestedAt: passed, Phase: kopiurv1.RunSucceeded}
		}), decide.Start, decide.Progressing, "Replicating", "Replicating", asked},
		"a request while another run is due is made first": {given(pin(passed), annotated(asked)), decide.Start, decide.Progressing, "Replicating", "Replicating", asked},
		"a manual run ends": {given(running(manual, asked), annotated(asked), result(work.CodeOK, copied(1))), decide.Rest, decide.Ready, "Replicated", "Succeeded", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := tc.w.Replication.DeepCopy()
			p := decide.Decide(tc.w, now)
			assert.Equal(t, tc.action, p.Action)
			assert.Equal(t, tc.reason, p.Reason, p.Message)
			assert.Equal(t, tc.state, p.State)
			assert.Equal(t, tc.phase, p.Status.Phase)
			assert.NotEmpty(t, p.Message)
			assert.Equal(t, before, tc.w.Replication, "it is not changed")
			got := ""
			if p.Status.Run != nil {
				got = p.Status.Run.Slot
			}
			assert.Equal(t, tc.slot, got)
			if p.Action == decide.Start {
				require.NotNil(t, p.Job)
				assert.Equal(t, p.Status.Job.Name, p.Job.Name)
			}
		})
	}
}

func selecting(user string) change {
	return func(w *decide.World) {
		w.Replication.Spec.Selection = &kopiurv1.SnapshotSelection{Identities: &kopiurv1.IdentitySelection{Include: []kopiurv1.IdentityPattern{{Username: user}}}}
	}
}

// I-6: what was asked for has an end in the status, whatever came of it, and the next turn counts from there.
func TestARunThatWasAskedForHasAnEnd(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		end   change
		phase kopiurv1.RunPhase
		next  string
	}{
		"a success":               {result(work.CodeOK, copied(1)), kopiurv1.RunSucceeded, next},
		"a failure for good":      {result(work.CodeAuthFailure, nil), kopiurv1.RunFailed, next},
		"a failure that may pass": {result(work.CodeLocked, nil), kopiurv1.RunFailed, "2026-03-05T12:02:00Z"},
		"a pod that never starts": {func(w *decide.World) { w.Outcome.State = moverjob.Wedged }, kopiurv1.RunFailed, "2026-03-05T12:02:00Z"},
		"a deadline":              {func(w *decide.World) { w.Outcome.State = moverjob.DeadlineKilled }, kopiurv1.RunFailed, "2026-03-05T12:02:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := decide.Decide(given(pin("2026-03-05T12:30:00Z"), running(kopiurv1.TriggerManual, asked), annotated(asked), tc.end), now)
			assert.Equal(t, &kopiurv1.ManualRun{RequestedAt: asked, Phase: tc.phase, CompletedAt: "2026-03-05T12:00:00Z"}, p.Status.ManualRun)
			assert.Equal(t, tc.next, p.Status.NextScheduledAt)
			assert.Nil(t, p.Status.Run)
			assert.NotEmpty(t, p.Ended)
			assert.Equal(t, kopiurv1.TriggerManual, p.Trigger)
			require.Len(t, p.Notes, 1)
		})
	}
	bad := decide.Decide(given(annotated("now")), now)
	assert.Equal(t, &kopiurv1.ManualRun{RequestedAt: "now", Phase: kopiurv1.RunFailed, CompletedAt: "2026-03-05T12:00:00Z"}, bad.Status.ManualRun)
	assert.Equal(t, kopiurv1.ReasonInvalidRunRequest, bad.Notes[0].Reason)
	again := decide.Decide(given(annotated("now"), func(w *decide.World) { w.Replication.Status.ManualRun = bad.Status.ManualRun }), now)
	assert.Empty(t, again.Notes, "it is told once")
}

func TestFailuresInARowRestLonger(t *testing.T) {
	t.Parallel()
	w := given(running(kopiurv1.TriggerSchedule, passed), result(work.CodeRepositoryUnavailable, nil))
	for n, at := range []string{"2026-03-05T12:02:00Z", "2026-03-05T12:04:00Z", "2026-03-05T12:08:00Z", "2026-03-05T12:16:00Z", "2026-03-05T12:30:00Z", "2026-03-05T12:30:00Z"} {
		p := decide.Decide(w, now)
		assert.Equal(t, at, p.Status.NextScheduledAt)
		assert.Equal(t, int32(n+1), p.Status.ConsecutiveFailures)
		w.Replication.Status.ConsecutiveFailures = p.Status.ConsecutiveFailures
	}
	good := decide.Decide(given(running(kopiurv1.TriggerSchedule, passed), result(work.CodeOK, copied(3)), func(w *decide.World) {
		w.Replication.Status.ConsecutiveFailures, w.Replication.Status.Failure = 6, &kopiurv1.Failure{KopiaErrorClass: "Locked"}
		w.Records.Pruned = 5
	}), now)
	assert.Zero(t, good.Status.ConsecutiveFailures)
	assert.Nil(t, good.Status.Failure)
	assert.Equal(t, "2026-03-05T11:59:00Z", good.Status.LastReplicated, "when the mover ended")
	assert.Equal(t, &kopiurv1.SnapshotReplicationRun{IdentitiesSelected: 2, SnapshotsCopied: 3, AlreadyPresent: 4, Pruned: 5}, good.Status.LastRun)
}

// A run that is made again within one second of the one before is another one: its Job must not be taken for that one's.
func TestTwoRunsOfOneSecondHaveTwoJobs(t *testing.T) {
	t.Parallel()
	w := given(pin(now.Format("2006-01-02T15:04:05Z")))
	one := decide.Decide(w, now)
	require.Equal(t, decide.Start, one.Action)
	w.Replication.Status = *one.Status.DeepCopy()
	w.Job = one.Job
	result(work.CodeAuthFailure, nil)(&w)
	failed := decide.Decide(w, now)
	w.Replication.Status = failed.Status
	w.Job, w.CredentialVersion = nil, "1;3"
	two := decide.Decide(w, now)
	require.Equal(t, decide.Start, two.Action)
	assert.Equal(t, one.Status.Run.Slot, two.Status.Run.Slot)
	assert.NotEqual(t, one.Job.Name, two.Job.Name)
}

// A run whose records do not fit into one log goes on in another Job, with the cursor of the one before.
func TestARunOfSeveralParts(t *testing.T) {
	t.Parallel()
	m := copied(3)
	m.Cursor = "2026-03-01T09:00:00.000000789Z"
	w := given(running(kopiurv1.TriggerSchedule, passed), result(work.CodeOK, m), pruning(kopiurv1.ReplicationPruning{MirrorSource: &kopiurv1.PruneMirrorSource{}}), func(w *decide.World) { w.Records.Doomed = 9 })
	p := decide.Decide(w, now)
	require.Equal(t, decide.Start, p.Action, "nothing is deleted before the last part")
	assert.Equal(t, int32(2), p.Status.Run.Part)
	assert.Equal(t, string(m.Cursor), p.Status.Run.Cursor)
	assert.NotEqual(t, w.Job.Name, p.Job.Name)
	spec, err := work.DecodeSpec(p.Job.Spec.Template.Spec.Containers[0].Env[0].Value)
	require.NoError(t, err)
	assert.Equal(t, m.Cursor, spec.Operation.Migrate.Cursor)

	w.Replication.Status = *p.Status.DeepCopy()
	w.Outcome.Result.Migrate = &work.MigrateResult{IdentitiesSelected: 2, AlreadyPresent: 7, Pages: 1}
	w.Records.Doomed = 0
	p = decide.Decide(w, now)
	assert.Equal(t, decide.EndedOK, p.Ended)
	assert.Equal(t, &kopiurv1.SnapshotReplicationRun{IdentitiesSelected: 2, SnapshotsCopied: 3, AlreadyPresent: 4}, p.Status.LastRun, "the first part copied")
}

// What a mover told is of the spec that it was made from. By another one, what it did not list passes for gone, and what it
// copied for copied elsewhere: nothing is recorded or deleted by it, and the run is made again.
func TestARunWhoseSpecWasEditedIsMadeAgain(t *testing.T) {
	t.Parallel()
	more := func(w *decide.World) { w.Records.Doomed = 2 }
	rows := func(w *decide.World) { w.Records.Rows = false }
	for name, tc := range map[string]struct {
		edit   func(*kopiurv1.SnapshotReplicationSpec)
		end    change
		action decide.Action
	}{
		"more is selected, and what is to be deleted was judged by that": {
			func(s *kopiurv1.SnapshotReplicationSpec) {
				s.Selection = &kopiurv1.SnapshotSelection{Identities: &kopiurv1.IdentitySelection{Exclude: []kopiurv1.IdentityPattern{{Username: "x"}}}}
			}, more, decide.Start,
		},
		"it copies from elsewhere": {func(s *kopiurv1.SnapshotReplicationSpec) { s.SourceRef.Name = "other" }, more, decide.Start},
		"it copies to elsewhere, and the copies have no Snapshots": {
			func(s *kopiurv1.SnapshotReplicationSpec) { s.DestinationRef.Name = "other" }, rows, decide.Start,
		},
		"it is to be suspended, which is no other work": {func(s *kopiurv1.SnapshotReplicationSpec) { s.Suspend = true }, more, decide.Prune},
		"only the schedule is another":                  {func(s *kopiurv1.SnapshotReplicationSpec) { s.Schedule.Cron = "0 4 * * *" }, more, decide.Prune},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := given(running(kopiurv1.TriggerManual, asked), annotated(asked), selecting("web"), pruning(kopiurv1.ReplicationPruning{MirrorSource: &kopiurv1.PruneMirrorSource{}}),
				result(work.CodeOK, copied(3)), tc.end, edited(tc.edit))
			p := decide.Decide(w, now)
			require.Equal(t, tc.action, p.Action, p.Message)
			assert.Empty(t, p.Ended)
			require.NotNil(t, p.Status.Run)
			if p.Action != decide.Start {
				return
			}
			assert.Equal(t, asked, p.Status.Run.Slot)
			assert.Equal(t, int32(1), p.Status.Run.Part)
			assert.NotEqual(t, w.Job.Name, p.Job.Name, "its Job is another one")
			require.Len(t, p.Notes, 1)
		})
	}
	w := given(running(kopiurv1.TriggerSchedule, passed), result(work.CodeOK, copied(3)), edited(func(s *kopiurv1.SnapshotReplicationSpec) {
		s.SourceRef.Name, s.Suspend = "other", true
	}))
	p := decide.Decide(w, now)
	assert.Equal(t, decide.Rest, p.Action, "not while it is suspended")
	assert.Equal(t, kopiurv1.ReasonSuspended, p.Reason)
	require.NotNil(t, p.Status.Run)
	assert.NotEqual(t, w.Job.Name, decide.JobName(w.Replication, *p.Status.Run))
}

func TestTheJob(t *testing.T) {
	t.Parallel()
	w := given(selecting("web*"), func(w *decide.World) {
		s := &w.Replication.Spec
		s.Selection.LatestOnly = true
		s.Migrate = &kopiurv1.Migrate{Parallel: new(int32(4)), Policies: kopiurv1.MigratePoliciesCopy, Throttle: &kopiurv1.MigrateThrottle{
			Source: &kopiurv1.Throttle{DownloadBytesPerSecond: 5}, Destination: &kopiurv1.Throttle{UploadBytesPerSecond: 6},
		}}
		s.Pruning = &kopiurv1.ReplicationPruning{Retention: &kopiurv1.Retention{KeepDaily: new(int32(7))}}
		w.Source.Spec.MoverDefaults = &kopiurv1.MoverDefaults{PodLabels: map[string]string{"of": "source"}}
		w.Destination.Spec.MoverDefaults = &kopiurv1.MoverDefaults{PodLabels: map[string]string{"of": "destination"}}
	})
	turn := kopiurv1.SnapshotReplicationTurn{Slot: passed, Trigger: kopiurv1.TriggerSchedule, Part: 1}
	job, err := decide.Build(w, turn)
	require.NoError(t, err)
	assert.Equal(t, decide.JobName(w.Replication, turn), job.Name)
	assert.Equal(t, "apps", job.Namespace)
	assert.Equal(t, "source", job.Labels["of"], "the source's moverDefaults count")
	assert.Equal(t, "offsite", job.Labels[kopiurv1.LabelReplication])
	assert.Equal(t, kopiurv1.ComponentReplication, job.Spec.Template.Labels[kopiurv1.LabelComponent])
	assert.Equal(t, passed, job.Annotations[kopiurv1.AnnotationReplicationSlot])
	spec, err := work.DecodeSpec(job.Spec.Template.Spec.Containers[0].Env[0].Value)
	require.NoError(t, err)
	m := spec.Operation.Migrate
	assert.Equal(t, "u-1", spec.RequestID, "its copies say whose they are")
	assert.Equal(t, int64(5), spec.Repository.Throttle.DownloadBytesPerSecond)
	assert.Equal(t, int64(6), m.Destination.Throttle.UploadBytesPerSecond)
	assert.Equal(t, &work.Keep{Daily: 7}, m.Keep)
	assert.Equal(t, []work.IdentityGlob{{Username: "web*"}}, m.Selection.Include)
	assert.True(t, m.LatestOnly)
	assert.True(t, m.ReportPresent)
	assert.Equal(t, 4, m.Parallel)
	assert.Equal(t, work.MigratePoliciesCopy, m.Policies)
	assert.Equal(t, "22ff", m.Destination.ExpectedUniqueID)
	w.Source = nil
	_, err = decide.Build(w, turn)
	require.Error(t, err)
}
