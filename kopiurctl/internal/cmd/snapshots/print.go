// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/kopiurctl/internal/cli"
	"github.com/kopiur/kopiur/kopiurctl/internal/find"
	"github.com/kopiur/kopiur/kopiurctl/internal/printer"
)

// taken is when the data was read; as long as it was not, when the object was made.
func taken(s *kopiurv1.Snapshot) time.Time {
	if s.Status.Timing != nil {
		if t := printer.Time(s.Status.Timing.StartTime); !t.IsZero() {
			return t
		}
	}
	return s.CreationTimestamp.Time
}

// Print writes Snapshots as a table.
func Print(env *cli.Env, rows []*kopiurv1.Snapshot, relations find.Relations, namespaces bool) error {
	columns := columns(env.Clock.Now(), relations)
	if namespaces {
		columns = append([]printer.Column[*kopiurv1.Snapshot]{
			{Name: "NAMESPACE", Of: func(s *kopiurv1.Snapshot) string { return s.Namespace }},
		}, columns...)
	}
	return printer.Table(env.Out, env.Output == string(cli.Wide), columns, rows)
}

func columns(now time.Time, relations find.Relations) []printer.Column[*kopiurv1.Snapshot] {
	return []printer.Column[*kopiurv1.Snapshot]{
		{Name: "NAME", Of: func(s *kopiurv1.Snapshot) string { return s.Name }},
		{Name: "PHASE", Of: phase},
		{Name: "ORIGIN", Of: find.OriginOf},
		{Name: "POLICY", Of: find.PolicyOf},
		{Name: "REPOSITORY", Of: func(s *kopiurv1.Snapshot) string { return repositories(s, relations) }},
		{Name: "SIZE", Of: stat(func(st *kopiurv1.SnapshotStats) string { return printer.Bytes(st.SizeBytes) })},
		{Name: "NEW", Of: stat(func(st *kopiurv1.SnapshotStats) string { return printer.Bytes(st.BytesUploaded) })},
		{Name: "TOOK", Of: took},
		{Name: "AGE", Of: func(s *kopiurv1.Snapshot) string { return printer.Since(taken(s), now) }},
		{Name: "PINNED", Wide: true, Of: func(s *kopiurv1.Snapshot) string { return strconv.FormatBool(s.Spec.Pin) }},
		{Name: "FILES", Wide: true, Of: stat(func(st *kopiurv1.SnapshotStats) string { return strconv.FormatInt(st.Files, 10) })},
		{Name: "SOURCE", Wide: true, Of: func(s *kopiurv1.Snapshot) string {
			if s.Status.Snapshot == nil {
				return ""
			}
			return s.Status.Snapshot.Identity.String()
		}},
		{Name: "ID", Wide: true, Of: func(s *kopiurv1.Snapshot) string {
			if s.Status.Snapshot == nil {
				return ""
			}
			return s.Status.Snapshot.KopiaSnapshotID
		}},
		{Name: "MESSAGE", Wide: true, Of: Message},
	}
}

// phase is the phase, with what it hides: that the Snapshot is being deleted, or that its deletion waits.
func phase(s *kopiurv1.Snapshot) string {
	switch {
	case meta.IsStatusConditionTrue(s.Status.Conditions, kopiurv1.ConditionDeletionHeld):
		return "DeletionHeld"
	case s.DeletionTimestamp != nil:
		return string(kopiurv1.SnapshotDeleting)
	case s.Status.Phase == "":
		return string(kopiurv1.SnapshotPending)
	default:
		return string(s.Status.Phase)
	}
}

func stat(of func(*kopiurv1.SnapshotStats) string) func(*kopiurv1.Snapshot) string {
	return func(s *kopiurv1.Snapshot) string {
		if s.Status.Stats == nil {
			return ""
		}
		return of(s.Status.Stats)
	}
}

func took(s *kopiurv1.Snapshot) string {
	if s.Status.Timing == nil || s.Status.Timing.EndTime == "" {
		return ""
	}
	return printer.Seconds(s.Status.Timing.DurationSeconds)
}

func repositories(s *kopiurv1.Snapshot, relations find.Relations) string {
	var names []string
	for _, r := range relations.Repositories(s) {
		names = append(names, RepositoryName(r, s.Namespace))
	}
	return strings.Join(names, ",")
}

// RepositoryName is a repository as seen from a namespace: by its name alone where it is a Repository of the same.
func RepositoryName(r kopiurv1.RepositoryRef, namespace string) string {
	switch {
	case r.KindOrDefault() == kopiurv1.KindClusterRepository:
		return "cluster/" + r.Name
	case r.Namespace == namespace:
		return r.Name
	default:
		return r.Namespace + "/" + r.Name
	}
}

// Message is what a Snapshot has to say: why it failed, or what it waits for.
func Message(s *kopiurv1.Snapshot) string {
	if held := meta.FindStatusCondition(s.Status.Conditions, kopiurv1.ConditionDeletionHeld); held != nil && held.Status == "True" {
		return held.Message
	}
	if s.Status.Failure != nil {
		return s.Status.Failure.Message
	}
	if ready := meta.FindStatusCondition(s.Status.Conditions, kopiurv1.ConditionReady); ready != nil {
		return ready.Message
	}
	return ""
}
