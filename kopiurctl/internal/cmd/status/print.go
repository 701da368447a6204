// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/kopiurctl/internal/cli"
	"github.com/kopiur/kopiur/kopiurctl/internal/cmd/snapshots"
	"github.com/kopiur/kopiur/kopiurctl/internal/find"
	"github.com/kopiur/kopiur/kopiurctl/internal/held"
	"github.com/kopiur/kopiur/kopiurctl/internal/printer"
	"github.com/kopiur/kopiur/kopiurctl/internal/progress"
)

func (v *view) print(env *cli.Env) error {
	p := &tables{env: env, now: env.Clock.Now()}
	if err := section(p, "REPOSITORIES", repositoryColumns(p, v), v.repositories); err != nil {
		return err
	}
	var policies []*kopiurv1.SnapshotPolicy
	for i := range v.policies {
		policies = append(policies, &v.policies[i])
	}
	if err := section(p, "POLICIES", policyColumns(p, v), policies); err != nil {
		return err
	}
	var schedules []*kopiurv1.SnapshotSchedule
	for i := range v.schedules {
		schedules = append(schedules, &v.schedules[i])
	}
	if err := section(p, "SCHEDULES", scheduleColumns(p), schedules); err != nil {
		return err
	}
	return section(p, "BACKUPS THAT ARE NOT OVER", openColumns(p), v.open())
}

type tables struct {
	env *cli.Env
	now time.Time
	// more is set after the first section.
	more bool
}

// section writes a heading and a table; nothing where there are no rows.
func section[T any](p *tables, heading string, columns []printer.Column[T], rows []T) error {
	if len(rows) == 0 {
		return nil
	}
	if p.more {
		fmt.Fprintln(p.env.Out)
	}
	p.more = true
	fmt.Fprintln(p.env.Out, heading)
	return printer.Table(p.env.Out, p.env.Output == string(cli.Wide), columns, rows)
}

func (p *tables) ago(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return printer.Since(t, p.now) + " ago"
}

// named begins the columns of a kind.
func named[T client.Object](p *tables) []printer.Column[T] {
	out := []printer.Column[T]{{Name: "NAME", Of: func(o T) string { return o.GetName() }}}
	if p.env.AllNamespaces {
		out = append([]printer.Column[T]{{Name: "NAMESPACE", Of: func(o T) string { return o.GetNamespace() }}}, out...)
	}
	return out
}

func repositoryColumns(p *tables, v *view) []printer.Column[find.Repo] {
	out := []printer.Column[find.Repo]{
		{Name: "NAME", Of: func(r find.Repo) string { return r.Ref.Name }},
		{Name: "KIND", Of: func(r find.Repo) string { return string(r.Ref.Kind) }},
		{Name: "PHASE", Of: func(r find.Repo) string { return string(r.Status.Phase) }},
		{Name: "BACKEND", Of: func(r find.Repo) string { return r.Status.Backend }},
		{Name: "SNAPSHOTS", Of: func(r find.Repo) string {
			if st := r.Status.StorageStats; st != nil {
				return strconv.FormatInt(st.SnapshotCount, 10)
			}
			return ""
		}},
		{Name: "SIZE", Of: func(r find.Repo) string {
			if st := r.Status.StorageStats; st != nil {
				return printer.Bytes(st.TotalSizeBytes)
			}
			return ""
		}},
		{Name: "REACHED", Of: func(r find.Repo) string {
			if h := r.Status.Health; h != nil {
				return p.ago(printer.Time(h.LastHealthyAt))
			}
			return "never"
		}},
		{Name: "HELD", Of: func(r find.Repo) string { return strconv.Itoa(len(held.Of(v.snapshots, v.relations, r.Ref))) }},
		{Name: "INDEX-BLOBS", Wide: true, Of: func(r find.Repo) string {
			if st := r.Status.StorageStats; st != nil {
				return strconv.FormatInt(st.IndexBlobCount, 10)
			}
			return ""
		}},
		{Name: "MESSAGE", Of: func(r find.Repo) string {
			var parts []string
			if m := message(r.Status.Conditions, r.Spec.Suspend); m != "" {
				parts = append(parts, m)
			}
			if meta.IsStatusConditionTrue(r.Status.Conditions, kopiurv1.ConditionMassDeletionHeld) {
				flag := ""
				if r.Ref.Kind == kopiurv1.KindClusterRepository {
					flag = " --cluster"
				}
				parts = append(parts, "deletions are held: look at them with kopiurctl ack-deletion "+r.Ref.Name+flag)
			}
			return strings.Join(parts, "; ")
		}},
	}
	if p.env.AllNamespaces {
		out = append([]printer.Column[find.Repo]{{Name: "NAMESPACE", Of: func(r find.Repo) string { return r.Ref.Namespace }}}, out...)
	}
	return out
}

// record is what the Snapshots of a policy say.
type record struct {
	backups, failures int
	last              time.Time
}

