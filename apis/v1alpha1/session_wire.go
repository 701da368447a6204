// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// What belongs to sessions in which somebody looks into backups.
const (
	// LabelSession with SessionBrowse is on the ConfigMap that asks for a session, and on its Job and pod;
	// LabelSessionRepository has kind and name of the repository, as LabelValue gives them.
	LabelSession           = prefix + "session"
	SessionBrowse          = "browse"
	LabelSessionRepository = prefix + "session-repo"
	// What the controller says about a session: where it stands, the reason, a sentence, since when, and the pod to ask in.
	AnnotationSessionState   = prefix + "session-state"
	AnnotationSessionReason  = prefix + "session-reason"
	AnnotationSessionMessage = prefix + "session-message"
	AnnotationSessionSince   = prefix + "session-since"
	AnnotationSessionPod     = prefix + "session-pod"
)
