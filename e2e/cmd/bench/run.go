// Copyright 2026 The Kopiur Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kopiur/kopiur/e2e/bench/data"
	"github.com/kopiur/kopiur/e2e/bench/host"
	"github.com/kopiur/kopiur/e2e/bench/measure"
	"github.com/kopiur/kopiur/e2e/bench/peers"
	"github.com/kopiur/kopiur/e2e/bench/report"
	"github.com/kopiur/kopiur/e2e/bench/rows"
)

type runFlags struct {
	full                  bool
	many, rounds          int
	rows, work, out       string
	mover, kopia, gateway string
	keepFreeGiB           int64
	progress              io.Writer
	commands              []string
}

func newRun() *cobra.Command {
	f := &runFlags{}
	cmd := &cobra.Command{
		Use: "run", Short: "Measure, print the table, write report.json and report.md", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.progress = cmd.ErrOrStderr()
			return f.run(cmd.Context(), cmd.OutOrStdout())
		},
	}
	fl := cmd.Flags()
	fl.BoolVar(&f.full, "full", false, "the sizes that the budgets name, instead of minutes")
	fl.IntVar(&f.many, "many", 0, "how many files D1 has in the full form (0: 200,000)")
	fl.IntVar(&f.rounds, "rounds", 3, "how often each program runs in a row")
	fl.StringVar(&f.rows, "rows", "", "rows to measure, by the beginning of their ids (M1, M1/D2); all by default")
	fl.StringVar(&f.work, "work", "", "folder for data sets and stores, on a real disk; a temporary one by default")
	fl.StringVar(&f.out, "out", "out/bench", "folder for the reports")
	fl.StringVar(&f.mover, "mover", "out/release/mover", "the mover, as it is released")
	fl.StringVar(&f.kopia, "kopia", "", "the kopia CLI of the version that the mover links")
	fl.StringVar(&f.gateway, "versitygw", "", "the S3 server; without it rows about S3 are left out")
	fl.Int64Var(&f.keepFreeGiB, "keep-free", 5, "GiB of the disk to leave alone")
	fl.StringArrayVar(&f.commands, "command", nil, "how this run was started, for the report")
	return cmd
}

func (f *runFlags) run(ctx context.Context, stdout io.Writer) (err error) {
	chosen, left, err := rows.Select(rows.All(), fields(f.rows), f.full)
	if err != nil {
		return err //nolint:wrapcheck // says what failed
	}
	l, r, err := f.prepare(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close(), os.RemoveAll(l.Work), os.RemoveAll(l.Mover.WorkDir)) }()
	for _, row := range left {
		l.LeftOut(row.ID, "too long for the short form; make bench BENCH="+row.ID)
	}
	if rows.Compare(chosen) {
		if err := f.settle(ctx, l, r); err != nil {
			return err
		}
	}
	runErr := measured(ctx, l, r, chosen)
	r.Took = time.Since(r.Started)
	r.Sort()
	if err := write(f.out, r); err != nil {
		return errors.Join(runErr, err)
	}
	fmt.Fprint(stdout, r.Markdown())
	if n := len(r.Missed()); n > 0 {
		fmt.Fprintf(f.progress, "\nbench: %d of %d rows are missed or failed\n", n, len(r.Rows))
	}
	return runErr
}

// prepare finds the programs and makes a place to work.
func (f *runFlags) prepare(ctx context.Context) (*rows.Lab, *report.Report, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, fmt.Errorf("find this program: %w", err)
	}
	work, err := os.MkdirTemp(f.work, "bench-")
	if err != nil {
		return nil, nil, fmt.Errorf("make a folder to work in: %w", err)
	}
	if work, err = filepath.Abs(work); err != nil {
		return nil, nil, fmt.Errorf("make a folder to work in: %w", err)
	}
	r := &report.Report{Started: time.Now().UTC(), Form: "short", Commands: f.commands, Machine: host.Machine(work)}
	l := &rows.Lab{
		Work: work, Sizes: data.Short(), Rounds: f.rounds, Full: f.full, KeepFree: f.keepFreeGiB << 30, Gateway: f.gateway,
		Log:     func(format string, args ...any) { fmt.Fprintf(f.progress, format+"\n", args...) },
		LeftOut: func(what, why string) { r.LeftOut = append(r.LeftOut, report.LeftOut{What: what, Why: why}) },
	}
	if f.full {
		l.Sizes, r.Form = data.Full(f.many), "full"
	}
	scratch := filepath.Join(work, "runs")
	if err := os.Mkdir(scratch, 0o750); err != nil {
		return nil, nil, fmt.Errorf("make a folder to work in: %w", err)
	}
	l.Runner = measure.Runner{Self: self, Scratch: scratch}
	// The mover's own choice on a machine of this size, made equal for both.
	s := peers.Settings{Parallel: min(8, 2*runtime.NumCPU()), CacheMiB: 512}
	paths := map[string]string{"mover": f.mover, "kopia": f.kopia}
	for name, p := range paths {
		if paths[name], err = filepath.Abs(p); err != nil || p == "" {
			return nil, nil, fmt.Errorf("--%s has to name the program", name) //nolint:err113 // read by people
		}
	}
	l.Mover = &peers.Mover{Path: paths["mover"], Settings: s, WorkDir: filepath.Join(inMemory, filepath.Base(work))}
	if err := os.Mkdir(l.Mover.WorkDir, 0o700); err != nil {
		return nil, nil, fmt.Errorf("make a folder in memory: %w", err)
	}
	l.Kopia = &peers.Kopia{Path: paths["kopia"], Settings: s}
	f.others(ctx, l)
	return l, r, nil
}

