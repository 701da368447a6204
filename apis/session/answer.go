// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// State is where a session stands. One that is over has none: its ConfigMap is gone.
type State string

// States.
const (
	// Unseen: the controller has not looked at it yet.
	Unseen State = ""
	// Starting: its pod is on the way.
	Starting State = "Starting"
	// Open: questions may be asked.
	Open State = "Open"
	// Refused: something stood in the way, and nothing was made. Asking again takes another ConfigMap.
	Refused State = "Refused"
	// Failed: its pod did not start, or could not open the repository.
	Failed State = "Failed"
)

// Final reports whether nothing comes of this session any more.
func (s State) Final() bool { return s == Refused || s == Failed }

// Answer is what the controller says about a session.
type Answer struct {
	State State
	// Reason is one of kopiurv1's, Message says what is the case and what to do.
	Reason, Message string
	// Pod in which to ask, while it is Open.
	Pod string
	// Since is when the state began.
	Since time.Time
}

// Read reads the answer from a ConfigMap.
func Read(cm metav1.Object) Answer {
	a := cm.GetAnnotations()
	since, err := time.Parse(time.RFC3339, a[kopiurv1.AnnotationSessionSince])
	if err != nil {
		since = time.Time{}
	}
	return Answer{
		State: State(a[kopiurv1.AnnotationSessionState]), Reason: a[kopiurv1.AnnotationSessionReason],
		Message: a[kopiurv1.AnnotationSessionMessage], Pod: a[kopiurv1.AnnotationSessionPod], Since: since,
	}
}

// Annotations are the answer as a ConfigMap carries it; nil takes one away.
func (a Answer) Annotations() map[string]*string {
	of := func(s string) *string {
		if s == "" {
			return nil
		}
		return &s
	}
	return map[string]*string{
		kopiurv1.AnnotationSessionState: of(string(a.State)), kopiurv1.AnnotationSessionReason: of(a.Reason),
		kopiurv1.AnnotationSessionMessage: of(a.Message), kopiurv1.AnnotationSessionPod: of(a.Pod),
		kopiurv1.AnnotationSessionSince: of(a.Since.UTC().Format(time.RFC3339)),
	}
}
