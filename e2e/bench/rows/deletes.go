// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/e2e/bench/data"
	"github.com/kopiur/kopiur/e2e/bench/measure"
	"github.com/kopiur/kopiur/e2e/bench/peers"
	"github.com/kopiur/kopiur/e2e/bench/report"
)

// deletes removes as many snapshots as one mover takes.
func deletes(ctx context.Context, l *Lab, r Row) ([]report.Row, error) {
	full, err := l.vault(ctx, where{}, data.Tree{})
	if err != nil {
		return nil, err
	}
	l.Log("making %d snapshots", work.MaxDeleteMembers)
	keys, err := l.thousand(ctx, full)
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(keys))
	for i, k := range keys {
		ids[i] = k.SnapshotID
	}
	// Each run deletes from a copy of its own.
	copied := func(ctx context.Context, p peers.Peer) (*peers.Vault, error) {
		v, err := l.vault(ctx, where{}, data.Tree{})
		if err != nil {
			return nil, err
		}
		if err := os.CopyFS(v.Dir, os.DirFS(full.Dir)); err != nil {
			return nil, fmt.Errorf("copy a repository: %w", err)
		}
		return v, p.Connect(ctx, v) //nolint:wrapcheck // names the command
	}
	got, err := l.interleave(ctx, r.ID, []side{
		{peers.NameMover, func(ctx context.Context, _ int) (measure.Sample, error) {
			v, err := copied(ctx, l.Mover)
			if err != nil {
				return measure.Sample{}, err
			}
			s, err := l.timed(ctx, l.Mover.Run(v, work.Operation{Delete: work.NewDelete(keys)}, func(r work.Result) error {
				if want := strings.Repeat("d", len(keys)); string(r.Delete.Outcomes) != want {
					return fmt.Errorf("%w: the outcomes are %.40s…", errDeletes, r.Delete.Outcomes)
				}
				return nil
			}), v.Dir)
			if err != nil {
				return s, err
			}
			return s, l.emptied(ctx, v)
		}},
		{peers.NameKopia, func(ctx context.Context, _ int) (measure.Sample, error) {
			v, err := copied(ctx, l.Kopia)
			if err != nil {
				return measure.Sample{}, err
			}
			s, err := l.timed(ctx, l.Kopia.Command(v, append([]string{"snapshot", "delete", "--delete"}, ids...)...), v.Dir)
			if err != nil {
				return s, err
			}
			return s, l.emptied(ctx, v)
		}},
	}, nil)
	if err != nil {
		return nil, err
	}
	return []report.Row{{
		ID: r.ID, What: r.What, Bound: &report.Bound{Budget: 15, Stretch: 3}, Sides: got.sides(),
		Value: report.Value{Unit: report.Seconds, Spread: measure.Of(got.samples[peers.NameMover].Wall())},
	}}, discard(full)
}

var errDeletes = errors.New("snapshots were not deleted")

// emptied proves that a store holds no snapshot any more, and removes it.
func (l *Lab) emptied(ctx context.Context, v *peers.Vault) error {
	v.Home = l.fresh("home")
	if err := os.MkdirAll(v.Home, 0o750); err != nil {
		return fmt.Errorf("make a home: %w", err)
	}
	if err := l.Kopia.Connect(ctx, v); err != nil {
		return err //nolint:wrapcheck // names the command
	}
	left, err := l.snapshots(ctx, v)
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("%w: %d are left", errDeletes, len(left))
	}
	if err != nil {
		return err
	}
	return discard(v)
}

// thousand fills a store with snapshots of a few identities, whose names fit into one work spec. Kopia's command line makes
// many in one process, one at a time.
func (l *Lab) thousand(ctx context.Context, v *peers.Vault) ([]work.SnapshotKey, error) {
	const sources = 50
	if err := l.Kopia.Create(ctx, v); err != nil {
		return nil, err //nolint:wrapcheck // names the command
	}
	if err := peers.Do(ctx, l.Kopia.Command(v, "policy", "set", "--global", "--keep-latest", "1000")); err != nil {
		return nil, err //nolint:wrapcheck // names the command
	}
	var dirs []string
	for i := range sources {
		dir := l.at(fmt.Sprintf("m/%02d", i))
		dirs = append(dirs, dir)
		err := os.MkdirAll(dir, 0o755)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "file"), []byte(dir), 0o600)
		}
		if err != nil {
			return nil, fmt.Errorf("make sources: %w", err)
		}
	}
	// No two of an identity start in the same second.
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range work.MaxDeleteMembers / sources {
		at := start.Add(time.Duration(i) * time.Hour).Format("2006-01-02 15:04:05 MST")
		if err := peers.Do(ctx, l.Kopia.Command(v, append([]string{"snapshot", "create", "--start-time", at}, dirs...)...)); err != nil {
			return nil, err //nolint:wrapcheck // names the command
		}
	}
	keys, err := l.snapshots(ctx, v)
	if err == nil && len(keys) != work.MaxDeleteMembers {
		err = fmt.Errorf("%w: %d were made", errDeletes, len(keys))
	}
	if err != nil {
		return nil, err
	}
	return keys, remove(l.at("m"))
}

func (l *Lab) snapshots(ctx context.Context, v *peers.Vault) ([]work.SnapshotKey, error) {
	out, err := peers.Output(ctx, l.Kopia.Command(v, "snapshot", "list", "--all", "--json", "--max-results", "100000"))
	if err != nil {
		return nil, err //nolint:wrapcheck // names the command
	}
	var list []struct {
		ID        string
		StartTime time.Time
		Source    struct{ Host, UserName, Path string }
	}
	if err := json.Unmarshal(out, &list); err != nil {
		return nil, fmt.Errorf("read kopia's list: %w", err)
	}
	keys := make([]work.SnapshotKey, 0, len(list))
	for _, s := range list {
		keys = append(keys, work.SnapshotKey{
			SnapshotID: s.ID, StartTime: s.StartTime, Identity: work.Identity{Username: s.Source.UserName, Hostname: s.Source.Host, Path: s.Source.Path},
		})
	}
	return keys, nil
}
