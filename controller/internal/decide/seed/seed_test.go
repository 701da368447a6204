// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package seed_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/validation"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/decide/connect"
	"github.com/kopiur/kopiur/controller/internal/decide/seed"
	"github.com/kopiur/kopiur/controller/internal/gates"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

var now = time.Date(2026, 3, 5, 12, 0, 0, 0, time.UTC)

type change func(*seed.Input)

func open(version string) gates.Credentials {
	return gates.Credentials{Verdict: gates.Verdict{Open: true, Reason: "Succeeded"}, Version: version}
}

func onS3(bucket string) kopiurv1.Backend {
	return kopiurv1.Backend{S3: &kopiurv1.S3Backend{Bucket: bucket}}
}

// given is a new repository that is to be a copy of what is in bucket mirror.
func given(changes ...change) seed.Input {
	in := seed.Input{
		Repository: kopiurv1.RepositoryRef{Kind: "Repository", Namespace: "apps", Name: "nas"},
		Creds:      open("1"), SourceCreds: open("2"),
		Volume: gates.Verdict{Open: true}, SourceVolume: gates.Verdict{Open: true}, Permitted: gates.Verdict{Open: true},
	}
	in.Spec.Backend = onS3("nas")
	in.Spec.Seed = &kopiurv1.SeedSpec{From: kopiurv1.SeedSource{Backend: new(onS3("mirror"))}}
	for _, f := range changes {
		f(&in)
	}
	return in
}

// fromRepository fills it with the snapshots of another one instead.
func fromRepository(in *seed.Input) {
	in.Spec.Seed.From = kopiurv1.SeedSource{Repository: &kopiurv1.RepositoryRef{Name: "old"}}
	r := &kopiurv1.Repository{}
	r.Name, r.Namespace = "old", "apps"
	r.Spec.Backend = onS3("old")
	r.Status.Phase, r.Status.UniqueID = kopiurv1.RepositoryReady, "0011"
	in.Source = new(moverjob.FromRepository(r))
}

func flying(o moverjob.Outcome) change {
	return func(in *seed.Input) {
		in.Status.Seed = &kopiurv1.SeedStatus{Mode: kopiurv1.SeedBlob, Source: "bucket mirror", StartedAt: "2026-03-05T11:00:00Z"}
		in.Status.Job = &kopiurv1.ConnectJob{Name: "job", Attempts: 1}
		in.SameInputs = true
		in.Flight = &connect.Flight{Name: "job", Attempt: 1, Outcome: o}
	}
}

func ends(code work.Code, message string, r *work.SeedResult) change {
	return flying(moverjob.Outcome{State: moverjob.Finished, Result: &work.Result{Operation: "seed", Code: code, Message: message, Seed: r}})
}

func rested(phase kopiurv1.RepositoryPhase, ago time.Duration) change {
	return func(in *seed.Input) {
		in.SameInputs = true
		in.Status.Phase = phase
		in.Status.Job = &kopiurv1.ConnectJob{Name: "job", Attempts: 1, Failures: 1, FinishedAt: now.Add(-ago).Format(time.RFC3339)}
	}
}

