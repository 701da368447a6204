// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

// Command demo backs up a volume on a real cluster, loses the data and gets it back. It works through kubectl alone and
// shows every command, so that a reader could type along.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

const namespace = "kopiur-demo"

func main() {
	keep := flag.Bool("keep", true, "leave the demo's objects in the cluster, to look around")
	timeout := flag.Duration("timeout", 10*time.Minute, "bound on the whole demo")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	ctx, cancel := context.WithTimeout(ctx, *timeout)
	err := run(ctx, *keep)
	cancel()
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, keep bool) error {
	d, err := newDemo(os.Stdout)
	if err != nil {
		return err
	}
	defer d.close()
	d.title("Kopiur: back up a volume, lose it, get it back")
	if err := d.cleanUp(ctx); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{d.app, d.repository, d.backUp, d.lose, d.restore, d.compare} {
		if err := step(ctx); err != nil {
			d.explain(context.WithoutCancel(ctx))
			return err
		}
	}
	d.table()
	if !keep {
		return d.cleanUp(ctx)
	}
	d.lookAround()
	return nil
}

// app makes a volume with something to lose.
func (d *demo) app(ctx context.Context) error {
	d.step("An application with a volume: 2,000 files of mixed sizes, modes and owners, links, a sparse file.")
	if err := d.apply(ctx, "01-namespace.yaml"); err != nil {
		return err
	}
	if err := d.apply(ctx, "02-app.yaml"); err != nil {
		return err
	}
	if err := d.waitJob(ctx, "fill"); err != nil {
		return err
	}
	entries, err := d.list(ctx, "before")
	if err != nil {
		return err
	}
	d.say("The volume holds %d entries.", entries)
	return nil
}

// repository makes the place that backups go to.
func (d *demo) repository(ctx context.Context) error {
	d.step("A Repository on a volume of its own.")
	if err := d.apply(ctx, "03-repository.yaml"); err != nil {
		return err
	}
	if err := d.waitReady(ctx, "repository/backups", "Ready"); err != nil {
		return err
	}
	return d.show(ctx, "get", "repository", "backups")
}

// backUp takes one snapshot.
func (d *demo) backUp(ctx context.Context) error {
	d.step("A SnapshotPolicy says what is backed up; a Snapshot that names it is one backup.")
	if err := d.apply(ctx, "04-policy.yaml"); err != nil {
		return err
	}
	start := time.Now()
	if err := d.apply(ctx, "05-snapshot.yaml"); err != nil {
		return err
	}
	if err := d.waitReady(ctx, "snapshot.kopiur.home-operations.com/app-1", "Succeeded"); err != nil {
		return err
	}
	d.took["back up"] = time.Since(start)
	if err := d.readStats(ctx); err != nil {
		return err
	}
	return d.show(ctx, "get", "snapshot.kopiur.home-operations.com", "app-1")
}

// lose wipes the volume and makes sure that it is empty.
func (d *demo) lose(ctx context.Context) error {
	d.step("The bad day: everything in the volume is deleted.")
	if err := d.apply(ctx, "06-wipe.yaml"); err != nil {
		return err
	}
	if err := d.waitJob(ctx, "wipe"); err != nil {
		return err
	}
	entries, err := d.list(ctx, "wiped")
	if err != nil {
		return err
	}
	if entries != 1 {
		return fmt.Errorf("the volume still holds %d entries besides itself: a restore would prove nothing", entries-1)
	}
	d.say("The volume is empty.")
	return nil
}

// restore brings it back.
func (d *demo) restore(ctx context.Context) error {
	d.step("A Restore brings it back.")
	start := time.Now()
	if err := d.apply(ctx, "07-restore.yaml"); err != nil {
		return err
	}
	if err := d.waitReady(ctx, "restore/app-1", "Completed"); err != nil {
		return err
	}
	d.took["restore"] = time.Since(start)
	return d.show(ctx, "get", "restore", "app-1")
}

// compare is the proof: checksums, sizes, modes, owners, times and link targets of every entry.
func (d *demo) compare(ctx context.Context) error {
	d.step("The proof: checksum, size, mode, owner, time and link target of every entry.")
	if _, err := d.list(ctx, "after"); err != nil {
		return err
	}
	if err := d.same(ctx, "before", "after"); err != nil {
		return errors.Join(errors.New("the restored volume differs from the lost one"), err)
	}
	return nil
}
