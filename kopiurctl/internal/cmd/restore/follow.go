// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"cmp"
	"context"
	"strconv"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/kopiurctl/internal/cli"
	"github.com/kopiur/kopiur/kopiurctl/internal/follow"
	"github.com/kopiur/kopiur/kopiurctl/internal/printer"
	"github.com/kopiur/kopiur/kopiurctl/internal/progress"
	"github.com/kopiur/kopiur/kopiurctl/internal/wait"
)

// Kind of the objects that are waited for.
func Kind() follow.Kind[*kopiurv1.Restore] {
	return follow.Kind[*kopiurv1.Restore]{
		Kind: wait.Kind[*kopiurv1.Restore]{
			New:  func() *kopiurv1.Restore { return &kopiurv1.Restore{} },
			List: func() client.ObjectList { return &kopiurv1.RestoreList{} },
		},
		Name: "Restore", Again: "kubectl get restores",
		State:      progress.OfRestore,
		Ended:      func(r *kopiurv1.Restore) bool { return r.Status.Phase.Terminal() },
		Succeeded:  func(r *kopiurv1.Restore) bool { return r.Status.Phase == kopiurv1.RestoreCompleted },
		Conditions: func(r *kopiurv1.Restore) []metav1.Condition { return r.Status.Conditions },
		Message:    message,
		LogTail:    func(r *kopiurv1.Restore) string { return r.Status.LogTail },
		Job: func(r *kopiurv1.Restore) string {
			if r.Status.Job == nil {
				return ""
			}
			return r.Status.Job.Name
		},
	}
}

func list(r *follow.One[*kopiurv1.Restore]) []*follow.One[*kopiurv1.Restore] {
	return []*follow.One[*kopiurv1.Restore]{r}
}

// follow waits for the end, shows the way there and answers with what came of it.
func (o *options) follow(ctx context.Context, c *cli.Cluster, format cli.Output, r *follow.One[*kopiurv1.Restore]) error {
	opts := follow.Options{Timeout: o.timeout, Logs: o.logs, Quiet: format == cli.Name}
	return follow.Until(ctx, o.env, c, Kind(), opts, list(r), func() error {
		left := follow.Left(list(r))
		for _, r := range left {
			remarks(c, r)
		}
		if !format.Machine() {
			return printer.Table(o.env.Out, format == cli.Wide, columns(), left)
		}
		return printer.Objects(o.env.Out, format, c.Scheme(), false, printer.Each(left)...)
	})
}

// remarks say what a completed Restore did not do: the exit code alone would hide it.
func remarks(c *cli.Cluster, r *kopiurv1.Restore) {
	if r.Status.Phase != kopiurv1.RestoreCompleted {
		return
	}
	if o := meta.FindStatusCondition(r.Status.Conditions, kopiurv1.ConditionOwnershipApplied); o != nil && o.Status == metav1.ConditionFalse {
		c.Warn(o.Message)
	}
	if res := r.Status.Resolved; res != nil && res.Resolution == kopiurv1.ResolutionNoSnapshot {
		c.Warn("nothing was restored: " + message(r))
	}
}

func message(r *kopiurv1.Restore) string {
	if r.Status.Failure != nil {
		return r.Status.Failure.Message
	}
	if ready := meta.FindStatusCondition(r.Status.Conditions, kopiurv1.ConditionReady); ready != nil {
		return ready.Message
	}
	return ""
}

func columns() []printer.Column[*kopiurv1.Restore] {
	resolved := func(of func(*kopiurv1.RestoreResolved) string) func(*kopiurv1.Restore) string {
		return func(r *kopiurv1.Restore) string {
			if r.Status.Resolved == nil {
				return ""
			}
			return of(r.Status.Resolved)
		}
	}
	restored := func(of func(*kopiurv1.RestoreProgress) string) func(*kopiurv1.Restore) string {
		return func(r *kopiurv1.Restore) string {
			if r.Status.Progress == nil {
				return ""
			}
			return of(r.Status.Progress)
		}
	}
	return []printer.Column[*kopiurv1.Restore]{
		{Name: "NAME", Of: func(r *kopiurv1.Restore) string { return r.Name }},
		{Name: "PHASE", Of: func(r *kopiurv1.Restore) string {
			return cmp.Or(string(r.Status.Phase), string(kopiurv1.RestorePending))
		}},
		{Name: "SNAPSHOT", Of: resolved(func(r *kopiurv1.RestoreResolved) string { return r.KopiaSnapshotID })},
		{Name: "TAKEN", Of: resolved(func(r *kopiurv1.RestoreResolved) string { return r.StartTime })},
		{Name: "CLAIM", Of: claimOf},
		{Name: "RESTORED", Of: restored(func(p *kopiurv1.RestoreProgress) string { return printer.Bytes(p.BytesRestored) })},
		{Name: "FILES", Of: restored(func(p *kopiurv1.RestoreProgress) string { return strconv.FormatInt(p.FilesRestored, 10) })},
		{Name: "TOOK", Of: func(r *kopiurv1.Restore) string {
			if r.Status.Timing == nil || r.Status.Timing.EndTime == "" {
				return ""
			}
			return printer.Seconds(r.Status.Timing.DurationSeconds)
		}},
		{Name: "SOURCE", Wide: true, Of: resolved(func(r *kopiurv1.RestoreResolved) string {
			if r.Identity == nil {
				return ""
			}
			return r.Identity.String()
		})},
		{Name: "MESSAGE", Wide: true, Of: message},
	}
}

func claimOf(r *kopiurv1.Restore) string {
	switch t := r.Spec.Target; {
	case t.PVC != nil:
		return t.PVC.Name
	case t.PVCRef != nil:
		return t.PVCRef.Name
	default:
		return ""
	}
}
