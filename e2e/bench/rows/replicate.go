// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/kopiur/kopiur/apis/work"
	"github.com/kopiur/kopiur/e2e/bench/data"
	"github.com/kopiur/kopiur/e2e/bench/measure"
	"github.com/kopiur/kopiur/e2e/bench/peers"
	"github.com/kopiur/kopiur/e2e/bench/report"
)

// replication copies many small blobs from one bucket to another, both behind the latency. Kopia's sync is there to be seen.
func replication(ctx context.Context, l *Lab, r Row) ([]report.Row, error) {
	if l.Gateway == "" {
		l.LeftOut(r.ID, "there is no S3 server (hack/tool versitygw)")
		return nil, nil
	}
	blobs := 1_000
	if l.Full {
		blobs = 27_000
	}
	from, err := l.vault(ctx, where{s3: true}, data.Tree{})
	if err != nil {
		return nil, err
	}
	if err := l.Mover.Create(ctx, from); err != nil {
		return nil, err //nolint:wrapcheck // names the command
	}
	if err := packs(from.Dir, blobs); err != nil {
		return nil, err
	}
	parallel := work.DefaultParallelBlobs
	run := func(p peers.Peer, command func(from, to *peers.Vault) measure.Command) side {
		return side{p.Name(), func(ctx context.Context, _ int) (measure.Sample, error) {
			to, err := l.vault(ctx, where{s3: true}, data.Tree{})
			if err != nil {
				return measure.Sample{}, err
			}
			as := *from
			as.Home = to.Home
			if err := p.Connect(ctx, &as); err != nil {
				return measure.Sample{}, err //nolint:wrapcheck // names the command
			}
			s, err := l.timed(ctx, command(&as, to), from.Dir)
			if err != nil {
				return s, err
			}
			if err := sameBlobs(from.Dir, to.Dir, blobs); err != nil {
				return s, fmt.Errorf("%s: %w", p.Name(), err)
			}
			return s, discard(to)
		}}
	}
	got, err := l.interleave(ctx, r.ID, []side{
		run(l.Mover, func(from, to *peers.Vault) measure.Command {
			return l.Mover.Run(from, work.Operation{Replicate: &work.Replicate{Destination: to.Backend(), Parallel: parallel}}, nil)
		}),
		run(l.Kopia, func(from, to *peers.Vault) measure.Command {
			return l.Kopia.Sync(from, to, strconv.Itoa(parallel))
		}),
	}, nil)
	if err != nil {
		return nil, err
	}
	share := make([]float64, 0, l.Rounds)
	for _, wall := range got.samples[peers.NameMover].Wall() {
		share = append(share, float64(blobs)/wall*Latency.Seconds()/float64(parallel))
	}
	rate := float64(blobs) / measure.Of(got.samples[peers.NameMover].Wall()).Median
	return []report.Row{{
		ID: r.ID, What: fmt.Sprintf("%s: %d blobs of 1 KiB, %d at a time", r.What, blobs, parallel), Sides: got.sides(),
		Bound: &report.Bound{Budget: 0.8, AtLeast: true}, Value: report.Value{Unit: report.Count, Spread: measure.Of(share)},
		Note: fmt.Sprintf("%.0f blobs a second, opening and listing included", rate),
	}}, discard(from)
}

var errBlobs = errors.New("blobs are missing")

// packs puts blobs that are called like packs into a bucket, past its server.
func packs(dir string, n int) error {
	b := make([]byte, 1<<10)
	for i := range n {
		binary.BigEndian.PutUint64(b, uint64(i))
		sum := sha256.Sum256(b)
		if err := os.WriteFile(filepath.Join(dir, "p"+hex.EncodeToString(sum[:16])), b, 0o600); err != nil {
			return fmt.Errorf("fill a bucket: %w", err)
		}
	}
	return nil
}

// sameBlobs compares the packs of two buckets, name by name and byte by byte.
func sameBlobs(from, to string, n int) error {
	notPack := func(path string) bool { return path[0] != 'p' }
	a, err := data.Look(from, notPack)
	if err != nil {
		return err //nolint:wrapcheck // names the folder
	}
	b, err := data.Look(to, notPack)
	if err != nil {
		return err //nolint:wrapcheck // names the folder
	}
	if a.Files < n {
		return fmt.Errorf("%w: the source has %d blobs of %d", errBlobs, a.Files, n)
	}
	return a.Contents().Compare(b.Contents()) //nolint:wrapcheck // says what differs
}
