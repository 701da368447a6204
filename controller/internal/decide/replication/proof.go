// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package replication

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/controller/internal/decide/due"
	"github.com/kopiur/kopiur/controller/internal/decide/verify"
	"github.com/kopiur/kopiur/controller/internal/gates"
	"github.com/kopiur/kopiur/controller/internal/moverjob"
)

const (
	// proofSeconds is how long a proof may take: a day, as other verifications.
	proofSeconds = int64(24 * 3600)
	// ofFolder and ofClaim are the hundredths of the free space of a scratch volume that a restored snapshot may take. A
	// folder of the node is not the mover's alone.
	ofFolder, ofClaim = 50, 90
)

// Proof is the verification of the copy, as far as something of it is under way.
type Proof struct {
	// Job of the turn that is due, with what its pods say; nil where there is none.
	Job     *batchv1.Job
	Outcome moverjob.Outcome
	Tail    moverjob.Tail
	// Gates are what its mover needs. They are known only where one may start.
	Gates []gates.Verdict
}

// ProofRun is what the status says of the proofs.
func ProofRun(o *kopiurv1.RepositoryReplication) kopiurv1.VerificationRun {
	run := kopiurv1.VerificationRun{Tier: kopiurv1.VerificationDeep, Repository: reference(o)}
	if v := o.Status.Verification; v != nil {
		run.VerificationState = *v
	}
	return run
}

// ProofJobName of the turn that is pinned; "" where none is.
func ProofJobName(o *kopiurv1.RepositoryReplication, run kopiurv1.VerificationRun) string {
	if run.NextScheduledAt == "" {
		return ""
	}
	return moverjob.Name(letter, o.Name, o.UID, verify.Operation, run.NextScheduledAt)
}

// ProofDue reports whether there can be a Job that proves.
func ProofDue(o *kopiurv1.RepositoryReplication, now time.Time) bool {
	return o.Spec.Verify != nil && verify.Due(ProofRun(o), now)
}

// prove decides about the proof, beside what was decided about the copy.
func (w World) prove(p Plan, now time.Time) Plan {
	o := w.Replication
	if o.Spec.Verify == nil {
		p.Status.Verification = nil // when it was last proven stays true
		return p
	}
	proof := w.proofOf(p, now)
	p.Proof = &proof
	p.Status.Verification = &proof.Run.VerificationState
	if proof.Stamp != "" {
		p.Status.LastVerified = proof.Stamp
	}
	if proof.Recorded {
		if proof.Run.Outcome == kopiurv1.VerificationFailed {
			p.Status.LogTail = w.Proof.Tail.Text // its Job goes, and its log with it
		}
		proof.After = time.Second
	}
	if proof.After > 0 && (p.After == 0 || proof.After < p.After) {
		p.After = proof.After
	}
	return p
}

func (w World) proofOf(p Plan, now time.Time) verify.Plan {
	o := w.Replication
	run := ProofRun(o)
	var defaults *kopiurv1.ScheduleDefaults
	if w.Source != nil {
		defaults = w.Source.Spec.ScheduleDefaults
	}
	// A delay of its own: copy and proof of one schedule would meet every time.
	rule, err := due.Parse(o.Spec.Verify.Schedule, "", defaults, o.Namespace+"/"+o.Name, string(o.UID)+"/"+verify.Operation)
	if err != nil {
		return verify.Unreadable(run, "spec.verify.schedule: "+err.Error())
	}
	return verify.Line{
		Run: run, Rule: rule, Job: w.Proof.Job, Outcome: w.Proof.Outcome, Whole: true,
		Name: func(run kopiurv1.VerificationRun) string { return ProofJobName(o, run) },
		Gate: func() gates.Verdict { return w.proofGate(p) },
		// Of a repository the repository's own conditions would tell. Nobody but the proof looks at a copy.
		Gone: []work.Code{work.CodeRepositoryVanished, work.CodeRepositoryNotInitialized, work.CodeLocationOccupied},
	}.Decide(now)
}

