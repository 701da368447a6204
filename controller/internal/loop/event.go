// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"fmt"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
)

// maxNote is the API's limit for an event's note. A longer one is refused with 422, so that the warning never appears
// (acceptance J-7).
const maxNote = 1024

// Event is one line under kubectl describe.
type Event struct {
	// Type is Normal or Warning.
	Type string
	// Reason equals the reason of the condition that changed.
	Reason string
	// Action is what Kopiur was doing, a verb in UpperCamelCase such as Bootstrap.
	Action string
	// Note is one or two sentences.
	Note string
	// Related is a second object, such as the Job, or nil.
	Related client.Object
}

// Warning is an Event of type Warning.
func Warning(reason, action, format string, args ...any) Event {
	return Event{Type: corev1.EventTypeWarning, Reason: reason, Action: action, Note: fmt.Sprintf(format, args...)}
}

// Normal is an Event of type Normal.
func Normal(reason, action, format string, args ...any) Event {
	return Event{Type: corev1.EventTypeNormal, Reason: reason, Action: action, Note: fmt.Sprintf(format, args...)}
}

// Publisher takes events about objects and never blocks.
type Publisher interface {
	Publish(about client.Object, e Event)
}

// clip shortens s to at most n bytes on a rune boundary, marking the cut.
func clip(s string, n int) string {
	const mark = "…"
	if len(s) <= n {
		return s
	}
	cut := n - len(mark)
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + mark
}

// KindOf is the kind of one of our objects. Objects from a typed client do not carry it themselves.
func KindOf(obj client.Object) string {
	switch obj.(type) {
	case *kopiurv1.Repository:
		return string(kopiurv1.KindRepository)
	case *kopiurv1.ClusterRepository:
		return string(kopiurv1.KindClusterRepository)
	case *kopiurv1.SnapshotPolicy:
		return "SnapshotPolicy"
	case *kopiurv1.Snapshot:
		return "Snapshot"
	case *kopiurv1.Restore:
		return "Restore"
	case *kopiurv1.SnapshotSchedule:
		return "SnapshotSchedule"
	case *kopiurv1.Maintenance:
		return "Maintenance"
	case *kopiurv1.RepositoryReplication:
		return "RepositoryReplication"
	case *kopiurv1.SnapshotReplication:
		return "SnapshotReplication"
	default:
		return obj.GetObjectKind().GroupVersionKind().Kind
	}
}

// GVKOf is the group, version and kind of one of our objects.
func GVKOf(obj client.Object) schema.GroupVersionKind {
	return kopiurv1.GroupVersion.WithKind(KindOf(obj))
}
