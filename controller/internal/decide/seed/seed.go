// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package seed

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/validation"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/decide/connect"
	"github.com/kopiur/kopiur/controller/internal/gates"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

const (
	// Operation is what the Jobs are labelled with.
	Operation = "seed"
	// DeadlineSeconds where spec.seed.failurePolicy names none: a day.
	DeadlineSeconds int64 = 86400

	// refusedRetry is when to look again at a source that had nothing to copy.
	refusedRetry = 30 * time.Minute
	// look is when to look again at a source of which no watch tells.
	look = time.Minute
)

// Armed reports whether a repository is to be seeded before it is connected to.
func Armed(s kopiurv1.RepositorySpec, st kopiurv1.RepositoryStatus) bool {
	return s.Seed != nil && st.UniqueID == "" && (st.Seed == nil || st.Seed.SeededAt == "")
}

// Input is what was observed.
type Input struct {
	Spec       kopiurv1.RepositorySpec
	Status     kopiurv1.RepositoryStatus
	Repository kopiurv1.RepositoryRef
	Refusal    validation.Refusal
	// Creds, Volume and Permitted are the gates of the new repository's side, and of the pod.
	Creds     gates.Credentials
	Volume    gates.Verdict
	Permitted gates.Verdict
	// Source is the repository of seed.from.repository; nil where it does not exist, or a backend is the source.
	Source *moverjob.Repository
	// SourceCreds and SourceVolume are what the source's side mounts.
	SourceCreds  gates.Credentials
	SourceVolume gates.Verdict
	// SameInputs: the last attempt was made from the present spec and credentials.
	SameInputs bool
	// Flight is the attempt whose outcome is not recorded yet, nil where there is none.
	Flight *connect.Flight
	// Lingering names a Job or pod of an older attempt that has not ended.
	Lingering string
}

// Decide says what comes next. It is total. The plan's Start asks for the Job of attempt Status.Job.Attempts.
func Decide(in Input, now time.Time) connect.Plan {
	p := connect.Plan{Status: *in.Status.DeepCopy(), Suspended: in.Spec.Suspend}
	p.Status.Backend = in.Spec.Backend.Name()
	p.Status.Phase = kopiurv1.RepositoryInitializing
	condition(&p, kopiurv1.ConditionCredentialsAvailable, in.Creds.Open, in.Creds.Reason, in.Creds.Message)
	condition(&p, kopiurv1.ConditionBootstrapped, false, kopiurv1.ReasonConnecting, "the repository was not connected to yet")
	switch {
	case in.Flight != nil && in.Flight.Outcome.State != moverjob.Absent:
		follow(&p, in, now)
	case in.Spec.Suspend:
		wait(&p, connect.Progressing, kopiurv1.ReasonSuspended, "spec.suspend is true: the repository is not seeded", 0)
	case in.Refusal.Refused():
		refuse(&p, in.Refusal.Reason, in.Refusal.Message)
	case !in.Creds.Open:
		wait(&p, connect.Progressing, in.Creds.Reason, in.Creds.Message, 0)
	case !in.Volume.Open:
		wait(&p, connect.Progressing, in.Volume.Reason, in.Volume.Message, look)
	case !source(&p, in):
	case !in.Permitted.Open:
		condition(&p, kopiurv1.ConditionMoverPermitted, false, in.Permitted.Reason, in.Permitted.Message)
		wait(&p, connect.Progressing, in.Permitted.Reason, in.Permitted.Message, look)
	default:
		if rest := rests(in, now); rest > 0 {
			p.Verdict, p.After = connect.Keep, rest
			p.Carry = append(p.Carry, kopiurv1.ConditionSeeded)
			p.Status.Phase = in.Status.Phase
			break
		}
		if in.Lingering != "" {
			// Two movers that both find the place empty would both begin there.
			wait(&p, connect.Progressing, kopiurv1.ReasonSeeding, "waiting for the end of "+in.Lingering+", which seeds with older settings", 5*time.Second)
			break
		}
		start(&p, in, now)
	}
	return p
}

// source reports whether the source can be read from, and says what is in the way.
func source(p *connect.Plan, in Input) bool {
	from := in.Spec.Seed.From.Repository
	if from != nil {
		name := from.In(in.Repository.Namespace).String()
		if v := gates.Repository(name, in.Source, true); !v.Open {
			wait(p, connect.Progressing, kopiurv1.ReasonWaitingForSeedSource, v.Message, look)
			return false
		}
		if errs := conflict(in); errs != "" {
			refuse(p, kopiurv1.ReasonSeedSourceAuthConflict, errs)
			return false
		}
	}
	for _, v := range []gates.Verdict{in.SourceCreds.Verdict, in.SourceVolume} {
		if !v.Open {
			wait(p, connect.Progressing, kopiurv1.ReasonWaitingForSeedSource, "the source of the seed: "+v.Message, look)
			return false
		}
	}
	return true
}