// proofGate is why a proof that is due may not start. The source need not be Ready: when it is out of reach, it matters most
// whether its copy can take its place.
func (w World) proofGate(p Plan) gates.Verdict {
	o := w.Replication
	closed := func(reason, format string, args ...any) gates.Verdict {
		return gates.Verdict{Reason: reason, Message: fmt.Sprintf(format, args...)}
	}
	if o.Spec.Suspend {
		return closed(kopiurv1.ReasonSuspended, "spec.suspend is true: no verification is started")
	}
	if reason, message := w.Refused(); reason != "" {
		return closed(reason, "%s", message)
	}
	switch {
	case w.Source == nil:
		return closed(kopiurv1.ReasonWaitingForSourceRepository, "%s does not exist, and the copy has its password", o.Spec.SourceRef.In(o.Namespace))
	case o.Status.LastReplicated == "":
		return closed(kopiurv1.ReasonWaitingForFirstCopy, "there is no complete copy to verify yet")
	case w.Job != nil || p.Start != nil:
		return closed(kopiurv1.ReasonVerificationWaiting, "a copy is being made")
	case w.Beside != "":
		return closed(kopiurv1.ReasonVerificationWaiting, "%s", w.Beside)
	}
	for _, v := range w.Proof.Gates {
		if !v.Open {
			return v
		}
	}
	return gates.Verdict{Open: true}
}

// least is how many blobs the copy has at least, zero where nobody can say: a run that failed with deleteExtra may have
// deleted some of those that the last complete one left.
func least(o *kopiurv1.RepositoryReplication) int64 {
	if o.Status.Failure != nil || o.Status.BlobsTotal == nil {
		return 0
	}
	return *o.Status.BlobsTotal
}

// BuildProof makes the Job of the turn that run pins. It reads the copy as a repository of its own, restores from it, and
// has nothing of the source but its password.
func BuildProof(w World, run kopiurv1.VerificationRun, image moverjob.Images, pull corev1.PullPolicy) (*batchv1.Job, error) {
	o := w.Replication
	scratch, err := verify.ScratchOf(w.Source, "", "")
	if err != nil {
		return nil, fmt.Errorf("verify the copy of %s: %w", w.Source.Ref, err)
	}
	share := int64(ofFolder)
	if scratch.Size != nil {
		share = ofClaim
	}
	job, err := moverjob.Build(moverjob.Request{
		Owner: o, GVK: kopiurv1.GroupVersion.WithKind("RepositoryReplication"), Letter: letter, Attempt: run.NextScheduledAt,
		Namespace: o.Namespace, Image: image, PullPolicy: pull, Repository: Replica(o, *w.Source),
		Operation: work.Operation{Verify: &work.Verify{
			All: true, MinBlobs: least(o), Quick: &work.QuickVerify{FilesPercent: int64(o.Spec.Verify.VerifyFilesPercent)},
			Deep: &work.DeepVerify{ScratchPath: work.ScratchDir, FitPercent: share},
		}},
		// One attempt: each would have a volume of its own, and the next turn is an hour away.
		FailurePolicy: &kopiurv1.FailurePolicy{BackoffLimit: new(int32(0))}, DefaultDeadlineSeconds: proofSeconds,
		Layers: []*kopiurv1.MoverSpec{o.Spec.Mover}, Scratch: scratch,
		Labels: map[string]string{
			kopiurv1.LabelReplication: kopiurv1.LabelValue(o.Name), kopiurv1.LabelVerify: kopiurv1.LabelValue(o.Name),
		},
	})
	if err != nil {
		return nil, fmt.Errorf("verify the copy of %s: %w", w.Source.Ref, err)
	}
	job.Annotations = map[string]string{kopiurv1.AnnotationVerifySlot: run.NextScheduledAt}
	job.Labels[kopiurv1.LabelComponent] = kopiurv1.ComponentVerify
	job.Spec.Template.Labels[kopiurv1.LabelComponent] = kopiurv1.ComponentVerify
	return job, nil
}
