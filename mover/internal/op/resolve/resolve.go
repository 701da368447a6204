// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Package resolve answers which snapshot a restore means. There are three answers: found, proven absent, unknown. Only a
// listing that was read to its end proves an absence; every error is "unknown", because the one who asks may go on with
// an empty volume when there is nothing (K-1).
package resolve

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/mover/internal/backend"
	"github.com/kopiur/kopiur/mover/internal/classify"
	"github.com/kopiur/kopiur/mover/internal/engine"
	"github.com/kopiur/kopiur/mover/internal/op"
)

// shownPaths is how many source paths a message names.
const shownPaths = 5

// Run is the operation.
func Run(_ context.Context, env op.Env, spec work.Spec) (_ *work.ResolveResult, err error) {
	ctx := env.Soft
	s := spec.Operation.Resolve
	res := &work.ResolveResult{Resolution: work.ResolutionUnknown}
	defer func() {
		if err != nil {
			err = op.Cause(ctx, err)
			res.Resolution = work.ResolutionUnknown
		}
	}()
	if err := check(*s); err != nil {
		return res, err
	}
	r, err := env.Open(ctx, spec.Repository, op.ReadOnly)
	if err != nil {
		return res, err
	}
	defer func() { err = env.Close(ctx, r, err) }()
	if s.SnapshotID != "" {
		return byID(ctx, r, res, *s)
	}
	all, err := r.List(ctx, op.Identity(s.Identity))
	if err != nil {
		return res, err //nolint:wrapcheck // says what and where
	}
	if s.Identity.Path == "" {
		// All paths would be one list, and its newest may be another volume (J-1).
		if several := paths(all); len(several) > 1 {
			res.SourcePaths = int64(len(several))
			return res, &classify.Coded{Code: work.CodeInvalidSpec, Message: fmt.Sprintf("%s@%s has snapshots of %d source paths, such as %s",
				s.Identity.Username, s.Identity.Hostname, len(several), strings.Join(several[:min(len(several), shownPaths)], ", "))}
		}
	}
	return decide(res, all, s.AsOf, s.Offset)
}

// byID looks for the one manifest of an id. That it is gone proves little where the identity has others: pinning gives a
// snapshot another id.
func byID(ctx context.Context, r *engine.Repository, res *work.ResolveResult, s work.Resolve) (*work.ResolveResult, error) {
	found, err := r.Load(ctx, s.SnapshotID)
	switch {
	case errors.Is(err, engine.ErrSnapshotNotFound):
		if s.Identity.Username != "" && s.Identity.Hostname != "" {
			all, err := r.List(ctx, op.Identity(s.Identity))
			if err != nil {
				return res, err //nolint:wrapcheck // says what and where
			}
			res.Candidates = int64(len(all))
		}
		res.Resolution = work.ResolutionAbsent
		return res, nil
	case err != nil:
		return res, err //nolint:wrapcheck // says what and where
	case !fits(found.Identity, s.Identity):
		return res, &classify.Coded{Code: work.CodeSnapshotMismatch, Message: fmt.Sprintf(
			"snapshot %s is filed under %s, and another identity was asked for", s.SnapshotID, found.Identity)}
	}
	return fill(res, found), nil
}

// fits compares what was asked for: an empty part asks for nothing.
func fits(found engine.Identity, asked work.Identity) bool {
	return (asked.Username == "" || asked.Username == found.Username) &&
		(asked.Hostname == "" || asked.Hostname == found.Hostname) &&
		(asked.Path == "" || asked.Path == found.Path)
}

// paths are those that snapshots are filed under, sorted.
func paths(all []engine.Snapshot) []string {
	var out []string
	for _, s := range all {
		if s.Complete() && !slices.Contains(out, s.Identity.Path) {
			out = append(out, s.Identity.Path)
		}
	}
	slices.Sort(out)
	return out
}

func check(s work.Resolve) error {
	i := s.Identity
	switch {
	case s.SnapshotID != "":
		return nil
	case i.Username == "" || i.Hostname == "":
		return fmt.Errorf("%w: an identity needs a username and a hostname", backend.ErrInvalidSpec)
	case s.Offset < 0:
		return fmt.Errorf("%w: the offset is negative", backend.ErrInvalidSpec)
	}
	return nil
}

// decide picks from a full listing, newest first: asOf filters, then the offset counts. A checkpoint is no candidate, nor
// is a snapshot that lacks entries; but where there are only such, the absence is not proven either.
func decide(res *work.ResolveResult, all []engine.Snapshot, asOf *time.Time, offset int64) (*work.ResolveResult, error) {
	var partial int64
	var match []engine.Snapshot
	for _, s := range all {
		switch {
		case !s.Complete():
		case s.Failed > 0:
			partial++
		default:
			res.Candidates++
			// Kubernetes keeps seconds: a snapshot is not "after" the second it started in.
			if asOf == nil || !s.Start.Truncate(time.Second).After(*asOf) {
				match = append(match, s)
			}
		}
	}
	switch {
	case int64(len(match)) > offset:
		return fill(res, match[offset]), nil
	case res.Candidates == 0 && partial > 0:
		return res, &classify.Coded{Code: work.CodePermissionDenied, Message: fmt.Sprintf(
			"%d snapshots exist, and each lacks entries that could not be read; name one by its id to restore it all the same", partial)}
	}
	res.Resolution = work.ResolutionAbsent
	return res, nil
}

func fill(res *work.ResolveResult, s engine.Snapshot) *work.ResolveResult {
	res.Resolution, res.SnapshotID, res.StartTime, res.SizeBytes = work.ResolutionFound, s.ID, op.Whole(s.Start), s.Size
	res.Identity = &work.Identity{Username: s.Identity.Username, Hostname: s.Identity.Hostname, Path: s.Identity.Path}
	return res
}