// conflict is why one pod cannot work with both sides.
func conflict(in Input) string {
	if validation.SameLocation(in.Source.Spec.Backend, in.Spec.Backend) {
		return in.Source.Ref.String() + " is stored in the place that is to be seeded: name another, or leave spec.seed out"
	}
	errs := validation.MixedAuth(field.NewPath("spec", "seed", "from", "repository"), in.Source.Spec.Backend, in.Spec.Backend).Errors
	if len(errs) > 0 {
		return errs[0].Error()
	}
	return ""
}

func condition(p *connect.Plan, kind string, yes bool, reason, message string) {
	s := metav1.ConditionFalse
	if yes {
		s = metav1.ConditionTrue
	}
	p.Conditions = append(p.Conditions, connect.Condition{Type: kind, Status: s, Reason: reason, Message: message})
}

// wait is a stand before the end. The condition Seeded has the same words.
func wait(p *connect.Plan, v connect.Verdict, reason, message string, after time.Duration) {
	p.Verdict, p.Reason, p.Message, p.After = v, reason, message, after
	condition(p, kopiurv1.ConditionSeeded, false, reason, message)
}

// refuse is one that only somebody ends.
func refuse(p *connect.Plan, reason, message string) {
	p.Status.Phase = kopiurv1.RepositoryFailed
	wait(p, connect.Stalled, reason, message, refusedRetry)
}

// rests is how long the next attempt still waits.
func rests(in Input, now time.Time) time.Duration {
	j := in.Status.Job
	if !in.SameInputs || j == nil || j.FinishedAt == "" {
		return 0
	}
	at, err := time.Parse(time.RFC3339, j.FinishedAt)
	if err != nil || at.After(now) {
		return 0
	}
	rest := connect.Ladder(j.Failures)
	if in.Status.Phase == kopiurv1.RepositoryFailed {
		rest = refusedRetry
	}
	return rest - now.Sub(at)
}

func start(p *connect.Plan, in Input, now time.Time) {
	j := kopiurv1.ConnectJob{}
	if in.Status.Job != nil {
		j = *in.Status.Job
	}
	if in.Flight == nil { // else its Job was not made yet, or somebody deleted it
		j.Attempts++
	}
	j.Name, j.FinishedAt = "", ""
	if !in.SameInputs {
		j.Failures, j.DeadlineKills = 0, 0
	}
	p.Status.Job = &j
	if p.Status.Seed == nil {
		p.Status.Seed = &kopiurv1.SeedStatus{StartedAt: stamp(now)}
	}
	p.Status.Seed.Mode, p.Status.Seed.Source = Mode(in.Spec), From(in)
	p.Status.ResolvedCredentialVersion = Version(in)
	p.Start = true
	seeding(p, "")
}

func seeding(p *connect.Plan, waits string) {
	message := "copying from " + p.Status.Seed.Source
	if waits != "" {
		message = "the seeding Job waits: " + waits
	}
	wait(p, connect.Progressing, kopiurv1.ReasonSeeding, message, 0)
}

// Version of the credentials of both sides.
func Version(in Input) string {
	if in.SourceCreds.Version == "" {
		return in.Creds.Version
	}
	return in.Creds.Version + ";" + in.SourceCreds.Version
}

// Mode of the seed.
func Mode(s kopiurv1.RepositorySpec) kopiurv1.SeedMode {
	if s.Seed.From.Backend != nil {
		return kopiurv1.SeedBlob
	}
	return kopiurv1.SeedByMigrate
}

// From names the source for people.
func From(in Input) string {
	f := in.Spec.Seed.From
	if f.Backend != nil {
		return connect.Where(*f.Backend)
	}
	return f.Repository.In(in.Repository.Namespace).String()
}

// follow looks at the attempt in flight.
func follow(p *connect.Plan, in Input, now time.Time) {
	f := in.Flight
	if p.Status.Seed == nil {
		p.Status.Seed = &kopiurv1.SeedStatus{StartedAt: stamp(now), Mode: Mode(in.Spec), Source: From(in)}
	}
	if j := p.Status.Job; j == nil || j.Name != f.Name {
		j := kopiurv1.ConnectJob{Attempts: f.Attempt, Name: f.Name}
		if in.SameInputs && in.Status.Job != nil {
			j.Failures = in.Status.Job.Failures
		}
		p.Status.Job = &j
	}
	o := f.Outcome
	switch o.State {
	case moverjob.Absent:
	case moverjob.Waiting:
		waits := o.Message
		if o.Starting {
			waits = ""
		}
		seeding(p, waits)
		p.After = o.Recheck
	case moverjob.Running:
		seeding(p, "")
		p.After = o.Recheck
	case moverjob.NodeLost:
		wait(p, connect.Progressing, kopiurv1.ReasonNodeLost, o.Message, look)
	case moverjob.Finished:
		ended(p, in, *o.Result, now)
	case moverjob.ResultLost:
		retry(p, now, string(work.CodeLost), o.Message)
	case moverjob.Wedged:
		retry(p, now, kopiurv1.ReasonMoverPodWedged, o.Message)
	case moverjob.DeadlineKilled:
		retry(p, now, kopiurv1.ReasonDeadlineKilled, o.Message+": raise spec.seed.failurePolicy.activeDeadlineSeconds")
	}
}