func TestDecide(t *testing.T) {
	t.Parallel()
	state := func(s moverjob.State) change { return flying(moverjob.Outcome{State: s, Message: "m"}) }
	for name, tc := range map[string]struct {
		in      seed.Input
		start   bool
		verdict connect.Verdict
		reason  string
		phase   kopiurv1.RepositoryPhase
	}{
		"it starts at once":               {given(), true, connect.Progressing, "Seeding", "Initializing"},
		"from another repository, too":    {given(fromRepository), true, connect.Progressing, "Seeding", "Initializing"},
		"not while it is suspended":       {given(func(in *seed.Input) { in.Spec.Suspend = true }), false, connect.Progressing, "Suspended", "Initializing"},
		"not with a spec that is refused": {given(func(in *seed.Input) { in.Refusal = validation.Refusal{Reason: "InvalidSpec", Message: "m"} }), false, connect.Stalled, "InvalidSpec", "Failed"},
		"not without its credentials": {given(func(in *seed.Input) {
			in.Creds = gates.Credentials{Verdict: gates.Verdict{Reason: "MissingCredentialsSecret"}}
		}), false, connect.Progressing, "MissingCredentialsSecret", "Initializing"},
		"not without those of the source": {given(func(in *seed.Input) {
			in.SourceCreds = gates.Credentials{Verdict: gates.Verdict{Reason: "MissingCredentialsSecret", Message: "m"}}
		}), false, connect.Progressing, "WaitingForSeedSource", "Initializing"},
		"not from a repository that does not exist": {given(fromRepository, func(in *seed.Input) { in.Source = nil }), false, connect.Progressing, "WaitingForSeedSource", "Initializing"},
		"not from one that is not Ready":            {given(fromRepository, func(in *seed.Input) { in.Source.Status.Phase = kopiurv1.RepositoryDegraded }), false, connect.Progressing, "WaitingForSeedSource", "Initializing"},
		"not where keys of one side would be used for the other": {given(fromRepository, func(in *seed.Input) {
			in.Source.Spec.Backend.S3.Auth = &kopiurv1.BackendAuth{SecretRef: &kopiurv1.SecretRef{Name: "keys"}}
			in.Spec.Backend.S3.Auth = &kopiurv1.BackendAuth{WorkloadIdentity: &kopiurv1.WorkloadIdentity{ServiceAccountName: "cloud"}}
		}), false, connect.Stalled, "SeedSourceAuthConflict", "Failed"},
		"not from where it is itself":                         {given(fromRepository, func(in *seed.Input) { in.Source.Spec.Backend = in.Spec.Backend }), false, connect.Stalled, "SeedSourceAuthConflict", "Failed"},
		"not without permission":                              {given(func(in *seed.Input) { in.Permitted = gates.Verdict{Reason: "PrivilegedMoverNotPermitted"} }), false, connect.Progressing, "PrivilegedMoverNotPermitted", "Initializing"},
		"not beside a pod of an older attempt":                {given(func(in *seed.Input) { in.Lingering = "pod apps/x" }), false, connect.Progressing, "Seeding", "Initializing"},
		"not right after a failure":                           {given(rested(kopiurv1.RepositoryInitializing, time.Minute)), false, connect.Keep, "", "Initializing"},
		"but two minutes later":                               {given(rested(kopiurv1.RepositoryInitializing, 2*time.Minute)), true, connect.Progressing, "Seeding", "Initializing"},
		"a refused source rests for longer":                   {given(rested(kopiurv1.RepositoryFailed, 20*time.Minute)), false, connect.Keep, "", "Failed"},
		"not where the inputs have changed":                   {given(rested(kopiurv1.RepositoryFailed, time.Second), func(in *seed.Input) { in.SameInputs = false }), true, connect.Progressing, "Seeding", "Initializing"},
		"a mover at work is watched":                          {given(state(moverjob.Running)), false, connect.Progressing, "Seeding", "Initializing"},
		"also while suspended":                                {given(state(moverjob.Running), func(in *seed.Input) { in.Spec.Suspend = true }), false, connect.Progressing, "Seeding", "Initializing"},
		"a lost node is waited for":                           {given(state(moverjob.NodeLost)), false, connect.Progressing, "NodeLost", "Initializing"},
		"a lost result is asked for again":                    {given(state(moverjob.ResultLost)), false, connect.Progressing, "SeedIncomplete", "Initializing"},
		"a Job that is gone is made again":                    {given(state(moverjob.Absent)), true, connect.Progressing, "Seeding", "Initializing"},
		"an outage passes":                                    {given(ends(work.CodeRepositoryUnavailable, "m", nil)), false, connect.Progressing, "SeedIncomplete", "Initializing"},
		"a seed of which nobody knows what is tried again":    {given(ends(work.CodeOK, "", nil)), false, connect.Progressing, "SeedIncomplete", "Initializing"},
		"so is one without an id":                             {given(ends(work.CodeOK, "", &work.SeedResult{SnapshotCount: 3})), false, connect.Progressing, "SeedIncomplete", "Initializing"},
		"an empty repository is not taken for the seeded one": {given(ends(work.CodeOK, "", &work.SeedResult{UniqueID: "22", AlreadyInitialized: true})), false, connect.Stalled, "AlreadyInitialized", "Failed"},
		"an empty source is refused":                          {given(ends(work.CodeSourceEmpty, "m", nil)), false, connect.Stalled, "SeedSourceEmpty", "Failed"},
		"a source that is not there is refused":               {given(ends(work.CodeNotFound, "at the source: no bucket", nil)), false, connect.Stalled, "SeedSourceNotFound", "Failed"},
		"a place that is not there is no fault of the source": {given(ends(work.CodeNotFound, "at the destination: no bucket", nil)), false, connect.Stalled, "SeedIncomplete", "Failed"},
		"a snapshot that cannot be read is no success":        {given(ends(work.CodeVerificationFailed, "m", &work.SeedResult{UniqueID: "22"})), false, connect.Stalled, "SeedIncomplete", "Failed"},
		"a mover that knows no seeds is named":                {given(ends(work.CodeInvalidSpec, `json: unknown field "seed"`, nil)), false, connect.Stalled, "MoverImageTooOldForSeed", "Failed"},
		"a success that says nothing is none":                 {given(ends(work.CodeOK, "", nil)), false, connect.Progressing, "SeedIncomplete", "Initializing"},
		"after a success it is connected to":                  {given(ends(work.CodeOK, "", &work.SeedResult{UniqueID: "22", SnapshotCount: 3})), false, connect.Progressing, "Connecting", "Initializing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.True(t, seed.Armed(tc.in.Spec, tc.in.Status))
			p := seed.Decide(tc.in, now)
			assert.Equal(t, tc.start, p.Start)
			assert.Equal(t, tc.verdict, p.Verdict)
			assert.Equal(t, tc.reason, p.Reason, p.Message)
			assert.Equal(t, tc.phase, p.Status.Phase)
			assert.NotEqual(t, connect.Ready, p.Verdict, "never Ready before it was connected to")
			if tc.reason != "Connecting" {
				assert.Empty(t, p.Status.UniqueID)
				assert.True(t, seed.Armed(tc.in.Spec, p.Status), "it has not ended")
			}
			if p.Start {
				assert.NotEmpty(t, p.Status.Seed.StartedAt)
				assert.NotEmpty(t, p.Status.Seed.Source)
			}
		})
	}
}

