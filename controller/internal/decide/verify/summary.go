// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/controller/internal/decide/mapper"
)

// Verdict is what the condition Verified says.
type Verdict struct {
	Status  metav1.ConditionStatus
	Reason  string
	Message string
}

// Summary of all lines: the worst is what counts. Damage is worse than no answer, no answer worse than none yet.
func Summary(plans []Plan) Verdict {
	worst := 0
	out := Verdict{Status: metav1.ConditionTrue, Reason: kopiurv1.ReasonVerified}
	var good []string
	for _, p := range plans {
		rank, v := verdictOf(p)
		v.Message = string(p.Run.Tier) + " verification of " + p.Run.Repository.String() + ": " + v.Message
		if rank > worst {
			worst, out = rank, v
		}
		good = append(good, v.Message)
	}
	if worst == 0 {
		out.Message = strings.Join(good, "; ")
	}
	return out
}

// VerdictOf one line alone.
func VerdictOf(p Plan) Verdict {
	_, v := verdictOf(p)
	return v
}

func verdictOf(p Plan) (int, Verdict) {
	r := p.Run
	switch {
	case r.Outcome == kopiurv1.VerificationFailed:
		return 4, Verdict{metav1.ConditionFalse, r.Reason, r.Message}
	case !p.Waiting.Open && p.Waiting.Reason != kopiurv1.ReasonReconciling && p.Waiting.Reason != kopiurv1.ReasonVerificationWaiting:
		return 3, Verdict{metav1.ConditionUnknown, p.Waiting.Reason, p.Waiting.Message}
	case r.Outcome == kopiurv1.VerificationUnproven:
		return 2, Verdict{metav1.ConditionUnknown, r.Reason, r.Message}
	case r.Outcome == kopiurv1.VerificationSucceeded:
		return 0, Verdict{metav1.ConditionTrue, kopiurv1.ReasonVerified, r.Message}
	case r.Reason == kopiurv1.ReasonWaitingForFirstSnapshot:
		return 1, Verdict{metav1.ConditionUnknown, r.Reason, r.Message}
	case r.Job != "":
		return 1, Verdict{metav1.ConditionUnknown, kopiurv1.ReasonVerificationPending, "the first one is under way"}
	default:
		return 1, Verdict{metav1.ConditionUnknown, kopiurv1.ReasonVerificationPending, "the first one is due at " + r.NextScheduledAt}
	}
}

// StampKey of a line.
func StampKey(tier kopiurv1.VerificationTier, ref kopiurv1.RepositoryRef) string {
	return string(tier) + "/" + mapper.Repository(ref)
}

// Record puts the plans of all lines into the status. Stamps of repositories that the policy no longer names go; those of
// a tier that it gave up stay, because they are still true.
func Record(st *kopiurv1.SnapshotPolicyStatus, refs []kopiurv1.RepositoryRef, plans []Plan) {
	st.VerificationRuns = nil
	stamps := maps.Clone(st.VerificationStamps)
	if stamps == nil {
		stamps = map[string]string{}
	}
	for _, p := range plans {
		st.VerificationRuns = append(st.VerificationRuns, p.Run)
		if p.Stamp != "" {
			stamps[StampKey(p.Run.Tier, p.Run.Repository)] = p.Stamp
		}
	}
	known := map[string]bool{}
	st.Verification, st.LastVerified = nil, ""
	for i, ref := range refs {
		last := ""
		for _, tier := range Tiers() {
			key := StampKey(tier, ref)
			known[key] = true
			last = max(last, stamps[key]) // times of one form are in the order of their texts
		}
		if len(refs) > 1 {
			st.Verification = append(st.Verification, kopiurv1.RepositoryVerified{Repository: ref, LastVerified: last})
		}
		if i == 0 || last < st.LastVerified {
			st.LastVerified = last
		}
	}
	maps.DeleteFunc(stamps, func(k, _ string) bool { return !known[k] })
	if st.VerificationStamps = stamps; len(stamps) == 0 {
		st.VerificationStamps = nil
	}
	if len(stamps) == 0 {
		st.Verification = nil
	}
}

// Tiers in the order of their lines.
func Tiers() []kopiurv1.VerificationTier {
	return slices.Clone([]kopiurv1.VerificationTier{kopiurv1.VerificationQuick, kopiurv1.VerificationDeep})
}
