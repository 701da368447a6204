// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kopiurv1 "github.com/kopiur/kopiur/apis/v1alpha1"
	"github.com/kopiur/kopiur/kopiurctl/internal/cli"
	"github.com/kopiur/kopiur/kopiurctl/internal/cmd/snapshots"
	"github.com/kopiur/kopiur/kopiurctl/internal/follow"
	"github.com/kopiur/kopiur/kopiurctl/internal/printer"
	"github.com/kopiur/kopiur/kopiurctl/internal/progress"
	"github.com/kopiur/kopiur/kopiurctl/internal/wait"
)

// Kind of the objects that are waited for.
func Kind() follow.Kind[*kopiurv1.Snapshot] {
	return follow.Kind[*kopiurv1.Snapshot]{
		Kind: wait.Kind[*kopiurv1.Snapshot]{
			New:  func() *kopiurv1.Snapshot { return &kopiurv1.Snapshot{} },
			List: func() client.ObjectList { return &kopiurv1.SnapshotList{} },
		},
		Name: "Snapshot", Again: "kopiurctl snapshots list",
		State:      progress.OfSnapshot,
		Ended:      func(s *kopiurv1.Snapshot) bool { return s.Status.Phase.Terminal() },
		Succeeded:  succeeded,
		Conditions: func(s *kopiurv1.Snapshot) []metav1.Condition { return s.Status.Conditions },
		Message:    snapshots.Message,
		LogTail:    func(s *kopiurv1.Snapshot) string { return s.Status.LogTail },
		Job: func(s *kopiurv1.Snapshot) string {
			if s.Status.Job == nil {
				return ""
			}
			return s.Status.Job.Name
		},
	}
}

func succeeded(s *kopiurv1.Snapshot) bool {
	switch s.Status.Phase {
	case kopiurv1.SnapshotSucceeded, kopiurv1.SnapshotUnchanged, kopiurv1.SnapshotDiscovered:
		return true
	default:
		return false
	}
}

// follow waits for the end of all, shows the way there and answers with what came of it.
func (o *nowOptions) follow(ctx context.Context, c *cli.Cluster, format cli.Output, all []*follow.One[*kopiurv1.Snapshot]) error {
	opts := follow.Options{Timeout: o.timeout, Logs: o.logs, Quiet: format == cli.Name}
	return follow.Until(ctx, o.env, c, Kind(), opts, all, func() error {
		left := follow.Left(all)
		if !format.Machine() {
			return snapshots.Print(o.env, left, nil, false)
		}
		return printer.Objects(o.env.Out, format, c.Scheme(), len(all) > 1, printer.Each(left)...)
	})
}