func TestTheEndOfASeed(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		r      work.SeedResult
		reason string
		change change
	}{
		"filled":                   {work.SeedResult{UniqueID: "22", SnapshotCount: 3, BlobsCopied: 9}, "Seeded", nil},
		"somebody was there first": {work.SeedResult{UniqueID: "22", SnapshotCount: 7, AlreadyInitialized: true}, "AlreadyInitialized", nil},
		"left empty, as allowed":   {work.SeedResult{LeftEmpty: true}, "SeedLeftEmpty", nil},
		"an empty one was there, which is allowed as well": {work.SeedResult{UniqueID: "22", AlreadyInitialized: true}, "AlreadyInitialized", func(in *seed.Input) { in.Spec.Seed.AllowEmptySource = true }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := given(ends(work.CodeOK, "", &tc.r))
			if tc.change != nil {
				tc.change(&in)
			}
			p := seed.Decide(in, now)
			assert.Equal(t, tc.r.UniqueID, p.Status.UniqueID, "pinned at once: nothing is ever created in its place")
			assert.Nil(t, p.Status.Job)
			assert.Equal(t, "2026-03-05T12:00:00Z", p.Status.Seed.SeededAt)
			assert.Equal(t, "2026-03-05T11:00:00Z", p.Status.Seed.StartedAt)
			assert.Equal(t, tc.r.SnapshotCount, p.Status.Seed.SnapshotCount)
			assert.False(t, seed.Armed(in.Spec, p.Status), "once")
			assert.Contains(t, p.Conditions, connect.Condition{Type: "Seeded", Status: metav1.ConditionTrue, Reason: tc.reason, Message: p.Conditions[len(p.Conditions)-1].Message})
			// What the first connect is asked for.
			assert.Equal(t, tc.r.UniqueID == "", connect.Operation(in.Spec, p.Status).Create != nil)
		})
	}
}