// inMemory is where a mover pod's work folder would be.
const inMemory = "/dev/shm"

// others finds the programs that come with the distribution, and installs what is missing where it may.
func (f *runFlags) others(ctx context.Context, l *rows.Lab) {
	for _, name := range host.Install(ctx, f.progress, "restic", "zstd") {
		l.LeftOut(name, "it is not installed: apt-get install "+name)
	}
	if path, err := exec.LookPath("restic"); err == nil {
		l.Restic = &peers.Restic{Path: path}
		l.Others = append(l.Others, l.Restic)
	}
	if _, err := exec.LookPath("zstd"); err == nil {
		l.Others = append(l.Others, peers.Tar{})
	}
	l.Others = append(l.Others, peers.Copy{})
}

// settle makes the settings of both kopias equal and notes what the figures depend on.
func (f *runFlags) settle(ctx context.Context, l *rows.Lab, r *report.Report) error {
	scratch := filepath.Join(l.Work, "settings")
	s, err := peers.Discover(ctx, l.Mover, l.Kopia, scratch)
	if err != nil {
		return fmt.Errorf("find out the mover's settings: %w", err)
	}
	if err := os.RemoveAll(scratch); err != nil {
		return fmt.Errorf("clean up: %w", err)
	}
	l.Mover.Settings, l.Kopia.Settings = s, s
	r.Settings = []report.Fact{
		{Name: "mover and kopia CLI", Value: fmt.Sprintf("hash %s, splitter %s, encryption %s, compression %s, %d files read at a time, caches of %d MiB",
			s.Hash, s.Splitter, s.Encryption, s.Compression, s.Parallel, s.CacheMiB)},
		{Name: "kopia CLI", Value: "without its maintenance after a backup and without its log files; restores with its default of 8 files at a time"},
		{Name: "others", Value: "restic with its defaults, tar and cp as root keep owners and modes"},
		{Name: "before each run", Value: "what was written is flushed, and what will be read is read once into memory, for every program; a restore begins with an empty cache"},
	}
	r.Versions = host.Versions(ctx, [][]string{
		{"mover", l.Mover.Path, "version"},
		{"kopia CLI", l.Kopia.Path, "--version"},
		{"restic", "restic", "version"},
		{"tar", "tar", "--version"},
		{"zstd", "zstd", "--version"},
		{"cp", "cp", "--version"},
	})
	if v := host.ModuleVersion(l.Gateway, "github.com/versity/versitygw"); v != "" {
		r.Versions = append(r.Versions, report.Fact{Name: "S3 server", Value: "versitygw " + v})
	}
	return nil
}

// measured runs the rows. One that fails is reported as such, and the others are run all the same.
func measured(ctx context.Context, l *rows.Lab, r *report.Report, chosen []rows.Row) error {
	var failed []error
	for i, row := range chosen {
		l.Log("%s: %s", row.ID, row.What)
		found, err := row.Run(ctx, l, row)
		r.Rows = append(r.Rows, found...)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", row.ID, err))
			first, _, _ := strings.Cut(err.Error(), "\n")
			r.Rows = append(r.Rows, report.Row{ID: row.ID, What: row.What, Failed: first})
			l.Log("%s failed: %v", row.ID, err)
			if cerr := l.Abandon(); cerr != nil {
				return errors.Join(append(failed, cerr)...)
			}
		}
		if ctx.Err() != nil {
			for _, rest := range chosen[i+1:] {
				l.LeftOut(rest.ID, "the run was ended before")
			}
			return errors.Join(append(failed, ctx.Err())...)
		}
		if i+1 == len(chosen) || chosen[i+1].Set != row.Set {
			if err := l.Release(); err != nil {
				return err //nolint:wrapcheck // names the path
			}
		}
	}
	return errors.Join(failed...)
}

func write(dir string, r *report.Report) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	f, err := os.Create(filepath.Join(dir, "report.json"))
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	err = errors.Join(r.WriteJSON(f), f.Close())
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "report.md"), []byte(r.Markdown()), 0o644)
	}
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}