// records counts by policy; failures are those since the last success.
func (v *view) records() map[client.ObjectKey]record {
	out := map[client.ObjectKey]record{}
	good := func(s *kopiurv1.Snapshot) bool {
		return s.Status.Phase == kopiurv1.SnapshotSucceeded || s.Status.Phase == kopiurv1.SnapshotUnchanged
	}
	key := func(s *kopiurv1.Snapshot) client.ObjectKey {
		return client.ObjectKey{Namespace: s.Namespace, Name: find.PolicyOf(s)}
	}
	for i := range v.snapshots {
		if s := &v.snapshots[i]; good(s) {
			r := out[key(s)]
			r.backups++
			if t := ended(s); t.After(r.last) {
				r.last = t
			}
			out[key(s)] = r
		}
	}
	for i := range v.snapshots {
		if s := &v.snapshots[i]; s.Status.Phase == kopiurv1.SnapshotFailed {
			r := out[key(s)]
			if ended(s).After(r.last) {
				r.failures++
			}
			out[key(s)] = r
		}
	}
	return out
}

func ended(s *kopiurv1.Snapshot) time.Time {
	if s.Status.Timing != nil {
		if t := printer.Time(s.Status.Timing.EndTime); !t.IsZero() {
			return t
		}
	}
	return s.CreationTimestamp.Time
}

func policyColumns(p *tables, v *view) []printer.Column[*kopiurv1.SnapshotPolicy] {
	records := v.records()
	of := func(o *kopiurv1.SnapshotPolicy) record {
		r := records[client.ObjectKeyFromObject(o)]
		if t := printer.Time(o.Status.LastSuccessfulSnapshot); t.After(r.last) {
			r.last = t
		}
		return r
	}
	return append(named[*kopiurv1.SnapshotPolicy](p), []printer.Column[*kopiurv1.SnapshotPolicy]{
		{Name: "REPOSITORY", Of: func(o *kopiurv1.SnapshotPolicy) string {
			var names []string
			for _, r := range o.RepositoryRefs() {
				names = append(names, snapshots.RepositoryName(r, o.Namespace))
			}
			return strings.Join(names, ",")
		}},
		{Name: "LAST-GOOD", Of: func(o *kopiurv1.SnapshotPolicy) string { return p.ago(of(o).last) }},
		{Name: "FAILED-SINCE", Of: func(o *kopiurv1.SnapshotPolicy) string { return strconv.Itoa(of(o).failures) }},
		{Name: "BACKUPS", Of: func(o *kopiurv1.SnapshotPolicy) string { return strconv.Itoa(of(o).backups) }},
		{Name: "VERIFIED", Wide: true, Of: func(o *kopiurv1.SnapshotPolicy) string { return p.ago(printer.Time(o.Status.LastVerified)) }},
		{Name: "MESSAGE", Of: func(o *kopiurv1.SnapshotPolicy) string {
			return strings.Join(slices.DeleteFunc([]string{message(o.Status.Conditions, o.Spec.Suspend), unverified(o.Status.Conditions)},
				func(s string) bool { return s == "" }), "; ")
		}},
	}...)
}

func scheduleColumns(p *tables) []printer.Column[*kopiurv1.SnapshotSchedule] {
	return append(named[*kopiurv1.SnapshotSchedule](p), []printer.Column[*kopiurv1.SnapshotSchedule]{
		{Name: "POLICY", Of: func(o *kopiurv1.SnapshotSchedule) string {
			if o.Spec.PolicyRef != nil {
				return o.Spec.PolicyRef.Name
			}
			return metav1.FormatLabelSelector(o.Spec.PolicySelector)
		}},
		{Name: "CRON", Of: func(o *kopiurv1.SnapshotSchedule) string { return o.Spec.Schedule.Cron }},
		{Name: "LAST", Of: func(o *kopiurv1.SnapshotSchedule) string {
			if o.Status.LastSchedule == nil {
				return "never"
			}
			return p.ago(printer.Time(o.Status.LastSchedule.At))
		}},
		{Name: "NEXT", Of: func(o *kopiurv1.SnapshotSchedule) string {
			next := o.Status.NextSchedule
			if next == nil || o.Spec.Schedule.Suspend {
				return ""
			}
			return "in " + printer.Since(p.now, printer.Time(next.At))
		}},
		{Name: "MESSAGE", Of: func(o *kopiurv1.SnapshotSchedule) string {
			return message(o.Status.Conditions, o.Spec.Schedule.Suspend)
		}},
	}...)
}

func openColumns(p *tables) []printer.Column[*kopiurv1.Snapshot] {
	return append(named[*kopiurv1.Snapshot](p), []printer.Column[*kopiurv1.Snapshot]{
		{Name: "POLICY", Of: find.PolicyOf},
		{Name: "AGE", Of: func(s *kopiurv1.Snapshot) string { return printer.Since(s.CreationTimestamp.Time, p.now) }},
		{Name: "STATUS", Of: func(s *kopiurv1.Snapshot) string { return progress.Text(progress.OfSnapshot(s)) }},
	}...)
}

// unverified is what the last verification found wrong with what is stored.
func unverified(conditions []metav1.Condition) string {
	if c := meta.FindStatusCondition(conditions, kopiurv1.ConditionVerified); c != nil && c.Status == metav1.ConditionFalse {
		return c.Message
	}
	return ""
}

// message is what needs attention: why something is not Ready, and that it is suspended. What is well says nothing.
func message(conditions []metav1.Condition, suspended bool) string {
	var parts []string
	if suspended {
		parts = append(parts, "suspended")
	}
	ready := meta.FindStatusCondition(conditions, kopiurv1.ConditionReady)
	switch {
	case ready == nil:
		parts = append(parts, "not looked at by the controller yet")
	case ready.Status != metav1.ConditionTrue:
		parts = append(parts, ready.Message)
	}
	return strings.Join(parts, ": ")
}