// A repository whose id is known is never seeded, whatever its spec says (K-8).
func TestArmed(t *testing.T) {
	t.Parallel()
	in := given()
	assert.True(t, seed.Armed(in.Spec, in.Status))
	known := in.Status
	known.UniqueID = "0011"
	assert.False(t, seed.Armed(in.Spec, known))
	assert.False(t, seed.Armed(kopiurv1.RepositorySpec{}, in.Status))
}

func TestTheJob(t *testing.T) {
	t.Parallel()
	repo := func(in seed.Input) moverjob.Repository {
		r := &kopiurv1.Repository{}
		r.Name, r.Namespace, r.UID, r.Spec = "nas", "apps", "u", in.Spec
		r.Spec.Encryption.PasswordSecretRef.Name = "password"
		return moverjob.FromRepository(r)
	}
	owner := &kopiurv1.Repository{}
	owner.Name, owner.Namespace, owner.UID = "nas", "apps", "u"
	build := func(in seed.Input) work.Spec {
		r := moverjob.Request{Owner: owner, GVK: kopiurv1.GroupVersion.WithKind("Repository"), Letter: "r", Namespace: "apps", Image: moverjob.Images{Mover: "m"}, Repository: repo(in)}
		seed.Fill(&r, in.Source)
		job, err := moverjob.Build(r)
		require.NoError(t, err)
		assert.Equal(t, seed.Operation, job.Labels[kopiurv1.LabelOperation])
		assert.GreaterOrEqual(t, *job.Spec.ActiveDeadlineSeconds, seed.DeadlineSeconds)
		spec, err := work.DecodeSpec(job.Spec.Template.Spec.Containers[0].Env[0].Value)
		require.NoError(t, err)
		return spec
	}
	spec := build(given(func(in *seed.Input) {
		in.Spec.Seed.AllowEmptySource = true
		in.Spec.Seed.Sync = &kopiurv1.SeedSync{Parallel: new(int32(16)), MaxDownloadSpeedBytesPerSecond: 5, MaxUploadSpeedBytesPerSecond: 6}
		in.Spec.MoverDefaults = &kopiurv1.MoverDefaults{Throttle: &kopiurv1.Throttle{WriteOpsPerSecond: 9}}
	}))
	s := spec.Operation.Seed
	assert.True(t, s.AllowEmptySource)
	assert.Equal(t, 16, s.Blob.Parallel)
	assert.Equal(t, "mirror", s.Blob.Source.S3.Bucket)
	assert.Equal(t, int64(5), s.Blob.Throttle.DownloadBytesPerSecond)
	assert.Equal(t, &work.Throttle{UploadBytesPerSecond: 6, WriteOpsPerSecond: 9}, spec.Repository.Throttle)
	assert.Empty(t, spec.Repository.ExpectedUniqueID)

	spec = build(given(fromRepository, func(in *seed.Input) {
		in.Spec.Create = &kopiurv1.CreateSpec{Hash: "BLAKE3-256-128"}
		in.Spec.Seed.Migrate = &kopiurv1.SeedMigrate{
			LatestOnly: true, Parallel: new(int32(3)), Policies: kopiurv1.MigratePoliciesCopy,
			Throttle: &kopiurv1.MigrateThrottle{Source: &kopiurv1.Throttle{ReadOpsPerSecond: 1}, Destination: &kopiurv1.Throttle{WriteOpsPerSecond: 2}},
		}
	}))
	m := spec.Operation.Seed.Migrate
	assert.Equal(t, "0011", m.Source.ExpectedUniqueID)
	assert.Equal(t, "BLAKE3-256-128", m.Create.Hash)
	assert.True(t, m.LatestOnly)
	assert.Equal(t, 3, m.Parallel)
	assert.Equal(t, work.MigratePoliciesCopy, m.Policies)
	assert.Equal(t, int64(1), m.Source.Throttle.ReadOpsPerSecond)
	assert.Equal(t, int64(2), spec.Repository.Throttle.WriteOpsPerSecond)
}