// ended records a result.
func ended(p *connect.Plan, in Input, r work.Result, now time.Time) {
	p.Note = r.Message
	switch {
	case r.Code == work.CodeOK && (r.Seed == nil || r.Seed.UniqueID == "" && !r.Seed.LeftEmpty):
		// Without an id the connect would create a repository, and an empty one.
		retry(p, now, string(work.CodeUnknown), "the mover says that it seeded, and not what")
	case r.Code == work.CodeOK && r.Seed.AlreadyInitialized && r.Seed.SnapshotCount == 0 && !in.Spec.Seed.AllowEmptySource:
		failure(p, work.Result{Code: work.CodeLocationOccupied, Message: "the repository that is there has no snapshots"}, now)
		refuse(p, kopiurv1.ReasonAlreadyInitialized, "a repository is there already, without any snapshot, and is not filled: name another place in spec.backend, or delete what is in this one. "+
			"If it is the one you mean, leave spec.seed out")
	case r.Code == work.CodeOK:
		done(p, *r.Seed, now)
	case r.Code == work.CodeSourceEmpty:
		failure(p, r, now)
		refuse(p, kopiurv1.ReasonSeedSourceEmpty, p.Status.Seed.Source+" has no snapshots, and nothing was created: correct spec.seed.from, or set spec.seed.allowEmptySource")
	case r.Code == work.CodeNotFound && strings.Contains(r.Message, "at the source"):
		failure(p, r, now)
		refuse(p, kopiurv1.ReasonSeedSourceNotFound, p.Status.Seed.Source+" does not exist: correct spec.seed.from")
	case r.Code == work.CodeInvalidSpec && strings.Contains(r.Message, "unknown field"):
		failure(p, r, now)
		refuse(p, kopiurv1.ReasonMoverImageTooOldForSeed, "the mover does not know how to seed: run mover and controller from one release")
	case r.Code.Retryable():
		retry(p, now, string(r.Code), r.Message)
	default:
		failure(p, r, now)
		refuse(p, kopiurv1.ReasonSeedIncomplete, fmt.Sprintf("seeding from %s ended with %s; status.failure has the mover's words. What was copied so far stays, and is no repository for anybody. "+
			"It is tried again when the spec or the credentials change, and every 30 minutes", p.Status.Seed.Source, r.Code))
	}
}

// done ends the seed. The id is pinned at once: from now on nothing is ever created in the repository's place.
func done(p *connect.Plan, r work.SeedResult, now time.Time) {
	s := p.Status.Seed
	s.SeededAt, s.SnapshotCount, s.SnapshotsCopied = stamp(now), r.SnapshotCount, r.SnapshotsCopied
	if s.SnapshotsCopied == 0 && s.Mode == kopiurv1.SeedBlob && !r.AlreadyInitialized {
		s.SnapshotsCopied = r.SnapshotCount
	}
	p.Status.UniqueID, p.Status.Failure = r.UniqueID, nil
	p.Status.Job = nil // the connects count from one
	reason, message := kopiurv1.ReasonSeeded, fmt.Sprintf("%d snapshots came from %s", r.SnapshotCount, s.Source)
	switch {
	case r.AlreadyInitialized:
		reason, message = kopiurv1.ReasonAlreadyInitialized, "a repository was there already, and was left as it is"
	case r.LeftEmpty:
		reason, message = kopiurv1.ReasonSeedLeftEmpty, s.Source+" has no snapshots, which spec.seed.allowEmptySource allows: the repository begins empty"
	}
	condition(p, kopiurv1.ConditionSeeded, true, reason, message)
	p.Verdict, p.Reason, p.Message = connect.Progressing, kopiurv1.ReasonConnecting, "seeded; the repository is connected to next"
	p.After = time.Second
}

// retry is an attempt that may go better.
func retry(p *connect.Plan, now time.Time, class, message string) {
	failure(p, work.Result{Code: work.Code(class), Message: message}, now)
	p.Status.Failure.RetryRecommended = true
	wait(p, connect.Progressing, kopiurv1.ReasonSeedIncomplete, fmt.Sprintf("the seeding mover ended with %s before everything was copied; it is tried again and goes on from there", class),
		connect.Ladder(p.Status.Job.Failures))
}

// failure records what a mover failed by.
func failure(p *connect.Plan, r work.Result, now time.Time) {
	p.Status.Job.FinishedAt = stamp(now)
	p.Status.Job.Failures++
	p.Status.Failure = &kopiurv1.Failure{KopiaErrorClass: string(r.Code), Message: work.Clip(r.Message, 1024), RetryRecommended: r.Code.Retryable(), Op: Operation}
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
